/* SPDX-License-Identifier: Apache-2.0
 * How sizes known only at run time travel through the graph. For each operator that lets them pass there is a
 * function that says which axis of the result an axis of an operand becomes. */
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
    memcpy(to->size_id, from->size_id, sizeof to->size_id);
}

Tensor *node_count(const Node *n)
{
    return n->counts ? n->out[n->n_out - 1] : NULL;
}

static Tensor *add_count(Node *n)
{
    Graph *g = n->graph;
    if (n->counts) return node_count(n);
    Tensor **out = NEW_ARRAY(g->arena, Tensor *, n->n_out + 1), *count = graph_add_tensor(g, NULL, DT_I64, shape_vector(1));
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
    if (same) return from;
    return expand_binary(at, "Gather", joined(at, from, expand_i64s(at, shape->rank, shape->dim)), expand_i64s(at, shape->rank, place));
}

static void set_size(Node *n, int i, int axis, int id)
{
    Tensor *t = node_out(n, i);
    int source[MAX_RANK];
    if (!t) return;
    for (int k = 0; k < t->shape.rank; k++) source[k] = k == axis ? 0 : -1;
    t->dynamic = 1u << axis;
    t->size_id[axis] = id;
    t->dims = assemble(n, node_count(n), &t->shape, source);
}

void dynamic_out(Node *n, int i, int axis)
{
    if (!node_out(n, i)) return;
    add_count(n);
    set_size(n, i, axis, ++graph_root(n->graph)->next_size);
}

static int only_axis(const Tensor *t)
{
    int axis = 0;
    while (!(t->dynamic >> axis & 1u)) axis++;
    return axis;
}

void dynamic_like(Node *n, int i, int axis, int k)
{
    set_size(n, i, axis, n->out[k]->size_id[only_axis(n->out[k])]);
}

Shape dynamic_bound(const Node *n, int i, Shape bound)
{
    const Tensor *t = node_out(n, i);
    if (!t || !shape_known(&t->declared)) return bound;
    if (t->declared.rank != bound.rank) fail_node(n, STATUS_MALFORMED, NULL, "its result is declared with another rank");
    return t->declared;
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
    if (!shape_known(&t->declared) || !shape_equal(&t->declared, &t->shape))
        fail_node(at, STATUS_UNSUPPORTED, "declare the operand's shape in the model (value_info), if it is fixed in your use",
                  "the size of its operand \"%s\", at most %s, is known only when the model runs", t->name, shape_text(at->graph->arena, &t->shape));
    return settled(at, "FixedSize", t);
}

void infer_fixed_size(Node *n) { infer_same(n); }

void lower_fixed_size(Lower *l, Node *n)
{
    lower_check(l, n, n->in[1], 1, (const int64_t *const[]){ n->out[0]->shape.dim });
    lower_view(l, n, n->out[0], n->in[0], 0);
}

void infer_settle(Node *n) { infer_same(n); }

void lower_settle(Lower *l, Node *n)
{
    const Shape *s = &n->in[0]->shape;
    if (!tensor_count(n->out[0])) return;
    Tensor *y = move_target(l, n->out[0]), *x = move_source(l, n, n->in[0]);
    inlay_settle_params p = { .rank = s->rank, .size = dtype_bits(y->dtype) / 8, .dense = !strcmp(n->op_type, "Settle") };
    for (int i = 0; i < s->rank; i++) p.n[i] = i32_checked(s->dim[i]);
    Step *step = lower_step(l, n, "settle", &p);
    step_out(step, y);
    step_in(step, x)->reuse = REUSE_ELEMENTWISE;
    step_in(step, n->in[1]);
    move_finish(l, n, n->out[0], y);
}

/* --- which axis becomes which --- */

/* to[a]: the axis of the results that axis a of operand k becomes, -1: none. False: the operator does not let it pass. */
typedef bool AxesFn(const Node *n, int k, int *to);

static bool axes_same(const Node *n, int k, int *to)
{
    for (int a = 0; a < n->in[k]->shape.rank; a++) to[a] = a;
    return k == 0;
}

/* Broadcasting: the others must not be as long as the bound by chance. */
static bool axes_elementwise(const Node *n, int k, int *to)
{
    const Tensor *t = n->in[k];
    const int rank = n->out[0]->shape.rank;
    for (int a = 0; a < t->shape.rank; a++) {
        to[a] = a + rank - t->shape.rank;
        for (int i = 0; i < n->n_in && t->dynamic >> a & 1u; i++) {
            const Tensor *o = n->in[i];
            const int b = o ? to[a] - (rank - o->shape.rank) : -1;
            if (b < 0 || (o->shape.dim[b] == 1 && !(o->dynamic >> b & 1u))) continue;
            if (!(o->dynamic >> b & 1u) || o->size_id[b] != t->size_id[a]) return false;
        }
    }
    return true;
}

