/* SPDX-License-Identifier: Apache-2.0
 * How many turns a Loop can make whose number only a run knows. */
#ifndef INLAY_OPS_LOOP_MOST_H
#define INLAY_OPS_LOOP_MOST_H

#include "ir/graph.h"

/* At most so many, by what its trip count is made of and by what its body, inferred, reads with the
 * number of the turn: a run with more would read beyond the end. -1: nothing limits them. */
int64_t loop_most_turns(const Node *node, const Graph *body);

#endif
