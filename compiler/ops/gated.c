/* SPDX-License-Identifier: Apache-2.0
 * What models with a state in the place of a cache use: LinearAttention, CausalConvWithState,
 * SwiGLU. */
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "kernels/linear_attention.h"
#include "ops/expand.h"
#include "ops/families.h"

/* --- LinearAttention --- */

static const struct {
    const char *name;
    bool decay, rate;
} update_rules[] = {
    { "linear", false, false },
    { "gated", true, false },
    { "delta", false, true },
    { "gated_delta", true, true },
};

static void check_rule(const Node *n)
{
    const char *rule = node_string(n, "update_rule", "gated_delta");
    for (size_t i = 0; i < sizeof update_rules / sizeof *update_rules; i++)
        if (!strcmp(rule, update_rules[i].name)) {
            if (!node_in(n, 4) == update_rules[i].decay || !node_in(n, 5) == update_rules[i].rate)
                fail_node(n, STATUS_MALFORMED, NULL, "update_rule %s %s a decay and %s a rate",
                          rule, update_rules[i].decay ? "needs" : "has not",
                          update_rules[i].rate ? "needs" : "has not");
            return;
        }
    fail_node(n, STATUS_MALFORMED, NULL, "unknown update_rule \"%s\"", rule);
}

/* The last dimension of an operand [batch][steps][...]. */
static int64_t width_of(const Node *n, int i)
{
    const Shape *s = infer_shape(n, i), *q = infer_shape(n, 0);
    if (s->rank != 3 || q->rank != 3 || s->dim[0] != q->dim[0] || s->dim[1] != q->dim[1])
        fail_node(n, STATUS_MALFORMED, NULL, "input %d is %s, not [batch][steps][...]", i,
                  shape_text(n->graph->arena, s));
    return s->dim[2];
}

static inlay_linear_attention_params linear_of(const Node *n)
{
    const int64_t queries = node_int(n, "q_num_heads", 0), heads = node_int(n, "kv_num_heads", 0);
    const int64_t q = width_of(n, 0), k = width_of(n, 1), v = width_of(n, 2),
                  decays = node_in(n, 4) ? width_of(n, 4) : 0,
                  rates = node_in(n, 5) ? width_of(n, 5) : 0;
    check_rule(n);
    if (heads < 1 || queries < heads || queries % heads || q % queries || k % heads || v % heads ||
        q / queries != k / heads)
        fail_node(n, STATUS_MALFORMED, NULL, "its heads do not divide queries, keys and values");
    if ((decays && decays != heads && decays != k) || (rates && rates != heads && rates != 1))
        fail_node(n, STATUS_MALFORMED, NULL, "its decay or rate does not fit %lld heads",
                  (long long)heads);
    const float scale = node_float(n, "scale", 0.0f);
    return (inlay_linear_attention_params){
        .batch = i32_checked(n->in[0]->shape.dim[0]),
        .steps = i32_checked(n->in[0]->shape.dim[1]),
        .heads = i32_checked(heads),
        .group = i32_checked(queries / heads),
        .d = i32_checked(k / heads),
        .v = i32_checked(v / heads),
        .decays = i32_checked(decays / heads),
        .rates = i32_checked(rates),
        .scale = scale < 0.0f || scale > 0.0f ? scale : (float)(1.0 / sqrt((double)(k / heads)))
    };
}

void infer_linear_attention(Node *n)
{
    const inlay_linear_attention_params p = linear_of(n);
    const Tensor *past = node_in(n, 3);
    const Shape state = shape_of(4, (const int64_t[]){ p.batch, p.heads, p.d, p.v });
    if (past && !shape_equal(infer_shape(n, 3), &state))
        fail_node(n, STATUS_MALFORMED, NULL, "its state is %s, not %s",
                  shape_text(n->graph->arena, &past->shape), shape_text(n->graph->arena, &state));
    infer_out(n, 0, n->in[0]->dtype,
              shape_of(3, (const int64_t[]){ p.batch, p.steps,
                                             i64_mul(i64_mul(p.heads, p.group), p.v) }));
    infer_out(n, 1, past ? past->dtype : n->in[0]->dtype, state);
}

