/* SPDX-License-Identifier: 0BSD
 * Selections by value or by position, moved by element size: OneHot, Compress, Trilu,
 * ReverseSequence, NonZero. Where the number of results depends on values, the compiled shape is
 * its bound (else INLAY_E_SHAPE): the rest of it becomes 0 and the number goes to `count` (int64);
 * where that is left out it must be the bound. */
#ifndef INLAY_SELECT_H
#define INLAY_SELECT_H

#include <string.h>

#include "inlay.h"

/* onehot: y [outer][depth][inner] is off everywhere, on at I[outer][inner] (int64; out of range:
 * nowhere). Operands: y, indices, values { off, on }. */
#define INLAY_onehot_FIELDS(F, N) \
    F(int32_t, outer) \
    F(int32_t, depth) \
    F(int32_t, inner) \
    F(int32_t, size) /* bytes of an element of y */
INLAY_PARAMS(onehot);

static inline int inlay_onehot(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
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
                const int64_t at = index[i] < 0 ? index[i] + p->depth : index[i];
                memcpy(y, values + (at == d ? size : 0), size);
            }
    return 0;
}

/* Hands back how many there are; 0 where the result has no room for them. */
static inline int inlay_counted(int64_t *count, int32_t found, int32_t room)
{
    if (count)
        *count = found;
    return count ? found <= room : found == room;
}

/* compress: y [outer][kept][run] = those of x [outer][n][run] whose condition is true; conditions:
 * `given` <= n bools. Operands: y, count, x, condition. */
#define INLAY_compress_FIELDS(F, N) \
    F(int32_t, outer) \
    F(int32_t, n) \
    F(int32_t, given) \
    F(int32_t, kept) /* true ones that the result has room for, and the stride of y */ \
    F(int64_t, run)  /* bytes */
INLAY_PARAMS(compress);

static inline int inlay_compress(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_compress_params *p = (const inlay_compress_params *)s->params;
    unsigned char *y = (unsigned char *)inlay_at(base, s, 0);
    const unsigned char *x = (const unsigned char *)inlay_at(base, s, 2);
    const unsigned char *condition = (const unsigned char *)inlay_at(base, s, 3);
    const size_t run = (size_t)p->run;
    int32_t o;
    int32_t i;
    int32_t kept = 0;
    (void)r0, (void)r1;
    for (i = 0; i < p->given; i++)
        kept += condition[i] != 0;
    if (!inlay_counted((int64_t *)inlay_at(base, s, 1), kept, p->kept))
        return -INLAY_E_SHAPE;
    for (o = 0; o < p->outer; o++, x += run * (size_t)p->n) {
        for (i = 0; i < p->given; i++) {
            if (!condition[i])
                continue;
            memcpy(y, x + (size_t)i * run, run);
            y += run;
        }
        memset(y, 0, (size_t)(p->kept - kept) * run);
        y += (size_t)(p->kept - kept) * run;
    }
    return 0;
}

/* trilu: y [outer][h][w] = x on and above (upper) or below the diagonal k, zero elsewhere. k is
 * operand 2 (int64), or left out: 0. */
#define INLAY_trilu_FIELDS(F, N) \
    F(int32_t, outer) \
    F(int32_t, h) \
    F(int32_t, w) \
    F(int32_t, size) /* bytes of an element */ \
    F(int32_t, upper)
INLAY_PARAMS(trilu);

static inline int inlay_trilu(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_trilu_params *p = (const inlay_trilu_params *)s->params;
    unsigned char *y = (unsigned char *)inlay_at(base, s, 0);
    const unsigned char *x = (const unsigned char *)inlay_at(base, s, 1);
    const int64_t *k = (const int64_t *)inlay_at(base, s, 2);
    const size_t size = (size_t)p->size;
    const size_t row = size * (size_t)p->w;
    int64_t diagonal = k ? *k : 0;
    int32_t o, i;
    (void)r0, (void)r1;
    if (diagonal < -(int64_t)p->h)
        diagonal = -(int64_t)p->h;
    if (diagonal > p->w)
        diagonal = p->w;
    for (o = 0; o < p->outer; o++)
        for (i = 0; i < p->h; i++, y += row, x += row) {
            int64_t cut = diagonal + i + (p->upper ? 0 : 1); /* first column of the upper part */
            size_t left;
            cut = cut < 0 ? 0 : cut > p->w ? p->w : cut;
            left = (size_t)cut * size;
            if (p->upper) {
                memset(y, 0, left);
                memmove(y + left, x + left, row - left);
            } else {
                memmove(y, x, left);
                memset(y + left, 0, row - left);
            }
        }
    return 0;
}

