/* SPDX-License-Identifier: Apache-2.0
 * Results of an If whose branches give them sizes of their own: filled up with zeros to the larger
 * one, with a result more for each axis that says how long it is. */
#include "ops/branches.h"

#include "base/size.h"
#include "ops/dynamic.h"
#include "ops/expand.h"
#include "ops/infer.h"

/* Result i as the branches have it: those that are not dead, at least one. */
typedef struct Joined {
    Node *node;
    int i;
    int live;
    Graph *branch[2];
    Tensor *of[2];
} Joined;

static Joined joined_of(Node *node, int i, Graph *const *branch)
{
    Joined joined = {
        .node = node,
        .i = i,
    };
    for (int k = 0; k < 2; k++) {
        Graph *graph = branch[k];
        if (graph->dead)
            continue;
        joined.branch[joined.live] = graph;
        joined.of[joined.live] = graph->output.at[i];
        joined.live++;
    }
    return joined;
}

static bool is_dynamic(const Tensor *tensor, int axis)
{
    return tensor->dynamic >> axis & 1u;
}

static bool is_open(const Joined *joined, int axis)
{
    const Tensor *first = joined->of[0];
    const Tensor *last = joined->of[joined->live - 1];
    if (is_dynamic(first, axis) || is_dynamic(last, axis))
        return true;
    return first->shape.dim[axis] != last->shape.dim[axis];
}

static bool has_open_axis(const Joined *joined)
{
    bool found = false;
    for (int a = 0; a < joined->of[0]->shape.rank; a++)
        found |= is_open(joined, a);
    return found;
}

static Shape bound_of(const Joined *joined)
{
    Shape bound = joined->of[0]->shape;
    for (int k = 1; k < joined->live; k++)
        for (int a = 0; a < bound.rank; a++)
            bound.dim[a] = i64_max(bound.dim[a], joined->of[k]->shape.dim[a]);
    return bound;
}

/* A node of a branch, of two operands. */
static Tensor *put(Graph *branch, const char *domain, const char *op,
                   Tensor *first, Tensor *second)
{
    const Shape unknown = { .rank = -1 };
    Tensor *in[] = { first, second };
    Tensor *out = graph_add_tensor(branch, NULL, first->dtype, unknown);
    Node *node = graph_add_node(branch, domain, op, 2, in, 1, &out);
    node->version = *domain ? 1 : OPSET_NEWEST;
    graph_root(branch)->infer_node(node);
    return out;
}

/* The tensor with zeros behind its elements, as large as the bound. */
static Tensor *filled(Graph *branch, Tensor *tensor, const Shape *bound)
{
    const int rank = bound->rank;
    int64_t pads[2 * MAX_RANK] = { 0 };
    if (tensor->dynamic)
        tensor = put(branch, "inlay", "ClearRest", tensor, tensor->dims);
    if (shape_equal(&tensor->shape, bound))
        return tensor;
    for (int a = 0; a < rank; a++)
        pads[rank + a] = bound->dim[a] - tensor->shape.dim[a];
    Tensor *amounts = graph_add_ints(branch, NULL, 2 * rank, pads);
    return put(branch, "", "Pad", tensor, amounts);
}

/* How long it is along the axis: int64 [1]. */
static Tensor *size_of(Graph *branch, const Tensor *tensor, int axis)
{
    const int64_t place = axis;
    if (!is_dynamic(tensor, axis))
        return graph_add_ints(branch, NULL, 1, tensor->shape.dim + axis);
    Tensor *places = graph_add_ints(branch, NULL, 1, &place);
    return put(branch, "", "Gather", tensor->dims, places);
}

/* One result more of the node, which its branches push. */
static Tensor *add_result(Node *node)
{
    Graph *graph = node->graph;
    Tensor **out = NEW_ARRAY(graph->arena, Tensor *, node->n_out + 1);
    for (int i = 0; i < node->n_out; i++)
        out[i] = node->out[i];
    Tensor *more = graph_add_tensor(graph, NULL, DT_I64, shape_vector(1));
    more->producer = node;
    out[node->n_out++] = more;
    node->out = out;
    return more;
}

/* As dynamic_joined() takes it. */
static int64_t part_of(const Tensor *tensor, int axis)
{
    if (is_dynamic(tensor, axis))
        return -1 - (int64_t)tensor->size_id[axis];
    return tensor->shape.dim[axis];
}

/* The number of the size: that of both branches, or one for what they give under this condition. */
static int number_of(const Joined *joined, int axis)
{
    const Node *node = joined->node;
    int64_t part[] = {
        INT64_MIN, /* no sum */
        node->in[0]->id,
        part_of(joined->of[0], axis),
        part_of(joined->of[joined->live - 1], axis),
    };
    if (part[2] == part[3])
        return joined->of[0]->size_id[axis];
    const int fresh = ++graph_root(node->graph)->next_size;
    return dynamic_joined(node, 4, part, fresh);
}

static void give_size(const Joined *joined, int axis)
{
    Tensor *size = add_result(joined->node);
    for (int k = 0; k < joined->live; k++) {
        Graph *branch = joined->branch[k];
        Tensor *own = size_of(branch, joined->of[k], axis);
        VEC_PUSH(branch->arena, &branch->output, own);
    }
    Tensor *result = joined->node->out[joined->i];
    dynamic_mark(joined->node, result, axis, size, number_of(joined, axis));
}

/* A dead branch has as many results, which nobody makes. */
static void even_out(const Joined *joined, Graph *const *branch)
{
    const Graph *live = joined->branch[0];
    for (int k = 0; k < 2; k++)
        while (branch[k]->output.n < live->output.n)
            VEC_PUSH(branch[k]->arena, &branch[k]->output,
                     branch[k]->output.at[0]);
}

bool branches_sized(Node *node, int i, Graph *const *branch)
{
    const Joined joined = joined_of(node, i, branch);
    if (!has_open_axis(&joined))
        return false;
    const Shape bound = bound_of(&joined);
    infer_out(node, i, joined.of[0]->dtype, bound);
    if (!node->out[i])
        return true;
    for (int a = 0; a < bound.rank; a++)
        if (is_open(&joined, a))
            give_size(&joined, a);
    for (int k = 0; k < joined.live; k++) {
        Graph *graph = joined.branch[k];
        graph->output.at[i] = filled(graph, joined.of[k], &bound);
    }
    even_out(&joined, branch);
    return true;
}
