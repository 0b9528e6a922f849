/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/open_dims.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/map.h"
#include "pipeline/dim_terms.h"
#include "pipeline/values.h"

/* ---- symbols ---- */

static bool is_open(const Tensor *input, int k)
{
    return input->shape.dim[k] < 0;
}

/* The name of a dimension; NULL: it has none. */
static const char *symbol_of(const Tensor *input, int k)
{
    const char *symbol = input->symbol[k];
    if (!symbol || !*symbol)
        return NULL;
    const bool any = !strcmp(symbol, DIM_NEGATIVE) || !strcmp(symbol, "?");
    return any ? NULL : symbol;
}

static bool has_symbol(const Tensor *input, int k, const char *symbol)
{
    const char *own = symbol_of(input, k);
    return own && !strcmp(own, symbol);
}

/* A name of dimensions, as the inputs have it. */
typedef struct Symbol {
    const char *name;
    int64_t value;       /* what an input has for it; -1: none has */
    bool inside;         /* it is not only a first dimension */
    bool listed;         /* it is reported as open */
    const Tensor *first; /* of the inputs that have it */
    const Tensor *last;
    int inputs; /* how many have it */
} Symbol;

static void see_dim(Map *symbols, const Tensor *input, int k)
{
    const char *name = symbol_of(input, k);
    if (!name)
        return;
    Symbol *symbol = map_get(symbols, name);
    if (!symbol) {
        symbol = NEW(symbols->arena, Symbol);
        *symbol = (Symbol){ .name = name, .value = -1, .first = input };
        map_put(symbols, name, symbol);
    }
    if (symbol->value < 0 && !is_open(input, k))
        symbol->value = input->shape.dim[k];
    symbol->inside |= k > 0;
    symbol->inputs += symbol->last != input;
    symbol->last = input;
}

/* By name: each is looked for once, however many inputs there are. */
static Map find_symbols(const Graph *graph, Arena *arena)
{
    Map symbols = map_new(arena);
    for (size_t i = 0; i < graph->input.n; i++)
        for (int k = 0; k < graph->input.at[i]->shape.rank; k++)
            see_dim(&symbols, graph->input.at[i], k);
    return symbols;
}

static bool is_name_of_batch(const char *symbol)
{
    static const char *const names[] = { "batch", "batch_size", "N" };
    for (size_t i = 0; symbol && i < sizeof names / sizeof *names; i++)
        if (!strcmp(symbol, names[i]))
            return true;
    return false;
}

static const int64_t *value_of(const void *context, const char *name)
{
    const Symbol *symbol = map_get(context, name);
    return symbol ? &symbol->value : NULL;
}

/* Is the dimension a sum of others: "past_sequence_length + 1"? */
static bool follows_others(const Map *symbols, const Tensor *input, int k,
                           int64_t *value)
{
    const char *symbol = symbol_of(input, k);
    return symbol && dim_is_terms(symbol) &&
           dim_terms(symbols->arena, symbol, value_of, symbols, value);
}

static bool is_sum(const Map *symbols, const Tensor *input, int k)
{
    int64_t value;
    return follows_others(symbols, input, k, &value);
}

/* Behind a batch that is called so, another such name is a length: [batch_size, N] samples. */
static bool is_batch(const Map *symbols, const Tensor *input, int k)
{
    const char *first = symbol_of(input, 0);
    const char *symbol = symbol_of(input, k);
    if (!symbol)
        return k == 0;
    if (is_sum(symbols, input, k))
        return false;
    if (is_name_of_batch(symbol))
        return !is_name_of_batch(first) || has_symbol(input, k, first);
    const Symbol *known = map_get(symbols, symbol);
    return k == 0 && !known->inside;
}

/* ---- what can be settled ---- */

typedef struct Settling {
    Compile *compile;
    const Map *symbols;
    int64_t batch;
    const Tensor *first; /* whose batch was open */
    int inputs;          /* how many there are of those */
    VEC(const char *) shape;
} Settling;

/* Takes the values that the other inputs have for its symbols. */
static bool take_known(const Map *symbols, Tensor *input)
{
    bool changed = false;
    for (int k = 0; k < input->shape.rank; k++) {
        const char *name = symbol_of(input, k);
        if (!is_open(input, k) || !name)
            continue;
        const Symbol *symbol = map_get(symbols, name);
        input->shape.dim[k] = symbol->value;
        changed = changed || !is_open(input, k);
    }
    return changed;
}

static void settle_symbol(const Map *symbols, const Tensor *input, int k)
{
    const char *name = symbol_of(input, k);
    if (!name)
        return;
    Symbol *symbol = map_get(symbols, name);
    symbol->value = input->shape.dim[k];
}

static bool take_batch(Settling *settling, Tensor *input)
{
    bool changed = false;
    for (int k = 0; k < input->shape.rank; k++) {
        if (!is_open(input, k) || !is_batch(settling->symbols, input, k))
            continue;
        input->shape.dim[k] = settling->batch;
        settle_symbol(settling->symbols, input, k);
        changed = true;
    }
    if (changed && !settling->first)
        settling->first = input;
    settling->inputs += changed;
    return changed;
}

