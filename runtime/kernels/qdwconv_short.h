/* SPDX-License-Identifier: 0BSD
 * Convolution of numbers of 16 bits, each channel by itself, channels last: 1 to 3 dimensions,
 * strides, dilations.
 *
 *   sum[c] = bias[c] + sum over the window: x[c] w[c]
 *   y = what qshort.h makes of it
 *
 *   qdwconv_short        weights of 8 bits, sums of 32
 *   qdwconv_short_wide   weights of 16 bits, sums of 64
 *
 * x [N][D][H][W][C], y [N][OD][OH][OW][C], weights [taps][C filled up to blocks]. Elements outside
 * x are its zero point. Operands: y, x, w, bias (of 32 or 64 bits), scales. Pixel by pixel. */
#ifndef INLAY_QDWCONV_SHORT_H
#define INLAY_QDWCONV_SHORT_H

#include "kernels/qconv_short.h"

/* The window of a pixel: its rows, NULL for those outside. */
typedef struct inlay_qdw_short {
    const inlay_qshort_params *params;
    const uint16_t *row[INLAY_QDW_SHORT_ROWS];
    int32_t rows;
    int32_t pix;   /* of x */
    int32_t first; /* column of the first tap; may lie outside */
    ptrdiff_t at;  /* of the first tap that exists, in its row */
    int32_t before, count, behind; /* taps outside, inside, outside */
    int32_t padded;                /* weights from tap to tap */
    uint32_t flips;
    uint16_t outside[INLAY_QDW_SHORT_BLOCK]; /* codes beside x */
    inlay_qshort_result result;
} inlay_qdw_short;

#if INLAY_QHALVES
/* A product of halves, of x and of w each the bottom or the top one, added to a sum. */
#define INLAY_QS_MAC(way) "smla" way " %0, %1, %2, %0"

INLAY_INLINE void inlay_qdw_short_tap(uint32_t *s, const uint16_t *x,
                                      uint32_t flips, const int8_t *w)
{
    const uint32_t low = inlay_word(x) ^ flips;
    const uint32_t high = inlay_word(x + 2) ^ flips;
    const uint32_t four = inlay_word(w);
    uint32_t even, odd;
    __asm__("sxtb16 %0, %1" : "=r"(even) : "r"(four));
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(odd) : "r"(four));
    __asm__(INLAY_QS_MAC("bb") : "+r"(s[0]) : "r"(low), "r"(even));
    __asm__(INLAY_QS_MAC("tb") : "+r"(s[1]) : "r"(low), "r"(odd));
    __asm__(INLAY_QS_MAC("bt") : "+r"(s[2]) : "r"(high), "r"(even));
    __asm__(INLAY_QS_MAC("tt") : "+r"(s[3]) : "r"(high), "r"(odd));
}
#else
INLAY_INLINE void inlay_qdw_short_tap(uint32_t *s, const uint16_t *x,
                                      uint32_t flips, const int8_t *w)
{
    int i;
    INLAY_UNROLL
    for (i = 0; i < INLAY_QDW_SHORT_BLOCK; i++) {
        const int16_t v = (int16_t)(x[i] ^ flips);
        s[i] += (uint32_t)(v * w[i]);
    }
}
#endif

/* The number of a channel at tap k of a row of the window; NULL: it lies outside. */
static inline int32_t inlay_qdw_short_number(const inlay_qdw_short *of,
                                             const uint16_t *x, int32_t k,
                                             int32_t c)
{
    const inlay_qshort_params *params = of->params;
    const int32_t at = of->first + k * params->dw;
    if (!x || at < 0 || at >= params->iw)
        return params->zero;
    return (int16_t)(x[at * of->pix + c] ^ params->flip);
}

/* A channel of a pixel: the sum of bytes. */
static inline int32_t inlay_qdw_short_one(const inlay_qdw_short *of, int32_t c,
                                          const int8_t *w, int32_t bias)
{
    uint32_t sum = (uint32_t)bias;
    int32_t h, k;
    w += c;
    for (h = 0; h < of->rows; h++)
        for (k = 0; k < of->params->kw; k++, w += of->padded) {
            const int32_t v = inlay_qdw_short_number(of, of->row[h], k, c);
            sum += (uint32_t)(v * *w);
        }
    return (int32_t)sum;
}

/* n taps, whose pixels lie `next` apart; returns the weights of the next one. */
INLAY_INLINE const int8_t *inlay_qdw_short_taps(uint32_t *s, const uint16_t *x,
                                                ptrdiff_t next, int32_t n,
                                                uint32_t flips, const int8_t *w,
                                                ptrdiff_t padded)
{
    for (; n > 0; n--, x += next, w += padded)
        inlay_qdw_short_tap(s, x, flips, w);
    return w;
}

/* A block of channels of a pixel. */
INLAY_APART void inlay_qdw_short_block(const inlay_qdw_short *of, ptrdiff_t c,
                                       const int8_t *w, int32_t *sum)
{
    const ptrdiff_t next = (ptrdiff_t)of->params->dw * of->pix;
    const uint32_t flips = of->flips;
    uint32_t s[INLAY_QDW_SHORT_BLOCK];
    int32_t h;
    memcpy(s, sum, sizeof s);
    for (h = 0; h < of->rows; h++) {
        const uint16_t *x = of->row[h];
        if (!x) {
            w = inlay_qdw_short_taps(s, of->outside, 0, of->params->kw, flips,
                                     w, of->padded);
            continue;
        }
        if (of->before)
            w = inlay_qdw_short_taps(s, of->outside, 0, of->before, flips, w,
                                     of->padded);
        w = inlay_qdw_short_taps(s, x + of->at + c, next, of->count, flips, w,
                                 of->padded);
        if (of->behind)
            w = inlay_qdw_short_taps(s, of->outside, 0, of->behind, flips, w,
                                     of->padded);
    }
    memcpy(sum, s, sizeof s);
}

