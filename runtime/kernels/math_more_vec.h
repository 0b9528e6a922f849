/* SPDX-License-Identifier: 0BSD
 * Functions of <math.h> that elementwise kernels take of vectors of the machine's width: log, sin,
 * cos, asin, acos, atan, floor, ceil. Errors are below 2 units in the last place
 * (tests/unit/kernels). */
#ifndef INLAY_MATH_MORE_VEC_H
#define INLAY_MATH_MORE_VEC_H

#include "kernels/libm.h"
#include "kernels/math_vec.h"
#if INLAY_VL > 1

/* ---- log ---- */

/* log(1 + f) - f + half for -0.3 < f < 0.42, half = f^2 / 2: an odd series of f / (2 + f). */
INLAY_INLINE inlay_vf inlay_log_rest_v(inlay_vf f, inlay_vf half)
{
    const inlay_vf s = f / (f + 2.0f);
    const inlay_vf q = s * s;
    inlay_vf p = inlay_all(0.24279078841f);
    p = inlay_step_v(0.28498786688f, q, p);
    p = inlay_step_v(0.40000972152f, q, p);
    p = inlay_step_v(0.66666662693f, q, p);
    return s * INLAY_V(fma)(q, p, half);
}

/* log of zero, of what is below, of infinity, and NaN; y else. */
INLAY_INLINE inlay_vf inlay_log_ends_v(inlay_vf x, inlay_vf y)
{
    y = inlay_pick_v(x == 0.0f, inlay_all(-INFINITY), y);
    y = inlay_pick_v(x < 0.0f, inlay_all(NAN), y);
    return inlay_pick_v((x != x) | (x == INFINITY), x, y);
}

/* x = 2^k (1 + f), 1 + f from sqrt(1/2) on. */
INLAY_INLINE inlay_vf inlay_log_v(inlay_vf x)
{
    const inlay_vi small = x < 1.17549435e-38f;
    const inlay_vf large = inlay_pick_v(small, x * 8388608.0f, x);
    const inlay_vw bits = (inlay_vw)large;
    const inlay_vi whole = (inlay_vi)(bits - UINT32_C(0x3f3504f3)) >> 23;
    const inlay_vf f = (inlay_vf)(bits - ((inlay_vw)whole << 23)) - 1.0f;
    const inlay_vf k =
        (inlay_vf)(whole + (small & -23) + 0x4b400000) -
        inlay_all(12582912.0f); /* 1.5 * 2^23, as bits and as a number */
    const inlay_vf half = f * f * 0.5f;
    const inlay_vf low = INLAY_V(fma)(k, inlay_all(9.0580006145e-06f),
                                      inlay_log_rest_v(f, half));
    const inlay_vf y =
        INLAY_V(fma)(k, inlay_all(6.9313812256e-01f), low - half + f);
    return inlay_log_ends_v(x, y);
}

/* ---- sin and cos ---- */

/* Beyond this the parts of pi / 2 no longer make a difference without error. */
#define INLAY_WAVE_MOST 4096.0f

/* sin(r + low) and cos(r + low) for |r| <= pi / 4, where r + low is r. */
INLAY_INLINE inlay_vf inlay_sin_poly_v(inlay_vf r, inlay_vf low)
{
    const inlay_vf q = r * r;
    inlay_vf p = inlay_all(-1.9515295891e-4f);
    p = inlay_step_v(8.3321608736e-3f, q, p);
    p = inlay_step_v(-1.6666654611e-1f, q, p);
    return INLAY_V(fma)(r * q, p, low) + r;
}

INLAY_INLINE inlay_vf inlay_cos_poly_v(inlay_vf r, inlay_vf low)
{
    const inlay_vf q = r * r;
    inlay_vf p = inlay_all(2.443315711809948e-5f);
    p = inlay_step_v(-1.388731625493765e-3f, q, p);
    p = inlay_step_v(4.166664568298827e-2f, q, p);
    return INLAY_V(fma)(q * q, p, 1.0f - INLAY_V(fma)(r, low, q * 0.5f));
}

