/* SPDX-License-Identifier: Apache-2.0
 * Of which expansions (passes/banks.c) some channels are made at a time: where that makes the arena
 * smaller. */
#ifndef INLAY_PIPELINE_BANKS_H
#define INLAY_PIPELINE_BANKS_H

#include "pipeline/state.h"

/* Compile.banks, unless it is set. The model is planned beside, without banks and with those of the
 * expansions that the peak is of. */
void banks_choose(Compile *compile);
/* May the graph be changed for the sake of the arena? Not where that is not what is sought, nor
 * with what makes steps of other sizes. */
bool banks_may_choose(const Compile *compile);
/* There are none: for who runs the model here, whose arena may be of any size. */
void banks_skip(Compile *compile);

#endif
