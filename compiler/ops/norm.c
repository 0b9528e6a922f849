/* SPDX-License-Identifier: Apache-2.0
 * Normalizations: BatchNormalization, InstanceNormalization, LayerNormalization,
 * GroupNormalization, RMSNormalization, MeanVarianceNormalization, LpNormalization, LRN. */
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

/* A per-channel vector with the rank it needs to broadcast over the image. */
static Tensor *per_channel(Lower *lower, const Node *node, Tensor *tensor)
{
    const int rank = node->in[0]->shape.rank;
    if (node->channels_last || rank <= 2)
        return tensor;
    Shape s = { .rank = rank - 1 };
    s.dim[0] = tensor_count(tensor);
    for (int i = 1; i < s.rank; i++)
        s.dim[i] = 1;
    if (tensor->value)
        return lower_constant(
            lower, recipe_reshape(lower->store, tensor->value, s.rank, s.dim));
    Tensor *view = lower_temp(lower, tensor->dtype, s);
    lower_view(lower, view, tensor, 0);
    return view;
}

static Tensor *doubles_constant(Lower *lower, DType type, int64_t n,
                                const double *v)
{
    Store *s = lower->store;
    return lower_constant(
        lower, recipe_cast(s, recipe_memory(s, DT_F64, 1, &n, v), type));
}

static inlay_affine_params affine_params(const Shape *shape,
                                         const Epilogue *epilogue)
{
    const int32_t channels = i32_checked(shape->dim[shape->rank - 1]);
    const bool image = shape->rank >= 3;
    inlay_conv_params fused = {
        .act = 0,
    };
    epilogue_params(epilogue, &fused);
    return (inlay_affine_params){
        .pixels = i32_checked(image ? shape_row_pixels(shape) : shape->dim[0]),
        .channels = channels,
        .clamp = fused.clamp,
        .act = fused.act,
        .a = fused.a,
        .b = fused.b,
    };
}

/* One pass over an image that lies channels last, or over [N][C]. */
static void lower_affine(Lower *lower, Node *node, const Epilogue *epilogue,
                         Tensor *scale, Tensor *shift)
{
    const Shape *shape = result_shape(node, 0);
    const bool image = shape->rank >= 3;
    const inlay_affine_params params = affine_params(shape, epilogue);
    const char *kernel = params.act ? "affine_act_f32" : "affine_f32";
    Step *step = lower_step(lower, kernel, &params);
    step_result(step, 0);
    Operand *x = step_operand(step, 0);
    Operand *y = step->operand;
    if (image) {
        operand_image(y);
        operand_image(x);
    }
    y->pixel = params.channels;
    x->pixel = params.channels;
    y->strided = image;
    x->strided = image;
    step->units = y->rows;
    x->rule.kind = ROWS_SAME;
    x->reuse = REUSE_ELEMENTWISE;
    step_in(step, scale);
    step_in(step, shift);
}

/* y = x * a + b, which have a number for each channel. */
static void scale_and_shift(Lower *lower, Node *node, Tensor *a, Tensor *b,
                            Tensor *y)
{
    Tensor *x = node->in[0];
    Tensor *factor = per_channel(lower, node, a);
    Tensor *scaled = lower_temp_binary(lower, "mul", x, factor, x->shape);
    Tensor *shift = per_channel(lower, node, b);
    lower_binary_to(lower, "add", y, scaled, shift);
}

/* out = (x - mean) / sqrt(var + epsilon) * scale + bias, as x * a + b. */
static void apply_statistics(Lower *lower, Node *node, Tensor *mean,
                             Tensor *var, double epsilon)
{
    Tensor *scale = node->in[1];
    Tensor *bias = node->in[2];
    const Shape channels = shape_vector(tensor_count(scale));
    Tensor *smallest = lower_number(lower, var->dtype, epsilon);
    Tensor *sum = lower_temp_binary(lower, "add", var, smallest, channels);
    Tensor *deviation = lower_temp_unary(lower, "sqrt", sum);
    Tensor *a = lower_temp_binary(lower, "div", scale, deviation, channels);
    Tensor *shift = lower_temp_binary(lower, "mul", mean, a, channels);
    Tensor *b = lower_temp_binary(lower, "sub", bias, shift, channels);
    scale_and_shift(lower, node, a, b, node->out[0]);
}

