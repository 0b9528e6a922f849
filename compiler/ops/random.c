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
    const Tensor *result = node->out[0];
    const char *name = result ? result->name : NULL;
    for (const char *s = name; s && *s; s++) {
        h ^= (unsigned char)*s;
        h *= UINT64_C(0x100000001b3);
    }
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
    const DType made_type = type == DT_F64 ? DT_F64 : DT_F32;
    node_set_int(made, "dtype", made_type);
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
    infer_rank(node, count);
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
    const bool like = node->n_in > 0;
    const DType type = drawn_type(node, like ? node_type(node) : DT_F32);
    const Shape shape = like ? *infer_shape(node, 0) : drawn_shape(node);
    if (!dtype_is_float(type))
        fail_node(node, STATUS_MALFORMED, "give it a dtype",
                  "random numbers are floating, not %s", dtype_name(type));
    const char *first = normal ? "mean" : "low";
    const char *second = normal ? "scale" : "high";
    const float a = node_float(node, first, 0.0f);
    const float b = node_float(node, second, 1.0f);
    Tensor *drawn = draw(node, &shape, type, normal, a, b);
    Tensor *y = expand_cast(node, drawn, type);
    expand_finish_one(node, y);
}

/* One where a uniform number is below the probability. */
void expand_bernoulli(Node *node)
{
    const Shape *shape = infer_shape(node, 0);
    const DType given = node_type(node);
    const DType type = drawn_type(node, given);
    const DType work = given == DT_F64 ? DT_F64 : DT_F32;
    Tensor *p = expand_cast(node, node->in[0], work);
    if (type == DT_NONE || type == DT_STRING)
        fail_node(node, STATUS_MALFORMED, NULL, "needs a numeric type");
    Tensor *drawn = draw(node, shape, work, false, 0.0f, 1.0f);
    Tensor *less = expand_binary(node, "Less", drawn, p);
    Tensor *y = expand_cast(node, less, type);
    expand_finish_one(node, y);
}

void infer_random_values(Node *node)
{
    infer_out(node, 0, drawn_type(node, DT_F32), drawn_shape(node));
}

void lower_random_values(Lower *lower, Node *node)
{
    const Tensor *y = node->out[0];
    const inlay_random_params params = {
        .n = tensor_count(y),
        .seed = node_int(node, "key", 0),
        .normal = node_flag(node, "normal", false),
        .a = node_float(node, "a", 0.0f),
        .b = node_float(node, "b", 1.0f),
    };
    const char *kernel = lower_kernel(lower, "random", y->dtype);
    Step *step = lower_step(lower, kernel, &params);
    step_result(step, 0);
}

void infer_multinomial(Node *node)
{
    const Shape *x = infer_shape(node, 0);
    const DType type = drawn_type(node, DT_I32);
    const int64_t samples = node_int(node, "sample_size", 1);
    const bool indices = type == DT_I32 || type == DT_I64;
    if (x->rank != 2 || x->dim[1] < 1 || samples < 0 || !indices)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "wants [batch, classes], and int32 or int64 for its samples");
    const int64_t dims[] = { x->dim[0], samples };
    infer_out(node, 0, type, shape_of(2, dims));
}

void lower_multinomial(Lower *lower, Node *node)
{
    const Shape *x = node_shape(node, 0);
    const Tensor *y = node->out[0];
    const inlay_multinomial_params params = {
        .batch = x->dim[0],
        .classes = x->dim[1],
        .samples = y->shape.dim[1],
        .seed = seed_of(node),
        .wide = y->dtype == DT_I64,
    };
    Step *step = lower_typed_step(lower, "multinomial", &params);
    step_result(step, 0);
    step_operand(step, 0);
}
