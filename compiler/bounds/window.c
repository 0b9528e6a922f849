/* SPDX-License-Identifier: Apache-2.0
 * Bounds of kernels that slide a window over images, and of the products that share their tiles. */
#include "bounds/families.h"
#include "bounds/reach.h"
#include "kernels/affine_f32.h"
#include "kernels/dense_f32.h"
#include "kernels/dwpw_f32.h"
#include "kernels/matmul.h"
#include "kernels/pool.h"
#include "kernels/pushed.h"
#include "kernels/window_plain.h"

/* Blocks of packed weights are filled up to fours of channels. */
static int64_t padded_to_four(int64_t channels)
{
    return sat_mul(sat_add(channels, 3) / 4, 4);
}

/* One axis of a window: the places it begins at and its taps are reckoned in 32 bits. */
static void check_axis(Bounds *b, int64_t out, int64_t stride, int64_t pad, int64_t taps,
                       int64_t dilation)
{
    bounds_size(b, out);
    bounds_size(b, taps);
    const int64_t last = sat_mul(out, bounds_positive(b, stride));
    const int64_t extent = sat_mul(taps, bounds_positive(b, dilation));
    bounds_narrow(b, sat_add(last, extent));
    bounds_narrow(b, sat_add(sat_add(last, extent), -pad));
    bounds_narrow(b, sat_add(sat_add(last, extent), pad));
}

static void check_conv(Bounds *b, const inlay_conv_params *p)
{
    check_axis(b, p->od, p->sd, p->pd, p->kd, p->dd);
    check_axis(b, p->oh, p->sh, p->ph, p->kh, p->dh);
    check_axis(b, p->ow, p->sw, p->pw, p->kw, p->dw);
    bounds_refuse(b, p->width != 4 && p->width != 16, "no kernel has such blocks of weights");
}

/* Rows of x behind `units` rows of y, whose images have `high` of them and those of x `rows`. */
static int64_t image_rows(Bounds *b, int64_t high, int64_t rows)
{
    const int64_t units = b->step->units;
    return units > 0 ? sat_mul(i64_ceil_div(units, bounds_positive(b, high)), rows) : 0;
}

static void touch_image(Bounds *b, int k, const char *name, int64_t pixels, int64_t channels)
{
    touch_each_row(b, k, name, b->step->units,
                   span_pixels(b, k, bounds_size(b, pixels), bounds_size(b, channels)));
}

static void touch_source(Bounds *b, int k, int64_t rows, int64_t pixels, int64_t channels)
{
    touch_each_row(b, k, "input", rows,
                   span_pixels(b, k, bounds_size(b, pixels), bounds_size(b, channels)));
}

static void conv_images(Bounds *b, const inlay_conv_params *p, int64_t ic, int64_t oc)
{
    const int64_t planes = sat_mul(bounds_size(b, p->id), bounds_size(b, p->ih));
    check_conv(b, p);
    touch_image(b, 0, "result", p->ow, oc);
    touch_source(b, 1, image_rows(b, sat_mul(p->od, p->oh), planes), p->iw, ic);
    touch_image(b, 4, "addend", p->ow, oc);
}

static int64_t taps_of(Bounds *b, const inlay_conv_params *p)
{
    const int32_t sizes[] = { p->kd, p->kh, p->kw, p->ic };
    return sizes_product(b, 4, sizes);
}

static void conv_weights(Bounds *b, const inlay_conv_params *p, int64_t phases)
{
    const int64_t groups = bounds_size(b, p->groups);
    const int64_t channels = sat_mul(groups, padded_to_four(bounds_size(b, p->oc)));
    touch(b, 2, "weights", sat_mul(sat_mul(phases, channels), taps_of(b, p)));
    touch(b, 3, "bias", channels);
}

void bounds_conv(Bounds *b)
{
    const inlay_conv_params *p = b->params;
    const int64_t groups = bounds_size(b, p->groups);
    conv_images(b, p, sat_mul(groups, p->ic), sat_mul(groups, p->oc));
    conv_weights(b, p, 1);
}

/* Places of y between two whose taps are the same ones. */
static int64_t phases_of(Bounds *b, int32_t stride, int32_t dilation)
{
    int32_t x = (int32_t)bounds_positive(b, stride);
    int32_t y = (int32_t)bounds_positive(b, dilation);
    const int32_t whole = x;
    while (y) {
        const int32_t rest = x % y;
        x = y;
        y = rest;
    }
    return whole / x;
}

