/* SPDX-License-Identifier: 0BSD
 * The products of qdw_planes.inc.h on Arm cores with the DSP instructions: any window. The usual
 * one, of 3 x 3, has a form of its own, qdw_three.inc.h. */
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
    const uint32_t lower = inlay_lower(first, second);
    const uint32_t upper = inlay_upper(first, second);
    to[0] = inlay_even(lower);
    to[next] = inlay_odd(lower);
    to[2 * next] = inlay_even(upper);
    to[3 * next] = inlay_odd(upper);
}

/* How the columns of a row become words: zero points join one that is alone in its pair. */
typedef struct inlay_qcolumns {
    uint32_t mask, zero;
    ptrdiff_t pix, next;
    int32_t rows;
    int32_t before, pairs, after; /* alone, two by two, alone */
    ptrdiff_t bytes; /* from the first pair to the last one's end */
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
    columns.bytes = 2 * columns.pairs * columns.pix;
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

#endif
