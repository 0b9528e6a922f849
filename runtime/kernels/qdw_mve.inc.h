/* SPDX-License-Identifier: 0BSD
 * Rows of qdwconv_packed.h in Helium vectors. Of some columns of x, eight channels at a time, the
 * bytes of the window's rows are laid side by side in scratch: [channel][column][row], so that the
 * window of a pixel is one run of bytes, which is multiplied with its weights and added up at once;
 * four channels of a pixel make a vector of results. Weights lie in the same order. */
#ifndef INLAY_QDW_MVE_H
#define INLAY_QDW_MVE_H

/* Pixels of a row on their way. */
typedef struct inlay_mve_dw {
    const inlay_qdw *job;
    const inlay_qrow *row;
    int32_t c, pixels;
    int32_t first, columns; /* of x, where windows share them */
    int32_t high;           /* bytes of a column */
    int32_t window;         /* bytes of a window */
    int32_t next;           /* bytes from a pixel's window to the next */
    ptrdiff_t plane;        /* bytes from channel to channel */
    int32_t rows;           /* of the window */
    int shares;             /* windows share columns */
    uint8x16_t flip;
    uint8_t zero; /* zero point of x, with its sign */
    uint8_t *scratch;
    struct inlay_mve_made *made;      /* room for what is made of windows */
    const uint8_t *x[INLAY_MVE_ROWS]; /* rows of the window; NULL: outside */
} inlay_mve_dw;

static inline const uint8_t *inlay_mve_dw_look(const inlay_mve_dw *of,
                                               int32_t k)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)of->job->step->params;
    return inlay_qimage_row(of->job->base, of->job->step, of->row->image,
                            of->row->plane + k / params->kh * params->dd,
                            of->row->row + k % params->kh * params->dh);
}

/* Row k of the window. */
static inline const uint8_t *inlay_mve_dw_find(const inlay_mve_dw *of,
                                               int32_t k)
{
    return k < INLAY_MVE_ROWS ? of->x[k] : inlay_mve_dw_look(of, k);
}

/* ---- columns ---- */

/* Where the next column goes: eight channels, `plane` bytes apart. */
typedef struct inlay_mve_column {
    uint16x8_t lane;
    uint8_t *to;
    int32_t high;
} inlay_mve_column;

/* A byte, or two, of each channel; two: columns have pairs. */
INLAY_INLINE void inlay_mve_place(inlay_mve_column *column, uint16x8_t v,
                                  int two)
{
    if (two)
        vstrhq_scatter_offset_u16((uint16_t *)(void *)column->to, column->lane,
                                  v);
    else
        vstrbq_scatter_offset_u16(column->to, column->lane, v);
    column->to += column->high;
}

/* n columns outside x. */
INLAY_INLINE void inlay_mve_outside(inlay_mve_column *column, uint16x8_t zero,
                                    int32_t n, int two)
{
    for (; n > 0; n--)
        inlay_mve_place(column, zero, two);
}

/* Rows of x on their way: one or two. */
typedef struct inlay_mve_lines {
    const uint8_t *a, *b;
    ptrdiff_t step_a, step_b;
    mve_pred16_t some; /* channels that exist */
} inlay_mve_lines;

/* Eight channels, or those that exist. */
INLAY_INLINE uint16x8_t inlay_mve_eight(const uint8_t *x, mve_pred16_t some,
                                        int full)
{
    return full ? vldrbq_u16(x) : vldrbq_z_u16(x, some);
}

/* n columns of x. */
INLAY_INLINE void inlay_mve_inside(inlay_mve_column *column,
                                   inlay_mve_lines line, uint16x8_t flip,
                                   int32_t n, int rows, int two, int full)
{
    for (; n > 0; n--, line.a += line.step_a) {
        uint16x8_t v = inlay_mve_eight(line.a, line.some, full);
        if (rows == 2) {
            v = vsliq_n_u16(v, inlay_mve_eight(line.b, line.some, full), 8);
            line.b += line.step_b;
        }
        inlay_mve_place(column, veorq_u16(v, flip), two);
    }
}

/* Columns of the chunk that stand side by side in x: `before` outside, n inside, `behind` outside;
 * the first inside is `at`. */
typedef struct inlay_mve_span {
    int32_t before, n, behind, at;
} inlay_mve_span;

/* Row k of the window at a span's first column inside, and bytes from column to column. */
INLAY_INLINE const uint8_t *inlay_mve_dw_at(const inlay_mve_dw *of,
                                            const inlay_mve_span *span,
                                            int32_t channel, int32_t k,
                                            ptrdiff_t *step)
{
    const ptrdiff_t pix = of->job->step->ref[1].pix;
    const uint8_t *x = inlay_mve_dw_find(of, k);
    *step = x ? pix : 0;
    return x ? x + span->at * pix + channel : of->job->pad;
}

