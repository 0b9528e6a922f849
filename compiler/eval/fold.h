/* SPDX-License-Identifier: Apache-2.0
 * Constant folding with the runtime's own kernels. */
#ifndef INLAY_EVAL_FOLD_H
#define INLAY_EVAL_FOLD_H

#include "ir/graph.h"

/* Computes a node whose operands are constant: its outputs get values. False, and nothing done,
 * where operands and results are too large to be held in memory (the node then stays and runs on
 * the device). */
bool fold_node(Node *node);

#endif
