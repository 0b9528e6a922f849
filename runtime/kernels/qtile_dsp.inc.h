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

/* The sums of four channels, at the first pixel and at the second. */
typedef struct inlay_qpair {
    int32_t a[4], b[4];
} inlay_qpair;

INLAY_INLINE uint32_t inlay_word(const void *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* The numbers 0 and 2 of a four with signs, and the numbers 1 and 3. */
INLAY_INLINE uint32_t inlay_even(uint32_t v)
{
    uint32_t r;
    __asm__("sxtb16 %0, %1" : "=r"(r) : "r"(v));
    return r;
}
INLAY_INLINE uint32_t inlay_odd(uint32_t v)
{
    uint32_t r;
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(r) : "r"(v));
    return r;
}

/* What makes numbers with signs of x's bytes. */
static inline uint32_t inlay_qmask(const inlay_qtile *t)
{
    return (uint32_t)(t->flip ^ 128) * UINT32_C(0x01010101);
}

/* A four to to[0] and to[step]. */
INLAY_INLINE void inlay_qwiden_four(uint32_t v, uint32_t *to, int32_t step)
{
    to[0] = inlay_even(v);
    to[step] = inlay_odd(v);
}

/* A row of a window, to every word or to every other one; returns where the next belongs. */
INLAY_INLINE uint32_t *inlay_qwiden_run(const uint8_t *x, int32_t n,
                                        uint32_t mask, uint32_t *to,
                                        int32_t step)
{
    const uint8_t *const end = x + n / 4 * 4;
    const uint8_t *const main = x + n / 16 * 16;
    int32_t i;
    for (; x < main; to += 8 * step)
        INLAY_UNROLL
    for (i = 0; i < 4; i++, x += 4)
        inlay_qwiden_four(inlay_word(x) ^ mask, to + 2 * i * step, step);
    for (; x < end; x += 4, to += 2 * step)
        inlay_qwiden_four(inlay_word(x) ^ mask, to, step);
    if (n % 4) {
        uint32_t v = 0;
        for (i = n % 4; i > 0; i--)
            v = v << 8 | x[i - 1];
        inlay_qwiden_four(v ^ mask, to, step);
        to += 2 * step;
    }
    return to;
}

INLAY_INLINE void inlay_qwiden_window(const inlay_qtile *t, ptrdiff_t at,
                                      uint32_t *to, int32_t step)
{
    const uint32_t mask = inlay_qmask(t);
    int32_t d, h;
    for (d = 0; d < t->nkd; d++)
        for (h = 0; h < t->nkh; h++)
            to = inlay_qwiden_run(inlay_qwindow(t, d, h) + at, t->run, mask, to,
                                  step);
}

/* The window of a pixel. */
static inline void inlay_qwiden(const inlay_qtile *t, ptrdiff_t at,
                                uint32_t *to, int32_t step)
{
    if (step == 1)
        inlay_qwiden_window(t, at, to, 1);
    else
        inlay_qwiden_window(t, at, to, 2);
}

/* Operands that are read and written, and that are written early. */
#define INLAY_QIO(name) [name] "+r"(name)
#define INLAY_QTEMP(name) [name] "=&r"(name)

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

/* Four channels of the sums of two pairs: s with the upper channel, a of the lower one. */
INLAY_INLINE void inlay_qtake(int32_t *sum, int32_t s0, int32_t s1, int32_t a0,
                              int32_t a1)
{
    sum[0] = a0;
    sum[1] = inlay_wrap_add(s0, -a0) >> 8;
    sum[2] = a1;
    sum[3] = inlay_wrap_add(s1, -a1) >> 8;
}

/* The sums over `fours`, of which all but a few are taken four at a time. */
INLAY_INLINE void inlay_qpair_dot(const int8_t *w, const uint32_t *from,
                                  int32_t fours, inlay_qpair *sum)
{
    const uint32_t *const main = from + fours / 4 * 16;
    const uint32_t *const end = from + 4 * fours;
    int32_t s0 = 0, s1 = 0, t0 = 0, t1 = 0;
    int32_t a0 = 0, a1 = 0, b0 = 0, b1 = 0;
    uint32_t x, y, u, v;
    __asm__ volatile(
        INLAY_QENTER("1", "2") INLAY_QUNTIL("1", "2", INLAY_QFOURS, "%[main]")
            INLAY_QENTER("3", "4") INLAY_QUNTIL("3", "4", INLAY_QFOUR, "%[end]")
        : INLAY_QIO(s0), INLAY_QIO(s1), INLAY_QIO(t0), INLAY_QIO(t1),
          INLAY_QIO(a0), INLAY_QIO(a1), INLAY_QIO(b0), INLAY_QIO(b1),
          INLAY_QTEMP(x), INLAY_QTEMP(y), INLAY_QTEMP(u), INLAY_QTEMP(v),
          INLAY_QIO(from), INLAY_QIO(w)
        : [main] "m"(main), [end] "m"(end)
        : "cc", "memory");
    inlay_qtake(sum->a, s0, s1, a0, a1);
    inlay_qtake(sum->b, t0, t1, b0, b1);
}

