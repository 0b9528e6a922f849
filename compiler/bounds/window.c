/* SPDX-License-Identifier: Apache-2.0
 * Bounds of kernels that slide a window over images, and of the products that share their tiles. */
#include "bounds/families.h"
#include "bounds/reach.h"
#include "kernels/affine_f32.h"
#include "kernels/dense_f32.h"
#include "kernels/dwconv_narrow.h"
#include "kernels/dwmany_f32.h"
#include "kernels/dwpw_f32.h"
#include "kernels/matmul.h"
#include "kernels/pool.h"
#include "kernels/pushed.h"
#include "kernels/qstep.h"
#include "kernels/tile_narrow.h"
#include "kernels/window_plain.h"
#include "kernels/winograd_f32.h"

static void check_conv(Bounds *bounds, const inlay_conv_params *params)
{
    bounds_axes(bounds, params);
    bounds_refuse(bounds, params->width != 4 && params->width != 16,
                  "no kernel has such blocks of weights");
}

static void conv_images(Bounds *bounds, const inlay_conv_params *params,
                        int64_t ic, int64_t oc)
{
    const int64_t high = sat_mul(params->od, params->oh);
    const int64_t planes = product_of(bounds, params->id, params->ih);
    const int64_t rows = image_rows(bounds, high, planes);
    check_conv(bounds, params);
    touch_image(bounds, 0, "result", params->ow, oc);
    touch_source(bounds, rows, params->iw, ic);
    touch_image(bounds, 4, "addend", params->ow, oc);
}

static int64_t taps_of(Bounds *bounds, const inlay_conv_params *params)
{
    const int32_t sizes[] = { params->kd, params->kh, params->kw, params->ic };
    return sizes_product(bounds, 4, sizes);
}

static void conv_weights(Bounds *bounds, const inlay_conv_params *params,
                         int64_t phases)
{
    const int64_t groups = bounds_size(bounds, params->groups);
    const int64_t channels =
        sat_mul(groups, up_to_four(bounds_size(bounds, params->oc)));
    touch_box(bounds, 2, "weights", phases, channels, taps_of(bounds, params));
    touch(bounds, 3, "bias", channels);
    touch_any(bounds, 2, 5);
}

void bounds_conv(Bounds *bounds)
{
    const inlay_conv_params *p = bounds->params;
    const int64_t groups = bounds_size(bounds, p->groups);
    const int64_t in = sat_mul(groups, p->ic);
    const int64_t out = sat_mul(groups, p->oc);
    conv_images(bounds, p, in, out);
    conv_weights(bounds, p, 1);
}

/* Places of y between two whose taps are the same ones. */
static int64_t phases_of(Bounds *bounds, int32_t stride, int32_t dilation)
{
    int32_t x = (int32_t)bounds_positive(bounds, stride);
    int32_t y = (int32_t)bounds_positive(bounds, dilation);
    const int32_t whole = x;
    while (y) {
        const int32_t rest = x % y;
        x = y;
        y = rest;
    }
    return whole / x;
}

void bounds_deconv(Bounds *bounds)
{
    const inlay_conv_params *p = bounds->params;
    const int64_t groups = bounds_size(bounds, p->groups);
    const int64_t in = sat_mul(groups, p->ic);
    const int64_t out = sat_mul(groups, p->oc);
    const int64_t deep = phases_of(bounds, p->sd, p->dd);
    const int64_t high = phases_of(bounds, p->sh, p->dh);
    const int64_t wide = phases_of(bounds, p->sw, p->dw);
    const int64_t plane = sat_mul(high, wide);
    conv_images(bounds, p, in, out);
    conv_weights(bounds, p, sat_mul(deep, plane));
}

static void check_winograd(Bounds *bounds, const inlay_winograd_params *p)
{
    bounds_axis(bounds, p->oh, 1, p->ph, INLAY_WINOGRAD_SIDE, 1);
    bounds_axis(bounds, p->ow, 1, p->pw, INLAY_WINOGRAD_SIDE, 1);
    bounds_refuse(bounds, p->tile != 4 && p->tile != 2,
                  "no kernel has such tiles");
    bounds_refuse(bounds, p->ic < 16, "it has fewer than 16 channels");
    bounds_refuse(bounds, p->width != 4 && p->width != 16,
                  "no kernel has such blocks of weights");
}

