/* SPDX-License-Identifier: 0BSD
 * Selections by value or by position, moved by element size: OneHot, Compress, Trilu,
 * ReverseSequence, NonZero. Where the number of results depends on values, the compiled shape is
 * its bound (else INLAY_E_SHAPE): the rest of it becomes 0 and the number goes to `count` (int64);
 * where that is left out it must be the bound. */
#ifndef INLAY_SELECT_H
#define INLAY_SELECT_H

#include "inlay_memory.h"
#include "index.h"

/* onehot: y [outer][depth][inner] is off everywhere, on at I[outer][inner] (int64; out of range:
 * nowhere). Operands: y, indices, values { off, on }. */
typedef struct inlay_onehot_params {
    int32_t outer;
    int32_t depth;
    int32_t inner;
    int32_t size; /* bytes of an element of y */
} inlay_onehot_params;

static inline int inlay_onehot(void *const *base, const inlay_step *s,
                               int32_t r0, int32_t r1)
{
    const inlay_onehot_params *p = (const inlay_onehot_params *)s->params;
    unsigned char *y = (unsigned char *)inlay_at(base, s, 0);
    const int64_t *index = (const int64_t *)inlay_at(base, s, 1);
    const unsigned char *values = (const unsigned char *)inlay_at(base, s, 2);
    const size_t size = (size_t)p->size;
    int32_t o, d, i;
    (void)r0, (void)r1;
    for (o = 0; o < p->outer; o++, index += p->inner)
        for (d = 0; d < p->depth; d++)
            for (i = 0; i < p->inner; i++, y += size) {
                const int64_t at =
                    index[i] < 0 ? index[i] + p->depth : index[i];
                memcpy(y, values + (at == d ? size : 0), size);
            }
    return 0;
}

/* Hands back how many there are; 0 where the result has no room for them. */
static inline int inlay_counted(int64_t *count, int32_t found, int32_t room)
{
    if (!count)
        return found == room;
    *count = found;
    return found <= room;
}

/* compress: y [outer][kept][run] = those of x [outer][n][run] whose condition is true; conditions:
 * `given` <= n bools. Operands: y, count, x, condition. */
typedef struct inlay_compress_params {
    int32_t outer;
    int32_t n;
    int32_t given;
    /* true ones that the result has room for, and the stride of y */
    int32_t kept;
    int64_t run; /* bytes */
} inlay_compress_params;

/* Line x without those that are not kept: returns where y ends. */
static inline unsigned char *inlay_compress_line(const inlay_compress_params *p,
                                                 unsigned char *y,
                                                 const unsigned char *x,
                                                 const uint8_t *condition)
{
    const size_t run = (size_t)p->run;
    int32_t i;
    for (i = 0; i < p->given; i++) {
        if (!condition[i])
            continue;
        memcpy(y, x + (size_t)i * run, run);
        y += run;
    }
    return y;
}

static inline int32_t inlay_true_ones(const uint8_t *condition, int32_t n)
{
    int32_t count = 0;
    int32_t i;
    for (i = 0; i < n; i++)
        count += condition[i] != 0;
    return count;
}

static inline int inlay_compress(void *const *base, const inlay_step *s,
                                 int32_t r0, int32_t r1)
{
    const inlay_compress_params *p = (const inlay_compress_params *)s->params;
    unsigned char *y = (unsigned char *)inlay_at(base, s, 0);
    const unsigned char *x = (const unsigned char *)inlay_at(base, s, 2);
    const uint8_t *condition = (const uint8_t *)inlay_at(base, s, 3);
    const int32_t kept = inlay_true_ones(condition, p->given);
    const size_t gap = (size_t)(p->kept - kept) * (size_t)p->run;
    int32_t i;
    (void)r0;
    (void)r1;
    if (!inlay_counted((int64_t *)inlay_at(base, s, 1), kept, p->kept))
        return -INLAY_E_SHAPE;
    for (i = 0; i < p->outer; i++, x += (size_t)p->run * (size_t)p->n) {
        y = inlay_compress_line(p, y, x, condition);
        memset(y, 0, gap);
        y += gap;
    }
    return 0;
}

