/* SPDX-License-Identifier: Apache-2.0
 * Elements change place, not value: Transpose, Concat, Split, Slice, Pad, Tile, DepthToSpace,
 * SpaceToDepth. */
#include <string.h>

#include "base/size.h"
#include "kernels/concat.h"
#include "kernels/move.h"
#include "ops/families.h"
#include "ops/nest.h"
#include "ops/steps.h"
#include "ops/values.h"

/* Transpose */

static void get_perm(const Node *node, int *perm)
{
    int64_t count;
    const int rank = infer_shape(node, 0)->rank;
    const int64_t *p = node_ints(node, "perm", &count);
    bool seen[MAX_RANK] = { false };
    if (p && count != rank)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "perm has %lld entries for a tensor of rank %d",
                  (long long)count, rank);
    for (int i = 0; i < rank; i++) {
        perm[i] = p ? node_axis(node, p[i], rank) : rank - 1 - i;
        if (seen[perm[i]])
            fail_node(node, STATUS_MALFORMED, NULL, "perm names axis %d twice",
                      perm[i]);
        seen[perm[i]] = true;
    }
}

/* Passes read perm as it stands: axes counted from the end are written as the others. */
static void settle_perm(Node *node, int rank, const int *perm)
{
    int64_t count, settled[MAX_RANK];
    const int64_t *p = node_ints(node, "perm", &count);
    bool differs = false;
    for (int i = 0; p && i < rank; i++) {
        settled[i] = perm[i];
        differs |= p[i] != perm[i];
    }
    if (differs)
        node_set_ints(node, "perm", rank, settled);
}

void infer_transpose(Node *node)
{
    const Shape *in = infer_shape(node, 0);
    int perm[MAX_RANK];
    get_perm(node, perm);
    settle_perm(node, in->rank, perm);
    Shape shape = { .rank = in->rank };
    for (int i = 0; i < in->rank; i++)
        shape.dim[i] = in->dim[perm[i]];
    infer_out(node, 0, node_type(node), shape);
}

Recipe *constant_transpose(Node *node)
{
    int perm[MAX_RANK];
    get_perm(node, perm);
    return node->in[0]->value
               ? recipe_transpose(node->graph->store, node->in[0]->value, perm)
               : NULL;
}

/* NCHW.. to NHWC..: the channels become the last axis. */
static bool turns_to_image(int rank, const int *perm)
{
    if (rank < 3 || perm[0] != 0 || perm[rank - 1] != 1)
        return false;
    for (int i = 1; i < rank - 1; i++)
        if (perm[i] != i + 1)
            return false;
    return true;
}

bool turns_to_planes(int rank, const int *perm)
{
    if (rank < 3 || perm[0] != 0 || perm[1] != rank - 1)
        return false;
    for (int i = 2; i < rank; i++)
        if (perm[i] != i - 1)
            return false;
    return true;
}

/* A change of layout between planes and an image goes row by row, so that it can be part of a
 * stream: a unit is a row of the image, result (to_image) or operand. */
static inlay_move_params turn_params(const Shape *image, bool to_image)
{
    const int32_t width = i32_checked(shape_row_pixels(image));
    const int32_t channels = i32_checked(image->dim[image->rank - 1]);
    const int64_t rows = shape_product(image, 1, shape_row_axis(image));
    const int32_t plane = i32_checked(i64_mul(rows, width));
    inlay_move_params params = {
        .rank = 2,
        .rows = to_image ? 1 : 2,
        .units_in = i32_checked(rows),
        .outer = i32_checked(i64_mul(plane, channels)),
        .inner = width,
        .pixel = !to_image,
    };
    int32_t *along_image = to_image ? params.y : params.x;
    int32_t *along_planes = to_image ? params.x : params.y;
    params.n[!to_image] = width;
    params.n[to_image] = channels;
    along_image[!to_image] = channels;
    along_image[to_image] = 1;
    along_planes[!to_image] = 1;
    along_planes[to_image] = plane;
    return params;
}

