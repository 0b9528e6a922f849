/* SPDX-License-Identifier: 0BSD
 * Depthwise convolution of bytes with constant weights: each channel by itself.
 *
 *   sum[c] = bias[c] + sum over the window: x[c] (w[c] - zw[c])  - zero sums[c]
 *   y = what qout.h makes of it
 *
 * Parameters, operands and zero points are those of qconv_packed.h, but weights [taps][C]: bytes
 * outside x are read from a block of zero points. Pixels go from the first to the last (mirrored
 * when backward) in tiles of at most INLAY_QPIXELS, or wider ones where y lies apart from the rows
 * of x that it is made of; channels by sixteens, on small cores by fours (qdw_plain.inc.h).
 * Those with the DSP instructions have scratch for `gather` columns of the window:
 * qdw_planes.inc.h. Or, `deep`, weights are
 * [C][columns][rows, filled up] and scratch holds columns of `gather` pixels: qdw_mve.inc.h. */
#ifndef INLAY_QDWCONV_PACKED_H
#define INLAY_QDWCONV_PACKED_H

#include "kernels/qconv_packed.h"

enum { INLAY_QDW_LANES = 16 };

/* What the tiles of a row have in common. */
typedef struct inlay_qdw {
    const inlay_step *step;
    void *const *base;
    inlay_qtile of;
    uint8_t pad[INLAY_QDW_LANES];   /* zero points of x */
    int32_t start[INLAY_QDW_LANES]; /* of the block of channels */
    int32_t zw[INLAY_QDW_LANES];
    float scale[INLAY_QDW_LANES];
} inlay_qdw;

/* Pixels [c, c + pixels), channels [channel, channel + n). */
typedef struct inlay_qdw_tile {
    int32_t c, pixels;
    int32_t channel, n;
} inlay_qdw_tile;

/* Where a row of the window is read: byte i of tap k of pixel p at x[k * tap + p * pixel + i]. */
typedef struct inlay_qdw_line {
    const uint8_t *x;
    ptrdiff_t tap, pixel;
} inlay_qdw_line;

static inline inlay_qdw_line inlay_qdw_row(const inlay_qdw *job,
                                           const inlay_qrow *row,
                                           const inlay_qdw_tile *tile,
                                           int32_t d, int32_t h)
{
    const inlay_step *step = job->step;
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)step->params;
    const int32_t pix = step->ref[1].pix;
    const uint8_t *x = inlay_qimage_row(job->base, step, row->image,
                                        row->plane + d * params->dd,
                                        row->row + h * params->dh);
    inlay_qdw_line line;
    line.x = job->pad;
    line.tap = 0;
    line.pixel = 0;
    if (x) {
        line.x = x + (ptrdiff_t)(tile->c * params->sw - params->pw) * pix +
                 tile->channel;
        line.tap = (ptrdiff_t)params->dw * pix;
        line.pixel = (ptrdiff_t)params->sw * pix;
    }
    return line;
}

/* Does tap k of pixel c lie in the row? */
static inline int inlay_qdw_inside(const inlay_qpacked_params *params,
                                   int32_t c, int32_t k)
{
    const int32_t at = c * params->sw - params->pw + k * params->dw;
    return at >= 0 && at < params->iw;
}

/* ---- plain C: a pixel ---- */

/* Adds a tap of n channels. */
INLAY_INLINE void inlay_qdw_add(const inlay_qdw *job, const uint8_t *x,
                                const int8_t *w, int32_t n, int32_t *sum)
{
    const int32_t flip = job->of.flip;
    const int32_t minus = job->of.minus;
    int32_t i = 0;
#if INLAY_QMVE
    for (; i + 4 <= n; i += 4) {
        const uint32x4_t bytes =
            veorq_u32(vldrbq_u32(x + i), vdupq_n_u32((uint32_t)flip));
        const int32x4_t number =
            vsubq_n_s32(vreinterpretq_s32_u32(bytes), minus);
        const int32x4_t weight =
            vsubq_s32(vldrbq_s32(w + i), vld1q_s32(job->zw + i));
        const int32x4_t product = vmulq_s32(number, weight);
        vst1q_s32(sum + i, vaddq_s32(vld1q_s32(sum + i), product));
    }
#endif
    for (; i < n; i++)
        sum[i] = inlay_wrap_add(sum[i],
                                ((x[i] ^ flip) - minus) * (w[i] - job->zw[i]));
}

