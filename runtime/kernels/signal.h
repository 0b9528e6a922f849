/* SPDX-License-Identifier: 0BSD
 * Windows and the mel filter bank. */
#ifndef INLAY_SIGNAL_H
#define INLAY_SIGNAL_H

#include "inlay_memory.h"
#include "inlay.h"
#include "kernels/libm.h"

/* taper: y[i] = a - b cos(2 pi i / m) + c cos(4 pi i / m), m = n where periodic, else n - 1.
 * Operands: y [n], n (int64). */
typedef struct inlay_taper_params {
    int64_t n;
    int32_t periodic;
    double a;
    double b;
    double c;
} inlay_taper_params;

static inline double inlay_taper_value(const inlay_taper_params *p, int64_t i)
{
    const double turn = 6.283185307179586476925 * (double)i /
                        (double)(p->periodic ? p->n : p->n - 1);
    return p->a - p->b * cos(turn) + p->c * cos(2.0 * turn);
}

#define INLAY_FAMILY "signal.inc.h"
#include "each_float.inc.h"
#undef INLAY_FAMILY

/* mel: y [bins][mels], column i a triangle between the mel frequencies i and i + 2, as spectrum
 * bins. Operands: y, number of mels, length of the transform, sample rate (int64), lower and upper
 * frequency (double). */
typedef struct inlay_mel_params {
    int64_t bins;
    int64_t mels;
} inlay_mel_params;

static inline double inlay_mel_of(double hertz)
{
    return 2595.0 * log10(1.0 + hertz / 700.0);
}

/* What spectrum and mel frequencies have to do with each other. */
typedef struct inlay_mel_scale {
    int64_t mels, bins;   /* of y */
    int64_t length, rate; /* of the transform, of the samples */
    double low, high;     /* mel frequencies */
} inlay_mel_scale;

/* The spectrum bin of mel frequency i; -1: y has none such. */
static inline int64_t inlay_mel_bin(const inlay_mel_scale *scale, int64_t i)
{
    const double step = (scale->high - scale->low) / (double)(scale->mels + 2);
    const double mel = scale->low + (double)i * step;
    const double hertz = 700.0 * (pow(10.0, mel / 2595.0) - 1.0);
    const double bin =
        floor((double)(scale->length + 1) * hertz / (double)scale->rate);
    return bin >= 0.0 && bin < (double)scale->bins ? (int64_t)bin : -1;
}

/* Column i of y; 0: a bin does not exist. */
static inline int inlay_mel_column(const inlay_mel_scale *scale, double *y,
                                   int64_t i)
{
    const int64_t from = inlay_mel_bin(scale, i);
    const int64_t top = inlay_mel_bin(scale, i + 1);
    const int64_t end = inlay_mel_bin(scale, i + 2);
    int64_t j;
    if (from < 0 || top < from || end < top)
        return 0;
    for (j = from; j < top; j++)
        y[j * scale->mels + i] = (double)(j - from) / (double)(top - from);
    y[top * scale->mels + i] = 1.0;
    for (j = top; j < end; j++)
        y[j * scale->mels + i] = (double)(end - j) / (double)(end - top);
    return 1;
}

static inline inlay_mel_scale inlay_mel_open(void *const *base,
                                             const inlay_step *s)
{
    const inlay_mel_params *p = (const inlay_mel_params *)s->params;
    inlay_mel_scale scale;
    scale.mels = p->mels;
    scale.bins = p->bins;
    scale.length = *(const int64_t *)inlay_at(base, s, 2);
    scale.rate = *(const int64_t *)inlay_at(base, s, 3);
    scale.low = inlay_mel_of(*(const double *)inlay_at(base, s, 4));
    scale.high = inlay_mel_of(*(const double *)inlay_at(base, s, 5));
    return scale;
}

static inline int inlay_mel_f64(void *const *base, const inlay_step *s,
                                int32_t r0, int32_t r1)
{
    const inlay_mel_params *p = (const inlay_mel_params *)s->params;
    double *y = (double *)inlay_at(base, s, 0);
    const int64_t mels = *(const int64_t *)inlay_at(base, s, 1);
    const inlay_mel_scale scale = inlay_mel_open(base, s);
    int64_t i;
    (void)r0;
    (void)r1;
    if (mels != p->mels || scale.length / 2 + 1 != p->bins ||
        scale.length < 0 || scale.rate < 1)
        return -INLAY_E_SHAPE;
    memset(y, 0, (size_t)(p->bins * p->mels) * sizeof *y);
    for (i = 0; i < p->mels; i++)
        if (!inlay_mel_column(&scale, y, i))
            return -INLAY_E_INDEX;
    return 0;
}

