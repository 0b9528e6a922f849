/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/overrides.h"

#include <string.h>

#include "cli/values.h"

static Tensor *find_input(const Graph *graph, const char *name, const char *flag)
{
    for (size_t i = 0; i < graph->input.n; i++)
        if (!strcmp(graph->input.at[i]->name, name))
            return graph->input.at[i];
    fail_at(STATUS_USAGE, LOC_NONE, "`inlay dump` lists the inputs",
            "%s: the model has no input \"%s\"", flag, name);
}

static void apply_shape(Graph *graph, const char *text)
{
    char *name;
    const Shape s = value_read_shape(value_divide(graph->arena, text, &name));
    Tensor *tensor = find_input(graph, name, "--shape");
    if (tensor->shape.rank >= 0 && tensor->shape.rank != s.rank)
        fail_at(STATUS_USAGE, LOC_NONE, NULL, "--shape %s: the input has %d dimensions, not %d",
                text, tensor->shape.rank, s.rank);
    for (int i = 0; i < s.rank && tensor->shape.rank >= 0; i++)
        if (tensor->shape.dim[i] > 0 && tensor->shape.dim[i] != s.dim[i])
            fail_at(STATUS_USAGE, LOC_NONE, NULL,
                    "--shape %s: dimension %d is fixed to %lld in the model", text, i,
                    (long long)tensor->shape.dim[i]);
    tensor->shape = s;
}

static void apply_dim(Graph *graph, const char *text)
{
    char *symbol;
    const int64_t v = value_read_dimension(value_divide(graph->arena, text, &symbol));
    bool found = false;
    for (size_t i = 0; i < graph->input.n; i++) {
        Tensor *tensor = graph->input.at[i];
        for (int k = 0; k < tensor->shape.rank; k++)
            if (tensor->symbol[k] && !strcmp(tensor->symbol[k], symbol)) {
                tensor->shape.dim[k] = v;
                found = true;
            }
    }
    if (!found)
        fail_at(STATUS_USAGE, LOC_NONE, "`inlay dump` lists the inputs with their symbols",
                "--dim: no input has a dimension \"%s\"", symbol);
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
    Recipe *recipe = onnx_read_tensor(graph->arena, graph->store, path, NULL, NULL);
    if (tensor->dtype != recipe_dtype(recipe))
        fail_at(STATUS_USAGE, LOC_NONE, NULL, "--const %s: the file holds %s, the input is %s",
                text, dtype_name(recipe_dtype(recipe)), dtype_name(tensor->dtype));
    tensor->shape = shape_of(recipe_rank(recipe), recipe_dims(recipe));
    tensor->value = recipe;
    remove_input(graph, tensor);
}

static void check_input(const Graph *graph, const Tensor *tensor)
{
    const Loc loc = { .file = graph->file, .byte = -1, .node = -1, .name = tensor->name };
    if (tensor->dtype == DT_STRING)
        error_at(STATUS_UNSUPPORTED, loc,
                 "strings stay on the host: encode them as integers before the model",
                 "the input holds strings");
    else if (tensor->dtype == DT_NONE)
        error_at(STATUS_UNSUPPORTED, loc, NULL,
                 "the input is no tensor (a sequence, map, optional or sparse tensor)");
    else if (tensor->shape.rank < 0)
        error_at(STATUS_UNSUPPORTED, loc, "give it with --shape NAME=1x3x224x224 (scalar for none)",
                 "the input has no shape");
    else
        for (int i = 0; i < tensor->shape.rank; i++)
            if (tensor->shape.dim[i] < 0)
                error_at(
                    STATUS_UNSUPPORTED, loc,
                    arena_printf(graph->arena, "fix it with --dim %s=N, or with --shape %s=...",
                                 tensor->symbol[i] ? tensor->symbol[i] : "SYMBOL", tensor->name),
                    "dimension %d (%s) is open", i,
                    tensor->symbol[i] && *tensor->symbol[i] ? tensor->symbol[i] : "without a name");
}

void override_inputs(Graph *graph, const Options *options)
{
    for (const char **s = options->shape; s && *s; s++)
        apply_shape(graph, *s);
    for (const char **s = options->dim; s && *s; s++)
        apply_dim(graph, *s);
    for (const char **s = options->constant; s && *s; s++)
        apply_constant(graph, *s);
}

/* A batch given as -1 is one; everything else that is open must be said. */
static void settle_batch(const Graph *graph, Tensor *tensor)
{
    if (tensor->shape.rank < 1 || tensor->shape.dim[0] >= 0 || !tensor->symbol[0] ||
        strcmp(tensor->symbol[0], DIM_NEGATIVE))
        return;
    const Loc loc = { .file = graph->file, .byte = -1, .node = -1, .name = tensor->name };
    warn_at(loc,
            "dimension 0 is -1 in the file; taken as a batch of 1 (--shape %s=... says otherwise)",
            tensor->name);
    tensor->shape.dim[0] = 1;
}

void override_check(const Graph *graph)
{
    for (size_t i = 0; i < graph->input.n; i++)
        settle_batch(graph, graph->input.at[i]);
    for (size_t i = 0; i < graph->input.n; i++)
        check_input(graph, graph->input.at[i]);
    fail_if_errors();
}
