/* SPDX-License-Identifier: Apache-2.0
 * Evaluates chains of elementwise operators at points chosen to tell the known functions apart.
 * Parameters (slopes, bounds) are read off the values, then every point has to agree. */
#include "passes/curve.h"
#include "kernels/act.h"

#include <math.h>

/* A conversion that changes no value. */
static bool is_idle_cast(const Node *node)
{
    if (!node_is(node, "Cast"))
        return false;
    const DType from = node->in[0]->dtype;
    return from == node->out[0]->dtype || from == DT_BOOL;
}

bool curve_op(const Node *node, CurveStep *step)
{
    const OpRow *row = node->op;
    if (!row || node->n_out != 1 || node->n_in > CURVE_OPERANDS)
        return false;
    *step = (CurveStep){
        .n_from = node->n_in,
        .scalar = row->scalar,
        .bends = row->flags & OP_BENDS,
    };
    if (step->scalar || is_idle_cast(node))
        return true;
    step->act = act_of(node);
    if (!step->act)
        return false;
    step->a = (double)act_a(step->act, node);
    step->b = (double)act_b(step->act, node);
    step->bends = step->act->uses & INLAY_ACT_BENDS;
    return true;
}

static double step_value(const CurveStep *step, const double *operands)
{
    if (step->scalar)
        return step->scalar(step->n_from, operands);
    if (step->act)
        return step->act->value(operands[0], step->a, step->b);
    return operands[0];
}

static double evaluate(Curve *curve, double x)
{
    int last = 0;
    curve->value[0] = x;
    for (int i = 0; i < curve->steps; i++) {
        const CurveStep *step = curve->step + i;
        double operands[CURVE_OPERANDS] = { 0.0 };
        for (int k = 0; k < step->n_from; k++)
            operands[k] = curve->value[step->from[k]];
        last = step->to;
        curve->value[last] = step_value(step, operands);
    }
    return curve->value[last];
}

static double known_at(const Known *known, double x)
{
    switch (known->kind) {
    case KNOWN_AFFINE:
        return known->a * x + known->b;
    case KNOWN_ABS:
        return fabs(x);
    case KNOWN_ACT:
        return known->act->value(x, known->a, known->b);
    case KNOWN_NONE:
    case KNOWN_IDENTITY:
        break;
    }
    return x;
}

/* A bound from here on is none. */
#define UNBOUNDED 1e30

