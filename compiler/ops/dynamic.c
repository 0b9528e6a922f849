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

/* Dimensions `shape`, where source[i] >= 0 element source[i] of `from`. */
static Tensor *assemble(const Node *at, Tensor *from, const Shape *shape,
                        const int *source)
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
    Tensor *dims =
        expand_concat(at, from, expand_i64s(at, shape->rank, shape->dim), 0);
    return expand_gather(at, dims, places, 0);
}

void dynamic_mark(const Node *at, Tensor *tensor, int axis, Tensor *size,
                  int id)
{
    const int rank = tensor->shape.rank;
    int source[MAX_RANK];
    Tensor *dims = size;
    if (tensor->dynamic)
        dims = expand_concat(at, tensor->dims, size, 0);
    for (int k = 0; k < rank; k++)
        source[k] = tensor->dynamic >> k & 1u ? k : -1;
    source[axis] = tensor->dynamic ? rank : 0;
    tensor->dynamic |= 1u << axis;
    tensor_size_ids(tensor)[axis] = id;
    tensor->dims = assemble(at, dims, &tensor->shape, source);
    const CountedSize counted = { size, tensor->shape.dim[axis], id };
    Graph *root = graph_root(at->graph);
    VEC_PUSH(root->arena, &root->sizes, counted);
}

static void set_size(Node *node, int i, int axis, int id)
{
    Tensor *tensor = node_out(node, i);
    if (tensor)
        dynamic_mark(node, tensor, axis, node_count(node), id);
}

/* Does `other` make as many as node, being the same operator of the same operands? */
static bool is_twin(const Node *node, const Node *other)
{
    if (other == node || other->op != node->op || !other->counts ||
        other->n_in != node->n_in || other->n_attr || node->n_attr)
        return false;
    for (int i = 0; i < node->n_in; i++)
        if (other->in[i] != node->in[i])
            return false;
    return true;
}

static int only_axis(const Tensor *tensor)
{
    int axis = 0;
    while (!(tensor->dynamic >> axis & 1u))
        axis++;
    return axis;
}

/* The number of what node counts: that of a twin in the same graph, as exporters write for each
 * tensor that a mask selects from, or a new one. */
static int counted_id(const Node *node)
{
    enum { MOST_READERS = 64 };
    const Use *use = node->in[0] ? node->in[0]->use : NULL;
    for (int i = 0; use && i < MOST_READERS; i++, use = use->next) {
        const Node *other = use->node;
        const Tensor *made = other->n_out ? other->out[0] : NULL;
        if (made && made->dynamic && is_twin(node, other))
            return made->size_id[only_axis(made)];
    }
    return ++graph_root(node->graph)->next_size;
}

void dynamic_out(Node *node, int i, int axis)
{
    if (!node_out(node, i))
        return;
    const int id = counted_id(node);
    add_count(node);
    set_size(node, i, axis, id);
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
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its result is declared with another rank");
    return *tensor->declared;
}

/* --- fixing and clearing --- */

Tensor *dynamic_settled(const Node *at, const char *op, Tensor *tensor)
{
    Tensor *in[] = { tensor, tensor->dims };
    return expand_done(expand_inlay_node(at, op, 2, in, 1));
}

/* The operand with the size that the file declares, checked when the model runs. */
static Tensor *fixed(const Node *at, Tensor *tensor)
{
    if (!shape_known(tensor->declared) ||
        !shape_equal(tensor->declared, &tensor->shape))
        fail_bound(at, tensor, NULL);
    return dynamic_settled(at, "FixedSize", tensor);
}

Tensor *dynamic_size(const Node *at, const Tensor *tensor, int axis)
{
    return expand_slice(at, tensor->dims, 0, axis, axis + 1);
}

Tensor *dynamic_elements(const Node *at, const Tensor *tensor, int axis)
{
    const int64_t bound = tensor->shape.dim[axis];
    int64_t *number = NEW_ARRAY(at->graph->arena, int64_t, bound);
    for (int64_t i = 0; i < bound; i++)
        number[i] = i;
    Tensor *size = tensor->dynamic ? dynamic_size(at, tensor, axis)
                                   : expand_i64(at, bound);
    Tensor *numbers = expand_i64s(at, bound, number);
    return expand_binary(at, "Less", numbers, size);
}

Tensor *dynamic_filled(const Node *at, Tensor *tensor, int axis, double value)
{
    Tensor *rest = expand_number(at, value, tensor->dtype);
    return dynamic_filled_with(at, tensor, axis, rest);
}

