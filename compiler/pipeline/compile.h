/* SPDX-License-Identifier: Apache-2.0
 * The pipeline: from a model file to an output folder, stage by stage. */
#ifndef INLAY_PIPELINE_COMPILE_H
#define INLAY_PIPELINE_COMPILE_H

#include "pipeline/state.h"

void compile_open(Compile *compile, const Options *options);
void compile_close(Compile *compile);

/* Runs the stages up to `last`, but those that are done. A stage that fails leaves by fail_at().
 * The output folder is in place after output_commit() alone. */
void compile_to(Compile *compile, Stage last);

#endif
