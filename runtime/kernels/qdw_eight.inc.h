/* SPDX-License-Identifier: 0BSD
 * Depthwise convolution by windows of 3 x 3 at a stride of one or two in Helium vectors: eight
 * channels of two pixels at a time, as lanes of 16 bits. Two products share a lane before they are
 * added to sums of 32 bits: 2 * 128 * 127 fits, so no weight may be -128.
 *
 * Scratch has the numbers of three rows of x, [row][column][8], zero points where there is none;
 * rows that windows share stay there from one row of y to the next (qdw_lines.inc.h). Sums of the
 * channels 0 2 4 6 and 1 3 5 7 are vectors. Included by qdw_mve.inc.h. */
#ifndef INLAY_QDW_EIGHT_H
#define INLAY_QDW_EIGHT_H

enum { INLAY_MVE_TAPS = 9, INLAY_MVE_WINDOW = 12 };

/* What eight channels have: weights, and what becomes of their sums. */
typedef struct inlay_mve_eight_channels {
    int8_t w[INLAY_MVE_TAPS][INLAY_QDEEP_LANES];
    int32x4x2_t start;
    float32x4x2_t scale;
} inlay_mve_eight_channels;

/* Columns [c, c + n) of y. */
typedef struct inlay_mve_eights {
    const inlay_qdw *job;
    const inlay_qpacked_params *params;
    inlay_qdw_lines lines;
    inlay_qdw_ring x, y;
    int32_t c, n;
    inlay_mve_span span; /* of x */
    int32_t row;         /* bytes of a row in scratch */
    uint8_t *scratch;
    inlay_mve_byte byte;
} inlay_mve_eights;

/* ---- rows of x ---- */

/* Is there row r of x in the plane of the windows? */
static inline int inlay_mve_eights_has(const inlay_mve_eights *of, int32_t r)
{
    const int32_t plane = of->lines.begun.plane;
    return plane >= 0 && plane < of->params->id && r >= 0 && r < of->params->ih;
}

/* Eight bytes with their sign. */
INLAY_INLINE uint16x8_t inlay_mve_eights_at(const uint8_t *x, uint16x8_t flip)
{
    const uint16x8_t v = vldrbq_u16(x);
    return INLAY_QUSES(INLAY_QUSE_SHIFTED) ? veorq_u16(v, flip) : v;
}

/* A row, from the first column inside x on; NULL: there is none. */
INLAY_APART void inlay_mve_eights_lay(const inlay_mve_eights *of,
                                      const uint8_t *x, uint8_t *to)
{
    const inlay_qpacked_params *params = of->params;
    const uint8_t byte = (uint8_t)(params->flip ^ 128);
    const uint16x8_t flip = vdupq_n_u16(byte);
    const uint16x8_t zero = vdupq_n_u16(of->job->pad[0] ^ byte);
    const ptrdiff_t pix = of->job->step->ref[1].pix;
    const int32_t inside = x ? of->span.n : 0;
    const int32_t before = x ? of->span.before : of->row / INLAY_QDEEP_LANES;
    const int32_t behind = x ? of->span.behind : 0;
    int32_t i;
    for (i = before; i > 0; i--, to += INLAY_QDEEP_LANES)
        vstrbq_u16(to, zero);
    for (i = inside; i > 0; i--, to += INLAY_QDEEP_LANES, x += pix)
        vstrbq_u16(to, inlay_mve_eights_at(x, flip));
    for (i = behind; i > 0; i--, to += INLAY_QDEEP_LANES)
        vstrbq_u16(to, zero);
}

/* The rows of a window. */
INLAY_INLINE void inlay_mve_eights_rows(const inlay_mve_eights *of,
                                        int32_t channel, inlay_qdw_walk *walk,
                                        const uint8_t **rows)
{
    const inlay_qpacked_params *params = of->params;
    const inlay_qdw_fresh fresh = inlay_qdw_fresh_of(walk);
    int32_t place = walk->turn;
    int32_t h;
    for (h = 0; h < 3; h++) {
        const int32_t r = walk->top + h * params->dh;
        uint8_t *to = of->scratch + place * of->row;
        rows[h] = to;
        place = place < 2 ? place + 1 : 0;
        if (h < fresh.h || h >= fresh.end)
            continue;
        if (inlay_mve_eights_has(of, r))
            inlay_mve_eights_lay(of, inlay_qdw_ring_at(&of->x, r) + channel,
                                 to);
        else
            inlay_mve_eights_lay(of, NULL, to);
    }
}

