/* SPDX-License-Identifier: 0BSD
 * exp, tanh, erf and their kin for float, without branches, so that loops over
 * them become vectors. Relative errors are below 2.5 units in the last place, those of gelu below
 * 1.2e-7 max(1, |x|) (tests/unit/kernels). Selections go through bit masks: a compiler that must
 * respect floating-point traps will not turn a conditional expression into one by itself. */
#ifndef INLAY_MATH_F32_H
#define INLAY_MATH_F32_H

#include <stdint.h>

#include "inlay_memory.h"
#include "kernels/libm.h"

static inline uint32_t inlay_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}
static inline float inlay_float(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* m all ones: a; m zero: b. */
static inline float inlay_either(uint32_t m, float a, float b)
{
    return inlay_float((inlay_bits(a) & m) | (inlay_bits(b) & ~m));
}
static inline uint32_t inlay_mask(int c)
{
    return (uint32_t)0 - (uint32_t)c;
}

/* e^r - 1 for |r| <= log(2) / 2. */
static inline float inlay_expm1_poly(float r)
{
    return r + r * r *
                   (0.5f +
                    r * (1.666657338e-01f +
                         r * (4.166655011e-02f +
                              r * (8.363773874e-03f + r * 1.392692661e-03f))));
}

/* x = k log 2 + r: gives r and the bits of the biased k. |x| <= 104 */
static inline float inlay_exp_reduce(float x, int32_t *k)
{
    const float t =
        x * 1.44269504f +
        12582912.0f; /* 1.5 * 2^23: the integer is in the low bits */
    const float q = t - 12582912.0f;
    *k = (int32_t)(inlay_bits(t) - UINT32_C(0x4b400000));
    return (x - q * 0.693359375f) + q * 2.12194440e-4f;
}

/* x limited to -104 .. 104; *nan gets the bits that make NaN of a NaN's result. */
static inline float inlay_exp_limit(float x, uint32_t *nan)
{
    const uint32_t u = inlay_bits(x);
    const uint32_t v = u & UINT32_C(0x7fffffff);
    *nan = v > UINT32_C(0x7f800000) ? UINT32_C(0x7fc00000) : 0;
    return inlay_float((v < UINT32_C(0x42d00000) ? v : UINT32_C(0x42d00000)) |
                       (u & UINT32_C(0x80000000)));
}

static inline float inlay_exp_f(float x)
{
    uint32_t nan;
    int32_t k;
    const float r = inlay_exp_reduce(inlay_exp_limit(x, &nan), &k);
    const float a = inlay_float((uint32_t)((k >> 1) + 127) << 23);
    const float b = inlay_float((uint32_t)(k - (k >> 1) + 127) << 23);
    return inlay_float(inlay_bits((1.0f + inlay_expm1_poly(r)) * a * b) | nan);
}

static inline float inlay_one_and_exp_f32(float x)
{
    return 1 + inlay_exp_f(x);
}

/* e^x - 1, exact near zero. */
static inline float inlay_expm1_f(float x)
{
    uint32_t nan;
    int32_t k;
    const float r = inlay_exp_reduce(inlay_exp_limit(x, &nan), &k);
    const float a = inlay_float((uint32_t)((k >> 1) + 127) << 23);
    const float b = inlay_float((uint32_t)(k - (k >> 1) + 127) << 23);
    const float q = inlay_expm1_poly(r);
    return inlay_float(inlay_bits(q * a * b + (a * b - 1.0f)) | nan);
}

static inline float inlay_tanh_f(float x)
{
    const uint32_t u = inlay_bits(x);
    const uint32_t sign = u & UINT32_C(0x80000000);
    const uint32_t v = u & UINT32_C(0x7fffffff);
    const float t = inlay_float(v);
    const float q = x * x;
    const float near =
        t + t * q *
                (-3.333332894e-01f +
                 q * (1.333276974e-01f +
                      q * (-5.385090958e-02f +
                           q * (2.099717899e-02f - q * 6.096714160e-03f))));
    const float far = 1.0f - 2.0f / (inlay_exp_f(2.0f * t) + 1.0f);
    return inlay_float(inlay_bits(inlay_either(
                           inlay_mask(v < UINT32_C(0x3f200000)), near, far)) |
                       sign); /* 0.625 */
}

/* erf of 0 <= t < 0.93: an odd polynomial. */
INLAY_INLINE float inlay_erf_near(float t)
{
    const float q = t * t;
    float p = 8.334718612e-05f;
    p = -8.134709331e-04f + q * p;
    p = 5.200368587e-03f + q * p;
    p = -2.685915147e-02f + q * p;
    p = 1.128369152e-01f + q * p;
    p = -3.761263352e-01f + q * p;
    p = 1.283791666e-01f + q * p;
    return t + t * p;
}

/* erf of t >= 0.93: 1 - e^p(t), p fitted to log(1 - erf). */
INLAY_INLINE float inlay_erf_far(float t)
{
    float p = 1.636063656e-06f;
    p = -4.616385863e-05f + t * p;
    p = 5.975857702e-04f + t * p;
    p = -4.762625833e-03f + t * p;
    p = 2.642763715e-02f + t * p;
    p = -1.100871665e-01f + t * p;
    p = -6.318239181e-01f + t * p;
    p = -1.130231055e+00f + t * p;
    p = 3.185396624e-04f + t * p;
    return 1.0f - inlay_exp_f(p);
}

static inline float inlay_erf_f(float x)
{
    const uint32_t u = inlay_bits(x);
    const uint32_t sign = u & UINT32_C(0x80000000);
    const uint32_t v = u & UINT32_C(0x7fffffff);
    const uint32_t nan = v > UINT32_C(0x7f800000) ? UINT32_C(0x7fc00000) : 0;
    /* At most 3.95: erf is 1. */
    const uint32_t most = UINT32_C(0x407ccccd);
    const float t = inlay_float(v < most ? v : most);
    const uint32_t is_near = inlay_mask(v < UINT32_C(0x3f6e147b));
    const float y = inlay_either(is_near, inlay_erf_near(t), inlay_erf_far(t));
    return inlay_float(inlay_bits(y) | sign | nan);
}

/* log2(erfc(u / sqrt 2)) of 0 <= u <= 10.4; behind 5.6 it only goes on falling, to -120. Fitted so
 * that the error of erfc itself is small. */
INLAY_INLINE float inlay_gelu_log2(float u)
{
    float p = -1.8982439087e-06f;
    p = 2.9547893064e-05f + u * p;
    p = -1.4586184989e-04f + u * p;
    p = -2.1942022197e-04f + u * p;
    p = 7.1525429375e-03f + u * p;
    p = -5.2545465529e-02f + u * p;
    p = -4.5919585228e-01f + u * p;
    p = -1.1511062384e+00f + u * p;
    return u * p;
}

/* 2^r for |r| <= 1 / 2. */
INLAY_INLINE float inlay_exp2_poly(float r)
{
    float p = 1.5353362e-04f;
    p = 1.3398875017e-03f + r * p;
    p = 9.6184369177e-03f + r * p;
    p = 5.5503323674e-02f + r * p;
    p = 2.4022647738e-01f + r * p;
    p = 6.9314718246e-01f + r * p;
    return 1.0f + r * p;
}

/* 0.5 x (1 + erf(x / sqrt 2)), for u = |x| the same as max(x, 0) - 0.5 u erfc(u / sqrt 2): no
 * difference of two numbers near 1, and one polynomial for all u. -infinity gives nearly 0. */
static inline float inlay_gelu_of_f32(float x)
{
    const uint32_t v = inlay_bits(x) & UINT32_C(0x7fffffff);
    const uint32_t nan = v > UINT32_C(0x7f800000) ? UINT32_C(0x7fc00000) : 0;
    const uint32_t most = UINT32_C(0x41266666); /* 10.4 */
    const float u = inlay_float(v < most ? v : most);
    const float power = inlay_gelu_log2(u);
    /* 1.5 * 2^23: the integer is in the low bits */
    const float sum = power + 12582912.0f;
    const float r = power - (sum - 12582912.0f);
    const uint32_t k = inlay_bits(sum) - UINT32_C(0x4b400000);
    const float erfc = inlay_exp2_poly(r) * inlay_float((k + 127) << 23);
    const float above = inlay_either(inlay_mask(x < 0.0f), 0.0f, x);
    return inlay_float(inlay_bits(above - 0.5f * u * erfc) | nan);
}

#endif
