/* SPDX-License-Identifier: Apache-2.0
 * Fused operators of com.microsoft, taken apart: the passes fuse them again where it pays. */
#include <string.h>

#include "ops/expand.h"
#include "ops/families.h"

static void finish(Node *n, Tensor *y)
{
    expand_finish(n, 1, &y);
}

/* The activation of that name with its numbers. */
static Tensor *activated(const Node *n, Tensor *y, const char *name, int64_t count, const float *p)
{
    if (!*name)
        return y;
    if (!strcmp(name, "Clip")) {
        Tensor *in[] = { y, count > 0 ? expand_number(n, (double)p[0], y->dtype) : NULL,
                         count > 1 ? expand_number(n, (double)p[1], y->dtype) : NULL };
        return expand_done(expand_node(n, "Clip", 3, in, 1));
    }
    Node *act = expand_node(n, name, 1, &y, 1);
    if (count > 0)
        node_set_float(act, "alpha", p[0]);
    if (count > 1)
        node_set_float(act, "beta", p[1]);
    return expand_done(act);
}

void expand_fused_conv(Node *n)
{
    int64_t count;
    infer_shape(n, 0);
    const float *p = node_floats(n, "activation_params", &count);
    Node *conv = expand_node(n, "Conv", n->n_in > 3 ? 3 : n->n_in, n->in, 1);
    expand_copy_attrs(conv, n);
    Tensor *y = expand_done(conv);
    if (node_in(n, 3))
        y = expand_binary(n, "Add", y, n->in[3]);
    finish(n, activated(n, y, node_string(n, "activation", ""), count, p));
}

/* Images with channels last; Z too. */
void expand_nhwc_fused_conv(Node *n)
{
    static const int64_t first[] = { 0, 3, 1, 2 }, last[] = { 0, 2, 3, 1 };
    int64_t count;
    const float *p = node_floats(n, "activation_params", &count);
    if (infer_shape(n, 0)->rank != 4)
        fail_node(n, STATUS_UNSUPPORTED, NULL, "its image has %d dimensions", n->in[0]->shape.rank);
    Tensor *in[] = { expand_transpose(n, n->in[0], first), n->in[1], node_in(n, 2) };
    Node *conv = expand_node(n, "Conv", in[2] ? 3 : 2, in, 1);
    expand_copy_attrs(conv, n);
    Tensor *y = expand_done(conv);
    if (node_in(n, 3))
        y = expand_binary(n, "Add", y, expand_transpose(n, n->in[3], first));
    finish(n,
           expand_transpose(n, activated(n, y, node_string(n, "activation", ""), count, p), last));
}

void expand_fused_gemm(Node *n)
{
    infer_shape(n, 0);
    Node *gemm = expand_node(n, "Gemm", n->n_in, n->in, 1);
    expand_copy_attrs(gemm, n);
    const char *name = node_string(n, "activation", "");
    const bool has_alpha = node_attr(n, "activation_alpha") != NULL,
               has_beta = node_attr(n, "activation_beta") != NULL;
    const float p[] = { node_float(n, "activation_alpha", 0.0f),
                        node_float(n, "activation_beta", 0.0f) };
    finish(n, activated(n, expand_done(gemm), name, has_alpha ? has_beta ? 2 : 1 : 0, p));
}

/* A factor with its last two dimensions swapped; batch: the first dimension taken behind the
 * batches. */
static Tensor *factor(const Node *n, int i, bool swap, bool batch)
{
    const int rank = infer_shape(n, i)->rank;
    int64_t perm[MAX_RANK];
    if ((!swap && !batch) || rank < 2)
        return n->in[i];
    for (int k = 0; k < rank; k++)
        perm[k] = batch ? (k < rank - 2 ? k + 1 : k == rank - 2 ? 0 : k) : k;
    if (swap) {
        const int64_t last = perm[rank - 1];
        perm[rank - 1] = perm[rank - 2];
        perm[rank - 2] = last;
    }
    return expand_transpose(n, n->in[i], perm);
}

