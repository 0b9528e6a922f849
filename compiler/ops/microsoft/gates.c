/* SPDX-License-Identifier: Apache-2.0
 * Gates and norms of com.microsoft that exports of newer language models hold fused, as
 * compositions. They compute in float32 whatever the type of their tensors. */
#include <string.h>

#include "base/size.h"
#include "ops/expand.h"
#include "ops/families.h"

/* Operand i, as it is computed with. */
static Tensor *wide(const Node *node, int i)
{
    infer_shape(node, i);
    return expand_cast(node, node->in[i], DT_F32);
}

static void finish_narrow(Node *node, Tensor *y)
{
    expand_finish_one(node, expand_cast(node, y, node_type(node)));
}

/* The product z = scale * x is rounded to the tensor's type, its sigmoid too, then z times that. */
void expand_scaled_silu(Node *node)
{
    const DType type = node_type(node);
    infer_shape(node, 0);
    Tensor *scale = node_in(node, 1);
    Tensor *x = wide(node, 0);
    const float alpha = node_float(node, "alpha", 1.0f);
    if (!scale)
        scale = expand_number(node, (double)alpha, DT_F32);
    scale = expand_cast(node, scale, DT_F32);
    Tensor *z = expand_mul(node, x, scale);
    z = expand_cast(node, z, type);
    Tensor *gate = expand_unary(node, "Sigmoid", z);
    z = expand_mul(node, z, gate);
    expand_finish_one(node, z);
}

/* x + y * gate, one gate for each row */
void expand_gated_add(Node *node)
{
    const Shape *gate = infer_shape(node, 2);
    infer_shape(node, 0);
    infer_shape(node, 1);
    if (node_in(node, 3))
        fail_node(node, STATUS_UNSUPPORTED, NULL,
                  "its gate is a projection, which is for bfloat16 on GPUs");
    const int last = gate->rank - 1;
    if (last < 0 || gate->dim[last] != 1)
        fail_node(node, STATUS_MALFORMED, NULL, "its gate is %s, not [...][1]",
                  shape_text(node->graph->arena, gate));
    Tensor *product = expand_mul(node, node->in[1], node->in[2]);
    Tensor *sum = expand_add(node, node->in[0], product);
    expand_finish_one(node, sum);
}

/* --- norms --- */

/* Scales that change nothing. */
static Tensor *ones(const Node *node, const Tensor *x)
{
    const int last = x->shape.rank - 1;
    Tensor *width = expand_i64(node, x->shape.dim[last]);
    Tensor *one = expand_number(node, 1.0, DT_F32);
    return expand_op(node, "Expand", one, width);
}

/* x divided by the root of the mean of squares of its last dimension, times scale. */
static Tensor *normalized(const Node *node, Tensor *x, Tensor *scale)
{
    const float epsilon = node_float(node, "epsilon", 1e-5f);
    Node *made = expand_of(node, "RMSNormalization", x, scale);
    node_set_float(made, "epsilon", epsilon);
    return expand_done(made);
}

/* The last dimension of x as groups of `width`. */
static Tensor *grouped(const Node *node, Tensor *x, int64_t width)
{
    Shape shape = x->shape;
    int64_t *last = shape.dim + shape.rank - 1;
    if (width < 1 || *last % width)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "groups of %lld do not divide rows of %lld", (long long)width,
                  (long long)*last);
    if (*last == width)
        return x;
    if (shape.rank == MAX_RANK)
        fail_node(node, STATUS_UNSUPPORTED, NULL, "its groups have %d axes",
                  MAX_RANK + 1);
    *last /= width;
    shape.dim[shape.rank++] = width;
    return expand_reshape(node, x, shape.rank, shape.dim);
}

static Tensor *gate_of(const Node *node, Tensor *x)
{
    const char *name = node_string(node, "activation", "silu");
    if (!strcmp(name, "sigmoid"))
        return expand_unary(node, "Sigmoid", x);
    if (strcmp(name, "silu") && strcmp(name, "swish"))
        fail_node(node, STATUS_MALFORMED, NULL, "unknown activation \"%s\"",
                  name);
    return expand_unary(node, "Swish", x);
}

static void require_rows(const Node *node, const Shape *shape)
{
    if (shape->rank < 1)
        fail_node(node, STATUS_MALFORMED, NULL, "its input is a scalar");
}

/* The norm of each group of as many elements as there are scales, times the gate. */
void expand_gated_rms_norm(Node *node)
{
    const Shape shape = *infer_shape(node, 0);
    const int64_t width = shape_count(infer_shape(node, 1));
    require_rows(node, &shape);
    Tensor *x = wide(node, 0);
    Tensor *scale = wide(node, 1);
    Tensor *gate = wide(node, 2);
    x = grouped(node, x, width);
    gate = gate_of(node, gate);
    Tensor *y = normalized(node, x, scale);
    y = expand_reshape(node, y, shape.rank, shape.dim);
    y = expand_mul(node, y, gate);
    finish_narrow(node, y);
}

/* y times operand 1, one scale for each branch and element, or for each element. */
static Tensor *scaled(const Node *node, Tensor *y, int64_t width)
{
    Tensor *scale = wide(node, 1);
    const int64_t count = tensor_count(scale);
    if (width < 1 || count % width)
        fail_node(node, STATUS_MALFORMED, NULL, "its scales do not fit");
    const int64_t dims[] = { count / width, width };
    scale = expand_reshape(node, scale, 2, dims);
    return expand_mul(node, y, scale);
}

/* The norm of each branch: the last dimension, or num_branches parts of it. */
void expand_branchwise_rms_norm(Node *node)
{
    const int64_t branches = node_int(node, "num_branches", 0);
    const Shape shape = *infer_shape(node, 0);
    require_rows(node, &shape);
    const int64_t all = shape.dim[shape.rank - 1];
    const int64_t width = branches > 0 ? all / branches : all;
    Tensor *x = wide(node, 0);
    x = grouped(node, x, width);
    Tensor *scale = ones(node, x);
    Tensor *y = normalized(node, x, scale);
    if (node_in(node, 1))
        y = scaled(node, y, width);
    y = expand_reshape(node, y, shape.rank, shape.dim);
    finish_narrow(node, y);
}

static Tensor *rate_of(const Node *node)
{
    if (!node_in(node, 3))
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its second result needs operand b");
    Tensor *rate = wide(node, 3);
    rate = expand_unary(node, "Sigmoid", rate);
    return expand_cast(node, rate, node_type(node));
}

/* The decay scale * softplus(a + bias), and the rate sigmoid(b), of LinearAttention. */
void expand_linear_attention_gate(Node *node)
{
    const DType type = node_type(node);
    Tensor *x = wide(node, 0);
    Tensor *bias = wide(node, 1);
    Tensor *factor = wide(node, 2);
    x = expand_add(node, x, bias);
    x = expand_unary(node, "Softplus", x);
    x = expand_mul(node, x, factor);
    Tensor *result[2] = { NULL };
    result[0] = expand_cast(node, x, type);
    if (expand_reads(node, 1))
        result[1] = rate_of(node);
    expand_finish(node, 2, result);
}
