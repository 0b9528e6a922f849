/* SPDX-License-Identifier: Apache-2.0
 * y = scale * (conv(x) - mean) / sqrt(variance + epsilon) + bias is a convolution with other
 * weights: BatchNormalization, and Mul and Add of one constant a channel, go into the Conv,
 * ConvTranspose, Gemm or MatMul before them; where there is none, several of an image in a row
 * become one BatchNormalization. A MatMul gets its bias as operand 2, which ONNX's has not.
 * Requires: types and shapes; NCHW. Ensures: same results but for rounding. */
#include <math.h>
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
static int channel_axis(const Node *n)
{
    if (node_is(n, "Conv"))
        return 0;
    if (node_is(n, "ConvTranspose") && node_int(n, "group", 1) == 1)
        return 1;
    if (node_is(n, "Gemm"))
        return node_int(n, "transB", 0) ? 0 : 1;
    if (node_is(n, "MatMul") && n->in[1]->shape.rank == 2)
        return 1;
    return -1;
}

/* The axis of the result that counts its channels. */
static int result_axis(const Node *n)
{
    return node_is(n, "MatMul") ? n->out[0]->shape.rank - 1 : 1;
}

/* The node before `t` that can take it in: its only reader is this one. */
static Node *linear_before(const Tensor *t)
{
    Node *n = t ? t->producer : NULL;
    if (!n || n->dead || t->uses != 1 || channel_axis(n) < 0 || node_attr(n, "act") ||
        node_attr(n, "residual"))
        return NULL;
    if (!n->in[1]->value || n->in[1]->dtype != DT_F32 || (node_in(n, 2) && !n->in[2]->value))
        return NULL;
    if (node_is(n, "Gemm") && node_in(n, 2) && tensor_count(n->in[2]) != t->shape.dim[1] &&
        tensor_count(n->in[2]) != 1)
        return NULL;
    return n;
}

static float *floats(Graph *g, const Tensor *t)
{
    return recipe_values(g->store, g->arena, t->value);
}

static bool constant_vector(const Node *n, int i, int64_t channels)
{
    const Tensor *t = node_in(n, i);
    return t && t->value && t->dtype == DT_F32 && tensor_count(t) == channels;
}

static bool affine_of_batchnorm(const Node *n, Affine *a)
{
    const int64_t c = a->channels;
    for (int i = 1; i <= 4; i++)
        if (!constant_vector(n, i, c))
            return false;
    if (n->n_out > 1 && (node_out(n, 1) || node_int(n, "training_mode", 0)))
        return false;
    Graph *g = n->graph;
    const float *scale = floats(g, n->in[1]), *bias = floats(g, n->in[2]),
                *mean = floats(g, n->in[3]), *var = floats(g, n->in[4]);
    const float epsilon = node_float(n, "epsilon", 1e-5f);
    a->mul = NEW_ARRAY(g->arena, float, c);
    a->add = NEW_ARRAY(g->arena, float, c);
    for (int64_t i = 0; i < c; i++) {
        const double m = (double)scale[i] / sqrt((double)var[i] + (double)epsilon);
        a->mul[i] = (float)m;
        a->add[i] = (float)((double)bias[i] - (double)mean[i] * m);
    }
    return true;
}

/* A constant operand with one value a channel (an axis of the result), or one value. */
static float *per_channel(Graph *g, const Tensor *t, const Tensor *out, int channel,
                          int64_t channels)
{
    if (!t->value || t->dtype != DT_F32 || t->shape.rank > out->shape.rank)
        return NULL;
    const int64_t n = tensor_count(t);
    const int axis = channel - (out->shape.rank - t->shape.rank);
    if (n != 1 && (n != channels || axis < 0 || t->shape.dim[axis] != channels))
        return NULL;
    const float *v = floats(g, t);
    float *all = NEW_ARRAY(g->arena, float, channels);
    for (int64_t i = 0; i < channels; i++)
        all[i] = v[n == 1 ? 0 : i];
    return all;
}

static bool affine_of_binary(const Node *n, int constant, int channel, Affine *a)
{
    float *v = per_channel(n->graph, n->in[constant], n->out[0], channel, a->channels);
    if (!v)
        return false;
    if (node_is(n, "Mul"))
        a->mul = v;
    else if (node_is(n, "Add"))
        a->add = v;
    else if (node_is(n, "Sub") && constant == 1) {
        for (int64_t i = 0; i < a->channels; i++)
            v[i] = -v[i];
        a->add = v;
    } else if (node_is(n, "Div") && constant == 1) {
        for (int64_t i = 0; i < a->channels; i++)
            v[i] = 1.0f / v[i];
        a->mul = v;
    } else
        return false;
    return true;
}

static float *new_bias(Graph *g, const Node *linear, const Affine *a)
{
    const Tensor *old = node_in(linear, 2);
    const float *b = old ? floats(g, old) : NULL;
    const float beta = node_is(linear, "Gemm") ? node_float(linear, "beta", 1.0f) : 1.0f;
    const bool one = old && tensor_count(old) == 1;
    float *bias = NEW_ARRAY(g->arena, float, a->channels);
    for (int64_t i = 0; i < a->channels; i++) {
        const float was = b ? beta * b[one ? 0 : i] : 0.0f;
        bias[i] = was * (a->mul ? a->mul[i] : 1.0f) + (a->add ? a->add[i] : 0.0f);
    }
    return bias;
}

