/* SPDX-License-Identifier: 0BSD
 * Quantization to one integer type, dequantization from one type of number. Included by quant.h. */

#ifdef INLAY_BITS
#define INLAY_LOOP inlay_typed(quantize_loop)
#define INLAY_Y INLAY_T
#define INLAY_ARGUMENTS \
    const float *x, float scale, int32_t zero, int32_t lo, int32_t hi
#define INLAY_FORMULA inlay_saturate(x[i] / scale, zero, lo, hi)
#include "map.inc.h"
#undef INLAY_Y
#undef INLAY_FORMULA

/* By one scale and one zero point. */
INLAY_INLINE void inlay_typed(quantize_line)(INLAY_T *y, const float *x,
                                             int32_t n, float scale,
                                             int32_t zero,
                                             const inlay_quant_params *p)
{
    int32_t done = 0;
#if INLAY_BITS == 8
    done = inlay_quantize_fast((uint8_t *)y, x, n, scale, zero, p->lo, p->hi);
#endif
    inlay_typed(quantize_loop)(y + done, n - done, x + done, scale, zero, p->lo,
                               p->hi);
}

static inline void inlay_typed(quantize_run)(void *to, const void *from,
                                             int32_t n, const float *scale,
                                             const void *zeros, int32_t step,
                                             const inlay_quant_params *p)
{
    INLAY_T *y = (INLAY_T *)to;
    const float *x = (const float *)from;
    const INLAY_T *zero = (const INLAY_T *)zeros;
    ptrdiff_t k;
    if (step == 0 && p->quotient == 0) {
        inlay_typed(quantize_line)(y, x, n, *scale, zero ? (int32_t)*zero : 0,
                                   p);
        return;
    }
    for (k = 0; k < n; k++) {
        const ptrdiff_t at = k * step;
        const float v = inlay_quotient(x[k], scale[at], p->quotient);
        y[k] = (INLAY_T)inlay_saturate(v, zero ? (int32_t)zero[at] : 0, p->lo,
                                       p->hi);
    }
}

static inline int inlay_typed(quantize)(void *const *base, const inlay_step *s,
                                        int32_t r0, int32_t r1)
{
    const inlay_quant_sizes size = { sizeof(INLAY_T), sizeof(float),
                                     sizeof(INLAY_T) };
    return inlay_quant_rows(base, s, r0, r1, size, inlay_typed(quantize_run));
}
#endif

#define INLAY_LOOP inlay_typed(dequantize_loop)
#define INLAY_Y float
#define INLAY_ARGUMENTS const INLAY_T *x, float scale, float zero
#define INLAY_FORMULA ((float)x[i] - zero) * scale
#include "map.inc.h"
#undef INLAY_Y
#undef INLAY_FORMULA

static inline void inlay_typed(dequantize_run)(void *to, const void *from,
                                               int32_t n, const float *scale,
                                               const void *zeros, int32_t step,
                                               const inlay_quant_params *p)
{
    float *y = (float *)to;
    const INLAY_T *x = (const INLAY_T *)from;
    const INLAY_T *zero = (const INLAY_T *)zeros;
    int32_t k;
    (void)p;
    if (step == 0) {
        const INLAY_T number = zero ? *zero : 0;
        const float all = (float)number;
#if defined INLAY_BITS && INLAY_BITS == 8 && INLAY_QL == 16
        inlay_line_of_bytes(y, (const uint8_t *)x, n, *scale, all,
                            (INLAY_T)-1 < 0);
#else
        inlay_typed(dequantize_loop)(y, n, x, *scale, all);
#endif
        return;
    }
    for (k = 0; k < n; k++) {
        const ptrdiff_t at = (ptrdiff_t)k * step;
        const INLAY_T number = zero ? zero[at] : 0;
        y[k] = ((float)x[k] - (float)number) * scale[at];
    }
}

static inline int inlay_typed(dequantize)(void *const *base,
                                          const inlay_step *s, int32_t r0,
                                          int32_t r1)
{
    const inlay_quant_sizes size = { sizeof(float), sizeof(INLAY_T),
                                     sizeof(INLAY_T) };
    return inlay_quant_rows(base, s, r0, r1, size, inlay_typed(dequantize_run));
}
