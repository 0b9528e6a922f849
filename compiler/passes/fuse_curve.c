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
#include "kernels/act.h"
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

static bool number_of(Graph *graph, Numbers *c, const Tensor *tensor,
                      double *value)
{
    if (!tensor->value || tensor_count(tensor) != 1)
        return false;
    if (tensor->id < c->n && c->state[tensor->id]) {
        *value = c->value[tensor->id];
        return c->state[tensor->id] > 0;
    }
    int64_t count;
    const double *v = tensor_doubles(graph, tensor, &count);
    if (tensor->id < c->n) {
        c->state[tensor->id] = v ? 1 : -1;
        c->value[tensor->id] = v ? *v : 0.0;
    }
    if (v)
        *value = *v;
    return v != NULL;
}

static bool in_region(const Region *region, const Node *n)
{
    for (int i = 0; i < region->n; i++)
        if (region->node[i] == n)
            return true;
    return false;
}

/* Does only the region read tensor? */
static bool is_inside(const Region *region, const Tensor *tensor)
{
    if (tensor->uses > MOST_READERS)
        return false;
    int readers = 0;
    for (const Use *u = tensor->use; u; u = u->next, readers++)
        if (!in_region(region, u->node))
            return false;
    return readers == tensor->uses;
}

/* Is node an operator of a curve whose values are like y, with no other constants than numbers? */
static bool is_step(Graph *g, Numbers *c, const Node *node, const Tensor *y,
                    CurveStep *step)
{
    if (node->dead || node->graph != g || !curve_op(node, step))
        return false;
    if (node->out[0]->dtype != y->dtype && node->out[0]->dtype != DT_BOOL)
        return false;
    if (!shape_equal(&node->out[0]->shape, &y->shape) ||
        node->out[0]->dynamic != y->dynamic)
        return false;
    for (int i = 0; i < node->n_in; i++) {
        double v;
        const Tensor *tensor = node->in[i];
        if (!tensor)
            return false;
        if (tensor->value ? !number_of(g, c, tensor, &v)
                          : !shape_equal(&tensor->shape, &y->shape))
            return false;
    }
    return true;
}

static bool add_node(Region *region, Node *n, const CurveStep *s)
{
    region->step[region->n] = *s;
    region->node[region->n++] = n;
    region->bends += s->bends;
    if (region->bends > CURVE_BENDS)
        return false;
    for (int i = 0; i < n->n_in; i++) {
        Tensor *tensor = n->in[i];
        bool known = tensor->value != NULL;
        for (int k = 0; k < region->n_open; k++)
            known = known || region->open[k] == tensor;
        if (known)
            continue;
        if (region->n_open == MOST_OPEN)
            return false;
        region->open[region->n_open++] = tensor;
    }
    return true;
}

/* Takes in the node that made the newest of the open values; false where it cannot. */
static bool grow(Graph *graph, Numbers *c, Region *region)
{
    int newest = -1;
    for (int i = 0; i < region->n_open; i++) {
        const Node *p = region->open[i]->producer;
        if (p &&
            (newest < 0 || p->order > region->open[newest]->producer->order))
            newest = i;
    }
    if (newest < 0)
        return false;
    Tensor *tensor = region->open[newest];
    CurveStep step;
    if (region->n == CURVE_STEPS || !is_inside(region, tensor) ||
        !is_step(graph, c, tensor->producer, region->node[0]->out[0], &step))
        return false;
    region->open[newest] = region->open[--region->n_open];
    return add_node(region, tensor->producer, &step);
}

