/* SPDX-License-Identifier: 0BSD
 * Results of qdwmany_packed.h in the lanes of vectors of 32 bits, with Helium and AVX-512: a number
 * of x goes into the lanes of all of its results. */

#if INLAY_QMVE
#define INLAY_QMANY_LANES 4
typedef int32x4_t inlay_qmany_vector;

/* Where the numbers of the lanes are, and what makes numbers of bytes. */
typedef struct inlay_qmany_places {
    uint32x4_t channel;
    int is_signed;
    uint32x4_t flip;
    int32_t minus;
} inlay_qmany_places;

INLAY_INLINE inlay_qmany_places inlay_qmany_places_of(const inlay_qmany *m,
                                                      const int32_t *channel,
                                                      int32_t n)
{
    inlay_qmany_places places;
    (void)n;
    places.channel = vreinterpretq_u32_s32(vld1q_s32(channel));
    places.is_signed = inlay_qmany_signed(m);
    places.flip = vdupq_n_u32((uint32_t)m->job.of.flip);
    places.minus = m->job.of.minus;
    return places;
}

INLAY_INLINE inlay_qmany_vector
inlay_qmany_numbers(const inlay_qmany_places *places, const uint8_t *x)
{
    uint32x4_t v;
    if (!INLAY_QUSES(INLAY_QUSE_SHIFTED | INLAY_QUSE_UNSIGNED) ||
        places->is_signed)
        return vldrbq_gather_offset_s32((const int8_t *)x, places->channel);
    v = veorq_u32(vldrbq_gather_offset_u32(x, places->channel), places->flip);
    return vsubq_n_s32(vreinterpretq_s32_u32(v), places->minus);
}

INLAY_INLINE inlay_qmany_vector
inlay_qmany_weights(const inlay_qmany_places *places, const int8_t *w)
{
    (void)places;
    return vldrbq_s32(w);
}

INLAY_INLINE inlay_qmany_vector inlay_qmany_add(inlay_qmany_vector sum,
                                                inlay_qmany_vector a,
                                                inlay_qmany_vector b)
{
    return vaddq_s32(sum, vmulq_s32(a, b));
}

INLAY_INLINE inlay_qmany_vector inlay_qmany_same(int32_t number)
{
    return vdupq_n_s32(number);
}

INLAY_INLINE inlay_qmany_vector inlay_qmany_take(const int32_t *from)
{
    return vld1q_s32(from);
}

INLAY_INLINE void inlay_qmany_put(int32_t *to, inlay_qmany_vector v)
{
    vst1q_s32(to, v);
}
#elif INLAY_QL == 16 && defined __AVX512BW__ && defined __AVX512VL__
#define INLAY_QMANY_LANES 16
typedef __m512i inlay_qmany_vector;

typedef struct inlay_qmany_places {
    __m128i channel, flip;
    __mmask16 x, w; /* nothing is read behind the last channel, or weight */
    __m512i minus;
} inlay_qmany_places;

INLAY_INLINE inlay_qmany_places inlay_qmany_places_of(const inlay_qmany *m,
                                                      const int32_t *channel,
                                                      int32_t n)
{
    inlay_qmany_places places;
    places.channel = _mm512_cvtepi32_epi8(_mm512_loadu_si512(channel));
    places.flip = _mm_set1_epi8((char)m->job.of.flip);
    places.x = (__mmask16)((2u << channel[n - 1]) - 1);
    places.w = (__mmask16)((1u << n) - 1);
    places.minus = _mm512_set1_epi32(m->job.of.minus);
    return places;
}

INLAY_INLINE inlay_qmany_vector
inlay_qmany_numbers(const inlay_qmany_places *places, const uint8_t *x)
{
    const __m128i bytes = _mm_maskz_loadu_epi8(places->x, x);
    const __m128i each = _mm_shuffle_epi8(bytes, places->channel);
    const __m128i flipped = _mm_xor_si128(each, places->flip);
    return _mm512_sub_epi32(_mm512_cvtepu8_epi32(flipped), places->minus);
}

INLAY_INLINE inlay_qmany_vector
inlay_qmany_weights(const inlay_qmany_places *places, const int8_t *w)
{
    return _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(places->w, w));
}

INLAY_INLINE inlay_qmany_vector inlay_qmany_add(inlay_qmany_vector sum,
                                                inlay_qmany_vector a,
                                                inlay_qmany_vector b)
{
    return _mm512_add_epi32(sum, _mm512_mullo_epi32(a, b));
}

INLAY_INLINE inlay_qmany_vector inlay_qmany_same(int32_t number)
{
    return _mm512_set1_epi32(number);
}

INLAY_INLINE inlay_qmany_vector inlay_qmany_take(const int32_t *from)
{
    return _mm512_loadu_si512(from);
}

INLAY_INLINE void inlay_qmany_put(int32_t *to, inlay_qmany_vector v)
{
    _mm512_storeu_si512(to, v);
}
#else
#define INLAY_QMANY_LANES 0
#endif
