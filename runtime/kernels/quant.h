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
#include "kernels/qline.h"
#include "nd.h"

typedef struct inlay_quant_params {
    int32_t outer; /* repetitions around the axis; pixels of a row */
    int32_t axis;  /* elements along the axis */
    int32_t inner; /* elements of each */
    int32_t block; /* axis elements that share a scale */
    int32_t so;    /* scales from outer to outer */
    int32_t sa;    /* scales from block to block */
    int32_t si;    /* scales from inner to inner */
    int32_t rows;  /* 1: a unit is a row of pixels; 0: the tensor is one unit */
    int32_t lo;    /* the type's least and largest number */
    int32_t hi;
    /* x / s is rounded to: 0 float32, 1 float16, 2 bfloat16 */
    int32_t quotient;
} inlay_quant_params;

static inline float inlay_quotient(float x, float scale, int32_t kind)
{
    const float v = x / scale;
    if (kind == 1)
        return inlay_from_f16(inlay_to_f16(v));
    if (kind == 2)
        return inlay_from_bf16(inlay_to_bf16(v));
    return v;
}

/* The nearest integer, ties to even; |v| < 2^22. */
static inline int32_t inlay_nearest(float v)
{
    return (int32_t)(inlay_half_bits(v + 12582912.0f) -
                     UINT32_C(0x4b400000)); /* 1.5 * 2^23 */
}

/* round(v) + z within lo .. hi; NaN becomes lo. */
static inline int32_t inlay_saturate(float v, int32_t z, int32_t lo, int32_t hi)
{
    const float least = (float)(lo - z);
    const float most = (float)(hi - z);
#if defined __GNUC__ && defined __riscv_flen
    /* compilers make branches of comparisons; NaN becomes the other number here, too */
    int32_t nearest;
    __asm__("fmax.s %0, %0, %1" : "+f"(v) : "f"(least));
    __asm__("fmin.s %0, %0, %1" : "+f"(v) : "f"(most));
    __asm__("fcvt.w.s %0, %1, rne" : "=r"(nearest) : "f"(v));
    return nearest + z;
#else
    const float a = v > least ? v : least;
    return inlay_nearest(a < most ? a : most) + z;
#endif
}

/* Is a scale so far from 0 and from infinity that what it divides can be found in other ways? */
static inline int inlay_scale_suits(float scale)
{
    const float least = 1e-12f;
    const float most = 1e12f;
    return scale > least && scale < most;
}

/* How many of n bytes, inlay_saturate(x / scale, zero, lo, hi) each, the machine made in a way of
 * its own. */
#if INLAY_QL == 16
INLAY_INLINE int32_t inlay_quantize_fast(uint8_t *y, const float *x, int32_t n,
                                         float scale, int32_t zero, int32_t lo,
                                         int32_t hi)
{
    inlay_line_to_bytes(y, x, n, scale, zero, lo, hi);
    return n;
}
#elif INLAY_QSOFT
#include "kernels/quant_soft.inc.h"
#elif INLAY_QDSP_FLOAT
#include "kernels/quant_dsp.inc.h"
#elif !INLAY_MVE_FLOAT
INLAY_INLINE int32_t inlay_quantize_fast(uint8_t *y, const float *x, int32_t n,
                                         float scale, int32_t zero, int32_t lo,
                                         int32_t hi)
{
    (void)y;
    (void)x;
    (void)n;
    (void)scale;
    (void)zero;
    (void)lo;
    (void)hi;
    return 0;
}
#endif
#if INLAY_QMVE
#include "kernels/quant_mve.inc.h"
#endif

/* Makes n elements of y of those of x; scales and zero points (NULL: 0) lie `step` apart. */
typedef void inlay_quant_run(void *y, const void *x, int32_t n,
                             const float *scale, const void *zero, int32_t step,
                             const inlay_quant_params *p);

/* Bytes of an element of y, of x and of the zero points. */
typedef struct inlay_quant_sizes {
    ptrdiff_t y, x, zero;
} inlay_quant_sizes;

static inline const unsigned char *inlay_quant_zero(const unsigned char *zero,
                                                    ptrdiff_t bytes)
{
    return zero ? zero + bytes : NULL;
}

/* The elements along the axis, and around each `inner`. */
INLAY_INLINE void inlay_quant_axis(const inlay_quant_params *p,
                                   unsigned char *y, const unsigned char *x,
                                   const float *scale,
                                   const unsigned char *zero,
                                   inlay_quant_sizes size, inlay_quant_run *run)
{
    int32_t a;
    if (p->inner == 1 && p->block == 1) {
        run(y, x, p->axis, scale, zero, p->sa, p);
        return;
    }
    for (a = 0; a < p->axis; a++) {
        const ptrdiff_t at = (ptrdiff_t)a * p->inner;
        const ptrdiff_t k = (ptrdiff_t)(a / p->block) * p->sa;
        run(y + at * size.y, x + at * size.x, p->inner, scale + k,
            inlay_quant_zero(zero, k * size.zero), p->si, p);
    }
}

