/* SPDX-License-Identifier: 0BSD
 * Depthwise convolution by windows of 3 x 3 at a stride of one or two in Helium vectors: eight
 * channels of two pixels at a time, as lanes of 16 bits. Two products share a lane before they are
 * added to sums of 32 bits: 2 * 128 * 127 fits, so no weight may be -128.
 *
 * Scratch has the numbers of three rows of x, [row][column][8], zero points where there is none;
 * rows that windows share stay there from one row of y to the next. Sums of the channels 0 2 4 6
 * and 1 3 5 7 are vectors. Included by qdw_mve.inc.h. */
#ifndef INLAY_QDW_EIGHT_H
#define INLAY_QDW_EIGHT_H

enum { INLAY_MVE_TAPS = 9 };

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
    int shares;          /* do rows of y share rows of x? */
    int32_t next;        /* row of x after those that lie in scratch */
    uint8_t *scratch;
    inlay_mve_byte byte;
} inlay_mve_eights;

/* ---- rows of x ---- */

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
        vstrbq_u16(to, veorq_u16(vldrbq_u16(x), flip));
    for (i = behind; i > 0; i--, to += INLAY_QDEEP_LANES)
        vstrbq_u16(to, zero);
}

/* The rows of a window that begins with row `top`. */
INLAY_INLINE void inlay_mve_eights_rows(inlay_mve_eights *of, int32_t channel,
                                        int32_t top, int32_t turn,
                                        const uint8_t **rows)
{
    const inlay_qpacked_params *params = of->params;
    const inlay_qdw_fresh fresh =
        inlay_qdw_fresh_of(top, of->job->step->backward, of->shares, &of->next);
    int32_t place = turn;
    int32_t h;
    for (h = 0; h < 3; h++) {
        const int32_t r = top + h * params->dh;
        uint8_t *to = of->scratch + place * of->row;
        rows[h] = to;
        place = place < 2 ? place + 1 : 0;
        if (h < fresh.h || h >= fresh.end)
            continue;
        if (r < 0 || r >= params->ih)
            inlay_mve_eights_lay(of, NULL, to);
        else
            inlay_mve_eights_lay(of, inlay_qdw_ring_at(&of->x, r) + channel,
                                 to);
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
    const int32_t high = inlay_qdeep_high(of->params);
    const int32_t window = 3 * high;
    const int8_t *w = tile->weights + channel * window;
    const uint16x8_t lane = vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)window);
    int16x8_t least = vdupq_n_s16(0);
    int32_t k;
    for (k = 0; k < INLAY_MVE_TAPS; k++) {
        const int8_t *tap = w + k % 3 * high + k / 3;
        const int16x8_t v = vldrbq_gather_offset_s16(tap, lane);
        vstrbq_s16(to->w[k], v);
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

/* q0: weights of a tap, q1: numbers, q2, q3: products of the two pixels. */
#define INLAY_M8_W(k) "vldrb.s16 q0, [%[w], #8*" k "]\n"
#define INLAY_M8_X(x, at) "vldrb.s16 q1, [%[" x "], #8*(" at ")]\n"
#define INLAY_M8_MUL(q) "vmul.i16 " q ", q1, q0\n"
#define INLAY_M8_MORE(q) "vmul.i16 q1, q1, q0\nvadd.i16 " q ", " q ", q1\n"
#define INLAY_M8_A(x, at) INLAY_M8_X(x, at) INLAY_M8_MUL("q2")
#define INLAY_M8_B(x, at) INLAY_M8_X(x, at "+%c[sw]") INLAY_M8_MUL("q3")
#define INLAY_M8_AA(x, at) INLAY_M8_X(x, at) INLAY_M8_MORE("q2")
#define INLAY_M8_BB(x, at) INLAY_M8_X(x, at "+%c[sw]") INLAY_M8_MORE("q3")

/* The first and the second tap of those that share lanes; b, c: of two pixels, or of one. */
#define INLAY_M8_TAP(k, x, at, b) INLAY_M8_W(k) INLAY_M8_A(x, at) b(x, at)
#define INLAY_M8_TAP2(k, x, at, c) INLAY_M8_W(k) INLAY_M8_AA(x, at) c(x, at)
#define INLAY_M8_NONE(x, at)

/* Adds products to the sums of even and odd channels. */
#define INLAY_M8_ADD(how, sum, q) \
    how ".s16 q1, " q "\nvadd.i32 %q[" sum "], %q[" sum "], q1\n"
#define INLAY_M8_ADDS(even, odd, q) \
    INLAY_M8_ADD("vmovlb", even, q) INLAY_M8_ADD("vmovlt", odd, q)
#define INLAY_M8_SUM1 INLAY_M8_ADDS("a0", "a1", "q2")
#define INLAY_M8_SUM2 INLAY_M8_SUM1 INLAY_M8_ADDS("b0", "b1", "q3")

#define INLAY_M8_01(b, c, sum) \
    INLAY_M8_TAP("0", "x", "0", b) INLAY_M8_TAP2("1", "x", "1", c) sum
#define INLAY_M8_23(b, c, sum) \
    INLAY_M8_TAP("2", "x", "2", b) INLAY_M8_TAP2("3", "y", "0", c) sum
#define INLAY_M8_45(b, c, sum) \
    INLAY_M8_TAP("4", "y", "1", b) INLAY_M8_TAP2("5", "y", "2", c) sum
#define INLAY_M8_67(b, c, sum) \
    INLAY_M8_TAP("6", "z", "0", b) INLAY_M8_TAP2("7", "z", "1", c) sum
#define INLAY_M8_0123(b, c, sum) INLAY_M8_01(b, c, sum) INLAY_M8_23(b, c, sum)
#define INLAY_M8_4567(b, c, sum) INLAY_M8_45(b, c, sum) INLAY_M8_67(b, c, sum)
#define INLAY_M8_8(b, sum) INLAY_M8_TAP("8", "z", "2", b) sum
#define INLAY_M8_ALL(b, c, sum) \
    INLAY_M8_0123(b, c, sum) INLAY_M8_4567(b, c, sum) INLAY_M8_8(b, sum)
#define INLAY_M8_ONE INLAY_M8_ALL(INLAY_M8_NONE, INLAY_M8_NONE, INLAY_M8_SUM1)
#define INLAY_M8_TWO INLAY_M8_ALL(INLAY_M8_B, INLAY_M8_BB, INLAY_M8_SUM2)

/* Sums of two pixels, of even and odd channels. */
typedef struct inlay_mve_eight_sums {
    int32x4_t a0, a1, b0, b1;
} inlay_mve_eight_sums;

INLAY_INLINE void inlay_mve_eight_dot(const uint8_t *const *row, ptrdiff_t at,
                                      const inlay_mve_eight_channels *channels,
                                      inlay_mve_eight_sums *sums, const int sw,
                                      int two)
{
    const uint8_t *x = row[0] + at;
    const uint8_t *y = row[1] + at;
    const uint8_t *z = row[2] + at;
    int32x4_t a0 = channels->start.val[0];
    int32x4_t a1 = channels->start.val[1];
    int32x4_t b0 = a0;
    int32x4_t b1 = a1;
    if (two)
        __asm__ volatile(
            INLAY_M8_TWO
            : [a0] "+w"(a0), [a1] "+w"(a1), [b0] "+w"(b0), [b1] "+w"(b1)
            : [x] "l"(x), [y] "l"(y), [z] "l"(z), [w] "l"(channels->w),
              [sw] "i"(sw)
            : "memory", "q0", "q1", "q2", "q3");
    else
        __asm__ volatile(
            INLAY_M8_ONE
            : [a0] "+w"(a0), [a1] "+w"(a1)
            : [x] "l"(x), [y] "l"(y), [z] "l"(z), [w] "l"(channels->w)
            : "memory", "q0", "q1", "q2");
    sums->a0 = a0;
    sums->a1 = a1;
    sums->b0 = b0;
    sums->b1 = b1;
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
        inlay_mve_eight_dot(rows, at, channels, &sums, sw, 1);
        inlay_mve_eight_bytes(of, channels, sums.a0, sums.a1, y);
        inlay_mve_eight_bytes(of, channels, sums.b0, sums.b1, y + ys);
        at += 2 * INLAY_QDEEP_LANES * sw;
    }
    if (left) {
        inlay_mve_eight_dot(rows, at, channels, &sums, sw, 0);
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
    const int32_t plane = of->lines.begun.image * params->id;
    of->span = inlay_mve_span_of(first, columns, params->iw);
    of->row = columns * INLAY_QDEEP_LANES;
    of->x = inlay_qdw_ring_of(of->job, 1,
                              (plane + of->lines.begun.plane) * params->ih,
                              of->span.at * pix);
    of->y = inlay_qdw_ring_of(of->job, 0, of->lines.r, of->c * of->job->of.ys);
    of->shares = of->lines.n > 1 && params->dh == 1;
}

/* All rows of eight channels. */
static inline void inlay_mve_eights_lines(inlay_mve_eights *of, int32_t channel,
                                          const inlay_mve_eight_channels *own)
{
    const int way = of->job->step->backward ? -1 : 1;
    const int32_t move = way * of->params->sh;
    const int32_t turns = of->shares ? (move % 3 + 3) % 3 : 0;
    int32_t top = of->lines.begun.row;
    int32_t turn = of->shares ? (top % 3 + 3) % 3 : 0;
    int32_t done;
    of->next = way < 0 ? top + 3 : top;
    for (done = 0; done < of->lines.n; done++, top += move) {
        uint8_t *y = inlay_qdw_ring_at(&of->y, way * done) + channel;
        const uint8_t *rows[3];
        inlay_mve_eights_rows(of, channel, top, turn, rows);
        if (of->params->sw == 1)
            inlay_mve_eight_near(of, own, rows, y);
        else
            inlay_mve_eight_far(of, own, rows, y);
        turn += turns;
        turn = turn < 3 ? turn : turn - 3;
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

static inline void inlay_mve_eights_tile(inlay_mve_eights *of)
{
    const int32_t channels = of->job->of.channels;
    int32_t channel;
    inlay_mve_eights_set(of);
    for (channel = 0; channel < channels; channel += INLAY_QDEEP_LANES) {
        inlay_mve_eight_channels own;
        if (channels - channel >= INLAY_QDEEP_LANES &&
            inlay_mve_eights_begin(of, channel, &own))
            inlay_mve_eights_lines(of, channel, &own);
        else
            inlay_mve_eights_other(of, channel);
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
    of.byte = inlay_mve_byte_of(&job->of.result);
    most = inlay_qdw_most(job, r1 - r0, of.params->gather);
    if (most > 1)
        chunk = of.params->gather;
    for (done = 0; done < r1 - r0; done += of.lines.n) {
        of.lines = inlay_qdw_lines_of(job, r0, r1, done, most);
        for (column = 0; column < of.params->ow; column += of.n) {
            const int32_t left = of.params->ow - column;
            of.n = left < chunk ? left : chunk;
            of.c = job->step->backward ? left - of.n : column;
            inlay_mve_eights_tile(&of);
        }
    }
}

#endif
