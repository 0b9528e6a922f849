/* SPDX-License-Identifier: Apache-2.0
 * BatchNormalization of quantized numbers, which has a factor and a shift for each channel, is a
 * depthwise convolution of one tap: QLinearConv. Rows of numbers are the pixels of one image. */
#include <math.h>

#include "ops/ops.h"
#include "passes/quantize_product.h"

enum {
    MOST_WEIGHT = 127,
    LEAST_WEIGHT = 64,
    MOST_RANK = 5,       /* of an image that is convolved */
    MOST_STEPS = 1 << 29 /* of a shift: the rest of int32 is for products */
};

typedef struct Channels {
    int64_t n;
    int8_t *weight;
    float *scale; /* of the weights */
    float *shift;
} Channels;

/* A shift is a whole number of steps of x and weight together, of which there are so many to choose
 * from: the weight that rounds it least. */
static int best_weight(double factor, double shift, double x_scale)
{
    int best = MOST_WEIGHT;
    double least = 1.0;
    for (int weight = MOST_WEIGHT; weight >= LEAST_WEIGHT; weight--) {
        const double steps = shift * weight / (x_scale * factor);
        const double off = fabs(steps - nearbyint(steps)) / weight;
        if (!(off < least)) /* no number, where the factor is 0 */
            continue;
        least = off;
        best = weight;
    }
    return best;
}

/* How large a step of the weight is, for x in steps of x_scale. Where the shift has too many of
 * those, the factor says nearly nothing. */
static double weight_step(double factor, double shift, double x_scale)
{
    const int weight = best_weight(factor, shift, x_scale);
    const double fine = fabs(factor) / weight;
    const double coarse = fabs(shift) / (x_scale * MOST_STEPS);
    const double step = fmax(fine, coarse);
    return step > 0.0 ? step : 1.0;
}

/* False: the numbers of a channel are none that floats hold. */
static bool find_channels(const Node *node, double x_scale, Channels *channels)
{
    Arena *arena = node->graph->arena;
    const int64_t n = tensor_count(node->in[1]);
    double *factor;
    double *shift;
    if (!batchnorm_factors(node, &factor, &shift))
        return false;
    *channels = (Channels){
        .n = n,
        .weight = NEW_ARRAY(arena, int8_t, n),
        .scale = NEW_ARRAY(arena, float, n),
        .shift = NEW_ARRAY(arena, float, n),
    };
    for (int64_t i = 0; i < n; i++) {
        const float step = (float)weight_step(factor[i], shift[i], x_scale);
        if (!isnormal(step) || !isfinite(shift[i]))
            return false;
        channels->scale[i] = step;
        channels->weight[i] = (int8_t)nearbyint(factor[i] / (double)step);
        channels->shift[i] = (float)shift[i];
    }
    return true;
}

static Tensor *constant(const Build *build, DType type, const Shape *shape,
                        const void *values)
{
    Recipe *value = recipe_memory(build->graph->store, type, shape->rank,
                                  shape->dim, values);
    return graph_add_constant(build->graph, NULL, value);
}

/* Images or rows whose statistics are not their own. */
static bool is_affine(const Node *node)
{
    const int rank = node->in[0]->shape.rank;
    if (node->op->since < 7 || !node_int(node, "spatial", 1))
        return false;
    return rank >= 2 && rank <= MOST_RANK && !batchnorm_trains(node);
}

static bool has_rows(const Node *node)
{
    return node->in[0]->shape.rank == 2;
}

/* One tap for each channel. */
static void set_weights(const Build *build, const Channels *channels,
                        Weights *weights)
{
    const Shape each = shape_vector(channels->n);
    const int rank = build->node->in[0]->shape.rank;
    Shape taps = { .rank = has_rows(build->node) ? 4 : rank };
    for (int i = 0; i < taps.rank; i++)
        taps.dim[i] = i ? 1 : channels->n;
    weights->bytes = constant(build, DT_I8, &taps, channels->weight);
    weights->scale = constant(build, DT_F32, &each, channels->scale);
}

static bool set_operands(const Build *build, const Channels *channels,
                         Product *product)
{
    const Node *source = quanta_source(build->node->in[0]);
    const Shape each = shape_vector(channels->n);
    Tensor *bias = constant(build, DT_F32, &each, channels->shift);
    product->x.scale = source->in[1];
    product->x.zero = node_in(source, 2);
    set_weights(build, channels, &product->w);
    product_operands(build, product);
    return product_bias(build, product, bias, channels->n);
}

/* The convolution over an image that is channels last. */
static Tensor *convolve_rows(const Build *build, Product *product)
{
    Graph *graph = build->graph;
    const Shape rows = build->node->in[0]->shape;
    const Shape image = {
        .rank = 4,
        .dim = { 1, 1, rows.dim[0], rows.dim[1] },
    };
    product->in[X] = quanta_reshape(graph, build->end, product->in[X], image);
    Node *made = product_conv(build, product, image);
    node_set_int(made, "group", rows.dim[1]);
    made->channels_last = true;
    return quanta_reshape(graph, build->end, made->out[0], rows);
}

Tensor *build_channels(Build *build)
{
    const Node *node = build->node;
    Quantum x;
    Product product = { .n_in = 0 };
    Channels channels;
    if (!is_affine(node))
        return NULL;
    if (!quanta_bytes(build->graph, node->in[0], &product.x.bytes, &x))
        return NULL;
    if (!find_channels(node, x.scale, &channels))
        return NULL;
    if (!set_operands(build, &channels, &product))
        return NULL;
    if (has_rows(node))
        return convolve_rows(build, &product);
    Node *made = product_conv(build, &product, build->end->out[0]->shape);
    node_set_int(made, "group", channels.n);
    return made->out[0];
}
