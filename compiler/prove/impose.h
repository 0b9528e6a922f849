/* SPDX-License-Identifier: Apache-2.0
 * A claimed plan, imposed on the program as lowered from the model: the order, the places and the
 * schedule are the claim's; which tensors a step touches, and by which rule, are the model's. */
#ifndef INLAY_PROVE_IMPOSE_H
#define INLAY_PROVE_IMPOSE_H

#include "prove/claim.h"

/* `program` is as lower_graph() made it and becomes the planned program, linked. What the model
 * contradicts fails with 1, what belongs to another model with 78; `path` is the manifest's, for
 * messages. Whether the plan holds is plan_object()'s to say. */
void claim_impose(Program *program, const Claim *claim, const char *path);

#endif