/* Rows of a window, eight channels from `channel` on. Zero points lie beside them and in place of
 * rows that do not exist. */
INLAY_APART void inlay_mve_eights_window(const inlay_mve_eights *of,
                                         const uint8_t *const *line,
                                         int32_t channel)
{
    const uint16x8_t flip = vdupq_n_u16((uint16_t)(of->params->flip ^ 128));
    const ptrdiff_t pix = of->job->step->ref[1].pix;
    const ptrdiff_t next = of->row;
    const int32_t inside = of->span.n;
    uint8_t *first = of->scratch + of->span.before * INLAY_QDEEP_LANES;
    int32_t h, i;
    for (h = 0; h < 3; h++, first += next) {
        const uint8_t *x = line[h];
        uint8_t *to = first;
        if (!x)
            continue;
        x += channel;
        for (i = inside; i > 0; i--, to += INLAY_QDEEP_LANES, x += pix)
            vstrbq_u16(to, inlay_mve_eights_at(x, flip));
    }
}

/* ---- weights ---- */

/* Those of eight channels from `channel` on, which lie [channel][column][row]; can their products
 * share lanes? */
static inline int inlay_mve_eights_begin(const inlay_mve_eights *of,
                                         int32_t channel,
                                         inlay_mve_eight_channels *to)
{
    const inlay_qtile *tile = &of->job->of;
    const int8_t *w = tile->weights + channel * INLAY_MVE_WINDOW;
    const uint16x8_t lane = vmulq_n_u16(vidupq_n_u16(0, 1), INLAY_MVE_WINDOW);
    int16x8_t least = vdupq_n_s16(0);
    int32_t h, k;
    INLAY_UNROLL
    for (h = 0; h < 3; h++)
        INLAY_UNROLL
    for (k = 0; k < 3; k++) {
        const int8_t *tap = w + k * (INLAY_MVE_WINDOW / 3) + h;
        const int16x8_t v = vldrbq_gather_offset_s16(tap, lane);
        vstrbq_s16(to->w[3 * h + k], v);
        least = vminq_s16(least, v);
    }
    to->start = vld2q_s32(tile->bias + channel);
    to->scale.val[0] = vdupq_n_f32(*tile->result.scale);
    to->scale.val[1] = to->scale.val[0];
    if (tile->result.each)
        to->scale = vld2q_f32(tile->result.scale + channel);
    return vminvq_s16(0, least) > -128;
}

/* ---- sums ---- */

/* Sums of two pixels, of even and odd channels. */
typedef struct inlay_mve_eight_sums {
    int32x4_t a0, a1, b0, b1;
} inlay_mve_eight_sums;

/* q0: weights of a tap, q1: numbers, q2, q3: products of the two pixels. Two taps share lanes:
 * their weights lie wt bytes from w on, the first one's numbers xt bytes from x on, the second
 * one's yt bytes from y on. */
#define INLAY_M8_IO2 [a0] "+w"(a0), [a1] "+w"(a1)
#define INLAY_M8_IO4 INLAY_M8_IO2, [b0] "+w"(b0), [b1] "+w"(b1)
#define INLAY_M8_FROM [w] "l"(w), [x] "l"(x), [y] "l"(y), [wt] "i"(wt)
#define INLAY_M8_PAIR INLAY_M8_FROM, [xt] "i"(xt), [yt] "i"(yt)

