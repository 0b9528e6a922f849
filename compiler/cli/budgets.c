/* SPDX-License-Identifier: Apache-2.0
 * Budgets are JSON, as the compiler reads and writes it anyway; no TOML library for C is packaged
 * in Debian. */
#include "cli/budgets.h"

#include <string.h>

#include "base/diag.h"
#include "base/nearest.h"
#include "base/vec.h"
#include "cli/manifest_file.h"
#include "cli/options.h"
#include "pipeline/numbers.h"

static _Noreturn void fail_budgets(const char *path, const char *what,
                                   const char *where)
{
    const Loc loc = { .file = path, .byte = -1, .node = -1 };
    fail_at(STATUS_CONFIG, loc,
            "write it as { \"models\": [ { \"model\": \"kws.onnx\", "
            "\"max_arena\": \"24K\" } ] }",
            "%s: %s", what, where);
}

static json_t *load(Arena *arena, const char *path)
{
    json_error_t error;
    json_t *all = json_read(arena, path, &error);
    if (!all)
        fail_budgets(path, "is no JSON", error.text);
    return all;
}

/* ---- one model ---- */

static uint64_t amount(const char *path, const char *key, const json_t *value)
{
    long long bytes = json_is_integer(value) ? json_integer_value(value) : -1;
    const char *text = json_string_value(value);
    const char *end = text ? bytes_read(text, &bytes) : "";
    if (!end || *end || bytes < 0)
        fail_budgets(path, "expected a number, or text like 64K", key);
    return (uint64_t)bytes;
}

/* Added to what the command line gives; both hold. */
static void add_texts(Arena *arena, const char *path, const char *key,
                      const json_t *value, const char ***list)
{
    size_t given = 0;
    while (*list && (*list)[given])
        given++;
    const size_t count = json_array_size(value);
    const char **all = NEW_ARRAY(arena, const char *, given + count + 1);
    for (size_t i = 0; i < given; i++)
        all[i] = (*list)[i];
    for (size_t i = 0; i < count; i++) {
        const char *text = json_string_value(json_array_get(value, i));
        if (!text)
            fail_budgets(path, "expected a list of texts", key);
        all[given + i] = arena_text(arena, text, strlen(text));
    }
    *list = all;
}

static bool take_limit(Budget *budget, const char *path, const char *key,
                       const json_t *value)
{
    for (int i = 0; i < FIGURES; i++) {
        if (strncmp(key, "max_", 4) || strcmp(key + 4, figure_names[i]))
            continue;
        budget->limited[i] = true;
        budget->most[i] = amount(path, key, value);
        return true;
    }
    return false;
}

/* Keys are options of `check`, with _ for -. */
static bool is_key(const char *option, const char *key)
{
    for (; *option; option++, key++)
        if (*key != (*option == '-' ? '_' : *option))
            return false;
    return !*key;
}

static const OptionRow *option_of_key(const char *key)
{
    int count;
    const OptionRow *row = option_rows(&count);
    for (; count--; row++)
        if (option_of_entry(row) && is_key(row->name, key))
            return row;
    return NULL;
}

static bool is_true(const char *path, const char *key, const json_t *value)
{
    if (!json_is_boolean(value))
        fail_budgets(path, "expected true or false", key);
    return json_is_true(value);
}

/* A number is as good as its text. */
static const char *one_text(Arena *arena, const char *path, const char *key,
                            const json_t *value)
{
    if (json_is_integer(value))
        return arena_printf(arena, "%lld",
                            (long long)json_integer_value(value));
    if (!json_is_string(value))
        fail_budgets(path, "expected a text", key);
    const char *text = json_string_value(value);
    return arena_text(arena, text, strlen(text));
}

static int one_choice(Arena *arena, const OptionRow *row, const char *text)
{
    for (int i = 0; row->choice[i]; i++)
        if (!strcmp(row->choice[i], text))
            return row->first + i;
    fail_unknown(arena, arena_printf(arena, "\"%s\": unknown value", row->name),
                 text, row->choice);
}

static void check_texts(Arena *arena, const OptionRow *row,
                        const char *const *list)
{
    for (; row->check && *list; list++)
        row->check(arena, *list);
}

static const char *checked_text(Arena *arena, const OptionRow *row,
                                const char *path, const json_t *value)
{
    const char *const text = one_text(arena, path, row->name, value);
    const char *const list[] = { text, NULL };
    check_texts(arena, row, list);
    return text;
}

static long long *one_amount(Arena *arena, const char *path, const char *key,
                             const json_t *value)
{
    const long long bytes = (long long)amount(path, key, value);
    return arena_copy(arena, &bytes, sizeof bytes);
}

