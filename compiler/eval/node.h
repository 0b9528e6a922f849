/* SPDX-License-Identifier: Apache-2.0
 * One node run by itself, with the runtime's own kernels, in memory. */
#ifndef INLAY_EVAL_NODE_H
#define INLAY_EVAL_NODE_H

#include "ir/graph.h"

/* Computes a node whose operands are constant: its outputs, whose shapes are known, get values that
 * lie in memory. False, and nothing done, where its operator does not take their type. */
bool eval_node(Node *node);
/* As eval_node(); false, too, where constants would have taken too long with this one. */
bool eval_node_in_time(Node *node);
/* What computing it takes; 0 where its operator does not take the type. */
int64_t eval_node_macs(const Node *node);
/* Does the operator take the type of operand 0, which there is? */
bool eval_takes(const Node *node);

#endif
