/* SPDX-License-Identifier: Apache-2.0
 * Integer operators in the place of float ones, each by its form in ops.def: what the functions
 * that build them share. */
#ifndef INLAY_PASSES_QUANTIZE_BUILD_H
#define INLAY_PASSES_QUANTIZE_BUILD_H

#include "passes/quanta.h"

/* What is to be made: the result of q, of the operator `node`, within bounds. Where q is NULL, that
 * of node itself. */
typedef struct Build {
    Graph *graph;
    Node *q;
    Node *node;
    Node *end;    /* q, or the last node that is replaced */
    Tensor *bias; /* of a product, that an Add behind it has; NULL: none */
    Quantum y;
    int64_t lo, hi;
    bool shorts; /* codes of x and y have 16 bits */
    bool inside; /* y's zero point is added before it rounds */
} Build;

/* The integer operator's result; NULL: there is no such form. */
typedef Tensor *BuildFn(Build *build);

/* A node of domain "inlay" in front of build->q, of its result's type. */
Node *build_insert(const Build *build, const char *op, Tensor *in, Shape shape);
/* The attributes of the operator that made stands for. */
void build_copy_attrs(Node *made, const Node *node);
/* The codes that tensor was dequantized from when it runs; false: they are none of the widths that
 * are built of. */
bool build_codes(const Build *build, const Tensor *tensor, Tensor **x,
                 Quantum *quantum);
/* Attributes of operand a, and of the result. */
void build_operand(Node *node, const Quantum *a);
void build_result(const Build *build, Node *node);

/* quantize_product.c */
BuildFn build_conv, build_gemm, build_product;
/* quantize_channels.c */
BuildFn build_channels;
/* quantize_deconv.c */
BuildFn build_deconv;
/* quantize_pool.c */
BuildFn build_pool, build_mean, build_global_mean, build_resize;
/* quantize_squares.c: the mean of squares, over all axes from one on */
Tensor *build_squares(Build *build, int from);
/* quantize_lines.c */
BuildFn build_softmax, build_norm, build_rms_norm;

#endif
