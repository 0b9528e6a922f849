/* SPDX-License-Identifier: Apache-2.0
 * Sizes known only at run time (NonZero, Compress, Unique, NonMaxSuppression, If, loops that end
 * early).
 *
 * Such a tensor has a bound for a shape, and room for it; bit i of Tensor.dynamic says that
 * dimension i is one. Its real dimensions are a value of the graph like any other: Tensor.dims.
 * Elements lie where they would lie in the bound. Operators that treat places along the dynamic
 * dimensions independently run over the whole bound; what they make of the rest means nothing and
 * is cleared where it could do harm, and at the results of the model, which are handed back without
 * gaps. Any other operator takes such an operand only where the file declares its shape: then the
 * sizes are checked when the model runs. Shape and Size give the real dimensions. */
#ifndef INLAY_OPS_DYNAMIC_H
#define INLAY_OPS_DYNAMIC_H

#include "ops/lower.h"

/* For infer functions: result i (infer_out() done) has along `axis` at most its size, the real one
 * being what the node writes to a result of its own, int64 [1], which node_count() gives when it is
 * lowered. */
void dynamic_out(Node *node, int i, int axis);
/* Result i along `axis` has the same size as result k along its dynamic axis. */
void dynamic_like(Node *node, int i, int axis, int k);
/* NULL: the sizes are known. */
Tensor *node_count(const Node *node);
/* The shape that the file declares for result i where it is known, else `bound`; the rank must be
 * the same. */
Shape dynamic_bound(const Node *node, int i, Shape bound);

/* For nodes in the place of `at`: the tensor over the whole bound, with that value where it has no
 * elements; and its real size along the axis, int64 [1]. */
Tensor *dynamic_filled(const Node *at, Tensor *tensor,
                       int axis, /* the dynamic one */
                       double value);
Tensor *dynamic_filled_with(const Node *at, Tensor *tensor, int axis,
                            Tensor *value); /* the same: a number */
Tensor *dynamic_size(const Node *at, const Tensor *tensor,
                     int axis); /* likewise */
/* For nodes in the place of `at`: only the first elements of n tensors along the axis count. */
void dynamic_cut(const Node *at, int n, Tensor *const *t,
                 int axis,      /* of each of them */
                 Tensor *size); /* so many: int64 [1] */

/* Likewise: tensor as a settling operator leaves it. */
Tensor *dynamic_settled(const Node *at,
                        const char *op, /* FixedSize, ClearRest, Settle */
                        Tensor *tensor);
/* Likewise: bool [bound], which of the places along the axis are elements. */
Tensor *dynamic_elements(const Node *at,
                         const Tensor *tensor, /* of known size: all */
                         int axis);

/* Where node is put together of such sizes before its own infer function runs (dynamic_made.c):
 * true, it is replaced. */
bool dynamic_made(Node *node);
/* The number of the size that n parts come to, each a size or -1 - the number of one known at run
 * time: of the same parts the same, else `fresh`. */
int dynamic_joined(const Node *at, int n, /* parts */
                   const int64_t *part,   /* [n] */
                   int fresh);
/* The number of a size that is another times `from`, divided by `to`. */
int dynamic_scaled(const Node *at, int id, /* the other's */
                   int64_t from,           /* a row's elements, */
                   int64_t to);            /* and those of a new one */
/* A Reshape that joins the dynamic axis with those behind it, or takes such from it. */
bool dynamic_reshaped(Node *node, Tensor *tensor);
/* A Pad that puts elements before or behind those of the dynamic axis (dynamic_pad.c). */
bool dynamic_padded(Node *node, Tensor *tensor);
/* One that fills the axis up to a size that the file declares: true, it is replaced. */
bool dynamic_filled_up(Node *node);
/* A Split along it whose parts are known (dynamic_split.c). */
void dynamic_split(Node *node);
/* The number of the size that is `id`, but at most n. */
int dynamic_limited(const Node *at, int id, int64_t n);
/* A Slice whose starts or ends are known only at run time (dynamic_slice.c). */
bool dynamic_sliced(Node *node);
/* The same where a list of sizes tells such a size, or indices are as many (dynamic_sized.c). */
bool dynamic_told(Node *node);

/* Where node reduces operand 0 over its one dynamic axis, or a Softmax adds up along it, the
 * operand becomes one whose rest changes nothing (dynamic_fill.c). false: it does something
 * else. */
bool dynamic_neutral(Node *node, Tensor *tensor);
/* Has the result of such a node the axis as well? */
bool dynamic_keeps(const Node *node);

/* For nodes in the place of `at`: along `axis` the size of tensor is the number `id`, its value
 * `size`, int64 [1]. */
void dynamic_mark(const Node *at, Tensor *tensor, int axis, Tensor *size,
                  int id);
/* The size that element i of an integer list, or operand, is; NULL: it is none, or it has a value.
 */
const CountedSize *dynamic_counted(const Tensor *list, int64_t i);
const CountedSize *dynamic_entry(const Node *node, int operand, int64_t i);

/* For pass_infer. Before a node's infer function: true where it is a Shape or Size of such an
 * operand, or repeats something over such a Shape, now replaced. */
bool dynamic_shape(Node *node);
/* After it. */
void dynamic_results(Node *node);
/* After all: the results of the model get their last step, and their dims become results too. */
void dynamic_outputs(Graph *graph);

/* Does operand k, with its dynamic dimensions, pass? to[a]: the axis of the results that its axis a
 * becomes, -1: none. */
bool dynamic_passes(const Node *node, int k, int *to);

#endif
