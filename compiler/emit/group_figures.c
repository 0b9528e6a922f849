/* SPDX-License-Identifier: Apache-2.0
 * What is said of several models together: what they share, and where that of each lies. */
#include <inttypes.h>

#include "base/json_memory.h"
#include "emit/group.h"

/* ---- the manifest ---- */

static json_t *arena_facts(const Group *group)
{
    json_t *object = manifest_made(json_object());
    manifest_set(object, "size", json_integer(group->arena_size));
    manifest_set(object, "align", json_integer(group->arena_align));
    manifest_set(object, "lower_bound", json_integer(group->lower_bound));
    return object;
}

static json_t *model_facts(Arena *arena, const GroupModel *model)
{
    const char *file = arena_printf(arena, "%s.json", model->name);
    json_t *object = manifest_made(json_object());
    manifest_set(object, "name", json_string(model->name));
    manifest_set(object, "manifest", json_string(file));
    manifest_set(object, "offset", json_integer(model->offset));
    manifest_set(object, "arena", json_integer(model->arena_size));
    manifest_set(object, "weights",
                 json_integer((json_int_t)model->weight_bytes));
    manifest_set(object, "steps", json_integer(model->steps));
    manifest_set(object, "macs", json_integer(model->macs));
    return object;
}

static json_t *set_facts(const Group *group, uint64_t set)
{
    json_t *list = manifest_made(json_array());
    for (size_t i = 0; i < group->model.n; i++) {
        const char *name = group->model.at[i].name;
        if (set >> i & 1)
            json_array_append_new(list, manifest_made(json_string(name)));
    }
    return list;
}

static void put_models(ManifestText *manifest, const Group *group)
{
    manifest_list(manifest, "models");
    for (size_t i = 0; i < group->model.n; i++)
        manifest_element(manifest,
                         model_facts(group->arena, group->model.at + i));
    manifest_list_end(manifest);
    /* Of each set the names. */
    manifest_list(manifest, "concurrent");
    for (size_t i = 0; i < group->together.n; i++)
        manifest_element(manifest, set_facts(group, group->together.at[i]));
    manifest_list_end(manifest);
}

static json_t *sums(const Group *group)
{
    const uint64_t weights = group_weights(group);
    const uint64_t shared = group->known.shared;
    json_t *object = manifest_made(json_object());
    manifest_set(object, "weights", json_integer((json_int_t)weights));
    manifest_set(object, "shared", json_integer((json_int_t)shared));
    manifest_set(object, "macs", json_integer(group_macs(group)));
    return object;
}

/* The text is that of a model's manifest: a line for each key. Files stand at the head, as far as
 * the next compile of the same name reads. */
void group_manifest(const Group *group, json_t *files, Sink sink)
{
    ManifestText manifest = { .sink = sink, .free = arena_mark(json_memory()) };
    manifest_key(&manifest, "schema_version", json_integer(1));
    manifest_key(&manifest, "inlay", json_string(INLAY_VERSION));
    manifest_key(&manifest, "name", json_string(group->name));
    if (files)
        manifest_key(&manifest, "files", files);
    manifest_key(&manifest, "arena", arena_facts(group));
    put_models(&manifest, group);
    manifest_key(&manifest, "totals", sums(group));
    manifest_end(&manifest);
}

/* ---- the report ---- */

static void put_sums(Text *text, const Group *group)
{
    text_print(text, "%s: %zu models in one arena\n\n", group->name,
               group->model.n);
    text_print(text, "arena     %" PRId64 " bytes", group->arena_size);
    if (group->arena_size > group->lower_bound)
        text_print(text, " (lower bound %" PRId64 ")", group->lower_bound);
    text_print(text, "\nweights   %" PRIu64 " bytes", group_weights(group));
    if (group->known.shared)
        text_print(text, "; %" PRIu64 " more are equal and stored once",
                   group->known.shared);
    text_put(text, "\n\n");
}

Text group_report(const Group *group)
{
    Text text = text_new(group->arena);
    put_sums(&text, group);
    text_print(&text, "  %-24s %10s %10s %10s %12s\n", "model", "offset",
               "arena", "weights", "macs");
    for (size_t i = 0; i < group->model.n; i++) {
        const GroupModel *model = group->model.at + i;
        text_print(&text,
                   "  %-24s %10" PRId64 " %10" PRId64 " %10" PRIu64
                   " %12" PRId64 "\n",
                   model->name, model->offset, model->arena_size,
                   model->weight_bytes, model->macs);
    }
    for (size_t i = 0; i < group->together.n; i++) {
        text_put(&text, i ? "  " : "\nalive at once\n  ");
        group_names(&text, group, group->together.at[i]);
        text_put(&text, "\n");
    }
    return text;
}
