/* SPDX-License-Identifier: Apache-2.0
 * Lowering: a node becomes steps. What the lower functions of all families share.
 *
 * When a lower function runs, all shapes are known, images are channels last
 * (nodes with channels_last), and constants are recipes. It may make scratch and
 * intermediate tensors, constants (packed as its kernel reads them), views and
 * steps. A tensor is row-major in the order of its dims unless said otherwise. */
#ifndef INLAY_OPS_LOWER_H
#define INLAY_OPS_LOWER_H

#include "ir/program.h"
#include "ops/ops.h"

struct Lower {
    Program *program;
    Graph *graph;
    Arena *arena;
    Store *store;
    Node *node;           /* whose steps are being made */
    const Family *family; /* how weights are packed */
    int pack_width;       /* channels in a block of packed float weights */
    bool narrow;          /* weights stay in the type of the file */
    bool narrow_bytes;    /* those of products of bytes, too */
    /* scratch buys time: 3x3 convolutions may compute on transformed tiles, those of bytes gather
     * rows */
    bool for_speed;
    bool any_rows; /* one row of a product is taken as many are */
    /* bytes that weights are read through; 0: pointers reach them */
    int64_t window;
    PaletteAsk palette;
};

/* The steps of a node: its row's lower function, but for one whose results all have no elements. */
void lower_node(Lower *lower, Node *node);
/* Nothing is lowered for it: its results have no elements. */
bool lower_is_unwanted(const Node *node);
/* A step of the node, by the kernel inlay_<name>; `params` is the kernel's structure and is copied.
 * Operands follow with the step_... functions, outputs first. units = 1 until step_rows(). */
Step *lower_step(Lower *lower, const char *kernel, const void *params);
/* The same by the kernel of that name for the type of the node's operand 0. */
Step *lower_typed_step(Lower *lower, const char *name, const void *params);
/* Adds an operand; tensor NULL: left out (INLAY_NONE). Returns it for the facts the planner
 * needs. */
Operand *step_out(Step *step, Tensor *tensor);
Operand *step_in(Step *step, Tensor *tensor);
/* Result i and operand i of the step's node. */
Operand *step_result(Step *step, int i);
Operand *step_operand(Step *step, int i);
Operand *step_scratch(Lower *lower, Step *step,
                      int64_t bytes); /* alive during this step */
/* Makes operand a tensor of rows, its bytes split evenly. */
void operand_rows(Operand *operand, int32_t rows,
                  int64_t pixel); /* elements of one */
/* Rows [N*H] of an image [N][H][W][C] (also [N][D][H][W][C]: N*D*H). Where there is one dimension,
 * [N][L][C] or [N][1][L][C], each pixel is a row, so that signals in time stream as images do; so
 * it is with a matrix [L][C]. */
void operand_image(Operand *operand);
/* A product of `lines` rows of k numbers, operand 1: units are the rows of operand 0, as other
 * steps see them, where operand 1 has rows for each of them; else all of it (k 0: it has none).
 * Returns the lines of a unit. */
int32_t step_by_lines(Step *step, int64_t lines, int64_t k);
/* Has a tensor such rows? The first axis within one, and the pixels that it has. */
bool shape_has_rows(const Shape *shape);
int shape_row_axis(const Shape *shape);
int64_t shape_row_pixels(const Shape *shape);
void operand_window(Operand *operand, int32_t stride, int32_t pad,
                    int32_t extent);
/* Any other rule: unit u needs rows[u] (lo >= hi: none). The entries are kept, made monotone; of
 * more than LIMIT_RULES units each needs all. */
void operand_table(Operand *operand, int32_t units, /* of the step */
                   Rows *rows);
/* Such entries for the step's units, all empty; it has not more than LIMIT_ROWS. */
Rows *step_rows(const Step *step);
/* Operand.columns from a table of `taps` columns for each of n. */
const Rows *lower_columns(Lower *lower, int32_t n, int32_t taps,
                          const int32_t *index); /* [n][taps] */

/* A constant of the blob. */
Tensor *lower_constant(Lower *lower, Recipe *value);
Tensor *lower_floats(Lower *lower, const float *values, int64_t n);
Tensor *lower_i64s(Lower *lower, const int64_t *values, int64_t n);
Tensor *lower_i32s(Lower *lower, const int32_t *values, int64_t n);
/* An intermediate tensor of our own. */
Tensor *lower_temp(Lower *lower, DType type, Shape shape);
/* `out` is bytes of `in`: no step. Handles graph inputs and outputs (copies where it must). */
void lower_view(Lower *lower, Tensor *out, Tensor *in,
                int64_t offset); /* of its first byte in `in` */
/* out = in, byte by byte. */
void lower_copy(Lower *lower, Tensor *out, Tensor *in);
/* out = 0, byte by byte. */
void lower_clear(Lower *lower, Tensor *out);
/* Steps whose results have no elements do nothing: kernels may count on one at least. */
void lower_empty(Program *program);
/* A constant operand becomes part of the blob when a step uses it; this makes that explicit and
 * returns tensor. */
Tensor *lower_use(Lower *lower, Tensor *tensor);

/* "f32" and the like, for kernels that exist once per type; NULL: string. bool is "u8". */
const char *dtype_suffix(DType type);
/* Kernel names: lower_kernel(l, "add", DT_F32) is "add_f32". */
const char *lower_kernel(Lower *lower, const char *name, DType type);
/* That of the node's row, for the type of its operand 0. */
const char *lower_kernel_of(Lower *lower);

#endif
