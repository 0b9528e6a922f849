/* SPDX-License-Identifier: Apache-2.0
 * Which operators can work on permuted operands, and how their attributes change. */
#ifndef INLAY_PASSES_RELAYOUT_H
#define INLAY_PASSES_RELAYOUT_H

#include "ir/graph.h"

/* Rewrites the node's attributes so that it gives the permuted result of operands x, where its own
 * are Transpose(x, perm). False, and nothing changed, where it cannot. */
typedef bool RelayoutFn(Node *node, int rank, /* of x */
                        const int *perm);

/* NULL: node needs its operands as they are. */
RelayoutFn *relayout_find(const Node *node);
/* Is operand i one that is permuted (not a list of axes, a shape ...)? */
bool relayout_moves(const Node *node, int i);
/* A Reshape of tensor in front of a node, folded where it is constant; and a node that becomes a
 * Reshape of it. */
Tensor *insert_reshape(Graph *graph, const Node *before, Tensor *tensor,
                       const Shape *shape); /* of the result */
void become_reshape(Graph *graph, Node *node,
                    Tensor *tensor, /* its operand from now on */
                    const Shape *shape);
/* A view of tensor with leading dimensions of 1. */
Tensor *insert_reshape_rank(Graph *graph, Node *before, Tensor *tensor,
                            int rank); /* of the view */

/* Where node reads Transpose(x, perm): the Transpose moves behind it. False, and nothing changed,
 * where it cannot. */
bool sink_reshape(Graph *graph, Node *node, /* a Reshape or its kin */
                  Tensor *x, const int *perm);
/* The same where node reads Transpose `lead` by index. False: it does not; else `sunk` says whether
 * the Transpose moved. */
bool sink_index(Graph *graph, Node *node, const Node *lead, /* its Transpose */
                bool *sunk);
/* A Gather of constant places along an axis becomes a Slice for each run of them; false where there
 * are many, or none. */
bool gather_to_slices(Graph *graph, Node *node);
/* Transpositions and reshapes behind elementwise work on an input, or on what several nodes read,
 * go in front of it. */
void raise_turns(Graph *graph);
/* Marks the nodes whose images stay plane by plane, before one becomes channels last. */
void own_order_mark(Graph *graph);
/* NCHW.. -> NHWC..: out[i] = in[perm[i]]; the way back of a permutation; a shape's. */
void perm_to_last(int rank,   /* of the image */
                  int *perm); /* gets as many places */
void perm_inverse(int rank, const int *perm,
                  int *inverse); /* gets as many places */
Shape shape_permuted(const Shape *shape, const int *perm); /* of its rank */
/* perm of a Transpose node; its default reverses. */
void transpose_perm(const Node *node, int *perm);
/* A Transpose node that makes `out`: out[i] = in[perm[i]]. */
void add_transpose(Graph *graph, const Node *anchor, /* in front of it */
                   Tensor *in, const int *perm, Tensor *out);

#endif
