/* SPDX-License-Identifier: Apache-2.0
 * Every constant of the model as it was read, wherever it hides: initializers of all graphs,
 * attributes of all nodes. */
#ifndef INLAY_PIPELINE_CONSTANTS_H
#define INLAY_PIPELINE_CONSTANTS_H

#include "pipeline/state.h"

typedef void ConstantVisit(void *context, const char *name,
                           const Recipe *recipe);

/* Of a graph and all its subgraphs. */
void constants_visit(const Graph *root, ConstantVisit *visit, void *context);

/* SHA-256 of the model file, and of the external files after it, each once, in the order in which
 * the model names them. */
void constants_hash(Compile *compile, char hex[65]);

#endif
