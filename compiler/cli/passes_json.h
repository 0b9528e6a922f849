/* SPDX-License-Identifier: Apache-2.0
 * The pass list as JSON: of each its name, whether it is required, what it does. */
#ifndef INLAY_CLI_PASSES_JSON_H
#define INLAY_CLI_PASSES_JSON_H

#include <jansson.h>

json_t *passes_json(void);

#endif
