/* SPDX-License-Identifier: 0BSD
 * Concat: the result is `pieces` times the pieces of all inputs side by side.
 * y [units][pieces][sum of bytes]; input i [units][pieces][bytes_i], with bytes_i in the table. */
#ifndef INLAY_CONCAT_H
#define INLAY_CONCAT_H

#include <string.h>

#include "inlay.h"

#define INLAY_concat_FIELDS(F, N) \
    F(int32_t, inputs) /* operands 1 .. inputs; the operand after them is the table */ \
    F(int32_t, pieces) /* of a unit */ \
    F(int32_t, size)   /* bytes of an element where a piece is a pixel, else 0 */ \
    F(int64_t, bytes)  /* sum of the table */
INLAY_PARAMS(concat);

static inline int inlay_concat(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_concat_params *p = (const inlay_concat_params *)s->params;
    const int64_t *table = (const int64_t *)inlay_at(base, s, p->inputs + 1);
    const size_t y_step = p->size ? (size_t)p->size * (size_t)s->ref[0].pix : (size_t)p->bytes;
    int32_t done;
    for (done = r0; done < r1; done++) {
        const int32_t r = s->backward ? r0 + r1 - 1 - done : done;
        unsigned char *row = (unsigned char *)inlay_row(base, s, 0, r);
        int32_t i, k;
        for (i = 0; i < p->inputs; i++) {
            const size_t n = (size_t)table[i];
            const size_t x_step = p->size ? (size_t)p->size * (size_t)s->ref[i + 1].pix : n;
            const unsigned char *x = (const unsigned char *)inlay_row(base, s, i + 1, r);
            unsigned char *y = row;
            for (k = 0; k < p->pieces; k++, y += y_step, x += x_step)
                memcpy(y, x, n);
            row += n;
        }
    }
    return 0;
}

#endif
