/* SPDX-License-Identifier: 0BSD
 * Conversions between element types (ONNX Cast). float to integer goes towards zero;
 * integers wrap around; bool is x != 0. */
#ifndef INLAY_CAST_H
#define INLAY_CAST_H

#include "half.h"
#include "kernels/cast_vec.h"
#include "kernels/half_vec.h"
#include "nd.h"

static inline uint64_t inlay_to_u64(double x)
{
    if (x >= 9223372036854775808.0 && x < 18446744073709551616.0)
        return (uint64_t)x;
    return (uint64_t)inlay_to_i64(x);
}

/* From a floating type to an integer type Y: towards zero, then the low bits. Most values fit 32
 * bits, where the conversion is one instruction on small cores. */
#define INLAY_FITS_32(x) \
    ((x) > (INLAY_T)-2147483648.0 && (x) < (INLAY_T)2147483648.0)
#define INLAY_TO(Y, x) \
    (INLAY_FITS_32(x) ? (Y)(int32_t)(x) : (Y)inlay_to_i64((double)(x)))
#define INLAY_TO_U64(x) inlay_to_u64((double)x)
#define INLAY_INTEGERS inlay_typed(integers)(y, x, n, sizeof(INLAY_Y))
#define INLAY_BYTES 0
#define INLAY_FAMILY "cast.inc.h"
#include "each_float.inc.h"
#undef INLAY_TO
#undef INLAY_TO_U64
#undef INLAY_INTEGERS
#undef INLAY_BYTES

/* From integers, and from bool. */
#define INLAY_TO(Y, x) (x)
#define INLAY_TO_U64(x) (x)
#define INLAY_INTEGERS 0
#define INLAY_BYTES inlay_floats(y, x, n, sizeof(INLAY_T), (INLAY_T)-1 < 1)
#include "each_integer.inc.h"

#define INLAY_T uint8_t
#define inlay_typed(name) inlay_##name##_bool
#include INLAY_FAMILY
#undef INLAY_T
#undef inlay_typed
#undef INLAY_TO
#undef INLAY_TO_U64
#undef INLAY_INTEGERS
#undef INLAY_BYTES
#undef INLAY_FAMILY

/* Small floats; p->a: saturate; p->b: rounding mode of float8e8m0 (0 up, 1 down, 2 nearest). */
#define INLAY_T uint16_t

#define INLAY_NAME inlay_cast_f16_f32
#define INLAY_FORMULA inlay_from_f16(x)
#define INLAY_Y float
#define INLAY_SOME inlay_some_from_f16((float *)y, (const uint16_t *)x, n)
#include "unary.inc.h"

#define INLAY_NAME inlay_cast_bf16_f32
#define INLAY_FORMULA inlay_from_bf16(x)
#define INLAY_Y float
#include "unary.inc.h"
#undef INLAY_T

#define INLAY_T uint8_t

#define INLAY_NAME inlay_cast_f8e4m3fn_f32
#define INLAY_FORMULA inlay_from_f8e4m3fn(x)
#define INLAY_Y float
#include "unary.inc.h"

#define INLAY_NAME inlay_cast_f8e4m3fnuz_f32
#define INLAY_FORMULA inlay_from_f8e4m3fnuz(x)
#define INLAY_Y float
#include "unary.inc.h"

#define INLAY_NAME inlay_cast_f8e5m2_f32
#define INLAY_FORMULA inlay_from_f8e5m2(x)
#define INLAY_Y float
#include "unary.inc.h"

#define INLAY_NAME inlay_cast_f8e5m2fnuz_f32
#define INLAY_FORMULA inlay_from_f8e5m2fnuz(x)
#define INLAY_Y float
#include "unary.inc.h"

#define INLAY_NAME inlay_cast_f8e8m0_f32
#define INLAY_FORMULA inlay_from_f8e8m0(x)
#define INLAY_Y float
#include "unary.inc.h"
#undef INLAY_T

#define INLAY_T float

static inline void inlay_cast_f32_f16_n(void *y, const void *x, int32_t n,
                                        const inlay_flat_params *p)
{
    (void)p;
    inlay_to_f16_row((uint16_t *)y, (const float *)x, n);
}

