/* SPDX-License-Identifier: 0BSD
 * Fourier transforms of one element type. Included by fft.h. */

/* w[k] = e^(-2 pi i k / n), as pairs. */
static inline void inlay_typed(turns)(INLAY_T *w, int64_t n)
{
    int64_t k;
    for (k = 0; k < n; k++) {
        const double angle = -6.283185307179586476925 * (double)k / (double)n;
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

/* One pass: from transforms of length l, n/l of them interleaved (a), to those of length l r (b):
 * b[k][s] = sum over p < r of w^(k p n/(l r)) a[k mod l][s + p n/(l r)]. */
static inline void inlay_typed(pass)(const INLAY_T *a, INLAY_T *b,
                                     const INLAY_T *w, int64_t n, int64_t l,
                                     int64_t r, INLAY_T sign)
{
    const int64_t gap = n / (l * r);
    int64_t k, p;
    for (k = 0; k < l * r; k++, b += 2 * gap) {
        const INLAY_T *from = a + 2 * (k % l) * gap * r;
        inlay_typed(fft_copy)(b, from, gap);
        for (p = 1; p < r; p++) {
            const int64_t turn = k * p % (l * r) * gap;
            inlay_typed(fft_add)(b, from + 2 * p * gap, gap, w[2 * turn],
                                 sign * w[2 * turn + 1]);
        }
    }
}

/* The transform of a [n] of complex numbers, factor by factor; returns where it is: a or b. Not
 * scaled. */
static inline const INLAY_T *inlay_typed(run)(INLAY_T *a, INLAY_T *b,
                                              const INLAY_T *w, int64_t n,
                                              int inverse)
{
    int64_t l = 1;
    int64_t left = n;
    int64_t r = 4;
    while (left > 1) {
        INLAY_T *done = a;
        while (left % r)
            r = inlay_next_factor(r, left);
        inlay_typed(pass)(a, b, w, n, l, r, inverse ? (INLAY_T)-1 : (INLAY_T)1);
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
    for (k = 0; k < bins; k++, to += gap) {
        to[0] = from[2 * k] * scale;
        if (!real)
            to[1] = from[2 * k + 1] * scale;
    }
}

/* Element t of a line; beyond its end 0, and where half of a spectrum is given (half) the other
 * half is its mirror. */
static inline void inlay_typed(get)(INLAY_T *to, const INLAY_T *x, int64_t t,
                                    int64_t n, const inlay_dft_params *p)
{
    const int mirror = p->half && t > n / 2;
    const int64_t at = mirror ? n - t : t;
    const INLAY_T *v = x + at * p->inner * p->parts;
    to[0] = at < p->length ? v[0] : 0;
    to[1] = at < p->length && p->parts == 2 ? v[1] : 0;
    if (mirror && at < p->length && p->parts == 2)
        to[1] = -v[1];
}

/* The table of turns: what is given, or made behind the two buffers of `most` numbers. */
static inline const INLAY_T *inlay_typed(dft_turns)(const INLAY_T *given,
                                                    INLAY_T *buffer,
                                                    int64_t most, int64_t n)
{
    INLAY_T *made = buffer + 4 * most;
    if (given)
        return given;
    inlay_typed(turns)(made, n);
    return made;
}

/* Line i of block o. */
static inline void inlay_typed(dft_line)(const inlay_dft_params *p, INLAY_T *y,
                                         const INLAY_T *x, INLAY_T *buffer,
                                         INLAY_T *other, const INLAY_T *w,
                                         int64_t n, int64_t o, int64_t i)
{
    const int64_t part = p->half ? 1 : 2;
    const INLAY_T *line = x + (o * p->length * p->inner + i) * p->parts;
    const INLAY_T *done;
    int64_t t;
    for (t = 0; t < n; t++)
        inlay_typed(get)(buffer + 2 * t, line, t, n, p);
    done = inlay_typed(run)(buffer, other, w, n, p->inverse);
    inlay_typed(put)(y + (o * p->bins * p->inner + i) * part, done, p->bins,
                     p->inner * part, p->inverse ? (INLAY_T)1 / (INLAY_T)n : 1,
                     p->half);
}

static inline int inlay_typed(dft)(void *const *base, const inlay_step *s,
                                   int32_t r0, int32_t r1)
{
    inlay_dft_params p = *(const inlay_dft_params *)s->params;
    INLAY_T *y = (INLAY_T *)inlay_at(base, s, 0);
    const INLAY_T *x = (const INLAY_T *)inlay_at(base, s, 1);
    const int64_t *axis = (const int64_t *)inlay_at(base, s, 2);
    const INLAY_T *w = (const INLAY_T *)inlay_at(base, s, 3);
    const int64_t *given = (const int64_t *)inlay_at(base, s, 4);
    INLAY_T *buffer = (INLAY_T *)inlay_at(base, s, 5);
    int64_t n, o, i;
    (void)r0;
    (void)r1;
    if (axis && !inlay_dft_axis(&p, *axis))
        return -INLAY_E_SHAPE;
    n = given ? *given : inlay_dft_length(&p, axis != NULL);
    if (n < 1 || n > p.n || inlay_dft_bins(n, p.onesided) != p.bins)
        return -INLAY_E_SHAPE;
    w = inlay_typed(dft_turns)(w, buffer, p.n, n);
    for (o = 0; o < p.outer; o++)
        for (i = 0; i < p.inner; i++)
            inlay_typed(dft_line)(&p, y, x, buffer, buffer + 2 * p.n, w, n, o,
                                  i);
    return 0;
}

/* n elements of a frame, times the window (NULL: 1), as complex numbers. */
static inline void inlay_typed(stft_frame)(INLAY_T *to, const INLAY_T *x,
                                           const INLAY_T *window, int64_t n,
                                           int32_t parts)
{
    int64_t t;
    for (t = 0; t < n; t++, x += parts) {
        const INLAY_T weight = window ? window[t] : 1;
        to[2 * t] = x[0] * weight;
        to[2 * t + 1] = parts == 2 ? x[1] * weight : 0;
    }
}

/* All frames of one line of x: returns where y ends. */
static inline INLAY_T *inlay_typed(stft_line)(const inlay_stft_params *p,
                                              INLAY_T *y, const INLAY_T *x,
                                              const INLAY_T *window,
                                              INLAY_T *buffer, const INLAY_T *w,
                                              int64_t n, int64_t step)
{
    int64_t f;
    for (f = 0; f < p->frames; f++, y += 2 * p->bins) {
        const INLAY_T *done;
        inlay_typed(stft_frame)(buffer, x + f * step * p->parts, window, n,
                                p->parts);
        done = inlay_typed(run)(buffer, buffer + 2 * p->n, w, n, 0);
        inlay_typed(put)(y, done, p->bins, 2, 1, 0);
    }
    return y;
}

static inline int inlay_typed(stft)(void *const *base, const inlay_step *s,
                                    int32_t r0, int32_t r1)
{
    const inlay_stft_params *p = (const inlay_stft_params *)s->params;
    INLAY_T *y = (INLAY_T *)inlay_at(base, s, 0);
    const INLAY_T *x = (const INLAY_T *)inlay_at(base, s, 1);
    const int64_t step = *(const int64_t *)inlay_at(base, s, 2);
    const INLAY_T *window = (const INLAY_T *)inlay_at(base, s, 3);
    const int64_t *given = (const int64_t *)inlay_at(base, s, 4);
    const INLAY_T *w = (const INLAY_T *)inlay_at(base, s, 5);
    INLAY_T *buffer = (INLAY_T *)inlay_at(base, s, 6);
    const int64_t n = given ? *given : p->n;
    int64_t o;
    (void)r0;
    (void)r1;
    if (!inlay_stft_fits(p, n, step))
        return -INLAY_E_SHAPE;
    w = inlay_typed(dft_turns)(w, buffer, p->n, n);
    for (o = 0; o < p->batch; o++, x += p->length * p->parts)
        y = inlay_typed(stft_line)(p, y, x, window, buffer, w, n, step);
    return 0;
}
