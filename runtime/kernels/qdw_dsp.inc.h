/* SPDX-License-Identifier: 0BSD
 * The products of qdw_planes.inc.h on Arm cores with the DSP instructions. A window of 3 x 3 at a
 * stride of one or two, the usual one, has a form of its own: three words of a column pair are one
 * load. */
#ifndef INLAY_QDW_DSP_H
#define INLAY_QDW_DSP_H

INLAY_INLINE int32_t inlay_smlad(int32_t sum, uint32_t x, uint32_t w)
{
    __asm__("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(x), "r"(w));
    return sum;
}

/* Words of a window that begins at an even column. */
INLAY_INLINE int32_t inlay_qplane_even(const inlay_qplanes *planes)
{
    return (planes->extent + 1) / 2 * planes->rows;
}

static inline void inlay_qplane_weight(const inlay_qplanes *planes, int16_t *w,
                                       int32_t h, int32_t e, int16_t number)
{
    w[inlay_qplane_at(planes, h, e)] = number;
    w[2 * inlay_qplane_even(planes) + inlay_qplane_at(planes, h, e + 1)] =
        number;
}

/* The sum of a pixel, whose window begins at column e. */
INLAY_INLINE int32_t inlay_qplane_sum(const inlay_qplanes *planes,
                                      const int16_t *x, const int16_t *w,
                                      int32_t e, int32_t sum)
{
    int32_t n = inlay_qplane_even(planes);
    x += e / 2 * planes->rows * 2;
    if (e % 2) {
        w += 2 * n;
        n = (planes->extent / 2 + 1) * planes->rows;
    }
    for (; n > 0; n--, x += 2, w += 2)
        sum = inlay_smlad(sum, inlay_word(x), inlay_word(w));
    return sum;
}

INLAY_INLINE void inlay_qplane_sums(const inlay_qplanes *planes,
                                    const int16_t *x, const int16_t *w,
                                    int32_t j, int32_t *sum)
{
    const int32_t e = j * planes->params->sw;
    sum[0] = inlay_qplane_sum(planes, x, w, e, sum[0]);
    if (j + 1 < planes->n)
        sum[1] = inlay_qplane_sum(planes, x, w, e + planes->params->sw, sum[1]);
}

/* The lower halves of two words as one, and the upper ones. */
INLAY_INLINE uint32_t inlay_lower(uint32_t first, uint32_t second)
{
    uint32_t r;
    __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(r) : "r"(first), "r"(second));
    return r;
}
INLAY_INLINE uint32_t inlay_upper(uint32_t first, uint32_t second)
{
    uint32_t r;
    __asm__("pkhtb %0, %1, %2, asr #16" : "=r"(r) : "r"(second), "r"(first));
    return r;
}

/* Two fours of bytes, one behind the other, as a word of each channel, `next` words apart. */
INLAY_INLINE void inlay_qplane_two(uint32_t first, uint32_t second,
                                   uint32_t *to, ptrdiff_t next)
{
    const uint32_t e = inlay_even(first);
    const uint32_t f = inlay_even(second);
    const uint32_t o = inlay_odd(first);
    const uint32_t q = inlay_odd(second);
    to[0] = inlay_lower(e, f);
    to[next] = inlay_lower(o, q);
    to[2 * next] = inlay_upper(e, f);
    to[3 * next] = inlay_upper(o, q);
}

/* How the columns of a row become words: zero points join one that is alone in its pair. */
typedef struct inlay_qcolumns {
    uint32_t mask, zero;
    ptrdiff_t pix, next;
    int32_t rows;
    int32_t before, pairs, after; /* alone, two by two, alone */
} inlay_qcolumns;

INLAY_INLINE inlay_qcolumns inlay_qcolumns_of(const inlay_qplanes *planes,
                                              int32_t e, int32_t n)
{
    inlay_qcolumns columns;
    columns.mask = inlay_qmask(&planes->job->of);
    columns.zero =
        (uint32_t)(planes->job->of.zero & 255) * UINT32_C(0x01010101);
    columns.pix = planes->job->step->ref[1].pix;
    columns.next = planes->plane / 2;
    columns.rows = planes->rows;
    columns.before = e % 2;
    columns.pairs = (n - columns.before) / 2;
    columns.after = (n - columns.before) % 2;
    return columns;
}

