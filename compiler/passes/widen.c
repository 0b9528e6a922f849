/* SPDX-License-Identifier: Apache-2.0
 * float16, bfloat16 and smaller floats are storage formats: an operator on them computes in float32,
 * its operands cast before it and its results after it. Between two such operators the value stays float32:
 * no rounding to and fro, no casts, and the float32 fusions see through (as ONNX Runtime does on CPUs).
 * Requires: types and shapes. Ensures: no node marked OP_WIDEN has an operand of a small float type. */
#include "ops/ops.h"
#include "passes/passes.h"

/* The float32 forms of values that this pass has narrowed or widened, by id. */
typedef struct Widener {
    Graph *g;
    Tensor **wide;
    int ids;                    /* of tensors that were there before the pass */
} Widener;

static Tensor *cast_before(Widener *w, Node *n, Tensor *in, DType to)
{
    Graph *g = w->g;
    if (in->id < w->ids && w->wide[in->id]) return w->wide[in->id];
    if (in->value) return graph_add_constant(g, NULL, recipe_cast(g->store, in->value, to));
    Tensor *out = graph_add_tensor(g, NULL, to, in->shape);
    Node *cast = graph_insert_node(g, n, "", "Cast", 1, &in, 1, &out);
    node_set_int(cast, "to", to);
    infer_node(cast);
    if (in->id < w->ids) w->wide[in->id] = out;
    return out;
}

static bool needs_widening(const Node *n)
{
    if (!n->op || !(n->op->flags & OP_WIDEN)) return false;
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && dtype_is_small_float(n->in[i]->dtype)) return true;
    return false;
}

/* Results: the node gets a float32 result, and a Cast makes the old one. */
static void narrow_outputs(Widener *w, Node *n)
{
    Graph *g = w->g;
    for (int i = 0; i < n->n_out; i++) {
        Tensor *old = n->out[i];
        if (!old || !dtype_is_small_float(old->dtype)) continue;
        Tensor *wide = graph_add_tensor(g, NULL, DT_F32, old->shape);
        n->out[i] = wide;
        wide->producer = n;
        if (old->id < w->ids) w->wide[old->id] = wide;
        Node *cast = graph_insert_node(g, n, "", "Cast", 1, &wide, 1, &old);
        node_set_int(cast, "to", old->dtype);
        infer_node(cast);
    }
}

static void widen(Widener *w, Node *n)
{
    Graph *g = w->g;
    Tensor **in = arena_copy(g->arena, n->in, (size_t)n->n_in * sizeof *in);
    for (int i = 0; i < n->n_in; i++)
        if (in[i] && dtype_is_small_float(in[i]->dtype)) in[i] = cast_before(w, n, in[i], DT_F32);
    node_set_inputs(n, n->n_in, in);
    narrow_outputs(w, n);
}

void pass_widen(Graph *g)
{
    const size_t n = g->node.n;
    const int ids = graph_root(g)->next_id;
    Arena *scratch = &g->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    Widener w = { g, NEW_ARRAY(scratch, Tensor *, ids + 1), ids };
    for (size_t i = 0; i < n; i++)
        if (needs_widening(g->node.at[i])) widen(&w, g->node.at[i]);
    arena_release(scratch, mark);
    graph_sort(g);
    pass_dead(g);
}