/* tfidf: y [batch][out]: how often each n-gram of the pool occurs in x [batch][n], its elements 1 +
 * skip apart, skip <= skips. mode 0: the number, 1: the weight where it occurs, 2: number times
 * weight. Several n-grams may add to one place. Operands: y, x, pool (int64), grams { first in the
 * pool, length, place } (int32 [grams][3]), weights (float [grams]). */
typedef struct inlay_tfidf_params {
    int32_t batch;
    int32_t n;
    int32_t out;
    int32_t grams;
    int32_t skips;
    int32_t mode;
    int32_t wide; /* 1: x is int64, 0: int32 */
} inlay_tfidf_params;

static inline int64_t inlay_token(const void *x, int32_t wide, size_t i)
{
    return wide ? ((const int64_t *)x)[i] : ((const int32_t *)x)[i];
}

/* Does the n-gram stand at element `at`, its elements `step` apart? */
static inline int inlay_gram_at(const inlay_tfidf_params *p, const void *x,
                                size_t at, size_t step, const int64_t *gram,
                                int32_t length)
{
    int32_t k;
    for (k = 0; k < length; k++)
        if (inlay_token(x, p->wide, at + (size_t)k * step) != gram[k])
            return 0;
    return 1;
}

/* How often the n-gram occurs in the line that begins at element `at`. */
static inline int32_t inlay_gram_count(const inlay_tfidf_params *p,
                                       const void *x, size_t at,
                                       const int64_t *gram, int32_t length)
{
    const int32_t most = length == 1 ? 1 : p->skips + 1;
    int32_t count = 0;
    int32_t step, i;
    for (step = 1; step <= most; step++)
        for (i = 0; i + (int64_t)(length - 1) * step < p->n; i++)
            count +=
                inlay_gram_at(p, x, at + (size_t)i, (size_t)step, gram, length);
    return count;
}

/* The n-grams that are counted, each { first in the pool, length, place }. */
typedef struct inlay_grams {
    const int64_t *pool;
    const int32_t *gram;
    const float *weight;
} inlay_grams;

/* y [out] of the line of x that begins at element `line`. */
INLAY_INLINE void inlay_tfidf_line(const inlay_tfidf_params *p,
                                   const inlay_grams *grams, const void *x,
                                   size_t line, float *y)
{
    int32_t g;
    memset(y, 0, (size_t)p->out * sizeof *y);
    for (g = 0; g < p->grams; g++) {
        const int32_t *gram = grams->gram + 3 * g;
        const int64_t *first = grams->pool + gram[0];
        const int32_t count = inlay_gram_count(p, x, line, first, gram[1]);
        /* A conversion under a condition would become vcvtne, which GNU as takes for a rounding
         * of Helium's. */
        const int32_t times = p->mode == 1 ? count > 0 : count;
        /* Mode 0 may come without weights. */
        const float weight = p->mode ? grams->weight[g] : 1.0f;
        if (count)
            y[gram[2]] += (float)times * weight;
    }
}

static inline int inlay_tfidf(void *const *base, const inlay_step *s,
                              int32_t r0, int32_t r1)
{
    const inlay_tfidf_params *p = (const inlay_tfidf_params *)s->params;
    float *y = (float *)inlay_at(base, s, 0);
    const void *x = inlay_at(base, s, 1);
    size_t line = 0;
    inlay_grams grams;
    int32_t b;
    (void)r0;
    (void)r1;
    grams.pool = (const int64_t *)inlay_at(base, s, 2);
    grams.gram = (const int32_t *)inlay_at(base, s, 3);
    grams.weight = (const float *)inlay_at(base, s, 4);
    for (b = 0; b < p->batch; b++) {
        inlay_tfidf_line(p, &grams, x, line, y);
        line += (size_t)p->n;
        y += p->out;
    }
    return 0;
}

#endif
