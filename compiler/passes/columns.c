/* SPDX-License-Identifier: Apache-2.0
 * A product with many columns (the logits of a language model) whose result is handed out in a
 * narrower type is made some columns at a time: computed in float32, the whole of it would be held
 * until it is narrowed. Each part of the product goes through its own Cast to its place in the
 * result. Requires: activations and sums are fused. Ensures: the same result, bit by bit. */
#include "base/size.h"
#include "ops/ops.h"
#include "passes/parted.h"
#include "passes/passes.h"

/* Columns of a part, whole tiles of every family; a product of fewer than FEWEST stays. */
enum { COLUMNS = 1024, FEWEST = 4 * COLUMNS };

/* Constant weights, and nothing that is added behind? */
static bool is_plain_product(const Node *node)
{
    if (!node_is(node, "MatMul") && !node_is(node, "Gemm"))
        return false;
    const Tensor *weights = node->in[1];
    if (!weights->value || weights->shape.rank != 2)
        return false;
    if (node->in[0]->value)
        return false;
    return node->n_in <= 3 && !node_attr(node, "residual");
}

/* The axis of the weights that counts the result's columns. */
static int column_axis(const Node *node)
{
    if (node_is(node, "MatMul"))
        return 1;
    return node_int(node, "transB", 0) ? 0 : 1;
}

static int64_t columns_of(const Tensor *tensor)
{
    const Shape *shape = &tensor->shape;
    return shape->rank ? shape->dim[shape->rank - 1] : 1;
}

/* Is the bias, where there is one, constant, and can it be cut with the columns? */
static bool cuts_bias(const Node *node, int64_t columns)
{
    const Tensor *bias = node_in(node, 2);
    if (!bias)
        return true;
    if (!bias->value)
        return false;
    const int64_t count = tensor_count(bias);
    if (count == 1)
        return true;
    return count == columns && columns_of(bias) == columns;
}

/* The one node that reads a tensor; NULL: there are none, or several. */
static Node *only_reader(const Tensor *tensor)
{
    if (tensor->uses != 1 || !tensor->use)
        return NULL;
    return tensor->use->node;
}

/* The Cast to a narrower type that alone reads the product, and whose result is handed out; NULL:
 * there is none. */
static Node *narrowed_by(const Graph *graph, const Tensor *product)
{
    Node *cast = only_reader(product);
    if (!cast || cast->dead || cast->graph != graph)
        return NULL;
    if (!node_is(cast, "Cast"))
        return NULL;
    const Tensor *y = cast->out[0];
    if (y->dynamic || !graph_is_output(graph, y))
        return NULL;
    const int before = dtype_bits(product->dtype);
    return dtype_bits(y->dtype) < before ? cast : NULL;
}

/* The bias of some columns; one number for all stays as it is. */
static Tensor *bias_part(Graph *graph, const Node *product, int64_t from,
                         int64_t count)
{
    Tensor *bias = node_in(product, 2);
    if (!bias || tensor_count(bias) == 1)
        return bias;
    const int axis = bias->shape.rank - 1;
    return part_of_constant(graph, bias, axis, from, count);
}

/* Columns [from, from + count) of the product, narrowed. */
static Tensor *part_of(Graph *graph, const Node *product, const Node *cast,
                       int64_t from, int64_t count)
{
    const Tensor *whole = product->out[0];
    const DType narrower = cast->out[0]->dtype;
    const int axis = column_axis(product);
    Shape shape = whole->shape;
    shape.dim[shape.rank - 1] = count;
    Tensor *in[3];
    in[0] = product->in[0];
    in[1] = part_of_constant(graph, product->in[1], axis, from, count);
    in[2] = bias_part(graph, product, from, count);
    Tensor *wide = graph_add_tensor(graph, NULL, whole->dtype, shape);
    Tensor *narrow = graph_add_tensor(graph, NULL, narrower, shape);
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
    join_parts(graph, cast, (int)parts, part, out);
    graph_kill(product);
    graph_kill(cast);
}

void pass_columns(Graph *graph)
{
    const size_t count = graph->node.n;
    for (size_t i = 0; i < count; i++) {
        Node *product = graph->node.at[i];
        if (product->dead || !is_plain_product(product))
            continue;
        const int64_t columns = columns_of(product->out[0]);
        Node *cast = narrowed_by(graph, product->out[0]);
        if (!cast || columns < FEWEST)
            continue;
        if (cuts_bias(product, columns))
            cut(graph, product, cast, columns);
    }
    graph_sort(graph);
}