/* Zeros, and the patches and products of a block. */
static int64_t winograd_floats(Bounds *bounds, const inlay_winograd_params *p,
                               int64_t patch)
{
    const int64_t zeros = i64_max(p->ic, INLAY_WINOGRAD_CHANNELS);
    const int64_t made = i64_min(p->oc, INLAY_WINOGRAD_CHANNELS);
    const int64_t room = sat_mul(i64_ceil_div(made, 16), 16);
    const int64_t channels = sat_add(p->ic, room);
    const int64_t patches = sat_mul(bounds_positive(bounds, p->block), patch);
    return sat_add(zeros, sat_mul(patches, channels));
}

void bounds_winograd(Bounds *bounds)
{
    const inlay_winograd_params *p = bounds->params;
    const int64_t side = p->tile == 4 ? 6 : 4;
    const int64_t patch = side * side;
    const int64_t rows = image_rows(bounds, p->oh, bounds_size(bounds, p->ih));
    check_winograd(bounds, p);
    touch_image(bounds, 0, "result", p->ow, p->oc);
    touch_source(bounds, rows, p->iw, p->ic);
    touch_box(bounds, 2, "weights", patch, up_to_four(p->oc), p->ic);
    touch(bounds, 3, "bias", p->oc);
    touch_image(bounds, 4, "addend", p->ow, p->oc);
    touch_any(bounds, 2, 5);
    touch(bounds, 5, "scratch", winograd_floats(bounds, p, patch));
}

void narrow_weights(Bounds *bounds, int k, int64_t taps)
{
    int64_t count;
    const int32_t *how = bounds_values(bounds, k, &count);
    if (!touch_given(bounds, k))
        return;
    bounds_refuse(bounds, !how || count != INLAY_HOW_COUNT,
                  "nothing says how its weights become floats");
    touch(bounds, k, "how", INLAY_HOW_COUNT);
    if (!how || count != INLAY_HOW_COUNT)
        return;
    const int64_t block = bounds_positive(bounds, how[INLAY_HOW_BLOCK]);
    const int64_t blocks = bounds_size(bounds, how[INLAY_HOW_BLOCKS]);
    const int64_t channels = bounds_positive(bounds, how[INLAY_HOW_CHANNELS]);
    const int32_t type = how[INLAY_HOW_SCALE];
    bounds_refuse(bounds, sat_mul(block, blocks) < taps,
                  "its scales end before its taps");
    bounds_refuse(bounds, type < INLAY_SCALE_F32 || type > INLAY_SCALE_BF16,
                  "its scales have no type");
    touch_as(bounds, k + 1, type == INLAY_SCALE_F32 ? 'f' : 'H');
    touch_box(bounds, k + 1, "scales", channels, blocks);
    touch_needs(bounds, k + 1);
    touch_box(bounds, k + 2, "zero points", channels, blocks);
    touch_any(bounds, k + 1, k + 3);
}

void bounds_conv_narrow(Bounds *bounds)
{
    bounds_conv(bounds);
    narrow_weights(bounds, 5, taps_of(bounds, bounds->params));
}

void bounds_deconv_narrow(Bounds *bounds)
{
    bounds_deconv(bounds);
    narrow_weights(bounds, 5, taps_of(bounds, bounds->params));
}

/* Each channel by itself, with so many results. */
static void touch_depthwise(Bounds *bounds, int64_t times)
{
    const inlay_conv_params *p = bounds->params;
    const int64_t groups = bounds_size(bounds, p->groups);
    const int64_t channels = sat_mul(groups, times);
    const int64_t taps = product_of(bounds, p->kh, p->kw);
    const int64_t high = bounds_size(bounds, p->ih);
    const int64_t rows = image_rows(bounds, p->oh, high);
    bounds_refuse(bounds, p->id > 1 || p->od > 1 || p->kd > 1,
                  "its images are not flat");
    bounds_axis_of(bounds, p, h);
    bounds_axis_of(bounds, p, w);
    touch_image(bounds, 0, "result", p->ow, channels);
    touch_source(bounds, rows, p->iw, groups);
    touch_box(bounds, 2, "weights", taps, channels);
    touch(bounds, 3, "bias", channels);
    touch_image(bounds, 4, "addend", p->ow, channels);
    touch_any(bounds, 2, 5);
}

