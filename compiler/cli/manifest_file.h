/* SPDX-License-Identifier: Apache-2.0
 * A manifest as a file, for commands that read its figures. */
#ifndef INLAY_CLI_MANIFEST_FILE_H
#define INLAY_CLI_MANIFEST_FILE_H

#include <jansson.h>

#include "base/arena.h"

/* 65 where the file is none. */
json_t *manifest_load(Arena *arena, const char *path);

#endif
