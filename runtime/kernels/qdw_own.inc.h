/* SPDX-License-Identifier: 0BSD
 * Depthwise convolution by windows of 3 x 3 on small cores in C, a channel at a time: the numbers
 * of three rows of x lie side by side, [column][4 places], zero points where there is none, so that
 * a window is one stretch from one pointer and the weights stay in registers. Rows that windows
 * share stay where they are from one row of y to the next (qdw_lines.inc.h). Strides of columns are
 * one or two, x [H][W][C], y [OH][OW][C], weights [3][3][C]:
 *
 *   sum[c] = sum over h, k < 3: x[sh r + dh h - ph][sw p + k - pw][c] w[h][k][c]
 *
 * Included by qdwconv_packed.h, which says what sums begin with and what becomes of them. */
#ifndef INLAY_QDW_OWN_H
#define INLAY_QDW_OWN_H

enum {
    INLAY_QOWN_PIXELS = 8, /* the most of a row at a time */
    INLAY_QOWN_COLUMNS = 2 * INLAY_QOWN_PIXELS + 1,
    INLAY_QOWN_PLACES = 4
};

/* Columns [c, c + n) of y, one channel. */
typedef struct inlay_qown {
    inlay_qdw *job;
    const inlay_qpacked_params *params;
    inlay_qdw_lines lines;
    inlay_qdw_ring x, y;
    int32_t c, n;
    int32_t columns;      /* of the windows */
    int32_t from, inside; /* those that lie in x */
    inlay_qroom room;     /* of sums of nine products */
    inlay_qfixed fixed;
    int16_t number[INLAY_QOWN_COLUMNS * INLAY_QOWN_PLACES];
} inlay_qown;

/* n zero points. */
INLAY_INLINE int16_t *inlay_qown_outside(int16_t *to, int32_t n, int16_t zero)
{
    for (; n > 0; n--, to += INLAY_QOWN_PLACES)
        *to = zero;
    return to;
}

INLAY_INLINE int16_t inlay_qown_number(const inlay_qtile *of, uint8_t byte,
                                       int sign)
{
    return sign ? (int8_t)byte : (int16_t)((byte ^ of->flip) - of->minus);
}

/* A row: its first column inside x; NULL: there is none. */
INLAY_APART void inlay_qown_lay(const inlay_qown *own, const uint8_t *x,
                                int16_t *to)
{
    const inlay_qtile *of = &own->job->of;
    const ptrdiff_t pix = own->job->step->ref[1].pix;
    const int16_t zero = (int16_t)of->zero;
    const int32_t columns = own->columns;
    const int32_t from = own->from;
    int32_t n = own->inside;
    if (!x) {
        inlay_qown_outside(to, columns, zero);
        return;
    }
    to = inlay_qown_outside(to, from, zero);
    for (; n > 0; n--, to += INLAY_QOWN_PLACES, x += pix)
        *to = inlay_qown_number(of, *x, 0);
    inlay_qown_outside(to, columns - from - own->inside, zero);
}

/* Three rows, columns inside x. */
INLAY_INLINE void inlay_qown_three(const inlay_qown *own,
                                   const uint8_t *const *line, int32_t channel,
                                   int16_t *to, int sign)
{
    const inlay_qtile *of = &own->job->of;
    const ptrdiff_t pix = own->job->step->ref[1].pix;
    const uint8_t *a = line[0] + channel;
    const uint8_t *b = line[1] + channel;
    const uint8_t *c = line[2] + channel;
    int16_t *const end = to + own->inside * INLAY_QOWN_PLACES;
    ptrdiff_t at = 0;
    for (; to < end; to += INLAY_QOWN_PLACES, at += pix) {
        to[0] = inlay_qown_number(of, a[at], sign);
        to[1] = inlay_qown_number(of, b[at], sign);
        to[2] = inlay_qown_number(of, c[at], sign);
    }
}

/* The rows of a window. Zero points lie beside them and in place
 * of those that do not exist. */
INLAY_APART void inlay_qown_window(inlay_qown *own, const uint8_t *const *line,
                                   int32_t channel)
{
    const inlay_qtile *of = &own->job->of;
    int16_t *const to = own->number + own->from * INLAY_QOWN_PLACES;
    int32_t h;
    if (!line[0] || !line[1] || !line[2])
        for (h = 0; h < 3; h++)
            inlay_qown_lay(own, line[h] ? line[h] + channel : NULL,
                           own->number + h);
    else if (of->flip == 128 && of->minus == 128)
        inlay_qown_three(own, line, channel, to, 1);
    else
        inlay_qown_three(own, line, channel, to, 0);
}

