/* SPDX-License-Identifier: Apache-2.0
 * Dimensions of inputs that are open once --shape, --dim and --const are applied. */
#ifndef INLAY_PIPELINE_OPEN_DIMS_H
#define INLAY_PIPELINE_OPEN_DIMS_H

#include "pipeline/state.h"

/* A symbol that another input's --shape gives has that value. Compile.given says what else the
 * files have, but goes behind --batch. An open batch is 1, and a note says so, or that of
 * --batch: a dimension called batch, batch_size or N, and a dimension 0 whose symbol stands
 * nowhere else. One that is called as a sum of others ("past + 1") has its value. What else is
 * open, or is no plain tensor, fails with 69, with the command to type next. Compile.shape gets
 * what was settled, but not by files. */
void settle_inputs(Compile *compile);

#endif
