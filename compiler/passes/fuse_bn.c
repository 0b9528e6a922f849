/* SPDX-License-Identifier: Apache-2.0
 * y = scale * (conv(x) - mean) / sqrt(variance + epsilon) + bias is a convolution with other
 * weights: BatchNormalization, and Mul and Add of one constant a channel, go into the Conv,
 * ConvTranspose, Gemm or MatMul before them; where there is none, several of an image in a row
 * become one BatchNormalization. A MatMul gets its bias as operand 2, which ONNX's has not.
 * Requires: types and shapes; NCHW. Ensures: same results but for rounding. */
#include <string.h>

#include "ops/ops.h"
#include "passes/passes.h"

/* A channel-wise map y = x * mul + add; NULL: 1 or 0. */
typedef struct Affine {
    float *mul, *add;
    int64_t channels;
} Affine;

/* Vectors of more channels stay apart: they would be held in memory. */
enum { MOST_CHANNELS = 1 << 18 };

/* The axis of the weights that counts the result's channels, -1: not known. */
static int channel_axis(const Node *node)
{
    if (node_is(node, "Conv"))
        return 0;
    if (node_is(node, "ConvTranspose") && node_int(node, "group", 1) == 1)
        return 1;
    if (node_is(node, "Gemm"))
        return node_int(node, "transB", 0) ? 0 : 1;
    if (node_is(node, "MatMul") && node->in[1]->shape.rank == 2)
        return 1;
    return -1;
}

/* The axis of the result that counts its channels. */
static int result_axis(const Node *node)
{
    return node_is(node, "MatMul") ? node->out[0]->shape.rank - 1 : 1;
}

/* Has the bias of a Gemm one number for each column of the result, or one for all? Of a square
 * result, one for each row is as many. */
static bool by_columns(const Tensor *bias, int64_t columns)
{
    const Shape *shape = &bias->shape;
    const int64_t count = tensor_count(bias);
    return count == 1 ||
           (count == columns && shape->dim[shape->rank - 1] == columns);
}

/* The node before `tensor` that can take it in: its only reader is this one. */
static Node *linear_before(const Tensor *tensor)
{
    Node *node = tensor ? tensor->producer : NULL;
    if (!node || node->dead || tensor->uses != 1)
        return NULL;
    if (channel_axis(node) < 0)
        return NULL;
    if (node_attr(node, "act") || node_attr(node, "residual"))
        return NULL;
    const Tensor *weights = node->in[1];
    const Tensor *bias = node_in(node, 2);
    if (!weights->value || weights->dtype != DT_F32)
        return NULL;
    if (!bias)
        return node;
    if (!bias->value)
        return NULL;
    if (!node_is(node, "Gemm"))
        return node;
    return by_columns(bias, tensor->shape.dim[1]) ? node : NULL;
}

static float *floats(Graph *graph, const Tensor *tensor)
{
    return recipe_values(graph->store, graph->arena, tensor->value);
}

static bool constant_vector(const Node *node, int i, int64_t channels)
{
    const Tensor *tensor = node_in(node, i);
    return tensor && tensor->value && tensor->dtype == DT_F32 &&
           tensor_count(tensor) == channels;
}

static bool is_constant_batchnorm(const Node *node, int64_t channels)
{
    for (int i = 1; i <= 4; i++)
        if (!constant_vector(node, i, channels))
            return false;
    return !batchnorm_trains(node);
}

/* With room for both vectors. */
static Affine affine_new(Graph *graph, int64_t channels)
{
    return (Affine){
        .mul = NEW_ARRAY(graph->arena, float, channels),
        .add = NEW_ARRAY(graph->arena, float, channels),
        .channels = channels,
    };
}

static bool affine_of_batchnorm(const Node *node, Affine *affine)
{
    const int64_t channels = affine->channels;
    if (!is_constant_batchnorm(node, channels))
        return false;
    double *factor;
    double *shift;
    if (!batchnorm_factors(node, &factor, &shift))
        return false;
    *affine = affine_new(node->graph, channels);
    for (int64_t i = 0; i < channels; i++) {
        affine->mul[i] = (float)factor[i];
        affine->add[i] = (float)shift[i];
    }
    return true;
}

