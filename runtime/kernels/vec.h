/* SPDX-License-Identifier: 0BSD
 * Float vectors of the machine's width, through the vector extensions of gcc and clang.
 *
 * INLAY_VL is the widest: 16 (AVX-512), 8 (AVX), 4 (SSE2, NEON of 64-bit ARM) or 1 (all else: plain
 * C). For each width N <= INLAY_VL of 16, 8, 4 and 1 there are inlay_fN and inlay_loadN, storeN,
 * splatN, fmaN (a * b + c), maxN, minN (NaN in the second operand stays). A type wider than the
 * machine is never defined: compilers make very slow code of it.
 * Fused multiply-add is asked for by name where the machine has it, so that speed
 * does not depend on -std or -ffp-contract; elsewhere it is a multiplication and an addition. */
#ifndef INLAY_VEC_H
#define INLAY_VEC_H

/* What goes without functions of <math.h> goes without a C library. */
#ifndef __has_include
#include "kernels/libm.h"
#elif __has_include(<math.h>)
#include "kernels/libm.h"
#endif
#include <stddef.h>
#include <stdint.h>

#include "inlay.h"

#ifndef INLAY_VL
#if !defined __GNUC__
#define INLAY_VL 1
#elif defined __AVX512F__
#define INLAY_VL 16
#elif defined __AVX__
#define INLAY_VL 8
#elif defined __SSE2__ || (defined __aarch64__ && defined __ARM_NEON)
#define INLAY_VL 4
#else
#define INLAY_VL 1
#endif
#endif

/* Vectors of four floats beside scalar code (Helium): what is made of groups of four channels uses
 * them, all else is as with INLAY_VL 1. They take numbers below the normal ones for 0. */
#if INLAY_VL == 1 && defined __ARM_FEATURE_MVE && !defined __ARM_BIG_ENDIAN
#if defined __GNUC__ && !defined __clang__ && defined __OPTIMIZE__
#if __ARM_FEATURE_MVE & 2
#define INLAY_HELIUM 1
#include <arm_mve.h>
#endif
#endif
#endif

/* Are there vectors of four floats? */
#if INLAY_VL > 1 || defined INLAY_HELIUM
#define INLAY_HAS_4 1
#else
#define INLAY_HAS_4 0
#endif

/* The 32 registers s0 to s31 and one rounding for a product and a sum, but no vectors: code that
 * names them, and takes more registers than are free where nothing is optimized. The first of two
 * halves lies in the lower part of a word. */
#if defined __arm__ && defined __ARM_FEATURE_FMA && defined __ARM_FP
#if !defined __ARM_BIG_ENDIAN && !INLAY_HAS_4
#if defined __GNUC__ && !defined __clang__ && defined __OPTIMIZE__
#define INLAY_FPU_ARM 1
#endif
#endif
#endif

/* Widest vector: INLAY_V(load)(p) is inlay_load16(p) on AVX-512. */
#define INLAY_JOIN_(a, b) a##b
#define INLAY_JOIN(a, b) INLAY_JOIN_(a, b)
#define INLAY_V(name) INLAY_JOIN(inlay_##name, INLAY_VL)

typedef float inlay_f1;