/* The rows of a window. */
INLAY_INLINE void inlay_qown_rows(inlay_qown *own, int32_t channel,
                                  inlay_qdw_walk *walk)
{
    const inlay_qpacked_params *params = own->params;
    const inlay_qdw_fresh fresh = inlay_qdw_fresh_of(walk);
    int32_t h;
    for (h = fresh.h; h < fresh.end; h++) {
        const int32_t r = walk->top + h * params->dh;
        const uint8_t *x = NULL;
        if (r >= 0 && r < params->ih && own->inside)
            x = inlay_qdw_ring_at(&own->x, r) + channel;
        inlay_qown_lay(own, x, own->number + inlay_qdw_place(walk, h));
    }
}

/* ---- sums ---- */

/* Weights of a row of the window, `all` bytes from one to the next. */
typedef struct inlay_qown_taps {
    int32_t first, second, third;
} inlay_qown_taps;

INLAY_INLINE inlay_qown_taps inlay_qown_taps_of(const int8_t *w, ptrdiff_t all)
{
    inlay_qown_taps taps;
    taps.first = w[0];
    taps.second = w[all];
    taps.third = w[2 * all];
    return taps;
}

/* A sum that is made before the next product: compilers would make several at a time, for which
 * there are too few registers. */
#if defined __GNUC__
#define INLAY_QSTAYS(sum) __asm__("" : "+r"(sum))
#else
#define INLAY_QSTAYS(sum) (void)0
#endif

/* Adds a column of the window, by the weights of its places, to a sum. */
INLAY_INLINE int32_t inlay_qown_column(const int16_t *x, int32_t a, int32_t b,
                                       int32_t c, int32_t sum)
{
    sum += x[0] * a;
    INLAY_QSTAYS(sum);
    sum += x[1] * b;
    INLAY_QSTAYS(sum);
    sum += x[2] * c;
    INLAY_QSTAYS(sum);
    return sum;
}

/* Sums of n pixels, `step` numbers apart; w: of the row in place `turn`, `all` bytes from one to
 * the next. */
INLAY_APART void inlay_qown_sums(const int16_t *x, ptrdiff_t step,
                                 const int8_t *w, ptrdiff_t all, int32_t turn,
                                 int32_t *sum, int32_t n)
{
    const ptrdiff_t row = 3 * all;
    const int32_t first = turn ? 3 - turn : 0;
    const int32_t second = turn < 2 ? 1 - turn : 2;
    const int32_t third = 2 - turn;
    const inlay_qown_taps a = inlay_qown_taps_of(w + first * row, all);
    const inlay_qown_taps b = inlay_qown_taps_of(w + second * row, all);
    const inlay_qown_taps c = inlay_qown_taps_of(w + third * row, all);
    int32_t *const end = sum + n;
    for (; sum < end; sum++, x += step) {
        int32_t v = inlay_qown_column(x, a.first, b.first, c.first, 0);
        v = inlay_qown_column(x + 4, a.second, b.second, c.second, v);
        *sum = inlay_qown_column(x + 8, a.third, b.third, c.third, v);
    }
}

/* What becomes of a channel's sums. */
static inline void inlay_qown_begin(inlay_qown *own, int32_t channel)
{
    inlay_qdw *job = own->job;
    const inlay_qresult *result = &job->of.result;
    inlay_qfixed *fixed = &own->fixed;
    int32_t start = job->of.bias[channel];
    if (job->of.sums) {
        const int32_t off = inlay_wrap_mul(job->of.zero, job->of.sums[channel]);
        start = inlay_wrap_add(start, -off);
    }
    job->start[0] = start;
    if (result->kind != INLAY_QOUT_I32)
        inlay_qscales(result, channel, 1, job->scale);
    fixed->suits =
        own->room.most && inlay_qfixed_take(fixed, &own->room, &start);
}

/* Results of the row's pixels. */
static inline void inlay_qown_end(const inlay_qown *own, int32_t channel,
                                  const int32_t *sum, void *y)
{
    const inlay_qresult *result = &own->job->of.result;
    const inlay_qdw *job = own->job;
    const int32_t start = job->start[0];
    const ptrdiff_t ys = job->of.ys;
    int32_t i;
    if (INLAY_QSOFT && own->fixed.suits) {
        inlay_qfixed_line(result, &own->fixed, start, sum, own->n, (uint8_t *)y,
                          ys);
        return;
    }
    for (i = 0; i < own->n; i++) {
        const int32_t all = inlay_wrap_add(sum[i], start);
        inlay_qresults(result, channel, 1, &all, job->scale,
                       inlay_qplace(result, y, i * ys));
    }
}

/* ---- some columns of some rows ---- */

