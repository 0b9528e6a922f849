/* SPDX-License-Identifier: 0BSD
 * Losses over scores [N][C][D] with labels [N][D]; D is the product of all further dimensions. */
#ifndef INLAY_LOSS_H
#define INLAY_LOSS_H

#include <math.h>

#include "inlay.h"

#define INLAY_loss_FIELDS(F, N) \
    F(int64_t, n)               /* images */ \
    F(int64_t, c)               /* classes */ \
    F(int64_t, d)               /* places an image */ \
    F(int64_t, ignore)          /* label that does not count, where has_ignore is set */ \
    F(int32_t, has_ignore) \
    F(int32_t, reduction)       /* 0 none: loss [N][D]; 1 sum, 2 mean: loss [1] */ \
    F(int32_t, wide)            /* labels are 1: int64, 0: int32 */
INLAY_PARAMS(loss);

/* Operands: log probabilities [N][C][D] (out), scores [N][C][D].  y = x - log sum_c exp(x) */
static inline int inlay_log_softmax_classes_f32(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_loss_params *p = (const inlay_loss_params *)s->params;
    float *y = (float *)inlay_at(base, s, 0);
    const float *x = (const float *)inlay_at(base, s, 1);
    int64_t i, k, d;
    (void)r0, (void)r1;
    for (i = 0; i < p->n; i++)
        for (d = 0; d < p->d; d++) {
            const size_t at = (size_t)(i * p->c * p->d + d);
            float most = x[at], sum = 0.0f;
            for (k = 1; k < p->c; k++) most = x[at + (size_t)(k * p->d)] > most ? x[at + (size_t)(k * p->d)] : most;
            for (k = 0; k < p->c; k++) sum += expf(x[at + (size_t)(k * p->d)] - most);
            sum = logf(sum);
            for (k = 0; k < p->c; k++) y[at + (size_t)(k * p->d)] = x[at + (size_t)(k * p->d)] - most - sum;
        }
    return 0;
}

static inline int64_t inlay_label(const inlay_loss_params *p, const void *labels, int64_t i)
{
    return p->wide ? ((const int64_t *)labels)[i] : (int64_t)((const int32_t *)labels)[i];
}

/* Operands: loss (out), log probabilities [N][C][D], labels [N][D], class weights [C] (may be left out).
 * loss = -w[label] x[n][label][d]; the mean is divided by the sum of the weights that counted. */
static inline int inlay_nll_loss_f32(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_loss_params *p = (const inlay_loss_params *)s->params;
    float *loss = (float *)inlay_at(base, s, 0);
    const float *x = (const float *)inlay_at(base, s, 1), *weight = (const float *)inlay_at(base, s, 3);
    const void *labels = inlay_at(base, s, 2);
    double sum = 0.0, weights = 0.0;
    int64_t i, d;
    (void)r0, (void)r1;
    for (i = 0; i < p->n; i++)
        for (d = 0; d < p->d; d++) {
            const int64_t label = inlay_label(p, labels, i * p->d + d);
            const int skip = p->has_ignore && label == p->ignore;
            float one = 0.0f, w = 0.0f;
            if (!skip && (label < 0 || label >= p->c)) return -INLAY_E_INDEX;
            if (!skip) {
                w = weight ? weight[label] : 1.0f;
                one = -x[(i * p->c + label) * p->d + d] * w;
            }
            if (!p->reduction) loss[i * p->d + d] = one;
            sum += (double)one;
            weights += (double)w;
        }
    if (p->reduction) *loss = (float)(p->reduction == 2 ? sum / weights : sum);
    return 0;
}

#endif
