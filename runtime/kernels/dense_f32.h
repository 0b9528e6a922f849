/* SPDX-License-Identifier: 0BSD
 * Fully connected layers: a few hundred bytes of code instead of the tiles of conv_f32.h. Those pay
 * where there are many pixels, and with wide vectors where there are many weights. */
#ifndef INLAY_DENSE_F32_H
#define INLAY_DENSE_F32_H

#include "inlay.h"
#include "kernels/vec.h"

/* y[n] = clamp(sum_k x[k] w[n][k] + bias[n] + q[n]). Operands: y [N] (out), x [K], w [N / 4][K][4],
 * bias [N up to fours], q [N] or none. */
typedef struct inlay_dense_params {
    int32_t k;
    int32_t n;
    int32_t clamp; /* bit 0: at least a, bit 1: at most b */
    float a;
    float b;
} inlay_dense_params;

#ifdef INLAY_HELIUM
#include "kernels/dense_helium.inc.h"
#else
#ifdef INLAY_FPU_ARM
#include "kernels/dense_arm.inc.h"
#endif

/* sum[i] = the products of x with output i of four. */
INLAY_INLINE void inlay_dense_four(float *sum, const float *x, const float *w,
                                   int32_t n)
{
    int32_t k = 0;
    int i;
    INLAY_UNROLL
    for (i = 0; i < 4; i++)
        sum[i] = 0.0f;
#ifdef INLAY_FPU_ARM
    if (n >= 4) {
        inlay_dense_fours(sum, x, w, n >> 2);
        k = n & ~3;
    }
#endif
    for (; k < n; k++) {
        INLAY_UNROLL
        for (i = 0; i < 4; i++)
            sum[i] = inlay_fma1(x[k], w[4 * k + i], sum[i]);
    }
}

/* Outputs from n on, at most four, of which `sum` has the products; q may be NULL. */
INLAY_INLINE void inlay_dense_store(const inlay_dense_params *p, float *y,
                                    const float *sum, const float *bias,
                                    const float *q, int32_t n)
{
    int32_t i;
    for (i = 0; i < 4 && n + i < p->n; i++) {
        float v = sum[i] + bias[n + i];
        if (q)
            v += q[n + i];
        if (p->clamp & 1)
            v = inlay_max1(p->a, v);
        if (p->clamp & 2)
            v = inlay_min1(p->b, v);
        y[n + i] = v;
    }
}

INLAY_INLINE void inlay_dense_all(const inlay_dense_params *p, float *y,
                                  const float *x, const float *w,
                                  const float *bias, const float *q)
{
    int32_t n;
    for (n = 0; n < p->n; n += 4, w += 4 * (ptrdiff_t)p->k) {
        float sum[4];
        inlay_dense_four(sum, x, w, p->k);
        inlay_dense_store(p, y, sum, bias, q, n);
    }
}
#endif

static inline int inlay_dense_f32(void *const *base, const inlay_step *s,
                                  int32_t r0, int32_t r1)
{
    const inlay_dense_params *p = (const inlay_dense_params *)s->params;
    float *y = (float *)inlay_at(base, s, 0);
    const float *x = (const float *)inlay_at(base, s, 1);
    const float *w = (const float *)inlay_at(base, s, 2);
    const float *bias = (const float *)inlay_at(base, s, 3);
    const float *q = (const float *)inlay_at(base, s, 4);
    (void)r0;
    (void)r1;
    inlay_dense_all(p, y, x, w, bias, q);
    return 0;
}

#endif
