/* SPDX-License-Identifier: 0BSD
 * The tile of qtile.h in plain C: two pixels, or one, by four channels of a block, three pixels on
 * RISC-V (qtile_riscv.inc.h); where floats are software's, results by integers. On Thumb-2 without
 * the DSP instructions (Cortex-M3) the fours of two pixels are written out: their eight sums and
 * what is multiplied fill the registers. */
#ifndef INLAY_QTILE_PLAIN_H
#define INLAY_QTILE_PLAIN_H

/* The bytes of x as they are read: with their sign, without one, or as the tile says. */
typedef enum inlay_qsign {
    INLAY_QSIGNED,
    INLAY_QUNSIGNED,
    INLAY_QOTHER
} inlay_qsign;

INLAY_INLINE int32_t inlay_qnumber_at(const inlay_qtile *tile, const uint8_t *x,
                                      inlay_qsign sign)
{
    if (sign == INLAY_QSIGNED)
        return *(const int8_t *)x;
    return sign == INLAY_QUNSIGNED ? *x : (*x ^ tile->flip) - tile->minus;
}

#include "kernels/qtile_riscv.inc.h"

/* ---- Thumb-2 of cores that have no faster form: compilers do not keep so many registers ---- */

#if INLAY_QDSP || defined __ARM_FEATURE_MVE || !defined __thumb2__
#define INLAY_QTHUMB 0
#elif defined __OPTIMIZE__ && !defined __clang__
#define INLAY_QTHUMB 1
#else
#define INLAY_QTHUMB 0
#endif

#if INLAY_QTHUMB
/* A weight of a channel, at byte `at` of the four, times a number of each pixel. */
#define INLAY_QT_ADD(sum, x) "mla %[" sum "], %[" x "], %[k], %[" sum "]\n"
#define INLAY_QT_LOAD(at) "ldrsb %[k], [%[w]" at "\n"
#define INLAY_QT_AT(at) ", #-" at "]"
#define INLAY_QT_BOTH(s, t) INLAY_QT_ADD(s, "a") INLAY_QT_ADD(t, "b")
#define INLAY_QT_K0(at) INLAY_QT_LOAD(at) INLAY_QT_BOTH("s0", "t0")
#define INLAY_QT_K1(at) INLAY_QT_LOAD(at) INLAY_QT_BOTH("s1", "t1")
#define INLAY_QT_K2(at) INLAY_QT_LOAD(at) INLAY_QT_BOTH("s2", "t2")
#define INLAY_QT_K3(at) INLAY_QT_LOAD(at) INLAY_QT_BOTH("s3", "t3")
#define INLAY_QT_K01(c, d) INLAY_QT_K0(c) INLAY_QT_K1(d)
#define INLAY_QT_K23(c, d) INLAY_QT_K2(c) INLAY_QT_K3(d)

/* Taps: the next number of each pixel, read by `load`, and the weights of four channels. */
#define INLAY_QT_A(load) load " %[a], [%[x]], #1\n"
#define INLAY_QT_B(load) load " %[b], [%[y]], #1\n"
#define INLAY_QT_AB(load) INLAY_QT_A(load) INLAY_QT_B(load)
#define INLAY_QT_TAP01(c, d) INLAY_QT_K01(INLAY_QT_AT(c), INLAY_QT_AT(d))
#define INLAY_QT_TAP23(c, d) INLAY_QT_K23(INLAY_QT_AT(c), INLAY_QT_AT(d))
#define INLAY_QT_W0 INLAY_QT_TAP01("15", "11") INLAY_QT_TAP23("7", "3")
#define INLAY_QT_W1 INLAY_QT_TAP01("14", "10") INLAY_QT_TAP23("6", "2")
#define INLAY_QT_W2 INLAY_QT_TAP01("13", "9") INLAY_QT_TAP23("5", "1")
#define INLAY_QT_LAST INLAY_QT_K23(INLAY_QT_AT("4"), "], #16")
#define INLAY_QT_W3 INLAY_QT_TAP01("12", "8") INLAY_QT_LAST
#define INLAY_QT_01(ab) ab INLAY_QT_W0 ab INLAY_QT_W1
#define INLAY_QT_23(ab) ab INLAY_QT_W2 ab INLAY_QT_W3
#define INLAY_QT_FOUR(ab) INLAY_QT_01(ab) INLAY_QT_23(ab)
#define INLAY_QT_ODD "lsls %[k], %[k], #29\nbmi 2f\n"
#define INLAY_QT_UNTIL "ldr %[k], %[end]\ncmp %[x], %[k]\nbne 1b\n"
#ifdef __OPTIMIZE_SIZE__
#define INLAY_QT_TURN(ab) "1:\n" INLAY_QT_FOUR(ab)
#else
#define INLAY_QT_BEGIN(ab) INLAY_QT_ODD "1:\n" INLAY_QT_FOUR(ab) "2:\n"
#define INLAY_QT_TURN(ab) INLAY_QT_BEGIN(ab) INLAY_QT_FOUR(ab)
#endif
#define INLAY_QT_FOURS(l) INLAY_QT_TURN(INLAY_QT_AB(l)) INLAY_QT_UNTIL