static bool axes_transpose(const Node *n, int k, int *to)
{
    int64_t count;
    const int64_t *perm = node_ints(n, "perm", &count);
    const int rank = n->in[k]->shape.rank;
    for (int i = 0; i < rank; i++) to[perm ? perm[i] : rank - 1 - i] = i;
    return true;
}

static const int64_t *axes_list(const Node *n, int64_t *count)
{
    const int64_t *axes = node_ints(n, "axes", count);
    return axes ? axes : infer_ints(n, 1, count);
}

static bool axes_squeeze(const Node *n, int k, int *to)
{
    const Shape *s = &n->in[k]->shape;
    int64_t count;
    const int64_t *axes = axes_list(n, &count);
    bool gone[MAX_RANK] = { false };
    if (k > 0 || !axes) return false;
    for (int64_t i = 0; i < count; i++) gone[node_axis(n, axes[i], s->rank)] = true;
    for (int a = 0, at = 0; a < s->rank; a++) to[a] = gone[a] ? -1 : at++;
    return true;
}

static bool axes_unsqueeze(const Node *n, int k, int *to)
{
    const int rank = n->out[0]->shape.rank;
    int64_t count;
    const int64_t *axes = axes_list(n, &count);
    bool added[MAX_RANK] = { false };
    if (k > 0 || !axes) return false;
    for (int64_t i = 0; i < count; i++) added[node_axis(n, axes[i], rank)] = true;
    for (int i = 0, a = 0; i < rank; i++)
        if (!added[i]) to[a++] = i;
    return true;
}

/* Axes that stay whole. */
static bool axes_slice(const Node *n, int k, int *to)
{
    const Shape *in = &n->in[k]->shape, *out = &n->out[0]->shape;
    int64_t count;
    const int64_t *step = infer_ints(n, 4, &count);
    for (int i = 1; i < n->n_in; i++)
        if (n->in[i] && !n->in[i]->value) return false;
    for (int64_t i = 0; i < count; i++)
        if (step[i] < 1) return false;
    for (int a = 0; a < in->rank; a++) to[a] = in->dim[a] == out->dim[a] ? a : -1;
    return k == 0;
}

static bool axes_gather(const Node *n, int k, int *to)
{
    const int axis = node_axis(n, node_int(n, "axis", 0), n->in[0]->shape.rank), more = n->in[1]->shape.rank - 1;
    for (int a = 0; a < n->in[k]->shape.rank; a++) to[a] = k == 1 ? axis + a : a < axis ? a : a == axis ? -1 : a + more;
    return true;
}

static bool axes_gather_nd(const Node *n, int k, int *to)
{
    const int rank = n->in[k]->shape.rank;
    for (int a = 0; a < rank; a++) to[a] = a < rank - 1 ? a : -1;
    return k == 1 && !node_int(n, "batch_dims", 0);
}

/* Concat, Split, Softmax and the like: all axes but one. */
static bool axes_but_one(const Node *n, int k, int *to)
{
    const int axis = node_axis(n, node_int(n, "axis", node_is(n, "Split") ? 0 : -1), n->in[k]->shape.rank);
    for (int a = 0; a < n->in[k]->shape.rank; a++) to[a] = a == axis ? -1 : a;
    for (int i = 0; i < n->n_in && node_is(n, "Concat"); i++)
        for (int a = 0; a < n->in[k]->shape.rank; a++)
            if (a != axis && n->in[k]->dynamic >> a & 1u && n->in[i]->size_id[a] != n->in[k]->size_id[a]) return false;
    return k == 0 || node_is(n, "Concat");
}

static bool axes_reduce(const Node *n, int k, int *to)
{
    const int rank = n->in[k]->shape.rank;
    int64_t count;
    const int64_t *axes = axes_list(n, &count);
    const bool keep = node_int(n, "keepdims", 1) != 0;
    bool gone[MAX_RANK] = { false };
    if (k > 0 || !axes || !count) return false;
    for (int64_t i = 0; i < count; i++) gone[node_axis(n, axes[i], rank)] = true;
    for (int a = 0, at = 0; a < rank; a++) {
        to[a] = gone[a] ? -1 : at;
        at += keep || !gone[a];
    }
    return true;
}

