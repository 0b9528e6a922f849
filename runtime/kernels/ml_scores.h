/* SPDX-License-Identifier: 0BSD
 * Scores of classical models: post transforms, the class they name, normalization of rows. */
#ifndef INLAY_ML_SCORES_H
#define INLAY_ML_SCORES_H

#include "inlay_memory.h"
#include "inlay.h"
#include "kernels/libm.h"

/* Numbers of post transforms. */
enum {
    INLAY_POST_NONE = 0,
    INLAY_POST_SOFTMAX = 1,
    INLAY_POST_LOGISTIC = 2,
    INLAY_POST_SOFTMAX_ZERO = 3,
    INLAY_POST_PROBIT = 4
};

static inline float inlay_logistic(float x)
{
    const float v = 1.0f / (1.0f + expf(x < 0.0f ? x : -x));
    return x < 0.0f ? 1.0f - v : v;
}

/* sqrt(2) erfinv(2 x - 1), by Winitzki's formula as the reference has it. */
static inline float inlay_probit(float x)
{
    const float t = 2.0f * x - 1.0f;
    const float l = logf((1.0f - t) * (1.0f + t));
    const float v = 2.0f / (3.14159f * 0.147f) + 0.5f * l;
    const float w = 1.0f / 0.147f * l;
    const float r = sqrtf(-v + sqrtf(v * v - w));
    return 1.41421356f * (t < 0.0f ? -r : r);
}

/* `zero`: scores of zero stay small, as they were absent. */
static inline void inlay_post_softmax(float *z, int32_t n, int zero)
{
    float most = z[0];
    float sum = 0.0f;
    int32_t i;
    for (i = 1; i < n; i++)
        most = z[i] > most ? z[i] : most;
    for (i = 0; i < n; i++) {
        if (zero && z[i] <= 0.0000001f && z[i] >= -0.0000001f) {
            z[i] *= expf(-most);
            continue;
        }
        z[i] = expf(z[i] - most);
        sum += z[i];
    }
    for (i = 0; i < n; i++)
        z[i] /= sum;
}

static inline void inlay_post(float *z, int32_t n, int32_t post)
{
    int32_t i;
    switch (post) {
    case INLAY_POST_SOFTMAX:
        inlay_post_softmax(z, n, 0);
        break;
    case INLAY_POST_SOFTMAX_ZERO:
        inlay_post_softmax(z, n, 1);
        break;
    case INLAY_POST_LOGISTIC:
        for (i = 0; i < n; i++)
            z[i] = inlay_logistic(z[i]);
        break;
    case INLAY_POST_PROBIT:
        for (i = 0; i < n; i++)
            z[i] = inlay_probit(z[i]);
        break;
    default:
        break;
    }
}

/* One score s becomes two: of -s and s with LOGISTIC, else -s and s where it is a decision, 1 - s
 * and s where it is a share. */
static inline void inlay_post_second(float *z, int decision, int32_t post)
{
    const float s = z[0];
    z[1] = s;
    z[0] = decision ? -s : 1.0f - s;
    if (post == INLAY_POST_PROBIT) {
        z[0] = inlay_probit(s);
        z[1] = 0.0f;
    } else if (post == INLAY_POST_LOGISTIC) {
        z[1] = inlay_logistic(s);
        z[0] = inlay_logistic(-s);
    }
}

/* Index of the largest of n; the first of equals. */
static inline int32_t inlay_argmax(const float *z, int32_t n)
{
    int32_t i;
    int32_t best = 0;
    for (i = 1; i < n; i++)
        if (z[i] > z[best])
            best = i;
    return best;
}

typedef struct inlay_ml_scores_params {
    int32_t n;    /* rows */
    int32_t k;    /* scores of a row of x */
    int32_t out;  /* of a row of z: k, or 2 where k is 1 */
    int32_t post; /* INLAY_POST_... */
    /* normalize: 0 largest, 1 sum of magnitudes, 2 root of the sum of squares */
    int32_t kind;
} inlay_ml_scores_params;

/* The class that scores name; of one score, whether it is positive. */
static inline int32_t inlay_ml_class(const float *x, int32_t k)
{
    return k == 1 ? x[0] > 0.0f : inlay_argmax(x, k);
}

/* Operands: z [n][out], label [n] (may be left out), x [n][k], labels [k] or [2]. One score is
 * positive or negative. */
static inline int inlay_ml_classify(void *const *base, const inlay_step *s,
                                    int32_t r0, int32_t r1)
{
    const inlay_ml_scores_params *p = (const inlay_ml_scores_params *)s->params;
    float *z = (float *)inlay_at(base, s, 0);
    int64_t *label = (int64_t *)inlay_at(base, s, 1);
    const float *x = (const float *)inlay_at(base, s, 2);
    const int64_t *labels = (const int64_t *)inlay_at(base, s, 3);
    int32_t i;
    (void)r0;
    (void)r1;
    for (i = 0; i < p->n; i++, x += p->k, z += p->out) {
        if (label)
            label[i] = labels[inlay_ml_class(x, p->k)];
        memcpy(z, x, (size_t)p->k * sizeof *z);
        if (p->out > p->k)
            inlay_post_second(z, 0, p->post);
        else if (p->k > 1 || p->post == INLAY_POST_PROBIT)
            inlay_post(z, p->k, p->post);
    }
    return 0;
}

/* The norm of a row: by `kind` the largest, the sum of magnitudes, or the root of the sum of
 * squares. */
static inline float inlay_ml_norm(const inlay_ml_scores_params *p,
                                  const float *x)
{
    float norm = p->kind ? 0.0f : x[0];
    int32_t i;
    for (i = 0; i < p->k; i++) {
        if (p->kind == 0)
            norm = x[i] > norm ? x[i] : norm;
        else
            norm += p->kind == 1 ? fabsf(x[i]) : x[i] * x[i];
    }
    return p->kind == 2 ? sqrtf(norm) : norm;
}

/* Rows of x divided by their norm; a norm of zero leaves them. Operands: y, x. */
static inline int inlay_ml_normalize(void *const *base, const inlay_step *s,
                                     int32_t r0, int32_t r1)
{
    const inlay_ml_scores_params *p = (const inlay_ml_scores_params *)s->params;
    float *y = (float *)inlay_at(base, s, 0);
    const float *x = (const float *)inlay_at(base, s, 1);
    int32_t i, k;
    (void)r0;
    (void)r1;
    for (i = 0; i < p->n; i++, x += p->k, y += p->k) {
        const float norm = inlay_ml_norm(p, x);
        for (k = 0; k < p->k; k++)
            y[k] = norm < 0.0f || norm > 0.0f ? x[k] / norm : x[k];
    }
    return 0;
}

#endif
