/* SPDX-License-Identifier: 0BSD
 * The functions of math_f32.h for vectors of the machine's width, INLAY_VL > 1 floats: the same
 * polynomials with fused multiply-add, the same errors. NaN stays NaN. */
#ifndef INLAY_MATH_VEC_H
#define INLAY_MATH_VEC_H

#include "kernels/vec.h"
#if INLAY_VL > 1
#include "inlay_memory.h"

typedef INLAY_V(f) inlay_vf;
typedef INLAY_V(i) inlay_vi;

INLAY_INLINE inlay_vf inlay_all(float v)
{
    return INLAY_V(splat)(v);
}

/* p + r * q */
INLAY_INLINE inlay_vf inlay_step_v(float p, inlay_vf r, inlay_vf q)
{
    return INLAY_V(fma)(r, q, inlay_all(p));
}

/* mask ? p : q for each float. */
INLAY_INLINE inlay_vf inlay_pick_v(inlay_vi mask, inlay_vf p, inlay_vf q)
{
    return INLAY_V(select)(mask, p, q);
}

INLAY_INLINE inlay_vf inlay_fabs_v(inlay_vf x)
{
    return (inlay_vf)((inlay_vi)x & 0x7fffffff);
}

/* |x| with the sign of `sign`. */
INLAY_INLINE inlay_vf inlay_signed_v(inlay_vf x, inlay_vf sign)
{
    const inlay_vi bit = (inlay_vi)inlay_all(-0.0f);
    return (inlay_vf)((inlay_vi)x | ((inlay_vi)sign & bit));
}

/* e^r - 1 for |r| <= log(2) / 2. */
INLAY_INLINE inlay_vf inlay_expm1_poly_v(inlay_vf r)
{
    inlay_vf p = inlay_all(1.392692661e-03f);
    p = inlay_step_v(8.363773874e-03f, r, p);
    p = inlay_step_v(4.166655011e-02f, r, p);
    p = inlay_step_v(1.666657338e-01f, r, p);
    p = inlay_step_v(0.5f, r, p);
    return INLAY_V(fma)(r * r, p, r);
}

/* x = k log 2 + r, x limited to -104 .. 104. */
INLAY_INLINE inlay_vf inlay_exp_reduce_v(inlay_vf x, inlay_vf *k)
{
    const inlay_vf round = inlay_all(12582912.0f); /* 1.5 * 2^23 */
    x = INLAY_V(max)(inlay_all(-104.0f), x);
    x = INLAY_V(min)(inlay_all(104.0f), x);
    *k = INLAY_V(fma)(x, inlay_all(1.44269504f), round) - round;
    x = INLAY_V(fma)(*k, inlay_all(-0.693359375f), x);
    return INLAY_V(fma)(*k, inlay_all(2.12194440e-4f), x);
}

/* 2^k of a whole k in -126 .. 127. Added to 1.5 * 2^23 and 127, the last bits of the sum are the
 * exponent of the result. An integer that is added behind it may overflow where k is no number. */
INLAY_INLINE inlay_vf inlay_power_v(inlay_vf k)
{
    const inlay_vf sum = k + inlay_all(12582912.0f + 127.0f);
    return (inlay_vf)((inlay_vi)sum << 23);
}

/* Half of a whole k, rounded to a whole number. */
INLAY_INLINE inlay_vf inlay_half_v(inlay_vf k)
{
    const inlay_vf round = inlay_all(12582912.0f);
    return INLAY_V(fma)(k, inlay_all(0.5f), round) - round;
}

INLAY_INLINE inlay_vf inlay_exp_v(inlay_vf x)
{
    inlay_vf k;
    const inlay_vf r = inlay_exp_reduce_v(x, &k);
    const inlay_vf y = inlay_expm1_poly_v(r) + 1.0f;
#if INLAY_VL == 16 && !defined __clang__
    return __builtin_ia32_scalefps512_mask(y, k, y, -1, 4);
#else
    const inlay_vf half = inlay_half_v(k);
    return y * inlay_power_v(half) * inlay_power_v(k - half);
#endif
}

