/* SPDX-License-Identifier: Apache-2.0
 * Pad with zeros in front of Conv (or of an AveragePool that counts padding, or has none) becomes
 * the operator's own padding; in front of QLinearConv, with its zero point. So it does where
 * transpositions and dimensions of 1 lie between: signals are padded channels last, then made an
 * image. Requires: types and shapes. Ensures: same results. */
#include <math.h>
#include <string.h>

#include "ops/ops.h"
#include "passes/passes.h"
#include "passes/relayout.h"

/* A Pad, and what lies between it and the node that may take it, from the node on. */
typedef struct Padding {
    const Node *pad;
    const Node *view[MAX_RANK];
    int views;
    int rank;
    int64_t pads[2 * MAX_RANK]; /* of the node's operand */
} Padding;

/* Of a constant of one number, or 0 for none; false: it is neither. */
static bool number_of(Graph *graph, const Tensor *tensor, double *number)
{
    int64_t count = 1;
    const double *given = tensor ? tensor_doubles(graph, tensor, &count) : NULL;
    *number = given && count == 1 ? given[0] : 0.0;
    return !tensor || (given && count == 1);
}

/* Is the Pad's value what the node's own padding stands for? */
static bool pads_nothing(Graph *graph, const Node *pad, const Node *node)
{
    const bool coded = node_is(node, "QLinearConv");
    double zero;
    double value;
    if (strcmp(node_string(pad, "mode", "constant"), "constant"))
        return false;
    if (!number_of(graph, coded ? node_in(node, 2) : NULL, &zero) ||
        !number_of(graph, node_in(pad, 2), &value))
        return false;
    if (!node_in(pad, 2))
        value = (double)node_float(pad, "value", 0.0f);
    return fpclassify(value - zero) == FP_ZERO;
}

static bool read_pads(Graph *graph, Padding *padding)
{
    const Node *pad = padding->pad;
    const Shape *padded = &pad->out[0]->shape;
    int64_t count;
    const int64_t *p = pad->n_in > 1 ? tensor_ints(graph, pad->in[1], &count)
                                     : node_ints(pad, "pads", &count);
    padding->rank = padded->rank;
    if (!p || count != 2 * padded->rank || node_in(pad, 3))
        return false;
    for (int64_t i = 0; i < count; i++) {
        if (p[i] < 0 || (p[i] && padded->dim[i % padded->rank] == 1))
            return false;
        padding->pads[i] = p[i];
    }
    return true;
}

/* Which axis of its operand each axis of the view is; -1: a new one, of 1. False: not all are. */
static bool axes_of(const Node *view, int *axis)
{
    const Shape *from = &view->in[0]->shape;
    const Shape *to = &view->out[0]->shape;
    int next = 0;
    if (node_is(view, "Transpose")) {
        transpose_perm(view, axis);
        return true;
    }
    for (int i = 0; i < to->rank; i++) {
        while (next < from->rank && from->dim[next] == 1)
            next++;
        axis[i] = to->dim[i] == 1 ? -1 : next++;
        if (axis[i] >= from->rank ||
            (axis[i] >= 0 && to->dim[i] != from->dim[axis[i]]))
            return false;
    }
    return true;
}

/* The first axis of a node's image. */
static int image_axis(const Node *node)
{
    return node->channels_last ? 1 : 2;
}

/* Are no images and no channels added? */
static bool pads_image(const Node *node, const Padding *padding)
{
    const int rank = padding->rank;
    const int image = image_axis(node);
    for (int axis = 0; axis < rank; axis++) {
        const int64_t more = padding->pads[axis] + padding->pads[rank + axis];
        if (more && (axis < image || axis >= image + rank - 2))
            return false;
    }
    return true;
}

