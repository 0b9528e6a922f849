/* SPDX-License-Identifier: 0BSD
 * Tensors whose size is known only at run time: they lie in their bound with gaps; here the gaps
 * go. */
#ifndef INLAY_SETTLE_H
#define INLAY_SETTLE_H

#include <string.h>

#include "inlay.h"

/* settle: x [n0][n1]... holds a tensor of dims D (int64 [rank], D[i] <= n[i]); everything outside
 * of D becomes 0. dense 1: y is that tensor without gaps, zeros behind it; 0: it stays where it is.
 * y may be x. Operands: y, x, D. */
#define INLAY_settle_FIELDS(F, N) \
    F(int32_t, rank) /* >= 1 */ \
    F(int32_t, size) /* bytes of an element */ \
    F(int32_t, dense) \
    N(int32_t, n, 8) /* the bound */
INLAY_PARAMS(settle);

static inline int inlay_settle(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_settle_params *p = (const inlay_settle_params *)s->params;
    unsigned char *y = (unsigned char *)inlay_at(base, s, 0);
    const unsigned char *x = (const unsigned char *)inlay_at(base, s, 1);
    const int64_t *real = (const int64_t *)inlay_at(base, s, 2);
    const int32_t last = p->rank - 1;
    int32_t at[8] = { 0 };
    int32_t d;
    size_t rows = 1;
    size_t row;
    size_t kept;
    size_t used = 0;
    size_t i;
    (void)r0, (void)r1;
    for (d = 0; d < p->rank; d++) {
        if (real[d] < 0 || real[d] > p->n[d])
            return -INLAY_E_SHAPE;
        if (d < last)
            rows *= (size_t)p->n[d];
    }
    row = (size_t)p->n[last] * (size_t)p->size;
    kept = (size_t)real[last] * (size_t)p->size;
    for (i = 0; i < rows; i++) {
        size_t take = kept;
        for (d = 0; d < last; d++)
            if (at[d] >= real[d])
                take = 0;
        memmove(y + used, x + i * row, take);
        if (!p->dense)
            memset(y + used + take, 0, row - take);
        used += p->dense ? take : row;
        for (d = last - 1; d >= 0; d--) {
            if (++at[d] < p->n[d])
                break;
            at[d] = 0;
        }
    }
    memset(y + used, 0, rows * row - used);
    return 0;
}

#endif
