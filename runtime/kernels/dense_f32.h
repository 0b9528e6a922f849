/* SPDX-License-Identifier: 0BSD
 * Small fully connected layers: a few hundred bytes of code instead of the tiles of conv_f32.h,
 * which pay only where there are many pixels or many weights. */
#ifndef INLAY_DENSE_F32_H
#define INLAY_DENSE_F32_H

#include "inlay.h"

/* y[n] = clamp(sum_k x[k] w[n][k] + bias[n] + q[n]). Operands: y [N] (out), x [K], w [N / 4][K][4],
 * bias [N up to fours], q [N] or none. */
typedef struct inlay_dense_params {
    int32_t k;
    int32_t n;
    int32_t clamp; /* bit 0: at least a, bit 1: at most b */
    float a;
    float b;
} inlay_dense_params;

static inline float inlay_dense_end(const inlay_dense_params *p, float v)
{
    if ((p->clamp & 1) && !(v > p->a))
        v = v != v ? v : p->a;
    if ((p->clamp & 2) && !(v < p->b))
        v = v != v ? v : p->b;
    return v;
}

/* sum[i] = the products of x with output i of four. */
INLAY_INLINE void inlay_dense_four(float *sum, const float *x, const float *w,
                                   int32_t n)
{
    int32_t i, k;
    INLAY_UNROLL
    for (i = 0; i < 4; i++)
        sum[i] = 0.0f;
    for (k = 0; k < n; k++, w += 4) {
        INLAY_UNROLL
        for (i = 0; i < 4; i++)
            sum[i] += x[k] * w[i];
    }
}

/* Outputs from n on, at most four, of which `sum` has the products; q may be NULL. */
INLAY_INLINE void inlay_dense_store(const inlay_dense_params *p, float *y,
                                    const float *sum, const float *bias,
                                    const float *q, int32_t n)
{
    int32_t i;
    for (i = 0; i < 4 && n + i < p->n; i++) {
        const float v = sum[i] + bias[n + i];
        y[n + i] = inlay_dense_end(p, v + (q ? q[n + i] : 0.0f));
    }
}

static inline int inlay_dense_f32(void *const *base, const inlay_step *s,
                                  int32_t r0, int32_t r1)
{
    const inlay_dense_params *p = (const inlay_dense_params *)s->params;
    float *y = (float *)inlay_at(base, s, 0);
    const float *x = (const float *)inlay_at(base, s, 1);
    const float *w = (const float *)inlay_at(base, s, 2);
    const float *bias = (const float *)inlay_at(base, s, 3);
    const float *q = (const float *)inlay_at(base, s, 4);
    int32_t n;
    (void)r0;
    (void)r1;
    for (n = 0; n < p->n; n += 4) {
        float sum[4];
        inlay_dense_four(sum, x, w + (ptrdiff_t)n * p->k, p->k);
        inlay_dense_store(p, y, sum, bias, q, n);
    }
    return 0;
}

#endif
