/* SPDX-License-Identifier: Apache-2.0
 * Elementwise operators with broadcasting: unary, binary, variadic, Where, Clip, Cast. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "ops/act.h"
#include "ops/families.h"
#include "ops/nest.h"

/* A unary operator that is no activation, and its kernel. */
typedef struct UnaryRow {
    const char *op, *kernel;
} UnaryRow;

static const UnaryRow unary_rows[] = {
    { "Abs", "abs" },     { "Acos", "acos" },      { "Acosh", "acosh" },
    { "Asin", "asin" },   { "Asinh", "asinh" },    { "Atan", "atan" },
    { "Atanh", "atanh" }, { "BitwiseNot", "not" }, { "Ceil", "ceil" },
    { "Cos", "cos" },     { "Cosh", "cosh" },      { "Erf", "erf" },
    { "Exp", "exp" },     { "Floor", "floor" },    { "IsNaN", "isnan" },
    { "Log", "log" },     { "Neg", "neg" },        { "Reciprocal", "reciprocal" },
    { "Round", "round" }, { "Sign", "sign" },      { "Sin", "sin" },
    { "Sinh", "sinh" },   { "Sqrt", "sqrt" },      { "Tan", "tan" },
};

static const char *unary_kernel(const Node *node)
{
    for (size_t i = 0; i < sizeof unary_rows / sizeof *unary_rows; i++)
        if (!strcmp(unary_rows[i].op, node->op_type))
            return unary_rows[i].kernel;
    fail_node(node, STATUS_INTERNAL, NULL, "no row in the table of unary operators");
}

void lower_unary(Lower *lower, Node *node)
{
    const ActRow *act = act_row(node->op_type);
    const char *kernel = act ? act->kernel : unary_kernel(node);
    const double a = act ? (double)act_a(act, node) : 0.0;
    const double b = act ? (double)act_b(act, node) : 0.0;
    lower_flat(lower, node, lower_kernel(lower, kernel, node->in[0]->dtype), node->out[0],
               node->in[0], a, b);
}

static bool is_unsigned(DType type)
{
    return (T_UNSIGNED & DTYPE_BIT(type)) != 0;
}

void lower_abs(Lower *lower, Node *node)
{
    if (is_unsigned(node->in[0]->dtype))
        lower_view(lower, node, node->out[0], node->in[0], 0);
    else
        lower_unary(lower, node);
}

/* Shrink exists for integers too: computed in float64. */
void lower_shrink(Lower *lower, Node *node)
{
    const double lambd = (double)node_float(node, "lambd", 0.5f);
    const double bias = (double)node_float(node, "bias", 0.0f);
    if (dtype_is_float(node->in[0]->dtype)) {
        lower_flat(lower, node, lower_kernel(lower, "shrink", node->in[0]->dtype), node->out[0],
                   node->in[0], lambd, bias);
        return;
    }
    Tensor *x = lower_temp(lower, DT_F64, node->in[0]->shape);
    Tensor *y = lower_temp(lower, DT_F64, node->in[0]->shape);
    lower_cast(lower, node, x, node->in[0], true, 0);
    lower_flat(lower, node, "shrink_f64", y, x, lambd, bias);
    lower_cast(lower, node, node->out[0], y, true, 0);
}

void lower_gelu(Lower *lower, Node *node)
{
    const bool tanh_form = !strcmp(node_string(node, "approximate", "none"), "tanh");
    lower_flat(lower, node,
               lower_kernel(lower, tanh_form ? "gelu_tanh" : "gelu", node->in[0]->dtype),
               node->out[0], node->in[0], 0.0, 0.0);
}

void lower_isinf(Lower *lower, Node *node)
{
    lower_flat(lower, node, lower_kernel(lower, "isinf", node->in[0]->dtype), node->out[0],
               node->in[0], (double)node_int(node, "detect_negative", 1),
               (double)node_int(node, "detect_positive", 1));
}

void lower_not(Lower *lower, Node *node)
{
    lower_flat(lower, node, "logical_not", node->out[0], node->in[0], 0.0, 0.0);
}

