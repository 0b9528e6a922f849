/* SPDX-License-Identifier: Apache-2.0
 * Fused operators of com.microsoft, taken apart: the passes fuse them again where it pays. */
#include <string.h>

#include "ops/expand.h"
#include "ops/families.h"

/* An activation by its name ("": none), with the numbers that are given. */
typedef struct Activation {
    const char *name;
    const float *number;
    int64_t count;
} Activation;

/* Clip between the numbers. */
static Tensor *clipped(const Node *node, Tensor *y, const Activation *act)
{
    Tensor *in[3] = { y };
    for (int64_t i = 0; i < act->count && i < 2; i++) {
        const double limit = (double)act->number[i];
        in[1 + i] = expand_number(node, limit, y->dtype);
    }
    return expand_done(expand_node(node, "Clip", 3, in, 1));
}

static Tensor *activated(const Node *node, Tensor *y, const Activation *act)
{
    if (!*act->name)
        return y;
    if (!strcmp(act->name, "Clip"))
        return clipped(node, y, act);
    Node *made = expand_of(node, act->name, y);
    if (act->count > 0)
        node_set_float(made, "alpha", act->number[0]);
    if (act->count > 1)
        node_set_float(made, "beta", act->number[1]);
    return expand_done(made);
}

/* The convolution of the image x. */
static Tensor *convolved(const Node *node, Tensor *x)
{
    Tensor *bias = node_in(node, 2);
    Node *conv = expand_of(node, "Conv", x, node->in[1], bias);
    expand_copy_attrs(conv, node);
    return expand_done(conv);
}

static Tensor *activated_conv(const Node *node, Tensor *y)
{
    Activation act = { .name = node_string(node, "activation", "") };
    act.number = node_floats(node, "activation_params", &act.count);
    return activated(node, y, &act);
}

void expand_fused_conv(Node *node)
{
    infer_shape(node, 0);
    Tensor *y = convolved(node, node->in[0]);
    if (node_in(node, 3))
        y = expand_add(node, y, node->in[3]);
    y = activated_conv(node, y);
    expand_finish_one(node, y);
}

/* An image with channels last as the standard has it. */
static Tensor *channels_first(const Node *node, Tensor *x)
{
    static const int64_t perm[] = { 0, 3, 1, 2 };
    return expand_transpose(node, x, perm);
}

/* Images with channels last; Z too. */
void expand_nhwc_fused_conv(Node *node)
{
    static const int64_t last[] = { 0, 2, 3, 1 };
    const int rank = infer_shape(node, 0)->rank;
    if (rank != 4)
        fail_node(node, STATUS_UNSUPPORTED, NULL, "its image has %d dimensions",
                  rank);
    Tensor *x = channels_first(node, node->in[0]);
    Tensor *y = convolved(node, x);
    if (node_in(node, 3)) {
        Tensor *z = channels_first(node, node->in[3]);
        y = expand_add(node, y, z);
    }
    y = activated_conv(node, y);
    y = expand_transpose(node, y, last);
    expand_finish_one(node, y);
}

void expand_fused_gemm(Node *node)
{
    infer_shape(node, 0);
    Node *gemm = expand_node(node, "Gemm", node->n_in, node->in, 1);
    expand_copy_attrs(gemm, node);
    const float number[] = {
        node_float(node, "activation_alpha", 0.0f),
        node_float(node, "activation_beta", 0.0f),
    };
    Activation act = {
        .name = node_string(node, "activation", ""),
        .number = number,
    };
    if (node_attr(node, "activation_alpha"))
        act.count = node_attr(node, "activation_beta") ? 2 : 1;
    Tensor *y = expand_done(gemm);
    y = activated(node, y, &act);
    expand_finish_one(node, y);
}

/* A factor with its last two dimensions swapped; batch: the first dimension taken behind the
 * batches. */
static Tensor *factor(const Node *node, int i, bool swap, bool batch)
{
    const int rank = infer_shape(node, i)->rank;
    int64_t perm[MAX_RANK];
    if ((!swap && !batch) || rank < 2)
        return node->in[i];
    for (int k = 0; k < rank; k++)
        perm[k] = k;
    if (batch) {
        for (int k = 0; k < rank - 2; k++)
            perm[k] = k + 1;
        perm[rank - 2] = 0;
    }
    if (swap) {
        const int64_t last = perm[rank - 1];
        perm[rank - 1] = perm[rank - 2];
        perm[rank - 2] = last;
    }
    return expand_transpose(node, node->in[i], perm);
}

