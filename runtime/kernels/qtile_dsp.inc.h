/* SPDX-License-Identifier: 0BSD
 * The tile of qtile.h on Arm cores with the DSP instructions (Cortex-M4, M7, M33): two pixels, or
 * one, by four channels.
 *
 * The windows of the pixels are widened to words of two numbers: a four (k0 k1 k2 k3) of a pixel
 * becomes (k0, k2) and (k1, k3), of two pixels side by side. Weights come in halves of 16 bits that
 * hold two channels, h = 256 hi + lo: [four][k0 k1][channels 01, 23][k, k + 2]. One multiplication
 * with h adds up 256 A_hi + A_lo, one with its lower byte A_lo; A_hi is what remains. The compiler
 * packs so only where that is exact: |A_hi| < 2^23, and every h fits. */
#ifndef INLAY_QTILE_DSP_H
#define INLAY_QTILE_DSP_H

#include "kernels/qdsp.h"

/* The sums of four channels, at the first pixel and at the second. */
typedef struct inlay_qpair {
    int32_t a[4], b[4];
} inlay_qpair;

/* Two numbers of two pixels by four channels; s, t: 256 times the upper channel and the lower one,
 * a, b: the lower one. */
#define INLAY_QLOWER(w) "sxtb16 %[" w "], %[" w "]\n"
#define INLAY_QW "ldrd %[u], %[v], [%[w]], #8\n"
#define INLAY_QS INLAY_QADD("s0", "u", "x") INLAY_QADD("s1", "v", "x")
#define INLAY_QT INLAY_QADD("t0", "u", "y") INLAY_QADD("t1", "v", "y")
#define INLAY_QL01 INLAY_QLOWER("u") INLAY_QLOWER("v")
#define INLAY_QA INLAY_QADD("a0", "u", "x") INLAY_QADD("a1", "v", "x")
#define INLAY_QB INLAY_QADD("b0", "u", "y") INLAY_QADD("b1", "v", "y")
#define INLAY_QSUMS INLAY_QS INLAY_QT INLAY_QL01 INLAY_QA INLAY_QB
#define INLAY_QSTEP INLAY_QX INLAY_QW INLAY_QSUMS
#define INLAY_QFOUR INLAY_QSTEP INLAY_QSTEP
#define INLAY_QFOURS INLAY_QFOUR INLAY_QFOUR INLAY_QFOUR INLAY_QFOUR

/* Four numbers of one pixel by four channels. */
#define INLAY_QSY INLAY_QADD("s0", "u", "y") INLAY_QADD("s1", "v", "y")
#define INLAY_QAY INLAY_QADD("a0", "u", "y") INLAY_QADD("a1", "v", "y")
#define INLAY_QX2 INLAY_QX INLAY_QW INLAY_QS INLAY_QL01 INLAY_QA
#define INLAY_QONE INLAY_QX2 INLAY_QW INLAY_QSY INLAY_QL01 INLAY_QAY
#define INLAY_QONES INLAY_QONE INLAY_QONE INLAY_QONE INLAY_QONE

/* Turns of four fours up to the end of the words; the first may begin with one of the later fours,
 * whose instructions are all four bytes long. */
#define INLAY_QENTER "ldr %[u], %[skip]\nadd pc, %[u]\nnop\n1:\n"
#define INLAY_QTURNS(fours) INLAY_QENTER fours INLAY_QAGAIN

/* Bytes of code of a four: of two pixels, of one. */
enum { INLAY_QFOUR_CODE = 96, INLAY_QONE_CODE = 60 };

/* Words of widened windows, in the order of the weights, and bytes of code that the first turn has
 * too many. */
typedef struct inlay_qwords {
    const uint32_t *from, *end;
    int32_t skip;
} inlay_qwords;

static inline inlay_qwords inlay_qwords_of(const inlay_qtile *t, int two,
                                           int32_t turn)
{
    const int32_t fours = (int32_t)(t->taps / 4);
    const int32_t words = two ? 4 : 2;
    inlay_qwords x;
    x.from = t->wide;
    x.end = x.from + fours * words;
    x.skip = (-fours & (turn - 1)) * (two ? INLAY_QFOUR_CODE : INLAY_QONE_CODE);
    return x;
}

