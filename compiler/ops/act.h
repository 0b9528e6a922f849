/* SPDX-License-Identifier: Apache-2.0
 * Activations as the compiler knows them: the rows of runtime/kernels/act.def. */
#ifndef INLAY_OPS_ACT_H
#define INLAY_OPS_ACT_H

#include "ir/graph.h"

typedef struct ActRow {
    const char *op;              /* of ONNX */
    const char *kernel;          /* elementwise, without its type */
    int act;                     /* INLAY_ACT_... */
    int uses;                    /* INLAY_ACT_FUSED, ... */
    const char *a_name, *b_name; /* attributes; "": it has none */
    float a, b;                  /* their defaults */
    double (*value)(double x, double a, double b);
} ActRow;

/* The rows, in the order of INLAY_ACT_...: the first has the number 1. */
const ActRow *act_rows(int *count);
/* The row of that name, upper and lower case being the same (as recurrent layers have it); NULL:
 * none. */
const ActRow *act_row(const char *op);
/* The activation that node is; NULL: it is none. */
const ActRow *act_of(const Node *node);
/* The numbers of a node of that row. */
float act_a(const ActRow *row, const Node *node);
float act_b(const ActRow *row, const Node *node);

#endif