INLAY_INLINE void inlay_qcolumns_line(const inlay_qcolumns *columns,
                                      const uint8_t *x, uint32_t *to)
{
    const uint32_t mask = columns->mask;
    const ptrdiff_t pix = columns->pix;
    const ptrdiff_t next = columns->next;
    int32_t i;
    if (columns->before) {
        inlay_qplane_two(columns->zero, inlay_word(x) ^ mask, to, next);
        x += pix;
        to += columns->rows;
    }
    for (i = columns->pairs; i > 0; i--, x += 2 * pix, to += columns->rows)
        inlay_qplane_two(inlay_word(x) ^ mask, inlay_word(x + pix) ^ mask, to,
                         next);
    if (columns->after)
        inlay_qplane_two(inlay_word(x) ^ mask, columns->zero, to, next);
}

/* Columns [e, e + n) of all rows, four channels; at: bytes from a row to the first of these. */
static inline void inlay_qplanes_fours(const inlay_qplanes *planes,
                                       ptrdiff_t at, int32_t e, int32_t n)
{
    const inlay_qcolumns columns = inlay_qcolumns_of(planes, e, n);
    uint32_t *to = (uint32_t *)(void *)planes->x + e / 2 * columns.rows;
    int32_t h;
    for (h = 0; h < columns.rows; h++)
        if (planes->line[h])
            inlay_qcolumns_line(&columns, planes->line[h] + at, to + h);
}

#if defined __ARM_FP && (__ARM_FP & 4)

/* ---- windows of 3 x 3 that become bytes ---- */

/* Weights of four channels, three words of columns 0 and 1, three of columns 1 and 2. */
static inline void inlay_qthree_weights(const inlay_qplanes *planes,
                                        const int8_t *w)
{
    const ptrdiff_t all = planes->params->groups;
    uint32_t *to = (uint32_t *)(void *)planes->w;
    const ptrdiff_t next = planes->set / 2;
    int32_t h;
    for (h = 0; h < 3; h++, w += 3 * all) {
        const uint32_t middle = inlay_word(w + all);
        inlay_qplane_two(inlay_word(w), middle, to + h, next);
        inlay_qplane_two(middle, inlay_word(w + 2 * all), to + 3 + h, next);
    }
}

/* x0, x1, x2: a column pair of three rows; w0, w1, w2: its weights. The compiler chooses the
 * registers: with fixed ones it finds no others at -Os. */
#define INLAY_M(op, a, n) op " %[" a "], %[x" n "], %[w" n "], %[" a "]\n"
#define INLAY_QM2(op, a) INLAY_M(op, a, "0") INLAY_M(op, a, "1")
#define INLAY_QM3(op, a) INLAY_QM2(op, a) INLAY_M(op, a, "2")
#define INLAY_QNEXT "ldrd %[x0], %[x1], [%[x]]\nldr %[x2], [%[x], #8]\n"
#define INLAY_QPAIR "adds %[x], #12\n" INLAY_QNEXT
#define INLAY_QFIRST "ldrd %[w0], %[w1], [%[w]]\nldr %[w2], [%[w], #8]\n"
#define INLAY_QSECOND "ldrd %[w0], %[w1], [%[w], #12]\nldr %[w2], [%[w], #20]\n"

/* Two pixels from `start` on; returns the numbers of the next two. */
INLAY_INLINE const uint32_t *inlay_qthree(const uint32_t *x, const uint32_t *w,
                                          int32_t start, int32_t *sum)
{
    int32_t a = start;
    int32_t b = start;
    uint32_t x0, x1, x2, w0, w1, w2;
    __asm__(INLAY_QFIRST INLAY_QNEXT INLAY_QM3("smlad", "a")
                INLAY_QM3("smlatb", "b")
                    INLAY_QSECOND INLAY_QPAIR INLAY_QM3("smlabt", "a")
                        INLAY_QM3("smlad", "b")
            : INLAY_QIO2(a, b), INLAY_QIO(x), INLAY_QTEMP2(x0, x1),
              INLAY_QTEMP2(x2, w0), INLAY_QTEMP2(w1, w2)
            : [w] "r"(w)
            : "cc", "memory");
    sum[0] = a;
    sum[1] = b;
    return x;
}

