/* SPDX-License-Identifier: Apache-2.0
 * Integers of a list that is put together when the model runs: [Shape(x)[0], 4] has one of them. */
#ifndef INLAY_OPS_PARTLY_H
#define INLAY_OPS_PARTLY_H

#include <stdbool.h>

#include "ops/ops.h"

/* For infer functions: operand i is a shape of which all entries but one are known. That one is
 * what the others leave, since a Reshape keeps all elements: the operand becomes a constant with
 * -1 there, which is returned. NULL: it is no such operand, or the result's shape is declared. */
const int64_t *partly_open(Node *node, int i, int64_t *count);

/* Element `at` of `list`, in the order of its elements; false: it is known only at run time. */
bool partly_known(Graph *graph, const Tensor *list, int64_t at, int64_t *value);

/* The element of an operand of an operator, or of a graph's input, that it is a copy of. */
typedef struct Element {
    const Tensor *tensor;
    int64_t at;
} Element;
Element partly_origin(const Tensor *list, int64_t at);

#endif
