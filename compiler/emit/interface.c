/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/interface.h"

#include <inttypes.h>

static bool in_arena(const Tensor *tensor)
{
    return tensor->storage == STORE_ARENA;
}

static bool comes_by_row(const Emitter *emitter, const Tensor *t)
{
    const Step *step = program_pushed(emitter->p);
    return step && step->operand[0].tensor == t;
}

static size_t count_in_arena(Tensor *const *v, size_t n)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += in_arena(v[i]);
    return found;
}

/* ---- the arena, or its regions ---- */

void interface_arena(Text *text, const Emitter *emitter)
{
    const Plan *plan = &emitter->p->plan;
    if (!plan->region.n)
        text_print(text,
                   "#define %s_ARENA_SIZE %" PRId64
                   "u     /* bytes; everything that changes at run time, scratch included */\n",
                   emitter->upper, plan->arena_size);
    for (size_t i = 0; i < plan->region.n; i++)
        text_print(text, "#define %s_ARENA_%s_SIZE %" PRId64 "u     /* bytes of arena_%s */\n",
                   emitter->upper, text_upper(emitter->arena, plan->region.at[i].name),
                   plan->region.at[i].size, plan->region.at[i].name);
    text_print(text, "#define %s_ARENA_ALIGN %" PRId64 "u\n", emitter->upper, plan->arena_align);
}

/* With regions: the structure of their pointers. */
static void arenas(Text *text, const Emitter *emitter)
{
    const Plan *plan = &emitter->p->plan;
    if (!plan->region.n)
        return;
    text_print(text,
               "/* Everything that changes at run time, scratch included, lies in these, each "
               "aligned to %s_ARENA_ALIGN. */\ntypedef struct {\n",
               emitter->upper);
    for (size_t i = 0; i < plan->region.n; i++) {
        const RegionUse *r = plan->region.at + i;
        text_print(text, "    void *arena_%s;  /* %" PRId64 " bytes of %" PRId64 "%s */\n", r->name,
                   r->size, r->capacity, r->size ? "" : ": NULL");
    }
    text_print(text, "} %s_arenas;\n\n", emitter->name);
}

const char *interface_arena_type(const Emitter *emitter)
{
    return emitter->p->plan.region.n
               ? arena_printf(emitter->arena, "const %s_arenas *", emitter->name)
               : "void *";
}

static void arena_base(Text *text, const Emitter *emitter, int base, const char *from, bool used)
{
    if (used)
        text_print(text, "    if (!%s) return %s_E_ARG;\n", from, emitter->upper);
    text_print(text, "    if ((uintptr_t)%s %% %s_ARENA_ALIGN) return %s_E_ALIGN;\n", from,
               emitter->upper, emitter->upper);
    text_print(text, "    base[%d] = %s;\n", base, from);
}

void interface_arena_bases(Text *text, const Emitter *emitter)
{
    const Plan *plan = &emitter->p->plan;
    if (!plan->region.n)
        arena_base(text, emitter, INLAY_ARENA, "arena", plan->arena_size != 0);
    else
        text_print(text, "    if (!arena) return %s_E_ARG;\n", emitter->upper);
    for (size_t i = 0; i < plan->region.n; i++)
        arena_base(text, emitter, INLAY_ARENA + (int)i,
                   arena_printf(emitter->arena, "arena->arena_%s", plan->region.at[i].name),
                   plan->region.at[i].size != 0);
}

/* ---- inputs and results ---- */

static void offsets(Text *text, const Emitter *emitter, const char *kind, Tensor *const *v,
                    size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (in_arena(v[i]) && !comes_by_row(emitter, v[i]))
            text_print(text, "#define %s_%s%zu_OFFSET %" PRId64 "u     /* bytes into %s%s */\n",
                       emitter->upper, kind, i, v[i]->offset,
                       emitter->p->plan.region.n ? "arena_" : "the arena",
                       emitter->p->plan.region.n ? emitter->p->plan.region.at[v[i]->region].name
                                                 : "");
}

void interface_offsets(Text *text, const Emitter *emitter)
{
    offsets(text, emitter, "IN", emitter->p->graph->input.at, emitter->p->graph->input.n);
    offsets(text, emitter, "OUT", emitter->p->graph->output.at, graph_results(emitter->p->graph));
}

/* One member: its type, place and, as comment, name and shape in the model. */
static void member(Text *text, const Emitter *emitter, const Tensor *tensor, const char *constant,
                   const char *kind, size_t i)
{
    text_print(text, "    %s%s *%s%zu;", constant, dtype_ctype(tensor->dtype), kind, i);
    text_put(text, "  /* ");
    text_comment(text, tensor->name);
    const Shape shape = tensor_model_shape(tensor);
    text_print(text, ": %s %s, %" PRId64 " bytes", dtype_name(tensor->dtype),
               shape_text(text->arena, &shape), tensor_bytes(tensor));
    if (in_arena(tensor))
        text_print(text, "; NULL: it %s",
                   comes_by_row(emitter, tensor) ? "comes row by row" : "lies in the arena");
    if (tensor->perm)
        text_print(text, " as %s", shape_text(text->arena, &tensor->shape));
    for (int k = 0; tensor->perm && k < tensor->shape.rank; k++)
        text_print(text, "%s%d", k ? ", " : ", which are dimensions ", tensor->perm[k]);
    text_put(text, " */\n");
}

