/* SPDX-License-Identifier: 0BSD
 * Conversions between element types (ONNX Cast). float to integer goes towards zero;
 * integers wrap around; bool is x != 0. */
#ifndef INLAY_CAST_H
#define INLAY_CAST_H

#include "half.h"
#include "nd.h"

static inline int64_t inlay_to_i64(double x)
{
    return x >= -9223372036854775808.0 && x < 9223372036854775808.0 ? (int64_t)x : INT64_MIN;
}

/* x of a floating type to the integer type T: towards zero, then the low bits. What no 64-bit
 * integer holds is the least one. Most values fit 32 bits, where the conversion is one instruction
 * on small cores. */
#define INLAY_FITS_32(F, x) ((x) > (F)-2147483648.0 && (x) < (F)2147483648.0)
#define INLAY_CAST_FI(from, F, to, T) \
    INLAY_UNARY(cast_##from##_##to, T, F, \
                z = (T)(INLAY_FITS_32(F, x) ? (T)(int32_t)x : (T)inlay_to_i64((double)x));)
#define INLAY_CAST_FU64(from, F) \
    INLAY_UNARY(cast_##from##_u64, uint64_t, F, \
                z = x >= (F)9223372036854775808.0 && x < (F)18446744073709551616.0 \
                        ? (uint64_t)x \
                        : (uint64_t)inlay_to_i64((double)x);)
#define INLAY_CAST(from, F, to, T) INLAY_UNARY(cast_##from##_##to, T, F, z = (T)x;)
#define INLAY_CAST_BOOL(from, F) INLAY_UNARY(cast_##from##_bool, uint8_t, F, z = (uint8_t)(x != 0);)

