/* SPDX-License-Identifier: Apache-2.0
 * For each operator that lets sizes known only at run time pass: which axis of the result an axis
 * of an operand becomes. */
#include "ops/dynamic.h"

#include "kernels/resize.h"
#include "ops/families.h"
#include "ops/nest.h"
#include "ops/resize_spec.h"

/* Dimensions of operand k. */
static int rank_of(const Node *node, int k)
{
    return node->in[k]->shape.rank;
}

bool axes_same(const Node *node, int k, int *to)
{
    const int rank = rank_of(node, k);
    for (int a = 0; a < rank; a++)
        to[a] = a;
    return k == 0;
}

static bool is_dynamic(const Tensor *tensor, int axis)
{
    return tensor->dynamic >> axis & 1u;
}

/* Is `other` one long along that axis of the result, or of that size? */
static bool fits(const Node *node, const Tensor *other, int axis, int size_id)
{
    const int b = axis - (node->out[0]->shape.rank - other->shape.rank);
    if (b < 0)
        return true;
    if (is_dynamic(other, b))
        return other->size_id[b] == size_id;
    return other->shape.dim[b] == 1;
}

/* Do all operands fit so, along that axis of the result? */
static bool all_fit(const Node *node, int axis, int size_id)
{
    for (int i = 0; i < node->n_in; i++) {
        const Tensor *other = node->in[i];
        if (other && !fits(node, other, axis, size_id))
            return false;
    }
    return true;
}

/* Broadcasting: the others must not be as long as the bound by chance. */
bool axes_elementwise(const Node *node, int k, int *to)
{
    const Tensor *tensor = node->in[k];
    const int rank = tensor->shape.rank;
    const int more = node->out[0]->shape.rank - rank;
    for (int a = 0; a < rank; a++) {
        to[a] = a + more;
        if (!is_dynamic(tensor, a))
            continue;
        if (!all_fit(node, to[a], tensor->size_id[a]))
            return false;
    }
    return true;
}

bool axes_transpose(const Node *node, int k, int *to)
{
    int64_t count;
    const int64_t *perm = node_ints(node, "perm", &count);
    const int rank = rank_of(node, k);
    for (int i = 0; i < rank; i++)
        to[perm ? perm[i] : rank - 1 - i] = i;
    return true;
}

/* Marks the axes of attribute or operand `axes`, of so many; returns their number, -1: they are
 * not known. */
static int64_t mark_axes(const Node *node, int rank, bool *marked)
{
    int64_t count;
    const int64_t *axes = node_ints(node, "axes", &count);
    if (!axes)
        axes = infer_ints(node, 1, &count);
    if (!axes)
        return -1;
    for (int64_t i = 0; i < count; i++)
        marked[node_axis(node, axes[i], rank)] = true;
    return count;
}

bool axes_squeeze(const Node *node, int k, int *to)
{
    const int rank = rank_of(node, k);
    bool gone[MAX_RANK] = { false };
    int at = 0;
    if (k > 0 || mark_axes(node, rank, gone) < 0)
        return false;
    for (int a = 0; a < rank; a++)
        to[a] = gone[a] ? -1 : at++;
    return true;
}

bool axes_unsqueeze(const Node *node, int k, int *to)
{
    const int rank = node->out[0]->shape.rank;
    bool added[MAX_RANK] = { false };
    int a = 0;
    if (k > 0 || mark_axes(node, rank, added) < 0)
        return false;
    for (int i = 0; i < rank; i++)
        if (!added[i])
            to[a++] = i;
    return true;
}

/* Axes that stay whole. */
bool axes_slice(const Node *node, int k, int *to)
{
    const Shape *in = node_shape(node, k);
    const Shape *out = result_shape(node, 0);
    int64_t count;
    const int64_t *step = infer_ints(node, 4, &count);
    for (int i = 1; i < node->n_in; i++) {
        const Tensor *given = node->in[i];
        if (given && !given->value)
            return false;
    }
    for (int64_t i = 0; i < count; i++)
        if (step[i] < 1)
            return false;
    for (int a = 0; a < in->rank; a++)
        to[a] = in->dim[a] == out->dim[a] ? a : -1;
    return k == 0;
}