Tensor *dynamic_filled_with(const Node *at, Tensor *tensor, int axis,
                            Tensor *rest)
{
    int64_t dims[MAX_RANK];
    for (int i = 0; i < tensor->shape.rank; i++)
        dims[i] = i == axis ? tensor->shape.dim[axis] : 1;
    Tensor *inside = dynamic_elements(at, tensor, axis);
    inside = expand_reshape(at, inside, tensor->shape.rank, dims);
    Tensor *elements = dynamic_settled(at, "ClearRest", tensor);
    return expand_where(at, inside, elements, rest);
}

void infer_fixed_size(Node *node)
{
    infer_same(node);
}

void lower_fixed_size(Lower *lower, Node *node)
{
    if (tensor_count(node->in[1]) != node->out[0]->shape.rank)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its shape does not fit its result");
    lower_check(lower, node->in[1], 1,
                (const int64_t *const[]){ node->out[0]->shape.dim });
    lower_view(lower, node->out[0], node->in[0], 0);
}

void infer_settle(Node *node)
{
    infer_same(node);
}

void lower_settle(Lower *lower, Node *node)
{
    const Shape *s = node_shape(node, 0);
    if (!tensor_count(node->out[0]))
        return;
    Tensor *y = move_target(lower, node->out[0]);
    Tensor *x = move_source(lower, node->in[0]);
    inlay_settle_params params = {
        .rank = s->rank,
        .size = dtype_bits(y->dtype) / 8,
        .dense = !strcmp(node->op_type, "Settle"),
    };
    shape_to_i32(s, params.n);
    Step *step = lower_step(lower, "settle", &params);
    step_out(step, y);
    step_in(step, x)->reuse = REUSE_ELEMENTWISE;
    step_operand(step, 1);
    move_finish(lower, node->out[0], y);
}

/* Is what lies beyond the real size zero? */
static bool is_clear(const Tensor *tensor)
{
    while (tensor->producer) {
        const Node *node = tensor->producer;
        if (node->counts || !strcmp(node->op_type, "ClearRest"))
            return true;
        if (!(node->op->flags & OP_KEEPS_REST))
            return false;
        tensor = node->in[0];
    }
    return false;
}

/* --- what a node's results get --- */

static bool is_dynamic(const Tensor *tensor, int axis)
{
    return tensor->dynamic >> axis & 1u;
}

/* Are the dims of tensor, put together from `source`, those of `from`? */
static bool is_alike(const Tensor *tensor, const Tensor *from,
                     const int *source)
{
    if (tensor->dims || from->shape.rank != tensor->shape.rank)
        return false;
    for (int d = 0; d < tensor->shape.rank; d++) {
        const bool same = from->shape.dim[d] == tensor->shape.dim[d];
        if (source[d] != d && (source[d] >= 0 || !same))
            return false;
    }
    return true;
}

static Tensor *dims_of(const Node *node, const Tensor *tensor,
                       const Tensor *from, const int *source)
{
    if (is_alike(tensor, from, source))
        return from->dims;
    Tensor *dims = from->dims;
    if (tensor->dims)
        dims = expand_concat(node, tensor->dims, from->dims, 0);
    return assemble(node, dims, &tensor->shape, source);
}

/* Result tensor gets what dynamic sizes of `from` it has not got from earlier operands. */
static void pass_to(const Node *node, Tensor *tensor, const Tensor *from,
                    const int *to)
{
    const int rank = tensor->shape.rank;
    /* Places in the dims of tensor so far (none: -1), then in those of `from`. */
    int source[MAX_RANK];
    bool news = false;
    for (int d = 0; d < rank; d++)
        source[d] = is_dynamic(tensor, d) ? d : -1;
    for (int a = 0; a < from->shape.rank; a++) {
        if (!is_dynamic(from, a) || is_dynamic(tensor, to[a]))
            continue;
        source[to[a]] = tensor->dims ? rank + a : a;
        tensor->dynamic |= 1u << to[a];
        tensor_size_ids(tensor)[to[a]] = from->size_id[a];
        news = true;
    }
    if (news)
        tensor->dims = dims_of(node, tensor, from, source);
}

static void pass_on(Node *node, const Tensor *from, const int *to)
{
    for (int i = 0; i < node->n_out; i++)
        if (node->out[i])
            pass_to(node, node->out[i], from, to);
}

/* The lists of a Slice, in the order of its operands. */
typedef struct Cuts {
    const int64_t *start, *end, *axis, *step;
    int64_t count;
} Cuts;

