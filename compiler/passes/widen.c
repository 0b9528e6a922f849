/* SPDX-License-Identifier: Apache-2.0
 * float16, bfloat16 and smaller floats are storage formats: an operator on them computes in
 * float32, its operands cast before it and its results after it. Between two such operators the
 * value stays float32: no rounding to and fro, no casts, and the float32 fusions see through (as
 * ONNX Runtime does on CPUs). Integers do the same where the operator has no kernel for them
 * (OP_WIDEN_INT), through int64 or float64. Requires: types and shapes. Ensures: no node marked so
 * has an operand of such a type. */
#include "ops/ops.h"
#include "passes/passes.h"

/* The float32 forms of values that this pass has narrowed or widened, by id. */
typedef struct Widener {
    Graph *g;
    Tensor **wide;
    int ids; /* of tensors that were there before the pass */
} Widener;

static Tensor *cast_before(Widener *w, Node *n, Tensor *in, DType to)
{
    Graph *g = w->g;
    if (to == DT_F32 && in->id < w->ids && w->wide[in->id])
        return w->wide[in->id];
    if (in->value)
        return graph_add_constant(g, NULL, recipe_cast(g->store, in->value, to));
    Tensor *out = graph_add_tensor(g, NULL, to, in->shape);
    Node *cast = graph_insert_node(g, n, "", "Cast", 1, &in, 1, &out);
    node_set_int(cast, "to", to);
    infer_node(cast);
    if (to == DT_F32 && in->id < w->ids)
        w->wide[in->id] = out;
    return out;
}

static DType compute_type(const Node *n, int i)
{
    return n->in[i] ? op_compute_type(n->op, i, n->in[i]->dtype) : DT_NONE;
}

static bool needs_widening(const Node *n)
{
    for (int i = 0; n->op && i < n->n_in; i++)
        if (n->in[i] && compute_type(n, i) != n->in[i]->dtype)
            return true;
    return false;
}

/* Results of the types that were widened: the node gets a wide result, and a Cast makes the old
 * one. */
static void narrow_outputs(Widener *w, Node *n, const DType *wide)
{
    Graph *g = w->g;
    for (int i = 0; i < n->n_out; i++) {
        Tensor *old = n->out[i];
        const DType to = !old                               ? DT_NONE
                         : dtype_is_small_float(old->dtype) ? op_compute_type(n->op, 0, old->dtype)
                                                            : wide[old->dtype];
        if (!to || to == old->dtype)
            continue;
        Tensor *result = graph_add_tensor(g, NULL, to, old->shape);
        n->out[i] = result;
        result->producer = n;
        if (old->id < w->ids && result->dtype == DT_F32)
            w->wide[old->id] = result;
        Node *cast = graph_insert_node(g, n, "", "Cast", 1, &result, 1, &old);
        node_set_int(cast, "to", old->dtype);
        infer_node(cast);
    }
}

static void widen(Widener *w, Node *n)
{
    Graph *g = w->g;
    DType wide[DT_COUNT] = { DT_NONE };
    Tensor **in = arena_copy(g->arena, n->in, (size_t)n->n_in * sizeof *in);
    for (int i = 0; i < n->n_in; i++) {
        const DType to = compute_type(n, i);
        if (!in[i] || to == in[i]->dtype)
            continue;
        wide[in[i]->dtype] = to;
        in[i] = cast_before(w, n, in[i], to);
    }
    node_set_inputs(n, n->n_in, in);
    narrow_outputs(w, n, wide);
}

void pass_widen(Graph *g)
{
    const size_t n = g->node.n;
    const int ids = graph_root(g)->next_id;
    Arena *scratch = &g->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    Widener w = { g, NEW_ARRAY(scratch, Tensor *, ids + 1), ids };
    for (size_t i = 0; i < n; i++)
        if (needs_widening(g->node.at[i]))
            widen(&w, g->node.at[i]);
    arena_release(scratch, mark);
    graph_sort(g);
    pass_dead(g);
}
