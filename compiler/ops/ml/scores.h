/* SPDX-License-Identifier: Apache-2.0
 * What the classical models share: labels, post transforms, operands as rows of numbers. */
#ifndef INLAY_OPS_ML_SCORES_H
#define INLAY_OPS_ML_SCORES_H

#include "ops/lower.h"

/* INLAY_POST_... of the attribute post_transform. */
int32_t ml_post(const Node *node);
/* Rows and columns of operand 0: one row where it is a vector. */
void ml_rows(const Node *node, int64_t *rows, int64_t *columns);
/* The labels of classes: integers, or codes of words. */
typedef struct ClassLabels {
    DType type; /* DT_I64, DT_STRING */
    int64_t n;
    const int64_t *at;
} ClassLabels;

/* Those of attribute `ints` or of classlabels_strings. */
ClassLabels ml_labels(const Node *node, const char *ints);
/* `count` of them as a constant; where there are none: 0, 1 ... */
Tensor *ml_label_table(Lower *lower, const ClassLabels *labels, int64_t count);

#endif
