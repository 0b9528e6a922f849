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

static Tensor *scalar(Lower *l, DType t, double v)
{
    Store *s = l->graph->store;
    return lower_constant(l, recipe_cast(s, recipe_memory(s, DT_F64, 0, NULL, &v), t));
}

/* A per-channel vector with the rank it needs to broadcast over the image. */
static Tensor *per_channel(Lower *l, const Node *n, Tensor *v)
{
    const int rank = n->in[0]->shape.rank;
    if (n->channels_last || rank <= 2)
        return v;
    Shape s = { .rank = rank - 1 };
    s.dim[0] = tensor_count(v);
    for (int i = 1; i < s.rank; i++)
        s.dim[i] = 1;
    if (v->value)
        return lower_constant(l, recipe_reshape(l->graph->store, v->value, s.rank, s.dim));
    Tensor *view = lower_temp(l, v->dtype, s);
    lower_view(l, NULL, view, v, 0);
    return view;
}

static Tensor *binary(Lower *l, Node *n, const char *op, Tensor *a, Tensor *b, Shape s)
{
    Tensor *y = lower_temp(l, a->dtype, s);
    lower_nd2(l, n, lower_kernel(l, op, a->dtype), y, a, b);
    return y;
}

static Tensor *unary(Lower *l, Node *n, const char *op, Tensor *a)
{
    Tensor *y = lower_temp(l, a->dtype, a->shape);
    lower_flat(l, n, lower_kernel(l, op, a->dtype), y, a, 0.0, 0.0);
    return y;
}

/* out = (x - mean) / sqrt(var + epsilon) * scale + bias, as x * a + b. */
static void apply_statistics(Lower *l, Node *n, Tensor *mean, Tensor *var, double epsilon)
{
    Tensor *x = n->in[0], *scale = n->in[1], *bias = n->in[2];
    const Shape c = shape_vector(tensor_count(scale));
    Tensor *deviation =
        unary(l, n, "sqrt", binary(l, n, "add", var, scalar(l, var->dtype, epsilon), c));
    Tensor *a = binary(l, n, "div", scale, deviation, c);
    Tensor *b = binary(l, n, "sub", bias, binary(l, n, "mul", mean, a, c), c);
    Tensor *scaled = binary(l, n, "mul", x, per_channel(l, n, a), x->shape);
    lower_nd2(l, n, lower_kernel(l, "add", x->dtype), n->out[0], scaled, per_channel(l, n, b));
}

static Tensor *doubles_constant(Lower *l, DType t, int64_t n, const double *v)
{
    Store *s = l->graph->store;
    return lower_constant(l, recipe_cast(s, recipe_memory(s, DT_F64, 1, &n, v), t));
}