static void absorb(Graph *g, Node *linear, Node *n, const Affine *a)
{
    Tensor *in[3] = { linear->in[0], linear->in[1], NULL };
    if (a->mul)
        in[1] =
            graph_add_constant(g, NULL,
                               recipe_mul(g->store, in[1]->value,
                                          recipe_along(g->store, recipe_rank(in[1]->value),
                                                       channel_axis(linear), a->channels, a->mul)));
    in[2] = graph_add_constant(
        g, NULL, recipe_memory(g->store, DT_F32, 1, &a->channels, new_bias(g, linear, a)));
    node_set_inputs(linear, 3, in);
    if (node_is(linear, "Gemm"))
        node_set_float(linear, "beta", 1.0f);
    Tensor *out = n->out[0];
    graph_kill(n);
    linear->out[0] = out;
    out->producer = linear;
}

/* A map of its own: n computes x * mul + add. */
static void become(Graph *g, Node *n, Tensor *x, const Affine *a)
{
    float *mul = NEW_ARRAY(g->arena, float, a->channels),
          *add = NEW_ARRAY(g->arena, float, a->channels),
          *zero = NEW_ARRAY(g->arena, float, a->channels);
    for (int64_t i = 0; i < a->channels; i++) {
        mul[i] = a->mul ? a->mul[i] : 1.0f;
        add[i] = a->add ? a->add[i] : 0.0f;
    }
    Tensor *in[5] = { x },
           *none =
               graph_add_constant(g, NULL, recipe_memory(g->store, DT_F32, 1, &a->channels, zero)),
           *one;
    float *ones = NEW_ARRAY(g->arena, float, a->channels);
    for (int64_t i = 0; i < a->channels; i++)
        ones[i] = 1.0f;
    one = graph_add_constant(g, NULL, recipe_memory(g->store, DT_F32, 1, &a->channels, ones));
    in[1] = graph_add_constant(g, NULL, recipe_memory(g->store, DT_F32, 1, &a->channels, mul));
    in[2] = graph_add_constant(g, NULL, recipe_memory(g->store, DT_F32, 1, &a->channels, add));
    in[3] = none, in[4] = one;
    node_set_op(n, "", "BatchNormalization");
    node_set_inputs(n, 5, in);
    n->n_attr = 0;
    node_set_float(n, "epsilon", 0.0f);
    n->version = OPSET_NEWEST;
    n->op = op_find("", "BatchNormalization", OPSET_NEWEST);
}

/* The map that n is of its operand k. */
static bool affine_of(const Node *n, int k, int channel, Affine *a)
{
    if (a->channels > MOST_CHANNELS)
        return false;
    if (node_is(n, "BatchNormalization"))
        return k == 0 && channel == 1 && !node_attr(n, "act") && affine_of_batchnorm(n, a);
    return n->n_in == 2 && affine_of_binary(n, 1 - k, channel, a);
}

static bool is_map(const Node *n)
{
    return node_is(n, "BatchNormalization") || node_is(n, "Mul") || node_is(n, "Add") ||
           node_is(n, "Sub") || node_is(n, "Div");
}

/* A constant of several channels, or statistics: a map of an image, not of something else of its
 * rank. */
static bool is_of_image(const Node *n, int k)
{
    return node_is(n, "BatchNormalization") || tensor_count(n->in[1 - k]) > 1;
}

/* Two maps of an image in a row, the first of which nobody else reads, become one. */
static bool join_maps(Graph *g, Node *n, int k)
{
    Node *before = n->in[k] && !n->in[k]->value ? n->in[k]->producer : NULL;
    if (!before || before->dead || !is_map(before) || n->in[k]->uses != 1 ||
        n->in[k]->dtype != DT_F32 || n->out[0]->shape.rank < 4)
        return false;
    const int64_t channels = n->out[0]->shape.dim[1];
    for (int j = 0; j < before->n_in && j < 2; j++) {
        Affine first = { .channels = channels }, then = { .channels = channels };
        if (!before->in[j] || before->in[j]->value ||
            !shape_equal(&before->in[j]->shape, &n->out[0]->shape))
            continue;
        if (!affine_of(before, j, 1, &first) || !affine_of(n, k, 1, &then) ||
            (!is_of_image(before, j) && !is_of_image(n, k)))
            continue;
        Affine both = { .mul = NEW_ARRAY(g->arena, float, channels),
                        .add = NEW_ARRAY(g->arena, float, channels),
                        .channels = channels };
        for (int64_t i = 0; i < channels; i++) {
            const double m = then.mul ? (double)then.mul[i] : 1.0;
            both.mul[i] = (float)((first.mul ? (double)first.mul[i] : 1.0) * m);
            both.add[i] = (float)((first.add ? (double)first.add[i] : 0.0) * m +
                                  (then.add ? (double)then.add[i] : 0.0));
        }
        become(g, n, before->in[j], &both);
        return true;
    }
    return false;
}

static bool try_fuse(Graph *g, Node *n)
{
    for (int k = 0; k < n->n_in && k < 2; k++) {
        Node *linear = linear_before(n->in[k]);
        if (!linear || n->out[0]->shape.rank < 2 || linear->in[1]->shape.rank < 2 ||
            !shape_equal(&n->in[k]->shape, &n->out[0]->shape))
            continue;
        const int channel = result_axis(linear);
        Affine a = { .channels = n->out[0]->shape.dim[channel] };
        if (!affine_of(n, k, channel, &a))
            continue;
        absorb(g, linear, n, &a);
        return true;
    }
    for (int k = 0; k < n->n_in && k < 2; k++)
        if (shape_equal(&n->in[k]->shape, &n->out[0]->shape) && join_maps(g, n, k))
            return true;
    return false;
}

void pass_fuse_bn(Graph *g)
{
    for (size_t i = 0; i < g->node.n; i++) {
        Node *n = g->node.at[i];
        if (!n->dead && is_map(n))
            try_fuse(g, n);
    }
    pass_dead(g);
    graph_compact(g);
}
