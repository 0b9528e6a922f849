/* SPDX-License-Identifier: Apache-2.0
 * run --stream: a signal in hops, one a run. */
#ifndef INLAY_CLI_HOPS_H
#define INLAY_CLI_HOPS_H

#include "pipeline/state.h"

/* The values of the model's own inputs: of a signal as many hops as its file holds, of made values
 * as many as a result is made of. Fails with 64 where signals have different numbers of hops. */
void **hops_load(Compile *compile, const char *const *file);
/* A run for each hop, the first one from zeros on; out[] is what the last one gave. 0 or
 * INLAY_E_... */
int hops_run(Compile *compile, void *const *in, void *const *out);

#endif
