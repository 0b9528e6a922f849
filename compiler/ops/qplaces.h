/* SPDX-License-Identifier: Apache-2.0
 * Where the operators of 8-bit products have their operands (factors, zero points, scales, bias):
 * one table each, and what is read through it. */
#ifndef INLAY_OPS_QPLACES_H
#define INLAY_OPS_QPLACES_H

#include "ops/lower.h"
#include "ops/qpacked.h"

/* Where a product's operands stand in its node; -1: it has none. */
typedef struct QuantPlaces {
    int a;
    int b;
    int za;
    int zb;
    int sa;
    int sb;
    int sy;
    int zy;
    int bias;
    int add; /* floats */
} QuantPlaces;

/* MatMulInteger, ConvInteger: the sums themselves. */
extern const QuantPlaces quant_sums;
/* QLinearMatMul, QLinearConv: of a matrix product there is no operand 8. */
extern const QuantPlaces quant_bytes;
/* ConvIntegerToFloat. */
extern const QuantPlaces quant_floats;

/* The operand at this place; NULL where the node has none. */
Tensor *quant_in(const Node *node, int place);
/* Its elements; 1 where there is none. */
int32_t quant_count(const Node *node, int place);
/* Which of the factors have a sign: bit 0 a, bit 1 b. */
int32_t quant_signs(const Tensor *a, const Tensor *b);
/* Input `place` is int8 or uint8, or the node is refused. */
void quant_check_bytes(const Node *node, int place);
/* The same; of fewer bits where they are constant. */
void quant_check_weights(const Node *node, int place);
/* The kernels' number for results of this type (INLAY_QOUT_*). */
int32_t quant_out_kind(const Node *node, DType type);

/* The operands that follow the two factors, in the kernels' order: zero points, scales, those of
 * the result. */
enum { QUANT_OTHERS = 6 };
void quant_others(Lower *lower, Node *node, const QuantPlaces *places,
                  Tensor **q);

/* All of them, for kernels with packed weights. */
ByteOperands quant_operands(const Node *node, const QuantPlaces *places);

#endif
