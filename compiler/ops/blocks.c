/* SPDX-License-Identifier: Apache-2.0
 * DepthToSpace, SpaceToDepth: transpositions of [n][h][i][w][j][c], i and j within a block. */
#include <string.h>

#include "base/size.h"
#include "ops/families.h"
#include "ops/nest.h"

static int64_t block_size(const Node *node)
{
    const int64_t b = infer_int(node, "blocksize", 0, 1);
    if (infer_shape(node, 0)->rank != 4)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its input is of rank %d, not 4", node->in[0]->shape.rank);
    if (dtype_bits(node_type(node)) < 8)
        fail_node(node, STATUS_UNSUPPORTED, NULL,
                  "its input is of %s, not of whole bytes",
                  dtype_name(node_type(node)));
    return b;
}

/* Index of the dimension n, c, h, w of an image in either layout. */
typedef struct ImageDims {
    int n, c, h, w;
} ImageDims;

static ImageDims image_dims(const Node *node)
{
    return node->channels_last ? (ImageDims){ 0, 3, 1, 2 }
                               : (ImageDims){ 0, 1, 2, 3 };
}

void infer_depth_to_space(Node *node)
{
    Shape shape = *infer_shape(node, 0);
    const int64_t b = block_size(node);
    const ImageDims dims = image_dims(node);
    const int64_t area = i64_mul(b, b);
    if (shape.dim[dims.c] % area)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "%lld channels are no multiple of blocksize squared",
                  (long long)shape.dim[dims.c]);
    shape.dim[dims.c] /= area;
    shape.dim[dims.h] = i64_mul(shape.dim[dims.h], b);
    shape.dim[dims.w] = i64_mul(shape.dim[dims.w], b);
    infer_out(node, 0, node_type(node), shape);
}

void infer_space_to_depth(Node *node)
{
    Shape shape = *infer_shape(node, 0);
    const int64_t b = block_size(node);
    const ImageDims dims = image_dims(node);
    if (shape.dim[dims.h] % b || shape.dim[dims.w] % b)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its image is no multiple of the block");
    const int64_t area = i64_mul(b, b);
    shape.dim[dims.c] = i64_mul(shape.dim[dims.c], area);
    shape.dim[dims.h] /= b;
    shape.dim[dims.w] /= b;
    infer_out(node, 0, node_type(node), shape);
}

typedef struct BlockLoop {
    int64_t n;
    int64_t deep, flat; /* strides in both images */
} BlockLoop;

/* Loops over batch, rows, rows of a block, columns, columns of a block, channels. */
enum { BLOCK_LOOPS = 6 };

/* Sizes or strides of the dimensions n, c, h, w. */
typedef struct ImageNumbers {
    int64_t n, c, h, w;
} ImageNumbers;

static ImageNumbers image_numbers(const int64_t *number, ImageDims at)
{
    return (ImageNumbers){
        .n = number[at.n],
        .c = number[at.c],
        .h = number[at.h],
        .w = number[at.w],
    };
}

static ImageNumbers image_strides(const Shape *shape, ImageDims at)
{
    int64_t stride[MAX_RANK];
    shape_strides(shape, stride);
    return image_numbers(stride, at);
}

/* How the elements of a block lie among the channels. */
typedef struct BlockOrder {
    int64_t column, channel; /* strides */
} BlockOrder;

/* CRD: the block is the inner part of a channel. `one`: stride of the channels. */
static BlockOrder block_order(const Node *node, int64_t channels, int64_t block,
                              int64_t one)
{
    if (!strcmp(node_string(node, "mode", "DCR"), "CRD"))
        return (BlockOrder){ one, one * block * block };
    return (BlockOrder){ one * channels, one };
}

/* `deep` has the blocks in its channels. */
static void block_loops(const Node *node, const Shape *deep, const Shape *flat,
                        int64_t block, BlockLoop *loop)
{
    const ImageDims at = image_dims(node);
    const ImageNumbers size = image_numbers(deep->dim, at);
    const ImageNumbers from = image_strides(deep, at);
    const ImageNumbers to = image_strides(flat, at);
    const int64_t channels = flat->dim[at.c];
    const BlockOrder order = block_order(node, channels, block, from.c);
    const BlockLoop all[BLOCK_LOOPS] = {
        { size.n, from.n, to.n },
        { size.h, from.h, to.h * block },
        { block, order.column * block, to.h },
        { size.w, from.w, to.w * block },
        { block, order.column, to.w },
        { channels, order.channel, to.c },
    };
    memcpy(loop, all, sizeof all);
}

static void lower_blocks(Lower *lower, Node *node, const Tensor *deep,
                         const Tensor *flat)
{
    static const int planes[] = { 0, 5, 1, 2, 3, 4 };
    const bool to_flat = flat == node->out[0];
    const int64_t block = block_size(node);
    BlockLoop loops[BLOCK_LOOPS];
    Move move = { .rank = BLOCK_LOOPS };
    block_loops(node, &deep->shape, &flat->shape, block, loops);
    for (int i = 0; i < BLOCK_LOOPS; i++) {
        const BlockLoop *loop = loops + (node->channels_last ? i : planes[i]);
        move.n[i] = loop->n;
        move.x[i] = to_flat ? loop->deep : loop->flat;
        move.y[i] = to_flat ? loop->flat : loop->deep;
    }
    lower_move(lower, node->out[0], node->in[0], &move);
}

void lower_depth_to_space(Lower *lower, Node *node)
{
    lower_blocks(lower, node, node->in[0], node->out[0]);
}

void lower_space_to_depth(Lower *lower, Node *node)
{
    lower_blocks(lower, node, node->out[0], node->in[0]);
}
