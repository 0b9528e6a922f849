/* SPDX-License-Identifier: Apache-2.0
 * Reductions as parts of other operators. */
#ifndef INLAY_OPS_REDUCE_H
#define INLAY_OPS_REDUCE_H

#include "ops/lower.h"

typedef struct inlay_globalpool_params inlay_globalpool_params;

/* out = `kernel` ("reduce_sum_f32") of `in` over the axes marked; out's elements are the kept ones
 * in order. */
void lower_reduce_axes(Lower *lower, const char *kernel, Tensor *out,
                       Tensor *in, const bool *gone);

/* The node's result, of so many images, row by row into an accumulator, which is the result:
 * `kernel` is a global pool ("globalavg_f32"). */
Step *lower_global(Lower *lower, const char *kernel, int64_t images,
                   const inlay_globalpool_params *params);

/* Which axes of operand 0 go, by attribute or operand 1; none named: all, or none where
 * noop_with_empty_axes says so. False: the list is a value at run time. */
bool reduced_axes(const Node *node, bool *gone);
/* The same with a new tensor as result, which has 1 for each axis that goes; `op`: "reduce_sum". */
Tensor *lower_reduced(Lower *lower, const char *op, Tensor *in,
                      const bool *gone);

#endif
