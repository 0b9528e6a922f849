/* SPDX-License-Identifier: Apache-2.0
 * A product with many columns (the logits of a language model) whose result is handed out in a
 * narrower type is made some columns at a time: computed in float32, the whole of it would be held
 * until it is narrowed. Each part of the product goes through its own Cast to its place in the
 * result. Requires: activations and sums are fused. Ensures: the same result, bit by bit. */
#include "base/size.h"
#include "ops/ops.h"
#include "passes/passes.h"

/* Columns of a part, whole tiles of every family; a product of fewer than FEWEST stays. */
enum { COLUMNS = 1024, FEWEST = 4 * COLUMNS };

/* The axis of the weights that counts the result's columns; -1: it has no such weights. */
static int column_axis(const Node *node)
{
    const bool product = node_is(node, "MatMul");
    if (node->dead || (!product && !node_is(node, "Gemm")) || node->n_in > 3)
        return -1;
    if (!node->in[1]->value || node->in[1]->shape.rank != 2)
        return -1;
    if (node->in[0]->value || node_attr(node, "residual"))
        return -1;
    return !product && node_int(node, "transB", 0) ? 0 : 1;
}

/* Is the bias, where there is one, constant, and can it be cut with the columns? */
static bool cuts_bias(const Node *node, int64_t columns)
{
    const Tensor *bias = node_in(node, 2);
    if (!bias)
        return true;
    const int64_t count = tensor_count(bias);
    return bias->value &&
           (count == 1 || (count == columns &&
                           bias->shape.dim[bias->shape.rank - 1] == columns));
}

/* The Cast to a narrower type that alone reads the product, and whose result is handed out; NULL:
 * there is none. */
static Node *narrowed_by(const Graph *graph, const Tensor *product)
{
    Node *cast = product->uses == 1 && product->use ? product->use->node : NULL;
    if (!cast || cast->dead || cast->graph != graph || !node_is(cast, "Cast"))
        return NULL;
    const Tensor *y = cast->out[0];
    if (y->dynamic || !graph_is_output(graph, y))
        return NULL;
    return dtype_bits(y->dtype) < dtype_bits(product->dtype) ? cast : NULL;
}

/* A node like `node`, with its attributes. */
static Node *insert_like(Graph *graph, const Node *node, int n_in,
                         Tensor *const *in, Tensor *out)
{
    Node *made = graph_insert_node(graph, node, node->domain, node->op_type,
                                   n_in, in, 1, &out);
    made->attr = arena_copy(graph->arena, node->attr,
                            (size_t)node->n_attr * sizeof *node->attr);
    made->n_attr = node->n_attr;
    made->version = node->version;
    made->op = node->op;
    return made;
}

static Tensor *constant_part(Graph *graph, const Tensor *whole, int axis,
                             int64_t from, int64_t count)
{
    return graph_add_constant(
        graph, NULL,
        recipe_part(graph->store, whole->value, axis, from, count));
}

/* Columns [from, from + count) of the product, narrowed. */
static Tensor *part_of(Graph *graph, const Node *product, const Node *cast,
                       int64_t from, int64_t count)
{
    const Tensor *bias = node_in(product, 2);
    Shape shape = product->out[0]->shape;
    Tensor *in[3] = { product->in[0] };
    shape.dim[shape.rank - 1] = count;
    in[1] =
        constant_part(graph, product->in[1], column_axis(product), from, count);
    in[2] = product->n_in > 2 ? product->in[2] : NULL;
    if (bias && tensor_count(bias) > 1)
        in[2] = constant_part(graph, bias, bias->shape.rank - 1, from, count);
    Tensor *wide = graph_add_tensor(graph, NULL, product->out[0]->dtype, shape);
    Tensor *narrow = graph_add_tensor(graph, NULL, cast->out[0]->dtype, shape);
    insert_like(graph, product, product->n_in, in, wide);
    insert_like(graph, cast, 1, &wide, narrow);
    return narrow;
}

static void cut(Graph *graph, Node *product, Node *cast, int64_t columns)
{
    const int64_t parts = i64_ceil_div(columns, COLUMNS);
    Tensor **part = NEW_ARRAY(graph->arena, Tensor *, parts);
    Tensor *out = cast->out[0];
    for (int64_t i = 0; i < parts; i++) {
        const int64_t from = i * COLUMNS;
        const int64_t count = i64_min(COLUMNS, columns - from);
        part[i] = part_of(graph, product, cast, from, count);
    }
    Node *all =
        graph_insert_node(graph, cast, "", "Concat", (int)parts, part, 1, &out);
    node_set_int(all, "axis", out->shape.rank - 1);
    all->version = OPSET_NEWEST;
    all->op = op_find("", "Concat", OPSET_NEWEST);
    graph_kill(cast);
    graph_kill(product);
    out->producer = all;
}

void pass_columns(Graph *graph)
{
    const size_t count = graph->node.n;
    for (size_t i = 0; i < count; i++) {
        Node *product = graph->node.at[i];
        if (column_axis(product) < 0)
            continue;
        const Tensor *y = product->out[0];
        const int64_t columns = y->shape.dim[y->shape.rank - 1];
        Node *cast = narrowed_by(graph, y);
        if (cast && columns >= FEWEST && cuts_bias(product, columns))
            cut(graph, product, cast, columns);
    }
    graph_sort(graph);
}
