/* SPDX-License-Identifier: 0BSD
 * Elementwise kernels on floating types. */
#ifndef INLAY_ELTWISE_FLOAT_H
#define INLAY_ELTWISE_FLOAT_H

#include <float.h>

#include "kernels/act_f64.h"
#include "kernels/libm.h"
#include "kernels/math_more_vec.h"
#include "nd.h"

/* Forms that become vectors, where there are such. */
static inline float inlay_fast_exp_f32(float x)
{
    return inlay_exp_f(x);
}

static inline double inlay_fast_exp_f64(double x)
{
    return exp(x);
}

static inline float inlay_fast_erf_f32(float x)
{
    return inlay_erf_f(x);
}

static inline double inlay_fast_erf_f64(double x)
{
    return erf(x);
}

static inline float inlay_pick_f32(int c, float a, float b)
{
    return inlay_either(inlay_mask(c), a, b);
}

static inline double inlay_pick_f64(int c, double a, double b)
{
    return c ? a : b;
}

/* y[i] = sqrt(x[i]), where y may be x. Of sqrtf() compilers make no vectors: it may set errno. */
static inline void inlay_roots_f32(float *y, const float *x, int32_t n)
{
    int32_t i = 0;
#if INLAY_VL > 1
    for (; i + INLAY_VL <= n; i += INLAY_VL)
        INLAY_V(store)(y + i, INLAY_V(root)(INLAY_V(load)(x + i)));
#endif
    for (; i < n; i++)
        y[i] = sqrtf(x[i]);
}

static inline void inlay_roots_f64(double *y, const double *x, int32_t n)
{
    int32_t i;
    for (i = 0; i < n; i++)
        y[i] = sqrt(x[i]);
}

#if INLAY_VL > 1
/* x^(1/2): that of -0 is 0, that of -infinity is infinity. */
INLAY_INLINE inlay_vf inlay_half_power_v(inlay_vf x)
{
    const inlay_vf root = INLAY_V(root)(x + 0.0f);
    return inlay_pick_v(x == -INFINITY, inlay_all(INFINITY), root);
}

/* y = x^exponent, n elements, where that is a root or a product: below 1.5 units in the last place;
 * 0: it is another power. */
static inline int inlay_easy_power_f32(float *y, const float *x, int32_t n,
                                       float exponent)
{
    const int cube = exponent == 3.0f;
    int32_t i;
    if (!cube && exponent != 0.5f)
        return 0;
    for (i = 0; i < n; i += INLAY_VL) {
        const inlay_vf v = inlay_take_v(x + i, n - i);
        inlay_put_v(y + i, cube ? v * v * v : inlay_half_power_v(v), n - i);
    }
    return 1;
}

static inline int inlay_easy_power_f64(double *y, const double *x, int32_t n,
                                       double exponent)
{
    (void)y;
    (void)x;
    (void)n;
    (void)exponent;
    return 0;
}
#endif

#define INLAY_FAMILY "eltwise_float.inc.h"
#include "each_float.inc.h"
#undef INLAY_FAMILY

#endif
