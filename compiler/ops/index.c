/* SPDX-License-Identifier: Apache-2.0
 * Reading by index: Gather, GatherElements, GatherND. */
#include <string.h>

#include "base/size.h"
#include "kernels/gather.h"
#include "ops/families.h"
#include "ops/nest.h"
#include "ops/values.h"

static int axis_of(const Node *n)
{
    return node_axis(n, node_int(n, "axis", 0), infer_shape(n, 0)->rank);
}

static void check_index_type(const Node *n, int i)
{
    const DType t = n->in[i]->dtype;
    if (t != DT_I32 && t != DT_I64)
        fail_node(n, STATUS_MALFORMED, NULL, "indices are of type %s", dtype_name(t));
}

void infer_gather(Node *n)
{
    const Shape *x = infer_shape(n, 0), *k = infer_shape(n, 1);
    const int axis = axis_of(n);
    if (x->rank - 1 + k->rank > MAX_RANK)
        fail_node(n, STATUS_UNSUPPORTED, NULL, "its result has more than %d dimensions", MAX_RANK);
    Shape s = { .rank = x->rank - 1 + k->rank };
    check_index_type(n, 1);
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = i < axis             ? x->dim[i]
                   : i < axis + k->rank ? k->dim[i - axis]
                                        : x->dim[i - k->rank + 1];
    infer_out(n, 0, n->in[0]->dtype, s);
}

/* Constant indices that follow one another: the first, or -1. */
static int64_t consecutive(const Node *n)
{
    int64_t count;
    const int64_t *index = infer_ints(n, 1, &count), size = n->in[0]->shape.dim[axis_of(n)];
    if (!index || !count)
        return -1;
    const int64_t first = index[0] < 0 ? index[0] + size : index[0];
    for (int64_t i = 0; i < count; i++) {
        const int64_t v = index[i] < 0 ? index[i] + size : index[i];
        if (v < 0 || v >= size)
            fail_node(n, STATUS_MALFORMED, NULL, "index %lld of an axis of %lld",
                      (long long)index[i], (long long)size);
        if (v != first + i)
            return -1;
    }
    return first;
}

Recipe *constant_gather(Node *n)
{
    Recipe *r = n->in[0]->value;
    const Shape *s = &n->out[0]->shape;
    const int64_t first = r ? consecutive(n) : -1;
    if (first < 0)
        return NULL;
    r = recipe_slice(n->graph->store, r, axis_of(n), first, 1, tensor_count(n->in[1]));
    return recipe_reshape(n->graph->store, r, s->rank, s->dim);
}

void lower_gather(Lower *l, Node *n)
{
    const int axis = axis_of(n);
    const Shape *s = &n->in[0]->shape;
    const int64_t first = consecutive(n);
    if (!tensor_count(n->out[0]))
        return;
    if (first >= 0) {
        lower_part(l, n, n->out[0], n->in[0], axis, first, tensor_count(n->in[1]));
        return;
    }
    Tensor *y = move_target(l, n->out[0]), *x = move_source(l, n, n->in[0]),
           *index = lower_index(l, n, n->in[1]);
    const inlay_gather_params p = { .outer = i32_checked(shape_product(s, 0, axis)),
                                    .n = i32_checked(s->dim[axis]),
                                    .k = i32_checked(tensor_count(index)),
                                    .run = i64_mul(shape_product(s, axis + 1, s->rank),
                                                   dtype_bits(x->dtype) / 8) };
    Step *step = lower_step(l, n, "gather", &p);
    step_out(step, y);
    step_in(step, x);
    step_in(step, index);
    move_finish(l, n, n->out[0], y);
}

void infer_gather_elements(Node *n)
{
    const Shape *x = infer_shape(n, 0), *k = infer_shape(n, 1);
    axis_of(n);
    check_index_type(n, 1);
    if (x->rank != k->rank)
        fail_node(n, STATUS_MALFORMED, NULL, "indices are of rank %d, data of rank %d", k->rank,
                  x->rank);
    infer_out(n, 0, n->in[0]->dtype, *k);
}