/* One row: elements whose pixels lie y_pixel and x_pixel apart. */
INLAY_INLINE void inlay_quant_row(const inlay_quant_params *p, unsigned char *y,
                                  const unsigned char *x, const float *scale,
                                  const unsigned char *zero, int32_t y_pixel,
                                  int32_t x_pixel, inlay_quant_sizes size,
                                  inlay_quant_run *run)
{
    const int32_t n = p->axis * p->inner;
    int32_t o;
    if (p->so == 0 && p->sa == 0 && p->si == 0 && y_pixel == n &&
        x_pixel == n) {
        run(y, x, n * p->outer, scale, zero, 0, p);
        return;
    }
    for (o = 0; o < p->outer; o++) {
        const ptrdiff_t k = (ptrdiff_t)o * p->so;
        inlay_quant_axis(p, y, x, scale + k,
                         inlay_quant_zero(zero, k * size.zero), size, run);
        y += y_pixel * size.y;
        x += x_pixel * size.x;
    }
}

/* Rows [r0, r1) of a kernel. */
INLAY_INLINE int inlay_quant_rows(void *const *base, const inlay_step *s,
                                  int32_t r0, int32_t r1,
                                  inlay_quant_sizes size, inlay_quant_run *run)
{
    const inlay_quant_params *p = (const inlay_quant_params *)s->params;
    const float *scale = (const float *)inlay_at(base, s, 2);
    const unsigned char *zero = (const unsigned char *)inlay_at(base, s, 3);
    const int32_t n = p->axis * p->inner;
    for (; r0 < r1; r0++)
        inlay_quant_row(p, inlay_operand(base, s, 0, p->rows, r0),
                        inlay_operand(base, s, 1, p->rows << 1, r0), scale,
                        zero, p->rows ? s->ref[0].pix : n,
                        p->rows ? s->ref[1].pix : n, size, run);
    return 0;
}

#define INLAY_FAMILY "quant.inc.h"
#include "each_number.inc.h"
#undef INLAY_FAMILY

/* The float types: what follows is a conversion. */
static inline void inlay_quantize_run_f32(void *to, const void *from, int32_t n,
                                          const float *scale, const void *zeros,
                                          int32_t step,
                                          const inlay_quant_params *p)
{
    float *y = (float *)to;
    const float *x = (const float *)from;
    const float *zero = (const float *)zeros;
    int32_t k;
    for (k = 0; k < n; k++) {
        const ptrdiff_t at = (ptrdiff_t)k * step;
        y[k] = inlay_quotient(x[k], scale[at], p->quotient) +
               (zero ? zero[at] : 0.0f);
    }
}

static inline int inlay_quantize_f32(void *const *base, const inlay_step *s,
                                     int32_t r0, int32_t r1)
{
    const inlay_quant_sizes size = { sizeof(float), sizeof(float),
                                     sizeof(float) };
    return inlay_quant_rows(base, s, r0, r1, size, inlay_quantize_run_f32);
}

typedef struct inlay_dynamic_quantize_params {
    int32_t n; /* elements */
} inlay_dynamic_quantize_params;

enum { INLAY_RANGE_LANES = 16 }; /* least and most of every sixteenth element */

/* Widens [*least, *most] by n elements. */
static inline void inlay_widen_range(const float *x, int32_t n, float *least,
                                     float *most)
{
    int32_t k;
    for (k = 0; k < n; k++) {
        *least = x[k] < *least ? x[k] : *least;
        *most = x[k] > *most ? x[k] : *most;
    }
}

/* The scale and the zero point for x's range. */
static inline int32_t inlay_dynamic_range(const float *x, int32_t n,
                                          float *scale)
{
    float low[INLAY_RANGE_LANES] = { 0.0f };
    float high[INLAY_RANGE_LANES] = { 0.0f };
    float least = 0.0f;
    float most = 0.0f;
    int32_t k = 0;
    int32_t i;
    for (; k + INLAY_RANGE_LANES <= n; k += INLAY_RANGE_LANES)
        for (i = 0; i < INLAY_RANGE_LANES; i++) {
            const float v = x[k + i];
            low[i] = v < low[i] ? v : low[i];
            high[i] = v > high[i] ? v : high[i];
        }
    inlay_widen_range(x + k, n - k, &least, &most);
    inlay_widen_range(low, INLAY_RANGE_LANES, &least, &most);
    inlay_widen_range(high, INLAY_RANGE_LANES, &least, &most);
    *scale = most > least ? (most - least) / 255.0f : 1.0f;
    return inlay_saturate(-least / *scale, 0, 0, 255);
}

/* Operands: y (uint8), scale (float), zero point (uint8), x (float). */
static inline int inlay_dynamic_quantize(void *const *base, const inlay_step *s,
                                         int32_t r0, int32_t r1)
{
    const inlay_dynamic_quantize_params *p =
        (const inlay_dynamic_quantize_params *)s->params;
    uint8_t *y = (uint8_t *)inlay_at(base, s, 0);
    const float *x = (const float *)inlay_at(base, s, 3);
    float scale;
    const int32_t zero = inlay_dynamic_range(x, p->n, &scale);
    int32_t done;
    (void)r0;
    (void)r1;
    *(float *)inlay_at(base, s, 1) = scale;
    *(uint8_t *)inlay_at(base, s, 2) = (uint8_t)zero;
    done = inlay_quantize_fast(y, x, p->n, scale, zero, 0, 255);
    inlay_quantize_loop_u8(y + done, p->n - done, x + done, scale, zero, 0,
                           255);
    return 0;
}

#endif
