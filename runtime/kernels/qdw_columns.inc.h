/* SPDX-License-Identifier: 0BSD
 * Depthwise convolution by windows of 3 x 3 at a stride of one or two in Helium vectors, eight
 * channels at a time. Scratch has columns of x as in qdw_mve.inc.h, of rows in four places: a row
 * has the place of its number, so that those that windows share stay there from one row of y to the
 * next, and weights turn instead. That of the fourth row is 0. Zero points lie beside the columns
 * of x, the same for all channels. */
#ifndef INLAY_QDW_COLUMNS_H
#define INLAY_QDW_COLUMNS_H

enum { INLAY_MVE_PLACES = 4 };

/* Columns [c, c + n) of y. */
typedef struct inlay_mve_columns {
    const inlay_qdw *job;
    const inlay_qpacked_params *params;
    inlay_qdw_lines lines;
    inlay_qdw_ring x, y;
    int32_t c, n;
    inlay_mve_span span; /* of x */
    uint8_t *scratch;
    inlay_mve_made made;
} inlay_mve_columns;

/* ---- rows of x ---- */

/* A row of x at its first column inside; bytes to the next, and to the next eight channels. Zero
 * points where there is none. */
typedef struct inlay_mve_source {
    const uint8_t *x;
    ptrdiff_t step, eight;
} inlay_mve_source;

/* Row r of the plane of the windows, at a channel. */
INLAY_INLINE inlay_mve_source inlay_mve_columns_at(const inlay_mve_columns *of,
                                                   int32_t r, int32_t channel)
{
    const int32_t plane = of->lines.begun.plane;
    inlay_mve_source from = { of->job->pad, 0, 0 };
    if (plane < 0 || plane >= of->params->id || r < 0 || r >= of->params->ih)
        return from;
    from.x = inlay_qdw_ring_at(&of->x, r) + channel;
    from.step = of->job->step->ref[1].pix;
    from.eight = INLAY_QDEEP_LANES;
    return from;
}

/* The three of a window. */
INLAY_INLINE void inlay_mve_columns_from(const inlay_mve_columns *of, int32_t r,
                                         int32_t channel,
                                         inlay_mve_source *from)
{
    int32_t h;
    for (h = 0; h < 3; h++, r += of->params->dh)
        from[h] = inlay_mve_columns_at(of, r, channel);
}

/* Numbers of eight channels. */
INLAY_INLINE uint16x8_t inlay_mve_columns_eight(const uint8_t *x,
                                                uint16x8_t flip)
{
    const uint16x8_t v = vldrbq_u16(x);
    return INLAY_QUSES(INLAY_QUSE_SHIFTED) ? veorq_u16(v, flip) : v;
}

/* Channels of a column. */
INLAY_INLINE uint16x8_t inlay_mve_columns_lanes(const inlay_mve_columns *of)
{
    return vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)of->made.plane);
}
INLAY_INLINE uint8_t *inlay_mve_columns_to(const inlay_mve_columns *of)
{
    return of->scratch + of->span.before * INLAY_MVE_PLACES;
}
INLAY_INLINE uint16x8_t inlay_mve_columns_flip(const inlay_mve_columns *of)
{
    return vdupq_n_u16((uint8_t)(of->params->flip ^ 128));
}

/* A row to its place. */
INLAY_APART void inlay_mve_columns_row(const inlay_mve_columns *of,
                                       inlay_mve_source from, int32_t place)
{
    const uint16x8_t lanes = inlay_mve_columns_lanes(of);
    const uint16x8_t flip = inlay_mve_columns_flip(of);
    uint8_t *to = inlay_mve_columns_to(of) + place;
    int32_t n;
    for (n = of->span.n; n > 0; n--, to += INLAY_MVE_PLACES) {
        const uint16x8_t v = inlay_mve_columns_eight(from.x, flip);
        vstrbq_scatter_offset_u16(to, lanes, v);
        from.x += from.step;
    }
}

/* All rows of a window to the first places. */
INLAY_INLINE void inlay_mve_columns_rows(const inlay_mve_columns *of,
                                         const inlay_mve_source *from)
{
    const uint16x8_t lanes = inlay_mve_columns_lanes(of);
    const uint16x8_t third = vaddq_n_u16(lanes, 2);
    const uint16x8_t flip = inlay_mve_columns_flip(of);
    uint8_t *to = inlay_mve_columns_to(of);
    const uint8_t *a = from[0].x;
    const uint8_t *b = from[1].x;
    const uint8_t *c = from[2].x;
    const ptrdiff_t step_a = from[0].step;
    const ptrdiff_t step_b = from[1].step;
    const ptrdiff_t step_c = from[2].step;
    int32_t n;
    for (n = of->span.n; n > 0; n--, to += INLAY_MVE_PLACES) {
        uint16x8_t v = inlay_mve_columns_eight(a, flip);
        v = vsliq_n_u16(v, inlay_mve_columns_eight(b, flip), 8);
        vstrhq_scatter_offset_u16((uint16_t *)(void *)to, lanes, v);
        v = inlay_mve_columns_eight(c, flip);
        vstrbq_scatter_offset_u16(to, third, v);
        a += step_a;
        b += step_b;
        c += step_c;
    }
}

