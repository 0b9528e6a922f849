/* SPDX-License-Identifier: Apache-2.0
 * How sizes known only at run time travel through the graph; dynamic_axes.c knows which operators
 * let them pass. */
#include "ops/dynamic.h"

#include <string.h>

#include "base/size.h"
#include "kernels/settle.h"
#include "ops/expand.h"
#include "ops/families.h"
#include "ops/nest.h"
#include "ops/values.h"

/* --- making them --- */

void dynamic_copy(Tensor *to, const Tensor *from)
{
    to->dynamic = from->dynamic;
    to->dims = from->dims;
    to->size_id = from->size_id;
}

Tensor *node_count(const Node *n)
{
    return n->counts ? n->out[n->n_out - 1] : NULL;
}

static Tensor *add_count(Node *n)
{
    Graph *g = n->graph;
    if (n->counts)
        return node_count(n);
    Tensor **out = NEW_ARRAY(g->arena, Tensor *, n->n_out + 1),
           *count = graph_add_tensor(g, NULL, DT_I64, shape_vector(1));
    memcpy(out, n->out, (size_t)n->n_out * sizeof *out);
    out[n->n_out++] = count;
    n->out = out;
    n->counts = true;
    count->producer = n;
    return count;
}

static Tensor *joined(const Node *at, Tensor *a, Tensor *b)
{
    Tensor *in[] = { a, b };
    Node *c = expand_node(at, "Concat", 2, in, 1);
    node_set_int(c, "axis", 0);
    return expand_done(c);
}

/* Dimensions `shape`, where source[i] >= 0 element source[i] of `from`. */
static Tensor *assemble(const Node *at, Tensor *from, const Shape *shape, const int *source)
{
    const int64_t given = from->shape.dim[0];
    int64_t place[MAX_RANK];
    bool same = shape->rank == given;
    for (int i = 0; i < shape->rank; i++) {
        place[i] = source[i] >= 0 ? source[i] : given + i;
        same &= place[i] == i;
    }
    if (same)
        return from;
    Tensor *places = expand_i64s(at, shape->rank, place);
    Tensor *dims = joined(at, from, expand_i64s(at, shape->rank, shape->dim));
    return expand_binary(at, "Gather", dims, places);
}

static void set_size(Node *n, int i, int axis, int id)
{
    Tensor *t = node_out(n, i);
    int source[MAX_RANK];
    if (!t)
        return;
    for (int k = 0; k < t->shape.rank; k++)
        source[k] = k == axis ? 0 : -1;
    t->dynamic = 1u << axis;
    tensor_size_ids(t)[axis] = id;
    t->dims = assemble(n, node_count(n), &t->shape, source);
}

void dynamic_out(Node *n, int i, int axis)
{
    if (!node_out(n, i))
        return;
    add_count(n);
    set_size(n, i, axis, ++graph_root(n->graph)->next_size);
}

static int only_axis(const Tensor *t)
{
    int axis = 0;
    while (!(t->dynamic >> axis & 1u))
        axis++;
    return axis;
}

void dynamic_like(Node *n, int i, int axis, int k)
{
    set_size(n, i, axis, n->out[k]->size_id[only_axis(n->out[k])]);
}

Shape dynamic_bound(const Node *n, int i, Shape bound)
{
    const Tensor *t = node_out(n, i);
    const bool nothing = shape_known(&bound) && !shape_count(&bound);
    if (!t || !shape_known(t->declared) || nothing)
        return bound;
    if (t->declared->rank != bound.rank)
        fail_node(n, STATUS_MALFORMED, NULL, "its result is declared with another rank");
    return *t->declared;
}

/* --- fixing and clearing --- */

static Tensor *settled(const Node *at, const char *op, Tensor *t)
{
    Tensor *in[] = { t, t->dims };
    return expand_done(expand_inlay_node(at, op, 2, in, 1));
}

/* The operand with the size that the file declares, checked when the model runs. */
static Tensor *fixed(const Node *at, Tensor *t)
{
    if (!shape_known(t->declared) || !shape_equal(t->declared, &t->shape))
        fail_node(
            at, STATUS_UNSUPPORTED,
            "declare the operand's shape in the model (value_info), if it is fixed in your use",
            "the size of its operand \"%s\", at most %s, is known only when the model runs",
            t->name, shape_text(at->graph->arena, &t->shape));
    return settled(at, "FixedSize", t);
}

void infer_fixed_size(Node *n)
{
    infer_same(n);
}

