/* SPDX-License-Identifier: Apache-2.0
 * Sequences as results of a model. */
#ifndef INLAY_OPS_SEQUENCE_H
#define INLAY_OPS_SEQUENCE_H

#include "ir/graph.h"

/* For pass_infer: a result that is a sequence of known length becomes as many results, its items,
 * in its place. */
void sequence_outputs(Graph *graph);

#endif
