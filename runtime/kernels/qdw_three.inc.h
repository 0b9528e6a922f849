/* SPDX-License-Identifier: 0BSD
 * Depthwise convolution by windows of 3 x 3 at a stride of one or two, on Arm cores with the DSP
 * instructions and a float unit: two pixels of a channel at a time, ten multiplications for 18
 * products. Four channels are taken apart in scratch, words of two halves:
 *
 *   weights   [channel] (w00, w10) (w01, w11) (w02, w12) (w20, w21) (w21, w22)
 *   numbers   [pair of columns e, f][channel] (x0e, x1e) (x0f, x1f) (x2e, x2f) */
#ifndef INLAY_QDW_THREE_H
#define INLAY_QDW_THREE_H

/* Words of a channel. */
enum { INLAY_QTHREE_WEIGHTS = 5, INLAY_QTHREE_NUMBERS = 3 };

/* What becomes of the sums of a channel. */
typedef struct inlay_qthree_result {
    int32_t zero, flip;
    ptrdiff_t ys;
    int32_t words; /* of numbers up to the last two pixels */
    int32_t odd;   /* one pixel more */
    ptrdiff_t
        x_first; /* from where a channel's numbers end to those of the next */
    ptrdiff_t y_first;
    int32_t start;
    float scale;
} inlay_qthree_result;

typedef struct inlay_qthree {
    const inlay_qplanes *planes;
    uint32_t mask, zero; /* of fours of bytes */
    ptrdiff_t pix;
    int32_t e, end; /* columns that are those of x */
    uint32_t *weights, *numbers;
    const uint8_t *row[3]; /* of x; NULL: there is none */
    inlay_qthree_result result;
} inlay_qthree;

/* ---- numbers ---- */

INLAY_INLINE uint32_t *inlay_qthree_at(const inlay_qthree *three, int32_t pair)
{
    return three->numbers + 4 * INLAY_QTHREE_NUMBERS * pair;
}

/* Four channels of a pixel, or zero points where there is none. */
INLAY_INLINE uint32_t inlay_qthree_word(const inlay_qthree *three, int32_t h,
                                        int32_t e, ptrdiff_t at)
{
    const uint8_t *x = three->row[h];
    if (!x || e < three->e || e >= three->end)
        return three->zero;
    return inlay_word(x + at) ^ three->mask;
}

/* Pair k where rows or columns of it lie beside x; at: bytes to its first column. */
INLAY_APART void inlay_qthree_edge(const inlay_qthree *three, int32_t k,
                                   ptrdiff_t at)
{
    const ptrdiff_t next = at + three->pix;
    uint32_t *to = inlay_qthree_at(three, k);
    uint32_t x[3], y[3];
    int32_t h;
    INLAY_UNROLL
    for (h = 0; h < 3; h++) {
        x[h] = inlay_qthree_word(three, h, 2 * k, at);
        y[h] = inlay_qthree_word(three, h, 2 * k + 1, next);
    }
    inlay_qplane_two(x[0], x[1], to, INLAY_QTHREE_NUMBERS);
    inlay_qplane_two(y[0], y[1], to + 1, INLAY_QTHREE_NUMBERS);
    inlay_qplane_two(x[2], y[2], to + 2, INLAY_QTHREE_NUMBERS);
}

/* Pairs [k, end), all inside. Few numbers are held at a time. */
INLAY_INLINE void inlay_qthree_inside(const inlay_qthree *three, int32_t k,
                                      int32_t end, ptrdiff_t at)
{
    const uint8_t *x0 = three->row[0] + at;
    const uint8_t *x1 = three->row[1] + at;
    const uint8_t *x2 = three->row[2] + at;
    const ptrdiff_t pix = three->pix;
    const uint32_t mask = three->mask;
    uint32_t *to = inlay_qthree_at(three, k);
    uint32_t *const last = inlay_qthree_at(three, end);
    for (; to < last; to += 4 * INLAY_QTHREE_NUMBERS) {
        inlay_qplane_two(inlay_word(x0) ^ mask, inlay_word(x1) ^ mask, to,
                         INLAY_QTHREE_NUMBERS);
        inlay_qplane_two(inlay_word(x0 + pix) ^ mask,
                         inlay_word(x1 + pix) ^ mask, to + 1,
                         INLAY_QTHREE_NUMBERS);
        inlay_qplane_two(inlay_word(x2) ^ mask, inlay_word(x2 + pix) ^ mask,
                         to + 2, INLAY_QTHREE_NUMBERS);
        x0 += 2 * pix;
        x1 += 2 * pix;
        x2 += 2 * pix;
    }
}

