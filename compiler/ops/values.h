/* SPDX-License-Identifier: Apache-2.0
 * Lowering of operators whose shape-giving operands are values at run time. */
#ifndef INLAY_OPS_VALUES_H
#define INLAY_OPS_VALUES_H

#include "ops/lower.h"

/* The operand as int64 values in memory, NULL where it is left out. */
Tensor *lower_index(Lower *lower, Tensor *tensor);
/* A list of what values may be, an entry for each. */
typedef const int64_t *AllowedValues;

/* A step that ends the run unless every value equals its entry in one of the lists (each as long as
 * `values`). */
void lower_check(Lower *lower, Tensor *values, int lists,
                 const AllowedValues *allowed);
/* The same for an operand that is not constant, of so many values: fails with 65 where it has
 * others; nothing where it is constant or left out. */
void lower_check_dims(Lower *lower, Node *node, int operand, int64_t count,
                      AllowedValues dims);

void lower_slice_values(Lower *lower, Node *node);
void lower_pad_values(Lower *lower, Node *node, Tensor *fill, int mode);

#endif