INLAY_CAST(f32, float, f64, double)
INLAY_CAST_FI(f32, float, i8, int8_t)
INLAY_CAST_FI(f32, float, i16, int16_t)
INLAY_CAST_FI(f32, float, i32, int32_t)
INLAY_CAST_FI(f32, float, i64, int64_t)
INLAY_CAST_FI(f32, float, u8, uint8_t)
INLAY_CAST_FI(f32, float, u16, uint16_t)
INLAY_CAST_FI(f32, float, u32, uint32_t)
INLAY_CAST_FU64(f32, float)
INLAY_CAST_BOOL(f32, float)
INLAY_CAST(f64, double, f32, float)
INLAY_CAST_FI(f64, double, i8, int8_t)
INLAY_CAST_FI(f64, double, i16, int16_t)
INLAY_CAST_FI(f64, double, i32, int32_t)
INLAY_CAST_FI(f64, double, i64, int64_t)
INLAY_CAST_FI(f64, double, u8, uint8_t)
INLAY_CAST_FI(f64, double, u16, uint16_t)
INLAY_CAST_FI(f64, double, u32, uint32_t)
INLAY_CAST_FU64(f64, double)
INLAY_CAST_BOOL(f64, double)
INLAY_CAST(i8, int8_t, f32, float)
INLAY_CAST(i8, int8_t, f64, double)
INLAY_CAST(i8, int8_t, i16, int16_t)
INLAY_CAST(i8, int8_t, i32, int32_t)
INLAY_CAST(i8, int8_t, i64, int64_t)
INLAY_CAST(i8, int8_t, u8, uint8_t)
INLAY_CAST(i8, int8_t, u16, uint16_t)
INLAY_CAST(i8, int8_t, u32, uint32_t)
INLAY_CAST(i8, int8_t, u64, uint64_t)
INLAY_CAST_BOOL(i8, int8_t)
INLAY_CAST(i16, int16_t, f32, float)
INLAY_CAST(i16, int16_t, f64, double)
INLAY_CAST(i16, int16_t, i8, int8_t)
INLAY_CAST(i16, int16_t, i32, int32_t)
INLAY_CAST(i16, int16_t, i64, int64_t)
INLAY_CAST(i16, int16_t, u8, uint8_t)
INLAY_CAST(i16, int16_t, u16, uint16_t)
INLAY_CAST(i16, int16_t, u32, uint32_t)
INLAY_CAST(i16, int16_t, u64, uint64_t)
INLAY_CAST_BOOL(i16, int16_t)
INLAY_CAST(i32, int32_t, f32, float)
INLAY_CAST(i32, int32_t, f64, double)
INLAY_CAST(i32, int32_t, i8, int8_t)
INLAY_CAST(i32, int32_t, i16, int16_t)
INLAY_CAST(i32, int32_t, i64, int64_t)
INLAY_CAST(i32, int32_t, u8, uint8_t)
INLAY_CAST(i32, int32_t, u16, uint16_t)
INLAY_CAST(i32, int32_t, u32, uint32_t)
INLAY_CAST(i32, int32_t, u64, uint64_t)
INLAY_CAST_BOOL(i32, int32_t)
INLAY_CAST(i64, int64_t, f32, float)
INLAY_CAST(i64, int64_t, f64, double)
INLAY_CAST(i64, int64_t, i8, int8_t)
INLAY_CAST(i64, int64_t, i16, int16_t)
INLAY_CAST(i64, int64_t, i32, int32_t)
INLAY_CAST(i64, int64_t, u8, uint8_t)
INLAY_CAST(i64, int64_t, u16, uint16_t)
INLAY_CAST(i64, int64_t, u32, uint32_t)
INLAY_CAST(i64, int64_t, u64, uint64_t)
INLAY_CAST_BOOL(i64, int64_t)
INLAY_CAST(u8, uint8_t, f32, float)
INLAY_CAST(u8, uint8_t, f64, double)
INLAY_CAST(u8, uint8_t, i8, int8_t)
INLAY_CAST(u8, uint8_t, i16, int16_t)
INLAY_CAST(u8, uint8_t, i32, int32_t)
INLAY_CAST(u8, uint8_t, i64, int64_t)
INLAY_CAST(u8, uint8_t, u16, uint16_t)
INLAY_CAST(u8, uint8_t, u32, uint32_t)
INLAY_CAST(u8, uint8_t, u64, uint64_t)
INLAY_CAST_BOOL(u8, uint8_t)
INLAY_CAST(u16, uint16_t, f32, float)
INLAY_CAST(u16, uint16_t, f64, double)
INLAY_CAST(u16, uint16_t, i8, int8_t)
INLAY_CAST(u16, uint16_t, i16, int16_t)
INLAY_CAST(u16, uint16_t, i32, int32_t)
INLAY_CAST(u16, uint16_t, i64, int64_t)
INLAY_CAST(u16, uint16_t, u8, uint8_t)
INLAY_CAST(u16, uint16_t, u32, uint32_t)
INLAY_CAST(u16, uint16_t, u64, uint64_t)
INLAY_CAST_BOOL(u16, uint16_t)
INLAY_CAST(u32, uint32_t, f32, float)
INLAY_CAST(u32, uint32_t, f64, double)
INLAY_CAST(u32, uint32_t, i8, int8_t)
INLAY_CAST(u32, uint32_t, i16, int16_t)
INLAY_CAST(u32, uint32_t, i32, int32_t)
INLAY_CAST(u32, uint32_t, i64, int64_t)
INLAY_CAST(u32, uint32_t, u8, uint8_t)
INLAY_CAST(u32, uint32_t, u16, uint16_t)
INLAY_CAST(u32, uint32_t, u64, uint64_t)
INLAY_CAST_BOOL(u32, uint32_t)
INLAY_CAST(u64, uint64_t, f32, float)
INLAY_CAST(u64, uint64_t, f64, double)
INLAY_CAST(u64, uint64_t, i8, int8_t)
INLAY_CAST(u64, uint64_t, i16, int16_t)
INLAY_CAST(u64, uint64_t, i32, int32_t)
INLAY_CAST(u64, uint64_t, i64, int64_t)
INLAY_CAST(u64, uint64_t, u8, uint8_t)
INLAY_CAST(u64, uint64_t, u16, uint16_t)
INLAY_CAST(u64, uint64_t, u32, uint32_t)
INLAY_CAST_BOOL(u64, uint64_t)
INLAY_CAST(bool, uint8_t, f32, float)
INLAY_CAST(bool, uint8_t, f64, double)
INLAY_CAST(bool, uint8_t, i8, int8_t)
INLAY_CAST(bool, uint8_t, i16, int16_t)
INLAY_CAST(bool, uint8_t, i32, int32_t)
INLAY_CAST(bool, uint8_t, i64, int64_t)
INLAY_CAST(bool, uint8_t, u8, uint8_t)
INLAY_CAST(bool, uint8_t, u16, uint16_t)
INLAY_CAST(bool, uint8_t, u32, uint32_t)
INLAY_CAST(bool, uint8_t, u64, uint64_t)

