/* SPDX-License-Identifier: Apache-2.0
 * Of which pairs of convolutions (passes/banks.c) some channels pass at a time: where that makes
 * the arena smaller. */
#ifndef INLAY_PIPELINE_BANKS_H
#define INLAY_PIPELINE_BANKS_H

#include "pipeline/state.h"

/* Compile.banks, unless it is set. The model is planned beside, without banks and with those of the
 * pairs that the peak is of. */
void banks_choose(Compile *compile);

#endif
