/* SPDX-License-Identifier: Apache-2.0
 * Results of an If whose branches give them sizes of their own. */
#ifndef INLAY_OPS_BRANCHES_H
#define INLAY_OPS_BRANCHES_H

#include "ir/graph.h"

/* For the infer function of If, its branches inferred: result i where a branch that is not dead
 * gives a size that only a run knows, or both give different ones. It has room for the larger one
 * of each, and each branch hands out, behind all results, how large its own is. false: one size
 * does for all. */
bool branches_sized(Node *node, int i, Graph *const *branch);

#endif
