/* SPDX-License-Identifier: 0BSD
 * Depthwise convolution by windows of 3 x 3 at a stride of one or two, on Arm cores with the DSP
 * instructions and a float unit: two pixels of a channel at a time, twelve multiplications for 18
 * products. Four channels are taken apart in scratch, words of two halves:
 *
 *   weights   [channel][row] (w0, w1) (w1, w2)
 *   numbers   [channel][pair of columns e, f][row] (xe, xf)
 *
 * Rows that windows share stay where they are from one row of y to the next: if a window's first
 * row has place t (qdw_lines.inc.h), the weights' rows, which lie as 0 1 2 0 1, are those from
 * -t % 3 on. Four channels of all rows are made before the next four, in the order of rows for each
 * channel by itself: so it goes where no byte of y lies on one of another channel's x. */
#ifndef INLAY_QDW_THREE_H
#define INLAY_QDW_THREE_H

/* What lies in scratch of a channel beside its numbers: what its sums are multiplied with and begin
 * with, weights. */
typedef struct inlay_qthree_channel {
    float scale;
    int32_t start;
    uint32_t w[10];
} inlay_qthree_channel;

/* What becomes of the sums of a channel. */
typedef struct inlay_qthree_result {
    int32_t zero, flip;
    ptrdiff_t ys;
    int32_t bytes; /* of numbers up to the last two pixels */
    int32_t odd;   /* one pixel more */
    /* bytes from where a channel's numbers and results end to those of the next */
    ptrdiff_t x_first;
    ptrdiff_t y_first;
} inlay_qthree_result;

typedef struct inlay_qthree {
    const inlay_qplanes *planes;
    inlay_qcolumns columns;
    inlay_qdw_ring x, y;
    inlay_qthree_channel *channels;
    uint32_t *numbers;    /* of the first row */
    const int8_t *w;      /* of the step: weights, */
    ptrdiff_t groups;     /* bytes from tap to tap, */
    const int32_t *start; /* what sums begin with */
    const float *scale;   /* and are multiplied with */
    ptrdiff_t each;       /* 1: each channel has its own */
    int32_t has;          /* is there a column of x in the windows? */
    inlay_qthree_result result;
} inlay_qthree;

/* ---- numbers and weights ---- */

/* Two fours of bytes, which lie side by side in their row, as a word of each of four channels: the
 * bytes of the channels 0 and 1 in a word, then 2 and 3. */
#define INLAY_Q3_LOWER "pkhbt %[c], %[a], %[b], lsl #16\n"
#define INLAY_Q3_UPPER "pkhtb %[b], %[b], %[a], asr #16\n"
#define INLAY_Q3_FLIP "eor %[c], %[c], %[mask]\neor %[b], %[b], %[mask]\n"
#define INLAY_Q3_PUT(half, at) "sxtb16 %[a], " half "\nstr %[a], [%[to]" at "\n"
#define INLAY_Q3_PUT1 INLAY_Q3_PUT("%[c], ror #8", ", %[next]]")
#define INLAY_Q3_PUT2 INLAY_Q3_PUT("%[b]", ", %[next], lsl #1]")
#define INLAY_Q3_PUT3 INLAY_Q3_PUT("%[b], ror #8", ", %[last]]")
#define INLAY_Q3_PUT0 INLAY_Q3_PUT("%[c]", "], #4")
#define INLAY_Q3_JOIN INLAY_Q3_LOWER INLAY_Q3_UPPER
#define INLAY_Q3_TAKEN INLAY_Q3_PUT1 INLAY_Q3_PUT2 INLAY_Q3_PUT3 INLAY_Q3_PUT0

/* Where the words of the next row belong. */
INLAY_INLINE uint32_t *inlay_qthree_two(uint32_t a, uint32_t b, uint32_t mask,
                                        uint32_t *to, ptrdiff_t next)
{
    const ptrdiff_t bytes = 4 * next;
    uint32_t c;
    if (INLAY_QUSES(INLAY_QUSE_SHIFTED))
        __asm__ volatile(
            INLAY_Q3_JOIN INLAY_Q3_FLIP INLAY_Q3_TAKEN
            : INLAY_QIO2(a, b), INLAY_QTEMP(c), INLAY_QIO(to)
            : [mask] "r"(mask), [next] "r"(bytes), [last] "r"(3 * bytes)
            : "memory");
    else
        __asm__ volatile(INLAY_Q3_JOIN INLAY_Q3_TAKEN
                         : INLAY_QIO2(a, b), INLAY_QTEMP(c), INLAY_QIO(to)
                         : [next] "r"(bytes), [last] "r"(3 * bytes)
                         : "memory");
    return to;
}

