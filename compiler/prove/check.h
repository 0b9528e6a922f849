/* SPDX-License-Identifier: Apache-2.0
 * Proof of a plan by replay, from what is emitted: addresses, rings, directions and lists. Every
 * byte carries the tensor, and the place in it, that was written there last; every read must find
 * its own. Rows go one by one in each step's order. Shares no code with the planner. */
#ifndef INLAY_PROVE_CHECK_H
#define INLAY_PROVE_CHECK_H

#include "prove/objection.h"

/* Replays the linked program's reads and writes. */
Objection plan_object(const Program *program);
/* The same, and what does not hold is our bug: status 70. */
void plan_check(const Program *program);
/* The same as a question; *why (may be NULL) gets a sentence of the arena's. */
bool plan_holds(const Program *program, const char **why);

#endif
