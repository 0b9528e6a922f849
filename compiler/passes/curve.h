/* SPDX-License-Identifier: Apache-2.0
 * Functions of one number: elementwise operators in a row, with constants, evaluated in float64 and
 * compared with the functions that one operator computes. However an exporter spells a GELU, its
 * values give it away. */
#ifndef INLAY_PASSES_CURVE_H
#define INLAY_PASSES_CURVE_H

#include <stdbool.h>
#include <stdint.h>

#include "ops/act.h"
#include "ops/ops.h"

/* Mish spelt with exponentials has four bends. */
enum {
    CURVE_STEPS = 24,
    CURVE_VALUES = 4 * CURVE_STEPS,
    CURVE_POINTS = 64,
    CURVE_BENDS = 4,
    CURVE_OPERANDS = 3
};

/* One operator: value[to] = scalar(value[from[0]], ...), or the activation `act` with the numbers a
 * and b, or, where both are NULL, value[from[0]] itself. */
typedef struct CurveStep {
    ScalarFn *scalar;
    const ActRow *act;
    double a, b;
    int n_from, to, from[CURVE_OPERANDS];
    /* a transcendental one: curves have CURVE_BENDS of them at most */
    bool bends;
} CurveStep;

/* value[0] is the argument, the last step's is the result; constants are set beforehand. */
typedef struct Curve {
    CurveStep step[CURVE_STEPS];
    double value[CURVE_VALUES];
    int steps, values;
    double precision; /* relative rounding of the constants: 1e-7 float32 */
    double at[CURVE_POINTS]; /* results at the fixed points, */
    uint64_t known;          /* bit i: at[i] is set */
} Curve;

/* What node does as a step of a Curve; false where that is not known. */
bool curve_op(const Node *node, CurveStep *step);

typedef enum KnownKind {
    KNOWN_NONE,
    KNOWN_IDENTITY,
    KNOWN_AFFINE, /* a x + b */
    KNOWN_ABS,
    KNOWN_ACT /* the activation `act` with the numbers a and b */
} KnownKind;

typedef struct Known {
    KnownKind kind;
    const ActRow *act;
    double a, b;
} Known;

/* The known function whose values it has. */
Known curve_match(Curve *curve);

#endif
