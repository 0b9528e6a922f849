/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/manifest_file.h"

#include "base/diag.h"
#include "base/io.h"

json_t *json_read(Arena *arena, const char *path, json_error_t *error)
{
    File *file = file_open(arena, path, LOAD_STREAM);
    char *text = arena_alloc(arena, (size_t)file->size + 1);
    file_read(file, 0, text, (size_t)file->size);
    json_t *all = json_loadb(text, (size_t)file->size, 0, error);
    file_close(file);
    return all;
}

json_t *manifest_load(Arena *arena, const char *path)
{
    const Loc loc = { .file = path, .byte = -1, .node = -1 };
    json_error_t error;
    json_t *all = json_read(arena, path, &error);
    if (!json_object_get(all, "arena") || !json_object_get(all, "steps"))
        fail_at(STATUS_MALFORMED, loc,
                "`inlay compile` and `inlay analyze --json` write them",
                "is no manifest");
    return all;
}
