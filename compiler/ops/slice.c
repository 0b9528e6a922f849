/* SPDX-License-Identifier: Apache-2.0
 * Parts and repetitions of a tensor: Slice, Pad, Tile, DepthToSpace, SpaceToDepth. */
#include <string.h>

#include "base/size.h"
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

static void slice_axis(const Node *node, SliceSpec *sp, int axis, int64_t size, int64_t start,
                       int64_t end, int64_t step)
{
    if (step == 0)
        fail_node(node, STATUS_MALFORMED, NULL, "a step is 0");
    if (step < -INT64_MAX)
        step = -INT64_MAX;
    if (start < 0)
        start += size;
    if (end < 0)
        end += size;
    if (step > 0) {
        start = clamp(start, 0, size);
        end = clamp(end, 0, size);
        sp->count[axis] = end > start ? i64_ceil_div(end - start, step) : 0;
    } else {
        start = clamp(start, 0, size - 1);
        end = clamp(end, -1, size - 1);
        sp->count[axis] = start > end ? i64_ceil_div(start - end, -step) : 0;
    }
    sp->start[axis] = start;
    sp->step[axis] = sp->count[axis] > 1 ? step : 1;
}

/* Lists by attribute (opset 1) or by operands; false: not constant. */
static bool slice_spec(const Node *node, SliceSpec *sp)
{
    const Shape *shape = infer_shape(node, 0);
    const bool by_input = node->op->since >= 10;
    int64_t count;
    int64_t ends_count;
    int64_t axes_count;
    int64_t steps_count = 0;
    const int64_t *starts =
        by_input ? infer_ints(node, 1, &count) : node_ints(node, "starts", &count);
    const int64_t *ends =
        by_input ? infer_ints(node, 2, &ends_count) : node_ints(node, "ends", &ends_count);
    const int64_t *axes =
        by_input ? infer_ints(node, 3, &axes_count) : node_ints(node, "axes", &axes_count);
    const int64_t *steps = by_input ? infer_ints(node, 4, &steps_count) : NULL;
    for (int i = 0; i < shape->rank; i++) {
        sp->start[i] = 0;
        sp->step[i] = 1;
        sp->count[i] = shape->dim[i];
    }
    if (!starts || !ends || (node_in(node, 3) && !axes) || (node_in(node, 4) && !steps))
        return false;
    if (count != ends_count || (axes && axes_count != count) || (steps && steps_count != count) ||
        (!axes && count > shape->rank))
        fail_node(node, STATUS_MALFORMED, NULL, "starts, ends, axes and steps differ in length");
    for (int64_t i = 0; i < count; i++) {
        const int a = axes ? node_axis(node, axes[i], shape->rank) : (int)i;
        slice_axis(node, sp, a, shape->dim[a], starts[i], ends[i], steps ? steps[i] : 1);
    }
    return true;
}

/* What a one-element value is: `base` plus a constant, through operators that keep it. */
static const Tensor *base_of(const Node *node, const Tensor *tensor, int64_t *plus)
{
    static const char *const keep[] = { "Unsqueeze", "Squeeze", "Reshape", "Identity", "Cast" };
    for (const Node *p; (p = tensor->producer) != NULL;) {
        bool kept = false;
        int64_t count;
        for (size_t i = 0; i < sizeof keep / sizeof *keep; i++)
            kept |= node_is(p, keep[i]);
        const int64_t *v = node_is(p, "Add") || node_is(p, "Sub")
                               ? tensor_ints(node->graph, p->in[1], &count)
                               : NULL;
        if ((!kept && (!v || count != 1)) || dtype_is_float(tensor->dtype))
            break;
        if (v)
            *plus = node_is(p, "Add") ? i64_add(*plus, *v) : i64_sub(*plus, *v);
        tensor = p->in[0];
    }
    return tensor;
}

/* One axis is cut, from a value to that value plus a constant: lower_slice_values() has it checked
 * when the model runs. */