/* One pass over an image that lies channels last, or over [N][C]. */
static void lower_affine(Lower *l, Node *n, const Epilogue *e, Tensor *scale, Tensor *shift)
{
    const Shape *s = &n->out[0]->shape;
    const bool image = s->rank >= 3;
    const int32_t channels = i32_checked(s->dim[s->rank - 1]);
    const inlay_affine_params p = {
        .pixels = i32_checked(image ? shape_row_pixels(s) : s->dim[0]),
        .channels = channels,
        .clamp = epilogue_clamp(e),
        .act = epilogue_needs_pass(e) ? e->act : INLAY_ACT_NONE,
        .a = e->act && (e->act != INLAY_ACT_CLAMP || epilogue_clamp(e) & 1) ? e->a : 0.0f,
        .b = e->act && (e->act != INLAY_ACT_CLAMP || epilogue_clamp(e) & 2) ? e->b : 0.0f
    };
    Step *step = lower_step(l, n, p.act ? "affine_act_f32" : "affine_f32", &p);
    Operand *y = step_out(step, n->out[0]), *x = step_in(step, n->in[0]);
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
static bool apply_constants(Lower *l, Node *n, double epsilon)
{
    int64_t c = 0;
    const double *v[4];
    for (int i = 0; i < 4; i++)
        if (!(v[i] = tensor_doubles(l->graph, n->in[i + 1], &c)))
            return false;
    double *a = NEW_ARRAY(l->arena, double, c), *b = NEW_ARRAY(l->arena, double, c);
    for (int64_t i = 0; i < c; i++) {
        a[i] = v[0][i] / sqrt(v[3][i] + epsilon);
        b[i] = v[1][i] - v[2][i] * a[i];
    }
    Tensor *x = n->in[0], *scale = doubles_constant(l, x->dtype, c, a),
           *shift = doubles_constant(l, x->dtype, c, b);
    const Epilogue e = epilogue_of(n);
    if (x->dtype == DT_F32 && (n->channels_last || x->shape.rank == 2)) {
        lower_affine(l, n, &e, scale, shift);
        return true;
    }
    Tensor *scaled = binary(l, n, "mul", x, per_channel(l, n, scale), x->shape),
           *y = e.act ? lower_temp(l, x->dtype, x->shape) : n->out[0];
    lower_nd2(l, n, lower_kernel(l, "add", x->dtype), y, scaled, per_channel(l, n, shift));
    if (e.act)
        lower_epilogue(l, n, &e, y);
    return true;
}

static bool is_training(const Node *n)
{
    return n->op->since >= 14 && node_int(n, "training_mode", 0);
}

/* Old meanings that are not those of inference. */
static void check_batchnorm(const Node *n)
{
    if (n->op->since < 7 && !node_int(n, "is_test", 0))
        fail_node(n, STATUS_UNSUPPORTED, "export the model for inference", "is in training mode");
    if (n->op->since < 14 && !node_int(n, "spatial", 1))
        fail_node(n, STATUS_UNSUPPORTED, NULL, "normalizes each element on its own (spatial 0)");
}

/* Scales, biases and statistics may be wider or narrower than the image, which decides. */
static void like_first(Node *n)
{
    const DType x = n->in[0]->dtype, t = dtype_is_small_float(x) ? DT_F32 : x;
    for (int i = 1; i < n->n_in; i++)
        if (n->in[i] && n->in[i]->dtype != t && (t == DT_F64 || n->in[i]->dtype == DT_F64))
            expand_operand(n, i, t);
}

/* Scale, bias, mean and variance have a number for each channel. */
static void check_channels(const Node *n)
{
    const Shape *x = infer_shape(n, 0);
    const int64_t channels = x->rank > 1 ? x->dim[1] : 1;
    for (int i = 1; i < 5; i++)
        if (shape_count(infer_shape(n, i)) != channels)
            fail_node(n, STATUS_MALFORMED, NULL,
                      "its operand \"%s\" has %lld elements, its input %lld channels",
                      n->in[i]->name, (long long)tensor_count(n->in[i]), (long long)channels);
}

void infer_batchnorm(Node *n)
{
    const DType statistics = n->in[3]->dtype;
    like_first(n);
    if (is_training(n) && n->in[3]->dtype != statistics)
        fail_node(n, STATUS_UNSUPPORTED, "export the model for inference",
                  "trains statistics of type %s over %s", dtype_name(statistics),
                  dtype_name(n->in[0]->dtype));
    infer_same(n);
    check_batchnorm(n);
    check_channels(n);
    const Shape *mean = infer_shape(n, 3);
    if (n->n_out > 1 && !is_training(n)) {
        for (int i = 1; i < n->n_out; i++)
            if (n->out[i])
                fail_node(n, STATUS_UNSUPPORTED, "export the model for inference",
                          "gives training outputs");
    }
    infer_out(n, 1, n->in[3]->dtype, *mean);
    infer_out(n, 2, n->in[4]->dtype, *mean);
}

/* running = running * momentum + current * (1 - momentum) */
static void update_running(Lower *l, Node *n, Tensor *out, Tensor *running, Tensor *current)
{
    const double momentum = (double)node_float(n, "momentum", 0.9f);
    if (!out)
        return;
    Tensor *old = binary(l, n, "mul", running, scalar(l, running->dtype, momentum), running->shape);
    Tensor *new =
        binary(l, n, "mul", current, scalar(l, current->dtype, 1.0 - momentum), running->shape);
    lower_nd2(l, n, lower_kernel(l, "add", out->dtype), out, old, new);
}

static void lower_batchnorm_training(Lower *l, Node *n, double epsilon)
{
    Tensor *x = n->in[0];
    const int rank = x->shape.rank, channel = n->channels_last ? rank - 1 : rank > 1 ? 1 : 0;
    bool gone[MAX_RANK];
    for (int i = 0; i < rank; i++)
        gone[i] = i != channel;
    const Shape c = shape_vector(x->shape.dim[channel]);
    Tensor *mean = lower_temp(l, x->dtype, c), *var = lower_temp(l, x->dtype, c);
    lower_reduce_axes(l, n, lower_kernel(l, "reduce_mean", x->dtype), mean, x, gone);
    Tensor *d = binary(l, n, "sub", x, per_channel(l, n, mean), x->shape);
    Tensor *square = binary(l, n, "mul", d, d, x->shape);
    lower_reduce_axes(l, n, lower_kernel(l, "reduce_mean", x->dtype), var, square, gone);
    update_running(l, n, node_out(n, 1), n->in[3], mean);
    update_running(l, n, node_out(n, 2), n->in[4], var);
    apply_statistics(l, n, mean, var, epsilon);
}

void lower_batchnorm(Lower *l, Node *n)
{
    const double epsilon = (double)node_float(n, "epsilon", 1e-5f);
    if (!tensor_count(n->out[0]))
        return;
    for (int i = 1; i < 5; i++)
        if (n->in[i]->dtype != n->in[0]->dtype)
            fail_node(n, STATUS_UNSUPPORTED, NULL, "operands of types %s and %s",
                      dtype_name(n->in[0]->dtype), dtype_name(n->in[i]->dtype));
    if (is_training(n))
        lower_batchnorm_training(l, n, epsilon);
    else if (!apply_constants(l, n, epsilon))
        apply_statistics(l, n, n->in[3], n->in[4], epsilon);
}

/* The norm kernel: y, mean, inv from x, scale, bias. */
static Step *lower_norm(Lower *l, Node *n, const inlay_norm_params *p, Tensor *mean, Tensor *inv,
                        Tensor *scale, Tensor *bias)
{
    if (!tensor_count(n->out[0]))
        return NULL;
    Step *s = lower_step(l, n, lower_kernel(l, "norm", n->in[0]->dtype), p);
    step_out(s, n->out[0]);
    step_out(s, mean);
    step_out(s, inv);
    step_in(s, n->in[0])->reuse = REUSE_ELEMENTWISE;
    step_in(s, scale);
    step_in(s, bias);
    return s;
}

void lower_instancenorm(Lower *l, Node *n)
{
    const Shape *s = &n->in[0]->shape;
    const int rank = s->rank;
    inlay_norm_params p = { .center = 1,
                            .period = 1,
                            .epsilon = (double)node_float(n, "epsilon", 1e-5f) };
    if (n->channels_last) {
        p.outer = i32_checked(s->dim[0]);
        p.n = i32_checked(shape_product(s, 1, rank - 1));
        p.inner = i32_checked(s->dim[rank - 1]);
        p.inner_step = 1;
    } else {
        p.outer = i32_checked(s->dim[0] * s->dim[1]);
        p.n = i32_checked(shape_product(s, 2, rank));
        p.inner = 1;
        p.period = i32_checked(s->dim[1]);
        p.outer_step = 1;
    }
    p.group = p.n;
    lower_norm(l, n, &p, NULL, NULL, n->in[1], n->in[2]);
}

/* From opset 21 on, scale and bias are per channel; before, per group. */
void lower_groupnorm(Lower *l, Node *n)
{
    const Shape *s = &n->in[0]->shape;
    const int64_t groups = node_int(n, "num_groups", 0), c = s->rank > 1 ? s->dim[1] : 0;
    if (groups < 1 || c % groups)
        fail_node(n, STATUS_MALFORMED, NULL, "%lld channels in %lld groups", (long long)c,
                  (long long)groups);
    const int64_t pixels = shape_product(s, 2, s->rank), members = c / groups;
    const bool by_channel = n->op->since >= 21;
    const inlay_norm_params p = { .outer = i32_checked(s->dim[0] * groups),
                                  .n = i32_checked(i64_mul(members, pixels)),
                                  .inner = 1,
                                  .center = 1,
                                  .period = i32_checked(groups),
                                  .outer_step = by_channel ? i32_checked(members) : 1,
                                  .group =
                                      i32_checked(by_channel ? pixels : i64_mul(members, pixels)),
                                  .along = by_channel,
                                  .epsilon = (double)node_float(n, "epsilon", 1e-5f) };
    lower_norm(l, n, &p, NULL, NULL, n->in[1], n->in[2]);
}

/* Scale or bias with an element for each member of the normalized part. */
static Tensor *expanded(Lower *l, Node *n, Tensor *t, const Shape *part)
{
    if (!t || tensor_count(t) == shape_count(part))
        return t;
    Move m = { .rank = part->rank };
    memcpy(m.n, part->dim, sizeof part->dim);
    shape_strides(part, m.y);
    shape_broadcast_strides(&t->shape, part, m.x);
    Tensor *y = lower_temp(l, t->dtype, *part);
    lower_move(l, n, y, t, &m);
    return y;
}

static int norm_axis(const Node *n)
{
    return node_axis(n, node_int(n, "axis", -1), infer_shape(n, 0)->rank);
}

void infer_layernorm(Node *n)
{
    Shape s = *infer_shape(n, 0);
    infer_same(n);
    for (int i = norm_axis(n); i < s.rank; i++)
        s.dim[i] = 1;
    like_first(n);
    infer_out(n, 1, DT_F32, s);
    infer_out(n, 2, DT_F32, s);
}

void infer_rmsnorm(Node *n)
{
    infer_same(n);
    like_first(n);
}

/* Statistics are float32, whatever the image is. */
static Tensor *statistics(Lower *l, const Node *n, int i)
{
    Tensor *t = node_out(n, i);
    return t && n->in[0]->dtype == DT_F64 ? lower_temp(l, DT_F64, t->shape) : t;
}

/* Each line lies in a row: a unit. */
static void norm_rows(Step *s)
{
    operand_image(s->operand);
    operand_image(s->operand + 3);
    s->operand[3].rule.kind = ROWS_SAME;
    s->units = s->operand[0].rows;
}

static void lower_line_norm(Lower *l, Node *n, bool center)
{
    const Shape *s = &n->in[0]->shape;
    const int axis = norm_axis(n);
    const Shape part = shape_of(s->rank - axis, s->dim + axis);
    const bool by_row =
        axis == s->rank - 1 && shape_has_rows(s) && !node_out(n, 1) && !node_out(n, 2);
    const inlay_norm_params p = { .outer = i32_checked(by_row ? shape_row_pixels(s)
                                                              : shape_product(s, 0, axis)),
                                  .n = i32_checked(shape_count(&part)),
                                  .inner = 1,
                                  .center = center,
                                  .period = 1,
                                  .group = 1,
                                  .along = 1,
                                  .epsilon = (double)node_float(n, "epsilon", 1e-5f) };
    Tensor *made[] = { NULL, statistics(l, n, 1), statistics(l, n, 2) };
    Step *step = lower_norm(l, n, &p, made[1], made[2], expanded(l, n, n->in[1], &part),
                            expanded(l, n, node_in(n, 2), &part));
    if (step && by_row)
        norm_rows(step);
    for (int i = 1; i < 3; i++)
        if (made[i] != node_out(n, i))
            lower_cast(l, n, n->out[i], made[i], true, 0);
}

void lower_layernorm(Lower *l, Node *n)
{
    lower_line_norm(l, n, true);
}
void lower_rmsnorm(Lower *l, Node *n)
{
    lower_line_norm(l, n, false);
}

/* (x - mean) / (sqrt(variance) + 1e-9) over the axes. */
void lower_mvn(Lower *l, Node *n)
{
    static const int64_t usual[] = { 0, 2, 3 };
    Tensor *x = n->in[0];
    int64_t count;
    const int64_t *axes = node_ints(n, "axes", &count);
    bool gone[MAX_RANK] = { false };
    Shape keep = x->shape;
    if (!axes)
        count = 3;
    for (int64_t i = 0; i < count; i++)
        gone[node_axis(n, axes ? axes[i] : usual[i], keep.rank)] = true;
    for (int i = 0; i < keep.rank; i++)
        if (gone[i])
            keep.dim[i] = 1;
    const char *reduce = lower_kernel(l, "reduce_mean", x->dtype);
    Tensor *mean = lower_temp(l, x->dtype, keep), *var = lower_temp(l, x->dtype, keep);
    lower_reduce_axes(l, n, reduce, mean, x, gone);
    Tensor *d = binary(l, n, "sub", x, mean, x->shape);
    lower_reduce_axes(l, n, reduce, var, binary(l, n, "mul", d, d, x->shape), gone);
    Tensor *deviation =
        binary(l, n, "add", unary(l, n, "sqrt", var), scalar(l, x->dtype, 1e-9), keep);
    lower_nd2(l, n, lower_kernel(l, "div", x->dtype), n->out[0], d, deviation);
}

static Tensor *number(Lower *l, DType t, float v)
{
    Store *s = l->graph->store;
    return lower_constant(l, recipe_cast(s, recipe_memory(s, DT_F32, 0, NULL, &v), t));
}

/* A divisor of 0 becomes infinite: what it divides becomes 0. */
static Tensor *never_zero(Lower *l, Node *n, Tensor *t)
{
    Tensor *zero = lower_temp(l, DT_BOOL, t->shape), *safe = lower_temp(l, t->dtype, t->shape);
    lower_nd2(l, n, lower_kernel(l, "equal", t->dtype), zero, t, number(l, t->dtype, 0.0f));
    lower_select(l, n, safe, zero, number(l, t->dtype, INFINITY), t);
    return safe;
}

void lower_lpnorm(Lower *l, Node *n)
{
    Tensor *x = n->in[0];
    bool gone[MAX_RANK] = { false };
    Shape keep = x->shape;
    const int axis = node_axis(n, node_int(n, "axis", -1), keep.rank);
    const int64_t power = node_int(n, "p", 2);
    if (power != 1 && power != 2)
        fail_node(n, STATUS_MALFORMED, NULL, "p is %lld, not 1 or 2", (long long)power);
    gone[axis] = true;
    keep.dim[axis] = 1;
    Tensor *norm = lower_temp(l, x->dtype, keep);
    lower_reduce_axes(l, n, lower_kernel(l, power == 1 ? "reduce_l1" : "reduce_l2", x->dtype), norm,
                      x, gone);
    lower_nd2(l, n, lower_kernel(l, "div", x->dtype), n->out[0], x, never_zero(l, n, norm));
}

void lower_lrn(Lower *l, Node *n)
{
    const Shape *s = &n->in[0]->shape;
    const int rank = s->rank;
    const int64_t size = node_int(n, "size", 0);
    if (size < 1 || rank < 2)
        fail_node(n, STATUS_MALFORMED, NULL, "size is %lld", (long long)size);
    if (!tensor_count(n->out[0]))
        return;
    const bool by_row = n->channels_last && rank >= 3;
    const inlay_lrn_params p = { .outer = i32_checked(by_row ? shape_row_pixels(s) : s->dim[0]),
                                 .c = i32_checked(n->channels_last ? s->dim[rank - 1] : s->dim[1]),
                                 .inner =
                                     n->channels_last ? 1 : i32_checked(shape_product(s, 2, rank)),
                                 .by_pixel = by_row,
                                 .before = i32_checked((size - 1) / 2),
                                 .after = i32_checked(size / 2),
                                 .scale = (double)node_float(n, "alpha", 1e-4f) / (double)size,
                                 .bias = (double)node_float(n, "bias", 1.0f),
                                 .beta = (double)node_float(n, "beta", 0.75f) };
    Step *step = lower_step(l, n, lower_kernel(l, "lrn", n->in[0]->dtype), &p);
    Operand *y = step_out(step, n->out[0]);
    if (by_row)
        operand_image(y);
    step->units = y->rows;
    Operand *x = step_in(step, n->in[0]);
    if (!by_row)
        return;
    operand_image(x);
    x->rule = (RowRule){ .kind = ROWS_SAME };
}
