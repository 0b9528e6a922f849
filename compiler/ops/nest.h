/* SPDX-License-Identifier: Apache-2.0
 * Loops over elements, as the lower functions of the generic families build them.
 * Dimensions are joined where all operands allow it; tensors of rank 3 and more are presented
 * to the planner as rows wherever each row depends on its own row only. */
#ifndef INLAY_OPS_NEST_H
#define INLAY_OPS_NEST_H

#include "ops/lower.h"

typedef struct inlay_move_params inlay_move_params;

enum { NEST_LOOPS = 2 * MAX_RANK };

/* y[y0 + sum at[d] y[d]] = x[x0 + sum at[d] x[d]] for all at[d] < n[d]; elements. */
typedef struct Move {
    int rank;
    int64_t n[NEST_LOOPS];
    int64_t y[NEST_LOOPS]; /* strides of the result */
    int64_t x[NEST_LOOPS]; /* strides of the source */
    int64_t y0;
    int64_t x0;
} Move;

/* Row-major strides of a shape. */
void shape_strides(const Shape *shape, int64_t *stride);
/* The next index of an array of that shape, the last dimension fastest. */
void shape_next(const Shape *shape, int64_t *index);
/* Strides of `shape` broadcast to `to`: 0 where it repeats. */
void shape_broadcast_strides(const Shape *shape, const Shape *to,
                             int64_t *stride);
/* Product of dims [from, to). */
int64_t shape_product(const Shape *shape, int from, int to);
/* A tensor as lines of n elements along an axis, `inner` elements from one to the next. */
typedef struct Lines {
    int32_t outer;
    int32_t n;
    int32_t inner;
} Lines;
Lines lines_along(const Shape *shape, int axis);
/* The dims as kernels have them. */
void shape_to_i32(const Shape *shape, int32_t *to);

/* A unary kernel of struct `flat` (its whole name) with parameters a, b; NULL, and no step,
 * where the result is empty. */
Step *lower_flat(Lower *lower, const char *kernel, Tensor *out, Tensor *in,
                 double a, double b);
/* A binary kernel of struct `nd2` over broadcast operands; NULL as there. */
Step *lower_nd2(Lower *lower, const char *kernel, Tensor *out, Tensor *a,
                Tensor *b);
/* The same by the kernel of that name for the type of `a`. */
Step *lower_binary_to(Lower *lower, const char *op, Tensor *out, Tensor *a,
                      Tensor *b);
/* The same with a new tensor as result, by the kernel of that name for the type of `a`. */
Tensor *lower_temp_unary(Lower *lower, const char *op, Tensor *a);
Tensor *lower_temp_binary(Lower *lower, const char *op, Tensor *a, Tensor *b,
                          Shape shape); /* of the result */
/* A constant of one element. */
Tensor *lower_number(Lower *lower, DType type, double value);
/* out = mask ? a : b, broadcast. */
void lower_select(Lower *lower, Tensor *out, Tensor *mask, Tensor *a,
                  Tensor *b);
/* How a number becomes one of a narrower type. */
typedef struct Rounding {
    bool saturate;
    int mode; /* of float8e8m0: 0 up, 1 down, 2 to nearest */
} Rounding;
/* Conversion of all elements, saturating; the types may be any two but strings and complex. */
void lower_cast(Lower *lower, Tensor *out, Tensor *in);
void lower_cast_as(Lower *lower, Tensor *out, Tensor *in, Rounding rounding);

/* Moves of elements between tensors of whole bytes. More than 8 loops after joining is refused by
 * `lower_move_fits`. */
bool lower_move_fits(const Move *move);
typedef Step *LowerMove(Lower *lower, Tensor *out, Tensor *in,
                        const Move *move);
LowerMove lower_move;
/* The same row by row; NULL, and no step, where rows of the result do not need few rows of the
 * source each; of those that need most of them each. */
LowerMove lower_move_rows;
LowerMove lower_move_most;
/* Rows in which the step before made the tensor; 0: it is not known. */
int32_t lower_rows_made(const Lower *lower, Tensor *in);
/* Rows in which who reads the result sees it. */
int32_t lower_rows_read(const Tensor *out);
/* The same row by row of the source; NULL where it does not take each of these once, in order, or
 * the source is an input that is there as a whole. */
LowerMove lower_move_source;
/* The same row by row of the result, each from all of the source; NULL where these do not number
 * loops of the move, or would be read far apart. */
LowerMove lower_move_result;
/* The same where the source is an input that is there as a whole in any case. */
LowerMove lower_move_beside;
/* What a unit moves; `params` say where units begin. */
Step *lower_move_unit(Lower *lower, Tensor *out, Tensor *in, const Move *unit,
                      inlay_move_params params);
/* All of `out` becomes element 0 of `value`. */
void lower_fill(Lower *lower, Tensor *out, Tensor *value);
/* Packed types move as bytes: the tensor itself, or a copy with a byte for each element; and for a
 * result, the tensor to write, which move_finish() packs. */
typedef Tensor *MoveOperand(Lower *lower, Tensor *tensor);
MoveOperand move_source;
MoveOperand move_target;
void move_finish(Lower *lower, Tensor *out, Tensor *target);

/* Elements [start, start + count) along one axis. */
typedef struct AxisPart {
    int axis;
    int64_t start;
    int64_t count;
} AxisPart;
/* out = that part of `in`: a view where it lies together. The dims of `out` may be others. */
void lower_part(Lower *lower, Tensor *out, Tensor *in, AxisPart part);

#endif