/* Open dimensions are those of the file, if the others are. */
static bool fits_given(const Tensor *input, const Shape *given)
{
    if (given->rank != input->shape.rank)
        return false;
    for (int k = 0; k < given->rank; k++)
        if (!is_open(input, k) && input->shape.dim[k] != given->dim[k])
            return false;
    return true;
}

static void take_given(const Map *symbols, Tensor *input,
                       const GivenShape *given)
{
    if (!given->said || !fits_given(input, &given->shape))
        return;
    for (int k = 0; k < input->shape.rank; k++) {
        if (!is_open(input, k))
            continue;
        input->shape.dim[k] = given->shape.dim[k];
        settle_symbol(symbols, input, k);
    }
}

/* Of values whose form is no array's, where one dimension alone is open: by their number. */
static void take_count(const Map *symbols, Tensor *input,
                       const GivenShape *given)
{
    int64_t others = 1;
    int open = -1;
    if (!given->said || given->shape.rank == input->shape.rank)
        return;
    for (int k = 0; k < input->shape.rank; k++) {
        if (is_open(input, k) && open >= 0)
            return;
        if (is_open(input, k))
            open = k;
        else
            others = i64_mul(others, input->shape.dim[k]);
    }
    const int64_t count = shape_count(&given->shape);
    if (open < 0 || others < 1 || count % others)
        return;
    input->shape.dim[open] = count / others;
    settle_symbol(symbols, input, open);
}

static void take_sums(const Map *symbols, Tensor *input)
{
    for (int k = 0; k < input->shape.rank; k++) {
        int64_t value;
        if (is_open(input, k) && follows_others(symbols, input, k, &value))
            input->shape.dim[k] = value;
    }
}

/* What the files of a run say. */
static void settle_given(const Settling *settling,
                         void (*take)(const Map *symbols, Tensor *input,
                                      const GivenShape *given))
{
    const Compile *compile = settling->compile;
    const Graph *graph = compile->graph;
    for (size_t i = 0; compile->given && i < graph->input.n; i++) {
        take_known(settling->symbols, graph->input.at[i]);
        take(settling->symbols, graph->input.at[i], compile->given + i);
    }
}

/* All that is known first: a batch that one input gives is no open one of another. Which inputs
 * changed, but by files. */
static const bool *take_dims(Settling *settling)
{
    const Graph *graph = settling->compile->graph;
    bool *changed =
        NEW_ARRAY(&settling->compile->arena, bool, graph->input.n + 1);
    if (!settling->compile->options->batch)
        settle_given(settling, take_given);
    for (size_t i = 0; i < graph->input.n; i++)
        changed[i] = take_known(settling->symbols, graph->input.at[i]);
    for (size_t i = 0; i < graph->input.n; i++)
        changed[i] |= take_batch(settling, graph->input.at[i]);
    settle_given(settling, take_given);
    settle_given(settling, take_count);
    return changed;
}

/* Sums last. */
static void settle_all(Settling *settling)
{
    const Graph *graph = settling->compile->graph;
    Arena *arena = &settling->compile->arena;
    const bool *changed = take_dims(settling);
    for (size_t i = 0; i < graph->input.n; i++) {
        const Tensor *input = graph->input.at[i];
        const char *dims = value_shape_text(arena, &input->shape);
        if (changed[i])
            VEC_PUSH(arena, &settling->shape,
                     arena_printf(arena, "%s=%s", input->name, dims));
    }
    /* The manifest leaves them open: where lengths have bounds they follow those. */
    for (size_t i = 0; i < graph->input.n; i++)
        take_sums(settling->symbols, graph->input.at[i]);
}

static const char *others(Arena *arena, int count)
{
    if (count < 1)
        return "";
    return arena_printf(arena, " and %d more input%s", count,
                        count > 1 ? "s" : "");
}

static Loc file_of(const Graph *graph)
{
    return (Loc){ .file = graph->file, .byte = -1, .node = -1 };
}

/* The options that stand for the shapes now, for the manifest. */
static void keep_shapes(Settling *settling)
{
    Compile *compile = settling->compile;
    Arena *arena = &compile->arena;
    const char **given =
        compile->shape ? compile->shape : compile->options->shape;
    if (!settling->shape.n)
        return;
    for (; given && *given; given++)
        VEC_PUSH(arena, &settling->shape, *given);
    VEC_PUSH(arena, &settling->shape, NULL);
    compile->shape = settling->shape.at;
}

