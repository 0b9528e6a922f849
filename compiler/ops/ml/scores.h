/* SPDX-License-Identifier: Apache-2.0
 * What the classical models share: labels, post transforms, operands as rows of numbers. */
#ifndef INLAY_OPS_ML_SCORES_H
#define INLAY_OPS_ML_SCORES_H

#include "ops/lower.h"

/* INLAY_POST_... of the attribute post_transform. */
int32_t ml_post(const Node *node);
/* Rows and columns of operand 0: one row where it is a vector. */
void ml_rows(const Node *node, int64_t *rows, int64_t *columns);
/* How many classes; fails with 69 where their labels are strings and output 0 is read. */
int64_t ml_classes(const Node *node, const char *ints, const char *strings);
/* The labels as a constant: those of the attribute, else 0, 1 ... */
Tensor *ml_labels(Lower *lower, const Node *node, const char *ints,
                  int64_t count);

#endif
