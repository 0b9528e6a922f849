/* SPDX-License-Identifier: 0BSD
 * Loops over elements: the one engine under every elementwise kernel.
 *
 * A kernel is a function over n elements in a row; what walks the dimensions around it, up to 8
 * with a stride for each operand, is here. */
#ifndef INLAY_ND_H
#define INLAY_ND_H

#include <stddef.h>
#include <stdint.h>

#include "inlay_memory.h"
#include "inlay.h"

#define INLAY_JOIN_(a, b) a##b
#define INLAY_JOIN(a, b) INLAY_JOIN_(a, b)

/* Elements go in blocks that compilers turn into vectors even where the result overwrites an
 * operand: a block is read whole before it is written. Elsewhere the copy would cost time. */
#if defined __SSE2__ || defined __ARM_NEON || defined __ARM_FEATURE_MVE || \
    defined __riscv_vector || defined __VSX__ || defined __wasm_simd128__
#define INLAY_BLOCK 16
#endif

/* One operand, one result, the same shape: `n` elements in a unit. */
typedef struct inlay_flat_params {
    int32_t n;     /* elements of a unit (a row) */
    int32_t pixel; /* elements of a pixel; == n where the tensor has none */
    double a;      /* numbers of the operator: alpha ... */
    double b;
} inlay_flat_params;

/* Two operands broadcast into a dense result. Operand 0 is the result. */
typedef struct inlay_nd2_params {
    int32_t rank; /* loops of a unit, 1 .. 8, outermost first */
    /* bit i: operand i has a row for each unit; else it is the same for all */
    int32_t rows;
    int32_t pixel; /* the loop from pixel to pixel, -1: none */
    int32_t n[8];  /* sizes of the loops */
    int32_t a[8];  /* strides of operand 1, elements */
    int32_t b[8];  /* strides of operand 2 */
    /* of an operand without that bit: units that have the same row of it, all of whose rows come
     * again and again; 0: it is the same for all units */
    int32_t every[3];
} inlay_nd2_params;

/* Three operands (Where). */
typedef struct inlay_nd3_params {
    int32_t rank;     /* loops of a unit, 1 .. 8, outermost first */
    int32_t rows;     /* bit i: operand i has a row for each unit */
    int32_t pixel;    /* the loop from pixel to pixel, -1: none */
    int32_t n[8];     /* sizes of the loops */
    int32_t a[8];     /* strides of operand 1, elements */
    int32_t b[8];     /* strides of operand 2 */
    int32_t c[8];     /* strides of operand 3 */
    int32_t every[4]; /* as above */
} inlay_nd3_params;

/* Rows of operand i from r on that lie one after the other, `bytes` each, at most r1 - r. */
static inline int32_t inlay_rows_together(const inlay_step *s, int i, int32_t r,
                                          int32_t r1, size_t bytes)
{
    const inlay_ref *f = s->ref + i;
    const int32_t left = f->cap - r % f->cap;
    if (inlay_is_dealt(f) || (s->units > 1 && f->row != bytes))
        return 1;
    return left < r1 - r ? left : r1 - r;
}

/* Inner loop of a unary kernel: y[i] = f(x[i]), i < n. */
typedef void inlay_inner1(void *y, const void *x, int32_t n,
                          const inlay_flat_params *p);

/* Rows [r0, r1) of a unary kernel whose pixels lie one after the other: as many rows as do so, too,
 * in one call. */
static inline void inlay_flat_dense(void *const *base, const inlay_step *s,
                                    int32_t r0, int32_t r1, size_t y_size,
                                    size_t x_size, inlay_inner1 *inner)
{
    const inlay_flat_params *p = (const inlay_flat_params *)s->params;
    while (r0 < r1) {
        const int32_t y_rows =
            inlay_rows_together(s, 0, r0, r1, (size_t)p->n * y_size);
        const int32_t x_rows =
            inlay_rows_together(s, 1, r0, r1, (size_t)p->n * x_size);
        const int32_t rows = x_rows < y_rows ? x_rows : y_rows;
        inner(inlay_row(base, s, 0, r0), inlay_row(base, s, 1, r0), p->n * rows,
              p);
        r0 += rows;
    }
}

