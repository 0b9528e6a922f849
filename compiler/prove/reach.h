/* SPDX-License-Identifier: Apache-2.0
 * How far steps reach into their operands, as a manifest states it. */
#ifndef INLAY_PROVE_REACH_H
#define INLAY_PROVE_REACH_H

#include "prove/claim.h"

/* `program` is the claim's program, imposed. What each step touches is worked out again, from the
 * parameters that it has in the model, as a pair, a piece or a strip: it must lie in the operands,
 * and be what is stated. What does not hold fails with 1. */
void claim_reach(const Program *program, const Claim *claim, const char *path);

#endif
