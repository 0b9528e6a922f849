/* SPDX-License-Identifier: Apache-2.0
 * --advice: what the model takes with other options, each of them tried. */
#ifndef INLAY_PIPELINE_ADVICE_H
#define INLAY_PIPELINE_ADVICE_H

#include "pipeline/state.h"

/* Behind the proof of the plan: Program.advice, where it was asked for. */
void advise(Compile *compile);

#endif
