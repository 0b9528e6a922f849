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

/* Operands that are read and written, and that are written early. */
#define INLAY_QIO(name) [name] "+r"(name)
#define INLAY_QTEMP(name) [name] "=&r"(name)
#define INLAY_QIO2(name, other) INLAY_QIO(name), INLAY_QIO(other)
#define INLAY_QTEMP2(name, other) INLAY_QTEMP(name), INLAY_QTEMP(other)

/* Two numbers of two pixels by four channels; s, t: 256 times the upper channel and the lower one,
 * a, b: the lower one. */
#define INLAY_QADD(s, w, x) "smlad %[" s "], %[" w "], %[" x "], %[" s "]\n"
#define INLAY_QLOWER(w) "sxtb16 %[" w "], %[" w "]\n"
#define INLAY_QX "ldrd %[x], %[y], [%[from]], #8\n"
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

/* `steps` from %[from] to `end`, from one of their labels on. */
#define INLAY_QENTER(a, b) "b " b "f\n" a ":\n"
#define INLAY_QUNTIL(a, b, steps, end) steps b ":\n" INLAY_QEND(a, end)
#define INLAY_QEND(a, end) "ldr %[u], " end "\ncmp %[from], %[u]\nbne " a "b\n"

/* Words of widened windows, in the order of the weights: those up to `main` are taken many at a
 * time. */
typedef struct inlay_qwords {
    const uint32_t *from, *main, *end;
} inlay_qwords;

static inline inlay_qwords inlay_qwords_of(const inlay_qtile *t, int two)
{
    const int32_t fours = (int32_t)(t->taps / 4);
    const int32_t words = two ? 4 : 2;
    inlay_qwords x;
    x.from = t->wide;
    x.main = x.from + fours / 4 * 4 * words;
    x.end = x.from + fours * words;
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
    __asm__ volatile(
        INLAY_QENTER("1", "2") INLAY_QUNTIL("1", "2", INLAY_QFOURS, "%[main]")
            INLAY_QENTER("3", "4") INLAY_QUNTIL("3", "4", INLAY_QFOUR, "%[end]")
        : INLAY_QIO2(s0, s1), INLAY_QIO2(t0, t1), INLAY_QIO2(a0, a1),
          INLAY_QIO2(b0, b1), INLAY_QTEMP2(x, y), INLAY_QTEMP2(u, v),
          INLAY_QIO(from), [w] "+r"(at)
        : [main] "m"(words->main), [end] "m"(words->end)
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
    __asm__ volatile(
        INLAY_QENTER("1", "2") INLAY_QUNTIL("1", "2", INLAY_QONES, "%[main]")
            INLAY_QENTER("3", "4") INLAY_QUNTIL("3", "4", INLAY_QONE, "%[end]")
        : INLAY_QIO2(s0, s1), INLAY_QIO2(a0, a1), INLAY_QTEMP2(x, y),
          INLAY_QTEMP2(u, v), INLAY_QIO(from), [w] "+r"(at)
        : [main] "m"(words->main), [end] "m"(words->end)
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

#if defined __ARM_FP && (__ARM_FP & 4)
/* A byte of a sum, with a sign. */
INLAY_INLINE int32_t inlay_qbyte(int32_t sum, float scale, int32_t zero)
{
    const int32_t whole = inlay_qrint((float)sum * scale);
    int32_t near;
    __asm__("qadd %0, %1, %2\n\tssat %0, #8, %0"
            : "=&r"(near)
            : "r"(whole), "r"(zero));
    return near;
}

/* Four channels of a pixel; all of -128 .. 127, or of 0 .. 255, may come out. */
INLAY_INLINE void inlay_qbytes(const int32_t *sum, const float *scale,
                               const inlay_qsaturation *as, uint8_t *y)
{
    int32_t byte[4];
    int32_t i;
    INLAY_UNROLL
    for (i = 0; i < 4; i++)
        byte[i] = inlay_qbyte(sum[i], scale[i], as->zero);
    inlay_dsp_store(byte, as->flips, y);
}
#endif

/* Can bytes be made so? The bounds are those of the type. */
static inline int inlay_qsaturates(const inlay_qresult *r)
{
#if defined __ARM_FP && (__ARM_FP & 4)
    return (r->kind == INLAY_QOUT_I8 || r->kind == INLAY_QOUT_U8) &&
           r->hi - r->lo == 255;
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
    if (t->result.kind != INLAY_QOUT_I32)
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
    const inlay_qwords words = inlay_qwords_of(t, two);
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

#if defined __ARM_FP && (__ARM_FP & 4)
/* Four channels of one pixel or two; *w goes on. next: from the first pixel's y to the second's. */
INLAY_INLINE void inlay_qpairs_four(const int8_t **w, const inlay_qwords *words,
                                    const int32_t *start, const float *scale,
                                    const inlay_qsaturation *as, uint8_t *y,
                                    ptrdiff_t next, int two)
{
    inlay_qpair sum;
    if (two)
        inlay_qpair_dot(w, words, start, &sum);
    else
        inlay_qsingle_dot(w, words, start, &sum);
    inlay_qbytes(sum.a, scale, as, y);
    if (two)
        inlay_qbytes(sum.b, scale, as, y + next);
}

/* The simple case, whole fours of channels; returns the first of the rest. */
INLAY_INLINE int32_t inlay_qpairs_bytes(const inlay_qtile *t,
                                        const inlay_qplaces *to, int two)
{
    const int32_t whole = t->channels - t->channels % 4;
    const inlay_qsaturation as = inlay_qsaturation_of(&t->result);
    const int32_t step = t->result.each ? 4 : 0;
    const inlay_qwords words = inlay_qwords_of(t, two);
    const int32_t *start = t->bias;
    const int32_t *const end = start + whole;
    const int8_t *w = t->weights;
    uint8_t *y = (uint8_t *)to->y[0];
    const ptrdiff_t next = two ? (uint8_t *)to->y[1] - y : 0;
    const float *scale = t->result.scale;
    float one[4];
    inlay_qscales(&t->result, 0, 4, one);
    if (!step)
        scale = one;
    for (; start < end; start += 4, scale += step, y += 4)
        inlay_qpairs_four(&w, &words, start, scale, &as, y, next, two);
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

/* All channels of two pixels, or of one. */
static inline void inlay_qpairs_run(const inlay_qtile *t,
                                    const inlay_qplaces *to, int two)
{
    const int simple = inlay_qsaturates(&t->result) && !to->x_sum && !t->sums &&
                       (!t->result.each || t->result.factor == 1.0f);
    int32_t channel = 0;
    inlay_qwritten();
    if (simple)
        channel = two ? inlay_qpairs_two(t, to) : inlay_qpairs_one(t, to);
    if (channel < t->channels)
        inlay_qpairs_other(t, to, channel, two);
}

#endif
