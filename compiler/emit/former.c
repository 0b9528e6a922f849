/* SPDX-License-Identifier: Apache-2.0
 * An old manifest is read as far as its list of files, which stands at its head; one that is
 * damaged, or of a time before the list, lists nothing. */
#include "emit/former.h"

#include <string.h>

enum { HEAD = 256 * 1024 };

json_t *files_list(Output *output)
{
    json_t *list = manifest_made(json_object());
    Written written;
    for (size_t i = 0; output_written(output, i, &written); i++) {
        json_t *file = manifest_made(json_object());
        manifest_set(file, "bytes", json_integer((json_int_t)written.bytes));
        manifest_set(file, "sum", json_string(written.sum));
        manifest_set(list, written.name, file);
    }
    return list;
}

/* NAME.json, src/NAME.h, src/NAME_weights.bin: names that only this model's files have. */
static bool is_of_model(const char *file, const char *name)
{
    const char *leaf = strchr(file, '/') ? strchr(file, '/') + 1 : file;
    const size_t n = strlen(name);
    return !strncmp(leaf, name, n) &&
           (leaf[n] == '.' || !strncmp(leaf + n, "_weights.", 9) ||
            !strncmp(leaf + n, "_plan_check.", 12));
}

static bool is_of_runtime(const char *file)
{
    return !strncmp(file, "src/inlay", 9);
}

static void forget(Output *output, const char *file, const json_t *facts)
{
    Written written = { .name = file,
                        .bytes = (uint64_t)json_integer_value(
                            json_object_get(facts, "bytes")) };
    const char *sum = json_string_value(json_object_get(facts, "sum"));
    if (!sum || strlen(sum) != sizeof written.sum - 1)
        return;
    memcpy(written.sum, sum, sizeof written.sum);
    output_forget(output, &written);
}

void files_forget(Output *output, Arena *arena, const char *name)
{
    static const char KEY[] = "\n  \"files\": ";
    const char *text =
        output_former(output, arena_printf(arena, "%s.json", name), HEAD);
    const char *at = text ? strstr(text, KEY) : NULL;
    if (!at)
        return;
    at += sizeof KEY - 1;
    json_t *list = json_loadb(at, strlen(at), JSON_DISABLE_EOF_CHECK, NULL);
    const bool alone = !output_has_other(output, ".json",
                                         arena_printf(arena, "%s.json", name));
    const char *file;
    json_t *facts;
    json_object_foreach(list, file, facts)
    {
        if (is_of_model(file, name) || (alone && is_of_runtime(file)))
            forget(output, file, facts);
    }
    json_decref(list);
}