/* Four channels of the sums of two pairs, which began with start[0] and start[2]: s with the upper
 * channel, a of the lower one. */
INLAY_INLINE void inlay_qtake(const int32_t *start, int32_t *sum, int32_t s0,
                              int32_t s1, int32_t a0, int32_t a1)
{
    sum[0] = a0;
    sum[1] = inlay_wrap_add(start[1], inlay_wrap_add(s0, -a0) >> 8);
    sum[2] = a1;
    sum[3] = inlay_wrap_add(start[3], inlay_wrap_add(s1, -a1) >> 8);
}

/* The sums of four channels over a window of two pixels. *w goes on to the next four. */
INLAY_INLINE void inlay_qpair_dot(const int8_t **w, const inlay_qwords *words,
                                  const int32_t *start, inlay_qpair *sum)
{
    const uint32_t *from = words->from;
    const int8_t *at = *w;
    int32_t a0 = start[0], b0 = a0, s0 = a0, t0 = a0;
    int32_t a1 = start[2], b1 = a1, s1 = a1, t1 = a1;
    uint32_t x, y, u, v;
    __asm__ volatile(INLAY_QTURNS(INLAY_QFOURS)
                     : INLAY_QIO2(s0, s1), INLAY_QIO2(t0, t1),
                       INLAY_QIO2(a0, a1), INLAY_QIO2(b0, b1),
                       INLAY_QTEMP2(x, y), INLAY_QTEMP2(u, v),
                       INLAY_QIO(from), [w] "+r"(at)
                     : [skip] "m"(words->skip), [end] "m"(words->end)
                     : "cc");
    *w = at;
    inlay_qtake(start, sum->a, s0, s1, a0, a1);
    inlay_qtake(start, sum->b, t0, t1, b0, b1);
}

/* The same of one pixel, whose words lie one after the other. */
INLAY_INLINE void inlay_qsingle_dot(const int8_t **w, const inlay_qwords *words,
                                    const int32_t *start, inlay_qpair *sum)
{
    const uint32_t *from = words->from;
    const int8_t *at = *w;
    int32_t a0 = start[0], s0 = a0;
    int32_t a1 = start[2], s1 = a1;
    uint32_t x, y, u, v;
    __asm__ volatile(INLAY_QTURNS(INLAY_QONES)
                     : INLAY_QIO2(s0, s1), INLAY_QIO2(a0, a1),
                       INLAY_QTEMP2(x, y), INLAY_QTEMP2(u, v),
                       INLAY_QIO(from), [w] "+r"(at)
                     : [skip] "m"(words->skip), [end] "m"(words->end)
                     : "cc");
    *w = at;
    inlay_qtake(start, sum->a, s0, s1, a0, a1);
}

/* What was written before is read by the instructions above. */
INLAY_INLINE void inlay_qwritten(void)
{
    __asm__ volatile("" ::: "memory");
}

/* ---- results ---- */

/* Bytes are made with a sign: their zero point, and what makes the result's four of them. */
typedef struct inlay_qsaturation {
    int32_t zero;
    uint32_t flips;
} inlay_qsaturation;

INLAY_INLINE inlay_qsaturation inlay_qsaturation_of(const inlay_qresult *r)
{
    const int32_t flip = r->lo + 128;
    inlay_qsaturation as;
    as.zero = r->zero - flip;
    as.flips = (uint32_t)flip * UINT32_C(0x01010101);
    return as;
}

/* Can bytes be made so? The bounds are those of the type. */
static inline int inlay_qsaturates(const inlay_qresult *r)
{
#if INLAY_QDSP_FLOAT
    return !inlay_qout_is_wide(r->kind) &&
           (!INLAY_QUSES(INLAY_QUSE_CLIPS) || r->hi - r->lo == 255);
#else
    (void)r;
    return 0;
#endif
}

