/* SPDX-License-Identifier: 0BSD
 * Between numbers and their quantized form.
 *
 *   quantize_T     y = saturate(round(x / s) + z), ties to even      T: i8 u8 i16 u16; f32: y = x
 *                  / s + z
 *   dequantize_T   y = (x - z) * s                                   T: i8 u8 i16 u16 i32 f32
 *   dynamic_quantize   s and z from the range of x itself, which includes 0
 *
 * x and y: [outer][axis][inner] of a unit. Scale and zero point of element (o, a, i): number
 * o * so + a / block * sa + i * si. Operands: y, x, s, z (may be left out: 0). */
#ifndef INLAY_QUANT_H
#define INLAY_QUANT_H

#include "half.h"
#include "nd.h"

#define INLAY_quant_FIELDS(F, N) \
    F(int32_t, outer) /* repetitions around the axis; pixels of a row */ \
    F(int32_t, axis)  /* elements along the axis */ \
    F(int32_t, inner) /* elements of each */ \
    F(int32_t, block) /* axis elements that share a scale */ \
    F(int32_t, so)    /* scales from outer to outer */ \
    F(int32_t, sa)    /* scales from block to block */ \
    F(int32_t, si)    /* scales from inner to inner */ \
    F(int32_t, rows)  /* 1: a unit is a row of pixels; 0: the tensor is one unit */ \
    F(int32_t, lo)    /* the type's least and largest number */ \
    F(int32_t, hi) \
    F(int32_t, quotient) /* x / s is rounded to: 0 float32, 1 float16, 2 bfloat16 */
INLAY_PARAMS(quant);

static inline float inlay_quotient(float x, float s, int32_t kind)
{
    const float v = x / s;
    return kind == 0   ? v
           : kind == 1 ? inlay_from_f16(inlay_to_f16(v))
                       : inlay_from_bf16(inlay_to_bf16(v));
}

/* The nearest integer, ties to even; |v| < 2^22. */
static inline int32_t inlay_nearest(float v)
{
    return (int32_t)(inlay_half_bits(v + 12582912.0f) - UINT32_C(0x4b400000)); /* 1.5 * 2^23 */
}

/* round(v) + z within lo .. hi; NaN becomes lo. */
static inline int32_t inlay_saturate(float v, int32_t z, int32_t lo, int32_t hi)
{
    const float least = (float)(lo - z);
    const float most = (float)(hi - z);
    const float a = v > least ? v : least;
    return inlay_nearest(a < most ? a : most) + z;
}

/* Rows [r0, r1) of a kernel whose RUN(y, x, n, s, z, step, p) makes n elements; step: scales from
 * element to element. */
#define INLAY_QUANT_ROWS(name, R, T, S, Z, RUN) \
    static inline int inlay_##name(void *const *base, const inlay_step *st, int32_t r0, \
                                   int32_t r1) \
    { \
        const inlay_quant_params *p = (const inlay_quant_params *)st->params; \
        const S *s = (const S *)inlay_at(base, st, 2); \
        const Z *z = (const Z *)inlay_at(base, st, 3); \
        const int32_t n = p->axis * p->inner, ys = p->rows ? st->ref[0].pix : n, \
                      xs = p->rows ? st->ref[1].pix : n; \
        const int whole = p->so == 0 && p->sa == 0 && p->si == 0 && ys == n && xs == n; \
        for (; r0 < r1; r0++) { \
            R *y = (R *)(p->rows ? inlay_row(base, st, 0, r0) : inlay_at(base, st, 0)); \
            const T *x = \
                (const T *)(p->rows ? inlay_row(base, st, 1, r0) : inlay_at(base, st, 1)); \
            int32_t o, a; \
            if (whole) { \
                RUN(y, x, n * p->outer, s, z, 0, p); \
                continue; \
            } \
            for (o = 0; o < p->outer; o++, y += ys, x += xs) { \
                const ptrdiff_t first = (ptrdiff_t)o * p->so; \
                if (p->inner == 1 && p->block == 1) { \
                    RUN(y, x, p->axis, s + first, z ? z + first : z, p->sa, p); \
                    continue; \
                } \
                for (a = 0; a < p->axis; a++) { \
                    const ptrdiff_t k = first + (ptrdiff_t)(a / p->block) * p->sa; \
                    RUN(y + (ptrdiff_t)a * p->inner, x + (ptrdiff_t)a * p->inner, p->inner, s + k, \
                        z ? z + k : z, p->si, p); \
                } \
            } \
        } \
        return 0; \
    }

