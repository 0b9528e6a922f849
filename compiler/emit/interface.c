/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/interface.h"

#include <inttypes.h>

static bool in_arena(const Tensor *t)
{
    return t->storage == STORE_ARENA;
}

static bool comes_by_row(const Emitter *e, const Tensor *t)
{
    const Step *s = program_pushed(e->p);
    return s && s->operand[0].tensor == t;
}

static size_t count_in_arena(Tensor *const *v, size_t n)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += in_arena(v[i]);
    return found;
}

/* ---- the arena, or its regions ---- */

void interface_arena(Text *t, const Emitter *e)
{
    const Plan *plan = &e->p->plan;
    if (!plan->region.n)
        text_print(t,
                   "#define %s_ARENA_SIZE %" PRId64
                   "u     /* bytes; everything that changes at run time, scratch included */\n",
                   e->upper, plan->arena_size);
    for (size_t i = 0; i < plan->region.n; i++)
        text_print(t, "#define %s_ARENA_%s_SIZE %" PRId64 "u     /* bytes of arena_%s */\n",
                   e->upper, text_upper(e->arena, plan->region.at[i].name), plan->region.at[i].size,
                   plan->region.at[i].name);
    text_print(t, "#define %s_ARENA_ALIGN %" PRId64 "u\n", e->upper, plan->arena_align);
}

/* With regions: the structure of their pointers. */
static void arenas(Text *t, const Emitter *e)
{
    const Plan *plan = &e->p->plan;
    if (!plan->region.n)
        return;
    text_print(t,
               "/* Everything that changes at run time, scratch included, lies in these, each "
               "aligned to %s_ARENA_ALIGN. */\ntypedef struct {\n",
               e->upper);
    for (size_t i = 0; i < plan->region.n; i++) {
        const RegionUse *r = plan->region.at + i;
        text_print(t, "    void *arena_%s;  /* %" PRId64 " bytes of %" PRId64 "%s */\n", r->name,
                   r->size, r->capacity, r->size ? "" : ": NULL");
    }
    text_print(t, "} %s_arenas;\n\n", e->name);
}

const char *interface_arena_type(const Emitter *e)
{
    return e->p->plan.region.n ? arena_printf(e->arena, "const %s_arenas *", e->name) : "void *";
}

static void arena_base(Text *t, const Emitter *e, int base, const char *from, bool used)
{
    if (used)
        text_print(t, "    if (!%s) return %s_E_ARG;\n", from, e->upper);
    text_print(t, "    if ((uintptr_t)%s %% %s_ARENA_ALIGN) return %s_E_ALIGN;\n", from, e->upper,
               e->upper);
    text_print(t, "    base[%d] = %s;\n", base, from);
}

void interface_arena_bases(Text *t, const Emitter *e)
{
    const Plan *plan = &e->p->plan;
    if (!plan->region.n)
        arena_base(t, e, INLAY_ARENA, "arena", plan->arena_size != 0);
    else
        text_print(t, "    if (!arena) return %s_E_ARG;\n", e->upper);
    for (size_t i = 0; i < plan->region.n; i++)
        arena_base(t, e, INLAY_ARENA + (int)i,
                   arena_printf(e->arena, "arena->arena_%s", plan->region.at[i].name),
                   plan->region.at[i].size != 0);
}

/* ---- inputs and results ---- */

static void offsets(Text *t, const Emitter *e, const char *kind, Tensor *const *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (in_arena(v[i]) && !comes_by_row(e, v[i]))
            text_print(t, "#define %s_%s%zu_OFFSET %" PRId64 "u     /* bytes into %s%s */\n",
                       e->upper, kind, i, v[i]->offset,
                       e->p->plan.region.n ? "arena_" : "the arena",
                       e->p->plan.region.n ? e->p->plan.region.at[v[i]->region].name : "");
}

void interface_offsets(Text *t, const Emitter *e)
{
    offsets(t, e, "IN", e->p->graph->input.at, e->p->graph->input.n);
    offsets(t, e, "OUT", e->p->graph->output.at, graph_results(e->p->graph));
}

/* One member: its type, place and, as comment, name and shape in the model. */
static void member(Text *t, const Emitter *e, const Tensor *v, const char *constant,
                   const char *kind, size_t i)
{
    text_print(t, "    %s%s *%s%zu;", constant, dtype_ctype(v->dtype), kind, i);
    text_put(t, "  /* ");
    text_comment(t, v->name);
    const Shape shape = tensor_model_shape(v);
    text_print(t, ": %s %s, %" PRId64 " bytes", dtype_name(v->dtype), shape_text(t->arena, &shape),
               tensor_bytes(v));
    if (in_arena(v))
        text_print(t, "; NULL: it %s",
                   comes_by_row(e, v) ? "comes row by row" : "lies in the arena");
    if (v->perm)
        text_print(t, " as %s", shape_text(t->arena, &v->shape));
    for (int k = 0; v->perm && k < v->shape.rank; k++)
        text_print(t, "%s%d", k ? ", " : ", which are dimensions ", v->perm[k]);
    text_put(t, " */\n");
}

