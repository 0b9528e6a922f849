/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/expand.h"

#include "base/size.h"
#include "ops/families.h"

static Node *make(const Node *at, const char *domain, const char *op, int n_in,
                  Tensor *const *in, int n_out)
{
    Graph *g = at->graph;
    Tensor **out = NEW_ARRAY(g->arena, Tensor *, n_out);
    for (int i = 0; i < n_out; i++)
        out[i] = graph_add_tensor(g, NULL, DT_NONE, (Shape){ .rank = -1 });
    Node *node = graph_insert_node(g, at, domain, op, n_in, in, n_out, out);
    node->version = *domain ? 1 : OPSET_NEWEST;
    return node;
}

Node *expand_node(const Node *at, const char *op, int n_in, Tensor *const *in,
                  int n_out)
{
    return make(at, "", op, n_in, in, n_out);
}

Node *expand_list(const Node *at, const char *op, int n_in, Tensor *const *in)
{
    while (n_in && !in[n_in - 1])
        n_in--;
    return expand_node(at, op, n_in, in, 1);
}

Node *expand_inlay_node(const Node *at, const char *op, int n_in,
                        Tensor *const *in, int n_out)
{
    return make(at, "inlay", op, n_in, in, n_out);
}

bool expand_reads(const Node *at, int i)
{
    const Tensor *result = node_out(at, i);
    return result && result->uses;
}

Tensor *expand_done(Node *made)
{
    Tensor *out = made->out[0];
    graph_root(made->graph)->infer_node(made);
    return out;
}

void expand_copy_attrs(Node *made, const Node *at)
{
    made->attr = arena_copy(at->graph->arena, at->attr,
                            (size_t)at->n_attr * sizeof *at->attr);
    made->n_attr = at->n_attr;
}

Tensor *expand_unary(const Node *at, const char *op, Tensor *a)
{
    return expand_op(at, op, a);
}

Tensor *expand_binary(const Node *at, const char *op, Tensor *a, Tensor *b)
{
    return expand_op(at, op, a, b);
}

Tensor *expand_add(const Node *at, Tensor *a, Tensor *b)
{
    return expand_binary(at, "Add", a, b);
}

Tensor *expand_sub(const Node *at, Tensor *a, Tensor *b)
{
    return expand_binary(at, "Sub", a, b);
}

Tensor *expand_mul(const Node *at, Tensor *a, Tensor *b)
{
    return expand_binary(at, "Mul", a, b);
}

Tensor *expand_div(const Node *at, Tensor *a, Tensor *b)
{
    return expand_binary(at, "Div", a, b);
}

Tensor *expand_matmul(const Node *at, Tensor *a, Tensor *b)
{
    return expand_binary(at, "MatMul", a, b);
}

Tensor *expand_cast(const Node *at, Tensor *tensor, DType to)
{
    if (!tensor || tensor->dtype == to)
        return tensor;
    Node *node = expand_of(at, "Cast", tensor);
    node_set_int(node, "to", to);
    return expand_done(node);
}

void expand_operand(Node *at, int i, DType to)
{
    node_set_input(at, i, expand_cast(at, at->in[i], to));
}

void expand_like_first(Node *at)
{
    const DType x = node_type(at);
    const DType type = dtype_is_small_float(x) ? DT_F32 : x;
    for (int i = 1; i < at->n_in; i++) {
        const Tensor *tensor = at->in[i];
        if (!tensor || tensor->dtype == type)
            continue;
        if (type == DT_F64 || tensor->dtype == DT_F64)
            expand_operand(at, i, type);
    }
}

Tensor *expand_reshape(const Node *at, Tensor *tensor, int rank,
                       const int64_t *dims)
{
    const Shape s = shape_of(rank, dims);
    Tensor *operand[2] = { tensor, NULL };
    if (shape_equal(&tensor->shape, &s))
        return tensor;
    operand[1] = expand_i64s(at, rank, dims);
    Node *node = expand_node(at, "Reshape", 2, operand, 1);
    node_set_int(node, "allowzero", 1);
    return expand_done(node);
}

Tensor *expand_unsqueeze(const Node *at, Tensor *tensor, int axis)
{
    infer_rank(at, tensor->shape.rank + 1);
    Shape s = { .rank = tensor->shape.rank + 1 };
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = i == axis ? 1 : tensor->shape.dim[i - (i > axis)];
    return expand_reshape(at, tensor, s.rank, s.dim);
}

Tensor *expand_transpose(const Node *at, Tensor *tensor, const int64_t *perm)
{
    Node *node = expand_of(at, "Transpose", tensor);
    node_set_ints(node, "perm", tensor->shape.rank, perm);
    return expand_done(node);
}

Tensor *expand_turn(const Node *at, Tensor *matrix)
{
    static const int64_t perm[] = { 1, 0 };
    return expand_transpose(at, matrix, perm);
}

