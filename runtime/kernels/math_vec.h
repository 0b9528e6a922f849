/* SPDX-License-Identifier: 0BSD
 * The functions of math_f32.h for vectors of the machine's width, INLAY_VL > 1 floats, with fused
 * multiply-add and without selections: the same bounds of errors. NaN stays NaN. */
#ifndef INLAY_MATH_VEC_H
#define INLAY_MATH_VEC_H

#include "kernels/vec.h"
#if INLAY_VL > 1
#include "inlay_memory.h"

typedef INLAY_V(f) inlay_vf;
typedef INLAY_V(i) inlay_vi;
/* Bits of floats that are no numbers overflow, so that sums of bits have no sign. */
typedef INLAY_V(word) inlay_vw;

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

/* The nearest whole number, ties to even; |x| < 2^23. */
INLAY_INLINE inlay_vf inlay_rint_v(inlay_vf x)
{
    const inlay_vf round = inlay_signed_v(inlay_all(8388608.0f), x);
    return (x + round) - round;
}

/* (e^r - 1 - r) / r^2 for |r| <= log(2) / 2. */
INLAY_INLINE inlay_vf inlay_exp_bend_v(inlay_vf r)
{
    inlay_vf p = inlay_all(1.392692661e-03f);
    p = inlay_step_v(8.363773874e-03f, r, p);
    p = inlay_step_v(4.166655011e-02f, r, p);
    p = inlay_step_v(1.666657338e-01f, r, p);
    return inlay_step_v(0.5f, r, p);
}

/* e^r - 1 of the same r. */
INLAY_INLINE inlay_vf inlay_expm1_poly_v(inlay_vf r)
{
    return INLAY_V(fma)(r * r, inlay_exp_bend_v(r), r);
}

/* e^r of the same r. */
INLAY_INLINE inlay_vf inlay_exp_poly_v(inlay_vf r)
{
    const inlay_vf p = inlay_step_v(1.0f, r, inlay_exp_bend_v(r));
    return inlay_step_v(1.0f, r, p);
}

/* Added to a number below 2^22, it leaves the nearest whole number k, and k + 127 in the last bits:
 * as an exponent, 2^k. */
#define INLAY_ROUND 12582912.0f /* 1.5 * 2^23 */
#define INLAY_ROUND_POWER (INLAY_ROUND + 127.0f)

/* 2^k of k + INLAY_ROUND_POWER, for a whole k of -127 .. 128, which give 0 and infinity. */
INLAY_INLINE inlay_vf inlay_power_v(inlay_vf sum)
{
    return (inlay_vf)((inlay_vw)sum << 23);
}

/* Of x = k log 2 + r the k, to which `round` is added. */
INLAY_INLINE inlay_vf inlay_exp_whole_v(inlay_vf x, float round)
{
    return INLAY_V(fma)(x, inlay_all(1.44269504f), inlay_all(round));
}

/* The r. */
INLAY_INLINE inlay_vf inlay_exp_rest_v(inlay_vf x, inlay_vf k)
{
    x = INLAY_V(fma)(k, inlay_all(-0.693359375f), x);
    return INLAY_V(fma)(k, inlay_all(2.12194440e-4f), x);
}

/* Where e^x is neither 0 nor infinity. */
INLAY_INLINE inlay_vf inlay_exp_limit_v(inlay_vf x)
{
    x = INLAY_V(max)(inlay_all(-104.0f), x);
    return INLAY_V(min)(inlay_all(104.0f), x);
}

/* Of k + INLAY_ROUND + 254 two powers of 2, whose product is 2^k: either is a normal number. */
INLAY_INLINE void inlay_two_powers_v(inlay_vf sum, inlay_vf *a, inlay_vf *b)
{
    const inlay_vw bits = (inlay_vw)sum;
    const inlay_vw half = bits >> 1;
    *a = (inlay_vf)(half << 23);
    *b = (inlay_vf)((bits - half) << 23);
}

INLAY_INLINE inlay_vf inlay_exp_v(inlay_vf x)
{
    const float round = INLAY_ROUND + 254.0f;
    const inlay_vf limited = inlay_exp_limit_v(x);
    const inlay_vf sum = inlay_exp_whole_v(limited, round);
    const inlay_vf k = sum - round;
    const inlay_vf y = inlay_exp_poly_v(inlay_exp_rest_v(limited, k));
#if INLAY_VL == 16 && !defined __clang__
    return __builtin_ia32_scalefps512_mask(y, k, y, -1, 4);
#else
    inlay_vf a, b;
    inlay_two_powers_v(sum, &a, &b);
    return y * a * b;
#endif
}

/* e^x of what is added to something larger: 0 where it is no normal number, infinity from 88.4
 * on. x is at most 88.8. */
INLAY_INLINE inlay_vf inlay_exp_normal_v(inlay_vf x)
{
    const inlay_vf limited = INLAY_V(max)(inlay_all(-88.0f), x);
    const inlay_vf sum = inlay_exp_whole_v(limited, INLAY_ROUND_POWER);
    const inlay_vf k = sum - INLAY_ROUND_POWER;
    const inlay_vf r = inlay_exp_rest_v(limited, k);
    return inlay_exp_poly_v(r) * inlay_power_v(sum);
}

/* 1 + e^x */
INLAY_INLINE inlay_vf inlay_one_and_exp_v(inlay_vf x)
{
    return inlay_exp_normal_v(INLAY_V(min)(inlay_all(88.8f), x)) + 1.0f;
}

