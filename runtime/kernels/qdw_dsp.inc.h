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

/* The words of a window that begins at column e, of numbers and of weights. */
typedef struct inlay_qstretch {
    const int16_t *x, *w;
    int32_t n;
} inlay_qstretch;

INLAY_INLINE inlay_qstretch inlay_qplane_stretch(const inlay_qplanes *planes,
                                                 const int16_t *x,
                                                 const int16_t *w, int32_t e)
{
    inlay_qstretch of;
    of.n = inlay_qplane_even(planes);
    of.x = x + e / 2 * planes->rows * 2;
    of.w = w;
    if (e % 2) {
        of.w += 2 * of.n;
        of.n = (planes->extent / 2 + 1) * planes->rows;
    }
    return of;
}

/* Adds a stretch to the sum of a pixel, and if two, the one that is `apart` halves behind to the
 * sum of another. */
INLAY_INLINE void inlay_qplane_add(inlay_qstretch of, int two, int32_t apart,
                                   int32_t *sum, int32_t *other)
{
    const int16_t *next = of.x + apart;
    int32_t a = *sum;
    int32_t b = two ? *other : 0;
    for (; of.n > 0; of.n--, of.x += 2, of.w += 2, next += 2) {
        const uint32_t w = inlay_word(of.w);
        a = inlay_smlad(a, inlay_word(of.x), w);
        if (two)
            b = inlay_smlad(b, inlay_word(next), w);
    }
    *sum = a;
    if (two)
        *other = b;
}

/* Sums of n pixels from pixel j on. Two share weights if their windows begin both at even columns,
 * or both at odd ones. */
INLAY_INLINE void inlay_qplane_sums(const inlay_qplanes *planes,
                                    const int16_t *x, const int16_t *w,
                                    int32_t j, int32_t n, int32_t *sum)
{
    const int32_t stride = planes->params->sw;
    const int32_t pair = stride % 2 ? 2 : 1;
    const int32_t apart = pair * stride * planes->rows;
    int32_t k, i;
    for (k = 0; k < n; k += 2 * pair)
        for (i = k; i < k + pair && i < n; i++) {
            const inlay_qstretch of =
                inlay_qplane_stretch(planes, x, w, (j + i) * stride);
            if (i + pair < n)
                inlay_qplane_add(of, 1, apart, sum + i, sum + i + pair);
            else
                inlay_qplane_add(of, 0, 0, sum + i, NULL);
        }
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
