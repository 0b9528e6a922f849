/* SPDX-License-Identifier: 0BSD
 * Activations fused into convolutions and products: y = act(y; a, b), in place.
 *
 * The two clamps are done by the tiles themselves; all others are a second pass over
 * the row that was just stored, in kernels of their own, so that a model that
 * does not use them does not link exp. */
#ifndef INLAY_ACT_H
#define INLAY_ACT_H

#include <stdint.h>

#include "kernels/math_f32.h"

/* Numbers of the attribute "act" and of the parameter `act`. */
enum {
    INLAY_ACT_NONE = 0,
    INLAY_ACT_CLAMP = 1, /* min(max(x, a), b); an infinite bound is no bound */
    INLAY_ACT_LEAKY = 2, /* x < 0 ? a x : x */
    INLAY_ACT_SIGMOID = 3,
    INLAY_ACT_TANH = 4,
    INLAY_ACT_HARD_SIGMOID = 5, /* max(0, min(1, a x + b)) */
    INLAY_ACT_HARD_SWISH = 6,   /* x max(0, min(1, x / 6 + 1 / 2)) */
    INLAY_ACT_SILU = 7,         /* x sigmoid(a x) */
    INLAY_ACT_GELU = 8,         /* x (1 + erf(x / sqrt 2)) / 2 */
    INLAY_ACT_GELU_TANH = 9,    /* x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2 */
    INLAY_ACT_ELU = 10,         /* x < 0 ? a (e^x - 1) : x */
    INLAY_ACT_SOFTPLUS = 11,    /* log(1 + e^x) */
    INLAY_ACT_MISH = 12,        /* x tanh(softplus(x)) */
    INLAY_ACT_SELU = 13,        /* b (x < 0 ? a (e^x - 1) : x) */
    INLAY_ACT_SOFTSIGN = 14,    /* x / (1 + |x|) */
    INLAY_ACT_COUNT = 15
};

static inline float inlay_act_clip01(float x)
{
    const float v = 0.0f > x ? 0.0f : x;
    return 1.0f < v ? 1.0f : v;
}

static inline float inlay_act_elu(float x, float a)
{
    return inlay_either(inlay_mask(x < 0.0f), a * inlay_expm1_f(x), x);
}

#define INLAY_ACT_CASE(id, expression) \
    case id: \
        for (i = 0; i < n; i++) { \
            const float x = y[i]; \
            y[i] = (expression); \
        } \
        break;

/* y[i] = act(y[i]) for n elements in a row. */
static inline void inlay_act_f32(float *y, int32_t n, int32_t act, float a, float b)
{
    int32_t i;
    switch (act) {
        INLAY_ACT_CASE(INLAY_ACT_CLAMP, (a > x ? a : x) > b ? b : (a > x ? a : x))
        INLAY_ACT_CASE(INLAY_ACT_LEAKY, x < 0.0f ? a * x : x)
        INLAY_ACT_CASE(INLAY_ACT_SIGMOID, inlay_sigmoid_f(x))
        INLAY_ACT_CASE(INLAY_ACT_TANH, inlay_tanh_f(x))
        INLAY_ACT_CASE(INLAY_ACT_HARD_SIGMOID, inlay_act_clip01(a * x + b))
        INLAY_ACT_CASE(INLAY_ACT_HARD_SWISH, x * inlay_act_clip01(x * 0.166666667f + 0.5f))
        INLAY_ACT_CASE(INLAY_ACT_SILU, x * inlay_sigmoid_f(a * x))
        INLAY_ACT_CASE(INLAY_ACT_GELU, 0.5f * x * (1.0f + inlay_erf_f(x * 0.707106781f)))
        INLAY_ACT_CASE(INLAY_ACT_GELU_TANH,
                       0.5f * x * (1.0f + inlay_tanh_f(0.797884561f * (x + 0.044715f * x * x * x))))
        INLAY_ACT_CASE(INLAY_ACT_ELU, inlay_act_elu(x, a))
        INLAY_ACT_CASE(INLAY_ACT_SOFTPLUS, inlay_softplus_f(x))
        INLAY_ACT_CASE(INLAY_ACT_MISH, x * inlay_tanh_f(inlay_softplus_f(x)))
        INLAY_ACT_CASE(INLAY_ACT_SELU, b * inlay_act_elu(x, a))
        INLAY_ACT_CASE(INLAY_ACT_SOFTSIGN, x / (1.0f + (x < 0.0f ? -x : x)))
    default:
        break;
    }
}

#endif
