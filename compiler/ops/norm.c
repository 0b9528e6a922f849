/* SPDX-License-Identifier: Apache-2.0
 * Normalizations over one image: InstanceNormalization, LayerNormalization, GroupNormalization,
 * RMSNormalization, MeanVarianceNormalization, LpNormalization, LRN. */
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "kernels/affine_f32.h"
#include "kernels/norm.h"
#include "ops/epilogue.h"
#include "ops/expand.h"
#include "ops/families.h"
#include "ops/nest.h"
#include "ops/reduce.h"

/* The norm kernel: y, mean, inv from x, scale, bias. */
static Step *lower_norm(Lower *lower, Node *node,
                        const inlay_norm_params *params, Tensor *mean,
                        Tensor *inv, Tensor *scale, Tensor *bias)
{
    if (!tensor_count(node->out[0]))
        return NULL;
    Step *step = lower_typed_step(lower, "norm", params);
    step_result(step, 0);
    step_out(step, mean);
    step_out(step, inv);
    step_operand(step, 0)->reuse = REUSE_ELEMENTWISE;
    step_in(step, scale);
    step_in(step, bias);
    return step;
}

/* Scale and bias have so many elements. */
static void check_scales(const Node *node, int64_t elements)
{
    for (int i = 1; i < 3; i++)
        if (infer_count(node, i) != elements)
            fail_node(node, STATUS_MALFORMED, NULL,
                      "input %d has %lld elements, not %lld", i,
                      (long long)infer_count(node, i), (long long)elements);
}

static int64_t channels_of(const Node *node)
{
    const Shape *x = infer_shape(node, 0);
    if (x->rank < 2)
        return 0;
    return x->dim[node->channels_last ? x->rank - 1 : 1];
}

void infer_instancenorm(Node *node)
{
    infer_same(node);
    check_scales(node, channels_of(node));
}

void lower_instancenorm(Lower *lower, Node *node)
{
    const Shape *s = node_shape(node, 0);
    const int rank = s->rank;
    inlay_norm_params params = {
        .center = 1,
        .period = 1,
        .epsilon = node_double(node, "epsilon", 1e-5f),
    };
    const int64_t images = s->dim[0];
    int64_t pixels;
    if (node->channels_last) {
        pixels = shape_product(s, 1, rank - 1);
        params.outer = i32_checked(images);
        params.inner = i32_checked(s->dim[rank - 1]);
        params.inner_step = 1;
    } else {
        const int64_t channels = s->dim[1];
        pixels = shape_product(s, 2, rank);
        params.outer = i32_checked(images * channels);
        params.inner = 1;
        params.period = i32_checked(channels);
        params.outer_step = 1;
    }
    params.n = i32_checked(pixels);
    params.group = params.n;
    lower_norm(lower, node, &params, NULL, NULL, node->in[1], node->in[2]);
}

static int64_t groups_of(const Node *node, int64_t channels)
{
    const int64_t groups = node_int(node, "num_groups", 0);
    if (groups < 1 || channels % groups)
        fail_node(node, STATUS_MALFORMED, NULL, "%lld channels in %lld groups",
                  (long long)channels, (long long)groups);
    return groups;
}

/* From opset 21 on, scale and bias are per channel; before, per group. */
void infer_groupnorm(Node *node)
{
    const int64_t channels = channels_of(node);
    const int64_t groups = groups_of(node, channels);
    infer_same(node);
    check_scales(node, node->op->since >= 21 ? channels : groups);
}

void lower_groupnorm(Lower *lower, Node *node)
{
    const Shape *shape = node_shape(node, 0);
    const int64_t channels = shape->rank > 1 ? shape->dim[1] : 0;
    const int64_t groups = groups_of(node, channels);
    const int64_t pixels = shape_product(shape, 2, shape->rank);
    const int64_t members = channels / groups;
    const int64_t elements = i64_mul(members, pixels);
    const bool by_channel = node->op->since >= 21;
    const inlay_norm_params params = {
        .outer = i32_checked(shape->dim[0] * groups),
        .n = i32_checked(elements),
        .inner = 1,
        .center = 1,
        .period = i32_checked(groups),
        .outer_step = by_channel ? i32_checked(members) : 1,
        .group = i32_checked(by_channel ? pixels : elements),
        .along = by_channel,
        .epsilon = node_double(node, "epsilon", 1e-5f),
    };
    lower_norm(lower, node, &params, NULL, NULL, node->in[1], node->in[2]);
}

/* Scale or bias with an element for each member of the normalized part. */
static Tensor *expanded(Lower *lower, Tensor *tensor, const Shape *part)
{
    if (!tensor || tensor_count(tensor) == shape_count(part))
        return tensor;
    Move move = { .rank = part->rank };
    memcpy(move.n, part->dim, sizeof part->dim);
    shape_strides(part, move.y);
    shape_broadcast_strides(&tensor->shape, part, move.x);
    Tensor *y = lower_temp(lower, tensor->dtype, *part);
    lower_move(lower, y, tensor, &move);
    return y;
}

static int norm_axis(const Node *node)
{
    return infer_axis(node, -1, infer_shape(node, 0)->rank);
}