/* False: not all are known. */
static bool cuts_of(const Node *node, Cuts *cuts)
{
    int64_t count;
    *cuts = (Cuts){ .count = 0 };
    if (node->n_in > 1) {
        cuts->end = infer_ints(node, 2, &count);
        cuts->axis = infer_ints(node, 3, &count);
        cuts->step = infer_ints(node, 4, &count);
        cuts->start = infer_ints(node, 1, &cuts->count);
        return cuts->start && cuts->end && (cuts->axis || !node_in(node, 3)) &&
               (cuts->step || !node_in(node, 4));
    }
    cuts->end = node_ints(node, "ends", &count);
    cuts->axis = node_ints(node, "axes", &count);
    cuts->start = node_ints(node, "starts", &cuts->count);
    return cuts->start && cuts->end;
}

/* What a Slice takes of an axis, forwards and counted from its beginning. False: something else. */
static bool taken_range(const Node *node, int axis, int64_t *start,
                        int64_t *end)
{
    const int rank = node->in[0]->shape.rank;
    Cuts cuts;
    if (!cuts_of(node, &cuts))
        return false;
    *start = 0;
    *end = INT64_MAX;
    for (int64_t i = 0; i < cuts.count; i++) {
        const int64_t given = cuts.axis ? cuts.axis[i] : i;
        const bool strided = cuts.step && cuts.step[i] != 1;
        if (node_axis(node, given, rank) != axis)
            continue;
        if (cuts.start[i] < 0 || cuts.end[i] < 0 || strided)
            return false;
        *start = cuts.start[i];
        *end = cuts.end[i];
    }
    return true;
}

void dynamic_cut(const Node *at, int n, Tensor *const *t, int axis,
                 Tensor *size)
{
    const int id = ++graph_root(at->graph)->next_size;
    for (int i = 0; i < n; i++)
        dynamic_mark(at, t[i], axis, size, id);
}

/* A Slice along the one dynamic axis: what it takes of the real size. */
static bool cut_dynamic(Node *node, const Tensor *tensor)
{
    const int axis = only_axis(tensor);
    Tensor *y = node->out[0];
    int64_t start, end;
    if (tensor->dynamic != 1u << axis || !taken_range(node, axis, &start, &end))
        return false;
    Tensor *begin = expand_i64(node, start);
    Tensor *size = expand_slice(node, tensor->dims, 0, axis, axis + 1);
    Tensor *left = expand_sub(node, size, begin);
    Tensor *none = expand_i64s(node, 1, (const int64_t[]){ 0 });
    left = expand_binary(node, "Max", left, none);
    Tensor *most = expand_i64(node, y->shape.dim[axis]);
    left = expand_binary(node, "Min", left, most);
    dynamic_cut(node, 1, &y, axis, left);
    return true;
}

/* Coordinates of the data that an index gives, from the first on; 0: it is no such operator. */
static int indexed_axes(const Node *node)
{
    const Shape *index = &node->in[1]->shape;
    if (!node_is(node, "GatherND") || node_int(node, "batch_dims", 0))
        return 0;
    return (int)index->dim[index->rank - 1];
}

/* What is added to an index of the data that counts from the end; NULL: its dynamic axis is another
 * one. */
static Tensor *end_of_data(const Node *node, Tensor *data)
{
    const int axis = only_axis(data);
    if (data->dynamic != 1u << axis)
        return NULL;
    if (node_is(node, "Gather")) {
        const int64_t given = node_int(node, "axis", 0);
        if (axis != node_axis(node, given, data->shape.rank))
            return NULL;
        return expand_reshape(node, dynamic_size(node, data, axis), 0, NULL);
    }
    const int axes = indexed_axes(node);
    return axis < axes ? expand_slice(node, data->dims, 0, 0, axes) : NULL;
}

/* Gather and GatherND along the one dynamic axis of their data: indices below 0 count from the real
 * end. An index beyond it, which no valid model has, reads zeros. */
static bool gather_dynamic(Node *node, Tensor *data)
{
    if (!node_is(node, "Gather") && !node_is(node, "GatherND"))
        return false;
    Tensor *end = end_of_data(node, data);
    if (!end)
        return false;
    Tensor *index = expand_cast(node, node->in[1], DT_I64);
    Tensor *first = expand_number(node, 0.0, DT_I64);
    Tensor *from_end = expand_binary(node, "Less", index, first);
    Tensor *moved = expand_add(node, index, end);
    node_set_input(node, 0, dynamic_settled(node, "ClearRest", data));
    node_set_input(node, 1, expand_where(node, from_end, moved, index));
    return true;
}

