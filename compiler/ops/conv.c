/* SPDX-License-Identifier: Apache-2.0
 * Conv and ConvTranspose. Constant float32 weights are packed for the register-blocked kernels;
 * everything else (weights made at run time, float64, images that are not channels last) is plain.
 */
#include "base/size.h"
#include "kernels/deconv_f32.h"
#include "kernels/dwconv_narrow.h"
#include "kernels/dwmany_f32.h"
#include "kernels/window_plain.h"
#include "kernels/winograd_f32.h"
#include "ops/epilogue.h"
#include "ops/families.h"
#include "ops/pack.h"
#include "ops/window.h"
#include "ops/winograd.h"

static const int64_t *weight_taps(const Node *node)
{
    const Shape *w = infer_shape(node, 1);
    const int spatial = window_rank(node);
    if (w->rank != spatial + 2)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its weights have %d dimensions, its image %d", w->rank,
                  spatial + 2);
    return w->dim + 2;
}

static int64_t groups_of(const Node *node, int64_t channels)
{
    const int64_t groups = node_int(node, "group", 1);
    if (groups < 1 || channels % groups)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "%lld channels do not divide into %lld groups",
                  (long long)channels, (long long)groups);
    return groups;
}

static void check_bias(const Node *node, int64_t channels)
{
    if (node_in(node, 2) && shape_count(infer_shape(node, 2)) != channels)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its bias has shape %s for %lld channels",
                  shape_text(node->graph->arena, infer_shape(node, 2)),
                  (long long)channels);
}

void infer_conv(Node *node)
{
    const Window window = window_of(node, weight_taps(node));
    const Shape *k = infer_shape(node, 1);
    const int64_t groups = groups_of(node, window.channels);
    const int64_t results = k->dim[0];
    const bool fits = k->dim[1] == window.channels / groups;
    if (!fits || results % groups)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "weights %s do not fit %lld channels in %lld groups",
                  shape_text(node->graph->arena, k), (long long)window.channels,
                  (long long)groups);
    const Shape shape = window_shape(&window, results);
    check_bias(node, results);
    infer_out(node, 0, node_type(node), shape);
}

void infer_conv_transpose(Node *node)
{
    const Window window = window_transposed(node, weight_taps(node));
    const Shape *k = infer_shape(node, 1);
    const int64_t groups = groups_of(node, window.channels);
    if (k->dim[0] != window.channels)
        fail_node(
            node, STATUS_MALFORMED, NULL, "weights %s do not fit %lld channels",
            shape_text(node->graph->arena, k), (long long)window.channels);
    const int64_t results = i64_mul(k->dim[1], groups);
    const Shape shape = window_shape(&window, results);
    check_bias(node, results);
    infer_out(node, 0, node_type(node), shape);
}

/* Of windows at the places of an image: the result's, or, transposed, the operand's. */
static int64_t macs_of(const Window *window, bool transposed, int64_t channels,
                       int64_t other)
{
    int64_t macs = i64_mul(i64_mul(window->images, channels), other);
    for (int i = 0; i < WINDOW_DIMS; i++) {
        const WindowAxis *axis = window->axis + i;
        const int64_t places = transposed ? axis->in : axis->out;
        macs = i64_mul(macs, i64_mul(places, axis->kernel));
    }
    return macs;
}

/* What both convolutions are made from. */
typedef struct Layer {
    Window window;
    Epilogue epilogue;
    int64_t groups;
    int64_t oc; /* of a group */
    int64_t macs;
} Layer;

/* The plain kernels; the activation follows as a step of its own. */
static void lower_plain(Lower *lower, Node *node, const char *name,
                        const Layer *layer)
{
    const Epilogue *epilogue = &layer->epilogue;
    Tensor *out = node->out[0];
    Tensor *y = out;
    inlay_window_params params = {
        .groups = i32_checked(layer->groups),
        .ic = i32_checked(layer->window.channels / layer->groups),
        .oc = i32_checked(layer->oc),
    };
    window_plain_params(&layer->window, &params,
                        i64_mul(layer->groups, layer->oc));
    if (epilogue->act || epilogue->residual)
        y = lower_temp(lower, out->dtype, out->shape);
    const char *kernel = lower_kernel(lower, name, out->dtype);
    Step *step = lower_step(lower, kernel, &params);
    step_out(step, y);
    step_operand(step, 0);
    step_operand(step, 1);
    step_in(step, epilogue_bias(node, epilogue));
    step->macs = layer->macs;
    if (y != out)
        lower_epilogue(lower, node, epilogue, y);
}

/* Float32 images, channels last, with constant weights, and a bias that is constant or needs no
 * filling up. */
static bool can_pack(const Node *node, const Layer *layer)
{
    const Tensor *bias = epilogue_bias(node, &layer->epilogue);
    return node->channels_last && node_type(node) == DT_F32 &&
           node->in[1]->value && (!bias || bias->value);
}

