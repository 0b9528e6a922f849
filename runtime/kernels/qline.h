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

#if INLAY_QL == 16

static inline void inlay_line_to_bytes(uint8_t *y, const float *x, int32_t n,
                                       float scale, int32_t zero, int32_t lo,
                                       int32_t hi)
{
    const __m512 least = _mm512_set1_ps((float)(lo - zero));
    const __m512 most = _mm512_set1_ps((float)(hi - zero));
    const __m512 each = _mm512_set1_ps(scale);
    const __m512i off = _mm512_set1_epi32(zero);
    int32_t i;
    for (i = 0; i < n; i += 16) {
        const __mmask16 mask = inlay_qmask_of(n - i);
        __m512 v = _mm512_div_ps(_mm512_maskz_loadu_ps(mask, x + i), each);
        __m512i number;
        v = _mm512_min_ps(_mm512_max_ps(v, least), most);
        number = _mm512_add_epi32(_mm512_cvtps_epi32(v), off);
        _mm_mask_storeu_epi8(y + i, mask, _mm512_cvtepi32_epi8(number));
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
