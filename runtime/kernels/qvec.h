/* SPDX-License-Identifier: 0BSD
 * Dot products of four bytes, in vectors of the machine: the one primitive of the 8-bit kernels.
 *
 *   sums[c] += sum over i < 4: x[i] * w[c][i]      c < INLAY_QL
 *
 * INLAY_QL sums a vector: 16 (AVX-512), 8 (AVX2), 4 (SSE2, NEON with dot products) or 1 (all else:
 * qtile.h has plain C). x is broadcast, w [INLAY_QL][4] is signed. The machine takes x's numbers as
 * bytes less INLAY_QMINUS: without sign on x86, with sign on NEON. All sums are exact modulo 2^32:
 * where there is no dot product, pairs of 16-bit numbers are multiplied, which cannot saturate. */
#ifndef INLAY_QVEC_H
#define INLAY_QVEC_H

#include <stdint.h>

#include "inlay_memory.h"
#include "inlay.h"

#ifndef INLAY_QL
#if !defined __GNUC__
#define INLAY_QL 1
#elif defined __AVX512BW__ && defined __AVX512VL__
#define INLAY_QL 16
#elif defined __AVX2__
#define INLAY_QL 8
#elif defined __SSE2__
#define INLAY_QL 4
#elif defined __aarch64__ && defined __ARM_FEATURE_DOTPROD
#define INLAY_QL 4
#else
#define INLAY_QL 1
#endif
#endif

/* The multiplications of two halves of Arm's DSP extension. */
#ifndef INLAY_QDSP
#if !defined __ARM_FEATURE_DSP || defined __ARM_BIG_ENDIAN
#define INLAY_QDSP 0
#elif defined __ARM_FEATURE_MVE
#define INLAY_QDSP 0 /* Helium's weights lie otherwise: qmve.h */
#elif defined __GNUC__ && defined __OPTIMIZE__ && defined __thumb2__
#define INLAY_QDSP 1
#else
#define INLAY_QDSP 0
#endif
#endif

/* They, and a unit of floats. */
#if INLAY_QDSP && defined __ARM_FP && (__ARM_FP & 4)
#define INLAY_QDSP_FLOAT 1
#else
#define INLAY_QDSP_FLOAT 0
#endif

/* Helium: Cortex-M55, M85. */
#if !defined __ARM_FEATURE_MVE || defined __ARM_BIG_ENDIAN
#define INLAY_QMVE 0
#elif defined __GNUC__ && defined __OPTIMIZE__ && !defined __clang__
#define INLAY_QMVE 1
#else
#define INLAY_QMVE 0
#endif
#if INLAY_QMVE
#include <arm_mve.h>
#define INLAY_MVE_FLOAT (__ARM_FEATURE_MVE >> 1 & 1)
#else
#define INLAY_MVE_FLOAT 0
#endif

/* Where floats are software's, their products and quotients are found with integers. */
#ifdef INLAY_QSOFT
#elif defined __arm__ && !defined __ARM_FP
#define INLAY_QSOFT 1
#elif defined __riscv && !defined __riscv_flen
#define INLAY_QSOFT 1
#else
#define INLAY_QSOFT 0
#endif

/* The upper word of a product. */
INLAY_INLINE int32_t inlay_upper_product(int32_t a, int32_t b)
{
#if defined __thumb__ && !defined __thumb2__
    /* no instruction makes it: of halves */
    const int32_t low_a = a & 0xffff;
    const int32_t low_b = b & 0xffff;
    const uint32_t low = (uint32_t)low_a * (uint32_t)low_b;
    const int32_t middle = (a >> 16) * low_b + (int32_t)(low >> 16);
    const int32_t other = low_a * (b >> 16) + (middle & 0xffff);
    return (a >> 16) * (b >> 16) + (middle >> 16) + (other >> 16);
#else
    return (int32_t)((int64_t)a * b >> 32);
#endif
}

/* Most pixels of a tile: its sums fill the registers. */
#if INLAY_QL == 16
#define INLAY_QTILE_P 7
#elif defined __aarch64__ && INLAY_QL == 4
#define INLAY_QTILE_P 5
#elif INLAY_QL == 8
#define INLAY_QTILE_P 4
#elif INLAY_QL == 1
#define INLAY_QTILE_P 6
#else
#define INLAY_QTILE_P 2
#endif

