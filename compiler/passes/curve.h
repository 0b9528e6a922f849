/* SPDX-License-Identifier: Apache-2.0
 * Functions of one number: elementwise operators in a row, with constants, evaluated in float64 and
 * compared with the functions that one operator computes. However an exporter spells a GELU, its
 * values give it away. */
#ifndef INLAY_PASSES_CURVE_H
#define INLAY_PASSES_CURVE_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/graph.h"

/* Mish spelt with exponentials has four bends. */
enum { CURVE_STEPS = 24, CURVE_VALUES = 4 * CURVE_STEPS, CURVE_POINTS = 64, CURVE_BENDS = 4 };

/* One operator: value[to] = op(value[from[0]], ...); a, b: its attributes. */
typedef struct CurveStep {
    int op, n_from, to, from[3];
    bool bends; /* a transcendental one: curves have CURVE_BENDS of them at most */
    double a, b;
} CurveStep;

/* value[0] is the argument, the last step's is the result; constants are set beforehand. */
typedef struct Curve {
    CurveStep step[CURVE_STEPS];
    double value[CURVE_VALUES];
    int steps, values;
    double precision;        /* relative rounding of the constants: 1e-7 float32 */
    double at[CURVE_POINTS]; /* results at the fixed points, */
    uint64_t known;          /* bit i: at[i] is set */
} Curve;

/* The number of the operator in a Curve and its attributes; false where it is not known here. */
bool curve_op(const Node *node, CurveStep *step);

typedef enum KnownKind {
    KNOWN_NONE,
    KNOWN_IDENTITY,
    KNOWN_AFFINE,
    KNOWN_CLIP,
    KNOWN_ABS,
    KNOWN_LEAKY,
    KNOWN_HARD_SIGMOID,
    KNOWN_HARD_SWISH,
    KNOWN_SIGMOID,
    KNOWN_SWISH,
    KNOWN_TANH,
    KNOWN_GELU,
    KNOWN_GELU_TANH,
    KNOWN_SOFTPLUS,
    KNOWN_MISH,
    KNOWN_ELU,
    KNOWN_SOFTSIGN,
} KnownKind;

/* y of that kind: a x + b; min(max(x, a), b); slopes. */
typedef struct Known {
    KnownKind kind;
    double a, b;
} Known;

/* The known function whose values it has. */
Known curve_match(Curve *curve);

#endif
