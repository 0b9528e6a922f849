/* SPDX-License-Identifier: Apache-2.0
 * --shape, --dim and --const: what the command line says about graph inputs. */
#ifndef INLAY_PIPELINE_OVERRIDES_H
#define INLAY_PIPELINE_OVERRIDES_H

#include "pipeline/state.h"

/* The input of that name, or (NULL) the only one; fails with 64 where there is none. `text` is what
 * the option has. */
Tensor *input_named(const Graph *graph, const char *name, const char *flag,
                    const char *text);
void override_inputs(Graph *graph, const Options *options);

#endif
