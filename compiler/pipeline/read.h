/* SPDX-License-Identifier: Apache-2.0
 * The stage that reads the model. */
#ifndef INLAY_PIPELINE_READ_H
#define INLAY_PIPELINE_READ_H

#include "pipeline/state.h"

/* The graph of the file, with --shape, --dim, --const and --io applied, in topological order. */
void read_model(Compile *compile);

#endif
