/* SPDX-License-Identifier: Apache-2.0
 * Chains of constant nodes: which are computed together. */
#ifndef INLAY_EVAL_CHAIN_H
#define INLAY_EVAL_CHAIN_H

#include "eval/tiling.h"

/* The nodes that one constant is computed from, as they were when it was met, each with the
 * constant that its result is. */
typedef struct Nodes {
    int n;
    Node *node[LINKS];
    const Later *makes[LINKS];
} Nodes;

/* A chain of the last of the nodes and those before it whose results are still to be computed, in
 * the arena of the store. */
Chain chain_of(Store *store, const Nodes *nodes);

#endif