/* Binary operators: the kernel's name, and whether its operands change places. */
typedef struct BinaryRow {
    const char *op, *kernel;
    bool swap;
} BinaryRow;

static const BinaryRow binary_rows[] = {
    { "Add", "add", false },      { "BitwiseAnd", "and", false },
    { "BitwiseOr", "or", false }, { "BitwiseXor", "xor", false },
    { "Div", "div", false },      { "Equal", "equal", false },
    { "Greater", "less", true },  { "GreaterOrEqual", "less_equal", true },
    { "Less", "less", false },    { "LessOrEqual", "less_equal", false },
    { "Max", "max", false },      { "Mean", "add", false },
    { "Min", "min", false },      { "Mul", "mul", false },
    { "Sub", "sub", false },      { "Sum", "add", false },
};

static const BinaryRow *binary_row(const Node *node)
{
    for (size_t i = 0; i < sizeof binary_rows / sizeof *binary_rows; i++)
        if (!strcmp(binary_rows[i].op, node->op_type))
            return binary_rows + i;
    fail_node(node, STATUS_INTERNAL, NULL, "no row in the table of binary operators");
}

/* Both operands must be of one type. */
static void check_types(const Node *node)
{
    for (int i = 1; i < node->n_in; i++)
        if (node->in[i] && node->in[i]->dtype != node->in[0]->dtype)
            fail_node(node, STATUS_MALFORMED, NULL, "inputs are of types %s and %s",
                      dtype_name(node->in[0]->dtype), dtype_name(node->in[i]->dtype));
}

void lower_binary(Lower *lower, Node *node)
{
    const BinaryRow *row = binary_row(node);
    check_types(node);
    lower_nd2(lower, node, lower_kernel(lower, row->kernel, node->in[0]->dtype), node->out[0],
              node->in[row->swap], node->in[!row->swap]);
}

static void lower_logical(Lower *lower, Node *node, const char *kernel)
{
    lower_nd2(lower, node, kernel, node->out[0], node->in[0], node->in[1]);
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
    if (node->in[0]->dtype == DT_BOOL)
        lower_logical(lower, node, "logical_equal");
    else
        lower_binary(lower, node);
}

void lower_mod(Lower *lower, Node *node)
{
    check_types(node);
    lower_nd2(lower, node,
              lower_kernel(lower, node_int(node, "fmod", 0) ? "fmod" : "mod", node->in[0]->dtype),
              node->out[0], node->in[0], node->in[1]);
}

void lower_bitshift(Lower *lower, Node *node)
{
    const char *direction = node_string(node, "direction", "");
    if (strcmp(direction, "LEFT") && strcmp(direction, "RIGHT"))
        fail_node(node, STATUS_MALFORMED, NULL, "direction must be LEFT or RIGHT");
    check_types(node);
    lower_nd2(lower, node,
              lower_kernel(lower, *direction == 'L' ? "shl" : "shr", node->in[0]->dtype),
              node->out[0], node->in[0], node->in[1]);
}

void lower_prelu(Lower *lower, Node *node)
{
    if (is_unsigned(node->in[0]->dtype))
        lower_view(lower, node, node->out[0], node->in[0], 0);
    else
        lower_nd2(lower, node, lower_kernel(lower, "prelu", node->in[0]->dtype), node->out[0],
                  node->in[0], node->in[1]);
}

static Tensor *cast_to(Lower *lower, Node *node, Tensor *tensor, DType to)
{
    if (tensor->dtype == to)
        return tensor;
    if (tensor->value)
        return lower_constant(lower, recipe_cast(lower->graph->store, tensor->value, to));
    Tensor *y = lower_temp(lower, to, tensor->shape);
    lower_cast(lower, node, y, tensor, true, 0);
    return y;
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
    Tensor *e = node->in[1];
    Tensor *y = node->out[0];
    if (shape_equal(&x->shape, &y->shape) && is_constant_value(lower, e, 2.0)) {
        lower_nd2(lower, node, lower_kernel(lower, "mul", x->dtype), y, x, x);
        return;
    }
    if (dtype_is_float(x->dtype) || dtype_is_integer(e->dtype)) {
        lower_nd2(lower, node, lower_kernel(lower, "pow", x->dtype), y, x,
                  cast_to(lower, node, e, x->dtype));
        return;
    }
    Tensor *wide = lower_temp(lower, DT_F64, y->shape);
    lower_nd2(lower, node, "pow_f64", wide, cast_to(lower, node, x, DT_F64),
              cast_to(lower, node, e, DT_F64));
    lower_cast(lower, node, y, wide, true, 0);
}

