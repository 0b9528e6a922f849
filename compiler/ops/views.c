/* SPDX-License-Identifier: Apache-2.0
 * Views: operators that change a tensor's dims but not its bytes. Reshape, Flatten, Squeeze,
 * Unsqueeze, Identity. */
#include <string.h>

#include "base/size.h"
#include "ir/words.h"
#include "ops/expand.h"
#include "ops/families.h"
#include "ops/nest.h"
#include "ops/partly.h"
#include "ops/values.h"

void lower_view_op(Lower *lower, Node *node)
{
    lower_view(lower, node->out[0], node->in[0], 0);
}

Recipe *constant_view(Node *node)
{
    const Recipe *recipe = node->in[0]->value;
    const Shape *s = result_shape(node, 0);
    return recipe ? recipe_reshape(node->graph->store, recipe, s->rank, s->dim)
                  : NULL;
}

/* The shape is a value: as declared. */
static void infer_reshape_value(Node *node, const Shape *in)
{
    infer_declared(node, 0, node_type(node));
    const Tensor *out = node->out[0];
    const bool same = tensor_count(out) == shape_count(in);
    infer_require(node, 0, same && out->shape.rank == infer_count(node, 1));
}

/* Entry i of the shape: 0 is the input's dimension i, -1 what is left. */
static int64_t asked_dim(const Node *node, const Shape *in, int i,
                         int64_t asked)
{
    if (asked < -1)
        fail_node(node, STATUS_MALFORMED, NULL, "shape has a dimension %lld",
                  (long long)asked);
    if (asked != 0 || node_flag(node, "allowzero", false))
        return asked;
    if (i >= in->rank)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "shape copies dimension %d, which the input does not have",
                  i);
    return in->dim[i];
}

/* The dimension that is left open takes what the others leave of the elements. */
static void fill_open(const Node *node, Shape *shape, int64_t elements)
{
    int open = -1;
    int64_t known = 1;
    for (int i = 0; i < shape->rank; i++) {
        const int64_t dim = shape->dim[i];
        if (dim >= 0) {
            known = i64_mul(known, dim);
            continue;
        }
        if (open >= 0)
            fail_node(node, STATUS_MALFORMED, NULL, "shape has a dimension -1");
        open = i;
    }
    if (open >= 0)
        shape->dim[open] = known ? elements / known : 0;
}

void infer_reshape(Node *node)
{
    const Shape *in = infer_shape(node, 0);
    int64_t rank;
    const int64_t *dims = infer_ints(node, 1, &rank);
    if (!dims)
        dims = partly_open(node, 1, &rank);
    if (!dims) {
        infer_reshape_value(node, in);
        return;
    }
    infer_rank(node, rank);
    Shape shape = { .rank = (int)rank };
    const int64_t elements = shape_count(in);
    for (int i = 0; i < rank; i++)
        shape.dim[i] = asked_dim(node, in, i, dims[i]);
    fill_open(node, &shape, elements);
    if (shape_count(&shape) != elements)
        fail_node(node, STATUS_MALFORMED, NULL, "%s cannot be reshaped to %s",
                  shape_text(node->graph->arena, in),
                  shape_text(node->graph->arena, &shape));
    infer_out(node, 0, node_type(node), shape);
}

/* A shape that is a value must say what was compiled: the dimension, -1, or 0 where it is the
 * input's. */
static void check_asked(Lower *lower, const Node *node, Tensor *asked)
{
    const Shape *in = node_shape(node, 0);
    const Shape *to = result_shape(node, 0);
    const bool copies = !node_int(node, "allowzero", 0);
    int64_t any[MAX_RANK];
    int64_t copy[MAX_RANK];
    for (int i = 0; i < to->rank; i++) {
        const int64_t dim = to->dim[i];
        const bool same = i < in->rank && in->dim[i] == dim;
        any[i] = -1;
        copy[i] = copies && same ? 0 : dim;
    }
    const int64_t *const allowed[] = { to->dim, any, copy };
    lower_check(lower, asked, 3, allowed);
}

void lower_reshape(Lower *lower, Node *node)
{
    Tensor *asked = node_in(node, 1);
    if (asked && !asked->value)
        check_asked(lower, node, asked);
    lower_view_op(lower, node);
}

void infer_flatten(Node *node)
{
    const Shape *in = infer_shape(node, 0);
    int64_t axis = node_int(node, "axis", 1);
    if (axis < 0)
        axis += in->rank;
    if (axis < 0 || axis > in->rank)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "axis %lld of a tensor of rank %d", (long long)axis,
                  in->rank);
    const int64_t dims[] = { shape_product(in, 0, (int)axis),
                             shape_product(in, (int)axis, in->rank) };
    infer_out(node, 0, node_type(node), shape_of(2, dims));
}

/* Marks the axes listed in attribute "axes" or operand 1; false: not constant; *given: there is a
 * list. */
static bool axes_of(const Node *node, int rank, bool *marked, bool *given)
{
    int64_t count;
    const int64_t *axes = node_ints(node, "axes", &count);
    memset(marked, 0, MAX_RANK * sizeof *marked);
    if (node_in(node, 1)) {
        axes = infer_ints(node, 1, &count);
        if (!axes)
            return false;
    }
    *given = axes != NULL;
    for (int64_t i = 0; axes && i < count; i++) {
        const int a = node_axis(node, axes[i], rank);
        if (marked[a])
            fail_node(node, STATUS_MALFORMED, NULL, "axis %d is named twice",
                      a);
        marked[a] = true;
    }
    return true;
}

