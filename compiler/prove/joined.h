/* SPDX-License-Identifier: Apache-2.0
 * Steps of a plan that do one, a piece of one, or several steps of the program as lowered. */
#ifndef INLAY_PROVE_JOINED_H
#define INLAY_PROVE_JOINED_H

#include "prove/claim.h"

/* The same step again, its operands free to change; piece > 0: the copy of that input of a
 * concatenation alone. */
Step *step_again(Arena *arena, Program *program, const Step *step,
                 int32_t piece);
/* The lowered steps of `claim` as one; NULL and *why where they are not known to be one. */
Step *step_joined(Arena *arena, Program *program, Step *const *lowered,
                  const ClaimStep *claim, const char **why);

#endif