void bounds_dwconv(Bounds *bounds)
{
    touch_depthwise(bounds, 1);
}

void bounds_dwmany(Bounds *bounds)
{
    const inlay_conv_params *p = bounds->params;
    bounds_refuse(bounds, p->kh > INLAY_MANY_ROWS,
                  "its window has too many rows");
    touch_depthwise(bounds, bounds_positive(bounds, p->oc));
}

void bounds_dwconv_narrow(Bounds *bounds)
{
    const inlay_conv_params *p = bounds->params;
    const int64_t taps = product_of(bounds, p->kh, p->kw);
    bounds_dwconv(bounds);
    bounds_refuse(bounds, taps > INLAY_DW_NARROW_TAPS,
                  "its window has too many taps");
    narrow_weights(bounds, 5, taps);
}

/* The 1x1 convolution of a pair, whose input are the pixels in scratch, the last operand. */
static void touch_product(Bounds *bounds, int64_t ic, int64_t oc, int64_t chunk,
                          int64_t pixels)
{
    const int scratch = bounds->step->n_operand - 1;
    const int64_t channels = up_to_four(bounds_size(bounds, oc));
    touch_box(bounds, 4, "weights", channels, ic);
    touch(bounds, 5, "bias", channels);
    touch_image(bounds, 6, "addend", pixels, oc);
    touch_any(bounds, 4, 7);
    touch_box(bounds, scratch, "scratch",
              i64_min(bounds_positive(bounds, chunk), pixels), ic);
}

void bounds_dwpw(Bounds *bounds)
{
    const inlay_dwpw_params *p = bounds->params;
    const int64_t channels = bounds_size(bounds, p->channels);
    const int64_t taps = product_of(bounds, p->kh, p->kw);
    const int64_t high = bounds_size(bounds, p->ih);
    const int64_t rows = image_rows(bounds, p->oh, high);
    bounds_axis_of(bounds, p, h);
    bounds_axis_of(bounds, p, w);
    touch_image(bounds, 0, "result", p->ow, p->oc);
    touch_source(bounds, rows, p->iw, channels);
    touch_box(bounds, 2, "depthwise weights", taps, channels);
    touch(bounds, 3, "depthwise bias", channels);
    touch_any(bounds, 2, 4);
    touch_product(bounds, channels, p->oc, p->chunk, p->ow);
}

void bounds_dwpw_narrow(Bounds *bounds)
{
    const inlay_dwpw_params *p = bounds->params;
    bounds_dwpw(bounds);
    narrow_weights(bounds, 7, p->channels);
}

void bounds_affine(Bounds *bounds)
{
    const inlay_affine_params *p = bounds->params;
    touch_image(bounds, 0, "result", p->pixels, p->channels);
    touch_image(bounds, 1, "input", p->pixels, p->channels);
    touch(bounds, 2, "scale", p->channels);
    touch(bounds, 3, "shift", p->channels);
    touch_any(bounds, 2, 4);
}

void bounds_affine_planes(Bounds *bounds)
{
    const inlay_affine_planes_params *p = bounds->params;
    const int64_t planes = product_of(bounds, p->images, p->channels);
    const Stretch all = span_of(product_of(bounds, planes, p->n));
    touch_units(bounds, 0, "result", all);
    touch_units(bounds, 1, "input", all);
    touch(bounds, 2, "scale", p->channels);
    touch(bounds, 3, "shift", p->channels);
    touch_any(bounds, 2, 4);
}

void bounds_affine_conv(Bounds *bounds)
{
    const inlay_affine_conv_params *p = bounds->params;
    touch_image(bounds, 0, "result", p->pixels, p->oc);
    touch_image(bounds, 1, "input", p->pixels, p->ic);
    touch(bounds, 2, "scale", p->ic);
    touch(bounds, 3, "shift", p->ic);
    touch_any(bounds, 2, 4);
    touch_product(bounds, bounds_size(bounds, p->ic), p->oc, p->chunk,
                  p->pixels);
}

