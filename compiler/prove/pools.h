/* SPDX-License-Identifier: Apache-2.0
 * Pools in which rings of a stream have slots for their rows. */
#ifndef INLAY_PROVE_POOLS_H
#define INLAY_PROVE_POOLS_H

#include "ir/program.h"

/* Is each pool as large as the last of its rows needs, and no larger? A bound counts all of it. */
bool pools_are_tight(Arena *arena, const Program *program, int64_t align);

#endif
