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
    int axis;             /* the first, of all to the end; or with `one` the only one */
    bool one;
    float epsilon;
    Node *last; /* makes the result */
} Norm;

static Node *maker(const Tensor *t, const char *op)
{
    Node *n = t && !t->value ? t->producer : NULL;
    return n && !n->dead && node_is(n, op) ? n : NULL;
}

static Node *only_reader(const Tensor *t)
{
    return t->uses == 1 && t->use ? t->use->node : NULL;
}

static bool number_of(Graph *g, const Tensor *t, double *v)
{
    int64_t count;
    if (!t || !t->value || tensor_count(t) != 1)
        return false;
    const double *values = tensor_doubles(g, t, &count);
    if (values)
        *v = *values;
    return values != NULL;
}

static bool is_number(Graph *g, const Tensor *t, double want)
{
    double v;
    return number_of(g, t, &v) && fabs(v - want) < 1e-12;
}

/* The operand of n that is not t. */
static Tensor *other(const Node *n, const Tensor *t)
{
    return n->in[n->in[0] == t ? 1 : 0];
}

/* ReduceMean that keeps its axes: bits of the axes, 0: not that. */
static unsigned mean_axes(Graph *g, const Node *n)
{
    const Shape *s = &n->in[0]->shape;
    int64_t count;
    if (!node_int(n, "keepdims", 1) || n->out[0]->shape.rank != s->rank)
        return 0;
    const int64_t *axes =
        node_in(n, 1) ? tensor_ints(g, n->in[1], &count) : node_ints(n, "axes", &count);
    unsigned bits = 0;
    for (int64_t i = 0; axes && i < count; i++)
        bits |= 1u << node_axis(n, axes[i], s->rank);
    return bits;
}

static bool set_axes(Graph *g, const Node *mean, Norm *m)
{
    const int rank = mean->in[0]->shape.rank;
    const unsigned bits = mean_axes(g, mean), all = (1u << rank) - 1;
    if (!bits)
        return false;
    m->axis = 0;
    while (!(bits >> m->axis & 1))
        m->axis++;
    m->one = bits != (all & ~((1u << m->axis) - 1));
    return !m->one || (bits == 2 && rank > 2);
}

static bool same_axes(Graph *g, const Tensor *mean, const Tensor *x, unsigned bits)
{
    const Node *n = maker(mean, "ReduceMean");
    return n && n->in[0] == x && mean_axes(g, n) == bits;
}

static bool is_centred(const Tensor *d, const Norm *m)
{
    const Node *sub = maker(d, "Sub");
    return sub && sub->in[0] == m->x && sub->in[1] == m->mean;
}

/* The mean of d * d: x, and its mean where d is x - mean (or mean - x). */
static bool set_operand(Graph *g, const Node *variance, Norm *m)
{
    const Node *pow = maker(variance->in[0], "Pow"), *mul = maker(variance->in[0], "Mul");
    if (pow ? !is_number(g, pow->in[1], 2.0) : !mul || mul->in[0] != mul->in[1])
        return false;
    Tensor *d = pow ? pow->in[0] : mul->in[0];
    const Node *sub = maker(d, "Sub");
    const unsigned bits = mean_axes(g, variance);
    m->x = d;
    m->mean = NULL;
    for (int i = 0; sub && i < 2; i++)
        if (same_axes(g, sub->in[1 - i], sub->in[i], bits)) {
            m->x = sub->in[i];
            m->mean = sub->in[1 - i];
        }
    return m->x->dtype == DT_F32;
}

/* Behind the variance: + epsilon, then a root; *inverse: one over it. NULL: not that. */
static Tensor *deviation(Graph *g, Tensor *variance, Norm *m, bool *inverse)
{
    Tensor *t = variance;
    Node *n = only_reader(t);
    double epsilon = 0.0, v;
    *inverse = false;
    if (n && node_is(n, "Add") && number_of(g, other(n, t), &epsilon))
        t = n->out[0], n = only_reader(t);
    m->epsilon = (float)epsilon;
    if (!n)
        return NULL;
    if (node_is(n, "Pow") && n->in[0] == t && number_of(g, n->in[1], &v)) {
        *inverse = v < 0.0;
        return fabs(fabs(v) - 0.5) < 1e-12 ? n->out[0] : NULL;
    }
    if (!node_is(n, "Sqrt"))
        return NULL;
    t = n->out[0];
    n = only_reader(t);
    if (n && (node_is(n, "Reciprocal") || (node_is(n, "Div") && is_number(g, n->in[0], 1.0)))) {
        *inverse = true;
        t = n->out[0];
    }
    return t;
}

/* A constant that is the same for all places but those on the normalized axes, with their dims. */
static bool is_vector(const Tensor *t, const Norm *m)
{
    if (!t || !t->value || t->dtype != DT_F32 || t->shape.rank > m->x->shape.rank)
        return false;
    const int more = m->x->shape.rank - t->shape.rank;
    for (int i = 0; i < m->x->shape.rank; i++) {
        const int64_t d = i < more ? 1 : t->shape.dim[i - more];
        const bool normalized = m->one ? i == m->axis : i >= m->axis;
        if (d != 1 && (!normalized || d != m->x->shape.dim[i]))
            return false;
    }
    return true;
}