static Tensor *factor_by(const Node *node, int i, const char *swap,
                         const char *batch)
{
    const bool swaps = node_flag(node, swap, false);
    const bool moves = node_flag(node, batch, false);
    return factor(node, i, swaps, moves);
}

void expand_fused_matmul(Node *node)
{
    Tensor *a = factor_by(node, 0, "transA", "transBatchA");
    Tensor *b = factor_by(node, 1, "transB", "transBatchB");
    Tensor *y = expand_matmul(node, a, b);
    y = expand_times_alpha(node, y);
    expand_finish_one(node, y);
}

static Tensor *biased(const Node *node, int i, Tensor *x)
{
    return node_in(node, i) ? expand_add(node, x, node->in[i]) : x;
}

/* Gelu of input and bias; approximate: "tanh", or NULL: as it is defined. */
static void expand_gelu_as(Node *node, const char *approximate)
{
    infer_shape(node, 0);
    Tensor *x = biased(node, 1, node->in[0]);
    Node *made = expand_of(node, "Gelu", x);
    if (approximate)
        node_set_string(made, "approximate", approximate);
    expand_finish_one(node, expand_done(made));
}

void expand_ms_gelu(Node *node)
{
    expand_gelu_as(node, NULL);
}

void expand_fast_gelu(Node *node)
{
    expand_gelu_as(node, "tanh");
}

void expand_quick_gelu(Node *node)
{
    infer_shape(node, 0);
    const float alpha = node_float(node, "alpha", 1.702f);
    Node *made = expand_node(node, "Swish", 1, node->in, 1);
    node_set_float(made, "alpha", alpha);
    expand_finish_one(node, expand_done(made));
}

/* A normalization over the last dimensions from `axis` on. */
typedef struct Norm {
    Tensor *x;
    Tensor *scale;
    Tensor *bias; /* NULL: none */
    int64_t axis;
    float epsilon;
} Norm;

static Tensor *normalized(Node *made, const Norm *norm)
{
    node_set_int(made, "axis", norm->axis);
    node_set_float(made, "epsilon", norm->epsilon);
    return expand_done(made);
}

/* Results: y, mean, 1 / deviation. */
static Node *layer_norm(const Node *node, const Norm *norm, int results)
{
    Tensor *in[] = { norm->x, norm->scale, norm->bias };
    const int n_in = norm->bias ? 3 : 2;
    Node *made = expand_node(node, "LayerNormalization", n_in, in, results);
    normalized(made, norm);
    return made;
}

static Tensor *rms_norm(const Node *node, const Norm *norm)
{
    Node *made = expand_of(node, "RMSNormalization", norm->x, norm->scale);
    return normalized(made, norm);
}

/* 1 / sqrt(mean of squares + epsilon). */
static Tensor *rms_factor(const Node *node, const Norm *norm)
{
    Tensor *x = norm->x;
    const int first = node_axis(node, norm->axis, x->shape.rank);
    const int count = x->shape.rank - first;
    int64_t axis[MAX_RANK];
    for (int i = 0; i < count; i++)
        axis[i] = first + i;
    Tensor *square = expand_square(node, x);
    Tensor *axes = expand_i64s(node, count, axis);
    Tensor *mean = expand_binary(node, "ReduceMean", square, axes);
    const double epsilon = (double)norm->epsilon;
    Tensor *least = expand_number(node, epsilon, x->dtype);
    Tensor *sum = expand_add(node, mean, least);
    Tensor *root = expand_unary(node, "Sqrt", sum);
    return expand_unary(node, "Reciprocal", root);
}

void expand_simplified_layer_norm(Node *node)
{
    infer_shape(node, 0);
    const Norm norm = {
        .x = node->in[0],
        .scale = node->in[1],
        .axis = node_int(node, "axis", -1),
        .epsilon = node_float(node, "epsilon", 1e-5f),
    };
    Tensor *result[2] = { rms_norm(node, &norm) };
    if (expand_reads(node, 1))
        result[1] = rms_factor(node, &norm);
    expand_finish(node, result[1] ? 2 : 1, result);
}

/* input + skip + bias; skip may have no batch, or one of size 1. */
static Tensor *skipped(const Node *node, int bias)
{
    infer_shape(node, 0);
    infer_shape(node, 1);
    Tensor *sum = expand_add(node, node->in[0], node->in[1]);
    return biased(node, bias, sum);
}