void bounds_affine_conv_narrow(Bounds *bounds)
{
    const inlay_affine_conv_params *p = bounds->params;
    bounds_affine_conv(bounds);
    narrow_weights(bounds, 7, p->ic);
}

void bounds_pool(Bounds *bounds)
{
    const inlay_pool_params *p = bounds->params;
    const int64_t high = sat_mul(p->od, p->oh);
    const int64_t planes = product_of(bounds, p->id, p->ih);
    const int64_t rows = image_rows(bounds, high, planes);
    bounds_axes(bounds, p);
    touch_image(bounds, 0, "result", p->ow, p->channels);
    touch_source(bounds, rows, p->iw, p->channels);
}

void bounds_qavgpool(Bounds *bounds)
{
    bounds_pool(bounds);
    touch(bounds, 2, "numbers", INLAY_QSTEP_WORDS);
}

/* A unit is a row of x. */
void bounds_globalpool(Bounds *bounds)
{
    const inlay_globalpool_params *p = bounds->params;
    touch_each_row(bounds, 0, "result", image_rows(bounds, p->rows, 1),
                   span_of(bounds_size(bounds, p->channels)));
    touch_image(bounds, 1, "input", p->width, p->channels);
}

/* Elements of an image by the strides of a plain kernel. */
static Stretch plain_span(const inlay_window_params *params, int64_t channels,
                          const int32_t *box, const int64_t *stride,
                          bool looped)
{
    Stretch stretch = span_of(1);
    for (int i = 0; i < 3; i++) {
        const int64_t size = looped ? i64_max(box[i], 1) : box[i];
        stretch = span_times(stretch, size, stride[2 + i]);
    }
    stretch = span_times(stretch, channels, stride[1]);
    return span_times(stretch, params->images, stride[0]);
}

static void touch_plain_result(Bounds *bounds, int k, const char *name,
                               int64_t channels)
{
    const inlay_window_params *p = bounds->params;
    const Stretch all = plain_span(p, channels, p->out, p->ys, true);
    touch_span(bounds, k, name, all);
}

static void touch_plain_input(Bounds *bounds, int k, int64_t channels)
{
    const inlay_window_params *p = bounds->params;
    const Stretch all = plain_span(p, channels, p->in, p->xs, false);
    touch_span(bounds, k, "input", all);
}

static void check_plain(Bounds *bounds, const inlay_window_params *params)
{
    bounds_size(bounds, params->images);
    bounds_size(bounds, params->ic);
    for (int i = 0; i < 3; i++) {
        bounds_axis(bounds, params->out[i], params->stride[i], params->pad[i],
                    params->kernel[i], params->dilation[i]);
        bounds_size(bounds, params->in[i]);
    }
}

/* Where an axis with its padding ends is reckoned in 32 bits. */
static void check_ends(Bounds *bounds, const inlay_window_params *params)
{
    for (int i = 0; i < 3; i++)
        bounds_narrow(bounds, sat_add(sat_add(params->in[i], params->pad[i]),
                                      params->end[i]));
}

static void plain_conv(Bounds *bounds, const inlay_window_params *params,
                       int64_t weights)
{
    const int64_t groups = bounds_size(bounds, params->groups);
    const int64_t out = product_of(bounds, groups, params->oc);
    const int64_t in = product_of(bounds, groups, params->ic);
    check_plain(bounds, params);
    touch_plain_result(bounds, 0, "result", out);
    touch_plain_input(bounds, 1, in);
    touch(bounds, 2, "weights", weights);
    touch(bounds, 3, "bias", out);
    touch_any(bounds, 2, 4);
}

void bounds_conv_plain(Bounds *bounds)
{
    const inlay_window_params *p = bounds->params;
    const int64_t taps = sizes_walked(bounds, 3, p->kernel);
    check_ends(bounds, p);
    const int64_t pairs = product_of(bounds, p->ic, p->oc);
    plain_conv(bounds, p, product_of(bounds, p->groups, pairs, taps));
}

