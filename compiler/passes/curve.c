/* SPDX-License-Identifier: Apache-2.0
 * Evaluates chains of elementwise operators at points chosen to tell the known functions apart.
 * Parameters (slopes, bounds) are read off the values, then every point has to agree. */
#include "passes/curve.h"

#include <math.h>
#include <string.h>

#include "ops/ops.h"

typedef double CurveFn(const CurveStep *s, const double *x);

static double f_add(const CurveStep *s, const double *x)
{
    (void)s;
    return x[0] + x[1];
}
static double f_sub(const CurveStep *s, const double *x)
{
    (void)s;
    return x[0] - x[1];
}
static double f_mul(const CurveStep *s, const double *x)
{
    (void)s;
    return x[0] * x[1];
}
static double f_div(const CurveStep *s, const double *x)
{
    (void)s;
    return x[0] / x[1];
}
static double f_pow(const CurveStep *s, const double *x)
{
    (void)s;
    return pow(x[0], x[1]);
}
static double f_max(const CurveStep *s, const double *x)
{
    (void)s;
    return x[0] > x[1] ? x[0] : x[1];
}
static double f_min(const CurveStep *s, const double *x)
{
    (void)s;
    return x[0] < x[1] ? x[0] : x[1];
}
static double f_neg(const CurveStep *s, const double *x)
{
    (void)s;
    return -x[0];
}
static double f_abs(const CurveStep *s, const double *x)
{
    (void)s;
    return fabs(x[0]);
}
static double f_exp(const CurveStep *s, const double *x)
{
    (void)s;
    return exp(x[0]);
}
static double f_log(const CurveStep *s, const double *x)
{
    (void)s;
    return log(x[0]);
}
static double f_sqrt(const CurveStep *s, const double *x)
{
    (void)s;
    return sqrt(x[0]);
}
static double f_erf(const CurveStep *s, const double *x)
{
    (void)s;
    return erf(x[0]);
}
static double f_tanh(const CurveStep *s, const double *x)
{
    (void)s;
    return tanh(x[0]);
}
static double f_reciprocal(const CurveStep *s, const double *x)
{
    (void)s;
    return 1.0 / x[0];
}
static double f_identity(const CurveStep *s, const double *x)
{
    (void)s;
    return x[0];
}
static double f_relu(const CurveStep *s, const double *x)
{
    (void)s;
    return x[0] > 0.0 ? x[0] : 0.0;
}
static double f_sigmoid(const CurveStep *s, const double *x)
{
    (void)s;
    return 1.0 / (1.0 + exp(-x[0]));
}
static double f_softplus(const CurveStep *s, const double *x)
{
    (void)s;
    return x[0] > 40.0 ? x[0] : log1p(exp(x[0]));
}
static double f_leaky(const CurveStep *s, const double *x)
{
    return x[0] < 0.0 ? s->a * x[0] : x[0];
}
static double f_elu(const CurveStep *s, const double *x)
{
    return x[0] < 0.0 ? s->a * expm1(x[0]) : x[0];
}
static double f_hard_sigmoid(const CurveStep *s, const double *x)
{
    return fmax(0.0, fmin(1.0, s->a * x[0] + s->b));
}
static double f_clip_6(const CurveStep *s, const double *x)
{
    return fmin(fmax(x[0], s->a), s->b);
}
static double f_greater(const CurveStep *s, const double *x)
{
    (void)s;
    return x[0] > x[1] ? 1.0 : 0.0;
}
static double f_less(const CurveStep *s, const double *x)
{
    (void)s;
    return x[0] < x[1] ? 1.0 : 0.0;
}
static double f_at_least(const CurveStep *s, const double *x)
{
    (void)s;
    return x[0] >= x[1] ? 1.0 : 0.0;
}
static double f_at_most(const CurveStep *s, const double *x)
{
    (void)s;
    return x[0] <= x[1] ? 1.0 : 0.0;
}
static double f_where(const CurveStep *s, const double *x)
{
    (void)s;
    return x[0] > 0.0 ? x[1] : x[2];
}