/* trilu: y [outer][h][w] = x on and above (upper) or below the diagonal k, zero elsewhere. k is
 * operand 2 (int64), or left out: 0. */
typedef struct inlay_trilu_params {
    int32_t outer;
    int32_t h;
    int32_t w;
    int32_t size; /* bytes of an element */
    int32_t upper;
} inlay_trilu_params;

/* A row of which `first` is the first column of the upper part. */
static inline void inlay_trilu_row(const inlay_trilu_params *p,
                                   unsigned char *y, const unsigned char *x,
                                   size_t first)
{
    const size_t row = (size_t)p->w * (size_t)p->size;
    const size_t left = first * (size_t)p->size;
    if (p->upper) {
        memset(y, 0, left);
        memmove(y + left, x + left, row - left);
        return;
    }
    memmove(y, x, left);
    memset(y + left, 0, row - left);
}

static inline int inlay_trilu(void *const *base, const inlay_step *s,
                              int32_t r0, int32_t r1)
{
    const inlay_trilu_params *p = (const inlay_trilu_params *)s->params;
    unsigned char *y = (unsigned char *)inlay_at(base, s, 0);
    const unsigned char *x = (const unsigned char *)inlay_at(base, s, 1);
    const int64_t *k = (const int64_t *)inlay_at(base, s, 2);
    const size_t row = (size_t)p->size * (size_t)p->w;
    const int64_t diagonal = inlay_clamp_i64(k ? *k : 0, -(int64_t)p->h, p->w);
    const int64_t first = p->upper ? diagonal : diagonal + 1;
    int32_t o, i;
    (void)r0;
    (void)r1;
    for (o = 0; o < p->outer; o++)
        for (i = 0; i < p->h; i++, y += row, x += row) {
            const int64_t left = inlay_clamp_i64(first + i, 0, p->w);
            inlay_trilu_row(p, y, x, (size_t)left);
        }
    return 0;
}

/* reverse_sequence: x and y [a][b][run]; of line i of the batch the first L[i] steps in time are
 * reversed. time_first 1: a is time, b the batch. Operands: y, x, lengths (int64). */
typedef struct inlay_reverse_sequence_params {
    int32_t a;
    int32_t b;
    int32_t time_first;
    int64_t run; /* bytes */
} inlay_reverse_sequence_params;

/* Which piece of x piece k of line i is, of a line of which `length` are reversed. */
static inline size_t inlay_reversed(const inlay_reverse_sequence_params *p,
                                    int32_t i, int32_t k, int64_t length)
{
    const int64_t time = p->time_first ? i : k;
    const int64_t from = time < length ? length - 1 - time : time;
    return (size_t)(p->time_first ? from * p->b + k : (int64_t)i * p->b + from);
}

static inline int inlay_reverse_sequence(void *const *base, const inlay_step *s,
                                         int32_t r0, int32_t r1)
{
    const inlay_reverse_sequence_params *p =
        (const inlay_reverse_sequence_params *)s->params;
    unsigned char *y = (unsigned char *)inlay_at(base, s, 0);
    const unsigned char *x = (const unsigned char *)inlay_at(base, s, 1);
    const int64_t *lengths = (const int64_t *)inlay_at(base, s, 2);
    const int32_t steps = p->time_first ? p->a : p->b;
    const size_t run = (size_t)p->run;
    int32_t i, k;
    (void)r0;
    (void)r1;
    for (i = 0; i < p->a; i++)
        for (k = 0; k < p->b; k++, y += run) {
            const int64_t length = lengths[p->time_first ? k : i];
            if (length < 0 || length > steps)
                return -INLAY_E_INDEX;
            memcpy(y, x + inlay_reversed(p, i, k, length) * run, run);
        }
    return 0;
}

/* nonzero: y [rank][room] int64, the indices of the elements of x that are not 0, in order.
 * Operands: y, count, x. */
typedef struct inlay_nonzero_params {
    int32_t rank;
    int32_t room; /* most indices */
    int32_t n[8]; /* dims of x */
} inlay_nonzero_params;

#define INLAY_FAMILY "select.inc.h"
#include "each_number.inc.h"
#undef INLAY_FAMILY

#endif