/* May an operand of this shape be broadcast to x? Dimensions of 1 may stand before those of x. */
static bool broadcasts_to(const Shape *shape, const Shape *x)
{
    for (int i = 0; i < shape->rank; i++) {
        const int k = i + x->rank - shape->rank;
        if (shape->dim[i] != 1 && (k < 0 || shape->dim[i] != x->dim[k]))
            return false;
    }
    return true;
}

/* Has scale or bias, operand i, values of its own for some of the lines? Fails where it does not
 * fit the image at all; as a flat list of the normalized part it is taken too. */
static bool is_by_line(const Node *node, int i)
{
    const Shape *x = infer_shape(node, 0);
    const int axis = norm_axis(node);
    if (!node_in(node, i))
        return false;
    const Shape *shape = infer_shape(node, i);
    if (shape->rank == 1 && shape->dim[0] == shape_product(x, axis, x->rank))
        return false;
    if (!broadcasts_to(shape, x))
        fail_node(node, STATUS_MALFORMED, NULL,
                  "input %d of shape %s does not broadcast to %s", i,
                  shape_text(node->graph->arena, shape),
                  shape_text(node->graph->arena, x));
    const int outside = axis - (x->rank - shape->rank);
    return outside > 0 && shape_product(shape, 0, outside) != 1;
}

static Tensor *part_of_ones(const Node *node)
{
    const Shape *x = node_shape(node, 0);
    const int axis = norm_axis(node);
    const DType type = node->in[1]->dtype;
    Tensor *part = expand_i64s(node, x->rank - axis, x->dim + axis);
    return expand_op(node, "Expand", expand_number(node, 1.0, type), part);
}

/* Scale or bias that follow the lines too are a product and a sum behind the norm. */
static bool expand_by_line(Node *node)
{
    const bool scaled = is_by_line(node, 1);
    const bool shifted = is_by_line(node, 2);
    if (!scaled && !shifted)
        return false;
    Tensor *bias = node_in(node, 2);
    Tensor *in[] = { node->in[0], node->in[1] };
    if (scaled)
        in[1] = part_of_ones(node);
    Node *norm = expand_node(node, node->op->name, 2, in, node->n_out);
    expand_copy_attrs(norm, node);
    Tensor *y = expand_done(norm);
    if (scaled)
        y = expand_mul(node, y, node->in[1]);
    if (bias)
        y = expand_add(node, y, bias);
    Tensor *result[] = { y, node_out(norm, 1), node_out(norm, 2) };
    expand_finish(node, node->n_out, result);
    return true;
}

void infer_layernorm(Node *node)
{
    Shape shape = *infer_shape(node, 0);
    const int axis = norm_axis(node);
    expand_like_first(node);
    if (expand_by_line(node))
        return;
    infer_same(node);
    for (int i = axis; i < shape.rank; i++)
        shape.dim[i] = 1;
    infer_out(node, 1, DT_F32, shape);
    infer_out(node, 2, DT_F32, shape);
}

void infer_rmsnorm(Node *node)
{
    expand_like_first(node);
    if (!expand_by_line(node))
        infer_same(node);
}

/* Statistics are float32, whatever the image is. */
static Tensor *statistics(Lower *lower, const Node *node, int i)
{
    Tensor *tensor = node_out(node, i);
    return tensor && node_type(node) == DT_F64
               ? lower_temp(lower, DT_F64, tensor->shape)
               : tensor;
}

static void finish_statistics(Lower *lower, Node *node, int i, Tensor *made)
{
    if (made != node_out(node, i))
        lower_cast(lower, node->out[i], made);
}

/* Each line lies in a row: a unit. */
static void norm_rows(Step *s)
{
    operand_image(s->operand);
    operand_image(s->operand + 3);
    s->operand[3].rule.kind = ROWS_SAME;
    s->units = s->operand[0].rows;
}

static inlay_norm_params line_params(const Node *node, int axis, bool by_row)
{
    const Shape *shape = node_shape(node, 0);
    const int64_t lines =
        by_row ? shape_row_pixels(shape) : shape_product(shape, 0, axis);
    return (inlay_norm_params){
        .outer = i32_checked(lines),
        .n = i32_checked(shape_product(shape, axis, shape->rank)),
        .inner = 1,
        .period = 1,
        .group = 1,
        .along = 1,
        .epsilon = node_double(node, "epsilon", 1e-5f),
    };
}

static void lower_line_norm(Lower *lower, Node *node, bool center)
{
    const Shape *shape = node_shape(node, 0);
    const int axis = norm_axis(node);
    const Shape part = shape_of(shape->rank - axis, shape->dim + axis);
    const bool plain = !node_out(node, 1) && !node_out(node, 2);
    const bool lines = axis == shape->rank - 1 && shape_has_rows(shape);
    const bool by_row = plain && lines;
    inlay_norm_params params = line_params(node, axis, by_row);
    params.center = center;
    Tensor *mean = statistics(lower, node, 1);
    Tensor *inverse = statistics(lower, node, 2);
    Tensor *bias = expanded(lower, node_in(node, 2), &part);
    Tensor *scale = expanded(lower, node->in[1], &part);
    Step *step = lower_norm(lower, node, &params, mean, inverse, scale, bias);
    if (step && by_row)
        norm_rows(step);
    finish_statistics(lower, node, 1, mean);
    finish_statistics(lower, node, 2, inverse);
}

