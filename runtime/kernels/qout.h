/* SPDX-License-Identifier: 0BSD
 * What becomes of the sums of a product of bytes.
 *
 *   y = sum                                           int32
 *   y = sum * scale  (+ add)                          float
 *   y = clamp(round(sum * scale) + zero, lo, hi)      int8, uint8; ties to even */
#ifndef INLAY_QOUT_H
#define INLAY_QOUT_H

#include "kernels/quant.h"
#include "kernels/qvec.h"

enum {
    INLAY_QOUT_I32 = 0,
    INLAY_QOUT_U8 = 1,
    INLAY_QOUT_I8 = 2,
    INLAY_QOUT_F32 = 3
};

/* Sums wrap, as those of the reference do: quantizers write biases at the very end of int32. */
static inline int32_t inlay_wrap_add(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}
static inline int32_t inlay_wrap_mul(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a * (uint32_t)b);
}

typedef struct inlay_qresult {
    int32_t kind; /* INLAY_QOUT_... */
    int32_t zero, lo, hi;
    const float *scale; /* of channel 0 */
    int32_t each;     /* 1: every channel has a scale, 0: all have the first */
    float factor;     /* times which they are taken */
    const float *add; /* of channel 0; NULL: nothing */
} inlay_qresult;

/* Element `at` of y. */
static inline void *inlay_qplace(const inlay_qresult *result, void *y,
                                 ptrdiff_t at)
{
    const int wide =
        result->kind == INLAY_QOUT_I32 || result->kind == INLAY_QOUT_F32;
    return (unsigned char *)y + (wide ? 4 * at : at);
}

/* n floats, and zeros: those of channels that exist. */
INLAY_INLINE void inlay_qscales(const inlay_qresult *result, int32_t channel,
                                int32_t n, float *scale)
{
    int32_t i;
    for (i = 0; i < n; i++)
        scale[i] =
            result->factor * result->scale[result->each ? channel + i : 0];
}

/* Where floats are software's, their products are found with integers. */
#if defined __arm__ && !defined __ARM_FP
#define INLAY_QSOFT 1
#elif defined __riscv && !defined __riscv_flen
#define INLAY_QSOFT 1
#else
#define INLAY_QSOFT 0
#endif

static inline int32_t inlay_qfloat_byte(const inlay_qresult *result,
                                        int32_t sum, float scale)
{
    return inlay_saturate((float)sum * scale, result->zero, result->lo,
                          result->hi);
}

/* The same bits from integers: |sum| times the 24 bits of the scale, of which 32 stay behind the
 * point. Where they lie so near to a half that the rounding of the float product counts, and where
 * the scale is not between 2^-32 and 1/2 or the sum has more than 24 bits, floats decide. */
static inline int32_t inlay_qinteger_byte(const inlay_qresult *result,
                                          int32_t sum, float scale)
{
    const uint32_t near = UINT32_C(1) << 19;
    const uint32_t bits = inlay_half_bits(scale);
    const uint32_t shift = 126 - (bits >> 23);
    const uint32_t size = sum < 0 ? 0u - (uint32_t)sum : (uint32_t)sum;
    const uint64_t product =
        (uint64_t)size * (bits << 8 | UINT32_C(0x80000000));
    const uint32_t high = (uint32_t)(product >> 32);
    uint32_t fraction, whole;
    int32_t v;
    if (shift - 1 > 30 || size >> 24)
        return inlay_qfloat_byte(result, sum, scale);
    fraction = (uint32_t)product >> shift | high << (32 - shift);
    whole = high >> shift;
    if (fraction - (UINT32_C(0x80000000) - near) <= 2 * near)
        return inlay_qfloat_byte(result, sum, scale);
    v = (int32_t)(whole + (fraction >> 31));
    v = (sum < 0 ? -v : v) + result->zero;
    v = v > result->lo ? v : result->lo;
    return v < result->hi ? v : result->hi;
}

/* y[i] of n sums that are those of channels `channel` and on. */
static inline void inlay_qresults(const inlay_qresult *result, int32_t channel,
                                  int32_t n, const int32_t *sum,
                                  const float *scale, void *y)
{
    int32_t i;
    if (result->kind == INLAY_QOUT_I32) {
        memcpy(y, sum, (size_t)n * sizeof *sum);
        return;
    }
    if (result->kind == INLAY_QOUT_F32) {
        for (i = 0; i < n; i++) {
            const float v = (float)sum[i] * scale[i];
            ((float *)y)[i] = result->add ? v + result->add[channel + i] : v;
        }
        return;
    }
    for (i = 0; i < n; i++)
        ((uint8_t *)y)[i] =
            (uint8_t)(INLAY_QSOFT
                          ? inlay_qinteger_byte(result, sum[i], scale[i])
                          : inlay_qfloat_byte(result, sum[i], scale[i]));
}

#endif
