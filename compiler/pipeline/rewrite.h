/* SPDX-License-Identifier: Apache-2.0
 * The stage that rewrites the graph. */
#ifndef INLAY_PIPELINE_REWRITE_H
#define INLAY_PIPELINE_REWRITE_H

#include "pipeline/state.h"

/* Names of the passes that are left out, a list that ends with NULL, or NULL: those of --without,
 * and what the goal has no use for. */
const char *const *rewrite_without(const Compile *compile);
/* Does the goal buy time with weights and scratch? Not where those have a limit. */
bool rewrite_buys_time(const Options *options);
/* Runs the other passes of passes.def, up to that of --after. */
void rewrite_graph(Compile *compile);

#endif
