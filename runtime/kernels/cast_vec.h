/* SPDX-License-Identifier: 0BSD
 * Conversions of cast.h that compilers make no good vectors of. Each makes the first elements of a
 * row and returns how many; where there are no vectors, none. A vector is read before it is
 * written. */
#ifndef INLAY_CAST_VEC_H
#define INLAY_CAST_VEC_H

#include <stddef.h>
#include <stdint.h>

#include "inlay_memory.h"
#include "inlay.h"
#include "kernels/vec.h"

/* What no 64-bit integer holds is the least one. */
static inline int64_t inlay_to_i64(double x)
{
    if (!(x >= -9223372036854775808.0 && x < 9223372036854775808.0))
        return INT64_MIN;
    return (int64_t)x;
}

#if INLAY_VL > 1

typedef uint8_t inlay_cast_bytes __attribute__((vector_size(INLAY_VL)));
typedef int8_t inlay_cast_chars __attribute__((vector_size(INLAY_VL)));

/* ---- bytes to floats ---- */

#if INLAY_VL == 16 && !defined __clang__
/* gcc 12 widens to four times the size by one instruction only where it is named. */
INLAY_INLINE inlay_f16 inlay_floats_of_bytes(const unsigned char *from,
                                             const int is_signed)
{
    typedef char inlay_cast_plain __attribute__((vector_size(INLAY_VL)));
    const inlay_i16 none = { 0 };
    inlay_cast_plain byte;
    inlay_i16 v;
    memcpy(&byte, from, sizeof byte);
    v = is_signed ? __builtin_ia32_pmovsxbd512_mask(byte, none, 0xffffu)
                  : __builtin_ia32_pmovzxbd512_mask(byte, none, 0xffffu);
    return __builtin_convertvector(v, inlay_f16);
}
#else
/* By way of twice the size: only for that compilers have one instruction everywhere. */
INLAY_INLINE INLAY_V(f)
    inlay_floats_of_bytes(const unsigned char *from, const int is_signed)
{
    inlay_cast_bytes byte;
    INLAY_V(half) half;
    memcpy(&byte, from, sizeof byte);
    if (is_signed) {
        const INLAY_V(short) wide =
            __builtin_convertvector((inlay_cast_chars)byte, INLAY_V(short));
        return __builtin_convertvector(
            __builtin_convertvector(wide, INLAY_V(i)), INLAY_V(f));
    }
    half = __builtin_convertvector(byte, INLAY_V(half));
    return __builtin_convertvector(__builtin_convertvector(half, INLAY_V(i)),
                                   INLAY_V(f));
}
#endif

/* Elements of `size` bytes. */
INLAY_INLINE int32_t inlay_floats(void *to, const void *from, int32_t n,
                                  const size_t size, const int is_signed)
{
    const unsigned char *x = (const unsigned char *)from;
    float *y = (float *)to;
    int32_t i;
    if (size > 1)
        return 0;
    for (i = 0; n - i >= INLAY_VL; i += INLAY_VL)
        INLAY_V(store)(y + i, inlay_floats_of_bytes(x + i, is_signed));
    return i;
}

/* ---- floats to integers ---- */

/* Is none of them beyond 32 bits, or NaN? */
INLAY_INLINE int inlay_fit_32(INLAY_V(f) x)
{
    return !inlay_any_lane(~((x > -2147483648.0f) & (x < 2147483648.0f)));
}

/* The low bits of integers, `size` bytes each. */
INLAY_INLINE void inlay_put_integers(unsigned char *to, INLAY_V(i) v,
                                     const size_t size)
{
    int64_t wide[INLAY_VL];
    INLAY_V(short) half;
    inlay_cast_chars byte;
    int i;
    if (size == 4) {
        memcpy(to, &v, sizeof v);
        return;
    }
    if (size == 8) {
        for (i = 0; i < INLAY_VL; i++)
            wide[i] = v[i];
        memcpy(to, wide, sizeof wide);
        return;
    }
    half = __builtin_convertvector(v, INLAY_V(short));
    byte = __builtin_convertvector(half, inlay_cast_chars);
    if (size == 2)
        memcpy(to, &half, sizeof half);
    else
        memcpy(to, &byte, sizeof byte);
}

/* The same of floats, one by one. */
INLAY_APART void inlay_put_far_integers(unsigned char *to, INLAY_V(f) x,
                                        size_t size)
{
    int i;
    for (i = 0; i < INLAY_VL; i++) {
        const int64_t whole = inlay_to_i64((double)x[i]);
        const uint32_t low = (uint32_t)whole;
        const uint16_t half = (uint16_t)low;
        const uint8_t byte = (uint8_t)low;
        unsigned char *at = to + (size_t)i * size;
        if (size == 8)
            memcpy(at, &whole, sizeof whole);
        else if (size == 4)
            memcpy(at, &low, sizeof low);
        else if (size == 2)
            memcpy(at, &half, sizeof half);
        else
            *at = byte;
    }
}

INLAY_INLINE int32_t inlay_integers_f32(void *to, const void *from, int32_t n,
                                        const size_t size)
{
    unsigned char *y = (unsigned char *)to;
    const float *x = (const float *)from;
    int32_t i;
    for (i = 0; n - i >= INLAY_VL; i += INLAY_VL) {
        const INLAY_V(f) v = INLAY_V(load)(x + i);
        if (inlay_fit_32(v))
            inlay_put_integers(y, __builtin_convertvector(v, INLAY_V(i)), size);
        else
            inlay_put_far_integers(y, v, size);
        y += INLAY_VL * size;
    }
    return i;
}

#else
#define inlay_floats(to, from, n, size, is_signed) 0
#define inlay_integers_f32(to, from, n, size) 0
#endif
/* Of doubles the compiler makes what it can. */
#define inlay_integers_f64(to, from, n, size) 0

#endif
