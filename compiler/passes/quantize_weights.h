/* SPDX-License-Identifier: Apache-2.0
 * Quantized factors of a product, and its bias as the integer operators want it. */
#ifndef INLAY_PASSES_QUANTIZE_WEIGHTS_H
#define INLAY_PASSES_QUANTIZE_WEIGHTS_H

#include "ir/graph.h"

/* Bytes, or constants of fewer or 16 bits, with one scale for all, or one for each place of an
 * axis. */
typedef struct Weights {
    Tensor *bytes, *scale, *zero; /* zero NULL: 0 */
} Weights;

/* Are they of fewer bits? Then they are constant, and of an operator that takes them so. */
bool weights_are_packed(const Weights *weights);
/* Are they constants of bytes or more, that fit 16 bits without their zero points? */
bool weights_fit_shorts(Graph *graph, const Weights *weights);
/* The factor that tensor is, its scales along `axis` if there are several; false: it has others. */
bool weights_of(Graph *graph, const Tensor *tensor, int axis, Weights *weights);
/* A constant matrix with the axis `rows` of results first. */
void weights_turn(Graph *graph, int rows, Weights *weights);
/* A constant bias of `n` numbers, in steps of x_scale times each of w_scale: int32. NULL: it does
 * not fit, or would be rounded to steps larger than `most`. */
Tensor *weights_bias(Graph *graph, const Tensor *bias, const Tensor *x_scale,
                     const Tensor *w_scale, double most, int64_t n);

#endif