/* From the Pad's axes to those of the node. */
static bool carry_pads(Padding *padding)
{
    for (int i = padding->views - 1; i >= 0; i--) {
        const int rank = padding->view[i]->out[0]->shape.rank;
        int64_t moved[2 * MAX_RANK] = { 0 };
        int axis[MAX_RANK];
        if (!axes_of(padding->view[i], axis))
            return false;
        for (int k = 0; k < rank; k++) {
            if (axis[k] < 0)
                continue;
            moved[k] = padding->pads[axis[k]];
            moved[rank + k] = padding->pads[padding->rank + axis[k]];
        }
        memcpy(padding->pads, moved, sizeof(moved));
        padding->rank = rank;
    }
    return true;
}

static bool is_view(const Node *node)
{
    return node_is(node, "Transpose") ||
           (node->op && node->op->flags & OP_VIEW);
}

/* The Pad before a node, if it may take it. */
static bool find_padding(Graph *graph, const Node *node, Padding *padding)
{
    Node *before = node->in[0]->producer;
    *padding = (Padding){ 0 };
    while (before && is_view(before) && before->out[0]->uses == 1 &&
           !before->out[0]->dynamic && padding->views < MAX_RANK) {
        padding->view[padding->views++] = before;
        before = before->in[0]->producer;
    }
    padding->pad = before;
    return before && !before->dead && node_is(before, "Pad") &&
           pads_nothing(graph, before, node) && read_pads(graph, padding) &&
           carry_pads(padding) && pads_image(node, padding);
}

/* What the node reads from now on: the same views of what is not padded. */
static Tensor *view_again(Graph *graph, Node *node, const Padding *padding)
{
    Tensor *x = padding->pad->in[0];
    for (int i = padding->views - 1; i >= 0; i--) {
        const Node *view = padding->view[i];
        Shape shape = view->out[0]->shape;
        int axis[MAX_RANK];
        axes_of(view, axis);
        for (int k = 0; k < shape.rank; k++)
            shape.dim[k] = axis[k] < 0 ? 1 : x->shape.dim[axis[k]];
        x = node_is(view, "Transpose") ? insert_transpose(graph, node, x, axis)
                                       : insert_reshape(graph, node, x, &shape);
    }
    return x;
}

static bool has_pads(const Node *node)
{
    int64_t count;
    const int64_t *pads = node_ints(node, "pads", &count);
    for (int64_t i = 0; i < count; i++)
        if (pads[i])
            return true;
    return false;
}

static bool takes_padding(const Node *node)
{
    const char *given = node_string(node, "auto_pad", "NOTSET");
    if (strcmp(given, "NOTSET") && strcmp(given, "VALID"))
        return false;
    if (node_is(node, "Conv") || node_is(node, "QLinearConv"))
        return true;
    return node_is(node, "AveragePool") && !node_int(node, "ceil_mode", 0) &&
           (node_int(node, "count_include_pad", 0) || !has_pads(node));
}

/* The node's own padding and `more`, which has all axes of its operand. */
static void add_pads(Node *node, int rank, const int64_t *more)
{
    const int axes = rank - 2;
    const int image = image_axis(node);
    int64_t count;
    int64_t pads[2 * MAX_RANK] = { 0 };
    const int64_t *own = node_ints(node, "pads", &count);
    for (int64_t i = 0; i < count; i++)
        pads[i] = own[i];
    for (int i = 0; i < axes; i++) {
        pads[i] += more[image + i];
        pads[axes + i] += more[rank + image + i];
    }
    node_set_ints(node, "pads", 2 * axes, pads);
    node_set_string(node, "auto_pad", "NOTSET");
}

static void try_fuse(Graph *graph, Node *node)
{
    Padding padding;
    if (!takes_padding(node) || !find_padding(graph, node, &padding))
        return;
    /* It was data to a pool without padding of its own. */
    if (node_is(node, "AveragePool"))
        node_set_int(node, "count_include_pad", 1);
    add_pads(node, padding.rank, padding.pads);
    node_set_input(node, 0, view_again(graph, node, &padding));
}

void pass_fuse_pad(Graph *graph)
{
    const size_t count = graph->node.n;
    for (size_t i = 0; i < count; i++) {
        Node *node = graph->node.at[i];
        if (node_in(node, 0))
            try_fuse(graph, node);
    }
    graph_sort(graph);
    pass_dead(graph);
}
