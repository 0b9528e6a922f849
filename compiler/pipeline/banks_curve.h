/* SPDX-License-Identifier: Apache-2.0
 * --curve of a model that has banks: plans without them are cheaper where there is memory, and a
 * limit takes those. */
#ifndef INLAY_PIPELINE_BANKS_CURVE_H
#define INLAY_PIPELINE_BANKS_CURVE_H

#include "pipeline/state.h"

/* The model is planned beside, without banks: Compile.whole_curve. */
void banks_note_curve(Compile *compile);
/* Adds its points to the curve of the plan, and drops those that no limit takes. */
void banks_join_curve(Compile *compile);

#endif
