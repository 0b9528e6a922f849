/* SPDX-License-Identifier: Apache-2.0
 * --shape, --dim and --const: what the command line says about graph inputs. */
#ifndef INLAY_CLI_OVERRIDES_H
#define INLAY_CLI_OVERRIDES_H

#include "compile.h"

void override_inputs(Graph *graph, const Options *options);
/* Reports every input that is still open, or is no plain tensor (69). */
void override_check(const Graph *graph);

#endif