/* Numbers spread over what matters: the middle of all curves, their tails, and far out. */
static const double points[] = {
    0.0,
    1.0,
    -1.0,
    1e-9,
    -1e-9,
    1e-3,
    -1e-3,
    0.1,
    -0.1,
    0.5,
    -0.5,
    1.7,
    -1.7,
    2.0,
    -2.0,
    2.5,
    -2.5,
    2.999,
    -2.999,
    3.0,
    -3.0,
    3.001,
    -3.001,
    4.0,
    -4.0,
    6.0,
    -6.0,
    8.0,
    -8.0,
    20.0,
    -20.0,
    50.0,
    -50.0,
    300.0,
    -300.0,
    1e6,
    -1e6,
    /* for bounds only */
    UNBOUNDED,
    -UNBOUNDED,
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

static bool has_use(const Known *known, int use)
{
    return known->kind == KNOWN_ACT && known->act->uses & use;
}

static bool bends(const Curve *curve)
{
    for (int i = 0; i < curve->steps; i++)
        if (curve->step[i].bends)
            return true;
    return false;
}

/* Exponentials in the middle of a curve leave the numbers far out, where its result is one. No
 * other infinity stands for a number: a mask is -inf where it masks. */
static bool may_overflow(const Curve *curve, double x)
{
    return fabs(x) >= 50.0 && bends(curve);
}

/* Value f at x. A straight part may round near its ends; a curve is told by its tails, down to what
 * 1 + tanh(x) leaves of them. */
static bool agrees(const Curve *curve, const Known *known, double x, double f,
                   bool *finite)
{
    const double value = known_at(known, x);
    const double error = fabs(f - value);
    *finite = isfinite(f) && isfinite(value);
    if (!*finite)
        return f == value || (!isnan(f) && may_overflow(curve, x));
    if (known->kind != KNOWN_ACT || has_use(known, INLAY_ACT_LINES))
        return error <= 1e-9 * fabs(value);
    const bool corner = has_use(known, INLAY_ACT_CORNERS) && fabs(x) <= 8.0;
    const double small = corner ? curve->precision : 1e-6 * curve->precision;
    return error <=
           100.0 * curve->precision * fabs(value) + small * (1.0 + fabs(x));
}

static bool agrees_near(Curve *curve, const Known *known, double x)
{
    bool finite;
    return agrees(curve, known, x, evaluate(curve, x), &finite);
}

/* Between its ends. */
static bool agrees_within(Curve *curve, const Known *known)
{
    const int act = known->kind == KNOWN_ACT ? known->act->act : INLAY_ACT_NONE;
    const double a = known->a;
    const double b = known->b;
    if (act == INLAY_ACT_CLAMP && isfinite(a) && isfinite(b))
        for (int i = 1; i < 8; i++)
            if (!agrees_near(curve, known, a + (b - a) * i / 8.0))
                return false;
    if (act == INLAY_ACT_HARD_SIGMOID)
        for (int i = -1; i < 10; i++)
            if (!agrees_near(curve, known, (i / 8.0 - b) / a))
                return false;
    return true;
}

/* All that is recognized hands NaN on; a Where or a comparison may not. */
static bool agrees_at_nan(Curve *curve)
{
    return isnan(evaluate(curve, (double)NAN));
}

/* Max(x, -3.4e38) is nothing for numbers, and makes one of -inf. */
static bool agrees_at_infinity(Curve *curve, const Known *known)
{
    const double high = evaluate(curve, HUGE_VAL);
    const double low = evaluate(curve, -HUGE_VAL);
    return known->kind != KNOWN_IDENTITY ||
           (isinf(high) && high > 0.0 && isinf(low) && low < 0.0);
}

/* Where the curve's constants lie and beside them: a piece may begin there that no fixed point
 * meets. Constants follow the results of the steps. */
static bool agrees_at_constants(Curve *curve, const Known *known)
{
    for (int i = 1 + curve->steps; i < curve->values; i++) {
        const double at = curve->value[i];
        const double beside = 1e-3 * (1.0 + fabs(at));
        if (!(fabs(at) < UNBOUNDED))
            continue;
        for (int k = -1; k <= 1; k++)
            if (!agrees_near(curve, known, at + k * beside))
                return false;
    }
    return true;
}

static bool is_curve(Curve *curve, const Known *known)
{
    int seen = 0;
    bool finite;
    if (isnan(known->a) || isnan(known->b))
        return false;
    for (int i = 0; i < POINTS; i++) {
        const double f = value_at(curve, i);
        if (!agrees(curve, known, points[i], f, &finite))
            return false;
        seen += finite;
    }
    return seen >= POINTS / 2 && agrees_within(curve, known) &&
           agrees_at_constants(curve, known) && agrees_at_nan(curve) &&
           agrees_at_infinity(curve, known);
}

/* The numbers of an activation that it would have to be, from the curve's values; false: it cannot
 * be that one. */
typedef bool FitFn(Curve *curve, Known *known);

static bool fit_clamp(Curve *curve, Known *known)
{
    const double low = value_at(curve, AT_LOW);
    const double high = value_at(curve, AT_HIGH);
    known->a = low <= -UNBOUNDED ? -HUGE_VAL : low;
    known->b = high >= UNBOUNDED ? HUGE_VAL : high;
    return known->a < known->b;
}

static bool fit_leaky_relu(Curve *curve, Known *known)
{
    known->a = -value_at(curve, AT_MINUS_1);
    return true;
}

static bool fit_hard_sigmoid(Curve *curve, Known *known)
{
    const double f0 = value_at(curve, AT_0);
    known->a = (value_at(curve, AT_SMALL) - f0) / points[AT_SMALL];
    known->b = f0;
    return known->a > 0.0 && f0 >= 0.0 && f0 <= 1.0;
}

static bool fit_swish(Curve *curve, Known *known)
{
    const double f1 = value_at(curve, AT_1);
    known->a = 1.0;
    if (!is_curve(curve, known))
        known->a = log(f1 / (1.0 - f1));
    return true;
}

static bool fit_elu(Curve *curve, Known *known)
{
    known->a = -value_at(curve, AT_MINUS_50);
    return true;
}

static FitFn *const fits[INLAY_ACT_COUNT] = {
    [INLAY_ACT_CLAMP] = fit_clamp,
    [INLAY_ACT_LEAKY_RELU] = fit_leaky_relu,
    [INLAY_ACT_HARD_SIGMOID] = fit_hard_sigmoid,
    [INLAY_ACT_SWISH] = fit_swish,
    [INLAY_ACT_ELU] = fit_elu,
};

/* Of the activations that can be fused the one that it is, among those that bend or those that do
 * not. */
static Known match_act(Curve *curve, bool bends)
{
    int count;
    const ActRow *rows = act_rows(&count);
    for (const ActRow *act = rows; act < rows + count; act++) {
        Known known = {
            .kind = KNOWN_ACT,
            .act = act,
        };
        FitFn *fit = fits[act->act];
        if (!(act->uses & INLAY_ACT_FUSED) ||
            bends != ((act->uses & INLAY_ACT_BENDS) != 0))
            continue;
        if (fit ? fit(curve, &known) : !*act->a_name)
            if (is_curve(curve, &known))
                return known;
    }
    return (Known){ .kind = KNOWN_NONE };
}

static Known match_line(Curve *curve)
{
    const double f0 = value_at(curve, AT_0);
    const double f1 = value_at(curve, AT_1);
    const Known lines[] = {
        { .kind = KNOWN_IDENTITY },
        {
            .kind = KNOWN_AFFINE,
            .a = f1 - f0,
            .b = f0,
        },
        { .kind = KNOWN_ABS },
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (is_curve(curve, lines + i))
            return lines[i];
    return (Known){ .kind = KNOWN_NONE };
}

Known curve_match(Curve *curve)
{
    Known known = { .kind = KNOWN_NONE };
    curve->known = 0;
    if (!isfinite(value_at(curve, AT_0)) && !isfinite(value_at(curve, AT_1)))
        return known;
    known = match_line(curve);
    if (known.kind == KNOWN_NONE)
        known = match_act(curve, false);
    if (known.kind == KNOWN_NONE && bends(curve))
        known = match_act(curve, true);
    return known;
}
