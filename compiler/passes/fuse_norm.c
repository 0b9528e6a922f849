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
    Tensor *x;
    Tensor *mean;  /* NULL: not centred */
    Tensor *scale; /* NULL: none */
    Tensor *bias;  /* NULL: none */
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

/* The same where it is that operator. */
static Node *only_reader_is(const Tensor *tensor, const char *op)
{
    Node *node = only_reader(tensor);
    return node && node_is(node, op) ? node : NULL;
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

/* The axes of a ReduceMean, an attribute or an operand; NULL: all, or not known. */
static const int64_t *given_axes(Graph *graph, const Node *node, int64_t *count)
{
    const Tensor *operand = node_in(node, 1);
    if (operand)
        return tensor_ints(graph, operand, count);
    return node_ints(node, "axes", count);
}

/* ReduceMean that keeps its axes: bits of the axes, 0: not that. */
static unsigned mean_axes(Graph *graph, const Node *node)
{
    const int rank = node->in[0]->shape.rank;
    int64_t count;
    if (!node_int(node, "keepdims", 1))
        return 0;
    if (node->out[0]->shape.rank != rank)
        return 0;
    const int64_t *axes = given_axes(graph, node, &count);
    unsigned bits = 0;
    for (int64_t i = 0; axes && i < count; i++)
        bits |= 1u << node_axis(node, axes[i], rank);
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

/* What a tensor is the square of; NULL: it is none. */
static Tensor *root_of_square(Graph *graph, const Tensor *tensor)
{
    const Node *pow = maker(tensor, "Pow");
    const Node *mul = maker(tensor, "Mul");
    if (pow)
        return is_number(graph, pow->in[1], 2.0) ? pow->in[0] : NULL;
    if (!mul || mul->in[0] != mul->in[1])
        return NULL;
    return mul->in[0];
}

/* The mean of d * d: x, and its mean where d is x - mean (or mean - x). */
static bool set_operand(Graph *graph, const Node *variance, Norm *norm)
{
    Tensor *d = root_of_square(graph, variance->in[0]);
    if (!d)
        return false;
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

/* The exponent of a power of tensor. */
static bool exponent_of(Graph *graph, const Node *node, const Tensor *tensor,
                        double *power)
{
    if (!node_is(node, "Pow") || node->in[0] != tensor)
        return false;
    return number_of(graph, node->in[1], power);
}

/* The root of tensor behind its only reader; *inverse: one over it. NULL: not that. */
static Tensor *root_of(Graph *graph, Tensor *tensor, bool *inverse)
{
    const Node *node = only_reader(tensor);
    double power;
    *inverse = false;
    if (!node)
        return NULL;
    if (exponent_of(graph, node, tensor, &power)) {
        *inverse = power < 0.0;
        const double off = fabs(fabs(power) - 0.5);
        return off < 1e-12 ? node->out[0] : NULL;
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
    const Node *add = only_reader_is(tensor, "Add");
    double epsilon = 0.0;
    if (add && number_of(graph, other(add, tensor), &epsilon))
        tensor = add->out[0];
    norm->epsilon = (float)epsilon;
    return root_of(graph, tensor, inverse);
}

static bool is_normalized(const Norm *norm, int axis)
{
    return norm->one ? axis == norm->axis : axis >= norm->axis;
}

/* A constant that is the same for all places but those on the normalized axes, with their dims. */
static bool is_vector(const Tensor *tensor, const Norm *norm)
{
    const Shape *all = &norm->x->shape;
    if (!tensor || !tensor->value || tensor->dtype != DT_F32)
        return false;
    const int more = all->rank - tensor->shape.rank;
    if (more < 0)
        return false;
    for (int i = more; i < all->rank; i++) {
        const int64_t size = tensor->shape.dim[i - more];
        if (size == 1)
            continue;
        if (!is_normalized(norm, i) || size != all->dim[i])
            return false;
    }
    return true;
}

/* The other operand of node where it is such a constant, else NULL. */
static Tensor *vector_of(const Node *node, const Tensor *tensor,
                         const Norm *norm)
{
    Tensor *vector = other(node, tensor);
    return is_vector(vector, norm) ? vector : NULL;
}

/* x, less its mean where there is one. */
static bool is_operand(const Tensor *tensor, const Norm *norm)
{
    if (norm->mean)
        return is_centred(tensor, norm);
    return tensor == norm->x;
}

/* (x - mean) / s, x / s, or the product with 1 / s. */
static bool find_quotient(const Tensor *s, bool inverse, Norm *norm)
{
    Node *node = only_reader_is(s, inverse ? "Mul" : "Div");
    if (!node || (!inverse && node->in[1] != s))
        return false;
    const Tensor *top = inverse ? other(node, s) : node->in[0];
    if (!is_operand(top, norm))
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
    const Node *scaled = only_reader_is(s, "Mul");
    const Tensor *r = s;
    Node *mul;
    Node *sub;
    if (!inverse || !norm->mean)
        return false;
    if (scaled)
        norm->scale = vector_of(scaled, s, norm);
    if (norm->scale)
        r = scaled->out[0];
    if (!find_products(r, norm, &mul, &sub) || !is_vector(sub->in[0], norm))
        return false;
    norm->bias = sub->in[0];
    norm->last = only_reader_is(mul->out[0], "Add");
    if (!norm->last || other(norm->last, mul->out[0]) != sub->out[0])
        return false;
    return only_reader(sub->out[0]) == norm->last;
}

/* A constant that the operator behind the norm joins to its result, which then is the norm's; NULL:
 * there is none. */
static Tensor *take_vector(Norm *norm, const char *op)
{
    const Tensor *y = norm->last->out[0];
    Node *node = only_reader_is(y, op);
    Tensor *vector = node ? vector_of(node, y, norm) : NULL;
    if (vector)
        norm->last = node;
    return vector;
}

/* The scale and the bias behind it. */
static void extend(Norm *norm)
{
    if (!norm->bias && !norm->scale)
        norm->scale = take_vector(norm, "Mul");
    if (norm->mean && !norm->bias)
        norm->bias = take_vector(norm, "Add");
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
    for (int i = 0; i < shape->rank; i++)
        whole[i] = is_normalized(norm, i) ? shape->dim[i] : 1;
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

static bool can_replace(const Graph *graph, const Norm *norm)
{
    const Tensor *x = norm->x;
    const Tensor *y = norm->last->out[0];
    if (norm->last->graph != graph || x->dynamic || y->dynamic)
        return false;
    if (norm->one && graph_is_output(graph, y))
        return false;
    return shape_equal(&y->shape, &x->shape);
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
    if (can_replace(g, &norm))
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