/* A constant operand with one value a channel (an axis of the result), or one value. */
static float *per_channel(Graph *graph, const Tensor *tensor, const Tensor *out,
                          int channel, int64_t channels)
{
    const Shape *shape = &tensor->shape;
    const int more = out->shape.rank - shape->rank;
    if (!tensor->value || tensor->dtype != DT_F32 || more < 0)
        return NULL;
    const int64_t count = tensor_count(tensor);
    const bool one = count == 1;
    const int axis = channel - more;
    if (!one && (count != channels || axis < 0))
        return NULL;
    if (!one && shape->dim[axis] != channels)
        return NULL;
    const float *given = floats(graph, tensor);
    float *all = NEW_ARRAY(graph->arena, float, channels);
    for (int64_t i = 0; i < channels; i++)
        all[i] = given[one ? 0 : i];
    return all;
}

static bool affine_of_binary(const Node *node, int constant, int channel,
                             Affine *affine)
{
    float *v = per_channel(node->graph, node->in[constant], node->out[0],
                           channel, affine->channels);
    if (!v)
        return false;
    const int64_t channels = affine->channels;
    if (node_is(node, "Mul")) {
        affine->mul = v;
    } else if (node_is(node, "Add")) {
        affine->add = v;
    } else if (node_is(node, "Sub") && constant == 1) {
        for (int64_t i = 0; i < channels; i++)
            v[i] = -v[i];
        affine->add = v;
    } else if (node_is(node, "Div") && constant == 1) {
        for (int64_t i = 0; i < channels; i++)
            v[i] = 1.0f / v[i];
        affine->mul = v;
    } else {
        return false;
    }
    return true;
}

/* Number i of a vector; where there is none, `otherwise`. */
static double number_at(const float *values, int64_t i, double otherwise)
{
    return values ? (double)values[i] : otherwise;
}

static float *new_bias(Graph *graph, const Node *linear, const Affine *affine)
{
    const Tensor *old = node_in(linear, 2);
    const float *given = old ? floats(graph, old) : NULL;
    const bool one = old && tensor_count(old) == 1;
    float beta = 1.0f;
    if (node_is(linear, "Gemm"))
        beta = node_float(linear, "beta", 1.0f);
    float *bias = NEW_ARRAY(graph->arena, float, affine->channels);
    for (int64_t i = 0; i < affine->channels; i++) {
        const int64_t place = one ? 0 : i;
        const float was = given ? beta * given[place] : 0.0f;
        const float factor = (float)number_at(affine->mul, i, 1.0);
        const float summand = (float)number_at(affine->add, i, 0.0);
        bias[i] = was * factor + summand;
    }
    return bias;
}

static Tensor *vector(Graph *graph, int64_t channels, const float *values)
{
    Store *store = graph->store;
    Recipe *value = recipe_memory(store, DT_F32, 1, &channels, values);
    return graph_add_constant(graph, NULL, value);
}

static void absorb(Graph *graph, Node *linear, Node *node, const Affine *affine)
{
    Store *store = graph->store;
    const int64_t channels = affine->channels;
    Tensor *weights = linear->in[1];
    if (affine->mul) {
        const Recipe *value = weights->value;
        const int rank = recipe_rank(value);
        const int axis = channel_axis(linear);
        Recipe *factors =
            recipe_along(store, rank, axis, channels, affine->mul);
        Recipe *scaled = recipe_mul(store, value, factors);
        weights = graph_add_constant(graph, NULL, scaled);
    }
    Tensor *bias = vector(graph, channels, new_bias(graph, linear, affine));
    Tensor *in[3] = { linear->in[0], weights, bias };
    node_set_inputs(linear, 3, in);
    if (node_is(linear, "Gemm"))
        node_set_float(linear, "beta", 1.0f);
    Tensor *out = node->out[0];
    graph_kill(node);
    linear->out[0] = out;
    out->producer = linear;
}

/* `values`, or where they are NULL `otherwise` for each channel. */
static Tensor *vector_or(Graph *graph, int64_t channels, const float *values,
                         float otherwise)
{
    float *all = NEW_ARRAY(graph->arena, float, channels);
    for (int64_t i = 0; i < channels; i++)
        all[i] = values ? values[i] : otherwise;
    return vector(graph, channels, all);
}