/* reverse_sequence: x and y [a][b][run]; of line i of the batch the first L[i] steps in time are
 * reversed. time_first 1: a is time, b the batch. Operands: y, x, lengths (int64). */
#define INLAY_reverse_sequence_FIELDS(F, N) \
    F(int32_t, a) \
    F(int32_t, b) \
    F(int32_t, time_first) \
    F(int64_t, run) /* bytes */
INLAY_PARAMS(reverse_sequence);

static inline int inlay_reverse_sequence(void *const *base, const inlay_step *s, int32_t r0,
                                         int32_t r1)
{
    const inlay_reverse_sequence_params *p = (const inlay_reverse_sequence_params *)s->params;
    unsigned char *y = (unsigned char *)inlay_at(base, s, 0);
    const unsigned char *x = (const unsigned char *)inlay_at(base, s, 1);
    const int64_t *length = (const int64_t *)inlay_at(base, s, 2);
    const int32_t steps = p->time_first ? p->a : p->b;
    int32_t i, k;
    (void)r0, (void)r1;
    for (i = 0; i < p->a; i++)
        for (k = 0; k < p->b; k++, y += p->run) {
            const int32_t line = p->time_first ? k : i;
            const int32_t t = p->time_first ? i : k;
            int64_t from = t;
            if (length[line] < 0 || length[line] > steps)
                return -INLAY_E_INDEX;
            if (t < length[line])
                from = length[line] - 1 - t;
            memcpy(y,
                   x + (size_t)(p->time_first ? from * p->b + k : (int64_t)i * p->b + from) *
                           (size_t)p->run,
                   (size_t)p->run);
        }
    return 0;
}

/* nonzero: y [rank][room] int64, the indices of the elements of x that are not 0, in order.
 * Operands: y, count, x. */
#define INLAY_nonzero_FIELDS(F, N) \
    F(int32_t, rank) \
    F(int32_t, room) /* most indices */ \
    N(int32_t, n, 8) /* dims of x */
INLAY_PARAMS(nonzero);

#define INLAY_NONZERO(suffix, T) \
    static inline int inlay_nonzero_##suffix(void *const *base, const inlay_step *s, int32_t r0, \
                                             int32_t r1) \
    { \
        const inlay_nonzero_params *p = (const inlay_nonzero_params *)s->params; \
        int64_t *y = (int64_t *)inlay_at(base, s, 0); \
        const T *x = (const T *)inlay_at(base, s, 2); \
        int32_t at[8] = { 0 }, found = 0, some = 1, d; \
        (void)r0, (void)r1; \
        for (d = 0; d < p->rank; d++) \
            some = some && p->n[d]; \
        for (d = some - 1; d >= 0;) { \
            if (*x++ != 0) { \
                if (found == p->room) \
                    return -INLAY_E_SHAPE; \
                for (d = 0; d < p->rank; d++) \
                    y[(ptrdiff_t)d * p->room + found] = at[d]; \
                found++; \
            } \
            for (d = p->rank - 1; d >= 0; d--) { \
                if (++at[d] < p->n[d]) \
                    break; \
                at[d] = 0; \
            } \
        } \
        for (d = 0; d < p->rank; d++) \
            memset(y + (ptrdiff_t)d * p->room + found, 0, (size_t)(p->room - found) * sizeof *y); \
        return inlay_counted((int64_t *)inlay_at(base, s, 1), found, p->room) ? 0 \
                                                                              : -INLAY_E_SHAPE; \
    }

INLAY_NONZERO(f32, float)
INLAY_NONZERO(f64, double)
INLAY_NONZERO(u8, uint8_t)
INLAY_NONZERO(u16, uint16_t)
INLAY_NONZERO(u32, uint32_t)
INLAY_NONZERO(u64, uint64_t)

#endif
