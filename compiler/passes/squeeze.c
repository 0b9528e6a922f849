/* SPDX-License-Identifier: Apache-2.0
 * The average of an image that a 1x1 convolution made is that convolution of the average of its
 * operand: of one pixel. What squeezes an image into a vector (squeeze-and-excitation, the head of
 * a classifier) then reads what lies before the convolution, whose result need not be there as a
 * whole: it is made row by row for who scales it. Requires: activations are nodes of their own;
 * NCHW. Ensures: same results but for rounding. */
#include "ops/ops.h"
#include "passes/passes.h"

/* Of the spatial axes, each once. */
static bool names_spatial_axes(const Node *node)
{
    const int rank = node->in[0]->shape.rank;
    int64_t count;
    const int64_t *axes = node_in(node, 1)
                              ? tensor_ints(node->graph, node->in[1], &count)
                              : node_ints(node, "axes", &count);
    bool seen[MAX_RANK] = { false };
    if (!axes || count != rank - 2)
        return false;
    for (int64_t i = 0; i < count; i++) {
        const int axis = node_axis(node, axes[i], rank);
        if (axis < 2 || seen[axis])
            return false;
        seen[axis] = true;
    }
    return true;
}

/* Is the result the average of each channel, one pixel? */
static bool averages_image(const Node *node)
{
    const Tensor *image = node_in(node, 0);
    if (node->dead)
        return false;
    if (!image || image->shape.rank < 3)
        return false;
    if (node_is(node, "GlobalAveragePool"))
        return true;
    return node_is(node, "ReduceMean") && node_int(node, "keepdims", 1) &&
           names_spatial_axes(node);
}

/* Is each number of the attribute, which may be left out, `value`? */
static bool all_are(const Node *node, const char *attribute, int64_t value)
{
    int64_t count;
    const int64_t *given = node_ints(node, attribute, &count);
    for (int64_t i = 0; given && i < count; i++)
        if (given[i] != value)
            return false;
    return true;
}

/* A convolution that makes each pixel of the one at its place, and nothing else. */
static bool maps_pixels(const Node *node)
{
    if (!node || node->dead || !node_is(node, "Conv"))
        return false;
    const Shape *weights = &node->in[1]->shape;
    for (int i = 2; i < weights->rank; i++)
        if (weights->dim[i] != 1)
            return false;
    return all_are(node, "strides", 1) && all_are(node, "pads", 0) &&
           !node_attr(node, "act") && !node_attr(node, "residual");
}

/* The average goes through no more channels than before, unless the convolution of the image
 * vanishes. */
static bool is_less(const Node *conv)
{
    const int64_t before = conv->in[0]->shape.dim[1];
    return conv->out[0]->uses == 1 || before < conv->out[0]->shape.dim[1];
}

static void squeeze(Graph *graph, Node *average, const Node *conv)
{
    Tensor *out = average->out[0];
    Tensor *x = conv->in[0];
    Shape pixel = out->shape;
    Tensor *in[3] = { NULL, conv->in[1], node_in(conv, 2) };
    pixel.dim[1] = x->shape.dim[1];
    in[0] = graph_add_tensor(graph, NULL, x->dtype, pixel);
    node_set_input(average, 0, x);
    average->out[0] = in[0];
    in[0]->producer = average;
    Node *node =
        graph_insert_node(graph, conv, "", "Conv", in[2] ? 3 : 2, in, 1, &out);
    node_set_int(node, "group", node_int(conv, "group", 1));
    node->version = conv->version;
    node->op = conv->op;
    out->producer = node;
}

void pass_squeeze(Graph *graph)
{
    const size_t count = graph->node.n;
    for (size_t i = 0; i < count; i++) {
        Node *node = graph->node.at[i];
        if (!averages_image(node))
            continue;
        const Node *conv = node->in[0]->producer;
        if (conv && conv->graph == graph && maps_pixels(conv) && is_less(conv))
            squeeze(graph, node, conv);
    }
    graph_sort(graph);
    pass_dead(graph);
}
