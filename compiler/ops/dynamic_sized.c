/* SPDX-License-Identifier: Apache-2.0
 * Operators that are told a size known only at run time by a list of sizes, [n, 256, 7, 7]:
 * ConstantOfShape, Expand, Slice, Resize; ScatterElements and ScatterND of so many rows. */
#include "base/size.h"
#include "ops/dynamic.h"
#include "ops/expand.h"
#include "ops/families.h"
#include "ops/nest.h"
#include "ops/partly.h"

const CountedSize *dynamic_counted(const Tensor *list, int64_t i)
{
    const Element element = partly_origin(list, i);
    const Graph *root = graph_root(list->graph);
    for (size_t k = root->sizes.n; k-- > 0;) {
        const CountedSize *size = root->sizes.at + k;
        if (size->count == element.tensor && !element.at)
            return size;
    }
    return NULL;
}

const CountedSize *dynamic_entry(const Node *node, int operand, int64_t i)
{
    return dynamic_counted(node->in[operand], i);
}

/* A list of sizes of which all but one have values. */
typedef struct Sizes {
    Shape shape; /* with the bound of that one */
    int open;
    const CountedSize *size;
} Sizes;

static bool read_entry(const Node *node, int operand, int i, Sizes *sizes)
{
    int64_t *dim = sizes->shape.dim + i;
    const Tensor *list = node->in[operand];
    if (partly_known(node->graph, list, i, dim))
        return *dim >= 0;
    if (sizes->size)
        return false;
    sizes->open = i;
    sizes->size = dynamic_entry(node, operand, i);
    if (!sizes->size)
        return false;
    *dim = sizes->size->bound;
    return true;
}

static bool read_sizes(Node *node, int operand, Sizes *sizes)
{
    const Tensor *list = node_in(node, operand);
    if (!list || list->value)
        return false;
    if (list->dynamic || list->shape.rank != 1)
        return false;
    if (shape_known(node->out[0]->declared))
        return false;
    const int64_t count = list->shape.dim[0];
    if (count < 1 || count > MAX_RANK)
        return false;
    sizes->shape.rank = (int)count;
    for (int i = 0; i < count; i++)
        if (!read_entry(node, operand, i, sizes))
            return false;
    return sizes->size != NULL;
}

/* 0, 1, ... */
static Tensor *numbers_to(const Node *node, int64_t bound)
{
    int64_t *number = NEW_ARRAY(node->graph->arena, int64_t, bound);
    for (int64_t i = 0; i < bound; i++)
        number[i] = i;
    return expand_i64s(node, bound, number);
}

/* x of one element along the open axis, over its bound: a value of the run. */
static Tensor *over_bound(const Node *node, Tensor *x, const Sizes *sizes)
{
    const int64_t bound = sizes->size->bound;
    Tensor *numbers = numbers_to(node, bound);
    Tensor *count = sizes->size->count;
    Tensor *inside = expand_binary(node, "Less", numbers, count);
    int64_t dims[MAX_RANK];
    for (int i = 0; i < sizes->shape.rank; i++)
        dims[i] = i == sizes->open ? bound : 1;
    inside = expand_reshape(node, inside, sizes->shape.rank, dims);
    return expand_where(node, inside, x, x);
}

static Tensor *expanded(const Node *node, Tensor *x, const Shape *shape)
{
    Tensor *dims = expand_i64s(node, shape->rank, shape->dim);
    return expand_op(node, "Expand", x, dims);
}

static void finish_repeated(Node *node, Tensor *x, const Sizes *sizes)
{
    const CountedSize size = *sizes->size;
    Tensor *filled = over_bound(node, x, sizes);
    Tensor *made = expanded(node, filled, &sizes->shape);
    dynamic_mark(node, made, sizes->open, size.count, size.id);
    expand_finish_one(node, made);
}

/* Has x, an operand of Expand, that size there already? Then the shape leaves it as it is. */
static bool has_size(const Tensor *x, const Sizes *sizes)
{
    const int axis = sizes->open - sizes->shape.rank + x->shape.rank;
    return axis >= 0 && x->dynamic == 1u << axis &&
           x->size_id[axis] == sizes->size->id;
}

