/* SPDX-License-Identifier: Apache-2.0
 * A manifest as a file, for commands that read its figures. */
#ifndef INLAY_CLI_MANIFEST_FILE_H
#define INLAY_CLI_MANIFEST_FILE_H

#include <jansson.h>

#include "base/arena.h"

/* Fails with 65 where it would take far more memory than its size. */
void json_check_size(const char *text, size_t size, const char *path);
/* A file of JSON, whole; NULL: it is none, as `error` says. Status 74 where it cannot be read. */
json_t *json_read(Arena *arena, const char *path, json_error_t *error);
/* 65 where the file is none. */
json_t *manifest_load(Arena *arena, const char *path);

#endif
