/* SPDX-License-Identifier: 0BSD
 * Depthwise convolution of bytes with several results of each channel (a channel multiplier) and
 * constant weights: result j of a pixel is one of channel j / M.
 *
 *   sum[j] = bias[j] + sum over the window: x[j / M] w[j]  - zero sums[j]
 *   y = what qout.h makes of it
 *
 * Parameters and operands are those of qconv_packed.h with C groups of one channel and M results,
 * but weights [taps][C*M], which have no zero points, and no scratch. Numbers outside x are its
 * zero point. Pixels go from the first to the last (mirrored when backward) in tiles of four, or
 * in wider stretches where y lies apart from x; results by sixteens. */
#ifndef INLAY_QDWMANY_PACKED_H
#define INLAY_QDWMANY_PACKED_H

#include "kernels/qdwconv_packed.h"

/* Pixels some of whose results are made before the others; where y lies apart from x, too. */
enum { INLAY_QMANY_PIXELS = 4, INLAY_QMANY_STRETCH = 16 };

/* What the tiles of a row have in common. */
typedef struct inlay_qmany {
    inlay_qdw job;
    const inlay_qpacked_params *params;
    int32_t all;         /* results of a pixel */
    int32_t rows;        /* of the window */
    int is_signed;       /* x's bytes are numbers with a sign as they are */
    int near;            /* windows of three adjacent columns at stride one */
    int32_t left, right; /* pixels whose windows miss no column */
    /* rows of x under the window; NULL: there is none */
    const uint8_t *line[INLAY_QMANY_ROWS];
} inlay_qmany;

/* Are x's bytes numbers with a sign as they are? */
INLAY_INLINE int inlay_qmany_signed(const inlay_qmany *m)
{
    return !INLAY_QUSES(INLAY_QUSE_SHIFTED | INLAY_QUSE_UNSIGNED) ||
           m->is_signed;
}

/* Does column i of a tile of three columns lie outside? */
INLAY_INLINE int inlay_qmany_skips(int32_t skip, const int i)
{
    if (i == 0)
        return skip & 1;
    return i == INLAY_QMANY_PIXELS + 1 ? skip & 2 : 0;
}

#include "kernels/qdwmany_lanes.inc.h"

/* A block of results, `of`, of some pixels. */
typedef struct inlay_qmany_tile {
    inlay_qdw_tile of;
    int32_t channel, part; /* of x, and which of its results is the first one */
    int32_t from, taps;    /* of a row of a pixel's window, those that exist */
    int32_t skip;          /* columns of a tile that lie outside */
    inlay_qdw_line line[INLAY_QMANY_ROWS]; /* at the first tap */
    int32_t sum[INLAY_QMANY_PIXELS * INLAY_QDW_LANES];
#if INLAY_QMANY_LANES
    inlay_qmany_places places[INLAY_QDW_LANES / INLAY_QMANY_LANES];
#endif
} inlay_qmany_tile;

#if INLAY_QMANY_LANES
#include "kernels/qdwmany_vec.inc.h"
#endif

/* ---- a number by itself ---- */

enum { INLAY_QMANY_MOST = 2 }; /* results of a channel that are made together */

INLAY_INLINE int32_t inlay_qmany_number(const inlay_qmany *m, uint8_t byte,
                                        const int is_signed)
{
    if (is_signed)
        return (int8_t)byte;
    return (byte ^ m->job.of.flip) - m->job.of.minus;
}

/* Adds taps of a row of x to n results of a channel, of some pixels: each number is loaded once. */
INLAY_INLINE void inlay_qmany_taps(const inlay_qmany *m,
                                   const inlay_qdw_line *line, const uint8_t *x,
                                   const int8_t *w, int32_t *sum, int32_t taps,
                                   const int n, const int pixels,
                                   const int is_signed)
{
    const int32_t all = m->all;
    const ptrdiff_t tap = line->tap;
    const ptrdiff_t pixel = line->pixel;
    int32_t k;
    int i, p;
    for (k = taps; k > 0; k--, x += tap, w += all) {
        int32_t weight[INLAY_QMANY_MOST];
        INLAY_UNROLL
        for (i = 0; i < n; i++)
            weight[i] = w[i];
        INLAY_UNROLL
        for (p = 0; p < pixels; p++) {
            const uint8_t byte = x[p * pixel];
            const int32_t v = inlay_qmany_number(m, byte, is_signed);
            INLAY_UNROLL
            for (i = 0; i < n; i++)
                sum[p * n + i] = inlay_wrap_add(sum[p * n + i], v * weight[i]);
        }
    }
}

