/* SPDX-License-Identifier: Apache-2.0
 * Parts and repetitions of a tensor: Slice, Tile. */
#include "base/size.h"
#include "ops/ranges.h"
#include "ops/steps.h"
#include "ops/families.h"
#include "ops/nest.h"
#include "ops/pick.h"
#include "ops/values.h"

/* Slice: start, step and count for each axis of the input. */
typedef struct SliceSpec {
    int64_t start[MAX_RANK], step[MAX_RANK], count[MAX_RANK];
} SliceSpec;

static int64_t clamp(int64_t v, int64_t lo, int64_t hi)
{
    return i64_max(lo, i64_min(v, hi));
}

/* "To the end", however long the axis is. ONNX Runtime takes it backwards as well, where a clamped
 * end would leave nothing. */
static bool is_far_end(int64_t end)
{
    return end == INT32_MAX || end == INT64_MAX;
}

/* How many elements from start down to end, which is left out. */
static int64_t steps_back(int64_t start, int64_t end, int64_t step)
{
    return start > end ? i64_ceil_div(start - end, -step) : 0;
}

static void slice_axis(const Node *node, SliceSpec *sp, int axis, int64_t size,
                       int64_t start, int64_t end, int64_t step)
{
    if (step == 0)
        fail_node(node, STATUS_MALFORMED, NULL, "a step is 0");
    if (step < -INT64_MAX)
        step = -INT64_MAX;
    if (start < 0)
        start += size;
    if (step < 0 && is_far_end(end))
        end = -1;
    else if (end < 0)
        end += size;
    if (step > 0) {
        start = clamp(start, 0, size);
        end = clamp(end, 0, size);
        sp->count[axis] = end > start ? i64_ceil_div(end - start, step) : 0;
    } else {
        start = clamp(start, 0, size - 1);
        end = clamp(end, -1, size - 1);
        sp->count[axis] = size ? steps_back(start, end, step) : 0;
    }
    sp->start[axis] = start;
    sp->step[axis] = sp->count[axis] > 1 ? step : 1;
}

typedef struct SliceLists {
    const int64_t *starts, *ends, *axes, *steps; /* the last two may be NULL */
    int64_t count;
} SliceLists;

static void check_length(const Node *node, const int64_t *list, int64_t length,
                         int64_t count)
{
    if (list && length != count)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "starts, ends, axes and steps differ in length");
}

/* Lists by attribute (opset 1) or by operands; their lengths in the order of the operands. */
static void read_lists(const Node *node, SliceLists *lists, int64_t *length)
{
    lists->steps = NULL;
    if (node->op->since < 10) {
        lists->starts = node_ints(node, "starts", &length[0]);
        lists->ends = node_ints(node, "ends", &length[1]);
        lists->axes = node_ints(node, "axes", &length[2]);
        if (!lists->starts || !lists->ends)
            fail_node(node, STATUS_MALFORMED, NULL, "has no starts or no ends");
    } else {
        lists->starts = infer_ints(node, 1, &length[0]);
        lists->ends = infer_ints(node, 2, &length[1]);
        lists->axes = infer_ints(node, 3, &length[2]);
        lists->steps = infer_ints(node, 4, &length[3]);
    }
    lists->count = length[0];
}

/* False: not constant. */
static bool slice_lists(const Node *node, SliceLists *lists)
{
    const int rank = infer_shape(node, 0)->rank;
    int64_t length[4];
    read_lists(node, lists, length);
    const int64_t count = lists->count;
    if (!lists->starts || !lists->ends)
        return false;
    if (node_in(node, 3) && !lists->axes)
        return false;
    if (node_in(node, 4) && !lists->steps)
        return false;
    check_length(node, lists->ends, length[1], count);
    check_length(node, lists->axes, length[2], count);
    check_length(node, lists->steps, length[3], count);
    if (!lists->axes && count > rank)
        check_length(node, lists->starts, rank, count);
    return true;
}

static bool slice_spec(const Node *node, SliceSpec *spec)
{
    const Shape *shape = infer_shape(node, 0);
    SliceLists lists;
    if (!slice_lists(node, &lists))
        return false;
    for (int i = 0; i < shape->rank; i++) {
        spec->start[i] = 0;
        spec->step[i] = 1;
        spec->count[i] = shape->dim[i];
    }
    bool given[MAX_RANK] = { false };
    for (int64_t i = 0; i < lists.count; i++) {
        const int64_t one = lists.axes ? lists.axes[i] : i;
        const int axis = node_axis(node, one, shape->rank);
        if (given[axis])
            fail_node(node, STATUS_MALFORMED, NULL, "axis %d is named twice",
                      axis);
        given[axis] = true;
        const int64_t step = lists.steps ? lists.steps[i] : 1;
        slice_axis(node, spec, axis, shape->dim[axis], lists.starts[i],
                   lists.ends[i], step);
    }
    return true;
}

