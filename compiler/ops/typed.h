/* SPDX-License-Identifier: Apache-2.0
 * Operands in the element type a kernel reads. */
#ifndef INLAY_OPS_TYPED_H
#define INLAY_OPS_TYPED_H

#include "ops/lower.h"

/* tensor as a tensor of element type `to`: itself, a constant, or the result of a cast. NULL
 * stays NULL. / */
Tensor *lower_as(Lower *lower, Tensor *tensor, DType to);
/* Elements of tensor; 1 where it is left out. */
int32_t operand_count(const Tensor *tensor);

#endif
