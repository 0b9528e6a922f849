/* SPDX-License-Identifier: Apache-2.0
 * Shapes and constants: operators that change a tensor's dims but not its bytes, or make a tensor
 * of its shape alone. */
#include <string.h>

#include "base/size.h"
#include "ops/families.h"
#include "ops/nest.h"
#include "ops/values.h"

/* Views: Reshape, Flatten, Squeeze, Unsqueeze, Identity, Dropout. */

void lower_view_op(Lower *l, Node *n)
{
    lower_view(l, n, n->out[0], n->in[0], 0);
}

Recipe *constant_view(Node *n)
{
    const Recipe *r = n->in[0]->value;
    const Shape *s = &n->out[0]->shape;
    return r ? recipe_reshape(n->graph->store, r, s->rank, s->dim) : NULL;
}

void infer_reshape(Node *n)
{
    const Shape *in = infer_shape(n, 0);
    int64_t rank, known = 1;
    int free_dim = -1;
    const bool zero_is_zero = node_int(n, "allowzero", 0) != 0;
    const int64_t *dims = infer_ints(n, 1, &rank);
    if (!dims) {
        infer_declared(n, 0, n->in[0]->dtype);
        infer_require(n, 0,
                      tensor_count(n->out[0]) == shape_count(in) &&
                          n->out[0]->shape.rank == infer_count(n, 1));
        return;
    }
    if (rank > MAX_RANK)
        fail_node(n, STATUS_UNSUPPORTED, NULL, "its result has more than %d dimensions", MAX_RANK);
    Shape s = { .rank = (int)rank };
    for (int i = 0; i < rank; i++) {
        s.dim[i] = dims[i];
        if (dims[i] == 0 && !zero_is_zero) {
            if (i >= in->rank)
                fail_node(n, STATUS_MALFORMED, NULL,
                          "shape copies dimension %d, which the input does not have", i);
            s.dim[i] = in->dim[i];
        }
        if (dims[i] < -1 || (dims[i] == -1 && free_dim >= 0))
            fail_node(n, STATUS_MALFORMED, NULL, "shape has a dimension %lld", (long long)dims[i]);
        if (dims[i] == -1)
            free_dim = i;
        else
            known = i64_mul(known, s.dim[i]);
    }
    const int64_t count = shape_count(in);
    if (free_dim >= 0)
        s.dim[free_dim] = known ? count / known : 0;
    if (shape_count(&s) != count)
        fail_node(n, STATUS_MALFORMED, NULL, "%s cannot be reshaped to %s",
                  shape_text(n->graph->arena, in), shape_text(n->graph->arena, &s));
    infer_out(n, 0, n->in[0]->dtype, s);
}

/* A shape that is a value must say what was compiled: the dimension, -1, or 0 where it is the
 * input's. */
void lower_reshape(Lower *l, Node *n)
{
    const Shape *in = &n->in[0]->shape, *to = &n->out[0]->shape;
    if (node_in(n, 1) && !n->in[1]->value) {
        int64_t any[MAX_RANK], copy[MAX_RANK];
        for (int i = 0; i < to->rank; i++) {
            any[i] = -1;
            copy[i] = i < in->rank && in->dim[i] == to->dim[i] && !node_int(n, "allowzero", 0)
                          ? 0
                          : to->dim[i];
        }
        lower_check(l, n, n->in[1], 3, (const int64_t *const[]){ to->dim, any, copy });
    }
    lower_view(l, n, n->out[0], n->in[0], 0);
}

void infer_flatten(Node *n)
{
    const Shape *in = infer_shape(n, 0);
    int64_t axis = node_int(n, "axis", 1);
    if (axis < 0)
        axis += in->rank;
    if (axis < 0 || axis > in->rank)
        fail_node(n, STATUS_MALFORMED, NULL, "axis %lld of a tensor of rank %d", (long long)axis,
                  in->rank);
    const int64_t dims[] = { shape_product(in, 0, (int)axis),
                             shape_product(in, (int)axis, in->rank) };
    infer_out(n, 0, n->in[0]->dtype, shape_of(2, dims));
}

/* Marks the axes listed in attribute "axes" or operand 1; false: not constant; *given: there is a
 * list. */
