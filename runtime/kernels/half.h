/* SPDX-License-Identifier: 0BSD
 * Floats below 32 bits, by integer arithmetic: any C99 compiler, any rounding mode.
 * Narrowing rounds to nearest, ties to even; what happens beyond the largest
 * number is the type's own rule, with or without saturation, as ONNX's Cast says. */
#ifndef INLAY_HALF_H
#define INLAY_HALF_H

#include <stdint.h>

#include "inlay_memory.h"

static inline uint32_t inlay_half_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}
static inline float inlay_half_float(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* The magnitude v (exponent of any width over m mantissa bits, bias) as the bits of a float;
 * special values are the caller's. */
static inline uint32_t inlay_widen(uint32_t v, int m, int bias)
{
    const uint32_t unit = (uint32_t)(128 - bias - m)
                          << 23; /* the smallest subnormal */
    if (v >> m)
        return (v << (23 - m)) + ((uint32_t)(127 - bias) << 23);
    return inlay_half_bits((float)v * inlay_half_float(unit));
}

/* The magnitude `a` (bits of a float, finite) rounded to m mantissa bits; the result may lie beyond
 * the type's largest. */
static inline uint32_t inlay_narrow(uint32_t a, int m, int bias)
{
    const int e = (int)(a >> 23);
    const int low = 128 - bias;
    int shift = 23 - m;
    uint32_t v = a - ((uint32_t)(127 - bias) << 23);
    if (e < low) {
        shift += low - e;
        if (shift > 24)
            return 0;
        v = (a & UINT32_C(0x7fffff)) | UINT32_C(0x800000);
    }
    return (v + ((UINT32_C(1) << (shift - 1)) - 1) + ((v >> shift) & 1)) >>
           shift;
}

static inline float inlay_from_f16(uint16_t h)
{
    const uint32_t v = h & 0x7fffu;
    const uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
    return inlay_half_float(
        sign | (v >= 0x7c00u ? UINT32_C(0x7f800000) | (v & 0x3ffu) << 13
                             : inlay_widen(v, 10, 15)));
}

static inline uint16_t inlay_to_f16(float x)
{
    const uint32_t u = inlay_half_bits(x);
    const uint32_t a = u & UINT32_C(0x7fffffff);
    const uint32_t sign = (u >> 16) & 0x8000u;
    uint32_t v;
    if (a > UINT32_C(0x7f800000))
        return (uint16_t)(sign | 0x7e00u);
    if (a >= UINT32_C(0x47800000))
        return (uint16_t)(sign | 0x7c00u); /* 65536 and above */
    v = inlay_narrow(a, 10, 15);
    return (uint16_t)(sign | v);
}

static inline float inlay_from_bf16(uint16_t h)
{
    return inlay_half_float((uint32_t)h << 16);
}

static inline uint16_t inlay_to_bf16(float x)
{
    const uint32_t u = inlay_half_bits(x);
    if ((u & UINT32_C(0x7fffffff)) > UINT32_C(0x7f800000))
        return (uint16_t)((u >> 16) | 0x40u);
    return (uint16_t)((u + 0x7fffu + (u >> 16 & 1)) >> 16);
}

/* float8: `nan` and `inf` as codes without sign; inf 0: there is none. fnuz: one NaN, 0x80, and no
 * negative zero. */
static inline uint8_t inlay_to_f8(float x, int m, int bias, uint32_t largest,
                                  uint32_t beyond, uint32_t nan, int fnuz,
                                  int saturate)
{
    const uint32_t u = inlay_half_bits(x);
    const uint32_t a = u & UINT32_C(0x7fffffff);
    const uint32_t sign = (u >> 24) & 0x80u;
    uint32_t v;
    if (a > UINT32_C(0x7f800000))
        return (uint8_t)(fnuz ? 0x80u : sign | nan);
    v = a == UINT32_C(0x7f800000) ? 0x80u : inlay_narrow(a, m, bias);
    if (v > largest)
        v = saturate ? largest : beyond;
    if (fnuz && (v == 0 || v == 0x80u))
        return (uint8_t)v;
    return (uint8_t)(sign | v);
}

static inline uint8_t inlay_to_f8e4m3fn(float x, int saturate)
{
    return inlay_to_f8(x, 3, 7, 0x7eu, 0x7fu, 0x7fu, 0, saturate);
}
static inline uint8_t inlay_to_f8e4m3fnuz(float x, int saturate)
{
    return inlay_to_f8(x, 3, 8, 0x7fu, 0x80u, 0x80u, 1, saturate);
}
static inline uint8_t inlay_to_f8e5m2(float x, int saturate)
{
    return inlay_to_f8(x, 2, 15, 0x7bu, 0x7cu, 0x7eu, 0, saturate);
}
static inline uint8_t inlay_to_f8e5m2fnuz(float x, int saturate)
{
    return inlay_to_f8(x, 2, 16, 0x7fu, 0x80u, 0x80u, 1, saturate);
}

static inline float inlay_from_f8e4m3fn(uint8_t h)
{
    const uint32_t v = h & 0x7fu;
    const uint32_t sign = (uint32_t)(h & 0x80u) << 24;
    return inlay_half_float(
        sign | (v == 0x7fu ? UINT32_C(0x7fc00000) : inlay_widen(v, 3, 7)));
}

static inline float inlay_from_f8e4m3fnuz(uint8_t h)
{
    const uint32_t v = h & 0x7fu;
    const uint32_t sign = (uint32_t)(h & 0x80u) << 24;
    return inlay_half_float(h == 0x80u ? UINT32_C(0x7fc00000)
                                       : sign | inlay_widen(v, 3, 8));
}

static inline float inlay_from_f8e5m2(uint8_t h)
{
    const uint32_t v = h & 0x7fu;
    const uint32_t sign = (uint32_t)(h & 0x80u) << 24;
    if (v > 0x7cu)
        return inlay_half_float(sign | UINT32_C(0x7fc00000));
    if (v == 0x7cu)
        return inlay_half_float(sign | UINT32_C(0x7f800000));
    return inlay_half_float(sign | inlay_widen(v, 2, 15));
}

static inline float inlay_from_f8e5m2fnuz(uint8_t h)
{
    const uint32_t v = h & 0x7fu;
    const uint32_t sign = (uint32_t)(h & 0x80u) << 24;
    return inlay_half_float(h == 0x80u ? UINT32_C(0x7fc00000)
                                       : sign | inlay_widen(v, 2, 16));
}

/* float8e8m0: 2^(h - 127), 0xff is NaN; the sign is lost. */
static inline float inlay_from_f8e8m0(uint8_t h)
{
    if (h == 0xffu)
        return inlay_half_float(UINT32_C(0x7fc00000));
    return inlay_half_float(h ? (uint32_t)h << 23 : UINT32_C(0x400000));
}

/* mode 0: up, 1: down, 2: nearest (a half rounds up where the exponent is not 0). */
static inline uint8_t inlay_to_f8e8m0(float x, int saturate, int mode)
{
    const uint32_t a = inlay_half_bits(x) & UINT32_C(0x7fffffff);
    const uint32_t e = a >> 23;
    const uint32_t f = a & UINT32_C(0x7fffff);
    const int up =
        mode == 0 ? f > 0
                  : mode == 2 && (f >> 22) && ((f & UINT32_C(0x3fffff)) || e);
    if (e == 0xffu)
        return 0xff;
    return (uint8_t)(e + (up && (e < 0xfeu || !saturate) ? 1u : 0u));
}

/* float4e2m1: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives; always saturates, NaN becomes -0. */
static inline float inlay_from_f4e2m1(uint8_t h)
{
    return inlay_half_float((uint32_t)(h & 8u) << 28 |
                            inlay_widen(h & 7u, 1, 1));
}

static inline uint8_t inlay_to_f4e2m1(float x)
{
    const uint32_t u = inlay_half_bits(x);
    const uint32_t a = u & UINT32_C(0x7fffffff);
    const uint32_t v = a >= UINT32_C(0x40c00000) ? 7 : inlay_narrow(a, 1, 1);
    if (a > UINT32_C(0x7f800000))
        return 8;
    return (uint8_t)((u >> 28 & 8u) | v);
}

/* float64 to float32, rounded to odd: a second rounding to at most 22 bits then is exact. */
static inline float inlay_round_odd(double x)
{
    const float f = (float)x;
    const double back = (double)f;
    uint32_t u = inlay_half_bits(f);
    if (x != x || back == x)
        return f;
    if ((u & UINT32_C(0x7fffffff)) == UINT32_C(0x7f800000))
        return inlay_half_float((u & UINT32_C(0x80000000)) |
                                UINT32_C(0x7f7fffff));
    if ((back < 0 ? -back : back) > (x < 0 ? -x : x))
        u--; /* toward zero first */
    return inlay_half_float(u | 1);
}

#endif
