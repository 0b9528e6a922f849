/* SPDX-License-Identifier: Apache-2.0
 * Attention by heads multiplies stacks of matrices, [batch][heads][queries][keys]: a row of such a
 * tensor, as steps see it, is all of a head. What lies between two of those products is seen as
 * [heads][queries][keys] instead, whose rows are queries, so that scores go through a stream some
 * queries at a time and never exist as a whole. That is so between transpositions, which put heads
 * behind each other and back: these take and make rows of any size.
 *
 * Requires: layout done. Ensures: same results. */
#include "ops/ops.h"
#include "passes/passes.h"
#include "passes/relayout.h"

enum {
    MOST_NODES = 32,
    LEAST_ROW = 64 /* bytes; below, a call per row costs too much */
};

/* From a product of two stacks to the next one that reads its result, each node of which is the
 * only reader of the one before. */
typedef struct Chain {
    Node *node[MOST_NODES];
    int n;
    Shape shape;   /* of what they hand on */
    int64_t heads; /* matrices of a stack */
} Chain;

static int64_t matrices_of(const Shape *shape)
{
    int64_t matrices = 1;
    for (int i = 0; i < shape->rank - 2; i++)
        matrices *= shape->dim[i];
    return matrices;
}

/* Several matrices, which are rows as steps see them. */
static bool is_stack(const Tensor *tensor)
{
    const Shape *shape = &tensor->shape;
    bool apart = false;
    if (tensor->dynamic || !shape_known(shape) || shape->rank < 4)
        return false;
    for (int i = 1; i < shape->rank - 2; i++)
        apart |= shape->dim[i] != 1;
    return apart && shape_count(shape) > 0;
}

static int64_t row_bytes(const Tensor *tensor)
{
    const Shape *shape = &tensor->shape;
    return shape->dim[shape->rank - 1] * dtype_bits(tensor->dtype) / 8;
}

static bool multiplies_stacks(const Node *node)
{
    return !node->dead && node_is(node, "MatMul") && is_stack(node->out[0]) &&
           !node->in[0]->value;
}

/* Along the last axis. */
static bool is_softmax(const Node *node)
{
    const int rank = node->in[0]->shape.rank;
    if (!node_is(node, "Softmax") && !node_is(node, "LogSoftmax"))
        return false;
    return node_axis(node, node_int(node, "axis", -1), rank) == rank - 1;
}

/* Does it make each matrix of that at the same place of what the chain hands on? */
static bool maps_matrices(const Node *node, const Chain *chain)
{
    if (node->dead || node->n_out != 1 || !node->out[0] ||
        node->out[0]->dynamic)
        return false;
    if (!shape_equal(&node->out[0]->shape, &chain->shape))
        return false;
    return is_softmax(node) || node->op->flags & OP_ELEMENTWISE;
}

/* The same tensor as one stack, of one matrix where it is the same for all; false: it is neither.
 */
static bool view_of(const Chain *chain, const Tensor *tensor, Shape *view)
{
    const Shape *shape = &tensor->shape;
    const int last = shape->rank - 1;
    const int64_t matrices = matrices_of(shape);
    *view = *shape;
    if (shape->rank < 3)
        return true;
    if (!shape_known(shape) || (matrices != 1 && matrices != chain->heads))
        return false;
    const int64_t dims[3] = { matrices, shape->dim[last - 1],
                              shape->dim[last] };
    *view = shape_of(3, dims);
    return true;
}

static bool inputs_fit(const Chain *chain, const Node *node)
{
    Shape view;
    for (int i = 0; i < node->n_in; i++)
        if (node->in[i] && !view_of(chain, node->in[i], &view))
            return false;
    return true;
}

/* The only node that reads its result, as a node of the same graph; NULL: there is none. */
static Node *only_reader(const Graph *graph, const Node *node)
{
    const Tensor *out = node->out[0];
    if (out->uses != 1 || !out->use || out->use->node->graph != graph)
        return NULL;
    return out->use->node;
}

/* Do queries come, and results go, in any rows? What an image's rows are made of, or made into,
 * would have to be there as a whole between rows of different sizes. */
static bool has_free_ends(const Graph *graph, const Chain *chain)
{
    const Tensor *queries = chain->node[0]->in[0];
    const Node *maker = queries->producer;
    const Node *reader = only_reader(graph, chain->node[chain->n - 1]);
    const bool turned = maker && node_is(maker, "Transpose");
    return turned && queries->uses == 1 && reader &&
           node_is(reader, "Transpose");
}

static bool find_chain(const Graph *graph, Node *first, Chain *chain)
{
    *chain = (Chain){
        .node = { first },
        .n = 1,
        .shape = first->out[0]->shape,
        .heads = matrices_of(&first->out[0]->shape),
    };
    while (chain->n < MOST_NODES) {
        Node *last = chain->node[chain->n - 1];
        Node *next = only_reader(graph, last);
        if (!inputs_fit(chain, last) || !next)
            return false;
        chain->node[chain->n++] = next;
        if (multiplies_stacks(next) && next->in[0] == last->out[0])
            return inputs_fit(chain, next) && has_free_ends(graph, chain);
        if (!maps_matrices(next, chain))
            return false;
    }
    return false;
}

/* All inputs but `made`, which is one stack by now. */
static void view_inputs(Graph *graph, const Chain *chain, Node *node,
                        const Tensor *made)
{
    Tensor **in = node_copy_inputs(node);
    Shape view;
    for (int i = 0; i < node->n_in; i++) {
        if (!in[i] || in[i] == made || !view_of(chain, in[i], &view))
            continue;
        if (!shape_equal(&view, &in[i]->shape))
            in[i] = insert_reshape(graph, node, in[i], &view);
    }
    node_set_inputs(node, node->n_in, in);
}

/* The last product's result is seen as before. */
static void view_result(Graph *graph, const Chain *chain, Node *node)
{
    Tensor *out = node->out[0];
    Shape view;
    view_of(chain, out, &view);
    Tensor *dims = graph_add_ints(graph, NULL, out->shape.rank, out->shape.dim);
    Tensor *in[2] = { NULL, dims };
    in[0] = graph_add_tensor(graph, NULL, out->dtype, view);
    node->out[0] = in[0];
    in[0]->producer = node;
    Node *back = graph_insert_node(graph, node, "", "Reshape", 2, in, 1, &out);
    back->version = OPSET_NEWEST;
    back->op = op_find("", "Reshape", OPSET_NEWEST);
    out->producer = back;
}

static void stack(Graph *graph, const Chain *chain)
{
    const Tensor *made = NULL;
    for (int i = 1; i < chain->n - 1; i++)
        if (is_softmax(chain->node[i]))
            node_set_int(chain->node[i], "axis", -1);
    for (int i = 0; i < chain->n; i++) {
        Node *node = chain->node[i];
        view_inputs(graph, chain, node, made);
        if (i == chain->n - 1)
            break;
        made = node->out[0];
        view_of(chain, made, &node->out[0]->shape);
    }
    view_result(graph, chain, chain->node[chain->n - 1]);
}

void pass_heads(Graph *graph)
{
    const size_t count = graph->node.n;
    for (size_t i = 0; i < count; i++) {
        Node *node = graph->node.at[i];
        Chain chain;
        if (!multiplies_stacks(node) || row_bytes(node->out[0]) < LEAST_ROW)
            continue;
        if (find_chain(graph, node, &chain))
            stack(graph, &chain);
    }
    graph_sort(graph);
}