/* The same of three columns at stride one, each of which is loaded once, of n results of a channel.
 * The first lies beside x with skip bit 0, the last with bit 1. */
INLAY_INLINE void inlay_qmany_near(const inlay_qmany *m,
                                   const inlay_qdw_line *line, const uint8_t *x,
                                   const int8_t *w, int32_t *sum, int32_t skip,
                                   const int n, const int is_signed)
{
    const ptrdiff_t tap = line->tap;
    int32_t weight[3 * INLAY_QMANY_MOST];
    int i, k;
    INLAY_UNROLL
    for (k = 0; k < 3 * n; k++)
        weight[k] = w[k / n * m->all + k % n];
    INLAY_UNROLL
    for (i = 0; i < INLAY_QMANY_PIXELS + 2; i++, x += tap) {
        int32_t v = m->job.of.zero;
        if (!inlay_qmany_skips(skip, i))
            v = inlay_qmany_number(m, *x, is_signed);
        INLAY_UNROLL
        for (k = 0; k < 3 * n; k++) {
            const int p = i - k / n;
            int32_t *to = sum + p * n + k % n;
            if (p >= 0 && p < INLAY_QMANY_PIXELS)
                *to = inlay_wrap_add(*to, v * weight[k]);
        }
    }
}

/* Adds taps beside x, of a result. */
INLAY_INLINE int32_t inlay_qmany_beside(const inlay_qmany *m, const int8_t *w,
                                        int32_t taps)
{
    int32_t sum = 0;
    for (; taps > 0; taps--, w += m->all)
        sum += m->job.of.zero * *w;
    return sum;
}

/* A row of the window of a pixel, which may lie beside x in part. */
INLAY_INLINE void inlay_qmany_clipped(const inlay_qmany *m,
                                      const inlay_qmany_tile *tile,
                                      const inlay_qdw_line *line,
                                      const uint8_t *x, const int8_t *w,
                                      int32_t *sum, const int is_signed)
{
    const int32_t last = tile->from + tile->taps;
    const int32_t before = inlay_qmany_beside(m, w, tile->from);
    const int32_t after =
        inlay_qmany_beside(m, w + last * m->all, m->params->kw - last);
    *sum = inlay_wrap_add(*sum, before + after);
    inlay_qmany_taps(m, line, x, w + tile->from * m->all, sum, tile->taps, 1, 1,
                     is_signed);
}

/* Adds a row of the window, whose weights are w, to n results of a channel; n is 1 for one pixel.
 */
INLAY_INLINE void inlay_qmany_line(const inlay_qmany *m,
                                   const inlay_qmany_tile *tile,
                                   const inlay_qdw_line *line, int32_t channel,
                                   const int8_t *w, int32_t *sum, const int n,
                                   const int near, const int pixels,
                                   const int is_signed)
{
    const uint8_t *x = line->x + channel;
    const int32_t kw = m->params->kw;
    if (near)
        inlay_qmany_near(m, line, x, w, sum, tile->skip, n, is_signed);
    else if (pixels > 1)
        inlay_qmany_taps(m, line, x, w, sum, kw, n, pixels, is_signed);
    else
        inlay_qmany_clipped(m, tile, line, x, w, sum, is_signed);
}

/* Results [j, j + n) of the block, which are of its channel `channel`. */
INLAY_INLINE void inlay_qmany_some(const inlay_qmany *m, inlay_qmany_tile *tile,
                                   int32_t channel, int32_t j, const int n,
                                   const int near, const int pixels,
                                   const int is_signed)
{
    const ptrdiff_t row = (near ? 3 : m->params->kw) * (ptrdiff_t)m->all;
    const int8_t *w = m->job.of.weights + tile->of.channel + j;
    const inlay_qdw_line *line = tile->line;
    const inlay_qdw_line *const end = line + m->rows;
    int32_t sum[INLAY_QMANY_MOST * INLAY_QMANY_PIXELS];
    int i;
    INLAY_UNROLL
    for (i = 0; i < n * pixels; i++)
        sum[i] = m->job.start[j + i % n];
    for (; line < end; line++, w += row)
        inlay_qmany_line(m, tile, line, channel, w, sum, n, near, pixels,
                         is_signed);
    INLAY_UNROLL
    for (i = 0; i < n * pixels; i++)
        tile->sum[i / n * INLAY_QDW_LANES + j + i % n] = sum[i];
}

