/* SPDX-License-Identifier: Apache-2.0
 * The key "options": what the steps depend on beside the model, for who makes them again. */
#include "emit/manifest.h"

#include <string.h>

json_t *manifest_names(Arena *arena, const char *const *list, bool until_equals)
{
    json_t *json = manifest_made(json_array());
    for (; list && *list; list++) {
        const char *text = *list;
        const char *end = until_equals ? strrchr(text, '=') : NULL;
        if (end)
            text = arena_text(arena, text, (size_t)(end - text));
        json_t *name = manifest_name(arena, text);
        json_array_append_new(json, manifest_made(name));
    }
    return json;
}

/* The key under way: its object, and where text goes. */
typedef struct Lists {
    json_t *object;
    Arena *arena;
} Lists;

static void put_list(const Lists *to, const char *key, const char *const *list)
{
    json_t *names = manifest_names(to->arena, list, false);
    manifest_set(to->object, key, names);
}

/* Where there is any. */
static void put_some(const Lists *to, const char *key, const char *const *list)
{
    if (list && *list)
        put_list(to, key, list);
}

static void put_kept(const Lists *to, const Map *kept)
{
    if (!kept || !kept->entry.n)
        return;
    json_t *json = manifest_made(json_array());
    for (size_t i = 0; i < kept->entry.n; i++) {
        const char *text = kept->entry.at[i].key;
        json_t *name = manifest_name(to->arena, text);
        json_array_append_new(json, manifest_made(name));
    }
    manifest_set(to->object, "kept", json);
}

/* Of a constant only the name: where its file lies is the caller's. */
static void put_constants(const Lists *to, const char *const *list)
{
    json_t *names = manifest_names(to->arena, list, true);
    manifest_set(to->object, "const", names);
}

static void put_lists(const Lists *to, const ManifestFacts *facts)
{
    put_list(to, "from", facts->from);
    put_list(to, "to", facts->to);
    put_list(to, "shape", facts->shape);
    put_list(to, "dim", facts->dim);
    put_constants(to, facts->constant);
    put_list(to, "without", facts->without);
    put_list(to, "io", facts->io);
    put_kept(to, facts->kept);
    put_some(to, "state", facts->state);
    put_some(to, "preprocess", facts->preprocess);
    put_some(to, "stream", facts->stream);
}

/* Of each expansion (passes/banks.c) the channels of a bank; 0: all. */
static void put_banks(json_t *object, const Banks *banks)
{
    if (!banks->n)
        return;
    json_t *list = manifest_made(json_array());
    for (int32_t i = 0; i < banks->n; i++) {
        json_t *channels = json_integer(banks->channels[i]);
        json_array_append_new(list, manifest_made(channels));
    }
    manifest_set(object, "banks", list);
}

json_t *manifest_options(const Program *program, const ManifestFacts *facts)
{
    json_t *object = manifest_made(json_object());
    const Lists lists = { object, program->graph->arena };
    const bool preserved = program->plan.preserve_input;
    put_lists(&lists, facts);
    manifest_set(object, "preserve_input", json_boolean(preserved));
    manifest_set(object, "family", json_string(program->family->name));
    manifest_set(object, "narrow", json_boolean(program->narrow));
    if (program->winograd)
        manifest_set(object, "winograd", json_true());
    put_banks(object, &program->graph->banks);
    if (program->graph->recompute)
        manifest_set(object, "recompute",
                     json_integer(program->graph->recompute));
    manifest_set(object, "lowered_steps", json_integer(program->lowered));
    return object;
}
