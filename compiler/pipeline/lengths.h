/* SPDX-License-Identifier: Apache-2.0
 * --dim T=1..64: the model for lengths that each run is given (ir/lengths.h). */
#ifndef INLAY_PIPELINE_LENGTHS_H
#define INLAY_PIPELINE_LENGTHS_H

#include "ir/lengths.h"
#include "pipeline/recompile.h"

/* Before the model is read: symbols with bounds are the compile's, which goes on with the most of
 * each. */
void lengths_begin(Compile *compile);
/* Behind the proof of the plan: every combination gets its steps, of a variant that there is or of
 * its own, and each is proved. */
void lengths_follow(Compile *compile);
/* The --dim of the command line for one combination, bounds replaced by its values. */
const char **lengths_dims_at(Arena *arena, const Compile *compile,
                             int32_t combination);
/* A copy of the options with another --dim. */
Options *lengths_with_dims(Arena *arena, const Options *options,
                           const char **dim);
/* Of each variant the --dim of its first member. */
const char **const *lengths_dims(Compile *compile);
/* In the place of weights_layout(), for all variants. */
void lengths_layout(Compile *compile);
/* Fails with the status and, printed, the errors of the model for that combination; else
 * the compile, open, `last` its last stage: to be closed. */
Recompile *lengths_open(Compile *compile, int32_t combination, Stage last);

#endif