/* Weights of the next tap are not read before the sums of this one are made, which stay what they
 * are: those of many taps at once would take the registers of the sums. */
#if defined __GNUC__
#define INLAY_QORDER(w, sum) __asm__("" : "+r"(w), "+r"(sum))
#else
#define INLAY_QORDER(w, sum) (void)0
#endif

/* The next four bytes. */
INLAY_INLINE uint32_t inlay_four(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

#if INLAY_QL > 1 && defined __SSE2__

/* All vectors take a quarter of a second to read, those of SSE2 next to nothing. */
#if INLAY_QL > 4
#include <immintrin.h>
#else
#include <emmintrin.h>
#endif

#define INLAY_QMINUS 0
#if INLAY_QL == 16
#define INLAY_MM(name) _mm512_##name
#define INLAY_MB(name) _mm512_##name##_si512
typedef __m512i inlay_qi;
typedef __m512 inlay_qf;
/* Which lanes of a vector exist. */
typedef __mmask16 inlay_qmask;
INLAY_INLINE inlay_qmask inlay_qmask_of(int32_t n)
{
    return (inlay_qmask)(n >= 16 ? 0xffffu : (1u << n) - 1u);
}
/* Words that exist, and zeros. */
INLAY_INLINE inlay_qi inlay_qload(const void *p, inlay_qmask mask)
{
    return _mm512_maskz_loadu_epi32(mask, p);
}
#elif INLAY_QL == 8
#define INLAY_MM(name) _mm256_##name
#define INLAY_MB(name) _mm256_##name##_si256
typedef __m256i inlay_qi;
typedef __m256 inlay_qf;
typedef __m256i inlay_qmask;
INLAY_INLINE inlay_qmask inlay_qmask_of(int32_t n)
{
    const __m256i lane = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), lane);
}
INLAY_INLINE inlay_qi inlay_qload(const void *p, inlay_qmask mask)
{
    return _mm256_maskload_epi32((const int *)p, mask);
}
#else
#define INLAY_MM(name) _mm_##name
#define INLAY_MB(name) _mm_##name##_si128
typedef __m128i inlay_qi;
typedef __m128 inlay_qf;
typedef int inlay_qmask; /* groups of channels are fours: all lanes exist */
INLAY_INLINE inlay_qmask inlay_qmask_of(int32_t n)
{
    return n;
}
INLAY_INLINE inlay_qi inlay_qload(const void *p, inlay_qmask mask)
{
    (void)mask;
    return _mm_loadu_si128((const __m128i *)p);
}
#endif

INLAY_INLINE inlay_qi inlay_qzero_sums(void)
{
    return INLAY_MB(setzero)();
}
INLAY_INLINE void inlay_qspill(int32_t *to, inlay_qi sums)
{
    memcpy(to, &sums, sizeof sums);
}

#if INLAY_QL == 16 && defined __AVX512VNNI__
#define INLAY_DPBUSD _mm512_dpbusd_epi32
#elif INLAY_QL == 8 && defined __AVXVNNI__
#define INLAY_DPBUSD _mm256_dpbusd_avx_epi32
#elif INLAY_QL == 8 && defined __AVX512VNNI__ && defined __AVX512VL__
#define INLAY_DPBUSD _mm256_dpbusd_epi32
#endif

