/* SPDX-License-Identifier: Apache-2.0
 * Reading by index: Gather, GatherElements, GatherND. */
#include <string.h>

#include "base/size.h"
#include "kernels/gather.h"
#include "ops/ranges.h"
#include "ops/families.h"
#include "ops/moved.h"
#include "ops/nest.h"
#include "ops/values.h"

static int axis_of(const Node *node)
{
    return infer_axis(node, 0, infer_shape(node, 0)->rank);
}

static void check_index_type(const Node *node, int i)
{
    const DType type = node->in[i]->dtype;
    if (type != DT_I32 && type != DT_I64)
        fail_node(node, STATUS_MALFORMED, NULL, "indices are of type %s",
                  dtype_name(type));
}

static void copy_dims(int64_t *to, const int64_t *from, int count)
{
    for (int i = 0; i < count; i++)
        to[i] = from[i];
}

void infer_gather(Node *node)
{
    const Shape *x = infer_shape(node, 0);
    const Shape *k = infer_shape(node, 1);
    const int axis = axis_of(node);
    const int rank = x->rank - 1 + k->rank;
    infer_rank(node, rank);
    Shape shape = { .rank = rank };
    int64_t *inner = shape.dim + axis + k->rank;
    check_index_type(node, 1);
    copy_dims(shape.dim, x->dim, axis);
    copy_dims(shape.dim + axis, k->dim, k->rank);
    copy_dims(inner, x->dim + axis + 1, x->rank - axis - 1);
    infer_out(node, 0, node_type(node), shape);
}

/* Constant indices that follow one another: the first, or -1. */
static int64_t consecutive(const Node *node)
{
    int64_t count;
    const int64_t *index = infer_ints(node, 1, &count);
    const int64_t size = node->in[0]->shape.dim[axis_of(node)];
    if (!index || !count)
        return -1;
    const int64_t first = index[0] < 0 ? index[0] + size : index[0];
    for (int64_t i = 0; i < count; i++) {
        const int64_t given = index[i];
        const int64_t place = given < 0 ? given + size : given;
        if (place < 0 || place >= size)
            fail_node(node, STATUS_MALFORMED, NULL,
                      "index %lld of an axis of %lld", (long long)given,
                      (long long)size);
        if (place != first + i)
            return -1;
    }
    return first;
}

bool gather_ranges(const Node *node, Ranges *ranges)
{
    const Shape *shape = node_shape(node, 0);
    const int axis = axis_of(node);
    const int64_t first = consecutive(node);
    for (int i = 0; i < shape->rank; i++) {
        ranges->from[i] = i == axis ? first : 0;
        ranges->to[i] =
            i == axis ? first + tensor_count(node->in[1]) : shape->dim[i];
    }
    return first >= 0;
}

Recipe *constant_gather(Node *node)
{
    Store *store = node->graph->store;
    Recipe *recipe = node->in[0]->value;
    const Shape *s = result_shape(node, 0);
    const int64_t indices = tensor_count(node->in[1]);
    const int64_t first = recipe ? consecutive(node) : -1;
    if (first < 0)
        return NULL;
    recipe = recipe_part(store, recipe, axis_of(node), first, indices);
    return recipe_reshape(store, recipe, s->rank, s->dim);
}

void lower_gather(Lower *lower, Node *node)
{
    const int axis = axis_of(node);
    const Shape *in = node_shape(node, 0);
    const int64_t indices = tensor_count(node->in[1]);
    const int64_t first = consecutive(node);
    if (!tensor_count(node->out[0]))
        return;
    if (first >= 0) {
        const AxisPart part = {
            .axis = axis,
            .start = first,
            .count = indices,
        };
        lower_part(lower, node->out[0], node->in[0], part);
        return;
    }
    const Moved moved = moved_new(lower, node);
    const int64_t outer = shape_product(in, 0, axis);
    const int64_t inner = shape_product(in, axis + 1, in->rank);
    const inlay_gather_params params = {
        .outer = i32_checked(outer),
        .n = i32_checked(in->dim[axis]),
        .k = i32_checked(indices),
        .run = i64_mul(inner, moved.size),
    };
    moved_step(lower, node, &moved, "gather", &params);
}