/* ---- tiles: two pixels, or one, whose widened windows lie at t->wide ---- */

/* Where the results of a tile's pixels belong, and the sums of their numbers; NULL: none are asked
 * for. */
typedef struct inlay_qplaces {
    void *y[2];
    const int32_t *x_sum;
} inlay_qplaces;

/* What the sums of four channels begin with, and what they are multiplied with. */
typedef struct inlay_qfour {
    int32_t channel;
    int32_t start[4];
    float scale[4];
} inlay_qfour;

static inline void inlay_qfour_begin(const inlay_qtile *t, int32_t channel,
                                     inlay_qfour *f)
{
    int32_t i;
    f->channel = channel;
    for (i = 0; i < 4; i++) {
        const int32_t off =
            t->sums ? inlay_wrap_mul(t->zero, t->sums[channel + i]) : 0;
        f->start[i] = inlay_wrap_add(t->bias[channel + i], -off);
    }
    if (inlay_qout_scales(t->result.kind))
        inlay_qscales(&t->result, channel, 4, f->scale);
}

/* The general way: int32, floats, narrow bounds, weights with zero points. */
static inline void inlay_qfour_end(const inlay_qtile *t,
                                   const inlay_qplaces *to,
                                   const inlay_qfour *f, int pixel,
                                   int32_t *sum)
{
    const int32_t left = t->channels - f->channel;
    const int32_t n = left < 4 ? left : 4;
    int32_t i;
    for (i = 0; to->x_sum && i < n; i++) {
        const int32_t zw = t->zw ? t->zw[f->channel + i] : t->zw_all;
        const int32_t off = inlay_wrap_mul(zw, to->x_sum[pixel]);
        sum[i] = inlay_wrap_add(sum[i], -off);
    }
    inlay_qresults(&t->result, f->channel, n, sum, f->scale,
                   inlay_qplace(&t->result, to->y[pixel], f->channel));
}

/* Channels from `channel` on. */
INLAY_APART void inlay_qpairs_other(const inlay_qtile *t,
                                    const inlay_qplaces *to, int32_t channel,
                                    int two)
{
    const inlay_qwords words = inlay_qwords_of(t, two, 4);
    const int8_t *w = t->weights + channel * t->taps;
    for (; channel < t->channels; channel += 4) {
        inlay_qpair sum;
        inlay_qfour f;
        inlay_qfour_begin(t, channel, &f);
        if (two)
            inlay_qpair_dot(&w, &words, f.start, &sum);
        else
            inlay_qsingle_dot(&w, &words, f.start, &sum);
        inlay_qfour_end(t, to, &f, 0, sum.a);
        if (two)
            inlay_qfour_end(t, to, &f, 1, sum.b);
    }
}

#if INLAY_QDSP_FLOAT
/* Four channels after four, from what their sums begin with to their bytes. s8: start, s9: the
 * words' begin, s10: bytes to skip of the first turn, s11: the words' end, s12: scale, s13: bytes
 * to the next four's, s14: the zero point of bytes without a sign, s15: flips of these, s16: y,
 * s17: from the first pixel's to the second's, s18: the end of start. s0 to s3: sums on their way,
 * s4 to s7: their scales. */
#define INLAY_QG_AT "vmov %[u], %[from], s8, s9\n"
#define INLAY_QG_START "ldrd %[a0], %[x], [%[u]], #8\n"
#define INLAY_QG_START1 "ldrd %[a1], %[y], [%[u]], #8\nvmov s8, %[u]\n"
#define INLAY_QG_UPPER "vmov s0, s1, %[x], %[y]\n"
#define INLAY_QG_LOAD INLAY_QG_AT INLAY_QG_START INLAY_QG_START1 INLAY_QG_UPPER
#define INLAY_QG_COPY(x, y) "mov %[" x "], %[a0]\nmov %[" y "], %[a1]\n"
#define INLAY_QG_ONE INLAY_QG_LOAD INLAY_QG_COPY("s0", "s1")
#define INLAY_QG_COPIES INLAY_QG_COPY("t0", "t1") INLAY_QG_COPY("b0", "b1")
#define INLAY_QG_TWO INLAY_QG_ONE INLAY_QG_COPIES

