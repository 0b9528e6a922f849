/* SPDX-License-Identifier: 0BSD
 * Windows and the mel filter bank. */
#ifndef INLAY_SIGNAL_H
#define INLAY_SIGNAL_H

#include <math.h>
#include <string.h>

#include "inlay.h"

/* taper: y[i] = a - b cos(2 pi i / m) + c cos(4 pi i / m), m = n where periodic, else n - 1.
 * Operands: y [n], n (int64). */
#define INLAY_taper_FIELDS(F, N) \
    F(int64_t, n) \
    F(int32_t, periodic) \
    F(double, a) \
    F(double, b) \
    F(double, c)
INLAY_PARAMS(taper);

static inline double inlay_taper_value(const inlay_taper_params *p, int64_t i)
{
    const double turn =
        6.283185307179586476925 * (double)i / (double)(p->periodic ? p->n : p->n - 1);
    return p->a - p->b * cos(turn) + p->c * cos(2.0 * turn);
}

#define INLAY_TAPER(suffix, T) \
    static inline int inlay_taper_##suffix(void *const *base, const inlay_step *s, int32_t r0, \
                                           int32_t r1) \
    { \
        const inlay_taper_params *p = (const inlay_taper_params *)s->params; \
        T *y = (T *)inlay_at(base, s, 0); \
        int64_t i; \
        (void)r0, (void)r1; \
        if (*(const int64_t *)inlay_at(base, s, 1) != p->n) \
            return -INLAY_E_SHAPE; \
        for (i = 0; i < p->n; i++) \
            y[i] = (T)inlay_taper_value(p, i); \
        return 0; \
    }
INLAY_TAPER(f32, float)
INLAY_TAPER(f64, double)

/* mel: y [bins][mels], column i a triangle between the mel frequencies i and i + 2, as spectrum
 * bins. Operands: y, number of mels, length of the transform, sample rate (int64), lower and upper
 * frequency (double). */
#define INLAY_mel_FIELDS(F, N) \
    F(int64_t, bins) \
    F(int64_t, mels)
INLAY_PARAMS(mel);

static inline double inlay_mel_of(double hertz)
{
    return 2595.0 * log10(1.0 + hertz / 700.0);
}

/* The spectrum bin of mel frequency i of `count`, held inside of what y has. */
static inline int64_t inlay_mel_bin(const inlay_mel_params *p, int64_t i, int64_t length,
                                    int64_t rate, double low, double high)
{
    const double mel = low + (double)i * ((high - low) / (double)(p->mels + 2));
    const double bin =
        floor((double)(length + 1) * (700.0 * (pow(10.0, mel / 2595.0) - 1.0)) / (double)rate);
    return bin >= 0.0 && bin < (double)p->bins ? (int64_t)bin : -1;
}

static inline int inlay_mel_f64(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_mel_params *p = (const inlay_mel_params *)s->params;
    double *y = (double *)inlay_at(base, s, 0);
    const int64_t length = *(const int64_t *)inlay_at(base, s, 2);
    const int64_t rate = *(const int64_t *)inlay_at(base, s, 3);
    const double low = inlay_mel_of(*(const double *)inlay_at(base, s, 4));
    const double high = inlay_mel_of(*(const double *)inlay_at(base, s, 5));
    int64_t i, j;
    (void)r0, (void)r1;
    if (*(const int64_t *)inlay_at(base, s, 1) != p->mels || length / 2 + 1 != p->bins ||
        length < 0 || rate < 1)
        return -INLAY_E_SHAPE;
    memset(y, 0, (size_t)(p->bins * p->mels) * sizeof *y);
    for (i = 0; i < p->mels; i++) {
        const int64_t from = inlay_mel_bin(p, i, length, rate, low, high);
        const int64_t top = inlay_mel_bin(p, i + 1, length, rate, low, high);
        const int64_t end = inlay_mel_bin(p, i + 2, length, rate, low, high);
        if (from < 0 || top < from || end < top)
            return -INLAY_E_INDEX;
        for (j = from; j <= top; j++)
            y[j * p->mels + i] = top == from ? 1.0 : (double)(j - from) / (double)(top - from);
        for (j = top; j < end; j++)
            y[j * p->mels + i] = (double)(end - j) / (double)(end - top);
    }
    return 0;
}

/* tfidf: y [batch][out]: how often each n-gram of the pool occurs in x [batch][n], its elements 1 +
 * skip apart, skip <= skips. mode 0: the number, 1: the weight where it occurs, 2: number times
 * weight. Several n-grams may add to one place. Operands: y, x, pool (int64), grams { first in the
 * pool, length, place } (int32 [grams][3]), weights (float [grams]). */
#define INLAY_tfidf_FIELDS(F, N) \
    F(int32_t, batch) \
    F(int32_t, n) \
    F(int32_t, out) \
    F(int32_t, grams) \
    F(int32_t, skips) \
    F(int32_t, mode) \
    F(int32_t, wide) /* 1: x is int64, 0: int32 */
INLAY_PARAMS(tfidf);

static inline int64_t inlay_token(const void *x, int32_t wide, size_t i)
{
    return wide ? ((const int64_t *)x)[i] : ((const int32_t *)x)[i];
}

/* How often the n-gram occurs in the line that begins at element `at`. */
static inline int32_t inlay_gram_count(const inlay_tfidf_params *p, const void *x, size_t at,
                                       const int64_t *gram, int32_t length)
{
    const int32_t skips = length == 1 ? 0 : p->skips;
    int32_t skip;
    int32_t i;
    int32_t k;
    int32_t count = 0;
    for (skip = 0; skip <= skips; skip++)
        for (i = 0; i + (int64_t)(length - 1) * (skip + 1) < p->n; i++) {
            for (k = 0; k < length; k++)
                if (inlay_token(x, p->wide, at + (size_t)i + (size_t)k * (size_t)(skip + 1)) !=
                    gram[k])
                    break;
            count += k == length;
        }
    return count;
}

static inline int inlay_tfidf(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_tfidf_params *p = (const inlay_tfidf_params *)s->params;
    float *y = (float *)inlay_at(base, s, 0);
    const void *x = inlay_at(base, s, 1);
    const int64_t *pool = (const int64_t *)inlay_at(base, s, 2);
    const int32_t *gram = (const int32_t *)inlay_at(base, s, 3);
    const float *weight = (const float *)inlay_at(base, s, 4);
    int32_t b, g;
    (void)r0, (void)r1;
    for (b = 0; b < p->batch; b++, y += p->out) {
        memset(y, 0, (size_t)p->out * sizeof *y);
        for (g = 0; g < p->grams; g++) {
            const int32_t *q = gram + 3 * g;
            const int32_t count =
                inlay_gram_count(p, x, (size_t)b * (size_t)p->n, pool + q[0], q[1]);
            if (count)
                y[q[2]] += p->mode == 0   ? (float)count
                           : p->mode == 1 ? weight[g]
                                          : (float)count * weight[g];
        }
    }
    return 0;
}

#endif
