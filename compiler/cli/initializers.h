/* SPDX-License-Identifier: Apache-2.0
 * dump --initializers. */
#ifndef INLAY_CLI_INITIALIZERS_H
#define INLAY_CLI_INITIALIZERS_H

#include "pipeline/state.h"

/* A line for each constant, tab-separated. No payload is read. */
void initializers_print(Compile *compile);

#endif