static void lower_image_turn(Lower *lower, Node *node, bool to_image)
{
    const Tensor *image = to_image ? node->out[0] : node->in[0];
    const inlay_move_params params = turn_params(&image->shape, to_image);
    const char *kernel =
        arena_printf(lower->arena, "move_%d", dtype_bits(image->dtype));
    Step *step = lower_step(lower, kernel, &params);
    step_result(step, 0);
    Operand *x = step_operand(step, 0);
    Operand *turned = to_image ? step->operand : x;
    operand_image(turned);
    turned->strided = true;
    step->units = turned->rows;
    if (!to_image)
        x->rule = (RowRule){ .kind = ROWS_UNIT };
}

static Move transposition(const Shape *from, const Shape *to, const int *perm)
{
    Move move = { .rank = to->rank };
    int64_t stride[MAX_RANK];
    memcpy(move.n, to->dim, sizeof to->dim);
    shape_strides(to, move.y);
    shape_strides(from, stride);
    for (int i = 0; i < to->rank; i++)
        move.x[i] = stride[perm[i]];
    return move;
}

/* Is it the right factor of a product, under whatever shape? That is read as a whole for each row.
 */
static bool is_factor(const Tensor *tensor)
{
    while (tensor->uses == 1 && tensor->use) {
        const Node *reader = tensor->use->node;
        if (!(reader->op->flags & OP_VIEW))
            return node_is(reader, "MatMul") && reader->in[1] == tensor;
        tensor = reader->out[0];
    }
    return false;
}

void lower_transpose(Lower *lower, Node *node)
{
    const Shape *from = node_shape(node, 0);
    int perm[MAX_RANK];
    get_perm(node, perm);
    if (!tensor_count(node->out[0]))
        return;
    const Move move = transposition(from, result_shape(node, 0), perm);
    const bool bytes = dtype_bits(node_type(node)) >= 8;
    const bool to_image =
        bytes && turns_to_image(from->rank, perm) && !is_factor(node->out[0]);
    const bool to_planes = bytes && turns_to_planes(from->rank, perm);
    if (to_planes && lower_move_beside(lower, node->out[0], node->in[0], &move))
        return;
    if (to_image || to_planes) {
        lower_image_turn(lower, node, to_image);
        return;
    }
    Tensor *y = move_target(lower, node->out[0]);
    Tensor *x = move_source(lower, node->in[0]);
    lower_move(lower, y, x, &move);
    move_finish(lower, node->out[0], y);
}

/* Concat */

static int concat_axis(const Node *node)
{
    return infer_axis(node, 1, infer_shape(node, 0)->rank);
}

/* Are two shapes the same but for their size along `axis`? */
static bool same_beside(const Shape *a, const Shape *b, int axis)
{
    if (a->rank != b->rank)
        return false;
    for (int k = 0; k < a->rank; k++)
        if (k != axis && a->dim[k] != b->dim[k])
            return false;
    return true;
}

void infer_concat(Node *node)
{
    Shape shape = *infer_shape(node, 0);
    const int axis = concat_axis(node);
    const DType type = node_type(node);
    for (int i = 1; i < node->n_in; i++) {
        const Shape *in = infer_shape(node, i);
        const DType other = node->in[i]->dtype;
        if (other != type)
            fail_node(node, STATUS_MALFORMED, NULL,
                      "inputs are of types %s and %s", dtype_name(type),
                      dtype_name(other));
        if (!same_beside(&shape, in, axis))
            fail_node(node, STATUS_MALFORMED, NULL,
                      "shapes %s and %s differ beside axis %d",
                      shape_text(node->graph->arena, &shape),
                      shape_text(node->graph->arena, in), axis);
        shape.dim[axis] = i64_add(shape.dim[axis], in->dim[axis]);
    }
    infer_out(node, 0, type, shape);
}