/* Small floats; p->a: saturate; p->b: rounding mode of float8e8m0 (0 up, 1 down, 2 nearest). */
#define INLAY_CAST_SMALL(name, T) \
    INLAY_UNARY(cast_##name##_f32, float, T, z = inlay_from_##name(x);)
INLAY_CAST_SMALL(f16, uint16_t)
INLAY_CAST_SMALL(bf16, uint16_t)
INLAY_CAST_SMALL(f8e4m3fn, uint8_t)
INLAY_CAST_SMALL(f8e4m3fnuz, uint8_t)
INLAY_CAST_SMALL(f8e5m2, uint8_t)
INLAY_CAST_SMALL(f8e5m2fnuz, uint8_t)
INLAY_CAST_SMALL(f8e8m0, uint8_t)
INLAY_UNARY(cast_f32_f16, uint16_t, float, z = inlay_to_f16(x);)
INLAY_UNARY(cast_f32_bf16, uint16_t, float, z = inlay_to_bf16(x);)
INLAY_UNARY(cast_f32_f8e4m3fn, uint8_t, float, z = inlay_to_f8e4m3fn(x, p->a > 0);)
INLAY_UNARY(cast_f32_f8e4m3fnuz, uint8_t, float, z = inlay_to_f8e4m3fnuz(x, p->a > 0);)
INLAY_UNARY(cast_f32_f8e5m2, uint8_t, float, z = inlay_to_f8e5m2(x, p->a > 0);)
INLAY_UNARY(cast_f32_f8e5m2fnuz, uint8_t, float, z = inlay_to_f8e5m2fnuz(x, p->a > 0);)
INLAY_UNARY(cast_f32_f8e8m0, uint8_t, float, z = inlay_to_f8e8m0(x, p->a > 0, (int)p->b);)
/* The first half of float64 to a small float. */
INLAY_UNARY(cast_f64_odd, float, double, z = inlay_round_odd(x);)

/* Packed types: `per` elements in a byte, the first in the low bits. The tensor is one unit; p->n
 * counts elements. */
#define INLAY_UNPACK(name, R, per, ...) \
    static inline int inlay_##name(void *const *base, const inlay_step *s, int32_t r0, int32_t r1) \
    { \
        const inlay_flat_params *p = (const inlay_flat_params *)s->params; \
        R *y = (R *)inlay_at(base, s, 0); \
        const uint8_t *q = (const uint8_t *)inlay_at(base, s, 1); \
        int32_t i; \
        (void)r0, (void)r1; \
        for (i = 0; i < p->n; i++) { \
            const uint32_t x = \
                (uint32_t)q[i / per] >> (i % per * (8 / per)) & ((1u << (8 / per)) - 1u); \
            y[i] = (R)(__VA_ARGS__); \
        } \
        return 0; \
    }
#define INLAY_PACK(name, T, per, ...) \
    static inline int inlay_##name(void *const *base, const inlay_step *s, int32_t r0, int32_t r1) \
    { \
        const inlay_flat_params *p = (const inlay_flat_params *)s->params; \
        uint8_t *y = (uint8_t *)inlay_at(base, s, 0); \
        const T *q = (const T *)inlay_at(base, s, 1); \
        int32_t i; \
        (void)r0, (void)r1; \
        memset(y, 0, (size_t)(p->n / per + (p->n % per != 0))); \
        for (i = 0; i < p->n; i++) { \
            const T x = q[i]; \
            const uint32_t z = (uint32_t)(__VA_ARGS__) & ((1u << (8 / per)) - 1u); \
            y[i / per] = (uint8_t)(y[i / per] | z << (i % per * (8 / per))); \
        } \
        return 0; \
    }
INLAY_UNPACK(cast_u4_u8, uint8_t, 2, x)
INLAY_UNPACK(cast_i4_i8, int8_t, 2, (int32_t)(x ^ 8u) - 8)
INLAY_UNPACK(cast_u2_u8, uint8_t, 4, x)
INLAY_UNPACK(cast_i2_i8, int8_t, 4, (int32_t)(x ^ 2u) - 2)
INLAY_UNPACK(cast_f4e2m1_f32, float, 2, inlay_from_f4e2m1((uint8_t)x))
INLAY_PACK(cast_u8_u4, uint8_t, 2, x)
INLAY_PACK(cast_i8_i4, int8_t, 2, x)
INLAY_PACK(cast_u8_u2, uint8_t, 4, x)
INLAY_PACK(cast_i8_i2, int8_t, 4, x)
INLAY_PACK(cast_f32_f4e2m1, float, 2, inlay_to_f4e2m1(x))

#endif
