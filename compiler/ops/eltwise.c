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

static const char *unary_kernel(const Node *n)
{
    for (size_t i = 0; i < sizeof unary_rows / sizeof *unary_rows; i++)
        if (!strcmp(unary_rows[i].op, n->op_type))
            return unary_rows[i].kernel;
    fail_node(n, STATUS_INTERNAL, NULL, "no row in the table of unary operators");
}

void lower_unary(Lower *l, Node *n)
{
    const ActRow *act = act_row(n->op_type);
    const char *kernel = act ? act->kernel : unary_kernel(n);
    const double a = act ? (double)act_a(act, n) : 0.0, b = act ? (double)act_b(act, n) : 0.0;
    lower_flat(l, n, lower_kernel(l, kernel, n->in[0]->dtype), n->out[0], n->in[0], a, b);
}

static bool is_unsigned(DType t)
{
    return (T_UNSIGNED & DTYPE_BIT(t)) != 0;
}

void lower_abs(Lower *l, Node *n)
{
    if (is_unsigned(n->in[0]->dtype))
        lower_view(l, n, n->out[0], n->in[0], 0);
    else
        lower_unary(l, n);
}

/* Shrink exists for integers too: computed in float64. */
void lower_shrink(Lower *l, Node *n)
{
    const double lambd = (double)node_float(n, "lambd", 0.5f);
    const double bias = (double)node_float(n, "bias", 0.0f);
    if (dtype_is_float(n->in[0]->dtype)) {
        lower_flat(l, n, lower_kernel(l, "shrink", n->in[0]->dtype), n->out[0], n->in[0], lambd,
                   bias);
        return;
    }
    Tensor *x = lower_temp(l, DT_F64, n->in[0]->shape), *y = lower_temp(l, DT_F64, n->in[0]->shape);
    lower_cast(l, n, x, n->in[0], true, 0);
    lower_flat(l, n, "shrink_f64", y, x, lambd, bias);
    lower_cast(l, n, n->out[0], y, true, 0);
}

void lower_gelu(Lower *l, Node *n)
{
    const bool tanh_form = !strcmp(node_string(n, "approximate", "none"), "tanh");
    lower_flat(l, n, lower_kernel(l, tanh_form ? "gelu_tanh" : "gelu", n->in[0]->dtype), n->out[0],
               n->in[0], 0.0, 0.0);
}

void lower_isinf(Lower *l, Node *n)
{
    lower_flat(l, n, lower_kernel(l, "isinf", n->in[0]->dtype), n->out[0], n->in[0],
               (double)node_int(n, "detect_negative", 1),
               (double)node_int(n, "detect_positive", 1));
}