static double f_clip(const CurveStep *s, const double *x)
{
    const double y = s->n_from > 1 ? fmax(x[0], x[1]) : x[0];
    return s->n_from > 2 ? fmin(y, x[2]) : y;
}

typedef struct CurveRow {
    const char *op;
    int operands; /* most of them */
    CurveFn *fn;
    const char *a_name, *b_name;
    float a, b;
    bool bends;
} CurveRow;

static const CurveRow rows[] = {
    { "Add", 2, f_add, 0, 0, 0, 0, 0 },
    { "Sub", 2, f_sub, 0, 0, 0, 0, 0 },
    { "Mul", 2, f_mul, 0, 0, 0, 0, 0 },
    { "Div", 2, f_div, 0, 0, 0, 0, 0 },
    { "Pow", 2, f_pow, 0, 0, 0, 0, 1 },
    { "Max", 2, f_max, 0, 0, 0, 0, 0 },
    { "Min", 2, f_min, 0, 0, 0, 0, 0 },
    { "Neg", 1, f_neg, 0, 0, 0, 0, 0 },
    { "Abs", 1, f_abs, 0, 0, 0, 0, 0 },
    { "Exp", 1, f_exp, 0, 0, 0, 0, 1 },
    { "Log", 1, f_log, 0, 0, 0, 0, 1 },
    { "Sqrt", 1, f_sqrt, 0, 0, 0, 0, 1 },
    { "Erf", 1, f_erf, 0, 0, 0, 0, 1 },
    { "Tanh", 1, f_tanh, 0, 0, 0, 0, 1 },
    { "Reciprocal", 1, f_reciprocal, 0, 0, 0, 0, 0 },
    { "Identity", 1, f_identity, 0, 0, 0, 0, 0 },
    { "Relu", 1, f_relu, 0, 0, 0, 0, 0 },
    { "Sigmoid", 1, f_sigmoid, 0, 0, 0, 0, 1 },
    { "Softplus", 1, f_softplus, 0, 0, 0, 0, 1 },
    { "LeakyRelu", 1, f_leaky, "alpha", 0, 0.01f, 0, 0 },
    { "Elu", 1, f_elu, "alpha", 0, 1.0f, 0, 1 },
    { "HardSigmoid", 1, f_hard_sigmoid, "alpha", "beta", 0.2f, 0.5f, 0 },
    { "Clip", 3, f_clip, 0, 0, 0, 0, 0 },
    { "Greater", 2, f_greater, 0, 0, 0, 0, 0 },
    { "Less", 2, f_less, 0, 0, 0, 0, 0 },
    { "GreaterOrEqual", 2, f_at_least, 0, 0, 0, 0, 0 },
    { "LessOrEqual", 2, f_at_most, 0, 0, 0, 0, 0 },
    { "Where", 3, f_where, 0, 0, 0, 0, 0 },
    { "Clip", 1, f_clip_6, "min", "max", -INFINITY, INFINITY,
      0 }, /* bounds are attributes: opset 6 to 10 */
};

enum { ROW_COUNT = sizeof rows / sizeof *rows };

bool curve_op(const Node *node, CurveStep *step)
{
    if (*node->domain || !node->op || node->n_out != 1)
        return false;
    const bool same = node_is(node, "Cast") &&
                      (node->in[0]->dtype == node->out[0]->dtype || node->in[0]->dtype == DT_BOOL);
    for (int i = 0; i < ROW_COUNT; i++) {
        const CurveRow *row = rows + i;
        if (strcmp(row->op, same ? "Identity" : node->op_type) || node->n_in > row->operands)
            continue;
        if (!strcmp(row->op, "Clip") && (node->op->since < 11) != (row->operands == 1))
            continue;
        *step = (CurveStep){ .op = i, .n_from = node->n_in, .bends = row->bends };
        if (row->a_name)
            step->a = (double)node_float(node, row->a_name, row->a);
        if (row->b_name)
            step->b = (double)node_float(node, row->b_name, row->b);
        return true;
    }
    return false;
}

