/* SPDX-License-Identifier: Apache-2.0
 * Folding by carry-less products, after V. Gopal et al., "Fast CRC Computation for Generic
 * Polynomials Using PCLMULQDQ Instruction" (Intel, 2009): the constants are powers of x modulo the
 * polynomial, bits reversed. */
#include "base/crc32.h"

#if defined __x86_64__ && defined __GNUC__
#include <wmmintrin.h>
#endif

void crc32_begin(Crc32 *crc32)
{
    inlay_crc_prepare(&crc32->tables);
    crc32->value = 0;
}

#if defined __x86_64__ && defined __GNUC__
#define FOLDING __attribute__((target("sse2,pclmul")))

enum { LANES = 4, LANE = 16, FOLDED = LANES * LANE };

FOLDING static __m128i load(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

/* What x adds `distance` bits (those of k) further on, and `next`, which is there. */
FOLDING static __m128i fold(__m128i x, __m128i k, __m128i next)
{
    const __m128i low = _mm_clmulepi64_si128(x, k, 0x00);
    const __m128i high = _mm_clmulepi64_si128(x, k, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

/* 128 bits to the 32 of the remainder. */
FOLDING static uint32_t reduce(__m128i x, __m128i k)
{
    const __m128i low_words = _mm_setr_epi32(-1, 0, -1, 0);
    const __m128i fifth = _mm_set_epi64x(0, 0x163cd6124);
    const __m128i polynomial = _mm_set_epi64x(0x1f7011641, 0x1db710641);
    x = _mm_xor_si128(_mm_srli_si128(x, 8), _mm_clmulepi64_si128(x, k, 0x10));
    x = _mm_xor_si128(
        _mm_srli_si128(x, 4),
        _mm_clmulepi64_si128(_mm_and_si128(x, low_words), fifth, 0x00));
    __m128i t =
        _mm_clmulepi64_si128(_mm_and_si128(x, low_words), polynomial, 0x10);
    t = _mm_clmulepi64_si128(_mm_and_si128(t, low_words), polynomial, 0x00);
    return (uint32_t)_mm_cvtsi128_si32(_mm_srli_si128(_mm_xor_si128(x, t), 4));
}

/* n is a multiple of 64, and not 0. */
FOLDING static uint32_t add_folded(uint32_t value, const uint8_t *p, size_t n)
{
    const __m128i far = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
    const __m128i near = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
    __m128i x[LANES];
    for (int i = 0; i < LANES; i++)
        x[i] = load(p + i * LANE);
    x[0] = _mm_xor_si128(x[0], _mm_cvtsi32_si128((int)~value));
    for (size_t at = FOLDED; at < n; at += FOLDED)
        for (int i = 0; i < LANES; i++)
            x[i] = fold(x[i], far, load(p + at + (size_t)i * LANE));
    for (int i = 1; i < LANES; i++)
        x[0] = fold(x[0], near, x[i]);
    return ~reduce(x[0], near);
}

/* Takes what it can of the beginning; returns how much. */
static size_t add_fast(Crc32 *crc32, const uint8_t *p, size_t n)
{
    const size_t whole = n / FOLDED * FOLDED;
    if (!whole || !__builtin_cpu_supports("pclmul"))
        return 0;
    crc32->value = add_folded(crc32->value, p, whole);
    return whole;
}
#else
static size_t add_fast(Crc32 *crc32, const uint8_t *p, size_t n)
{
    (void)crc32;
    (void)p;
    (void)n;
    return 0;
}
#endif

void crc32_add(Crc32 *crc32, const void *data, size_t n)
{
    const uint8_t *p = data;
    const size_t done = add_fast(crc32, p, n);
    crc32->value =
        inlay_crc_wide(&crc32->tables, crc32->value, p + done, n - done);
}
