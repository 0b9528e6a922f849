/* SPDX-License-Identifier: Apache-2.0
 * Reductions as parts of other operators. */
#ifndef INLAY_OPS_REDUCE_H
#define INLAY_OPS_REDUCE_H

#include "ops/lower.h"

/* out = `kernel` ("reduce_sum_f32") of `in` over the axes marked; out's elements are the kept ones
 * in order. */
void lower_reduce_axes(Lower *lower, Node *node, const char *kernel,
                       Tensor *out, Tensor *in, const bool *gone);

#endif