/* A loop hands out only what has a fixed size; branches are evened out (ops/branches.h). */
static void fix_bodies(const Node *node)
{
    for (int i = 0; i < node->n_attr; i++) {
        Graph *g = node->attr[i].graph;
        for (size_t k = 0; g && !g->dead && k < g->output.n; k++) {
            Tensor *tensor = g->output.at[k];
            if (!tensor->dynamic)
                continue;
            if (!tensor->producer || tensor->producer->graph != g)
                fail_node(
                    node, STATUS_UNSUPPORTED, NULL,
                    "a result of its body has a size known only at run time");
            g->output.at[k] = fixed(tensor->producer, tensor);
        }
    }
}

/* Does operand k say where others are read? The rest of it, which means nothing, must not. */
static bool are_indices(const Node *node, int k)
{
    if (node_is(node, "RoiAlign"))
        return k >= 1;
    if (node_is(node, "GatherElements"))
        return k == 1;
    return k == 1 && (node_is(node, "Gather") || node_is(node, "GatherND"));
}

/* What operand k, whose size is known only at run time, means for the results. */
static void pass_operand(Node *node, int k)
{
    Tensor *tensor = node->in[k];
    int to[MAX_RANK];
    if (dynamic_passes(node, k, to)) {
        if (are_indices(node, k) && !is_clear(tensor))
            node_set_input(node, k, dynamic_settled(node, "ClearRest", tensor));
        pass_on(node, tensor, to);
        return;
    }
    if (k == 0 && node_is(node, "Slice") && cut_dynamic(node, tensor))
        return;
    if (k == 0 && dynamic_padded(node, tensor))
        return;
    if (k == 0 && gather_dynamic(node, tensor))
        return;
    if (k == 0 && dynamic_reshaped(node, tensor))
        return;
    if (k == 0 && dynamic_neutral(node, tensor)) {
        if (dynamic_keeps(node) && axes_same(node, k, to))
            pass_on(node, tensor, to);
        return;
    }
    if (node_is(node, "NonZero")) {
        node_set_input(node, k, dynamic_settled(node, "ClearRest", tensor));
        return;
    }
    node_set_input(node, k, fixed(node, tensor));
}

void dynamic_results(Node *node)
{
    if (node->op->flags & OP_CONTROL)
        fix_bodies(node);
    if (node->op->lower == lower_fixed_size || node->op->lower == lower_settle)
        return;
    for (int k = 0; k < node->n_in; k++)
        if (node->in[k] && node->in[k]->dynamic)
            pass_operand(node, k);
}

static void replace_size(Node *node, Tensor *dims)
{
    Node *product = expand_of(node, "ReduceProd", dims);
    node_set_int(product, "keepdims", 0);
    Tensor *size = expand_done(product);
    expand_finish_one(node, size);
}

static void replace_shape(Node *node, Tensor *dims)
{
    const int64_t rank = node->in[0]->shape.rank;
    node->op->infer(node);
    const int64_t count = node->out[0]->shape.dim[0];
    int64_t start = node_int(node, "start", 0);
    if (start < 0)
        start += rank;
    start = i64_min(i64_max(start, 0), rank);
    Tensor *all = expand_unary(node, "Identity", dims);
    Tensor *some = expand_slice(node, all, 0, start, start + count);
    Tensor *out = node->out[0];
    if (count == rank)
        out->sizes_of = node->in[0];
    expand_finish_one(node, some);
}

bool dynamic_shape(Node *node)
{
    const Tensor *tensor = node_in(node, 0);
    if (dynamic_made(node))
        return true;
    if (!tensor || !tensor->dynamic)
        return false;
    if (node_is(node, "Size"))
        replace_size(node, tensor->dims);
    else if (node_is(node, "Shape"))
        replace_shape(node, tensor->dims);
    else
        return false;
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
        const Node *node =
            tensor->producer ? tensor->producer : tensor->dims->producer;
        Tensor *own = dynamic_settled(node, "Settle", tensor);
        own->name = tensor->name;
        infer_same_sizes(own, tensor);
        graph->output.at[i] = own;
    }
    for (size_t i = 0; i < results; i++)
        if (graph->output.at[i]->dynamic)
            VEC_PUSH(graph->arena, &graph->output, graph->output.at[i]->dims);
    graph->dims_outputs = graph->output.n - results;
}
