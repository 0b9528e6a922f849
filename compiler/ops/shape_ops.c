/* SPDX-License-Identifier: Apache-2.0
 * Shapes and constants: operators that change a tensor's dims but not its bytes, or make a tensor
 * of its shape alone. */
#include <string.h>

#include "base/size.h"
#include "ir/words.h"
#include "ops/expand.h"
#include "ops/families.h"
#include "ops/nest.h"
#include "ops/partly.h"
#include "ops/values.h"

/* Views: Reshape, Flatten, Squeeze, Unsqueeze, Identity, Dropout. */

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
        if (shape->dim[i] >= 0) {
            known = i64_mul(known, shape->dim[i]);
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
    if (rank > MAX_RANK)
        fail_node(node, STATUS_UNSUPPORTED, NULL,
                  "its result has more than %d dimensions", MAX_RANK);
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
void lower_reshape(Lower *lower, Node *node)
{
    const Shape *in = node_shape(node, 0);
    const Shape *to = result_shape(node, 0);
    if (node_in(node, 1) && !node->in[1]->value) {
        int64_t any[MAX_RANK];
        int64_t copy[MAX_RANK];
        const bool copies = !node_int(node, "allowzero", 0);
        for (int i = 0; i < to->rank; i++) {
            const bool same = i < in->rank && in->dim[i] == to->dim[i];
            any[i] = -1;
            copy[i] = copies && same ? 0 : to->dim[i];
        }
        const int64_t *const allowed[] = { to->dim, any, copy };
        lower_check(lower, node->in[1], 3, allowed);
    }
    lower_view(lower, node->out[0], node->in[0], 0);
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
    if (node_in(node, 1) && !(axes = infer_ints(node, 1, &count)))
        return false;
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
    if (in->rank + count > MAX_RANK)
        fail_node(node, STATUS_UNSUPPORTED, NULL,
                  "its result has more than %d dimensions", MAX_RANK);
    Shape shape = { .rank = in->rank + (int)count };
    axes_of(node, shape.rank, marked, &given);
    for (int i = 0, k = 0; i < shape.rank; i++)
        shape.dim[i] = marked[i] ? 1 : in->dim[k++];
    infer_out(node, 0, node_type(node), shape);
}

/* At inference Dropout is the identity; its mask is all true (its type: bool since opset 10). */
void infer_dropout(Node *node)
{
    infer_same(node);
    infer_out(node, 1, node->op->since >= 10 ? DT_BOOL : node_type(node),
              *infer_shape(node, 0));
}

static Tensor *one_of(Lower *lower, DType type)
{
    const float one = 1.0f;
    const int64_t scalar = 1;
    return lower_constant(lower, recipe_cast(lower->store,
                                             recipe_memory(lower->store, DT_F32,
                                                           1, &scalar, &one),
                                             type));
}

static void require_number(const Node *node, const Tensor *tensor)
{
    if (tensor && tensor_count(tensor) != 1)
        fail_node(node, STATUS_MALFORMED, NULL, "\"%s\" is no single value",
                  tensor->name);
}

/* Training with a ratio that is not 0 draws random numbers: refused, or, where both are values,
 * checked when it runs. */
static void check_dropout(Lower *lower, Node *node)
{
    int64_t count;
    Tensor *training = node_in(node, 2);
    Tensor *ratio = node_in(node, 1);
    require_number(node, training);
    require_number(node, ratio);
    const double *t = tensor_doubles(lower->graph, training, &count);
    const double *r = tensor_doubles(lower->graph, ratio, &count);
    if (!training || (t && !(t[0] > 0)))
        return;
    if (r && !(r[0] > 0))
        return;
    if (!ratio || (t && r))
        fail_node(node, STATUS_UNSUPPORTED, "export the model for inference",
                  "Dropout in training mode draws random numbers");
    static const int64_t never[] = { 0 };
    Tensor *some = lower_temp(lower, DT_BOOL, ratio->shape);
    Tensor *both = lower_temp(lower, DT_BOOL, ratio->shape);
    lower_cast(lower, some, ratio);
    lower_nd2(lower, "logical_and", both, some, training);
    lower_check(lower, both, 1, (const int64_t *const[]){ never });
}

void lower_dropout(Lower *lower, Node *node)
{
    check_dropout(lower, node);
    lower_view(lower, node->out[0], node->in[0], 0);
    if (node_out(node, 1) && node->out[1]->uses)
        lower_fill(lower, node->out[1], one_of(lower, node->out[1]->dtype));
}

/* Constants of shapes. A result that is always constant is folded; its lower function serves only
 * where a pass asks. */

static Recipe *ints_recipe(Node *node, int rank, int64_t count,
                           const int64_t *values)
{
    return recipe_memory(node->graph->store, DT_I64, rank, &count, values);
}

static void lower_folded(Lower *lower, Node *node, Recipe *value)
{
    if (!value)
        fail_node(node, STATUS_INTERNAL, NULL, "is no constant");
    lower_copy(lower, node->out[0], lower_constant(lower, value));
}

static void shape_range(const Node *node, int64_t *start, int64_t *end)
{
    const int64_t rank = infer_shape(node, 0)->rank;
    *start = node_int(node, "start", 0);
    *end = node_int(node, "end", rank);
    if (*start < 0)
        *start += rank;
    if (*end < 0)
        *end += rank;
    *start = i64_min(i64_max(*start, 0), rank);
    *end = i64_max(i64_min(i64_max(*end, 0), rank), *start);
}

void infer_shape_op(Node *node)
{
    int64_t start, end;
    shape_range(node, &start, &end);
    infer_out(node, 0, DT_I64, shape_vector(end - start));
}

Recipe *constant_shape(Node *node)
{
    int64_t start, end;
    shape_range(node, &start, &end);
    return ints_recipe(node, 1, end - start, infer_shape(node, 0)->dim + start);
}

void lower_shape(Lower *lower, Node *node)
{
    if (tensor_count(node->out[0]))
        lower_folded(lower, node, constant_shape(node));
}

void infer_size(Node *node)
{
    infer_shape(node, 0);
    infer_out(node, 0, DT_I64, shape_scalar());
}

Recipe *constant_size(Node *node)
{
    const int64_t count = shape_count(infer_shape(node, 0));
    return ints_recipe(node, 0, 1, &count);
}

void lower_size(Lower *lower, Node *node)
{
    lower_folded(lower, node, constant_size(node));
}

/* NULL: the attributes hold no strings. */
static Recipe *constant_words(const Node *node)
{
    int64_t count;
    Store *store = node->graph->store;
    const int64_t *list = node_codes(node, "value_strings", &count);
    const char *word = node_string(node, "value_string", NULL);
    if (node_attr(node, "value_strings"))
        return recipe_memory(store, DT_STRING, 1, &count, list ? list : &count);
    if (!word)
        return NULL;
    const int64_t code = words_code(store, word);
    return recipe_memory(store, DT_STRING, 0, NULL, &code);
}

/* Constant: the value in one of its attribute forms. */
static Recipe *constant_value(const Node *node)
{
    Store *s = node->graph->store;
    const Attr *attr = node_attr(node, "value");
    if (!attr)
        attr = node_attr(node, "sparse_value");
    if (attr)
        return attr->tensor;
    attr = node_attr(node, "value_float");
    if (attr)
        return recipe_memory(s, DT_F32, 0, NULL, &attr->f);
    attr = node_attr(node, "value_int");
    if (attr)
        return recipe_memory(s, DT_I64, 0, NULL, &attr->i);
    attr = node_attr(node, "value_floats");
    if (attr)
        return attr->list ? attr->list
                          : recipe_memory(s, DT_F32, 1, &attr->n, attr->floats);
    attr = node_attr(node, "value_ints");
    if (attr)
        return attr->list ? attr->list
                          : recipe_memory(s, DT_I64, 1, &attr->n, attr->ints);
    Recipe *words = constant_words(node);
    if (words)
        return words;
    fail_node(node, STATUS_MALFORMED, NULL, "has no value");
}

static Shape recipe_shape(const Recipe *recipe)
{
    return shape_of(recipe_rank(recipe), recipe_dims(recipe));
}

void infer_constant(Node *node)
{
    const Recipe *recipe = constant_value(node);
    infer_out(node, 0, recipe_dtype(recipe), recipe_shape(recipe));
}

Recipe *constant_constant(Node *node)
{
    return constant_value(node);
}

void lower_constant_op(Lower *lower, Node *node)
{
    lower_folded(lower, node, constant_value(node));
}

/* ConstantOfShape: attribute `value`, one element; float 0 by default. */
Recipe *infer_fill(const Node *node)
{
    static const float zero = 0.0f;
    const Attr *attr = node_attr(node, "value");
    const int64_t one = 1;
    if (!attr || !attr->tensor)
        return recipe_memory(node->graph->store, DT_F32, 1, &one, &zero);
    if (recipe_count(attr->tensor) != 1)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its value has %lld elements, not one",
                  (long long)recipe_count(attr->tensor));
    return recipe_reshape(node->graph->store, attr->tensor, 1, &one);
}

