/* SPDX-License-Identifier: Apache-2.0
 * Results that are inputs of the next run. */
#ifndef INLAY_OPS_LOWER_STATE_H
#define INLAY_OPS_LOWER_STATE_H

#include "ops/lower.h"

/* Each becomes a view of its input: written in its place, where every step that needs the old bytes
 * can come before, part by part where a step joins parts, or copied there at the end. Requires:
 * every step is there, inputs have their storage. Ensures: in the order of the steps nothing reads
 * old bytes of a state once new ones are written over them. Types or shapes that differ fail with
 * 78. */
void lower_states(Lower *lower);

#endif
