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

static Tensor *scalar(Lower *lower, DType type, double v)
{
    Store *s = lower->graph->store;
    return lower_constant(lower, recipe_cast(s, recipe_memory(s, DT_F64, 0, NULL, &v), type));
}

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
        return lower_constant(lower,
                              recipe_reshape(lower->graph->store, tensor->value, s.rank, s.dim));
    Tensor *view = lower_temp(lower, tensor->dtype, s);
    lower_view(lower, NULL, view, tensor, 0);
    return view;
}

static Tensor *binary(Lower *lower, Node *node, const char *op, Tensor *a, Tensor *b, Shape shape)
{
    Tensor *y = lower_temp(lower, a->dtype, shape);
    lower_nd2(lower, node, lower_kernel(lower, op, a->dtype), y, a, b);
    return y;
}

static Tensor *unary(Lower *lower, Node *node, const char *op, Tensor *a)
{
    Tensor *y = lower_temp(lower, a->dtype, a->shape);
    lower_flat(lower, node, lower_kernel(lower, op, a->dtype), y, a, 0.0, 0.0);
    return y;
}

/* out = (x - mean) / sqrt(var + epsilon) * scale + bias, as x * a + b. */
static void apply_statistics(Lower *lower, Node *node, Tensor *mean, Tensor *var, double epsilon)
{
    Tensor *x = node->in[0];
    Tensor *scale = node->in[1];
    Tensor *bias = node->in[2];
    const Shape c = shape_vector(tensor_count(scale));
    Tensor *deviation =
        unary(lower, node, "sqrt",
              binary(lower, node, "add", var, scalar(lower, var->dtype, epsilon), c));
    Tensor *a = binary(lower, node, "div", scale, deviation, c);
    Tensor *b = binary(lower, node, "sub", bias, binary(lower, node, "mul", mean, a, c), c);
    Tensor *scaled = binary(lower, node, "mul", x, per_channel(lower, node, a), x->shape);
    lower_nd2(lower, node, lower_kernel(lower, "add", x->dtype), node->out[0], scaled,
              per_channel(lower, node, b));
}

static Tensor *doubles_constant(Lower *lower, DType type, int64_t n, const double *v)
{
    Store *s = lower->graph->store;
    return lower_constant(lower, recipe_cast(s, recipe_memory(s, DT_F64, 1, &n, v), type));
}

/* One pass over an image that lies channels last, or over [N][C]. */
static void lower_affine(Lower *lower, Node *node, const Epilogue *epilogue, Tensor *scale,
                         Tensor *shift)
{
    const Shape *s = &node->out[0]->shape;
    const bool image = s->rank >= 3;
    const int32_t channels = i32_checked(s->dim[s->rank - 1]);
    const inlay_affine_params params = {
        .pixels = i32_checked(image ? shape_row_pixels(s) : s->dim[0]),
        .channels = channels,
        .clamp = epilogue_clamp(epilogue),
        .act = epilogue_needs_pass(epilogue) ? epilogue->act : INLAY_ACT_NONE,
        .a = epilogue->act && (epilogue->act != INLAY_ACT_CLAMP || epilogue_clamp(epilogue) & 1)
                 ? epilogue->a
                 : 0.0f,
        .b = epilogue->act && (epilogue->act != INLAY_ACT_CLAMP || epilogue_clamp(epilogue) & 2)
                 ? epilogue->b
                 : 0.0f
    };
    Step *step = lower_step(lower, node, params.act ? "affine_act_f32" : "affine_f32", &params);
    Operand *y = step_out(step, node->out[0]);
    Operand *x = step_in(step, node->in[0]);
    if (image) {
        operand_image(y);
        operand_image(x);
    }
    y->pixel = x->pixel = channels;
    y->strided = x->strided = image;
    step->units = y->rows;
    x->rule.kind = ROWS_SAME;
    x->reuse = REUSE_ELEMENTWISE;
    step_in(step, scale);
    step_in(step, shift);
}