/* What a caller must know of inputs and results in the arena. */
static void inside_notes(Text *t, const Emitter *e)
{
    const Graph *g = e->p->graph;
    if (count_in_arena(g->input.at, g->input.n) > (program_pushed(e->p) != NULL))
        text_print(t,
                   "\n/* Inputs in the arena are written there before each run, row-major in the "
                   "dimensions given above. The run %s. */\n",
                   e->p->plan.preserve_input ? "leaves them as they are" : "overwrites them");
    if (count_in_arena(g->output.at, graph_results(g)))
        text_put(t, "\n/* Results in the arena are there after a run, until the arena is written "
                    "again. */\n");
}

Text interface_structs(const Emitter *e)
{
    const Graph *g = e->p->graph;
    Text t = text_new(e->arena);
    arenas(&t, e);
    text_put(&t, "typedef struct {\n");
    for (size_t i = 0; i < g->input.n; i++)
        member(&t, e, g->input.at[i], "const ", "in", i);
    if (!g->input.n)
        text_put(&t, "    const void *none;       /* the model has no inputs */\n");
    text_print(&t, "} %s_inputs;\n\ntypedef struct {\n", e->name);
    for (size_t i = 0; i < graph_results(g); i++) {
        member(&t, e, g->output.at[i], "", "out", i);
        if (g->output.at[i]->dynamic)
            text_print(
                &t, "    int64_t *out%zu_dims;    /* gets the %d real dimensions; may be NULL */\n",
                i, g->output.at[i]->shape.rank);
    }
    text_print(&t, "} %s_outputs;\n", e->name);
    inside_notes(&t, e);
    return t;
}

/* Pointers of the caller: each is there, or NULL where the value lies in the arena. */
static int pointers(Text *t, const Emitter *e, const char *kind, Tensor *const *v, size_t n, int at)
{
    const bool must = count_in_arena(v, n) < n;
    if (!n)
        text_print(t, "    (void)%s;\n", kind);
    if (must)
        text_print(t, "    if (!%s) return %s_E_ARG;\n", kind, e->upper);
    for (size_t i = 0; i < n; i++, at++)
        if (in_arena(v[i]))
            text_print(t, "    if (%s%s%s->%s%zu) return %s_E_ARG;\n", must ? "" : kind,
                       must ? "" : " && ", kind, kind, i, e->upper);
        else
            text_print(t, "    if ((base[%d] = (void *)%s->%s%zu) == NULL) return %s_E_ARG;\n", at,
                       kind, kind, i, e->upper);
    return at;
}

Text interface_bases(const Emitter *e)
{
    const Graph *g = e->p->graph;
    Text t = text_new(e->arena);
    const size_t results = graph_results(g);
    for (size_t i = 0; i < results; i++)
        if (g->output.at[i]->dynamic)
            text_print(&t,
                       "    int64_t dims%zu[%d];       /* where the caller does not want them */\n",
                       i, g->output.at[i]->shape.rank);
    if (has_weights(e))
        text_print(&t, "    if (!weights) return %s_E_ARG;\n", e->upper);
    if (has_weights(e))
        text_print(&t,
                   "    if ((uintptr_t)weights %% %s_WEIGHTS_ALIGN) return %s_E_ALIGN;\n"
                   "    if (!inlay_sealed(weights, %s_WEIGHTS_SIZE, seal)) return %s_E_WEIGHTS;\n",
                   e->upper, e->upper, e->upper, e->upper);
    text_print(&t, "    base[INLAY_WEIGHTS] = %s;\n", has_weights(e) ? "(void *)weights" : "NULL");
    interface_arena_bases(&t, e);
    int at = pointers(&t, e, "in", g->input.at, g->input.n, INLAY_ARENA + program_regions(e->p));
    at = pointers(&t, e, "out", g->output.at, results, at);
    for (size_t i = 0; i < results; i++)
        if (g->output.at[i]->dynamic)
            text_print(
                &t,
                "    base[%d] = (void *)(out && out->out%zu_dims ? out->out%zu_dims : dims%zu);\n",
                at++, i, i, i);
    return t;
}
