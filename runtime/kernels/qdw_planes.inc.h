/* SPDX-License-Identifier: 0BSD
 * Depthwise convolution with the DSP instructions, four channels of some columns at a time: their
 * numbers under the window are taken apart in scratch, so that those of a channel lie side by side
 * as halves of 16 bits, zero points where nothing is; the weights less their zero points likewise.
 * Then two pixels of a channel are two products of halves. Taps that are dilated have zeros between
 * them.
 *
 * The order of the halves is [column / 2][row][column % 2], weights once from an even and once from
 * an odd column on, so that a window is one stretch of words. Included by qdwconv_packed.h. */
#ifndef INLAY_QDW_PLANES_H
#define INLAY_QDW_PLANES_H

enum { INLAY_QPLANE_ROWS = 16 }; /* most of a window */

/* Is each row of y made by itself? Then there is no code for several. */
#ifdef __OPTIMIZE_SIZE__
enum { INLAY_QPLANES_SINGLY = 1 };
#else
enum { INLAY_QPLANES_SINGLY = 0 };
#endif

typedef struct inlay_qplanes {
    const inlay_qdw *job;
    const inlay_qpacked_params *params;
    const inlay_qrow *row;
    inlay_qdw_lines lines;
    int32_t c, n;   /* columns of y */
    int32_t first;  /* column of x that the first half stands for */
    int32_t rows;   /* of the window */
    int32_t extent; /* columns of the window */
    int32_t length; /* halves of a row of numbers */
    int32_t plane;  /* halves from a channel's numbers to the next one's */
    int32_t set;    /* the same of weights */
    int16_t *x, *w;
    /* rows of x under the window; NULL: there is none */
    const uint8_t *line[INLAY_QPLANE_ROWS];
} inlay_qplanes;

static inline void inlay_qplanes_fill(const inlay_qplanes *planes);

/* Where the number of row h and column e belongs: halves from the first of its channel on. */
INLAY_INLINE int32_t inlay_qplane_at(const inlay_qplanes *planes, int32_t h,
                                     int32_t e)
{
    return (e / 2 * planes->rows + h) * 2 + e % 2;
}

#include "kernels/qdw_dsp.inc.h"
#if INLAY_QDSP_FLOAT
/* What windows of 3 x 3 are not. */
enum {
    INLAY_QTHREE_OTHERS = INLAY_QUSE_MORE | INLAY_QUSE_CLIPS | INLAY_QUSE_DW_ANY
};
#include "kernels/qdw_three.inc.h"
#else
enum { INLAY_QTHREE_OTHERS = INLAY_QPACKED_USE };
static inline int32_t inlay_qplanes_three(const inlay_qplanes *planes)
{
    (void)planes;
    return 0;
}
#endif

/* ---- what lies in scratch ---- */

static inline void inlay_qplanes_fill(const inlay_qplanes *planes)
{
    const uint32_t half = (uint32_t)planes->job->of.zero & 0xffff;
    const uint32_t zero = half << 16 | half;
    const uint32_t some[4] = { zero, zero, zero, zero };
    unsigned char *to = (unsigned char *)planes->x;
    unsigned char *const end = (unsigned char *)(planes->x + 4 * planes->plane);
    for (; to < end; to += sizeof some) /* planes are of pairs of halves */
        memcpy(to, some, sizeof some);
}

/* Fewer than four channels. */
static inline void inlay_qplanes_few(const inlay_qplanes *planes, ptrdiff_t at,
                                     int32_t e, int32_t n, int32_t channels)
{
    const inlay_qtile *t = &planes->job->of;
    const ptrdiff_t pix = planes->job->step->ref[1].pix;
    int32_t h, i, k;
    for (h = 0; h < planes->rows; h++)
        for (k = 0; planes->line[h] && k < n; k++)
            for (i = 0; i < channels; i++) {
                const uint8_t byte = planes->line[h][at + k * pix + i];
                planes
                    ->x[i * planes->plane + inlay_qplane_at(planes, h, e + k)] =
                    (int16_t)((byte ^ t->flip) - t->minus);
            }
}