static bool keeps_value(const Node *node)
{
    return node->op->flags & OP_VIEW || node_is(node, "Identity") ||
           node_is(node, "Cast");
}

/* The constant that an Add or Sub of one number puts to its operand 0. */
static bool added_number(const Node *node, int64_t *number)
{
    const bool add = node_is(node, "Add");
    int64_t count;
    if (!add && !node_is(node, "Sub"))
        return false;
    const int64_t *values = tensor_ints(node->graph, node->in[1], &count);
    if (!values || count != 1)
        return false;
    *number = add ? *values : i64_sub(0, *values);
    return true;
}

/* What a one-element value is: `base` plus a constant, through operators that keep it. */
static const Tensor *base_of(const Tensor *tensor, int64_t *plus)
{
    while (tensor->producer && !dtype_is_float(tensor->dtype)) {
        const Node *node = tensor->producer;
        int64_t more = 0;
        if (!keeps_value(node) && !added_number(node, &more))
            break;
        *plus = i64_add(*plus, more);
        tensor = node->in[0];
    }
    return tensor;
}

/* One axis is cut, from a value to that value plus a constant: lower_slice_values() has it checked
 * when the model runs. */
static bool sliced_by_difference(const Node *node, Shape *shape)
{
    const Tensor *start = node_in(node, 1);
    const Tensor *end = node_in(node, 2);
    int64_t from = 0;
    int64_t to = 0;
    *shape = node->in[0]->shape;
    if (node->op->since < 10 || start->value || end->value)
        return false;
    if (tensor_count(start) != 1 || tensor_count(end) != 1)
        return false;
    const int64_t *axis = infer_number(node, 3);
    const int64_t *step = infer_number(node, 4);
    if (node_in(node, 3) && !axis)
        return false;
    if (node_in(node, 4) && (!step || *step != 1))
        return false;
    if (base_of(start, &from) != base_of(end, &to) || to < from)
        return false;
    const int a = node_axis(node, axis ? *axis : 0, shape->rank);
    shape->dim[a] = i64_min(i64_sub(to, from), shape->dim[a]);
    return true;
}

bool slice_ranges(const Node *node, Ranges *ranges)
{
    const int rank = node->in[0]->shape.rank;
    SliceSpec spec;
    if (!slice_spec(node, &spec))
        return false;
    for (int i = 0; i < rank; i++) {
        if (spec.step[i] != 1)
            return false;
        ranges->from[i] = spec.start[i];
        ranges->to[i] = spec.start[i] + spec.count[i];
    }
    return true;
}

bool slice_steps(const Node *node, int64_t *first, int64_t *step)
{
    const int rank = node->in[0]->shape.rank;
    SliceSpec spec;
    if (!slice_spec(node, &spec))
        return false;
    for (int i = 0; i < rank; i++) {
        first[i] = spec.start[i];
        step[i] = spec.step[i];
    }
    return true;
}

bool slice_is_sized(const Node *node)
{
    SliceSpec spec;
    Shape shape;
    return shape_known(node->out[0]->declared) || slice_spec(node, &spec) ||
           sliced_by_difference(node, &shape);
}

static bool is_part(const Shape *part, const Shape *whole)
{
    bool fits = part->rank == whole->rank;
    for (int i = 0; fits && i < whole->rank; i++)
        fits = part->dim[i] <= whole->dim[i];
    return fits;
}

void infer_slice(Node *node)
{
    const Shape *in = node_shape(node, 0);
    const DType type = node_type(node);
    SliceSpec spec;
    Shape shape;
    if (slice_spec(node, &spec)) {
        infer_out(node, 0, type, shape_of(in->rank, spec.count));
    } else if (!shape_known(node->out[0]->declared) &&
               sliced_by_difference(node, &shape)) {
        infer_out(node, 0, type, shape);
    } else {
        infer_declared(node, 0, type);
        infer_require(node, 0, is_part(result_shape(node, 0), in));
    }
}

Recipe *constant_slice(Node *node)
{
    SliceSpec sp;
    Recipe *recipe = node->in[0]->value;
    if (!recipe || !slice_spec(node, &sp))
        return NULL;
    Store *store = node->graph->store;
    const Shape *in = node_shape(node, 0);
    for (int i = 0; i < in->rank; i++) {
        const int64_t count = sp.count[i];
        const int64_t step = sp.step[i];
        if (count != in->dim[i] || step != 1)
            recipe = recipe_slice(store, recipe, i, sp.start[i], step, count);
    }
    return recipe;
}

/* The only axis that is cut, with step 1; -1: none, -2: not of that form. */
static int cut_axis(const Shape *shape, const SliceSpec *sp)
{
    int axis = -1;
    for (int i = 0; i < shape->rank; i++) {
        if (sp->count[i] == shape->dim[i] && sp->step[i] == 1)
            continue;
        if (axis >= 0 || sp->step[i] != 1)
            return -2;
        axis = i;
    }
    return axis;
}