/* A row of numbers of four channels at x. */
INLAY_INLINE void inlay_qthree_line(const inlay_qcolumns *columns,
                                    const uint8_t *x, uint32_t *to)
{
    const uint32_t mask = columns->mask;
    const uint32_t zero = columns->zero ^ mask;
    const ptrdiff_t pix = columns->pix;
    const ptrdiff_t next = columns->next;
    const uint8_t *end;
    if (columns->before) {
        to = inlay_qthree_two(zero, inlay_word(x), mask, to, next) + 2;
        x += pix;
    }
    for (end = x + columns->bytes; x < end; x += 2 * pix)
        to = inlay_qthree_two(inlay_word(x), inlay_word(x + pix), mask, to,
                              next) +
             2;
    if (columns->after)
        inlay_qthree_two(inlay_word(x), zero, mask, to, next);
}

INLAY_APART void inlay_qthree_fresh(const inlay_qcolumns *columns,
                                    const uint8_t *x, uint32_t *to)
{
    inlay_qthree_line(columns, x, to);
}

/* Which columns of a pair exist. */
typedef enum inlay_qthree_pair {
    INLAY_Q3_ALL_TWO,
    INLAY_Q3_SECOND,
    INLAY_Q3_FIRST_ONE
} inlay_qthree_pair;

/* A pair of columns of the three rows of a window; x: their first that exists. */
INLAY_INLINE uint32_t *inlay_qthree_pairs(const inlay_qcolumns *columns,
                                          const uint8_t *const *x,
                                          inlay_qthree_pair pair, uint32_t *to)
{
    const uint32_t mask = columns->mask;
    const uint32_t zero = columns->zero ^ mask;
    const ptrdiff_t second = pair == INLAY_Q3_ALL_TWO ? columns->pix : 0;
    int32_t h;
    INLAY_UNROLL
    for (h = 0; h < 3; h++) {
        const uint32_t a = pair == INLAY_Q3_SECOND ? zero : inlay_word(x[h]);
        uint32_t b = zero;
        if (pair != INLAY_Q3_FIRST_ONE)
            b = inlay_word(x[h] + second);
        to = inlay_qthree_two(a, b, mask, to, columns->next);
    }
    return to;
}

INLAY_INLINE void inlay_qthree_on(const uint8_t **x, ptrdiff_t bytes)
{
    int32_t h;
    INLAY_UNROLL
    for (h = 0; h < 3; h++)
        x[h] += bytes;
}

/* The rows of a window, side by side. */
INLAY_APART void inlay_qthree_window(const inlay_qcolumns *columns,
                                     const uint8_t *const *line,
                                     int32_t channel, uint32_t *to)
{
    const inlay_qcolumns own = *columns;
    const uint8_t *x[3] = { line[0] + channel, line[1] + channel,
                            line[2] + channel };
    const uint8_t *end;
    if (own.before) {
        to = inlay_qthree_pairs(&own, x, INLAY_Q3_SECOND, to);
        inlay_qthree_on(x, own.pix);
    }
    for (end = x[0] + own.bytes; x[0] < end; inlay_qthree_on(x, 2 * own.pix))
        to = inlay_qthree_pairs(&own, x, INLAY_Q3_ALL_TWO, to);
    if (own.after)
        inlay_qthree_pairs(&own, x, INLAY_Q3_FIRST_ONE, to);
}

/* A row of zero points. */
INLAY_APART void inlay_qthree_beside(const inlay_qplanes *planes, int32_t place)
{
    const uint32_t half = (uint32_t)planes->job->of.zero & 0xffff;
    uint32_t *to = (uint32_t *)(void *)planes->x + place;
    uint32_t *const end = to + 2 * planes->plane;
    for (; to < end; to += 3)
        *to = half << 16 | half;
}

/* The rows of a window. */
INLAY_INLINE void inlay_qthree_numbers(const inlay_qthree *three,
                                       int32_t channel, inlay_qdw_walk *walk)
{
    const inlay_qplanes *planes = three->planes;
    const inlay_qpacked_params *params = planes->params;
    const inlay_qdw_fresh fresh = inlay_qdw_fresh_of(walk);
    int32_t h;
    for (h = fresh.h; h < fresh.end; h++) {
        const int32_t place = inlay_qdw_place(walk, h);
        const int32_t r = walk->top + h * params->dh;
        if (r < 0 || r >= params->ih)
            inlay_qthree_beside(planes, place);
        else if (three->has)
            inlay_qthree_fresh(&three->columns,
                               inlay_qdw_ring_at(&three->x, r) + channel,
                               three->numbers + place);
    }
}

