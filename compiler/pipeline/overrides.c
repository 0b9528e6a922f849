/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/overrides.h"

#include <string.h>

#include "base/nearest.h"
#include "onnx/reader.h"
#include "onnx/tensor_file.h"
#include "pipeline/dim_terms.h"
#include "pipeline/literal.h"
#include "pipeline/values.h"

static Tensor *find_input(const Graph *graph, const char *name,
                          const char *flag)
{
    Arena *arena = graph->arena;
    const char **names = NEW_ARRAY(arena, const char *, graph->input.n + 1);
    for (size_t i = 0; i < graph->input.n; i++) {
        names[i] = graph->input.at[i]->name;
        if (!strcmp(names[i], name))
            return graph->input.at[i];
    }
    fail_unknown(arena, arena_printf(arena, "%s: the model has no input", flag),
                 name, names);
}

Tensor *input_named(const Graph *graph, const char *name, const char *flag,
                    const char *text)
{
    if (name)
        return find_input(graph, name, flag);
    if (graph->input.n != 1)
        fail_at(STATUS_USAGE, LOC_NONE,
                arena_printf(graph->arena,
                             "name it: %s INPUT=%s; `inlay dump` lists the "
                             "inputs",
                             flag, text),
                "%s %s: the model has %zu inputs", flag, text, graph->input.n);
    return graph->input.at[0];
}

/* The input that the text names, or the only one; *dims is the text of its dimensions. */
static Tensor *shaped_input(const Graph *graph, const char *text,
                            const char **dims)
{
    char *name = NULL;
    *dims = text;
    if (strchr(text, '='))
        *dims = value_divide(graph->arena, text, &name);
    return input_named(graph, name, "--shape", text);
}

static void rename_dim(Graph *graph, Tensor *tensor, int k, const char *name)
{
    const char **symbol = NEW_ARRAY(graph->arena, const char *, MAX_RANK);
    if (tensor->symbol)
        memcpy(symbol, tensor->symbol, MAX_RANK * sizeof *symbol);
    symbol[k] = name;
    tensor->symbol = symbol;
}

/* What the text makes of dimension k: a name is for one that is open. */
static int64_t shaped_dim(const char *text, int k, const Shape *old,
                          const Shape *shape, const char *name)
{
    const bool open = shape->dim[k] < 0;
    const bool kept = open ? !name : shape->dim[k] == old->dim[k];
    if (old->dim[k] > 0 && !kept)
        fail_at(STATUS_USAGE, LOC_NONE, NULL,
                "--shape %s: dimension %d is fixed to %lld in the model", text,
                k, (long long)old->dim[k]);
    return open ? old->dim[k] : shape->dim[k];
}

static void apply_shape(Graph *graph, const char *text)
{
    const char *dims;
    const char *name[MAX_RANK];
    Tensor *tensor = shaped_input(graph, text, &dims);
    const Shape old = tensor->shape;
    Shape shape = value_read_shape(graph->arena, dims, name);
    if (old.rank >= 0 && old.rank != shape.rank)
        fail_at(STATUS_USAGE, LOC_NONE, NULL,
                "--shape %s: the input has %d dimensions, not %d", text,
                old.rank, shape.rank);
    for (int k = 0; k < old.rank; k++)
        shape.dim[k] = shaped_dim(text, k, &old, &shape, name[k]);
    for (int k = 0; k < shape.rank; k++)
        if (name[k])
            rename_dim(graph, tensor, k, name[k]);
    tensor->shape = shape;
}

/* The symbols of all inputs. */
static const char *const *symbols_of(const Graph *graph)
{
    VEC(const char *) symbol = { 0 };
    for (size_t i = 0; i < graph->input.n; i++) {
        const Tensor *tensor = graph->input.at[i];
        for (int k = 0; k < tensor->shape.rank; k++)
            if (tensor->symbol[k] && *tensor->symbol[k])
                VEC_PUSH(graph->arena, &symbol, tensor->symbol[k]);
    }
    VEC_PUSH(graph->arena, &symbol, NULL);
    return symbol.at;
}