/* All four vectors constant: a and b are computed here, in double. */
static bool apply_constants(Lower *lower, Node *node, double epsilon)
{
    int64_t c = 0;
    const double *v[4];
    for (int i = 0; i < 4; i++)
        if (!(v[i] = tensor_doubles(lower->graph, node->in[i + 1], &c)))
            return false;
    double *a = NEW_ARRAY(lower->arena, double, c);
    double *b = NEW_ARRAY(lower->arena, double, c);
    for (int64_t i = 0; i < c; i++) {
        a[i] = v[0][i] / sqrt(v[3][i] + epsilon);
        b[i] = v[1][i] - v[2][i] * a[i];
    }
    Tensor *x = node->in[0];
    Tensor *scale = doubles_constant(lower, x->dtype, c, a);
    Tensor *shift = doubles_constant(lower, x->dtype, c, b);
    const Epilogue epilogue = epilogue_of(node);
    if (x->dtype == DT_F32 && (node->channels_last || x->shape.rank == 2)) {
        lower_affine(lower, node, &epilogue, scale, shift);
        return true;
    }
    Tensor *scaled = binary(lower, node, "mul", x, per_channel(lower, node, scale), x->shape);
    Tensor *y = epilogue.act ? lower_temp(lower, x->dtype, x->shape) : node->out[0];
    lower_nd2(lower, node, lower_kernel(lower, "add", x->dtype), y, scaled,
              per_channel(lower, node, shift));
    if (epilogue.act)
        lower_epilogue(lower, node, &epilogue, y);
    return true;
}

static bool is_training(const Node *node)
{
    return node->op->since >= 14 && node_int(node, "training_mode", 0);
}

/* Old meanings that are not those of inference. */
static void check_batchnorm(const Node *node)
{
    if (node->op->since < 7 && !node_int(node, "is_test", 0))
        fail_node(node, STATUS_UNSUPPORTED, "export the model for inference",
                  "is in training mode");
    if (node->op->since < 14 && !node_int(node, "spatial", 1))
        fail_node(node, STATUS_UNSUPPORTED, NULL, "normalizes each element on its own (spatial 0)");
}

/* Scales, biases and statistics may be wider or narrower than the image, which decides. */
static void like_first(Node *node)
{
    const DType x = node->in[0]->dtype;
    const DType type = dtype_is_small_float(x) ? DT_F32 : x;
    for (int i = 1; i < node->n_in; i++)
        if (node->in[i] && node->in[i]->dtype != type &&
            (type == DT_F64 || node->in[i]->dtype == DT_F64))
            expand_operand(node, i, type);
}

/* Scale, bias, mean and variance have a number for each channel. */
static void check_channels(const Node *node)
{
    const Shape *x = infer_shape(node, 0);
    const int64_t channels = x->rank > 1 ? x->dim[1] : 1;
    for (int i = 1; i < 5; i++)
        if (shape_count(infer_shape(node, i)) != channels)
            fail_node(node, STATUS_MALFORMED, NULL,
                      "its operand \"%s\" has %lld elements, its input %lld channels",
                      node->in[i]->name, (long long)tensor_count(node->in[i]), (long long)channels);
}

void infer_batchnorm(Node *node)
{
    const DType statistics = node->in[3]->dtype;
    like_first(node);
    if (is_training(node) && node->in[3]->dtype != statistics)
        fail_node(node, STATUS_UNSUPPORTED, "export the model for inference",
                  "trains statistics of type %s over %s", dtype_name(statistics),
                  dtype_name(node->in[0]->dtype));
    infer_same(node);
    check_batchnorm(node);
    check_channels(node);
    const Shape *mean = infer_shape(node, 3);
    if (node->n_out > 1 && !is_training(node)) {
        for (int i = 1; i < node->n_out; i++)
            if (node->out[i])
                fail_node(node, STATUS_UNSUPPORTED, "export the model for inference",
                          "gives training outputs");
    }
    infer_out(node, 1, node->in[3]->dtype, *mean);
    infer_out(node, 2, node->in[4]->dtype, *mean);
}

/* running = running * momentum + current * (1 - momentum) */
static void update_running(Lower *lower, Node *node, Tensor *out, Tensor *running, Tensor *current)
{
    const double momentum = (double)node_float(node, "momentum", 0.9f);
    if (!out)
        return;
    Tensor *old = binary(lower, node, "mul", running, scalar(lower, running->dtype, momentum),
                         running->shape);
    Tensor *new = binary(lower, node, "mul", current, scalar(lower, current->dtype, 1.0 - momentum),
                         running->shape);
    lower_nd2(lower, node, lower_kernel(lower, "add", out->dtype), out, old, new);
}