#define INLAY_QUANTIZE(name, T) \
    static inline void inlay_quantize_run_##name(T *y, const float *x, int32_t n, const float *s, \
                                                 const T *zero, int32_t step, \
                                                 const inlay_quant_params *p) \
    { \
        int32_t k; \
        if (step == 0 && p->quotient == 0) { \
            const float d = *s; \
            const int32_t zp = zero ? *zero : 0, lo = p->lo, hi = p->hi; \
            INLAY_MAP(T, y, n, z = (T)inlay_saturate(x[i] / d, zp, lo, hi);); \
            return; \
        } \
        for (k = 0; k < n; k++) { \
            const ptrdiff_t at = (ptrdiff_t)k * step; \
            y[k] = (T)inlay_saturate(inlay_quotient(x[k], s[at], p->quotient), \
                                     zero ? zero[at] : 0, p->lo, p->hi); \
        } \
    } \
    INLAY_QUANT_ROWS(quantize_##name, T, float, float, T, inlay_quantize_run_##name)
INLAY_QUANTIZE(i8, int8_t)
INLAY_QUANTIZE(u8, uint8_t)
INLAY_QUANTIZE(i16, int16_t)
INLAY_QUANTIZE(u16, uint16_t)

/* The float types: what follows is a conversion. */
static inline void inlay_quantize_run_f32(float *y, const float *x, int32_t n, const float *s,
                                          const float *z, int32_t step, const inlay_quant_params *p)
{
    int32_t k;
    for (k = 0; k < n; k++) {
        const ptrdiff_t at = (ptrdiff_t)k * step;
        y[k] = inlay_quotient(x[k], s[at], p->quotient) + (z ? z[at] : 0.0f);
    }
}
INLAY_QUANT_ROWS(quantize_f32, float, float, float, float, inlay_quantize_run_f32)

#define INLAY_DEQUANTIZE(name, T) \
    static inline void inlay_dequantize_run_##name(float *y, const T *x, int32_t n, \
                                                   const float *s, const T *zero, int32_t step, \
                                                   const inlay_quant_params *p) \
    { \
        int32_t k; \
        (void)p; \
        if (step == 0) { \
            const float d = *s, zp = zero ? (float)*zero : 0.0f; \
            INLAY_MAP(float, y, n, z = ((float)x[i] - zp) * d;); \
            return; \
        } \
        for (k = 0; k < n; k++) { \
            const ptrdiff_t at = (ptrdiff_t)k * step; \
            y[k] = ((float)x[k] - (zero ? (float)zero[at] : 0.0f)) * s[at]; \
        } \
    } \
    INLAY_QUANT_ROWS(dequantize_##name, float, T, float, T, inlay_dequantize_run_##name)
INLAY_DEQUANTIZE(i8, int8_t)
INLAY_DEQUANTIZE(u8, uint8_t)
INLAY_DEQUANTIZE(i16, int16_t)
INLAY_DEQUANTIZE(u16, uint16_t)
INLAY_DEQUANTIZE(i32, int32_t)
INLAY_DEQUANTIZE(f32, float)

#define INLAY_dynamic_quantize_FIELDS(F, N) F(int32_t, n) /* elements */
INLAY_PARAMS(dynamic_quantize);

/* The scale and the zero point for x's range. */
static inline int32_t inlay_dynamic_range(const float *x, int32_t n, float *scale)
{
    float least = 0.0f;
    float most = 0.0f;
    int32_t k;
    for (k = 0; k < n; k++) {
        least = x[k] < least ? x[k] : least;
        most = x[k] > most ? x[k] : most;
    }
    *scale = most > least ? (most - least) / 255.0f : 1.0f;
    return inlay_saturate(-least / *scale, 0, 0, 255);
}

/* Operands: y (uint8), scale (float), zero point (uint8), x (float). */
static inline int inlay_dynamic_quantize(void *const *base, const inlay_step *s, int32_t r0,
                                         int32_t r1)
{
    const inlay_dynamic_quantize_params *p = (const inlay_dynamic_quantize_params *)s->params;
    uint8_t *y = (uint8_t *)inlay_at(base, s, 0);
    const float *x = (const float *)inlay_at(base, s, 3);
    float d;
    const int32_t zp = inlay_dynamic_range(x, p->n, &d);
    (void)r0, (void)r1;
    *(float *)inlay_at(base, s, 1) = d;
    *(uint8_t *)inlay_at(base, s, 2) = (uint8_t)zp;
    INLAY_MAP(uint8_t, y, p->n, z = (uint8_t)inlay_saturate(x[i] / d, zp, 0, 255););
    return 0;
}

#endif