/* Are the dimensions that are not 1 the same? */
static bool same_but_ones(const Shape *a, const Shape *b)
{
    int i = 0;
    int k = 0;
    for (;;) {
        while (i < a->rank && a->dim[i] == 1)
            i++;
        while (k < b->rank && b->dim[k] == 1)
            k++;
        if (i == a->rank || k == b->rank)
            return i == a->rank && k == b->rank;
        if (a->dim[i++] != b->dim[k++])
            return false;
    }
}

/* The axes are values: as declared, with so many dimensions more. */
static void infer_declared_ones(Node *node, int64_t more)
{
    const Shape *in = infer_shape(node, 0);
    infer_declared(node, 0, node_type(node));
    const Shape *s = result_shape(node, 0);
    infer_require(node, 0, s->rank == in->rank + more && same_but_ones(in, s));
}

/* A vector with `value` for each of the axes of a shape. */
static Tensor *for_each_axis(const Node *node, int rank, int64_t value)
{
    int64_t values[MAX_RANK] = { 0 };
    for (int i = 0; i < rank; i++)
        values[i] = value;
    return expand_i64s(node, rank, values);
}

/* 1 at each of the axes that operand 1 names when the model runs, else 0. */
static Tensor *named_axes(const Node *node, int rank)
{
    const int64_t count = infer_count(node, 1);
    Tensor *axes = expand_cast(node, node->in[1], DT_I64);
    Tensor *in[] = {
        for_each_axis(node, rank, 0),
        expand_reshape(node, axes, 1, &count),
        for_each_axis(node, (int)count, 1),
    };
    return expand_done(expand_node(node, "ScatterElements", 3, in, 1));
}

/* `shorter` with ones where operand 1 says: `rank` dimensions, known when the model runs. */
static Tensor *dims_with_ones(const Node *node, const Shape *shorter, int rank)
{
    const Shape dims = shorter->rank ? *shorter : shape_vector(1);
    Tensor *ones = for_each_axis(node, rank, 1);
    Tensor *named = named_axes(node, rank);
    Tensor *others = expand_sub(node, ones, named);
    Tensor *axis = expand_number(node, 0.0, DT_I64);
    Tensor *counted = expand_binary(node, "CumSum", others, axis);
    Tensor *place = expand_sub(node, counted, ones);
    Tensor *known = expand_i64s(node, dims.rank, dims.dim);
    Tensor *spread = expand_gather(node, known, place, 0);
    Tensor *condition = expand_cast(node, named, DT_BOOL);
    return expand_where(node, condition, ones, spread);
}

/* `tensor` itself; the run ends with INLAY_E_SHAPE where the dims are others. */
static Tensor *of_size(const Node *node, Tensor *tensor, Tensor *dims)
{
    Tensor *in[] = { tensor, dims };
    return expand_done(expand_inlay_node(node, "FixedSize", 2, in, 1));
}

/* Squeeze undoes what Unsqueeze does with the same axes: one question for both. */
static void expand_squeeze(Node *node)
{
    infer_declared_ones(node, -infer_count(node, 1));
    const Shape shape = *result_shape(node, 0);
    const int rank = node_shape(node, 0)->rank;
    Tensor *dims = dims_with_ones(node, &shape, rank);
    Tensor *tensor = of_size(node, node->in[0], dims);
    tensor = expand_reshape(node, tensor, shape.rank, shape.dim);
    expand_finish_one(node, tensor);
}

static void expand_unsqueeze_values(Node *node)
{
    infer_declared_ones(node, infer_count(node, 1));
    const Shape from = node->in[0]->shape;
    const Shape to = node->out[0]->shape;
    Tensor *tensor = expand_reshape(node, node->in[0], to.rank, to.dim);
    Tensor *dims = dims_with_ones(node, &from, to.rank);
    tensor = of_size(node, tensor, dims);
    expand_finish_one(node, tensor);
}

void infer_squeeze(Node *node)
{
    const Shape *in = infer_shape(node, 0);
    bool marked[MAX_RANK], given;
    Shape shape = { .rank = 0 };
    if (!axes_of(node, in->rank, marked, &given)) {
        expand_squeeze(node);
        return;
    }
    for (int i = 0; i < in->rank; i++) {
        if (given && marked[i] && in->dim[i] != 1)
            fail_node(node, STATUS_MALFORMED, NULL,
                      "axis %d is of size %lld, not 1", i,
                      (long long)in->dim[i]);
        if (given ? !marked[i] : in->dim[i] != 1)
            shape.dim[shape.rank++] = in->dim[i];
    }
    infer_out(node, 0, node_type(node), shape);
}

void infer_unsqueeze(Node *node)
{
    const Shape *in = infer_shape(node, 0);
    int64_t count = 0;
    bool marked[MAX_RANK], given;
    if (node_in(node, 1) && !infer_ints(node, 1, &count)) {
        expand_unsqueeze_values(node);
        return;
    }
    if (!node_in(node, 1))
        node_ints(node, "axes", &count);
    infer_rank(node, in->rank + count);
    Shape shape = { .rank = in->rank + (int)count };
    axes_of(node, shape.rank, marked, &given);
    for (int i = 0, k = 0; i < shape.rank; i++)
        shape.dim[i] = marked[i] ? 1 : in->dim[k++];
    infer_out(node, 0, node_type(node), shape);
}