/* A map of its own: node computes x * mul + add. */
static void become(Graph *graph, Node *node, Tensor *x, const Affine *affine)
{
    const int64_t channels = affine->channels;
    Tensor *mean = vector_or(graph, channels, NULL, 0.0f);
    Tensor *variance = vector_or(graph, channels, NULL, 1.0f);
    Tensor *scale = vector_or(graph, channels, affine->mul, 1.0f);
    Tensor *bias = vector_or(graph, channels, affine->add, 0.0f);
    Tensor *in[5] = { x, scale, bias, mean, variance };
    node_set_op(node, "", "BatchNormalization");
    node_set_inputs(node, 5, in);
    node->n_attr = 0;
    node_set_float(node, "epsilon", 0.0f);
    node->version = OPSET_NEWEST;
    node->op = op_find("", "BatchNormalization", OPSET_NEWEST);
}

/* The map that node is of its operand k. */
static bool affine_of(const Node *node, int k, int channel, Affine *affine)
{
    if (affine->channels > MOST_CHANNELS)
        return false;
    if (node_is(node, "BatchNormalization")) {
        if (k != 0 || channel != 1 || node_attr(node, "act"))
            return false;
        return affine_of_batchnorm(node, affine);
    }
    return node->n_in == 2 && affine_of_binary(node, 1 - k, channel, affine);
}

static bool is_map(const Node *node)
{
    return node_is(node, "BatchNormalization") || node_is(node, "Mul") ||
           node_is(node, "Add") || node_is(node, "Sub") || node_is(node, "Div");
}

/* A constant of several channels, or statistics: a map of an image, not of something else of its
 * rank. */
static bool is_of_image(const Node *node, int k)
{
    return node_is(node, "BatchNormalization") ||
           tensor_count(node->in[1 - k]) > 1;
}

/* The node that made operand k, a map that nobody else reads; NULL: it is none. */
static Node *map_before(const Node *node, int k)
{
    const Tensor *tensor = node->in[k];
    if (!tensor || tensor->value || !tensor->producer)
        return NULL;
    Node *before = tensor->producer;
    if (before->dead || !is_map(before))
        return NULL;
    return tensor->uses == 1 && tensor->dtype == DT_F32 ? before : NULL;
}

static Affine composed(Graph *graph, const Affine *first, const Affine *then)
{
    const int64_t channels = first->channels;
    Affine both = affine_new(graph, channels);
    for (int64_t i = 0; i < channels; i++) {
        const double mul = number_at(first->mul, i, 1.0);
        const double add = number_at(first->add, i, 0.0);
        const double factor = number_at(then->mul, i, 1.0);
        const double summand = number_at(then->add, i, 0.0);
        both.mul[i] = (float)(mul * factor);
        both.add[i] = (float)(add * factor + summand);
    }
    return both;
}

/* Two maps of an image in a row, the first of which nobody else reads, become one. */
static bool join_maps(Graph *graph, Node *node, int k)
{
    const Shape *y = &node->out[0]->shape;
    const Node *before = map_before(node, k);
    if (!before || y->rank < 4)
        return false;
    for (int j = 0; j < before->n_in && j < 2; j++) {
        Tensor *x = before->in[j];
        Affine first = { .channels = y->dim[1] };
        Affine then = first;
        if (!x || x->value || !shape_equal(&x->shape, y))
            continue;
        if (!affine_of(before, j, 1, &first))
            continue;
        if (!affine_of(node, k, 1, &then))
            continue;
        if (!is_of_image(before, j) && !is_of_image(node, k))
            continue;
        const Affine both = composed(graph, &first, &then);
        become(graph, node, x, &both);
        return true;
    }
    return false;
}

static bool try_fuse(Graph *graph, Node *node)
{
    const Shape *y = result_shape(node, 0);
    const int operands = node->n_in < 2 ? node->n_in : 2;
    for (int k = 0; k < operands; k++) {
        Node *linear = linear_before(node->in[k]);
        if (!linear || y->rank < 2 || node_shape(linear, 1)->rank < 2)
            continue;
        if (!shape_equal(node_shape(node, k), y))
            continue;
        const int channel = result_axis(linear);
        Affine affine = { .channels = y->dim[channel] };
        if (!affine_of(node, k, channel, &affine))
            continue;
        absorb(graph, linear, node, &affine);
        return true;
    }
    for (int k = 0; k < operands; k++) {
        const bool same = shape_equal(node_shape(node, k), y);
        if (same && join_maps(graph, node, k))
            return true;
    }
    return false;
}

void pass_fuse_bn(Graph *graph)
{
    for (size_t i = 0; i < graph->node.n; i++) {
        Node *n = graph->node.at[i];
        if (!n->dead && is_map(n))
            try_fuse(graph, n);
    }
    pass_dead(graph);
    graph_compact(graph);
}