/* Sum, Mean, Min, Max of any number of operands: pair by pair; the accumulator can stay where it
 * is. */
static void lower_chain(Lower *lower, Node *node, Tensor *out)
{
    const char *kernel = lower_kernel(lower, binary_row(node)->kernel, node->in[0]->dtype);
    Tensor *acc = node->in[0];
    check_types(node);
    infer_shape(node, 0);
    for (int i = 1; i < node->n_in; i++) {
        infer_shape(node, i); /* none may be left out */
        Tensor *y = i == node->n_in - 1 ? out : lower_temp(lower, out->dtype, out->shape);
        lower_nd2(lower, node, kernel, y, acc, node->in[i]);
        acc = y;
    }
}

void lower_variadic(Lower *lower, Node *node)
{
    if (node->n_in == 1)
        lower_view(lower, node, node->out[0], node->in[0], 0);
    else
        lower_chain(lower, node, node->out[0]);
}

void lower_mean(Lower *lower, Node *node)
{
    if (node->n_in == 1) {
        lower_view(lower, node, node->out[0], node->in[0], 0);
        return;
    }
    Tensor *sum = lower_temp(lower, node->out[0]->dtype, node->out[0]->shape);
    const float count = (float)node->n_in;
    lower_chain(lower, node, sum);
    lower_nd2(lower, node, lower_kernel(lower, "div", sum->dtype), node->out[0], sum,
              cast_to(lower, node, lower_floats(lower, &count, 1), sum->dtype));
}

void infer_where(Node *node)
{
    Shape shape = infer_broadcast(node, infer_shape(node, 0), infer_shape(node, 1));
    infer_out(node, 0, node->in[1]->dtype, infer_broadcast(node, &shape, infer_shape(node, 2)));
}

void lower_where(Lower *lower, Node *node)
{
    Tensor *y = move_target(lower, node->out[0]);
    lower_select(lower, node, y, node->in[0], move_source(lower, node, node->in[1]),
                 move_source(lower, node, node->in[2]));
    move_finish(lower, node, node->out[0], y);
}

/* A bound of Clip: 1 with *value where it is constant or left out, else 0. */
static bool clip_bound(Lower *lower, const Node *node, int i, double otherwise, double *value)
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
    Tensor *lo = node_in(node, 1);
    Tensor *hi = node_in(node, 2);
    Tensor *x = node->in[0];
    Tensor *y = node->out[0];
    const DType type = x->dtype;
    if (!lo && !hi) {
        lower_view(lower, node, y, x, 0);
        return;
    }
    Tensor *mid = lo && hi ? lower_temp(lower, type, y->shape) : y;
    if (lo)
        lower_nd2(lower, node, lower_kernel(lower, "max", type), mid, x, lo);
    if (hi)
        lower_nd2(lower, node, lower_kernel(lower, "min", type), y, lo ? mid : x, hi);
}

void lower_clip(Lower *lower, Node *node)
{
    double lo, hi;
    const bool known = clip_bound(lower, node, 1, (double)-INFINITY, &lo) &&
                       clip_bound(lower, node, 2, (double)INFINITY, &hi);
    if (known && dtype_is_float(node->in[0]->dtype))
        lower_flat(lower, node, lower_kernel(lower, "clip", node->in[0]->dtype), node->out[0],
                   node->in[0], lo, hi);
    else
        clip_steps(lower, node);
}

/* Until opset 10 the bounds are attributes. */
void lower_clip_6(Lower *lower, Node *node)
{
    lower_flat(lower, node, lower_kernel(lower, "clip", node->in[0]->dtype), node->out[0],
               node->in[0], (double)node_float(node, "min", -FLT_MAX),
               (double)node_float(node, "max", FLT_MAX));
}