/* Dims that are values: each at least `least`. */
static Shape shape_from_ints(const Node *node, int64_t count,
                             const int64_t *dims)
{
    if (count > MAX_RANK)
        fail_node(node, STATUS_UNSUPPORTED, NULL,
                  "its result has more than %d dimensions", MAX_RANK);
    for (int64_t i = 0; i < count; i++)
        if (dims[i] < 0)
            fail_node(node, STATUS_MALFORMED, NULL,
                      "asks for a dimension of %lld", (long long)dims[i]);
    return shape_of((int)count, dims);
}

void infer_constant_of_shape(Node *node)
{
    const DType type = recipe_dtype(infer_fill(node));
    int64_t count;
    const int64_t *dims = infer_ints(node, 0, &count);
    if (dims) {
        infer_out(node, 0, type, shape_from_ints(node, count, dims));
        return;
    }
    infer_declared(node, 0, type);
    infer_require(node, 0, node->out[0]->shape.rank == infer_count(node, 0));
}

Recipe *constant_constant_of_shape(Node *node)
{
    const Shape *s = result_shape(node, 0);
    return recipe_expand(node->graph->store, infer_fill(node),
                         s->rank ? s->rank : 1,
                         s->rank ? s->dim : (const int64_t[]){ 1 });
}

void lower_constant_of_shape(Lower *lower, Node *node)
{
    Tensor *y = move_target(lower, node->out[0]);
    lower_check_dims(lower, node, 0, node->out[0]->shape.dim);
    if (tensor_count(y))
        lower_fill(lower, y,
                   move_source(lower, lower_constant(lower, infer_fill(node))));
    move_finish(lower, node->out[0], y);
}