static double evaluate(Curve *curve, double x)
{
    curve->value[0] = x;
    int last = 0;
    for (int i = 0; i < curve->steps; i++) {
        const CurveStep *s = curve->step + i;
        double in[3] = { 0.0, 0.0, 0.0 };
        for (int k = 0; k < s->n_from; k++)
            in[k] = curve->value[s->from[k]];
        curve->value[last = s->to] = rows[s->op].fn(s, in);
    }
    return curve->value[last];
}

static double known_at(const Known *k, double x)
{
    const CurveStep p = { .a = k->a, .b = k->b };
    switch (k->kind) {
    case KNOWN_AFFINE:
        return k->a * x + k->b;
    case KNOWN_CLIP:
        return f_clip_6(&p, &x);
    case KNOWN_ABS:
        return fabs(x);
    case KNOWN_LEAKY:
        return f_leaky(&p, &x);
    case KNOWN_HARD_SIGMOID:
        return f_hard_sigmoid(&p, &x);
    case KNOWN_HARD_SWISH:
        return x * fmax(0.0, fmin(1.0, x / 6.0 + 0.5));
    case KNOWN_SIGMOID:
        return f_sigmoid(&p, &x);
    case KNOWN_SWISH:
        return x / (1.0 + exp(-k->a * x));
    case KNOWN_TANH:
        return tanh(x);
    case KNOWN_GELU:
        return 0.5 * x * erfc(-x * 0.70710678118654752);
    case KNOWN_GELU_TANH:
        return 0.5 * x * (1.0 + tanh(0.79788456080286536 * (x + 0.044715 * x * x * x)));
    case KNOWN_SOFTPLUS:
        return f_softplus(&p, &x);
    case KNOWN_MISH:
        return x * tanh(f_softplus(&p, &x));
    case KNOWN_ELU:
        return f_elu(&p, &x);
    case KNOWN_SOFTSIGN:
        return x / (1.0 + fabs(x));
    case KNOWN_NONE:
    case KNOWN_IDENTITY:
        break;
    }
    return x;
}

/* Numbers spread over what matters: the middle of all curves, their tails, and far out. */
static const double points[] = {
    0.0,  1.0,  -1.0,  1e-9,  -1e-9,  1e-3,  -1e-3,  0.1,   -0.1,   0.5,  -0.5,  1.7, -1.7, 2.0,
    -2.0, 2.5,  -2.5,  2.999, -2.999, 3.0,   -3.0,   3.001, -3.001, 4.0,  -4.0,  6.0, -6.0, 8.0,
    -8.0, 20.0, -20.0, 50.0,  -50.0,  300.0, -300.0, 1e6,   -1e6,   1e30, -1e30, /* for bounds only
                                                                                  */
};

enum {
    AT_0,
    AT_1,
    AT_MINUS_1,
    AT_SMALL = 5,
    AT_MINUS_50 = 32,
    POINTS = 37,
    AT_HIGH = POINTS,
    AT_LOW,
    ALL_POINTS
};

_Static_assert(sizeof points / sizeof *points == (size_t)ALL_POINTS &&
                   (int)ALL_POINTS <= (int)CURVE_POINTS,
               "places of the points");

/* Evaluated once, however many functions it is compared with. */
static double value_at(Curve *curve, int point)
{
    if (!(curve->known >> point & 1)) {
        curve->known |= (uint64_t)1 << point;
        curve->at[point] = evaluate(curve, points[point]);
    }
    return curve->at[point];
}

/* Value f at x. A straight part may round near its ends; a curve is told by its tails, down to what
 * 1 + tanh(x) leaves of them. */
static bool agrees(const Curve *curve, const Known *k, double x, double f, bool *finite)
{
    const double g = known_at(k, x);
    *finite = isfinite(f) && isfinite(g);
    if (!*finite)
        return !isnan(f);
    if (k->kind <= KNOWN_LEAKY)
        return fabs(f - g) <= 1e-9 * fabs(g);
    const double small =
        k->kind <= KNOWN_HARD_SWISH && fabs(x) <= 8.0 ? curve->precision : 1e-6 * curve->precision;
    return fabs(f - g) <= 100.0 * curve->precision * fabs(g) + small * (1.0 + fabs(x));
}

