/* SPDX-License-Identifier: Apache-2.0
 * Which images of gates (passes/recompute.c) are computed twice: where a limit of the arena asks
 * for it, and for points of the curve. */
#ifndef INLAY_PIPELINE_RECOMPUTE_H
#define INLAY_PIPELINE_RECOMPUTE_H

#include "pipeline/state.h"

/* Compile.recompute, unless it is chosen. The model is planned beside with the largest images
 * computed twice, with the next ones, and so on. Requires: the banks are chosen; there are none any
 * more where images are. */
void recompute_choose(Compile *compile);
/* The plan's curve, where there is one, gets the points of all those plans. */
void recompute_join_curve(Compile *compile);

#endif
