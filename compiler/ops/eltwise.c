/* SPDX-License-Identifier: Apache-2.0
 * Elementwise operators with broadcasting: unary, binary, variadic, Where, Clip, Cast. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "ops/act.h"
#include "ops/families.h"
#include "ops/nest.h"
#include "ops/typed.h"

void lower_unary(Lower *lower, Node *node)
{
    const ActRow *act = act_of(node);
    const char *name = act ? act->kernel : node->op->kernel;
    const char *kernel = lower_kernel(lower, name, node_type(node));
    const double a = act ? (double)act_a(act, node) : 0.0;
    const double b = act ? (double)act_b(act, node) : 0.0;
    lower_flat(lower, kernel, node->out[0], node->in[0], a, b);
}

static bool is_unsigned(DType type)
{
    return (T_UNSIGNED & DTYPE_BIT(type)) != 0;
}

void lower_abs(Lower *lower, Node *node)
{
    if (is_unsigned(node_type(node)))
        lower_view(lower, node->out[0], node->in[0], 0);
    else
        lower_unary(lower, node);
}

/* Shrink exists for integers too: computed in float64. */
void lower_shrink(Lower *lower, Node *node)
{
    const double lambd = node_double(node, "lambd", 0.5f);
    const double bias = node_double(node, "bias", 0.0f);
    Tensor *in = node->in[0];
    Tensor *out = node->out[0];
    if (dtype_is_float(in->dtype)) {
        const char *kernel = lower_kernel(lower, "shrink", in->dtype);
        lower_flat(lower, kernel, out, in, lambd, bias);
        return;
    }
    Tensor *x = lower_temp(lower, DT_F64, in->shape);
    Tensor *y = lower_temp(lower, DT_F64, in->shape);
    lower_cast(lower, x, in);
    lower_flat(lower, "shrink_f64", y, x, lambd, bias);
    lower_cast(lower, out, y);
}

void lower_isinf(Lower *lower, Node *node)
{
    const char *kernel = lower_kernel(lower, "isinf", node_type(node));
    const double negative = (double)node_int(node, "detect_negative", 1);
    const double positive = (double)node_int(node, "detect_positive", 1);
    lower_flat(lower, kernel, node->out[0], node->in[0], negative, positive);
}

void lower_not(Lower *lower, Node *node)
{
    lower_flat(lower, "logical_not", node->out[0], node->in[0], 0.0, 0.0);
}

/* Both operands must be of one type. */
static void check_types(const Node *node)
{
    for (int i = 1; i < node->n_in; i++)
        if (node->in[i] && node->in[i]->dtype != node_type(node))
            fail_node(
                node, STATUS_MALFORMED, NULL, "inputs are of types %s and %s",
                dtype_name(node_type(node)), dtype_name(node->in[i]->dtype));
}

void lower_binary(Lower *lower, Node *node)
{
    const bool swap = node->op->flags & OP_SWAP;
    check_types(node);
    lower_binary_to(lower, node->op->kernel, node->out[0], node->in[swap],
                    node->in[!swap]);
}

static void lower_logical(Lower *lower, Node *node, const char *kernel)
{
    lower_nd2(lower, kernel, node->out[0], node->in[0], node->in[1]);
}

void lower_and(Lower *lower, Node *node)
{
    lower_logical(lower, node, "logical_and");
}
void lower_or(Lower *lower, Node *node)
{
    lower_logical(lower, node, "logical_or");
}
void lower_xor(Lower *lower, Node *node)
{
    lower_logical(lower, node, "logical_xor");
}

void lower_equal(Lower *lower, Node *node)
{
    if (node_type(node) == DT_BOOL)
        lower_logical(lower, node, "logical_equal");
    else
        lower_binary(lower, node);
}

/* The kernel of that name for the type of both operands. */
static void lower_named(Lower *lower, Node *node, const char *name)
{
    lower_binary_to(lower, name, node->out[0], node->in[0], node->in[1]);
}

void lower_mod(Lower *lower, Node *node)
{
    const char *name = node_int(node, "fmod", 0) ? "fmod" : "mod";
    check_types(node);
    lower_named(lower, node, name);
}