#define INLAY_QT_SUM(name, i) [name] "+r"(sum[i])
#define INLAY_QT_S INLAY_QT_SUM(s0, 0), INLAY_QT_SUM(s1, 1)
#define INLAY_QT_S23 INLAY_QT_SUM(s2, 2), INLAY_QT_SUM(s3, 3)
#define INLAY_QT_T INLAY_QT_SUM(t0, 4), INLAY_QT_SUM(t1, 5)
#define INLAY_QT_T23 INLAY_QT_SUM(t2, 6), INLAY_QT_SUM(t3, 7)

/* Fours of numbers with their sign from x up to `end`, and of those at y, two fours a turn; w: the
 * last weight of the first. */
INLAY_INLINE void inlay_qthumb_signed(const uint8_t *x, const uint8_t *y,
                                      const uint8_t *end, const int8_t *w,
                                      int32_t *sum)
{
    int32_t k = (int32_t)(end - x);
    int32_t a, b;
    __asm__ volatile(INLAY_QT_FOURS("ldrsb")
                     : INLAY_QT_S, INLAY_QT_S23, INLAY_QT_T,
                       INLAY_QT_T23, [x] "+r"(x), [y] "+r"(y), [w] "+r"(w),
                       [a] "=&r"(a), [b] "=&r"(b), [k] "+r"(k)
                     : [end] "m"(end)
                     : "cc", "memory");
}

/* The same without a sign. */
INLAY_INLINE void inlay_qthumb_unsigned(const uint8_t *x, const uint8_t *y,
                                        const uint8_t *end, const int8_t *w,
                                        int32_t *sum)
{
    int32_t k = (int32_t)(end - x);
    int32_t a, b;
    __asm__ volatile(INLAY_QT_FOURS("ldrb")
                     : INLAY_QT_S, INLAY_QT_S23, INLAY_QT_T,
                       INLAY_QT_T23, [x] "+r"(x), [y] "+r"(y), [w] "+r"(w),
                       [a] "=&r"(a), [b] "=&r"(b), [k] "+r"(k)
                     : [end] "m"(end)
                     : "cc", "memory");
}
#endif

/* ---- Thumb-1 (Cortex-M0): most instructions have eight registers, in which compilers would keep
 * the sums. Here these are in the others, to which can be added ---- */

#if !defined __thumb__ || defined __thumb2__
#define INLAY_QTHUMB1 0
#elif defined __OPTIMIZE__ && !defined __clang__
#define INLAY_QTHUMB1 1
#else
#define INLAY_QTHUMB1 0
#endif

#if INLAY_QTHUMB1
/* Fours of numbers from x up to `end`, at least one, by weights of four channels; their sums. */
typedef struct inlay_qthumb1 {
    const uint8_t *x, *end;
    const int8_t *w;
    int32_t step; /* bytes of weights from a four to the next */
    int32_t sum[4];
} inlay_qthumb1;

/* r0: x, r1 to r4: weights of the channels, r5: the tap, r6: its number, r7: a product, r8 to r11:
 * sums, r12: the step, lr: the structure. */