static bool sliced_by_difference(Node *node, Shape *s)
{
    Tensor *start = node_in(node, 1);
    Tensor *end = node_in(node, 2);
    int64_t from = 0;
    int64_t to = 0;
    int64_t count = 1;
    int64_t steps = 1;
    *s = node->in[0]->shape;
    if (node->op->since < 10 || start->value || end->value || tensor_count(start) != 1 ||
        tensor_count(end) != 1)
        return false;
    const int64_t *axis = infer_ints(node, 3, &count);
    const int64_t *step = infer_ints(node, 4, &steps);
    const int64_t zero = 0;
    if ((node_in(node, 3) && !axis) || (node_in(node, 4) && (!step || steps != 1 || *step != 1)))
        return false;
    if (base_of(node, start, &from) != base_of(node, end, &to) || to < from)
        return false;
    const int a = node_axis(node, axis ? *axis : zero, s->rank);
    s->dim[a] = i64_min(i64_sub(to, from), s->dim[a]);
    return true;
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
    SliceSpec sp;
    Shape s;
    if (slice_spec(node, &sp))
        infer_out(node, 0, node->in[0]->dtype, shape_of(node->in[0]->shape.rank, sp.count));
    else if (!shape_known(node->out[0]->declared) && sliced_by_difference(node, &s))
        infer_out(node, 0, node->in[0]->dtype, s);
    else {
        infer_declared(node, 0, node->in[0]->dtype);
        infer_require(node, 0, is_part(&node->out[0]->shape, &node->in[0]->shape));
    }
}

