/* SPDX-License-Identifier: 0BSD
 * Depthwise convolution of bytes with constant weights: each channel by itself.
 *
 *   sum[c] = bias[c] + sum over the window: x[c] (w[c] - zw[c])  - zero sums[c]
 *   y = what qout.h makes of it
 *
 * Parameters, operands and zero points are those of qconv_packed.h, but weights [taps][C] and no
 * scratch: bytes outside x are read from a block of zero points. Pixels go from the first to the
 * last (mirrored when backward) in tiles of at most INLAY_QPIXELS, channels by sixteens. */
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
    int32_t i;
    for (i = 0; i < n; i++)
        sum[i] = inlay_wrap_add(sum[i],
                                ((x[i] ^ flip) - minus) * (w[i] - job->zw[i]));
}

INLAY_INLINE void inlay_qdw_pixel(const inlay_qdw *job, const inlay_qrow *row,
                                  const inlay_qdw_tile *tile, int32_t n,
                                  int32_t *sum)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)job->step->params;
    const int8_t *w = job->of.weights + tile->channel;
    int32_t d, h, k;
    memcpy(sum, job->start, sizeof job->start);
    for (d = 0; d < params->kd; d++)
        for (h = 0; h < params->kh; h++) {
            const inlay_qdw_line line = inlay_qdw_row(job, row, tile, d, h);
            for (k = 0; k < params->kw; k++, w += params->groups) {
                const int inside = inlay_qdw_inside(params, tile->c, k);
                inlay_qdw_add(job, inside ? line.x + k * line.tap : job->pad, w,
                              n, sum);
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

/* ---- vectors ---- */

#if INLAY_QL == 16

/* Bytes in lanes of 32 bits: without sign, and with one less a zero point. */
INLAY_INLINE __m512i inlay_qdw_x(const uint8_t *x, __mmask16 mask, __m128i flip)
{
    const __m128i bytes = _mm_maskz_loadu_epi8(mask, x);
    return _mm512_cvtepu8_epi32(_mm_xor_si128(bytes, flip));
}
INLAY_INLINE __m512i inlay_qdw_w(const int8_t *w, __mmask16 mask, __m512i zero)
{
    const __m128i bytes = _mm_maskz_loadu_epi8(mask, w);
    return _mm512_sub_epi32(_mm512_cvtepi8_epi32(bytes), zero);
}
/* Products of numbers of 9 bits, of which the upper half of a lane of x is 0. */
INLAY_INLINE __m512i inlay_qdw_dot(__m512i sum, __m512i x, __m512i w)
{
#ifdef __AVX512VNNI__
    return _mm512_dpwssd_epi32(sum, x, w);
#else
    return _mm512_add_epi32(sum, _mm512_madd_epi16(x, w));
#endif
}

/* Adds the taps of one row of the window. edge: they may lie outside the row; of one pixel only. */
INLAY_INLINE void inlay_qdw_taps(const inlay_qdw *job,
                                 const inlay_qdw_line *line,
                                 const inlay_qdw_tile *tile, const int8_t *w,
                                 int pixels, int edge, __m512i *sum)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)job->step->params;
    const __mmask16 mask = inlay_qmask_of(tile->n);
    const __m512i zero = _mm512_loadu_si512(job->zw);
    const __m128i flip = _mm_set1_epi8((char)job->of.flip);
    int32_t k;
    int i;
    for (k = 0; k < params->kw; k++, w += params->groups) {
        const __m512i weight = inlay_qdw_w(w, mask, zero);
        const uint8_t *x = line->x + k * line->tap;
        if (edge && !inlay_qdw_inside(params, tile->c, k))
            x = job->pad;
        INLAY_UNROLL
        for (i = 0; i < pixels; i++) {
            const __m512i number = inlay_qdw_x(x + i * line->pixel, mask, flip);
            sum[i] = inlay_qdw_dot(sum[i], number, weight);
        }
    }
}

/* Sums become results. */
INLAY_INLINE void inlay_qdw_ends(const inlay_qdw *job, const inlay_qrow *row,
                                 const inlay_qdw_tile *tile, int pixels,
                                 const __m512i *sum)
{
    const int32_t kind = job->of.result.kind;
    const ptrdiff_t at = tile->c * job->of.ys + tile->channel;
    int32_t lane[INLAY_QPIXELS][INLAY_QDW_LANES];
    int i;
    if (kind == INLAY_QOUT_I8 || kind == INLAY_QOUT_U8) {
        uint8_t *y = (uint8_t *)row->y + at;
        INLAY_UNROLL
        for (i = 0; i < pixels; i++)
            inlay_qvector_bytes(&job->of.result, sum[i], job->scale, tile->n,
                                y + i * job->of.ys);
        return;
    }
    INLAY_UNROLL
    for (i = 0; i < pixels; i++)
        inlay_qspill(lane[i], sum[i]);
    for (i = 0; i < pixels; i++)
        inlay_qdw_end(job, row, tile, i, lane[i]);
}

