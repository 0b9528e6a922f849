/* SPDX-License-Identifier: 0BSD
 * Activations on double, from act.def. */
#ifndef INLAY_ACT_F64_H
#define INLAY_ACT_F64_H

#include "kernels/act.h"

static inline double inlay_gelu_of_f64(double x)
{
    return 0.5 * x * (1 + erf(x * 0.70710678118654752));
}

static inline double inlay_one_and_exp_f64(double x)
{
    return 1 + exp(x);
}

#define INLAY_T double
#define INLAY_N(name) inlay_##name##_f64
#define INLAY_C(number) number
#define INLAY_F(name) name
#define INLAY_FAST(name) name
#define INLAY_PICK(c, p, q) ((c) ? (p) : (q))
#define INLAY_IF(c, p, q) ((c) ? (p) : (q))
#include "act.inc.h"

/* act(x), of those of recurrent layers. */
static inline double inlay_gate_act_f64(double x, int32_t act, double a,
                                        double b)
{
#define INLAY_ACT(uses, id, name, op, a_name, a_default, b_name, b_default, \
                  formula) \
    case INLAY_ACT_##id: \
        return (uses)&INLAY_ACT_GATE ? inlay_act_##name##_f64(x, a, b) : x;
    switch (act) {
#include "act.def"
    default:
        return x;
    }
#undef INLAY_ACT
}

#endif
