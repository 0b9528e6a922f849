/* SPDX-License-Identifier: Apache-2.0
 * Elements change place, not value: Transpose, Concat, Split, Slice, Pad, Tile, DepthToSpace,
 * SpaceToDepth. */
#include <string.h>

#include "base/size.h"
#include "kernels/concat.h"
#include "kernels/move.h"
#include "ops/families.h"
#include "ops/nest.h"
#include "ops/values.h"

/* Transpose */

static void get_perm(const Node *n, int *perm)
{
    int64_t count;
    const int rank = infer_shape(n, 0)->rank;
    const int64_t *p = node_ints(n, "perm", &count);
    bool seen[MAX_RANK] = { false };
    if (p && count != rank)
        fail_node(n, STATUS_MALFORMED, NULL, "perm has %lld entries for a tensor of rank %d",
                  (long long)count, rank);
    for (int i = 0; i < rank; i++) {
        perm[i] = p ? node_axis(n, p[i], rank) : rank - 1 - i;
        if (seen[perm[i]])
            fail_node(n, STATUS_MALFORMED, NULL, "perm names axis %d twice", perm[i]);
        seen[perm[i]] = true;
    }
}

/* Passes read perm as it stands: axes counted from the end are written as the others. */
static void settle_perm(Node *n, int rank, const int *perm)
{
    int64_t count, settled[MAX_RANK];
    const int64_t *p = node_ints(n, "perm", &count);
    bool differs = false;
    for (int i = 0; p && i < rank; i++) {
        settled[i] = perm[i];
        differs |= p[i] != perm[i];
    }
    if (differs)
        node_set_ints(n, "perm", rank, settled);
}

void infer_transpose(Node *n)
{
    const Shape *in = infer_shape(n, 0);
    int perm[MAX_RANK];
    get_perm(n, perm);
    settle_perm(n, in->rank, perm);
    Shape s = { .rank = in->rank };
    for (int i = 0; i < in->rank; i++)
        s.dim[i] = in->dim[perm[i]];
    infer_out(n, 0, n->in[0]->dtype, s);
}

Recipe *constant_transpose(Node *n)
{
    int perm[MAX_RANK];
    get_perm(n, perm);
    return n->in[0]->value ? recipe_transpose(n->graph->store, n->in[0]->value, perm) : NULL;
}

/* NCHW.. to NHWC.. (last: the other way round)? */
static bool is_image_turn(int rank, const int *perm, bool last)
{
    if (rank < 3 || perm[0] != 0)
        return false;
    for (int i = 1; i < rank; i++)
        if (perm[i] != (last ? (i == 1 ? rank - 1 : i - 1) : (i == rank - 1 ? 1 : i + 1)))
            return false;
    return true;
}

/* A change of layout between planes and an image goes row by row, so that it can be part of a
 * stream: a unit is a row of the image, result (to_image) or operand. */
static void lower_image_turn(Lower *l, Node *n, bool to_image)
{
    Tensor *image = to_image ? n->out[0] : n->in[0];
    const Shape *s = &image->shape;
    const int32_t w = i32_checked(shape_row_pixels(s)), c = i32_checked(s->dim[s->rank - 1]);
    const int64_t rows = shape_product(s, 1, shape_row_axis(s));
    const int32_t plane = i32_checked(i64_mul(rows, w));
    inlay_move_params p = { .rank = 2,
                            .rows = to_image ? 1 : 2,
                            .units_in = i32_checked(rows),
                            .outer = i32_checked(i64_mul(plane, c)),
                            .inner = w };
    int32_t *const along_image = to_image ? p.y : p.x, *const along_planes = to_image ? p.x : p.y;
    p.n[0] = to_image ? w : c;
    p.n[1] = to_image ? c : w;
    along_image[!to_image] = c;
    along_image[to_image] = 1;
    along_planes[!to_image] = 1;
    along_planes[to_image] = plane;
    p.pixel = !to_image;
    Step *step = lower_step(l, n, arena_printf(l->arena, "move_%d", dtype_bits(image->dtype)), &p);
    Operand *y = step_out(step, n->out[0]), *x = step_in(step, n->in[0]),
            *o = to_image ? step->operand : x;
    (void)y;
    operand_image(o);
    o->strided = true;
    step->units = o->rows;
    if (!to_image)
        x->rule = (RowRule){ .kind = ROWS_UNIT };
}

