/* SPDX-License-Identifier: Apache-2.0
 * Conv and ConvTranspose. Constant float32 weights are packed for the register-blocked kernels;
 * everything else (weights made at run time, float64, images that are not channels last) is plain.
 */
#include "base/size.h"
#include "kernels/deconv_f32.h"
#include "kernels/dwconv_f32.h"
#include "ops/epilogue.h"
#include "ops/families.h"
#include "ops/pack.h"
#include "ops/window.h"

static const int64_t *weight_taps(const Node *node)
{
    const Shape *w = infer_shape(node, 1);
    const int spatial = window_rank(node);
    if (w->rank != spatial + 2)
        fail_node(node, STATUS_MALFORMED, NULL, "its weights have %d dimensions, its image %d",
                  w->rank, spatial + 2);
    return w->dim + 2;
}

static int64_t groups_of(const Node *node, int64_t channels)
{
    const int64_t groups = node_int(node, "group", 1);
    if (groups < 1 || channels % groups)
        fail_node(node, STATUS_MALFORMED, NULL, "%lld channels do not divide into %lld groups",
                  (long long)channels, (long long)groups);
    return groups;
}

static void check_bias(const Node *node, int64_t channels)
{
    if (node_in(node, 2) && shape_count(infer_shape(node, 2)) != channels)
        fail_node(node, STATUS_MALFORMED, NULL, "its bias has shape %s for %lld channels",
                  shape_text(node->graph->arena, infer_shape(node, 2)), (long long)channels);
}

void infer_conv(Node *node)
{
    const Window window = window_of(node, weight_taps(node));
    const Shape *k = infer_shape(node, 1);
    const int64_t groups = groups_of(node, window.channels);
    if (k->dim[1] != window.channels / groups || k->dim[0] % groups)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "weights %s do not fit %lld channels in %lld groups",
                  shape_text(node->graph->arena, k), (long long)window.channels, (long long)groups);
    check_bias(node, k->dim[0]);
    infer_out(node, 0, node->in[0]->dtype, window_shape(&window, k->dim[0]));
}

void infer_conv_transpose(Node *node)
{
    const Window window = window_transposed(node, weight_taps(node));
    const Shape *k = infer_shape(node, 1);
    const int64_t groups = groups_of(node, window.channels);
    if (k->dim[0] != window.channels)
        fail_node(node, STATUS_MALFORMED, NULL, "weights %s do not fit %lld channels",
                  shape_text(node->graph->arena, k), (long long)window.channels);
    check_bias(node, i64_mul(k->dim[1], groups));
    infer_out(node, 0, node->in[0]->dtype, window_shape(&window, i64_mul(k->dim[1], groups)));
}

static int64_t macs_of(const Window *window, const int64_t *places, int64_t channels, int64_t other)
{
    int64_t m = i64_mul(i64_mul(window->images, channels), other);
    for (int i = 0; i < WINDOW_DIMS; i++)
        m = i64_mul(m, i64_mul(places[i], window->kernel[i]));
    return m;
}

/* The plain kernels; the activation follows as a step of its own. */
static void lower_plain(Lower *lower, Node *node, const char *kernel, const Window *window,
                        int64_t groups, int64_t oc, int64_t macs)
{
    const Epilogue epilogue = epilogue_of(node);
    Tensor *out = node->out[0];
    inlay_window_params params = { .groups = i32_checked(groups),
                                   .ic = i32_checked(window->channels / groups),
                                   .oc = i32_checked(oc) };
    window_plain_params(window, &params, i64_mul(groups, oc));
    Tensor *y = epilogue.act || epilogue.residual ? lower_temp(lower, out->dtype, out->shape) : out;
    Step *step = lower_step(lower, node, lower_kernel(lower, kernel, out->dtype), &params);
    step_out(step, y);
    step_in(step, node->in[0]);
    step_in(step, node->in[1]);
    step_in(step, node_in(node, 2) != epilogue.residual ? node_in(node, 2) : NULL);
    step->macs = macs;
    if (y != out)
        lower_epilogue(lower, node, &epilogue, y);
}

/* Float32 images, channels last, with constant weights, and a bias that is constant or needs no
 * filling up. */
static bool can_pack(const Node *node, const Epilogue *epilogue)
{
    const Tensor *b = node_in(node, 2) != epilogue->residual ? node_in(node, 2) : NULL;
    return node->channels_last && node->in[0]->dtype == DT_F32 && node->in[1]->value &&
           (!b || b->value);
}

static Tensor *bias_tensor(Lower *lower, const Node *node, const Epilogue *epilogue, int64_t groups,
                           int64_t oc)
{
    const Tensor *b = node_in(node, 2) != epilogue->residual ? node_in(node, 2) : NULL;
    return pack_bias(lower, b ? b->value : NULL, groups, oc);
}

static void finish_packed(Step *step, Node *node, const Window *window, const Epilogue *epilogue,
                          Tensor *weights, Tensor *bias, int64_t macs)
{
    step_out(step, node->out[0]);
    step_in(step, node->in[0]);
    step_in(step, weights);
    step_in(step, bias);
    Operand *q = step_in(step, epilogue->residual);
    q->strided = true;
    q->rule.kind = ROWS_SAME;
    q->reuse = REUSE_ELEMENTWISE;
    window_rows(window, step, step->operand, step->operand + 1);
    operand_rows(q, step->units, step->operand[0].pixel);
    step->macs = macs;
}