static bool agrees_near(Curve *curve, const Known *k, double x)
{
    bool finite;
    return agrees(curve, k, x, evaluate(curve, x), &finite);
}

static bool is_curve(Curve *curve, Known k)
{
    int seen = 0;
    bool finite;
    for (int i = 0; i < POINTS; i++) {
        if (!agrees(curve, &k, points[i], value_at(curve, i), &finite))
            return false;
        seen += finite;
    }
    if (k.kind == KNOWN_CLIP && isfinite(k.a) && isfinite(k.b))
        for (int i = 1; i < 8; i++)
            if (!agrees_near(curve, &k, k.a + (k.b - k.a) * i / 8.0))
                return false;
    if (k.kind == KNOWN_HARD_SIGMOID)
        for (int i = -1; i < 10; i++)
            if (!agrees_near(curve, &k, (i / 8.0 - k.b) / k.a))
                return false;
    return seen >= POINTS / 2;
}

static Known clip_of(Curve *curve)
{
    const double low = value_at(curve, AT_LOW);
    const double high = value_at(curve, AT_HIGH);
    return (Known){ KNOWN_CLIP, low <= -1e30 ? -HUGE_VAL : low, high >= 1e30 ? HUGE_VAL : high };
}

static Known hard_sigmoid_of(Curve *curve)
{
    const double at = value_at(curve, AT_0);
    return (Known){ KNOWN_HARD_SIGMOID, (value_at(curve, AT_SMALL) - at) / points[AT_SMALL], at };
}

static bool bends(const Curve *curve)
{
    for (int i = 0; i < curve->steps; i++)
        if (curve->step[i].bends)
            return true;
    return false;
}

/* Those that come straight, or in straight pieces, or as fractions. */
static Known match_straight(Curve *curve)
{
    const double f0 = value_at(curve, AT_0);
    const double f1 = value_at(curve, AT_1);
    const Known known[] = {
        { KNOWN_IDENTITY, 0.0, 0.0 },
        { KNOWN_AFFINE, f1 - f0, f0 },
        clip_of(curve),
        { KNOWN_ABS, 0.0, 0.0 },
        { KNOWN_LEAKY, -value_at(curve, AT_MINUS_1), 0.0 },
        hard_sigmoid_of(curve),
        { KNOWN_HARD_SWISH, 0.0, 0.0 },
        { KNOWN_SOFTSIGN, 0.0, 0.0 },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const Known k = known[i];
        if (isnan(k.a) || isnan(k.b) || (k.kind == KNOWN_CLIP && k.a >= k.b) ||
            (k.kind == KNOWN_HARD_SIGMOID && (k.a <= 0.0 || k.b < 0.0 || k.b > 1.0)))
            continue;
        if (is_curve(curve, k))
            return k;
    }
    return (Known){ KNOWN_NONE, 0.0, 0.0 };
}

static Known match_bent(Curve *curve)
{
    const double f1 = value_at(curve, AT_1);
    const Known known[] = {
        { KNOWN_SIGMOID, 0.0, 0.0 },
        { KNOWN_SWISH, 1.0, 0.0 },
        { KNOWN_SWISH, log(f1 / (1.0 - f1)), 0.0 },
        { KNOWN_TANH, 0.0, 0.0 },
        { KNOWN_GELU, 0.0, 0.0 },
        { KNOWN_GELU_TANH, 0.0, 0.0 },
        { KNOWN_SOFTPLUS, 0.0, 0.0 },
        { KNOWN_MISH, 0.0, 0.0 },
        { KNOWN_ELU, -value_at(curve, AT_MINUS_50), 0.0 },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!isnan(known[i].a) && is_curve(curve, known[i]))
            return known[i];
    return (Known){ KNOWN_NONE, 0.0, 0.0 };
}

Known curve_match(Curve *curve)
{
    const Known none = { KNOWN_NONE, 0.0, 0.0 };
    curve->known = 0;
    if (!isfinite(value_at(curve, AT_0)) && !isfinite(value_at(curve, AT_1)))
        return none;
    const Known k = match_straight(curve);
    return k.kind == KNOWN_NONE && bends(curve) ? match_bent(curve) : k;
}
