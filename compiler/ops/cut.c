/* SPDX-License-Identifier: Apache-2.0
 * For each operator that may be computed in pieces: which axis of an operand goes with which of the
 * results. */
#include "ops/cut.h"

#include "ops/families.h"
#include "ops/infer.h"
#include "ops/reduce.h"

static int cut_each(const Node *node, int axis, int k)
{
    const Shape *in = node_shape(node, k);
    const int own = axis - (node->out[0]->shape.rank - in->rank);
    if (axis >= node->out[0]->shape.rank)
        return CUT_NEVER;
    return own < 0 || in->dim[own] == 1 ? CUT_WHOLE : own;
}

int cut_product(const Node *node, int axis, int k)
{
    const int rank = node->out[0]->shape.rank;
    const int own_rank = node->in[k]->shape.rank;
    if (k > 1 || node->in[0]->shape.rank < 2 || node->in[1]->shape.rank < 2)
        return CUT_NEVER;
    if (axis < rank - 2)
        return cut_each(node, axis, k);
    if (axis == rank - 2)
        return k ? CUT_WHOLE : own_rank - 2;
    if (axis == rank - 1)
        return k ? own_rank - 1 : CUT_WHOLE;
    return axis > rank ? CUT_NEVER : own_rank - 1 - k;
}

int cut_gemm(const Node *node, int axis, int k)
{
    const bool crossed = node_int(node, k ? "transB" : "transA", 0) != 0;
    if (k > 2 || axis > 2)
        return CUT_NEVER;
    if (axis == 2)
        return node_in(node, 2) ? CUT_NEVER : crossed == (k == 1);
    if (k == 2)
        return cut_each(node, axis, k);
    return axis == k ? axis ^ crossed : CUT_WHOLE;
}

static int reduced_at(const Node *node, const bool *gone, int axis)
{
    const int rank = node->in[0]->shape.rank;
    const int left = node->out[0]->shape.rank;
    const bool keep = node_flag(node, "keepdims", true);
    int at = 0;
    if (axis >= left)
        return axis - left < rank && gone[axis - left] ? axis - left
                                                       : CUT_NEVER;
    for (int a = 0; a < rank; a++) {
        if (gone[a] && !keep)
            continue;
        if (at++ == axis)
            return gone[a] ? CUT_WHOLE : a;
    }
    return CUT_NEVER;
}

int cut_reduce(const Node *node, int axis, int k)
{
    bool gone[MAX_RANK];
    if (k > 0)
        return CUT_WHOLE;
    return reduced_axes(node, gone) ? reduced_at(node, gone, axis) : CUT_NEVER;
}

int cut_softmax(const Node *node, int axis, int k)
{
    int to[MAX_RANK];
    if (axis >= node->out[0]->shape.rank || !axes_softmax(node, k, to))
        return CUT_NEVER;
    return to[axis] == axis ? axis : CUT_NEVER;
}

int cut_lpnorm(const Node *node, int axis, int k)
{
    const int rank = node->in[k]->shape.rank;
    const int own = infer_axis(node, -1, rank);
    return axis >= rank || axis == own ? CUT_NEVER : axis;
}

int cut_cumulate(const Node *node, int axis, int k)
{
    int64_t count;
    const int rank = node->in[0]->shape.rank;
    const int64_t *own = infer_ints(node, 1, &count);
    if (axis >= rank || !own || count != 1)
        return CUT_NEVER;
    if (axis == node_axis(node, *own, rank))
        return CUT_NEVER;
    return k ? CUT_WHOLE : axis;
}

int cut_norm(const Node *node, int axis, int k)
{
    const int rank = node->in[0]->shape.rank;
    const int first = infer_axis(node, -1, rank);
    if (axis >= first)
        return CUT_NEVER;
    if (k == 0)
        return axis;
    return node->in[k]->shape.rank > rank - first ? CUT_NEVER : CUT_WHOLE;
}

/* Each channel by itself; by its constants each image and pixel. */
int cut_batchnorm(const Node *node, int axis, int k)
{
    const int rank = node->in[0]->shape.rank;
    const bool is_channel = axis == 1;
    if (axis >= rank || rank < 2 || node->channels_last)
        return CUT_NEVER;
    if (!is_channel && batchnorm_trains(node))
        return CUT_NEVER;
    if (k == 0)
        return axis;
    return is_channel ? 0 : CUT_WHOLE;
}

int cut_gather(const Node *node, int axis, int k)
{
    const int rank = node->in[0]->shape.rank;
    const int indices = node->in[1]->shape.rank;
    const int own = infer_axis(node, 0, rank);
    if (axis >= node->out[0]->shape.rank)
        return CUT_NEVER;
    if (axis >= own && axis < own + indices)
        return k ? axis - own : CUT_WHOLE;
    if (k)
        return CUT_WHOLE;
    return axis < own ? axis : axis - indices + 1;
}

int cut_axis(const Node *node, int axis, int k)
{
    const OpRow *row = node->op;
    if (!node->in[k])
        return CUT_WHOLE;
    if (row->cut)
        return row->cut(node, axis, k);
    return row->flags & OP_ELEMENTWISE ? cut_each(node, axis, k) : CUT_NEVER;
}