void lower_transpose(Lower *l, Node *n)
{
    const Shape *in = &n->in[0]->shape, *to = &n->out[0]->shape;
    int perm[MAX_RANK];
    int64_t stride[MAX_RANK];
    get_perm(n, perm);
    if (!tensor_count(n->out[0]))
        return;
    if (dtype_bits(n->in[0]->dtype) >= 8 &&
        (is_image_turn(in->rank, perm, false) || is_image_turn(in->rank, perm, true))) {
        lower_image_turn(l, n, is_image_turn(in->rank, perm, false));
        return;
    }
    Move m = { .rank = to->rank };
    memcpy(m.n, to->dim, sizeof to->dim);
    shape_strides(to, m.y);
    shape_strides(in, stride);
    for (int i = 0; i < to->rank; i++)
        m.x[i] = stride[perm[i]];
    Tensor *y = move_target(l, n->out[0]);
    lower_move(l, n, y, move_source(l, n, n->in[0]), &m);
    move_finish(l, n, n->out[0], y);
}

/* Concat */

static int concat_axis(const Node *n)
{
    return node_axis(n, node_int(n, "axis", 1), infer_shape(n, 0)->rank);
}

void infer_concat(Node *n)
{
    Shape s = *infer_shape(n, 0);
    const int axis = concat_axis(n);
    for (int i = 1; i < n->n_in; i++) {
        const Shape *in = infer_shape(n, i);
        if (n->in[i]->dtype != n->in[0]->dtype)
            fail_node(n, STATUS_MALFORMED, NULL, "inputs are of types %s and %s",
                      dtype_name(n->in[0]->dtype), dtype_name(n->in[i]->dtype));
        for (int k = 0; k < s.rank; k++)
            if (in->rank != s.rank || (k != axis && in->dim[k] != s.dim[k]))
                fail_node(n, STATUS_MALFORMED, NULL, "shapes %s and %s differ beside axis %d",
                          shape_text(n->graph->arena, &s), shape_text(n->graph->arena, in), axis);
        s.dim[axis] = i64_add(s.dim[axis], in->dim[axis]);
    }
    infer_out(n, 0, n->in[0]->dtype, s);
}

Recipe *constant_concat(Node *n)
{
    Recipe **part = NEW_ARRAY(n->graph->arena, Recipe *, n->n_in);
    for (int i = 0; i < n->n_in; i++) {
        if (!n->in[i]->value)
            return NULL;
        part[i] = n->in[i]->value;
    }
    return recipe_concat(n->graph->store, n->n_in, part, concat_axis(n));
}

/* Row by row where the axis lies within a row of an image. */
static void concat_facts(Step *s, int axis, int inputs)
{
    const Shape *y = &s->operand[0].tensor->shape;
    if (y->rank < 3 || axis < shape_row_axis(y))
        return;
    for (int i = 0; i <= inputs; i++) {
        operand_image(s->operand + i);
        if (!i)
            continue;
        s->operand[i].rule = (RowRule){ .kind = ROWS_SAME };
        s->operand[i].reuse = REUSE_ROWS;
    }
    s->units = s->operand[0].rows;
}

void lower_concat(Lower *l, Node *n)
{
    const int axis = concat_axis(n), rank = n->out[0]->shape.rank;
    Tensor *y = move_target(l, n->out[0]), **part = NEW_ARRAY(l->arena, Tensor *, n->n_in);
    const int64_t size = dtype_bits(y->dtype) / 8;
    int64_t *table = NEW_ARRAY(l->arena, int64_t, n->n_in);
    int parts = 0;
    for (int i = 0; i < n->n_in; i++) {
        if (!tensor_count(n->in[i]))
            continue;
        part[parts] = move_source(l, n, n->in[i]);
        table[parts++] = i64_mul(shape_product(&n->in[i]->shape, axis, rank), size);
    }
    if (!parts)
        return;
    const bool by_row = rank >= 3 && axis >= shape_row_axis(&y->shape);
    inlay_concat_params p = { .inputs = parts,
                              .bytes = i64_mul(shape_product(&y->shape, axis, rank), size),
                              .pieces = i32_checked(shape_product(
                                  &y->shape, by_row ? shape_row_axis(&y->shape) : 0, axis)),
                              .size = by_row && axis == rank - 1 ? (int32_t)size : 0 };
    Step *s = lower_step(l, n, "concat", &p);
    step_out(s, y);
    for (int i = 0; i < parts; i++)
        step_in(s, part[i]);
    concat_facts(s, axis, parts);
    step_in(s, lower_i64s(l, table, parts));
    move_finish(l, n, n->out[0], y);
}

void lower_part(Lower *l, Node *n, Tensor *out, Tensor *in, int axis, int64_t start, int64_t count)
{
    const Shape *s = &in->shape;
    const int64_t inner = shape_product(s, axis + 1, s->rank), bits = dtype_bits(in->dtype);
    const int64_t offset = i64_mul(i64_mul(start, inner), bits);
    if (shape_product(s, 0, axis) == 1 && offset % 8 == 0) {
        lower_view(l, n, out, in, offset / 8);
        return;
    }
    Tensor *y = move_target(l, out);
    const int64_t run = i64_mul(count, inner);
    const Move m = { .rank = 2,
                     .n = { shape_product(s, 0, axis), run },
                     .y = { run, 1 },
                     .x = { i64_mul(s->dim[axis], inner), 1 },
                     .x0 = i64_mul(start, inner) };
    lower_move(l, n, y, move_source(l, n, in), &m);
    move_finish(l, n, out, y);
}

