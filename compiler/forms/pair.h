/* SPDX-License-Identifier: Apache-2.0
 * A depthwise convolution and the 1x1 convolution that alone reads it, as one step; a scale and
 * shift of channels and the 1x1 convolution that alone reads it. */
#ifndef INLAY_FORMS_PAIR_H
#define INLAY_FORMS_PAIR_H

#include "forms/elide.h"

/* The program's steps anew, in `a`, pairs made where both steps are `chosen` (NULL: everywhere).
 * False: there are none. */
bool pair_steps(Arena *arena, const Program *program, const bool *chosen,
                Steps *out);
/* The same for scales and shifts, wherever it is no slower. */
bool pair_affine(Arena *arena, const Program *program, Steps *out);

/* The step with as many pixels at a time as `bytes` of scratch hold, or those that a pair has at
 * least (0 bytes). The step itself, if it is no pair of convolutions or has so many. */
Step *pair_widened(Arena *arena, Step *step, int64_t bytes);

/* Instructions that the step costs beyond those of its two, about; 0: it is no pair. */
int64_t pair_cost(const Step *step);

#endif
