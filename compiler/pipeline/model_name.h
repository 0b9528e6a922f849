/* SPDX-License-Identifier: Apache-2.0
 * What the model is called in the generated code. */
#ifndef INLAY_PIPELINE_MODEL_NAME_H
#define INLAY_PIPELINE_MODEL_NAME_H

#include "pipeline/state.h"

/* That of --name, or derived from the model's file. A --name that cannot be one fails with 64. */
const char *model_name(Compile *compile);
/* The same of options alone; without a model, from the last part of the output folder's path. */
const char *name_by_options(Arena *arena, const Options *options);

#endif
