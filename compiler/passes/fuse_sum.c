/* SPDX-License-Identifier: Apache-2.0
 * Branches of one image that are added are one convolution. Networks are trained with several
 * (RepVGG, MobileOne, RepLKNet), and many are exported before theirs are joined. The smaller window
 * lies within the larger one, with weights of 0 around it; a BatchNormalization of the image, and
 * the image itself, are convolutions of one pixel. Requires: BatchNormalizations are in the Convs
 * before them; activations are nodes of their own; NCHW. Ensures: same results but for rounding. */
#include "ops/ops.h"
#include "ops/window.h"
#include "passes/passes.h"

/* Weights that are made in memory: no more numbers than these. */
enum { MOST_NUMBERS = 1 << 18 };

typedef struct Branch {
    Node *conv; /* NULL: a map of each pixel */
    Tensor *image;
    int64_t group;
    Window window;
    Recipe *weights; /* [channels][those of the image / group][taps ...] */
    Recipe *bias;    /* [channels]; NULL: none */
} Branch;

/* Float32 constants that no narrower numbers stand for, which would become wider. */
static bool is_plain(Graph *graph, const Tensor *tensor)
{
    Narrow narrow;
    return tensor->value && tensor->dtype == DT_F32 &&
           !recipe_narrow(graph->store, tensor->value, &narrow);
}

/* The node of this graph that makes the value, which the sum alone reads; NULL: it is none. */
static Node *maker_for_sum(const Graph *graph, const Tensor *value)
{
    Node *node = value->producer;
    if (!node || node->dead || node->graph != graph)
        return NULL;
    return value->uses == 1 && node->n_out == 1 ? node : NULL;
}

static bool is_conv_branch(Graph *graph, const Tensor *value, Branch *branch)
{
    Node *conv = maker_for_sum(graph, value);
    if (!conv || !node_is(conv, "Conv") || node_attr(conv, "act") ||
        node_attr(conv, "residual"))
        return false;
    const Tensor *weights = conv->in[1];
    const Tensor *bias = node_in(conv, 2);
    if (!is_plain(graph, weights) || (bias && !is_plain(graph, bias)))
        return false;
    *branch = (Branch){
        .conv = conv,
        .image = conv->in[0],
        .group = node_int(conv, "group", 1),
        .window = window_of(conv, weights->shape.dim + 2),
        .weights = weights->value,
        .bias = bias ? bias->value : NULL,
    };
    return true;
}

/* A factor and a summand for each channel of an image; NULL: 1 and 0. */
typedef struct PixelMap {
    const double *factor, *shift;
} PixelMap;

/* False: the value is neither the image nor a BatchNormalization of it. */
static bool is_map_of(const Graph *graph, const Tensor *value,
                      const Tensor *image, PixelMap *map)
{
    double *factor;
    double *shift;
    *map = (PixelMap){ NULL, NULL };
    if (value == image)
        return true;
    const Node *norm = maker_for_sum(graph, value);
    if (!norm || !node_is(norm, "BatchNormalization") || norm->in[0] != image ||
        node_attr(norm, "act") || batchnorm_trains(norm) ||
        !batchnorm_factors(norm, &factor, &shift))
        return false;
    *map = (PixelMap){ factor, shift };
    return true;
}

/* Weights of one tap: each channel takes its own of the image's. */
static Recipe *map_weights(Graph *graph, const Branch *beside,
                           const double *factor)
{
    const int64_t channels = beside->window.channels;
    const int64_t inner = channels / beside->group;
    Shape shape = { .rank = 2 + beside->window.spatial,
                    .dim = { channels, inner } };
    for (int i = 2; i < shape.rank; i++)
        shape.dim[i] = 1;
    float *weight = NEW_ARRAY(graph->arena, float, channels *inner);
    for (int64_t c = 0; c < channels; c++)
        weight[c * inner + c % inner] = factor ? (float)factor[c] : 1.0f;
    return recipe_memory(graph->store, DT_F32, shape.rank, shape.dim, weight);
}

static Recipe *map_bias(Graph *graph, int64_t channels, const double *shift)
{
    float *bias = NEW_ARRAY(graph->arena, float, channels);
    for (int64_t c = 0; c < channels; c++)
        bias[c] = (float)shift[c];
    return recipe_memory(graph->store, DT_F32, 1, &channels, bias);
}