void bounds_deconv(Bounds *b)
{
    const inlay_conv_params *p = b->params;
    const int64_t groups = bounds_size(b, p->groups);
    const int64_t deep = phases_of(b, p->sd, p->dd);
    const int64_t high = phases_of(b, p->sh, p->dh);
    const int64_t wide = phases_of(b, p->sw, p->dw);
    conv_images(b, p, sat_mul(groups, p->ic), sat_mul(groups, p->oc));
    conv_weights(b, p, sat_mul(sat_mul(deep, high), wide));
}

void bounds_dwconv(Bounds *b)
{
    const inlay_conv_params *p = b->params;
    const int64_t channels = bounds_size(b, p->groups);
    const int64_t taps = sat_mul(bounds_size(b, p->kh), bounds_size(b, p->kw));
    bounds_refuse(b, p->id > 1 || p->od > 1 || p->kd > 1, "its images are not flat");
    check_axis(b, p->oh, p->sh, p->ph, p->kh, p->dh);
    check_axis(b, p->ow, p->sw, p->pw, p->kw, p->dw);
    touch_image(b, 0, "result", p->ow, channels);
    touch_source(b, 1, image_rows(b, p->oh, bounds_size(b, p->ih)), p->iw, channels);
    touch(b, 2, "weights", sat_mul(taps, channels));
    touch(b, 3, "bias", channels);
    touch_image(b, 4, "addend", p->ow, channels);
}

/* The 1x1 convolution of a pair, whose input are the pixels in scratch. */
static void touch_product(Bounds *b, int64_t ic, int64_t oc, int64_t chunk, int64_t pixels)
{
    const int64_t channels = padded_to_four(bounds_size(b, oc));
    touch(b, 4, "weights", sat_mul(channels, ic));
    touch(b, 5, "bias", channels);
    touch_image(b, 6, "addend", pixels, oc);
    touch(b, 7, "scratch", sat_mul(i64_min(bounds_positive(b, chunk), pixels), ic));
}

void bounds_dwpw(Bounds *b)
{
    const inlay_dwpw_params *p = b->params;
    const int64_t channels = bounds_size(b, p->channels);
    const int64_t taps = sat_mul(bounds_size(b, p->kh), bounds_size(b, p->kw));
    check_axis(b, p->oh, p->sh, p->ph, p->kh, p->dh);
    check_axis(b, p->ow, p->sw, p->pw, p->kw, p->dw);
    touch_image(b, 0, "result", p->ow, p->oc);
    touch_source(b, 1, image_rows(b, p->oh, bounds_size(b, p->ih)), p->iw, channels);
    touch(b, 2, "depthwise weights", sat_mul(taps, channels));
    touch(b, 3, "depthwise bias", channels);
    touch_product(b, channels, p->oc, p->chunk, p->ow);
}

void bounds_affine(Bounds *b)
{
    const inlay_affine_params *p = b->params;
    touch_image(b, 0, "result", p->pixels, p->channels);
    touch_image(b, 1, "input", p->pixels, p->channels);
    touch(b, 2, "scale", p->channels);
    touch(b, 3, "shift", p->channels);
}

void bounds_affine_conv(Bounds *b)
{
    const inlay_affine_conv_params *p = b->params;
    touch_image(b, 0, "result", p->pixels, p->oc);
    touch_image(b, 1, "input", p->pixels, p->ic);
    touch(b, 2, "scale", p->ic);
    touch(b, 3, "shift", p->ic);
    touch_product(b, bounds_size(b, p->ic), p->oc, p->chunk, p->pixels);
}

void bounds_pool(Bounds *b)
{
    const inlay_pool_params *p = b->params;
    const int64_t planes = sat_mul(bounds_size(b, p->id), bounds_size(b, p->ih));
    check_axis(b, p->od, p->sd, p->pd, p->kd, p->dd);
    check_axis(b, p->oh, p->sh, p->ph, p->kh, p->dh);
    check_axis(b, p->ow, p->sw, p->pw, p->kw, p->dw);
    touch_image(b, 0, "result", p->ow, p->channels);
    touch_source(b, 1, image_rows(b, sat_mul(p->od, p->oh), planes), p->iw, p->channels);
}

/* A unit is a row of x. */
void bounds_globalpool(Bounds *b)
{
    const inlay_globalpool_params *p = b->params;
    touch_each_row(b, 0, "result", image_rows(b, p->rows, 1), span_of(bounds_size(b, p->channels)));
    touch_image(b, 1, "input", p->width, p->channels);
}