/* The result is moved from operand 0. */
static void lower_moved(Lower *lower, Node *node, const Move *move)
{
    Tensor *y = move_target(lower, node->out[0]);
    Tensor *x = move_source(lower, node->in[0]);
    lower_move(lower, y, x, move);
    move_finish(lower, node->out[0], y);
}

/* Any steps, along any axes. */
static void lower_strided(Lower *lower, Node *node, const SliceSpec *spec)
{
    const Shape *in = node_shape(node, 0);
    Move move = { .rank = in->rank };
    int64_t stride[MAX_RANK];
    shape_strides(in, stride);
    shape_strides(result_shape(node, 0), move.y);
    for (int i = 0; i < in->rank; i++) {
        const int64_t each = stride[i];
        move.n[i] = spec->count[i];
        move.x[i] = i64_mul(each, spec->step[i]);
        move.x0 += spec->start[i] * each;
    }
    lower_moved(lower, node, &move);
}

void lower_slice(Lower *lower, Node *node)
{
    SliceSpec spec;
    Tensor *in = node->in[0];
    Tensor *out = node->out[0];
    if (!tensor_count(out))
        return;
    if (!slice_spec(node, &spec)) {
        lower_slice_values(lower, node);
        return;
    }
    const int axis = cut_axis(&in->shape, &spec);
    if (axis < -1) {
        lower_strided(lower, node, &spec);
        return;
    }
    if (axis < 0) {
        lower_view(lower, out, in, 0);
        return;
    }
    const AxisPart part = {
        .axis = axis,
        .start = spec.start[axis],
        .count = spec.count[axis],
    };
    lower_part(lower, out, in, part);
}

/* Tile */

static const int64_t *tile_repeats(const Node *node)
{
    int64_t count;
    const int64_t *r = infer_ints(node, 1, &count);
    if (r && count != infer_shape(node, 0)->rank)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "repeats has %lld entries for a tensor of rank %d",
                  (long long)count, node->in[0]->shape.rank);
    return r;
}

/* The repeats are values: as declared, each dimension a multiple of the input's. */
static void infer_declared_tile(Node *node, const Shape *in)
{
    infer_declared(node, 0, node_type(node));
    const Shape *to = result_shape(node, 0);
    bool fits = to->rank == in->rank && infer_count(node, 1) == in->rank;
    for (int i = 0; fits && i < in->rank; i++) {
        const int64_t size = to->dim[i];
        const int64_t part = in->dim[i];
        fits = part ? size % part == 0 : size == 0;
    }
    infer_require(node, 0, fits);
}

void infer_tile(Node *node)
{
    Shape shape = *infer_shape(node, 0);
    const int64_t *r = tile_repeats(node);
    if (!r) {
        infer_declared_tile(node, &shape);
        return;
    }
    for (int i = 0; i < shape.rank; i++) {
        if (r[i] < 0)
            fail_node(node, STATUS_MALFORMED, NULL,
                      "axis %d is repeated %lld times", i, (long long)r[i]);
        shape.dim[i] = i64_mul(shape.dim[i], r[i]);
    }
    infer_out(node, 0, node_type(node), shape);
}

/* The dims say it all: how often an axis repeats is out / in, also where the counts are run-time
 * values. */
static void check_repeats(Lower *lower, Node *node)
{
    int64_t ratio[MAX_RANK];
    for (int i = 0; i < node->in[0]->shape.rank; i++)
        ratio[i] =
            node->out[0]->shape.dim[i] / i64_max(1, node->in[0]->shape.dim[i]);
    lower_check_dims(lower, node, 1, node->in[0]->shape.rank, ratio);
}

static Move tile_move(const Shape *in, const Shape *to)
{
    Move move = { .rank = 2 * in->rank };
    int64_t x[MAX_RANK];
    int64_t y[MAX_RANK];
    shape_strides(in, x);
    shape_strides(to, y);
    for (int i = 0; i < in->rank; i++) {
        const int64_t size = in->dim[i];
        const int repeat = 2 * i;
        const int within = repeat + 1;
        move.n[repeat] = to->dim[i] / size;
        move.n[within] = size;
        move.y[repeat] = i64_mul(y[i], size);
        move.y[within] = y[i];
        move.x[within] = x[i];
    }
    return move;
}

void lower_tile(Lower *lower, Node *node)
{
    const Shape *in = node_shape(node, 0);
    const Shape *to = result_shape(node, 0);
    if (!tensor_count(node->out[0]))
        return;
    check_repeats(lower, node);
    const Move move = tile_move(in, to);
    if (lower_move_fits(&move)) {
        lower_moved(lower, node, &move);
        return;
    }
    Pick pick = pick_new(lower, node, node->out[0], node->in[0]);
    for (int i = 0; i < in->rank; i++) {
        const int64_t more = to->dim[i] - in->dim[i];
        pick_padded(&pick, i, 0, in->dim[i], more, PICK_WRAP);
    }
    lower_pick(&pick);
}
