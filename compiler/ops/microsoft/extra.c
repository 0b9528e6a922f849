/* SPDX-License-Identifier: Apache-2.0
 * Further operators of com.microsoft as compositions: what its optimizer writes for diffusion
 * models, its quantizer for embeddings, and what converters of classical models write. */
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "ops/dynamic.h"
#include "ops/expand.h"
#include "ops/families.h"
#include "ops/nest.h"

/* Unique in the order of first appearance: values, places of the elements among them, counts. */
void expand_ms_unique(Node *node)
{
    infer_shape(node, 0);
    Node *made = expand_node(node, "Unique", 1, node->in, 4);
    node_set_int(made, "sorted", 0);
    expand_done(made);
    Tensor *result[] = { made->out[0], made->out[2], made->out[3] };
    expand_finish(node, 3, result);
}

/* --- UnfoldTensor: y[.., t, .., i] = x[.., t * step + i, ..], the last axis is new --- */

typedef struct Unfold {
    int axis;
    int64_t size;
    int64_t step;
} Unfold;

static Unfold unfold_of(const Node *node)
{
    const Shape *shape = infer_shape(node, 0);
    const int64_t dim = node_int(node, "dim", -1);
    const Unfold unfold = {
        .axis = node_axis(node, dim, shape->rank),
        .size = node_int(node, "size", 0),
        .step = node_int(node, "step", 1),
    };
    const bool fits = unfold.size <= shape->dim[unfold.axis];
    if (unfold.size < 1 || unfold.step < 1 || !fits)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "slices of %lld, %lld apart, of an axis of %lld",
                  (long long)unfold.size, (long long)unfold.step,
                  (long long)shape->dim[unfold.axis]);
    if (shape->rank == MAX_RANK)
        fail_node(node, STATUS_UNSUPPORTED, NULL, "its result has %d axes",
                  MAX_RANK + 1);
    return unfold;
}

void infer_unfold(Node *node)
{
    const Unfold unfold = unfold_of(node);
    Shape y = *infer_shape(node, 0);
    int64_t *dim = y.dim + unfold.axis;
    *dim = (*dim - unfold.size) / unfold.step + 1;
    y.dim[y.rank++] = unfold.size;
    infer_out(node, 0, node_type(node), y);
}

void lower_unfold(Lower *lower, Node *node)
{
    const Unfold unfold = unfold_of(node);
    const Shape *y = result_shape(node, 0);
    const int last = y->rank - 1;
    Move move = { .rank = y->rank };
    memcpy(move.n, y->dim, sizeof y->dim);
    shape_strides(y, move.y);
    shape_strides(node_shape(node, 0), move.x);
    move.x[last] = move.x[unfold.axis];
    move.x[unfold.axis] *= unfold.step;
    lower_move(lower, node->out[0], node->in[0], &move);
}

/* Distances of the rows of a [M][N] from those of b [K][N]: [M][K]. */
void expand_cdist(Node *node)
{
    const char *metric = node_string(node, "metric", "sqeuclidean");
    const Shape *a = infer_shape(node, 0);
    const Shape *b = infer_shape(node, 1);
    if (a->rank != 2 || b->rank != 2)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its operands must be matrices");
    if (strcmp(metric, "sqeuclidean") && strcmp(metric, "euclidean"))
        fail_node(node, STATUS_UNSUPPORTED, "use euclidean or sqeuclidean",
                  "metric \"%s\"", metric);
    Tensor *rows = expand_unsqueeze(node, node->in[0], 1);
    Tensor *columns = expand_unsqueeze(node, node->in[1], 0);
    Tensor *difference = expand_sub(node, rows, columns);
    Tensor *square = expand_square(node, difference);
    Tensor *last = expand_i64(node, 2);
    Node *sum = expand_of(node, "ReduceSum", square, last);
    node_set_int(sum, "keepdims", 0);
    Tensor *y = expand_done(sum);
    if (*metric == 'e')
        y = expand_unary(node, "Sqrt", y);
    expand_finish_one(node, y);
}

/* --- diffusion models --- */

static Tensor *swish(const Node *node, Tensor *x)
{
    return expand_unary(node, "Swish", x);
}

/* GroupNormalization of an image in either layout, and activation 1: x sigmoid(x). */
/* The image's channels in front of its pixels, or back. */
static Tensor *channels(const Node *node, Tensor *x, bool first)
{
    const int rank = x->shape.rank;
    int64_t perm[MAX_RANK] = { 0 };
    if (!node_int(node, "channels_last", 1))
        return x;
    const int last = rank - 1;
    for (int i = 1; i < rank; i++)
        perm[i] = first ? i - 1 : i + 1;
    if (first)
        perm[1] = last;
    else
        perm[last] = 1;
    return expand_transpose(node, x, perm);
}