/* The numbers of up to four channels. */
static inline void inlay_qplanes_numbers(const inlay_qplanes *planes,
                                         int32_t channel, int32_t channels)
{
    const inlay_qpacked_params *params = planes->params;
    const int32_t end =
        planes->first + (planes->n - 1) * params->sw + planes->extent;
    const int32_t from = planes->first > 0 ? planes->first : 0;
    const int32_t n = (end < params->iw ? end : params->iw) - from;
    const int32_t e = from - planes->first;
    const ptrdiff_t at =
        (ptrdiff_t)from * planes->job->step->ref[1].pix + channel;
    if (n <= 0)
        return;
    if (channels == 4)
        inlay_qplanes_fours(planes, at, e, n);
    else
        inlay_qplanes_few(planes, at, e, n, channels);
}

/* The weights of a channel's column k: w[h] of all rows, `next` bytes apart, less zw. */
INLAY_APART void inlay_qplanes_column(const inlay_qplanes *planes, int32_t k,
                                      const int8_t *w, ptrdiff_t next,
                                      int32_t zw, int16_t *to)
{
    const int32_t e = k * planes->params->dw;
    int16_t *even = to + inlay_qplane_at(planes, 0, e);
    int16_t *odd = to + inlay_qplane_at(planes, 0, e + 1);
    int32_t h;
    odd += 2 * inlay_qplane_even(planes);
    for (h = planes->rows; h > 0; h--) {
        const int16_t number = (int16_t)(*w - zw);
        *even = number;
        *odd = number;
        even += 2;
        odd += 2;
        w += next;
    }
}

/* The weights of up to four channels. */
static inline void inlay_qplanes_weights(const inlay_qplanes *planes,
                                         int32_t channel, int32_t channels)
{
    const inlay_qtile *of = &planes->job->of;
    const int32_t all = planes->params->groups;
    const int32_t columns = planes->params->kw;
    int32_t i, k;
    memset(planes->w, 0, 4 * (size_t)planes->set * sizeof *planes->w);
    for (i = 0; i < channels; i++) {
        const int32_t zw = of->zw ? of->zw[channel + i] : of->zw_all;
        const int8_t *w = of->weights + channel + i;
        for (k = 0; k < columns; k++)
            inlay_qplanes_column(planes, k, w + k * all,
                                 (ptrdiff_t)columns * all, zw,
                                 planes->w + i * planes->set);
    }
}

/* ---- results ---- */

enum { INLAY_QPLANE_SUMS = 8 }; /* pixels of a channel that are made at once */

/* Any results: n pixels from pixel j of the tile on. */
INLAY_APART void inlay_qplane_end(const inlay_qplanes *planes, int32_t channel,
                                  int32_t j, int32_t n, const int32_t *sum,
                                  float scale)
{
    const inlay_qresult *r = &planes->job->of.result;
    const ptrdiff_t ys = planes->job->of.ys;
    const ptrdiff_t at = (planes->c + j) * ys + channel;
    int32_t i;
#if !INLAY_QSOFT
    if (!inlay_qout_is_wide(r->kind)) {
        inlay_qfloat_line(r, scale, sum, n, (uint8_t *)planes->row->y + at, ys);
        return;
    }
#endif
    for (i = 0; i < n; i++)
        inlay_qresults(r, channel, 1, sum + i, &scale,
                       inlay_qplace(r, planes->row->y, at + i * ys));
}

static inline int32_t inlay_qplane_start(const inlay_qtile *of, int32_t channel)
{
    const int32_t off =
        of->sums ? inlay_wrap_mul(of->zero, of->sums[channel]) : 0;
    return inlay_wrap_add(of->bias[channel], -off);
}

static inline void inlay_qplanes_channel(const inlay_qplanes *planes,
                                         int32_t channel, int32_t i)
{
    const inlay_qtile *of = &planes->job->of;
    const int16_t *x = planes->x + i * planes->plane;
    const int16_t *w = planes->w + i * planes->set;
    const int32_t start = inlay_qplane_start(of, channel);
    float scale = 0.0f;
    int32_t j, k;
    if (inlay_qout_scales(of->result.kind))
        inlay_qscales(&of->result, channel, 1, &scale);
    for (j = 0; j < planes->n; j += INLAY_QPLANE_SUMS) {
        const int32_t left = planes->n - j;
        const int32_t n = left < INLAY_QPLANE_SUMS ? left : INLAY_QPLANE_SUMS;
        int32_t sum[INLAY_QPLANE_SUMS];
        for (k = 0; k < n; k++)
            sum[k] = start;
        inlay_qplane_sums(planes, x, w, j, n, sum);
        inlay_qplane_end(planes, channel, j, n, sum, scale);
    }
}

