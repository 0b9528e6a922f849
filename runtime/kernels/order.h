/* SPDX-License-Identifier: 0BSD
 * By order of values: TopK and Unique; along an axis: CumSum, CumProd, Range. One kernel for each
 * element type. */
#ifndef INLAY_ORDER_H
#define INLAY_ORDER_H

#include "inlay_memory.h"
#include "inlay.h"
#include "kernels/libm.h"
#include "kernels/vec.h"

/* Lines that are summed up side by side, where there are vectors. */
#if INLAY_VL > 1
#define INLAY_ORDER_LANES 64
#endif

/* topk: values and indices [outer][k][inner] of x [outer][n][inner], best first; of equals the
 * first. Operands: values, indices, x. */
typedef struct inlay_topk_params {
    int32_t outer;
    int32_t n;
    int32_t inner;
    int32_t k;
    int32_t largest; /* 1: the largest, 0: the smallest */
} inlay_topk_params;

/* unique: x is n slices of [outer][n][inner]. Operands: y, count, first, inverse, counts (int64,
 * may be left out), x, scratch of 2 n int32. y, first and counts have room for `found`; what is not
 * used of it becomes 0. */
typedef struct inlay_unique_params {
    int32_t outer;
    int32_t n;
    int32_t inner;
    /* slices that the result has room for: fewer only where count is given */
    int32_t found;
    int32_t sorted; /* 1: in ascending order, 0: as they come */
} inlay_unique_params;

/* cumulate: y[i] = y[i - 1] op x[i] along one axis. Operands: y, x, axis (int64, where it is a
 * value). */
typedef struct inlay_cumulate_params {
    int32_t rank;
    int32_t axis;      /* -1: operand 2 */
    int32_t exclusive; /* 1: element i is left out of sum i */
    int32_t reverse;   /* 1: from the last to the first */
    int32_t n[8];      /* dims */
} inlay_cumulate_params;

/* range: y[i] = start + i delta, i < n. Operands: y, start, limit, delta. */
typedef struct inlay_range_params {
    int32_t n;
} inlay_range_params;

/* outer, n, inner of the axis; 0 where it is outside. */
static inline int inlay_cumulate_axis(const inlay_cumulate_params *p,
                                      const int64_t *axis, int32_t *outer,
                                      int32_t *n, int32_t *inner)
{
    int64_t a = p->axis >= 0 || !axis ? p->axis : *axis;
    int32_t i;
    if (a < 0)
        a += p->rank;
    if (a < 0 || a >= p->rank)
        return 0;
    *outer = 1;
    *inner = 1;
    for (i = 0; i < p->rank; i++) {
        if (i < a)
            *outer *= p->n[i];
        if (i > a)
            *inner *= p->n[i];
    }
    *n = p->n[a];
    return 1;
}

/* Places of the kinds that unique found: with `sorted` their own order, else that in which they
 * appear; order[k] is the first slice of kind k. */
static inline void inlay_unique_places(const inlay_unique_params *p,
                                       const int32_t *order, int32_t kinds,
                                       int32_t *place)
{
    int32_t i, k;
    for (k = 0; k < kinds; k++) {
        place[k] = p->sorted ? k : 0;
        for (i = 0; i < kinds && !p->sorted; i++)
            place[k] += order[i] < order[k];
    }
}

/* first[place]: the slice that stands for the kind there. */
static inline void inlay_unique_first(const inlay_unique_params *p,
                                      int64_t *first, const int32_t *order,
                                      const int32_t *place, int32_t kinds)
{
    int32_t k;
    for (k = 0; k < p->found; k++)
        first[k] = 0;
    for (k = 0; k < kinds; k++)
        first[place[k]] = order[k];
}

#define INLAY_FAMILY "order.inc.h"
#include "each_number.inc.h"
#undef INLAY_FAMILY

#endif
