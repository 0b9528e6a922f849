/* SPDX-License-Identifier: Apache-2.0
 * An old manifest is read as far as its list of files, which stands at its head; one that is
 * damaged, or of a time before the list, lists nothing. */
#include "emit/former.h"

#include <string.h>

enum { HEAD = 256 * 1024 };

/* NAME.json, src/NAME.h, src/NAME_weights.bin: names that only this model's files have. */
static bool is_of_model(const char *file, const char *name)
{
    const char *leaf = strchr(file, '/') ? strchr(file, '/') + 1 : file;
    const size_t n = strlen(name);
    return !strncmp(leaf, name, n) &&
           (leaf[n] == '.' || !strncmp(leaf + n, "_weights.", 9) ||
            !strncmp(leaf + n, "_golden.", 8) ||
            !strncmp(leaf + n, "_selftest.", 10) ||
            !strncmp(leaf + n, "_plan_check.", 12));
}

json_t *files_list(Output *output, const char *model)
{
    json_t *list = manifest_made(json_object());
    Written written;
    for (size_t i = 0; output_written(output, i, &written); i++) {
        if (model && !is_of_model(written.name, model))
            continue;
        json_t *file = manifest_made(json_object());
        manifest_set(file, "bytes", json_integer((json_int_t)written.bytes));
        manifest_set(file, "sum", json_string(written.sum));
        manifest_set(list, written.name, file);
    }
    return list;
}

/* Is it called after a model whose manifest is in the list, as in that of several models? */
static bool is_of_listed(Arena *arena, json_t *list, const char *file)
{
    static const char END[] = ".json";
    const char *name;
    json_t *facts;
    json_object_foreach(list, name, facts)
    {
        const size_t n = strlen(name);
        const size_t k = sizeof END - 1;
        if (n > k && !strcmp(name + n - k, END) &&
            is_of_model(file, arena_text(arena, name, n - k)))
            return true;
    }
    return false;
}

static bool is_of_runtime(const char *file)
{
    return !strncmp(file, "src/inlay", 9);
}

/* false: the old manifest says nothing of it. */
static bool describe(const char *file, const json_t *facts, Written *written)
{
    const char *sum = json_string_value(json_object_get(facts, "sum"));
    const json_t *bytes = json_object_get(facts, "bytes");
    if (!sum || strlen(sum) != sizeof written->sum - 1)
        return false;
    *written = (Written){
        .name = file,
        .bytes = (uint64_t)json_integer_value(bytes),
    };
    memcpy(written->sum, sum, sizeof written->sum);
    return true;
}

/* The list of the old manifest; NULL: there is none. */
static json_t *former_list(Output *output, Arena *arena, const char *name)
{
    static const char KEY[] = "\n  \"files\": ";
    const char *text =
        output_former(output, arena_printf(arena, "%s.json", name), HEAD);
    const char *at = text ? strstr(text, KEY) : NULL;
    if (!at)
        return NULL;
    at += sizeof KEY - 1;
    return json_loadb(at, strlen(at), JSON_DISABLE_EOF_CHECK, NULL);
}

bool files_foreign(Output *output, Arena *arena, const char *name,
                   const char *file)
{
    Written written;
    if (!output_there(output, file))
        return false;
    json_t *list = former_list(output, arena, name);
    const bool ours = describe(file, json_object_get(list, file), &written) &&
                      output_is_still(output, &written);
    json_decref(list);
    return !ours;
}

/* What lies in the folder for this compile: its manifest, and all that the old one lists. */
static const char *const *own_names_of(Arena *arena, json_t *list,
                                       const char *name)
{
    const char **own =
        NEW_ARRAY(arena, const char *, json_object_size(list) + 3);
    size_t n = 0;
    const char *file;
    json_t *facts;
    own[n++] = arena_printf(arena, "%s.json", name);
    own[n++] = "library.json";
    json_object_foreach(list, file, facts)
    {
        own[n++] = file;
    }
    return own;
}

void files_forget(Output *output, Arena *arena, const char *name,
                  FileName *is_other)
{
    json_t *list = former_list(output, arena, name);
    const bool alone =
        !output_has_other(output, ".json", own_names_of(arena, list, name));
    Written written;
    const char *file;
    json_t *facts;
    json_object_foreach(list, file, facts)
    {
        const bool known = is_of_model(file, name) ||
                           is_of_listed(arena, list, file) ||
                           is_other(arena, file, name);
        if ((known || (alone && is_of_runtime(file))) &&
            describe(file, facts, &written))
            output_forget(output, &written);
    }
    json_decref(list);
}