void lower_not(Lower *l, Node *n)
{
    lower_flat(l, n, "logical_not", n->out[0], n->in[0], 0.0, 0.0);
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

static const BinaryRow *binary_row(const Node *n)
{
    for (size_t i = 0; i < sizeof binary_rows / sizeof *binary_rows; i++)
        if (!strcmp(binary_rows[i].op, n->op_type))
            return binary_rows + i;
    fail_node(n, STATUS_INTERNAL, NULL, "no row in the table of binary operators");
}

/* Both operands must be of one type. */
static void check_types(const Node *n)
{
    for (int i = 1; i < n->n_in; i++)
        if (n->in[i] && n->in[i]->dtype != n->in[0]->dtype)
            fail_node(n, STATUS_MALFORMED, NULL, "inputs are of types %s and %s",
                      dtype_name(n->in[0]->dtype), dtype_name(n->in[i]->dtype));
}

void lower_binary(Lower *l, Node *n)
{
    const BinaryRow *r = binary_row(n);
    check_types(n);
    lower_nd2(l, n, lower_kernel(l, r->kernel, n->in[0]->dtype), n->out[0], n->in[r->swap],
              n->in[!r->swap]);
}

static void lower_logical(Lower *l, Node *n, const char *kernel)
{
    lower_nd2(l, n, kernel, n->out[0], n->in[0], n->in[1]);
}

void lower_and(Lower *l, Node *n)
{
    lower_logical(l, n, "logical_and");
}
void lower_or(Lower *l, Node *n)
{
    lower_logical(l, n, "logical_or");
}
void lower_xor(Lower *l, Node *n)
{
    lower_logical(l, n, "logical_xor");
}

void lower_equal(Lower *l, Node *n)
{
    if (n->in[0]->dtype == DT_BOOL)
        lower_logical(l, n, "logical_equal");
    else
        lower_binary(l, n);
}

void lower_mod(Lower *l, Node *n)
{
    check_types(n);
    lower_nd2(l, n, lower_kernel(l, node_int(n, "fmod", 0) ? "fmod" : "mod", n->in[0]->dtype),
              n->out[0], n->in[0], n->in[1]);
}

void lower_bitshift(Lower *l, Node *n)
{
    const char *direction = node_string(n, "direction", "");
    if (strcmp(direction, "LEFT") && strcmp(direction, "RIGHT"))
        fail_node(n, STATUS_MALFORMED, NULL, "direction must be LEFT or RIGHT");
    check_types(n);
    lower_nd2(l, n, lower_kernel(l, *direction == 'L' ? "shl" : "shr", n->in[0]->dtype), n->out[0],
              n->in[0], n->in[1]);
}

void lower_prelu(Lower *l, Node *n)
{
    if (is_unsigned(n->in[0]->dtype))
        lower_view(l, n, n->out[0], n->in[0], 0);
    else
        lower_nd2(l, n, lower_kernel(l, "prelu", n->in[0]->dtype), n->out[0], n->in[0], n->in[1]);
}

static Tensor *cast_to(Lower *l, Node *n, Tensor *t, DType to)
{
    if (t->dtype == to)
        return t;
    if (t->value)
        return lower_constant(l, recipe_cast(l->graph->store, t->value, to));
    Tensor *y = lower_temp(l, to, t->shape);
    lower_cast(l, n, y, t, true, 0);
    return y;
}

static bool is_constant_value(Lower *l, const Tensor *t, double value)
{
    int64_t count;
    const double *v = tensor_doubles(l->graph, t, &count);
    return v && count == 1 && fabs(v[0] - value) < DBL_MIN;
}

/* The exponent's type is its own. An integer to a broken power goes through float64. */
void lower_pow(Lower *l, Node *n)
{
    Tensor *x = n->in[0], *e = n->in[1], *y = n->out[0];
    if (shape_equal(&x->shape, &y->shape) && is_constant_value(l, e, 2.0)) {
        lower_nd2(l, n, lower_kernel(l, "mul", x->dtype), y, x, x);
        return;
    }
    if (dtype_is_float(x->dtype) || dtype_is_integer(e->dtype)) {
        lower_nd2(l, n, lower_kernel(l, "pow", x->dtype), y, x, cast_to(l, n, e, x->dtype));
        return;
    }
    Tensor *wide = lower_temp(l, DT_F64, y->shape);
    lower_nd2(l, n, "pow_f64", wide, cast_to(l, n, x, DT_F64), cast_to(l, n, e, DT_F64));
    lower_cast(l, n, y, wide, true, 0);
}

/* Sum, Mean, Min, Max of any number of operands: pair by pair; the accumulator can stay where it
 * is. */
static void lower_chain(Lower *l, Node *n, Tensor *out)
{
    const char *kernel = lower_kernel(l, binary_row(n)->kernel, n->in[0]->dtype);
    Tensor *acc = n->in[0];
    check_types(n);
    for (int i = 1; i < n->n_in; i++) {
        Tensor *y = i == n->n_in - 1 ? out : lower_temp(l, out->dtype, out->shape);
        lower_nd2(l, n, kernel, y, acc, n->in[i]);
        acc = y;
    }
}

void lower_variadic(Lower *l, Node *n)
{
    if (n->n_in == 1)
        lower_view(l, n, n->out[0], n->in[0], 0);
    else
        lower_chain(l, n, n->out[0]);
}

void lower_mean(Lower *l, Node *n)
{
    if (n->n_in == 1) {
        lower_view(l, n, n->out[0], n->in[0], 0);
        return;
    }
    Tensor *sum = lower_temp(l, n->out[0]->dtype, n->out[0]->shape);
    const float count = (float)n->n_in;
    lower_chain(l, n, sum);
    lower_nd2(l, n, lower_kernel(l, "div", sum->dtype), n->out[0], sum,
              cast_to(l, n, lower_floats(l, &count, 1), sum->dtype));
}

void infer_where(Node *n)
{
    Shape s = infer_broadcast(n, infer_shape(n, 0), infer_shape(n, 1));
    infer_out(n, 0, n->in[1]->dtype, infer_broadcast(n, &s, infer_shape(n, 2)));
}

void lower_where(Lower *l, Node *n)
{
    Tensor *y = move_target(l, n->out[0]);
    lower_select(l, n, y, n->in[0], move_source(l, n, n->in[1]), move_source(l, n, n->in[2]));
    move_finish(l, n, n->out[0], y);
}

/* A bound of Clip: 1 with *value where it is constant or left out, else 0. */
static bool clip_bound(Lower *l, const Node *n, int i, double otherwise, double *value)
{
    int64_t count;
    const Tensor *t = node_in(n, i);
    *value = otherwise;
    if (!t)
        return true;
    const double *v = tensor_doubles(l->graph, t, &count);
    if (v && count == 1)
        *value = *v;
    return v && count == 1;
}

static void clip_steps(Lower *l, Node *n)
{
    Tensor *lo = node_in(n, 1), *hi = node_in(n, 2), *x = n->in[0], *y = n->out[0];
    const DType t = x->dtype;
    if (!lo && !hi) {
        lower_view(l, n, y, x, 0);
        return;
    }
    Tensor *mid = lo && hi ? lower_temp(l, t, y->shape) : y;
    if (lo)
        lower_nd2(l, n, lower_kernel(l, "max", t), mid, x, lo);
    if (hi)
        lower_nd2(l, n, lower_kernel(l, "min", t), y, lo ? mid : x, hi);
}

void lower_clip(Lower *l, Node *n)
{
    double lo, hi;
    const bool known =
        clip_bound(l, n, 1, (double)-INFINITY, &lo) && clip_bound(l, n, 2, (double)INFINITY, &hi);
    if (known && dtype_is_float(n->in[0]->dtype))
        lower_flat(l, n, lower_kernel(l, "clip", n->in[0]->dtype), n->out[0], n->in[0], lo, hi);
    else
        clip_steps(l, n);
}

/* Until opset 10 the bounds are attributes. */
void lower_clip_6(Lower *l, Node *n)
{
    lower_flat(l, n, lower_kernel(l, "clip", n->in[0]->dtype), n->out[0], n->in[0],
               (double)node_float(n, "min", -FLT_MAX), (double)node_float(n, "max", FLT_MAX));
}

static DType cast_target(const Node *n)
{
    const DType t = dtype_of_code(node_int(n, "to", 0));
    if (t == DT_NONE)
        fail_node(n, STATUS_MALFORMED, NULL, "attribute \"to\" names no element type");
    if (t == DT_STRING)
        fail_node(n, STATUS_UNSUPPORTED, "strings stay on the host", "casts to string");
    return t;
}

void infer_cast(Node *n)
{
    infer_out(n, 0, cast_target(n), *infer_shape(n, 0));
}

void infer_castlike(Node *n)
{
    infer_out(n, 0, n->in[1]->dtype, *infer_shape(n, 0));
}

static int cast_round_mode(const Node *n)
{
    const char *mode = node_string(n, "round_mode", "up");
    return !strcmp(mode, "down") ? 1 : !strcmp(mode, "nearest") ? 2 : 0;
}

void lower_cast_op(Lower *l, Node *n)
{
    lower_cast(l, n, n->out[0], n->in[0], node_int(n, "saturate", 1) != 0, cast_round_mode(n));
}

Recipe *constant_cast(Node *n)
{
    const Recipe *r = n->in[0]->value;
    if (!r || !node_int(n, "saturate", 1) || cast_round_mode(n))
        return NULL;
    return recipe_cast(n->graph->store, r, n->out[0]->dtype);
}

/* The same bits as another type of the same width. */
void infer_bitcast(Node *n)
{
    const DType t = cast_target(n);
    if (dtype_bits(t) != dtype_bits(n->in[0]->dtype))
        fail_node(n, STATUS_UNSUPPORTED, NULL, "types %s and %s differ in width",
                  dtype_name(n->in[0]->dtype), dtype_name(t));
    infer_out(n, 0, t, *infer_shape(n, 0));
}

void lower_bitcast(Lower *l, Node *n)
{
    lower_view(l, n, n->out[0], n->in[0], 0);
}

/* Until opset 6 operand 1 is broadcast only where attribute `broadcast` says so, along the
 * dimensions from `axis` on; the slopes of PRelu are one for each channel. A constant operand gets
 * the dims that say the same today, and the node its meaning of today. */
static Shape legacy_shape(const Node *n)
{
    const Shape *a = infer_shape(n, 0), *b = infer_shape(n, 1);
    const Attr *axis = node_attr(n, "axis");
    Shape s = *b;
    const bool slopes = node_is(n, "PRelu") && b->rank == 1 && b->dim[0] > 1 && a->rank > 1;
    if (!slopes && (!node_int(n, "broadcast", 0) || !axis))
        return s;
    const int64_t at = slopes ? 1 : axis->i < 0 ? axis->i + a->rank : axis->i;
    if (at < 0 || at + b->rank > a->rank)
        fail_node(n, STATUS_MALFORMED, NULL, "axis %lld does not fit", (long long)at);
    s.rank = a->rank - (int)at;
    for (int i = b->rank; i < s.rank; i++)
        s.dim[i] = 1;
    return s;
}

void infer_legacy(Node *n)
{
    const Shape s = legacy_shape(n);
    Tensor *b = n->in[1];
    const OpRow *today = op_find("", n->op_type, OPSET_NEWEST);
    if (!shape_equal(&s, &b->shape) && b->value) {
        Tensor *in[] = { n->in[0], graph_add_constant(
                                       n->graph, NULL,
                                       recipe_reshape(n->graph->store, b->value, s.rank, s.dim)) };
        node_set_inputs(n, 2, in);
        node_set_int(n, "broadcast", 0);
        b = in[1];
    }
    const Shape out = infer_broadcast(n, &n->in[0]->shape, &s);
    if (!shape_equal(&out, &n->in[0]->shape))
        fail_node(n, STATUS_MALFORMED, NULL, "its operands do not broadcast");
    infer_out(n, 0, today->infer == infer_compare ? DT_BOOL : n->in[0]->dtype, out);
    if (shape_equal(&s, &b->shape))
        n->op = today;
}

void lower_legacy(Lower *l, Node *n)
{
    const Shape s = legacy_shape(n);
    const OpRow *today = op_find("", n->op_type, OPSET_NEWEST);
    if (!shape_equal(&s, &n->in[1]->shape)) {
        Tensor *in[] = { n->in[0], lower_temp(l, n->in[1]->dtype, s) };
        lower_view(l, n, in[1], n->in[1], 0);
        n->in = arena_copy(l->arena, in, sizeof in);
    }
    today->lower(l, n);
}
