/* SPDX-License-Identifier: Apache-2.0
 * Convolutions of 8-bit integers: ConvInteger, ConvIntegerToFloat, QLinearConv; of 16-bit ones:
 * QShortConv.
 * Scales and zero points are operands: they may be made at run time. */
#include <assert.h>

#include "base/size.h"
#include "kernels/qdot.h"
#include "kernels/qpacked.h"
#include "ops/families.h"
#include "ops/nest.h"
#include "ops/qnarrow.h"
#include "ops/qpacked.h"
#include "ops/qplaces.h"
#include "ops/qshort.h"
#include "ops/typed.h"
#include "ops/window.h"

static const int64_t *taps_of(const Node *node, const QuantPlaces *places)
{
    const Shape *w = infer_shape(node, places->b);
    if (w->rank != infer_shape(node, 0)->rank)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its weights have %d dimensions, its image %d", w->rank,
                  node->in[0]->shape.rank);
    return w->dim + 2;
}

static void infer_qconv(Node *node, const QuantPlaces *places, DType type)
{
    const Window window = window_of(node, taps_of(node, places));
    const Shape *k = infer_shape(node, places->b);
    const int64_t groups = node_int(node, "group", 1);
    if (groups < 1 || window.channels % groups ||
        k->dim[1] != window.channels / groups || k->dim[0] % groups)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "weights %s do not fit %lld channels in %lld groups",
                  shape_text(node->graph->arena, k), (long long)window.channels,
                  (long long)groups);
    infer_out(node, 0, type, window_shape(&window, k->dim[0]));
}

void infer_conv_integer(Node *node)
{
    infer_qconv(node, &quant_sums, DT_I32);
}
void infer_conv_to_float(Node *node)
{
    infer_qconv(node, &quant_floats, DT_F32);
}
void infer_qlinear_conv(Node *node)
{
    infer_qconv(node, &quant_bytes,
                node_in(node, 7) ? node->in[7]->dtype : node_type(node));
    infer_input_scale(node, 1);
    infer_result_scale(node, 6);
}

/* Weights of dims [groups][OC][IC][taps] as [groups][taps][IC][OC]. */
static Tensor *turned_constant(Lower *lower, const Recipe *weights,
                               const int64_t *dims)
{
    static const int perm[4] = { 0, 3, 2, 1 };
    Store *store = lower->store;
    const Recipe *recipe = recipe_reshape(store, weights, 4, dims);
    return lower_constant(lower, recipe_transpose(store, recipe, perm));
}

static Tensor *turned_when_run(Lower *lower, Tensor *weights,
                               const int64_t *dims)
{
    const int64_t taps = dims[3];
    const int64_t each = i64_mul(dims[2], taps); /* of a channel of y */
    Move move = {
        .rank = 4,
        .n = { dims[0], taps, dims[2], dims[1] },
        .x = { i64_mul(dims[1], each), 1, taps, each },
    };
    Tensor *y = lower_temp(lower, weights->dtype, shape_of(4, move.n));
    shape_strides(&y->shape, move.y);
    lower_move(lower, y, weights, &move);
    return y;
}

/* Weights [groups * OC][IC][taps...] -> [groups][taps][IC][OC]; depthwise: [taps][C]. Made at run
 * time where they are no constant. */
static Tensor *turned_weights(Lower *lower, Tensor *weights,
                              const inlay_qconv_params *params)
{
    const int64_t taps = i64_mul(i64_mul(params->kd, params->kh), params->kw);
    const bool depthwise = params->ic == 1 && params->oc == 1;
    const int64_t dims[4] = {
        depthwise ? 1 : params->groups,
        depthwise ? params->groups : params->oc,
        params->ic,
        taps,
    };
    if (weights->value)
        return turned_constant(lower, weights->value, dims);
    return turned_when_run(lower, weights, dims);
}

/* From planes, whose shape it is, to channels last; or back. */
static Move image_move(const Shape *planes, bool last)
{
    const int64_t pixels = shape_product(planes, 2, planes->rank);
    const int64_t channels = planes->dim[1];
    const int64_t outer = last ? pixels : channels;
    const int64_t inner = last ? channels : pixels;
    const int64_t image = i64_mul(outer, inner);
    return (Move){
        .rank = 3,
        .n = { planes->dim[0], outer, inner },
        .y = { image, inner, 1 },
        .x = { image, 1, outer },
    };
}

/* The image as the kernel reads it: channels last. */
static Tensor *image_last(Lower *lower, Tensor *x)
{
    const Move move = image_move(&x->shape, true);
    Tensor *y = lower_temp(lower, x->dtype, shape_of(3, move.n));
    lower_move(lower, y, x, &move);
    return y;
}

/* And back, to planes. */
static void image_first(Lower *lower, Tensor *y, Tensor *x)
{
    const Move move = image_move(&y->shape, false);
    lower_move(lower, y, x, &move);
}

/* Rows of an image of any layout of dims: `rows` of `channels` a pixel. */
static void conv_rows(Step *step, const inlay_qconv_params *params,
                      int64_t images)
{
    operand_rows(step->operand,
                 i32_checked(i64_mul(images, i64_mul(params->od, params->oh))),
                 i64_mul(params->groups, params->oc));
    operand_rows(step->operand + 1,
                 i32_checked(i64_mul(images, i64_mul(params->id, params->ih))),
                 i64_mul(params->groups, params->ic));
    step->units = step->operand->rows;
    step->operand[0].strided = step->operand[1].strided = true;
    if (images == 1 && params->od == 1 && params->id == 1)
        operand_window(step->operand + 1, params->sh, params->ph,
                       (params->kh - 1) * params->dh + 1);
}