/* All rows of a channel. */
static inline void inlay_qown_channel(inlay_qown *own, int32_t channel)
{
    const int8_t *const w = own->job->of.weights + channel;
    const ptrdiff_t all = own->params->groups;
    const ptrdiff_t step = own->params->sw * INLAY_QOWN_PLACES;
    inlay_qdw_walk walk = inlay_qdw_walk_of(own->job, &own->lines);
    int32_t left;
    inlay_qown_begin(own, channel);
    for (left = own->lines.n; left > 0; left--) {
        void *row = inlay_qdw_ring_at(&own->y, walk.y);
        void *y = inlay_qplace(&own->job->of.result, row, channel);
        int32_t sum[INLAY_QOWN_PIXELS];
        inlay_qown_rows(own, channel, &walk);
        inlay_qown_sums(own->number, step, w, all, walk.turn, sum, own->n);
        inlay_qown_end(own, channel, sum, y);
        inlay_qdw_walk_on(&walk);
    }
}

/* The rows of x under the window of one row of y: their first column inside; NULL: there is none.
 * Zero points are laid in place of all numbers. */
static inline void inlay_qown_lines(inlay_qown *own, const uint8_t **line)
{
    const inlay_qpacked_params *params = own->params;
    int32_t r = own->lines.begun.row;
    int32_t h;
    for (h = 0; h < 3; h++, r += params->dh) {
        line[h] = NULL;
        if (r >= 0 && r < params->ih && own->inside)
            line[h] = inlay_qdw_ring_at(&own->x, r);
        inlay_qown_lay(own, NULL, own->number + h);
    }
}

/* One row, all channels: where rows of x lie is the same for each. */
static inline void inlay_qown_single(inlay_qown *own)
{
    const inlay_qpacked_params *params = own->params;
    const inlay_qresult *result = &own->job->of.result;
    const int8_t *w = own->job->of.weights;
    const ptrdiff_t step = params->sw * INLAY_QOWN_PLACES;
    void *const y = inlay_qdw_ring_at(&own->y, 0);
    const uint8_t *line[3];
    int32_t channel;
    inlay_qown_lines(own, line);
    for (channel = 0; channel < params->groups; channel++) {
        int32_t sum[INLAY_QOWN_PIXELS];
        inlay_qown_begin(own, channel);
        inlay_qown_window(own, line, channel);
        inlay_qown_sums(own->number, step, w + channel, params->groups, 0, sum,
                        own->n);
        inlay_qown_end(own, channel, sum, inlay_qplace(result, y, channel));
    }
}

static inline int inlay_qown_suits(const inlay_qdw *job)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)job->step->params;
    if (params->kd != 1 || params->kh != 3 || params->kw != 3)
        return 0;
    return params->dw == 1 && params->sw <= 2 && !params->deep && !job->of.zw &&
           !job->of.zw_all;
}

/* Where the columns lie. */
static inline void inlay_qown_set(inlay_qown *own)
{
    const inlay_qdw *job = own->job;
    const inlay_qpacked_params *params = own->params;
    const inlay_qdw_lines *lines = &own->lines;
    const int32_t first = own->c * params->sw - params->pw;
    const int32_t plane = lines->begun.plane;
    ptrdiff_t at;
    own->columns = (own->n - 1) * params->sw + 3;
    own->inside = inlay_clip(first, 1, own->columns, params->iw, &own->from);
    if (plane < 0 || plane >= params->id)
        own->inside = 0;
    at = (first + own->from) * (ptrdiff_t)job->step->ref[1].pix;
    own->x = inlay_qdw_ring_of_x(job, lines, at);
    own->y = inlay_qdw_ring_of(job, 0, lines->r, 0);
    own->y.at = (unsigned char *)inlay_qplace(&job->of.result, own->y.at,
                                              own->c * job->of.ys);
}

/* Some columns of some rows. */
static inline void inlay_qown_tile(inlay_qown *own)
{
    int32_t channel;
    inlay_qown_set(own);
    if (own->lines.n == 1) {
        inlay_qown_single(own);
        return;
    }
    for (channel = 0; channel < own->params->groups; channel++)
        inlay_qown_channel(own, channel);
}

/* Rows [r0, r1) of y. */
static inline void inlay_qown_all(inlay_qdw *job, int32_t r0, int32_t r1)
{
    int32_t most, done, column, chunk;
    inlay_qown own;
    own.job = job;
    own.params = (const inlay_qpacked_params *)job->step->params;
    own.room = inlay_qroom_of(&job->of.result, 9);
    own.fixed.n = 1;
    own.fixed.scale = job->scale;
    most = inlay_qdw_most(job, r1 - r0, INLAY_QOWN_PIXELS);
    chunk = INLAY_QOWN_PIXELS;
    if (most == 1 && !inlay_qpacked_apart(job->base, job->step, r0, r1))
        chunk = INLAY_QPIXELS;
    for (done = 0; done < r1 - r0; done += own.lines.n) {
        own.lines = inlay_qdw_lines_of(job, r0, r1, done, most);
        for (column = 0; column < own.params->ow; column += own.n) {
            const int32_t left = own.params->ow - column;
            own.n = left < chunk ? left : chunk;
            own.c = job->step->backward ? left - own.n : column;
            inlay_qown_tile(&own);
        }
    }
}

#endif
