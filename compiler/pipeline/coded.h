/* SPDX-License-Identifier: Apache-2.0
 * --code-weights: which steps decode their weights, and into windows of which size. */
#ifndef INLAY_PIPELINE_CODED_H
#define INLAY_PIPELINE_CODED_H

#include "pipeline/state.h"

/* Changes the steps of a program as it was lowered. With --window each step has a window of so many
 * bytes; else only what the plan without windows has free while the step runs, so that the arena
 * stays as it is, and steps that run in streams have none. */
void coded_steps(Compile *compile);
/* In the place of weights_layout(). */
void coded_layout(Program *program);

#endif
