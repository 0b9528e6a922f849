/* SPDX-License-Identifier: Apache-2.0
 * Constants and tensors made of shapes: Shape, Size, Constant, ConstantOfShape, Expand. */
#include <string.h>

#include "base/size.h"
#include "ir/words.h"
#include "ops/expand.h"
#include "ops/families.h"
#include "ops/nest.h"
#include "ops/partly.h"
#include "ops/values.h"

/* A result that is always constant is folded; its lower function serves only
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
    infer_rank(node, count);
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
    lower_check_dims(lower, node, 0, node->out[0]->shape.rank,
                     node->out[0]->shape.dim);
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
