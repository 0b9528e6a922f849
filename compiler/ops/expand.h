/* SPDX-License-Identifier: Apache-2.0
 * Operators that are compositions of others: their infer function puts a subgraph in their place.
 *
 * When it runs, the shapes of the operands are known. It makes nodes of the newest opset one by one
 * (each gets its shapes at once, and vanishes where its operands are constant), and ends with
 * expand_finish(). The operators used must not be compositions themselves. Such a row of ops.def
 * has lower_expanded. */
#ifndef INLAY_OPS_EXPAND_H
#define INLAY_OPS_EXPAND_H

#include "ops/infer.h"

/* A node that serves `at`; attributes may be set before expand_done(), which returns result 0. */
Node *expand_node(const Node *at, const char *op, int n_in, /* operands */
                  Tensor *const *in, /* of which may be NULL */
                  int n_out);        /* new results */
/* The same of one result, its operands one by one; those at the end that are NULL are left out. */
#define expand_of(at, op, ...) \
    expand_list(at, op, sizeof(OPERANDS(__VA_ARGS__)) / sizeof(Tensor *), \
                OPERANDS(__VA_ARGS__))
#define OPERANDS(...) \
    (Tensor *[]) \
    { \
        __VA_ARGS__ \
    }
Node *expand_list(const Node *at, const char *op, int n_in, Tensor *const *in);
/* The result of such a node without attributes. */
#define expand_op(at, op, ...) expand_done(expand_of(at, op, __VA_ARGS__))
/* The same of domain "inlay". */
Node *expand_inlay_node(const Node *at, const char *op, int n_in, /* operands */
                        Tensor *const *in, /* of which may be NULL */
                        int n_out);        /* new results */
Tensor *expand_done(Node *made);
/* Gives `made` the attributes of `at`. */
void expand_copy_attrs(Node *made, const Node *at);
/* Is result i of `at` there, and read? */
bool expand_reads(const Node *at, int i);
/* What makes a tensor of another. */
typedef Tensor *ExpandOne(const Node *at, Tensor *tensor);
/* Nodes without attributes and of one result. */
Tensor *expand_unary(const Node *at, const char *op, Tensor *a);
Tensor *expand_binary(const Node *at, const char *op, /* of ONNX */
                      Tensor *a, Tensor *b);
/* Arithmetic with broadcasting, and the product of matrices. */
typedef Tensor *ExpandPair(const Node *at, Tensor *a, Tensor *b);
ExpandPair expand_add;
ExpandPair expand_sub;
ExpandPair expand_mul;
ExpandPair expand_div;
ExpandPair expand_matmul;
/* The others that are wanted often. cast: tensor itself where it is of that type. */
Tensor *expand_cast(const Node *at, Tensor *tensor, DType to);
/* Operand i of `at` itself becomes its cast. */
void expand_operand(Node *at, int i, DType to);
/* Operands of another width than the first become their casts where either is a double: scales and
 * statistics beside an image, which decides. */
void expand_like_first(Node *at);
/* A dimension of 1 becomes that axis of the result. */
typedef Tensor *ExpandAlong(const Node *at, Tensor *tensor, int axis);
ExpandAlong expand_unsqueeze;
Tensor *expand_reshape(const Node *at, Tensor *tensor,
                       int rank, /* of the result */
                       const int64_t *dims);
Tensor *expand_transpose(const Node *at, Tensor *tensor,
                         const int64_t *perm); /* as the attribute */
/* A matrix with rows and columns exchanged. */
ExpandOne expand_turn;
Tensor *expand_where(const Node *at, Tensor *condition,
                     Tensor *a,  /* where it holds */
                     Tensor *b); /* elsewhere */
/* Softmax over the last axis; over one; over all from `axis` on, as if they were one. */
ExpandOne expand_softmax;
ExpandAlong expand_softmax_along;
ExpandAlong expand_flat_softmax;
/* tensor times itself. */
ExpandOne expand_square;
/* Along an axis: elements or slices of a that b, indices, names; a and b one behind the other. */
typedef Tensor *ExpandPairAlong(const Node *at, Tensor *a, Tensor *b, int axis);
ExpandPairAlong expand_gather;
ExpandPairAlong expand_concat;
/* The product with a number. */
Tensor *expand_scaled(const Node *at, Tensor *tensor,
                      double factor); /* in the tensor's type */
/* The same, but tensor itself where the attribute alpha of `at` is 1. */
ExpandOne expand_times_alpha;
Tensor *expand_slice(const Node *at, Tensor *tensor, int axis,
                     int64_t from, /* the first element */
                     int64_t to);  /* the one behind the last */
/* Constants. */
Tensor *expand_number(const Node *at, double value, /* of its one element */
                      DType type);
Tensor *expand_floats(const Node *at, int64_t n, const float *values);
Tensor *expand_i64(const Node *at, int64_t value); /* a list of one */
Tensor *expand_i64s(const Node *at, int64_t n, const int64_t *values);

/* Word, position and segment embeddings, their sum normalized, the length of each mask
 * (microsoft/fused.c): in[0..8] are the operands of EmbedLayerNormalization, NULL where left
 * out. */
void expand_embeddings(Node *at, Tensor *const *in);

/* Takes `at` out; result i of it (i < n, NULL: nobody asked) becomes result[i]. */
void expand_finish(Node *at, int n, /* results */
                   Tensor *const *result);
/* The same of the one result. */
void expand_finish_one(Node *at, Tensor *result);

#endif