INLAY_INLINE float inlay_load1(const float *p)
{
    return *p;
}
INLAY_INLINE void inlay_store1(float *p, float v)
{
    *p = v;
}
INLAY_INLINE float inlay_splat1(float v)
{
    return v;
}
INLAY_INLINE float inlay_max1(float lo, float v)
{
    return lo > v ? lo : v;
}
INLAY_INLINE float inlay_min1(float hi, float v)
{
    return hi < v ? hi : v;
}
INLAY_INLINE float inlay_fma1(float a, float b, float c)
{
#if defined __clang__
#pragma clang fp contract(fast)
    return a * b + c;
#elif defined __FP_FAST_FMAF || defined __ARM_FEATURE_FMA
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

/* In a template of one width, INLAY_L floats: its type, and the names of its functions. */
#define INLAY_W(name) INLAY_JOIN(inlay_##name, INLAY_L)
#define INLAY_FLOATS INLAY_W(f)

/* Newer ones have a name for the roots of a vector. */
#ifdef __clang__
#if __has_builtin(__builtin_elementwise_sqrt)
#define INLAY_CLANG_ROOT 1
#endif
#endif

/* Each width: a vector of which each float is v, and the functions of gcc that are one
 * instruction. */
#define INLAY_FOUR(n) n, n + 2, n + 4, n + 6
#if INLAY_HAS_4
#define INLAY_L 4
#define INLAY_REPEAT(v) v, v, v, v
#define INLAY_EVERY_OTHER(n) INLAY_FOUR(n)
#ifdef INLAY_HELIUM
/* Of each lane yes where a > b, else no: there is nothing that NaN is greater than, while it is
 * "less". Of the functions of arm_mve.h gcc makes three instructions more. */
INLAY_INLINE float32x4_t inlay_helium_first(float32x4_t a, float32x4_t b,
                                            float32x4_t yes, float32x4_t no)
{
    float32x4_t first;
    __asm__("vcmp.f32 gt, %q[a], %q[b]\nvpsel %q[first], %q[yes], %q[no]"
            : [first] "=w"(first)
            : [a] "w"(a), [b] "w"(b), [yes] "w"(yes), [no] "w"(no)
            : "p0");
    return first;
}
#define INLAY_LARGER(a, b) inlay_helium_first(a, b, a, b)
#define INLAY_SMALLER(a, b) inlay_helium_first(b, a, a, b)
#define INLAY_FUSED(a, b, c) vfmaq_f32(c, a, b)
#endif
#if defined __SSE2__
#define INLAY_ROOT(v) __builtin_ia32_sqrtps(v)
#elif defined __aarch64__ && !defined __clang__
#define INLAY_ROOT(v) __builtin_aarch64_sqrtv4sf(v)
#endif
#if defined __SSE2__ && !defined __clang__
#define INLAY_LARGER(a, b) __builtin_ia32_maxps(a, b)
#define INLAY_SMALLER(a, b) __builtin_ia32_minps(a, b)
#endif
#if defined __FMA__ && !defined __clang__
#define INLAY_FUSED(a, b, c) __builtin_ia32_vfmaddps(a, b, c)
#elif defined __aarch64__ && !defined __clang__
#define INLAY_FUSED(a, b, c) __builtin_aarch64_fmav4sf(a, b, c)
#endif
#include "kernels/vec.inc.h"
#endif

#if INLAY_VL >= 8
#define INLAY_L 8
#define INLAY_REPEAT(v) v, v, v, v, v, v, v, v
#define INLAY_EVERY_OTHER(n) INLAY_FOUR(n), INLAY_FOUR(n + 8)
#define INLAY_ROOT(v) __builtin_ia32_sqrtps256(v)
#if !defined __clang__
#define INLAY_LARGER(a, b) __builtin_ia32_maxps256(a, b)
#define INLAY_SMALLER(a, b) __builtin_ia32_minps256(a, b)
#endif
#if defined __FMA__ && !defined __clang__
#define INLAY_FUSED(a, b, c) __builtin_ia32_vfmaddps256(a, b, c)
#endif
#include "kernels/vec.inc.h"
#endif

#if INLAY_VL >= 16
#define INLAY_L 16
#define INLAY_REPEAT(v) v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v
#define INLAY_EIGHT(n) INLAY_FOUR(n), INLAY_FOUR(n + 8)
#define INLAY_EVERY_OTHER(n) INLAY_EIGHT(n), INLAY_EIGHT(n + 16)
#ifdef __clang__
#define INLAY_ROOT(v) __builtin_ia32_sqrtps512(v, 4)
#else
#define INLAY_ROOT(v) __builtin_ia32_sqrtps512_mask(v, v, -1, 4)
#define INLAY_LARGER(a, b) __builtin_ia32_maxps512_mask(a, b, b, -1, 4)
#define INLAY_SMALLER(a, b) __builtin_ia32_minps512_mask(a, b, b, -1, 4)
#define INLAY_FUSED(a, b, c) __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4)
#endif
#include "kernels/vec.inc.h"
#if defined __x86_64__
#define INLAY_FMA_MEMORY 1
/* sum + value * the 16 floats at `from`, which take no register. */
INLAY_INLINE inlay_f16 inlay_fma_memory(inlay_f16 sum, inlay_f16 value,
                                        const float *from)
{
    __asm__("vfmadd231ps %2, %1, %0"
            : "+v"(sum)
            : "v"(value), "m"(*(const inlay_any16 *)(const void *)from));
    return sum;
}
#endif
#endif

#if INLAY_VL > 1
/* Of lanes that have all bits, or none: has one of them? */
INLAY_INLINE int inlay_any_lane(INLAY_V(i) lanes)
{
#if INLAY_VL == 16
    const inlay_i16 none = { 0 };
    return __builtin_ia32_cmpd512_mask(lanes, none, 4, 0xffffu) != 0;
#elif INLAY_VL == 8
    return __builtin_ia32_movmskps256((inlay_f8)lanes) != 0;
#elif defined __SSE2__
    return __builtin_ia32_movmskps((inlay_f4)lanes) != 0;
#else
    typedef uint64_t inlay_pair __attribute__((vector_size(16)));
    const inlay_pair pair = (inlay_pair)lanes;
    return (pair[0] | pair[1]) != 0;
#endif
}
#endif

/* Keeps a loaded vector in its register: gcc would load it again for every use. */
#if INLAY_VL > 1 && defined __x86_64__ && !defined __clang__
#define INLAY_KEEP(v) __asm__("" : "+v"(v))
#else
#define INLAY_KEEP(v) ((void)0)
#endif

#endif