/* The shape is a value: as declared, each dimension of the input kept unless it is 1. */
static void infer_declared_expand(Node *node, const Shape *in)
{
    infer_declared(node, 0, node_type(node));
    const Shape *s = result_shape(node, 0);
    const int more = s->rank - in->rank;
    const int64_t asked = infer_count(node, 1);
    bool fits = more > 0 ? s->rank == asked : !more && s->rank >= asked;
    for (int i = 0; fits && i < in->rank; i++)
        fits = in->dim[i] == 1 || in->dim[i] == s->dim[more + i];
    infer_require(node, 0, fits);
}

void infer_expand(Node *node)
{
    int64_t count;
    const Shape *in = infer_shape(node, 0);
    const int64_t *dims = infer_ints(node, 1, &count);
    if (!dims) {
        infer_declared_expand(node, in);
        return;
    }
    const Shape to = shape_from_ints(node, count, dims);
    infer_out(node, 0, node_type(node), infer_broadcast(node, in, &to));
}

Recipe *constant_expand(Node *node)
{
    const Shape *s = result_shape(node, 0);
    return node->in[0]->value
               ? recipe_expand(node->graph->store, node->in[0]->value, s->rank,
                               s->dim)
               : NULL;
}

/* Where the shape is a value: the result's dimension, or 1 where the input has it. */
static void check_expand(Lower *lower, Node *node)
{
    const Shape *in = node_shape(node, 0);
    const Shape *to = result_shape(node, 0);
    if (node->in[1]->value)
        return;
    int64_t one[MAX_RANK];
    const int64_t more = to->rank - tensor_count(node->in[1]);
    const int64_t own = to->rank - in->rank;
    for (int64_t i = more; i < to->rank; i++) {
        const bool kept = i >= own && in->dim[i - own] == to->dim[i];
        one[i - more] = kept ? 1 : to->dim[i];
    }
    const int64_t *const allowed[] = { to->dim + more, one };
    lower_check(lower, node->in[1], 2, allowed);
}

void lower_expand(Lower *lower, Node *node)
{
    const Shape *to = result_shape(node, 0);
    check_expand(lower, node);
    Tensor *y = move_target(lower, node->out[0]);
    Tensor *x = move_source(lower, node->in[0]);
    Move move = { .rank = to->rank };
    memcpy(move.n, to->dim, sizeof to->dim);
    shape_strides(to, move.y);
    shape_broadcast_strides(&x->shape, to, move.x);
    if (shape_equal(to, node_shape(node, 0))) {
        lower_view(lower, node->out[0], node->in[0], 0);
        return;
    }
    lower_move(lower, y, x, &move);
    move_finish(lower, node->out[0], y);
}