/* ---- channels ---- */

/* n channels of a row of y, from `channel` on; the rows of their windows are brought from `from`,
 * if they do not lie in scratch. */
INLAY_INLINE void inlay_mve_columns_make(inlay_mve_columns *of,
                                         inlay_mve_source *from,
                                         int32_t channel, int32_t n, uint8_t *y,
                                         const int next)
{
    inlay_mve_three_begin(&of->made, channel, y);
    for (; n > 0; n -= INLAY_QDEEP_LANES) {
        if (from) {
            inlay_mve_columns_rows(of, from);
            from[0].x += from[0].eight;
            from[1].x += from[1].eight;
            from[2].x += from[2].eight;
        }
        inlay_mve_three_eight(&of->made, next);
    }
}

INLAY_APART void inlay_mve_columns_near(inlay_mve_columns *of,
                                        inlay_mve_source *from, int32_t channel,
                                        int32_t n, uint8_t *y)
{
    inlay_mve_columns_make(of, from, channel, n, y, INLAY_MVE_PLACES);
}

INLAY_APART void inlay_mve_columns_far(inlay_mve_columns *of,
                                       inlay_mve_source *from, int32_t channel,
                                       int32_t n, uint8_t *y)
{
    inlay_mve_columns_make(of, from, channel, n, y, 2 * INLAY_MVE_PLACES);
}

static inline void inlay_mve_columns_some(inlay_mve_columns *of,
                                          inlay_mve_source *from,
                                          int32_t channel, int32_t n,
                                          uint8_t *y)
{
    if (inlay_qdw_is_far(of->params))
        inlay_mve_columns_far(of, from, channel, n, y);
    else
        inlay_mve_columns_near(of, from, channel, n, y);
}

/* ---- some columns of some rows ---- */

/* Windows of 3 x 3 whose results are bytes, and rows of x in the room of columns. */
static inline int inlay_mve_columns_suit(const inlay_qdw *job)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)job->step->params;
    if (!INLAY_QUSES(INLAY_QUSE_MORE | INLAY_QUSE_DW_ANY |
                     INLAY_QUSE_DW_DIRECT))
        return 1;
    if (params->kd != 1 || params->kh != 3 || params->kw != 3)
        return 0;
    return params->dw == 1 && params->sw <= 2 && params->gather > 1 &&
           inlay_mve_is_simple(&job->of);
}

static inline void inlay_mve_columns_set(inlay_mve_columns *of)
{
    const inlay_qpacked_params *params = of->params;
    const int32_t first = of->c * params->sw - params->pw;
    const int32_t columns = (of->n - 1) * params->sw + 3;
    const ptrdiff_t pix = of->job->step->ref[1].pix;
    inlay_mve_made_begin(&of->made, &of->job->of, of->n);
    of->span = inlay_mve_span_of(first, columns, params->iw);
    of->x = inlay_qdw_ring_of_x(of->job, &of->lines, of->span.at * pix);
    of->y = inlay_qdw_ring_of(of->job, 0, of->lines.r, of->c * of->job->of.ys);
}

/* Zero points in n columns of all channels. */
static inline void inlay_mve_columns_zero(const inlay_mve_columns *of,
                                          uint8_t *to, int32_t n)
{
    const uint32_t plane = (uint32_t)of->made.plane;
    const uint32x4_t lanes = vmulq_n_u32(vidupq_n_u32(0, 1), plane);
    const uint8_t zero = of->job->pad[0] ^ (uint8_t)of->params->flip ^ 128;
    const uint32x4_t all = vreinterpretq_u32_u8(vdupq_n_u8(zero));
    for (; n > 0; n--, to += INLAY_MVE_PLACES) {
        uint32_t *const four = (uint32_t *)(void *)to;
        vstrwq_scatter_offset_u32(four, lanes, all);
        vstrwq_scatter_offset_u32(four + plane, lanes, all);
    }
}

/* In those beside x, which no row changes. */
static inline void inlay_mve_columns_beside(const inlay_mve_columns *of)
{
    uint8_t *const first = inlay_mve_columns_to(of);
    inlay_mve_columns_zero(of, of->scratch, of->span.before);
    inlay_mve_columns_zero(of, first + of->span.n * INLAY_MVE_PLACES,
                           of->span.behind);
}

