/* SPDX-License-Identifier: Apache-2.0
 * Declared shapes travel backwards through operators that keep the shape, so that an operator whose
 * result depends on values at run time knows it where only a later value is declared. Requires:
 * sorted nodes. Ensures: only Tensor.declared of values that had none changes. And, when all shapes
 * are known, whether the file's declarations agree with them. */
#include <string.h>

#include "ops/ops.h"
#include "passes/passes.h"

/* What is known of each tensor, by id: the tensor whose shape it shares; NULL: it is one element.
 */
typedef struct Origins {
    Tensor **of;
    bool *known; /* else it is its own origin */
} Origins;

static bool one_element(const Node *n)
{
    const Attr *a = node_attr(n, "value");
    return node_is(n, "Constant") && (a ? a->tensor && recipe_count(a->tensor) == 1
                                        : node_attr(n, "value_int") || node_attr(n, "value_float"));
}

static bool is_single(const Origins *o, const Tensor *t)
{
    if (t->value)
        return recipe_count(t->value) == 1;
    if (!t->producer)
        return shape_known(&t->shape) && shape_count(&t->shape) == 1;
    return o->known[t->id] && !o->of[t->id];
}

static Tensor *origin(const Origins *o, Tensor *t)
{
    return o->known[t->id] ? o->of[t->id] : t;
}

/* The one origin of all operands that are not single; false: there are several. */
static bool common_origin(const Origins *o, const Node *n, Tensor **found)
{
    const int operands = n->op->flags & OP_ELEMENTWISE ? n->n_in : 1;
    *found = NULL;
    for (int i = 0; i < operands; i++) {
        Tensor *t = n->in[i];
        if (!t || is_single(o, t))
            continue;
        if (*found && *found != origin(o, t))
            return false;
        *found = origin(o, t);
    }
    return true;
}

static void note(Origins *o, const Node *n, const Tensor *out)
{
    Tensor *from = NULL;
    const bool keeps = n->op && n->op->flags & (OP_ELEMENTWISE | OP_SHAPED_LIKE_FIRST) && n->n_in;
    if (!one_element(n) && (!keeps || !common_origin(o, n, &from)))
        return;
    o->known[out->id] = true;
    o->of[out->id] = from;
}

static void assume(Tensor *t, const Tensor *like)
{
    t->declared = like->declared;
    t->assumed = true;
}

void declare_backwards(Graph *g)
{
    const int ids = graph_root(g)->next_id + 1;
    Arena *scratch = &g->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    Origins o = { NEW_ARRAY(scratch, Tensor *, ids), NEW_ARRAY(scratch, bool, ids) };
    for (size_t i = 0; i < g->node.n; i++)
        if (node_out(g->node.at[i], 0))
            note(&o, g->node.at[i], g->node.at[i]->out[0]);
    for (size_t i = g->node.n; i-- > 0;) {
        const Tensor *out = node_out(g->node.at[i], 0);
        Tensor *from = out && o.known[out->id] ? o.of[out->id] : NULL;
        if (from && shape_known(out->declared) && from->producer && from->declared->rank < 0)
            assume(from, out);
    }
    arena_release(scratch, mark);
}

/* --- afterwards: is what the file declares true? --- */

/* Do the sizes that are known in both differ? Those known only at run time are bounds. */
static bool contradicts(const Tensor *t)
{
    const Shape *d = t->declared, *s = &t->shape;
    if (t->assumed || d->rank < 0 || s->rank < 0 || t->sequence)
        return false;
    bool differs = d->rank != s->rank;
    for (int i = 0; !differs && i < s->rank; i++)
        differs =
            d->dim[i] >= 0 && s->dim[i] >= 0 && d->dim[i] != s->dim[i] && !(t->dynamic >> i & 1u);
    return differs;
}

/* Did the user give sizes that the file leaves open? Then it does not contradict itself. */
static bool sizes_given(const Graph *g)
{
    for (size_t i = 0; i < g->input.n; i++) {
        const Tensor *t = g->input.at[i];
        if (!shape_known(t->declared) && shape_known(&t->shape))
            return true;
    }
    return false;
}

/* Converters declare [1,1] for what ai.onnx.ml makes, however many targets or classes there are. */
static bool is_forgiven(const Tensor *t)
{
    return t->producer && !strcmp(t->producer->domain, "ai.onnx.ml");
}

static void report(const Tensor *t, bool given)
{
    const Graph *root = graph_root(t->graph);
    const Loc loc =
        t->producer ? node_loc(t->producer) : (Loc){ .file = root->file, .byte = -1, .node = -1 };
    const char *declared = shape_text(root->arena, t->declared),
               *found = shape_text(root->arena, &t->shape);
    if (given || is_forgiven(t))
        warn_at(loc, "value \"%s\" is declared as %s, but is %s%s", t->name, declared, found,
                given ? " with these sizes" : "");
    else
        error_at(STATUS_MALFORMED, loc, "declare its true shape, or none",
                 "value \"%s\" is declared as %s, but is %s", t->name, declared, found);
}

void declare_check(Graph *g)
{
    const bool given = sizes_given(g);
    int found = 0;
    for (size_t k = 0; k < g->all.n; k++) {
        const Graph *part = g->all.at[k];
        for (size_t i = 0; !graph_gone(part) && i < part->tensor.n; i++)
            if (contradicts(part->tensor.at[i]) && (!given || !found++))
                report(part->tensor.at[i], given);
    }
    fail_if_errors();
}