void expand_fused_matmul(Node *n)
{
    Tensor *a = factor(n, 0, node_int(n, "transA", 0) != 0, node_int(n, "transBatchA", 0) != 0);
    Tensor *b = factor(n, 1, node_int(n, "transB", 0) != 0, node_int(n, "transBatchB", 0) != 0);
    const float alpha = node_float(n, "alpha", 1.0f);
    Tensor *y = expand_binary(n, "MatMul", a, b);
    if (alpha < 1.0f || alpha > 1.0f)
        y = expand_binary(n, "Mul", y, expand_number(n, (double)alpha, y->dtype));
    finish(n, y);
}

static Tensor *gelu(const Node *n, Tensor *x, bool tanh_form)
{
    Node *made = expand_node(n, "Gelu", 1, &x, 1);
    if (tanh_form)
        node_set_string(made, "approximate", "tanh");
    return expand_done(made);
}

static Tensor *biased(const Node *n, int i, Tensor *x)
{
    return node_in(n, i) ? expand_binary(n, "Add", x, n->in[i]) : x;
}

void expand_ms_gelu(Node *n)
{
    infer_shape(n, 0);
    finish(n, gelu(n, biased(n, 1, n->in[0]), false));
}

void expand_fast_gelu(Node *n)
{
    infer_shape(n, 0);
    finish(n, gelu(n, biased(n, 1, n->in[0]), true));
}

void expand_quick_gelu(Node *n)
{
    infer_shape(n, 0);
    Node *made = expand_node(n, "Swish", 1, n->in, 1);
    node_set_float(made, "alpha", node_float(n, "alpha", 1.702f));
    finish(n, expand_done(made));
}

/* Normalization over the last dimensions from `axis` on; results: y, mean, 1 / deviation. */
static Node *layer_norm(const Node *n, Tensor *x, Tensor *scale, Tensor *bias, int64_t axis,
                        float epsilon, int results)
{
    Tensor *in[] = { x, scale, bias };
    Node *made = expand_node(n, "LayerNormalization", bias ? 3 : 2, in, results);
    node_set_int(made, "axis", axis);
    node_set_float(made, "epsilon", epsilon);
    expand_done(made);
    return made;
}

static Tensor *rms_norm(const Node *n, Tensor *x, Tensor *scale, int64_t axis, float epsilon)
{
    Tensor *in[] = { x, scale };
    Node *made = expand_node(n, "RMSNormalization", 2, in, 1);
    node_set_int(made, "axis", axis);
    node_set_float(made, "epsilon", epsilon);
    return expand_done(made);
}

/* 1 / sqrt(mean of squares + epsilon), where somebody reads it. */
static Tensor *rms_factor(const Node *n, Tensor *x, int64_t axis, float epsilon)
{
    const int first = node_axis(n, axis, x->shape.rank);
    int64_t axes[MAX_RANK];
    for (int i = first; i < x->shape.rank; i++)
        axes[i - first] = i;
    Tensor *in[] = { expand_binary(n, "Mul", x, x), expand_i64s(n, x->shape.rank - first, axes) };
    Tensor *mean = expand_done(expand_node(n, "ReduceMean", 2, in, 1));
    return expand_unary(
        n, "Reciprocal",
        expand_unary(n, "Sqrt",
                     expand_binary(n, "Add", mean, expand_number(n, (double)epsilon, x->dtype))));
}

static bool read(const Node *n, int i)
{
    return node_out(n, i) && n->out[i]->uses;
}

void expand_simplified_layer_norm(Node *n)
{
    infer_shape(n, 0);
    const int64_t axis = node_int(n, "axis", -1);
    const float epsilon = node_float(n, "epsilon", 1e-5f);
    Tensor *result[] = { rms_norm(n, n->in[0], n->in[1], axis, epsilon),
                         read(n, 1) ? rms_factor(n, n->in[0], axis, epsilon) : NULL };
    expand_finish(n, result[1] ? 2 : 1, result);
}

/* input + skip + bias; skip may have no batch, or one of size 1. */
static Tensor *skipped(const Node *n, int bias)
{
    infer_shape(n, 0);
    infer_shape(n, 1);
    return biased(n, bias, expand_binary(n, "Add", n->in[0], n->in[1]));
}