void lower_bitshift(Lower *lower, Node *node)
{
    const char *direction = node_string(node, "direction", "");
    if (strcmp(direction, "LEFT") && strcmp(direction, "RIGHT"))
        fail_node(node, STATUS_MALFORMED, NULL,
                  "direction must be LEFT or RIGHT");
    check_types(node);
    lower_named(lower, node, *direction == 'L' ? "shl" : "shr");
}

/* The slope goes by x alone: it makes nothing wider. One number serves any x; with more dimensions
 * than x it adds some of length 1 to the result, unless the file declares the shape of x. */
void infer_prelu(Node *node)
{
    const Shape *x = infer_shape(node, 0);
    const Shape *slope = infer_shape(node, 1);
    const Shape both = infer_broadcast(node, x, slope);
    const Shape *declared = node->out[0]->declared;
    Arena *arena = node->graph->arena;
    if (shape_count(slope) == 1) {
        const bool as_x = shape_known(declared) && shape_equal(declared, x);
        infer_out(node, 0, node_type(node), as_x ? *x : both);
        return;
    }
    if (!shape_equal(&both, x))
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its slope of shape %s does not broadcast to %s",
                  shape_text(arena, slope), shape_text(arena, x));
    infer_out(node, 0, node_type(node), both);
}

void lower_prelu(Lower *lower, Node *node)
{
    if (is_unsigned(node_type(node)))
        lower_view(lower, node->out[0], node->in[0], 0);
    else
        lower_named(lower, node, "prelu");
}

static bool is_constant_value(Lower *lower, const Tensor *tensor, double value)
{
    int64_t count;
    const double *v = tensor_doubles(lower->graph, tensor, &count);
    return v && count == 1 && fabs(v[0] - value) < DBL_MIN;
}

/* The exponent's type is its own. An integer to a broken power goes through float64. */
void lower_pow(Lower *lower, Node *node)
{
    Tensor *x = node->in[0];
    Tensor *exponent = node->in[1];
    Tensor *y = node->out[0];
    const bool same = shape_equal(&x->shape, &y->shape);
    if (same && is_constant_value(lower, exponent, 2.0)) {
        lower_binary_to(lower, "mul", y, x, x);
        return;
    }
    if (dtype_is_float(x->dtype) || dtype_is_integer(exponent->dtype)) {
        exponent = lower_as(lower, exponent, x->dtype);
        lower_binary_to(lower, "pow", y, x, exponent);
        return;
    }
    Tensor *wide = lower_temp(lower, DT_F64, y->shape);
    exponent = lower_as(lower, exponent, DT_F64);
    x = lower_as(lower, x, DT_F64);
    lower_nd2(lower, "pow_f64", wide, x, exponent);
    lower_cast(lower, y, wide);
}

/* Sum, Mean, Min, Max of any number of operands: pair by pair; the accumulator can stay where it
 * is. */
static void lower_chain(Lower *lower, Node *node, Tensor *out)
{
    const char *kernel = lower_kernel_of(lower);
    Tensor *acc = node->in[0];
    check_types(node);
    infer_shape(node, 0);
    for (int i = 1; i < node->n_in; i++) {
        infer_shape(node, i); /* none may be left out */
        Tensor *y = i == node->n_in - 1
                        ? out
                        : lower_temp(lower, out->dtype, out->shape);
        lower_nd2(lower, kernel, y, acc, node->in[i]);
        acc = y;
    }
}

void lower_variadic(Lower *lower, Node *node)
{
    if (node->n_in == 1)
        lower_view(lower, node->out[0], node->in[0], 0);
    else
        lower_chain(lower, node, node->out[0]);
}

void lower_mean(Lower *lower, Node *node)
{
    Tensor *out = node->out[0];
    if (node->n_in == 1) {
        lower_view(lower, out, node->in[0], 0);
        return;
    }
    Tensor *sum = lower_temp(lower, out->dtype, out->shape);
    const float count = (float)node->n_in;
    lower_chain(lower, node, sum);
    Tensor *divisor = lower_floats(lower, &count, 1);
    divisor = lower_as(lower, divisor, sum->dtype);
    lower_binary_to(lower, "div", out, sum, divisor);
}