/* Four channels; at: bytes from a row's first column to them. */
static inline void inlay_qthree_numbers(const inlay_qthree *three, ptrdiff_t at)
{
    const int whole = three->row[0] && three->row[1] && three->row[2];
    const int32_t to = (three->end + 1) / 2;
    const int32_t inside = whole ? (three->e + 1) / 2 : to;
    const int32_t inside_end = whole ? three->end / 2 : to;
    const ptrdiff_t two = 2 * three->pix;
    int32_t k;
    for (k = three->e / 2; k < inside; k++)
        inlay_qthree_edge(three, k, at + k * two);
    if (k < inside_end)
        inlay_qthree_inside(three, k, inside_end, at + k * two);
    for (k = inside_end; k < to; k++)
        inlay_qthree_edge(three, k, at + k * two);
}

/* ---- weights ---- */

/* Those of four channels. */
static inline void inlay_qthree_weights(const inlay_qthree *three,
                                        const int8_t *w)
{
    const ptrdiff_t all = three->planes->params->groups;
    const int8_t *w1 = w + 3 * all;
    const int8_t *w2 = w1 + 3 * all;
    const uint32_t middle = inlay_word(w2 + all);
    uint32_t *to = three->weights;
    inlay_qplane_two(inlay_word(w), inlay_word(w1), to, INLAY_QTHREE_WEIGHTS);
    inlay_qplane_two(inlay_word(w + all), inlay_word(w1 + all), to + 1,
                     INLAY_QTHREE_WEIGHTS);
    inlay_qplane_two(inlay_word(w + 2 * all), inlay_word(w1 + 2 * all), to + 2,
                     INLAY_QTHREE_WEIGHTS);
    inlay_qplane_two(inlay_word(w2), middle, to + 3, INLAY_QTHREE_WEIGHTS);
    inlay_qplane_two(middle, inlay_word(w2 + 2 * all), to + 4,
                     INLAY_QTHREE_WEIGHTS);
}

/* ---- sums ---- */

/* r8 to r12: the weights; r4, r5, r6: a pair of columns; r2, r3: the sums of two pixels. */
#define INLAY_Q3_PAIR "ldm %[x], {r4-r6}\n"
#define INLAY_Q3_NEXT "ldm %[x], {r4-r6}\nadd %[x], %[x], #48\n"

/* Columns 0 and 1 of a window that begins with the pair, and its column 2. */
#define INLAY_Q3_0 "smlad r2, r4, r8, r2\nsmlad r2, r5, r9, r2\n"
#define INLAY_Q3_01 INLAY_Q3_0 "smlad r2, r6, r11, r2\n"
#define INLAY_Q3_2 "smlad r2, r4, r10, r2\nsmlabt r2, r6, r12, r2\n"
/* The same of the second sum. */
#define INLAY_Q3_B0 "smlad r3, r4, r8, r3\nsmlad r3, r5, r9, r3\n"
#define INLAY_Q3_B01 INLAY_Q3_B0 "smlad r3, r6, r11, r3\n"
#define INLAY_Q3_B2 "smlad r3, r4, r10, r3\nsmlabt r3, r6, r12, r3\n"
/* Of a window that begins a column later: column 0, columns 1 and 2. */
#define INLAY_Q3_C0 "smlad r3, r5, r8, r3\nsmlatb r3, r6, r11, r3\n"
#define INLAY_Q3_C1 "smlad r3, r4, r9, r3\nsmlad r3, r5, r10, r3\n"
#define INLAY_Q3_C12 INLAY_Q3_C1 "smlad r3, r6, r12, r3\n"