void lower_fixed_size(Lower *l, Node *n)
{
    lower_check(l, n, n->in[1], 1, (const int64_t *const[]){ n->out[0]->shape.dim });
    lower_view(l, n, n->out[0], n->in[0], 0);
}

void infer_settle(Node *n)
{
    infer_same(n);
}

void lower_settle(Lower *l, Node *n)
{
    const Shape *s = &n->in[0]->shape;
    if (!tensor_count(n->out[0]))
        return;
    Tensor *y = move_target(l, n->out[0]), *x = move_source(l, n, n->in[0]);
    inlay_settle_params p = { .rank = s->rank,
                              .size = dtype_bits(y->dtype) / 8,
                              .dense = !strcmp(n->op_type, "Settle") };
    for (int i = 0; i < s->rank; i++)
        p.n[i] = i32_checked(s->dim[i]);
    Step *step = lower_step(l, n, "settle", &p);
    step_out(step, y);
    step_in(step, x)->reuse = REUSE_ELEMENTWISE;
    step_in(step, n->in[1]);
    move_finish(l, n, n->out[0], y);
}

/* Is what lies beyond the real size zero? */
static bool is_clear(const Tensor *t)
{
    static const char *const moves[] = { "Transpose", "Squeeze", "Unsqueeze", "Slice",
                                         "Split",     "Reshape", "Identity" };
    while (t->producer) {
        const Node *n = t->producer;
        bool move = false;
        if (n->counts || !strcmp(n->op_type, "ClearRest"))
            return true;
        for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
            move |= node_is(n, moves[i]);
        if (!move)
            return false;
        t = n->in[0];
    }
    return false;
}

/* --- what a node's results get --- */

static void set_operand(Node *n, int k, Tensor *t)
{
    Tensor **in = arena_copy(n->graph->arena, n->in, (size_t)n->n_in * sizeof *in);
    in[k] = t;
    node_set_inputs(n, n->n_in, in);
}

/* Result t gets what dynamic sizes of `from` it has not got from earlier operands. */
static void pass_to(const Node *n, Tensor *t, const Tensor *from, const int *to)
{
    const int rank = t->shape.rank;
    int source[MAX_RANK]; /* places in the dims of t so far (none: -1), then in those of `from` */
    bool news = false, alike = !t->dims && from->shape.rank == rank;
    for (int d = 0; d < rank; d++)
        source[d] = t->dynamic >> d & 1u ? d : -1;
    for (int a = 0; a < from->shape.rank; a++) {
        if (!(from->dynamic >> a & 1u) || t->dynamic >> to[a] & 1u)
            continue;
        source[to[a]] = t->dims ? rank + a : a;
        t->dynamic |= 1u << to[a];
        tensor_size_ids(t)[to[a]] = from->size_id[a];
        news = true;
    }
    for (int d = 0; alike && d < rank; d++)
        alike = source[d] == d || (source[d] < 0 && from->shape.dim[d] == t->shape.dim[d]);
    if (!news)
        return;
    t->dims = alike ? from->dims
                    : assemble(n, t->dims ? joined(n, t->dims, from->dims) : from->dims, &t->shape,
                               source);
}

static void pass_on(Node *n, const Tensor *from, const int *to)
{
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i])
            pass_to(n, n->out[i], from, to);
}

/* What a Slice takes of an axis, forwards and counted from its beginning. False: something else. */
static bool taken_range(const Node *n, int axis, int64_t *start, int64_t *end)
{
    const bool by_input = n->n_in > 1;
    int64_t count[4] = { 0 };
    const int64_t *v[4] = {
        by_input ? infer_ints(n, 1, &count[0]) : node_ints(n, "starts", &count[0]),
        by_input ? infer_ints(n, 2, &count[1]) : node_ints(n, "ends", &count[1]),
        by_input ? infer_ints(n, 3, &count[2]) : node_ints(n, "axes", &count[2]),
        infer_ints(n, 4, &count[3])
    };
    for (int i = 0; i < 4 && by_input; i++)
        if (node_in(n, i + 1) && !v[i])
            return false;
    if (!v[0] || !v[1])
        return false;
    *start = 0;
    *end = INT64_MAX;
    for (int64_t i = 0; i < count[0]; i++) {
        if (node_axis(n, v[2] ? v[2][i] : i, n->in[0]->shape.rank) != axis)
            continue;
        if (v[0][i] < 0 || v[1][i] < 0 || (v[3] && v[3][i] != 1))
            return false;
        *start = v[0][i];
        *end = v[1][i];
    }
    return true;
}