/* The taps a, b, c of four channels, which lie side by side, as words (a, b) and (b, c) of each
 * channel: row h of the weights in its record. e, f: the bytes of two channels, first 0 and 1. */
#define INLAY_Q3_TAPS01 "ldr %[a], [%[w]]\nldr %[b], [%[w], %[all]]\n"
#define INLAY_Q3_TAP2 "ldr %[c], [%[w], %[all], lsl #1]\nadd %[w], %[row]\n"
#define INLAY_Q3_LOW(p, a, b) "pkhbt %[" p "], %[" a "], %[" b "], lsl #16\n"
#define INLAY_Q3_HIGH(p, a, b) "pkhtb %[" p "], %[" b "], %[" a "], asr #16\n"
#define INLAY_Q3_HALVES(half) half("e", "a", "b") half("f", "b", "c")
#define INLAY_Q3_WIDEN(p, e, t) "sxtb16 %[" p "], %[" e "]" t "\n"
#define INLAY_Q3_PQ(t) INLAY_Q3_WIDEN("p", "e", t) INLAY_Q3_WIDEN("q", "f", t)
#define INLAY_Q3_WORDS(at) "strd %[p], %[q], [%[to], #" at "]\n"
#define INLAY_Q3_KEEP0(at) INLAY_Q3_PQ("") INLAY_Q3_WORDS(at)
#define INLAY_Q3_KEEP1(at) INLAY_Q3_PQ(", ror #8") INLAY_Q3_WORDS(at)
#define INLAY_Q3_KEEP(at) INLAY_Q3_KEEP0(at) INLAY_Q3_KEEP1(at "+48")
#define INLAY_Q3_KEEP01(at) INLAY_Q3_HALVES(INLAY_Q3_LOW) INLAY_Q3_KEEP(at)
#define INLAY_Q3_KEEP23(at) INLAY_Q3_HALVES(INLAY_Q3_HIGH) INLAY_Q3_KEEP(at)
#define INLAY_Q3_TAPS INLAY_Q3_TAPS01 INLAY_Q3_TAP2
#define INLAY_Q3_KEPT(at) INLAY_Q3_KEEP01(at) INLAY_Q3_KEEP23(at "+96")
#define INLAY_Q3_ROW(at) INLAY_Q3_TAPS INLAY_Q3_KEPT(at)
#define INLAY_Q3_ROWS INLAY_Q3_ROW("8") INLAY_Q3_ROW("16") INLAY_Q3_ROW("24")
#define INLAY_Q3_BYTES3 INLAY_QTEMP(a), INLAY_QTEMP(b), INLAY_QTEMP(c)

INLAY_INLINE void inlay_qthree_weights(const int8_t *w, ptrdiff_t all,
                                       inlay_qthree_channel *to)
{
    uint32_t a, b, c, e, f, p, q;
    __asm__ volatile(INLAY_Q3_ROWS
                     : INLAY_Q3_BYTES3, INLAY_QTEMP2(e, f), INLAY_QTEMP2(p, q),
                       INLAY_QIO(w)
                     : [all] "r"(all), [row] "r"(3 * all), [to] "r"(to)
                     : "memory");
}

/* What their sums are multiplied with, of each its own or one for all, and begin with. */
#define INLAY_Q3_STARTS01 "ldrd %[a], %[b], [%[start]]\n"
#define INLAY_Q3_STARTS INLAY_Q3_STARTS01 "ldrd %[c], %[e], [%[start], #8]\n"
#define INLAY_Q3_REST0(scale) "strd %[" scale "], %[a], [%[to]]\n"
#define INLAY_Q3_REST1(scale) "strd %[" scale "], %[b], [%[to], #48]\n"
#define INLAY_Q3_REST2(scale) "strd %[" scale "], %[c], [%[to], #96]\n"
#define INLAY_Q3_REST3(scale) "strd %[" scale "], %[e], [%[to], #144]\n"
#define INLAY_Q3_EACH01 INLAY_Q3_REST0("p") INLAY_Q3_REST1("q")
#define INLAY_Q3_EACH23 INLAY_Q3_REST2("p") INLAY_Q3_REST3("q")
#define INLAY_Q3_OWN01 "ldrd %[p], %[q], [%[scale]]\n" INLAY_Q3_EACH01
#define INLAY_Q3_OWN23 "ldrd %[p], %[q], [%[scale], #8]\n" INLAY_Q3_EACH23
#define INLAY_Q3_SAME01 INLAY_Q3_REST0("p") INLAY_Q3_REST1("p")
#define INLAY_Q3_SAME23 INLAY_Q3_REST2("p") INLAY_Q3_REST3("p")
#define INLAY_Q3_OWN INLAY_Q3_STARTS INLAY_Q3_OWN01 INLAY_Q3_OWN23
#define INLAY_Q3_ONE_SCALE "ldr %[p], [%[scale]]\n"
#define INLAY_Q3_SAMES INLAY_Q3_ONE_SCALE INLAY_Q3_SAME01 INLAY_Q3_SAME23
#define INLAY_Q3_SAME INLAY_Q3_STARTS INLAY_Q3_SAMES

