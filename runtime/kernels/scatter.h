/* SPDX-License-Identifier: 0BSD
 * Writing by index: y begins as a copy of x (or is x's memory), then takes the updates in order.
 *
 * scatter_elements   y[at with at[axis] = I[at]] op= u[at]
 * scatter_nd         y[I[k][0]][I[k][1]]...[run] op= u[k][run]
 *
 * op: INLAY_SCATTER_... Indices are int64, negative ones count from the end;
 * one outside ends the run with INLAY_E_INDEX. Operands: y, x, indices, updates. */
#ifndef INLAY_SCATTER_H
#define INLAY_SCATTER_H

#include "inlay_memory.h"
#include "index.h"

enum {
    INLAY_SCATTER_ASSIGN,
    INLAY_SCATTER_ADD,
    INLAY_SCATTER_MUL,
    INLAY_SCATTER_MAX,
    INLAY_SCATTER_MIN
};

typedef struct inlay_scatter_params {
    int32_t op;   /* INLAY_SCATTER_... */
    int32_t rank; /* of x for elements; length of an index vector for nd */
    int32_t axis;
    int32_t k;     /* index vectors (nd) */
    int32_t run;   /* elements that a vector names (nd) */
    int64_t bytes; /* of x */
    int32_t x[8];  /* dims of x, of those a vector runs over */
    int32_t y[8];  /* dims of the indices (elements) */
} inlay_scatter_params;

/* y op= u, n elements. */
typedef void inlay_combine(void *y, const void *u, int32_t n, int32_t op);

static inline void inlay_scatter_begin(void *const *base, const inlay_step *s,
                                       size_t bytes)
{
    void *y = inlay_at(base, s, 0);
    const void *x = inlay_at(base, s, 1);
    if (y != x)
        memmove(y, x, bytes);
}

static inline int inlay_scatter_elements(void *const *base, const inlay_step *s,
                                         size_t size, inlay_combine *combine)
{
    const inlay_scatter_params *p = (const inlay_scatter_params *)s->params;
    unsigned char *y = (unsigned char *)inlay_at(base, s, 0);
    const int64_t *index = (const int64_t *)inlay_at(base, s, 2);
    const unsigned char *u = (const unsigned char *)inlay_at(base, s, 3);
    int32_t at[8] = { 0 };
    inlay_scatter_begin(base, s, (size_t)p->bytes);
    if (!index)
        return 0;
    do {
        const int64_t i = inlay_index(*index++, p->x[p->axis]);
        size_t to;
        if (i < 0)
            return -INLAY_E_INDEX;
        to = inlay_element_at(at, p->x, p->rank, p->axis, i);
        combine(y + to * size, u, 1, p->op);
        u += size;
    } while (inlay_next_index(at, p->y, p->rank));
    return 0;
}

static inline int inlay_scatter_nd(void *const *base, const inlay_step *s,
                                   size_t size, inlay_combine *combine)
{
    const inlay_scatter_params *p = (const inlay_scatter_params *)s->params;
    unsigned char *y = (unsigned char *)inlay_at(base, s, 0);
    const int64_t *index = (const int64_t *)inlay_at(base, s, 2);
    const unsigned char *u = (const unsigned char *)inlay_at(base, s, 3);
    const size_t run = (size_t)p->run * size;
    int32_t k;
    inlay_scatter_begin(base, s, (size_t)p->bytes);
    for (k = 0; k < p->k; k++, index += p->rank, u += run) {
        const int64_t at = inlay_named_element(index, p->x, p->rank);
        if (at < 0)
            return -INLAY_E_INDEX;
        combine(y + (size_t)at * run, u, p->run, p->op);
    }
    return 0;
}

#define INLAY_FAMILY "scatter.inc.h"
#include "each_number.inc.h"
#undef INLAY_FAMILY

#endif