static void settle(Compile *compile, const Map *symbols)
{
    const char *batch = compile->options->batch;
    const Graph *graph = compile->graph;
    Settling settling = {
        .compile = compile,
        .symbols = symbols,
        .batch = batch ? value_read_dimension(batch) : 1,
    };
    settle_all(&settling);
    keep_shapes(&settling);
    if (batch && !settling.first)
        fail_at(STATUS_USAGE, LOC_NONE,
                "`inlay dump` lists the inputs with their symbols",
                "--batch: no input has an open batch");
    /* Of lengths within bounds the greatest have said so. */
    if (!batch && settling.first && !compile->apart)
        note_at(file_of(graph),
                "the batch of input \"%s\"%s is open and taken as 1; --batch N "
                "says otherwise",
                settling.first->name,
                others(&compile->arena, settling.inputs - 1));
}

/* ---- what cannot ---- */

static void check_kind(const Graph *graph, const Tensor *input)
{
    const char *way = arena_printf(
        graph->arena, "--shape %s=1x3x224x224 (scalar for none)", input->name);
    Loc loc = file_of(graph);
    loc.name = input->name;
    if (input->dtype == DT_NONE)
        error_at(STATUS_UNSUPPORTED, loc, NULL,
                 "the input is no tensor (a sequence, map, optional or sparse "
                 "tensor)");
    else if (input->shape.rank < 0)
        error_at(STATUS_UNSUPPORTED, loc, way, "the input has no shape");
}

/* Open dimensions by name, and inputs with some that have none. */
typedef struct Report {
    Arena *arena;
    const Map *symbols;
    VEC(const Symbol *) symbol;
    VEC(const Tensor *) unnamed;
} Report;

static void add_symbol(Report *report, const char *name)
{
    Symbol *symbol = map_get(report->symbols, name);
    if (!symbol->listed)
        VEC_PUSH(report->arena, &report->symbol, symbol);
    symbol->listed = true;
}

/* Of sums or of all others. */
static void add_input(Report *report, const Tensor *input, bool sums)
{
    bool unnamed = false;
    for (int k = 0; k < input->shape.rank; k++) {
        if (!is_open(input, k))
            continue;
        const char *symbol = symbol_of(input, k);
        if (!symbol)
            unnamed = true;
        else if (is_sum(report->symbols, input, k) == sums)
            add_symbol(report, symbol);
    }
    if (unnamed && !sums)
        VEC_PUSH(report->arena, &report->unnamed, input);
}

/* The command again, with what it lacks. */
static const char *next_command(const Report *report, const Options *options)
{
    Arena *arena = report->arena;
    Text text = text_new(arena);
    text_put(&text, "take a number for each N, or ");
    text_put(&text, report->unnamed.n
                        ? "a name and bounds (1xL --dim L=1..64): "
                        : "bounds (1..64): ");
    value_put_command(&text, options);
    for (size_t i = 0; i < report->symbol.n; i++) {
        text_put(&text, " --dim");
        value_put_word(&text,
                       arena_printf(arena, "%s=N", report->symbol.at[i]->name));
    }
    for (size_t i = 0; i < report->unnamed.n; i++) {
        const Tensor *input = report->unnamed.at[i];
        text_put(&text, " --shape");
        value_put_word(&text,
                       arena_printf(arena, "%s=%s", input->name,
                                    value_shape_text(arena, &input->shape)));
    }
    return text.at;
}

static void report_symbol(const Graph *graph, Arena *arena,
                          const Symbol *symbol, const char *help)
{
    error_at(STATUS_UNSUPPORTED, file_of(graph), help,
             "dimension \"%s\" of input \"%s\"%s is open", symbol->name,
             symbol->first->name, others(arena, symbol->inputs - 1));
}

static void report_open(const Compile *compile, const Report *report)
{
    const Graph *graph = compile->graph;
    const size_t all = report->symbol.n + report->unnamed.n;
    const char *help = next_command(report, compile->options);
    size_t done = 0;
    for (size_t i = 0; i < report->symbol.n; i++)
        report_symbol(graph, report->arena, report->symbol.at[i],
                      ++done == all ? help : NULL);
    for (size_t i = 0; i < report->unnamed.n; i++) {
        const Tensor *input = report->unnamed.at[i];
        error_at(STATUS_UNSUPPORTED, file_of(graph),
                 ++done == all ? help : NULL,
                 "input \"%s\" is open where its shape has N: %s", input->name,
                 value_shape_text(report->arena, &input->shape));
    }
}

void settle_inputs(Compile *compile)
{
    const Graph *graph = compile->graph;
    const Map symbols = find_symbols(graph, &compile->arena);
    Report report = { .arena = &compile->arena, .symbols = &symbols };
    settle(compile, &symbols);
    for (size_t i = 0; i < graph->input.n; i++)
        check_kind(graph, graph->input.at[i]);
    for (size_t i = 0; i < graph->input.n; i++)
        add_input(&report, graph->input.at[i], false);
    /* Sums follow what is open. */
    for (size_t i = 0; i < graph->input.n && !report.symbol.n; i++)
        add_input(&report, graph->input.at[i], true);
    report_open(compile, &report);
    fail_if_errors();
}