/* Turns of eight fours, of four where code shall be small; the first may begin at one of the later
 * of these, which all take as many bytes of code. */
#define INLAY_QG_ENTER "vmov %[u], s10\nadd pc, %[u]\nnop\n2:\n"
#define INLAY_QG_AGAIN "vmov %[u], s11\ncmp %[from], %[u]\nbne 2b\n"
#define INLAY_QG_TURNS(fours) INLAY_QG_ENTER fours INLAY_QG_AGAIN

/* The upper channels of the sums with the lower ones; x, y: what they began with. */
#define INLAY_QG_A0 "sub %[s0], %[s0], %[a0]\nadd %[s0], %[x], %[s0], asr #8\n"
#define INLAY_QG_A1 "sub %[s1], %[s1], %[a1]\nadd %[s1], %[y], %[s1], asr #8\n"
#define INLAY_QG_B0 "sub %[t0], %[t0], %[b0]\nadd %[t0], %[x], %[t0], asr #8\n"
#define INLAY_QG_B1 "sub %[t1], %[t1], %[b1]\nadd %[t1], %[y], %[t1], asr #8\n"
#define INLAY_QG_A INLAY_QG_A0 INLAY_QG_A1
#define INLAY_QG_B INLAY_QG_B0 INLAY_QG_B1
#define INLAY_QG_STARTS "vmov %[x], %[y], s0, s1\n"

/* Four sums times their scales, rounded. */
#define INLAY_QG_SCALE "vmov %[u], %[v], s12, s13\nvldm %[u], {s4-s7}\n"
#define INLAY_QG_SCALES INLAY_QG_SCALE "add %[u], %[v]\nvmov s12, %[u]\n"
#define INLAY_QG_OUT_A "vmov s0, s1, %[a0], %[s0]\nvmov s2, s3, %[a1], %[s1]\n"
#define INLAY_QG_OUT_B "vmov s0, s1, %[b0], %[t0]\nvmov s2, s3, %[b1], %[t1]\n"
#define INLAY_QG_IN_A "vmov %[a0], %[s0], s0, s1\nvmov %[a1], %[s1], s2, s3\n"
#define INLAY_QG_IN_B "vmov %[b0], %[t0], s0, s1\nvmov %[b1], %[t1], s2, s3\n"
#define INLAY_QG_FLOAT01 "vcvt.f32.s32 s0, s0\nvcvt.f32.s32 s1, s1\n"
#define INLAY_QG_FLOAT23 "vcvt.f32.s32 s2, s2\nvcvt.f32.s32 s3, s3\n"
#define INLAY_QG_MUL01 "vmul.f32 s0, s0, s4\nvmul.f32 s1, s1, s5\n"
#define INLAY_QG_MUL23 "vmul.f32 s2, s2, s6\nvmul.f32 s3, s3, s7\n"
#define INLAY_QG_INT01 "vcvtr.s32.f32 s0, s0\nvcvtr.s32.f32 s1, s1\n"
#define INLAY_QG_INT23 "vcvtr.s32.f32 s2, s2\nvcvtr.s32.f32 s3, s3\n"
#define INLAY_QG_ROUND01 INLAY_QG_FLOAT01 INLAY_QG_MUL01 INLAY_QG_INT01
#define INLAY_QG_ROUND23 INLAY_QG_FLOAT23 INLAY_QG_MUL23 INLAY_QG_INT23
#define INLAY_QG_ROUNDS INLAY_QG_ROUND01 INLAY_QG_ROUND23
#define INLAY_QG_SUMS_A INLAY_QG_OUT_A INLAY_QG_ROUNDS INLAY_QG_IN_A
#define INLAY_QG_SUMS_B INLAY_QG_OUT_B INLAY_QG_ROUNDS INLAY_QG_IN_B