static inline int inlay_cast_f32_f16(void *const *base, const inlay_step *s,
                                     int32_t r0, int32_t r1)
{
    return inlay_flat(base, s, r0, r1, sizeof(uint16_t), sizeof(float),
                      inlay_cast_f32_f16_n);
}

#define INLAY_NAME inlay_cast_f32_bf16
#define INLAY_FORMULA inlay_to_bf16(x)
#define INLAY_Y uint16_t
#include "unary.inc.h"

#define INLAY_NAME inlay_cast_f32_f8e4m3fn
#define INLAY_FORMULA inlay_to_f8e4m3fn(x, p->a > 0)
#define INLAY_Y uint8_t
#include "unary.inc.h"

#define INLAY_NAME inlay_cast_f32_f8e4m3fnuz
#define INLAY_FORMULA inlay_to_f8e4m3fnuz(x, p->a > 0)
#define INLAY_Y uint8_t
#include "unary.inc.h"

#define INLAY_NAME inlay_cast_f32_f8e5m2
#define INLAY_FORMULA inlay_to_f8e5m2(x, p->a > 0)
#define INLAY_Y uint8_t
#include "unary.inc.h"

#define INLAY_NAME inlay_cast_f32_f8e5m2fnuz
#define INLAY_FORMULA inlay_to_f8e5m2fnuz(x, p->a > 0)
#define INLAY_Y uint8_t
#include "unary.inc.h"

#define INLAY_NAME inlay_cast_f32_f8e8m0
#define INLAY_FORMULA inlay_to_f8e8m0(x, p->a > 0, (int)p->b)
#define INLAY_Y uint8_t
#include "unary.inc.h"
#undef INLAY_T

/* The first half of float64 to a small float. */
#define INLAY_T double
#define INLAY_NAME inlay_cast_f64_odd
#define INLAY_FORMULA inlay_round_odd(x)
#define INLAY_Y float
#include "unary.inc.h"
#undef INLAY_T

/* Packed types: 8 / bits elements in a byte, the first in the low bits. The tensor is one unit;
 * p->n counts elements. Element i as a number of so many bits: */
INLAY_INLINE uint32_t inlay_unpack(const uint8_t *packed, int32_t i, int bits)
{
    const int per = 8 / bits;
    return (uint32_t)packed[i / per] >> (i % per * bits) & ((1u << bits) - 1u);
}

/* As a signed number. */
INLAY_INLINE int32_t inlay_unpack_signed(const uint8_t *packed, int32_t i,
                                         int bits)
{
    const uint32_t sign = 1u << (bits - 1);
    return (int32_t)(inlay_unpack(packed, i, bits) ^ sign) - (int32_t)sign;
}

/* Its low bits into place; a byte begins with its first element. */
INLAY_INLINE void inlay_pack(uint8_t *packed, int32_t i, uint32_t value,
                             int bits)
{
    const int per = 8 / bits;
    const uint32_t low = value & ((1u << bits) - 1u);
    const uint8_t before = i % per ? packed[i / per] : 0;
    packed[i / per] = (uint8_t)(before | low << (i % per * bits));
}

INLAY_INLINE int inlay_cast_from_packed(void *const *base, const inlay_step *s,
                                        int bits)
{
    const inlay_flat_params *p = (const inlay_flat_params *)s->params;
    uint8_t *y = (uint8_t *)inlay_at(base, s, 0);
    const uint8_t *x = (const uint8_t *)inlay_at(base, s, 1);
    int32_t i;
    for (i = 0; i < p->n; i++)
        y[i] = (uint8_t)inlay_unpack(x, i, bits);
    return 0;
}

static inline int inlay_cast_u4_u8(void *const *base, const inlay_step *s,
                                   int32_t r0, int32_t r1)
{
    (void)r0;
    (void)r1;
    return inlay_cast_from_packed(base, s, 4);
}