/* Brings the rows of a window that do not lie in scratch yet; 0: those are all, and the caller is
 * told where they are. */
static inline int inlay_mve_columns_bring(inlay_mve_columns *of,
                                          int32_t channel, inlay_qdw_walk *walk,
                                          int32_t *base, inlay_mve_source *from)
{
    const inlay_qdw_fresh fresh = inlay_qdw_fresh_of(walk);
    const int all = fresh.h == 0 && fresh.end == 3;
    int32_t h;
    if (all) {
        *base = walk->top;
        inlay_mve_columns_from(of, walk->top, channel, from);
    }
    for (h = fresh.h; !all && h < fresh.end; h++) {
        const int32_t r = walk->top + h;
        inlay_mve_columns_row(of, inlay_mve_columns_at(of, r, channel),
                              (r - *base) & (INLAY_MVE_PLACES - 1));
    }
    of->made.turn = (walk->top - *base) & (INLAY_MVE_PLACES - 1);
    return !all;
}

/* All rows of eight channels. */
static inline void inlay_mve_columns_lines(inlay_mve_columns *of,
                                           int32_t channel)
{
    inlay_qdw_walk walk = inlay_qdw_walk_of(of->job, &of->lines);
    int32_t base = 0;
    int32_t left;
    for (left = of->lines.n; left > 0; left--) {
        uint8_t *const y = inlay_qdw_ring_at(&of->y, walk.y);
        inlay_mve_source from[3];
        const int lie =
            inlay_mve_columns_bring(of, channel, &walk, &base, from);
        inlay_mve_columns_some(of, lie ? NULL : from, channel,
                               INLAY_QDEEP_LANES, y);
        inlay_qdw_walk_on(&walk);
    }
}

/* The last channels, fewer than eight. */
INLAY_APART void inlay_mve_columns_other(inlay_mve_columns *of, int32_t channel)
{
    int32_t done;
    for (done = 0; done < of->lines.n; done++) {
        const inlay_qrow row = inlay_qdw_line_at(of->job, &of->lines, done);
        inlay_mve_dw dw;
        dw.job = of->job;
        dw.row = &row;
        dw.c = of->c;
        dw.pixels = of->n;
        dw.made = &of->made;
        inlay_mve_dw_begin(&dw);
        inlay_mve_dw_eight(&dw, channel, 1);
    }
}

/* One row: where those of x lie is the same for all channels. */
static inline void inlay_mve_columns_single(inlay_mve_columns *of, int32_t n)
{
    inlay_mve_source from[3];
    inlay_mve_columns_from(of, of->lines.begun.row, 0, from);
    inlay_mve_columns_some(of, from, 0, n, inlay_qdw_ring_at(&of->y, 0));
}

/* Some rows. */
static inline void inlay_mve_columns_many(inlay_mve_columns *of)
{
    const int32_t channels = of->job->of.channels;
    const int32_t end = channels - channels % INLAY_QDEEP_LANES;
    int32_t channel;
    inlay_mve_columns_beside(of);
    if (of->lines.n == 1)
        inlay_mve_columns_single(of, end);
    else
        for (channel = 0; channel < end; channel += INLAY_QDEEP_LANES)
            inlay_mve_columns_lines(of, channel);
    if (end < channels)
        inlay_mve_columns_other(of, end);
}

static inline void inlay_mve_columns_begin(const inlay_qdw *job,
                                           inlay_mve_columns *of)
{
    of->job = job;
    of->params = (const inlay_qpacked_params *)job->step->params;
    of->scratch = (uint8_t *)inlay_at(job->base, job->step, 10);
    of->made.scratch = of->scratch;
    of->made.plane = inlay_qdeep_plane(of->params);
    of->made.next = INLAY_MVE_PLACES * of->params->sw;
    of->made.window = INLAY_MVE_THREE;
}

/* Rows [r0, r1) of y; chunk: pixels at a time where rows go one by one. */
static inline void inlay_mve_columns_all(const inlay_qdw *job, int32_t r0,
                                         int32_t r1, int32_t chunk)
{
    inlay_mve_columns of;
    int32_t most, done, column;
    inlay_mve_columns_begin(job, &of);
    most = inlay_qdw_most(job, r1 - r0, of.params->gather);
    if (most > 1)
        chunk = of.params->gather;
    for (done = 0; done < r1 - r0; done += of.lines.n) {
        of.lines = inlay_qdw_lines_of(job, r0, r1, done, most);
        for (column = 0; column < of.params->ow; column += of.n) {
            const int32_t left = of.params->ow - column;
            of.n = left < chunk ? left : chunk;
            of.c = job->step->backward ? left - of.n : column;
            inlay_mve_columns_set(&of);
            inlay_mve_columns_many(&of);
        }
    }
}

#endif
