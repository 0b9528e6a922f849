/* SPDX-License-Identifier: Apache-2.0
 * The equation of an Einsum. */
#ifndef INLAY_OPS_EINSUM_H
#define INLAY_OPS_EINSUM_H

#include "ir/graph.h"

enum {
    EINSUM_LABELS = 128
}; /* letters; 1 .. MAX_RANK stand for the dimensions of "..." from the right */

/* The labels of a tensor's dimensions. */
typedef struct EinsumTerm {
    int rank;
    char label[MAX_RANK];
} EinsumTerm;

typedef struct Equation {
    EinsumTerm *in; /* of each operand; in the graph's arena */
    EinsumTerm out;
    int64_t size[EINSUM_LABELS]; /* 0: not in use */
} Equation;

/* Of a node whose operands have shapes; fails (65) where it does not fit them. */
void einsum_parse(const Node *node, Equation *equation);
bool einsum_has(const EinsumTerm *term, char label);

#endif