void expand_skip_layer_norm(Node *n)
{
    Tensor *sum = skipped(n, 4);
    Node *norm = layer_norm(n, sum, n->in[2], node_in(n, 3), -1, node_float(n, "epsilon", 1e-12f),
                            read(n, 1) || read(n, 2) ? 3 : 1);
    Tensor *result[] = { norm->out[0], read(n, 1) ? norm->out[1] : NULL,
                         read(n, 2) ? norm->out[2] : NULL, read(n, 3) ? sum : NULL };
    expand_finish(n, 4, result);
}

void expand_skip_simplified_layer_norm(Node *n)
{
    Tensor *sum = skipped(n, 3);
    const float epsilon = node_float(n, "epsilon", 1e-12f);
    Tensor *result[] = { rms_norm(n, sum, n->in[2], -1, epsilon), NULL,
                         read(n, 2) ? rms_factor(n, sum, -1, epsilon) : NULL,
                         read(n, 3) ? sum : NULL };
    expand_finish(n, 4, result);
}

static Tensor *gathered(const Node *n, Tensor *table, Tensor *index)
{
    Tensor *in[] = { table, index };
    return expand_done(expand_node(n, "Gather", 2, in, 1));
}

void expand_dims(Node *n)
{
    int64_t count;
    const Shape *s = infer_shape(n, 0);
    const int64_t *axis = infer_ints(n, 1, &count);
    if (!axis || count != 1)
        fail_node(n, STATUS_UNSUPPORTED, "bake the axis with --const INPUT=FILE.pb",
                  "its axis is known only at run time");
    finish(n, expand_unsqueeze(n, n->in[0], node_axis(n, *axis, s->rank + 1)));
}

/* softmax(x + bias) over the last dimensions from `axis` on. */
void expand_bias_softmax(Node *n)
{
    infer_shape(n, 0);
    Tensor *x = expand_binary(n, "Add", n->in[0], n->in[1]);
    const Shape s = x->shape;
    const int axis = node_axis(n, node_int(n, "axis", 1), s.rank);
    int64_t dims[2] = { 1, 1 };
    for (int i = 0; i < s.rank; i++)
        dims[i >= axis] *= s.dim[i];
    x = expand_reshape(n, x, 2, dims);
    Node *softmax = expand_node(n, "Softmax", 1, &x, 1);
    node_set_int(softmax, "axis", 1);
    finish(n, expand_reshape(n, expand_done(softmax), s.rank, s.dim));
}

void expand_embeddings(Node *n, Tensor *const *in)
{
    const Shape *ids = infer_shape(n, 0);
    if (ids->rank != 2)
        fail_node(n, STATUS_MALFORMED, NULL, "its word indices have %d dimensions", ids->rank);
    const int64_t batch = ids->dim[0], steps = ids->dim[1];
    Tensor *sum = gathered(n, in[2], in[0]);
    sum = expand_binary(n, "Add", sum,
                        in[8] ? gathered(n, in[3], in[8]) : expand_slice(n, in[3], 0, 0, steps));
    if (in[1] && in[4])
        sum = expand_binary(n, "Add", sum, gathered(n, in[4], in[1]));
    Node *norm = layer_norm(n, sum, in[5], in[6], -1, node_float(n, "epsilon", 1e-12f), 1);
    Tensor *lengths = NULL;
    if (read(n, 1) && in[7]) {
        const int64_t axis = 1;
        Tensor *mask[] = { in[7], expand_i64s(n, 1, &axis) };
        Node *made = expand_node(n, "ReduceSum", 2, mask, 1);
        node_set_int(made, "keepdims", 0);
        lengths = expand_done(made);
    } else if (read(n, 1)) {
        const int32_t zero = 0;
        lengths = graph_add_constant(n->graph, NULL,
                                     recipe_fill(n->graph->store, DT_I32, 1, &batch, &zero));
    }
    Tensor *result[] = { norm->out[0], lengths, read(n, 2) ? sum : NULL };
    expand_finish(n, 3, result);
}

void expand_embed_layer_norm(Node *n)
{
    static const int needed[] = { 2, 3, 5, 6 };
    Tensor *in[9];
    for (int i = 0; i < 4; i++)
        infer_shape(n, needed[i]);
    for (int i = 0; i < 9; i++)
        in[i] = node_in(n, i);
    expand_embeddings(n, in);
}