INLAY_INLINE void inlay_qthree_rest(const int32_t *start, const float *scale,
                                    ptrdiff_t each, inlay_qthree_channel *to)
{
    uint32_t a, b, c, e, p, q;
    if (each)
        __asm__ volatile(INLAY_Q3_OWN
                         : INLAY_Q3_BYTES3, INLAY_QTEMP(e), INLAY_QTEMP2(p, q)
                         : [start] "r"(start), [scale] "r"(scale), [to] "r"(to)
                         : "memory");
    else
        __asm__ volatile(INLAY_Q3_SAME
                         : INLAY_Q3_BYTES3, INLAY_QTEMP(e), INLAY_QTEMP(p)
                         : [start] "r"(start), [scale] "r"(scale), [to] "r"(to)
                         : "memory");
}

/* Takes their zero points from the weights of four channels. */
static inline void inlay_qthree_take_zeros(const inlay_qtile *of,
                                           int32_t channel,
                                           inlay_qthree_channel *to)
{
    int32_t i, k;
    for (i = 0; i < 4; i++) {
        const int32_t zw = of->zw ? of->zw[channel + i] : of->zw_all;
        const uint32_t half = (uint32_t)zw & 0xffff;
        const uint32_t both = half << 16 | half;
        for (k = 0; k < 6; k++)
            __asm__("ssub16 %0, %0, %1" : "+r"(to[i].w[k]) : "r"(both));
    }
}

/* Four channels: their weights, rows 0 1 2, and 0 1 again if rows of numbers turn, and the rest. */
INLAY_APART void inlay_qthree_channels(const inlay_qthree *three,
                                       int32_t channel, int turns)
{
    const inlay_qtile *of = &three->planes->job->of;
    const ptrdiff_t each = three->each;
    inlay_qthree_channel *const to = three->channels;
    int32_t i;
    inlay_qthree_weights(three->w + channel, three->groups, to);
    if (inlay_qhas_zeros(of))
        inlay_qthree_take_zeros(of, channel, to);
    inlay_qthree_rest(three->start + channel, three->scale + each * channel,
                      each, to);
    for (i = 0; turns && i < 4; i++)
        memcpy(to[i].w + 6, to[i].w, 4 * sizeof *to->w);
}

/* ---- sums ---- */

/* r8 to r12 and lr: the weights of three rows, w0 w1 and w1 w2 each; r4, r5, r6: a pair of columns;
 * r2, r3: the sums of two pixels. */
#define INLAY_Q3_PAIR "ldm %[x], {r4-r6}\n"
#define INLAY_Q3_NEXT "ldm %[x]!, {r4-r6}\n"
#define INLAY_Q3_A0(how, sum) how " " sum ", r4, r8, " sum "\n"
#define INLAY_Q3_A1(how, sum) how " " sum ", r5, r10, " sum "\n"
#define INLAY_Q3_A2(how, sum) how " " sum ", r6, r12, " sum "\n"
#define INLAY_Q3_B0(how, sum) how " " sum ", r4, r9, " sum "\n"
#define INLAY_Q3_B1(how, sum) how " " sum ", r5, r11, " sum "\n"
#define INLAY_Q3_B2(how, sum) how " " sum ", r6, lr, " sum "\n"
#define INLAY_Q3_A01(how, sum) INLAY_Q3_A0(how, sum) INLAY_Q3_A1(how, sum)
#define INLAY_Q3_B01(how, sum) INLAY_Q3_B0(how, sum) INLAY_Q3_B1(how, sum)
#define INLAY_Q3_A(how, sum) INLAY_Q3_A01(how, sum) INLAY_Q3_A2(how, sum)
#define INLAY_Q3_B(how, sum) INLAY_Q3_B01(how, sum) INLAY_Q3_B2(how, sum)

