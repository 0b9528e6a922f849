/* SPDX-License-Identifier: Apache-2.0
 * Quantization in a graph: what passes/quantize.c knows of QuantizeLinear and DequantizeLinear,
 * and the rewritings that it does, a file each. */
#ifndef INLAY_PASSES_QUANTA_H
#define INLAY_PASSES_QUANTA_H

#include "ir/graph.h"
#include "ops/qstep.h"

/* The form of node's operator; QUANTIZED_NONE for one that is dead or unknown. */
QuantizedForm quanta_form(const Node *node);
bool quanta_is_quantize(const Node *node);
/* Has its operator a form of codes of 16 bits? (quantize_build.c) */
bool quanta_takes_shorts(const Node *node);
/* The DequantizeLinear that made tensor, of float32; where tensor is a constant: that it was
 * computed by. NULL: none. */
const Node *quanta_source(const Tensor *tensor);
/* The one scale and zero point, constants, of a QuantizeLinear or DequantizeLinear. False: it has
 * others. */
bool quanta_one(Graph *graph, const Node *node, Quantum *quantum);
/* The same of a tensor that is dequantized when it runs; what it is made of, of one of the types,
 * goes to *x. */
bool quanta_codes(Graph *graph, const Tensor *tensor, uint64_t types,
                  Tensor **x, Quantum *quantum);
/* Of 8 bits. */
bool quanta_bytes(Graph *graph, const Tensor *tensor, Tensor **x,
                  Quantum *quantum);
bool quanta_equal(const Quantum *a, const Quantum *b);
/* A number as the type of `quantum` holds it. */
int64_t quanta_round(const Quantum *quantum, double value);
int64_t quanta_least(DType type);
int64_t quanta_most(DType type);

/* A node that serves `anchor`, with one new result of that type and shape. */
Node *quanta_insert(Graph *graph, const Node *anchor, const char *domain,
                    const char *op, int n_in, Tensor *const *in, DType type,
                    Shape shape);
/* What node makes becomes the value of q's result, and q goes. */
void quanta_take(Graph *graph, Node *q, Tensor *made);
/* The one result of node, which goes, is x from now on. */
void quanta_replace(Graph *graph, Node *node, Tensor *x);
/* The same bytes under another shape. */
Tensor *quanta_reshape(Graph *graph, const Node *anchor, Tensor *x,
                       Shape shape);
Tensor *quanta_zero(Graph *graph, DType type);
/* Does node move elements of its first operand only, or puts zeros beside them? */
bool quanta_moves_one(Graph *graph, const Node *node);
/* Is a constant, or NULL, all zeros? */
bool quanta_is_zero(Graph *graph, const Tensor *tensor);

/* A rewriting that begins at one node; true: something changed. */
typedef bool RewriteFn(Graph *graph, Node *node);

/* quantize_fake.c: a QuantizeLinear to 16 bits and the DequantizeLinear behind it become
 * FakeQuantize; the first: where no operator beside them has an integer form. */
RewriteFn quanta_fake, quanta_fake_rest;
/* quantize_carry.c: operators that move elements change places with a DequantizeLinear before
 * them, a QuantizeLinear behind them; pairs that cancel go. */
RewriteFn quanta_carry;
/* quantize_table.c: a QuantizeLinear behind functions of one quantized tensor becomes a table. */
RewriteFn quanta_table;
/* The same of functions that stay floats. */
RewriteFn quanta_float_table;
/* quantize_build.c: a QuantizeLinear and the operator before it become an integer operator. */
RewriteFn quanta_build;
/* The same of a product that no QuantizeLinear is behind: its sums become floats. */
RewriteFn quanta_float, quanta_float_sum; /* the second: and a bias behind it */
/* quantize_dynamic.c: sums of integers times scales that are made when it runs become floats at
 * once; the first: with a bias behind them. */
RewriteFn quanta_biased_sums, quanta_sums;
/* quantize_bound.c: a table that is a clip goes into the operator before it. */
RewriteFn quanta_bound;

#endif
