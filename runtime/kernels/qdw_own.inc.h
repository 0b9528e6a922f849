/* SPDX-License-Identifier: 0BSD
 * Depthwise convolution by windows of 3 x 3 on small cores in C, a channel at a time: the numbers
 * of three rows of x lie side by side, [column][4 places], zero points where there is none, so that
 * a window is one stretch from one pointer and the weights stay in registers. Rows that windows
 * share stay there from one row of y to the next: row r has place r % 3. Included by
 * qdwconv_packed.h. */
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
    int shares;           /* do rows of y share rows of x? */
    int32_t next;         /* row of x after those that lie here */
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

/* A row: its first column inside x; NULL: there is none. */
INLAY_APART void inlay_qown_lay(const inlay_qown *own, const uint8_t *x,
                                int16_t *to)
{
    const inlay_qtile *of = &own->job->of;
    const ptrdiff_t pix = own->job->step->ref[1].pix;
    const int32_t flip = of->flip;
    const int32_t minus = of->minus;
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
        *to = (int16_t)((*x ^ flip) - minus);
    inlay_qown_outside(to, columns - from - own->inside, zero);
}

/* The rows of a window that begins with row `top`, whose place is `turn`. */
static inline void inlay_qown_rows(inlay_qown *own, int32_t channel,
                                   int32_t top, int32_t turn)
{
    const inlay_qdw_fresh fresh = inlay_qdw_fresh_of(
        top, own->job->step->backward, own->shares, &own->next);
    int32_t h;
    for (h = fresh.h; h < fresh.end; h++) {
        const int32_t place = turn + h < 3 ? turn + h : turn + h - 3;
        const int32_t r = top + h * own->params->dh;
        const int outside = r < 0 || r >= own->params->ih || !own->inside;
        inlay_qown_lay(own,
                       outside ? NULL : inlay_qdw_ring_at(&own->x, r) + channel,
                       own->number + place);
    }
}

/* Sums of n pixels, `step` numbers apart; w: of the row in place `turn`, `all` bytes from one to
 * the next. */
INLAY_APART void inlay_qown_sums(const int16_t *x, ptrdiff_t step,
                                 const int8_t *w, ptrdiff_t all, int32_t turn,
                                 int32_t *sum, int32_t n)
{
    const int8_t *const a = w + (turn ? 3 * (3 - turn) * all : 0);
    const int32_t second = turn < 2 ? 1 - turn : 2;
    const int8_t *const b = w + 3 * second * all;
    const int8_t *const c = w + 3 * (2 - turn) * all;
    const int32_t a0 = a[0], a1 = a[all], a2 = a[2 * all];
    const int32_t b0 = b[0], b1 = b[all], b2 = b[2 * all];
    const int32_t c0 = c[0], c1 = c[all], c2 = c[2 * all];
    int32_t *const end = sum + n;
    for (; sum < end; sum++, x += step) {
        int32_t v = x[0] * a0 + x[1] * b0 + x[2] * c0;
        v += x[4] * a1 + x[5] * b1 + x[6] * c1;
        v += x[8] * a2 + x[9] * b2 + x[10] * c2;
        *sum = v;
    }
}

/* Results of the row's pixels. */
static inline void inlay_qown_end(const inlay_qown *own, int32_t channel,
                                  const int32_t *sum, void *y)
{
    const inlay_qresult *result = &own->job->of.result;
    const ptrdiff_t ys = own->job->of.ys;
    int32_t i;
    if (INLAY_QSOFT && own->fixed.suits) {
        inlay_qfixed_line(result, &own->fixed, own->job->start[0], sum, own->n,
                          (uint8_t *)y, ys);
        return;
    }
    for (i = 0; i < own->n; i++) {
        const int32_t all = inlay_wrap_add(sum[i], own->job->start[0]);
        inlay_qresults(result, channel, 1, &all, own->job->scale,
                       inlay_qplace(result, y, i * ys));
    }
}

/* All rows of a channel. */
static inline void inlay_qown_channel(inlay_qown *own, int32_t channel)
{
    const int way = own->job->step->backward ? -1 : 1;
    const int32_t move = way * own->params->sh;
    const int32_t turns = own->shares ? (move % 3 + 3) % 3 : 0;
    const int8_t *const w = own->job->of.weights + channel;
    const ptrdiff_t step = own->params->sw * INLAY_QOWN_PLACES;
    int32_t top = own->lines.begun.row;
    int32_t turn = own->shares ? (top % 3 + 3) % 3 : 0;
    int32_t done;
    own->next = way < 0 ? top + 3 : top;
    inlay_qdw_block(own->job, channel, 1);
    own->fixed.n = 1;
    own->fixed.scale = own->job->scale;
    own->fixed.suits =
        INLAY_QSOFT &&
        inlay_qfixed_set(&own->fixed, &own->job->of.result, 9, own->job->start);
    for (done = 0; done < own->lines.n; done++, top += move) {
        void *y = inlay_qdw_ring_at(&own->y, way * done);
        int32_t sum[INLAY_QOWN_PIXELS];
        inlay_qown_rows(own, channel, top, turn);
        inlay_qown_sums(own->number, step, w, own->params->groups, turn, sum,
                        own->n);
        inlay_qown_end(own, channel, sum,
                       inlay_qplace(&own->job->of.result, y, channel));
        turn += turns;
        turn = turn < 3 ? turn : turn - 3;
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

static inline void inlay_qown_tile(inlay_qown *own)
{
    const inlay_qpacked_params *params = own->params;
    const inlay_qresult *result = &own->job->of.result;
    const int32_t first = own->c * params->sw - params->pw;
    const ptrdiff_t pix = own->job->step->ref[1].pix;
    const inlay_qrow *begun = &own->lines.begun;
    const int32_t plane = begun->image * params->id + begun->plane;
    const ptrdiff_t wide =
        result->kind == INLAY_QOUT_I32 || result->kind == INLAY_QOUT_F32 ? 4
                                                                         : 1;
    int32_t channel;
    own->columns = (own->n - 1) * params->sw + 3;
    own->inside = inlay_clip(first, 1, own->columns, params->iw, &own->from);
    if (begun->plane < 0 || begun->plane >= params->id)
        own->inside = 0;
    own->x = inlay_qdw_ring_of(own->job, 1, plane * params->ih,
                               (first + own->from) * pix);
    own->y = inlay_qdw_ring_of(own->job, 0, own->lines.r,
                               wide * own->c * own->job->of.ys);
    own->shares = own->lines.n > 1 && params->dh == 1;
    for (channel = 0; channel < params->groups; channel++)
        inlay_qown_channel(own, channel);
}

/* Rows [r0, r1) of y. */
static inline void inlay_qown_all(inlay_qdw *job, int32_t r0, int32_t r1)
{
    int32_t most, done, column, chunk;
    inlay_qown own;
    own.job = job;
    own.params = (const inlay_qpacked_params *)job->step->params;
    most = inlay_qdw_most(job, r1 - r0, INLAY_QOWN_PIXELS);
    chunk = most > 1 || inlay_qpacked_apart(job->base, job->step)
                ? (int32_t)INLAY_QOWN_PIXELS
                : (int32_t)INLAY_QPIXELS;
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