Tensor *expand_where(const Node *at, Tensor *condition, Tensor *a, Tensor *b)
{
    return expand_op(at, "Where", condition, a, b);
}

Tensor *expand_softmax_along(const Node *at, Tensor *tensor, int axis)
{
    Node *softmax = expand_of(at, "Softmax", tensor);
    node_set_int(softmax, "axis", axis);
    return expand_done(softmax);
}

Tensor *expand_softmax(const Node *at, Tensor *tensor)
{
    return expand_softmax_along(at, tensor, -1);
}

Tensor *expand_flat_softmax(const Node *at, Tensor *tensor, int axis)
{
    const Shape shape = tensor->shape;
    int64_t dims[2] = { 1, 1 };
    for (int i = 0; i < shape.rank; i++) {
        int64_t *dim = dims + (i >= axis);
        *dim = i64_mul(*dim, shape.dim[i]);
    }
    Tensor *flat = expand_reshape(at, tensor, 2, dims);
    Tensor *share = expand_softmax_along(at, flat, 1);
    return expand_reshape(at, share, shape.rank, shape.dim);
}

Tensor *expand_square(const Node *at, Tensor *tensor)
{
    return expand_mul(at, tensor, tensor);
}

Tensor *expand_gather(const Node *at, Tensor *tensor, Tensor *index, int axis)
{
    Node *gather = expand_of(at, "Gather", tensor, index);
    if (axis)
        node_set_int(gather, "axis", axis);
    return expand_done(gather);
}

Tensor *expand_concat(const Node *at, Tensor *a, Tensor *b, int axis)
{
    Node *concat = expand_of(at, "Concat", a, b);
    node_set_int(concat, "axis", axis);
    return expand_done(concat);
}

Tensor *expand_scaled(const Node *at, Tensor *tensor, double factor)
{
    Tensor *number = expand_number(at, factor, tensor->dtype);
    return expand_mul(at, tensor, number);
}

Tensor *expand_times_alpha(const Node *at, Tensor *tensor)
{
    const float alpha = node_float(at, "alpha", 1.0f);
    if (alpha < 1.0f || alpha > 1.0f)
        return expand_scaled(at, tensor, (double)alpha);
    return tensor;
}

Tensor *expand_slice(const Node *at, Tensor *tensor, int axis, int64_t from,
                     int64_t to)
{
    if (from == 0 && to == tensor->shape.dim[axis])
        return tensor;
    Tensor *starts = expand_i64(at, from);
    Tensor *ends = expand_i64(at, to);
    Tensor *axes = expand_i64(at, axis);
    return expand_op(at, "Slice", tensor, starts, ends, axes);
}

Tensor *expand_number(const Node *at, double value, DType type)
{
    Store *s = at->graph->store;
    return graph_add_constant(
        at->graph, NULL,
        recipe_cast(s, recipe_memory(s, DT_F64, 0, NULL, &value), type));
}

Tensor *expand_floats(const Node *at, int64_t n, const float *values)
{
    return graph_add_constant(
        at->graph, NULL,
        recipe_memory(at->graph->store, DT_F32, 1, &n, values));
}

Tensor *expand_i64s(const Node *at, int64_t n, const int64_t *values)
{
    return graph_add_ints(at->graph, NULL, n, values);
}

Tensor *expand_i64(const Node *at, int64_t value)
{
    return expand_i64s(at, 1, &value);
}

/* `made` becomes the value of `old`, whose name it takes. */
static void take(Graph *g, const Node *at, Tensor *old, Tensor *made)
{
    old->dtype = made->dtype;
    old->shape = made->shape;
    infer_same_sizes(old, made);
    if (made->value) {
        old->value = made->value;
        old->folded = made->folded;
    } else if (made->producer && made->producer->graph == g &&
               made->producer->version && !made->listed)
        graph_take_name(g, old, made);
    else {
        Node *node =
            graph_insert_node(g, at, "", "Identity", 1, &made, 1, &old);
        node->version = OPSET_NEWEST;
        graph_root(g)->infer_node(node);
    }
}

void expand_finish(Node *at, int n, Tensor *const *result)
{
    Graph *g = at->graph;
    Tensor **out =
        arena_copy(g->arena, at->out, (size_t)at->n_out * sizeof *out);
    graph_kill(at);
    for (int i = 0; i < at->n_out; i++)
        if (out[i] && i < n && result[i])
            take(g, at, out[i], result[i]);
        else if (out[i] && out[i]->uses)
            fail_node(at, STATUS_UNSUPPORTED, NULL,
                      "its result %d, \"%s\", is not supported", i,
                      out[i]->name);
}

void expand_finish_one(Node *at, Tensor *result)
{
    expand_finish(at, 1, &result);
}

void lower_expanded(Lower *lower, Node *node)
{
    (void)lower;
    fail_node(node, STATUS_INTERNAL, NULL, "was not expanded");
}