bool axes_gather(const Node *node, int k, int *to)
{
    const int axis = infer_axis(node, 0, rank_of(node, 0));
    const int more = rank_of(node, 1) - 1;
    const int rank = rank_of(node, k);
    for (int a = 0; a < rank; a++) {
        to[a] = a;
        if (k == 1)
            to[a] += axis;
        else if (a == axis)
            to[a] = -1;
        else if (a > axis)
            to[a] += more;
    }
    return true;
}

/* GatherND by batches: are data and indices dynamic along the same of them, of one size? */
static bool batches_alike(const Node *node, int64_t batch)
{
    const Tensor *data = node->in[0];
    const Tensor *index = node->in[1];
    if (data->dynamic != index->dynamic || data->dynamic >> batch)
        return false;
    for (int a = 0; a < batch; a++)
        if (is_dynamic(data, a) && data->size_id[a] != index->size_id[a])
            return false;
    return true;
}

bool axes_gather_nd(const Node *node, int k, int *to)
{
    const int64_t batch = node_int(node, "batch_dims", 0);
    const int last = rank_of(node, k) - 1;
    for (int a = 0; a <= last; a++)
        to[a] = a < last && (k == 1 || a < batch) ? a : -1;
    return batch ? batches_alike(node, batch) : k == 1;
}

/* TopK, Hardmax: lines along an axis, each by itself. */
bool axes_lines(const Node *node, int k, int *to)
{
    const int rank = rank_of(node, k);
    const int axis = infer_axis(node, -1, rank);
    for (int a = 0; a < rank; a++)
        to[a] = a == axis ? -1 : a;
    return k == 0 && !node->counts;
}

/* GatherElements: the axes of the indices; of the data those that both have, but for the one that
 * is indexed. */
bool axes_gather_elements(const Node *node, int k, int *to)
{
    const Tensor *data = node->in[0];
    const Tensor *index = node->in[1];
    const int rank = rank_of(node, k);
    const int axis = infer_axis(node, 0, rank);
    for (int a = 0; a < rank; a++) {
        const bool same =
            is_dynamic(index, a) && index->size_id[a] == data->size_id[a];
        to[a] = k == 1 || (a != axis && same) ? a : -1;
    }
    return true;
}

/* Softmax and LogSoftmax; until opset 12 all axes from `axis` on are one. */
bool axes_softmax(const Node *node, int k, int *to)
{
    const bool flattens = node->op->since < 13;
    const int64_t given = node_int(node, "axis", flattens ? 1 : -1);
    const int rank = rank_of(node, k);
    const bool past_last = flattens && given >= 0; /* it may be the rank */
    const int axis = node_axis(node, given, rank + past_last);
    for (int a = 0; a < rank; a++) {
        const bool stays = a < axis || (a > axis && !flattens);
        to[a] = stays ? a : -1;
    }
    return true;
}

/* Has each dynamic axis but one the same size in both? */
static bool same_but_one(const Tensor *tensor, const Tensor *other, int axis)
{
    for (int a = 0; a < tensor->shape.rank; a++) {
        const bool same = other->size_id[a] == tensor->size_id[a];
        if (a != axis && is_dynamic(tensor, a) && !same)
            return false;
    }
    return true;
}

/* Concat and Split: all axes but one. */
bool axes_but_one(const Node *node, int k, int *to)
{
    const bool concat = node_is(node, "Concat");
    const Tensor *tensor = node->in[k];
    const int rank = tensor->shape.rank;
    const int axis = infer_axis(node, concat ? -1 : 0, rank);
    for (int a = 0; a < rank; a++)
        to[a] = a == axis ? -1 : a;
    if (!concat)
        return k == 0;
    for (int i = 0; i < node->n_in; i++)
        if (!same_but_one(tensor, node->in[i], axis))
            return false;
    return true;
}

