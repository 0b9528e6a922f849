/* SPDX-License-Identifier: 0BSD
 * Small fully connected layers: a few hundred bytes of code instead of the tiles of conv_f32.h,
 * which pay only where there are many pixels or many weights. */
#ifndef INLAY_DENSE_F32_H
#define INLAY_DENSE_F32_H

#include "inlay.h"

/* y[n] = clamp(sum_k x[k] w[n][k] + bias[n] + q[n]). Operands: y [N] (out), x [K], w [N / 4][K][4],
 * bias [N up to fours], q [N] or none. */
#define INLAY_dense_FIELDS(F, N) \
    F(int32_t, k) \
    F(int32_t, n) \
    F(int32_t, clamp) /* bit 0: at least a, bit 1: at most b */ \
    F(float, a) \
    F(float, b)
INLAY_PARAMS(dense);

static inline float inlay_dense_end(const inlay_dense_params *p, float v)
{
    if ((p->clamp & 1) && !(v > p->a))
        v = v != v ? v : p->a;
    if ((p->clamp & 2) && !(v < p->b))
        v = v != v ? v : p->b;
    return v;
}

static inline int inlay_dense_f32(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_dense_params *p = (const inlay_dense_params *)s->params;
    float *y = (float *)inlay_at(base, s, 0);
    const float *x = (const float *)inlay_at(base, s, 1);
    const float *w = (const float *)inlay_at(base, s, 2);
    const float *bias = (const float *)inlay_at(base, s, 3);
    const float *q = (const float *)inlay_at(base, s, 4);
    int32_t n, k, i;
    (void)r0, (void)r1;
    for (n = 0; n < p->n; n += 4) {
        float a0 = 0.0f;
        float a1 = 0.0f;
        float a2 = 0.0f;
        float a3 = 0.0f;
        float sum[4];
        for (k = 0; k < p->k; k++, w += 4) {
            const float v = x[k];
            a0 += v * w[0];
            a1 += v * w[1];
            a2 += v * w[2];
            a3 += v * w[3];
        }
        sum[0] = a0, sum[1] = a1, sum[2] = a2, sum[3] = a3;
        for (i = 0; i < 4 && n + i < p->n; i++)
            y[n + i] = inlay_dense_end(p, sum[i] + bias[n + i] + (q ? q[n + i] : 0.0f));
    }
    return 0;
}

#endif