#ifdef INLAY_DPBUSD
typedef inlay_qi inlay_qx;
typedef inlay_qi inlay_qw;
INLAY_INLINE inlay_qx inlay_qx_from(inlay_qi bytes)
{
    return bytes;
}
INLAY_INLINE inlay_qw inlay_qw_of(inlay_qi bytes)
{
    return bytes;
}
INLAY_INLINE inlay_qi inlay_dot4(inlay_qi sums, inlay_qx x, inlay_qw w)
{
    return INLAY_DPBUSD(sums, x, w);
}
#else
/* Bytes 0 and 2 of each four, and bytes 1 and 3, as numbers of 16 bits. */
typedef struct inlay_qpairs {
    inlay_qi even, odd;
} inlay_qpairs;
typedef inlay_qpairs inlay_qx;
typedef inlay_qpairs inlay_qw;
INLAY_INLINE inlay_qx inlay_qx_from(inlay_qi bytes)
{
    inlay_qx x;
    x.even = INLAY_MB(and)(bytes, INLAY_MM(set1_epi16)(255));
    x.odd = INLAY_MM(srli_epi16)(bytes, 8);
    return x;
}
INLAY_INLINE inlay_qw inlay_qw_of(inlay_qi bytes)
{
    inlay_qw w;
    w.even = INLAY_MM(srai_epi16)(INLAY_MM(slli_epi16)(bytes, 8), 8);
    w.odd = INLAY_MM(srai_epi16)(bytes, 8);
    return w;
}
INLAY_INLINE inlay_qi inlay_dot4(inlay_qi sums, inlay_qx x, inlay_qw w)
{
    sums = INLAY_MM(add_epi32)(sums, INLAY_MM(madd_epi16)(x.even, w.even));
    return INLAY_MM(add_epi32)(sums, INLAY_MM(madd_epi16)(x.odd, w.odd));
}
#endif
/* a - b c, modulo 2^32. */
INLAY_INLINE inlay_qi inlay_qless(inlay_qi a, inlay_qi b, inlay_qi c)
{
#if INLAY_QL == 4
    const __m128i even = _mm_mul_epu32(b, c);
    const __m128i odd =
        _mm_mul_epu32(_mm_srli_epi64(b, 32), _mm_srli_epi64(c, 32));
    const __m128i low = _mm_shuffle_epi32(even, 8);
    const __m128i high = _mm_shuffle_epi32(odd, 8);
    return _mm_sub_epi32(a, _mm_unpacklo_epi32(low, high));
#else
    return INLAY_MM(sub_epi32)(a, INLAY_MM(mullo_epi32)(b, c));
#endif
}
INLAY_INLINE inlay_qi inlay_qall(int32_t v)
{
    return INLAY_MM(set1_epi32)(v);
}
/* Four bytes for every sum. */
INLAY_INLINE inlay_qx inlay_qx_of(uint32_t four, inlay_qi flip)
{
    return inlay_qx_from(
        INLAY_MB(xor)(INLAY_MM(set1_epi32)((int32_t)four), flip));
}
INLAY_INLINE inlay_qi inlay_qflip_of(int32_t flip)
{
    return INLAY_MM(set1_epi32)((int32_t)((uint32_t)flip * 0x01010101u));
}

#elif INLAY_QL > 1

#include <arm_neon.h>

#define INLAY_QMINUS 128
typedef int32x4_t inlay_qi;
typedef int inlay_qmask;
typedef int8x16_t inlay_qx;
typedef int8x16_t inlay_qw;
INLAY_INLINE inlay_qmask inlay_qmask_of(int32_t n)
{
    return n;
}
INLAY_INLINE inlay_qi inlay_qload(const void *p, inlay_qmask mask)
{
    (void)mask;
    return vld1q_s32((const int32_t *)p);
}
INLAY_INLINE inlay_qi inlay_qzero_sums(void)
{
    return vdupq_n_s32(0);
}
INLAY_INLINE void inlay_qspill(int32_t *to, inlay_qi sums)
{
    vst1q_s32(to, sums);
}
INLAY_INLINE inlay_qi inlay_qless(inlay_qi a, inlay_qi b, inlay_qi c)
{
    return vmlsq_s32(a, b, c);
}
INLAY_INLINE inlay_qi inlay_qall(int32_t v)
{
    return vdupq_n_s32(v);
}
/* A byte b without sign is b ^ 128 less 128: the other sign. */
INLAY_INLINE inlay_qi inlay_qflip_of(int32_t flip)
{
    return vdupq_n_s32((int32_t)((uint32_t)(flip ^ 128) * 0x01010101u));
}
INLAY_INLINE inlay_qx inlay_qx_of(uint32_t four, inlay_qi flip)
{
    const int32x4_t all = vreinterpretq_s32_u32(vdupq_n_u32(four));
    return vreinterpretq_s8_s32(veorq_s32(all, flip));
}
INLAY_INLINE inlay_qw inlay_qw_of(inlay_qi bytes)
{
    return vreinterpretq_s8_s32(bytes);
}
INLAY_INLINE inlay_qi inlay_dot4(inlay_qi sums, inlay_qx x, inlay_qw w)
{
    return vdotq_s32(sums, w, x);
}

#endif

#endif
