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

#include <math.h>
#include <stddef.h>
#include <stdint.h>

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

/* Widest vector: INLAY_V(load)(p) is inlay_load16(p) on AVX-512. */
#define INLAY_JOIN_(a, b) a##b
#define INLAY_JOIN(a, b) INLAY_JOIN_(a, b)
#define INLAY_V(name) INLAY_JOIN(inlay_##name, INLAY_VL)

typedef float inlay_f1;

static inline float inlay_load1(const float *p)
{
    return *p;
}
static inline void inlay_store1(float *p, float v)
{
    *p = v;
}
static inline float inlay_splat1(float v)
{
    return v;
}
static inline float inlay_max1(float lo, float v)
{
    return lo > v ? lo : v;
}
static inline float inlay_min1(float hi, float v)
{
    return hi < v ? hi : v;
}
static inline float inlay_fma1(float a, float b, float c)
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

#if INLAY_VL > 1

/* The generic forms of one width; `m` is a mask of all-ones lanes. */
#define INLAY_VEC_TYPE(N) \
    typedef float inlay_f##N __attribute__((vector_size(N * 4))); \
    typedef float inlay_f##N##_any __attribute__((vector_size(N * 4), aligned(4), may_alias)); \
    typedef int32_t inlay_i##N __attribute__((vector_size(N * 4))); \
    static inline inlay_f##N inlay_load##N(const float *p) \
    { \
        return *(const inlay_f##N##_any *)(const void *)p; \
    } \
    static inline void inlay_store##N(float *p, inlay_f##N v) \
    { \
        *(inlay_f##N##_any *)(void *)p = v; \
    } \
    static inline inlay_f##N inlay_select##N(inlay_i##N m, inlay_f##N a, inlay_f##N b) \
    { \
        return (inlay_f##N)(((inlay_i##N)a & m) | ((inlay_i##N)b & ~m)); \
    }

#define INLAY_VEC_MINMAX(N) \
    static inline inlay_f##N inlay_max##N(inlay_f##N lo, inlay_f##N v) \
    { \
        return inlay_select##N(lo > v, lo, v); \
    } \
    static inline inlay_f##N inlay_min##N(inlay_f##N hi, inlay_f##N v) \
    { \
        return inlay_select##N(hi < v, hi, v); \
    }

#if defined __clang__
#define INLAY_VEC_FMA(N) \
    static inline inlay_f##N inlay_fma##N(inlay_f##N a, inlay_f##N b, inlay_f##N c) \
    { \
        _Pragma("clang fp contract(fast)") return a * b + c; \
    }
#else
#define INLAY_VEC_FMA(N) \
    static inline inlay_f##N inlay_fma##N(inlay_f##N a, inlay_f##N b, inlay_f##N c) \
    { \
        return a * b + c; \
    }
#endif

#define INLAY_VEC_X86(N, fma, max, min) \
    static inline inlay_f##N inlay_fma##N(inlay_f##N a, inlay_f##N b, inlay_f##N c) \
    { \
        return (inlay_f##N)fma; \
    } \
    static inline inlay_f##N inlay_max##N(inlay_f##N lo, inlay_f##N v) \
    { \
        return (inlay_f##N)max; \
    } \
    static inline inlay_f##N inlay_min##N(inlay_f##N hi, inlay_f##N v) \
    { \
        return (inlay_f##N)min; \
    }

INLAY_VEC_TYPE(4)
static inline inlay_f4 inlay_splat4(float v)
{
    return (inlay_f4){ v, v, v, v };
}
#if defined __FMA__ && !defined __clang__
INLAY_VEC_X86(4, __builtin_ia32_vfmaddps(a, b, c), __builtin_ia32_maxps(lo, v),
              __builtin_ia32_minps(hi, v))
#elif defined __SSE2__ && !defined __clang__
INLAY_VEC_X86(4, (a * b + c), __builtin_ia32_maxps(lo, v), __builtin_ia32_minps(hi, v))
#elif defined __aarch64__ && !defined __clang__
static inline inlay_f4 inlay_fma4(inlay_f4 a, inlay_f4 b, inlay_f4 c)
{
    return __builtin_aarch64_fmav4sf(a, b, c);
}
INLAY_VEC_MINMAX(4)
#else
INLAY_VEC_FMA(4)
INLAY_VEC_MINMAX(4)
#endif

#if INLAY_VL >= 8
INLAY_VEC_TYPE(8)
static inline inlay_f8 inlay_splat8(float v)
{
    return (inlay_f8){ v, v, v, v, v, v, v, v };
}
#if defined __FMA__ && !defined __clang__
INLAY_VEC_X86(8, __builtin_ia32_vfmaddps256(a, b, c), __builtin_ia32_maxps256(lo, v),
              __builtin_ia32_minps256(hi, v))
#elif !defined __clang__
INLAY_VEC_X86(8, (a * b + c), __builtin_ia32_maxps256(lo, v), __builtin_ia32_minps256(hi, v))
#else
INLAY_VEC_FMA(8)
INLAY_VEC_MINMAX(8)
#endif
#endif

#if INLAY_VL >= 16
INLAY_VEC_TYPE(16)
static inline inlay_f16 inlay_splat16(float v)
{
    return (inlay_f16){ v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v };
}
#if !defined __clang__
INLAY_VEC_X86(16, __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4),
              __builtin_ia32_maxps512_mask(lo, v, v, -1, 4),
              __builtin_ia32_minps512_mask(hi, v, v, -1, 4))
#else
INLAY_VEC_FMA(16)
INLAY_VEC_MINMAX(16)
#endif
#endif

#endif

/* Keeps a loaded vector in its register: gcc would load it again for every use. */
#if INLAY_VL > 1 && defined __x86_64__ && !defined __clang__
#define INLAY_KEEP(v) __asm__("" : "+v"(v))
#else
#define INLAY_KEEP(v) ((void)0)
#endif

/* The first / other lanes of a store that must not pass the end: n of N. */
#define INLAY_STORE_PART(N, p, v, n) \
    do { \
        float part_[N]; \
        int32_t lane_; \
        inlay_store##N(part_, (v)); \
        for (lane_ = 0; lane_ < (n); lane_++) \
            (p)[lane_] = part_[lane_]; \
    } while (0)

#endif
