/* SPDX-License-Identifier: 0BSD
 * Depthwise convolution on small cores in C: a pixel by four channels, whose sums stay in
 * registers. Taps beside x are products of its zero point. Windows have few rows, weights no zero
 * points, bytes are with their sign or without. Included by qdwconv_packed.h. */
#ifndef INLAY_QDW_PLAIN_H
#define INLAY_QDW_PLAIN_H

enum { INLAY_QDW_ROWS = 16 }; /* most of a window */

/* Rows of x under the window, NULL: there is none; bytes from tap to tap of x and of weights. */
typedef struct inlay_qdw_window {
    const uint8_t *line[INLAY_QDW_ROWS];
    int32_t rows, width;
    ptrdiff_t tap, all;
} inlay_qdw_window;

/* Taps of a pixel: the first of x, and those of each row that lie in it. */
typedef struct inlay_qdw_columns {
    ptrdiff_t at;
    int32_t from, n;
} inlay_qdw_columns;

static inline inlay_qdw_window inlay_qdw_window_of(const inlay_qdw *job,
                                                   const inlay_qrow *row)
{
    const inlay_step *step = job->step;
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)step->params;
    inlay_qdw_window window;
    int32_t d, h;
    window.rows = 0;
    window.width = params->kw;
    window.tap = (ptrdiff_t)params->dw * step->ref[1].pix;
    window.all = params->groups;
    for (d = 0; d < params->kd; d++)
        for (h = 0; h < params->kh; h++)
            window.line[window.rows++] = inlay_qimage_row(
                job->base, step, row->image, row->plane + d * params->dd,
                row->row + h * params->dh);
    return window;
}

static inline inlay_qdw_columns inlay_qdw_taps_of(const inlay_qdw *job,
                                                  int32_t c)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)job->step->params;
    const int32_t first = c * params->sw - params->pw;
    inlay_qdw_columns inside;
    inside.n =
        inlay_clip(first, params->dw, params->kw, params->iw, &inside.from);
    inside.at =
        (ptrdiff_t)(first + inside.from * params->dw) * job->step->ref[1].pix;
    return inside;
}

/* Adds n taps of four channels. */
INLAY_INLINE void inlay_qdw_taps(const inlay_qtile *of, const uint8_t *x,
                                 ptrdiff_t tap, const int8_t *w, ptrdiff_t all,
                                 int32_t n, int32_t *sum, inlay_qsign sign)
{
    int32_t i;
    for (; n > 0; n--, x += tap, w += all)
        INLAY_UNROLL
    for (i = 0; i < 4; i++)
        sum[i] =
            inlay_wrap_add(sum[i], inlay_qnumber_at(of, x + i, sign) * w[i]);
}

/* Adds the taps of a row that are not among the n from `from` on. */
INLAY_APART void inlay_qdw_beside(const inlay_qtile *of, const int8_t *w,
                                  ptrdiff_t all, int32_t width, int32_t from,
                                  int32_t n, int32_t *sum)
{
    int32_t k, i;
    for (k = 0; k < width; k++, w += all)
        for (i = 0; i < 4 && (uint32_t)(k - from) >= (uint32_t)n; i++)
            sum[i] = inlay_wrap_add(sum[i], of->zero * w[i]);
}

/* The sums of four channels of a pixel. */
INLAY_INLINE void inlay_qdw_four(const inlay_qdw *job,
                                 const inlay_qdw_window *window,
                                 const inlay_qdw_columns *inside,
                                 int32_t channel, int32_t *sum,
                                 inlay_qsign sign)
{
    const inlay_qtile *of = &job->of;
    const int8_t *w = of->weights + channel;
    const ptrdiff_t at = inside->at + channel;
    const ptrdiff_t before = inside->from * window->all;
    int32_t h;
    for (h = 0; h < window->rows; h++, w += window->width * window->all) {
        const uint8_t *line = window->line[h];
        const int32_t n = line ? inside->n : 0;
        if (n < window->width && of->zero)
            inlay_qdw_beside(of, w, window->all, window->width, inside->from, n,
                             sum);
        if (n)
            inlay_qdw_taps(of, line + at, window->tap, w + before, window->all,
                           n, sum, sign);
    }
}

INLAY_APART void inlay_qdw_four_signed(const inlay_qdw *job,
                                       const inlay_qdw_window *window,
                                       const inlay_qdw_columns *inside,
                                       int32_t channel, int32_t *sum)
{
    int32_t s[4];
    memcpy(s, job->start, sizeof s);
    inlay_qdw_four(job, window, inside, channel, s, INLAY_QSIGNED);
    memcpy(sum, s, sizeof s);
}

INLAY_APART void inlay_qdw_four_unsigned(const inlay_qdw *job,
                                         const inlay_qdw_window *window,
                                         const inlay_qdw_columns *inside,
                                         int32_t channel, int32_t *sum)
{
    int32_t s[4];
    memcpy(s, job->start, sizeof s);
    inlay_qdw_four(job, window, inside, channel, s, INLAY_QUNSIGNED);
    memcpy(sum, s, sizeof s);
}

/* Pixels [c, c + n), four channels from `channel` on. */
static inline void inlay_qdw_pixels_four(inlay_qdw *job, const inlay_qrow *row,
                                         const inlay_qdw_window *window,
                                         int32_t c, int32_t n, int32_t channel)
{
    const inlay_qresult *result = &job->of.result;
    const ptrdiff_t taps = (ptrdiff_t)window->rows * window->width;
    inlay_qfixed fixed;
    int32_t p;
    inlay_qdw_block(job, channel, 4);
    fixed.n = 4;
    fixed.scale = job->scale;
    fixed.suits =
        INLAY_QSOFT && inlay_qfixed_set(&fixed, result, taps, job->start);
    for (p = c; p < c + n; p++) {
        const inlay_qdw_columns inside = inlay_qdw_taps_of(job, p);
        void *y = inlay_qplace(result, row->y, p * job->of.ys + channel);
        int32_t sum[4];
        if (inlay_qflips(job->of.flip))
            inlay_qdw_four_signed(job, window, &inside, channel, sum);
        else
            inlay_qdw_four_unsigned(job, window, &inside, channel, sum);
        if (INLAY_QSOFT && fixed.suits)
            inlay_qfixed_bytes(result, &fixed, sum, (uint8_t *)y, NULL);
        else
            inlay_qresults(result, channel, 4, sum, job->scale, y);
    }
}

static inline int inlay_qdw_suits(const inlay_qdw *job)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)job->step->params;
    return params->flip == params->minus && !params->deep && !job->of.zw &&
           !job->of.zw_all && params->kd * params->kh <= INLAY_QDW_ROWS;
}

/* Pixels [c, c + n), whole fours of channels; returns the first of the rest. */
static inline int32_t inlay_qdw_plain_fours(inlay_qdw *job,
                                            const inlay_qrow *row, int32_t c,
                                            int32_t n)
{
    const int32_t whole = job->of.channels & ~3;
    inlay_qdw_window window;
    int32_t channel;
    if (!inlay_qdw_suits(job))
        return 0;
    window = inlay_qdw_window_of(job, row);
    for (channel = 0; channel < whole; channel += 4)
        inlay_qdw_pixels_four(job, row, &window, c, n, channel);
    return whole;
}

#endif