/* What a caller must know of inputs and results in the arena. */
static void inside_notes(Text *text, const Emitter *emitter)
{
    const Graph *g = emitter->p->graph;
    if (count_in_arena(g->input.at, g->input.n) > (program_pushed(emitter->p) != NULL))
        text_print(text,
                   "\n/* Inputs in the arena are written there before each run, row-major in the "
                   "dimensions given above. The run %s. */\n",
                   emitter->p->plan.preserve_input ? "leaves them as they are" : "overwrites them");
    if (count_in_arena(g->output.at, graph_results(g)))
        text_put(text,
                 "\n/* Results in the arena are there after a run, until the arena is written "
                 "again. */\n");
}

Text interface_structs(const Emitter *emitter)
{
    const Graph *g = emitter->p->graph;
    Text text = text_new(emitter->arena);
    arenas(&text, emitter);
    text_put(&text, "typedef struct {\n");
    for (size_t i = 0; i < g->input.n; i++)
        member(&text, emitter, g->input.at[i], "const ", "in", i);
    if (!g->input.n)
        text_put(&text, "    const void *none;       /* the model has no inputs */\n");
    text_print(&text, "} %s_inputs;\n\ntypedef struct {\n", emitter->name);
    for (size_t i = 0; i < graph_results(g); i++) {
        member(&text, emitter, g->output.at[i], "", "out", i);
        if (g->output.at[i]->dynamic)
            text_print(
                &text,
                "    int64_t *out%zu_dims;    /* gets the %d real dimensions; may be NULL */\n", i,
                g->output.at[i]->shape.rank);
    }
    text_print(&text, "} %s_outputs;\n", emitter->name);
    inside_notes(&text, emitter);
    return text;
}

/* Pointers of the caller: each is there, or NULL where the value lies in the arena. */
static int pointers(Text *text, const Emitter *emitter, const char *kind, Tensor *const *v,
                    size_t n, int at)
{
    const bool must = count_in_arena(v, n) < n;
    if (!n)
        text_print(text, "    (void)%s;\n", kind);
    if (must)
        text_print(text, "    if (!%s) return %s_E_ARG;\n", kind, emitter->upper);
    for (size_t i = 0; i < n; i++, at++)
        if (in_arena(v[i]))
            text_print(text, "    if (%s%s%s->%s%zu) return %s_E_ARG;\n", must ? "" : kind,
                       must ? "" : " && ", kind, kind, i, emitter->upper);
        else
            text_print(text, "    if ((base[%d] = (void *)%s->%s%zu) == NULL) return %s_E_ARG;\n",
                       at, kind, kind, i, emitter->upper);
    return at;
}

Text interface_bases(const Emitter *emitter)
{
    const Graph *g = emitter->p->graph;
    Text text = text_new(emitter->arena);
    const size_t results = graph_results(g);
    for (size_t i = 0; i < results; i++)
        if (g->output.at[i]->dynamic)
            text_print(&text,
                       "    int64_t dims%zu[%d];       /* where the caller does not want them */\n",
                       i, g->output.at[i]->shape.rank);
    if (has_weights(emitter))
        text_print(&text, "    if (!weights) return %s_E_ARG;\n", emitter->upper);
    if (has_weights(emitter))
        text_print(&text,
                   "    if ((uintptr_t)weights %% %s_WEIGHTS_ALIGN) return %s_E_ALIGN;\n"
                   "    if (!inlay_sealed(weights, %s_WEIGHTS_SIZE, seal)) return %s_E_WEIGHTS;\n",
                   emitter->upper, emitter->upper, emitter->upper, emitter->upper);
    text_print(&text, "    base[INLAY_WEIGHTS] = %s;\n",
               has_weights(emitter) ? "(void *)weights" : "NULL");
    interface_arena_bases(&text, emitter);
    int at = pointers(&text, emitter, "in", g->input.at, g->input.n,
                      INLAY_ARENA + program_regions(emitter->p));
    at = pointers(&text, emitter, "out", g->output.at, results, at);
    for (size_t i = 0; i < results; i++)
        if (g->output.at[i]->dynamic)
            text_print(
                &text,
                "    base[%d] = (void *)(out && out->out%zu_dims ? out->out%zu_dims : dims%zu);\n",
                at++, i, i, i);
    return text;
}
