/* SPDX-License-Identifier: Apache-2.0
 * Constant weights of a product of bytes, as bytes with a sign: what is taken off them so that they
 * are such, and what that adds to the biases. */
#ifndef INLAY_OPS_QWEIGHTS_H
#define INLAY_OPS_QWEIGHTS_H

#include "ops/qlayout.h"

/* Is an operand that may be left out constant? Has it one element? */
bool constant_or_none(const Tensor *tensor);
bool single_or_none(const Tensor *tensor);
/* The elements of a constant; NULL where it is left out. */
const void *constant_values(Lower *lower, const Tensor *tensor, DType type);
/* The first of them; 0 where it is left out. */
int32_t constant_number(Lower *lower, const Tensor *tensor);

/* Zero points of the channels, less than 0, of weights [channels]...; there are some. */
Recipe *weights_negative_zeros(Store *store, const ByteOperands *q);

/* Sets what is taken off the weights, and them without it. */
void weights_begin(Packing *packing);
/* Do two channels fit in a half of 16 bits, 256 times the odd one and the even one? */
bool weights_fit_halves(const Packing *packing);

/* What is made of zero points and sums: for each channel its bias, and zero points of weights
 * where they differ. */
typedef struct Folded {
    int32_t *bias;
    int32_t *sums;
    int32_t *zeros;
    bool late; /* x's zero point comes at run time: it is not in the bias */
} Folded;

/* Weights of bytes are recentered first: then less is left of zero points. */
Folded weights_fold(Packing *packing);

#endif
