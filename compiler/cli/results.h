/* SPDX-License-Identifier: Apache-2.0
 * Results of a run as people read them. */
#ifndef INLAY_CLI_RESULTS_H
#define INLAY_CLI_RESULTS_H

#include "pipeline/state.h"

/* Name, type, shape and the first values. */
void value_print(Pieces *to, const Tensor *tensor, const void *values);
/* --top, --labels: of each result the largest values along its last dimension, and their names. */
void top_print(Compile *compile, Tensor *const *result, size_t count,
               void *const *values);

#endif
