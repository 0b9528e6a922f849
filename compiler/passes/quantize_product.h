/* SPDX-License-Identifier: Apache-2.0
 * A product of quantized factors on its way to an integer operator. */
#ifndef INLAY_PASSES_QUANTIZE_PRODUCT_H
#define INLAY_PASSES_QUANTIZE_PRODUCT_H

#include "passes/quantize_build.h"
#include "passes/quantize_weights.h"

/* Operands of QLinearConv, of QLinearMatMul but for the last, of ConvIntegerToFloat the first six
 * and a bias. */
enum { X, X_SCALE, X_ZERO, W, W_SCALE, W_ZERO, Y_SCALE, Y_ZERO, BIAS, FACTORS };
enum { FLOAT_BIAS = 6 };

/* A product of x, which has one scale, and weights: what its integer form reads. */
typedef struct Product {
    Weights x, w;
    Tensor *in[FACTORS];
    int n_in;
} Product;

/* The sums of a result must fit 32 bits: `depth` products and a bias. */
bool product_fits(int64_t depth);
/* Finds the factors, the scales of the second one along `axis`. False: they are no bytes. */
bool product_find(const Build *build, int axis, Product *product);
/* What QLinearConv reads, but for the bias. */
void product_operands(const Build *build, Product *product);
/* Adds the bias, NULL: there is none, of n channels. False: it does not fit. */
bool product_bias(const Build *build, Product *product, Tensor *bias,
                  int64_t n);
/* The convolution in front of build->end, without attributes. */
Node *product_conv(const Build *build, const Product *product, Shape shape);
/* Rows of x times constant weights [N][K]: a convolution of one tap over an image of these
 * rows. NULL: it cannot be. */
Tensor *product_rows(const Build *build, Product *product, Tensor *bias);

#endif
