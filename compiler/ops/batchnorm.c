/* SPDX-License-Identifier: Apache-2.0
 * BatchNormalization: of constants a factor and a shift for each channel, else computed when the
 * model runs; in training also the running statistics. */
#include <math.h>

#include "base/size.h"
#include "kernels/affine_f32.h"
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

/* The same of an image that lies plane by plane. */
static void lower_affine_planes(Lower *lower, Node *node,
                                const Epilogue *epilogue, Tensor *scale,
                                Tensor *shift)
{
    const Shape *shape = result_shape(node, 0);
    inlay_conv_params fused = {
        .act = 0,
    };
    epilogue_params(epilogue, &fused);
    const inlay_affine_planes_params params = {
        .images = i32_checked(shape->dim[0]),
        .channels = i32_checked(shape->dim[1]),
        .n = i32_checked(shape_product(shape, 2, shape->rank)),
        .clamp = fused.clamp,
        .a = fused.a,
        .b = fused.b,
    };
    Step *step = lower_step(lower, "affine_planes_f32", &params);
    step_result(step, 0);
    step_operand(step, 0)->reuse = REUSE_ELEMENTWISE;
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

bool batchnorm_factors(const Node *node, double **factor, double **shift)
{
    const double epsilon = node_double(node, "epsilon", 1e-5f);
    int64_t count = 0;
    const double *given[4];
    for (int i = 0; i < 4; i++) {
        given[i] = tensor_doubles(node->graph, node->in[i + 1], &count);
        if (!given[i])
            return false;
    }
    double *a = NEW_ARRAY(node->graph->arena, double, count);
    double *b = NEW_ARRAY(node->graph->arena, double, count);
    for (int64_t i = 0; i < count; i++) {
        a[i] = given[0][i] / sqrt(given[3][i] + epsilon);
        const double moved = given[2][i] * a[i];
        b[i] = given[1][i] - moved;
    }
    *factor = a;
    *shift = b;
    return true;
}

/* All four vectors constant: a and b are computed here, in double. */
static bool known_factors(Lower *lower, const Node *node, Tensor **scale,
                          Tensor **shift)
{
    const DType type = node_type(node);
    double *a;
    double *b;
    if (!batchnorm_factors(node, &a, &b))
        return false;
    const int64_t count = tensor_count(node->in[1]);
    *scale = doubles_constant(lower, type, count, a);
    *shift = doubles_constant(lower, type, count, b);
    return true;
}

static bool apply_constants(Lower *lower, Node *node)
{
    Tensor *x = node->in[0];
    Tensor *y = node->out[0];
    Tensor *scale;
    Tensor *shift;
    if (!known_factors(lower, node, &scale, &shift))
        return false;
    const Epilogue epilogue = epilogue_of(node);
    if (x->dtype == DT_F32 && (node->channels_last || x->shape.rank == 2)) {
        lower_affine(lower, node, &epilogue, scale, shift);
        return true;
    }
    if (x->dtype == DT_F32 && x->shape.rank > 2 &&
        !epilogue_needs_pass(&epilogue)) {
        lower_affine_planes(lower, node, &epilogue, scale, shift);
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
    expand_like_first(node);
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
    else if (!apply_constants(lower, node))
        apply_statistics(lower, node, node->in[3], node->in[4], epsilon);
}
