/* SPDX-License-Identifier: Apache-2.0
 * A depthwise convolution and the 1x1 convolution that alone reads it, as one step; a scale and
 * shift of channels and the 1x1 convolution that alone reads it. */
#ifndef INLAY_PLAN_PAIR_H
#define INLAY_PLAN_PAIR_H

#include "plan/elide.h"

/* The program's steps anew, in `a`, pairs made where both steps are `chosen` (NULL: everywhere).
 * False: there are none. */
bool pair_steps(Arena *arena, Program *program, const bool *chosen, Steps *out);
/* The same for scales and shifts, wherever it is no slower. */
bool pair_affine(Arena *arena, Program *program, Steps *out);

/* As many pixels at a time as `bytes` of scratch hold, or those that a pair has at least (0 bytes).
 * Nothing, if it is no pair of convolutions. */
void pair_widen(Arena *arena, Step *step, int64_t bytes);

/* Instructions that the step costs beyond those of its two, about; 0: it is no pair. */
int64_t pair_cost(const Step *step);

#endif