/* e^x - 1, exact near zero. */
INLAY_INLINE inlay_vf inlay_expm1_v(inlay_vf x)
{
    inlay_vf k;
    const inlay_vf r = inlay_exp_reduce_v(x, &k);
    const inlay_vf half = inlay_half_v(k);
    const inlay_vf a = inlay_power_v(half);
    const inlay_vf b = inlay_power_v(k - half);
    return inlay_expm1_poly_v(r) * a * b + (a * b - 1.0f);
}

INLAY_INLINE inlay_vf inlay_tanh_v(inlay_vf x)
{
    const inlay_vf t = inlay_fabs_v(x);
    const inlay_vf q = x * x;
    const inlay_vf far = 1.0f - 2.0f / (inlay_exp_v(t + t) + 1.0f);
    inlay_vf p = inlay_all(-6.096714160e-03f);
    p = inlay_step_v(2.099717899e-02f, q, p);
    p = inlay_step_v(-5.385090958e-02f, q, p);
    p = inlay_step_v(1.333276974e-01f, q, p);
    p = inlay_step_v(-3.333332894e-01f, q, p);
    p = INLAY_V(fma)(t * q, p, t);
    return inlay_signed_v(inlay_pick_v(t < 0.625f, p, far), x);
}

/* erf of 0 <= t < 0.93: an odd polynomial. */
INLAY_INLINE inlay_vf inlay_erf_near_v(inlay_vf t)
{
    const inlay_vf q = t * t;
    inlay_vf p = inlay_all(8.334718612e-05f);
    p = inlay_step_v(-8.134709331e-04f, q, p);
    p = inlay_step_v(5.200368587e-03f, q, p);
    p = inlay_step_v(-2.685915147e-02f, q, p);
    p = inlay_step_v(1.128369152e-01f, q, p);
    p = inlay_step_v(-3.761263352e-01f, q, p);
    p = inlay_step_v(1.283791666e-01f, q, p);
    return INLAY_V(fma)(t, p, t);
}

/* erf of t >= 0.93: 1 - e^p(t). */
INLAY_INLINE inlay_vf inlay_erf_far_v(inlay_vf t)
{
    inlay_vf p = inlay_all(1.636063656e-06f);
    p = inlay_step_v(-4.616385863e-05f, t, p);
    p = inlay_step_v(5.975857702e-04f, t, p);
    p = inlay_step_v(-4.762625833e-03f, t, p);
    p = inlay_step_v(2.642763715e-02f, t, p);
    p = inlay_step_v(-1.100871665e-01f, t, p);
    p = inlay_step_v(-6.318239181e-01f, t, p);
    p = inlay_step_v(-1.130231055e+00f, t, p);
    p = inlay_step_v(3.185396624e-04f, t, p);
    return 1.0f - inlay_exp_v(p);
}

INLAY_INLINE inlay_vf inlay_erf_v(inlay_vf x)
{
    /* At most 3.95: erf is 1. */
    const inlay_vf t = INLAY_V(min)(inlay_all(3.95f), inlay_fabs_v(x));
    const inlay_vf near = inlay_erf_near_v(t);
    const inlay_vf far = inlay_erf_far_v(t);
    return inlay_signed_v(inlay_pick_v(t < 0.93f, near, far), x);
}

/* log2(erfc(u / sqrt 2)) of 0 <= u <= 10.4. */
INLAY_INLINE inlay_vf inlay_gelu_log2_v(inlay_vf u)
{
    inlay_vf p = inlay_all(-1.8982439087e-06f);
    p = inlay_step_v(2.9547893064e-05f, u, p);
    p = inlay_step_v(-1.4586184989e-04f, u, p);
    p = inlay_step_v(-2.1942022197e-04f, u, p);
    p = inlay_step_v(7.1525429375e-03f, u, p);
    p = inlay_step_v(-5.2545465529e-02f, u, p);
    p = inlay_step_v(-4.5919585228e-01f, u, p);
    p = inlay_step_v(-1.1511062384e+00f, u, p);
    return u * p;
}

/* 2^r for |r| <= 1 / 2. */
INLAY_INLINE inlay_vf inlay_exp2_poly_v(inlay_vf r)
{
    inlay_vf p = inlay_all(1.5353362e-04f);
    p = inlay_step_v(1.3398875017e-03f, r, p);
    p = inlay_step_v(9.6184369177e-03f, r, p);
    p = inlay_step_v(5.5503323674e-02f, r, p);
    p = inlay_step_v(2.4022647738e-01f, r, p);
    p = inlay_step_v(6.9314718246e-01f, r, p);
    return inlay_step_v(1.0f, r, p);
}

