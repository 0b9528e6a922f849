/* SPDX-License-Identifier: Apache-2.0
 * What the infer functions of all families share. */
#ifndef INLAY_OPS_INFER_H
#define INLAY_OPS_INFER_H

#include "ops/ops.h"

/* Sets type and shape of output i; nothing where the output is left out. */
void infer_out(Node *node, int i, /* of its outputs */
               DType type, Shape shape);
/* Shape of input i: fails with 69 ("open dimension", names --dim/--shape) where it is not known. */
const Shape *infer_shape(const Node *node, int i);
/* Elements of input i; fails likewise. */
int64_t infer_count(const Node *node, int i);
/* The integer attribute, or the default; below `least` it fails with 65. */
int64_t infer_int(const Node *node, const char *name, int64_t otherwise,
                  int64_t least);
/* Integer values of input i: NULL where it is left out or not constant. */
const int64_t *infer_ints(const Node *node, int i,
                          int64_t *count); /* gets how many */
/* The one number that input i is: NULL where it is left out or known only when the model runs; any
 * other count than 1 fails with 65. */
const int64_t *infer_number(const Node *node, int i);
/* A result of so many dimensions: more than MAX_RANK fail with 69. */
void infer_rank(const Node *node, int64_t rank);
/* The attribute `axis`, made 0 to rank - 1; fails with 65 where it is none of them. */
int infer_axis(const Node *node, int64_t otherwise, /* where it is left out */
               int rank);
/* ONNX broadcasting of two shapes; fails with 65 at the node where they do not fit. */
Shape infer_broadcast(const Node *node, /* that asks */
                      const Shape *a, const Shape *b);
/* Values are inputs at run time: output i takes the shape the file declares; fails with 69, naming
 * --const, where it does not. */
void infer_declared(Node *node, int i, DType type);
/* The same where some dimensions are known: a declared shape that is not so fails with 65. */
void infer_declared_as(Node *node, int i, DType type,
                       Shape form); /* -1: any size */
/* Fails with 65 where the declared shape, which output i has taken, cannot come from input 0. */
void infer_require(Node *node, int i, bool fits); /* as its caller found */

/* The integers of input 0, or of result 0, have the scale that input `scale` is and the zero point
 * that the one after it is, where both are single constants. */
void infer_input_scale(const Node *node, int scale);
void infer_result_scale(const Node *node, int scale);

/* The one element that a ConstantOfShape repeats, of shape [1]. */
Recipe *infer_fill(const Node *node);

/* `to` has the sizes known only at run time that `from` has (ops/dynamic.h). */
void infer_same_sizes(Tensor *to, const Tensor *from);

/* Common whole functions. */
InferFn infer_same;        /* output 0 is like input 0 */
InferFn infer_elementwise; /* broadcast of all inputs, type of input 0 */
InferFn infer_compare;     /* broadcast of all inputs, bool */

_Noreturn void fail_node(const Node *node, Status status, const char *help,
                         const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Fails with 69: only a run says how large that operand is. What does not fit a bound is no fault
 * of the file, as the real size may: fail_node() comes here. `text` says what, or is NULL. */
_Noreturn void fail_bound(const Node *node,
                          const Tensor *tensor, /* the operand */
                          const char *text);

#endif