/* Elements of an image by the strides of a plain kernel. */
static Stretch plain_span(const inlay_window_params *p, int64_t channels, const int32_t *box,
                          const int64_t *stride, bool looped)
{
    Stretch s = span_of(1);
    for (int i = 0; i < 3; i++)
        s = span_times(s, looped ? i64_max(box[i], 1) : box[i], stride[2 + i]);
    s = span_times(s, channels, stride[1]);
    return span_times(s, p->images, stride[0]);
}

static void check_plain(Bounds *b, const inlay_window_params *p)
{
    bounds_size(b, p->images);
    bounds_size(b, p->ic);
    for (int i = 0; i < 3; i++) {
        check_axis(b, p->out[i], p->stride[i], p->pad[i], p->kernel[i], p->dilation[i]);
        bounds_size(b, p->in[i]);
    }
}

static void plain_conv(Bounds *b, const inlay_window_params *p, int64_t weights)
{
    const int64_t groups = bounds_size(b, p->groups);
    const int64_t out = sat_mul(groups, bounds_size(b, p->oc));
    const int64_t in = sat_mul(groups, bounds_size(b, p->ic));
    check_plain(b, p);
    touch_span(b, 0, "result", plain_span(p, out, p->out, p->ys, true));
    touch_span(b, 1, "input", plain_span(p, in, p->in, p->xs, false));
    touch(b, 2, "weights", weights);
    touch(b, 3, "bias", out);
}

void bounds_conv_plain(Bounds *b)
{
    const inlay_window_params *p = b->params;
    const int64_t taps = sizes_walked(b, 3, p->kernel);
    const int64_t pairs = sat_mul(bounds_size(b, p->ic), bounds_size(b, p->oc));
    plain_conv(b, p, sat_mul(sat_mul(bounds_size(b, p->groups), pairs), taps));
}

static void plain_pool(Bounds *b, int input)
{
    const inlay_window_params *p = b->params;
    check_plain(b, p);
    touch_span(b, 0, "result", plain_span(p, p->ic, p->out, p->ys, true));
    touch_span(b, input, "input", plain_span(p, p->ic, p->in, p->xs, false));
}

void bounds_maxpool_plain(Bounds *b)
{
    const inlay_window_params *p = b->params;
    plain_pool(b, 2);
    touch_span(b, 1, "indices", plain_span(p, p->ic, p->out, p->ys, true));
}

void bounds_sumpool_plain(Bounds *b)
{
    plain_pool(b, 1);
}

void bounds_act(Bounds *b)
{
    const inlay_act_params *p = b->params;
    touch(b, 0, "result", p->n);
    touch(b, 1, "input", p->n);
    touch(b, 2, "addend", p->n);
}

void bounds_input(Bounds *b)
{
    const inlay_input_params *p = b->params;
    touch_each_row(b, 0, "row", b->step->units, span_of(bounds_size(b, p->bytes)));
}

void bounds_dense(Bounds *b)
{
    const inlay_dense_params *p = b->params;
    touch(b, 0, "result", p->n);
    touch(b, 1, "input", p->k);
    touch(b, 2, "weights", sat_mul(padded_to_four(bounds_size(b, p->n)), p->k));
    touch(b, 3, "bias", p->n);
    touch(b, 4, "addend", p->n);
}

static Stretch matrix_span(const inlay_matmul_params *p, int64_t rows, int64_t row, int64_t columns,
                           int64_t column, const int64_t *batch)
{
    Stretch s = span_times(span_times(span_of(1), rows, row), columns, column);
    for (int i = 0; i < 6; i++)
        s = span_loop(s, p->batch[i], batch[i]);
    return s;
}

void bounds_matmul(Bounds *b)
{
    const inlay_matmul_params *p = b->params;
    const int64_t each = sat_mul(bounds_size(b, p->m), bounds_size(b, p->n));
    bounds_size(b, p->k);
    touch(b, 0, "result", sat_mul(sizes_walked(b, 6, p->batch), each));
    if (!each)
        return;
    touch_span(b, 1, "first factor", matrix_span(p, p->m, p->am, p->k, p->ak, p->a_batch));
    touch_span(b, 2, "second factor", matrix_span(p, p->k, p->bk, p->n, p->bn, p->b_batch));
    touch_span(b, 3, "addend", matrix_span(p, p->m, p->cm, p->n, p->cn, p->c_batch));
}