/* Weights of tap k of row h of the window, packed for columns. */
static inline void inlay_qdw_deep(const inlay_qdw *job,
                                  const inlay_qdw_tile *tile, int32_t h,
                                  int32_t k, int8_t *to)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)job->step->params;
    const int32_t high = inlay_qdeep_high(params);
    const int32_t window = high * params->kw;
    int32_t i;
    for (i = 0; i < tile->n; i++) {
        const ptrdiff_t channel = tile->channel + i;
        to[i] = job->of.weights[channel * window + k * high + h];
    }
}

INLAY_INLINE void inlay_qdw_pixel(const inlay_qdw *job, const inlay_qrow *row,
                                  const inlay_qdw_tile *tile, int32_t n,
                                  int32_t *sum)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)job->step->params;
    const int8_t *w = job->of.weights + tile->channel;
    int8_t apart[INLAY_QDW_LANES];
    int32_t d, h, k;
    memcpy(sum, job->start, sizeof job->start);
    for (d = 0; d < params->kd; d++)
        for (h = 0; h < params->kh; h++) {
            const inlay_qdw_line line = inlay_qdw_row(job, row, tile, d, h);
            for (k = 0; k < params->kw; k++, w += params->groups) {
                const int inside = inlay_qdw_inside(params, tile->c, k);
                if (params->deep)
                    inlay_qdw_deep(job, tile, d * params->kh + h, k, apart);
                inlay_qdw_add(job, inside ? line.x + k * line.tap : job->pad,
                              params->deep ? apart : w, n, sum);
            }
        }
}

INLAY_APART void inlay_qdw_end(const inlay_qdw *job, const inlay_qrow *row,
                               const inlay_qdw_tile *tile, int32_t pixel,
                               const int32_t *sum)
{
    const ptrdiff_t at = (tile->c + pixel) * job->of.ys + tile->channel;
    inlay_qresults(&job->of.result, tile->channel, tile->n, sum, job->scale,
                   inlay_qplace(&job->of.result, row->y, at));
}

INLAY_APART void inlay_qdw_plain(const inlay_qdw *job, const inlay_qrow *row,
                                 const inlay_qdw_tile *tile)
{
    inlay_qdw_tile one = *tile;
    for (one.c = tile->c; one.c < tile->c + tile->pixels; one.c++) {
        int32_t sum[INLAY_QDW_LANES];
        if (tile->n == INLAY_QDW_LANES)
            inlay_qdw_pixel(job, row, &one, INLAY_QDW_LANES, sum);
        else
            inlay_qdw_pixel(job, row, &one, tile->n, sum);
        inlay_qdw_end(job, row, &one, 0, sum);
    }
}

#if INLAY_QL == 1
#include "kernels/qdw_lines.inc.h"
#endif

#if INLAY_QDSP
#include "kernels/qdw_planes.inc.h"
#endif

/* ---- a tile ---- */

/* The block of channels that `channel` begins: what its sums begin with. */
static inline void inlay_qdw_block(inlay_qdw *job, int32_t channel, int32_t n)
{
    const inlay_qtile *of = &job->of;
    int32_t i;
    for (i = 0; i < n; i++) {
        int32_t v = of->bias[channel + i];
        if (of->sums)
            v = inlay_wrap_add(
                v, -inlay_wrap_mul(of->zero, of->sums[channel + i]));
        job->start[i] = v;
        job->zw[i] = of->zw ? of->zw[channel + i] : of->zw_all;
    }
    if (inlay_qout_scales(of->result.kind))
        inlay_qscales(&of->result, channel, n, job->scale);
}

#if INLAY_QL > 1 && defined __SSE2__
#include "kernels/qdw_vec.inc.h"
#define INLAY_QDW_VECTORS 1
#else
#define INLAY_QDW_VECTORS 0
#endif