Recipe *constant_concat(Node *node)
{
    Recipe **part = NEW_ARRAY(node->graph->arena, Recipe *, node->n_in);
    for (int i = 0; i < node->n_in; i++) {
        if (!node->in[i]->value)
            return NULL;
        part[i] = node->in[i]->value;
    }
    return recipe_concat(node->graph->store, node->n_in, part,
                         concat_axis(node));
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

static inlay_concat_params concat_params(const Tensor *y, int axis, int parts)
{
    const Shape *shape = &y->shape;
    const int rank = shape->rank;
    const int64_t size = dtype_bits(y->dtype) / 8;
    const bool by_row = rank >= 3 && axis >= shape_row_axis(shape);
    const int first = by_row ? shape_row_axis(shape) : 0;
    return (inlay_concat_params){
        .inputs = parts,
        .bytes = i64_mul(shape_product(shape, axis, rank), size),
        .pieces = i32_checked(shape_product(shape, first, axis)),
        .size = by_row && axis == rank - 1 ? (int32_t)size : 0,
    };
}

/* The parts that have elements, as bytes are copied; how many. */
static int concat_parts(Lower *lower, Node *node, Tensor **part)
{
    int parts = 0;
    for (int i = 0; i < node->n_in; i++)
        if (tensor_count(node->in[i]))
            part[parts++] = move_source(lower, node->in[i]);
    return parts;
}

/* Bytes of each part from one place before the axis to the next. */
static Tensor *concat_table(Lower *lower, Tensor *const *part, int parts,
                            int axis)
{
    int64_t *bytes = NEW_ARRAY(lower->arena, int64_t, parts);
    for (int i = 0; i < parts; i++) {
        const Shape *shape = &part[i]->shape;
        const int64_t size = dtype_bits(part[i]->dtype) / 8;
        bytes[i] = i64_mul(shape_product(shape, axis, shape->rank), size);
    }
    return lower_i64s(lower, bytes, parts);
}

void lower_concat(Lower *lower, Node *node)
{
    const int axis = concat_axis(node);
    Tensor *y = move_target(lower, node->out[0]);
    Tensor **part = NEW_ARRAY(lower->arena, Tensor *, node->n_in);
    const int parts = concat_parts(lower, node, part);
    if (!parts)
        return;
    const inlay_concat_params params = concat_params(y, axis, parts);
    Step *step = lower_step(lower, "concat", &params);
    step_out(step, y);
    for (int i = 0; i < parts; i++)
        step_in(step, part[i]);
    concat_facts(step, axis, parts);
    step_in(step, concat_table(lower, part, parts, axis));
    move_finish(lower, node->out[0], y);
}

void lower_part(Lower *lower, Tensor *out, Tensor *in, AxisPart part)
{
    const Shape *shape = &in->shape;
    const int64_t outer = shape_product(shape, 0, part.axis);
    const int64_t inner = shape_product(shape, part.axis + 1, shape->rank);
    const int64_t start = i64_mul(part.start, inner);
    const int64_t offset = i64_mul(start, dtype_bits(in->dtype));
    if (outer == 1 && offset % 8 == 0) {
        lower_view(lower, out, in, offset / 8);
        return;
    }
    const int64_t run = i64_mul(part.count, inner);
    const Move move = {
        .rank = 2,
        .n = { outer, run },
        .y = { run, 1 },
        .x = { i64_mul(shape->dim[part.axis], inner), 1 },
        .x0 = start,
    };
    Tensor *y = move_target(lower, out);
    Tensor *x = move_source(lower, in);
    lower_move(lower, y, x, &move);
    move_finish(lower, out, y);
}

/* Split */

static int split_axis(const Node *node)
{
    return infer_axis(node, 0, infer_shape(node, 0)->rank);
}

/* Equal parts, the last one smaller (opset 18). */
static void infer_equal_parts(Node *node, Shape shape, int axis)
{
    const int64_t parts = node_int(node, "num_outputs", node->n_out);
    const int64_t total = shape.dim[axis];
    if (parts < 1 || parts < node->n_out)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "num_outputs is %lld for %d outputs", (long long)parts,
                  node->n_out);
    const int64_t each = i64_ceil_div(total, parts);
    for (int i = 0; i < node->n_out; i++) {
        shape.dim[axis] = i64_max(0, i64_min(each, total - i * each));
        infer_out(node, i, node_type(node), shape);
    }
}

