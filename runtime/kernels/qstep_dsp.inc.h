/* SPDX-License-Identifier: 0BSD
 * Sums and products of two operands of bytes on Arm cores with the DSP instructions and a float
 * unit, four elements at a time, with the bits of the plain loops of qstep.h. */
#ifndef INLAY_QSTEP_DSP_H
#define INLAY_QSTEP_DSP_H

/* How an operand's bytes become numbers: words of two zero points to be taken off, one scale. */
typedef struct inlay_dsp_operand {
    uint32_t flips, minus;
    float scale;
} inlay_dsp_operand;

static inline inlay_dsp_operand inlay_dsp_operand_of(int32_t flip, int32_t zero,
                                                     float scale)
{
    const uint32_t half = (uint32_t)-zero & 0xffff;
    inlay_dsp_operand operand;
    operand.flips = (uint32_t)flip * UINT32_C(0x01010101);
    operand.minus = half << 16 | half;
    operand.scale = scale;
    return operand;
}

/* The numbers of the bytes 0 and 2 of a word, those of 1 and 3. */
INLAY_INLINE uint32_t inlay_dsp_even(const inlay_dsp_operand *operand,
                                     uint32_t v)
{
    uint32_t r;
    __asm__("uxtab16 %0, %1, %2" : "=r"(r) : "r"(operand->minus), "r"(v));
    return r;
}
INLAY_INLINE uint32_t inlay_dsp_odd(const inlay_dsp_operand *operand,
                                    uint32_t v)
{
    uint32_t r;
    __asm__("uxtab16 %0, %1, %2, ror #8"
            : "=r"(r)
            : "r"(operand->minus), "r"(v));
    return r;
}

/* The lower number of a word as a float. */
INLAY_INLINE float inlay_dsp_lower(uint32_t two)
{
    float v;
    memcpy(&v, &two, sizeof v);
    __asm__("vcvt.f32.s16 %0, %0, #0" : "+t"(v));
    return v;
}

INLAY_INLINE float inlay_dsp_upper(uint32_t two)
{
    return (float)((int32_t)two >> 16);
}

/* What four bytes stand for. */
INLAY_INLINE void inlay_dsp_numbers(const inlay_dsp_operand *operand,
                                    const uint8_t *x, float *v)
{
    const uint32_t word = inlay_word(x) ^ operand->flips;
    const uint32_t even = inlay_dsp_even(operand, word);
    const uint32_t odd = inlay_dsp_odd(operand, word);
    int32_t i;
    v[0] = inlay_dsp_lower(even);
    v[1] = inlay_dsp_lower(odd);
    v[2] = inlay_dsp_upper(even);
    v[3] = inlay_dsp_upper(odd);
    INLAY_UNROLL
    for (i = 0; i < 4; i++)
        v[i] *= operand->scale;
}

/* Sums, or products: fours of n elements, which follow one another in each; returns how many
 * elements those are. Bounds are those of the type. */
INLAY_INLINE int32_t inlay_dsp_two_of(uint8_t *y, const uint8_t *a,
                                      const uint8_t *b, int32_t n,
                                      const inlay_qstep *numbers, int product)
{
    const inlay_qstep q = *numbers;
    const inlay_dsp_operand of_a = inlay_dsp_operand_of(q.flip_a, q.za, q.sa);
    const inlay_dsp_operand of_b = inlay_dsp_operand_of(q.flip_b, q.zb, q.sb);
    const uint8_t *const end = a + n / 4 * 4;
    int32_t i;
    for (; a < end; a += 4, b += 4, y += 4) {
        float u[4], v[4];
        inlay_dsp_numbers(&of_a, a, u);
        inlay_dsp_numbers(&of_b, b, v);
        INLAY_UNROLL
        for (i = 0; i < 4; i++)
            v[i] = product ? u[i] * v[i] : u[i] + v[i];
        INLAY_UNROLL
        for (i = 0; i < 4; i++)
            v[i] /= q.sy;
        inlay_dsp_bytes(v, q.zy - q.flip_y, -q.flip_y, y);
    }
    return n / 4 * 4;
}

/* Is it so, and no result other than a number? */
static inline int inlay_dsp_suits(int32_t step_a, int32_t step_b,
                                  const inlay_qstep *q)
{
    if (step_a != 1 || step_b != 1 || q->lo != 0 || q->hi != 255)
        return 0;
    return inlay_qdivides(q->sa, q->sy) && inlay_qdivides(q->sb, q->sy);
}

INLAY_APART int32_t inlay_dsp_sums_of(uint8_t *y, const uint8_t *a,
                                      const uint8_t *b, int32_t n,
                                      const inlay_qstep *q)
{
    return inlay_dsp_two_of(y, a, b, n, q, 0);
}

INLAY_APART int32_t inlay_dsp_products_of(uint8_t *y, const uint8_t *a,
                                          const uint8_t *b, int32_t n,
                                          const inlay_qstep *q)
{
    return inlay_dsp_two_of(y, a, b, n, q, 1);
}

/* Two numbers without sign of a word, added to those of another. */
INLAY_INLINE uint32_t inlay_dsp_add_even(uint32_t two, uint32_t v)
{
    __asm__("uxtab16 %0, %0, %1" : "+r"(two) : "r"(v));
    return two;
}
INLAY_INLINE uint32_t inlay_dsp_add_odd(uint32_t two, uint32_t v)
{
    __asm__("uxtab16 %0, %0, %1, ror #8" : "+r"(two) : "r"(v));
    return two;
}

/* Adds fours of n channels of some pixels to their sums; returns how many those are. Sums of so few
 * bytes are halves. */
INLAY_INLINE int32_t inlay_dsp_add_pixels(const uint8_t *x, ptrdiff_t next,
                                          int32_t pixels, int32_t n,
                                          int32_t flip, int32_t *sum)
{
    const uint32_t flips = (uint32_t)flip * UINT32_C(0x01010101);
    int32_t i, k;
    if (pixels > 256)
        return 0;
    for (i = 0; i + 4 <= n; i += 4, sum += 4) {
        const uint8_t *at = x + i;
        uint32_t even = 0;
        uint32_t odd = 0;
        for (k = pixels; k > 0; k--, at += next) {
            const uint32_t v = inlay_word(at) ^ flips;
            even = inlay_dsp_add_even(even, v);
            odd = inlay_dsp_add_odd(odd, v);
        }
        sum[0] += (int32_t)(even & 0xffff);
        sum[1] += (int32_t)(odd & 0xffff);
        sum[2] += (int32_t)(even >> 16);
        sum[3] += (int32_t)(odd >> 16);
    }
    return i;
}

#endif
