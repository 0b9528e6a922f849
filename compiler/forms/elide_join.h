/* SPDX-License-Identifier: Apache-2.0
 * Concatenations that go away: their inputs become parts of the pixels of the result, or blocks of
 * it that lie one after the other. */
#ifndef INLAY_FORMS_ELIDE_JOIN_H
#define INLAY_FORMS_ELIDE_JOIN_H

#include "forms/elide_move.h"

/* Inputs of a concatenation; 0: the step is none. */
int join_inputs(const Step *step);
/* Its inputs are parts of pixels. */
bool joins_channels(const Step *step);
/* Its inputs lie one after the other. */
bool joins_blocks(const Step *step);

/* Step i, a concatenation of channels, goes away. Inputs that cannot be parts keep copies where it
 * was; with but_first the first is copied as soon as it is made. False: none can be a part, nothing
 * is done. */
bool join_channels(Elider *elider, size_t i, bool but_first);
/* Step i, a concatenation of blocks, goes away: they become views of its result. False: none can,
 * nothing is done. */
bool join_blocks(Elider *elider, size_t i);

#endif
