/* SPDX-License-Identifier: Apache-2.0
 * --from and --to: a part of the model, from tensors that become its inputs to tensors that become
 * its results. */
#ifndef INLAY_PIPELINE_CUT_H
#define INLAY_PIPELINE_CUT_H

#include "pipeline/state.h"

/* Nodes that the part does not need go, and with them what of them no kernel could do; so do inputs
 * that nothing reads any more. Lists of uses must be current, and are. */
void cut_graph(Compile *compile);
/* Is the text a --shape of an input that --from makes? */
bool cut_names(Arena *arena, const Options *options, const char *shape);

#endif
