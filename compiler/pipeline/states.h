/* SPDX-License-Identifier: Apache-2.0
 * --state: results that are inputs of the next run. */
#ifndef INLAY_PIPELINE_STATES_H
#define INLAY_PIPELINE_STATES_H

#include "ir/graph.h"
#include "pipeline/options.h"

/* Fills graph->state, and notes in the forms of inputs and results what is one. A name that does
 * not exist or is named twice fails with 64. */
void states_find(Graph *graph, const Options *options, IoForm *in, IoForm *out);

#endif