/* Rows [r0, r1) of a unary kernel; y_size, x_size: bytes of an element. */
static inline int inlay_flat(void *const *base, const inlay_step *s, int32_t r0,
                             int32_t r1, size_t y_size, size_t x_size,
                             inlay_inner1 *inner)
{
    const inlay_flat_params *p = (const inlay_flat_params *)s->params;
    const size_t y_step = (size_t)s->ref[0].pix * y_size;
    const size_t x_step = (size_t)s->ref[1].pix * x_size;
    if (p->pixel == p->n ||
        (s->ref[0].pix == p->pixel && s->ref[1].pix == p->pixel)) {
        inlay_flat_dense(base, s, r0, r1, y_size, x_size, inner);
        return 0;
    }
    for (; r0 < r1; r0++) {
        unsigned char *y = (unsigned char *)inlay_row(base, s, 0, r0);
        const unsigned char *x =
            (const unsigned char *)inlay_row(base, s, 1, r0);
        int32_t i;
        for (i = 0; i < p->n; i += p->pixel) {
            inner(y, x, p->pixel, p);
            y += y_step;
            x += x_step;
        }
    }
    return 0;
}

/* A nest ready to run: byte strides of up to 4 operands, the innermost ones in elements. */
typedef struct inlay_nest {
    int32_t rank, n[8];
    ptrdiff_t step[4][8]; /* bytes */
    int32_t in[4];        /* elements, innermost loop */
} inlay_nest;

/* Sets operand k of a nest: stride NULL: dense. `pix` replaces the stride of the loop over pixels,
 * 0: it does not. */
static inline void inlay_nest_operand(inlay_nest *nest, int k,
                                      const int32_t *stride, size_t size,
                                      int32_t pixel, int32_t pix)
{
    ptrdiff_t dense = 1;
    int32_t i;
    for (i = nest->rank - 1; i >= 0; i--) {
        ptrdiff_t step = stride ? (ptrdiff_t)stride[i] : dense;
        if (i == pixel && pix && step)
            step = pix;
        if (!stride && i == pixel && pix)
            dense = pix;
        nest->step[k][i] = step * (ptrdiff_t)size;
        dense *= nest->n[i];
    }
}

/* Joins the innermost loops where all operands allow it and fixes the innermost strides. */
static inline void inlay_nest_join(inlay_nest *nest, int operands,
                                   const size_t *size)
{
    int k;
    while (nest->rank > 1) {
        const int32_t last = nest->rank - 1;
        for (k = 0; k < operands; k++)
            if (nest->step[k][last - 1] != nest->step[k][last] * nest->n[last])
                break;
        if (k < operands)
            break;
        for (k = 0; k < operands; k++)
            nest->step[k][last - 1] = nest->step[k][last];
        nest->n[last - 1] *= nest->n[last];
        nest->rank--;
    }
    for (k = 0; k < operands; k++)
        nest->in[k] =
            (int32_t)(nest->step[k][nest->rank - 1] / (ptrdiff_t)size[k]);
}

/* Advances the operands to the next innermost loop; 0 at the end. */
static inline int inlay_nest_next(const inlay_nest *nest, int32_t *at,
                                  unsigned char **operand, int operands)
{
    int32_t d;
    int k;
    for (d = nest->rank - 2; d >= 0; d--) {
        for (k = 0; k < operands; k++)
            operand[k] += nest->step[k][d];
        if (++at[d] < nest->n[d])
            return 1;
        for (k = 0; k < operands; k++)
            operand[k] -= nest->step[k][d] * nest->n[d];
        at[d] = 0;
    }
    return 0;
}

static inline unsigned char *inlay_operand(void *const *base,
                                           const inlay_step *s, int i,
                                           int32_t rows, int32_t r)
{
    return (unsigned char *)(rows >> i & 1 ? inlay_row(base, s, i, r)
                                           : inlay_at(base, s, i));
}