Recipe *constant_slice(Node *node)
{
    SliceSpec sp;
    Recipe *recipe = node->in[0]->value;
    if (!recipe || !slice_spec(node, &sp))
        return NULL;
    for (int i = 0; i < node->in[0]->shape.rank; i++)
        if (sp.count[i] != node->in[0]->shape.dim[i] || sp.step[i] != 1)
            recipe =
                recipe_slice(node->graph->store, recipe, i, sp.start[i], sp.step[i], sp.count[i]);
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

void lower_slice(Lower *lower, Node *node)
{
    SliceSpec sp;
    const Shape *s = &node->in[0]->shape;
    if (!tensor_count(node->out[0]))
        return;
    if (!slice_spec(node, &sp)) {
        lower_slice_values(lower, node);
        return;
    }
    const int axis = cut_axis(s, &sp);
    if (axis > -2) {
        if (axis < 0)
            lower_view(lower, node, node->out[0], node->in[0], 0);
        else
            lower_part(lower, node, node->out[0], node->in[0], axis, sp.start[axis],
                       sp.count[axis]);
        return;
    }
    Move move = { .rank = s->rank };
    int64_t stride[MAX_RANK];
    shape_strides(s, stride);
    shape_strides(&node->out[0]->shape, move.y);
    for (int i = 0; i < s->rank; i++) {
        move.n[i] = sp.count[i];
        move.x[i] = i64_mul(stride[i], sp.step[i]);
        move.x0 += sp.start[i] * stride[i];
    }
    Tensor *y = move_target(lower, node->out[0]);
    lower_move(lower, node, y, move_source(lower, node, node->in[0]), &move);
    move_finish(lower, node, node->out[0], y);
}

/* Pad */

typedef struct PadSpec {
    int64_t before[MAX_RANK], after[MAX_RANK];
} PadSpec;

/* Amounts by attribute (opset 2) or by operands 1 and, for some axes, 3; false: not constant. */
static bool pad_spec(const Node *node, PadSpec *p)
{
    const int rank = infer_shape(node, 0)->rank;
    const bool by_input = node->op->since >= 11;
    int64_t count;
    int64_t axes_count = rank;
    const int64_t *pads = by_input ? infer_ints(node, 1, &count) : node_ints(node, "pads", &count);
    const int64_t *axes = by_input ? infer_ints(node, 3, &axes_count) : NULL;
    if (!axes)
        axes_count = rank;
    memset(p, 0, sizeof *p);
    if (!pads || (node_in(node, 3) && !axes))
        return false;
    if (count != 2 * axes_count)
        fail_node(node, STATUS_MALFORMED, NULL, "pads has %lld entries for %lld axes",
                  (long long)count, (long long)axes_count);
    for (int64_t i = 0; i < axes_count; i++) {
        const int a = axes ? node_axis(node, axes[i], rank) : (int)i;
        p->before[a] = pads[i];
        p->after[a] = pads[axes_count + i];
    }
    return true;
}

void infer_pad(Node *node)
{
    PadSpec p;
    Shape s = *infer_shape(node, 0);
    if (!pad_spec(node, &p)) {
        infer_declared(node, 0, node->in[0]->dtype);
        infer_require(node, 0, node->out[0]->shape.rank == s.rank);
        return;
    }
    for (int i = 0; i < s.rank; i++) {
        s.dim[i] = i64_add(i64_add(s.dim[i], p.before[i]), p.after[i]);
        if (s.dim[i] < 0)
            fail_node(node, STATUS_MALFORMED, NULL, "pads remove more of axis %d than there is", i);
    }
    infer_out(node, 0, node->in[0]->dtype, s);
}

static PickEdge pad_edge(const Node *node)
{
    const char *mode = node_string(node, "mode", "constant");
    if (!strcmp(mode, "constant"))
        return PICK_NONE;
    if (!strcmp(mode, "reflect"))
        return PICK_REFLECT;
    if (!strcmp(mode, "edge"))
        return PICK_EDGE;
    if (!strcmp(mode, "wrap"))
        return PICK_WRAP;
    fail_node(node, STATUS_MALFORMED, NULL, "pad mode \"%s\" is unknown", mode);
}

Recipe *constant_pad(Node *node)
{
    PadSpec p;
    Recipe *recipe = node->in[0]->value;
    if (!recipe || pad_edge(node) != PICK_NONE || node_in(node, 2) || node_attr(node, "value") ||
        !pad_spec(node, &p))
        return NULL;
    for (int i = 0; i < node->in[0]->shape.rank; i++) {
        if (p.before[i] < 0 || p.after[i] < 0)
            return NULL;
        if (p.before[i] || p.after[i])
            recipe = recipe_pad(node->graph->store, recipe, i, p.before[i], p.after[i]);
    }
    return recipe;
}

/* The element that fills: operand 2, attribute `value` (opset 2) or zero. */
static Tensor *pad_value(Lower *lower, Node *node)
{
    const int64_t one = 1;
    const float v = node_float(node, "value", 0.0f);
    const uint64_t zero[2] = { 0, 0 };
    if (node_in(node, 2))
        return node->in[2];
    if (!(v < 0.0f) && !(v > 0.0f))
        return lower_constant(lower,
                              recipe_fill(lower->graph->store, node->in[0]->dtype, 1, &one, zero));
    return lower_constant(lower,
                          recipe_cast(lower->graph->store,
                                      recipe_memory(lower->graph->store, DT_F32, 1, &one, &v),
                                      node->in[0]->dtype));
}

static void lower_pad_constant(Lower *lower, Node *node, const PadSpec *p)
{
    const Shape *in = &node->in[0]->shape;
    const Shape *to = &node->out[0]->shape;
    Tensor *y = move_target(lower, node->out[0]);
    int64_t stride[MAX_RANK];
    Move move = { .rank = in->rank };
    shape_strides(in, stride);
    shape_strides(to, move.y);
    bool covers = true;
    for (int i = 0; i < in->rank; i++) {
        move.n[i] = i64_max(0, in->dim[i] + i64_min(p->before[i], 0) + i64_min(p->after[i], 0));
        move.x[i] = stride[i];
        move.y0 += i64_max(p->before[i], 0) * move.y[i];
        move.x0 += i64_max(-p->before[i], 0) * stride[i];
        covers = covers && move.n[i] == to->dim[i];
    }
    if (!covers)
        lower_fill(lower, node, y, move_source(lower, node, pad_value(lower, node)));
    Step *s = lower_move(lower, node, y, move_source(lower, node, node->in[0]), &move);
    if (s && !covers)
        s->operand[0].read = true; /* the margin is there already */
    move_finish(lower, node, node->out[0], y);
}

void lower_pad(Lower *lower, Node *node)
{
    PadSpec p;
    const PickEdge edge = pad_edge(node);
    const Shape *in = &node->in[0]->shape;
    if (!tensor_count(node->out[0]))
        return;
    if (!pad_spec(node, &p)) {
        lower_pad_values(lower, node, pad_value(lower, node), (int)edge);
        return;
    }
    if (edge == PICK_NONE) {
        lower_pad_constant(lower, node, &p);
        return;
    }
    Pick pick = pick_new(lower, node, node->out[0], node->in[0]);
    for (int i = 0; i < in->rank; i++)
        pick_padded(&pick, i, p.before[i], in->dim[i], p.after[i], edge);
    lower_pick(&pick);
}

/* Tile */

static const int64_t *tile_repeats(const Node *node)
{
    int64_t count;
    const int64_t *r = infer_ints(node, 1, &count);
    if (r && count != infer_shape(node, 0)->rank)
        fail_node(node, STATUS_MALFORMED, NULL, "repeats has %lld entries for a tensor of rank %d",
                  (long long)count, node->in[0]->shape.rank);
    return r;
}

/* The repeats are values: as declared, each dimension a multiple of the input's. */
static void infer_declared_tile(Node *node, const Shape *in)
{
    infer_declared(node, 0, node->in[0]->dtype);
    const Shape *to = &node->out[0]->shape;
    bool fits = to->rank == in->rank && infer_count(node, 1) == in->rank;
    for (int i = 0; fits && i < in->rank; i++)
        fits = in->dim[i] ? to->dim[i] % in->dim[i] == 0 : to->dim[i] == 0;
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
            fail_node(node, STATUS_MALFORMED, NULL, "axis %d is repeated %lld times", i,
                      (long long)r[i]);
        shape.dim[i] = i64_mul(shape.dim[i], r[i]);
    }
    infer_out(node, 0, node->in[0]->dtype, shape);
}