static Tensor *bias_tensor(Lower *lower, const Node *node, const Layer *layer,
                           int64_t groups, int64_t oc)
{
    const Tensor *bias = epilogue_bias(node, &layer->epilogue);
    return pack_bias(lower, bias ? bias->value : NULL, groups, oc);
}

static inlay_conv_params packed_params(const Lower *lower, const Layer *layer)
{
    inlay_conv_params params = {
        .groups = i32_checked(layer->groups),
        .ic = i32_checked(layer->window.channels / layer->groups),
        .oc = i32_checked(layer->oc),
        .width = lower->pack_width,
    };
    window_conv_params(&layer->window, &params);
    epilogue_params(&layer->epilogue, &params);
    return params;
}

static void finish_packed(Step *step, const Layer *layer,
                          const Weights *weights, Tensor *bias)
{
    step_result(step, 0);
    step_operand(step, 0);
    step_in(step, weights->values);
    step_in(step, bias);
    step_in(step, layer->epilogue.residual);
    weights_operands(step, weights);
    Operand *y = step->operand;
    Operand *residual = y + 4;
    residual->strided = true;
    residual->rule.kind = ROWS_SAME;
    residual->reuse = REUSE_ELEMENTWISE;
    window_rows(&layer->window, step, y, y + 1);
    operand_rows(residual, step->units, y->pixel);
    step->macs = layer->macs;
}

/* A signal: one column all along. Padding in front of it would leave no window on it. */
static bool is_line(const inlay_conv_params *params)
{
    const bool one_column = params->iw == 1 && params->ow == 1 &&
                            params->kw == 1 && params->pw == 0;
    const bool one_plane = params->id == 1 && params->od == 1 &&
                           params->kd == 1 && params->pd == 0;
    return one_column && one_plane && params->ih > 1 &&
           (params->kh > 1 || params->sh > 1);
}

static void lower_depthwise(Lower *lower, Node *node, const Layer *layer,
                            const Recipe *weights,
                            const inlay_conv_params *params)
{
    const char *name = params->act ? "dwconv_act" : "dwconv";
    Tensor *bias = bias_tensor(lower, node, layer, 1, layer->groups);
    const Weights packed = pack_depthwise_weights(lower, weights);
    const bool wide = packed.type == DT_F32;
    const char *kernel = lower_kernel(lower, name, packed.type);
    Step *step = lower_step(lower, kernel, params);
    finish_packed(step, layer, &packed, bias);
    Operand *x = step->operand + 1;
    window_pixels(&layer->window, x,
                  wide ? INLAY_DW_TILE_MOST : INLAY_DW_STRETCH);
}

/* Can several results of each channel be made together? */
static bool can_multiply(const Lower *lower, const Recipe *weights,
                         const inlay_conv_params *params)
{
    return params->kh <= INLAY_MANY_ROWS && !weights_are_narrow(lower, weights);
}

static void lower_multiplied(Lower *lower, Node *node, const Layer *layer,
                             const Recipe *weights,
                             const inlay_conv_params *params)
{
    const char *name = params->act ? "dwmany_act_f32" : "dwmany_f32";
    const int64_t channels = i64_mul(layer->groups, layer->oc);
    Tensor *bias = bias_tensor(lower, node, layer, 1, channels);
    const Weights packed = pack_depthwise_weights(lower, weights);
    Step *step = lower_step(lower, name, params);
    finish_packed(step, layer, &packed, bias);
    window_pixels(&layer->window, step->operand + 1, INLAY_DW_TILE_MOST);
}

static void lower_grouped(Lower *lower, Node *node, const Layer *layer,
                          const Recipe *weights,
                          const inlay_conv_params *params)
{
    const char *name = params->act ? "conv_act" : "conv";
    if (is_line(params))
        name = params->act ? "conv1d_act" : "conv1d";
    Tensor *bias = bias_tensor(lower, node, layer, layer->groups, layer->oc);
    const Weights packed = pack_conv_weights(lower, weights, layer->groups);
    const char *kernel = lower_kernel(lower, name, packed.type);
    Step *step = lower_step(lower, kernel, params);
    step->alone = packed.width < params->width ? packed.width : 0;
    finish_packed(step, layer, &packed, bias);
    Operand *x = step->operand + 1;
    window_pixels(&layer->window, x, INLAY_TILE_MOST);
}

/* All rows of x are read, whatever rows are made: tiles lie where they always lie. */
static void lower_winograd(Lower *lower, Node *node, const Layer *layer,
                           const Recipe *weights,
                           const inlay_winograd_params *params)
{
    const char *kernel = params->act ? "winograd_act_f32" : "winograd_f32";
    Recipe *made = winograd_weights(lower->store, weights, params->tile);
    const int64_t side = params->tile + 2;
    const Weights packed = {
        .type = DT_F32,
        .values = pack_wide_weights(lower, made, side * side),
    };
    Tensor *bias = bias_tensor(lower, node, layer, 1, layer->oc);
    Step *step = lower_step(lower, kernel, params);
    finish_packed(step, layer, &packed, bias);
    step_scratch(lower, step, winograd_scratch(params));
    Operand *x = step->operand + 1;
    x->rule = (RowRule){ .kind = ROWS_ALL };
    x->reuse = REUSE_NONE;
}