#define INLAY_Q1_PRODUCT(w) "ldrsb r7, [" w ", r5]\nmuls r7, r6\n"
#define INLAY_Q1_ADD(w, sum) INLAY_Q1_PRODUCT(w) "add " sum ", r7\n"
#define INLAY_Q1_ADDS01 INLAY_Q1_ADD("r1", "r8") INLAY_Q1_ADD("r2", "r9")
#define INLAY_Q1_ADDS23 INLAY_Q1_ADD("r3", "r10") INLAY_Q1_ADD("r4", "r11")
#define INLAY_Q1_NUMBER(load, k) "movs r5, #" k "\n" load " r6, [r0, r5]\n"
#define INLAY_Q1_ADDS INLAY_Q1_ADDS01 INLAY_Q1_ADDS23
#define INLAY_Q1_TAP(load, k) INLAY_Q1_NUMBER(load, k) INLAY_Q1_ADDS
#define INLAY_Q1_TAPS01(load) INLAY_Q1_TAP(load, "0") INLAY_Q1_TAP(load, "1")
#define INLAY_Q1_TAPS23(load) INLAY_Q1_TAP(load, "2") INLAY_Q1_TAP(load, "3")
#define INLAY_Q1_FOUR(load) "1:\n" INLAY_Q1_TAPS01(load) INLAY_Q1_TAPS23(load)
#define INLAY_Q1_NEXT01 "add r1, r12\nadd r2, r12\nadds r0, #4\n"
#define INLAY_Q1_NEXT23 "add r3, r12\nadd r4, r12\nmov r7, lr\n"
#define INLAY_Q1_NEXT INLAY_Q1_NEXT01 INLAY_Q1_NEXT23
#define INLAY_Q1_UNTIL "ldr r7, [r7, #4]\ncmp r0, r7\nbne 1b\n"
#define INLAY_Q1_LOOP(load) INLAY_Q1_FOUR(load) INLAY_Q1_NEXT INLAY_Q1_UNTIL
#define INLAY_Q1_TAKE(at, sum) "ldr r2, [r0, #" at "]\nmov " sum ", r2\n"
#define INLAY_Q1_TAKE01 INLAY_Q1_TAKE("16", "r8") INLAY_Q1_TAKE("20", "r9")
#define INLAY_Q1_TAKE23 INLAY_Q1_TAKE("24", "r10") INLAY_Q1_TAKE("28", "r11")
#define INLAY_Q1_STEP "mov lr, r0\nldr r2, [r0, #12]\nmov r12, r2\n"
#define INLAY_Q1_W01 "ldr r1, [r0, #8]\nadds r2, r1, #4\n"
#define INLAY_Q1_W INLAY_Q1_W01 "adds r3, r2, #4\nadds r4, r3, #4\n"
#define INLAY_Q1_BEGIN01 INLAY_Q1_STEP INLAY_Q1_TAKE01 INLAY_Q1_TAKE23
#define INLAY_Q1_BEGIN INLAY_Q1_BEGIN01 INLAY_Q1_W "ldr r0, [r0]\n"
#define INLAY_Q1_PUT(at, sum) "mov r2, " sum "\nstr r2, [r0, #" at "]\n"
#define INLAY_Q1_PUT01 INLAY_Q1_PUT("16", "r8") INLAY_Q1_PUT("20", "r9")
#define INLAY_Q1_PUT23 INLAY_Q1_PUT("24", "r10") INLAY_Q1_PUT("28", "r11")
#define INLAY_Q1_END "mov r0, lr\n" INLAY_Q1_PUT01 INLAY_Q1_PUT23
#define INLAY_Q1_HEAD ".syntax unified\n" INLAY_Q1_BEGIN
#define INLAY_Q1_ALL(load) INLAY_Q1_HEAD INLAY_Q1_LOOP(load) INLAY_Q1_END
#define INLAY_Q1_LOW "r1", "r2", "r3", "r4", "r5", "r6", "r7"
#define INLAY_Q1_LOST INLAY_Q1_LOW, "r8", "r9", "r10", "r11", "r12", "lr"

