/* SPDX-License-Identifier: Apache-2.0
 * --shape, --dim and --const: what the command line says about graph inputs. */
#ifndef INLAY_PIPELINE_OVERRIDES_H
#define INLAY_PIPELINE_OVERRIDES_H

#include "pipeline/state.h"

void override_inputs(Graph *graph, const Options *options);

#endif
