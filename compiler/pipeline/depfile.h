/* SPDX-License-Identifier: Apache-2.0
 * --depfile: what a compile read, for make, ninja and those who write their files. */
#ifndef INLAY_PIPELINE_DEPFILE_H
#define INLAY_PIPELINE_DEPFILE_H

#include "pipeline/state.h"

/* A rule of Make: DIR/NAME.json, or what --depfile-target says, and the files that the compile
 * opened: the model, its external data, constants. */
void depfile_write(Compile *compile);

#endif