static void lower_batchnorm_training(Lower *lower, Node *node, double epsilon)
{
    Tensor *x = node->in[0];
    const int rank = x->shape.rank;
    const int channel = node->channels_last ? rank - 1 : rank > 1 ? 1 : 0;
    bool gone[MAX_RANK];
    for (int i = 0; i < rank; i++)
        gone[i] = i != channel;
    const Shape c = shape_vector(x->shape.dim[channel]);
    Tensor *mean = lower_temp(lower, x->dtype, c);
    Tensor *var = lower_temp(lower, x->dtype, c);
    lower_reduce_axes(lower, node, lower_kernel(lower, "reduce_mean", x->dtype), mean, x, gone);
    Tensor *d = binary(lower, node, "sub", x, per_channel(lower, node, mean), x->shape);
    Tensor *square = binary(lower, node, "mul", d, d, x->shape);
    lower_reduce_axes(lower, node, lower_kernel(lower, "reduce_mean", x->dtype), var, square, gone);
    update_running(lower, node, node_out(node, 1), node->in[3], mean);
    update_running(lower, node, node_out(node, 2), node->in[4], var);
    apply_statistics(lower, node, mean, var, epsilon);
}

void lower_batchnorm(Lower *lower, Node *node)
{
    const double epsilon = (double)node_float(node, "epsilon", 1e-5f);
    if (!tensor_count(node->out[0]))
        return;
    for (int i = 1; i < 5; i++)
        if (node->in[i]->dtype != node->in[0]->dtype)
            fail_node(node, STATUS_UNSUPPORTED, NULL, "operands of types %s and %s",
                      dtype_name(node->in[0]->dtype), dtype_name(node->in[i]->dtype));
    if (is_training(node))
        lower_batchnorm_training(lower, node, epsilon);
    else if (!apply_constants(lower, node, epsilon))
        apply_statistics(lower, node, node->in[3], node->in[4], epsilon);
}

/* The norm kernel: y, mean, inv from x, scale, bias. */
static Step *lower_norm(Lower *lower, Node *node, const inlay_norm_params *params, Tensor *mean,
                        Tensor *inv, Tensor *scale, Tensor *bias)
{
    if (!tensor_count(node->out[0]))
        return NULL;
    Step *s = lower_step(lower, node, lower_kernel(lower, "norm", node->in[0]->dtype), params);
    step_out(s, node->out[0]);
    step_out(s, mean);
    step_out(s, inv);
    step_in(s, node->in[0])->reuse = REUSE_ELEMENTWISE;
    step_in(s, scale);
    step_in(s, bias);
    return s;
}

void lower_instancenorm(Lower *lower, Node *node)
{
    const Shape *s = &node->in[0]->shape;
    const int rank = s->rank;
    inlay_norm_params params = { .center = 1,
                                 .period = 1,
                                 .epsilon = (double)node_float(node, "epsilon", 1e-5f) };
    if (node->channels_last) {
        params.outer = i32_checked(s->dim[0]);
        params.n = i32_checked(shape_product(s, 1, rank - 1));
        params.inner = i32_checked(s->dim[rank - 1]);
        params.inner_step = 1;
    } else {
        params.outer = i32_checked(s->dim[0] * s->dim[1]);
        params.n = i32_checked(shape_product(s, 2, rank));
        params.inner = 1;
        params.period = i32_checked(s->dim[1]);
        params.outer_step = 1;
    }
    params.group = params.n;
    lower_norm(lower, node, &params, NULL, NULL, node->in[1], node->in[2]);
}

