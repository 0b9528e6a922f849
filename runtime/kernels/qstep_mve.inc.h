/* SPDX-License-Identifier: 0BSD
 * Elementwise steps of qstep.h and sums of pools in Helium vectors of four, with the bits of the
 * plain loops, which other scales take than those by which vectors can be divided. */
#ifndef INLAY_QSTEP_MVE_H
#define INLAY_QSTEP_MVE_H

/* Four numbers of bytes at x, `step` apart, which is 1 or 0. */
INLAY_INLINE float32x4_t inlay_mve_numbers(const uint8_t *x, int32_t step,
                                           int32_t flip, int32_t zero,
                                           float scale)
{
    uint32x4_t v = step ? vldrbq_u32(x) : vdupq_n_u32(*x);
    int32x4_t number;
    v = veorq_u32(v, vdupq_n_u32((uint32_t)flip));
    number = vsubq_n_s32(vreinterpretq_s32_u32(v), zero);
    return vmulq_n_f32(vcvtq_f32_s32(number), scale);
}

/* Bytes of four numbers. */
INLAY_INLINE void inlay_mve_store(const inlay_qstep *q,
                                  const inlay_mve_byte *byte, float32x4_t v,
                                  float reciprocal, uint8_t *y)
{
    const float32x4_t of = inlay_mve_quotient(v, q->sy, reciprocal);
    const int32x4_t number = inlay_mve_saturate(byte, of);
    const uint32x4_t flip = vdupq_n_u32((uint32_t)q->flip_y);
    vstrbq_u32(y, veorq_u32(vreinterpretq_u32_s32(number), flip));
}

/* Sums, or products, of two operands: fours of n; returns how many elements those are. */
INLAY_INLINE int32_t inlay_mve_two_of(uint8_t *y, const uint8_t *a,
                                      const uint8_t *b, int32_t n,
                                      int32_t step_a, int32_t step_b,
                                      const inlay_qstep *numbers, int product)
{
    const inlay_qstep q = *numbers;
    const inlay_mve_byte byte = inlay_mve_byte_of(q.zy, q.lo, q.hi);
    const float reciprocal = 1.0f / q.sy;
    int32_t i;
    if ((step_a | step_b) & ~1)
        return 0;
    for (i = 0; i + 4 <= n; i += 4) {
        const float32x4_t of_a =
            inlay_mve_numbers(a + i * step_a, step_a, q.flip_a, q.za, q.sa);
        const float32x4_t of_b =
            inlay_mve_numbers(b + i * step_b, step_b, q.flip_b, q.zb, q.sb);
        const float32x4_t v =
            product ? vmulq_f32(of_a, of_b) : vaddq_f32(of_a, of_b);
        inlay_mve_store(&q, &byte, v, reciprocal, y + i);
    }
    return i;
}

INLAY_APART int32_t inlay_mve_sums_of(uint8_t *y, const uint8_t *a,
                                      const uint8_t *b, int32_t n,
                                      int32_t step_a, int32_t step_b,
                                      const inlay_qstep *q)
{
    if (!inlay_qdivides(q->sa, q->sy) || !inlay_qdivides(q->sb, q->sy))
        return 0;
    if (step_a == 1 && step_b == 1)
        return inlay_mve_two_of(y, a, b, n, 1, 1, q, 0);
    return inlay_mve_two_of(y, a, b, n, step_a, step_b, q, 0);
}

INLAY_APART int32_t inlay_mve_products_of(uint8_t *y, const uint8_t *a,
                                          const uint8_t *b, int32_t n,
                                          int32_t step_a, int32_t step_b,
                                          const inlay_qstep *q)
{
    if (!inlay_qdivides(q->sa, q->sy) || !inlay_qdivides(q->sb, q->sy) ||
        !inlay_qdivides(q->sa * q->sb, q->sy))
        return 0;
    return inlay_mve_two_of(y, a, b, n, step_a, step_b, q, 1);
}

/* Adds fours of n channels of some pixels to their sums; returns how many those are. */
INLAY_INLINE int32_t inlay_mve_add_pixels(const uint8_t *x, ptrdiff_t next,
                                          int32_t pixels, int32_t n,
                                          int32_t flip, int32_t *sum)
{
    const uint32x4_t flips = vdupq_n_u32((uint32_t)flip);
    int32_t i, k;
    for (i = 0; i + 4 <= n; i += 4) {
        const uint8_t *at = x + i;
        int32x4_t all = vld1q_s32(sum + i);
        for (k = pixels; k > 0; k--, at += next) {
            const uint32x4_t v = veorq_u32(vldrbq_u32(at), flips);
            all = vaddq_s32(all, vreinterpretq_s32_u32(v));
        }
        vst1q_s32(sum + i, all);
    }
    return i;
}

#endif
