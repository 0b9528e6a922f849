/* SPDX-License-Identifier: Apache-2.0
 * RotaryEmbedding of ai.onnx as a composition. */
#include "ops/attend.h"
#include "ops/expand.h"
#include "ops/families.h"
#include "ops/values.h"

/* Elements from, from + 2, ... of the last axis. */
static Tensor *every_second(const Node *node, Tensor *tensor, int64_t from)
{
    const int64_t last = tensor->shape.rank - 1;
    const int64_t size = tensor->shape.dim[last];
    Tensor *start = expand_i64(node, from);
    Tensor *end = expand_i64(node, size);
    Tensor *axis = expand_i64(node, last);
    Tensor *step = expand_i64(node, 2);
    return expand_op(node, "Slice", tensor, start, end, axis, step);
}

static Tensor *interleaved(const Node *node, Tensor *a, Tensor *b)
{
    const int rank = a->shape.rank;
    Shape joined = a->shape;
    joined.dim[rank - 1] *= 2;
    Tensor *first = expand_unsqueeze(node, a, rank);
    Tensor *second = expand_unsqueeze(node, b, rank);
    Tensor *pairs = expand_concat(node, first, second, rank);
    return expand_reshape(node, pairs, rank, joined.dim);
}

/* cos or sin for each position, as [B or 1][1][S][D / 2]. */
static Tensor *cache_of(Node *node, Tensor *cache, int64_t width)
{
    if (node_in(node, 3))
        cache = expand_gather(node, cache, node->in[3], 0);
    const Shape *shape = &cache->shape;
    if (shape->rank != 3 || shape->dim[2] < width)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "the caches of cosines and sines do not fit the positions");
    Tensor *part = expand_slice(node, cache, 2, 0, width);
    return expand_unsqueeze(node, part, 1);
}

/* How many elements of a head are turned. */
static int64_t turned_width(const Node *node, int64_t width)
{
    const int64_t turned = attend_turned(node, width);
    const bool fits = turned >= 2 && turned <= width;
    if (!fits || turned % 2)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "rotary_embedding_dim %lld does not fit a head of %lld",
                  (long long)turned, (long long)width);
    return turned;
}

/* Number `which` of each pair; the pairs lie side by side, or half a head apart. */
static Tensor *one_of_pairs(const Node *node, Tensor *part, int64_t which,
                            bool side_by_side)
{
    const int64_t half = part->shape.dim[3] / 2;
    const int64_t from = which * half;
    if (side_by_side)
        return every_second(node, part, which);
    return expand_slice(node, part, 3, from, from + half);
}

/* `part` [B][H][S][turned], its pairs turned by their angles. */
static Tensor *rotated(Node *node, Tensor *part)
{
    const int64_t half = part->shape.dim[3] / 2;
    const bool pairs = node_flag(node, "interleaved", false);
    Tensor *cos = cache_of(node, node->in[1], half);
    Tensor *sin = cache_of(node, node->in[2], half);
    Tensor *a = one_of_pairs(node, part, 0, pairs);
    Tensor *b = one_of_pairs(node, part, 1, pairs);
    Tensor *difference[] = {
        cos,
        a,
        sin,
        b,
    };
    Tensor *sum[] = {
        sin,
        a,
        cos,
        b,
    };
    Tensor *real = attend_cross(node, "Sub", difference);
    Tensor *imaginary = attend_cross(node, "Add", sum);
    if (pairs)
        return interleaved(node, real, imaginary);
    return expand_concat(node, real, imaginary, 3);
}

/* x [B][H][S][D] with as many elements of each head turned as there are to be. */
static Tensor *partly_rotated(Node *node, Tensor *x)
{
    const int64_t width = x->shape.dim[3];
    const int64_t turned = turned_width(node, width);
    Tensor *first = expand_slice(node, x, 3, 0, turned);
    Tensor *y = rotated(node, first);
    if (turned == width)
        return y;
    Tensor *rest = expand_slice(node, x, 3, turned, width);
    return expand_concat(node, y, rest, 3);
}

void expand_rotary(Node *node)
{
    const bool flat = infer_shape(node, 0)->rank == 3;
    const int64_t heads = node_int(node, "num_heads", 0);
    Tensor *x = attend_split(node, node->in[0], heads);
    Tensor *y = partly_rotated(node, x);
    if (flat)
        y = attend_join(node, y);
    expand_finish_one(node, y);
}