/* A pixel, two at a stride of one, and two at a stride of two. */
#define INLAY_Q3_FIRST INLAY_Q3_NEXT INLAY_Q3_01
#define INLAY_Q3_ONE INLAY_Q3_FIRST INLAY_Q3_PAIR INLAY_Q3_2
#define INLAY_Q3_AFTER INLAY_Q3_PAIR INLAY_Q3_2 INLAY_Q3_C12
#define INLAY_Q3_NEAR INLAY_Q3_FIRST INLAY_Q3_C0 INLAY_Q3_AFTER
#define INLAY_Q3_LAST INLAY_Q3_B01 INLAY_Q3_PAIR INLAY_Q3_B2
#define INLAY_Q3_FAR INLAY_Q3_FIRST INLAY_Q3_NEXT INLAY_Q3_2 INLAY_Q3_LAST

/* Bytes of sums; s2, s3: what these begin with, s4: the zero point of y, s5: its flip. */
#define INLAY_Q3_FLOAT "vcvt.f32.s32 s0, s0\nvmul.f32 s0, s0, %[scale]\n"
#define INLAY_Q3_ROUND INLAY_Q3_FLOAT "vcvtr.s32.f32 s0, s0\n"
#define INLAY_Q3_FLOAT1 "vcvt.f32.s32 s1, s1\nvmul.f32 s1, s1, %[scale]\n"
#define INLAY_Q3_ROUND1 INLAY_Q3_FLOAT1 "vcvtr.s32.f32 s1, s1\n"
#define INLAY_Q3_ROUNDS "vmov s0, s1, r2, r3\n" INLAY_Q3_ROUND INLAY_Q3_ROUND1
#define INLAY_Q3_TAKE "vmov r2, r3, s0, s1\nvmov r4, r5, s4, s5\n"
#define INLAY_Q3_BYTE "qadd r2, r2, r4\nssat r2, #8, r2\neor r2, r2, r5\n"
#define INLAY_Q3_BYTE1 "qadd r3, r3, r4\nssat r3, #8, r3\neor r3, r3, r5\n"
#define INLAY_Q3_BYTES INLAY_Q3_TAKE INLAY_Q3_BYTE INLAY_Q3_BYTE1
#define INLAY_Q3_PUT "strb r2, [%[y]]\nstrb r3, [%[y], %[ys]]\n"
#define INLAY_Q3_STORE INLAY_Q3_PUT "add %[y], %[y], %[ys], lsl #1\n"
#define INLAY_Q3_RESULTS INLAY_Q3_ROUNDS INLAY_Q3_BYTES INLAY_Q3_STORE

/* Pairs of pixels up to %[end], then one if %[odd]. */
#define INLAY_Q3_BEGIN "vmov.f32 s3, s2\nldm r8, {r8-r12}\n"
#define INLAY_Q3_UNTIL "2:\nvmov r4, %[end]\ncmp %[x], r4\nbne 1b\n"
#define INLAY_Q3_WALK(sums) "1:\nvmov r2, r3, s2, s3\n" sums INLAY_Q3_RESULTS
#define INLAY_Q3_PAIRS(sums) "b 2f\n" INLAY_Q3_WALK(sums) INLAY_Q3_UNTIL
#define INLAY_Q3_IF "vmov r4, %[odd]\ncmp r4, #0\nbeq 3f\nvmov r2, s2\n"
#define INLAY_Q3_SUM INLAY_Q3_IF INLAY_Q3_ONE "vmov s0, r2\n"
#define INLAY_Q3_TAIL INLAY_Q3_SUM INLAY_Q3_ROUND INLAY_Q3_TAKE
#define INLAY_Q3_REST INLAY_Q3_TAIL INLAY_Q3_BYTE "strb r2, [%[y]]\n3:\n"
#define INLAY_Q3_ALL(sums) INLAY_Q3_BEGIN INLAY_Q3_PAIRS(sums) INLAY_Q3_REST
#define INLAY_Q3_CORE "r2", "r3", "r4", "r5", "r6", "r9", "r10", "r11"
#define INLAY_Q3_SINGLES "r12", "s0", "s1", "s3"
#define INLAY_Q3_LOST INLAY_Q3_CORE, INLAY_Q3_SINGLES, "cc", "memory"