/* The results of the block from j on: two of a channel at once, but of one pixel. */
INLAY_INLINE void inlay_qmany_each(const inlay_qmany *m, inlay_qmany_tile *tile,
                                   int32_t j, const int near, const int pixels,
                                   const int is_signed)
{
    const int32_t times = m->params->oc;
    int32_t channel = (tile->part + j) / times;
    int32_t left = (channel + 1) * times - tile->part - j;
    while (j < tile->of.n) {
        const int32_t end = tile->of.n - j;
        const int some = pixels > 1 && left > 1 && end > 1;
        const int32_t n = some ? INLAY_QMANY_MOST : 1;
        if (n == 1)
            inlay_qmany_some(m, tile, channel, j, 1, near, pixels, is_signed);
        else
            inlay_qmany_some(m, tile, channel, j, INLAY_QMANY_MOST, near,
                             pixels, is_signed);
        j += n;
        left -= n;
        if (!left) {
            left = times;
            channel++;
        }
    }
}

/* ---- pixels ---- */

INLAY_INLINE void inlay_qmany_sums(const inlay_qmany *m, inlay_qmany_tile *tile,
                                   const int near, const int pixels)
{
    int32_t j = 0;
#if INLAY_QMANY_LANES
    j = inlay_qmany_vectors(m, tile, near, pixels);
#endif
    if (inlay_qmany_signed(m))
        inlay_qmany_each(m, tile, j, near, pixels, 1);
    else
        inlay_qmany_each(m, tile, j, near, pixels, 0);
}

INLAY_APART void inlay_qmany_threes(const inlay_qmany *m,
                                    inlay_qmany_tile *tile)
{
    inlay_qmany_sums(m, tile, 1, INLAY_QMANY_PIXELS);
}

INLAY_APART void inlay_qmany_any(const inlay_qmany *m, inlay_qmany_tile *tile)
{
    inlay_qmany_sums(m, tile, 0, INLAY_QMANY_PIXELS);
}

INLAY_APART void inlay_qmany_one(const inlay_qmany *m, inlay_qmany_tile *tile)
{
    inlay_qmany_sums(m, tile, 0, 1);
}

/* Where the rows of the window of the first pixel begin. */
static inline void inlay_qmany_begin(const inlay_qmany *m,
                                     inlay_qmany_tile *tile, int32_t first)
{
    const inlay_qpacked_params *params = m->params;
    const ptrdiff_t pix = m->job.step->ref[1].pix;
    const ptrdiff_t at = (first + tile->from * params->dw) * pix;
    int32_t h;
    for (h = 0; h < m->rows; h++) {
        const uint8_t *x = m->line[h];
        inlay_qdw_line *line = tile->line + h;
        line->x = x ? x + at + tile->channel : m->job.pad;
        line->tap = x ? params->dw * pix : 0;
        line->pixel = x ? params->sw * pix : 0;
    }
}

/* The block's results of its pixels: one, or four whose windows miss no column. */
static inline void inlay_qmany_pixels(const inlay_qmany *m,
                                      const inlay_qrow *row,
                                      inlay_qmany_tile *tile)
{
    const inlay_qpacked_params *params = m->params;
    const int32_t first = tile->of.c * params->sw - params->pw;
    const int32_t last = first + INLAY_QMANY_PIXELS + 1;
    int32_t p;
    tile->from = 0;
    tile->skip = (first < 0) | (last >= params->iw) << 1;
    if (tile->of.pixels == 1)
        tile->taps =
            inlay_clip(first, params->dw, params->kw, params->iw, &tile->from);
    inlay_qmany_begin(m, tile, first);
    if (tile->of.pixels == 1)
        inlay_qmany_one(m, tile);
    else if (m->near)
        inlay_qmany_threes(m, tile);
    else
        inlay_qmany_any(m, tile);
    for (p = 0; p < tile->of.pixels; p++)
        inlay_qdw_end(&m->job, row, &tile->of, p,
                      tile->sum + p * INLAY_QDW_LANES);
}