/* A map of the image that the branch beside it reads. */
static bool is_map_branch(Graph *graph, const Tensor *value,
                          const Branch *beside, Branch *branch)
{
    const int64_t channels = beside->window.channels;
    PixelMap map;
    if (channels * (channels / beside->group) > MOST_NUMBERS)
        return false;
    if (!is_map_of(graph, value, beside->image, &map))
        return false;
    *branch = (Branch){
        .image = beside->image,
        .group = beside->group,
        .window = { .spatial = beside->window.spatial,
                    .axis = { window_one, window_one, window_one } },
        .weights = map_weights(graph, beside, map.factor),
        .bias = map.shift ? map_bias(graph, channels, map.shift) : NULL,
    };
    return true;
}

/* The tap of the larger window at which the smaller one begins; -1: it does not lie within. */
static int64_t tap_within(const WindowAxis *large, const WindowAxis *small)
{
    const int64_t before = large->pad - small->pad;
    const bool as_wide =
        small->kernel == 1 || small->dilation == large->dilation;
    if (!as_wide || small->stride != large->stride || before < 0 ||
        before % large->dilation)
        return -1;
    const int64_t tap = before / large->dilation;
    return tap + small->kernel <= large->kernel ? tap : -1;
}

static bool lies_within(const Branch *large, const Branch *small)
{
    if (!large->conv || large->image != small->image ||
        large->group != small->group)
        return false;
    for (int i = 0; i < WINDOW_DIMS; i++)
        if (tap_within(large->window.axis + i, small->window.axis + i) < 0)
            return false;
    return true;
}

static Recipe *sum_of_weights(Store *store, const Branch *large,
                              const Branch *small)
{
    const int first = WINDOW_DIMS - large->window.spatial;
    Recipe *weights = small->weights;
    for (int i = first; i < WINDOW_DIMS; i++) {
        const WindowAxis *axis = large->window.axis + i;
        const WindowAxis *inner = small->window.axis + i;
        const int64_t before = tap_within(axis, inner);
        const int64_t after = axis->kernel - inner->kernel - before;
        weights = recipe_pad(store, weights, 2 + i - first, before, after);
    }
    return recipe_add(store, large->weights, weights);
}

static Recipe *sum_of_biases(Store *store, Recipe *a, Recipe *b)
{
    if (!a || !b)
        return a ? a : b;
    return recipe_add(store, a, b);
}

/* The larger Conv makes the sum. */
static void join(Graph *graph, Node *sum, const Branch *large,
                 const Branch *small)
{
    Store *store = graph->store;
    Node *conv = large->conv;
    Recipe *weights = sum_of_weights(store, large, small);
    Recipe *bias = sum_of_biases(store, large->bias, small->bias);
    Tensor *in[3] = { large->image, graph_add_constant(graph, NULL, weights) };
    if (bias)
        in[2] = graph_add_constant(graph, NULL, bias);
    node_set_inputs(conv, bias ? 3 : 2, in);
    Tensor *out = sum->out[0];
    graph_kill(sum);
    conv->out[0] = out;
    out->producer = conv;
}

/* The sum's operand k as a Conv, and the other one as a part of it. */
static bool join_into(Graph *graph, Node *sum, int k)
{
    const Tensor *other = sum->in[1 - k];
    Branch large;
    Branch small;
    if (!is_conv_branch(graph, sum->in[k], &large))
        return false;
    if (!is_conv_branch(graph, other, &small) &&
        !is_map_branch(graph, other, &large, &small))
        return false;
    if (!lies_within(&large, &small))
        return false;
    join(graph, sum, &large, &small);
    return true;
}

/* An Add of two images of one shape. */
static bool is_sum(const Node *node)
{
    if (node->dead || !node_is(node, "Add"))
        return false;
    const Shape *y = &node->out[0]->shape;
    return node->in[0] != node->in[1] && shape_equal(&node->in[0]->shape, y) &&
           shape_equal(&node->in[1]->shape, y);
}

void pass_fuse_sum(Graph *graph)
{
    for (size_t i = 0; i < graph->node.n; i++) {
        Node *node = graph->node.at[i];
        if (is_sum(node) && !join_into(graph, node, 0))
            join_into(graph, node, 1);
    }
    pass_dead(graph);
    graph_compact(graph);
}