static bool repeat_sized(Node *node)
{
    const bool constant = node_is(node, "ConstantOfShape");
    Sizes sizes = { .size = NULL };
    if (!constant && !node_is(node, "Expand"))
        return false;
    if (!read_sizes(node, constant ? 0 : 1, &sizes))
        return false;
    if (constant) {
        Recipe *fill = infer_fill(node);
        finish_repeated(node, graph_add_constant(node->graph, NULL, fill),
                        &sizes);
        return true;
    }
    Tensor *x = node->in[0];
    if (has_size(x, &sizes)) {
        sizes.shape.dim[sizes.open] = 1;
        const Shape *shape = &sizes.shape;
        node_set_input(node, 1, expand_i64s(node, shape->rank, shape->dim));
        return false;
    }
    const int axis = sizes.open - sizes.shape.rank + x->shape.rank;
    if (x->dynamic || (axis >= 0 && x->shape.dim[axis] != 1))
        return false;
    finish_repeated(node, x, &sizes);
    return true;
}

/* A Resize whose sizes begin with that of its operand, [n, 17, 56, 56]: the others are named. */
static void resize_others(Node *node)
{
    Sizes sizes = { .size = NULL };
    int64_t axes[MAX_RANK];
    int n = 0;
    if (!node_is(node, "Resize") || node->op->since < 11)
        return;
    if (node_attr(node, "axes") || node_attr(node, "keep_aspect_ratio_policy"))
        return;
    if (!read_sizes(node, 3, &sizes) || !has_size(node->in[0], &sizes))
        return;
    for (int i = 0; i < sizes.shape.rank; i++) {
        if (i == sizes.open)
            continue;
        sizes.shape.dim[n] = sizes.shape.dim[i];
        axes[n++] = i;
    }
    node_set_ints(node, "axes", n, axes);
    node_set_input(node, 3, expand_i64s(node, n, sizes.shape.dim));
}

static bool is_number(const Node *node, int operand, int64_t value)
{
    int64_t count;
    const int64_t *given = infer_ints(node, operand, &count);
    return given && count == 1 && *given == value;
}

/* Range of so many numbers, from 0 on. */
static bool count_sized(Node *node)
{
    if (!node_is(node, "Range") || node->in[1]->value)
        return false;
    if (node->in[1]->dtype != DT_I64 || node->in[1]->dynamic)
        return false;
    if (!is_number(node, 0, 0) || !is_number(node, 2, 1))
        return false;
    const CountedSize *size = dynamic_entry(node, 1, 0);
    if (!size || shape_known(node->out[0]->declared))
        return false;
    const Sizes sizes = { shape_vector(size->bound), 0, size };
    finish_repeated(node, numbers_to(node, size->bound), &sizes);
    return true;
}

/* A Slice up to the size that its operand has: all of the axis. */
static void slice_whole(Node *node)
{
    const Tensor *x = node_in(node, 0);
    int64_t count;
    if (!node_is(node, "Slice") || node->n_in < 4)
        return;
    if (!x->dynamic || node->in[2]->value)
        return;
    if (infer_count(node, 2) != 1)
        return;
    const int64_t *axes = infer_ints(node, 3, &count);
    const CountedSize *size = dynamic_entry(node, 2, 0);
    if (!axes || !size)
        return;
    const int axis = node_axis(node, *axes, x->shape.rank);
    if (x->size_id[axis] != size->id)
        return;
    if (x->dynamic >> axis & 1u)
        node_set_input(node, 2, expand_i64(node, INT64_MAX));
}

/* x and zeros behind it, once more along the axis: what is written there is not looked at. */
static Tensor *with_spare(const Node *node, Tensor *x, int axis)
{
    Shape spare = x->shape;
    spare.dim[axis] = 1;
    Tensor *zero = expand_number(node, 0.0, x->dtype);
    Tensor *zeros = expanded(node, zero, &spare);
    return expand_concat(node, x, zeros, axis);
}

/* The indices of as many rows as there are; the others go to the spare one. */
static Tensor *real_indices(const Node *node, const Tensor *data, int axis)
{
    const int64_t n = data->shape.dim[axis];
    Tensor *index = expand_cast(node, node->in[1], DT_I64);
    if (index != node->in[1])
        infer_same_sizes(index, node->in[1]);
    index = dynamic_filled(node, index, axis, (double)n);
    Tensor *size = expand_i64(node, n);
    if (data->dynamic)
        size = dynamic_size(node, data, axis);
    Tensor *first = expand_number(node, 0.0, DT_I64);
    Tensor *from_end = expand_binary(node, "Less", index, first);
    Tensor *moved = expand_add(node, index, size);
    return expand_where(node, from_end, moved, index);
}

/* Has the operand, along the axis alone, the real size of that number? */
static bool is_sized(const Tensor *tensor, int axis, int id)
{
    if (tensor->dynamic != 1u << axis)
        return false;
    return tensor->size_id[axis] == id;
}

