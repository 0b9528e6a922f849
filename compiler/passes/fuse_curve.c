/* SPDX-License-Identifier: Apache-2.0
 * Activations that a file spells with several operators (x * clip(x + 3, 0, 6) / 6, x / 2 * (1 +
 * erf(x / 1.414))) become the one operator that computes them; scalar factors and summands in a row
 * become one; what does nothing goes.
 *
 * From each elementwise node the part of the graph behind it is followed while it is a function of
 * one value that nothing else reads; passes/curve.c tells which. Bounded work a node. Requires:
 * types and shapes. Ensures: same results but for rounding. */
#include <math.h>

#include "ops/ops.h"
#include "passes/curve.h"
#include "passes/passes.h"

enum { MOST_OPEN = 4, MOST_READERS = 8 };

/* Scalar constants, read once each: by tensor id. */
typedef struct Numbers {
    double *value;
    signed char *state; /* 0: not looked at, 1: a number, -1: none */
    int n;
} Numbers;

typedef struct Region {
    Node *node[CURVE_STEPS];     /* consumers first */
    CurveStep step[CURVE_STEPS]; /* what they do */
    int n, bends;
    Tensor *open[MOST_OPEN]; /* what its nodes read and none of them makes */
    int n_open;
} Region;

static bool number_of(Graph *g, Numbers *c, const Tensor *t, double *value)
{
    if (!t->value || tensor_count(t) != 1)
        return false;
    if (t->id < c->n && c->state[t->id]) {
        *value = c->value[t->id];
        return c->state[t->id] > 0;
    }
    int64_t count;
    const double *v = tensor_doubles(g, t, &count);
    if (t->id < c->n) {
        c->state[t->id] = v ? 1 : -1;
        c->value[t->id] = v ? *v : 0.0;
    }
    if (v)
        *value = *v;
    return v != NULL;
}

static bool in_region(const Region *r, const Node *n)
{
    for (int i = 0; i < r->n; i++)
        if (r->node[i] == n)
            return true;
    return false;
}

/* Does only the region read t? */
static bool is_inside(const Region *r, const Tensor *t)
{
    if (t->uses > MOST_READERS)
        return false;
    int readers = 0;
    for (const Use *u = t->use; u; u = u->next, readers++)
        if (!in_region(r, u->node))
            return false;
    return readers == t->uses;
}

/* Is n an operator of a curve whose values are like y, with no other constants than numbers? */
static bool is_step(Graph *g, Numbers *c, const Node *n, const Tensor *y, CurveStep *s)
{
    if (n->dead || n->graph != g || !curve_op(n, s))
        return false;
    if (n->out[0]->dtype != y->dtype && n->out[0]->dtype != DT_BOOL)
        return false;
    if (!shape_equal(&n->out[0]->shape, &y->shape) || n->out[0]->dynamic != y->dynamic)
        return false;
    for (int i = 0; i < n->n_in; i++) {
        double v;
        const Tensor *t = n->in[i];
        if (!t)
            return false;
        if (t->value ? !number_of(g, c, t, &v) : !shape_equal(&t->shape, &y->shape))
            return false;
    }
    return true;
}

static bool add_node(Region *r, Node *n, const CurveStep *s)
{
    r->step[r->n] = *s;
    r->node[r->n++] = n;
    r->bends += s->bends;
    if (r->bends > CURVE_BENDS)
        return false;
    for (int i = 0; i < n->n_in; i++) {
        Tensor *t = n->in[i];
        bool known = t->value != NULL;
        for (int k = 0; k < r->n_open; k++)
            known = known || r->open[k] == t;
        if (known)
            continue;
        if (r->n_open == MOST_OPEN)
            return false;
        r->open[r->n_open++] = t;
    }
    return true;
}

/* Takes in the node that made the newest of the open values; false where it cannot. */
static bool grow(Graph *g, Numbers *c, Region *r)
{
    int newest = -1;
    for (int i = 0; i < r->n_open; i++) {
        const Node *p = r->open[i]->producer;
        if (p && (newest < 0 || p->order > r->open[newest]->producer->order))
            newest = i;
    }
    if (newest < 0)
        return false;
    Tensor *t = r->open[newest];
    CurveStep s;
    if (r->n == CURVE_STEPS || !is_inside(r, t) ||
        !is_step(g, c, t->producer, r->node[0]->out[0], &s))
        return false;
    r->open[newest] = r->open[--r->n_open];
    return add_node(r, t->producer, &s);
}

static int value_index(const Region *r, const Tensor *t)
{
    for (int i = 0; i < r->n; i++)
        if (r->node[i]->out[0] == t)
            return 1 + i;
    return 0;
}

/* Has it no more bits than a float16? */
static bool is_half(double v)
{
    int exponent;
    const double m = ldexp(frexp(v, &exponent), 11);
    return !(fabs(m - floor(m)) > 0.0);
}

static void curve_of(Graph *g, Numbers *numbers, const Region *r, Curve *c)
{
    bool half = true; /* constants of a float16 model, widened */
    c->steps = 0;
    c->values = 1 + r->n;
    for (int i = r->n; i-- > 0;) {
        CurveStep *s = c->step + c->steps++;
        *s = r->step[i];
        s->to = 1 + i;
        for (int k = 0; k < s->n_from; k++) {
            const Tensor *t = r->node[i]->in[k];
            s->from[k] = t->value ? c->values++ : value_index(r, t);
            if (!t->value)
                continue;
            number_of(g, numbers, t, &c->value[s->from[k]]);
            half = half && is_half(c->value[s->from[k]]);
        }
    }
    c->precision = half ? 1e-5 : 1e-7;
}