/* Four bytes as one word. u: what is added to be within [0, 255], nothing behind most
 * rectifications; v: flips. */
#define INLAY_QG_ADD(a) "qadd %[" a "], %[" a "], %[u]\n"
#define INLAY_QG_ADD_A0 INLAY_QG_ADD("a0") INLAY_QG_ADD("s0")
#define INLAY_QG_ADD_A1 INLAY_QG_ADD("a1") INLAY_QG_ADD("s1")
#define INLAY_QG_ADD_B0 INLAY_QG_ADD("b0") INLAY_QG_ADD("t0")
#define INLAY_QG_ADD_B1 INLAY_QG_ADD("b1") INLAY_QG_ADD("t1")
#define INLAY_QG_ADD_A INLAY_QG_ADD_A0 INLAY_QG_ADD_A1
#define INLAY_QG_ADD_B INLAY_QG_ADD_B0 INLAY_QG_ADD_B1
#define INLAY_QG_IF "vmov %[u], %[v], s14, s15\ncmp %[u], #0\nbeq 3f\n"
#define INLAY_QG_ZERO INLAY_QG_IF INLAY_QG_ADD_A "3:\n"
#define INLAY_QG_ZEROS INLAY_QG_IF INLAY_QG_ADD_A INLAY_QG_ADD_B "3:\n"
#define INLAY_QG_NEAR(a) "usat %[" a "], #8, %[" a "]\n"
#define INLAY_QG_NEAR_A0 INLAY_QG_NEAR("a0") INLAY_QG_NEAR("s0")
#define INLAY_QG_NEAR_A1 INLAY_QG_NEAR("a1") INLAY_QG_NEAR("s1")
#define INLAY_QG_NEAR_B0 INLAY_QG_NEAR("b0") INLAY_QG_NEAR("t0")
#define INLAY_QG_NEAR_B1 INLAY_QG_NEAR("b1") INLAY_QG_NEAR("t1")
#define INLAY_QG_JOIN_A "bfi %[a0], %[s0], #8, #8\nbfi %[a0], %[a1], #16, #8\n"
#define INLAY_QG_JOIN_B "bfi %[b0], %[t0], #8, #8\nbfi %[b0], %[b1], #16, #8\n"
#define INLAY_QG_FLIP_A "bfi %[a0], %[s1], #24, #8\neor %[a0], %[a0], %[v]\n"
#define INLAY_QG_FLIP_B "bfi %[b0], %[t1], #24, #8\neor %[b0], %[b0], %[v]\n"
#define INLAY_QG_WORD_A INLAY_QG_JOIN_A INLAY_QG_FLIP_A
#define INLAY_QG_WORD_B INLAY_QG_JOIN_B INLAY_QG_FLIP_B
#define INLAY_QG_BYTES_A INLAY_QG_NEAR_A0 INLAY_QG_NEAR_A1 INLAY_QG_WORD_A
#define INLAY_QG_BYTES_B INLAY_QG_NEAR_B0 INLAY_QG_NEAR_B1 INLAY_QG_WORD_B
#define INLAY_QG_PLACE "vmov %[x], %[y], s16, s17\n"
#define INLAY_QG_PUT "str %[a0], [%[x]], #4\nvmov s16, %[x]\n"
#define INLAY_QG_NEXT "vmov %[u], s8\nvmov %[v], s18\ncmp %[u], %[v]\nbne 1b\n"

