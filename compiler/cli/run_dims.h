/* SPDX-License-Identifier: Apache-2.0
 * run and test of a model whose inputs leave dimensions open: files say which they are. */
#ifndef INLAY_CLI_RUN_DIMS_H
#define INLAY_CLI_RUN_DIMS_H

#include "pipeline/state.h"

/* Of a model that was read: Compile.given gets the shapes of what the files hold for inputs with
 * open dimensions. False: there are none, or they are no part of the values that files have. */
bool run_dims(Compile *compile, const char *const *file);

#endif
