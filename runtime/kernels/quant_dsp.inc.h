/* SPDX-License-Identifier: 0BSD
 * Bytes of floats on Arm cores with the DSP instructions and a float unit. Included by quant.h. */
#include "kernels/qdsp.h"

/* round(v) + zero as a byte. */
INLAY_INLINE int32_t inlay_dsp_unsigned(float v, int32_t zero)
{
    int32_t byte;
    __asm__("qadd %0, %1, %2\n\tusat %0, #8, %0"
            : "=&r"(byte)
            : "r"(inlay_qrint(v)), "r"(zero));
    return byte;
}

INLAY_INLINE int32_t inlay_dsp_signed(float v, int32_t zero)
{
    int32_t byte;
    __asm__("qadd %0, %1, %2\n\tssat %0, #8, %0"
            : "=&r"(byte)
            : "r"(inlay_qrint(v)), "r"(zero));
    return byte;
}

/* Is one of four numbers NaN? Of infinities it may be so, too. */
INLAY_INLINE int inlay_dsp_is_nan(const float *v)
{
    const float all = (v[0] + v[1]) + (v[2] + v[3]);
    return !(all == all);
}

/* Fours up to one that has NaN. */
INLAY_INLINE int32_t inlay_dsp_quantize(uint8_t *y, const float *x, int32_t n,
                                        float scale, int32_t zero,
                                        int is_signed)
{
    const float *const begin = x;
    const float *const end = x + n / 4 * 4;
    int32_t i;
    for (; x < end; x += 4, y += 4) {
        float v[4];
        int32_t byte[4];
        INLAY_UNROLL
        for (i = 0; i < 4; i++)
            v[i] = x[i] / scale;
        if (inlay_dsp_is_nan(v))
            break;
        INLAY_UNROLL
        for (i = 0; i < 4; i++)
            byte[i] = is_signed ? inlay_dsp_signed(v[i], zero)
                                : inlay_dsp_unsigned(v[i], zero);
        inlay_dsp_store(byte, 0, y);
    }
    return (int32_t)(x - begin);
}

/* The first of n bytes of floats, as inlay_saturate(x / scale) makes them, if bounds are those of
 * the type; returns how many. */
INLAY_APART int32_t inlay_quantize_fast(uint8_t *y, const float *x, int32_t n,
                                        float scale, int32_t zero, int32_t lo,
                                        int32_t hi)
{
    if (lo == 0 && hi == 255)
        return inlay_dsp_quantize(y, x, n, scale, zero, 0);
    if (lo == -128 && hi == 127)
        return inlay_dsp_quantize(y, x, n, scale, zero, 1);
    return 0;
}

/* The same of sums times scales. */
INLAY_INLINE int32_t inlay_scaled_fast(uint8_t *y, const int32_t *sum,
                                       const float *scale, int32_t n,
                                       int32_t zero, int32_t lo, int32_t hi)
{
    int32_t i, k;
    if (hi - lo != 255)
        return 0;
    for (i = 0; i + 4 <= n; i += 4) {
        int32_t byte[4];
        INLAY_UNROLL
        for (k = 0; k < 4; k++) {
            const float v = (float)sum[i + k] * scale[i + k];
            byte[k] =
                lo ? inlay_dsp_signed(v, zero) : inlay_dsp_unsigned(v, zero);
        }
        inlay_dsp_store(byte, 0, y + i);
    }
    return i;
}
