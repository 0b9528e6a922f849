/* SPDX-License-Identifier: Apache-2.0
 * The stage that rewrites the graph. */
#ifndef INLAY_PIPELINE_REWRITE_H
#define INLAY_PIPELINE_REWRITE_H

#include "pipeline/state.h"

/* Runs the passes of passes.def but those of --without, up to that of --after. */
void rewrite_graph(Compile *compile);

#endif
