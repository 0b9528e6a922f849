/* SPDX-License-Identifier: Apache-2.0
 * Declared shapes travel backwards through operators that keep the shape, so that an operator whose
 * result depends on values at run time knows it where only a later value is declared. Requires:
 * sorted nodes. Ensures: only Tensor.declared of values that had none changes. */
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
            from->declared = out->declared;
    }
    arena_release(scratch, mark);
}