/* One row or two of the window, from row k on, in columns of a span, which begin at `to`. */
INLAY_INLINE void inlay_mve_rows(const inlay_mve_dw *of,
                                 const inlay_mve_span *span, int32_t channel,
                                 int32_t k, uint8_t *to, int rows, int two,
                                 int full)
{
    const uint16x8_t flip = vreinterpretq_u16_u8(of->flip);
    const uint16x8_t zero = vreinterpretq_u16_u8(vdupq_n_u8(of->zero));
    inlay_mve_lines line;
    inlay_mve_column column;
    line.some = vctp16q((uint32_t)(of->job->of.channels - channel));
    line.a = inlay_mve_dw_at(of, span, channel, k, &line.step_a);
    line.b = line.a;
    if (rows == 2)
        line.b = inlay_mve_dw_at(of, span, channel, k + 1, &line.step_b);
    column.lane = vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)of->plane);
    column.to = to;
    column.high = of->high;
    inlay_mve_outside(&column, zero, span->before, two);
    inlay_mve_inside(&column, line, flip, span->n, rows, two, full);
    inlay_mve_outside(&column, zero, span->behind, two);
}

/* All rows of the window. */
INLAY_INLINE void inlay_mve_all_rows(const inlay_mve_dw *of,
                                     const inlay_mve_span *span,
                                     int32_t channel, uint8_t *to, int full)
{
    int32_t k;
    if (of->rows == 1) {
        inlay_mve_rows(of, span, channel, 0, to, 1, 0, full);
        return;
    }
    for (k = 0; k + 2 <= of->rows; k += 2)
        inlay_mve_rows(of, span, channel, k, to + k, 2, 1, full);
    if (k < of->rows)
        inlay_mve_rows(of, span, channel, k, to + k, 1, 1, full);
}

INLAY_APART void inlay_mve_lay_full(const inlay_mve_dw *of,
                                    const inlay_mve_span *span, int32_t channel,
                                    uint8_t *to)
{
    inlay_mve_all_rows(of, span, channel, to, 1);
}

INLAY_APART void inlay_mve_lay_some(const inlay_mve_dw *of,
                                    const inlay_mve_span *span, int32_t channel,
                                    uint8_t *to)
{
    inlay_mve_all_rows(of, span, channel, to, 0);
}

static inline void inlay_mve_lay_span(const inlay_mve_dw *of,
                                      const inlay_mve_span *span,
                                      int32_t channel, uint8_t *to)
{
    if (of->job->of.channels - channel >= INLAY_QDEEP_LANES)
        inlay_mve_lay_full(of, span, channel, to);
    else
        inlay_mve_lay_some(of, span, channel, to);
}

/* `columns` columns of x from `first` on. */
static inline inlay_mve_span inlay_mve_span_of(int32_t first, int32_t columns,
                                               int32_t width)
{
    inlay_mve_span span;
    span.n = inlay_clip(first, 1, columns, width, &span.before);
    span.behind = columns - span.before - span.n;
    span.at = first + span.before;
    return span;
}

/* The columns of a chunk: shared by windows, or each by itself. */
static inline void inlay_mve_lay(const inlay_mve_dw *of, int32_t channel)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)of->job->step->params;
    inlay_mve_span span;
    uint8_t *to = of->scratch;
    int32_t p, i;
    if (of->shares) {
        span = inlay_mve_span_of(of->first, of->columns, params->iw);
        inlay_mve_lay_span(of, &span, channel, to);
        return;
    }
    for (p = 0; p < of->pixels; p++)
        for (i = 0; i < params->kw; i++, to += of->high) {
            const int32_t at = of->first + p * params->sw + i * params->dw;
            span = inlay_mve_span_of(at, 1, params->iw);
            inlay_mve_lay_span(of, &span, channel, to);
        }
}

/* ---- sums ---- */

/* A window of any size. */
static inline int32_t inlay_mve_large(const uint8_t *x, const int8_t *w,
                                      int32_t n)
{
    int32_t sum = 0;
    for (; n > 0; n -= 16, x += 16, w += 16) {
        const mve_pred16_t some = vctp8q((uint32_t)n);
        sum = vmladavaq_s8(sum, vld1q_s8((const int8_t *)x),
                           vldrbq_z_s8(w, some));
    }
    return sum;
}

/* Four channels of all pixels. */
typedef struct inlay_mve_quad {
    const uint8_t *x[4]; /* windows of the first pixel */
    const int8_t *w[4];
    int32_t channel, n; /* the first, and those that exist */
    int32x4_t start;
} inlay_mve_quad;

/* Any results of a pixel. */
INLAY_APART void inlay_mve_dw_other(const inlay_mve_dw *of,
                                    const inlay_mve_quad *quad, int32_t pixel,
                                    const int32_t *sum)
{
    const inlay_qtile *tile = &of->job->of;
    const ptrdiff_t at = (of->c + pixel) * tile->ys + quad->channel;
    float scale[4];
    if (inlay_qout_scales(tile->result.kind))
        inlay_qscales(&tile->result, quad->channel, quad->n, scale);
    inlay_qresults(&tile->result, quad->channel, quad->n, sum, scale,
                   inlay_qplace(&tile->result, of->row->y, at));
}