static DType cast_target(const Node *node)
{
    const DType type = dtype_of_code(node_int(node, "to", 0));
    if (type == DT_NONE)
        fail_node(node, STATUS_MALFORMED, NULL, "attribute \"to\" names no element type");
    if (type == DT_STRING)
        fail_node(node, STATUS_UNSUPPORTED, "strings stay on the host", "casts to string");
    return type;
}

void infer_cast(Node *node)
{
    infer_out(node, 0, cast_target(node), *infer_shape(node, 0));
}

void infer_castlike(Node *node)
{
    infer_out(node, 0, node->in[1]->dtype, *infer_shape(node, 0));
}

static int cast_round_mode(const Node *node)
{
    const char *mode = node_string(node, "round_mode", "up");
    return !strcmp(mode, "down") ? 1 : !strcmp(mode, "nearest") ? 2 : 0;
}

void lower_cast_op(Lower *lower, Node *node)
{
    lower_cast(lower, node, node->out[0], node->in[0], node_int(node, "saturate", 1) != 0,
               cast_round_mode(node));
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
    if (dtype_bits(type) != dtype_bits(node->in[0]->dtype))
        fail_node(node, STATUS_UNSUPPORTED, NULL, "types %s and %s differ in width",
                  dtype_name(node->in[0]->dtype), dtype_name(type));
    infer_out(node, 0, type, *infer_shape(node, 0));
}

void lower_bitcast(Lower *lower, Node *node)
{
    lower_view(lower, node, node->out[0], node->in[0], 0);
}

/* Until opset 6 operand 1 is broadcast only where attribute `broadcast` says so, along the
 * dimensions from `axis` on; the slopes of PRelu are one for each channel. A constant operand gets
 * the dims that say the same today, and the node its meaning of today. */
static Shape legacy_shape(const Node *node)
{
    const Shape *a = infer_shape(node, 0);
    const Shape *b = infer_shape(node, 1);
    const Attr *axis = node_attr(node, "axis");
    Shape shape = *b;
    const bool slopes = node_is(node, "PRelu") && b->rank == 1 && b->dim[0] > 1 && a->rank > 1;
    if (!slopes && (!node_int(node, "broadcast", 0) || !axis))
        return shape;
    const int64_t at = slopes ? 1 : axis->i < 0 ? axis->i + a->rank : axis->i;
    if (at < 0 || at + b->rank > a->rank)
        fail_node(node, STATUS_MALFORMED, NULL, "axis %lld does not fit", (long long)at);
    shape.rank = a->rank - (int)at;
    for (int i = b->rank; i < shape.rank; i++)
        shape.dim[i] = 1;
    return shape;
}

void infer_legacy(Node *node)
{
    const Shape s = legacy_shape(node);
    Tensor *b = node->in[1];
    const OpRow *today = op_find("", node->op_type, OPSET_NEWEST);
    if (!shape_equal(&s, &b->shape) && b->value) {
        Tensor *in[] = { node->in[0], graph_add_constant(node->graph, NULL,
                                                         recipe_reshape(node->graph->store,
                                                                        b->value, s.rank, s.dim)) };
        node_set_inputs(node, 2, in);
        node_set_int(node, "broadcast", 0);
        b = in[1];
    }
    const Shape out = infer_broadcast(node, &node->in[0]->shape, &s);
    if (!shape_equal(&out, &node->in[0]->shape))
        fail_node(node, STATUS_MALFORMED, NULL, "its operands do not broadcast");
    infer_out(node, 0, today->infer == infer_compare ? DT_BOOL : node->in[0]->dtype, out);
    if (shape_equal(&s, &b->shape))
        node->op = today;
}

void lower_legacy(Lower *l, Node *node)
{
    const Shape s = legacy_shape(node);
    const OpRow *today = op_find("", node->op_type, OPSET_NEWEST);
    if (!shape_equal(&s, &node->in[1]->shape)) {
        Tensor *in[] = { node->in[0], lower_temp(l, node->in[1]->dtype, s) };
        lower_view(l, node, in[1], node->in[1], 0);
        node->in = arena_copy(l->arena, in, sizeof in);
    }
    today->lower(l, node);
}