/* All four vectors constant: a and b are computed here, in double. */
static bool known_factors(Lower *lower, Node *node, double epsilon,
                          Tensor **scale, Tensor **shift)
{
    const DType type = node_type(node);
    int64_t count = 0;
    const double *given[4];
    for (int i = 0; i < 4; i++) {
        given[i] = tensor_doubles(lower->graph, node->in[i + 1], &count);
        if (!given[i])
            return false;
    }
    double *a = NEW_ARRAY(lower->arena, double, count);
    double *b = NEW_ARRAY(lower->arena, double, count);
    for (int64_t i = 0; i < count; i++) {
        const double deviation = sqrt(given[3][i] + epsilon);
        const double factor = given[0][i] / deviation;
        a[i] = factor;
        b[i] = given[1][i] - given[2][i] * factor;
    }
    *scale = doubles_constant(lower, type, count, a);
    *shift = doubles_constant(lower, type, count, b);
    return true;
}

static bool apply_constants(Lower *lower, Node *node, double epsilon)
{
    Tensor *x = node->in[0];
    Tensor *y = node->out[0];
    Tensor *scale;
    Tensor *shift;
    if (!known_factors(lower, node, epsilon, &scale, &shift))
        return false;
    const Epilogue epilogue = epilogue_of(node);
    if (x->dtype == DT_F32 && (node->channels_last || x->shape.rank == 2)) {
        lower_affine(lower, node, &epilogue, scale, shift);
        return true;
    }
    if (epilogue.act)
        y = lower_temp(lower, x->dtype, x->shape);
    scale_and_shift(lower, node, scale, shift, y);
    if (epilogue.act)
        lower_epilogue(lower, node, &epilogue, y);
    return true;
}

bool batchnorm_trains(const Node *node)
{
    return node->op->since >= 7 && node_int(node, "training_mode", 0);
}

/* Old meanings that are not those of inference. */
static void check_batchnorm(const Node *node)
{
    if (node->op->since < 7 && !node_int(node, "is_test", 0))
        fail_node(node, STATUS_UNSUPPORTED, "export the model for inference",
                  "is in training mode");
    if (node->op->since < 14 && !node_int(node, "spatial", 1))
        fail_node(node, STATUS_UNSUPPORTED, NULL,
                  "normalizes each element on its own (spatial 0)");
}

/* Scales, biases and statistics may be wider or narrower than the image, which decides. */
static void like_first(Node *node)
{
    const DType x = node_type(node);
    const DType type = dtype_is_small_float(x) ? DT_F32 : x;
    for (int i = 1; i < node->n_in; i++) {
        const Tensor *tensor = node->in[i];
        if (!tensor || tensor->dtype == type)
            continue;
        if (type == DT_F64 || tensor->dtype == DT_F64)
            expand_operand(node, i, type);
    }
}

/* Scale, bias, mean and variance have a number for each channel. */
static void check_channels(const Node *node)
{
    const Shape *x = infer_shape(node, 0);
    const int64_t channels = x->rank > 1 ? x->dim[1] : 1;
    for (int i = 1; i < 5; i++) {
        const int64_t count = infer_count(node, i);
        if (count != channels)
            fail_node(
                node, STATUS_MALFORMED, NULL,
                "its operand \"%s\" has %lld elements, its input %lld channels",
                node->in[i]->name, (long long)count, (long long)channels);
    }
}

/* Further results are statistics of a batch. The last two of old models are for the backward pass,
 * and frameworks do not agree on what they hold. */
static void check_training_outputs(const Node *node)
{
    const int known = batchnorm_trains(node) ? 3 : 1;
    for (int i = known; i < node->n_out; i++)
        if (node->out[i] && node->out[i]->uses)
            fail_node(node, STATUS_UNSUPPORTED,
                      "export the model for inference",
                      "gives statistics of training (result %d)", i);
}

/* Before opset 14 it trains where it has more results than the first. */
static void settle_training(Node *node)
{
    const int since = node->op->since;
    for (int i = 1; i < node->n_out; i++)
        if (node->out[i] && since >= 7 && since < 14)
            node_set_int(node, "training_mode", 1);
}

