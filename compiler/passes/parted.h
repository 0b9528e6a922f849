/* SPDX-License-Identifier: Apache-2.0
 * For passes that make a result part by part, along its last axis. */
#ifndef INLAY_PASSES_PARTED_H
#define INLAY_PASSES_PARTED_H

#include "ir/graph.h"

/* A node like `node`, with its attributes, that makes `out`. */
Node *insert_like(Graph *graph, const Node *node, int n_in, Tensor *const *in,
                  Tensor *out);
/* Elements [from, from + count) of an axis of a constant. */
Tensor *part_of_constant(Graph *graph, const Tensor *whole, int axis,
                         int64_t from, int64_t count);
/* The parts side by side are `out`; the node that does so is named after `anchor`. */
void join_parts(Graph *graph, const Node *anchor, int parts,
                Tensor *const *part, Tensor *out);

#endif