INLAY_INLINE void inlay_qdw_vector(const inlay_qdw *job, const inlay_qrow *row,
                                   const inlay_qdw_tile *tile, int pixels,
                                   int edge)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)job->step->params;
    const int8_t *w = job->of.weights + tile->channel;
    __m512i sum[INLAY_QPIXELS];
    int32_t d, h;
    int i;
    INLAY_UNROLL
    for (i = 0; i < pixels; i++)
        sum[i] = _mm512_loadu_si512(job->start);
    for (d = 0; d < params->kd; d++)
        for (h = 0; h < params->kh;
             h++, w += (ptrdiff_t)params->kw * params->groups) {
            const inlay_qdw_line line = inlay_qdw_row(job, row, tile, d, h);
            inlay_qdw_taps(job, &line, tile, w, pixels, edge, sum);
        }
    inlay_qdw_ends(job, row, tile, pixels, sum);
}

INLAY_APART void inlay_qdw_edge(const inlay_qdw *job, const inlay_qrow *row,
                                const inlay_qdw_tile *tile)
{
    inlay_qdw_vector(job, row, tile, 1, 1);
}

/* So many pixels, none of them at an edge. */
INLAY_APART void inlay_qdw_most(const inlay_qdw *job, const inlay_qrow *row,
                                const inlay_qdw_tile *tile)
{
    inlay_qdw_vector(job, row, tile, INLAY_QPIXELS, 0);
}
INLAY_APART void inlay_qdw_two(const inlay_qdw *job, const inlay_qrow *row,
                               const inlay_qdw_tile *tile)
{
    inlay_qdw_vector(job, row, tile, 2, 0);
}

static inline void inlay_qdw_inner(const inlay_qdw *job, const inlay_qrow *row,
                                   const inlay_qdw_tile *tile)
{
    inlay_qdw_tile part = *tile;
    const int32_t end = tile->c + tile->pixels;
    if (tile->pixels == INLAY_QPIXELS) {
        inlay_qdw_most(job, row, tile);
        return;
    }
    for (part.c = tile->c; part.c + 2 <= end; part.c += 2)
        inlay_qdw_two(job, row, &part);
    if (part.c < end)
        inlay_qdw_edge(job, row, &part);
}

#endif

#if INLAY_QDSP
#include "kernels/qdw_dsp.inc.h"
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
    if (of->result.kind != INLAY_QOUT_I32)
        inlay_qscales(&of->result, channel, n, job->scale);
}

static inline void inlay_qdw_pixels(inlay_qdw *job, const inlay_qrow *row,
                                    int32_t c, int32_t n, int edge)
{
    inlay_qdw_tile tile;
    tile.c = c;
    tile.pixels = n;
    for (tile.channel = 0; tile.channel < job->of.channels;
         tile.channel += INLAY_QDW_LANES) {
        const int32_t left = job->of.channels - tile.channel;
        tile.n = left < INLAY_QDW_LANES ? left : INLAY_QDW_LANES;
        inlay_qdw_block(job, tile.channel, tile.n);
#if INLAY_QL == 16
        if (inlay_qfast(&job->of)) {
            if (edge)
                inlay_qdw_edge(job, row, &tile);
            else
                inlay_qdw_inner(job, row, &tile);
            continue;
        }
#endif
#if INLAY_QDSP
        if (inlay_qdw_suits(job, &tile)) {
            inlay_qdw_dsp(job, row, &tile);
            continue;
        }
#endif
        (void)edge;
        inlay_qdw_plain(job, row, &tile);
    }
}

/* Row r of y: pixels at its edges one by one, the others in tiles. */
static inline void inlay_qdw_line_of(inlay_qdw *job, int32_t r)
{
    const inlay_step *step = job->step;
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)step->params;
    const int32_t extent = (params->kw - 1) * params->dw + 1;
    inlay_qrow row = inlay_qpacked_window(job->base, step, r);
    int32_t done, n;
    row.left = inlay_inside(params->sw, params->pw, extent, params->iw,
                            params->ow, &row.right);
    for (done = 0; done < row.pixels; done += n) {
        const int32_t c = step->backward ? row.pixels - 1 - done : done;
        const int edge = c < row.left || c >= row.right;
        const int32_t first = inlay_qrow_first(&row, c);
        n = step->backward ? c + 1 - first : inlay_qrow_end(&row, c) - c;
        if (edge || n > INLAY_QPIXELS)
            n = edge ? 1 : INLAY_QPIXELS;
        inlay_qdw_pixels(job, &row, step->backward ? c + 1 - n : c, n, edge);
    }
}

static inline int inlay_qdwconv_packed(void *const *base,
                                       const inlay_step *step, int32_t r0,
                                       int32_t r1)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)step->params;
    int32_t done;
    inlay_qdw job;
    memset(&job, 0, sizeof job);
    job.step = step;
    job.base = base;
    inlay_qpacked_tile(base, step, &job.of);
    job.of.channels = params->groups;
    memset(job.pad, (job.of.zero + job.of.minus) ^ job.of.flip, sizeof job.pad);
    for (done = 0; done < r1 - r0; done++)
        inlay_qdw_line_of(&job, inlay_next_row(step, r0, r1, done));
    return 0;
}

#endif
