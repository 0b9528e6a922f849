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

/* Where the float32 form of a tensor stands; NULL: it came with the pass. */
static Tensor **wide_form(const Widener *widener, const Tensor *tensor)
{
    return tensor->id < widener->ids ? widener->wide + tensor->id : NULL;
}

/* The model need not import a version of ai.onnx, or one that knows this Cast. */
static void finish_cast(Node *cast, DType to)
{
    cast->version = OPSET_NEWEST;
    node_set_int(cast, "to", to);
    infer_node(cast);
}

static Tensor *cast_before(Widener *widener, Node *node, Tensor *in, DType to)
{
    Graph *graph = widener->g;
    Tensor **wide = to == DT_F32 ? wide_form(widener, in) : NULL;
    if (wide && *wide)
        return *wide;
    if (in->value)
        return graph_add_constant(graph, NULL,
                                  recipe_cast(graph->store, in->value, to));
    Tensor *out = graph_add_tensor(graph, NULL, to, in->shape);
    Node *cast = graph_insert_node(graph, node, "", "Cast", 1, &in, 1, &out);
    finish_cast(cast, to);
    if (wide)
        *wide = out;
    return out;
}

static DType compute_type(const Node *node, int i)
{
    return node->in[i] ? op_compute_type(node->op, i, node->in[i]->dtype)
                       : DT_NONE;
}

static bool needs_widening(const Node *node)
{
    for (int i = 0; node->op && i < node->n_in; i++)
        if (node->in[i] && compute_type(node, i) != node->in[i]->dtype)
            return true;
    return false;
}

/* Results of the types that were widened: the node gets a wide result, and a Cast makes the old
 * one. */
static void narrow_outputs(Widener *widener, Node *node, const DType *wide)
{
    Graph *graph = widener->g;
    for (int i = 0; i < node->n_out; i++) {
        Tensor *old = node->out[i];
        if (!old)
            continue;
        DType to = wide[old->dtype];
        if (dtype_is_small_float(old->dtype))
            to = op_compute_type(node->op, 0, old->dtype);
        if (!to || to == old->dtype)
            continue;
        Tensor *result = graph_add_tensor(graph, NULL, to, old->shape);
        node->out[i] = result;
        result->producer = node;
        Tensor **form = wide_form(widener, old);
        if (form && to == DT_F32)
            *form = result;
        Node *cast =
            graph_insert_node(graph, node, "", "Cast", 1, &result, 1, &old);
        finish_cast(cast, old->dtype);
    }
}

static void widen(Widener *widener, Node *node)
{
    DType wide[DT_COUNT] = { DT_NONE };
    Tensor **in = node_copy_inputs(node);
    for (int i = 0; i < node->n_in; i++) {
        const DType to = compute_type(node, i);
        if (!in[i] || to == in[i]->dtype)
            continue;
        wide[in[i]->dtype] = to;
        in[i] = cast_before(widener, node, in[i], to);
    }
    node_set_inputs(node, node->n_in, in);
    narrow_outputs(widener, node, wide);
}

void pass_widen(Graph *graph)
{
    const size_t n = graph->node.n;
    const int ids = graph_root(graph)->next_id;
    Arena *scratch = &graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    Widener widener = { graph, NEW_ARRAY(scratch, Tensor *, ids + 1), ids };
    for (size_t i = 0; i < n; i++)
        if (needs_widening(graph->node.at[i]))
            widen(&widener, graph->node.at[i]);
    arena_release(scratch, mark);
    graph_sort(graph);
    pass_dead(graph);
}