/* (x - mean) / s, x / s, or the product with 1 / s. */
static bool find_quotient(const Tensor *s, bool inverse, Norm *m)
{
    Node *n = only_reader(s);
    if (!n || !node_is(n, inverse ? "Mul" : "Div") || (!inverse && n->in[1] != s))
        return false;
    const Tensor *top = inverse ? other(n, s) : n->in[0];
    if (m->mean ? !is_centred(top, m) : top != m->x)
        return false;
    m->last = n;
    return true;
}

/* x * r + (bias - mean * r), where r = scale / s. */
static bool find_folded(Tensor *s, bool inverse, Norm *m)
{
    Node *n = only_reader(s), *mul = NULL, *sub = NULL;
    if (!inverse || !m->mean)
        return false;
    if (n && node_is(n, "Mul") && is_vector(other(n, s), m)) {
        m->scale = other(n, s);
        s = n->out[0];
    }
    if (s->uses != 2)
        return false;
    for (const Use *u = s->use; u; u = u->next) {
        if (!node_is(u->node, "Mul"))
            return false;
        const Tensor *t = other(u->node, s);
        if (t == m->x)
            mul = u->node;
        else if (t == m->mean)
            sub = only_reader(u->node->out[0]);
    }
    if (!mul || !sub || !node_is(sub, "Sub") || !is_vector(sub->in[0], m))
        return false;
    m->bias = sub->in[0];
    m->last = only_reader(mul->out[0]);
    return m->last && node_is(m->last, "Add") && other(m->last, mul->out[0]) == sub->out[0] &&
           only_reader(sub->out[0]) == m->last;
}

/* The scale and the bias behind it. */
static void extend(Norm *m)
{
    Tensor *y = m->last->out[0];
    Node *n = only_reader(y);
    if (!m->bias && !m->scale && n && node_is(n, "Mul") && is_vector(other(n, y), m)) {
        m->scale = other(n, y);
        m->last = n;
        y = n->out[0];
        n = only_reader(y);
    }
    if (m->mean && !m->bias && n && node_is(n, "Add") && is_vector(other(n, y), m)) {
        m->bias = other(n, y);
        m->last = n;
    }
}

/* The vector as an operand of the new node: its dims are those that are normalized. */
static Tensor *vector(Graph *g, const Norm *m, const Tensor *t, float otherwise)
{
    const Shape *s = &m->x->shape;
    const int rank = m->one ? 1 : s->rank - m->axis;
    if (!t)
        return graph_add_constant(
            g, NULL, recipe_fill(g->store, DT_F32, rank, s->dim + m->axis, &otherwise));
    int64_t whole[MAX_RANK];
    for (int i = 0; i < s->rank; i++)
        whole[i] = (m->one ? i == m->axis : i >= m->axis) ? s->dim[i] : 1;
    return graph_add_constant(g, NULL,
                              recipe_reshape(g->store,
                                             recipe_expand(g->store, t->value, s->rank, whole),
                                             rank, s->dim + m->axis));
}

static void rewrite(Graph *g, const Norm *m)
{
    Node *n = m->last;
    Tensor *y = n->out[0], *in[3] = { m->x, vector(g, m, m->scale, 1.0f),
                                      m->bias ? vector(g, m, m->bias, 0.0f) : NULL };
    const char *op = m->mean ? "LayerNormalization" : "RMSNormalization";
    const int rank = y->shape.rank;
    if (m->one) {
        int last[MAX_RANK], back[MAX_RANK];
        for (int i = 0; i < rank; i++)
            last[i] = i == 0 ? 0 : i == rank - 1 ? 1 : i + 1, back[last[i]] = i;
        in[0] = insert_transpose(g, n, m->x, last);
        Tensor *turned = graph_add_tensor(g, NULL, y->dtype, in[0]->shape);
        Node *made = graph_insert_node(g, n, "", op, m->bias ? 3 : 2, in, 1, &turned);
        graph_replace(g, y, insert_transpose(g, n, turned, back));
        n = made;
    } else {
        node_set_op(n, "", op);
        node_set_inputs(n, m->bias ? 3 : 2, in);
        n->n_attr = 0;
    }
    node_set_int(n, "axis", m->one ? rank - 1 : m->axis);
    node_set_float(n, "epsilon", m->epsilon);
    n->version = OPSET_NEWEST;
    n->op = op_find("", op, OPSET_NEWEST);
}

static void try_fuse(Graph *g, Node *variance)
{
    Norm m = { .x = NULL };
    bool inverse;
    if (!set_axes(g, variance, &m) || !set_operand(g, variance, &m))
        return;
    Tensor *s = deviation(g, variance->out[0], &m, &inverse);
    if (!s || (!find_quotient(s, inverse, &m) && !find_folded(s, inverse, &m)))
        return;
    extend(&m);
    const Tensor *y = m.last->out[0];
    if (m.last->graph != g || !shape_equal(&y->shape, &m.x->shape) || y->dynamic || m.x->dynamic ||
        (m.one && graph_is_output(g, y)))
        return;
    rewrite(g, &m);
}

void pass_fuse_norm(Graph *g)
{
    const size_t count = g->node.n;
    for (size_t i = 0; i < count; i++) {
        Node *n = g->node.at[i];
        if (!n->dead && node_is(n, "ReduceMean") && n->in[0]->dtype == DT_F32)
            try_fuse(g, n);
    }
    graph_sort(g);
    pass_dead(g);
}
