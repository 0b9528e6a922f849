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

Tensor *node_count(const Node *node)
{
    return node->counts ? node->out[node->n_out - 1] : NULL;
}

static Tensor *add_count(Node *node)
{
    Graph *g = node->graph;
    if (node->counts)
        return node_count(node);
    Tensor **out = NEW_ARRAY(g->arena, Tensor *, node->n_out + 1);
    Tensor *count = graph_add_tensor(g, NULL, DT_I64, shape_vector(1));
    memcpy(out, node->out, (size_t)node->n_out * sizeof *out);
    out[node->n_out++] = count;
    node->out = out;
    node->counts = true;
    count->producer = node;
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

static void set_size(Node *node, int i, int axis, int id)
{
    Tensor *tensor = node_out(node, i);
    int source[MAX_RANK];
    if (!tensor)
        return;
    for (int k = 0; k < tensor->shape.rank; k++)
        source[k] = k == axis ? 0 : -1;
    tensor->dynamic = 1u << axis;
    tensor_size_ids(tensor)[axis] = id;
    tensor->dims = assemble(node, node_count(node), &tensor->shape, source);
}

void dynamic_out(Node *node, int i, int axis)
{
    if (!node_out(node, i))
        return;
    add_count(node);
    set_size(node, i, axis, ++graph_root(node->graph)->next_size);
}

static int only_axis(const Tensor *tensor)
{
    int axis = 0;
    while (!(tensor->dynamic >> axis & 1u))
        axis++;
    return axis;
}

void dynamic_like(Node *node, int i, int axis, int k)
{
    set_size(node, i, axis, node->out[k]->size_id[only_axis(node->out[k])]);
}

Shape dynamic_bound(const Node *node, int i, Shape bound)
{
    const Tensor *tensor = node_out(node, i);
    const bool nothing = shape_known(&bound) && !shape_count(&bound);
    if (!tensor || !shape_known(tensor->declared) || nothing)
        return bound;
    if (tensor->declared->rank != bound.rank)
        fail_node(node, STATUS_MALFORMED, NULL, "its result is declared with another rank");
    return *tensor->declared;
}

/* --- fixing and clearing --- */

static Tensor *settled(const Node *at, const char *op, Tensor *tensor)
{
    Tensor *in[] = { tensor, tensor->dims };
    return expand_done(expand_inlay_node(at, op, 2, in, 1));
}

/* The operand with the size that the file declares, checked when the model runs. */
static Tensor *fixed(const Node *at, Tensor *tensor)
{
    if (!shape_known(tensor->declared) || !shape_equal(tensor->declared, &tensor->shape))
        fail_node(
            at, STATUS_UNSUPPORTED,
            "declare the operand's shape in the model (value_info), if it is fixed in your use",
            "the size of its operand \"%s\", at most %s, is known only when the model runs",
            tensor->name, shape_text(at->graph->arena, &tensor->shape));
    return settled(at, "FixedSize", tensor);
}

void infer_fixed_size(Node *node)
{
    infer_same(node);
}

void lower_fixed_size(Lower *lower, Node *node)
{
    if (tensor_count(node->in[1]) != node->out[0]->shape.rank)
        fail_node(node, STATUS_MALFORMED, NULL, "its shape does not fit its result");
    lower_check(lower, node, node->in[1], 1, (const int64_t *const[]){ node->out[0]->shape.dim });
    lower_view(lower, node, node->out[0], node->in[0], 0);
}

void infer_settle(Node *node)
{
    infer_same(node);
}

void lower_settle(Lower *lower, Node *node)
{
    const Shape *s = &node->in[0]->shape;
    if (!tensor_count(node->out[0]))
        return;
    Tensor *y = move_target(lower, node->out[0]);
    Tensor *x = move_source(lower, node, node->in[0]);
    inlay_settle_params params = { .rank = s->rank,
                                   .size = dtype_bits(y->dtype) / 8,
                                   .dense = !strcmp(node->op_type, "Settle") };
    for (int i = 0; i < s->rank; i++)
        params.n[i] = i32_checked(s->dim[i]);
    Step *step = lower_step(lower, node, "settle", &params);
    step_out(step, y);
    step_in(step, x)->reuse = REUSE_ELEMENTWISE;
    step_in(step, node->in[1]);
    move_finish(lower, node, node->out[0], y);
}

/* Is what lies beyond the real size zero? */
static bool is_clear(const Tensor *tensor)
{
    static const char *const moves[] = { "Transpose", "Squeeze", "Unsqueeze", "Slice",
                                         "Split",     "Reshape", "Identity" };
    while (tensor->producer) {
        const Node *node = tensor->producer;
        bool move = false;
        if (node->counts || !strcmp(node->op_type, "ClearRest"))
            return true;
        for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
            move |= node_is(node, moves[i]);
        if (!move)
            return false;
        tensor = node->in[0];
    }
    return false;
}

/* --- what a node's results get --- */

static void set_operand(Node *node, int k, Tensor *tensor)
{
    Tensor **in = arena_copy(node->graph->arena, node->in, (size_t)node->n_in * sizeof *in);
    in[k] = tensor;
    node_set_inputs(node, node->n_in, in);
}

/* Result tensor gets what dynamic sizes of `from` it has not got from earlier operands. */
static void pass_to(const Node *node, Tensor *tensor, const Tensor *from, const int *to)
{
    const int rank = tensor->shape.rank;
    int source
        [MAX_RANK]; /* places in the dims of tensor so far (none: -1), then in those of `from` */
    bool news = false;
    bool alike = !tensor->dims && from->shape.rank == rank;
    for (int d = 0; d < rank; d++)
        source[d] = tensor->dynamic >> d & 1u ? d : -1;
    for (int a = 0; a < from->shape.rank; a++) {
        if (!(from->dynamic >> a & 1u) || tensor->dynamic >> to[a] & 1u)
            continue;
        source[to[a]] = tensor->dims ? rank + a : a;
        tensor->dynamic |= 1u << to[a];
        tensor_size_ids(tensor)[to[a]] = from->size_id[a];
        news = true;
    }
    for (int d = 0; alike && d < rank; d++)
        alike = source[d] == d || (source[d] < 0 && from->shape.dim[d] == tensor->shape.dim[d]);
    if (!news)
        return;
    tensor->dims =
        alike ? from->dims
              : assemble(node, tensor->dims ? joined(node, tensor->dims, from->dims) : from->dims,
                         &tensor->shape, source);
}

static void pass_on(Node *node, const Tensor *from, const int *to)
{
    for (int i = 0; i < node->n_out; i++)
        if (node->out[i])
            pass_to(node, node->out[i], from, to);
}

/* What a Slice takes of an axis, forwards and counted from its beginning. False: something else. */
static bool taken_range(const Node *node, int axis, int64_t *start, int64_t *end)
{
    const bool by_input = node->n_in > 1;
    int64_t count[4] = { 0 };
    const int64_t *v[4] = {
        by_input ? infer_ints(node, 1, &count[0]) : node_ints(node, "starts", &count[0]),
        by_input ? infer_ints(node, 2, &count[1]) : node_ints(node, "ends", &count[1]),
        by_input ? infer_ints(node, 3, &count[2]) : node_ints(node, "axes", &count[2]),
        infer_ints(node, 4, &count[3])
    };
    for (int i = 0; i < 4 && by_input; i++)
        if (node_in(node, i + 1) && !v[i])
            return false;
    if (!v[0] || !v[1])
        return false;
    *start = 0;
    *end = INT64_MAX;
    for (int64_t i = 0; i < count[0]; i++) {
        if (node_axis(node, v[2] ? v[2][i] : i, node->in[0]->shape.rank) != axis)
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
static bool cut_dynamic(Node *node, const Tensor *tensor)
{
    const int axis = only_axis(tensor);
    Tensor *y = node->out[0];
    int64_t start, end;
    if (tensor->dynamic != 1u << axis || !taken_range(node, axis, &start, &end))
        return false;
    Tensor *begin = expand_i64s(node, 1, &start);
    Tensor *left = expand_slice(node, tensor->dims, 0, axis, axis + 1);
    left = expand_binary(node, "Sub", left, begin);
    left = expand_binary(node, "Max", left, expand_i64s(node, 1, (const int64_t[]){ 0 }));
    left = expand_binary(node, "Min", left, expand_i64s(node, 1, &y->shape.dim[axis]));
    dynamic_cut(node, 1, &y, axis, left);
    return true;
}

/* A branch or loop hands out only what has a fixed size. */
static void fix_bodies(const Node *node)
{
    for (int i = 0; i < node->n_attr; i++) {
        Graph *g = node->attr[i].graph;
        for (size_t k = 0; g && k < g->output.n; k++) {
            Tensor *tensor = g->output.at[k];
            if (!tensor->dynamic)
                continue;
            if (!tensor->producer || tensor->producer->graph != g)
                fail_node(node, STATUS_UNSUPPORTED, NULL,
                          "a result of its body has a size known only at run time");
            g->output.at[k] = fixed(tensor->producer, tensor);
        }
    }
}

void dynamic_results(Node *node)
{
    if (node->op->flags & OP_CONTROL)
        fix_bodies(node);
    if (node->op->lower == lower_fixed_size || node->op->lower == lower_settle)
        return;
    for (int k = 0; k < node->n_in; k++) {
        int to[MAX_RANK];
        Tensor *tensor = node->in[k];
        if (!tensor || !tensor->dynamic)
            continue;
        if (!dynamic_passes(node, k, to)) {
            if (k == 0 && node_is(node, "Slice") && cut_dynamic(node, tensor))
                continue;
            set_operand(node, k, fixed(node, tensor));
            continue;
        }
        if (k == 1 && (node_is(node, "Gather") || node_is(node, "GatherND")) && !is_clear(tensor))
            set_operand(node, k, settled(node, "ClearRest", tensor));
        pass_on(node, tensor, to);
    }
}

bool dynamic_shape(Node *node)
{
    Tensor *tensor = node_in(node, 0);
    if (!tensor || !tensor->dynamic || *node->domain)
        return false;
    if (node_is(node, "Size")) {
        Node *product = expand_node(node, "ReduceProd", 1, &tensor->dims, 1);
        node_set_int(product, "keepdims", 0);
        Tensor *size = expand_done(product);
        expand_finish(node, 1, &size);
        return true;
    }
    if (!node_is(node, "Shape"))
        return false;
    node->op->infer(node);
    const int64_t count = node->out[0]->shape.dim[0];
    const int64_t rank = tensor->shape.rank;
    int64_t start = node_int(node, "start", 0);
    start = i64_min(i64_max(start < 0 ? start + rank : start, 0), rank);
    Tensor *dims =
        expand_slice(node, expand_unary(node, "Identity", tensor->dims), 0, start, start + count);
    expand_finish(node, 1, &dims);
    return true;
}

/* --- results of the model --- */

/* Does it lie without gaps and with zeros behind? Makers of one leading size see to it. */
static bool is_settled(const Tensor *tensor)
{
    int axis = only_axis(tensor);
    return tensor->producer && tensor->producer->counts &&
           shape_product(&tensor->shape, 0, axis) == 1;
}

void dynamic_outputs(Graph *graph)
{
    const size_t results = graph->output.n;
    for (size_t i = 0; i < results; i++) {
        Tensor *tensor = graph->output.at[i];
        if (!tensor->dynamic || is_settled(tensor))
            continue;
        /* What is folded has no node any more; its size has one, which reads a value. */
        const Node *node = tensor->producer ? tensor->producer : tensor->dims->producer;
        Tensor *own = settled(node, "Settle", tensor);
        own->name = tensor->name;
        dynamic_copy(own, tensor);
        graph->output.at[i] = own;
    }
    for (size_t i = 0; i < results; i++)
        if (graph->output.at[i]->dynamic)
            VEC_PUSH(graph->arena, &graph->output, graph->output.at[i]->dims);
    graph->dims_outputs = graph->output.n - results;
}
