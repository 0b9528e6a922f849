/* SPDX-License-Identifier: Apache-2.0
 * Random numbers: the same in every run, from the attribute `seed`, else from the name of the
 * node's result. Never folded: a step is smaller than the numbers it makes. */
#include <string.h>

#include "kernels/random.h"
#include "ops/expand.h"
#include "ops/families.h"
#include "ops/typed.h"

static int64_t seed_of(const Node *node)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    if (node_attr(node, "seed")) {
        const float seed = node_float(node, "seed", 0.0f);
        uint32_t bits;
        memcpy(&bits, &seed, sizeof bits);
        return bits;
    }
    for (const char *s = node->out[0] ? node->out[0]->name : NULL; s && *s; s++)
        h = (h ^ (unsigned char)*s) * UINT64_C(0x100000001b3);
    return (int64_t)(h >> 1);
}

/* Attribute dtype, or what stands for it. */
static DType drawn_type(const Node *node, DType otherwise)
{
    const Attr *attr = node_attr(node, "dtype");
    return attr ? dtype_of_code(attr->i) : otherwise;
}

static Tensor *draw(const Node *node, const Shape *shape, DType type,
                    bool normal, float a, float b)
{
    Node *made = expand_inlay_node(node, "RandomValues", 0, NULL, 1);
    node_set_ints(made, "shape", shape->rank, shape->dim);
    node_set_int(made, "dtype", type == DT_F64 ? DT_F64 : DT_F32);
    node_set_int(made, "normal", normal);
    node_set_int(made, "key", seed_of(node));
    node_set_float(made, "a", a);
    node_set_float(made, "b", b);
    return expand_done(made);
}

static Shape drawn_shape(const Node *node)
{
    int64_t count;
    const int64_t *dims = node_ints(node, "shape", &count);
    if (!node_attr(node, "shape"))
        fail_node(node, STATUS_MALFORMED, NULL, "has no attribute shape");
    if (count > MAX_RANK)
        fail_node(node, STATUS_UNSUPPORTED, NULL,
                  "its result has more than %d dimensions", MAX_RANK);
    for (int64_t i = 0; i < count; i++)
        if (dims[i] < 0)
            fail_node(node, STATUS_MALFORMED, NULL, "a dimension of %lld",
                      (long long)dims[i]);
    return shape_of((int)count, dims);
}

/* RandomNormal, RandomUniform, and as Like: the shape of operand 0. */
void expand_random(Node *node)
{
    const bool normal = !strncmp(node->op_type, "RandomNormal", 12);
    const DType type = drawn_type(node, node->n_in ? node_type(node) : DT_F32);
    const Shape shape = node->n_in ? *infer_shape(node, 0) : drawn_shape(node);
    if (!dtype_is_float(type))
        fail_node(node, STATUS_MALFORMED, "give it a dtype",
                  "random numbers are floating, not %s", dtype_name(type));
    const float a = node_float(node, normal ? "mean" : "low", 0.0f);
    const float b = node_float(node, normal ? "scale" : "high", 1.0f);
    Tensor *drawn = draw(node, &shape, type, normal, a, b);
    Tensor *y = expand_cast(node, drawn, type);
    expand_finish(node, 1, &y);
}

/* One where a uniform number is below the probability. */
void expand_bernoulli(Node *node)
{
    const Shape *shape = infer_shape(node, 0);
    const DType type = drawn_type(node, node_type(node));
    const bool wide = node_type(node) == DT_F64;
    Tensor *p = expand_cast(node, node->in[0], wide ? DT_F64 : DT_F32);
    if (type == DT_NONE || type == DT_STRING)
        fail_node(node, STATUS_MALFORMED, NULL, "needs a numeric type");
    Tensor *drawn = draw(node, shape, p->dtype, false, 0.0f, 1.0f);
    Tensor *less = expand_binary(node, "Less", drawn, p);
    Tensor *y = expand_cast(node, less, type);
    expand_finish(node, 1, &y);
}

void infer_random_values(Node *node)
{
    infer_out(node, 0, drawn_type(node, DT_F32), drawn_shape(node));
}

void lower_random_values(Lower *lower, Node *node)
{
    const DType type = node->out[0]->dtype;
    const inlay_random_params params = {
        .n = tensor_count(node->out[0]),
        .seed = node_int(node, "key", 0),
        .normal = node_int(node, "normal", 0) != 0,
        .a = node_float(node, "a", 0.0f),
        .b = node_float(node, "b", 1.0f),
    };
    const char *kernel = lower_kernel(lower, "random", type);
    Step *step = lower_step(lower, kernel, &params);
    step_result(step, 0);
}

void infer_multinomial(Node *node)
{
    const Shape *x = infer_shape(node, 0);
    const DType type = drawn_type(node, DT_I32);
    const int64_t samples = node_int(node, "sample_size", 1);
    if (x->rank != 2 || x->dim[1] < 1 || samples < 0 ||
        (type != DT_I32 && type != DT_I64))
        fail_node(node, STATUS_MALFORMED, NULL,
                  "wants [batch, classes], and int32 or int64 for its samples");
    infer_out(node, 0, type, (Shape){ 2, { x->dim[0], samples } });
}

void lower_multinomial(Lower *lower, Node *node)
{
    const Shape *x = &node->in[0]->shape;
    const inlay_multinomial_params params = {
        .batch = x->dim[0],
        .classes = x->dim[1],
        .samples = node->out[0]->shape.dim[1],
        .seed = seed_of(node),
        .wide = node->out[0]->dtype == DT_I64,
    };
    const DType type = node_type(node);
    const char *kernel = lower_kernel(lower, "multinomial", type);
    Step *step = lower_step(lower, kernel, &params);
    step_result(step, 0);
    step_operand(step, 0);
}