static void set_activation(inlay_conv_params *params, const Epilogue *epilogue)
{
    params->clamp = epilogue_clamp(epilogue);
    params->act = epilogue_needs_pass(epilogue) ? epilogue->act : INLAY_ACT_NONE;
    params->a = params->act || (params->clamp & 1) ? epilogue->a : 0.0f;
    params->b = params->act || (params->clamp & 2) ? epilogue->b : 0.0f;
}

void lower_conv(Lower *lower, Node *node)
{
    const Epilogue epilogue = epilogue_of(node);
    Window window = window_of(node, weight_taps(node));
    const int64_t groups = groups_of(node, window.channels);
    const int64_t ic = window.channels / groups;
    const int64_t oc = node->in[1]->shape.dim[0] / groups;
    const int64_t macs = macs_of(&window, window.out, i64_mul(oc, groups), ic);
    if (!can_pack(node, &epilogue)) {
        lower_plain(lower, node, "conv_plain", &window, groups, oc, macs);
        return;
    }
    const Recipe *weights = node->in[1]->value;
    const int64_t tap = window.spatial == 2 ? window_thin(&window) : -1;
    if (tap >= 0)
        weights = recipe_slice(lower->graph->store, weights, 2, tap, 1, 1);
    window_upright(&window);
    inlay_conv_params params = { .groups = i32_checked(groups),
                                 .ic = i32_checked(ic),
                                 .oc = i32_checked(oc),
                                 .width = lower->pack_width };
    window_conv_params(&window, &params);
    set_activation(&params, &epilogue);
    const bool depthwise = groups > 1 && ic == 1 && oc == 1 && window.spatial < 3;
    const bool line = params.iw == 1 && params.ow == 1 && params.kw == 1 && params.id == 1 &&
                      params.od == 1 && params.kd == 1 && params.ih > 1 &&
                      (params.kh > 1 || params.sh > 1);
    const char *kernel = depthwise    ? (params.act ? "dwconv_act_f32" : "dwconv_f32")
                         : line       ? (params.act ? "conv1d_act_f32" : "conv1d_f32")
                         : params.act ? "conv_act_f32"
                                      : "conv_f32";
    Step *step = lower_step(lower, node, kernel, &params);
    Tensor *bias = depthwise ? bias_tensor(lower, node, &epilogue, 1, groups)
                             : bias_tensor(lower, node, &epilogue, groups, oc);
    Tensor *packed = depthwise ? pack_depthwise_weights(lower, weights)
                               : pack_conv_weights(lower, weights, groups);
    finish_packed(step, node, &window, &epilogue, packed, bias, macs);
    window_pixels(&window, step->operand + 1, depthwise ? INLAY_DW_TILE_MOST : INLAY_TILE_MOST);
}

static void lower_deconv_packed(Lower *lower, Node *node, const Window *window,
                                const Epilogue *epilogue, int64_t groups, int64_t oc, int64_t macs)
{
    inlay_conv_params params = { .groups = i32_checked(groups),
                                 .ic = i32_checked(window->channels / groups),
                                 .oc = i32_checked(oc),
                                 .width = lower->pack_width };
    window_conv_params(window, &params);
    set_activation(&params, epilogue);
    int64_t phases[WINDOW_DIMS];
    for (int i = 0; i < WINDOW_DIMS; i++)
        phases[i] =
            window->stride[i] / inlay_gcd((int32_t)window->stride[i], (int32_t)window->dilation[i]);
    params.kd = (int32_t)i64_ceil_div(window->kernel[0], phases[0]);
    params.kh = (int32_t)i64_ceil_div(window->kernel[1], phases[1]);
    params.kw = (int32_t)i64_ceil_div(window->kernel[2], phases[2]);
    Step *step = lower_step(lower, node, params.act ? "deconv_act_f32" : "deconv_f32", &params);
    Tensor *bias = bias_tensor(lower, node, epilogue, groups, oc);
    Tensor *packed = pack_deconv_weights(lower, node->in[1]->value, groups, window->kernel, phases);
    finish_packed(step, node, window, epilogue, packed, bias, macs);
    window_rows_transposed(window, step, step->operand, step->operand + 1);
}

void lower_conv_transpose(Lower *lower, Node *node)
{
    const Epilogue epilogue = epilogue_of(node);
    Window window = window_transposed(node, weight_taps(node));
    const int64_t groups = groups_of(node, window.channels);
    const int64_t oc = node->in[1]->shape.dim[1];
    const int64_t macs = macs_of(&window, window.in, window.channels, oc);
    const bool packed = (window.spatial < 3 || groups == 1) && can_pack(node, &epilogue);
    if (packed)
        window_upright(&window);
    if (packed)
        lower_deconv_packed(lower, node, &window, &epilogue, groups, oc, macs);
    else
        lower_plain(lower, node, "deconv_plain", &window, groups, oc, macs);
}
