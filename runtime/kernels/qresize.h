/* SPDX-License-Identifier: 0BSD
 * Bilinear resampling of quantized images: y [images][out][wide_out][channels] of x
 * [images][in][wide_in][channels].
 *
 *   y = byte(w00 x[r0][c0] + w01 x[r0][c1] + w10 x[r1][c0] + w11 x[r1][c1])
 *
 * Tables name the rows r0, r1 and the columns c0, c1 of each row and column of y, with a weight
 * each; the weight of a pixel is their product. byte() and the numbers are those of qstep.h. */
#ifndef INLAY_QRESIZE_H
#define INLAY_QRESIZE_H

#include "kernels/qstep.h"

typedef struct inlay_qresize_params {
    int32_t in;       /* rows of an image of x ... */
    int32_t out;      /* ... and of y */
    int32_t wide_in;  /* pixels of a row of x ... */
    int32_t wide_out; /* ... and of y */
    int32_t channels;
} inlay_qresize_params;

#if INLAY_QSTEP_VECTORS
/* As many channels as fill vectors; returns their number. */
INLAY_INLINE int32_t inlay_qresize_vectors(uint8_t *y, const uint8_t *const *x,
                                           const float *weight, int32_t n,
                                           const inlay_qstep *q)
{
    const inlay_qclip clip = inlay_qclip_of(q->zy, q->lo, q->hi);
    int32_t i, k;
    for (i = 0; i + INLAY_QL <= n; i += INLAY_QL) {
        inlay_qf v = INLAY_MM(setzero_ps)();
        for (k = 0; k < 4; k++) {
            const inlay_qf times = INLAY_MM(set1_ps)(weight[k]);
            inlay_qf part;
            part = inlay_qside(x[k] + i, 1, INLAY_QL, q->flip_a, q->za, q->sa);
            part = INLAY_MM(mul_ps)(part, times);
            v = k ? INLAY_MM(add_ps)(v, part) : part;
        }
        inlay_qside_end(q, &clip, v, INLAY_QL, y + i);
    }
    return i;
}
#endif

/* One pixel of four. The products are added in this order, as ONNX Runtime does it: so ties fall
 * the same way. */
static inline void inlay_qresize_pixel(uint8_t *y, const uint8_t *const *x,
                                       const float *weight, int32_t n,
                                       const inlay_qstep *numbers)
{
    const inlay_qstep q = *numbers;
    int32_t i = 0;
#if INLAY_QSTEP_VECTORS
    i = inlay_qresize_vectors(y, x, weight, n, numbers);
#endif
    for (; i < n; i++) {
        const float first = inlay_qstep_a(&q, x[0][i]);
        const float second = inlay_qstep_a(&q, x[1][i]);
        const float third = inlay_qstep_a(&q, x[2][i]);
        const float fourth = inlay_qstep_a(&q, x[3][i]);
        float v = weight[0] * first;
        v += weight[1] * second;
        v += weight[2] * third;
        v += weight[3] * fourth;
        y[i] = inlay_qstep_byte(&q, v);
    }
}

/* Two places and their weights: of a row, of a column. */
typedef struct inlay_qpair {
    int32_t place[2];
    float weight[2];
} inlay_qpair;

/* Pair number `at` of the table at operand k, and of the weights behind it. */
static inline inlay_qpair inlay_qpair_of(void *const *base, const inlay_step *s,
                                         int32_t k, int32_t at)
{
    const ptrdiff_t first = (ptrdiff_t)at * 2;
    const int32_t *place = (const int32_t *)inlay_at(base, s, k) + first;
    const float *weight = (const float *)inlay_at(base, s, k + 1) + first;
    inlay_qpair pair;
    memcpy(pair.place, place, sizeof pair.place);
    memcpy(pair.weight, weight, sizeof pair.weight);
    return pair;
}

/* The rows of x that row r of y is made of. */
static inline void inlay_qresize_lines(void *const *base, const inlay_step *s,
                                       const inlay_qpair *row, int32_t r,
                                       const uint8_t **line)
{
    const inlay_qresize_params *p = (const inlay_qresize_params *)s->params;
    const int32_t first = r / p->out * p->in;
    int32_t i;
    for (i = 0; i < 2; i++) {
        const int32_t place = first + row->place[i];
        line[i] = (const uint8_t *)inlay_row(base, s, 1, place);
    }
}

/* The four pixels of a column of y, and their weights. */
INLAY_INLINE void inlay_qresize_four(const uint8_t *const *line, ptrdiff_t step,
                                     const inlay_qpair *row,
                                     const inlay_qpair *column,
                                     const uint8_t **x, float *weight)
{
    int32_t i;
    for (i = 0; i < 4; i++) {
        x[i] = line[i / 2] + column->place[i % 2] * step;
        weight[i] = column->weight[i % 2] * row->weight[i / 2];
    }
}

static inline void inlay_qresize_row(void *const *base, const inlay_step *s,
                                     int32_t r)
{
    const inlay_qresize_params *p = (const inlay_qresize_params *)s->params;
    const inlay_qpair row = inlay_qpair_of(base, s, 2, r % p->out);
    const inlay_qstep *q = (const inlay_qstep *)inlay_at(base, s, 6);
    uint8_t *y = (uint8_t *)inlay_row(base, s, 0, r);
    const uint8_t *line[2];
    int32_t k;
    inlay_qresize_lines(base, s, &row, r, line);
    for (k = 0; k < p->wide_out; k++) {
        const inlay_qpair column = inlay_qpair_of(base, s, 4, k);
        const uint8_t *x[4];
        float weight[4];
        inlay_qresize_four(line, s->ref[1].pix, &row, &column, x, weight);
        inlay_qresize_pixel(y, x, weight, p->channels, q);
        y += s->ref[0].pix;
    }
}

/* Operands: y, x, rows, their weights, columns, their weights, numbers. Units are rows of y. */
static inline int inlay_qresize(void *const *base, const inlay_step *s,
                                int32_t r0, int32_t r1)
{
    for (; r0 < r1; r0++)
        inlay_qresize_row(base, s, r0);
    return 0;
}

#endif