/* The same of one pixel, whose words lie one after the other. */
INLAY_INLINE void inlay_qsingle_dot(const int8_t *w, const uint32_t *from,
                                    int32_t fours, int32_t *sum)
{
    const uint32_t *const main = from + fours / 4 * 8;
    const uint32_t *const end = from + (ptrdiff_t)fours * 2;
    int32_t s0 = 0, s1 = 0, a0 = 0, a1 = 0;
    uint32_t x, y, u, v;
    __asm__ volatile(
        INLAY_QENTER("1", "2") INLAY_QUNTIL("1", "2", INLAY_QONES, "%[main]")
            INLAY_QENTER("3", "4") INLAY_QUNTIL("3", "4", INLAY_QONE, "%[end]")
        : INLAY_QIO(s0), INLAY_QIO(s1), INLAY_QIO(a0), INLAY_QIO(a1),
          INLAY_QTEMP(x), INLAY_QTEMP(y), INLAY_QTEMP(u), INLAY_QTEMP(v),
          INLAY_QIO(from), INLAY_QIO(w)
        : [main] "m"(main), [end] "m"(end)
        : "cc", "memory");
    inlay_qtake(sum, s0, s1, a0, a1);
}

/* ---- results ---- */

#if defined __ARM_FP && (__ARM_FP & 4)
/* The nearest integer, ties to even. */
INLAY_INLINE int32_t inlay_qrint(float v)
{
    int32_t bits;
    __asm__("vcvtr.s32.f32 %0, %0" : "+t"(v));
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

/* A byte of a sum; all of -128 .. 127, or of 0 .. 255, may come out. */
INLAY_INLINE uint8_t inlay_qbyte(int32_t sum, float scale, int32_t zero,
                                 int32_t flip)
{
    const int32_t whole = inlay_qrint((float)sum * scale);
    int32_t near;
    __asm__("qadd %0, %1, %2\n\tssat %0, #8, %0"
            : "=&r"(near)
            : "r"(whole), "r"(zero));
    return (uint8_t)(near ^ flip);
}

/* Four channels of a pixel, or of two. */
INLAY_INLINE void inlay_qbytes(const inlay_qpair *sum, const int32_t *start,
                               const float *scale, int32_t zero, int32_t flip,
                               uint8_t *y, ptrdiff_t next, int two)
{
    int32_t i;
    INLAY_UNROLL
    for (i = 0; i < 4; i++) {
        const int32_t a = inlay_wrap_add(sum->a[i], start[i]);
        const int32_t b = two ? inlay_wrap_add(sum->b[i], start[i]) : 0;
        const float factor = scale[i];
        y[i] = inlay_qbyte(a, factor, zero, flip);
        if (two)
            y[i + next] = inlay_qbyte(b, factor, zero, flip);
    }
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

/* What all pixels have of four channels. */
typedef struct inlay_qfour {
    int32_t channel, n;
    const int32_t *start;
    const float *scale;
    int32_t own_start[4]; /* where zero points of x are made at run time */
    float own_scale[4];   /* where there is one scale for all */
} inlay_qfour;

static inline void inlay_qfour_begin(const inlay_qtile *t, int32_t channel,
                                     inlay_qfour *f)
{
    const int32_t left = t->channels - channel;
    int32_t i;
    f->channel = channel;
    f->n = left < 4 ? left : 4;
    f->start = t->bias + channel;
    f->scale = t->result.scale + channel;
    if (t->sums) {
        const int32_t *sums = t->sums + channel;
        for (i = 0; i < 4; i++)
            f->own_start[i] = inlay_wrap_add(t->bias[channel + i],
                                             -inlay_wrap_mul(t->zero, sums[i]));
        f->start = f->own_start;
    }
    if (t->result.kind == INLAY_QOUT_I32 ||
        (t->result.each && t->result.factor == 1.0f))
        return;
    inlay_qscales(&t->result, channel, 4, f->own_scale);
    f->scale = f->own_scale;
}

/* The general way: int32, floats, narrow bounds, weights with zero points. */
INLAY_APART void inlay_qfour_other(const inlay_qtile *t,
                                   const inlay_qcall *call,
                                   const inlay_qfour *f, int32_t pixel,
                                   int32_t *sum)
{
    const ptrdiff_t at = pixel * t->ys + f->channel;
    int32_t i;
    for (i = 0; i < f->n; i++) {
        sum[i] = inlay_wrap_add(sum[i], f->start[i]);
        if (call->x_sum) {
            const int32_t zw = t->zw ? t->zw[f->channel + i] : t->zw_all;
            const int32_t off = inlay_wrap_mul(zw, call->x_sum[pixel]);
            sum[i] = inlay_wrap_add(sum[i], -off);
        }
    }
    inlay_qresults(&t->result, f->channel, f->n, sum, f->scale,
                   inlay_qplace(&t->result, call->y, at));
}

/* ---- tiles: two pixels, or one, whose widened windows lie at t->wide ---- */

INLAY_APART void inlay_qpairs_dot(const inlay_qtile *t, const int8_t *w,
                                  int two, inlay_qpair *sum)
{
    const int32_t fours = (int32_t)(t->taps / 4);
    if (two)
        inlay_qpair_dot(w, t->wide, fours, sum);
    else
        inlay_qsingle_dot(w, t->wide, fours, sum->a);
}

/* Channels [channel, t->end). */
static inline void inlay_qpairs_other(const inlay_qtile *t,
                                      const inlay_qcall *call, int32_t channel,
                                      int32_t pixel, int two)
{
    for (; channel < t->end; channel += 4) {
        const int8_t *w = t->weights + channel * t->taps;
        inlay_qpair sum;
        inlay_qfour f;
        inlay_qfour_begin(t, channel, &f);
        inlay_qpairs_dot(t, w, two, &sum);
        inlay_qfour_other(t, call, &f, pixel, sum.a);
        if (two)
            inlay_qfour_other(t, call, &f, pixel + 1, sum.b);
    }
}

#if defined __ARM_FP && (__ARM_FP & 4)
/* Four channels in the simple case. */
INLAY_INLINE void inlay_qpairs_four(const inlay_qtile *t, const int8_t *w,
                                    const int32_t *start, const float *scale,
                                    uint8_t *y, int two)
{
    const int32_t fours = (int32_t)(t->taps / 4);
    const int32_t flip = t->result.lo + 128; /* 0 or 128 */
    inlay_qpair sum;
    if (two)
        inlay_qpair_dot(w, t->wide, fours, &sum);
    else
        inlay_qsingle_dot(w, t->wide, fours, sum.a);
    inlay_qbytes(&sum, start, scale, t->result.zero - flip, flip, y, t->ys,
                 two);
}

/* The same of whole fours of channels; returns the first of the rest. */
INLAY_INLINE int32_t inlay_qpairs_bytes(const inlay_qtile *t, uint8_t *y,
                                        int two)
{
    const int32_t whole = t->channels - t->channels % 4;
    const int32_t end = t->end < whole ? t->end : whole;
    const int32_t step = t->result.each ? 4 : 0;
    const int8_t *w = t->weights + t->begin * t->taps;
    const int32_t *start = t->bias + t->begin;
    const float *scale = t->result.scale + (step ? t->begin : 0);
    float one[4];
    int32_t channel;
    if (!step) {
        inlay_qscales(&t->result, 0, 4, one);
        scale = one;
    }
    for (channel = t->begin; channel < end; channel += 4) {
        inlay_qpairs_four(t, w, start, scale, y + channel, two);
        w += 4 * t->taps;
        start += 4;
        scale += step;
    }
    return channel;
}
#else
static inline int32_t inlay_qpairs_bytes(const inlay_qtile *t, uint8_t *y,
                                         int two)
{
    (void)y;
    (void)two;
    return t->begin;
}
#endif

INLAY_APART int32_t inlay_qpairs_two(const inlay_qtile *t, uint8_t *y)
{
    return inlay_qpairs_bytes(t, y, 1);
}

INLAY_APART int32_t inlay_qpairs_one(const inlay_qtile *t, uint8_t *y)
{
    return inlay_qpairs_bytes(t, y, 0);
}

/* Are biases and scales those of the operands, and results bytes? */
static inline int inlay_qsimple(const inlay_qtile *t, const inlay_qcall *call)
{
    const inlay_qresult *r = &t->result;
    return inlay_qsaturates(r) && !call->x_sum && !t->sums &&
           (!r->each || r->factor == 1.0f);
}

static inline void inlay_qpairs(const inlay_qtile *t, const inlay_qcall *call)
{
    const int simple = inlay_qsaturates(&t->result) && !call->x_sum && !t->sums;
    int32_t p;
    for (p = 0; p < call->pixels; p += 2) {
        const int two = p + 1 < call->pixels;
        const ptrdiff_t at = call->at + p * t->xs;
        int32_t channel = t->begin;
        inlay_qwiden(t, at, t->wide, 1 + two);
        if (two)
            inlay_qwiden(t, at + t->xs, t->wide + 1, 2);
        if (simple) {
            uint8_t *y = (uint8_t *)call->y + p * t->ys;
            channel = two ? inlay_qpairs_two(t, y) : inlay_qpairs_one(t, y);
        }
        inlay_qpairs_other(t, call, channel, p, two);
    }
}

#endif
