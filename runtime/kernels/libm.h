/* SPDX-License-Identifier: 0BSD
 * <math.h>, and what C99 asks of it that the library of AVR does not have (avr-libc 2.0, where a
 * double is a float). Macros go before whatever a later one declares. */
#ifndef INLAY_LIBM_H
#define INLAY_LIBM_H

#include <math.h>

#if defined __AVR__ && __SIZEOF_DOUBLE__ == 4

/* The quotient makes good what the sum lost (W. Kahan). */
static inline float inlay_avr_log1p(float x)
{
    const float sum = 1.0f + x;
    const float kept = sum - 1.0f;
    if (kept == x)
        return log(sum);
    return kept == 0.0f ? x : log(sum) * (x / kept);
}

static inline float inlay_avr_expm1(float x)
{
    const float power = exp(x);
    const float kept = power - 1.0f;
    if (kept == 0.0f || kept == -1.0f || kept == power)
        return kept == 0.0f ? x : kept;
    return kept * (x / log(power));
}

static inline float inlay_avr_asinh(float x)
{
    const float size = fabs(x);
    float y;
    if (size > 1e4f)
        y = log(size) + 0.69314718f;
    else
        y = inlay_avr_log1p(size + size * size / (1 + sqrt(1 + size * size)));
    return copysign(y, x);
}

static inline float inlay_avr_acosh(float x)
{
    const float over = x - 1.0f;
    if (x > 1e4f)
        return log(x) + 0.69314718f;
    return inlay_avr_log1p(over + sqrt(over * (over + 2)));
}

static inline float inlay_avr_atanh(float x)
{
    return 0.5f * inlay_avr_log1p(2 * x / (1 - x));
}

/* To the nearest, ties to even: above 2^23 there is nothing to round. */
static inline float inlay_avr_rint(float x)
{
    const float size = fabs(x);
    const float below = floor(size);
    const float rest = size - below;
    float y = below;
    if (rest > 0.5f || (rest == 0.5f && fmod(below, 2) != 0))
        y += 1;
    return size < 8388608.0f ? copysign(y, x) : x;
}

#define log1p(x) inlay_avr_log1p(x)
#define log1pf(x) inlay_avr_log1p(x)
#define expm1(x) inlay_avr_expm1(x)
#define asinh(x) inlay_avr_asinh(x)
#define asinhf(x) inlay_avr_asinh(x)
#define acosh(x) inlay_avr_acosh(x)
#define acoshf(x) inlay_avr_acosh(x)
#define atanh(x) inlay_avr_atanh(x)
#define atanhf(x) inlay_avr_atanh(x)
#define rint(x) inlay_avr_rint(x)
#define rintf(x) inlay_avr_rint(x)
#define nearbyint(x) inlay_avr_rint(x)
#define nearbyintf(x) inlay_avr_rint(x)
#define erf(x) inlay_erf_f(x) /* math_f32.h */

#endif
#endif