static _Noreturn void fail_symbol(const Graph *graph, const char *symbol)
{
    Arena *arena = graph->arena;
    const char *const *symbols = symbols_of(graph);
    if (*symbols)
        fail_unknown(arena, "--dim: no input has a dimension", symbol, symbols);
    const Tensor *first = graph->input.n ? graph->input.at[0] : NULL;
    const char *way =
        !first
            ? "the model has no inputs"
            : arena_printf(arena, "--shape %s=%s gives dimensions by place",
                           first->name, value_shape_text(arena, &first->shape));
    fail_at(STATUS_USAGE, LOC_NONE, way,
            "--dim %s: no dimension of the inputs has a name", symbol);
}

static const int64_t *size_of(const void *context, const char *name)
{
    const Graph *graph = context;
    for (size_t i = 0; i < graph->input.n; i++) {
        const Tensor *tensor = graph->input.at[i];
        for (int k = 0; k < tensor->shape.rank; k++)
            if (tensor->symbol[k] && !strcmp(tensor->symbol[k], name))
                return &tensor->shape.dim[k];
    }
    return NULL;
}

static bool is_number(const char *text)
{
    return !text[strspn(text, "0123456789")];
}

/* Dimensions get another name, or where that is NULL, a size. */
static void set_dims(Graph *graph, const char *symbol, const char *name,
                     int64_t size)
{
    bool found = false;
    for (size_t i = 0; i < graph->input.n; i++) {
        Tensor *tensor = graph->input.at[i];
        for (int k = 0; k < tensor->shape.rank; k++) {
            if (!tensor->symbol[k] || strcmp(tensor->symbol[k], symbol))
                continue;
            found = true;
            if (name) /* "total=past + 1": it is called so */
                rename_dim(graph, tensor, k, name);
            else
                tensor->shape.dim[k] = size;
        }
    }
    if (!found)
        fail_symbol(graph, symbol);
}

static void apply_sum(Graph *graph, const char *text)
{
    char *symbol;
    int64_t size;
    const char *value = value_divide(graph->arena, text, &symbol);
    if (is_number(value))
        return;
    if (!dim_terms(graph->arena, value, size_of, graph, &size))
        fail_at(STATUS_USAGE, LOC_NONE,
                "a number, bounds (1..64), or a sum of names (past + 1)",
                "--dim %s: \"%s\" is no dimension", text, value);
    set_dims(graph, symbol, value, -1);
}

static void apply_dim(Graph *graph, const char *text)
{
    char *symbol;
    const char *value = value_divide(graph->arena, text, &symbol);
    if (is_number(value))
        set_dims(graph, symbol, NULL, value_read_dimension(value));
}

static void remove_input(Graph *graph, const Tensor *tensor)
{
    size_t n = 0;
    for (size_t i = 0; i < graph->input.n; i++)
        if (graph->input.at[i] != tensor)
            graph->input.at[n++] = graph->input.at[i];
    graph->input.n = n;
}

static void apply_constant(Graph *graph, const char *text)
{
    char *name;
    const char *path = value_divide(graph->arena, text, &name);
    Tensor *tensor = find_input(graph, name, "--const");
    Recipe *recipe = literal_read(graph, tensor, path);
    if (!recipe)
        recipe = onnx_read_tensor(graph->arena, graph->store, path, NULL, NULL);
    if (tensor->dtype != recipe_dtype(recipe))
        fail_at(STATUS_USAGE, LOC_NONE, NULL,
                "--const %s: the file holds %s, the input is %s", text,
                dtype_name(recipe_dtype(recipe)), dtype_name(tensor->dtype));
    tensor->shape = shape_of(recipe_rank(recipe), recipe_dims(recipe));
    tensor->value = recipe;
    remove_input(graph, tensor);
}

void override_inputs(Graph *graph, const Options *options)
{
    for (const char **s = options->shape; s && *s; s++)
        apply_shape(graph, *s);
    for (const char **s = options->dim; s && *s; s++)
        apply_sum(graph, *s);
    for (const char **s = options->dim; s && *s; s++)
        apply_dim(graph, *s);
    for (const char **s = options->constant; s && *s; s++)
        apply_constant(graph, *s);
}