/* The sizes are values: as declared; lower_split() has them checked when the model runs. */
static void infer_declared_parts(Node *node, Shape s, int axis)
{
    const int64_t total = s.dim[axis];
    int64_t sum = 0;
    s.dim[axis] = -1;
    for (int i = 0; i < node->n_out; i++) {
        infer_declared_as(node, i, node_type(node), s);
        if (!node->out[i])
            fail_node(node, STATUS_UNSUPPORTED, NULL,
                      "its sizes are known only at run time, and result %d is "
                      "left out",
                      i);
        sum = i64_add(sum, node->out[i]->shape.dim[axis]);
    }
    if (sum != total || infer_count(node, 1) != node->n_out)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "%lld parts, declared with %lld elements in all, for %d "
                  "outputs and %lld elements",
                  (long long)infer_count(node, 1), (long long)sum, node->n_out,
                  (long long)total);
}

/* The parts as the file gives them; NULL: it does not, or they are values. */
const int64_t *split_parts(const Node *node, int64_t *count)
{
    if (node_in(node, 1))
        return infer_ints(node, 1, count);
    return node_ints(node, "split", count);
}

static void check_split(const Node *node, int64_t total, const int64_t *split,
                        int64_t count)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < count; i++) {
        if (split[i] < 0)
            fail_node(node, STATUS_MALFORMED, NULL,
                      "part %lld has %lld elements", (long long)i,
                      (long long)split[i]);
        sum = i64_add(sum, split[i]);
    }
    if (count != node->n_out || sum != total)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "%lld parts of %lld elements in all, for %d outputs and %lld "
                  "elements",
                  (long long)count, (long long)sum, node->n_out,
                  (long long)total);
}

void infer_split(Node *node)
{
    Shape shape = *infer_shape(node, 0);
    const int axis = split_axis(node);
    int64_t count;
    const int64_t *split = split_parts(node, &count);
    if (!split && node_in(node, 1)) {
        infer_declared_parts(node, shape, axis);
        return;
    }
    if (!split) {
        infer_equal_parts(node, shape, axis);
        return;
    }
    check_split(node, shape.dim[axis], split, count);
    for (int i = 0; i < node->n_out; i++) {
        shape.dim[axis] = split[i];
        infer_out(node, i, node_type(node), shape);
    }
}

Recipe *constant_split(Node *node)
{
    return node->in[0]->value && node->n_out == 1 ? node->in[0]->value : NULL;
}

/* Sizes that are values must be those that were compiled. */
static void check_parts(Lower *lower, Node *node, int axis)
{
    int64_t *size = NEW_ARRAY(lower->arena, int64_t, node->n_out);
    if (!node_in(node, 1) || node->in[1]->value)
        return;
    for (int i = 0; i < node->n_out; i++)
        size[i] = node->out[i]->shape.dim[axis];
    lower_check_dims(lower, node, 1, node->n_out, size);
}

/* Elements of result i along the axis, which may be left out. */
static int64_t part_size(const Node *node, int i, int axis)
{
    int64_t count;
    const int64_t *split = split_parts(node, &count);
    const int64_t parts = node_int(node, "num_outputs", node->n_out);
    if (node->out[i])
        return node->out[i]->shape.dim[axis];
    return split ? split[i] : i64_ceil_div(node->in[0]->shape.dim[axis], parts);
}

void lower_split(Lower *lower, Node *node)
{
    const int axis = split_axis(node);
    int64_t start = 0;
    check_parts(lower, node, axis);
    for (int i = 0; i < node->n_out; i++) {
        const AxisPart part = {
            .axis = axis,
            .start = start,
            .count = part_size(node, i, axis),
        };
        if (node->out[i] && tensor_count(node->out[i]))
            lower_part(lower, node->out[i], node->in[0], part);
        start += part.count;
    }
}