/* The dims say it all: how often an axis repeats is out / in, also where the counts are run-time
 * values. */
static void check_repeats(Lower *lower, Node *node)
{
    int64_t ratio[MAX_RANK];
    for (int i = 0; i < node->in[0]->shape.rank; i++)
        ratio[i] = node->out[0]->shape.dim[i] / i64_max(1, node->in[0]->shape.dim[i]);
    lower_check_dims(lower, node, 1, ratio);
}

void lower_tile(Lower *lower, Node *node)
{
    const Shape *in = &node->in[0]->shape;
    const Shape *to = &node->out[0]->shape;
    if (!tensor_count(node->out[0]))
        return;
    check_repeats(lower, node);
    Move move = { .rank = 2 * in->rank };
    int64_t x[MAX_RANK], y[MAX_RANK];
    shape_strides(in, x);
    shape_strides(to, y);
    for (int i = 0; i < in->rank; i++) {
        move.n[2 * i] = to->dim[i] / in->dim[i];
        move.n[2 * i + 1] = in->dim[i];
        move.y[2 * i] = i64_mul(y[i], in->dim[i]);
        move.y[2 * i + 1] = y[i];
        move.x[2 * i + 1] = x[i];
    }
    if (lower_move_fits(&move)) {
        Tensor *target = move_target(lower, node->out[0]);
        lower_move(lower, node, target, move_source(lower, node, node->in[0]), &move);
        move_finish(lower, node, node->out[0], target);
        return;
    }
    Pick pick = pick_new(lower, node, node->out[0], node->in[0]);
    for (int i = 0; i < in->rank; i++)
        pick_padded(&pick, i, 0, in->dim[i], to->dim[i] - in->dim[i], PICK_WRAP);
    lower_pick(&pick);
}

/* DepthToSpace, SpaceToDepth: transpositions of [n][h][i][w][j][c], i and j within a block. */

static int64_t block_size(const Node *node)
{
    const int64_t b = node_int(node, "blocksize", 0);
    if (b < 1)
        fail_node(node, STATUS_MALFORMED, NULL, "blocksize is %lld", (long long)b);
    if (infer_shape(node, 0)->rank != 4)
        fail_node(node, STATUS_MALFORMED, NULL, "its input is of rank %d, not 4",
                  node->in[0]->shape.rank);
    if (dtype_bits(node->in[0]->dtype) < 8)
        fail_node(node, STATUS_UNSUPPORTED, NULL, "its input is of %s, not of whole bytes",
                  dtype_name(node->in[0]->dtype));
    return b;
}

