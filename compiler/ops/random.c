/* SPDX-License-Identifier: Apache-2.0
 * Random numbers: the same in every run, from the attribute `seed`, else from the name of the
 * node's result. Never folded: a step is smaller than the numbers it makes. */
#include <string.h>

#include "kernels/random.h"
#include "ops/expand.h"
#include "ops/families.h"
#include "ops/typed.h"

static int64_t seed_of(const Node *n)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    if (node_attr(n, "seed")) {
        const float seed = node_float(n, "seed", 0.0f);
        uint32_t bits;
        memcpy(&bits, &seed, sizeof bits);
        return bits;
    }
    for (const char *s = n->out[0] ? n->out[0]->name : NULL; s && *s; s++)
        h = (h ^ (unsigned char)*s) * UINT64_C(0x100000001b3);
    return (int64_t)(h >> 1);
}

/* Attribute dtype, or what stands for it. */
static DType drawn_type(const Node *n, DType otherwise)
{
    const Attr *a = node_attr(n, "dtype");
    return a ? dtype_of_code(a->i) : otherwise;
}

static Tensor *draw(const Node *n, const Shape *s, DType t, bool normal, float a, float b)
{
    Node *made = expand_inlay_node(n, "RandomValues", 0, NULL, 1);
    node_set_ints(made, "shape", s->rank, s->dim);
    node_set_int(made, "dtype", t == DT_F64 ? DT_F64 : DT_F32);
    node_set_int(made, "normal", normal);
    node_set_int(made, "key", seed_of(n));
    node_set_float(made, "a", a);
    node_set_float(made, "b", b);
    return expand_done(made);
}

static Shape drawn_shape(const Node *n)
{
    int64_t count;
    const int64_t *dims = node_ints(n, "shape", &count);
    if (!node_attr(n, "shape"))
        fail_node(n, STATUS_MALFORMED, NULL, "has no attribute shape");
    if (count > MAX_RANK)
        fail_node(n, STATUS_UNSUPPORTED, NULL, "its result has more than %d dimensions", MAX_RANK);
    for (int64_t i = 0; i < count; i++)
        if (dims[i] < 0)
            fail_node(n, STATUS_MALFORMED, NULL, "a dimension of %lld", (long long)dims[i]);
    return shape_of((int)count, dims);
}

/* RandomNormal, RandomUniform, and as Like: the shape of operand 0. */
void expand_random(Node *n)
{
    const bool normal = !strncmp(n->op_type, "RandomNormal", 12);
    const DType t = drawn_type(n, n->n_in ? n->in[0]->dtype : DT_F32);
    const Shape s = n->n_in ? *infer_shape(n, 0) : drawn_shape(n);
    if (!dtype_is_float(t))
        fail_node(n, STATUS_MALFORMED, "give it a dtype", "random numbers are floating, not %s",
                  dtype_name(t));
    Tensor *y =
        normal ? draw(n, &s, t, true, node_float(n, "mean", 0.0f), node_float(n, "scale", 1.0f))
               : draw(n, &s, t, false, node_float(n, "low", 0.0f), node_float(n, "high", 1.0f));
    y = expand_cast(n, y, t);
    expand_finish(n, 1, &y);
}

/* One where a uniform number is below the probability. */
void expand_bernoulli(Node *n)
{
    const Shape *s = infer_shape(n, 0);
    const DType t = drawn_type(n, n->in[0]->dtype);
    Tensor *p = expand_cast(n, n->in[0], n->in[0]->dtype == DT_F64 ? DT_F64 : DT_F32);
    if (t == DT_NONE || t == DT_STRING)
        fail_node(n, STATUS_MALFORMED, NULL, "needs a numeric type");
    Tensor *y =
        expand_cast(n, expand_binary(n, "Less", draw(n, s, p->dtype, false, 0.0f, 1.0f), p), t);
    expand_finish(n, 1, &y);
}

void infer_random_values(Node *n)
{
    infer_out(n, 0, drawn_type(n, DT_F32), drawn_shape(n));
}

void lower_random_values(Lower *l, Node *n)
{
    const inlay_random_params p = { .n = tensor_count(n->out[0]),
                                    .seed = node_int(n, "key", 0),
                                    .normal = node_int(n, "normal", 0) != 0,
                                    .a = node_float(n, "a", 0.0f),
                                    .b = node_float(n, "b", 1.0f) };
    step_out(lower_step(l, n, lower_kernel(l, "random", n->out[0]->dtype), &p), n->out[0]);
}

void infer_multinomial(Node *n)
{
    const Shape *x = infer_shape(n, 0);
    const DType t = drawn_type(n, DT_I32);
    const int64_t samples = node_int(n, "sample_size", 1);
    if (x->rank != 2 || x->dim[1] < 1 || samples < 0 || (t != DT_I32 && t != DT_I64))
        fail_node(n, STATUS_MALFORMED, NULL,
                  "wants [batch, classes], and int32 or int64 for its samples");
    infer_out(n, 0, t, (Shape){ 2, { x->dim[0], samples } });
}

void lower_multinomial(Lower *l, Node *n)
{
    const Shape *x = &n->in[0]->shape;
    const inlay_multinomial_params p = { .batch = x->dim[0],
                                         .classes = x->dim[1],
                                         .samples = n->out[0]->shape.dim[1],
                                         .seed = seed_of(n),
                                         .wide = n->out[0]->dtype == DT_I64 };
    Step *s = lower_step(l, n, lower_kernel(l, "multinomial", n->in[0]->dtype), &p);
    step_out(s, n->out[0]);
    step_in(s, n->in[0]);
}