/* The operands at the beginning of row r. */
static inline void inlay_nest_start(void *const *base, const inlay_step *s,
                                    int operands, int32_t rows, int32_t r,
                                    unsigned char **operand)
{
    int k;
    for (k = 0; k < operands; k++)
        operand[k] = inlay_operand(base, s, k, rows, r);
}

/* The same where some operands have a row for `every` units, and their rows come again: all of them
 * are there, `cap`, wherever each of them lies. */
static inline void inlay_nest_begin(void *const *base, const inlay_step *s,
                                    int operands, int32_t rows,
                                    const int32_t *every, int32_t r,
                                    unsigned char **operand)
{
    int k;
    inlay_nest_start(base, s, operands, rows, r, operand);
    for (k = 0; k < operands; k++)
        if (every[k])
            operand[k] = (unsigned char *)inlay_row(
                base, s, k, r / every[k] % s->ref[k].cap);
}

/* Makes a nest, of which rank and sizes are given, ready to run. */
static inline void inlay_nest_set(inlay_nest *nest, const inlay_step *s,
                                  int operands, const int32_t *const *stride,
                                  const size_t *size, int32_t rows,
                                  int32_t pixel)
{
    int k;
    for (k = 0; k < operands; k++)
        inlay_nest_operand(nest, k, stride[k], size[k], pixel,
                           rows >> k & 1 ? s->ref[k].pix : 0);
    inlay_nest_join(nest, operands, size);
}

/* Inner loop of a binary kernel; strides in elements, the result's is 1. */
typedef void inlay_inner2(void *y, const void *a, const void *b, int32_t n,
                          int32_t step_a, int32_t step_b);

/* Rows [r0, r1) of a binary kernel. */
static inline int inlay_nd2(void *const *base, const inlay_step *s, int32_t r0,
                            int32_t r1, size_t y_size, size_t x_size,
                            inlay_inner2 *inner)
{
    const inlay_nd2_params *p = (const inlay_nd2_params *)s->params;
    const size_t size[3] = { y_size, x_size, x_size };
    const int32_t *stride[3] = { NULL, p->a, p->b };
    inlay_nest nest;
    nest.rank = p->rank;
    memcpy(nest.n, p->n, sizeof nest.n);
    inlay_nest_set(&nest, s, 3, stride, size, p->rows, p->pixel);
    for (; r0 < r1; r0++) {
        unsigned char *o[3];
        int32_t at[8] = { 0 };
        inlay_nest_begin(base, s, 3, p->rows, p->every, r0, o);
        do
            inner(o[0], o[1], o[2], nest.n[nest.rank - 1], nest.in[1],
                  nest.in[2]);
        while (inlay_nest_next(&nest, at, o, 3));
    }
    return 0;
}

/* Inner loop of a kernel of three operands. */
typedef void inlay_inner3(void *y, const void *a, const void *b, const void *c,
                          int32_t n, const int32_t *step);

/* Rows [r0, r1) of a kernel of three operands; the first is of bytes. */
static inline int inlay_nd3(void *const *base, const inlay_step *s, int32_t r0,
                            int32_t r1, size_t y_size, inlay_inner3 *inner)
{
    const inlay_nd3_params *p = (const inlay_nd3_params *)s->params;
    const size_t size[4] = { y_size, 1, y_size, y_size };
    const int32_t *stride[4] = { NULL, p->a, p->b, p->c };
    inlay_nest nest;
    nest.rank = p->rank;
    memcpy(nest.n, p->n, sizeof nest.n);
    inlay_nest_set(&nest, s, 4, stride, size, p->rows, p->pixel);
    for (; r0 < r1; r0++) {
        unsigned char *o[4];
        int32_t at[8] = { 0 };
        inlay_nest_begin(base, s, 4, p->rows, p->every, r0, o);
        do
            inner(o[0], o[1], o[2], o[3], nest.n[nest.rank - 1], nest.in);
        while (inlay_nest_next(&nest, at, o, 4));
    }
    return 0;
}

#endif
