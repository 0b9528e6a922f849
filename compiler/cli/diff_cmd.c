/* SPDX-License-Identifier: Apache-2.0
 * diff: what became of the figures between two manifests, in all, by tensor and by node. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/map.h"
#include "cli/json_print.h"
#include "cli/manifest_file.h"
#include "cli/options.h"
#include "emit/html_diff.h"
#include "emit/manifest.h"

typedef struct Changes {
    Arena *arena;
    Map place; /* of a name in the list, plus 1 */
    ChangeList change;
} Changes;

static int64_t number_at(const json_t *object, const char *outer,
                         const char *inner)
{
    const json_t *part = outer ? json_object_get(object, outer) : object;
    return json_integer_value(json_object_get(part, inner));
}

/* ---- parts ---- */

static void add(Changes *changes, const char *name, int64_t value, bool after)
{
    const size_t known = (size_t)map_get(&changes->place, name);
    size_t at = known - 1;
    if (!known) {
        at = changes->change.n;
        VEC_PUSH(changes->arena, &changes->change, ((Change){ name, 0, 0 }));
        (void)map_put(&changes->place, name, (void *)(uintptr_t)(at + 1));
    }
    Change *change = changes->change.at + at;
    if (after)
        change->after += value;
    else
        change->before += value;
}

/* Elements of a list that have a name: `value` of each. */
static void add_list(Changes *changes, const json_t *manifest, const char *list,
                     const char *key, const char *value, bool after)
{
    const json_t *all = json_object_get(manifest, list);
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *one = json_array_get(all, i);
        const char *name = json_string_value(json_object_get(one, key));
        if (name && *name)
            add(changes, name, number_at(one, NULL, value), after);
    }
}

static Changes changes_of(Arena *arena, json_t *const manifest[2],
                          const char *list, const char *key, const char *value)
{
    Changes changes = { .arena = arena, .place = map_new(arena) };
    for (int i = 0; i < 2; i++)
        add_list(&changes, manifest[i], list, key, value, i == 1);
    return changes;
}

/* Those that grew most come first; names decide among equals. */
static int compare(const void *a, const void *b)
{
    const Change *x = a;
    const Change *y = b;
    const int64_t grown_x = x->after - x->before;
    const int64_t grown_y = y->after - y->before;
    if (grown_x != grown_y)
        return grown_x > grown_y ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Only what changed, in order. */
static void settle(Changes *changes)
{
    size_t kept = 0;
    for (size_t i = 0; i < changes->change.n; i++) {
        const Change change = changes->change.at[i];
        if (change.before != change.after)
            changes->change.at[kept++] = change;
    }
    changes->change.n = kept;
    if (kept)
        qsort(changes->change.at, kept, sizeof(Change), compare);
}

/* ---- what is compared ---- */

typedef struct Part {
    const char *title;
    const char *list; /* NULL: the sums */
    const char *key;
    const char *value;
} Part;

static const Part parts[] = {
    { "total", NULL, NULL, NULL },
    { "bytes in use, by tensor", "tensors", "name", "extent" },
    { "MACs, by node", "steps", "node", "macs" },
};

enum { PARTS = sizeof parts / sizeof *parts };

static const char *const json_names[PARTS] = { "totals", "tensors", "nodes" };

static Changes totals(Arena *arena, json_t *const manifest[2])
{
    Changes changes = { .arena = arena, .place = map_new(arena) };
    for (int i = 0; i < 2; i++) {
        const json_t *one = manifest[i];
        const bool after = i == 1;
        add(&changes, "arena", number_at(one, "arena", "size"), after);
        add(&changes, "RAM", number_at(one, "ram", "total"), after);
        add(&changes, "weights", number_at(one, "weights", "size"), after);
        add(&changes, "MACs", number_at(one, "totals", "macs"), after);
        add(&changes, "steps", number_at(one, "totals", "steps"), after);
    }
    return changes;
}

static void print_changes(Pieces *to, const char *title, const Changes *changes)
{
    if (changes->change.n)
        pieces_print(to, "%s:\n", title);
    for (size_t i = 0; i < changes->change.n; i++) {
        const Change *change = changes->change.at + i;
        pieces_print(to,
                     "  %+12" PRId64 "  %12" PRId64 " -> %-12" PRId64 " %s\n",
                     change->after - change->before, change->before,
                     change->after, change->name);
    }
}

static json_t *changes_json(Arena *arena, const Changes *changes)
{
    json_t *list = manifest_made(json_array());
    for (size_t i = 0; i < changes->change.n; i++) {
        const Change *change = changes->change.at + i;
        json_t *one = manifest_made(json_object());
        manifest_set(one, "name", manifest_name(arena, change->name));
        manifest_set(one, "before", json_integer(change->before));
        manifest_set(one, "after", json_integer(change->after));
        json_array_append_new(list, one);
    }
    return list;
}

/* ---- the page ---- */

static DiffSide side_of(Arena *arena, const json_t *manifest)
{
    const json_t *steps = json_object_get(manifest, "steps");
    const char *name = json_string_value(json_object_get(manifest, "name"));
    DiffSide side = { .name = name ? name : "" };
    for (size_t i = 0; i < json_array_size(steps); i++)
        VEC_PUSH(arena, &side.live,
                 number_at(json_array_get(steps, i), NULL, "live_bytes"));
    return side;
}

static void print_page(Pieces *to, Arena *arena, json_t *const manifest[2],
                       const Changes changes[PARTS])
{
    const DiffSide side[2] = { side_of(arena, manifest[0]),
                               side_of(arena, manifest[1]) };
    const Changes all = totals(arena, manifest);
    DiffPart part[PARTS];
    for (int i = 0; i < PARTS; i++)
        part[i] = (DiffPart){ parts[i].title, changes[i].change };
    const Text page = html_diff(arena, side, &all.change, part + 1, PARTS - 1);
    pieces_put(to, page.at, page.n);
}

static void print_json(Pieces *to, Arena *arena, const Changes changes[PARTS])
{
    json_t *all = manifest_made(json_object());
    for (int i = 0; i < PARTS; i++)
        manifest_set(all, json_names[i], changes_json(arena, changes + i));
    json_print(to, all);
}

static void print_text(Pieces *to, const Changes changes[PARTS])
{
    size_t changed = 0;
    for (int i = 0; i < PARTS; i++) {
        changed += changes[i].change.n;
        print_changes(to, parts[i].title, changes + i);
    }
    if (!changed)
        pieces_print(to, "no difference\n");
}

void cmd_diff(Compile *compile)
{
    Arena *arena = &compile->arena;
    Pieces *to = &compile->results;
    const Options *options = compile->options;
    json_t *const manifest[2] = { manifest_load(arena, options->manifest),
                                  manifest_load(arena, options->model) };
    Changes changes[PARTS];
    for (int i = 0; i < PARTS; i++) {
        const Part *part = parts + i;
        changes[i] = part->list ? changes_of(arena, manifest, part->list,
                                             part->key, part->value)
                                : totals(arena, manifest);
        settle(changes + i);
    }
    if (options->html)
        print_page(to, arena, manifest, changes);
    else if (options->json)
        print_json(to, arena, changes);
    else
        print_text(to, changes);
}