/* Columns 0 and 1 of a window that begins with the pair, and its column 2. */
#define INLAY_Q3_IN01(sum) INLAY_Q3_A("smlad", sum)
#define INLAY_Q3_IN2(sum) INLAY_Q3_B("smlabt", sum)
/* Of a window that begins a column later: column 0, columns 1 and 2. */
#define INLAY_Q3_IN0 INLAY_Q3_A("smlatb", "r3")
#define INLAY_Q3_IN12 INLAY_Q3_B("smlad", "r3")

/* A pixel, two at a stride of one, and two at a stride of two. */
#define INLAY_Q3_FIRST INLAY_Q3_NEXT INLAY_Q3_IN01("r2")
#define INLAY_Q3_ONE INLAY_Q3_FIRST INLAY_Q3_PAIR INLAY_Q3_IN2("r2")
#define INLAY_Q3_AFTER INLAY_Q3_PAIR INLAY_Q3_IN2("r2") INLAY_Q3_IN12
#define INLAY_Q3_NEAR INLAY_Q3_FIRST INLAY_Q3_IN0 INLAY_Q3_AFTER
#define INLAY_Q3_LAST INLAY_Q3_IN01("r3") INLAY_Q3_PAIR INLAY_Q3_IN2("r3")
#define INLAY_Q3_BOTH INLAY_Q3_NEXT INLAY_Q3_IN2("r2") INLAY_Q3_LAST
#define INLAY_Q3_FAR INLAY_Q3_FIRST INLAY_Q3_BOTH

/* Bytes of sums. s0, s1: sums on their way, s2: their scale, s3, s4: what they begin with, s6:
 * the flip of y, s7: bytes from a pixel to the next, s8: where the numbers end. */
#define INLAY_Q3_FLOAT "vcvt.f32.s32 s0, s0\nvmul.f32 s0, s0, s2\n"
#define INLAY_Q3_ROUND INLAY_Q3_FLOAT "vcvtr.s32.f32 s0, s0\n"
#define INLAY_Q3_FLOAT1 "vcvt.f32.s32 s1, s1\nvmul.f32 s1, s1, s2\n"
#define INLAY_Q3_ROUND1 INLAY_Q3_FLOAT1 "vcvtr.s32.f32 s1, s1\n"
#define INLAY_Q3_ROUNDS "vmov s0, s1, r2, r3\n" INLAY_Q3_ROUND INLAY_Q3_ROUND1
#ifdef __clang__ /* keeps the register that would be left for the zero point */
#define INLAY_Q3_TAKE "vmov r2, r3, s0, s1\nvmov r4, s5\n"
#define INLAY_Q3_ADD(sum) "qadd " sum ", " sum ", r4\n"
#define INLAY_Q3_ZERO "t"(zero)
#define INLAY_Q3_PLACE_OF_ZERO __asm__("s5")
#else
#define INLAY_Q3_TAKE "vmov r2, r3, s0, s1\n"
#define INLAY_Q3_ADD(sum) "qadd " sum ", " sum ", %[zero]\n"
#define INLAY_Q3_ZERO [zero] "r"(zero)
#define INLAY_Q3_PLACE_OF_ZERO
#endif
#define INLAY_Q3_NEAREST INLAY_Q3_ADD("r2") "ssat r2, #8, r2\n"
#define INLAY_Q3_NEAREST1 INLAY_Q3_ADD("r3") "ssat r3, #8, r3\n"
#define INLAY_Q3_FLIPPED(sum) "eor " sum ", " sum ", r5\n"
#define INLAY_Q3_FLIPPED_TAKE INLAY_Q3_TAKE "vmov r5, s6\n"
#define INLAY_Q3_SIGNED_TAKE INLAY_Q3_TAKE
#define INLAY_Q3_SIGNED(sum) ""
#define INLAY_Q3_BYTE(flip) INLAY_Q3_NEAREST flip("r2")
#define INLAY_Q3_BYTE1(flip) INLAY_Q3_NEAREST1 flip("r3")
#define INLAY_Q3_BOTH_BYTES(flip) INLAY_Q3_BYTE(flip) INLAY_Q3_BYTE1(flip)
#define INLAY_Q3_BYTES(flip) flip##_TAKE INLAY_Q3_BOTH_BYTES(flip)
#define INLAY_Q3_BYTE0 "vmov r4, r5, s7, s8\nstrb r2, [%[y]]\n"
#define INLAY_Q3_BYTES1 "strb r3, [%[y], r4]\nadd %[y], %[y], r4, lsl #1\n"
#define INLAY_Q3_STORE INLAY_Q3_BYTE0 INLAY_Q3_BYTES1
#define INLAY_Q3_MADE(flip) INLAY_Q3_ROUNDS INLAY_Q3_BYTES(flip)
#define INLAY_Q3_RESULTS(flip) INLAY_Q3_MADE(flip) INLAY_Q3_STORE

