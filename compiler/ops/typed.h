/* SPDX-License-Identifier: Apache-2.0
 * Operands in the element type a kernel wants. */
#ifndef INLAY_OPS_TYPED_H
#define INLAY_OPS_TYPED_H

#include "ops/lower.h"

/* t as a tensor of element type `to`: itself, a constant, or the result of a cast. NULL stays NULL.
 */
Tensor *lower_as(Lower *l, Node *n, Tensor *t, DType to);
/* Elements of t; 1 where it is left out. */
int32_t operand_count(const Tensor *t);

#endif