void expand_skip_layer_norm(Node *node)
{
    const Norm norm = {
        .x = skipped(node, 4),
        .scale = node->in[2],
        .bias = node_in(node, 3),
        .axis = -1,
        .epsilon = node_float(node, "epsilon", 1e-12f),
    };
    const bool more = expand_reads(node, 1) || expand_reads(node, 2);
    const Node *made = layer_norm(node, &norm, more ? 3 : 1);
    Tensor *result[4] = { made->out[0] };
    for (int i = 1; i < 3; i++)
        if (expand_reads(node, i))
            result[i] = made->out[i];
    if (expand_reads(node, 3))
        result[3] = norm.x;
    expand_finish(node, 4, result);
}

void expand_skip_simplified_layer_norm(Node *node)
{
    const Norm norm = {
        .x = skipped(node, 3),
        .scale = node->in[2],
        .axis = -1,
        .epsilon = node_float(node, "epsilon", 1e-12f),
    };
    Tensor *result[4] = { rms_norm(node, &norm) };
    if (expand_reads(node, 2))
        result[2] = rms_factor(node, &norm);
    if (expand_reads(node, 3))
        result[3] = norm.x;
    expand_finish(node, 4, result);
}

void expand_dims(Node *node)
{
    int64_t count;
    const int rank = infer_shape(node, 0)->rank;
    const int64_t *given = infer_ints(node, 1, &count);
    if (!given || count != 1)
        fail_node(node, STATUS_UNSUPPORTED,
                  "bake the axis with --const INPUT=FILE.pb",
                  "its axis is known only at run time");
    const int axis = node_axis(node, *given, rank + 1);
    Tensor *y = expand_unsqueeze(node, node->in[0], axis);
    expand_finish_one(node, y);
}

/* softmax(x + bias) over the last dimensions from `axis` on. */
void expand_bias_softmax(Node *node)
{
    infer_shape(node, 0);
    Tensor *x = expand_add(node, node->in[0], node->in[1]);
    const int axis = infer_axis(node, 1, x->shape.rank);
    Tensor *y = expand_flat_softmax(node, x, axis);
    expand_finish_one(node, y);
}

/* The length of each mask; 0 where there is none; NULL: nobody asks. */
static Tensor *mask_lengths(const Node *node, Tensor *mask)
{
    Graph *graph = node->graph;
    const int64_t batch = infer_shape(node, 0)->dim[0];
    const int32_t zero = 0;
    if (!expand_reads(node, 1))
        return NULL;
    if (!mask) {
        Recipe *none = recipe_fill(graph->store, DT_I32, 1, &batch, &zero);
        return graph_add_constant(graph, NULL, none);
    }
    Tensor *steps = expand_i64(node, 1);
    Node *sum = expand_of(node, "ReduceSum", mask, steps);
    node_set_int(sum, "keepdims", 0);
    return expand_done(sum);
}

/* The embeddings of the first places, or of those that are given. */
static Tensor *place_embeddings(const Node *node, Tensor *table, Tensor *places)
{
    const int64_t steps = infer_shape(node, 0)->dim[1];
    if (places)
        return expand_gather(node, table, places, 0);
    return expand_slice(node, table, 0, 0, steps);
}

/* The sum of the embeddings of words, places and segments. */
static Tensor *embeddings(const Node *node, Tensor *const *in)
{
    Tensor *words = expand_gather(node, in[2], in[0], 0);
    Tensor *places = place_embeddings(node, in[3], in[8]);
    Tensor *sum = expand_add(node, words, places);
    if (!in[1] || !in[4])
        return sum;
    Tensor *segments = expand_gather(node, in[4], in[1], 0);
    return expand_add(node, sum, segments);
}

void expand_embeddings(Node *node, Tensor *const *in)
{
    const int rank = infer_shape(node, 0)->rank;
    if (rank != 2)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its word indices have %d dimensions", rank);
    const Norm norm = {
        .x = embeddings(node, in),
        .scale = in[5],
        .bias = in[6],
        .axis = -1,
        .epsilon = node_float(node, "epsilon", 1e-12f),
    };
    const Node *made = layer_norm(node, &norm, 1);
    Tensor *result[3] = { made->out[0] };
    result[1] = mask_lengths(node, in[7]);
    if (expand_reads(node, 2))
        result[2] = norm.x;
    expand_finish(node, 3, result);
}

void expand_embed_layer_norm(Node *node)
{
    static const int needed[] = { 2, 3, 5, 6 };
    Tensor *in[9];
    for (int i = 0; i < 4; i++)
        infer_shape(node, needed[i]);
    for (int i = 0; i < 9; i++)
        in[i] = node_in(node, i);
    expand_embeddings(node, in);
}