static bool axes_of(const Node *n, int rank, bool *marked, bool *given)
{
    int64_t count;
    const int64_t *axes = node_ints(n, "axes", &count);
    memset(marked, 0, MAX_RANK * sizeof *marked);
    if (node_in(n, 1) && !(axes = infer_ints(n, 1, &count)))
        return false;
    *given = axes != NULL;
    for (int64_t i = 0; axes && i < count; i++) {
        const int a = node_axis(n, axes[i], rank);
        if (marked[a])
            fail_node(n, STATUS_MALFORMED, NULL, "axis %d is named twice", a);
        marked[a] = true;
    }
    return true;
}

/* Are the dimensions that are not 1 the same? */
static bool same_but_ones(const Shape *a, const Shape *b)
{
    int i = 0, k = 0;
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
static void infer_declared_ones(Node *n, int64_t more)
{
    const Shape *in = infer_shape(n, 0);
    infer_declared(n, 0, n->in[0]->dtype);
    const Shape *s = &n->out[0]->shape;
    infer_require(n, 0, s->rank == in->rank + more && same_but_ones(in, s));
}

void infer_squeeze(Node *n)
{
    const Shape *in = infer_shape(n, 0);
    bool marked[MAX_RANK], given;
    Shape s = { .rank = 0 };
    if (!axes_of(n, in->rank, marked, &given)) {
        infer_declared_ones(n, -infer_count(n, 1));
        return;
    }
    for (int i = 0; i < in->rank; i++) {
        if (given && marked[i] && in->dim[i] != 1)
            fail_node(n, STATUS_MALFORMED, NULL, "axis %d is of size %lld, not 1", i,
                      (long long)in->dim[i]);
        if (given ? !marked[i] : in->dim[i] != 1)
            s.dim[s.rank++] = in->dim[i];
    }
    infer_out(n, 0, n->in[0]->dtype, s);
}

void infer_unsqueeze(Node *n)
{
    const Shape *in = infer_shape(n, 0);
    int64_t count = 0;
    bool marked[MAX_RANK], given;
    if (node_in(n, 1) && !infer_ints(n, 1, &count)) {
        infer_declared_ones(n, infer_count(n, 1));
        return;
    }
    if (!node_in(n, 1))
        node_ints(n, "axes", &count);
    if (in->rank + count > MAX_RANK)
        fail_node(n, STATUS_UNSUPPORTED, NULL, "its result has more than %d dimensions", MAX_RANK);
    Shape s = { .rank = in->rank + (int)count };
    axes_of(n, s.rank, marked, &given);
    for (int i = 0, k = 0; i < s.rank; i++)
        s.dim[i] = marked[i] ? 1 : in->dim[k++];
    infer_out(n, 0, n->in[0]->dtype, s);
}

/* At inference Dropout is the identity; its mask is all true (its type: bool since opset 10). */
void infer_dropout(Node *n)
{
    infer_same(n);
    infer_out(n, 1, n->op->since >= 10 ? DT_BOOL : n->in[0]->dtype, *infer_shape(n, 0));
}

static Tensor *one_of(Lower *l, DType t)
{
    const float one = 1.0f;
    const int64_t scalar = 1;
    return lower_constant(
        l,
        recipe_cast(l->graph->store, recipe_memory(l->graph->store, DT_F32, 1, &scalar, &one), t));
}

/* Training with a ratio that is not 0 draws random numbers: refused, or, where both are values,
 * checked when it runs. */
static void check_dropout(Lower *l, Node *n)
{
    int64_t count;
    Tensor *training = node_in(n, 2), *ratio = node_in(n, 1);
    const double *t = tensor_doubles(l->graph, training, &count),
                 *r = tensor_doubles(l->graph, ratio, &count);
    if (!training || (t && !(t[0] > 0)) || (r && !(r[0] > 0)))
        return;
    if ((t && (r || !ratio)) || !ratio)
        fail_node(n, STATUS_UNSUPPORTED, "export the model for inference",
                  "Dropout in training mode draws random numbers");
    static const int64_t never[] = { 0 };
    Tensor *some = lower_temp(l, DT_BOOL, ratio->shape),
           *both = lower_temp(l, DT_BOOL, ratio->shape);
    lower_cast(l, n, some, ratio, true, 0);
    lower_nd2(l, n, "logical_and", both, some, training);
    lower_check(l, n, both, 1, (const int64_t *const[]){ never });
}

void lower_dropout(Lower *l, Node *n)
{
    check_dropout(l, n);
    lower_view(l, n, n->out[0], n->in[0], 0);
    if (node_out(n, 1) && n->out[1]->uses)
        lower_fill(l, n, n->out[1], one_of(l, n->out[1]->dtype));
}

/* Constants of shapes. A result that is always constant is folded; its lower function serves only
 * where a pass asks. */

static Recipe *ints_recipe(Node *n, int rank, int64_t count, const int64_t *values)
{
    return recipe_memory(n->graph->store, DT_I64, rank, &count, values);
}

static void lower_folded(Lower *l, Node *n, Recipe *value)
{
    if (!value)
        fail_node(n, STATUS_INTERNAL, NULL, "is no constant");
    lower_copy(l, n, n->out[0], lower_constant(l, value));
}

static void shape_range(const Node *n, int64_t *start, int64_t *end)
{
    const int64_t rank = infer_shape(n, 0)->rank;
    *start = node_int(n, "start", 0);
    *end = node_int(n, "end", rank);
    if (*start < 0)
        *start += rank;
    if (*end < 0)
        *end += rank;
    *start = i64_min(i64_max(*start, 0), rank);
    *end = i64_max(i64_min(i64_max(*end, 0), rank), *start);
}

void infer_shape_op(Node *n)
{
    int64_t start, end;
    shape_range(n, &start, &end);
    infer_out(n, 0, DT_I64, shape_vector(end - start));
}

Recipe *constant_shape(Node *n)
{
    int64_t start, end;
    shape_range(n, &start, &end);
    return ints_recipe(n, 1, end - start, infer_shape(n, 0)->dim + start);
}

void lower_shape(Lower *l, Node *n)
{
    if (tensor_count(n->out[0]))
        lower_folded(l, n, constant_shape(n));
}

void infer_size(Node *n)
{
    infer_shape(n, 0);
    infer_out(n, 0, DT_I64, shape_scalar());
}

Recipe *constant_size(Node *n)
{
    const int64_t count = shape_count(infer_shape(n, 0));
    return ints_recipe(n, 0, 1, &count);
}

void lower_size(Lower *l, Node *n)
{
    lower_folded(l, n, constant_size(n));
}

/* Constant: the value in one of its attribute forms. */
static Recipe *constant_value(const Node *n)
{
    Store *s = n->graph->store;
    const Attr *a;
    if ((a = node_attr(n, "value")) || (a = node_attr(n, "sparse_value")))
        return a->tensor;
    if ((a = node_attr(n, "value_float")))
        return recipe_memory(s, DT_F32, 0, NULL, &a->f);
    if ((a = node_attr(n, "value_int")))
        return recipe_memory(s, DT_I64, 0, NULL, &a->i);
    if ((a = node_attr(n, "value_floats")))
        return a->list ? a->list : recipe_memory(s, DT_F32, 1, &a->n, a->floats);
    if ((a = node_attr(n, "value_ints")))
        return a->list ? a->list : recipe_memory(s, DT_I64, 1, &a->n, a->ints);
    if (node_attr(n, "value_string") || node_attr(n, "value_strings"))
        fail_node(n, STATUS_UNSUPPORTED, "strings stay on the host", "holds strings");
    fail_node(n, STATUS_MALFORMED, NULL, "has no value");
}

static Shape recipe_shape(const Recipe *r)
{
    return shape_of(recipe_rank(r), recipe_dims(r));
}

void infer_constant(Node *n)
{
    const Recipe *r = constant_value(n);
    infer_out(n, 0, recipe_dtype(r), recipe_shape(r));
}

Recipe *constant_constant(Node *n)
{
    return constant_value(n);
}

void lower_constant_op(Lower *l, Node *n)
{
    lower_folded(l, n, constant_value(n));
}

/* ConstantOfShape: attribute `value`, one element; float 0 by default. */
static Recipe *fill_value(const Node *n)
{
    static const float zero = 0.0f;
    const Attr *a = node_attr(n, "value");
    const int64_t one = 1;
    if (!a || !a->tensor)
        return recipe_memory(n->graph->store, DT_F32, 1, &one, &zero);
    if (recipe_count(a->tensor) != 1)
        fail_node(n, STATUS_MALFORMED, NULL, "its value has %lld elements, not one",
                  (long long)recipe_count(a->tensor));
    return recipe_reshape(n->graph->store, a->tensor, 1, &one);
}

/* Dims that are values: each at least `least`. */
static Shape shape_from_ints(const Node *n, int64_t count, const int64_t *dims)
{
    if (count > MAX_RANK)
        fail_node(n, STATUS_UNSUPPORTED, NULL, "its result has more than %d dimensions", MAX_RANK);
    for (int64_t i = 0; i < count; i++)
        if (dims[i] < 0)
            fail_node(n, STATUS_MALFORMED, NULL, "asks for a dimension of %lld",
                      (long long)dims[i]);
    return shape_of((int)count, dims);
}

void infer_constant_of_shape(Node *n)
{
    const DType t = recipe_dtype(fill_value(n));
    int64_t count;
    const int64_t *dims = infer_ints(n, 0, &count);
    if (dims) {
        infer_out(n, 0, t, shape_from_ints(n, count, dims));
        return;
    }
    infer_declared(n, 0, t);
    infer_require(n, 0, n->out[0]->shape.rank == infer_count(n, 0));
}

Recipe *constant_constant_of_shape(Node *n)
{
    const Shape *s = &n->out[0]->shape;
    return recipe_expand(n->graph->store, fill_value(n), s->rank ? s->rank : 1,
                         s->rank ? s->dim : (const int64_t[]){ 1 });
}

void lower_constant_of_shape(Lower *l, Node *n)
{
    Tensor *y = move_target(l, n->out[0]);
    lower_check_dims(l, n, 0, n->out[0]->shape.dim);
    if (tensor_count(y))
        lower_fill(l, n, y, move_source(l, n, lower_constant(l, fill_value(n))));
    move_finish(l, n, n->out[0], y);
}

/* The shape is a value: as declared, each dimension of the input kept unless it is 1. */
static void infer_declared_expand(Node *n, const Shape *in)
{
    infer_declared(n, 0, n->in[0]->dtype);
    const Shape *s = &n->out[0]->shape;
    const int more = s->rank - in->rank;
    bool fits =
        more >= 0 && s->rank >= infer_count(n, 1) && (!more || s->rank == infer_count(n, 1));
    for (int i = 0; fits && i < in->rank; i++)
        fits = in->dim[i] == 1 || in->dim[i] == s->dim[more + i];
    infer_require(n, 0, fits);
}

void infer_expand(Node *n)
{
    int64_t count;
    const Shape *in = infer_shape(n, 0);
    const int64_t *dims = infer_ints(n, 1, &count);
    if (!dims) {
        infer_declared_expand(n, in);
        return;
    }
    const Shape to = shape_from_ints(n, count, dims);
    infer_out(n, 0, n->in[0]->dtype, infer_broadcast(n, in, &to));
}

Recipe *constant_expand(Node *n)
{
    const Shape *s = &n->out[0]->shape;
    return n->in[0]->value ? recipe_expand(n->graph->store, n->in[0]->value, s->rank, s->dim)
                           : NULL;
}

/* Where the shape is a value: the result's dimension, or 1 where the input has it. */
static void check_expand(Lower *l, Node *n)
{
    const Shape *in = &n->in[0]->shape, *to = &n->out[0]->shape;
    if (n->in[1]->value)
        return;
    int64_t one[MAX_RANK];
    const int64_t more = to->rank - tensor_count(n->in[1]), own = to->rank - in->rank;
    for (int64_t i = more; i < to->rank; i++)
        one[i - more] = i >= own && in->dim[i - own] == to->dim[i] ? 1 : to->dim[i];
    lower_check(l, n, n->in[1], 2, (const int64_t *const[]){ to->dim + more, one });
}

void lower_expand(Lower *l, Node *n)
{
    const Shape *to = &n->out[0]->shape;
    check_expand(l, n);
    Tensor *y = move_target(l, n->out[0]), *x = move_source(l, n, n->in[0]);
    Move m = { .rank = to->rank };
    memcpy(m.n, to->dim, sizeof to->dim);
    shape_strides(to, m.y);
    shape_broadcast_strides(&x->shape, to, m.x);
    if (shape_equal(to, &n->in[0]->shape))
        lower_view(l, n, n->out[0], n->in[0], 0);
    else {
        lower_move(l, n, y, x, &m);
        move_finish(l, n, n->out[0], y);
    }
}