/* A channel after the other: s9: bytes from a record's first weight to that of the first row, s10:
 * the record, s11: the last one's end. s12: bytes of numbers, s13: is there a pixel more, s14, s15:
 * bytes to the next channel's numbers and results. */
#define INLAY_Q3_RECORD "vmov r5, r4, s9, s10\nvldmia r4!, {s2, s3}\n"
#define INLAY_Q3_WEIGHTS "add r5, r4\nldm r5, {r8-r12, lr}\nadds r4, #40\n"
#define INLAY_Q3_TURN "vmov s10, r4\nvmov.f32 s4, s3\n"
#define INLAY_Q3_END "vmov r5, s12\nadd r5, %[x]\nvmov s8, r5\n"
#define INLAY_Q3_OPEN INLAY_Q3_RECORD INLAY_Q3_WEIGHTS INLAY_Q3_TURN
#define INLAY_Q3_BEGIN "1:\n" INLAY_Q3_OPEN INLAY_Q3_END
#define INLAY_Q3_NEXT_X "vmov r4, r5, s14, s15\nadd %[x], r4\nadd %[y], r5\n"
#define INLAY_Q3_UNTIL "vmov r4, r5, s10, s11\ncmp r4, r5\nbne 1b\n"

/* Pairs of pixels up to their end, then one if there is. */
#define INLAY_Q3_ENTER "cmp %[x], r5\nbeq 3f\n2:\nvmov r2, r3, s3, s4\n"
#define INLAY_Q3_AGAIN "cmp %[x], r5\nbne 2b\n3:\n"
#define INLAY_Q3_MAKE(sums, flip) sums INLAY_Q3_RESULTS(flip)
#define INLAY_Q3_WALK(pair) INLAY_Q3_ENTER pair INLAY_Q3_AGAIN
#define INLAY_Q3_IF "vmov r4, s13\ncmp r4, #0\nbeq 4f\nvmov r2, s3\n"
#define INLAY_Q3_SUM INLAY_Q3_IF INLAY_Q3_ONE "vmov s0, r2\n"
#define INLAY_Q3_TAILED(flip) INLAY_Q3_SUM INLAY_Q3_ROUND flip##_TAKE
#define INLAY_Q3_TAIL(flip) INLAY_Q3_TAILED(flip) INLAY_Q3_BYTE(flip)
#define INLAY_Q3_PUT_LAST "strb r2, [%[y]]\n4:\n"
#define INLAY_Q3_REST(flip) INLAY_Q3_TAIL(flip) INLAY_Q3_PUT_LAST
#define INLAY_Q3_PAIRS_OF(pair) INLAY_Q3_BEGIN INLAY_Q3_WALK(pair)
#define INLAY_Q3_PIXELS(pair, rest) INLAY_Q3_PAIRS_OF(pair) rest INLAY_Q3_NEXT_X
#define INLAY_Q3_BY(pair, rest) INLAY_Q3_PIXELS(pair, rest) INLAY_Q3_UNTIL
#define INLAY_Q3_ALL(s, f) INLAY_Q3_BY(INLAY_Q3_MAKE(s, f), INLAY_Q3_REST(f))
#define INLAY_Q3_CORE "r2", "r3", "r4", "r5", "r6", "r8", "r9", "r10", "r11"
#define INLAY_Q3_SINGLES "r12", "lr", "s0", "s1", "s2", "s3", "s4", "s8"
#define INLAY_Q3_WALKED [x] "+r"(x), [y] "+r"(y), "+t"(record)
#define INLAY_Q3_NUMBERS_OF "t"(flip), "t"(ys), "t"(bytes), "t"(odd)
#define INLAY_Q3_BYTES_OF INLAY_Q3_ZERO, INLAY_Q3_NUMBERS_OF
#define INLAY_Q3_PLACES "t"(first), "t"(last), "t"(x_first), "t"(y_first)
#define INLAY_Q3_SET INLAY_Q3_BYTES_OF, INLAY_Q3_PLACES
#define INLAY_Q3_LOST INLAY_Q3_CORE, INLAY_Q3_SINGLES, "cc", "memory"