/* e^x - 1, exact near zero. */
INLAY_INLINE inlay_vf inlay_expm1_v(inlay_vf x)
{
    const float round = INLAY_ROUND + 254.0f;
    const inlay_vf limited = inlay_exp_limit_v(x);
    const inlay_vf sum = inlay_exp_whole_v(limited, round);
    const inlay_vf r = inlay_exp_rest_v(limited, sum - round);
    inlay_vf a, b;
    inlay_two_powers_v(sum, &a, &b);
    return inlay_expm1_poly_v(r) * a * b + (a * b - 1.0f);
}

/* e^x - 1 for |x| <= 87 */
INLAY_INLINE inlay_vf inlay_expm1_normal_v(inlay_vf x)
{
    const inlay_vf sum = inlay_exp_whole_v(x, INLAY_ROUND_POWER);
    const inlay_vf r = inlay_exp_rest_v(x, sum - INLAY_ROUND_POWER);
    const inlay_vf power = inlay_power_v(sum);
    return INLAY_V(fma)(inlay_expm1_poly_v(r), power, power - 1.0f);
}

/* (e^2t - 1) / (e^2t + 1): from 9.02 on it is 1. */
INLAY_INLINE inlay_vf inlay_tanh_v(inlay_vf x)
{
    const inlay_vf t = INLAY_V(min)(inlay_all(9.02f), inlay_fabs_v(x));
    const inlay_vf e = inlay_expm1_normal_v(t + t);
    return inlay_signed_v(e / (e + 2.0f), x);
}

/* -log(1 - erf(t)) of 0 <= t <= 3.95. Fitted so that the error of erf itself is small. The even and
 * the odd powers are summed up side by side: one chain of them all would be waited for. */
INLAY_INLINE inlay_vf inlay_erf_log_v(inlay_vf t)
{
    const inlay_vf q = t * t;
    inlay_vf odd = inlay_all(1.1764129717e-04f);
    inlay_vf p = inlay_all(-9.2562681579e-06f);
    p = inlay_step_v(-6.3283694412e-04f, q, p);
    odd = inlay_step_v(1.6670276186e-03f, q, odd);
    p = inlay_step_v(-1.6039621982e-04f, q, p);
    odd = inlay_step_v(-1.9153063821e-02f, q, odd);
    p = inlay_step_v(1.0277783049e-01f, q, p);
    odd = inlay_step_v(6.3661938197e-01f, q, odd);
    p = inlay_step_v(1.2837917161e-01f, q, p);
    p = INLAY_V(fma)(t, odd, p);
    return INLAY_V(fma)(t, p, t);
}

INLAY_INLINE inlay_vf inlay_erf_v(inlay_vf x)
{
    /* At most 3.95: erf is 1. */
    const inlay_vf t = INLAY_V(min)(inlay_all(3.95f), inlay_fabs_v(x));
    const inlay_vf below = inlay_expm1_normal_v(-inlay_erf_log_v(t));
    return inlay_signed_v(-below, x);
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
    const inlay_vf power = inlay_gelu_log2_v(u);
    const inlay_vf sum = power + INLAY_ROUND_POWER;
    const inlay_vf r = power - (sum - INLAY_ROUND_POWER);
    const inlay_vf erfc = inlay_exp2_poly_v(r) * inlay_power_v(sum);
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

/* The largest of all floats, none of which is NaN. */
INLAY_INLINE float inlay_largest_v(inlay_vf v)
{
    v = INLAY_V(max)(INLAY_V(even)(v, v), INLAY_V(odd)(v, v));
    v = INLAY_V(max)(INLAY_V(even)(v, v), INLAY_V(odd)(v, v));
#if INLAY_VL >= 8
    v = INLAY_V(max)(INLAY_V(even)(v, v), INLAY_V(odd)(v, v));
#endif
#if INLAY_VL >= 16
    v = INLAY_V(max)(INLAY_V(even)(v, v), INLAY_V(odd)(v, v));
#endif
    return v[0];
}

/* The first n floats are in memory: all bits of their lanes. */
#if INLAY_VL == 8
INLAY_INLINE inlay_vi inlay_first_v(int32_t n)
{
    const inlay_vi lane = { 0, 1, 2, 3, 4, 5, 6, 7 };
    return lane < n;
}
#endif

/* n floats, at least one; those behind them are `rest`. */
INLAY_INLINE inlay_vf inlay_take_or_v(const float *from, int32_t n, float rest)
{
    if (n >= INLAY_VL)
        return INLAY_V(load)(from);
#if INLAY_VL == 16
    return __builtin_ia32_loadups512_mask((const void *)from, inlay_all(rest),
                                          (uint16_t)((1 << n) - 1));
#elif INLAY_VL == 8
    {
        const inlay_vi mask = inlay_first_v(n);
        const inlay_vf v =
            __builtin_ia32_maskloadps256((const void *)from, mask);
        return inlay_pick_v(mask, v, inlay_all(rest));
    }
#else
    {
        float block[INLAY_VL];
        INLAY_V(store)(block, inlay_all(rest));
        memcpy(block, from, (size_t)n * sizeof *from);
        return INLAY_V(load)(block);
    }
#endif
}

INLAY_INLINE inlay_vf inlay_take_v(const float *from, int32_t n)
{
    return inlay_take_or_v(from, n, 0.0f);
}

INLAY_INLINE void inlay_put_v(float *to, inlay_vf v, int32_t n)
{
    if (n >= INLAY_VL) {
        INLAY_V(store)(to, v);
        return;
    }
#if INLAY_VL == 16
    __builtin_ia32_storeups512_mask((void *)to, v, (uint16_t)((1 << n) - 1));
#elif INLAY_VL == 8
    __builtin_ia32_maskstoreps256((void *)to, inlay_first_v(n), v);
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
