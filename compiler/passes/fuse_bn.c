/* SPDX-License-Identifier: Apache-2.0
 * y = scale * (conv(x) - mean) / sqrt(variance + epsilon) + bias is a convolution with other weights:
 * BatchNormalization, and Mul and Add of one constant a channel, go into the Conv, ConvTranspose, Gemm or MatMul before
 * them. A MatMul gets its bias as operand 2, which ONNX's has not. Requires: types and shapes; NCHW. Ensures: same results but for rounding. */
#include <math.h>
#include <string.h>

#include "ops/ops.h"
#include "passes/passes.h"

/* A channel-wise map y = x * mul + add; NULL: 1 or 0. */
typedef struct Affine {
    float *mul, *add;
    int64_t channels;
} Affine;

/* The axis of the weights that counts the result's channels, -1: not known. */
static int channel_axis(const Node *n)
{
    if (node_is(n, "Conv")) return 0;
    if (node_is(n, "ConvTranspose") && node_int(n, "group", 1) == 1) return 1;
    if (node_is(n, "Gemm")) return node_int(n, "transB", 0) ? 0 : 1;
    if (node_is(n, "MatMul") && n->in[1]->shape.rank == 2) return 1;
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
    if (!n || n->dead || t->uses != 1 || channel_axis(n) < 0 || node_attr(n, "act") || node_attr(n, "residual")) return NULL;
    if (!n->in[1]->value || n->in[1]->dtype != DT_F32 || (node_in(n, 2) && !n->in[2]->value)) return NULL;
    if (node_is(n, "Gemm") && node_in(n, 2) && tensor_count(n->in[2]) != t->shape.dim[1] && tensor_count(n->in[2]) != 1) return NULL;
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
        if (!constant_vector(n, i, c)) return false;
    if (n->n_out > 1 && (node_out(n, 1) || node_int(n, "training_mode", 0))) return false;
    Graph *g = n->graph;
    const float *scale = floats(g, n->in[1]), *bias = floats(g, n->in[2]), *mean = floats(g, n->in[3]), *var = floats(g, n->in[4]);
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
static float *per_channel(Graph *g, const Tensor *t, const Tensor *out, int channel, int64_t channels)
{
    if (!t->value || t->dtype != DT_F32 || t->shape.rank > out->shape.rank) return NULL;
    const int64_t n = tensor_count(t);
    const int axis = channel - (out->shape.rank - t->shape.rank);
    if (n != 1 && (n != channels || axis < 0 || t->shape.dim[axis] != channels)) return NULL;
    const float *v = floats(g, t);
    float *all = NEW_ARRAY(g->arena, float, channels);
    for (int64_t i = 0; i < channels; i++) all[i] = v[n == 1 ? 0 : i];
    return all;
}

static bool affine_of_binary(const Node *n, int constant, int channel, Affine *a)
{
    float *v = per_channel(n->graph, n->in[constant], n->out[0], channel, a->channels);
    if (!v) return false;
    if (node_is(n, "Mul")) a->mul = v;
    else if (node_is(n, "Add")) a->add = v;
    else if (node_is(n, "Sub") && constant == 1) {
        for (int64_t i = 0; i < a->channels; i++) v[i] = -v[i];
        a->add = v;
    } else if (node_is(n, "Div") && constant == 1) {
        for (int64_t i = 0; i < a->channels; i++) v[i] = 1.0f / v[i];
        a->mul = v;
    } else return false;
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
    if (a->mul) in[1] = graph_add_constant(g, NULL, recipe_mul(g->store, in[1]->value, channel_axis(linear), 1, a->mul, a->channels));
    in[2] = graph_add_constant(g, NULL, recipe_memory(g->store, DT_F32, 1, &a->channels, new_bias(g, linear, a)));
    node_set_inputs(linear, 3, in);
    if (node_is(linear, "Gemm")) node_set_float(linear, "beta", 1.0f);
    Tensor *out = n->out[0];
    graph_kill(n);
    linear->out[0] = out;
    out->producer = linear;
}

static bool try_fuse(Graph *g, Node *n)
{
    for (int k = 0; k < n->n_in && k < 2; k++) {
        Node *linear = linear_before(n->in[k]);
        if (!linear || n->out[0]->shape.rank < 2 || linear->in[1]->shape.rank < 2 || !shape_equal(&n->in[k]->shape, &n->out[0]->shape)) continue;
        const int channel = result_axis(linear);
        Affine a = { .channels = n->out[0]->shape.dim[channel] };
        const bool fits = node_is(n, "BatchNormalization") ? k == 0 && channel == 1 && affine_of_batchnorm(n, &a) :
            n->n_in == 2 && affine_of_binary(n, 1 - k, channel, &a);
        if (!fits) continue;
        absorb(g, linear, n, &a);
        return true;
    }
    return false;
}

void pass_fuse_bn(Graph *g)
{
    for (size_t i = 0; i < g->node.n; i++) {
        Node *n = g->node.at[i];
        if (node_is(n, "BatchNormalization") || node_is(n, "Mul") || node_is(n, "Add") || node_is(n, "Sub") || node_is(n, "Div")) try_fuse(g, n);
    }
    graph_compact(g);
}
