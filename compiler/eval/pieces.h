/* SPDX-License-Identifier: Apache-2.0
 * Constants of any size: computed piece by piece, when they are read first, into
 * the spill file. A piece is a box of the result; what a node needs of its
 * operands for it says ops/cut.h. Nodes whose results have one shape are
 * computed together, a piece of each, so that what lies between them is never
 * stored. */
#ifndef INLAY_EVAL_PIECES_H
#define INLAY_EVAL_PIECES_H

#include "ir/graph.h"

/* Makes the result of a node with constant operands such a constant. False, and nothing done: its
 * operator has no pieces that are small enough. */
bool pieces_fold(Node *node);

#endif
