/* SPDX-License-Identifier: Apache-2.0
 * For each operator that lets sizes known only at run time pass: which axis of the result an axis
 * of an operand becomes. */
#include "ops/dynamic.h"
#include "ops/infer.h"
#include "ops/nest.h"

/* to[a]: the axis of the results that axis a of operand k becomes, -1: none. False: the operator
 * does not let it pass. */
typedef bool AxesFn(const Node *n, int k, int *to);

static bool axes_same(const Node *node, int k, int *to)
{
    for (int a = 0; a < node->in[k]->shape.rank; a++)
        to[a] = a;
    return k == 0;
}

/* Broadcasting: the others must not be as long as the bound by chance. */
static bool axes_elementwise(const Node *node, int k, int *to)
{
    const Tensor *tensor = node->in[k];
    const int rank = node->out[0]->shape.rank;
    for (int a = 0; a < tensor->shape.rank; a++) {
        to[a] = a + rank - tensor->shape.rank;
        for (int i = 0; i < node->n_in && tensor->dynamic >> a & 1u; i++) {
            const Tensor *o = node->in[i];
            const int b = o ? to[a] - (rank - o->shape.rank) : -1;
            if (b < 0 || (o->shape.dim[b] == 1 && !(o->dynamic >> b & 1u)))
                continue;
            if (!(o->dynamic >> b & 1u) || o->size_id[b] != tensor->size_id[a])
                return false;
        }
    }
    return true;
}

static bool axes_transpose(const Node *node, int k, int *to)
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

static bool axes_squeeze(const Node *node, int k, int *to)
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

static bool axes_unsqueeze(const Node *node, int k, int *to)
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
static bool axes_slice(const Node *node, int k, int *to)
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

static bool axes_gather(const Node *node, int k, int *to)
{
    const int axis = node_axis(node, node_int(node, "axis", 0), node->in[0]->shape.rank);
    const int more = node->in[1]->shape.rank - 1;
    for (int a = 0; a < node->in[k]->shape.rank; a++)
        to[a] = k == 1 ? axis + a : a < axis ? a : a == axis ? -1 : a + more;
    return true;
}

static bool axes_gather_nd(const Node *node, int k, int *to)
{
    const int rank = node->in[k]->shape.rank;
    for (int a = 0; a < rank; a++)
        to[a] = a < rank - 1 ? a : -1;
    return k == 1 && !node_int(node, "batch_dims", 0);
}

/* Softmax and LogSoftmax; until opset 12 all axes from `axis` on are one. */
static bool axes_softmax(const Node *node, int k, int *to)
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
static bool axes_but_one(const Node *node, int k, int *to)
{
    const int axis = node_axis(node, node_int(node, "axis", node_is(node, "Split") ? 0 : -1),
                               node->in[k]->shape.rank);
    for (int a = 0; a < node->in[k]->shape.rank; a++)
        to[a] = a == axis ? -1 : a;
    for (int i = 0; i < node->n_in && node_is(node, "Concat"); i++)
        for (int a = 0; a < node->in[k]->shape.rank; a++)
            if (a != axis && node->in[k]->dynamic >> a & 1u &&
                node->in[i]->size_id[a] != node->in[k]->size_id[a])
                return false;
    return k == 0 || node_is(node, "Concat");
}

/* MatMul and Gemm: rows of the first factor. */
static bool axes_product(const Node *node, int k, int *to)
{
    const int rank = node->in[k]->shape.rank;
    const int wide = node->out[0]->shape.rank;
    for (int a = 0; a < rank; a++)
        to[a] = a < rank - 1 ? a + wide - rank : -1;
    if (k != 0 || rank < 2)
        return false;
    if (node_is(node, "Gemm"))
        return !node_int(node, "transA", 0) &&
               (!node_in(node, 2) || node->in[2]->shape.rank < 2 || node->in[2]->shape.dim[0] == 1);
    for (int a = 0; a < rank - 2;
         a++) /* matrices beside matrices: the others must be one for all */
        if (node->in[0]->dynamic >> a & 1u && node->in[1]->shape.rank > 2)
            return false;
    return true;
}

static bool axes_reduce(const Node *node, int k, int *to)
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
static bool axes_reshape(const Node *node, int k, int *to)
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
        if (tensor->dynamic >> a & 1u)
            axis = axis < 0 ? a : in->rank;
    }
    if (open < 0 || axis == in->rank || shape_product(in, 0, axis) != shape_product(out, 0, open))
        return false;
    to[axis] = open;
    return shape_product(in, axis + 1, in->rank) == shape_product(out, open + 1, out->rank);
}

static bool axes_cumsum(const Node *node, int k, int *to)
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

static bool axes_arg(const Node *node, int k, int *to)
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
    static const struct {
        const char *op;
        AxesFn *axes;
    } rows[] = {
        { "Transpose", axes_transpose },
        { "Squeeze", axes_squeeze },
        { "Unsqueeze", axes_unsqueeze },
        { "Slice", axes_slice },
        { "Gather", axes_gather },
        { "GatherND", axes_gather_nd },
        { "Concat", axes_but_one },
        { "Split", axes_but_one },
        { "CastLike", axes_same },
        { "Dropout", axes_same },
        { "ReduceSum", axes_reduce },
        { "ReduceMax", axes_reduce },
        { "ReduceMin", axes_reduce },
        { "ReduceMean", axes_reduce },
        { "ReduceProd", axes_reduce },
        { "ReduceL2", axes_reduce },
        { "Reshape", axes_reshape },
        { "Softmax", axes_softmax },
        { "LogSoftmax", axes_softmax },
        { "QuantizeLinear", axes_same },
        { "DequantizeLinear", axes_same },
        { "MatMul", axes_product },
        { "Gemm", axes_product },
        { "ReduceL1", axes_reduce },
        { "ReduceSumSquare", axes_reduce },
        { "CumSum", axes_cumsum },
        { "ArgMax", axes_arg },
        { "ArgMin", axes_arg },
    };
    if (node->op->flags & OP_ELEMENTWISE)
        return axes_elementwise;
    if (*node->domain)
        return NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (node_is(node, rows[i].op))
            return rows[i].axes;
    return NULL;
}

bool dynamic_passes(const Node *node, int k, int *to)
{
    AxesFn *axes = axes_of(node);
    if (!axes || !axes(node, k, to))
        return false;
    for (int a = 0; a < node->in[k]->shape.rank; a++)
        if (node->in[k]->dynamic >> a & 1u && to[a] < 0)
            return false;
    return true;
}