/* So that it is one of a single result. */
static void drop_unread(Node *node)
{
    for (int i = 1; i < node->n_out; i++) {
        Tensor *out = node->out[i];
        if (!out || out->uses)
            continue;
        out->producer = NULL;
        node->out[i] = NULL;
    }
}

void infer_batchnorm(Node *node)
{
    settle_training(node);
    const DType statistics = node->in[3]->dtype;
    like_first(node);
    if (batchnorm_trains(node) && node->in[3]->dtype != statistics)
        fail_node(node, STATUS_UNSUPPORTED, "export the model for inference",
                  "trains statistics of type %s over %s",
                  dtype_name(statistics), dtype_name(node_type(node)));
    infer_same(node);
    check_batchnorm(node);
    check_channels(node);
    const Shape *mean = infer_shape(node, 3);
    check_training_outputs(node);
    drop_unread(node);
    for (int i = 1; i < 5; i++)
        infer_out(node, i, node->in[i < 3 ? i + 2 : 3]->dtype, *mean);
}

/* running = running * momentum + current * (1 - momentum) */
static void update_running(Lower *lower, Node *node, Tensor *out,
                           Tensor *running, Tensor *current)
{
    const double momentum = node_double(node, "momentum", 0.9f);
    const DType type = running->dtype;
    const Shape shape = running->shape;
    if (!out)
        return;
    Tensor *keep = lower_number(lower, type, momentum);
    Tensor *old = lower_temp_binary(lower, "mul", running, keep, shape);
    Tensor *take = lower_number(lower, current->dtype, 1.0 - momentum);
    Tensor *new = lower_temp_binary(lower, "mul", current, take, shape);
    lower_binary_to(lower, "add", out, old, new);
}

/* A vector of the means of all axes but one. */
static Tensor *channel_means(Lower *lower, Tensor *x, int channel)
{
    const char *kernel = lower_kernel(lower, "reduce_mean", x->dtype);
    const Shape channels = shape_vector(x->shape.dim[channel]);
    Tensor *mean = lower_temp(lower, x->dtype, channels);
    bool gone[MAX_RANK];
    for (int i = 0; i < x->shape.rank; i++)
        gone[i] = i != channel;
    lower_reduce_axes(lower, kernel, mean, x, gone);
    return mean;
}

static void lower_batchnorm_training(Lower *lower, Node *node, double epsilon)
{
    Tensor *x = node->in[0];
    const Shape shape = x->shape;
    const int rank = shape.rank;
    const int channel = node->channels_last ? rank - 1 : rank > 1;
    Tensor *mean = channel_means(lower, x, channel);
    Tensor *middle = per_channel(lower, node, mean);
    Tensor *error = lower_temp_binary(lower, "sub", x, middle, shape);
    Tensor *square = lower_temp_binary(lower, "mul", error, error, shape);
    Tensor *var = channel_means(lower, square, channel);
    Tensor *next_mean = node_out(node, 1);
    Tensor *next_var = node_out(node, 2);
    update_running(lower, node, next_mean, node->in[3], mean);
    update_running(lower, node, next_var, node->in[4], var);
    apply_statistics(lower, node, mean, var, epsilon);
}

void lower_batchnorm(Lower *lower, Node *node)
{
    const double epsilon = node_double(node, "epsilon", 1e-5f);
    const bool is_empty = !tensor_count(node->out[0]);
    if (is_empty && !batchnorm_trains(node))
        return;
    const DType type = node_type(node);
    for (int i = 1; i < 5; i++) {
        const DType other = node->in[i]->dtype;
        if (other != type)
            fail_node(node, STATUS_UNSUPPORTED, NULL,
                      "operands of types %s and %s", dtype_name(type),
                      dtype_name(other));
    }
    if (batchnorm_trains(node))
        lower_batchnorm_training(lower, node, epsilon);
    else if (!apply_constants(lower, node, epsilon))
        apply_statistics(lower, node, node->in[3], node->in[4], epsilon);
}

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

void infer_layernorm(Node *node)
{
    Shape shape = *infer_shape(node, 0);
    infer_same(node);
    for (int i = norm_axis(node); i < shape.rank; i++)
        shape.dim[i] = 1;
    like_first(node);
    infer_out(node, 1, DT_F32, shape);
    infer_out(node, 2, DT_F32, shape);
}

void infer_rmsnorm(Node *node)
{
    infer_same(node);
    like_first(node);
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