/* `to`: the option's place, of the type of its kind. */
static void set_option(Arena *arena, const OptionRow *row, void *to,
                       const char *path, const json_t *value)
{
    switch (row->kind) {
    case OPTION_LIST:
        add_texts(arena, path, row->name, value, to);
        check_texts(arena, row, *(const char ***)to);
        break;
    case OPTION_FLAG:
        *(int *)to = is_true(path, row->name, value);
        break;
    case OPTION_BYTES:
        *(const long long **)to = one_amount(arena, path, row->name, value);
        break;
    case OPTION_CHOICE:
        *(int *)to =
            one_choice(arena, row, checked_text(arena, row, path, value));
        break;
    default:
        *(const char **)to = checked_text(arena, row, path, value);
    }
}

static void take_option(Arena *arena, Options *options, const char *path,
                        const char *key, const json_t *value)
{
    const OptionRow *row = option_of_key(key);
    if (!row)
        fail_budgets(path, "nothing is known by that name", key);
    set_option(arena, row, (char *)options + row->at, path, value);
}

static void take_key(Arena *arena, Budget *budget, const char *path,
                     const char *key, const json_t *value)
{
    if (strcmp(key, "model") && !take_limit(budget, path, key, value))
        take_option(arena, &budget->options, path, key, value);
}

/* A path that is not absolute is counted from the folder of the list. */
static const char *beside(Arena *arena, const char *list, const char *path)
{
    const char *slash = strrchr(list, '/');
    if (*path == '/' || !slash)
        return arena_text(arena, path, strlen(path));
    return arena_printf(arena, "%.*s%s", (int)(slash + 1 - list), list, path);
}

static void limit_by(uint64_t most, Budget *budget, int i)
{
    if (!budget->limited[i] || most < budget->most[i])
        budget->most[i] = most;
    budget->limited[i] = true;
}

/* Those of the command line are for all. */
static void limit_all(Budget *budget)
{
    const Options *options = &budget->options;
    const long long *const given[FIGURES] = {
        options->max_arena, options->max_weights, options->max_ram,
        options->max_stack, options->max_macs,    options->max_traffic,
        options->max_code,
    };
    for (int i = 0; i < FIGURES; i++)
        if (given[i])
            limit_by((uint64_t)*given[i], budget, i);
}

static Budget budget_of(const char *model, const Options *options)
{
    Budget budget = { .model = model, .options = *options };
    budget.options.model = model;
    return budget;
}

/* ---- lists ---- */

typedef struct Listing {
    Arena *arena;
    const Options *options;
    VEC(Budget) budget;
} Listing;

static void add_budget(Listing *listing, Budget budget)
{
    limit_all(&budget);
    VEC_PUSH(listing->arena, &listing->budget, budget);
}

static void add_entry(Listing *listing, const char *path, json_t *entry)
{
    Arena *arena = listing->arena;
    const char *model = json_string_value(json_object_get(entry, "model"));
    if (!model)
        fail_budgets(path, "an entry names no model", "\"model\"");
    Budget budget = budget_of(beside(arena, path, model), listing->options);
    const char *key;
    json_t *value;
    json_object_foreach(entry, key, value)
    {
        take_key(arena, &budget, path, key, value);
    }
    add_budget(listing, budget);
}

static void add_list(Listing *listing, const char *path)
{
    json_t *all = load(listing->arena, path);
    json_t *models = json_object_get(all, "models");
    if (!json_array_size(models))
        fail_budgets(path, "there is no list of models", "\"models\"");
    for (size_t i = 0; i < json_array_size(models); i++)
        add_entry(listing, path, json_array_get(models, i));
}

Budgets budgets_read(Arena *arena, const Options *options)
{
    Listing listing = { .arena = arena, .options = options };
    for (const char *const *word = options->operand; *word; word++)
        if (**word == '@')
            add_list(&listing, *word + 1);
        else
            add_budget(&listing, budget_of(*word, options));
    return (Budgets){ listing.budget.at, listing.budget.n };
}

/* ---- baseline ---- */

static const json_t *find_model(const json_t *models, const char *model)
{
    for (size_t i = 0; i < json_array_size(models); i++) {
        const json_t *one = json_array_get(models, i);
        const char *name = json_string_value(json_object_get(one, "model"));
        if (name && !strcmp(name, model))
            return one;
    }
    return NULL;
}

void budgets_baseline(Arena *arena, const char *path, Budgets *budgets)
{
    const json_t *models = json_object_get(load(arena, path), "models");
    if (!models)
        fail_budgets(path, "is not what `inlay check --json` prints",
                     "\"models\"");
    for (size_t i = 0; i < budgets->n; i++) {
        Budget *budget = budgets->at + i;
        const json_t *former = find_model(models, budget->model);
        for (int k = 0; k < FIGURES; k++) {
            const json_t *figure = json_object_get(former, figure_names[k]);
            const json_t *bytes = json_object_get(figure, figure_keys[k]);
            if (json_is_integer(bytes))
                limit_by((uint64_t)json_integer_value(bytes), budget, k);
        }
    }
}
