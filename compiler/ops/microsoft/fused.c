/* SPDX-License-Identifier: Apache-2.0
 * Fused operators of com.microsoft, taken apart: the passes fuse them again where it pays. */
#include <string.h>

#include "ops/expand.h"
#include "ops/families.h"

static void finish(Node *node, Tensor *y)
{
    expand_finish(node, 1, &y);
}

/* Clip between the numbers that are given. */
static Tensor *clipped(const Node *node, Tensor *y, int64_t count,
                       const float *number)
{
    Tensor *in[3] = { y };
    for (int64_t i = 0; i < count && i < 2; i++)
        in[1 + i] = expand_number(node, (double)number[i], y->dtype);
    return expand_done(expand_node(node, "Clip", 3, in, 1));
}

/* The activation of that name with its numbers. */
static Tensor *activated(const Node *node, Tensor *y, const char *name,
                         int64_t count, const float *number)
{
    if (!*name)
        return y;
    if (!strcmp(name, "Clip"))
        return clipped(node, y, count, number);
    Node *act = expand_of(node, name, y);
    if (count > 0)
        node_set_float(act, "alpha", number[0]);
    if (count > 1)
        node_set_float(act, "beta", number[1]);
    return expand_done(act);
}

void expand_fused_conv(Node *node)
{
    int64_t count;
    infer_shape(node, 0);
    const float *p = node_floats(node, "activation_params", &count);
    Node *conv =
        expand_node(node, "Conv", node->n_in > 3 ? 3 : node->n_in, node->in, 1);
    expand_copy_attrs(conv, node);
    Tensor *y = expand_done(conv);
    if (node_in(node, 3))
        y = expand_add(node, y, node->in[3]);
    finish(node,
           activated(node, y, node_string(node, "activation", ""), count, p));
}

/* Images with channels last; Z too. */
void expand_nhwc_fused_conv(Node *node)
{
    static const int64_t first[] = { 0, 3, 1, 2 }, last[] = { 0, 2, 3, 1 };
    int64_t count;
    const float *p = node_floats(node, "activation_params", &count);
    if (infer_shape(node, 0)->rank != 4)
        fail_node(node, STATUS_UNSUPPORTED, NULL, "its image has %d dimensions",
                  node->in[0]->shape.rank);
    Node *conv =
        expand_of(node, "Conv", expand_transpose(node, node->in[0], first),
                  node->in[1], node_in(node, 2));
    expand_copy_attrs(conv, node);
    Tensor *y = expand_done(conv);
    if (node_in(node, 3))
        y = expand_add(node, y, expand_transpose(node, node->in[3], first));
    finish(node, expand_transpose(node,
                                  activated(node, y,
                                            node_string(node, "activation", ""),
                                            count, p),
                                  last));
}

