/* SPDX-License-Identifier: 0BSD
 * Tensors whose size is known only at run time: they lie in their bound with gaps; here the gaps
 * go. */
#ifndef INLAY_SETTLE_H
#define INLAY_SETTLE_H

#include "inlay_memory.h"
#include "index.h"

/* settle: x [n0][n1]... holds a tensor of dims D (int64 [rank], D[i] <= n[i]); everything outside
 * of D becomes 0. dense 1: y is that tensor without gaps, zeros behind it; 0: it stays where it is.
 * y may be x. Operands: y, x, D. */
typedef struct inlay_settle_params {
    int32_t rank; /* >= 1 */
    int32_t size; /* bytes of an element */
    int32_t dense;
    int32_t n[8]; /* the bound */
} inlay_settle_params;

/* Bytes of the tensor in the row at `at`. */
static inline size_t inlay_settle_bytes(const inlay_settle_params *p,
                                        const int64_t *real, const int32_t *at)
{
    const int32_t last = p->rank - 1;
    int32_t d;
    for (d = 0; d < last; d++)
        if (at[d] >= real[d])
            return 0;
    return (size_t)real[last] * (size_t)p->size;
}

/* Rows of the bound, 0 where the tensor does not fit into it. */
static inline int inlay_settle_rows(const inlay_settle_params *p,
                                    const int64_t *real, size_t *rows)
{
    int32_t d;
    *rows = 1;
    for (d = 0; d < p->rank; d++) {
        if (real[d] < 0 || real[d] > p->n[d])
            return 0;
        if (d < p->rank - 1)
            *rows *= (size_t)p->n[d];
    }
    return 1;
}

/* Zeros behind what a row has of the tensor; returns how many. */
static inline size_t inlay_settle_gap(unsigned char *y, size_t bytes)
{
    memset(y, 0, bytes);
    return bytes;
}

/* Rows of the tensor from x to y; returns where they end in y. */
static inline size_t inlay_settle_move(const inlay_settle_params *p,
                                       unsigned char *y, const unsigned char *x,
                                       const int64_t *real, size_t rows)
{
    const int32_t last = p->rank - 1;
    const size_t row = (size_t)p->n[last] * (size_t)p->size;
    int32_t at[8] = { 0 };
    size_t used = 0;
    size_t i;
    for (i = 0; i < rows; i++) {
        const size_t bytes = inlay_settle_bytes(p, real, at);
        memmove(y + used, x, bytes);
        used += bytes;
        if (!p->dense)
            used += inlay_settle_gap(y + used, row - bytes);
        inlay_next_index(at, p->n, last);
        x += row;
    }
    return used;
}

static inline int inlay_settle(void *const *base, const inlay_step *s,
                               int32_t r0, int32_t r1)
{
    const inlay_settle_params *p = (const inlay_settle_params *)s->params;
    unsigned char *y = (unsigned char *)inlay_at(base, s, 0);
    const unsigned char *x = (const unsigned char *)inlay_at(base, s, 1);
    const int64_t *real = (const int64_t *)inlay_at(base, s, 2);
    const int32_t last = p->rank - 1;
    const size_t row = (size_t)p->n[last] * (size_t)p->size;
    size_t rows, used;
    (void)r0;
    (void)r1;
    if (!inlay_settle_rows(p, real, &rows))
        return -INLAY_E_SHAPE;
    used = inlay_settle_move(p, y, x, real, rows);
    memset(y + used, 0, rows * row - used);
    return 0;
}

#endif