INLAY_INLINE inlay_vf inlay_gelu_of_v(inlay_vf x)
{
    const inlay_vf u = INLAY_V(min)(inlay_all(10.4f), inlay_fabs_v(x));
    const inlay_vf round = inlay_all(12582912.0f); /* 1.5 * 2^23 */
    const inlay_vf power = inlay_gelu_log2_v(u);
    const inlay_vf k = (power + round) - round;
    const inlay_vf erfc = inlay_exp2_poly_v(power - k) * inlay_power_v(k);
    const inlay_vf above = INLAY_V(max)(inlay_all(0.0f), x);
    return INLAY_V(fma)(u * inlay_all(-0.5f), erfc, above);
}

/* log(1 + u) for 0 <= u <= 1: 2 atanh(s) of s = u / (2 + u), which is at most 1 / 3. */
INLAY_INLINE inlay_vf inlay_log1p_v(inlay_vf u)
{
    const inlay_vf s = u / (u + 2.0f);
    const inlay_vf q = s * s;
    inlay_vf p = inlay_all(2.0f / 15);
    p = inlay_step_v(2.0f / 13, q, p);
    p = inlay_step_v(2.0f / 11, q, p);
    p = inlay_step_v(2.0f / 9, q, p);
    p = inlay_step_v(2.0f / 7, q, p);
    p = inlay_step_v(2.0f / 5, q, p);
    p = inlay_step_v(2.0f / 3, q, p);
    return INLAY_V(fma)(s * q, p, s + s);
}

/* The sum of all floats, neighbours first. */
INLAY_INLINE float inlay_total_v(inlay_vf v)
{
    v = INLAY_V(even)(v, v) + INLAY_V(odd)(v, v);
    v = INLAY_V(even)(v, v) + INLAY_V(odd)(v, v);
#if INLAY_VL >= 8
    v = INLAY_V(even)(v, v) + INLAY_V(odd)(v, v);
#endif
#if INLAY_VL >= 16
    v = INLAY_V(even)(v, v) + INLAY_V(odd)(v, v);
#endif
    return v[0];
}

/* The sums of four vectors, in floats 0 to 3 of the result: each as inlay_total_v() makes it. */
INLAY_INLINE inlay_vf inlay_four_totals_v(const inlay_vf *v)
{
    const inlay_vf first = INLAY_V(even)(v[0], v[1]) + INLAY_V(odd)(v[0], v[1]);
    const inlay_vf last = INLAY_V(even)(v[2], v[3]) + INLAY_V(odd)(v[2], v[3]);
    inlay_vf all = INLAY_V(even)(first, last) + INLAY_V(odd)(first, last);
#if INLAY_VL >= 8
    all = INLAY_V(even)(all, all) + INLAY_V(odd)(all, all);
#endif
#if INLAY_VL >= 16
    all = INLAY_V(even)(all, all) + INLAY_V(odd)(all, all);
#endif
    return all;
}

/* n floats, at least one; those behind them are zero. */
INLAY_INLINE inlay_vf inlay_take_v(const float *from, int32_t n)
{
    if (n >= INLAY_VL)
        return INLAY_V(load)(from);
#if INLAY_VL == 16
    return __builtin_ia32_loadups512_mask((const void *)from, inlay_all(0.0f),
                                          (uint16_t)((1 << n) - 1));
#else
    {
        float block[INLAY_VL] = { 0 };
        memcpy(block, from, (size_t)n * sizeof *from);
        return INLAY_V(load)(block);
    }
#endif
}

INLAY_INLINE void inlay_put_v(float *to, inlay_vf v, int32_t n)
{
    if (n >= INLAY_VL) {
        INLAY_V(store)(to, v);
        return;
    }
#if INLAY_VL == 16
    __builtin_ia32_storeups512_mask((void *)to, v, (uint16_t)((1 << n) - 1));
#else
    {
        float block[INLAY_VL];
        INLAY_V(store)(block, v);
        memcpy(to, block, (size_t)n * sizeof *to);
    }
#endif
}

#endif
#endif