void expand_fused_gemm(Node *node)
{
    infer_shape(node, 0);
    Node *gemm = expand_node(node, "Gemm", node->n_in, node->in, 1);
    expand_copy_attrs(gemm, node);
    const char *name = node_string(node, "activation", "");
    const float number[] = {
        node_float(node, "activation_alpha", 0.0f),
        node_float(node, "activation_beta", 0.0f),
    };
    int count = 0;
    if (node_attr(node, "activation_alpha"))
        count = node_attr(node, "activation_beta") ? 2 : 1;
    Tensor *y = expand_done(gemm);
    finish(node, activated(node, y, name, count, number));
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

void expand_fused_matmul(Node *node)
{
    Tensor *a = factor(node, 0, node_flag(node, "transA", false),
                       node_flag(node, "transBatchA", false));
    Tensor *b = factor(node, 1, node_flag(node, "transB", false),
                       node_flag(node, "transBatchB", false));
    const float alpha = node_float(node, "alpha", 1.0f);
    Tensor *y = expand_matmul(node, a, b);
    if (alpha < 1.0f || alpha > 1.0f)
        y = expand_mul(node, y, expand_number(node, (double)alpha, y->dtype));
    finish(node, y);
}

static Tensor *gelu(const Node *node, Tensor *x, bool tanh_form)
{
    Node *made = expand_of(node, "Gelu", x);
    if (tanh_form)
        node_set_string(made, "approximate", "tanh");
    return expand_done(made);
}

static Tensor *biased(const Node *node, int i, Tensor *x)
{
    return node_in(node, i) ? expand_add(node, x, node->in[i]) : x;
}

void expand_ms_gelu(Node *node)
{
    infer_shape(node, 0);
    finish(node, gelu(node, biased(node, 1, node->in[0]), false));
}

void expand_fast_gelu(Node *node)
{
    infer_shape(node, 0);
    finish(node, gelu(node, biased(node, 1, node->in[0]), true));
}

void expand_quick_gelu(Node *node)
{
    infer_shape(node, 0);
    Node *made = expand_node(node, "Swish", 1, node->in, 1);
    node_set_float(made, "alpha", node_float(node, "alpha", 1.702f));
    finish(node, expand_done(made));
}

/* Normalization over the last dimensions from `axis` on; results: y, mean, 1 / deviation. */
static Node *layer_norm(const Node *node, Tensor *x, Tensor *scale,
                        Tensor *bias, int64_t axis, float epsilon, int results)
{
    Tensor *in[] = { x, scale, bias };
    Node *made =
        expand_node(node, "LayerNormalization", bias ? 3 : 2, in, results);
    node_set_int(made, "axis", axis);
    node_set_float(made, "epsilon", epsilon);
    expand_done(made);
    return made;
}

static Tensor *rms_norm(const Node *node, Tensor *x, Tensor *scale,
                        int64_t axis, float epsilon)
{
    Node *made = expand_of(node, "RMSNormalization", x, scale);
    node_set_int(made, "axis", axis);
    node_set_float(made, "epsilon", epsilon);
    return expand_done(made);
}

/* 1 / sqrt(mean of squares + epsilon), where somebody reads it. */
static Tensor *rms_factor(const Node *node, Tensor *x, int64_t axis,
                          float epsilon)
{
    const int first = node_axis(node, axis, x->shape.rank);
    const int count = x->shape.rank - first;
    int64_t axes[MAX_RANK];
    for (int i = 0; i < count; i++)
        axes[i] = first + i;
    Tensor *square = expand_mul(node, x, x);
    Tensor *mean = expand_done(
        expand_of(node, "ReduceMean", square, expand_i64s(node, count, axes)));
    Tensor *least = expand_number(node, (double)epsilon, x->dtype);
    Tensor *sum = expand_add(node, mean, least);
    Tensor *root = expand_unary(node, "Sqrt", sum);
    return expand_unary(node, "Reciprocal", root);
}

static bool read(const Node *node, int i)
{
    return node_out(node, i) && node->out[i]->uses;
}

void expand_simplified_layer_norm(Node *node)
{
    infer_shape(node, 0);
    const int64_t axis = node_int(node, "axis", -1);
    const float epsilon = node_float(node, "epsilon", 1e-5f);
    Tensor *result[] = {
        rms_norm(node, node->in[0], node->in[1], axis, epsilon),
        read(node, 1) ? rms_factor(node, node->in[0], axis, epsilon) : NULL
    };
    expand_finish(node, result[1] ? 2 : 1, result);
}

/* input + skip + bias; skip may have no batch, or one of size 1. */
static Tensor *skipped(const Node *node, int bias)
{
    infer_shape(node, 0);
    infer_shape(node, 1);
    return biased(node, bias, expand_add(node, node->in[0], node->in[1]));
}

void expand_skip_layer_norm(Node *node)
{
    Tensor *sum = skipped(node, 4);
    Node *norm = layer_norm(node, sum, node->in[2], node_in(node, 3), -1,
                            node_float(node, "epsilon", 1e-12f),
                            read(node, 1) || read(node, 2) ? 3 : 1);
    Tensor *result[] = { norm->out[0], read(node, 1) ? norm->out[1] : NULL,
                         read(node, 2) ? norm->out[2] : NULL,
                         read(node, 3) ? sum : NULL };
    expand_finish(node, 4, result);
}

void expand_skip_simplified_layer_norm(Node *node)
{
    Tensor *sum = skipped(node, 3);
    const float epsilon = node_float(node, "epsilon", 1e-12f);
    Tensor *result[] = { rms_norm(node, sum, node->in[2], -1, epsilon), NULL,
                         read(node, 2) ? rms_factor(node, sum, -1, epsilon)
                                       : NULL,
                         read(node, 3) ? sum : NULL };
    expand_finish(node, 4, result);
}

static Tensor *gathered(const Node *node, Tensor *table, Tensor *index)
{
    return expand_done(expand_of(node, "Gather", table, index));
}

void expand_dims(Node *node)
{
    int64_t count;
    const Shape *shape = infer_shape(node, 0);
    const int64_t *axis = infer_ints(node, 1, &count);
    if (!axis || count != 1)
        fail_node(node, STATUS_UNSUPPORTED,
                  "bake the axis with --const INPUT=FILE.pb",
                  "its axis is known only at run time");
    finish(node, expand_unsqueeze(node, node->in[0],
                                  node_axis(node, *axis, shape->rank + 1)));
}

/* softmax(x + bias) over the last dimensions from `axis` on. */
void expand_bias_softmax(Node *node)
{
    infer_shape(node, 0);
    Tensor *x = expand_add(node, node->in[0], node->in[1]);
    const Shape s = x->shape;
    const int axis = infer_axis(node, 1, s.rank);
    int64_t dims[2] = { 1, 1 };
    for (int i = 0; i < s.rank; i++)
        dims[i >= axis] *= s.dim[i];
    x = expand_reshape(node, x, 2, dims);
    Node *softmax = expand_of(node, "Softmax", x);
    node_set_int(softmax, "axis", 1);
    finish(node, expand_reshape(node, expand_done(softmax), s.rank, s.dim));
}

/* The length of each mask; 0 where there is none; NULL: nobody asks. */
static Tensor *mask_lengths(const Node *node, Tensor *mask)
{
    Store *store = node->graph->store;
    const int64_t batch = infer_shape(node, 0)->dim[0];
    const int32_t zero = 0;
    if (!read(node, 1))
        return NULL;
    if (!mask)
        return graph_add_constant(node->graph, NULL,
                                  recipe_fill(store, DT_I32, 1, &batch, &zero));
    Node *made = expand_of(node, "ReduceSum", mask, expand_i64(node, 1));
    node_set_int(made, "keepdims", 0);
    return expand_done(made);
}

/* The sum of the embeddings of words, places and segments. */
static Tensor *embeddings(const Node *node, Tensor *const *in)
{
    const int64_t steps = infer_shape(node, 0)->dim[1];
    Tensor *words = gathered(node, in[2], in[0]);
    Tensor *places = in[8] ? gathered(node, in[3], in[8])
                           : expand_slice(node, in[3], 0, 0, steps);
    Tensor *sum = expand_add(node, words, places);
    if (!in[1] || !in[4])
        return sum;
    Tensor *segments = gathered(node, in[4], in[1]);
    return expand_add(node, sum, segments);
}

void expand_embeddings(Node *node, Tensor *const *in)
{
    const float epsilon = node_float(node, "epsilon", 1e-12f);
    const Shape *ids = infer_shape(node, 0);
    if (ids->rank != 2)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its word indices have %d dimensions", ids->rank);
    Tensor *sum = embeddings(node, in);
    const Node *norm = layer_norm(node, sum, in[5], in[6], -1, epsilon, 1);
    Tensor *result[3] = { norm->out[0], mask_lengths(node, in[7]) };
    if (read(node, 2))
        result[2] = sum;
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