/* At a stride of one, of two; bytes that are flipped, and those that are not. */
#define INLAY_Q3_NEAR_SIGNED INLAY_Q3_ALL(INLAY_Q3_NEAR, INLAY_Q3_SIGNED)
#define INLAY_Q3_NEAR_FLIPPED INLAY_Q3_ALL(INLAY_Q3_NEAR, INLAY_Q3_FLIPPED)
#define INLAY_Q3_FAR_SIGNED INLAY_Q3_ALL(INLAY_Q3_FAR, INLAY_Q3_SIGNED)
#define INLAY_Q3_FAR_FLIPPED INLAY_Q3_ALL(INLAY_Q3_FAR, INLAY_Q3_FLIPPED)

/* A row of y, four channels; from: the weight for the first row of numbers. */
INLAY_INLINE void inlay_qthree_four(const inlay_qthree *three, int32_t from,
                                    uint8_t *y, int far)
{
    const inlay_qthree_result *r = &three->result;
    const uint32_t *x = (const uint32_t *)(const void *)three->planes->x;
    register int32_t zero INLAY_Q3_PLACE_OF_ZERO = r->zero;
    register int32_t flip __asm__("s6") = r->flip;
    register ptrdiff_t ys __asm__("s7") = r->ys;
    register int32_t first __asm__("s9") = 4 * from;
    register const void *record __asm__("s10") = three->channels;
    register const void *last __asm__("s11") = three->channels + 4;
    register int32_t bytes __asm__("s12") = r->bytes;
    register int32_t odd __asm__("s13") = r->odd;
    register ptrdiff_t x_first __asm__("s14") = r->x_first;
    register ptrdiff_t y_first __asm__("s15") = r->y_first;
    if (far && INLAY_QUSES(INLAY_QUSE_SHIFTED))
        __asm__ volatile(INLAY_Q3_FAR_FLIPPED:INLAY_Q3_WALKED:INLAY_Q3_SET
                         : INLAY_Q3_LOST);
    else if (far)
        __asm__ volatile(INLAY_Q3_FAR_SIGNED:INLAY_Q3_WALKED:INLAY_Q3_SET
                         : INLAY_Q3_LOST);
    else if (INLAY_QUSES(INLAY_QUSE_SHIFTED))
        __asm__ volatile(INLAY_Q3_NEAR_FLIPPED:INLAY_Q3_WALKED:INLAY_Q3_SET
                         : INLAY_Q3_LOST);
    else
        __asm__ volatile(INLAY_Q3_NEAR_SIGNED:INLAY_Q3_WALKED:INLAY_Q3_SET
                         : INLAY_Q3_LOST);
}

INLAY_APART void inlay_qthree_fours(const inlay_qthree *three, int32_t from,
                                    uint8_t *y)
{
    inlay_qthree_four(three, from, y, 0);
}
INLAY_APART void inlay_qthree_fours_far(const inlay_qthree *three, int32_t from,
                                        uint8_t *y)
{
    inlay_qthree_four(three, from, y, 1);
}

/* The same at the stride of the step. */
static inline void inlay_qthree_row(const inlay_qthree *three, int32_t from,
                                    uint8_t *y)
{
    if (!inlay_qdw_is_far(three->planes->params))
        inlay_qthree_fours(three, from, y);
    else
        inlay_qthree_fours_far(three, from, y);
}

/* ---- some columns of some rows ---- */

static inline int inlay_qthree_suits(const inlay_qplanes *planes)
{
    const inlay_qtile *of = &planes->job->of;
    const inlay_qpacked_params *params = planes->params;
    if (!INLAY_QUSES(INLAY_QTHREE_OTHERS))
        return 1;
    if (params->kd != 1 || params->kh != 3 || params->kw != 3 ||
        params->dw != 1 || params->sw > 2)
        return 0;
    return !of->sums && inlay_qsaturates(&of->result) &&
           of->result.factor == 1.0f;
}

static inline void inlay_qthree_result_set(const inlay_qplanes *planes,
                                           inlay_qthree_result *r)
{
    const inlay_qtile *of = &planes->job->of;
    const int32_t pixels = planes->n / 2 * 2;
    r->zero = inlay_qsaturation_of(&of->result).zero;
    r->flip = of->result.lo + 128;
    r->ys = of->ys;
    r->bytes = 12 * (planes->params->sw == 1 ? pixels / 2 : pixels);
    r->odd = planes->n % 2;
    r->x_first = 2 * planes->plane - r->bytes - 12 * r->odd;
    r->y_first = 1 - pixels * of->ys;
}