/* Is a bias the same for all rows? */
static bool has_one_row(const Tensor *bias)
{
    return !bias || bias->shape.rank < 2 || bias->shape.dim[0] == 1;
}

/* Columns of the second factor of a MatMul. */
static bool axes_columns(const Node *node, int *to)
{
    const int last = rank_of(node, 1) - 1;
    for (int a = 0; a < last; a++)
        to[a] = -1;
    to[last] = node->out[0]->shape.rank - 1;
    return node_is(node, "MatMul") && last > 0;
}

/* MatMul and Gemm: rows of the first factor, columns of the second. */
bool axes_product(const Node *node, int k, int *to)
{
    const Tensor *tensor = node->in[k];
    const int last = tensor->shape.rank - 1;
    const int more = node->out[0]->shape.rank - tensor->shape.rank;
    if (k == 1)
        return axes_columns(node, to);
    if (k != 0 || last < 1)
        return false;
    for (int a = 0; a < last; a++)
        to[a] = a + more;
    to[last] = -1;
    if (node_is(node, "Gemm"))
        return has_one_row(node_in(node, 2)) && !node_int(node, "transA", 0);
    /* Matrices beside matrices: the others must be one for all. */
    for (int a = 0; a < last - 1; a++)
        if (is_dynamic(tensor, a) && rank_of(node, 1) > 2)
            return false;
    return true;
}

bool axes_reduce(const Node *node, int k, int *to)
{
    const int rank = rank_of(node, k);
    const bool keep = node_flag(node, "keepdims", true);
    bool gone[MAX_RANK] = { false };
    int at = 0;
    if (k > 0 || mark_axes(node, rank, gone) < 1)
        return false;
    for (int a = 0; a < rank; a++) {
        to[a] = gone[a] ? -1 : at;
        at += keep || !gone[a];
    }
    return true;
}

/* The one dynamic axis becomes the one that the shape leaves open, as much lying before and behind
 * it as did. */
bool axes_reshape(const Node *node, int k, int *to)
{
    const Tensor *tensor = node->in[0];
    const Shape *in = &tensor->shape;
    const Shape *out = result_shape(node, 0);
    int64_t count;
    const int64_t *dims = infer_ints(node, 1, &count);
    int open = -1;
    int axis = -1;
    if (k != 0 || !dims)
        return false;
    for (int i = 0; i < out->rank; i++)
        if (dims[i] == -1)
            open = i;
    for (int a = 0; a < in->rank; a++) {
        to[a] = -1;
        if (is_dynamic(tensor, a))
            axis = axis < 0 ? a : in->rank;
    }
    if (open < 0 || axis == in->rank)
        return false;
    to[axis] = open;
    const int64_t behind = shape_product(in, axis + 1, in->rank);
    return shape_product(in, 0, axis) == shape_product(out, 0, open) &&
           behind == shape_product(out, open + 1, out->rank);
}

/* An axis that is the only one of its side longer than 1. */
bool axes_flatten(const Node *node, int k, int *to)
{
    const Tensor *tensor = node->in[k];
    const Shape *out = result_shape(node, 0);
    const int rank = tensor->shape.rank;
    int64_t axis = node_int(node, "axis", 1);
    if (axis < 0)
        axis += rank;
    for (int a = 0; a < rank; a++) {
        const int side = a >= axis;
        const bool alone = out->dim[side] == tensor->shape.dim[a];
        to[a] = alone ? side : -1;
    }
    return true;
}

/* LayerNormalization: the axes before those that are normalized. */
bool axes_norm(const Node *node, int k, int *to)
{
    const int rank = rank_of(node, k);
    const int first = infer_axis(node, -1, rank);
    for (int a = 0; a < rank; a++)
        to[a] = a < first ? a : -1;
    return k == 0;
}

/* OneHot: all axes of the indices, beside the new one. */
bool axes_one_hot(const Node *node, int k, int *to)
{
    const int rank = rank_of(node, k);
    const int added = infer_axis(node, -1, node->out[0]->shape.rank);
    for (int a = 0; a < rank; a++)
        to[a] = a + (a >= added);
    return k == 0;
}

