/* SPDX-License-Identifier: 0BSD
 * Fourier transforms of one element type. Included by fft.h. */

/* w[k] = e^(-2 pi i k / n), as pairs. */
static inline void inlay_typed(turns)(INLAY_T *w, int64_t n)
{
    int64_t k;
    for (k = 0; k < n; k++) {
        const double turn = -6.283185307179586476925;
        const double angle = turn * (double)k / (double)n;
        w[2 * k] = (INLAY_T)cos(angle);
        w[2 * k + 1] = (INLAY_T)sin(angle);
    }
}

/* b[s] = a[s] */
static inline void inlay_typed(fft_copy)(INLAY_T *b, const INLAY_T *a,
                                         int64_t n)
{
    int64_t s;
    for (s = 0; s < n; s++) {
        b[2 * s] = a[2 * s];
        b[2 * s + 1] = a[2 * s + 1];
    }
}

/* b[s] += (c + d i) a[s] */
static inline void inlay_typed(fft_add)(INLAY_T *b, const INLAY_T *a, int64_t n,
                                        INLAY_T c, INLAY_T d)
{
    int64_t s;
    for (s = 0; s < n; s++) {
        b[2 * s] += c * a[2 * s] - d * a[2 * s + 1];
        b[2 * s + 1] += c * a[2 * s + 1] + d * a[2 * s];
    }
}

/* A transform of n complex numbers, between two buffers of as many. */
typedef struct inlay_typed(fft)
{
    INLAY_T *in; /* what is to be transformed; is used up */
    INLAY_T *other;
    const INLAY_T *w; /* table of turns */
    int64_t n;
    int inverse;
}
inlay_typed(fft);

/* One pass: from transforms of length l, n/l of them interleaved (a), to those of length l r (b):
 * b[k][s] = sum over p < r of w^(k p n/(l r)) a[k mod l][s + p n/(l r)]. */
static inline void inlay_typed(pass)(const inlay_typed(fft) * f,
                                     const INLAY_T *a, INLAY_T *b, int64_t l,
                                     int64_t r)
{
    const INLAY_T sign = (INLAY_T)(f->inverse ? -1 : 1);
    const int64_t length = l * r;
    const int64_t gap = f->n / length;
    int64_t k, p;
    for (k = 0; k < length; k++) {
        const INLAY_T *from = a + 2 * (k % l) * gap * r;
        inlay_typed(fft_copy)(b, from, gap);
        for (p = 1; p < r; p++) {
            const INLAY_T *turn = f->w + 2 * (k * p % length * gap);
            const INLAY_T d = sign * turn[1];
            from += 2 * gap;
            inlay_typed(fft_add)(b, from, gap, turn[0], d);
        }
        b += 2 * gap;
    }
}

/* The transform, factor by factor; returns where it is: in one of the two buffers. Not scaled. */
static inline const INLAY_T *inlay_typed(run)(const inlay_typed(fft) * f)
{
    INLAY_T *a = f->in;
    INLAY_T *b = f->other;
    int64_t l = 1;
    int64_t left = f->n;
    int64_t r = 4;
    while (left > 1) {
        INLAY_T *done = a;
        while (left % r)
            r = inlay_next_factor(r, left);
        inlay_typed(pass)(f, a, b, l, r);
        l *= r;
        left /= r;
        a = b;
        b = done;
    }
    return a;
}

/* Writes `bins` numbers from element 0 of `to` on, `gap` elements apart; real: without imaginary
 * parts. */
static inline void inlay_typed(put)(INLAY_T *to, const INLAY_T *from,
                                    int64_t bins, int64_t gap, INLAY_T scale,
                                    int real)
{
    int64_t k;
    for (k = 0; k < bins; k++) {
        to[0] = from[2 * k] * scale;
        if (!real)
            to[1] = from[2 * k + 1] * scale;
        to += gap;
    }
}

/* Element t of a line of a transform of n; beyond the end of the line 0, and where half of a
 * spectrum is given (half) the other half is its mirror. */
static inline void inlay_typed(get)(INLAY_T *to, const INLAY_T *x, int64_t t,
                                    int64_t n, const inlay_dft_params *p)
{
    const int mirror = p->half && t > n / 2;
    const int64_t at = mirror ? n - t : t;
    const INLAY_T *v = x + at * p->inner * p->parts;
    to[0] = 0;
    to[1] = 0;
    if (at >= p->length)
        return;
    to[0] = v[0];
    if (p->parts == 2)
        to[1] = mirror ? -v[1] : v[1];
}

/* What transforms of n numbers need: operand `table`, or a table made behind the two buffers of
 * `most` numbers in operand `scratch`. */
static inline inlay_typed(fft)
    inlay_typed(fft_open)(void *const *base, const inlay_step *s, int table,
                          int scratch, int64_t most, int64_t n)
{
    INLAY_T *buffer = (INLAY_T *)inlay_at(base, s, scratch);
    INLAY_T *made = buffer + 4 * most;
    inlay_typed(fft) f;
    f.in = buffer;
    f.other = buffer + 2 * most;
    f.w = (const INLAY_T *)inlay_at(base, s, table);
    f.n = n;
    f.inverse = 0;
    if (!f.w) {
        inlay_typed(turns)(made, n);
        f.w = made;
    }
    return f;
}