/* Split */

static int split_axis(const Node *n)
{
    return node_axis(n, node_int(n, "axis", 0), infer_shape(n, 0)->rank);
}

/* Equal parts, the last one smaller (opset 18). */
static void infer_equal_parts(Node *n, Shape s, int axis)
{
    const int64_t parts = node_int(n, "num_outputs", n->n_out), total = s.dim[axis];
    if (parts < 1 || parts < n->n_out)
        fail_node(n, STATUS_MALFORMED, NULL, "num_outputs is %lld for %d outputs", (long long)parts,
                  n->n_out);
    const int64_t each = i64_ceil_div(total, parts);
    for (int i = 0; i < n->n_out; i++) {
        s.dim[axis] = i64_max(0, i64_min(each, total - i * each));
        infer_out(n, i, n->in[0]->dtype, s);
    }
}

/* The sizes are values: as declared; lower_split() has them checked when the model runs. */
static void infer_declared_parts(Node *n, Shape s, int axis)
{
    const int64_t total = s.dim[axis];
    int64_t sum = 0;
    s.dim[axis] = -1;
    for (int i = 0; i < n->n_out; i++) {
        infer_declared_as(n, i, n->in[0]->dtype, s);
        if (!n->out[i])
            fail_node(n, STATUS_UNSUPPORTED, NULL,
                      "its sizes are known only at run time, and result %d is left out", i);
        sum = i64_add(sum, n->out[i]->shape.dim[axis]);
    }
    if (sum != total || infer_count(n, 1) != n->n_out)
        fail_node(
            n, STATUS_MALFORMED, NULL,
            "%lld parts, declared with %lld elements in all, for %d outputs and %lld elements",
            (long long)infer_count(n, 1), (long long)sum, n->n_out, (long long)total);
}

void infer_split(Node *n)
{
    Shape s = *infer_shape(n, 0);
    const int axis = split_axis(n);
    int64_t count, sum = 0;
    const int64_t *split = node_in(n, 1) ? infer_ints(n, 1, &count) : node_ints(n, "split", &count),
                  total = s.dim[axis];
    if (node_in(n, 1) && !split) {
        infer_declared_parts(n, s, axis);
        return;
    }
    if (!split) {
        infer_equal_parts(n, s, axis);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        if (split[i] < 0)
            fail_node(n, STATUS_MALFORMED, NULL, "part %lld has %lld elements", (long long)i,
                      (long long)split[i]);
        sum = i64_add(sum, split[i]);
    }
    if (count != n->n_out || sum != total)
        fail_node(n, STATUS_MALFORMED, NULL,
                  "%lld parts of %lld elements in all, for %d outputs and %lld elements",
                  (long long)count, (long long)sum, n->n_out, (long long)total);
    for (int i = 0; i < n->n_out; i++) {
        s.dim[axis] = split[i];
        infer_out(n, i, n->in[0]->dtype, s);
    }
}

Recipe *constant_split(Node *n)
{
    return n->in[0]->value && n->n_out == 1 ? n->in[0]->value : NULL;
}

/* Sizes that are values must be those that were compiled. */
static void check_parts(Lower *l, Node *n, int axis)
{
    int64_t *size = NEW_ARRAY(l->arena, int64_t, n->n_out);
    if (!node_in(n, 1) || n->in[1]->value)
        return;
    for (int i = 0; i < n->n_out; i++)
        size[i] = n->out[i]->shape.dim[axis];
    lower_check_dims(l, n, 1, size);
}

/* Elements of result i along the axis, which may be left out. */
static int64_t part_size(const Node *n, int i, int axis)
{
    int64_t count;
    const int64_t *split = node_in(n, 1) ? infer_ints(n, 1, &count) : node_ints(n, "split", &count),
                  parts = node_int(n, "num_outputs", n->n_out);
    if (n->out[i])
        return n->out[i]->shape.dim[axis];
    return split ? split[i] : i64_ceil_div(n->in[0]->shape.dim[axis], parts);
}

void lower_split(Lower *l, Node *n)
{
    const int axis = split_axis(n);
    int64_t start = 0;
    check_parts(l, n, axis);
    for (int i = 0; i < n->n_out; i++) {
        const int64_t size = part_size(n, i, axis);
        if (n->out[i] && tensor_count(n->out[i]))
            lower_part(l, n, n->out[i], n->in[0], axis, start, size);
        start += size;
    }
}
