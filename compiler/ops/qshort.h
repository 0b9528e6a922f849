/* SPDX-License-Identifier: Apache-2.0
 * Products of numbers of 16 bits with constant weights: packed for the target's family, zero points
 * in the biases, scales as factors and places (runtime/kernels/qshort.h). */
#ifndef INLAY_OPS_QSHORT_H
#define INLAY_OPS_QSHORT_H

#include "ops/qlayout.h"
#include "ops/window.h"

/* int16 or uint16? */
bool is_short(DType type);
/* The step of a convolution in `groups`, images channels last; lo and hi of the node are bounds of
 * its codes. */
void lower_shorts(Lower *lower, Node *node, const ByteOperands *q,
                  const Window *window);

/* A scale as the kernels have it. */
typedef struct ShortScale {
    int32_t factor;
    int32_t places;
} ShortScale;

/* Of sums that fit 32 bits; false: their products would have too few bits behind the point. */
bool short_scale(double scale, ShortScale *made);
/* Of sums of 64 bits. */
ShortScale short_scale_long(double scale);
/* Factors of two operands, of which none is above 2^12 (runtime/kernels/qshort_step.h). Returns the
 * places of both. */
int32_t short_factors(double a, double b, int32_t *factor_a, int32_t *factor_b);

#endif