/* Operators that it takes. */
static int known_cost(const Known *k)
{
    if (k->kind == KNOWN_IDENTITY)
        return 0;
    return k->kind == KNOWN_AFFINE && fabs(k->a - 1.0) > 0.0 && fabs(k->b) > 0.0 ? 2 : 1;
}

static Tensor *number(Graph *g, DType t, double value)
{
    return graph_add_constant(
        g, NULL, recipe_cast(g->store, recipe_memory(g->store, DT_F64, 0, NULL, &value), t));
}

static void set_op(Node *n, const char *op, Tensor *x, Tensor *a, Tensor *b)
{
    Tensor *in[3] = { x, a, b };
    node_set_op(n, "", op);
    node_set_inputs(n, b ? 3 : a ? 2 : 1, in);
    n->n_attr = 0;
    n->version = OPSET_NEWEST;
    n->op = op_find("", op, OPSET_NEWEST);
}

static void set_affine(Graph *g, Node *n, Tensor *x, const Known *k)
{
    const DType t = x->dtype;
    if (!(fabs(k->a - 1.0) > 0.0))
        set_op(n, "Add", x, number(g, t, k->b), NULL);
    else if (!(fabs(k->b) > 0.0))
        set_op(n, "Mul", x, number(g, t, k->a), NULL);
    else {
        Tensor *in[2] = { x, number(g, t, k->a) }, *scaled = graph_add_tensor(g, NULL, t, x->shape);
        Node *mul = graph_insert_node(g, n, "", "Mul", 2, in, 1, &scaled);
        mul->version = OPSET_NEWEST;
        mul->op = op_find("", "Mul", OPSET_NEWEST);
        mul->order = n->order;
        scaled->dynamic = x->dynamic;
        set_op(n, "Add", scaled, number(g, t, k->b), NULL);
    }
}

static void set_known(Graph *g, Node *n, Tensor *x, const Known *k)
{
    static const char *const names[] = {
        [KNOWN_ABS] = "Abs",
        [KNOWN_LEAKY] = "LeakyRelu",
        [KNOWN_HARD_SIGMOID] = "HardSigmoid",
        [KNOWN_HARD_SWISH] = "HardSwish",
        [KNOWN_SIGMOID] = "Sigmoid",
        [KNOWN_SWISH] = "Swish",
        [KNOWN_TANH] = "Tanh",
        [KNOWN_GELU] = "Gelu",
        [KNOWN_GELU_TANH] = "Gelu",
        [KNOWN_SOFTPLUS] = "Softplus",
        [KNOWN_MISH] = "Mish",
        [KNOWN_ELU] = "Elu",
        [KNOWN_SOFTSIGN] = "Softsign",
    };
    if (k->kind == KNOWN_IDENTITY)
        graph_replace(g, n->out[0], x);
    else if (k->kind == KNOWN_AFFINE)
        set_affine(g, n, x, k);
    else if (k->kind == KNOWN_CLIP && !(fabs(k->a) > 0.0) && isinf(k->b))
        set_op(n, "Relu", x, NULL, NULL);
    else if (k->kind == KNOWN_CLIP)
        set_op(n, "Clip", x, number(g, x->dtype, k->a), number(g, x->dtype, k->b));
    else {
        set_op(n, names[k->kind], x, NULL, NULL);
        if (k->kind == KNOWN_LEAKY || k->kind == KNOWN_ELU || k->kind == KNOWN_SWISH ||
            k->kind == KNOWN_HARD_SIGMOID)
            node_set_float(n, "alpha", (float)k->a);
        if (k->kind == KNOWN_HARD_SIGMOID)
            node_set_float(n, "beta", (float)k->b);
        if (k->kind == KNOWN_GELU_TANH)
            node_set_string(n, "approximate", "tanh");
    }
}

static void try_fuse(Graph *g, Numbers *numbers, Node *root, const CurveStep *first)
{
    Region r = { .n = 0 };
    Known best = { KNOWN_NONE, 0.0, 0.0 };
    Tensor *x = NULL;
    int saved = 0;
    Curve c;
    bool more = add_node(&r, root, first);
    while (more) {
        if (r.n_open == 1 && r.open[0]->dtype == root->out[0]->dtype) {
            curve_of(g, numbers, &r, &c);
            const Known k = curve_match(&c);
            const bool fits = k.kind != KNOWN_NONE &&
                              !(k.kind == KNOWN_IDENTITY && graph_is_output(g, root->out[0]));
            if (fits && r.n - known_cost(&k) > saved) {
                saved = r.n - known_cost(&k);
                best = k;
                x = r.open[0];
            }
        }
        more = r.n_open && grow(g, numbers, &r);
    }
    if (saved)
        set_known(g, root, x, &best);
}

void pass_fuse_curve(Graph *g)
{
    graph_sort(g);
    Arena *scratch = &g->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    Numbers c = { .n = graph_root(g)->next_id };
    c.value = NEW_ARRAY(scratch, double, c.n);
    c.state = NEW_ARRAY(scratch, signed char, c.n);
    for (size_t i = g->node.n; i-- > 0;) {
        Node *n = g->node.at[i];
        if (n->dead || !n->n_out || !n->out[0] || !n->out[0]->uses)
            continue;
        const DType t = n->out[0]->dtype;
        CurveStep s;
        if ((t == DT_F32 || t == DT_F16 || t == DT_BF16) && is_step(g, &c, n, n->out[0], &s))
            try_fuse(g, &c, n, &s);
    }
    arena_release(scratch, mark);
    pass_dead(g);
    graph_sort(g);
}