/* x = k pi / 2 + r: sin(r + (k + quarters) pi / 2) for |x| <= INLAY_WAVE_MOST. The first three
 * parts of pi / 2 have ten bits each, so that their products with k are exact; low is what
 * rounding takes from the last. */
INLAY_INLINE inlay_vf inlay_wave_v(inlay_vf x, uint32_t quarters)
{
    const inlay_vf round = inlay_all(12582912.0f); /* 1.5 * 2^23 */
    const inlay_vf sum = INLAY_V(fma)(x, inlay_all(0.636619772f), round);
    const inlay_vf k = sum - round;
    const inlay_vw quarter = (inlay_vw)sum + quarters;
    const inlay_vw sign = (quarter & 2) << 30;
    const inlay_vf third = k * -3.1385570764541626e-7f;
    inlay_vf r = INLAY_V(fma)(k, inlay_all(-1.5703125f), x);
    inlay_vf low, exact, y;
    exact = INLAY_V(fma)(k, inlay_all(-4.8351287841796875e-4f), r);
    r = exact + third;
    low = INLAY_V(fma)(k, inlay_all(-6.07710062827671e-11f), exact - r + third);
    y = inlay_pick_v((quarter & 1) == 0, inlay_sin_poly_v(r, low),
                     inlay_cos_poly_v(r, low));
    return (inlay_vf)((inlay_vw)y ^ sign);
}

/* Does one of them lie beyond the wave's most, or is NaN? */
INLAY_INLINE int inlay_is_far_v(inlay_vf x)
{
    return inlay_any_lane(~(inlay_fabs_v(x) <= INLAY_WAVE_MOST));
}

/* The same by the library's function, one by one. */
INLAY_APART inlay_vf inlay_each_v(inlay_vf x, float (*function)(float))
{
    float number[INLAY_VL];
    int i;
    INLAY_V(store)(number, x);
    for (i = 0; i < INLAY_VL; i++)
        number[i] = function(number[i]);
    return INLAY_V(load)(number);
}

INLAY_INLINE inlay_vf inlay_sin_v(inlay_vf x)
{
    if (inlay_is_far_v(x))
        return inlay_each_v(x, sinf);
    return inlay_pick_v(x == 0.0f, x, inlay_wave_v(x, 0));
}

INLAY_INLINE inlay_vf inlay_cos_v(inlay_vf x)
{
    return inlay_is_far_v(x) ? inlay_each_v(x, cosf) : inlay_wave_v(x, 1);
}

/* ---- asin, acos and atan ---- */

#define INLAY_HALF_PI 1.57079637f
#define INLAY_HALF_PI_LOW -4.37113883e-8f /* pi / 2 is their sum */

/* atan(z) for 0 <= |z| <= 1. */
INLAY_INLINE inlay_vf inlay_atan_poly_v(inlay_vf z)
{
    const inlay_vf q = z * z;
    inlay_vf p = inlay_all(-1.7904058332e-03f);
    p = inlay_step_v(1.0899696499e-02f, q, p);
    p = inlay_step_v(-3.1148936599e-02f, q, p);
    p = inlay_step_v(5.7927228510e-02f, q, p);
    p = inlay_step_v(-8.4015816450e-02f, q, p);
    p = inlay_step_v(1.0951506346e-01f, q, p);
    p = inlay_step_v(-1.4264102280e-01f, q, p);
    p = inlay_step_v(1.9998534024e-01f, q, p);
    p = inlay_step_v(-3.3333298564e-01f, q, p);
    return INLAY_V(fma)(z * q, p, z);
}