/* All channels of a pixel. */
static inline void inlay_qdw_short_pixel(const inlay_qdw_short *of,
                                         const void *weights,
                                         const void *biases, uint16_t *y)
{
    const int8_t *w = (const int8_t *)weights;
    const int32_t *bias = (const int32_t *)biases;
    const int32_t channels = of->params->groups;
    int32_t sum[INLAY_QSHORT_BATCH];
    int32_t c, i, n;
    for (c = 0; c < channels; c += n) {
        n = channels - c < INLAY_QSHORT_BATCH ? channels - c
                                              : INLAY_QSHORT_BATCH;
        memcpy(sum, bias + c, (size_t)n * sizeof *sum);
        for (i = 0; i + INLAY_QDW_SHORT_BLOCK <= n; i += INLAY_QDW_SHORT_BLOCK)
            inlay_qdw_short_block(of, c + i, w + c + i, sum + i);
        for (; i < n; i++)
            sum[i] = inlay_qdw_short_one(of, c + i, w, sum[i]);
        inlay_qshort_store(&of->result, c, n, sum, INLAY_QSHORT_FOUR, y + c);
    }
}

/* The same of weights of 16 bits. */
static inline void inlay_qdw_short_pixel_wide(const inlay_qdw_short *of,
                                              const void *weights,
                                              const void *biases, uint16_t *y)
{
    const int64_t *bias = (const int64_t *)biases;
    int32_t c, h, k;
    for (c = 0; c < of->params->groups; c++) {
        const int16_t *w = (const int16_t *)weights + c;
        const inlay_qshort_scale scale = inlay_qshort_scale_of(&of->result, c);
        int64_t s = bias[c];
        for (h = 0; h < of->rows; h++)
            for (k = 0; k < of->params->kw; k++, w += of->padded) {
                const int32_t v = inlay_qdw_short_number(of, of->row[h], k, c);
                s = inlay_qshort_add(s, v * *w);
            }
        y[c] = inlay_qshort_code_long(&of->result, &scale, s);
    }
}

typedef void inlay_qdw_short_maker(const inlay_qdw_short *of,
                                   const void *weights, const void *bias,
                                   uint16_t *y);

/* The rows of the windows of row r. */
static inline void inlay_qdw_short_rows(void *const *base,
                                        const inlay_step *step, int32_t r,
                                        inlay_qdw_short *of)
{
    const inlay_qshort_params *params = of->params;
    const inlay_qshort_row row = inlay_qshort_row_of(params, r);
    int32_t i;
    for (i = 0; i < of->rows; i++) {
        of->row[i] = inlay_qshort_source(
            base, step, row.image, row.plane + i / params->kh * params->dd,
            row.row + i % params->kh * params->dh);
    }
}

/* The columns of pixel c. */
static inline void inlay_qdw_short_columns(int32_t c, inlay_qdw_short *of)
{
    const inlay_qshort_params *params = of->params;
    of->first = c * params->sw - params->pw;
    of->count =
        inlay_clip(of->first, params->dw, params->kw, params->iw, &of->before);
    of->behind = params->kw - of->before - of->count;
    of->at = of->first + of->before * params->dw;
    of->at *= of->pix;
}

static inline void inlay_qdw_short_begin(void *const *base,
                                         const inlay_step *step,
                                         inlay_qdw_short *of)
{
    const inlay_qshort_params *params =
        (const inlay_qshort_params *)step->params;
    int i;
    of->params = params;
    of->rows = params->kd * params->kh;
    of->pix = step->ref[1].pix;
    of->padded = inlay_qdw_short_padded(params);
    of->result.zero = params->zy;
    of->result.lo = params->lo;
    of->result.hi = params->hi;
    of->result.flip = params->flip_y;
    of->result.far = params->far;
    of->flips = (uint32_t)params->flip * UINT32_C(0x10001);
    for (i = 0; i < INLAY_QDW_SHORT_BLOCK; i++)
        of->outside[i] = (uint16_t)(params->zero ^ params->flip);
    inlay_qshort_scales(base, step, 4, params->scales, &of->result);
}

/* Rows [r0, r1), in the walking direction. */
INLAY_INLINE int inlay_qdw_short_all(void *const *base, const inlay_step *step,
                                     int32_t r0, int32_t r1,
                                     inlay_qdw_short_maker *make)
{
    const void *weights = inlay_at(base, step, 2);
    const void *bias = inlay_at(base, step, 3);
    const ptrdiff_t pix = step->ref[0].pix;
    inlay_qdw_short of;
    int32_t done, i;
    inlay_qdw_short_begin(base, step, &of);
    for (done = 0; done < r1 - r0; done++) {
        const int32_t r = inlay_next_row(step, r0, r1, done);
        const int32_t pixels = of.params->ow;
        uint16_t *y = (uint16_t *)inlay_row(base, step, 0, r);
        inlay_qdw_short_rows(base, step, r, &of);
        for (i = 0; i < pixels; i++) {
            const int32_t c = step->backward ? pixels - 1 - i : i;
            inlay_qdw_short_columns(c, &of);
            make(&of, weights, bias, y + c * pix);
        }
    }
    return 0;
}

static inline int inlay_qdwconv_short(void *const *base, const inlay_step *step,
                                      int32_t r0, int32_t r1)
{
    return inlay_qdw_short_all(base, step, r0, r1, inlay_qdw_short_pixel);
}

static inline int inlay_qdwconv_short_wide(void *const *base,
                                           const inlay_step *step, int32_t r0,
                                           int32_t r1)
{
    return inlay_qdw_short_all(base, step, r0, r1, inlay_qdw_short_pixel_wide);
}

#endif