/* All pixels of a channel; returns where its numbers end. */
INLAY_INLINE const uint32_t *inlay_qthree_near(const inlay_qthree_result *r,
                                               const uint32_t *weights,
                                               const uint32_t *x, uint8_t **to)
{
    register const uint32_t *w __asm__("r8") = weights;
    register int32_t start __asm__("s2") = r->start;
    register int32_t zero __asm__("s4") = r->zero;
    register int32_t flip __asm__("s5") = r->flip;
    const uint32_t *const end = x + r->words;
    uint8_t *y = *to;
    __asm__ volatile(INLAY_Q3_ALL(INLAY_Q3_NEAR)
                     : [x] "+r"(x), [y] "+r"(y), "+r"(w)
                     : [ys] "r"(r->ys), [end] "t"(end), [odd] "t"(r->odd),
                       [scale] "t"(r->scale), "t"(start), "t"(zero), "t"(flip)
                     : INLAY_Q3_LOST);
    *to = y;
    return x;
}

/* The same at a stride of two. */
INLAY_INLINE const uint32_t *inlay_qthree_far(const inlay_qthree_result *r,
                                              const uint32_t *weights,
                                              const uint32_t *x, uint8_t **to)
{
    register const uint32_t *w __asm__("r8") = weights;
    register int32_t start __asm__("s2") = r->start;
    register int32_t zero __asm__("s4") = r->zero;
    register int32_t flip __asm__("s5") = r->flip;
    const uint32_t *const end = x + r->words;
    uint8_t *y = *to;
    __asm__ volatile(INLAY_Q3_ALL(INLAY_Q3_FAR)
                     : [x] "+r"(x), [y] "+r"(y), "+r"(w)
                     : [ys] "r"(r->ys), [end] "t"(end), [odd] "t"(r->odd),
                       [scale] "t"(r->scale), "t"(start), "t"(zero), "t"(flip)
                     : INLAY_Q3_LOST);
    *to = y;
    return x;
}

/* Four channels from `channel` on, the first's results at y. */
INLAY_INLINE void inlay_qthree_four(const inlay_qthree *three, int32_t channel,
                                    uint8_t *y, int far)
{
    const inlay_qtile *of = &three->planes->job->of;
    const int32_t each = of->result.each;
    const uint32_t *x = three->numbers;
    const uint32_t *w = three->weights;
    const int32_t *start = of->bias + channel;
    const int32_t *const end = start + 4;
    const float *scale = of->result.scale + (each ? channel : 0);
    inlay_qthree_result r = three->result;
    for (; start < end; start++, scale += each, w += INLAY_QTHREE_WEIGHTS) {
        r.start = *start;
        r.scale = *scale;
        x = far ? inlay_qthree_far(&r, w, x, &y)
                : inlay_qthree_near(&r, w, x, &y);
        x += r.x_first;
        y += r.y_first;
    }
}

INLAY_APART void inlay_qthree_fours(const inlay_qthree *three, int32_t channel,
                                    uint8_t *y)
{
    inlay_qthree_four(three, channel, y, 0);
}
INLAY_APART void inlay_qthree_fours_far(const inlay_qthree *three,
                                        int32_t channel, uint8_t *y)
{
    inlay_qthree_four(three, channel, y, 1);
}

/* ---- a tile ---- */