void lower_layernorm(Lower *lower, Node *node)
{
    lower_line_norm(lower, node, true);
}
void lower_rmsnorm(Lower *lower, Node *node)
{
    lower_line_norm(lower, node, false);
}

static void mvn_axes(const Node *node, bool *gone)
{
    static const int64_t usual[] = { 0, 2, 3 };
    const int rank = node->in[0]->shape.rank;
    int64_t count;
    const int64_t *axes = node_ints(node, "axes", &count);
    if (!axes) {
        axes = usual;
        count = 3;
    }
    for (int64_t i = 0; i < count; i++)
        gone[node_axis(node, axes[i], rank)] = true;
}

/* (x - mean) / (sqrt(variance) + 1e-9) over the axes. */
void lower_mvn(Lower *lower, Node *node)
{
    Tensor *x = node->in[0];
    bool gone[MAX_RANK] = { false };
    mvn_axes(node, gone);
    Tensor *mean = lower_reduced(lower, "reduce_mean", x, gone);
    Tensor *error = lower_temp_binary(lower, "sub", x, mean, x->shape);
    Tensor *square = lower_temp_binary(lower, "mul", error, error, x->shape);
    Tensor *var = lower_reduced(lower, "reduce_mean", square, gone);
    Tensor *root = lower_temp_unary(lower, "sqrt", var);
    Tensor *smallest = lower_number(lower, x->dtype, 1e-9);
    Tensor *deviation =
        lower_temp_binary(lower, "add", root, smallest, var->shape);
    lower_binary_to(lower, "div", node->out[0], error, deviation);
}

/* A divisor of 0 becomes infinite: what it divides becomes 0. */
static Tensor *never_zero(Lower *lower, Tensor *tensor)
{
    const DType type = tensor->dtype;
    Tensor *zero = lower_temp(lower, DT_BOOL, tensor->shape);
    Tensor *safe = lower_temp(lower, type, tensor->shape);
    Tensor *none = lower_number(lower, type, 0.0);
    lower_binary_to(lower, "equal", zero, tensor, none);
    Tensor *endless = lower_number(lower, type, (double)INFINITY);
    lower_select(lower, safe, zero, endless, tensor);
    return safe;
}

void lower_lpnorm(Lower *lower, Node *node)
{
    Tensor *x = node->in[0];
    bool gone[MAX_RANK] = { false };
    const int axis = norm_axis(node);
    const int64_t power = node_int(node, "p", 2);
    if (power != 1 && power != 2)
        fail_node(node, STATUS_MALFORMED, NULL, "p is %lld, not 1 or 2",
                  (long long)power);
    gone[axis] = true;
    const char *reduce = power == 1 ? "reduce_l1" : "reduce_l2";
    Tensor *norm = lower_reduced(lower, reduce, x, gone);
    Tensor *divisor = never_zero(lower, norm);
    lower_binary_to(lower, "div", node->out[0], x, divisor);
}

static inlay_lrn_params lrn_params(const Node *node, bool by_row)
{
    const Shape *shape = node_shape(node, 0);
    const int rank = shape->rank;
    const int64_t size = node_int(node, "size", 0);
    const int channel = node->channels_last ? rank - 1 : 1;
    const int64_t outer = by_row ? shape_row_pixels(shape) : shape->dim[0];
    inlay_lrn_params params = {
        .outer = i32_checked(outer),
        .c = i32_checked(shape->dim[channel]),
        .inner = 1,
        .by_pixel = by_row,
        .before = i32_checked((size - 1) / 2),
        .after = i32_checked(size / 2),
        .scale = node_double(node, "alpha", 1e-4f) / (double)size,
        .bias = node_double(node, "bias", 1.0f),
        .beta = node_double(node, "beta", 0.75f),
    };
    if (!node->channels_last)
        params.inner = i32_checked(shape_product(shape, 2, rank));
    return params;
}

void lower_lrn(Lower *lower, Node *node)
{
    const int rank = node->in[0]->shape.rank;
    const int64_t size = node_int(node, "size", 0);
    if (size < 1 || rank < 2)
        fail_node(node, STATUS_MALFORMED, NULL, "size is %lld",
                  (long long)size);
    if (!tensor_count(node->out[0]))
        return;
    const bool by_row = node->channels_last && rank >= 3;
    const inlay_lrn_params params = lrn_params(node, by_row);
    Step *step = lower_typed_step(lower, "lrn", &params);
    step->macs = i64_mul(tensor_count(node->out[0]), size);
    Operand *y = step_result(step, 0);
    if (by_row)
        operand_image(y);
    step->units = y->rows;
    Operand *x = step_operand(step, 0);
    if (!by_row)
        return;
    operand_image(x);
    x->rule = (RowRule){ .kind = ROWS_SAME };
}