/* What four channels after the other are taken from. */
static inline void inlay_qthree_take(inlay_qthree *three,
                                     const inlay_qplanes *planes)
{
    const inlay_qtile *of = &planes->job->of;
    three->channels = (inlay_qthree_channel *)(void *)planes->w;
    three->w = of->weights;
    three->groups = planes->params->groups;
    three->start = of->bias;
    three->scale = of->result.scale;
    three->each = of->result.each != 0;
}

/* The columns of the windows that are those of x. */
static inline void inlay_qthree_set(const inlay_qplanes *planes,
                                    inlay_qthree *three)
{
    const inlay_qpacked_params *params = planes->params;
    const inlay_qdw *job = planes->job;
    const inlay_qdw_lines *lines = &planes->lines;
    const int32_t columns = (planes->n - 1) * params->sw + 3;
    const int32_t plane = lines->begun.plane;
    int32_t from;
    const int32_t n = inlay_clip(planes->first, 1, columns, params->iw, &from);
    const ptrdiff_t at =
        (planes->first + from) * (ptrdiff_t)job->step->ref[1].pix;
    three->planes = planes;
    three->has = n > 0 && plane >= 0 && plane < params->id;
    three->columns = inlay_qcolumns_of(planes, from, n);
    three->numbers = (uint32_t *)(void *)planes->x + 3 * (from / 2);
    inlay_qthree_take(three, planes);
    three->x = inlay_qdw_ring_of_x(job, lines, at);
    three->y = inlay_qdw_ring_of(job, 0, lines->r, planes->c * job->of.ys);
    inlay_qthree_result_set(planes, &three->result);
}

/* All rows of four channels. */
static inline void inlay_qthree_rows(const inlay_qthree *three, int32_t channel)
{
    const inlay_qplanes *planes = three->planes;
    inlay_qdw_walk walk = inlay_qdw_walk_of(planes->job, &planes->lines);
    int32_t left;
    inlay_qthree_channels(three, channel, 1);
    for (left = planes->lines.n; left > 0; left--) {
        const int32_t from = walk.turn ? 2 * (3 - walk.turn) : 0;
        uint8_t *y = inlay_qdw_ring_at(&three->y, walk.y) + channel;
        inlay_qthree_numbers(three, channel, &walk);
        inlay_qthree_row(three, from, y);
        inlay_qdw_walk_on(&walk);
    }
}

/* The rows of x under the window of the first row of y: for one that does not exist another one.
 * Returns the rows that exist, a bit each. */
static inline int inlay_qthree_lines(const inlay_qthree *three,
                                     const uint8_t **line)
{
    const inlay_qplanes *planes = three->planes;
    const inlay_qpacked_params *params = planes->params;
    const uint8_t *any = NULL;
    int exist = 0;
    int h;
    for (h = 0; h < 3; h++) {
        const int32_t r = planes->lines.begun.row + h * params->dh;
        line[h] = NULL;
        if (!three->has || r < 0 || r >= params->ih)
            continue;
        line[h] = inlay_qdw_ring_at(&three->x, r);
        any = line[h];
        exist |= 1 << h;
    }
    for (h = 0; h < 3; h++)
        if (!line[h])
            line[h] = any;
    return exist;
}

/* One row, all fours of channels: where rows lie is the same for each. */
static inline void inlay_qthree_single(const inlay_qthree *three, int32_t whole)
{
    uint8_t *const y = inlay_qdw_ring_at(&three->y, 0);
    const uint8_t *line[3];
    const int exist = inlay_qthree_lines(three, line);
    int32_t channel;
    int h;
    for (channel = 0; channel < whole; channel += 4) {
        inlay_qthree_channels(three, channel, 0);
        if (exist)
            inlay_qthree_window(&three->columns, line, channel, three->numbers);
        for (h = 0; exist != 7 && h < 3; h++)
            if (!(exist >> h & 1))
                inlay_qthree_beside(three->planes, h);
        inlay_qthree_row(three, 0, y + channel);
    }
}

/* Fours of channels, if they are such; returns the first of the rest. */
static inline int32_t inlay_qplanes_three(const inlay_qplanes *planes)
{
    const int32_t whole = planes->params->groups & ~3;
    inlay_qthree three;
    int32_t channel;
    if (!inlay_qthree_suits(planes))
        return 0;
    inlay_qthree_set(planes, &three);
    inlay_qplanes_fill(planes);
    if (INLAY_QPLANES_SINGLY || planes->lines.n == 1) {
        inlay_qthree_single(&three, whole);
        return whole;
    }
    for (channel = 0; channel < whole; channel += 4)
        inlay_qthree_rows(&three, channel);
    return whole;
}

#endif
