/* SPDX-License-Identifier: Apache-2.0
 * How far steps reach into their operands, as a manifest states it. */
#ifndef INLAY_PROVE_REACH_H
#define INLAY_PROVE_REACH_H

#include "prove/claim.h"

/* `program` is the claim's program, imposed. What a step that does one lowered step touches is
 * worked out again and must be what is stated; of joined steps, pieces and strips it must lie in
 * the operand. What does not hold fails with 1. */
void claim_reach(const Program *program, const Claim *claim, const char *path);

#endif