/* Numbers with their sign, and without. */
INLAY_APART void inlay_qthumb1_signed(inlay_qthumb1 *job)
{
    register inlay_qthumb1 *of __asm__("r0") = job;
    __asm__ volatile(INLAY_Q1_ALL("ldrsb")
                     : "+l"(of)
                     :
                     : INLAY_Q1_LOST, "cc", "memory");
}
INLAY_APART void inlay_qthumb1_unsigned(inlay_qthumb1 *job)
{
    register inlay_qthumb1 *of __asm__("r0") = job;
    __asm__ volatile(INLAY_Q1_ALL("ldrb")
                     : "+l"(of)
                     :
                     : INLAY_Q1_LOST, "cc", "memory");
}

INLAY_INLINE void inlay_qthumb1_pixel(const uint8_t *x, const uint8_t *end,
                                      const int8_t *w, int32_t step,
                                      int32_t *sum, inlay_qsign sign)
{
    inlay_qthumb1 job;
    job.x = x;
    job.end = end;
    job.w = w;
    job.step = step;
    memcpy(job.sum, sum, sizeof job.sum);
    if (sign == INLAY_QSIGNED)
        inlay_qthumb1_signed(&job);
    else
        inlay_qthumb1_unsigned(&job);
    memcpy(sum, job.sum, sizeof job.sum);
}
#endif

/* ---- C ---- */

/* Channels that go through a window together: their sums shall stay in registers. */
#if defined __thumb__ && !INLAY_QTHUMB && !INLAY_QTHUMB1
enum { INLAY_QLANES = 2 };
#else
enum { INLAY_QLANES = 4 };
#endif

/* Pixels that go through it together, at the most. */
enum { INLAY_QSIDE = INLAY_QRISCV ? 3 : 2 };

/* Adds byte k of each pixel's x to the sums of its channels, four of each pixel; w: the four of the
 * first channel. Returns w, once the sums are made. */
INLAY_INLINE const int8_t *inlay_qplain_one(const inlay_qtile *tile,
                                            const uint8_t *const *x,
                                            const int8_t *w, int32_t k,
                                            int32_t *sum, int32_t lanes,
                                            int32_t pixels, inlay_qsign sign)
{
    int32_t number[INLAY_QSIDE];
    int32_t i, p;
    INLAY_UNROLL
    for (p = 0; p < pixels; p++)
        number[p] = inlay_qnumber_at(tile, x[p] + k, sign);
    INLAY_UNROLL
    for (i = 0; i < lanes; i++)
        INLAY_UNROLL
    for (p = 0; p < pixels; p++)
        sum[4 * p + i] =
            inlay_wrap_add(sum[4 * p + i], number[p] * w[4 * i + k]);
    INLAY_UNROLL
    for (i = 0; i < lanes; i++)
        INLAY_UNROLL
    for (p = 0; p < pixels; p++)
        INLAY_QORDER(w, sum[4 * p + i]);
    return w;
}

/* Where the pixels read, from x on. */
INLAY_INLINE void inlay_qplain_places(const inlay_qtile *tile, const uint8_t *x,
                                      int32_t pixels, const uint8_t **to)
{
    int32_t p;
    INLAY_UNROLL
    for (p = 0; p < pixels; p++, x += tile->xs)
        to[p] = x;
}

/* Fours of taps from x up to `end` in C. */
INLAY_INLINE void inlay_qplain_loop(const inlay_qtile *tile, const uint8_t *x,
                                    const uint8_t *end, const int8_t *w,
                                    int32_t step, int32_t *sum, int32_t pixels,
                                    inlay_qsign sign)
{
    const uint8_t *at[INLAY_QSIDE];
    int32_t k, p;
    inlay_qplain_places(tile, x, pixels, at);
    for (; at[0] < end; w += step) {
        INLAY_UNROLL
        for (k = 0; k < 4; k++)
            w = inlay_qplain_one(tile, at, w, k, sum, INLAY_QLANES, pixels,
                                 sign);
        INLAY_UNROLL
        for (p = 0; p < pixels; p++)
            at[p] += 4;
    }
}