/* The block of results from `result` on. */
INLAY_APART void inlay_qmany_block(inlay_qmany *m, inlay_qmany_tile *tile,
                                   int32_t result)
{
    const int32_t times = m->params->oc;
    const int32_t left = m->all - result;
    tile->of.channel = result;
    tile->of.n = left < INLAY_QDW_LANES ? left : INLAY_QDW_LANES;
    tile->channel = result / times;
    tile->part = result - tile->channel * times;
    inlay_qdw_block(&m->job, result, tile->of.n);
#if INLAY_QMANY_LANES
    inlay_qmany_places_set(m, tile);
#endif
}

/* Pixels [c, c + n), in the direction of the step. */
static inline void inlay_qmany_stretch(inlay_qmany *m, const inlay_qrow *row,
                                       int32_t c, int32_t n)
{
    const int backward = m->job.step->backward;
    const int32_t most = INLAY_QMANY_PIXELS;
    inlay_qmany_tile tile;
    int32_t result, done;
    for (result = 0; result < m->all; result += INLAY_QDW_LANES) {
        inlay_qmany_block(m, &tile, result);
        for (done = 0; done < n; done += tile.of.pixels) {
            const int32_t rest = n - done;
            int32_t at = c + (backward ? rest - most : done);
            tile.of.pixels = most;
            if (rest < most || at < m->left || at + most > m->right) {
                tile.of.pixels = 1;
                at = c + (backward ? rest - 1 : done);
            }
            tile.of.c = at;
            inlay_qmany_pixels(m, row, &tile);
        }
    }
}

/* The rows of x under the window of a row of y. */
static inline void inlay_qmany_lines(inlay_qmany *m, const inlay_qrow *row)
{
    const inlay_qpacked_params *params = m->params;
    int32_t d, h;
    for (d = 0; d < params->kd; d++)
        for (h = 0; h < params->kh; h++)
            m->line[d * params->kh + h] = inlay_qimage_row(
                m->job.base, m->job.step, row->image,
                row->plane + d * params->dd, row->row + h * params->dh);
}

/* Are windows three adjacent columns at stride one, of which one at most lies outside on either
 * side? */
static inline int inlay_qmany_covers(const inlay_qpacked_params *params)
{
    const int32_t end = params->ow - params->pw + 2;
    return params->kw == 3 && params->dw == 1 && params->sw == 1 &&
           params->pw <= 1 && end <= params->iw + 1;
}

static inline void inlay_qmany_setup(void *const *base, const inlay_step *step,
                                     inlay_qmany *m)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)step->params;
    const int32_t extent = (params->kw - 1) * params->dw + 1;
    inlay_qdw_begin(base, step, &m->job);
    m->params = params;
    m->all = params->groups * params->oc;
    m->rows = params->kd * params->kh;
    m->is_signed = params->flip == 128 && params->minus == 128;
    m->near = inlay_qmany_covers(params);
    m->left = 0;
    m->right = params->ow;
    if (!m->near)
        m->left = inlay_inside(params->sw, params->pw, extent, params->iw,
                               params->ow, &m->right);
}

/* Row r of y, at most so many pixels at a time. */
static inline void inlay_qmany_row(inlay_qmany *m, int32_t r, int32_t most)
{
    const inlay_step *step = m->job.step;
    const inlay_qrow row = inlay_qpacked_window(m->job.base, step, r);
    int32_t done, n;
    inlay_qmany_lines(m, &row);
    for (done = 0; done < row.pixels; done += n) {
        const int32_t left = row.pixels - done;
        n = left < most ? left : most;
        inlay_qmany_stretch(m, &row, step->backward ? left - n : done, n);
    }
}

static inline int inlay_qdwmany_packed(void *const *base,
                                       const inlay_step *step, int32_t r0,
                                       int32_t r1)
{
    const int apart = inlay_qpacked_apart(base, step, r0, r1);
    const int32_t most = apart ? INLAY_QMANY_STRETCH : INLAY_QMANY_PIXELS;
    int32_t done;
    inlay_qmany m;
    inlay_qmany_setup(base, step, &m);
    for (done = 0; done < r1 - r0; done++)
        inlay_qmany_row(&m, inlay_next_row(step, r0, r1, done), most);
    return 0;
}

#endif