INLAY_INLINE int inlay_cast_from_packed_signed(void *const *base,
                                               const inlay_step *s, int bits)
{
    const inlay_flat_params *p = (const inlay_flat_params *)s->params;
    int8_t *y = (int8_t *)inlay_at(base, s, 0);
    const uint8_t *x = (const uint8_t *)inlay_at(base, s, 1);
    int32_t i;
    for (i = 0; i < p->n; i++)
        y[i] = (int8_t)inlay_unpack_signed(x, i, bits);
    return 0;
}

static inline int inlay_cast_i4_i8(void *const *base, const inlay_step *s,
                                   int32_t r0, int32_t r1)
{
    (void)r0;
    (void)r1;
    return inlay_cast_from_packed_signed(base, s, 4);
}

INLAY_INLINE int inlay_cast_to_packed(void *const *base, const inlay_step *s,
                                      int bits)
{
    const inlay_flat_params *p = (const inlay_flat_params *)s->params;
    uint8_t *y = (uint8_t *)inlay_at(base, s, 0);
    const uint8_t *x = (const uint8_t *)inlay_at(base, s, 1);
    int32_t i;
    for (i = 0; i < p->n; i++)
        inlay_pack(y, i, x[i], bits);
    return 0;
}

static inline int inlay_cast_u8_u4(void *const *base, const inlay_step *s,
                                   int32_t r0, int32_t r1)
{
    (void)r0;
    (void)r1;
    return inlay_cast_to_packed(base, s, 4);
}

INLAY_INLINE int inlay_cast_to_packed_signed(void *const *base,
                                             const inlay_step *s, int bits)
{
    const inlay_flat_params *p = (const inlay_flat_params *)s->params;
    uint8_t *y = (uint8_t *)inlay_at(base, s, 0);
    const int8_t *x = (const int8_t *)inlay_at(base, s, 1);
    int32_t i;
    for (i = 0; i < p->n; i++)
        inlay_pack(y, i, (uint32_t)x[i], bits);
    return 0;
}

static inline int inlay_cast_i8_i4(void *const *base, const inlay_step *s,
                                   int32_t r0, int32_t r1)
{
    (void)r0;
    (void)r1;
    return inlay_cast_to_packed_signed(base, s, 4);
}

static inline int inlay_cast_u2_u8(void *const *base, const inlay_step *s,
                                   int32_t r0, int32_t r1)
{
    (void)r0;
    (void)r1;
    return inlay_cast_from_packed(base, s, 2);
}

static inline int inlay_cast_i2_i8(void *const *base, const inlay_step *s,
                                   int32_t r0, int32_t r1)
{
    (void)r0;
    (void)r1;
    return inlay_cast_from_packed_signed(base, s, 2);
}

static inline int inlay_cast_u8_u2(void *const *base, const inlay_step *s,
                                   int32_t r0, int32_t r1)
{
    (void)r0;
    (void)r1;
    return inlay_cast_to_packed(base, s, 2);
}

static inline int inlay_cast_i8_i2(void *const *base, const inlay_step *s,
                                   int32_t r0, int32_t r1)
{
    (void)r0;
    (void)r1;
    return inlay_cast_to_packed_signed(base, s, 2);
}

static inline int inlay_cast_f4e2m1_f32(void *const *base, const inlay_step *s,
                                        int32_t r0, int32_t r1)
{
    const inlay_flat_params *p = (const inlay_flat_params *)s->params;
    float *y = (float *)inlay_at(base, s, 0);
    const uint8_t *x = (const uint8_t *)inlay_at(base, s, 1);
    int32_t i;
    (void)r0;
    (void)r1;
    for (i = 0; i < p->n; i++)
        y[i] = inlay_from_f4e2m1((uint8_t)inlay_unpack(x, i, 4));
    return 0;
}

static inline int inlay_cast_f32_f4e2m1(void *const *base, const inlay_step *s,
                                        int32_t r0, int32_t r1)
{
    const inlay_flat_params *p = (const inlay_flat_params *)s->params;
    uint8_t *y = (uint8_t *)inlay_at(base, s, 0);
    const float *x = (const float *)inlay_at(base, s, 1);
    int32_t i;
    (void)r0;
    (void)r1;
    for (i = 0; i < p->n; i++)
        inlay_pack(y, i, inlay_to_f4e2m1(x[i]), 4);
    return 0;
}

#endif