/* The same by the core's own instructions, where they are written out for so many pixels. */
INLAY_INLINE void inlay_qplain_fours(const inlay_qtile *tile, const uint8_t *x,
                                     const uint8_t *end, const int8_t *w,
                                     int32_t step, int32_t *sum, int32_t pixels,
                                     inlay_qsign sign)
{
#if INLAY_QTHUMB
    if (pixels == 2 && x < end && step == 16) {
        if (sign == INLAY_QSIGNED)
            inlay_qthumb_signed(x, x + tile->xs, end, w + 15, sum);
        else
            inlay_qthumb_unsigned(x, x + tile->xs, end, w + 15, sum);
        return;
    }
#elif INLAY_QRISCV
    if (pixels == 3 && x < end) {
        const inlay_qriscv of = { tile->xs, end, step };
        if (sign == INLAY_QSIGNED)
            inlay_qriscv_signed(x, &of, w, sum);
        else
            inlay_qriscv_unsigned(x, &of, w, sum);
        return;
    }
#elif INLAY_QTHUMB1
    if (x < end) {
        inlay_qthumb1_pixel(x, end, w, step, sum, sign);
        if (pixels == 2)
            inlay_qthumb1_pixel(x + tile->xs, end + tile->xs, w, step, sum + 4,
                                sign);
        return;
    }
#endif
    inlay_qplain_loop(tile, x, end, w, step, sum, pixels, sign);
}

/* Adds a row of the window, at x, to sums; returns the weights of the next. */
INLAY_INLINE const int8_t *inlay_qplain_row(const inlay_qtile *tile,
                                            const uint8_t *x, const int8_t *w,
                                            int32_t step, int32_t *sum,
                                            int32_t pixels, inlay_qsign sign)
{
    const int32_t tail = tile->run & 3;
    const int32_t fours = tile->run - tail;
    const uint8_t *const end = x + fours;
    const uint8_t *at[INLAY_QSIDE];
    int32_t i;
    inlay_qplain_fours(tile, x, end, w, step, sum, pixels, sign);
    w += (fours >> 2) * step;
    if (!tail)
        return w;
    inlay_qplain_places(tile, end, pixels, at);
    for (i = 0; i < tail; i++)
        w = inlay_qplain_one(tile, at, w, i, sum, INLAY_QLANES, pixels, sign);
    return w + step;
}

/* Where pixels read, and what four sums of each begin with. */
typedef struct inlay_qplain_from {
    const uint8_t *first; /* row of the window */
    ptrdiff_t at;         /* bytes into each of its rows */
    const int32_t *start;
} inlay_qplain_from;

/* Sums of each pixel; `next`: from those of a pixel to those of the next. */
INLAY_INLINE void inlay_qplain_copy(const int32_t *from, int32_t next,
                                    int32_t *to, int32_t pixels)
{
    int32_t i, p;
    INLAY_UNROLL
    for (i = 0; i < INLAY_QLANES; i++)
        INLAY_UNROLL
    for (p = 0; p < pixels; p++)
        to[4 * p + i] = from[next * p + i];
}

/* Sums of the window for the channels from number `lane` of four on. */
INLAY_INLINE void inlay_qplain_rows(const inlay_qtile *tile,
                                    const inlay_qplain_from *from, int32_t lane,
                                    const int8_t *w, int32_t step, int32_t *sum,
                                    int32_t pixels, inlay_qsign sign)
{
    const ptrdiff_t at = from->at;
    const uint8_t *x = from->first + at;
    int32_t s[4 * INLAY_QSIDE];
    int32_t d = 0;
    int32_t h = 0;
    inlay_qplain_copy(from->start + lane, 0, s, pixels);
    w += 4 * lane;
    for (;;) {
        w = inlay_qplain_row(tile, x, w, step, s, pixels, sign);
        if (++h == tile->nkh) {
            h = 0;
            if (++d == tile->nkd)
                break;
        }
        x = inlay_qwindow(tile, d, h) + at;
    }
    inlay_qplain_copy(s, 4, sum + lane, pixels);
}

