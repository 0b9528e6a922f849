/* SPDX-License-Identifier: 0BSD
 * Fourier transforms of one element type: INLAY_T, names through INLAY_FFT(name). Included by
 * fft.h. */

/* w[k] = e^(-2 pi i k / n), as pairs. */
static inline void INLAY_FFT(turns)(INLAY_T *w, int64_t n)
{
    int64_t k;
    for (k = 0; k < n; k++) {
        const double angle = -6.283185307179586476925 * (double)k / (double)n;
        w[2 * k] = (INLAY_T)cos(angle);
        w[2 * k + 1] = (INLAY_T)sin(angle);
    }
}

/* One pass: from transforms of length l, n/l of them interleaved (a), to those of length l r (b):
 * b[k][s] = sum over p < r of w^(k p n/(l r)) a[k mod l][s + p n/(l r)]. */
static inline void INLAY_FFT(pass)(const INLAY_T *a, INLAY_T *b, const INLAY_T *w, int64_t n,
                                   int64_t l, int64_t r, INLAY_T sign)
{
    const int64_t gap = n / (l * r);
    int64_t k, s, p;
    for (k = 0; k < l * r; k++, b += 2 * gap) {
        const INLAY_T *from = a + 2 * (k % l) * gap * r;
        for (s = 0; s < gap; s++)
            b[2 * s] = from[2 * s], b[2 * s + 1] = from[2 * s + 1];
        for (p = 1; p < r; p++) {
            const int64_t turn = k * p % (l * r) * gap;
            const INLAY_T c = w[2 * turn];
            const INLAY_T d = sign * w[2 * turn + 1];
            const INLAY_T *x = from + 2 * p * gap;
            for (s = 0; s < gap; s++) {
                b[2 * s] += c * x[2 * s] - d * x[2 * s + 1];
                b[2 * s + 1] += c * x[2 * s + 1] + d * x[2 * s];
            }
        }
    }
}

/* The transform of a [n] of complex numbers, factor by factor; returns where it is: a or b. Not
 * scaled. */
static inline const INLAY_T *INLAY_FFT(run)(INLAY_T *a, INLAY_T *b, const INLAY_T *w, int64_t n,
                                            int inverse)
{
    int64_t l = 1;
    int64_t left = n;
    int64_t r = 4;
    while (left > 1) {
        INLAY_T *done = a;
        while (left % r)
            r = r == 4 ? 2 : r == 2 ? 3 : r * r > left ? left : r + 2;
        INLAY_FFT(pass)(a, b, w, n, l, r, inverse ? (INLAY_T)-1 : (INLAY_T)1);
        l *= r;
        left /= r;
        a = b;
        b = done;
    }
    return a;
}

/* Writes `bins` numbers from element 0 of `to` on, `gap` elements apart; real: without imaginary
 * parts. */
static inline void INLAY_FFT(put)(INLAY_T *to, const INLAY_T *from, int64_t bins, int64_t gap,
                                  INLAY_T scale, int real)
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
static inline void INLAY_FFT(get)(INLAY_T *to, const INLAY_T *x, int64_t t, int64_t n,
                                  const inlay_dft_params *p)
{
    const int mirror = p->half && t > n / 2;
    const int64_t at = mirror ? n - t : t;
    const INLAY_T *v = x + at * p->inner * p->parts;
    to[0] = at < p->length ? v[0] : 0;
    to[1] = at < p->length && p->parts == 2 ? (mirror ? -v[1] : v[1]) : 0;
}

static inline int INLAY_FFT(dft)(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    inlay_dft_params q = *(const inlay_dft_params *)s->params;
    const inlay_dft_params *p = &q;
    INLAY_T *y = (INLAY_T *)inlay_at(base, s, 0);
    INLAY_T *a = (INLAY_T *)inlay_at(base, s, 5);
    const INLAY_T *x = (const INLAY_T *)inlay_at(base, s, 1);
    const INLAY_T *w = (const INLAY_T *)inlay_at(base, s, 3);
    const int64_t *axis = (const int64_t *)inlay_at(base, s, 2);
    const int64_t *given = (const int64_t *)inlay_at(base, s, 4);
    const int64_t most = q.n;
    const int64_t part = p->half ? 1 : 2;
    int64_t n, o, i, t;
    (void)r0, (void)r1;
    if (axis && !inlay_dft_axis(&q, *axis))
        return -INLAY_E_SHAPE;
    n = given ? *given : !axis ? p->n : p->half ? p->bins : p->length;
    if (n < 1 || n > most || (p->onesided ? n / 2 + 1 : n) != p->bins)
        return -INLAY_E_SHAPE;
    if (!w) {
        INLAY_FFT(turns)(a + 4 * most, n);
        w = a + 4 * most;
    }
    for (o = 0; o < p->outer; o++)
        for (i = 0; i < p->inner; i++) {
            const INLAY_T *line = x + (o * p->length * p->inner + i) * p->parts;
            const INLAY_T *done;
            for (t = 0; t < n; t++)
                INLAY_FFT(get)(a + 2 * t, line, t, n, p);
            done = INLAY_FFT(run)(a, a + 2 * most, w, n, p->inverse);
            INLAY_FFT(put)
            (y + (o * p->bins * p->inner + i) * part, done, p->bins, p->inner * part,
             p->inverse ? (INLAY_T)1 / (INLAY_T)n : 1, p->half);
        }
    return 0;
}

static inline int INLAY_FFT(stft)(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_stft_params *p = (const inlay_stft_params *)s->params;
    INLAY_T *y = (INLAY_T *)inlay_at(base, s, 0);
    INLAY_T *a = (INLAY_T *)inlay_at(base, s, 6);
    const INLAY_T *x = (const INLAY_T *)inlay_at(base, s, 1);
    const INLAY_T *window = (const INLAY_T *)inlay_at(base, s, 3);
    const INLAY_T *w = (const INLAY_T *)inlay_at(base, s, 5);
    const int64_t step = *(const int64_t *)inlay_at(base, s, 2);
    const int64_t *given = (const int64_t *)inlay_at(base, s, 4);
    const int64_t n = given ? *given : p->n;
    int64_t o, f, t;
    (void)r0, (void)r1;
    if (n < 1 || n > p->n || (p->window && n != p->window) ||
        (p->onesided ? n / 2 + 1 : n) != p->bins)
        return -INLAY_E_SHAPE;
    if (step < 1 || n > p->length || (p->length - n) / step + 1 != p->frames)
        return -INLAY_E_SHAPE;
    if (!w) {
        INLAY_FFT(turns)(a + 4 * p->n, n);
        w = a + 4 * p->n;
    }
    for (o = 0; o < p->batch; o++)
        for (f = 0; f < p->frames; f++, y += 2 * p->bins) {
            const INLAY_T *v = x + (o * p->length + f * step) * p->parts;
            for (t = 0; t < n; t++, v += p->parts) {
                const INLAY_T weight = window ? window[t] : 1;
                a[2 * t] = v[0] * weight;
                a[2 * t + 1] = p->parts == 2 ? v[1] * weight : 0;
            }
            INLAY_FFT(put)(y, INLAY_FFT(run)(a, a + 2 * p->n, w, n, 0), p->bins, 2, 1, 0);
        }
    return 0;
}