/* Index of the dimension n, c, h, w of an image in either layout. */
typedef struct ImageDims {
    int n, c, h, w;
} ImageDims;

static ImageDims image_dims(const Node *node)
{
    return node->channels_last ? (ImageDims){ 0, 3, 1, 2 } : (ImageDims){ 0, 1, 2, 3 };
}

void infer_depth_to_space(Node *node)
{
    Shape shape = *infer_shape(node, 0);
    const int64_t b = block_size(node);
    const ImageDims dims = image_dims(node);
    if (shape.dim[dims.c] % i64_mul(b, b))
        fail_node(node, STATUS_MALFORMED, NULL,
                  "%lld channels are no multiple of blocksize squared",
                  (long long)shape.dim[dims.c]);
    shape.dim[dims.c] /= b * b;
    shape.dim[dims.h] = i64_mul(shape.dim[dims.h], b);
    shape.dim[dims.w] = i64_mul(shape.dim[dims.w], b);
    infer_out(node, 0, node->in[0]->dtype, shape);
}

void infer_space_to_depth(Node *node)
{
    Shape shape = *infer_shape(node, 0);
    const int64_t b = block_size(node);
    const ImageDims dims = image_dims(node);
    if (shape.dim[dims.h] % b || shape.dim[dims.w] % b)
        fail_node(node, STATUS_MALFORMED, NULL, "its image is no multiple of the block");
    shape.dim[dims.c] = i64_mul(shape.dim[dims.c], i64_mul(b, b));
    shape.dim[dims.h] /= b;
    shape.dim[dims.w] /= b;
    infer_out(node, 0, node->in[0]->dtype, shape);
}

/* `deep` has the blocks in its channels, c of them for each of the flat image; crd: the block is
 * the inner part. */
static void lower_blocks(Lower *lower, Node *node, Tensor *deep, Tensor *flat, int64_t b, bool crd)
{
    const ImageDims dims = image_dims(node);
    int64_t sd[MAX_RANK], sf[MAX_RANK];
    shape_strides(&deep->shape, sd);
    shape_strides(&flat->shape, sf);
    const int64_t c = flat->shape.dim[dims.c];
    const int64_t block = crd ? sd[dims.c] : sd[dims.c] * c;
    const int64_t channel = crd ? sd[dims.c] * b * b : sd[dims.c];
    const int64_t size[] = {
        deep->shape.dim[0], deep->shape.dim[dims.h], b, deep->shape.dim[dims.w], b, c
    };
    const int64_t of_deep[] = { sd[0], sd[dims.h], block * b, sd[dims.w], block, channel };
    const int64_t of_flat[] = { sf[0],          sf[dims.h] * b, sf[dims.h],
                                sf[dims.w] * b, sf[dims.w],     sf[dims.c] };
    const bool to_flat = flat == node->out[0];
    static const int planes[] = { 0, 5, 1, 2, 3, 4 };
    Move move = { .rank = 6 };
    for (int i = 0; i < 6; i++) {
        const int k = node->channels_last ? i : planes[i];
        move.n[i] = size[k];
        move.x[i] = to_flat ? of_deep[k] : of_flat[k];
        move.y[i] = to_flat ? of_flat[k] : of_deep[k];
    }
    lower_move(lower, node, node->out[0], node->in[0], &move);
}

static bool is_crd(const Node *node)
{
    return !strcmp(node_string(node, "mode", "DCR"), "CRD");
}

void lower_depth_to_space(Lower *lower, Node *node)
{
    lower_blocks(lower, node, node->in[0], node->out[0], block_size(node), is_crd(node));
}

void lower_space_to_depth(Lower *lower, Node *node)
{
    lower_blocks(lower, node, node->out[0], node->in[0], block_size(node), is_crd(node));
}
