/* SPDX-License-Identifier: Apache-2.0
 * Inputs and results of a model, and where its manifest says that they lie. */
#ifndef INLAY_PROVE_VALUES_H
#define INLAY_PROVE_VALUES_H

#include "prove/claim.h"

/* Fails where the manifest says something else than the program, whose steps have taken their
 * places from the claim; tensors that no step touches take them here. placed: by tensor id, -1: no
 * step touches it. loc: the manifest, for messages. */
void claim_match_values(Program *program, const Claim *claim,
                        const int32_t *placed, Loc loc);

#endif