INLAY_APART void inlay_mve_dw_any(const inlay_mve_dw *of, inlay_mve_quad *quad)
{
    int32_t p, i;
    for (p = 0; p < of->pixels; p++) {
        int32_t sum[4];
        for (i = 0; i < 4; i++) {
            sum[i] = inlay_mve_large(quad->x[i], quad->w[i], of->window);
            quad->x[i] += of->next;
        }
        vst1q_s32(sum, vaddq_s32(vld1q_s32(sum), quad->start));
        inlay_mve_dw_other(of, quad, p, sum);
    }
}

/* What the sums of four channels begin with. */
static inline int32x4_t inlay_mve_start(const inlay_qtile *tile,
                                        int32_t channel)
{
    int32x4_t start = vld1q_s32(tile->bias + channel);
    if (tile->sums) {
        const int32x4_t sums = vld1q_s32(tile->sums + channel);
        start = vsubq_s32(start, vmulq_n_s32(sums, tile->zero));
    }
    return start;
}

/* Up to four channels, the first of which is number `lane` of those in scratch. */
static inline void inlay_mve_dw_quad(const inlay_mve_dw *of, int32_t channel,
                                     int32_t lane)
{
    const inlay_qtile *tile = &of->job->of;
    const int32_t left = tile->channels - channel;
    inlay_mve_quad quad;
    int32_t i;
    quad.channel = channel;
    quad.n = left < 4 ? left : 4;
    quad.start = inlay_mve_start(tile, channel);
    for (i = 0; i < 4; i++) {
        const int32_t own = i < quad.n ? i : 0;
        quad.x[i] = of->scratch + (lane + own) * of->plane;
        quad.w[i] = tile->weights + (ptrdiff_t)(channel + own) * of->window;
    }
    inlay_mve_dw_any(of, &quad);
}

#if INLAY_MVE_FLOAT
#include "kernels/qdw_four.inc.h"
#endif

/* What is made of the windows of eight channels in scratch, or of those that exist; returns how
 * many are made. */
static inline int32_t inlay_mve_dw_simple(const inlay_mve_dw *of,
                                          int32_t channel)
{
#if INLAY_MVE_FLOAT
    const int32_t left = of->job->of.channels - channel;
    const int32_t n = left < INLAY_QDEEP_LANES ? 4 : INLAY_QDEEP_LANES;
    if (of->window > 16 || left < 4)
        return 0;
    inlay_mve_made_of(of, of->made);
    inlay_mve_dw_fours(of->made, channel, n,
                       (uint8_t *)of->row->y + of->c * of->job->of.ys);
    return n;
#else
    (void)of;
    (void)channel;
    return 0;
#endif
}

/* Eight channels of the pixels, or those that exist. */
static inline void inlay_mve_dw_eight(inlay_mve_dw *of, int32_t channel,
                                      int simple)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)of->job->step->params;
    const int32_t left = of->job->of.channels - channel;
    int32_t lane = 0;
    of->first = of->c * params->sw - params->pw;
    of->columns = inlay_qdeep_columns(params, of->pixels);
    inlay_mve_lay(of, channel);
    if (simple)
        lane = inlay_mve_dw_simple(of, channel);
    for (; lane < INLAY_QDEEP_LANES && lane < left; lane += 4)
        inlay_mve_dw_quad(of, channel + lane, lane);
}

static inline void inlay_mve_dw_begin(inlay_mve_dw *of)
{
    const inlay_step *step = of->job->step;
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)step->params;
    int32_t k;
    of->high = inlay_qdeep_high(params);
    of->window = of->high * params->kw;
    of->shares = inlay_qdeep_shares(params);
    of->next = of->high * (of->shares ? params->sw : params->kw);
    of->rows = params->kd * params->kh;
    of->plane = inlay_qdeep_plane(params);
    of->flip = vdupq_n_u8((uint8_t)(params->flip ^ 128));
    of->zero = (uint8_t)(of->job->pad[0] ^ params->flip ^ 128);
    of->scratch = (uint8_t *)inlay_at(of->job->base, step, 10);
    for (k = 0; k < of->rows && k < INLAY_MVE_ROWS; k++)
        of->x[k] = inlay_mve_dw_look(of, k);
}

/* A row of y, `most` pixels at a time. */
static inline void inlay_mve_dw_row(const inlay_qdw *job, const inlay_qrow *row,
                                    int32_t most)
{
    const int simple = inlay_mve_is_simple(&job->of);
    inlay_mve_dw of;
    int32_t done, channel;
#if INLAY_MVE_FLOAT
    inlay_mve_made made;
    of.made = &made;
#endif
    of.job = job;
    of.row = row;
    inlay_mve_dw_begin(&of);
    for (done = 0; done < row->pixels; done += of.pixels) {
        const int32_t left = row->pixels - done;
        of.pixels = left < most ? left : most;
        of.c = job->step->backward ? left - of.pixels : done;
        for (channel = 0; channel < job->of.channels;
             channel += INLAY_QDEEP_LANES)
            inlay_mve_dw_eight(&of, channel, simple);
    }
}

#if INLAY_MVE_FLOAT
#include "kernels/qdw_columns.inc.h"
#endif

#endif