/* ---- a row ---- */

/* Is there scratch, and are the numbers those that the core takes? */
static inline int inlay_qplanes_suit(const inlay_qdw *job)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)job->step->params;
    if (!INLAY_QUSES(INLAY_QUSE_DW_DIRECT | INLAY_QUSE_DW_DEEP |
                     INLAY_QUSE_UNSIGNED | INLAY_QUSE_DW_ANY))
        return 1;
    if (params->deep || params->minus != 128)
        return 0;
    return params->gather > 0 && params->kd * params->kh <= INLAY_QPLANE_ROWS;
}

static inline void inlay_qplanes_lines(inlay_qplanes *planes)
{
    const inlay_qpacked_params *params = planes->params;
    int32_t d, h;
    for (d = 0; d < params->kd; d++)
        for (h = 0; h < params->kh; h++)
            planes->line[d * params->kh + h] = inlay_qimage_row(
                planes->job->base, planes->job->step, planes->row->image,
                planes->row->plane + d * params->dd,
                planes->row->row + h * params->dh);
}

/* Columns [c, c + n) of a row of y, channels from `channel` on. */
static inline void inlay_qplanes_rest(inlay_qplanes *planes, int32_t channel)
{
    const int32_t channels = planes->params->groups;
    int32_t i;
    inlay_qplanes_lines(planes);
    inlay_qplanes_fill(planes);
    for (; channel < channels; channel += 4) {
        const int32_t left = channels - channel;
        const int32_t some = left < 4 ? left : 4;
        inlay_qplanes_numbers(planes, channel, some);
        inlay_qplanes_weights(planes, channel, some);
        for (i = 0; i < some; i++)
            inlay_qplanes_channel(planes, channel + i, i);
    }
}

/* Columns [c, c + n) of the rows, all channels. */
static inline void inlay_qplanes_tile(inlay_qplanes *planes, int32_t c,
                                      int32_t n)
{
    int32_t channel, done;
    planes->c = c;
    planes->n = n;
    planes->first = c * planes->params->sw - planes->params->pw;
    channel = inlay_qplanes_three(planes);
    if (!INLAY_QUSES(INLAY_QTHREE_OTHERS | INLAY_QUSE_REST) ||
        channel == planes->params->groups)
        return;
    for (done = 0; done < planes->lines.n; done++) {
        const inlay_qrow row =
            inlay_qdw_line_at(planes->job, &planes->lines, done);
        planes->row = &row;
        inlay_qplanes_rest(planes, channel);
    }
}

static inline void inlay_qplanes_set(const inlay_qdw *job,
                                     inlay_qplanes *planes)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)job->step->params;
    planes->job = job;
    planes->params = params;
    planes->rows = params->kd * params->kh;
    planes->extent = (params->kw - 1) * params->dw + 1;
    planes->length = 2 * (int32_t)inlay_qplanes_words(params);
    planes->plane = planes->rows * planes->length;
    planes->set = 2 * planes->rows * (planes->extent + 1);
    planes->w = (int16_t *)inlay_at(job->base, job->step, 10);
    planes->x = planes->w + 4 * planes->set;
}

/* Rows [r0, r1) of y. */
static inline void inlay_qplanes_all(const inlay_qdw *job, int32_t r0,
                                     int32_t r1)
{
    inlay_qplanes planes;
    int32_t most, done, column, n;
    inlay_qplanes_set(job, &planes);
    most = 1;
    if (!INLAY_QPLANES_SINGLY)
        most = inlay_qdw_most(job, r1 - r0, planes.params->gather);
    for (done = 0; done < r1 - r0; done += planes.lines.n) {
        planes.lines = inlay_qdw_lines_of(job, r0, r1, done, most);
        for (column = 0; column < planes.params->ow; column += n) {
            const int32_t left = planes.params->ow - column;
            n = left < planes.params->gather ? left : planes.params->gather;
            inlay_qplanes_tile(&planes, job->step->backward ? left - n : column,
                               n);
        }
    }
}

#endif