/* Two taps of two pixels that lie `next` bytes apart. */
INLAY_INLINE void inlay_mve_eight_taps2(inlay_mve_eight_sums *sums,
                                        const int8_t *w, const int wt,
                                        const uint8_t *x, const int xt,
                                        const uint8_t *y, const int yt,
                                        const int next)
{
    int32x4_t a0 = sums->a0;
    int32x4_t a1 = sums->a1;
    int32x4_t b0 = sums->b0;
    int32x4_t b1 = sums->b1;
    __asm__ volatile("vldrb.s16 q0, [%[w], #%c[wt]]\n"
                     "vldrb.s16 q1, [%[x], #%c[xt]]\n"
                     "vmul.i16 q2, q1, q0\n"
                     "vldrb.s16 q1, [%[x], #%c[xt]+%c[next]]\n"
                     "vmul.i16 q3, q1, q0\n"
                     "vldrb.s16 q0, [%[w], #%c[wt]+8]\n"
                     "vldrb.s16 q1, [%[y], #%c[yt]]\n"
                     "vmul.i16 q1, q1, q0\n"
                     "vadd.i16 q2, q2, q1\n"
                     "vldrb.s16 q1, [%[y], #%c[yt]+%c[next]]\n"
                     "vmul.i16 q1, q1, q0\n"
                     "vadd.i16 q3, q3, q1\n"
                     "vmovlb.s16 q1, q2\n"
                     "vadd.i32 %q[a0], %q[a0], q1\n"
                     "vmovlt.s16 q1, q2\n"
                     "vadd.i32 %q[a1], %q[a1], q1\n"
                     "vmovlb.s16 q1, q3\n"
                     "vadd.i32 %q[b0], %q[b0], q1\n"
                     "vmovlt.s16 q1, q3\n"
                     "vadd.i32 %q[b1], %q[b1], q1\n"
                     : INLAY_M8_IO4
                     : INLAY_M8_PAIR, [next] "i"(next)
                     : "memory", "q0", "q1", "q2", "q3");
    sums->a0 = a0;
    sums->a1 = a1;
    sums->b0 = b0;
    sums->b1 = b1;
}

/* The last tap. */
INLAY_INLINE void inlay_mve_eight_tap2(inlay_mve_eight_sums *sums,
                                       const int8_t *w, const int wt,
                                       const uint8_t *x, const int xt,
                                       const int next)
{
    int32x4_t a0 = sums->a0;
    int32x4_t a1 = sums->a1;
    int32x4_t b0 = sums->b0;
    int32x4_t b1 = sums->b1;
    __asm__ volatile(
        "vldrb.s16 q0, [%[w], #%c[wt]]\n"
        "vldrb.s16 q1, [%[x], #%c[xt]]\n"
        "vmul.i16 q2, q1, q0\n"
        "vldrb.s16 q1, [%[x], #%c[xt]+%c[next]]\n"
        "vmul.i16 q3, q1, q0\n"
        "vmovlb.s16 q1, q2\n"
        "vadd.i32 %q[a0], %q[a0], q1\n"
        "vmovlt.s16 q1, q2\n"
        "vadd.i32 %q[a1], %q[a1], q1\n"
        "vmovlb.s16 q1, q3\n"
        "vadd.i32 %q[b0], %q[b0], q1\n"
        "vmovlt.s16 q1, q3\n"
        "vadd.i32 %q[b1], %q[b1], q1\n"
        : INLAY_M8_IO4
        : [w] "l"(w), [x] "l"(x), [wt] "i"(wt), [xt] "i"(xt), [next] "i"(next)
        : "memory", "q0", "q1", "q2", "q3");
    sums->a0 = a0;
    sums->a1 = a1;
    sums->b0 = b0;
    sums->b1 = b1;
}

