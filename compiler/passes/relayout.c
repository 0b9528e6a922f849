/* SPDX-License-Identifier: Apache-2.0
 * How the attributes of each kind of operator change where its operands are permuted.
 * y = Transpose(x, perm): axis i of y is axis perm[i] of x. */
#include "passes/relayout.h"

#include "ops/ops.h"
#include "passes/passes.h"

static bool same_rank(const Node *node, int rank)
{
    return node->out[0]->shape.rank == rank;
}

static bool relayout_elementwise(Node *node, int rank, const int *perm)
{
    (void)perm;
    return same_rank(node, rank);
}

static bool map_axis(Node *node, int rank, const int *perm, int64_t otherwise)
{
    for (int i = 0; i < node->n_out; i++)
        if (node->out[i] && node->out[i]->shape.rank != rank)
            return false;
    node_set_int(
        node, "axis",
        perm[node_axis(node, node_int(node, "axis", otherwise), rank)]);
    return true;
}

static bool relayout_axis_first(Node *node, int rank, const int *perm)
{
    return map_axis(node, rank, perm, 0);
}

static bool relayout_axis_last(Node *node, int rank, const int *perm)
{
    return map_axis(node, rank, perm, -1);
}

/* One scale for all, or one for each element of an axis. */
static bool relayout_quant(Node *node, int rank, const int *perm)
{
    if (node->in[1]->value ? tensor_count(node->in[1]) == 1
                           : node->in[1]->shape.rank == 0)
        return same_rank(node, rank);
    return node->in[1]->shape.rank == 1 && !node_int(node, "block_size", 0) &&
           map_axis(node, rank, perm, 1);
}

/* Do the axes of y that stay, in order, stay in order in x? */
static bool rest_in_order(int rank, const int *perm, const bool *gone)
{
    int last = -1;
    for (int i = 0; i < rank; i++) {
        if (gone[i])
            continue;
        if (perm[i] < last)
            return false;
        last = perm[i];
    }
    return true;
}

static void set_axes(Node *node, bool by_input, int64_t count,
                     const int64_t *axes)
{
    if (!by_input) {
        node_set_ints(node, "axes", count, axes);
        return;
    }
    node_set_input(node, 1, graph_add_ints(node->graph, NULL, count, axes));
}

static bool relayout_reduce(Node *node, int rank, const int *perm)
{
    int64_t count, mapped[MAX_RANK];
    const int64_t *axes = node_ints(node, "axes", &count);
    const bool by_input = node_in(node, 1) != NULL;
    bool gone[MAX_RANK] = { false };
    if (by_input)
        axes = tensor_ints(node->graph, node->in[1], &count);
    if (!axes || count > rank)
        return false;
    for (int64_t i = 0; i < count; i++) {
        const int a = node_axis(node, axes[i], rank);
        gone[a] = true;
        mapped[i] = perm[a];
    }
    if (!same_rank(node, rank) && !rest_in_order(rank, perm, gone))
        return false;
    set_axes(node, by_input, count, mapped);
    return true;
}

static bool relayout_arg(Node *node, int rank, const int *perm)
{
    bool gone[MAX_RANK] = { false };
    const int axis = node_axis(node, node_int(node, "axis", 0), rank);
    gone[axis] = true;
    if (!same_rank(node, rank) && !rest_in_order(rank, perm, gone))
        return false;
    node_set_int(node, "axis", perm[axis]);
    return true;
}

static bool relayout_pad(Node *node, int rank, const int *perm)
{
    int64_t count, pads[2 * MAX_RANK];
    const bool by_input = node->n_in > 1;
    const int64_t *old = by_input
                             ? tensor_ints(node->graph, node->in[1], &count)
                             : node_ints(node, "pads", &count);
    if (!old || count != 2 * rank || node_in(node, 3))
        return false;
    for (int i = 0; i < rank; i++) {
        pads[perm[i]] = old[i];
        pads[rank + perm[i]] = old[rank + i];
    }
    if (by_input)
        set_axes(node, true, count, pads);
    else
        node_set_ints(node, "pads", count, pads);
    return true;
}

static bool relayout_slice(Node *node, int rank, const int *perm)
{
    int64_t count, axes_count, axes[MAX_RANK];
    if (node->n_in < 3 || !tensor_ints(node->graph, node->in[1], &count) ||
        count > rank)
        return false;
    const int64_t *old =
        tensor_ints(node->graph, node_in(node, 3), &axes_count);
    if (node_in(node, 3) && !old)
        return false;
    for (int64_t i = 0; i < count; i++)
        axes[i] = perm[old ? node_axis(node, old[i], rank) : i];
    Tensor *in[5] = { node->in[0], node->in[1], node->in[2],
                      graph_add_ints(node->graph, NULL, count, axes),
                      node_in(node, 4) };
    node_set_inputs(node, node->n_in > 4 ? 5 : 4, in);
    return true;
}

static RelayoutFn *const by_rule[RELAYOUT_COUNT] = {
    [RELAYOUT_PARTS] = relayout_axis_first,
    [RELAYOUT_AXIS] = relayout_axis_first,
    [RELAYOUT_AXIS_LAST] = relayout_axis_last,
    [RELAYOUT_REDUCE] = relayout_reduce,
    [RELAYOUT_ARG] = relayout_arg,
    [RELAYOUT_PADS] = relayout_pad,
    [RELAYOUT_SLICE] = relayout_slice,
    [RELAYOUT_QUANT] = relayout_quant,
};

RelayoutFn *relayout_find(const Node *node)
{
    if (!node->op)
        return NULL;
    if (node->op->flags & OP_ELEMENTWISE)
        return relayout_elementwise;
    return by_rule[node->op->relayout];
}

bool relayout_moves(const Node *node, int i)
{
    return i == 0 || node->op->flags & OP_ELEMENTWISE ||
           node->op->relayout == RELAYOUT_PARTS;
}

Tensor *insert_reshape(Graph *graph, const Node *before, Tensor *tensor,
                       const Shape *shape)
{
    if (shape_equal(&tensor->shape, shape))
        return tensor;
    if (tensor->value)
        return graph_add_constant(graph, NULL,
                                  recipe_reshape(graph->store, tensor->value,
                                                 shape->rank, shape->dim));
    Tensor *dims = graph_add_ints(graph, NULL, shape->rank, shape->dim);
    Tensor *in[2] = { tensor, dims };
    Tensor *out = graph_add_tensor(graph, NULL, tensor->dtype, *shape);
    Node *node =
        graph_insert_node(graph, before, "", "Reshape", 2, in, 1, &out);
    node->op = op_find("", "Reshape", OPSET_NEWEST);
    return out;
}

void become_reshape(Graph *graph, Node *node, Tensor *tensor,
                    const Shape *shape)
{
    Tensor *dims = graph_add_ints(graph, NULL, shape->rank, shape->dim);
    Tensor *in[2] = { tensor, dims };
    node_set_op(node, "", "Reshape");
    node->n_attr = 0;
    node->version = OPSET_NEWEST;
    node->op = op_find("", "Reshape", OPSET_NEWEST);
    node_set_inputs(node, 2, in);
}

Tensor *insert_reshape_rank(Graph *graph, Node *before, Tensor *tensor,
                            int rank)
{
    Shape s = { .rank = rank };
    const int more = rank - tensor->shape.rank;
    for (int i = 0; i < rank; i++)
        s.dim[i] = i < more ? 1 : tensor->shape.dim[i - more];
    return insert_reshape(graph, before, tensor, &s);
}
