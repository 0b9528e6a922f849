/* SPDX-License-Identifier: Apache-2.0
 * A JSON document as a result of a command. */
#ifndef INLAY_CLI_JSON_PRINT_H
#define INLAY_CLI_JSON_PRINT_H

#include <jansson.h>

#include "base/pieces.h"

void json_print(Pieces *to, const json_t *document);

#endif