static AxesFn *axes_of(const Node *n)
{
    static const struct { const char *op; AxesFn *axes; } rows[] = {
        { "Transpose", axes_transpose }, { "Squeeze", axes_squeeze }, { "Unsqueeze", axes_unsqueeze }, { "Slice", axes_slice },
        { "Gather", axes_gather }, { "GatherND", axes_gather_nd }, { "Concat", axes_but_one }, { "Split", axes_but_one },
        { "CastLike", axes_same }, { "Dropout", axes_same }, { "ReduceSum", axes_reduce }, { "ReduceMax", axes_reduce },
        { "ReduceMin", axes_reduce }, { "ReduceMean", axes_reduce }, { "ReduceProd", axes_reduce }, { "ReduceL2", axes_reduce },
        { "Softmax", axes_but_one }, { "LogSoftmax", axes_but_one },
    };
    if (n->op->flags & OP_ELEMENTWISE) return axes_elementwise;
    if (*n->domain) return NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (node_is(n, rows[i].op)) return rows[i].axes;
    return NULL;
}

static bool passes(const Node *n, int k, int *to)
{
    AxesFn *axes = axes_of(n);
    if (!axes || !axes(n, k, to)) return false;
    for (int a = 0; a < n->in[k]->shape.rank; a++)
        if (n->in[k]->dynamic >> a & 1u && to[a] < 0) return false;
    return true;
}

/* Is what lies beyond the real size zero? */
static bool is_clear(const Tensor *t)
{
    static const char *const moves[] = { "Transpose", "Squeeze", "Unsqueeze", "Slice", "Split", "Identity" };
    while (t->producer) {
        const Node *n = t->producer;
        bool move = false;
        if (n->counts || !strcmp(n->op_type, "ClearRest")) return true;
        for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) move |= node_is(n, moves[i]);
        if (!move) return false;
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
    int source[MAX_RANK];       /* places in the dims of t so far (none: -1), then in those of `from` */
    bool news = false, alike = !t->dims && from->shape.rank == rank;
    for (int d = 0; d < rank; d++) source[d] = t->dynamic >> d & 1u ? d : -1;
    for (int a = 0; a < from->shape.rank; a++) {
        if (!(from->dynamic >> a & 1u) || t->dynamic >> to[a] & 1u) continue;
        source[to[a]] = t->dims ? rank + a : a;
        t->dynamic |= 1u << to[a];
        t->size_id[to[a]] = from->size_id[a];
        news = true;
    }
    for (int d = 0; alike && d < rank; d++) alike = source[d] == d || (source[d] < 0 && from->shape.dim[d] == t->shape.dim[d]);
    if (!news) return;
    t->dims = alike ? from->dims : assemble(n, t->dims ? joined(n, t->dims, from->dims) : from->dims, &t->shape, source);
}

static void pass_on(Node *n, const Tensor *from, const int *to)
{
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i]) pass_to(n, n->out[i], from, to);
}

/* A branch or loop hands out only what has a fixed size. */
static void fix_bodies(const Node *n)
{
    for (int i = 0; i < n->n_attr; i++) {
        Graph *g = n->attr[i].graph;
        for (size_t k = 0; g && k < g->output.n; k++) {
            Tensor *t = g->output.at[k];
            if (!t->dynamic) continue;
            if (!t->producer || t->producer->graph != g) fail_node(n, STATUS_UNSUPPORTED, NULL, "a result of its body has a size known only at run time");
            g->output.at[k] = fixed(t->producer, t);
        }
    }
}

void dynamic_results(Node *n)
{
    if (n->op->flags & OP_CONTROL) fix_bodies(n);
    if (n->op->lower == lower_fixed_size || n->op->lower == lower_settle) return;
    for (int k = 0; k < n->n_in; k++) {
        int to[MAX_RANK];
        Tensor *t = n->in[k];
        if (!t || !t->dynamic) continue;
        if (!passes(n, k, to)) {
            set_operand(n, k, fixed(n, t));
            continue;
        }
        if (k == 1 && (node_is(n, "Gather") || node_is(n, "GatherND")) && !is_clear(t)) set_operand(n, k, settled(n, "ClearRest", t));
        pass_on(n, t, to);
    }
}

bool dynamic_shape(Node *n)
{
    Tensor *t = node_in(n, 0);
    if (!t || !t->dynamic || *n->domain) return false;
    if (node_is(n, "Size")) {
        Node *product = expand_node(n, "ReduceProd", 1, &t->dims, 1);
        node_set_int(product, "keepdims", 0);
        Tensor *size = expand_done(product);
        expand_finish(n, 1, &size);
        return true;
    }
    if (!node_is(n, "Shape")) return false;
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
        if (!t->dynamic || is_settled(t)) continue;
        Tensor *own = settled(t->producer, "Settle", t);
        own->name = t->name;
        dynamic_copy(own, t);
        g->output.at[i] = own;
    }
    for (size_t i = 0; i < results; i++)
        if (g->output.at[i]->dynamic) VEC_PUSH(g->arena, &g->output, g->output.at[i]->dims);
    g->dims_outputs = g->output.n - results;
}
