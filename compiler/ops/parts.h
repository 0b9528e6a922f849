/* SPDX-License-Identifier: Apache-2.0
 * Lists of integers of which some are known: parts of what a Concat joins. */
#ifndef INLAY_OPS_PARTS_H
#define INLAY_OPS_PARTS_H

#include "ir/graph.h"

/* For pass_infer, before a node's infer function: true where the node takes whole parts of a short
 * list of integers that a Concat joins, some of them constant; it is replaced by them. */
bool part_of_list(Node *node);

#endif
