/* SPDX-License-Identifier: Apache-2.0
 * Layer and root-mean-square normalizations spelt with ReduceMean, Sub, Pow, Sqrt and Div (or, as
 * TensorFlow writes them, with Rsqrt and a folded scale) become LayerNormalization or
 * RMSNormalization. Over axis 1 of an image they do so between two transpositions, which the layout
 * pass takes away. Requires: types and shapes; no common subexpressions. Ensures: same results but
 * for rounding. */
#include <math.h>
#include <string.h>

#include "ops/ops.h"
#include "passes/passes.h"

typedef struct Norm {
    Tensor *x, *mean;     /* mean NULL: not centred */
    Tensor *scale, *bias; /* NULL: none */
    int axis; /* the first, of all to the end; or with `one` the only one */
    bool one;
    float epsilon;
    Node *last; /* makes the result */
} Norm;

static Node *maker(const Tensor *tensor, const char *op)
{
    Node *node = tensor && !tensor->value ? tensor->producer : NULL;
    return node && !node->dead && node_is(node, op) ? node : NULL;
}

static Node *only_reader(const Tensor *tensor)
{
    return tensor->uses == 1 && tensor->use ? tensor->use->node : NULL;
}

static bool number_of(Graph *graph, const Tensor *tensor, double *v)
{
    int64_t count;
    if (!tensor || !tensor->value || tensor_count(tensor) != 1)
        return false;
    const double *values = tensor_doubles(graph, tensor, &count);
    if (values)
        *v = *values;
    return values != NULL;
}

static bool is_number(Graph *graph, const Tensor *tensor, double want)
{
    double v;
    return number_of(graph, tensor, &v) && fabs(v - want) < 1e-12;
}

/* The operand of node that is not tensor. */
static Tensor *other(const Node *node, const Tensor *tensor)
{
    return node->in[node->in[0] == tensor ? 1 : 0];
}

/* ReduceMean that keeps its axes: bits of the axes, 0: not that. */
static unsigned mean_axes(Graph *graph, const Node *node)
{
    const Shape *s = &node->in[0]->shape;
    int64_t count;
    if (!node_int(node, "keepdims", 1) || node->out[0]->shape.rank != s->rank)
        return 0;
    const int64_t *axes = node_in(node, 1)
                              ? tensor_ints(graph, node->in[1], &count)
                              : node_ints(node, "axes", &count);
    unsigned bits = 0;
    for (int64_t i = 0; axes && i < count; i++)
        bits |= 1u << node_axis(node, axes[i], s->rank);
    return bits;
}

static bool set_axes(Graph *graph, const Node *mean, Norm *norm)
{
    const int rank = mean->in[0]->shape.rank;
    const unsigned bits = mean_axes(graph, mean);
    const unsigned all = (1u << rank) - 1;
    if (!bits)
        return false;
    norm->axis = 0;
    while (!(bits >> norm->axis & 1))
        norm->axis++;
    norm->one = bits != (all & ~((1u << norm->axis) - 1));
    return !norm->one || (bits == 2 && rank > 2);
}

static bool same_axes(Graph *graph, const Tensor *mean, const Tensor *x,
                      unsigned bits)
{
    const Node *node = maker(mean, "ReduceMean");
    return node && node->in[0] == x && mean_axes(graph, node) == bits;
}

static bool is_centred(const Tensor *d, const Norm *norm)
{
    const Node *sub = maker(d, "Sub");
    return sub && sub->in[0] == norm->x && sub->in[1] == norm->mean;
}

/* The mean of d * d: x, and its mean where d is x - mean (or mean - x). */
static bool set_operand(Graph *graph, const Node *variance, Norm *norm)
{
    const Node *pow = maker(variance->in[0], "Pow");
    const Node *mul = maker(variance->in[0], "Mul");
    if (pow ? !is_number(graph, pow->in[1], 2.0)
            : !mul || mul->in[0] != mul->in[1])
        return false;
    Tensor *d = pow ? pow->in[0] : mul->in[0];
    const Node *sub = maker(d, "Sub");
    const unsigned bits = mean_axes(graph, variance);
    norm->x = d;
    norm->mean = NULL;
    for (int i = 0; sub && i < 2; i++)
        if (same_axes(graph, sub->in[1 - i], sub->in[i], bits)) {
            norm->x = sub->in[i];
            norm->mean = sub->in[1 - i];
        }
    return norm->x->dtype == DT_F32;
}