void infer_where(Node *node)
{
    Shape shape =
        infer_broadcast(node, infer_shape(node, 0), infer_shape(node, 1));
    infer_out(node, 0, node->in[1]->dtype,
              infer_broadcast(node, &shape, infer_shape(node, 2)));
}

void lower_where(Lower *lower, Node *node)
{
    Tensor *y = move_target(lower, node->out[0]);
    Tensor *otherwise = move_source(lower, node->in[2]);
    Tensor *then = move_source(lower, node->in[1]);
    lower_select(lower, y, node->in[0], then, otherwise);
    move_finish(lower, node->out[0], y);
}

/* Its bounds are one number each. */
void infer_clip(Node *node)
{
    for (int i = 1; i < 3; i++) {
        const int64_t count = node_in(node, i) ? infer_count(node, i) : 1;
        if (count != 1)
            fail_node(node, STATUS_MALFORMED, NULL,
                      "input %d has %lld elements, not one", i,
                      (long long)count);
    }
    infer_same(node);
}

/* A bound of Clip: 1 with *value where it is constant or left out, else 0. */
static bool clip_bound(Lower *lower, const Node *node, int i, double otherwise,
                       double *value)
{
    int64_t count;
    const Tensor *tensor = node_in(node, i);
    *value = otherwise;
    if (!tensor)
        return true;
    const double *v = tensor_doubles(lower->graph, tensor, &count);
    if (v && count == 1)
        *value = *v;
    return v && count == 1;
}

static void clip_steps(Lower *lower, Node *node)
{
    Tensor *low = node_in(node, 1);
    Tensor *high = node_in(node, 2);
    Tensor *x = node->in[0];
    Tensor *y = node->out[0];
    if (!low && !high) {
        lower_view(lower, y, x, 0);
    } else if (!high) {
        lower_binary_to(lower, "max", y, x, low);
    } else if (!low) {
        lower_binary_to(lower, "min", y, x, high);
    } else {
        Tensor *above = lower_temp(lower, x->dtype, y->shape);
        lower_binary_to(lower, "max", above, x, low);
        lower_binary_to(lower, "min", y, above, high);
    }
}

/* Bounds that are known now. */
static void clip_between(Lower *lower, Node *node, double low, double high)
{
    const char *kernel = lower_kernel(lower, "clip", node_type(node));
    lower_flat(lower, kernel, node->out[0], node->in[0], low, high);
}

void lower_clip(Lower *lower, Node *node)
{
    double lo, hi;
    const bool known = clip_bound(lower, node, 1, (double)-INFINITY, &lo) &&
                       clip_bound(lower, node, 2, (double)INFINITY, &hi);
    if (known && dtype_is_float(node_type(node)))
        clip_between(lower, node, lo, hi);
    else
        clip_steps(lower, node);
}

/* Until opset 10 the bounds are attributes. */
void lower_clip_6(Lower *lower, Node *node)
{
    const double low = node_double(node, "min", -FLT_MAX);
    const double high = node_double(node, "max", FLT_MAX);
    clip_between(lower, node, low, high);
}

static DType cast_target(const Node *node)
{
    const DType type = dtype_of_code(node_int(node, "to", 0));
    if (type == DT_NONE)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "attribute \"to\" names no element type");
    return type;
}

/* Words are no texts of numbers: they become nothing but words. */
static void check_words(const Node *node, DType type)
{
    const DType from = node_type(node);
    if ((from == DT_STRING) != (type == DT_STRING))
        fail_node(node, STATUS_UNSUPPORTED,
                  "the device knows numbers and codes of words, no texts",
                  "casts %s to %s", dtype_name(from), dtype_name(type));
}

void infer_cast(Node *node)
{
    const DType type = cast_target(node);
    check_words(node, type);
    infer_out(node, 0, type, *infer_shape(node, 0));
}

void infer_castlike(Node *node)
{
    check_words(node, node->in[1]->dtype);
    infer_out(node, 0, node->in[1]->dtype, *infer_shape(node, 0));
}

