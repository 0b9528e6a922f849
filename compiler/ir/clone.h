/* SPDX-License-Identifier: Apache-2.0
 * Copies of nodes with their subgraphs. */
#ifndef INLAY_IR_CLONE_H
#define INLAY_IR_CLONE_H

#include "ir/graph.h"

/* What the copy's names mean. */
typedef struct CloneScope {
    /* by id of the original's tensors: its copy, NULL where one is to be made */
    Tensor **image;
    /* attributes by reference are looked up here; the copies take its place; may be NULL */
    const Node *caller;
    const Attr *defaults; /* and then here */
    int n_defaults;
    const Graph *versions; /* whose opset imports hold for the nodes */
} CloneScope;

/* An image that says: this operand is left out. */
#define CLONE_LEFT_OUT ((Tensor *)(uintptr_t)1)

/* A subgraph of `holder` like body, values captured from outside shared. */
Graph *graph_clone(Graph *parent, Node *holder, const Graph *body);
/* Copies the nodes of body (not its inputs and outputs) to the end of `to`. */
void graph_clone_into(Graph *to, const Graph *body, const CloneScope *scope);

#endif