static inline int inlay_qthree_suits(const inlay_qplanes *planes)
{
    const inlay_qtile *of = &planes->job->of;
    const inlay_qpacked_params *params = planes->params;
    if (planes->rows != 3 || params->kw != 3 || params->dw != 1 ||
        params->sw > 2)
        return 0;
    return !of->zw && !of->zw_all && !of->sums &&
           inlay_qsaturates(&of->result) && of->result.factor == 1.0f;
}

static inline void inlay_qthree_result_set(const inlay_qplanes *planes,
                                           inlay_qthree_result *r)
{
    const inlay_qtile *of = &planes->job->of;
    const int32_t pair = 4 * INLAY_QTHREE_NUMBERS;
    const int32_t pixels = planes->n / 2 * 2;
    r->zero = inlay_qsaturation_of(&of->result).zero;
    r->flip = of->result.lo + 128;
    r->ys = of->ys;
    r->words = pair * (planes->params->sw == 1 ? pixels / 2 : pixels);
    r->odd = planes->n % 2;
    r->x_first = INLAY_QTHREE_NUMBERS - r->words - r->odd * pair;
    r->y_first = 1 - pixels * of->ys;
    r->start = 0;
    r->scale = 0.0f;
}

/* Column e, or the nearest of the tile's. */
static inline int32_t inlay_qthree_column(int32_t e, int32_t columns)
{
    if (e < 0)
        return 0;
    return e < columns ? e : columns;
}

static inline void inlay_qthree_set(const inlay_qplanes *planes,
                                    inlay_qthree *three)
{
    const inlay_qpacked_params *params = planes->params;
    const int32_t columns = (planes->n - 1) * params->sw + 3;
    three->planes = planes;
    three->mask = inlay_qmask(&planes->job->of);
    three->zero = (uint32_t)(planes->job->of.zero & 255) * UINT32_C(0x01010101);
    three->pix = planes->job->step->ref[1].pix;
    three->e = inlay_qthree_column(-planes->first, columns);
    three->end = inlay_qthree_column(params->iw - planes->first, columns);
    three->weights = (uint32_t *)(void *)planes->w;
    three->numbers = three->weights + 4 * INLAY_QTHREE_WEIGHTS;
    memcpy(three->row, planes->line, sizeof three->row);
    inlay_qthree_result_set(planes, &three->result);
}

/* Zero points for pairs [k, end) of columns, which lie beside x, in all channels. */
static inline void inlay_qthree_fill(const inlay_qthree *three, int32_t k,
                                     int32_t end)
{
    const uint32_t half = (uint32_t)three->planes->job->of.zero & 0xffff;
    const uint32_t zero = half << 16 | half;
    uint32_t *to = inlay_qthree_at(three, k);
    uint32_t *const last = inlay_qthree_at(three, end);
    for (; to < last; to++)
        *to = zero;
}

/* Fours of channels, if they are such; returns the first of the rest. */
static inline int32_t inlay_qplanes_three(const inlay_qplanes *planes)
{
    const int32_t whole = planes->params->groups & ~3;
    const int32_t pairs = planes->plane / (2 * INLAY_QTHREE_NUMBERS);
    const ptrdiff_t at = planes->first * planes->job->step->ref[1].pix;
    uint8_t *y = (uint8_t *)planes->row->y + planes->c * planes->job->of.ys;
    inlay_qthree three;
    int32_t channel;
    if (!inlay_qthree_suits(planes))
        return 0;
    inlay_qthree_set(planes, &three);
    inlay_qthree_fill(&three, 0, three.e / 2);
    inlay_qthree_fill(&three, (three.end + 1) / 2, pairs);
    for (channel = 0; channel < whole; channel += 4) {
        inlay_qthree_numbers(&three, at + channel);
        inlay_qthree_weights(&three, planes->job->of.weights + channel);
        if (planes->params->sw == 1)
            inlay_qthree_fours(&three, channel, y + channel);
        else
            inlay_qthree_fours_far(&three, channel, y + channel);
    }
    return whole;
}

#endif