/* The same with the spare row, and without it again. */
static Tensor *scattered(Node *node, Tensor *x, int axis)
{
    const int64_t rows = x->shape.dim[axis];
    Tensor *updates = dynamic_settled(node, "ClearRest", node->in[2]);
    Tensor *in[] = {
        with_spare(node, x, axis),
        real_indices(node, node->in[0], axis),
        updates,
    };
    Node *made = expand_node(node, "ScatterElements", 3, in, 1);
    expand_copy_attrs(made, node);
    return expand_slice(node, expand_done(made), axis, 0, rows);
}

/* ScatterElements along the axis whose real size indices and updates share. */
static bool scatter_sized(Node *node)
{
    if (!node_is(node, "ScatterElements"))
        return false;
    Tensor *data = node->in[0];
    const Tensor *index = node->in[1];
    const Tensor *updates = node->in[2];
    if (!index->dynamic)
        return false;
    const int rank = infer_shape(node, 0)->rank;
    const int axis = infer_axis(node, 0, rank);
    const int id = index->size_id[axis];
    if (!is_sized(index, axis, id))
        return false;
    if (!is_sized(updates, axis, id))
        return false;
    if (!data->dynamic) {
        expand_finish_one(node, scattered(node, data, axis));
        return true;
    }
    if (data->dynamic != index->dynamic)
        return false;
    Tensor *x = dynamic_settled(node, "ClearRest", data);
    Tensor *y = scattered(node, x, axis);
    Tensor *size = dynamic_size(node, data, axis);
    dynamic_mark(node, y, axis, size, data->size_id[axis]);
    expand_finish_one(node, y);
    return true;
}

/* --- ScatterND of so many updates --- */

/* Indices of rows behind the real ones: the spare row, and whatever lies in it first. */
static Tensor *spare_place(const Node *node, int64_t rows, int64_t depth)
{
    int64_t *place = NEW_ARRAY(node->graph->arena, int64_t, depth);
    for (int64_t i = 0; i < depth; i++)
        place[i] = i ? 0 : rows;
    return expand_i64s(node, depth, place);
}

/* Indices that count from the end name elements of the data, which has a row more now. */
static Tensor *from_begin(const Node *node, Tensor *index, const Shape *data)
{
    const int64_t depth = index->shape.dim[1];
    Tensor *first = expand_number(node, 0.0, DT_I64);
    Tensor *sizes = expand_i64s(node, depth, data->dim);
    Tensor *from_end = expand_binary(node, "Less", index, first);
    Tensor *moved = expand_add(node, index, sizes);
    return expand_where(node, from_end, moved, index);
}

/* The same for the indices [n][depth]. */
static Tensor *real_places(const Node *node, const Shape *data)
{
    Tensor *index = node->in[1];
    const int64_t column[] = { index->shape.dim[0], 1 };
    const int64_t depth = index->shape.dim[1];
    Tensor *inside = dynamic_elements(node, index, 0);
    inside = expand_reshape(node, inside, 2, column);
    Tensor *clear = dynamic_settled(node, "ClearRest", index);
    Tensor *real = from_begin(node, clear, data);
    Tensor *spare = spare_place(node, data->dim[0], depth);
    return expand_where(node, inside, real, spare);
}

/* Are there so many rows of indices and as many updates, known only at run time? */
static bool updates_fit(const Node *node)
{
    const Tensor *index = node->in[1];
    const Tensor *updates = node->in[2];
    const int64_t depth = index->shape.dim[index->shape.rank - 1];
    if (index->shape.rank != 2 || depth < 1)
        return false;
    if (depth > node->in[0]->shape.rank)
        return false;
    const int id = index->size_id ? index->size_id[0] : 0;
    if (!is_sized(index, 0, id))
        return false;
    if (is_sized(updates, 0, id))
        return true;
    const int64_t rows = updates->shape.dim[0];
    return is_sized(updates, 0, dynamic_limited(node, id, rows));
}

/* The updates, as many rows as the indices have at most: where those are cut off a tensor of fewer,
 * no valid run has more. */
static Tensor *as_many_updates(const Node *node)
{
    Tensor *updates = dynamic_settled(node, "ClearRest", node->in[2]);
    Shape missing = updates->shape;
    missing.dim[0] = node->in[1]->shape.dim[0] - updates->shape.dim[0];
    if (missing.dim[0] <= 0)
        return updates;
    Tensor *zero = expand_number(node, 0.0, updates->dtype);
    Tensor *zeros = expanded(node, zero, &missing);
    return expand_concat(node, updates, zeros, 0);
}

