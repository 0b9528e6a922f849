/* SPDX-License-Identifier: 0BSD
 * Floats to float16 and back, several at a time where there are vectors: by the machine's own
 * instruction where it has one, else without branches. The bits are those of half.h while the
 * machine rounds to nearest, but for the payload of a NaN that becomes a float. */
#ifndef INLAY_HALF_VEC_H
#define INLAY_HALF_VEC_H

#include <stddef.h>
#include <stdint.h>

#include "inlay_memory.h"
#include "inlay.h"
#include "kernels/half.h"
#include "kernels/vec.h"

#if INLAY_VL > 1

/* Lanes of `a` where the mask has bits, else of `b`. */
INLAY_INLINE INLAY_V(word)
    inlay_words_if(INLAY_V(i) mask, INLAY_V(word) a, INLAY_V(word) b)
{
    return (INLAY_V(word))INLAY_V(select)(mask, (INLAY_V(f))a, (INLAY_V(f))b);
}

/* By one instruction, where there is one. */
#if INLAY_VL == 16
#define INLAY_HALF_BY_ONE 1
INLAY_INLINE inlay_half16 inlay_halves_of(inlay_f16 x)
{
    const inlay_short16 none = { 0 };
    return (inlay_half16)__builtin_ia32_vcvtps2ph512_mask(x, 0, none, 0xffffu);
}
#elif INLAY_VL == 8 && defined __F16C__
#define INLAY_HALF_BY_ONE 1
INLAY_INLINE inlay_half8 inlay_halves_of(inlay_f8 x)
{
    return (inlay_half8)__builtin_ia32_vcvtps2ph256(x, 0);
}
#elif defined __aarch64__ && defined __ARM_FP16_FORMAT_IEEE
#define INLAY_HALF_BY_ONE 1
INLAY_INLINE inlay_half4 inlay_halves_of(inlay_f4 x)
{
    typedef __fp16 inlay_fp16s __attribute__((vector_size(8)));
    return (inlay_half4) __builtin_convertvector(x, inlay_fp16s);
}
#endif

#ifdef INLAY_HALF_BY_ONE

/* All NaNs become one, as half.h has it; its sign stays. */
INLAY_INLINE INLAY_V(half) inlay_to_halves(INLAY_V(f) x)
{
    const INLAY_V(word) u = (INLAY_V(word))x;
    const INLAY_V(word) none = (u & 0x80000000u) | 0x7fc00000u;
    return inlay_halves_of((INLAY_V(f))inlay_words_if(x != x, none, u));
}

#else

/* Numbers below the normal ones are rounded by a sum with 0.5, whose last bit is their unit. */
INLAY_INLINE INLAY_V(half) inlay_to_halves(INLAY_V(f) x)
{
    const INLAY_V(word) zeros = { 0 };
    const INLAY_V(word) u = (INLAY_V(word))x;
    const INLAY_V(word) a = u & 0x7fffffffu;
    const INLAY_V(word) up = (a >> 13 & 1u) + 0xfffu;
    const INLAY_V(word) normal = (a - (112u << 23) + up) >> 13;
    const INLAY_V(f) small = (INLAY_V(f))a + INLAY_V(splat)(0.5f);
    INLAY_V(word) v = (INLAY_V(word))small - 0x3f000000u;
    v = inlay_words_if(a < 0x38800000u, v, normal);
    v = inlay_words_if(a >= 0x47800000u, zeros + 0x7c00u, v);
    v = inlay_words_if(a > 0x7f800000u, zeros + 0x7e00u, v);
    return __builtin_convertvector(v | (u >> 16 & 0x8000u), INLAY_V(half));
}

#endif
#endif

#if INLAY_VL > 1
/* float16 to floats. A NaN of the machine's own instruction is a quiet one. */
#if INLAY_VL == 16
INLAY_INLINE inlay_f16 inlay_from_halves(inlay_half16 half)
{
    const inlay_f16 none = { 0.0f };
#if defined __clang__
    return __builtin_ia32_vcvtph2ps512_mask((inlay_short16)half, none, 0xffffu,
                                            4);
#else
    return __builtin_ia32_vcvtph2ps512_mask((inlay_short16)half, none, -1, 4);
#endif
}
#elif INLAY_VL == 8 && defined __F16C__
INLAY_INLINE inlay_f8 inlay_from_halves(inlay_half8 half)
{
    return __builtin_ia32_vcvtph2ps256((inlay_short8)half);
}
#else
/* Numbers below the normal ones are what is above the least normal one of as many bits. */
INLAY_INLINE INLAY_V(f) inlay_from_halves(INLAY_V(half) half)
{
    const INLAY_V(word) v = __builtin_convertvector(half, INLAY_V(word));
    const INLAY_V(word) at = (v & 0x7fffu) << 13;
    const INLAY_V(word) least = at + (113u << 23);
    const INLAY_V(f) below =
        (INLAY_V(f))least - INLAY_V(splat)(6.103515625e-05f);
    INLAY_V(word) u = at + (112u << 23);
    u = inlay_words_if(at < 1u << 23, (INLAY_V(word))below, u);
    u = inlay_words_if(at >= 0x7c00u << 13, at | 0x7f800000u, u);
    return (INLAY_V(f))(u | (v & 0x8000u) << 16);
}
#endif
#endif

/* to[i] = from[i] for the first of n, in vectors; returns how many. */
INLAY_INLINE int32_t inlay_some_from_f16(float *to, const uint16_t *from,
                                         int32_t n)
{
    int32_t i = 0;
#if INLAY_VL > 1
    for (; n - i >= INLAY_VL; i += INLAY_VL) {
        INLAY_V(half) half;
        memcpy(&half, from + i, sizeof half);
        INLAY_V(store)(to + i, inlay_from_halves(half));
    }
#else
    (void)to;
    (void)from;
    (void)n;
#endif
    return i;
}

/* to[i] = from[i], i < n. `to` may begin where `from` does. */
INLAY_APART void inlay_to_f16_row(uint16_t *to, const float *from, int32_t n)
{
    int32_t i = 0;
#if INLAY_VL > 1
    for (; n - i >= INLAY_VL; i += INLAY_VL) {
        const INLAY_V(half) v = inlay_to_halves(INLAY_V(load)(from + i));
        memcpy(to + i, &v, sizeof v);
    }
#endif
    for (; i < n; i++)
        to[i] = inlay_to_f16(from[i]);
}

#endif