#define INLAY_QG_MADE INLAY_QG_STARTS INLAY_QG_A
#define INLAY_QG_LAST INLAY_QG_PUT INLAY_QG_NEXT
#define INLAY_QG_END1 INLAY_QG_SCALES INLAY_QG_SUMS_A INLAY_QG_ZERO
#define INLAY_QG_SINGLE INLAY_QG_END1 INLAY_QG_BYTES_A INLAY_QG_PLACE
#define INLAY_QG_END2 INLAY_QG_SCALES INLAY_QG_SUMS_A INLAY_QG_SUMS_B
#define INLAY_QG_WORDS INLAY_QG_ZEROS INLAY_QG_BYTES_A INLAY_QG_BYTES_B
#define INLAY_QG_PUT2 INLAY_QG_PLACE "str %[b0], [%[x], %[y]]\n"
#define INLAY_QG_PAIR INLAY_QG_END2 INLAY_QG_WORDS INLAY_QG_PUT2
#define INLAY_QG_MADE2 INLAY_QG_MADE INLAY_QG_B
#ifdef __OPTIMIZE_SIZE__
enum { INLAY_QG_FOURS = 4 };
#define INLAY_QG_TURNS1 INLAY_QG_TURNS(INLAY_QONES)
#define INLAY_QG_TURNS2 INLAY_QG_TURNS(INLAY_QFOURS)
#else
enum { INLAY_QG_FOURS = 8 };
#define INLAY_QG_TURNS1 INLAY_QG_TURNS(INLAY_QONES INLAY_QONES)
#define INLAY_QG_TURNS2 INLAY_QG_TURNS(INLAY_QFOURS INLAY_QFOURS)
#endif
#define INLAY_QG_REST1 INLAY_QG_MADE INLAY_QG_SINGLE INLAY_QG_LAST
#define INLAY_QG_REST2 INLAY_QG_MADE2 INLAY_QG_PAIR INLAY_QG_LAST

/* One pixel, and two. */
#define INLAY_QGROUPS1 "1:\n" INLAY_QG_ONE INLAY_QG_TURNS1 INLAY_QG_REST1
#define INLAY_QGROUPS2 "1:\n" INLAY_QG_TWO INLAY_QG_TURNS2 INLAY_QG_REST2

#define INLAY_QG_SUMS1 INLAY_QTEMP2(s0, s1), INLAY_QTEMP2(a0, a1)
#define INLAY_QG_MORE INLAY_QTEMP2(t0, t1), INLAY_QTEMP2(b0, b1)
#define INLAY_QG_TEMPS INLAY_QTEMP2(x, y), INLAY_QTEMP2(u, v), INLAY_QTEMP(from)
#define INLAY_QG_WALKED [w] "+r"(w), "+t"(start), "+t"(scale), "+t"(to_y)
#define INLAY_QG_OUT1 INLAY_QG_SUMS1, INLAY_QG_TEMPS, INLAY_QG_WALKED
#define INLAY_QG_OUT2 INLAY_QG_MORE, INLAY_QG_OUT1
#define INLAY_QG_WORDS_IN "t"(begin), "t"(skip), "t"(end), "t"(last)
#define INLAY_QG_BYTES_IN "t"(step), "t"(zero), "t"(flips), "t"(next)
#define INLAY_QG_SET INLAY_QG_WORDS_IN, INLAY_QG_BYTES_IN
#define INLAY_QG_SINGLES "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"
#define INLAY_QG_LOST INLAY_QG_SINGLES, "cc", "memory"

/* What these registers hold at first, but for the words. */
typedef struct inlay_qgroups {
    const int32_t *start, *last;
    const float *scale;
    int32_t step, zero;
    uint32_t flips;
    uint8_t *y;
    ptrdiff_t next;
} inlay_qgroups;

INLAY_INLINE void inlay_qgroups_run(const inlay_qgroups *groups,
                                    const inlay_qwords *words, const int8_t *w,
                                    int two)
{
    register const int32_t *start __asm__("s8") = groups->start;
    register const uint32_t *begin __asm__("s9") = words->from;
    register int32_t skip __asm__("s10") = words->skip;
    register const uint32_t *end __asm__("s11") = words->end;
    register const float *scale __asm__("s12") = groups->scale;
    register int32_t step __asm__("s13") = groups->step;
    register int32_t zero __asm__("s14") = groups->zero;
    register uint32_t flips __asm__("s15") = groups->flips;
    register uint8_t *to_y __asm__("s16") = groups->y;
    register ptrdiff_t next __asm__("s17") = groups->next;
    register const int32_t *last __asm__("s18") = groups->last;
    const uint32_t *from;
    int32_t s0, s1, t0, t1, a0, a1, b0, b1, x, y, u, v;
    if (two)
        __asm__ volatile(INLAY_QGROUPS2:INLAY_QG_OUT2:INLAY_QG_SET
                         : INLAY_QG_LOST);
    else
        __asm__ volatile(INLAY_QGROUPS1:INLAY_QG_OUT1:INLAY_QG_SET
                         : INLAY_QG_LOST);
}