#if INLAY_QL == 1 && !INLAY_QDSP && !INLAY_QMVE
#include "kernels/qdw_own.inc.h"
#include "kernels/qdw_plain.inc.h"
#define INLAY_QDW_OWN 1
#else
#define INLAY_QDW_OWN 0
static inline int32_t inlay_qdw_plain_fours(inlay_qdw *job,
                                            const inlay_qrow *row, int32_t c,
                                            int32_t n)
{
    (void)job;
    (void)row;
    (void)c;
    (void)n;
    return 0;
}
#endif

static inline void inlay_qdw_pixels(inlay_qdw *job, const inlay_qrow *row,
                                    int32_t c, int32_t n)
{
    inlay_qdw_tile tile;
    tile.c = c;
    tile.pixels = n;
    for (tile.channel = inlay_qdw_plain_fours(job, row, c, n);
         tile.channel < job->of.channels; tile.channel += INLAY_QDW_LANES) {
        const int32_t left = job->of.channels - tile.channel;
        tile.n = left < INLAY_QDW_LANES ? left : INLAY_QDW_LANES;
        inlay_qdw_block(job, tile.channel, tile.n);
        inlay_qdw_plain(job, row, &tile);
    }
}

#if INLAY_QMVE
#include "kernels/qdw_mve.inc.h"

/* Pixels that are made at a time: fewer where results may lie over what is still read. */
static inline int32_t inlay_qdw_chunk(const inlay_qdw *job, int32_t r0,
                                      int32_t r1)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)job->step->params;
    if (params->gather <= INLAY_QPIXELS ||
        inlay_qpacked_apart(job->base, job->step, r0, r1))
        return params->gather;
    return INLAY_QPIXELS;
}

static inline int inlay_qdw_goes_deep(const inlay_qdw *job)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)job->step->params;
    if (!INLAY_QUSES(INLAY_QUSE_DW_TAPS | INLAY_QUSE_UNSIGNED |
                     INLAY_QUSE_MORE))
        return 1;
    return params->deep && params->minus == 128 && !job->of.zw &&
           !job->of.zw_all;
}
#endif

/* Row r of y. */
static inline void inlay_qdw_line_of(inlay_qdw *job, int32_t r)
{
    const inlay_qrow row = inlay_qpacked_window(job->base, job->step, r);
    int32_t done, n;
#if INLAY_QMVE
    if (inlay_qdw_goes_deep(job)) {
        inlay_mve_dw_row(job, &row, inlay_qdw_chunk(job, r, r + 1));
        return;
    }
#endif
    for (done = 0; done < row.pixels; done += n) {
        const int32_t left = row.pixels - done;
        n = left < INLAY_QPIXELS ? left : INLAY_QPIXELS;
        inlay_qdw_pixels(job, &row, job->step->backward ? left - n : done, n);
    }
}

static inline void inlay_qdw_begin(void *const *base, const inlay_step *step,
                                   inlay_qdw *job)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)step->params;
    inlay_qtile *of = &job->of;
    job->step = step;
    job->base = base;
    inlay_qpacked_tile(base, step, of);
    of->channels = params->groups;
    memset(job->pad, (of->zero + of->minus) ^ of->flip, sizeof job->pad);
}

static inline int inlay_qdwconv_packed(void *const *base,
                                       const inlay_step *step, int32_t r0,
                                       int32_t r1)
{
    int32_t done;
    inlay_qdw job;
    inlay_qdw_begin(base, step, &job);
#if INLAY_QDSP
    if (inlay_qplanes_suit(&job)) {
        inlay_qplanes_all(&job, r0, r1);
        return 0;
    }
#endif
#if INLAY_QDW_OWN
    if (inlay_qown_suits(&job)) {
        inlay_qown_all(&job, r0, r1);
        return 0;
    }
#endif
#if INLAY_QDW_VECTORS
    if (inlay_qdw_fits(&job)) {
        inlay_qdw_vectors(&job, r0, r1);
        return 0;
    }
#endif
#if INLAY_MVE_FLOAT
    if (inlay_qdw_goes_deep(&job) && inlay_mve_columns_suit(&job)) {
        inlay_mve_columns_all(&job, r0, r1, inlay_qdw_chunk(&job, r0, r1));
        return 0;
    }
#endif
    for (done = 0; done < r1 - r0; done++)
        inlay_qdw_line_of(&job, inlay_next_row(step, r0, r1, done));
    return 0;
}

#endif