/* Sums of the window: of as many pixels as go together, two, or one. */
INLAY_INLINE void inlay_qplain_window(const inlay_qtile *tile,
                                      const inlay_qplain_from *from,
                                      const int8_t *w, int32_t step,
                                      int32_t *sum, int32_t pixels,
                                      inlay_qsign sign)
{
    int32_t i;
    for (i = 0; i < 4; i += INLAY_QLANES) {
        if (INLAY_QSIDE == 3 && pixels > 2)
            inlay_qplain_rows(tile, from, i, w, step, sum, INLAY_QSIDE, sign);
        else if (pixels > 1)
            inlay_qplain_rows(tile, from, i, w, step, sum, 2, sign);
        else
            inlay_qplain_rows(tile, from, i, w, step, sum, 1, sign);
    }
}

INLAY_APART void inlay_qplain_signed(const inlay_qtile *tile,
                                     const inlay_qplain_from *from,
                                     const int8_t *w, int32_t step,
                                     int32_t *sum, int32_t pixels)
{
    inlay_qplain_window(tile, from, w, step, sum, pixels, INLAY_QSIGNED);
}

INLAY_APART void inlay_qplain_unsigned(const inlay_qtile *tile,
                                       const inlay_qplain_from *from,
                                       const int8_t *w, int32_t step,
                                       int32_t *sum, int32_t pixels)
{
    inlay_qplain_window(tile, from, w, step, sum, pixels, INLAY_QUNSIGNED);
}

/* Weights and numbers of another family. */
enum {
    INLAY_QPLAIN_OTHERS =
        INLAY_QUSE_HALVES | INLAY_QUSE_SIXTEENS | INLAY_QUSE_SHIFTED
};

/* Are x's numbers its bytes with their sign, or without, and weights packed in fours? */
INLAY_INLINE int inlay_qplain_suits(const inlay_qtile *tile)
{
    if (!INLAY_QUSES(INLAY_QPLAIN_OTHERS))
        return 1;
    return !tile->wide && !tile->deep && tile->flip == tile->minus;
}

/* The four taps of four channels that lie packed as halves, one by one: [channel][tap]. */
static inline void inlay_qhalves(const int8_t *from, int8_t *to)
{
    int32_t i;
    for (i = 0; i < 8; i++, from += 2) {
        const int32_t tap = (i & 1) * 2 + (i >> 2);
        int8_t *pair = to + (i >> 1 & 1) * 8 + tap;
        pair[0] = from[0];
        pair[4] = (int8_t)(from[1] + (from[0] < 0));
    }
}

/* The taps of a four of four channels that lie packed in sixteens: [channel][tap]. */
static inline void inlay_qfour_of_deep(const int8_t *w, int32_t four,
                                       int8_t *to)
{
    int32_t i;
    w += four / 4 * 4 * INLAY_QDEPTH + four % 4 * 4;
    for (i = 0; i < 4; i++)
        memcpy(to + 4 * i, w + i * INLAY_QDEPTH, 4);
}

/* One pixel, any bytes: weights and numbers of another family. Adds to sums. */
INLAY_APART void inlay_qplain_other(const inlay_qtile *tile, ptrdiff_t at,
                                    const int8_t *w, int32_t step, int32_t *sum)
{
    const int8_t *const begin = w;
    int8_t apart[16];
    int32_t d, h, i, k;
    for (d = 0; d < tile->nkd; d++)
        for (h = 0; h < tile->nkh; h++) {
            const uint8_t *x = inlay_qwindow(tile, d, h) + at;
            for (i = tile->run; i > 0; i -= 4, x += 4, w += step) {
                const int8_t *of = w;
                if (tile->wide) {
                    inlay_qhalves(w, apart);
                    of = apart;
                } else if (tile->deep) {
                    const int32_t four = (int32_t)((w - begin) / step);
                    inlay_qfour_of_deep(begin, four, apart);
                    of = apart;
                }
                for (k = 0; k < i && k < 4; k++)
                    of = inlay_qplain_one(tile, &x, of, k, sum, 4, 1,
                                          INLAY_QOTHER);
            }
        }
}

