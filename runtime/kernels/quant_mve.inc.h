/* SPDX-License-Identifier: 0BSD
 * Bytes of floats in Helium vectors of four. Included by quant.h. */

/* What turns numbers to bytes. */
typedef struct inlay_mve_byte {
#if INLAY_MVE_FLOAT
    float32x4_t least, most;
#endif
    int32_t zero;
    /* of bytes that are made with a sign, within all that these can be: what flips them, their zero
     * point */
    int32_t flip, above;
} inlay_mve_byte;

static inline inlay_mve_byte inlay_mve_byte_of(int32_t zero, int32_t lo,
                                               int32_t hi)
{
    inlay_mve_byte byte;
#if INLAY_MVE_FLOAT
    byte.least = vdupq_n_f32((float)(lo - zero));
    byte.most = vdupq_n_f32((float)(hi - zero));
#else
    (void)hi;
#endif
    byte.zero = zero;
    byte.flip = lo + 128;
    byte.above = zero - byte.flip;
    return byte;
}

#if INLAY_MVE_FLOAT
/* inlay_saturate of quant.h: the larger of NaN and a number is the number. */
INLAY_INLINE int32x4_t inlay_mve_saturate(const inlay_mve_byte *byte,
                                          float32x4_t v)
{
    v = vmaxnmq_f32(v, byte->least);
    v = vminnmq_f32(v, byte->most);
    return vaddq_n_s32(vcvtnq_s32_f32(v), byte->zero);
}

/* v / by; reciprocal: 1 / by. Vectors cannot be divided: a quotient is the product with the
 * reciprocal, mended twice by what is left over. The second time it is rounded as a division rounds
 * (Markstein), as long as nothing becomes so small that it is lost. */
INLAY_INLINE float32x4_t inlay_mve_quotient(float32x4_t v, float by,
                                            float reciprocal)
{
    float32x4_t of = vmulq_n_f32(v, reciprocal);
    of = vfmaq_n_f32(of, vfmaq_n_f32(v, of, -by), reciprocal);
    return vfmaq_n_f32(of, vfmaq_n_f32(v, of, -by), reciprocal);
}

/* Fours of n bytes of floats, as inlay_saturate(x / scale) makes them; returns how many bytes those
 * are. What is beyond all bytes is cut off before it is divided: of infinity nothing would be left
 * over but NaN, of which the least byte is made, as of what is beyond them below. */
INLAY_APART int32_t inlay_quantize_fast(uint8_t *y, const float *x, int32_t n,
                                        float scale, int32_t zero, int32_t lo,
                                        int32_t hi)
{
    const inlay_mve_byte byte = inlay_mve_byte_of(zero, lo, hi);
    const float32x4_t most = vdupq_n_f32(1024.0f * scale);
    const float reciprocal = 1.0f / scale;
    int32_t i;
    if (!inlay_scale_suits(scale))
        return 0;
    for (i = 0; i + 4 <= n; i += 4) {
        float32x4_t v = vld1q_f32(x + i);
        v = vpselq_f32(most, v, vcmpgtq_f32(v, most));
        v = inlay_mve_quotient(v, scale, reciprocal);
        vstrbq_s32((int8_t *)y + i, inlay_mve_saturate(&byte, v));
    }
    return i;
}

/* The same of sums times scales. */
INLAY_INLINE int32_t inlay_scaled_fast(uint8_t *y, const int32_t *sum,
                                       const float *scale, int32_t n,
                                       int32_t zero, int32_t lo, int32_t hi)
{
    const inlay_mve_byte byte = inlay_mve_byte_of(zero, lo, hi);
    int32_t i;
    for (i = 0; i + 4 <= n; i += 4) {
        const float32x4_t v = vcvtq_f32_s32(vld1q_s32(sum + i));
        const float32x4_t scaled = vmulq_f32(v, vld1q_f32(scale + i));
        vstrbq_s32((int8_t *)y + i, inlay_mve_saturate(&byte, scaled));
    }
    return i;
}
#endif