static Tensor *group_norm(const Node *node, Tensor *x)
{
    if (x->shape.rank < 3)
        fail_node(node, STATUS_MALFORMED, NULL, "its image has %d dimensions",
                  x->shape.rank);
    Tensor *image = channels(node, x, true);
    const int64_t groups = node_int(node, "groups", 1);
    const float epsilon = node_float(node, "epsilon", 1e-5f);
    Node *made =
        expand_of(node, "GroupNormalization", image, node->in[1], node->in[2]);
    node_set_int(made, "num_groups", groups);
    node_set_float(made, "epsilon", epsilon);
    Tensor *y = expand_done(made);
    if (node_int(node, "activation", 0))
        y = swish(node, y);
    return channels(node, y, false);
}

void expand_ms_group_norm(Node *node)
{
    infer_shape(node, 0);
    expand_finish_one(node, group_norm(node, node->in[0]));
}

/* The same of x + skip + bias; skip may be [N][C]. */
/* Numbers for each channel of x, `first` of them for the entries of the batch, as they are added to
 * it. */
static Tensor *per_channel(const Node *node, Tensor *tensor, int64_t first)
{
    const Shape *x = infer_shape(node, 0);
    const bool last = node_flag(node, "channels_last", true);
    const int channel = last ? x->rank - 1 : 1;
    int64_t dims[MAX_RANK];
    const int rank = x->rank;
    for (int i = 0; i < rank; i++)
        dims[i] = i == channel ? x->dim[i] : 1;
    if (first)
        dims[0] = first;
    return expand_reshape(node, tensor, rank, dims);
}

void expand_skip_group_norm(Node *node)
{
    infer_shape(node, 0);
    const Shape skip = *infer_shape(node, 3);
    Tensor *sum = node->in[3];
    if (skip.rank == 2)
        sum = per_channel(node, sum, skip.dim[0]);
    sum = expand_add(node, node->in[0], sum);
    Tensor *bias = node_in(node, 4);
    if (bias) {
        bias = per_channel(node, bias, 0);
        sum = expand_add(node, sum, bias);
    }
    Tensor *result[2] = { NULL };
    result[0] = group_norm(node, sum);
    if (expand_reads(node, 1))
        result[1] = sum;
    expand_finish(node, 2, result);
}

void expand_bias_add(Node *node)
{
    infer_shape(node, 0);
    Tensor *sum = expand_add(node, node->in[0], node->in[1]);
    expand_finish_one(node, expand_add(node, sum, node->in[2]));
}

/* The left half of x + bias times gelu of the right one. */
void expand_bias_split_gelu(Node *node)
{
    infer_shape(node, 0);
    Tensor *x = expand_add(node, node->in[0], node->in[1]);
    const int axis = x->shape.rank - 1;
    const int64_t all = x->shape.dim[axis];
    const int64_t half = all / 2;
    Tensor *left = expand_slice(node, x, axis, 0, half);
    Tensor *right = expand_slice(node, x, axis, half, all);
    Tensor *gate = expand_unary(node, "Gelu", right);
    expand_finish_one(node, expand_mul(node, left, gate));
}

void expand_gemm_fast_gelu(Node *node)
{
    Tensor *bias = node_in(node, 2);
    Tensor *y = expand_matmul(node, node->in[0], node->in[1]);
    if (bias)
        y = expand_add(node, y, bias);
    Node *made = expand_of(node, "Gelu", y);
    node_set_string(made, "approximate", "tanh");
    expand_finish_one(node, expand_done(made));
}

/* --- quantized --- */

static Tensor *dequantized(const Node *node, Tensor *x, Tensor *scale,
                           Tensor *zero, int64_t axis, int64_t block)
{
    Node *made = expand_of(node, "DequantizeLinear", x, scale, zero);
    if (scale->shape.rank)
        node_set_int(made, "axis", axis);
    if (block)
        node_set_int(made, "block_size", block);
    return expand_done(made);
}

/* The bytes of a constant as numbers of fewer bits, `per` to a byte. */
static Tensor *unpacked(const Node *node, const Tensor *x, DType type,
                        int64_t per)
{
    Graph *graph = node->graph;
    Shape wide = x->shape;
    int64_t *last = wide.dim + wide.rank - 1;
    *last = i64_mul(*last, per);
    Recipe *numbers =
        recipe_bits(graph->store, x->value, type, wide.rank, wide.dim);
    return graph_add_constant(graph, NULL, numbers);
}

/* What GatherBlockQuantized is told. */
typedef struct Blocks {
    int rows;  /* the axis that is gathered */
    int along; /* that of the blocks */
    int64_t bits;
    int64_t size;
    int64_t per; /* numbers in a byte */
    DType type;
} Blocks;

static void check_blocks(const Node *node, const Blocks *blocks)
{
    const int64_t bits = blocks->bits;
    const bool known = bits == 2 || bits == 4 || bits == 8;
    const Tensor *zero = node_in(node, 3);
    if (node_type(node) == DT_U8 && !known)
        fail_node(node, STATUS_MALFORMED, NULL, "has %lld bits",
                  (long long)bits);
    if (!blocks->size)
        fail_node(node, STATUS_UNSUPPORTED, NULL, "has no blocks");
    const bool constant = node->in[0]->value && (!zero || zero->value);
    if (blocks->per > 1 && !constant)
        fail_node(node, STATUS_UNSUPPORTED, "make the table a constant",
                  "its packed table is made at run time");
}