/* The same of any numbers and weights; from->first is NULL for those of another family. */
static inline void inlay_qplain_sums(const inlay_qtile *tile,
                                     const inlay_qplain_from *from,
                                     const int8_t *w, int32_t step,
                                     int32_t *sum, int32_t pixels)
{
    const int suits = !INLAY_QUSES(INLAY_QPLAIN_OTHERS) || from->first;
    int32_t p;
    if (suits && inlay_qflips(tile->flip)) {
        inlay_qplain_signed(tile, from, w, step, sum, pixels);
        return;
    }
    if (suits) {
        inlay_qplain_unsigned(tile, from, w, step, sum, pixels);
        return;
    }
    for (p = 0; p < pixels; p++) {
        memcpy(sum + 4 * p, from->start, 4 * sizeof *sum);
        inlay_qplain_other(tile, from->at + p * tile->xs, w, step, sum + 4 * p);
    }
}

/* Channels from `from` on of the group at some pixels become results. */
INLAY_INLINE void inlay_qplain_end(const inlay_qtile *tile,
                                   const inlay_qcall *call,
                                   const inlay_qgroup *group,
                                   const inlay_qfixed *fixed, int32_t pixel,
                                   int32_t pixels, int32_t from, int32_t *sum)
{
    const ptrdiff_t ys = tile->ys;
    int32_t p;
    if (INLAY_QSOFT && fixed->suits) {
        const int32_t channel = group->channel + from;
        uint8_t *y = (uint8_t *)call->y + pixel * ys + channel;
        for (p = 0; INLAY_QUSES(INLAY_QUSE_MORE) && call->x_sum && p < pixels;
             p++)
            inlay_qtile_take_zeros(tile, call, channel, fixed->n, pixel + p,
                                   sum + 4 * p);
        inlay_qfixed_bytes(&tile->result, fixed, sum, y,
                           pixels > 1 ? y + ys : NULL);
        if (INLAY_QSIDE == 3 && pixels == 3)
            inlay_qfixed_bytes(&tile->result, fixed, sum + 8, y + 2 * ys, NULL);
        return;
    }
    inlay_qgroup_end(tile, call, group, pixel, from, fixed->n, sum);
    for (p = 1; p < pixels; p++)
        inlay_qgroup_end(tile, call, group, pixel + p, from, fixed->n,
                         sum + 4 * p);
}

/* Of n pixels, those that go together. */
static inline int32_t inlay_qplain_side(int32_t n)
{
    if (n < 2)
        return 1;
    return INLAY_QSIDE == 3 && n > 2 && n != 4 ? 3 : 2;
}

/* Of the sums of a tile. Weights less their zero points have nine bits. */
static inline inlay_qroom inlay_qtile_room(const inlay_qtile *tile)
{
    const int zeros = inlay_qhas_zeros(tile);
    return inlay_qroom_of(&tile->result, tile->taps << zeros);
}

INLAY_APART void inlay_qplain(const inlay_qtile *tile, const inlay_qcall *call,
                              inlay_qgroup *group)
{
    const inlay_qroom room = inlay_qtile_room(tile);
    inlay_qplain_from from;
    int32_t p, n, i;
    from.first = inlay_qplain_suits(tile) ? inlay_qwindow(tile, 0, 0) : NULL;
    for (i = 0; i < group->lanes; i += 4) {
        inlay_qfixed fixed;
        from.start = group->start + i;
        fixed.n = group->n - i < 4 ? group->n - i : 4;
        fixed.scale = group->scale + i;
        fixed.suits = room.most && inlay_qfixed_take(&fixed, &room, from.start);
        for (p = 0; p < call->pixels; p += n) {
            int32_t sum[4 * INLAY_QSIDE];
            n = inlay_qplain_side(call->pixels - p);
            from.at = call->at + p * tile->xs;
            inlay_qplain_sums(tile, &from, group->last + 4 * i, group->step,
                              sum, n);
            inlay_qplain_end(tile, call, group, &fixed, p, n, i, sum);
        }
    }
}

#endif