/* The same of one pixel. */
INLAY_INLINE void inlay_mve_eight_taps1(inlay_mve_eight_sums *sums,
                                        const int8_t *w, const int wt,
                                        const uint8_t *x, const int xt,
                                        const uint8_t *y, const int yt)
{
    int32x4_t a0 = sums->a0;
    int32x4_t a1 = sums->a1;
    __asm__ volatile("vldrb.s16 q0, [%[w], #%c[wt]]\n"
                     "vldrb.s16 q1, [%[x], #%c[xt]]\n"
                     "vmul.i16 q2, q1, q0\n"
                     "vldrb.s16 q0, [%[w], #%c[wt]+8]\n"
                     "vldrb.s16 q1, [%[y], #%c[yt]]\n"
                     "vmul.i16 q1, q1, q0\n"
                     "vadd.i16 q2, q2, q1\n"
                     "vmovlb.s16 q1, q2\n"
                     "vadd.i32 %q[a0], %q[a0], q1\n"
                     "vmovlt.s16 q1, q2\n"
                     "vadd.i32 %q[a1], %q[a1], q1\n"
                     : INLAY_M8_IO2:INLAY_M8_PAIR
                     : "memory", "q0", "q1", "q2");
    sums->a0 = a0;
    sums->a1 = a1;
}
INLAY_INLINE void inlay_mve_eight_tap1(inlay_mve_eight_sums *sums,
                                       const int8_t *w, const int wt,
                                       const uint8_t *x, const int xt)
{
    int32x4_t a0 = sums->a0;
    int32x4_t a1 = sums->a1;
    __asm__ volatile("vldrb.s16 q0, [%[w], #%c[wt]]\n"
                     "vldrb.s16 q1, [%[x], #%c[xt]]\n"
                     "vmul.i16 q2, q1, q0\n"
                     "vmovlb.s16 q1, q2\n"
                     "vadd.i32 %q[a0], %q[a0], q1\n"
                     "vmovlt.s16 q1, q2\n"
                     "vadd.i32 %q[a1], %q[a1], q1\n"
                     : INLAY_M8_IO2
                     : [w] "l"(w), [x] "l"(x), [wt] "i"(wt), [xt] "i"(xt)
                     : "memory", "q0", "q1", "q2");
    sums->a0 = a0;
    sums->a1 = a1;
}

/* The nine taps of two pixels, `sw` columns apart. */
INLAY_INLINE void inlay_mve_eight_dot2(const uint8_t *const *row, ptrdiff_t at,
                                       const inlay_mve_eight_channels *channels,
                                       inlay_mve_eight_sums *sums, const int sw)
{
    const int next = INLAY_QDEEP_LANES * sw;
    const uint8_t *x = row[0] + at;
    const uint8_t *y = row[1] + at;
    const uint8_t *z = row[2] + at;
    const int8_t *w = channels->w[0];
    sums->a0 = channels->start.val[0];
    sums->a1 = channels->start.val[1];
    sums->b0 = sums->a0;
    sums->b1 = sums->a1;
    inlay_mve_eight_taps2(sums, w, 0, x, 0, x, 8, next);
    inlay_mve_eight_taps2(sums, w, 16, x, 16, y, 0, next);
    inlay_mve_eight_taps2(sums, w, 32, y, 8, y, 16, next);
    inlay_mve_eight_taps2(sums, w, 48, z, 0, z, 8, next);
    inlay_mve_eight_tap2(sums, w, 64, z, 16, next);
}

/* Of one. */
INLAY_INLINE void inlay_mve_eight_dot1(const uint8_t *const *row, ptrdiff_t at,
                                       const inlay_mve_eight_channels *channels,
                                       inlay_mve_eight_sums *sums)
{
    const uint8_t *x = row[0] + at;
    const uint8_t *y = row[1] + at;
    const uint8_t *z = row[2] + at;
    const int8_t *w = channels->w[0];
    sums->a0 = channels->start.val[0];
    sums->a1 = channels->start.val[1];
    inlay_mve_eight_taps1(sums, w, 0, x, 0, x, 8);
    inlay_mve_eight_taps1(sums, w, 16, x, 16, y, 0);
    inlay_mve_eight_taps1(sums, w, 32, y, 8, y, 16);
    inlay_mve_eight_taps1(sums, w, 48, z, 0, z, 8);
    inlay_mve_eight_tap1(sums, w, 64, z, 16);
}