/* The same with a spare row, where updates behind the real ones go. */
static bool scatter_places(Node *node)
{
    if (!node_is(node, "ScatterND"))
        return false;
    Tensor *data = node->in[0];
    if (data->dynamic || !node->in[1]->dynamic || !updates_fit(node))
        return false;
    const Shape shape = *infer_shape(node, 0);
    Tensor *in[] = {
        with_spare(node, data, 0),
        real_places(node, &shape),
        as_many_updates(node),
    };
    Node *made = expand_node(node, "ScatterND", 3, in, 1);
    expand_copy_attrs(made, node);
    Tensor *all = expand_done(made);
    expand_finish_one(node, expand_slice(node, all, 0, 0, shape.dim[0]));
    return true;
}

/* The element of a list that an index means; false: it is known only at run time. */
static bool picked_at(const Node *node, int64_t index, int64_t *value)
{
    const Tensor *list = node->in[0];
    const int64_t n = list->shape.dim[0];
    const int64_t at = index < 0 ? index + n : index;
    if (at < 0 || at >= n)
        return false;
    return partly_known(node->graph, list, at, value);
}

/* An element of a list of sizes that is known whatever the others are: [n, 91][1]. */
static bool pick_known(Node *node)
{
    const Tensor *list = node_in(node, 0);
    int64_t count;
    int64_t picked[MAX_RANK];
    if (!node_is(node, "Gather"))
        return false;
    if (!graph_root(node->graph)->sizes.n || list->value)
        return false;
    if (list->dtype != DT_I64 || list->shape.rank != 1)
        return false;
    const int64_t *index = infer_ints(node, 1, &count);
    if (!index || list->dynamic)
        return false;
    if (count < 1 || count > MAX_RANK)
        return false;
    for (int i = 0; i < count; i++)
        if (!picked_at(node, index[i], picked + i))
            return false;
    Tensor *values = expand_i64s(node, count, picked);
    const Shape *shape = &node->in[1]->shape;
    values = expand_reshape(node, values, shape->rank, shape->dim);
    expand_finish_one(node, values);
    return true;
}

bool dynamic_told(Node *node)
{
    slice_whole(node);
    resize_others(node);
    if (repeat_sized(node) || count_sized(node))
        return true;
    return scatter_sized(node) || scatter_places(node) || pick_known(node);
}

/* The side of a Flatten that the axis is on. */
static int flat_side(const Node *node, int axis)
{
    int64_t split = node_int(node, "axis", 1);
    if (split < 0)
        split += node->in[0]->shape.rank;
    return axis >= split;
}

/* The axis of the result that the dynamic one of the operand is to become: that which the shape
 * leaves open; -1: none. */
static int open_axis(const Node *node, int axis)
{
    int64_t count;
    if (node_is(node, "Flatten"))
        return flat_side(node, axis);
    if (!node_is(node, "Reshape"))
        return -1;
    const int64_t *dims = infer_ints(node, 1, &count);
    for (int i = 0; dims && i < count; i++)
        if (dims[i] == -1)
            return i;
    return -1;
}

int dynamic_scaled(const Node *at, int id, int64_t from, int64_t to)
{
    Graph *root = graph_root(at->graph);
    const int64_t part[] = {
        INT64_MIN, /* no sum */
        id,
        from,
        to,
    };
    if (from == to)
        return id;
    root->next_size++;
    return dynamic_joined(at, 4, part, root->next_size);
}

/* Elements of the axis, each `from` of the operand, become elements of `to`: as many lie before
 * both, so that those that count still come first. */
static void resize_axis(Node *node, const Tensor *tensor, int axis,
                        int64_t from, int64_t to)
{
    const int id = dynamic_scaled(node, tensor->size_id[axis], from, to);
    Tensor *size = dynamic_size(node, tensor, axis);
    size = expand_mul(node, size, expand_i64(node, from));
    size = expand_div(node, size, expand_i64(node, to));
    dynamic_mark(node, node->out[0], open_axis(node, axis), size, id);
}

bool dynamic_reshaped(Node *node, Tensor *tensor)
{
    int axis = 0;
    while (!(tensor->dynamic >> axis & 1u))
        axis++;
    const Shape *in = &tensor->shape;
    const Shape *out = result_shape(node, 0);
    const int open = open_axis(node, axis);
    if (open < 0 || tensor->dynamic != 1u << axis)
        return false;
    if (shape_product(in, 0, axis) != shape_product(out, 0, open))
        return false;
    const int64_t from = shape_product(in, axis + 1, in->rank);
    const int64_t to = shape_product(out, open + 1, out->rank);
    if (from < 1 || to < 1 || in->dim[axis] < 1)
        return false;
    if (in->dim[axis] * from % to)
        return false;
    resize_axis(node, tensor, axis, from, to);
    return true;
}