static void plain_pool(Bounds *bounds, int input)
{
    const inlay_window_params *p = bounds->params;
    check_ends(bounds, p);
    check_plain(bounds, p);
    touch_plain_result(bounds, 0, "result", p->ic);
    touch_plain_input(bounds, input, p->ic);
}

void bounds_maxpool_plain(Bounds *bounds)
{
    const inlay_window_params *p = bounds->params;
    plain_pool(bounds, 2);
    touch_plain_result(bounds, 1, "indices", p->ic);
}

void bounds_sumpool_plain(Bounds *bounds)
{
    plain_pool(bounds, 1);
}

void bounds_input(Bounds *bounds)
{
    const inlay_input_params *p = bounds->params;
    touch_units(bounds, 0, "row", span_of(bounds_size(bounds, p->bytes)));
}

void bounds_dense(Bounds *bounds)
{
    const inlay_dense_params *p = bounds->params;
    touch(bounds, 0, "result", p->n);
    touch(bounds, 1, "input", p->k);
    touch_box(bounds, 2, "weights", up_to_four(bounds_size(bounds, p->n)),
              p->k);
    touch(bounds, 3, "bias", p->n);
    touch(bounds, 4, "addend", p->n);
    touch_any(bounds, 2, 5);
}

/* The matrices of an operand: their sizes, and the strides of rows, columns and batches. */
typedef struct Matrix {
    int64_t rows;
    int64_t columns;
    int64_t row;
    int64_t column;
    const int64_t *batch;
} Matrix;

static Stretch matrix_span(const inlay_matmul_params *params,
                           const Matrix *matrix)
{
    Stretch stretch = span_of(1);
    stretch = span_times(stretch, matrix->rows, matrix->row);
    stretch = span_times(stretch, matrix->columns, matrix->column);
    for (int i = 0; i < 6; i++)
        stretch = span_loop(stretch, params->batch[i], matrix->batch[i]);
    return stretch;
}

static Stretch first_factor(const inlay_matmul_params *params)
{
    const Matrix matrix = {
        .rows = params->m,
        .columns = params->k,
        .row = params->am,
        .column = params->ak,
        .batch = params->a_batch,
    };
    return matrix_span(params, &matrix);
}

static Stretch second_factor(const inlay_matmul_params *params)
{
    const Matrix matrix = {
        .rows = params->k,
        .columns = params->n,
        .row = params->bk,
        .column = params->bn,
        .batch = params->b_batch,
    };
    return matrix_span(params, &matrix);
}

static Stretch addend_of(const inlay_matmul_params *params)
{
    const Matrix matrix = {
        .rows = params->m,
        .columns = params->n,
        .row = params->cm,
        .column = params->cn,
        .batch = params->c_batch,
    };
    return matrix_span(params, &matrix);
}

/* The result and the first factor, a row for each unit or as a whole. */
static void touch_lines(Bounds *bounds, const inlay_matmul_params *p,
                        int64_t rows)
{
    const int64_t units = bounds->step->units;
    const Stretch line = span_times(span_of(1), p->k, p->ak);
    bounds_refuse(bounds, p->lines < 1 || sat_mul(units, p->lines) != rows,
                  "its units are not its rows");
    if (!p->by_row) {
        touch_box(bounds, 0, "result", rows, p->n);
        touch_span(bounds, 1, "first factor", first_factor(p));
        return;
    }
    touch_units(bounds, 0, "result", span_of(sat_mul(p->lines, p->n)));
    touch_units(bounds, 1, "first factor", span_times(line, p->lines, p->am));
}

void bounds_matmul(Bounds *bounds)
{
    const inlay_matmul_params *p = bounds->params;
    const int64_t each = product_of(bounds, p->m, p->n);
    const int64_t batches = sizes_walked(bounds, 6, p->batch);
    bounds_size(bounds, p->k);
    if (!each) {
        touch_box(bounds, 0, "result", batches, each);
        return;
    }
    touch_lines(bounds, p, sat_mul(batches, p->m));
    touch_span(bounds, 2, "second factor", second_factor(p));
    touch_span(bounds, 3, "addend", addend_of(p));
    touch_any(bounds, 1, 4);
}