/* The same of pixels at `to`, `whole` channels, but for `next`; one: room for four scales. */
INLAY_INLINE void inlay_qgroups_set(const inlay_qtile *t,
                                    const inlay_qplaces *to, int32_t whole,
                                    float *one, inlay_qgroups *groups)
{
    const inlay_qresult *result = &t->result;
    const inlay_qsaturation as = inlay_qsaturation_of(result);
    groups->start = t->bias;
    groups->last = t->bias + whole;
    groups->scale = result->scale;
    groups->step = result->each ? 16 : 0;
    groups->zero = as.zero + 128;
    groups->flips = as.flips ^ UINT32_C(0x80808080);
    groups->y = (uint8_t *)to->y[0];
    if (result->each)
        return;
    one[0] = one[1] = one[2] = one[3] = *result->scale * result->factor;
    groups->scale = one;
}

/* The simple case, whole fours of channels; returns the first of the rest. */
INLAY_INLINE int32_t inlay_qpairs_bytes(const inlay_qtile *t,
                                        const inlay_qplaces *to, int two)
{
    const int32_t whole = t->channels - t->channels % 4;
    const inlay_qwords words = inlay_qwords_of(t, two, INLAY_QG_FOURS);
    inlay_qgroups groups;
    float one[4];
    if (!whole)
        return 0;
    inlay_qgroups_set(t, to, whole, one, &groups);
    groups.next = two ? (uint8_t *)to->y[1] - groups.y : 0;
    inlay_qgroups_run(&groups, &words, t->weights, two);
    return whole;
}
#else
static inline int32_t inlay_qpairs_bytes(const inlay_qtile *t,
                                         const inlay_qplaces *to, int two)
{
    (void)t;
    (void)to;
    (void)two;
    return 0;
}
#endif

INLAY_APART int32_t inlay_qpairs_two(const inlay_qtile *t,
                                     const inlay_qplaces *to)
{
    return inlay_qpairs_bytes(t, to, 1);
}

INLAY_APART int32_t inlay_qpairs_one(const inlay_qtile *t,
                                     const inlay_qplaces *to)
{
    return inlay_qpairs_bytes(t, to, 0);
}

/* What these do not make. */
#if INLAY_QDSP_FLOAT
enum {
    INLAY_QPAIRS_OTHERS = INLAY_QUSE_MORE | INLAY_QUSE_CLIPS | INLAY_QUSE_REST
};
#else
enum { INLAY_QPAIRS_OTHERS = INLAY_QPACKED_USE };
#endif

/* Is that all, but for channels beyond whole fours? */
static inline int inlay_qpairs_simple(const inlay_qtile *t, int has_sums)
{
    const int more =
        INLAY_QUSES(INLAY_QUSE_MORE) &&
        (has_sums || t->sums || (t->result.each && t->result.factor != 1.0f));
    return inlay_qsaturates(&t->result) && !more;
}

#include "kernels/qtriple_dsp.inc.h"

/* All channels of two pixels, or of one. */
static inline void inlay_qpairs_run(const inlay_qtile *t,
                                    const inlay_qplaces *to, int two)
{
    int32_t channel = 0;
    inlay_qwritten();
    if (inlay_qpairs_simple(t, to->x_sum != NULL))
        channel = two ? inlay_qpairs_two(t, to) : inlay_qpairs_one(t, to);
    if (INLAY_QUSES(INLAY_QPAIRS_OTHERS) && channel < t->channels)
        inlay_qpairs_other(t, to, channel, two);
}

#endif
