/* SPDX-License-Identifier: Apache-2.0
 * Nodes that become two, so that less of a window needs to be kept: what goes over all steps and
 * over other axes goes over the others first, step by step; one step that is picked is cut out. */
#include <string.h>

#include "ops/expand.h"
#include "ops/reduce.h"
#include "ops/window.h"
#include "passes/passes.h"
#include "passes/relayout.h"
#include "passes/stream.h"

/* The axes that a node goes over, and by what. */
typedef struct Over {
    const char *op;
    bool gone[MAX_RANK];
} Over;

static void mark_image(const Node *node, Over *over)
{
    for (int i = 2; i < node->in[0]->shape.rank; i++)
        over->gone[i] = true;
}

/* A reduction in two parts is the same but for rounding; false: the node is none of those. */
static bool goes_over(const Node *node, Over *over)
{
    const OpRow *row = node->op;
    const bool real = dtype_is_float(node_type(node));
    memset(over, 0, sizeof *over);
    if (real && (node_is(node, "GlobalAveragePool") ||
                 (node_is(node, "AveragePool") && pool_is_global(node)))) {
        over->op = "ReduceMean";
        mark_image(node, over);
        return true;
    }
    if (node_is(node, "GlobalMaxPool")) {
        over->op = "ReduceMax";
        mark_image(node, over);
        return true;
    }
    if (!row->join || row->relayout != RELAYOUT_REDUCE)
        return false;
    over->op = row->name;
    const bool mean = real && row->flags & OP_MEAN;
    return (mean || !strcmp(row->join, row->name)) &&
           reduced_axes(node, over->gone);
}

/* Its window has one place along all axes but that one. */
static void narrow_pool(Node *node, int axis)
{
    const int spatial = node->in[0]->shape.rank - 2;
    int64_t count;
    int64_t taps[MAX_RANK];
    int64_t ones[MAX_RANK];
    const int64_t *old = node_ints(node, "kernel_shape", &count);
    for (int i = 0; i < spatial; i++) {
        taps[i] = i == axis - 2 ? old[i] : 1;
        ones[i] = 1;
    }
    node_set_ints(node, "kernel_shape", spatial, taps);
    node_set_ints(node, "strides", spatial, ones);
}

/* The node that goes over the other axes first; NULL: there are none. */
static Node *split_reduction(Node *node, int axis)
{
    const Shape *shape = node_shape(node, 0);
    Over over;
    int64_t axes[MAX_RANK];
    int count = 0;
    int64_t size = 1;
    if (!goes_over(node, &over) || !over.gone[axis])
        return NULL;
    for (int i = 0; i < shape->rank; i++)
        if (over.gone[i] && i != axis) {
            axes[count++] = i;
            size *= shape->dim[i];
        }
    if (size <= 1)
        return NULL;
    if (node_is(node, "AveragePool"))
        narrow_pool(node, axis);
    Tensor *list = expand_i64s(node, count, axes);
    Node *first = expand_of(node, over.op, node->in[0], list);
    node_set_input(node, 0, expand_done(first));
    return first;
}

/* One place along the axis of steps is a Slice of it; NULL: the node is no such Gather. */
static Node *split_gather(Graph *graph, Node *node, int axis)
{
    const int rank = node->in[0]->shape.rank;
    int64_t count;
    if (!node_is(node, "Gather") ||
        node_axis(node, node_int(node, "axis", 0), rank) != axis)
        return NULL;
    if (!tensor_ints(graph, node->in[1], &count) || count != 1)
        return NULL;
    gather_to_slices(graph, node);
    return node->in[0]->producer;
}

Node *stream_split(const Walk *walk, Node *node)
{
    const Flow *flow = node->n_in ? flow_of(walk, node->in[0]) : NULL;
    if (!flow || flow->kind != FLOW_STEPS)
        return NULL;
    Node *first = split_gather(walk->graph, node, flow->axis);
    if (first || flow_source(walk, node->in[0]) != node->in[0])
        return first;
    return split_reduction(node, flow->axis);
}
