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

/* What an update rule of a state takes. */
typedef struct UpdateRule {
    const char *name;
    bool decay, rate;
} UpdateRule;

static const UpdateRule update_rules[] = {
    { "linear", false, false },
    { "gated", true, false },
    { "delta", false, true },
    { "gated_delta", true, true },
};

static const UpdateRule *rule_of(const Node *node)
{
    const char *name = node_string(node, "update_rule", "gated_delta");
    for (size_t i = 0; i < sizeof update_rules / sizeof *update_rules; i++)
        if (!strcmp(name, update_rules[i].name))
            return update_rules + i;
    fail_node(node, STATUS_MALFORMED, NULL, "unknown update_rule \"%s\"", name);
}

static void check_rule(const Node *node)
{
    const UpdateRule *rule = rule_of(node);
    const bool decay = node_in(node, 4) != NULL;
    const bool rate = node_in(node, 5) != NULL;
    if (decay != rule->decay || rate != rule->rate)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "update_rule %s %s a decay and %s a rate", rule->name,
                  rule->decay ? "needs" : "has not",
                  rule->rate ? "needs" : "has not");
}

/* The last dimension of an operand [batch][steps][...]. */
static int64_t width_of(const Node *node, int i)
{
    const Shape *shape = infer_shape(node, i);
    const Shape *q = infer_shape(node, 0);
    if (shape->rank != 3 || q->rank != 3 || shape->dim[0] != q->dim[0] ||
        shape->dim[1] != q->dim[1])
        fail_node(node, STATUS_MALFORMED, NULL,
                  "input %d is %s, not [batch][steps][...]", i,
                  shape_text(node->graph->arena, shape));
    return shape->dim[2];
}

static void check_heads(const Node *node, int64_t queries, int64_t heads)
{
    const int64_t q = width_of(node, 0);
    const int64_t k = width_of(node, 1);
    const int64_t v = width_of(node, 2);
    if (heads < 1 || queries < heads || queries % heads || q % queries ||
        k % heads || v % heads || q / queries != k / heads)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its heads do not divide queries, keys and values");
}

/* A decay for each head or each element of the keys, a rate for each head or one for all. */
static void check_rates(const Node *node, int64_t decays, int64_t rates,
                        int64_t heads)
{
    if ((decays && decays != heads && decays != width_of(node, 1)) ||
        (rates && rates != heads && rates != 1))
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its decay or rate does not fit %lld heads",
                  (long long)heads);
}

/* Of the products of queries and keys of `each` elements. */
static float scale_of(const Node *node, int64_t each)
{
    const float given = node_float(node, "scale", 0.0f);
    if (given < 0.0f || given > 0.0f)
        return given;
    return (float)(1.0 / sqrt((double)each));
}

/* An attribute of com.microsoft whose other values are another layout, or another state. */
static void check_plain(const Node *node, const char *name, int64_t plain)
{
    const int64_t given = node_int(node, name, plain);
    if (given != plain)
        fail_node(node, STATUS_UNSUPPORTED, NULL, "%s is %lld, not %lld", name,
                  (long long)given, (long long)plain);
}

static inlay_linear_attention_params linear_of(const Node *node)
{
    check_plain(node, "state_window", 0);
    const int64_t queries = node_int(node, "q_num_heads", 0);
    const int64_t heads = node_int(node, "kv_num_heads", 0);
    const int64_t decays = node_in(node, 4) ? width_of(node, 4) : 0;
    const int64_t rates = node_in(node, 5) ? width_of(node, 5) : 0;
    check_rule(node);
    check_heads(node, queries, heads);
    check_rates(node, decays, rates, heads);
    const Shape *shape = infer_shape(node, 0);
    const int64_t each = width_of(node, 1) / heads;
    return (inlay_linear_attention_params){
        .batch = i32_checked(shape->dim[0]),
        .steps = i32_checked(shape->dim[1]),
        .heads = i32_checked(heads),
        .group = i32_checked(queries / heads),
        .d = i32_checked(each),
        .v = i32_checked(width_of(node, 2) / heads),
        .decays = i32_checked(decays / heads),
        .rates = i32_checked(rates),
        .scale = scale_of(node, each),
    };
}

static void check_state(const Node *node, const Shape *found,
                        const Shape *state)
{
    if (!shape_equal(found, state))
        fail_node(node, STATUS_MALFORMED, NULL, "its state is %s, not %s",
                  shape_text(node->graph->arena, found),
                  shape_text(node->graph->arena, state));
}

static Shape state_shape(const inlay_linear_attention_params *params)
{
    const int64_t dims[] = { params->batch, params->heads, params->d,
                             params->v };
    return shape_of(4, dims);
}

