/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/overrides.h"

#include <string.h>

#include "cli/values.h"

static Tensor *find_input(const Graph *g, const char *name, const char *flag)
{
    for (size_t i = 0; i < g->input.n; i++)
        if (!strcmp(g->input.at[i]->name, name))
            return g->input.at[i];
    fail_at(STATUS_USAGE, LOC_NONE, "`inlay dump` lists the inputs",
            "%s: the model has no input \"%s\"", flag, name);
}

static void apply_shape(Graph *g, const char *text)
{
    char *name;
    const Shape s = value_read_shape(value_divide(g->arena, text, &name));
    Tensor *t = find_input(g, name, "--shape");
    if (t->shape.rank >= 0 && t->shape.rank != s.rank)
        fail_at(STATUS_USAGE, LOC_NONE, NULL, "--shape %s: the input has %d dimensions, not %d",
                text, t->shape.rank, s.rank);
    for (int i = 0; i < s.rank && t->shape.rank >= 0; i++)
        if (t->shape.dim[i] > 0 && t->shape.dim[i] != s.dim[i])
            fail_at(STATUS_USAGE, LOC_NONE, NULL,
                    "--shape %s: dimension %d is fixed to %lld in the model", text, i,
                    (long long)t->shape.dim[i]);
    t->shape = s;
}

static void apply_dim(Graph *g, const char *text)
{
    char *symbol;
    const int64_t v = value_read_dimension(value_divide(g->arena, text, &symbol));
    bool found = false;
    for (size_t i = 0; i < g->input.n; i++) {
        Tensor *t = g->input.at[i];
        for (int k = 0; k < t->shape.rank; k++)
            if (t->symbol[k] && !strcmp(t->symbol[k], symbol)) {
                t->shape.dim[k] = v;
                found = true;
            }
    }
    if (!found)
        fail_at(STATUS_USAGE, LOC_NONE, "`inlay dump` lists the inputs with their symbols",
                "--dim: no input has a dimension \"%s\"", symbol);
}

static void remove_input(Graph *g, const Tensor *t)
{
    size_t n = 0;
    for (size_t i = 0; i < g->input.n; i++)
        if (g->input.at[i] != t)
            g->input.at[n++] = g->input.at[i];
    g->input.n = n;
}

static void apply_constant(Graph *g, const char *text)
{
    char *name;
    const char *path = value_divide(g->arena, text, &name);
    Tensor *t = find_input(g, name, "--const");
    Recipe *r = onnx_read_tensor(g->arena, g->store, path, NULL, NULL);
    if (t->dtype != recipe_dtype(r))
        fail_at(STATUS_USAGE, LOC_NONE, NULL, "--const %s: the file holds %s, the input is %s",
                text, dtype_name(recipe_dtype(r)), dtype_name(t->dtype));
    t->shape = shape_of(recipe_rank(r), recipe_dims(r));
    t->value = r;
    remove_input(g, t);
}

static void check_input(const Graph *g, const Tensor *t)
{
    const Loc loc = { .file = g->file, .byte = -1, .node = -1, .name = t->name };
    if (t->dtype == DT_STRING)
        error_at(STATUS_UNSUPPORTED, loc,
                 "strings stay on the host: encode them as integers before the model",
                 "the input holds strings");
    else if (t->dtype == DT_NONE)
        error_at(STATUS_UNSUPPORTED, loc, NULL,
                 "the input is no tensor (a sequence, map, optional or sparse tensor)");
    else if (t->shape.rank < 0)
        error_at(STATUS_UNSUPPORTED, loc, "give it with --shape NAME=1x3x224x224 (scalar for none)",
                 "the input has no shape");
    else
        for (int i = 0; i < t->shape.rank; i++)
            if (t->shape.dim[i] < 0)
                error_at(STATUS_UNSUPPORTED, loc,
                         arena_printf(g->arena, "fix it with --dim %s=N, or with --shape %s=...",
                                      t->symbol[i] ? t->symbol[i] : "SYMBOL", t->name),
                         "dimension %d (%s) is open", i,
                         t->symbol[i] && *t->symbol[i] ? t->symbol[i] : "without a name");
}

void override_inputs(Graph *g, const Options *o)
{
    for (const char **s = o->shape; s && *s; s++)
        apply_shape(g, *s);
    for (const char **s = o->dim; s && *s; s++)
        apply_dim(g, *s);
    for (const char **s = o->constant; s && *s; s++)
        apply_constant(g, *s);
}

/* A batch given as -1 is one; everything else that is open must be said. */
static void settle_batch(const Graph *g, Tensor *t)
{
    if (t->shape.rank < 1 || t->shape.dim[0] >= 0 || !t->symbol[0] ||
        strcmp(t->symbol[0], DIM_NEGATIVE))
        return;
    const Loc loc = { .file = g->file, .byte = -1, .node = -1, .name = t->name };
    warn_at(loc,
            "dimension 0 is -1 in the file; taken as a batch of 1 (--shape %s=... says otherwise)",
            t->name);
    t->shape.dim[0] = 1;
}

void override_check(const Graph *g)
{
    for (size_t i = 0; i < g->input.n; i++)
        settle_batch(g, g->input.at[i]);
    for (size_t i = 0; i < g->input.n; i++)
        check_input(g, g->input.at[i]);
    fail_if_errors();
}
