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

static const int64_t *weight_taps(const Node *n)
{
    const Shape *w = infer_shape(n, 1);
    const int spatial = window_rank(n);
    if (w->rank != spatial + 2)
        fail_node(n, STATUS_MALFORMED, NULL, "its weights have %d dimensions, its image %d",
                  w->rank, spatial + 2);
    return w->dim + 2;
}

static int64_t groups_of(const Node *n, int64_t channels)
{
    const int64_t groups = node_int(n, "group", 1);
    if (groups < 1 || channels % groups)
        fail_node(n, STATUS_MALFORMED, NULL, "%lld channels do not divide into %lld groups",
                  (long long)channels, (long long)groups);
    return groups;
}

static void check_bias(const Node *n, int64_t channels)
{
    if (node_in(n, 2) && shape_count(infer_shape(n, 2)) != channels)
        fail_node(n, STATUS_MALFORMED, NULL, "its bias has shape %s for %lld channels",
                  shape_text(n->graph->arena, infer_shape(n, 2)), (long long)channels);
}

void infer_conv(Node *n)
{
    const Window w = window_of(n, weight_taps(n));
    const Shape *k = infer_shape(n, 1);
    const int64_t groups = groups_of(n, w.channels);
    if (k->dim[1] != w.channels / groups || k->dim[0] % groups)
        fail_node(n, STATUS_MALFORMED, NULL, "weights %s do not fit %lld channels in %lld groups",
                  shape_text(n->graph->arena, k), (long long)w.channels, (long long)groups);
    check_bias(n, k->dim[0]);
    infer_out(n, 0, n->in[0]->dtype, window_shape(&w, k->dim[0]));
}

void infer_conv_transpose(Node *n)
{
    const Window w = window_transposed(n, weight_taps(n));
    const Shape *k = infer_shape(n, 1);
    const int64_t groups = groups_of(n, w.channels);
    if (k->dim[0] != w.channels)
        fail_node(n, STATUS_MALFORMED, NULL, "weights %s do not fit %lld channels",
                  shape_text(n->graph->arena, k), (long long)w.channels);
    check_bias(n, i64_mul(k->dim[1], groups));
    infer_out(n, 0, n->in[0]->dtype, window_shape(&w, i64_mul(k->dim[1], groups)));
}

static int64_t macs_of(const Window *w, const int64_t *places, int64_t channels, int64_t other)
{
    int64_t m = i64_mul(i64_mul(w->images, channels), other);
    for (int i = 0; i < WINDOW_DIMS; i++)
        m = i64_mul(m, i64_mul(places[i], w->kernel[i]));
    return m;
}

/* The plain kernels; the activation follows as a step of its own. */
static void lower_plain(Lower *l, Node *n, const char *kernel, const Window *w, int64_t groups,
                        int64_t oc, int64_t macs)
{
    const Epilogue e = epilogue_of(n);
    Tensor *out = n->out[0];
    inlay_window_params p = { .groups = i32_checked(groups),
                              .ic = i32_checked(w->channels / groups),
                              .oc = i32_checked(oc) };
    window_plain_params(w, &p, i64_mul(groups, oc));
    Tensor *y = e.act || e.residual ? lower_temp(l, out->dtype, out->shape) : out;
    Step *s = lower_step(l, n, lower_kernel(l, kernel, out->dtype), &p);
    step_out(s, y);
    step_in(s, n->in[0]);
    step_in(s, n->in[1]);
    step_in(s, node_in(n, 2) != e.residual ? node_in(n, 2) : NULL);
    s->macs = macs;
    if (y != out)
        lower_epilogue(l, n, &e, y);
}

/* Float32 images, channels last, with constant weights, and a bias that is constant or needs no
 * filling up. */
static bool can_pack(const Node *n, const Epilogue *e)
{
    const Tensor *b = node_in(n, 2) != e->residual ? node_in(n, 2) : NULL;
    return n->channels_last && n->in[0]->dtype == DT_F32 && n->in[1]->value && (!b || b->value);
}

static Tensor *bias_tensor(Lower *l, const Node *n, const Epilogue *e, int64_t groups, int64_t oc)
{
    const Tensor *b = node_in(n, 2) != e->residual ? node_in(n, 2) : NULL;
    return pack_bias(l, b ? b->value : NULL, groups, oc);
}

static void finish_packed(Step *s, Node *n, const Window *w, const Epilogue *e, Tensor *weights,
                          Tensor *bias, int64_t macs)
{
    step_out(s, n->out[0]);
    step_in(s, n->in[0]);
    step_in(s, weights);
    step_in(s, bias);
    Operand *q = step_in(s, e->residual);
    q->strided = true;
    q->rule.kind = ROWS_SAME;
    q->reuse = REUSE_ELEMENTWISE;
    window_rows(w, s, s->operand, s->operand + 1);
    operand_rows(q, s->units, s->operand[0].pixel);
    s->macs = macs;
}

