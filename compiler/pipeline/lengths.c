/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/lengths.h"

#include <inttypes.h>
#include <string.h>

#include "emit/weights.h"
#include "ir/follow.h"
#include "pipeline/values.h"

/* ---- what is asked for ---- */

static _Noreturn void fail_option(const char *option)
{
    fail_at(STATUS_USAGE, LOC_NONE, "give one length: --dim T=64",
            "%s does not go with a length within bounds", option);
}

static void refuse_options(const Compile *compile)
{
    const Options *options = compile->options;
    const struct {
        const char *name;
        bool given;
    } refused[] = {
        { "--io", options->io && *options->io },
        { "--stream", options->stream && *options->stream },
        { "--preserve-input", options->preserve_input },
        { "--slices", options->slices },
        { "--threads", options->threads != NULL },
        { "--region", options->region && *options->region },
        { "--weights=blob", options->weights == WEIGHTS_BLOB },
        { "--window", options->window != NULL },
        { "--code-weights", options->code_weights },
        { "--checks", options->checks },
        { "--curve", options->curve },
        { "a folder of several models", compile->group != NULL },
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (refused[i].given)
            fail_option(refused[i].name);
}

static void check_size(const Lengths *lengths)
{
    if (lengths->n > MOST_LENGTHS)
        fail_at(STATUS_USAGE, LOC_NONE,
                "give the others one length (--dim S=16), or say what they "
                "follow (--dim TOTAL=PAST+S)",
                "%d lengths within bounds: there may be %d", lengths->n,
                MOST_LENGTHS);
    if (lengths_combinations(lengths) > MOST_COMBINATIONS)
        fail_at(STATUS_UNSUPPORTED, LOC_NONE,
                "take narrower bounds, give one of them a length, or say what "
                "it follows (--dim TOTAL=PAST+S)",
                "the lengths have %" PRId64
                " combinations; the model is compiled for each, and there may "
                "be %d",
                lengths_combinations(lengths), MOST_COMBINATIONS);
}

/* "T=64" of "T=1..64", which is added to the lengths; else the text. */
static const char *take_dim(Arena *arena, Lengths *lengths, const char *text)
{
    char *symbol;
    LengthValue value;
    if (!value_is_length(arena, text, &symbol, &value))
        return text;
    for (int i = 0; i < lengths->n && i < MOST_LENGTHS; i++)
        if (!strcmp(lengths->of[i].symbol, symbol))
            fail_at(STATUS_USAGE, LOC_NONE, NULL,
                    "--dim %s: its bounds were given before", text);
    if (lengths->n < MOST_LENGTHS)
        lengths->of[lengths->n] = (Length){ symbol, value.least, value.most };
    lengths->n++;
    return arena_printf(arena, "%s=%" PRId32, symbol, value.most);
}

Options *lengths_with_dims(Arena *arena, const Options *options,
                           const char **dim)
{
    Options *own = arena_copy(arena, options, sizeof *options);
    own->dim = dim;
    return own;
}

/* ---- the model for one combination ---- */

const char **lengths_dims_at(Arena *arena, const Compile *compile,
                             int32_t combination)
{
    const Lengths *lengths = compile->lengths;
    int32_t value[MOST_LENGTHS];
    VEC(const char *) dim = { 0 };
    int next = 0;
    lengths_at(lengths, combination, value);
    for (const char **text = compile->bounded->dim; *text; text++) {
        char *symbol;
        LengthValue bounds;
        const char *own = *text;
        if (value_is_length(arena, own, &symbol, &bounds))
            own = arena_printf(arena, "%s=%" PRId32, symbol, value[next++]);
        VEC_PUSH(arena, &dim, own);
    }
    VEC_PUSH(arena, &dim, NULL);
    return dim.at;
}

static Status try_open(Compile *compile, Recompile *one, int32_t combination,
                       bool quiet)
{
    recompile_open(compile, one, one->last);
    one->compile.apart = true;
    one->compile.kept = compile->kept;
    one->options.dim =
        lengths_dims_at(&one->compile.arena, compile, combination);
    return recompile_run(one, quiet);
}

/* ---- constants that are computed when it runs ---- */

/* A result that is folded takes so many bytes at least, and so many for all lengths. */
static const int64_t LEAST_KEPT = 1 << 10;
static const int64_t MOST_FOLDED = 64 << 10;

/* Tensors of a graph and its subgraphs by their names. */
static Map tensors_by_name(Arena *arena, const Graph *graph)
{
    Map map = map_new(arena);
    for (size_t k = 0; k < graph->all.n; k++)
        for (size_t i = 0; i < graph->all.at[k]->tensor.n; i++) {
            Tensor *tensor = graph->all.at[k]->tensor.at[i];
            if (tensor->folded && tensor->value)
                map_put(&map, tensor->name, tensor);
        }
    return map;
}

/* Names that we make up are of no use in another graph. */
static bool is_of_model(Arena *arena, const Tensor *tensor)
{
    return strcmp(tensor->name, arena_printf(arena, "_%d", tensor->id)) != 0;
}

static bool same_recipe(const Graph *graph, const Recipe *recipe,
                        const Graph *other_graph, const Recipe *other)
{
    char key[65];
    char other_key[65];
    if (recipe_bytes(recipe) != recipe_bytes(other))
        return false;
    recipe_key(graph->store, recipe, KEY_ORIGIN, key);
    recipe_key(other_graph->store, other, KEY_ORIGIN, other_key);
    return !strcmp(key, other_key);
}

/* Would it be stored for each of the lengths? */
static bool is_of_lengths(const Lengths *lengths, const Tensor *tensor,
                          const Tensor *other)
{
    const int64_t bytes = recipe_bytes(tensor->value);
    if (bytes < LEAST_KEPT ||
        i64_mul(bytes, lengths_combinations(lengths)) < MOST_FOLDED)
        return false;
    return !same_recipe(tensor->graph, tensor->value, other->graph,
                        other->value) &&
           !constant_begins(tensor->graph->store, tensor->value,
                            other->graph->store, other->value);
}

typedef struct Keeper {
    Compile *compile;
    Recompile *most, *less;
    Map *kept;
} Keeper;

static void keep_results(void *context)
{
    const Keeper *keeper = context;
    const Lengths *lengths = keeper->compile->lengths;
    Arena *arena = &keeper->most->compile.arena;
    const Map most = tensors_by_name(arena, keeper->most->compile.graph);
    const Map less = tensors_by_name(arena, keeper->less->compile.graph);
    for (size_t i = 0; i < most.entry.n; i++) {
        const Tensor *tensor = most.entry.at[i].value;
        const Tensor *other = map_get(&less, tensor->name);
        if (!other || !is_of_model(arena, tensor) ||
            !is_of_lengths(lengths, tensor, other))
            continue;
        const size_t length = strlen(tensor->name);
        map_put(keeper->kept, arena_text(lengths->arena, tensor->name, length),
                keeper->kept);
    }
}

static int32_t one_less(const Lengths *lengths)
{
    int32_t combination = 0;
    for (int i = lengths->n; i-- > 0;) {
        const Length *length = lengths->of + i;
        const int32_t span = length->most - length->least + 1;
        combination = combination * span + span - 1 - (span > 1);
    }
    return combination;
}

/* The model at the greatest lengths, up to a stage; NULL: it does not compile. */
static Recompile *attempt(Compile *compile, int32_t combination, Stage last)
{
    Recompile *one = NEW(&compile->arena, Recompile);
    one->last = last;
    if (!try_open(compile, one, combination, true))
        return one;
    recompile_close(compile, one);
    return NULL;
}

/* What differs between the greatest lengths and those one less follows the lengths. Where the model
 * does not compile with it as results, constants they are. */
static const Map *results_kept(Compile *compile)
{
    const Lengths *lengths = compile->lengths;
    const int32_t last = (int32_t)lengths_combinations(lengths) - 1;
    Map *kept = NEW(lengths->arena, Map);
    Diag quiet = { .out = diag_now->out, .quiet = true };
    *kept = map_new(lengths->arena);
    Keeper keeper = {
        .compile = compile,
        .most = attempt(compile, last, STAGE_PASSES),
        .less = attempt(compile, one_less(lengths), STAGE_PASSES),
        .kept = kept,
    };
    Status status = STATUS_INTERNAL;
    if (keeper.most && keeper.less)
        status = protect(&quiet, keep_results, &keeper);
    if (keeper.most)
        recompile_close(compile, keeper.most);
    if (keeper.less)
        recompile_close(compile, keeper.less);
    compile->kept = kept;
    Recompile *with = status ? NULL : attempt(compile, last, STAGE_LOWER);
    if (with)
        recompile_close(compile, with);
    else
        *kept = map_new(lengths->arena);
    return kept;
}

void lengths_begin(Compile *compile)
{
    Arena *arena = &compile->arena;
    VEC(const char *) dim = { 0 };
    Lengths *lengths = NEW(arena, Lengths);
    lengths->arena = arena;
    for (const char **text = compile->options->dim; text && *text; text++)
        VEC_PUSH(arena, &dim, take_dim(arena, lengths, *text));
    if (!lengths->n)
        return;
    VEC_PUSH(arena, &dim, NULL);
    refuse_options(compile);
    check_size(lengths);
    compile->lengths = lengths;
    compile->bounded = compile->options;
    compile->options = lengths_with_dims(arena, compile->options, dim.at);
    if (!compile->kept)
        compile->kept = results_kept(compile);
}

/* Where it does not compile: are the bounds to blame, or the model? */
static void note_lengths(Compile *compile, int32_t combination, Stage last)
{
    const Lengths *lengths = compile->lengths;
    const Loc loc = { .file = compile->options->model, .byte = -1, .node = -1 };
    const int32_t greatest = (int32_t)lengths_combinations(lengths) - 1;
    const int32_t other = combination == greatest ? 0 : greatest;
    const char *here = lengths_text(lengths, combination);
    Recompile *one = attempt(compile, other, last);
    if (!one) {
        note_at(loc, "this is at %s; at %s it does not compile either", here,
                lengths_text(lengths, other));
        return;
    }
    recompile_close(compile, one);
    note_at(loc,
            "this is at %s; bounds that the model allows have no such lengths",
            here);
}

Recompile *lengths_open(Compile *compile, int32_t combination, Stage last)
{
    Recompile *one = NEW(&compile->arena, Recompile);
    one->last = last;
    Status status = try_open(compile, one, combination, true);
    if (!status)
        return one;
    recompile_close(compile, one);
    status = try_open(compile, one, combination, false);
    recompile_close(compile, one);
    note_lengths(compile, combination, last);
    fail_now(status ? status : STATUS_INTERNAL);
}
