/* SPDX-License-Identifier: 0BSD
 * Bytes of floats on Arm cores with the DSP instructions and a float unit. They are made above the
 * least byte, as bytes without a sign. Included by quant.h. */
#include "kernels/qdsp.h"

/* round(v) + zero as a byte. */
INLAY_INLINE int32_t inlay_dsp_byte(float v, int32_t zero)
{
    int32_t byte;
    __asm__("qadd %0, %1, %2\n\tusat %0, #8, %0"
            : "=&r"(byte)
            : "r"(inlay_qrint(v)), "r"(zero));
    return byte;
}

/* The bytes of four numbers, whose bounds are those of their type. */
INLAY_INLINE void inlay_dsp_bytes(const float *v, int32_t zero, int32_t lo,
                                  uint8_t *y)
{
    int32_t byte[4];
    int32_t i;
    INLAY_UNROLL
    for (i = 0; i < 4; i++)
        byte[i] = inlay_dsp_byte(v[i], zero - lo);
    inlay_dsp_store(byte, (uint32_t)-lo * UINT32_C(0x01010101), y);
}

/* Is one of four numbers NaN? Of infinities it may be so, too. */
INLAY_INLINE int inlay_dsp_is_nan(const float *v)
{
    const float all = (v[0] + v[1]) + (v[2] + v[3]);
    return !(all == all);
}

/* Fours of n bytes of floats, as inlay_saturate(x / scale) makes them, if bounds are those of the
 * type, up to one that has NaN; returns how many bytes those are. */
INLAY_APART int32_t inlay_quantize_fast(uint8_t *y, const float *x, int32_t n,
                                        float scale, int32_t zero, int32_t lo,
                                        int32_t hi)
{
    int32_t i, k;
    if (hi - lo != 255)
        return 0;
    for (i = 0; i + 4 <= n; i += 4) {
        float v[4];
        INLAY_UNROLL
        for (k = 0; k < 4; k++)
            v[k] = x[i + k] / scale;
        if (inlay_dsp_is_nan(v))
            break;
        inlay_dsp_bytes(v, zero, lo, y + i);
    }
    return i;
}

/* The same of sums times scales. */
INLAY_APART int32_t inlay_scaled_fast(uint8_t *y, const int32_t *sum,
                                      const float *scale, int32_t n,
                                      int32_t zero, int32_t lo, int32_t hi)
{
    int32_t i, k;
    if (hi - lo != 255)
        return 0;
    for (i = 0; i + 4 <= n; i += 4) {
        float v[4];
        INLAY_UNROLL
        for (k = 0; k < 4; k++)
            v[k] = (float)sum[i + k] * scale[i + k];
        inlay_dsp_bytes(v, zero, lo, y + i);
    }
    return i;
}
