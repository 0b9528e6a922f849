/* SPDX-License-Identifier: Apache-2.0
 * For each operator that lets sizes known only at run time pass: which axis of the result an axis
 * of an operand becomes. */
#include "ops/dynamic.h"
#include "ops/families.h"
#include "ops/nest.h"

bool axes_same(const Node *node, int k, int *to)
{
    for (int a = 0; a < node->in[k]->shape.rank; a++)
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

/* Broadcasting: the others must not be as long as the bound by chance. */
bool axes_elementwise(const Node *node, int k, int *to)
{
    const Tensor *tensor = node->in[k];
    const int more = node->out[0]->shape.rank - tensor->shape.rank;
    for (int a = 0; a < tensor->shape.rank; a++) {
        to[a] = a + more;
        for (int i = 0; i < node->n_in && is_dynamic(tensor, a); i++)
            if (node->in[i] &&
                !fits(node, node->in[i], to[a], tensor->size_id[a]))
                return false;
    }
    return true;
}

bool axes_transpose(const Node *node, int k, int *to)
{
    int64_t count;
    const int64_t *perm = node_ints(node, "perm", &count);
    const int rank = node->in[k]->shape.rank;
    for (int i = 0; i < rank; i++)
        to[perm ? perm[i] : rank - 1 - i] = i;
    return true;
}

static const int64_t *axes_list(const Node *node, int64_t *count)
{
    const int64_t *axes = node_ints(node, "axes", count);
    return axes ? axes : infer_ints(node, 1, count);
}

bool axes_squeeze(const Node *node, int k, int *to)
{
    const Shape *s = &node->in[k]->shape;
    int64_t count;
    const int64_t *axes = axes_list(node, &count);
    bool gone[MAX_RANK] = { false };
    if (k > 0 || !axes)
        return false;
    for (int64_t i = 0; i < count; i++)
        gone[node_axis(node, axes[i], s->rank)] = true;
    for (int a = 0, at = 0; a < s->rank; a++)
        to[a] = gone[a] ? -1 : at++;
    return true;
}

bool axes_unsqueeze(const Node *node, int k, int *to)
{
    const int rank = node->out[0]->shape.rank;
    int64_t count;
    const int64_t *axes = axes_list(node, &count);
    bool added[MAX_RANK] = { false };
    if (k > 0 || !axes)
        return false;
    for (int64_t i = 0; i < count; i++)
        added[node_axis(node, axes[i], rank)] = true;
    for (int i = 0, a = 0; i < rank; i++)
        if (!added[i])
            to[a++] = i;
    return true;
}

/* Axes that stay whole. */
bool axes_slice(const Node *node, int k, int *to)
{
    const Shape *in = &node->in[k]->shape;
    const Shape *out = &node->out[0]->shape;
    int64_t count;
    const int64_t *step = infer_ints(node, 4, &count);
    for (int i = 1; i < node->n_in; i++)
        if (node->in[i] && !node->in[i]->value)
            return false;
    for (int64_t i = 0; i < count; i++)
        if (step[i] < 1)
            return false;
    for (int a = 0; a < in->rank; a++)
        to[a] = in->dim[a] == out->dim[a] ? a : -1;
    return k == 0;
}

bool axes_gather(const Node *node, int k, int *to)
{
    const int rank = node->in[0]->shape.rank;
    const int axis = node_axis(node, node_int(node, "axis", 0), rank);
    const int more = node->in[1]->shape.rank - 1;
    for (int a = 0; a < node->in[k]->shape.rank; a++) {
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

bool axes_gather_nd(const Node *node, int k, int *to)
{
    const int rank = node->in[k]->shape.rank;
    for (int a = 0; a < rank; a++)
        to[a] = a < rank - 1 ? a : -1;
    return k == 1 && !node_int(node, "batch_dims", 0);
}

/* Softmax and LogSoftmax; until opset 12 all axes from `axis` on are one. */
bool axes_softmax(const Node *node, int k, int *to)
{
    const bool flattens = node->op->since < 13;
    const int64_t given = node_int(node, "axis", flattens ? 1 : -1);
    const int rank = node->in[k]->shape.rank;
    const int axis = node_axis(node, given, rank + (flattens && given >= 0));
    for (int a = 0; a < rank; a++)
        to[a] = a < axis || (a > axis && !flattens) ? a : -1;
    return true;
}

/* Concat and Split: all axes but one. */
bool axes_but_one(const Node *node, int k, int *to)
{
    const bool concat = node_is(node, "Concat");
    const Tensor *tensor = node->in[k];
    const int rank = tensor->shape.rank;
    const int64_t given = node_int(node, "axis", concat ? -1 : 0);
    const int axis = node_axis(node, given, rank);
    for (int a = 0; a < rank; a++)
        to[a] = a == axis ? -1 : a;
    for (int i = 0; i < node->n_in && concat; i++)
        for (int a = 0; a < rank; a++) {
            const bool same = node->in[i]->size_id[a] == tensor->size_id[a];
            if (a != axis && is_dynamic(tensor, a) && !same)
                return false;
        }
    return k == 0 || concat;
}

/* MatMul and Gemm: rows of the first factor. */
bool axes_product(const Node *node, int k, int *to)
{
    const Tensor *tensor = node->in[k];
    const int rank = tensor->shape.rank;
    const int wide = node->out[0]->shape.rank;
    for (int a = 0; a < rank; a++)
        to[a] = a < rank - 1 ? a + wide - rank : -1;
    if (k != 0 || rank < 2)
        return false;
    if (node_is(node, "Gemm")) {
        const Tensor *bias = node_in(node, 2);
        const bool one_row =
            !bias || bias->shape.rank < 2 || bias->shape.dim[0] == 1;
        return one_row && !node_int(node, "transA", 0);
    }
    /* Matrices beside matrices: the others must be one for all. */
    for (int a = 0; a < rank - 2; a++)
        if (is_dynamic(tensor, a) && node->in[1]->shape.rank > 2)
            return false;
    return true;
}

bool axes_reduce(const Node *node, int k, int *to)
{
    const int rank = node->in[k]->shape.rank;
    int64_t count;
    const int64_t *axes = axes_list(node, &count);
    const bool keep = node_int(node, "keepdims", 1) != 0;
    bool gone[MAX_RANK] = { false };
    if (k > 0 || !axes || !count)
        return false;
    for (int64_t i = 0; i < count; i++)
        gone[node_axis(node, axes[i], rank)] = true;
    for (int a = 0, at = 0; a < rank; a++) {
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
    const Shape *out = &node->out[0]->shape;
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

bool axes_cumsum(const Node *node, int k, int *to)
{
    int64_t count;
    const int64_t *axis = infer_ints(node, 1, &count);
    const int rank = node->in[k]->shape.rank;
    if (k > 0 || !axis || count != 1)
        return false;
    for (int a = 0; a < rank; a++)
        to[a] = a == node_axis(node, *axis, rank) ? -1 : a;
    return true;
}

bool axes_arg(const Node *node, int k, int *to)
{
    const int rank = node->in[k]->shape.rank;
    const int axis = node_axis(node, node_int(node, "axis", 0), rank);
    const bool keep = node_int(node, "keepdims", 1) != 0;
    for (int a = 0; a < rank; a++)
        to[a] = a == axis ? -1 : a - (a > axis && !keep);
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