/* From opset 21 on, scale and bias are per channel; before, per group. */
void lower_groupnorm(Lower *lower, Node *node)
{
    const Shape *s = &node->in[0]->shape;
    const int64_t groups = node_int(node, "num_groups", 0);
    const int64_t c = s->rank > 1 ? s->dim[1] : 0;
    if (groups < 1 || c % groups)
        fail_node(node, STATUS_MALFORMED, NULL, "%lld channels in %lld groups", (long long)c,
                  (long long)groups);
    const int64_t pixels = shape_product(s, 2, s->rank);
    const int64_t members = c / groups;
    const bool by_channel = node->op->since >= 21;
    const inlay_norm_params params = { .outer = i32_checked(s->dim[0] * groups),
                                       .n = i32_checked(i64_mul(members, pixels)),
                                       .inner = 1,
                                       .center = 1,
                                       .period = i32_checked(groups),
                                       .outer_step = by_channel ? i32_checked(members) : 1,
                                       .group = i32_checked(by_channel ? pixels
                                                                       : i64_mul(members, pixels)),
                                       .along = by_channel,
                                       .epsilon = (double)node_float(node, "epsilon", 1e-5f) };
    lower_norm(lower, node, &params, NULL, NULL, node->in[1], node->in[2]);
}

/* Scale or bias with an element for each member of the normalized part. */
static Tensor *expanded(Lower *lower, Node *node, Tensor *tensor, const Shape *part)
{
    if (!tensor || tensor_count(tensor) == shape_count(part))
        return tensor;
    Move move = { .rank = part->rank };
    memcpy(move.n, part->dim, sizeof part->dim);
    shape_strides(part, move.y);
    shape_broadcast_strides(&tensor->shape, part, move.x);
    Tensor *y = lower_temp(lower, tensor->dtype, *part);
    lower_move(lower, node, y, tensor, &move);
    return y;
}

static int norm_axis(const Node *node)
{
    return node_axis(node, node_int(node, "axis", -1), infer_shape(node, 0)->rank);
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
    return tensor && node->in[0]->dtype == DT_F64 ? lower_temp(lower, DT_F64, tensor->shape)
                                                  : tensor;
}

/* Each line lies in a row: a unit. */
static void norm_rows(Step *s)
{
    operand_image(s->operand);
    operand_image(s->operand + 3);
    s->operand[3].rule.kind = ROWS_SAME;
    s->units = s->operand[0].rows;
}

static void lower_line_norm(Lower *lower, Node *node, bool center)
{
    const Shape *s = &node->in[0]->shape;
    const int axis = norm_axis(node);
    const Shape part = shape_of(s->rank - axis, s->dim + axis);
    const bool by_row =
        axis == s->rank - 1 && shape_has_rows(s) && !node_out(node, 1) && !node_out(node, 2);
    const inlay_norm_params params = { .outer = i32_checked(by_row ? shape_row_pixels(s)
                                                                   : shape_product(s, 0, axis)),
                                       .n = i32_checked(shape_count(&part)),
                                       .inner = 1,
                                       .center = center,
                                       .period = 1,
                                       .group = 1,
                                       .along = 1,
                                       .epsilon = (double)node_float(node, "epsilon", 1e-5f) };
    Tensor *made[] = { NULL, statistics(lower, node, 1), statistics(lower, node, 2) };
    Step *step = lower_norm(lower, node, &params, made[1], made[2],
                            expanded(lower, node, node->in[1], &part),
                            expanded(lower, node, node_in(node, 2), &part));
    if (step && by_row)
        norm_rows(step);
    for (int i = 1; i < 3; i++)
        if (made[i] != node_out(node, i))
            lower_cast(lower, node, node->out[i], made[i], true, 0);
}

void lower_layernorm(Lower *lower, Node *node)
{
    lower_line_norm(lower, node, true);
}
void lower_rmsnorm(Lower *lower, Node *node)
{
    lower_line_norm(lower, node, false);
}