static void lower_conv_packed(Lower *lower, Node *node, Layer *layer)
{
    Window *window = &layer->window;
    const Recipe *weights = node->in[1]->value;
    const int64_t groups = layer->groups;
    const bool single = groups > 1 && window->channels == groups;
    const bool flat = single && window->spatial < 3;
    if (window->spatial == 2) {
        const int64_t tap = window_thin(window);
        if (tap >= 0)
            weights = recipe_part(lower->store, weights, 2, tap, 1);
    }
    window_upright(window);
    const inlay_conv_params params = packed_params(lower, layer);
    inlay_winograd_params winograd = { .tile = 0 };
    if (lower->for_speed && node->winograd)
        winograd = winograd_params(&params);
    if (flat && layer->oc == 1)
        lower_depthwise(lower, node, layer, weights, &params);
    else if (flat && can_multiply(lower, weights, &params))
        lower_multiplied(lower, node, layer, weights, &params);
    else if (winograd.tile)
        lower_winograd(lower, node, layer, weights, &winograd);
    else
        lower_grouped(lower, node, layer, weights, &params);
}

void lower_conv(Lower *lower, Node *node)
{
    Layer layer = {
        .window = window_of(node, weight_taps(node)),
        .epilogue = epilogue_of(node),
    };
    Window *window = &layer.window;
    layer.groups = groups_of(node, window->channels);
    layer.oc = node->in[1]->shape.dim[0] / layer.groups;
    const int64_t ic = window->channels / layer.groups;
    const int64_t channels = i64_mul(layer.oc, layer.groups);
    layer.macs = macs_of(window, false, channels, ic);
    if (can_pack(node, &layer))
        lower_conv_packed(lower, node, &layer);
    else
        lower_plain(lower, node, "conv_plain", &layer);
}

static DeconvTaps deconv_taps(const Window *window)
{
    DeconvTaps taps;
    for (int i = 0; i < WINDOW_DIMS; i++) {
        const WindowAxis *axis = window->axis + i;
        taps.phases[i] = window_phases(axis);
        taps.all[i] = axis->kernel;
        taps.each[i] = i64_ceil_div(axis->kernel, taps.phases[i]);
    }
    return taps;
}

/* Phases without a tap are filled up with zeros: are the weights packed not many times as large? */
static bool phases_are_full(const Window *window)
{
    enum { MOST_TIMES = 64 };
    const DeconvTaps taps = deconv_taps(window);
    int64_t times = 1;
    for (int i = 0; i < WINDOW_DIMS && times <= MOST_TIMES; i++)
        times = i64_mul(times, i64_ceil_div(taps.phases[i], taps.all[i]));
    return times <= MOST_TIMES;
}

/* The kernel that gathers weights packed by phases; depth has no groups there. */
static bool can_gather(const Node *node, const Layer *layer)
{
    if (layer->window.spatial == 3 && layer->groups > 1)
        return false;
    return can_pack(node, layer) && phases_are_full(&layer->window);
}

static void lower_deconv_packed(Lower *lower, Node *node, const Layer *layer)
{
    const Window *window = &layer->window;
    const DeconvTaps taps = deconv_taps(window);
    inlay_conv_params params = packed_params(lower, layer);
    params.kd = (int32_t)taps.each[0];
    params.kh = (int32_t)taps.each[1];
    params.kw = (int32_t)taps.each[2];
    const int64_t groups = layer->groups;
    const Recipe *weights = node->in[1]->value;
    Tensor *bias = bias_tensor(lower, node, layer, groups, layer->oc);
    const Weights packed = pack_deconv_weights(lower, weights, groups, &taps);
    const char *name = params.act ? "deconv_act" : "deconv";
    const char *kernel = lower_kernel(lower, name, packed.type);
    Step *step = lower_step(lower, kernel, &params);
    finish_packed(step, layer, &packed, bias);
    Operand *y = step->operand;
    window_rows_transposed(window, step, y, y + 1);
}

void lower_conv_transpose(Lower *lower, Node *node)
{
    Layer layer = {
        .window = window_transposed(node, weight_taps(node)),
        .epilogue = epilogue_of(node),
        .oc = node->in[1]->shape.dim[1],
    };
    Window *window = &layer.window;
    layer.groups = groups_of(node, window->channels);
    layer.macs = macs_of(window, true, window->channels, layer.oc);
    if (can_gather(node, &layer)) {
        window_upright(window);
        lower_deconv_packed(lower, node, &layer);
    } else {
        lower_plain(lower, node, "deconv_plain", &layer);
    }
}
