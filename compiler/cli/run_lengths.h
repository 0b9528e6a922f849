/* SPDX-License-Identifier: Apache-2.0
 * run and test of a model with lengths within bounds: files say which they are. */
#ifndef INLAY_CLI_RUN_LENGTHS_H
#define INLAY_CLI_RUN_LENGTHS_H

#include "pipeline/lengths.h"

/* Of a model that was read: the same for the lengths of the files, ready to run, which prints where
 * the given one does; to be closed. NULL: it has no such lengths. Fails with 65 where the files
 * disagree with each other or with the bounds. */
Recompile *run_lengths(Compile *compile, const char *const *file);
void run_recompile_close(Compile *compile, Recompile *one);

#endif