static inlay_qconv_params
qconv_params(const Node *node, const QuantPlaces *places, const Window *window)
{
    const Tensor *weights = quant_in(node, places->b);
    inlay_qconv_params params = { 0 };
    window_qconv_params(window, &params);
    params.groups = i32_checked(node_int(node, "group", 1));
    params.ic = i32_checked(window->channels / params.groups);
    params.oc = i32_checked(weights->shape.dim[0] / params.groups);
    params.signs = quant_signs(node->in[0], weights);
    params.out = quant_out_kind(node, node->out[0]->dtype);
    bytes_bounds(node, &params.lo, &params.hi);
    params.zw = quant_count(node, places->zb);
    params.sw_count = quant_count(node, places->sb);
    return params;
}

static int64_t macs_of(const inlay_qconv_params *params, const Tensor *out)
{
    const int64_t plane = i64_mul(params->kh, params->kw);
    const int64_t taps = i64_mul(params->kd, plane);
    return i64_mul(tensor_count(out), i64_mul(params->ic, taps));
}

/* With constant weights; y and x: images, channels last. */
static bool lower_qconv_packed(Lower *lower, Node *node,
                               const QuantPlaces *places, const Window *window,
                               Tensor *y, Tensor *x)
{
    const inlay_qconv_params c = qconv_params(node, places, window);
    ByteOperands q = quant_operands(node, places);
    if (!bytes_packable(&q, i64_mul(c.groups, c.oc)))
        return false;
    inlay_qpacked_params params = {
        .groups = c.groups,
        .ic = c.ic,
        .oc = c.oc,
    };
    window_bytes_params(window, &params);
    q.y = y;
    q.x = x;
    Step *step = lower_bytes_packed(lower, node, &q, &params);
    conv_rows(step, &c, window->images);
    if (step->operand[1].rule.kind != ROWS_ALL)
        window_pixels(window, step->operand + 1,
                      (int32_t)i64_max(INLAY_QPIXELS, params.gather));
    if (!qnarrow_by_pixel(step))
        step->operand[1].pixels.tile = 0;
    step->macs = macs_of(&c, y);
    return true;
}

/* By the kernel whose operands are all made at run time. */
static void lower_qconv_plain(Lower *lower, Node *node,
                              const QuantPlaces *places, const Window *window,
                              Tensor *y, Tensor *x)
{
    const inlay_qconv_params params = qconv_params(node, places, window);
    Tensor *weights = quant_in(node, places->b);
    weights = turned_weights(lower, weights, &params);
    Tensor *q[QUANT_OTHERS];
    quant_others(lower, node, places, q);
    Step *step = lower_step(lower, "qconv", &params);
    step_out(step, y);
    step_in(step, x);
    step_in(step, weights);
    for (int i = 0; i < QUANT_OTHERS; i++)
        step_in(step, q[i]);
    step_in(step, quant_in(node, places->bias));
    conv_rows(step, &params, window->images);
    step->macs = macs_of(&params, y);
}

/* y and x: images, channels last. */
typedef void LowerImages(Lower *lower, Node *node, const QuantPlaces *places,
                         const Window *window, Tensor *y, Tensor *x);

static void lower_bytes(Lower *lower, Node *node, const QuantPlaces *places,
                        const Window *window, Tensor *y, Tensor *x)
{
    const bool packed = lower_qconv_packed(lower, node, places, window, y, x);
    assert(packed || !quant_in(node, places->add));
    if (packed)
        return;
    quant_check_bytes(node, places->b);
    lower_qconv_plain(lower, node, places, window, y, x);
}

static void lower_images(Lower *lower, Node *node, const QuantPlaces *places,
                         LowerImages *make)
{
    const bool last = node->channels_last;
    Window window = window_of(node, taps_of(node, places));
    if (last)
        window_upright(&window);
    Tensor *out = node->out[0];
    if (!tensor_count(out))
        return;
    Tensor *x = node->in[0];
    Tensor *y = out;
    if (!last) {
        x = image_last(lower, x);
        y = lower_temp(lower, out->dtype, shape_vector(tensor_count(out)));
    }
    make(lower, node, places, &window, y, x);
    if (y != out)
        image_first(lower, out, y);
}

static void lower_qconv_at(Lower *lower, Node *node, const QuantPlaces *places)
{
    quant_check_bytes(node, places->a);
    quant_check_weights(node, places->b);
    lower_images(lower, node, places, lower_bytes);
}

void lower_conv_integer(Lower *lower, Node *node)
{
    lower_qconv_at(lower, node, &quant_sums);
}
void lower_qlinear_conv(Lower *lower, Node *node)
{
    lower_qconv_at(lower, node, &quant_bytes);
}
void lower_conv_to_float(Lower *lower, Node *node)
{
    lower_qconv_at(lower, node, &quant_floats);
}

static void lower_numbers(Lower *lower, Node *node, const QuantPlaces *places,
                          const Window *window, Tensor *y, Tensor *x)
{
    ByteOperands q = quant_operands(node, places);
    q.y = y;
    q.x = x;
    lower_shorts(lower, node, &q, window);
}

void lower_qshort_conv(Lower *lower, Node *node)
{
    lower_images(lower, node, &quant_bytes, lower_numbers);
}