/* The same two columns of x apart. */
INLAY_INLINE const uint32_t *inlay_qthree_apart(const uint32_t *x,
                                                const uint32_t *w,
                                                int32_t start, int32_t *sum)
{
    int32_t a = start;
    int32_t b = start;
    uint32_t x0, x1, x2, w0, w1, w2;
    __asm__(INLAY_QFIRST INLAY_QNEXT INLAY_QM3("smlad", "a")
                INLAY_QPAIR INLAY_QM3("smlad", "b")
                    INLAY_QSECOND INLAY_QM3("smlabt", "a")
                        INLAY_QPAIR INLAY_QM3("smlabt", "b")
            : INLAY_QIO2(a, b), INLAY_QIO(x), INLAY_QTEMP2(x0, x1),
              INLAY_QTEMP2(x2, w0), INLAY_QTEMP2(w1, w2)
            : [w] "r"(w)
            : "cc", "memory");
    sum[0] = a;
    sum[1] = b;
    return x;
}

/* What becomes of the sums of some pixels. */
typedef struct inlay_qthree_results {
    int32_t zero, flip;
    ptrdiff_t ys;
    int32_t n;
} inlay_qthree_results;

/* All pixels of a channel. */
INLAY_INLINE void inlay_qthree_channel(const inlay_qthree_results *r,
                                       const uint32_t *x, const uint32_t *w,
                                       int32_t start, float scale, uint8_t *y,
                                       int apart)
{
    int32_t sum[2];
    int32_t left;
    for (left = r->n; left > 1; left -= 2, y += 2 * r->ys) {
        x = apart ? inlay_qthree_apart(x, w, start, sum)
                  : inlay_qthree(x, w, start, sum);
        y[0] = (uint8_t)(inlay_qbyte(sum[0], scale, r->zero) ^ r->flip);
        y[r->ys] = (uint8_t)(inlay_qbyte(sum[1], scale, r->zero) ^ r->flip);
    }
    if (left) {
        inlay_qthree(x, w, start, sum);
        y[0] = (uint8_t)(inlay_qbyte(sum[0], scale, r->zero) ^ r->flip);
    }
}

/* The same of four channels. */
INLAY_INLINE void inlay_qthree_channels(const inlay_qplanes *planes,
                                        int32_t channel, int apart)
{
    const inlay_qtile *of = &planes->job->of;
    const int32_t each = of->result.each;
    const int32_t *start = of->bias + channel;
    const float *scale = of->result.scale + (each ? channel : 0);
    const uint32_t *x = (const uint32_t *)(void *)planes->x;
    const uint32_t *w = (const uint32_t *)(void *)planes->w;
    const ptrdiff_t next = planes->plane / 2;
    const ptrdiff_t set = planes->set / 2;
    uint8_t *y = (uint8_t *)planes->row->y + planes->c * of->ys + channel;
    inlay_qthree_results r;
    int32_t i;
    r.zero = inlay_qsaturation_of(&of->result).zero;
    r.flip = of->result.lo + 128;
    r.ys = of->ys;
    r.n = planes->n;
    for (i = 0; i < 4; i++, x += next, w += set)
        inlay_qthree_channel(&r, x, w, start[i], scale[i * each], y + i, apart);
}

INLAY_APART void inlay_qthree_near(const inlay_qplanes *planes, int32_t channel)
{
    inlay_qthree_channels(planes, channel, 0);
}
INLAY_APART void inlay_qthree_far(const inlay_qplanes *planes, int32_t channel)
{
    inlay_qthree_channels(planes, channel, 1);
}

/* Four channels, if they are such. */
static inline int inlay_qplanes_three(const inlay_qplanes *planes,
                                      int32_t channel)
{
    const inlay_qtile *of = &planes->job->of;
    if (planes->rows != 3 || planes->params->kw != 3 ||
        planes->params->dw != 1 || planes->params->sw > 2 ||
        planes->params->groups - channel < 4)
        return 0;
    if (of->zw || of->zw_all || of->sums || !inlay_qsaturates(&of->result) ||
        of->result.factor != 1.0f)
        return 0;
    inlay_qthree_weights(planes, of->weights + channel);
    if (planes->params->sw == 1)
        inlay_qthree_near(planes, channel);
    else
        inlay_qthree_far(planes, channel);
    return 1;
}

#else
static inline int inlay_qplanes_three(const inlay_qplanes *planes,
                                      int32_t channel)
{
    (void)planes;
    (void)channel;
    return 0;
}
#endif

#endif