void dynamic_cut(const Node *at, int n, Tensor *const *t, int axis, Tensor *size)
{
    const int id = ++graph_root(at->graph)->next_size;
    for (int i = 0; i < n; i++) {
        int source[MAX_RANK];
        for (int k = 0; k < t[i]->shape.rank; k++)
            source[k] = k == axis ? 0 : -1;
        t[i]->dynamic = 1u << axis;
        tensor_size_ids(t[i])[axis] = id;
        t[i]->dims = assemble(at, size, &t[i]->shape, source);
    }
}

/* A Slice along the one dynamic axis: what it takes of the real size. */
static bool cut_dynamic(Node *n, const Tensor *t)
{
    const int axis = only_axis(t);
    Tensor *y = n->out[0];
    int64_t start, end;
    if (t->dynamic != 1u << axis || !taken_range(n, axis, &start, &end))
        return false;
    Tensor *begin = expand_i64s(n, 1, &start);
    Tensor *left = expand_slice(n, t->dims, 0, axis, axis + 1);
    left = expand_binary(n, "Sub", left, begin);
    left = expand_binary(n, "Max", left, expand_i64s(n, 1, (const int64_t[]){ 0 }));
    left = expand_binary(n, "Min", left, expand_i64s(n, 1, &y->shape.dim[axis]));
    dynamic_cut(n, 1, &y, axis, left);
    return true;
}

/* A branch or loop hands out only what has a fixed size. */
static void fix_bodies(const Node *n)
{
    for (int i = 0; i < n->n_attr; i++) {
        Graph *g = n->attr[i].graph;
        for (size_t k = 0; g && k < g->output.n; k++) {
            Tensor *t = g->output.at[k];
            if (!t->dynamic)
                continue;
            if (!t->producer || t->producer->graph != g)
                fail_node(n, STATUS_UNSUPPORTED, NULL,
                          "a result of its body has a size known only at run time");
            g->output.at[k] = fixed(t->producer, t);
        }
    }
}

void dynamic_results(Node *n)
{
    if (n->op->flags & OP_CONTROL)
        fix_bodies(n);
    if (n->op->lower == lower_fixed_size || n->op->lower == lower_settle)
        return;
    for (int k = 0; k < n->n_in; k++) {
        int to[MAX_RANK];
        Tensor *t = n->in[k];
        if (!t || !t->dynamic)
            continue;
        if (!dynamic_passes(n, k, to)) {
            if (k == 0 && node_is(n, "Slice") && cut_dynamic(n, t))
                continue;
            set_operand(n, k, fixed(n, t));
            continue;
        }
        if (k == 1 && (node_is(n, "Gather") || node_is(n, "GatherND")) && !is_clear(t))
            set_operand(n, k, settled(n, "ClearRest", t));
        pass_on(n, t, to);
    }
}

bool dynamic_shape(Node *n)
{
    Tensor *t = node_in(n, 0);
    if (!t || !t->dynamic || *n->domain)
        return false;
    if (node_is(n, "Size")) {
        Node *product = expand_node(n, "ReduceProd", 1, &t->dims, 1);
        node_set_int(product, "keepdims", 0);
        Tensor *size = expand_done(product);
        expand_finish(n, 1, &size);
        return true;
    }
    if (!node_is(n, "Shape"))
        return false;
    n->op->infer(n);
    const int64_t count = n->out[0]->shape.dim[0], rank = t->shape.rank;
    int64_t start = node_int(n, "start", 0);
    start = i64_min(i64_max(start < 0 ? start + rank : start, 0), rank);
    Tensor *dims = expand_slice(n, expand_unary(n, "Identity", t->dims), 0, start, start + count);
    expand_finish(n, 1, &dims);
    return true;
}

/* --- results of the model --- */

/* Does it lie without gaps and with zeros behind? Makers of one leading size see to it. */
static bool is_settled(const Tensor *t)
{
    int axis = only_axis(t);
    return t->producer && t->producer->counts && shape_product(&t->shape, 0, axis) == 1;
}

void dynamic_outputs(Graph *g)
{
    const size_t results = g->output.n;
    for (size_t i = 0; i < results; i++) {
        Tensor *t = g->output.at[i];
        if (!t->dynamic || is_settled(t))
            continue;
        Tensor *own = settled(t->producer, "Settle", t);
        own->name = t->name;
        dynamic_copy(own, t);
        g->output.at[i] = own;
    }
    for (size_t i = 0; i < results; i++)
        if (g->output.at[i]->dynamic)
            VEC_PUSH(g->arena, &g->output, g->output.at[i]->dims);
    g->dims_outputs = g->output.n - results;
}