/* (x - mean) / (sqrt(variance) + 1e-9) over the axes. */
void lower_mvn(Lower *lower, Node *node)
{
    static const int64_t usual[] = { 0, 2, 3 };
    Tensor *x = node->in[0];
    int64_t count;
    const int64_t *axes = node_ints(node, "axes", &count);
    bool gone[MAX_RANK] = { false };
    Shape keep = x->shape;
    if (!axes)
        count = 3;
    for (int64_t i = 0; i < count; i++)
        gone[node_axis(node, axes ? axes[i] : usual[i], keep.rank)] = true;
    for (int i = 0; i < keep.rank; i++)
        if (gone[i])
            keep.dim[i] = 1;
    const char *reduce = lower_kernel(lower, "reduce_mean", x->dtype);
    Tensor *mean = lower_temp(lower, x->dtype, keep);
    Tensor *var = lower_temp(lower, x->dtype, keep);
    lower_reduce_axes(lower, node, reduce, mean, x, gone);
    Tensor *d = binary(lower, node, "sub", x, mean, x->shape);
    lower_reduce_axes(lower, node, reduce, var, binary(lower, node, "mul", d, d, x->shape), gone);
    Tensor *deviation = binary(lower, node, "add", unary(lower, node, "sqrt", var),
                               scalar(lower, x->dtype, 1e-9), keep);
    lower_nd2(lower, node, lower_kernel(lower, "div", x->dtype), node->out[0], d, deviation);
}

static Tensor *number(Lower *lower, DType type, float v)
{
    Store *s = lower->graph->store;
    return lower_constant(lower, recipe_cast(s, recipe_memory(s, DT_F32, 0, NULL, &v), type));
}

/* A divisor of 0 becomes infinite: what it divides becomes 0. */
static Tensor *never_zero(Lower *lower, Node *node, Tensor *tensor)
{
    Tensor *zero = lower_temp(lower, DT_BOOL, tensor->shape);
    Tensor *safe = lower_temp(lower, tensor->dtype, tensor->shape);
    lower_nd2(lower, node, lower_kernel(lower, "equal", tensor->dtype), zero, tensor,
              number(lower, tensor->dtype, 0.0f));
    lower_select(lower, node, safe, zero, number(lower, tensor->dtype, INFINITY), tensor);
    return safe;
}

void lower_lpnorm(Lower *lower, Node *node)
{
    Tensor *x = node->in[0];
    bool gone[MAX_RANK] = { false };
    Shape keep = x->shape;
    const int axis = node_axis(node, node_int(node, "axis", -1), keep.rank);
    const int64_t power = node_int(node, "p", 2);
    if (power != 1 && power != 2)
        fail_node(node, STATUS_MALFORMED, NULL, "p is %lld, not 1 or 2", (long long)power);
    gone[axis] = true;
    keep.dim[axis] = 1;
    Tensor *norm = lower_temp(lower, x->dtype, keep);
    lower_reduce_axes(lower, node,
                      lower_kernel(lower, power == 1 ? "reduce_l1" : "reduce_l2", x->dtype), norm,
                      x, gone);
    lower_nd2(lower, node, lower_kernel(lower, "div", x->dtype), node->out[0], x,
              never_zero(lower, node, norm));
}

void lower_lrn(Lower *lower, Node *node)
{
    const Shape *s = &node->in[0]->shape;
    const int rank = s->rank;
    const int64_t size = node_int(node, "size", 0);
    if (size < 1 || rank < 2)
        fail_node(node, STATUS_MALFORMED, NULL, "size is %lld", (long long)size);
    if (!tensor_count(node->out[0]))
        return;
    const bool by_row = node->channels_last && rank >= 3;
    const inlay_lrn_params params = {
        .outer = i32_checked(by_row ? shape_row_pixels(s) : s->dim[0]),
        .c = i32_checked(node->channels_last ? s->dim[rank - 1] : s->dim[1]),
        .inner = node->channels_last ? 1 : i32_checked(shape_product(s, 2, rank)),
        .by_pixel = by_row,
        .before = i32_checked((size - 1) / 2),
        .after = i32_checked(size / 2),
        .scale = (double)node_float(node, "alpha", 1e-4f) / (double)size,
        .bias = (double)node_float(node, "bias", 1.0f),
        .beta = (double)node_float(node, "beta", 0.75f)
    };
    Step *step = lower_step(lower, node, lower_kernel(lower, "lrn", node->in[0]->dtype), &params);
    Operand *y = step_out(step, node->out[0]);
    if (by_row)
        operand_image(y);
    step->units = y->rows;
    Operand *x = step_in(step, node->in[0]);
    if (!by_row)
        return;
    operand_image(x);
    x->rule = (RowRule){ .kind = ROWS_SAME };
}
