/* SPDX-License-Identifier: Apache-2.0
 * run --per-step: each value that an archive holds is compared when the step that makes it is done.
 * The steps run layer by layer: the bits are those of every plan. */
#ifndef INLAY_CLI_PER_STEP_H
#define INLAY_CLI_PER_STEP_H

#include "pipeline/state.h"

/* Runs the program and prints the first step whose value differs; false: there is one. */
bool per_step_run(Compile *compile, const char *archive, void *const *in,
                  void *const *out);

#endif