/* Is node one over a value? */
static bool is_inverse(Graph *graph, const Node *node)
{
    return node_is(node, "Reciprocal") ||
           (node_is(node, "Div") && is_number(graph, node->in[0], 1.0));
}

/* The root of tensor behind its only reader; *inverse: one over it. NULL: not that. */
static Tensor *root_of(Graph *graph, Tensor *tensor, bool *inverse)
{
    const Node *node = only_reader(tensor);
    double power;
    *inverse = false;
    if (!node)
        return NULL;
    if (node_is(node, "Pow") && node->in[0] == tensor &&
        number_of(graph, node->in[1], &power)) {
        *inverse = power < 0.0;
        return fabs(fabs(power) - 0.5) < 1e-12 ? node->out[0] : NULL;
    }
    if (!node_is(node, "Sqrt"))
        return NULL;
    const Node *reader = only_reader(node->out[0]);
    *inverse = reader && is_inverse(graph, reader);
    return *inverse ? reader->out[0] : node->out[0];
}

/* Behind the variance: + epsilon, then a root; *inverse: one over it. NULL: not that. */
static Tensor *deviation(Graph *graph, Tensor *variance, Norm *norm,
                         bool *inverse)
{
    Tensor *tensor = variance;
    const Node *node = only_reader(tensor);
    double epsilon = 0.0;
    if (node && node_is(node, "Add") &&
        number_of(graph, other(node, tensor), &epsilon))
        tensor = node->out[0];
    norm->epsilon = (float)epsilon;
    return root_of(graph, tensor, inverse);
}

/* A constant that is the same for all places but those on the normalized axes, with their dims. */
static bool is_vector(const Tensor *tensor, const Norm *norm)
{
    if (!tensor || !tensor->value || tensor->dtype != DT_F32 ||
        tensor->shape.rank > norm->x->shape.rank)
        return false;
    const int more = norm->x->shape.rank - tensor->shape.rank;
    for (int i = 0; i < norm->x->shape.rank; i++) {
        const int64_t d = i < more ? 1 : tensor->shape.dim[i - more];
        const bool normalized = norm->one ? i == norm->axis : i >= norm->axis;
        if (d != 1 && (!normalized || d != norm->x->shape.dim[i]))
            return false;
    }
    return true;
}

/* (x - mean) / s, x / s, or the product with 1 / s. */
static bool find_quotient(const Tensor *s, bool inverse, Norm *norm)
{
    Node *node = only_reader(s);
    if (!node || !node_is(node, inverse ? "Mul" : "Div") ||
        (!inverse && node->in[1] != s))
        return false;
    const Tensor *top = inverse ? other(node, s) : node->in[0];
    if (norm->mean ? !is_centred(top, norm) : top != norm->x)
        return false;
    norm->last = node;
    return true;
}

/* The two products of r: with x, and with its mean, of which the Sub is the only reader. */
static bool find_products(const Tensor *r, const Norm *norm, Node **mul,
                          Node **sub)
{
    *mul = NULL;
    *sub = NULL;
    if (r->uses != 2)
        return false;
    for (const Use *u = r->use; u; u = u->next) {
        if (!node_is(u->node, "Mul"))
            return false;
        const Tensor *factor = other(u->node, r);
        if (factor == norm->x)
            *mul = u->node;
        else if (factor == norm->mean)
            *sub = only_reader(u->node->out[0]);
    }
    return *mul && *sub && node_is(*sub, "Sub");
}

/* x * r + (bias - mean * r), where r = scale / s. */
static bool find_folded(Tensor *s, bool inverse, Norm *norm)
{
    const Node *scaled = only_reader(s);
    const Tensor *r = s;
    Node *mul;
    Node *sub;
    if (!inverse || !norm->mean)
        return false;
    if (scaled && node_is(scaled, "Mul") && is_vector(other(scaled, s), norm)) {
        norm->scale = other(scaled, s);
        r = scaled->out[0];
    }
    if (!find_products(r, norm, &mul, &sub) || !is_vector(sub->in[0], norm))
        return false;
    norm->bias = sub->in[0];
    norm->last = only_reader(mul->out[0]);
    return norm->last && node_is(norm->last, "Add") &&
           other(norm->last, mul->out[0]) == sub->out[0] &&
           only_reader(sub->out[0]) == norm->last;
}

