/* SPDX-License-Identifier: Apache-2.0
 * What is known of a Loop before it runs. Exporters write a `while` as a Loop whose end its
 * counters decide, and carry through it all that its body reads, weights too. */
#ifndef INLAY_OPS_LOOP_KNOWN_H
#define INLAY_OPS_LOOP_KNOWN_H

#include "ops/control.h"

/* Values that each turn hands on as it got them are read from outside instead, and are carried no
 * more. The body has its operands checked against the node's. */
void loop_take_out_constant(Node *node, Graph *body);
/* The number of turns where the trip count, the first condition and what the later ones are
 * computed of are known: at most `trips` (-1: no limit); -1: it is not known. */
int64_t loop_count_turns(Node *node, const Graph *body, int64_t trips);

#endif
