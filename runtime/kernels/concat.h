/* SPDX-License-Identifier: 0BSD
 * Concat: the result is `pieces` times the pieces of all inputs side by side.
 * y [units][pieces][sum of bytes]; input i [units][pieces][bytes_i], with bytes_i in the table. */
#ifndef INLAY_CONCAT_H
#define INLAY_CONCAT_H

#include "inlay_memory.h"
#include "inlay.h"

typedef struct inlay_concat_params {
    /* operands 1 .. inputs; the operand after them is the table */
    int32_t inputs;
    int32_t pieces; /* of a unit */
    int32_t size;   /* bytes of an element where a piece is a pixel, else 0 */
    int64_t bytes;  /* sum of the table */
} inlay_concat_params;

/* Piece by piece one input beside the others; y_step, x_step: bytes from piece to piece. */
static inline void inlay_concat_input(unsigned char *y, const unsigned char *x,
                                      int32_t pieces, size_t bytes,
                                      size_t y_step, size_t x_step)
{
    int32_t k;
    for (k = 0; k < pieces; k++, y += y_step, x += x_step)
        memcpy(y, x, bytes);
}

/* Bytes from one piece of operand i to the next, where one has `bytes`. */
static inline size_t inlay_concat_step(const inlay_step *s, int i, size_t bytes)
{
    const inlay_concat_params *p = (const inlay_concat_params *)s->params;
    return p->size ? (size_t)p->size * (size_t)s->ref[i].pix : bytes;
}

static inline int inlay_concat(void *const *base, const inlay_step *s,
                               int32_t r0, int32_t r1)
{
    const inlay_concat_params *p = (const inlay_concat_params *)s->params;
    const int64_t *table = (const int64_t *)inlay_at(base, s, p->inputs + 1);
    const size_t y_step = inlay_concat_step(s, 0, (size_t)p->bytes);
    int32_t done, i;
    for (done = r0; done < r1; done++) {
        const int32_t r = s->backward ? r0 + r1 - 1 - done : done;
        unsigned char *y = (unsigned char *)inlay_row(base, s, 0, r);
        for (i = 0; i < p->inputs; i++) {
            const size_t bytes = (size_t)table[i];
            const void *x = inlay_row(base, s, i + 1, r);
            inlay_concat_input(y, (const unsigned char *)x, p->pieces, bytes,
                               y_step, inlay_concat_step(s, i + 1, bytes));
            y += bytes;
        }
    }
    return 0;
}

#endif