/* Conv, pools: images, each by itself. */
bool axes_images(const Node *node, int k, int *to)
{
    const int rank = rank_of(node, k);
    for (int a = 0; a < rank; a++)
        to[a] = a ? -1 : 0;
    return k == 0;
}

/* By its constants, not by the images of the batch. */
bool axes_batchnorm(const Node *node, int k, int *to)
{
    return !batchnorm_trains(node) && axes_images(node, k, to);
}

/* Axes that are no longer or shorter: those that sizes do not name, or scales leave as they are. A
 * size says nothing: the bound is as long perhaps, the real one is not. */
bool axes_resize(const Node *node, int k, int *to)
{
    const ResizeSpec spec = resize_spec(node);
    for (int a = 0; a < rank_of(node, k); a++)
        to[a] = a;
    for (int i = 0; i < spec.axes; i++) {
        const bool stays = spec.scale && spec.scale[i] == 1.0;
        if (!stays)
            to[spec.axis[i]] = -1;
    }
    if (spec.coordinate == INLAY_TF_CROP)
        return false;
    return k == 0;
}

/* Expand: axes that the shape leaves as they are. */
bool axes_expand(const Node *node, int k, int *to)
{
    const Tensor *tensor = node->in[0];
    const int rank = tensor->shape.rank;
    const int more = node->out[0]->shape.rank - rank;
    int64_t count;
    const int64_t *dims = infer_ints(node, 1, &count);
    if (k > 0 || !dims)
        return false;
    for (int a = 0; a < rank; a++) {
        const int64_t entry = a + count - rank;
        const bool kept = entry < 0 || dims[entry] == 1;
        to[a] = kept || !is_dynamic(tensor, a) ? a + more : -1;
    }
    return true;
}

/* Tile: axes that are not repeated. */
bool axes_tile(const Node *node, int k, int *to)
{
    int64_t count;
    const int64_t *repeats = infer_ints(node, 1, &count);
    const int rank = rank_of(node, k);
    if (k > 0 || !repeats)
        return false;
    for (int a = 0; a < rank; a++)
        to[a] = repeats[a] == 1 ? a : -1;
    return true;
}

/* RoiAlign: the regions and, of as many, the image of each. Once the regions have passed, the
 * result has their size. */
bool axes_regions(const Node *node, int k, int *to)
{
    const Tensor *image = node->in[2];
    const Tensor *other = k == 1 ? node->in[1] : node->out[0];
    to[0] = 0;
    to[1] = -1;
    if (k < 1 || image->dynamic != 1u)
        return false;
    if (other->dynamic != 1u)
        return false;
    return other->size_id[0] == image->size_id[0];
}

/* Sums that begin at the first element know nothing of the rest. */
bool axes_cumsum(const Node *node, int k, int *to)
{
    int64_t count;
    const int64_t *axis = infer_ints(node, 1, &count);
    const int rank = rank_of(node, k);
    if (k > 0 || !axis || count != 1)
        return false;
    const int along = node_axis(node, *axis, rank);
    for (int a = 0; a < rank; a++)
        to[a] = a;
    if (node_int(node, "reverse", 0))
        to[along] = -1;
    return true;
}

bool axes_arg(const Node *node, int k, int *to)
{
    const int rank = rank_of(node, k);
    const int axis = infer_axis(node, 0, rank);
    const bool keep = node_flag(node, "keepdims", true);
    for (int a = 0; a < rank; a++)
        to[a] = a - (a > axis && !keep);
    to[axis] = -1;
    return true;
}

static AxesFn *axes_of(const Node *node)
{
    return node->op->flags & OP_ELEMENTWISE ? axes_elementwise : node->op->axes;
}

bool dynamic_passes(const Node *node, int k, int *to)
{
    const Tensor *tensor = node->in[k];
    AxesFn *axes = axes_of(node);
    if (!axes || !axes(node, k, to))
        return false;
    for (int a = 0; a < tensor->shape.rank; a++)
        if (is_dynamic(tensor, a) && to[a] < 0)
            return false;
    return true;
}