/* The bytes of eight channels. */
INLAY_INLINE void
inlay_mve_eight_bytes(const inlay_mve_eights *of,
                      const inlay_mve_eight_channels *channels, int32x4_t even,
                      int32x4_t odd, uint8_t *y)
{
    const float32x4_t v =
        vmulq_f32(vcvtq_f32_s32(even), channels->scale.val[0]);
    const float32x4_t w = vmulq_f32(vcvtq_f32_s32(odd), channels->scale.val[1]);
    const int32x4_t low = inlay_mve_saturate(&of->byte, v);
    const int32x4_t high = inlay_mve_saturate(&of->byte, w);
    vstrbq_s16((int8_t *)y, vmovntq_s32(vreinterpretq_s16_s32(low), high));
}

/* A row of y: its first pixel's channels. */
INLAY_INLINE void inlay_mve_eight_row(const inlay_mve_eights *of,
                                      const inlay_mve_eight_channels *channels,
                                      const uint8_t *const *rows, uint8_t *y,
                                      const int sw)
{
    const ptrdiff_t ys = of->job->of.ys;
    ptrdiff_t at = 0;
    inlay_mve_eight_sums sums;
    int32_t left;
    for (left = of->n; left > 1; left -= 2, y += 2 * ys) {
        inlay_mve_eight_dot2(rows, at, channels, &sums, sw);
        inlay_mve_eight_bytes(of, channels, sums.a0, sums.a1, y);
        inlay_mve_eight_bytes(of, channels, sums.b0, sums.b1, y + ys);
        at += 2 * INLAY_QDEEP_LANES * sw;
    }
    if (left) {
        inlay_mve_eight_dot1(rows, at, channels, &sums);
        inlay_mve_eight_bytes(of, channels, sums.a0, sums.a1, y);
    }
}

INLAY_APART void inlay_mve_eight_near(const inlay_mve_eights *of,
                                      const inlay_mve_eight_channels *channels,
                                      const uint8_t *const *rows, uint8_t *y)
{
    inlay_mve_eight_row(of, channels, rows, y, 1);
}
INLAY_APART void inlay_mve_eight_far(const inlay_mve_eights *of,
                                     const inlay_mve_eight_channels *channels,
                                     const uint8_t *const *rows, uint8_t *y)
{
    inlay_mve_eight_row(of, channels, rows, y, 2);
}

/* ---- some columns of some rows ---- */

/* Windows of 3 x 3 whose results are bytes, and rows of x in the room of columns. */
static inline int inlay_mve_eights_suit(const inlay_qdw *job)
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

static inline void inlay_mve_eights_set(inlay_mve_eights *of)
{
    const inlay_qpacked_params *params = of->params;
    const int32_t first = of->c * params->sw - params->pw;
    const int32_t columns = (of->n - 1) * params->sw + 3;
    const ptrdiff_t pix = of->job->step->ref[1].pix;
    of->span = inlay_mve_span_of(first, columns, params->iw);
    of->row = columns * INLAY_QDEEP_LANES;
    of->x = inlay_qdw_ring_of_x(of->job, &of->lines, of->span.at * pix);
    of->y = inlay_qdw_ring_of(of->job, 0, of->lines.r, of->c * of->job->of.ys);
}

/* A row of y. */
static inline void inlay_mve_eights_row(const inlay_mve_eights *of,
                                        const inlay_mve_eight_channels *own,
                                        const uint8_t *const *rows, uint8_t *y)
{
    if (!inlay_qdw_is_far(of->params))
        inlay_mve_eight_near(of, own, rows, y);
    else
        inlay_mve_eight_far(of, own, rows, y);
}

/* All rows of eight channels. */
static inline void inlay_mve_eights_lines(const inlay_mve_eights *of,
                                          int32_t channel,
                                          const inlay_mve_eight_channels *own)
{
    inlay_qdw_walk walk = inlay_qdw_walk_of(of->job, &of->lines);
    int32_t left;
    for (left = of->lines.n; left > 0; left--) {
        uint8_t *y = inlay_qdw_ring_at(&of->y, walk.y) + channel;
        const uint8_t *rows[3];
        inlay_mve_eights_rows(of, channel, &walk, rows);
        inlay_mve_eights_row(of, own, rows, y);
        inlay_qdw_walk_on(&walk);
    }
}

