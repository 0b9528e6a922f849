/* SPDX-License-Identifier: Apache-2.0
 * Bytes of the generated code, as the user's own C compiler makes them. */
#ifndef INLAY_PIPELINE_CODE_SIZE_H
#define INLAY_PIPELINE_CODE_SIZE_H

#include "pipeline/state.h"

/* Behind STAGE_LAYOUT: the code is written to a folder that is removed again, each source file is
 * made an object by `--cc`, and what these hold is summed; weights are not part of it. Fails with
 * 78 where the command fails or makes no code. */
uint64_t code_size(Compile *compile);

#endif
