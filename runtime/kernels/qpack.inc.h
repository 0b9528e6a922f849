/* SPDX-License-Identifier: 0BSD
 * Sums of products become bytes, four vectors at a time.
 *
 *   y = clamp(round(sum * scale) + zero, lo, hi)     ties to even
 *
 * Numbers are narrowed by instructions that saturate: to 16 bits, where the zero point is added,
 * and to bytes without sign, where they are clipped. Signed bytes are found 128 above what they
 * are. Scales are below 1, so that no product is beyond the integers. Included by qline.h. */
#ifndef INLAY_QPACK_INC_H
#define INLAY_QPACK_INC_H

/* What four vectors of bytes are made with. */
typedef struct inlay_qpack {
    inlay_qi zero;        /* in halves */
    inlay_qi least, most; /* in bytes */
    inlay_qi flip;
} inlay_qpack;

/* Four vectors on their way: integers, where their bytes go, and how many. */
typedef struct inlay_qfour {
    inlay_qi v[4];
    uint8_t *y[4];
    int32_t n[4];
} inlay_qfour;

INLAY_INLINE inlay_qpack inlay_qpack_of(int32_t zero, int32_t lo, int32_t hi,
                                        int is_signed)
{
    const int32_t up = is_signed ? 128 : 0;
    inlay_qpack pack;
    pack.zero = INLAY_MM(set1_epi16)((short)(zero + up));
    pack.least = INLAY_MM(set1_epi8)((char)(lo + up));
    pack.most = INLAY_MM(set1_epi8)((char)(hi + up));
    pack.flip = INLAY_MM(set1_epi8)((char)up);
    return pack;
}

INLAY_INLINE inlay_qf inlay_qzero_floats(void)
{
    return INLAY_MM(setzero_ps)();
}

/* Are all scales between -1 and 1? NaN is not. */
INLAY_INLINE int inlay_qpack_suits(inlay_qf scale)
{
    const inlay_qf one = INLAY_MM(set1_ps)(1.0f);
    const inlay_qf size =
        INLAY_MM(max_ps)(INLAY_MM(sub_ps)(inlay_qzero_floats(), scale), scale);
#if INLAY_QL == 16
    return _mm512_cmp_ps_mask(size, one, _CMP_LT_OQ) == 0xffff;
#elif INLAY_QL == 8
    return _mm256_movemask_ps(_mm256_cmp_ps(size, one, _CMP_LT_OQ)) == 0xff;
#else
    return _mm_movemask_ps(_mm_cmplt_ps(size, one)) == 0xf;
#endif
}

INLAY_INLINE inlay_qi inlay_qrounded(inlay_qi sum, inlay_qf scale)
{
    return INLAY_MM(cvtps_epi32)(
        INLAY_MM(mul_ps)(INLAY_MM(cvtepi32_ps)(sum), scale));
}

/* The bytes of four vectors, one vector's after the other's. */
INLAY_INLINE inlay_qi inlay_qpacked_bytes(const inlay_qpack *pack,
                                          const inlay_qi *v)
{
    const inlay_qi low = INLAY_MM(packs_epi32)(v[0], v[1]);
    const inlay_qi high = INLAY_MM(packs_epi32)(v[2], v[3]);
    inlay_qi bytes =
        INLAY_MM(packus_epi16)(INLAY_MM(adds_epi16)(low, pack->zero),
                               INLAY_MM(adds_epi16)(high, pack->zero));
    bytes = INLAY_MM(max_epu8)(bytes, pack->least);
    bytes = INLAY_MM(min_epu8)(bytes, pack->most);
    bytes = INLAY_MB(xor)(bytes, pack->flip);
    /* the parts of the machine's vectors were narrowed each by itself */
#if INLAY_QL == 16
    return _mm512_permutexvar_epi32(
        _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0),
        bytes);
#elif INLAY_QL == 8
    return _mm256_permutevar8x32_epi32(
        bytes, _mm256_set_epi32(7, 3, 6, 2, 5, 1, 4, 0));
#else
    return bytes;
#endif
}

#if INLAY_QL == 16
INLAY_INLINE void inlay_qpiece(uint8_t *y, int32_t n, __m128i bytes)
{
    if (n >= INLAY_QL)
        _mm_storeu_si128((__m128i *)(void *)y, bytes);
    else
        _mm_mask_storeu_epi8(y, inlay_qmask_of(n), bytes);
}
INLAY_INLINE void inlay_qfour_store(const inlay_qpack *pack,
                                    const inlay_qfour *four, int count)
{
    const __m512i all = inlay_qpacked_bytes(pack, four->v);
    inlay_qpiece(four->y[0], four->n[0], _mm512_castsi512_si128(all));
    if (count > 1)
        inlay_qpiece(four->y[1], four->n[1], _mm512_extracti32x4_epi32(all, 1));
    if (count > 2)
        inlay_qpiece(four->y[2], four->n[2], _mm512_extracti32x4_epi32(all, 2));
    if (count > 3)
        inlay_qpiece(four->y[3], four->n[3], _mm512_extracti32x4_epi32(all, 3));
}
#else
INLAY_INLINE void inlay_qpiece(uint8_t *y, int32_t n, const uint8_t *byte)
{
    if (n >= INLAY_QL)
        memcpy(y, byte, INLAY_QL);
    else
        memcpy(y, byte, (size_t)n);
}

INLAY_INLINE void inlay_qfour_store(const inlay_qpack *pack,
                                    const inlay_qfour *four, int count)
{
    const inlay_qi all = inlay_qpacked_bytes(pack, four->v);
    uint8_t byte[4 * INLAY_QL];
    int k;
    memcpy(byte, &all, sizeof byte);
    INLAY_UNROLL
    for (k = 0; k < 4; k++)
        if (k < count)
            inlay_qpiece(four->y[k], four->n[k], byte + k * INLAY_QL);
}
#endif

#endif