static int cast_round_mode(const Node *node)
{
    const char *mode = node_string(node, "round_mode", "up");
    if (!strcmp(mode, "down"))
        return 1;
    return !strcmp(mode, "nearest") ? 2 : 0;
}

void lower_cast_op(Lower *lower, Node *node)
{
    const Rounding rounding = {
        .saturate = node_flag(node, "saturate", true),
        .mode = cast_round_mode(node),
    };
    lower_cast_as(lower, node->out[0], node->in[0], rounding);
}

Recipe *constant_cast(Node *node)
{
    const Recipe *recipe = node->in[0]->value;
    if (!recipe || !node_int(node, "saturate", 1) || cast_round_mode(node))
        return NULL;
    return recipe_cast(node->graph->store, recipe, node->out[0]->dtype);
}

/* The same bits as another type of the same width. */
void infer_bitcast(Node *node)
{
    const DType type = cast_target(node);
    if (dtype_bits(type) != dtype_bits(node_type(node)))
        fail_node(node, STATUS_UNSUPPORTED, NULL,
                  "types %s and %s differ in width",
                  dtype_name(node_type(node)), dtype_name(type));
    infer_out(node, 0, type, *infer_shape(node, 0));
}

void lower_bitcast(Lower *lower, Node *node)
{
    lower_view(lower, node->out[0], node->in[0], 0);
}

/* Until opset 6 operand 1 is broadcast only where attribute `broadcast` says so, along the
 * dimensions from `axis` on; the slopes of PRelu are one for each channel. A constant operand gets
 * the dims that say the same today, and the node its meaning of today. */
static Shape legacy_shape(const Node *node)
{
    const Shape *a = infer_shape(node, 0);
    const Shape *b = infer_shape(node, 1);
    const Attr *axis = node_attr(node, "axis");
    const bool slopes =
        node_is(node, "PRelu") && b->rank == 1 && b->dim[0] > 1 && a->rank > 1;
    int64_t at = 1;
    if (!slopes) {
        if (!node_int(node, "broadcast", 0) || !axis)
            return *b;
        at = axis->i < 0 ? axis->i + a->rank : axis->i;
    }
    if (at < 0 || at + b->rank > a->rank)
        fail_node(node, STATUS_MALFORMED, NULL, "axis %lld does not fit",
                  (long long)at);
    Shape shape = *b;
    shape.rank = a->rank - (int)at;
    for (int i = b->rank; i < shape.rank; i++)
        shape.dim[i] = 1;
    return shape;
}

void infer_legacy(Node *node)
{
    const Shape shape = legacy_shape(node);
    Tensor *a = node->in[0];
    Tensor *b = node->in[1];
    Graph *graph = node->graph;
    const OpRow *today = op_find("", node->op_type, OPSET_NEWEST);
    if (!shape_equal(&shape, &b->shape) && b->value) {
        Recipe *value =
            recipe_reshape(graph->store, b->value, shape.rank, shape.dim);
        b = graph_add_constant(graph, NULL, value);
        Tensor *in[] = { a, b };
        node_set_inputs(node, 2, in);
        node_set_int(node, "broadcast", 0);
    }
    const Shape out = infer_broadcast(node, &a->shape, &shape);
    if (!shape_equal(&out, &a->shape))
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its operands do not broadcast");
    const bool compares = today->infer == infer_compare;
    infer_out(node, 0, compares ? DT_BOOL : a->dtype, out);
    if (shape_equal(&shape, &b->shape))
        node->op = today;
}

void lower_legacy(Lower *lower, Node *node)
{
    const Shape shape = legacy_shape(node);
    node->op = op_find("", node->op_type, OPSET_NEWEST);
    if (!shape_equal(&shape, node_shape(node, 1))) {
        Tensor *b = lower_temp(lower, node->in[1]->dtype, shape);
        Tensor *in[] = { node->in[0], b };
        lower_view(lower, b, node->in[1], 0);
        node->in = arena_copy(lower->arena, in, sizeof in);
    }
    node->op->lower(lower, node);
}
