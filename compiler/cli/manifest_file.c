/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/manifest_file.h"

#include "base/diag.h"
#include "base/io.h"

/* Objects and arrays take 200 bytes each: no file of ours has as many of them for its size. */
enum { MOST_BRACKETS = 65536, BYTES_OF_BRACKET = 32 };

void json_check_size(const char *text, size_t size, const char *path)
{
    size_t brackets = 0;
    for (size_t i = 0; i < size; i++)
        brackets += text[i] == '{' || text[i] == '[';
    if (brackets > MOST_BRACKETS + size / BYTES_OF_BRACKET)
        fail_at(STATUS_MALFORMED, (Loc){ .file = path, .byte = -1, .node = -1 },
                NULL,
                "JSON with more objects and arrays than its size explains");
}

json_t *json_read(Arena *arena, const char *path, json_error_t *error)
{
    File *file = file_open(arena, path, LOAD_STREAM);
    char *text = arena_alloc(arena, (size_t)file->size + 1);
    file_read(file, 0, text, (size_t)file->size);
    file_close(file);
    json_check_size(text, (size_t)file->size, path);
    json_t *all = json_loadb(text, (size_t)file->size, 0, error);
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