/* The scale and the bias behind it. */
static void extend(Norm *norm)
{
    Tensor *y = norm->last->out[0];
    Node *node = only_reader(y);
    if (!norm->bias && !norm->scale && node && node_is(node, "Mul") &&
        is_vector(other(node, y), norm)) {
        norm->scale = other(node, y);
        norm->last = node;
        y = node->out[0];
        node = only_reader(y);
    }
    if (norm->mean && !norm->bias && node && node_is(node, "Add") &&
        is_vector(other(node, y), norm)) {
        norm->bias = other(node, y);
        norm->last = node;
    }
}

/* The vector as an operand of the new node: its dims are those that are normalized. */
static Tensor *vector(Graph *graph, const Norm *norm, const Tensor *tensor,
                      float otherwise)
{
    const Shape *shape = &norm->x->shape;
    const int64_t *dims = shape->dim + norm->axis;
    const int rank = norm->one ? 1 : shape->rank - norm->axis;
    Store *store = graph->store;
    if (!tensor) {
        Recipe *same = recipe_fill(store, DT_F32, rank, dims, &otherwise);
        return graph_add_constant(graph, NULL, same);
    }
    int64_t whole[MAX_RANK];
    for (int i = 0; i < shape->rank; i++) {
        const bool normalized = norm->one ? i == norm->axis : i >= norm->axis;
        whole[i] = normalized ? shape->dim[i] : 1;
    }
    Recipe *recipe = recipe_expand(store, tensor->value, shape->rank, whole);
    recipe = recipe_reshape(store, recipe, rank, dims);
    return graph_add_constant(graph, NULL, recipe);
}

/* The normalized axis becomes the last one; the node made works on the transposed tensor. */
static Node *insert_turned(Graph *graph, const Norm *norm, const char *op,
                           int n_in, Tensor **in)
{
    Node *node = norm->last;
    Tensor *y = node->out[0];
    const int rank = y->shape.rank;
    int last[MAX_RANK], back[MAX_RANK];
    for (int i = 1; i < rank; i++)
        last[i] = i + 1;
    last[rank - 1] = 1;
    last[0] = 0;
    for (int i = 0; i < rank; i++)
        back[last[i]] = i;
    in[0] = insert_transpose(graph, node, norm->x, last);
    Tensor *turned = graph_add_tensor(graph, NULL, y->dtype, in[0]->shape);
    Node *made = graph_insert_node(graph, node, "", op, n_in, in, 1, &turned);
    graph_replace(graph, y, insert_transpose(graph, node, turned, back));
    return made;
}

static void rewrite(Graph *graph, const Norm *norm)
{
    const char *op = norm->mean ? "LayerNormalization" : "RMSNormalization";
    const int n_in = norm->bias ? 3 : 2;
    const int rank = norm->last->out[0]->shape.rank;
    Node *node = norm->last;
    Tensor *in[3] = { norm->x, NULL, NULL };
    in[1] = vector(graph, norm, norm->scale, 1.0f);
    if (norm->bias)
        in[2] = vector(graph, norm, norm->bias, 0.0f);
    if (norm->one) {
        node = insert_turned(graph, norm, op, n_in, in);
    } else {
        node_set_op(node, "", op);
        node_set_inputs(node, n_in, in);
        node->n_attr = 0;
    }
    node_set_int(node, "axis", norm->one ? rank - 1 : norm->axis);
    node_set_float(node, "epsilon", norm->epsilon);
    node->version = OPSET_NEWEST;
    node->op = op_find("", op, OPSET_NEWEST);
}

static void try_fuse(Graph *g, Node *variance)
{
    Norm norm = { .x = NULL };
    bool inverse;
    if (!set_axes(g, variance, &norm) || !set_operand(g, variance, &norm))
        return;
    Tensor *s = deviation(g, variance->out[0], &norm, &inverse);
    if (!s ||
        (!find_quotient(s, inverse, &norm) && !find_folded(s, inverse, &norm)))
        return;
    extend(&norm);
    const Tensor *y = norm.last->out[0];
    if (norm.last->graph != g || !shape_equal(&y->shape, &norm.x->shape) ||
        y->dynamic || norm.x->dynamic || (norm.one && graph_is_output(g, y)))
        return;
    rewrite(g, &norm);
}

void pass_fuse_norm(Graph *graph)
{
    const size_t count = graph->node.n;
    for (size_t i = 0; i < count; i++) {
        Node *n = graph->node.at[i];
        if (!n->dead && node_is(n, "ReduceMean") && n->in[0]->dtype == DT_F32)
            try_fuse(graph, n);
    }
    graph_sort(graph);
    pass_dead(graph);
}