/* Line i of block o. */
static inline void inlay_typed(dft_line)(const inlay_dft_params *p,
                                         const inlay_typed(fft) * f, INLAY_T *y,
                                         const INLAY_T *x, int64_t o, int64_t i)
{
    const int64_t parts = p->half ? 1 : 2;
    const int64_t from = o * p->length * p->inner;
    const int64_t made = o * p->bins * p->inner;
    const INLAY_T *line = x + (from + i) * p->parts;
    INLAY_T *to = y + (made + i) * parts;
    INLAY_T scale = 1;
    const INLAY_T *done;
    int64_t t;
    for (t = 0; t < f->n; t++)
        inlay_typed(get)(f->in + 2 * t, line, t, f->n, p);
    done = inlay_typed(run)(f);
    if (f->inverse)
        scale /= (INLAY_T)f->n;
    inlay_typed(put)(to, done, p->bins, p->inner * parts, scale, p->half);
}

/* A row of y. */
static inline void inlay_typed(dft_row)(const inlay_dft_params *p,
                                        const inlay_typed(fft) * f, INLAY_T *y,
                                        const INLAY_T *x)
{
    int64_t o, i;
    for (o = 0; o < p->outer; o++)
        for (i = 0; i < p->inner; i++)
            inlay_typed(dft_line)(p, f, y, x, o, i);
}

static inline void inlay_typed(dft_rows)(void *const *base, const inlay_step *s,
                                         const inlay_dft_params *p, int64_t n,
                                         int32_t first, int32_t end)
{
    inlay_typed(fft) f = inlay_typed(fft_open)(base, s, 3, 5, p->n, n);
    int32_t r;
    f.inverse = p->inverse;
    for (r = first; r < end; r++) {
        INLAY_T *y = (INLAY_T *)inlay_row(base, s, 0, r);
        const INLAY_T *x = (const INLAY_T *)inlay_row(base, s, 1, r);
        inlay_typed(dft_row)(p, &f, y, x);
    }
}

static inline int inlay_typed(dft)(void *const *base, const inlay_step *s,
                                   int32_t r0, int32_t r1)
{
    inlay_dft_params p = *(const inlay_dft_params *)s->params;
    const int64_t *axis = (const int64_t *)inlay_at(base, s, 2);
    const int64_t *given = (const int64_t *)inlay_at(base, s, 4);
    int64_t n;
    if (axis && !inlay_dft_axis(&p, *axis))
        return -INLAY_E_SHAPE;
    n = inlay_dft_length(&p, axis != NULL);
    if (given)
        n = *given;
    if (n < 1 || n > p.n)
        return -INLAY_E_SHAPE;
    if (inlay_dft_bins(n, p.onesided) != p.bins)
        return -INLAY_E_SHAPE;
    inlay_typed(dft_rows)(base, s, &p, n, r0, r1);
    return 0;
}

/* n elements of a frame, times the window (NULL: 1), as complex numbers. */
static inline void inlay_typed(stft_frame)(INLAY_T *to, const INLAY_T *x,
                                           const INLAY_T *window, int64_t n,
                                           int32_t parts)
{
    int64_t t;
    for (t = 0; t < n; t++) {
        INLAY_T weight = 1;
        if (window)
            weight = window[t];
        to[0] = x[0] * weight;
        to[1] = 0;
        if (parts == 2)
            to[1] = x[1] * weight;
        to += 2;
        x += parts;
    }
}

/* Spectrum r of all: each line of x has p->frames, `step` elements apart. */
static inline void inlay_typed(stft_row)(void *const *base, const inlay_step *s,
                                         const inlay_typed(fft) * f,
                                         int64_t step, int32_t r)
{
    const inlay_stft_params *p = (const inlay_stft_params *)s->params;
    const INLAY_T *x = (const INLAY_T *)inlay_at(base, s, 1);
    const INLAY_T *window = (const INLAY_T *)inlay_at(base, s, 3);
    INLAY_T *y = (INLAY_T *)inlay_row(base, s, 0, r);
    int64_t at = r / p->frames;
    const INLAY_T *done;
    at *= p->length;
    at += r % p->frames * step;
    x += at * p->parts;
    inlay_typed(stft_frame)(f->in, x, window, f->n, p->parts);
    done = inlay_typed(run)(f);
    inlay_typed(put)(y, done, p->bins, 2, 1, 0);
}

static inline int inlay_typed(stft)(void *const *base, const inlay_step *s,
                                    int32_t r0, int32_t r1)
{
    const inlay_stft_params *p = (const inlay_stft_params *)s->params;
    const int64_t step = *(const int64_t *)inlay_at(base, s, 2);
    const int64_t *given = (const int64_t *)inlay_at(base, s, 4);
    int64_t n = p->n;
    inlay_typed(fft) f;
    if (given)
        n = *given;
    if (!inlay_stft_fits(p, n, step))
        return -INLAY_E_SHAPE;
    f = inlay_typed(fft_open)(base, s, 5, 6, p->n, n);
    for (; r0 < r1; r0++)
        inlay_typed(stft_row)(base, s, &f, step, r0);
    return 0;
}