void lower_linear_attention(Lower *l, Node *n)
{
    const inlay_linear_attention_params p = linear_of(n);
    const Shape state = shape_of(4, (const int64_t[]){ p.batch, p.heads, p.d, p.v });
    Step *s = lower_step(l, n, "linear_attention_f32", &p);
    step_out(s, n->out[0]);
    step_out(s, node_out(n, 1) ? n->out[1] : lower_temp(l, DT_F32, state));
    for (int i = 0; i < 6; i++)
        step_in(s, node_in(n, i));
    step_scratch(l, s, p.v * (int64_t)sizeof(float));
}

/* --- CausalConvWithState: the state [B][C][K - 1], or zeros, lies before the input --- */

static Tensor *joined(const Node *n, Tensor *a, Tensor *b, int64_t axis)
{
    Tensor *in[] = { a, b };
    Node *c = expand_node(n, "Concat", 2, in, 1);
    node_set_int(c, "axis", axis);
    return expand_done(c);
}

static Tensor *zeros(const Node *n, DType t, Shape s)
{
    const uint64_t zero = 0;
    return graph_add_constant(n->graph, NULL,
                              recipe_fill(n->graph->store, t, s.rank, s.dim, &zero));
}

static Tensor *swish(const Node *n, Tensor *x, float alpha)
{
    Node *made = expand_node(n, "Swish", 1, &x, 1);
    node_set_float(made, "alpha", alpha);
    return expand_done(made);
}

void expand_causal_conv(Node *n)
{
    const Shape x = *infer_shape(n, 0), w = *infer_shape(n, 1);
    const char *act = node_string(n, "activation", "none");
    if (x.rank != 3 || w.rank != 3 || w.dim[0] != x.dim[1] || w.dim[1] != 1 || w.dim[2] < 1)
        fail_node(n, STATUS_MALFORMED, NULL, "its weights are no depthwise kernel for its input");
    if (strcmp(act, "none") && strcmp(act, "silu") && strcmp(act, "swish"))
        fail_node(n, STATUS_MALFORMED, NULL, "unknown activation \"%s\"", act);
    const Shape state = shape_of(3, (const int64_t[]){ x.dim[0], x.dim[1], w.dim[2] - 1 });
    Tensor *before = node_in(n, 3) ? n->in[3] : zeros(n, n->in[0]->dtype, state);
    if (!shape_equal(&before->shape, &state))
        fail_node(n, STATUS_MALFORMED, NULL, "its state is %s, not %s",
                  shape_text(n->graph->arena, &before->shape), shape_text(n->graph->arena, &state));
    Tensor *all = w.dim[2] > 1 ? joined(n, before, n->in[0], 2) : n->in[0],
           *in[] = { all, n->in[1], node_in(n, 2) };
    Node *conv = expand_node(n, "Conv", in[2] ? 3 : 2, in, 1);
    node_set_int(conv, "group", x.dim[1]);
    Tensor *y = expand_done(conv);
    Tensor *result[] = { strcmp(act, "none") ? swish(n, y, 1.0f) : y,
                         w.dim[2] > 1 ? expand_slice(n, all, 2, x.dim[2], x.dim[2] + w.dim[2] - 1)
                                      : before };
    expand_finish(n, 2, result);
}

void expand_swiglu(Node *n)
{
    const Shape *a = infer_shape(n, 0), *b = infer_shape(n, 1);
    if (!shape_equal(a, b))
        fail_node(n, STATUS_MALFORMED, NULL, "its operands are of shape %s and %s",
                  shape_text(n->graph->arena, a), shape_text(n->graph->arena, b));
    Tensor *y = expand_binary(n, "Mul", swish(n, n->in[0], node_float(n, "alpha", 1.0f)), n->in[1]);
    expand_finish(n, 1, &y);
}