/* Others, or with such weights. */
INLAY_APART void inlay_mve_eights_other(const inlay_mve_eights *of,
                                        int32_t channel)
{
    int32_t done;
    for (done = 0; done < of->lines.n; done++) {
        const inlay_qrow row = inlay_qdw_line_at(of->job, &of->lines, done);
        inlay_mve_dw dw;
        dw.job = of->job;
        dw.row = &row;
        dw.c = of->c;
        dw.pixels = of->n;
        inlay_mve_dw_begin(&dw);
        inlay_mve_dw_eight(&dw, channel, 1);
    }
}

/* Some rows. */
static inline void inlay_mve_eights_many(const inlay_mve_eights *of)
{
    const int32_t channels = of->job->of.channels;
    int32_t channel;
    for (channel = 0; channel < channels; channel += INLAY_QDEEP_LANES) {
        inlay_mve_eight_channels own;
        if (channels - channel >= INLAY_QDEEP_LANES &&
            inlay_mve_eights_begin(of, channel, &own))
            inlay_mve_eights_lines(of, channel, &own);
        else
            inlay_mve_eights_other(of, channel);
    }
}

/* Zero points in all rows of the window. */
static inline void inlay_mve_eights_clear(const inlay_mve_eights *of)
{
    int32_t h;
    for (h = 0; h < 3; h++)
        inlay_mve_eights_lay(of, NULL, of->scratch + h * of->row);
}

/* One row: where those of x lie is the same for all channels. */
static inline void inlay_mve_eights_single(const inlay_mve_eights *of)
{
    const inlay_qpacked_params *params = of->params;
    const int32_t channels = of->job->of.channels;
    uint8_t *const y = inlay_qdw_ring_at(&of->y, 0);
    const uint8_t *line[3], *rows[3];
    int32_t channel, h;
    for (h = 0; h < 3; h++) {
        const int32_t r = of->lines.begun.row + h * params->dh;
        rows[h] = of->scratch + h * of->row;
        line[h] = NULL;
        if (inlay_mve_eights_has(of, r))
            line[h] = inlay_qdw_ring_at(&of->x, r);
    }
    inlay_mve_eights_clear(of);
    for (channel = 0; channel < channels; channel += INLAY_QDEEP_LANES) {
        inlay_mve_eight_channels own;
        if (channels - channel >= INLAY_QDEEP_LANES &&
            inlay_mve_eights_begin(of, channel, &own)) {
            inlay_mve_eights_window(of, line, channel);
            inlay_mve_eights_row(of, &own, rows, y + channel);
        } else {
            inlay_mve_eights_other(of, channel);
            inlay_mve_eights_clear(of);
        }
    }
}

/* Rows [r0, r1) of y; chunk: pixels at a time where rows go one by one. */
static inline void inlay_mve_eights_all(const inlay_qdw *job, int32_t r0,
                                        int32_t r1, int32_t chunk)
{
    inlay_mve_eights of;
    int32_t most, done, column;
    of.job = job;
    of.params = (const inlay_qpacked_params *)job->step->params;
    of.scratch = (uint8_t *)inlay_at(job->base, job->step, 10);
    of.byte = inlay_mve_result_byte(&job->of.result);
    most = inlay_qdw_most(job, r1 - r0, of.params->gather);
    if (most > 1)
        chunk = of.params->gather;
    for (done = 0; done < r1 - r0; done += of.lines.n) {
        of.lines = inlay_qdw_lines_of(job, r0, r1, done, most);
        for (column = 0; column < of.params->ow; column += of.n) {
            const int32_t left = of.params->ow - column;
            of.n = left < chunk ? left : chunk;
            of.c = job->step->backward ? left - of.n : column;
            inlay_mve_eights_set(&of);
            if (of.lines.n == 1)
                inlay_mve_eights_single(&of);
            else
                inlay_mve_eights_many(&of);
        }
    }
}

#endif