static int value_index(const Region *region, const Tensor *tensor)
{
    for (int i = 0; i < region->n; i++)
        if (region->node[i]->out[0] == tensor)
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

static void curve_of(Graph *graph, Numbers *numbers, const Region *region,
                     Curve *curve)
{
    bool half = true; /* constants of a float16 model, widened */
    curve->steps = 0;
    curve->values = 1 + region->n;
    for (int i = region->n; i-- > 0;) {
        CurveStep *s = curve->step + curve->steps++;
        *s = region->step[i];
        s->to = 1 + i;
        for (int k = 0; k < s->n_from; k++) {
            const Tensor *tensor = region->node[i]->in[k];
            s->from[k] =
                tensor->value ? curve->values++ : value_index(region, tensor);
            if (!tensor->value)
                continue;
            number_of(graph, numbers, tensor, &curve->value[s->from[k]]);
            half = half && is_half(curve->value[s->from[k]]);
        }
    }
    curve->precision = half ? 1e-5 : 1e-7;
}

/* Operators that it takes. */
static int known_cost(const Known *k)
{
    if (k->kind == KNOWN_IDENTITY)
        return 0;
    return k->kind == KNOWN_AFFINE && fabs(k->a - 1.0) > 0.0 && fabs(k->b) > 0.0
               ? 2
               : 1;
}

static Tensor *number(Graph *graph, DType type, double value)
{
    return graph_add_constant(
        graph, NULL,
        recipe_cast(graph->store,
                    recipe_memory(graph->store, DT_F64, 0, NULL, &value),
                    type));
}

static void set_op(Node *node, const char *op, Tensor *x, Tensor *a, Tensor *b)
{
    Tensor *in[3] = { x, a, b };
    node_set_op(node, "", op);
    node_set_inputs(node, 1 + (a != NULL) + (b != NULL), in);
    node->n_attr = 0;
    node->version = OPSET_NEWEST;
    node->op = op_find("", op, OPSET_NEWEST);
}

static void set_affine(Graph *graph, Node *node, Tensor *x, const Known *k)
{
    const DType type = x->dtype;
    if (!(fabs(k->a - 1.0) > 0.0))
        set_op(node, "Add", x, number(graph, type, k->b), NULL);
    else if (!(fabs(k->b) > 0.0))
        set_op(node, "Mul", x, number(graph, type, k->a), NULL);
    else {
        Tensor *in[2] = { x, number(graph, type, k->a) };
        Tensor *scaled = graph_add_tensor(graph, NULL, type, x->shape);
        Node *mul =
            graph_insert_node(graph, node, "", "Mul", 2, in, 1, &scaled);
        mul->version = OPSET_NEWEST;
        mul->op = op_find("", "Mul", OPSET_NEWEST);
        mul->order = node->order;
        scaled->dynamic = x->dynamic;
        set_op(node, "Add", scaled, number(graph, type, k->b), NULL);
    }
}

static void set_act(Graph *graph, Node *node, Tensor *x, const Known *known)
{
    const ActRow *act = known->act;
    const DType type = x->dtype;
    if (act->act == INLAY_ACT_CLAMP && !(fabs(known->a) > 0.0) &&
        isinf(known->b)) {
        set_op(node, "Relu", x, NULL, NULL);
        return;
    }
    if (act->act == INLAY_ACT_CLAMP) {
        Tensor *low = number(graph, type, known->a);
        Tensor *high = number(graph, type, known->b);
        set_op(node, act->op, x, low, high);
        return;
    }
    set_op(node, act->op, x, NULL, NULL);
    if (*act->a_name)
        node_set_float(node, act->a_name, (float)known->a);
    if (*act->b_name)
        node_set_float(node, act->b_name, (float)known->b);
    if (act->act == INLAY_ACT_GELU_TANH)
        node_set_string(node, "approximate", "tanh");
}

static void set_known(Graph *graph, Node *node, Tensor *x, const Known *known)
{
    if (known->kind == KNOWN_IDENTITY)
        graph_replace(graph, node->out[0], x);
    else if (known->kind == KNOWN_AFFINE)
        set_affine(graph, node, x, known);
    else if (known->kind == KNOWN_ABS)
        set_op(node, "Abs", x, NULL, NULL);
    else
        set_act(graph, node, x, known);
}

static void try_fuse(Graph *graph, Numbers *numbers, Node *root,
                     const CurveStep *first)
{
    Region region = { .n = 0 };
    Known best = { .kind = KNOWN_NONE };
    Tensor *x = NULL;
    int saved = 0;
    Curve curve;
    bool more = add_node(&region, root, first);
    while (more) {
        if (region.n_open == 1 &&
            region.open[0]->dtype == root->out[0]->dtype) {
            curve_of(graph, numbers, &region, &curve);
            const Known k = curve_match(&curve);
            const bool fits =
                k.kind != KNOWN_NONE && !(k.kind == KNOWN_IDENTITY &&
                                          graph_is_output(graph, root->out[0]));
            if (fits && region.n - known_cost(&k) > saved) {
                saved = region.n - known_cost(&k);
                best = k;
                x = region.open[0];
            }
        }
        more = region.n_open && grow(graph, numbers, &region);
    }
    if (saved)
        set_known(graph, root, x, &best);
}

void pass_fuse_curve(Graph *graph)
{
    graph_sort(graph);
    Arena *scratch = &graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    Numbers c = { .n = graph_root(graph)->next_id };
    c.value = NEW_ARRAY(scratch, double, c.n);
    c.state = NEW_ARRAY(scratch, signed char, c.n);
    for (size_t i = graph->node.n; i-- > 0;) {
        Node *n = graph->node.at[i];
        if (n->dead || !n->n_out || !n->out[0] || !n->out[0]->uses)
            continue;
        const DType type = n->out[0]->dtype;
        CurveStep step;
        if ((type == DT_F32 || type == DT_F16 || type == DT_BF16) &&
            is_step(graph, &c, n, n->out[0], &step))
            try_fuse(graph, &c, n, &step);
    }
    arena_release(scratch, mark);
    pass_dead(graph);
    graph_sort(graph);
}