static Blocks blocks_of(const Node *node)
{
    const int rank = infer_shape(node, 0)->rank;
    const DType type = node_type(node);
    const int64_t rows = node_int(node, "gather_axis", 0);
    const int64_t along = node_int(node, "quantize_axis", 1);
    Blocks blocks = {
        .rows = node_axis(node, rows, rank),
        .along = node_axis(node, along, rank),
        .bits = node_int(node, "bits", 4),
        .size = node_int(node, "block_size", 128),
        .per = 1,
        .type = type,
    };
    if (blocks.type == DT_U8 && blocks.bits < 8) {
        blocks.per = 8 / i64_max(blocks.bits, 1);
        blocks.type = blocks.bits == 2 ? DT_U2 : DT_U4;
    }
    check_blocks(node, &blocks);
    return blocks;
}

/* The zero points given, as numbers; NULL: there are none. */
static Tensor *block_zeros(const Node *node, const Blocks *blocks)
{
    const Shape *scales = infer_shape(node, 2);
    const int last = scales->rank - 1;
    Tensor *zero = node_in(node, 3);
    if (!zero || blocks->per == 1)
        return zero;
    const Shape *zeros = infer_shape(node, 3);
    if (zeros->rank != scales->rank)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its zero points and scales differ in rank");
    zero = unpacked(node, zero, blocks->type, blocks->per);
    return expand_slice(node, zero, last, 0, scales->dim[last]);
}

/* Where none are given: the middle of unsigned numbers, of the rows that were gathered, not of all;
 * NULL: 0. */
static Tensor *block_middles(const Node *node, const Blocks *blocks,
                             const Shape *scales)
{
    Graph *graph = node->graph;
    const uint8_t middle = (uint8_t)(1u << (blocks->bits - 1));
    const int rank = scales->rank;
    if (node_type(node) != DT_U8)
        return NULL;
    Recipe *value =
        recipe_fill(graph->store, DT_U8, rank, scales->dim, &middle);
    value = recipe_cast(graph->store, value, blocks->type);
    return graph_add_constant(graph, NULL, value);
}

/* Along the axis of the blocks a row has numbers of many: all are brought to numbers first. */
static Tensor *gathered_numbers(const Node *node, const Blocks *blocks,
                                Tensor *table, Tensor *zero)
{
    Tensor *scale = node->in[2];
    if (!zero)
        zero = block_middles(node, blocks, infer_shape(node, 2));
    Tensor *all =
        dequantized(node, table, scale, zero, blocks->along, blocks->size);
    return expand_gather(node, all, node->in[1], blocks->rows);
}

/* Rows are gathered with their scales and zero points, then brought to numbers. */
static Tensor *gathered_blocks(const Node *node, const Blocks *blocks,
                               Tensor *table, Tensor *zero)
{
    const int gathers = blocks->rows; /* along that axis */
    Tensor *index = node->in[1];
    Tensor *rows = expand_gather(node, table, index, gathers);
    Tensor *scale = expand_gather(node, node->in[2], index, gathers);
    if (zero)
        zero = expand_gather(node, zero, index, gathers);
    else
        zero = block_middles(node, blocks, &scale->shape);
    int along = blocks->along;
    if (along > gathers)
        along += rows->shape.rank - table->shape.rank;
    return dequantized(node, rows, scale, zero, along, blocks->size);
}

/* Bytes may hold 2 or 4 bits each number. */
void expand_gather_block_quantized(Node *node)
{
    const Blocks blocks = blocks_of(node);
    Tensor *table = node->in[0];
    if (blocks.per > 1)
        table = unpacked(node, table, blocks.type, blocks.per);
    Tensor *zero = block_zeros(node, &blocks);
    Tensor *y;
    if (blocks.rows == blocks.along)
        y = gathered_numbers(node, &blocks, table, zero);
    else
        y = gathered_blocks(node, &blocks, table, zero);
    expand_finish_one(node, y);
}

/* EmbedLayerNormalization of quantized tables: operands 2 to 6 have their scales from 8 on, their
 * zero points from 13 on. */
void expand_qembed_layer_norm(Node *node)
{
    Tensor *in[9] = { node->in[0], node_in(node, 1) };
    for (int i = 2; i < 7; i++) {
        if (i == 4 && !node_in(node, i))
            continue;
        infer_shape(node, i);
        infer_shape(node, i + 6);
        Tensor *scale = node->in[i + 6];
        Tensor *zero = node_in(node, i + 11);
        in[i] = dequantized(node, node->in[i], scale, zero, 0, 0);
    }
    in[7] = node_in(node, 7);
    expand_embeddings(node, in);
}
