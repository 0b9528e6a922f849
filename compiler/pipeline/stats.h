/* SPDX-License-Identifier: Apache-2.0
 * What a compile costs: memory, bytes moved, time. */
#ifndef INLAY_PIPELINE_STATS_H
#define INLAY_PIPELINE_STATS_H

#include <jansson.h>

#include "pipeline/state.h"

/* Begins the clock of a stage; the one before ends. */
void stats_stage(Compile *compile, Stage stage);
/* The table of --stats on standard output. */
void stats_print(Compile *compile);
/* The same as an object, a new reference. */
json_t *stats_json(const Compile *compile);

#endif