void infer_linear_attention(Node *node)
{
    const inlay_linear_attention_params params = linear_of(node);
    const Tensor *past = node_in(node, 3);
    const DType type = node_type(node);
    const Shape state = state_shape(&params);
    if (past)
        check_state(node, infer_shape(node, 3), &state);
    const int64_t heads = i64_mul(params.heads, params.group);
    const int64_t dims[] = { params.batch, params.steps,
                             i64_mul(heads, params.v) };
    infer_out(node, 0, type, shape_of(3, dims));
    infer_out(node, 1, past ? past->dtype : type, state);
}

void lower_linear_attention(Lower *lower, Node *node)
{
    const inlay_linear_attention_params params = linear_of(node);
    Step *step = lower_step(lower, "linear_attention_f32", &params);
    Tensor *state = node_out(node, 1);
    if (!state)
        state = lower_temp(lower, DT_F32, state_shape(&params));
    step_result(step, 0);
    step_out(step, state);
    for (int i = 0; i < 6; i++)
        step_operand(step, i);
    step_scratch(lower, step, params.v * (int64_t)sizeof(float));
}

/* --- CausalConvWithState: the state [B][C][K - 1], or zeros, lies before the input --- */

static Tensor *zeros(const Node *node, DType type, Shape shape)
{
    const uint64_t zero = 0;
    return graph_add_constant(
        node->graph, NULL,
        recipe_fill(node->graph->store, type, shape.rank, shape.dim, &zero));
}

static Tensor *swish(const Node *node, Tensor *x, float alpha)
{
    Node *made = expand_of(node, "Swish", x);
    node_set_float(made, "alpha", alpha);
    return expand_done(made);
}

/* Is the activation SiLU? */
static bool has_swish(const Node *node)
{
    const char *name = node_string(node, "activation", "none");
    if (!strcmp(name, "none"))
        return false;
    if (strcmp(name, "silu") && strcmp(name, "swish"))
        fail_node(node, STATUS_MALFORMED, NULL, "unknown activation \"%s\"",
                  name);
    return true;
}

static Tensor *depthwise(const Node *node, Tensor *x, int64_t channels,
                         int64_t dilation)
{
    Node *conv = expand_of(node, "Conv", x, node->in[1], node_in(node, 2));
    node_set_int(conv, "group", channels);
    node_set_ints(conv, "dilations", 1, &dilation);
    return expand_done(conv);
}

static void check_kernel(const Node *node, const Shape *x, const Shape *w)
{
    if (x->rank != 3 || w->rank != 3 || w->dim[0] != x->dim[1] ||
        w->dim[1] != 1 || w->dim[2] < 1)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its weights are no depthwise kernel for its input");
}

/* What com.microsoft has besides: layouts, and parts of a wider input. */
static void check_layout(const Node *node)
{
    static const char *const others[] = {
        "channels_last",       "input_channel_offset", "input_channels",
        "state_channels_last", "state_length",         "state_window"
    };
    check_plain(node, "ndim", 1);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        check_plain(node, others[i], 0);
}

/* The state x[.., end - kept ..], or the one before where nothing is kept. */
static Tensor *state_after(const Node *node, Tensor *all, Tensor *before,
                           int64_t steps)
{
    const int64_t kept = before->shape.dim[2];
    if (!kept)
        return before;
    return expand_slice(node, all, 2, steps, steps + kept);
}

void expand_causal_conv(Node *node)
{
    check_layout(node);
    const Shape x = *infer_shape(node, 0);
    const Shape w = *infer_shape(node, 1);
    Tensor *in = node->in[0];
    check_kernel(node, &x, &w);
    const int64_t dilation = infer_int(node, "dilation", 1, 1);
    const int64_t kept = i64_mul(w.dim[2] - 1, dilation);
    Shape state = x;
    state.dim[2] = kept;
    Tensor *before = node_in(node, 3);
    if (!before)
        before = zeros(node, in->dtype, state);
    check_state(node, &before->shape, &state);
    Tensor *all = kept ? expand_concat(node, before, in, 2) : in;
    Tensor *y = depthwise(node, all, x.dim[1], dilation);
    if (has_swish(node))
        y = swish(node, y, 1.0f);
    Tensor *after = state_after(node, all, before, x.dim[2]);
    Tensor *result[] = { y, after };
    expand_finish(node, 2, result);
}

void expand_swiglu(Node *node)
{
    const Shape *a = infer_shape(node, 0);
    const Shape *b = infer_shape(node, 1);
    Arena *arena = node->graph->arena;
    if (!shape_equal(a, b))
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its operands are of shape %s and %s", shape_text(arena, a),
                  shape_text(arena, b));
    const float alpha = node_float(node, "alpha", 1.0f);
    Tensor *gate = swish(node, node->in[0], alpha);
    Tensor *y = expand_mul(node, gate, node->in[1]);
    expand_finish_one(node, y);
}