void infer_gather_elements(Node *node)
{
    const Shape *x = infer_shape(node, 0);
    const Shape *k = infer_shape(node, 1);
    axis_of(node);
    check_index_type(node, 1);
    if (x->rank != k->rank)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "indices are of rank %d, data of rank %d", k->rank, x->rank);
    infer_out(node, 0, node_type(node), *k);
}

void lower_gather_elements(Lower *lower, Node *node)
{
    const Shape *in = node_shape(node, 0);
    const Shape *indices = node_shape(node, 1);
    if (!tensor_count(node->out[0]))
        return;
    const Moved moved = moved_new(lower, node);
    inlay_gather_elements_params params = {
        .rank = in->rank,
        .axis = axis_of(node),
        .size = (int32_t)moved.size,
    };
    shape_to_i32(in, params.x);
    shape_to_i32(indices, params.y);
    for (int i = 0; i < in->rank; i++) {
        if (i != params.axis && params.y[i] > params.x[i])
            fail_node(node, STATUS_MALFORMED, NULL,
                      "indices are larger than the data on axis %d", i);
    }
    moved_step(lower, node, &moved, "gather_elements", &params);
}

/* batch_dims leading dims in common; the last dim of the indices is the depth of a vector. */
static int gather_nd_depth(const Node *node, int *batch)
{
    const Shape *x = infer_shape(node, 0);
    const Shape *k = infer_shape(node, 1);
    check_index_type(node, 1);
    *batch = (int)node_int(node, "batch_dims", 0);
    const int64_t depth = k->rank ? k->dim[k->rank - 1] : 0;
    const bool vectors = *batch >= 0 && *batch < k->rank;
    if (!vectors || *batch + depth > x->rank)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "indices of shape %s do not fit data of shape %s",
                  shape_text(node->graph->arena, k),
                  shape_text(node->graph->arena, x));
    for (int i = 0; i < *batch; i++)
        if (x->dim[i] != k->dim[i])
            fail_node(node, STATUS_MALFORMED, NULL,
                      "batch dimension %d differs", i);
    return (int)depth;
}

void infer_gather_nd(Node *node)
{
    int batch;
    const Shape *in = infer_shape(node, 0);
    const Shape *indices = infer_shape(node, 1);
    const int depth = gather_nd_depth(node, &batch);
    const int whole = batch + depth;
    const int outer = indices->rank - 1;
    const int rank = outer + in->rank - whole;
    infer_rank(node, rank);
    Shape shape = { .rank = rank };
    copy_dims(shape.dim, indices->dim, outer);
    copy_dims(shape.dim + outer, in->dim + whole, rank - outer);
    infer_out(node, 0, node_type(node), shape);
}

/* Sizes and steps of the axes that vectors run over, from axis `first` on. A pass that found the
 * operand transposed left its axes as they lie, and `perm`. */
static void gather_nd_axes(const Node *node, int first,
                           inlay_gather_nd_params *params)
{
    const Shape *lies = node_shape(node, 0);
    int64_t count;
    const int64_t *perm = node_ints(node, "perm", &count);
    for (int i = 0; i < params->depth; i++) {
        const int axis = perm ? (int)perm[first + i] : first + i;
        const int64_t step =
            shape_product(lies, axis + 1, first + params->depth);
        params->n[i] = i32_checked(lies->dim[axis]);
        params->step[i] = i32_checked(step);
    }
}

void lower_gather_nd(Lower *lower, Node *node)
{
    int batch;
    const int depth = gather_nd_depth(node, &batch);
    const Shape *in = node_shape(node, 0);
    const Shape *indices = node_shape(node, 1);
    if (!tensor_count(node->out[0]))
        return;
    const Moved moved = moved_new(lower, node);
    const int last = indices->rank - 1;
    const int64_t inner = shape_product(in, batch + depth, in->rank);
    const int64_t vectors = shape_product(indices, batch, last);
    const int64_t batches = shape_product(indices, 0, batch);
    inlay_gather_nd_params params = {
        .batch = i32_checked(batches),
        .k = i32_checked(vectors),
        .depth = depth,
        .run = i64_mul(inner, moved.size),
    };
    gather_nd_axes(node, batch, &params);
    moved_step(lower, node, &moved, "gather_nd", &params);
}