static void set_activation(inlay_conv_params *p, const Epilogue *e)
{
    p->clamp = epilogue_clamp(e);
    p->act = epilogue_needs_pass(e) ? e->act : INLAY_ACT_NONE;
    p->a = p->act || (p->clamp & 1) ? e->a : 0.0f;
    p->b = p->act || (p->clamp & 2) ? e->b : 0.0f;
}

void lower_conv(Lower *l, Node *n)
{
    const Epilogue e = epilogue_of(n);
    Window w = window_of(n, weight_taps(n));
    const int64_t groups = groups_of(n, w.channels), ic = w.channels / groups,
                  oc = n->in[1]->shape.dim[0] / groups;
    const int64_t macs = macs_of(&w, w.out, i64_mul(oc, groups), ic);
    if (!can_pack(n, &e)) {
        lower_plain(l, n, "conv_plain", &w, groups, oc, macs);
        return;
    }
    const Recipe *weights = n->in[1]->value;
    const int64_t tap = w.spatial == 2 ? window_thin(&w) : -1;
    if (tap >= 0)
        weights = recipe_slice(l->graph->store, weights, 2, tap, 1, 1);
    window_upright(&w);
    inlay_conv_params p = { .groups = i32_checked(groups),
                            .ic = i32_checked(ic),
                            .oc = i32_checked(oc),
                            .width = l->pack_width };
    window_conv_params(&w, &p);
    set_activation(&p, &e);
    const bool depthwise = groups > 1 && ic == 1 && oc == 1 && w.spatial < 3;
    const bool line = p.iw == 1 && p.ow == 1 && p.kw == 1 && p.id == 1 && p.od == 1 && p.kd == 1 &&
                      p.ih > 1 && (p.kh > 1 || p.sh > 1);
    const char *kernel = depthwise ? (p.act ? "dwconv_act_f32" : "dwconv_f32")
                         : line    ? (p.act ? "conv1d_act_f32" : "conv1d_f32")
                         : p.act   ? "conv_act_f32"
                                   : "conv_f32";
    Step *s = lower_step(l, n, kernel, &p);
    Tensor *bias = depthwise ? bias_tensor(l, n, &e, 1, groups) : bias_tensor(l, n, &e, groups, oc);
    Tensor *packed =
        depthwise ? pack_depthwise_weights(l, weights) : pack_conv_weights(l, weights, groups);
    finish_packed(s, n, &w, &e, packed, bias, macs);
    window_pixels(&w, s->operand + 1, depthwise ? INLAY_DW_TILE_MOST : INLAY_TILE_MOST);
}

static void lower_deconv_packed(Lower *l, Node *n, const Window *w, const Epilogue *e,
                                int64_t groups, int64_t oc, int64_t macs)
{
    inlay_conv_params p = { .groups = i32_checked(groups),
                            .ic = i32_checked(w->channels / groups),
                            .oc = i32_checked(oc),
                            .width = l->pack_width };
    window_conv_params(w, &p);
    set_activation(&p, e);
    int64_t phases[WINDOW_DIMS];
    for (int i = 0; i < WINDOW_DIMS; i++)
        phases[i] = w->stride[i] / inlay_gcd((int32_t)w->stride[i], (int32_t)w->dilation[i]);
    p.kd = (int32_t)i64_ceil_div(w->kernel[0], phases[0]);
    p.kh = (int32_t)i64_ceil_div(w->kernel[1], phases[1]);
    p.kw = (int32_t)i64_ceil_div(w->kernel[2], phases[2]);
    Step *s = lower_step(l, n, p.act ? "deconv_act_f32" : "deconv_f32", &p);
    Tensor *bias = bias_tensor(l, n, e, groups, oc);
    Tensor *packed = pack_deconv_weights(l, n->in[1]->value, groups, w->kernel, phases);
    finish_packed(s, n, w, e, packed, bias, macs);
    window_rows_transposed(w, s, s->operand, s->operand + 1);
}

void lower_conv_transpose(Lower *l, Node *n)
{
    const Epilogue e = epilogue_of(n);
    Window w = window_transposed(n, weight_taps(n));
    const int64_t groups = groups_of(n, w.channels), oc = n->in[1]->shape.dim[1],
                  macs = macs_of(&w, w.in, w.channels, oc);
    const bool packed = (w.spatial < 3 || groups == 1) && can_pack(n, &e);
    if (packed)
        window_upright(&w);
    if (packed)
        lower_deconv_packed(l, n, &w, &e, groups, oc, macs);
    else
        lower_plain(l, n, "deconv_plain", &w, groups, oc, macs);
}
