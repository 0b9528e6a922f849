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

static void slice_axis(const Node *n, SliceSpec *sp, int axis, int64_t size, int64_t start,
                       int64_t end, int64_t step)
{
    if (step == 0)
        fail_node(n, STATUS_MALFORMED, NULL, "a step is 0");
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
static bool slice_spec(const Node *n, SliceSpec *sp)
{
    const Shape *s = infer_shape(n, 0);
    const bool by_input = n->op->since >= 10;
    int64_t count, ends_count, axes_count, steps_count = 0;
    const int64_t *starts = by_input ? infer_ints(n, 1, &count) : node_ints(n, "starts", &count);
    const int64_t *ends =
        by_input ? infer_ints(n, 2, &ends_count) : node_ints(n, "ends", &ends_count);
    const int64_t *axes =
        by_input ? infer_ints(n, 3, &axes_count) : node_ints(n, "axes", &axes_count);
    const int64_t *steps = by_input ? infer_ints(n, 4, &steps_count) : NULL;
    for (int i = 0; i < s->rank; i++) {
        sp->start[i] = 0;
        sp->step[i] = 1;
        sp->count[i] = s->dim[i];
    }
    if (!starts || !ends || (node_in(n, 3) && !axes) || (node_in(n, 4) && !steps))
        return false;
    if (count != ends_count || (axes && axes_count != count) || (steps && steps_count != count) ||
        (!axes && count > s->rank))
        fail_node(n, STATUS_MALFORMED, NULL, "starts, ends, axes and steps differ in length");
    for (int64_t i = 0; i < count; i++) {
        const int a = axes ? node_axis(n, axes[i], s->rank) : (int)i;
        slice_axis(n, sp, a, s->dim[a], starts[i], ends[i], steps ? steps[i] : 1);
    }
    return true;
}

/* What a one-element value is: `base` plus a constant, through operators that keep it. */
static const Tensor *base_of(const Node *n, const Tensor *t, int64_t *plus)
{
    static const char *const keep[] = { "Unsqueeze", "Squeeze", "Reshape", "Identity", "Cast" };
    for (const Node *p; (p = t->producer) != NULL;) {
        bool kept = false;
        int64_t count;
        for (size_t i = 0; i < sizeof keep / sizeof *keep; i++)
            kept |= node_is(p, keep[i]);
        const int64_t *v =
            node_is(p, "Add") || node_is(p, "Sub") ? tensor_ints(n->graph, p->in[1], &count) : NULL;
        if ((!kept && (!v || count != 1)) || dtype_is_float(t->dtype))
            break;
        if (v)
            *plus = node_is(p, "Add") ? i64_add(*plus, *v) : i64_sub(*plus, *v);
        t = p->in[0];
    }
    return t;
}

/* One axis is cut, from a value to that value plus a constant: lower_slice_values() has it checked
 * when the model runs. */
static bool sliced_by_difference(Node *n, Shape *s)
{
    Tensor *start = node_in(n, 1), *end = node_in(n, 2);
    int64_t from = 0, to = 0, count = 1, steps = 1;
    *s = n->in[0]->shape;
    if (n->op->since < 10 || start->value || end->value || tensor_count(start) != 1 ||
        tensor_count(end) != 1)
        return false;
    const int64_t *axis = infer_ints(n, 3, &count), *step = infer_ints(n, 4, &steps), zero = 0;
    if ((node_in(n, 3) && !axis) || (node_in(n, 4) && (!step || steps != 1 || *step != 1)))
        return false;
    if (base_of(n, start, &from) != base_of(n, end, &to) || to < from)
        return false;
    const int a = node_axis(n, axis ? *axis : zero, s->rank);
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

void infer_slice(Node *n)
{
    SliceSpec sp;
    Shape s;
    if (slice_spec(n, &sp))
        infer_out(n, 0, n->in[0]->dtype, shape_of(n->in[0]->shape.rank, sp.count));
    else if (!shape_known(n->out[0]->declared) && sliced_by_difference(n, &s))
        infer_out(n, 0, n->in[0]->dtype, s);
    else {
        infer_declared(n, 0, n->in[0]->dtype);
        infer_require(n, 0, is_part(&n->out[0]->shape, &n->in[0]->shape));
    }
}

Recipe *constant_slice(Node *n)
{
    SliceSpec sp;
    Recipe *r = n->in[0]->value;
    if (!r || !slice_spec(n, &sp))
        return NULL;
    for (int i = 0; i < n->in[0]->shape.rank; i++)
        if (sp.count[i] != n->in[0]->shape.dim[i] || sp.step[i] != 1)
            r = recipe_slice(n->graph->store, r, i, sp.start[i], sp.step[i], sp.count[i]);
    return r;
}

/* The only axis that is cut, with step 1; -1: none, -2: not of that form. */
static int cut_axis(const Shape *s, const SliceSpec *sp)
{
    int axis = -1;
    for (int i = 0; i < s->rank; i++) {
        if (sp->count[i] == s->dim[i] && sp->step[i] == 1)
            continue;
        if (axis >= 0 || sp->step[i] != 1)
            return -2;
        axis = i;
    }
    return axis;
}

void lower_slice(Lower *l, Node *n)
{
    SliceSpec sp;
    const Shape *s = &n->in[0]->shape;
    if (!tensor_count(n->out[0]))
        return;
    if (!slice_spec(n, &sp)) {
        lower_slice_values(l, n);
        return;
    }
    const int axis = cut_axis(s, &sp);
    if (axis > -2) {
        if (axis < 0)
            lower_view(l, n, n->out[0], n->in[0], 0);
        else
            lower_part(l, n, n->out[0], n->in[0], axis, sp.start[axis], sp.count[axis]);
        return;
    }
    Move m = { .rank = s->rank };
    int64_t stride[MAX_RANK];
    shape_strides(s, stride);
    shape_strides(&n->out[0]->shape, m.y);
    for (int i = 0; i < s->rank; i++) {
        m.n[i] = sp.count[i];
        m.x[i] = i64_mul(stride[i], sp.step[i]);
        m.x0 += sp.start[i] * stride[i];
    }
    Tensor *y = move_target(l, n->out[0]);
    lower_move(l, n, y, move_source(l, n, n->in[0]), &m);
    move_finish(l, n, n->out[0], y);
}

/* Pad */

typedef struct PadSpec {
    int64_t before[MAX_RANK], after[MAX_RANK];
} PadSpec;

/* Amounts by attribute (opset 2) or by operands 1 and, for some axes, 3; false: not constant. */
static bool pad_spec(const Node *n, PadSpec *p)
{
    const int rank = infer_shape(n, 0)->rank;
    const bool by_input = n->op->since >= 11;
    int64_t count, axes_count = rank;
    const int64_t *pads = by_input ? infer_ints(n, 1, &count) : node_ints(n, "pads", &count);
    const int64_t *axes = by_input ? infer_ints(n, 3, &axes_count) : NULL;
    if (!axes)
        axes_count = rank;
    memset(p, 0, sizeof *p);
    if (!pads || (node_in(n, 3) && !axes))
        return false;
    if (count != 2 * axes_count)
        fail_node(n, STATUS_MALFORMED, NULL, "pads has %lld entries for %lld axes",
                  (long long)count, (long long)axes_count);
    for (int64_t i = 0; i < axes_count; i++) {
        const int a = axes ? node_axis(n, axes[i], rank) : (int)i;
        p->before[a] = pads[i];
        p->after[a] = pads[axes_count + i];
    }
    return true;
}

void infer_pad(Node *n)
{
    PadSpec p;
    Shape s = *infer_shape(n, 0);
    if (!pad_spec(n, &p)) {
        infer_declared(n, 0, n->in[0]->dtype);
        infer_require(n, 0, n->out[0]->shape.rank == s.rank);
        return;
    }
    for (int i = 0; i < s.rank; i++) {
        s.dim[i] = i64_add(i64_add(s.dim[i], p.before[i]), p.after[i]);
        if (s.dim[i] < 0)
            fail_node(n, STATUS_MALFORMED, NULL, "pads remove more of axis %d than there is", i);
    }
    infer_out(n, 0, n->in[0]->dtype, s);
}

static PickEdge pad_edge(const Node *n)
{
    const char *mode = node_string(n, "mode", "constant");
    if (!strcmp(mode, "constant"))
        return PICK_NONE;
    if (!strcmp(mode, "reflect"))
        return PICK_REFLECT;
    if (!strcmp(mode, "edge"))
        return PICK_EDGE;
    if (!strcmp(mode, "wrap"))
        return PICK_WRAP;
    fail_node(n, STATUS_MALFORMED, NULL, "pad mode \"%s\" is unknown", mode);
}

Recipe *constant_pad(Node *n)
{
    PadSpec p;
    Recipe *r = n->in[0]->value;
    if (!r || pad_edge(n) != PICK_NONE || node_in(n, 2) || node_attr(n, "value") ||
        !pad_spec(n, &p))
        return NULL;
    for (int i = 0; i < n->in[0]->shape.rank; i++) {
        if (p.before[i] < 0 || p.after[i] < 0)
            return NULL;
        if (p.before[i] || p.after[i])
            r = recipe_pad(n->graph->store, r, i, p.before[i], p.after[i]);
    }
    return r;
}

/* The element that fills: operand 2, attribute `value` (opset 2) or zero. */
static Tensor *pad_value(Lower *l, Node *n)
{
    const int64_t one = 1;
    const float v = node_float(n, "value", 0.0f);
    const uint64_t zero[2] = { 0, 0 };
    if (node_in(n, 2))
        return n->in[2];
    if (!(v < 0.0f) && !(v > 0.0f))
        return lower_constant(l, recipe_fill(l->graph->store, n->in[0]->dtype, 1, &one, zero));
    return lower_constant(l, recipe_cast(l->graph->store,
                                         recipe_memory(l->graph->store, DT_F32, 1, &one, &v),
                                         n->in[0]->dtype));
}

static void lower_pad_constant(Lower *l, Node *n, const PadSpec *p)
{
    const Shape *in = &n->in[0]->shape, *to = &n->out[0]->shape;
    Tensor *y = move_target(l, n->out[0]);
    int64_t stride[MAX_RANK];
    Move m = { .rank = in->rank };
    shape_strides(in, stride);
    shape_strides(to, m.y);
    bool covers = true;
    for (int i = 0; i < in->rank; i++) {
        m.n[i] = i64_max(0, in->dim[i] + i64_min(p->before[i], 0) + i64_min(p->after[i], 0));
        m.x[i] = stride[i];
        m.y0 += i64_max(p->before[i], 0) * m.y[i];
        m.x0 += i64_max(-p->before[i], 0) * stride[i];
        covers = covers && m.n[i] == to->dim[i];
    }
    if (!covers)
        lower_fill(l, n, y, move_source(l, n, pad_value(l, n)));
    Step *s = lower_move(l, n, y, move_source(l, n, n->in[0]), &m);
    if (s && !covers)
        s->operand[0].read = true; /* the margin is there already */
    move_finish(l, n, n->out[0], y);
}

void lower_pad(Lower *l, Node *n)
{
    PadSpec p;
    const PickEdge edge = pad_edge(n);
    const Shape *in = &n->in[0]->shape;
    if (!tensor_count(n->out[0]))
        return;
    if (!pad_spec(n, &p)) {
        lower_pad_values(l, n, pad_value(l, n), (int)edge);
        return;
    }
    if (edge == PICK_NONE) {
        lower_pad_constant(l, n, &p);
        return;
    }
    Pick pick = pick_new(l, n, n->out[0], n->in[0]);
    for (int i = 0; i < in->rank; i++)
        pick_padded(&pick, i, p.before[i], in->dim[i], p.after[i], edge);
    lower_pick(&pick);
}

/* Tile */

static const int64_t *tile_repeats(const Node *n)
{
    int64_t count;
    const int64_t *r = infer_ints(n, 1, &count);
    if (r && count != infer_shape(n, 0)->rank)
        fail_node(n, STATUS_MALFORMED, NULL, "repeats has %lld entries for a tensor of rank %d",
                  (long long)count, n->in[0]->shape.rank);
    return r;
}

/* The repeats are values: as declared, each dimension a multiple of the input's. */
static void infer_declared_tile(Node *n, const Shape *in)
{
    infer_declared(n, 0, n->in[0]->dtype);
    const Shape *to = &n->out[0]->shape;
    bool fits = to->rank == in->rank && infer_count(n, 1) == in->rank;
    for (int i = 0; fits && i < in->rank; i++)
        fits = in->dim[i] ? to->dim[i] % in->dim[i] == 0 : to->dim[i] == 0;
    infer_require(n, 0, fits);
}

void infer_tile(Node *n)
{
    Shape s = *infer_shape(n, 0);
    const int64_t *r = tile_repeats(n);
    if (!r) {
        infer_declared_tile(n, &s);
        return;
    }
    for (int i = 0; i < s.rank; i++) {
        if (r[i] < 0)
            fail_node(n, STATUS_MALFORMED, NULL, "axis %d is repeated %lld times", i,
                      (long long)r[i]);
        s.dim[i] = i64_mul(s.dim[i], r[i]);
    }
    infer_out(n, 0, n->in[0]->dtype, s);
}

/* The dims say it all: how often an axis repeats is out / in, also where the counts are run-time
 * values. */
static void check_repeats(Lower *l, Node *n)
{
    int64_t ratio[MAX_RANK];
    for (int i = 0; i < n->in[0]->shape.rank; i++)
        ratio[i] = n->out[0]->shape.dim[i] / i64_max(1, n->in[0]->shape.dim[i]);
    lower_check_dims(l, n, 1, ratio);
}

void lower_tile(Lower *l, Node *n)
{
    const Shape *in = &n->in[0]->shape, *to = &n->out[0]->shape;
    if (!tensor_count(n->out[0]))
        return;
    check_repeats(l, n);
    Move m = { .rank = 2 * in->rank };
    int64_t x[MAX_RANK], y[MAX_RANK];
    shape_strides(in, x);
    shape_strides(to, y);
    for (int i = 0; i < in->rank; i++) {
        m.n[2 * i] = to->dim[i] / in->dim[i];
        m.n[2 * i + 1] = in->dim[i];
        m.y[2 * i] = i64_mul(y[i], in->dim[i]);
        m.y[2 * i + 1] = y[i];
        m.x[2 * i + 1] = x[i];
    }
    if (lower_move_fits(&m)) {
        Tensor *target = move_target(l, n->out[0]);
        lower_move(l, n, target, move_source(l, n, n->in[0]), &m);
        move_finish(l, n, n->out[0], target);
        return;
    }
    Pick pick = pick_new(l, n, n->out[0], n->in[0]);
    for (int i = 0; i < in->rank; i++)
        pick_padded(&pick, i, 0, in->dim[i], to->dim[i] - in->dim[i], PICK_WRAP);
    lower_pick(&pick);
}

/* DepthToSpace, SpaceToDepth: transpositions of [n][h][i][w][j][c], i and j within a block. */

static int64_t block_size(const Node *n)
{
    const int64_t b = node_int(n, "blocksize", 0);
    if (b < 1)
        fail_node(n, STATUS_MALFORMED, NULL, "blocksize is %lld", (long long)b);
    if (infer_shape(n, 0)->rank != 4)
        fail_node(n, STATUS_MALFORMED, NULL, "its input is of rank %d, not 4",
                  n->in[0]->shape.rank);
    return b;
}

/* Index of the dimension n, c, h, w of an image in either layout. */
typedef struct ImageDims {
    int n, c, h, w;
} ImageDims;

static ImageDims image_dims(const Node *n)
{
    return n->channels_last ? (ImageDims){ 0, 3, 1, 2 } : (ImageDims){ 0, 1, 2, 3 };
}

void infer_depth_to_space(Node *n)
{
    Shape s = *infer_shape(n, 0);
    const int64_t b = block_size(n);
    const ImageDims d = image_dims(n);
    if (s.dim[d.c] % (b * b))
        fail_node(n, STATUS_MALFORMED, NULL, "%lld channels are no multiple of blocksize squared",
                  (long long)s.dim[d.c]);
    s.dim[d.c] /= b * b;
    s.dim[d.h] = i64_mul(s.dim[d.h], b);
    s.dim[d.w] = i64_mul(s.dim[d.w], b);
    infer_out(n, 0, n->in[0]->dtype, s);
}

void infer_space_to_depth(Node *n)
{
    Shape s = *infer_shape(n, 0);
    const int64_t b = block_size(n);
    const ImageDims d = image_dims(n);
    if (s.dim[d.h] % b || s.dim[d.w] % b)
        fail_node(n, STATUS_MALFORMED, NULL, "its image is no multiple of the block");
    s.dim[d.c] = i64_mul(s.dim[d.c], b * b);
    s.dim[d.h] /= b;
    s.dim[d.w] /= b;
    infer_out(n, 0, n->in[0]->dtype, s);
}

/* `deep` has the blocks in its channels, c of them for each of the flat image; crd: the block is
 * the inner part. */
static void lower_blocks(Lower *l, Node *n, Tensor *deep, Tensor *flat, int64_t b, bool crd)
{
    const ImageDims d = image_dims(n);
    int64_t sd[MAX_RANK], sf[MAX_RANK];
    shape_strides(&deep->shape, sd);
    shape_strides(&flat->shape, sf);
    const int64_t c = flat->shape.dim[d.c], block = crd ? sd[d.c] : sd[d.c] * c,
                  channel = crd ? sd[d.c] * b * b : sd[d.c];
    const int64_t size[] = {
        deep->shape.dim[0], deep->shape.dim[d.h], b, deep->shape.dim[d.w], b, c
    };
    const int64_t of_deep[] = { sd[0], sd[d.h], block * b, sd[d.w], block, channel };
    const int64_t of_flat[] = { sf[0], sf[d.h] * b, sf[d.h], sf[d.w] * b, sf[d.w], sf[d.c] };
    const bool to_flat = flat == n->out[0];
    static const int planes[] = { 0, 5, 1, 2, 3, 4 };
    Move m = { .rank = 6 };
    for (int i = 0; i < 6; i++) {
        const int k = n->channels_last ? i : planes[i];
        m.n[i] = size[k];
        m.x[i] = to_flat ? of_deep[k] : of_flat[k];
        m.y[i] = to_flat ? of_flat[k] : of_deep[k];
    }
    lower_move(l, n, n->out[0], n->in[0], &m);
}

static bool is_crd(const Node *n)
{
    return !strcmp(node_string(n, "mode", "DCR"), "CRD");
}

void lower_depth_to_space(Lower *l, Node *n)
{
    lower_blocks(l, n, n->in[0], n->out[0], block_size(n), is_crd(n));
}

void lower_space_to_depth(Lower *l, Node *n)
{
    lower_blocks(l, n, n->out[0], n->in[0], block_size(n), is_crd(n));
}