void lower_gather_elements(Lower *l, Node *n)
{
    const Shape *s = &n->in[0]->shape, *k = &n->in[1]->shape;
    if (!tensor_count(n->out[0]))
        return;
    Tensor *y = move_target(l, n->out[0]), *x = move_source(l, n, n->in[0]),
           *index = lower_index(l, n, n->in[1]);
    inlay_gather_elements_params p = { .rank = s->rank,
                                       .axis = axis_of(n),
                                       .size = dtype_bits(x->dtype) / 8 };
    for (int i = 0; i < s->rank; i++) {
        p.x[i] = i32_checked(s->dim[i]);
        p.y[i] = i32_checked(k->dim[i]);
        if (i != p.axis && p.y[i] > p.x[i])
            fail_node(n, STATUS_MALFORMED, NULL, "indices are larger than the data on axis %d", i);
    }
    Step *step = lower_step(l, n, "gather_elements", &p);
    step_out(step, y);
    step_in(step, x);
    step_in(step, index);
    move_finish(l, n, n->out[0], y);
}

/* batch_dims leading dims in common; the last dim of the indices is the depth of a vector. */
static int gather_nd_depth(const Node *n, int *batch)
{
    const Shape *x = infer_shape(n, 0), *k = infer_shape(n, 1);
    check_index_type(n, 1);
    *batch = (int)node_int(n, "batch_dims", 0);
    const int64_t depth = k->rank ? k->dim[k->rank - 1] : 0;
    if (*batch < 0 || *batch >= k->rank || *batch + depth > x->rank || (depth < 1 && k->rank < 1))
        fail_node(n, STATUS_MALFORMED, NULL, "indices of shape %s do not fit data of shape %s",
                  shape_text(n->graph->arena, k), shape_text(n->graph->arena, x));
    for (int i = 0; i < *batch; i++)
        if (x->dim[i] != k->dim[i])
            fail_node(n, STATUS_MALFORMED, NULL, "batch dimension %d differs", i);
    return (int)depth;
}

void infer_gather_nd(Node *n)
{
    int batch;
    const Shape *x = infer_shape(n, 0), *k = infer_shape(n, 1);
    const int depth = gather_nd_depth(n, &batch), rest = x->rank - batch - depth;
    if (k->rank - 1 + rest > MAX_RANK)
        fail_node(n, STATUS_UNSUPPORTED, NULL, "its result has more than %d dimensions", MAX_RANK);
    Shape s = { .rank = k->rank - 1 + rest };
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = i < k->rank - 1 ? k->dim[i] : x->dim[batch + depth + i - (k->rank - 1)];
    infer_out(n, 0, n->in[0]->dtype, s);
}

void lower_gather_nd(Lower *l, Node *n)
{
    int batch;
    const int depth = gather_nd_depth(n, &batch);
    const Shape *s = &n->in[0]->shape, *k = &n->in[1]->shape;
    if (!tensor_count(n->out[0]))
        return;
    Tensor *y = move_target(l, n->out[0]), *x = move_source(l, n, n->in[0]),
           *index = lower_index(l, n, n->in[1]);
    inlay_gather_nd_params p = { .batch = i32_checked(shape_product(k, 0, batch)),
                                 .k = i32_checked(shape_product(k, batch, k->rank - 1)),
                                 .depth = depth,
                                 .run = i64_mul(shape_product(s, batch + depth, s->rank),
                                                dtype_bits(x->dtype) / 8) };
    for (int i = 0; i < depth; i++)
        p.n[i] = i32_checked(s->dim[batch + i]);
    Step *step = lower_step(l, n, "gather_nd", &p);
    step_out(step, y);
    step_in(step, x);
    step_in(step, index);
    move_finish(l, n, n->out[0], y);
}
