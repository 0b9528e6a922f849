/* SPDX-License-Identifier: Apache-2.0
 * Copies that need not be made: the inputs of a concatenation of channels are written in
 * place, as parts of the pixels of its result. */
#ifndef INLAY_PLAN_ELIDE_H
#define INLAY_PLAN_ELIDE_H

#include "ir/program.h"

typedef struct Steps {
    VEC(Step *) step;
} Steps;

/* The program's steps anew, in `a`, without those copies; constants that they need are added to its weights.
 * False: there are none, or steps jump. */
bool elide_copies(Arena *a, Program *p, Steps *out);

#endif