/* Above 1 it is pi / 2 - atan(1 / t). */
INLAY_INLINE inlay_vf inlay_atan_v(inlay_vf x)
{
    const inlay_vf t = inlay_fabs_v(x);
    const inlay_vf one = inlay_all(1.0f);
    const inlay_vi above = t > 1.0f;
    const inlay_vf z =
        inlay_pick_v(above, -one, t) / inlay_pick_v(above, t, one);
    const inlay_vf near = inlay_atan_poly_v(z);
    const inlay_vf far = near + INLAY_HALF_PI_LOW + INLAY_HALF_PI;
    return inlay_signed_v(inlay_pick_v(above, far, near), x);
}

/* asin(s) for |s| <= INLAY_ASIN_NEAR, q = s^2. Beyond it what is taken from pi / 2 is below 1. */
#define INLAY_ASIN_NEAR 0.5625f
INLAY_INLINE inlay_vf inlay_asin_poly_v(inlay_vf s, inlay_vf q)
{
    inlay_vf p = inlay_all(4.8113245517e-02f);
    p = inlay_step_v(6.1999135651e-03f, q, p);
    p = inlay_step_v(3.4183420241e-02f, q, p);
    p = inlay_step_v(4.4207509607e-02f, q, p);
    p = inlay_step_v(7.5022496283e-02f, q, p);
    p = inlay_step_v(1.6666628420e-01f, q, p);
    return INLAY_V(fma)(s * q, p, s);
}

/* acos(t) / 2 for INLAY_ASIN_NEAR <= t <= 1. */
INLAY_INLINE inlay_vf inlay_acos_half_v(inlay_vf t)
{
    const inlay_vf q = (1.0f - t) * 0.5f;
    return inlay_asin_poly_v(INLAY_V(root)(q), q);
}

INLAY_INLINE inlay_vf inlay_asin_v(inlay_vf x)
{
    const inlay_vf t = inlay_fabs_v(x);
    const inlay_vf half = inlay_acos_half_v(t);
    const inlay_vf far =
        inlay_all(INLAY_HALF_PI) - (half + half - INLAY_HALF_PI_LOW);
    const inlay_vf near = inlay_asin_poly_v(x, x * x);
    return inlay_pick_v(t <= INLAY_ASIN_NEAR, near, inlay_signed_v(far, x));
}

INLAY_INLINE inlay_vf inlay_acos_v(inlay_vf x)
{
    const inlay_vf t = inlay_fabs_v(x);
    const inlay_vf half = inlay_acos_half_v(t);
    const inlay_vf twice = half + half;
    const inlay_vf less =
        inlay_all(2.0f * INLAY_HALF_PI) - (twice - 2.0f * INLAY_HALF_PI_LOW);
    const inlay_vf near = inlay_all(INLAY_HALF_PI) -
                          (inlay_asin_poly_v(x, x * x) - INLAY_HALF_PI_LOW);
    const inlay_vf far = inlay_pick_v(x < 0.0f, less, twice);
    return inlay_pick_v(t <= INLAY_ASIN_NEAR, near, far);
}

/* ---- whole numbers ---- */

/* y with the sign of x; from 2^23 on, floats are whole. NaN stays. */
INLAY_INLINE inlay_vf inlay_whole_v(inlay_vf x, inlay_vf y)
{
    const inlay_vi has_rest = inlay_fabs_v(x) < 8388608.0f;
    return inlay_pick_v(has_rest, inlay_signed_v(y, x), x);
}

INLAY_INLINE inlay_vf inlay_floor_v(inlay_vf x)
{
    const inlay_vf near = inlay_rint_v(x);
    const inlay_vf one = inlay_all(1.0f);
    return inlay_whole_v(x, inlay_pick_v(near > x, near - one, near));
}

INLAY_INLINE inlay_vf inlay_ceil_v(inlay_vf x)
{
    const inlay_vf near = inlay_rint_v(x);
    const inlay_vf one = inlay_all(1.0f);
    return inlay_whole_v(x, inlay_pick_v(near < x, near + one, near));
}

#endif
#endif
