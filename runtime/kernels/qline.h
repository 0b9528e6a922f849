/* SPDX-License-Identifier: 0BSD
 * Lines of floats to bytes and back, in vectors of 16, where the machine has them.
 *
 *   y = clamp(round(x / scale) + zero, lo, hi)     ties to even; NaN becomes lo
 *   y = (x - zero) * scale
 *
 * A vector is read whole before it is written; the last one is loaded and stored by a mask. */
#ifndef INLAY_QLINE_H
#define INLAY_QLINE_H

#include "kernels/qvec.h"

#if INLAY_QL > 1 && defined __SSE2__

/* Bytes of floats: what they are clipped to, less the zero point, and that. */
typedef struct inlay_qclip {
    inlay_qf least, most;
    inlay_qi zero;
} inlay_qclip;

INLAY_INLINE inlay_qclip inlay_qclip_of(int32_t zero, int32_t lo, int32_t hi)
{
    inlay_qclip clip;
    clip.least = INLAY_MM(set1_ps)((float)(lo - zero));
    clip.most = INLAY_MM(set1_ps)((float)(hi - zero));
    clip.zero = INLAY_MM(set1_epi32)(zero);
    return clip;
}

/* The bytes' numbers; NaN becomes the least. */
INLAY_INLINE inlay_qi inlay_qclipped(const inlay_qclip *clip, inlay_qf v)
{
    v = INLAY_MM(min_ps)(INLAY_MM(max_ps)(v, clip->least), clip->most);
    return INLAY_MM(add_epi32)(INLAY_MM(cvtps_epi32)(v), clip->zero);
}

/* n bytes, or as many as there are lanes; each becomes a lane without sign. */
#if INLAY_QL == 16
INLAY_INLINE inlay_qi inlay_qload_bytes(const uint8_t *x, int32_t n)
{
    return _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(inlay_qmask_of(n), x));
}
#else
INLAY_INLINE inlay_qi inlay_qload_bytes(const uint8_t *x, int32_t n)
{
    uint8_t byte[16] = { 0 };
    __m128i bytes;
    if (n >= INLAY_QL)
        memcpy(byte, x, INLAY_QL);
    else
        memcpy(byte, x, (size_t)n);
    memcpy(&bytes, byte, sizeof bytes);
#if INLAY_QL == 8
    return _mm256_cvtepu8_epi32(bytes);
#else
    bytes = _mm_unpacklo_epi8(bytes, _mm_setzero_si128());
    return _mm_unpacklo_epi16(bytes, _mm_setzero_si128());
#endif
}
#endif

/* Stores the lowest byte of each of the first n lanes. */
#if INLAY_QL == 16
INLAY_INLINE void inlay_qstore_bytes(uint8_t *y, int32_t n, inlay_qi v)
{
    const __m128i bytes = _mm512_cvtepi32_epi8(v);
    if (n >= INLAY_QL) /* a store by a mask costs several others */
        _mm_storeu_si128((__m128i *)(void *)y, bytes);
    else
        _mm_mask_storeu_epi8(y, inlay_qmask_of(n), bytes);
}
#else
INLAY_INLINE void inlay_qstore_bytes(uint8_t *y, int32_t n, inlay_qi v)
{
    uint8_t byte[16];
    __m128i bytes;
    v = INLAY_MB(and)(v, INLAY_MM(set1_epi32)(255));
#if INLAY_QL == 8
    bytes = _mm_packs_epi32(_mm256_castsi256_si128(v),
                            _mm256_extracti128_si256(v, 1));
#else
    bytes = _mm_packs_epi32(v, v);
#endif
    bytes = _mm_packus_epi16(bytes, bytes);
    memcpy(byte, &bytes, sizeof byte);
    if (n >= INLAY_QL)
        memcpy(y, byte, INLAY_QL);
    else
        memcpy(y, byte, (size_t)n);
}
#endif

#endif

#if INLAY_QL > 1 && defined __SSE2__
#include "kernels/qpack.inc.h"
#endif

#if INLAY_QL == 16

static inline void inlay_line_to_bytes(uint8_t *y, const float *x, int32_t n,
                                       float scale, int32_t zero, int32_t lo,
                                       int32_t hi)
{
    const inlay_qclip clip = inlay_qclip_of(zero, lo, hi);
    const __m512 each = _mm512_set1_ps(scale);
    int32_t i;
    for (i = 0; i < n; i += 16) {
        const __mmask16 mask = inlay_qmask_of(n - i);
        __m512 v = _mm512_div_ps(_mm512_maskz_loadu_ps(mask, x + i), each);
        inlay_qstore_bytes(y + i, n - i, inlay_qclipped(&clip, v));
    }
}

INLAY_INLINE void inlay_line_of_bytes(float *y, const uint8_t *x, int32_t n,
                                      float scale, float zero, int is_signed)
{
    const __m512 each = _mm512_set1_ps(scale);
    const __m512 off = _mm512_set1_ps(zero);
    int32_t i;
    for (i = 0; i < n; i += 16) {
        const __mmask16 mask = inlay_qmask_of(n - i);
        const __m128i bytes = _mm_maskz_loadu_epi8(mask, x + i);
        const __m512i wide = is_signed ? _mm512_cvtepi8_epi32(bytes)
                                       : _mm512_cvtepu8_epi32(bytes);
        const __m512 v = _mm512_sub_ps(_mm512_cvtepi32_ps(wide), off);
        _mm512_mask_storeu_ps(y + i, mask, _mm512_mul_ps(v, each));
    }
}

#endif

#endif
