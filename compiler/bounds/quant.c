/* SPDX-License-Identifier: Apache-2.0
 * Bounds of quantization and of products of 8-bit integers. */
#include "bounds/families.h"
#include "bounds/reach.h"
#include "kernels/qpacked.h"
#include "kernels/qdot.h"

static void touch_quanta(Bounds *bounds, int k, const char *name,
                         const inlay_quant_params *params)
{
    const int64_t each = product_of(bounds, params->axis, params->inner);
    const int64_t outer = bounds_size(bounds, params->outer);
    const int64_t step = params->rows ? pixel_of(bounds, k) : each;
    const Stretch row = span_times(span_of(each), outer, step);
    if (params->rows)
        touch_each_row(bounds, k, name, bounds->step->units, row);
    else
        touch_span(bounds, k, name, row);
}

void bounds_quant(Bounds *bounds)
{
    const inlay_quant_params *p = bounds->params;
    const int64_t axis = bounds_size(bounds, p->axis);
    const int64_t block = bounds_positive(bounds, p->block);
    const int64_t blocks = i64_ceil_div(axis, block);
    const int64_t inner = bounds_size(bounds, p->inner);
    const int64_t outer = bounds_size(bounds, p->outer);
    Stretch stretch = span_times(span_of(1), inner, p->si);
    stretch = span_times(stretch, blocks, p->sa);
    stretch = span_times(stretch, outer, p->so);
    if (!p->so && !p->sa && !p->si)
        stretch = span_of(1);
    bounds_narrow(bounds, product_of(bounds, axis, inner, outer));
    touch_quanta(bounds, 0, "result", p);
    touch_quanta(bounds, 1, "input", p);
    touch_span(bounds, 2, "scale", stretch);
    touch_span(bounds, 3, "zero point", stretch);
    touch_any(bounds, 1, 4);
}

void bounds_dynamic_quantize(Bounds *bounds)
{
    const inlay_dynamic_quantize_params *p = bounds->params;
    touch(bounds, 0, "result", p->n);
    touch(bounds, 1, "scale", 1);
    touch(bounds, 2, "zero point", 1);
    touch(bounds, 3, "input", p->n);
}

/* What the sums become; scales of bounds are read for all but sums themselves. */
static void quantized_result(Bounds *bounds, int32_t out, int scale)
{
    static const char type[] = { [INLAY_QOUT_I32] = 'i',
                                 [INLAY_QOUT_U8] = 'B',
                                 [INLAY_QOUT_I8] = 'b',
                                 [INLAY_QOUT_F32] = 'f' };
    bounds_refuse(bounds, out < 0 || out >= (int32_t)sizeof type,
                  "it has a result of no known type");
    if (bounds->wrong)
        return;
    touch_as(bounds, 0, type[out]);
    if (out != INLAY_QOUT_I32)
        touch_needs(bounds, scale);
}

/* Matrices of an operand that repeats along some dimensions of the batch. */
static Stretch matrices(const inlay_qmatmul_params *params,
                        const int32_t *stride, int64_t each)
{
    Stretch stretch = span_of(each);
    for (int d = 0; d < params->rank; d++) {
        const int64_t apart = sat_mul(stride[d], each);
        stretch = span_times(stretch, params->dims[d], apart);
    }
    return stretch;
}

/* At least one of each. */
static void touch_numbers(Bounds *bounds, int k, const char *name,
                          int32_t count)
{
    touch(bounds, k, name, bounds_positive(bounds, count));
}

static void qmatmul_numbers(Bounds *bounds, const inlay_qmatmul_params *params)
{
    touch_numbers(bounds, 3, "zero point of the first factor", params->za);
    touch_numbers(bounds, 4, "zero point of the second factor", params->zb);
    touch_numbers(bounds, 5, "scale of the first factor", params->sa);
    touch_numbers(bounds, 6, "scale of the second factor", params->sb);
    touch(bounds, 7, "scale of the result", 1);
    touch(bounds, 8, "zero point of the result", 1);
}

/* The result and the first factor: unit by unit, or all of them at once. */
static void qmatmul_lines(Bounds *bounds, const inlay_qmatmul_params *p,
                          int64_t batches)
{
    const int64_t units = bounds->step->units;
    const int64_t rows = sat_mul(batches, p->m);
    const int64_t first = product_of(bounds, p->m, p->k);
    bounds_refuse(bounds, p->lines < 1 || sat_mul(units, p->lines) != rows,
                  "its units are not its rows");
    if (!p->by_row) {
        touch_box(bounds, 0, "result", rows, p->n);
        touch_span(bounds, 1, "first factor", matrices(p, p->as, first));
        return;
    }
    touch_units(bounds, 0, "result", span_of(sat_mul(p->lines, p->n)));
    touch_units(bounds, 1, "first factor", span_of(sat_mul(p->lines, p->k)));
}

void bounds_qmatmul(Bounds *bounds)
{
    const inlay_qmatmul_params *p = bounds->params;
    bounds_refuse(bounds, p->rank < 0 || p->rank > 6,
                  "it has another number of loops than its kernel");
    if (bounds->wrong)
        return;
    const int64_t batches = sizes_product(bounds, p->rank, p->dims);
    const int64_t second = product_of(bounds, p->k, p->n);
    bounds_narrow(bounds, batches);
    quantized_result(bounds, p->out, 6);
    qmatmul_lines(bounds, p, batches);
    touch_span(bounds, 2, "second factor", matrices(p, p->bs, second));
    qmatmul_numbers(bounds, p);
    touch_any(bounds, 1, 9);
}

/* Rows of x and y, which have so many groups of channels. */
static void qconv_images(Bounds *bounds, const inlay_qconv_params *params,
                         int64_t groups)
{
    const int64_t high = sat_mul(params->od, params->oh);
    const int64_t planes = product_of(bounds, params->id, params->ih);
    const int64_t rows = image_rows(bounds, high, planes);
    const int64_t in = sat_mul(groups, params->ic);
    const int64_t out = sat_mul(groups, params->oc);
    touch_image(bounds, 0, "result", params->ow, out);
    touch_source(bounds, rows, params->iw, in);
}

/* Scales and zero points, one or one for each channel, and biases. */
static void qconv_numbers(Bounds *bounds, const inlay_qconv_params *params,
                          int64_t channels)
{
    const int64_t zeros = params->zw > 1 ? channels : 1;
    const int64_t scales = params->sw_count > 1 ? channels : 1;
    touch(bounds, 3, "zero point of the input", 1);
    touch(bounds, 4, "zero point of the weights", zeros);
    touch(bounds, 5, "scale of the input", 1);
    touch(bounds, 6, "scale of the weights", scales);
    touch(bounds, 7, "scale of the result", 1);
    touch(bounds, 8, "zero point of the result", 1);
    touch(bounds, 9, "bias", channels);
    touch_any(bounds, 2, 10);
}

void bounds_qconv(Bounds *bounds)
{
    const inlay_qconv_params *p = bounds->params;
    const int64_t groups = bounds_size(bounds, p->groups);
    const int64_t taps = product_of(bounds, p->kd, p->kh, p->kw);
    const int64_t channels = product_of(bounds, groups, p->oc);
    bounds_axes(bounds, p);
    quantized_result(bounds, p->out, 6);
    qconv_images(bounds, p, groups);
    touch_box(bounds, 2, "weights", channels, p->ic, taps);
    qconv_numbers(bounds, p, channels);
}

/* Operands x and y. */
static void qpacked_images(Bounds *bounds)
{
    const inlay_qpacked_params *p = bounds->params;
    const int64_t high = sat_mul(p->od, p->oh);
    const int64_t planes = product_of(bounds, p->id, p->ih);
    const int64_t rows = image_rows(bounds, high, planes);
    const int64_t in = product_of(bounds, p->groups, p->ic);
    const int64_t out = product_of(bounds, p->groups, p->oc);
    quantized_result(bounds, p->out, 4);
    touch_image(bounds, 0, "result", p->ow, out);
    touch_source(bounds, rows, p->iw, in);
}

static bool is_byte(int32_t n)
{
    return n >= -255 && n <= 255;
}

/* What makes numbers of bytes. */
static void qpacked_numbers(Bounds *bounds)
{
    const inlay_qpacked_params *p = bounds->params;
    const bool flips = p->flip == 0 || p->flip == 128;
    const bool signs = p->minus == 0 || p->minus == 128;
    bounds_refuse(bounds, !flips || !signs, "it reads bytes in no known way");
    bounds_refuse(bounds, !is_byte(p->zero) || !is_byte(p->zw),
                  "a zero point is no byte");
    const bool bounded = is_byte(p->lo) && is_byte(p->hi);
    bounds_refuse(bounds, !bounded || !is_byte(p->zy),
                  "its results are no bytes");
}

/* A dimension of the image, and what a window takes of it. */
typedef struct Axis {
    int32_t in;
    int32_t out;
    int32_t stride;
    int32_t pad;
    int32_t taps;
    int32_t dilation;
} Axis;

/* Does a window leave the image along the axis? */
static bool leaves(const Axis *axis)
{
    const int32_t extent = (axis->taps - 1) * axis->dilation + 1;
    const int64_t last = (int64_t)(axis->out - 1) * axis->stride;
    if (axis->pad > 0)
        return true;
    return last - axis->pad + extent > axis->in;
}

static bool leaves_width(const inlay_qpacked_params *p)
{
    const Axis width = {
        .in = p->iw,
        .out = p->ow,
        .stride = p->sw,
        .pad = p->pw,
        .taps = 1,
    };
    return leaves(&width);
}

static bool leaves_height(const inlay_qpacked_params *p)
{
    const Axis height = {
        .in = p->ih,
        .out = p->oh,
        .stride = p->sh,
        .pad = p->ph,
        .taps = p->kh,
        .dilation = p->dh,
    };
    return leaves(&height);
}

static bool leaves_depth(const inlay_qpacked_params *p)
{
    const Axis depth = {
        .in = p->id,
        .out = p->od,
        .stride = p->sd,
        .pad = p->pd,
        .taps = p->kd,
        .dilation = p->dd,
    };
    return leaves(&depth);
}

/* Are there windows that do not lie in x as they are? */
static bool must_gather(const inlay_qpacked_params *p)
{
    if (p->deep && !inlay_qdeep_lies(p))
        return true;
    if (p->kw > 1 || leaves_width(p))
        return true;
    return leaves_height(p) || leaves_depth(p);
}

/* Geometry, and what goes with each of the channels, filled up to fours. */
static void qpacked_channels(Bounds *bounds, int64_t padded)
{
    const inlay_qpacked_params *p = bounds->params;
    bounds_axes(bounds, p);
    qpacked_numbers(bounds);
    touch(bounds, 3, "bias", padded);
    touch(bounds, 4, "scale", p->scales > 1 ? padded : 1);
    touch(bounds, 5, "zero points of the weights", padded);
    touch(bounds, 6, "sums of the weights", padded);
    touch(bounds, 7, "zero point of the input", 1);
    touch(bounds, 8, "scale of the input", 1);
    touch_box(bounds, 9, "what is added", p->groups, p->oc);
    touch_any(bounds, 2, 5);
    touch_any(bounds, 7, 10);
}

/* Bytes of a channel's window, each row filled up to fours, or all up to sixteens. */
static int64_t packed_window(Bounds *bounds)
{
    const inlay_qpacked_params *p = bounds->params;
    const int64_t run = product_of(bounds, p->kw, p->ic);
    const int64_t rows = product_of(bounds, p->kd, p->kh);
    if (!p->deep)
        return sat_mul(rows, up_to_four(run));
    const int64_t steps = i64_ceil_div(sat_mul(rows, run), INLAY_QDEPTH);
    return sat_mul(steps, INLAY_QDEPTH);
}

/* Blocks, and the form that their weights have. */
static void qpacked_layout(Bounds *bounds)
{
    const inlay_qpacked_params *p = bounds->params;
    const bool fours = p->width == 4;
    bounds_refuse(bounds, p->width != 16 && !fours,
                  "it has blocks of another width than its kernel");
    const bool widens = p->wide >= 0 && p->wide <= 3 && (!p->wide || fours);
    const bool deepens = !p->deep || (p->deep == 1 && fours && !p->wide);
    bounds_refuse(bounds, !widens, "it widens other windows than its kernel");
    bounds_refuse(bounds, !deepens, "its weights are packed in no known way");
}

void bounds_qpacked(Bounds *bounds)
{
    const inlay_qpacked_params *p = bounds->params;
    const int64_t groups = bounds_size(bounds, p->groups);
    const int64_t padded =
        sat_mul(groups, up_to_four(bounds_size(bounds, p->oc)));
    const int64_t window = packed_window(bounds);
    qpacked_layout(bounds);
    bounds_narrow(bounds, window);
    qpacked_images(bounds);
    qpacked_channels(bounds, padded);
    touch(bounds, 2, "weights", sat_mul(padded, window));
    const int64_t gathered = bounds_size(bounds, p->gather);
    const int64_t windows = p->wide ? 2 * p->wide : gathered;
    touch(bounds, 10, "windows", sat_mul(windows, window));
    if (bounds->wrong)
        return;
    bounds_refuse(bounds, !p->wide && p->gather < 1 && must_gather(p),
                  "it gathers no windows, but has to");
    if (p->gather || p->wide)
        touch_needs(bounds, 10);
}

/* Weights by columns, and columns of pixels in scratch. */
static void qdwpacked_deep(Bounds *bounds, int64_t channels, int64_t taps)
{
    const inlay_qpacked_params *p = bounds->params;
    bounds_refuse(bounds,
                  p->gather < 1 || p->gather > INLAY_QDEEP_PIXELS ||
                      taps > INLAY_QDEEP_WINDOW || p->sw > INLAY_QDEEP_WINDOW,
                  "its windows are larger than its kernel's");
    if (bounds->wrong)
        return;
    const int64_t window = sat_mul(inlay_qdeep_high(p), p->kw);
    const int64_t plane = inlay_qdeep_plane(p);
    touch(bounds, 2, "weights", sat_mul(channels, window));
    touch(bounds, 10, "columns", sat_mul(INLAY_QDEEP_LANES, plane));
    touch_needs(bounds, 10);
}

/* Scratch of numbers and weights that are taken apart. */
static void touch_planes(Bounds *bounds)
{
    enum { ROWS = 16 };
    const inlay_qpacked_params *p = bounds->params;
    const int64_t rows = product_of(bounds, p->kd, p->kh);
    const int64_t extent = sat_mul(p->kw, p->dw);
    const int64_t columns = sat_mul(p->gather, p->sw);
    bounds_narrow(bounds, extent);
    bounds_narrow(bounds, sat_add(columns, extent));
    bounds_refuse(bounds, p->gather < 0 || p->gather % 2,
                  "it takes an odd number of columns apart");
    if (bounds->wrong || !p->gather)
        return;
    bounds_refuse(bounds, rows > ROWS,
                  "it takes more rows apart than its kernel");
    if (bounds->wrong)
        return;
    touch(bounds, 10, "numbers taken apart", inlay_qplanes_bytes(p));
    touch_needs(bounds, 10);
}

void bounds_qdwpacked(Bounds *bounds)
{
    const inlay_qpacked_params *p = bounds->params;
    const int64_t taps = product_of(bounds, p->kd, p->kh, p->kw);
    const int64_t channels = bounds_size(bounds, p->groups);
    bounds_refuse(bounds, p->ic != 1 || p->oc != 1,
                  "its channels are not each by itself");
    qpacked_images(bounds);
    qpacked_channels(bounds, up_to_four(channels));
    if (p->deep) {
        qdwpacked_deep(bounds, channels, taps);
        return;
    }
    touch_box(bounds, 2, "weights", channels, taps);
    touch_planes(bounds);
}

/* The same with several results of each channel, and no scratch. */
void bounds_qdwmany(Bounds *bounds)
{
    const inlay_qpacked_params *p = bounds->params;
    const int64_t rows = product_of(bounds, p->kd, p->kh);
    const int64_t groups = bounds_size(bounds, p->groups);
    const int64_t times = bounds_positive(bounds, p->oc);
    const int64_t channels = sat_mul(groups, times);
    bounds_refuse(bounds, p->ic != 1, "its channels are not each by itself");
    bounds_refuse(bounds, rows > INLAY_QMANY_ROWS,
                  "its window has too many rows");
    bounds_refuse(bounds, p->zw || p->deep || p->wide || p->gather,
                  "its weights are packed in no known way");
    qpacked_images(bounds);
    qpacked_channels(bounds, up_to_four(channels));
    touch_box(bounds, 2, "weights", channels, sat_mul(rows, p->kw));
}

/* ---- weights of 4 or 2 bits, of which some become bytes at a time ---- */

static void qnarrow_weights(Bounds *bounds)
{
    const inlay_qnarrow_params *p = bounds->params;
    const bool known = p->bits == 4 || p->bits == 2;
    bounds_refuse(bounds, !known, "its weights have no known number of bits");
    bounds_refuse(bounds, p->middle < 0 || p->middle >= 1 << 4,
                  "no weight of its stands for 0");
    touch_as(bounds, 2, p->bits == 2 ? 'q' : 'n');
}

/* All of so many weights, some of which are bytes at a time. */
static void touch_panel(Bounds *bounds, int64_t all, int64_t some)
{
    touch(bounds, 2, "weights", all);
    touch(bounds, INLAY_QPANEL, "panel", some);
    touch_needs(bounds, INLAY_QPANEL);
}

void bounds_qnarrow(Bounds *bounds)
{
    const inlay_qnarrow_params *p = bounds->params;
    const int64_t window = packed_window(bounds);
    const int64_t groups = bounds_size(bounds, p->groups);
    const int64_t padded = up_to_four(bounds_size(bounds, p->oc));
    const int64_t panel = bounds_size(bounds, p->panel);
    const int64_t all = sat_mul(groups, padded);
    qnarrow_weights(bounds);
    bounds_qpacked(bounds);
    if (bounds->wrong)
        return;
    bounds_refuse(bounds, panel < p->oc && panel % p->width,
                  "its panels begin within blocks");
    const int64_t some = panel ? i64_min(panel, padded) : all;
    touch_panel(bounds, sat_mul(all, window), sat_mul(some, window));
}

/* Filled up to whole words. */
static int64_t up_to_words(int64_t n)
{
    const int64_t most = sat_add(n, INLAY_QNARROW_ELEMENTS - 1);
    return most / INLAY_QNARROW_ELEMENTS * INLAY_QNARROW_ELEMENTS;
}

void bounds_qdwnarrow(Bounds *bounds)
{
    const inlay_qnarrow_params *p = bounds->params;
    const int64_t channels = bounds_size(bounds, p->groups);
    qnarrow_weights(bounds);
    bounds_qdwpacked(bounds);
    if (bounds->wrong)
        return;
    int64_t rows = product_of(bounds, p->kd, p->kh);
    if (p->deep)
        rows = inlay_qdeep_high((const inlay_qpacked_params *)bounds->params);
    const int64_t all = up_to_words(sat_mul(channels, sat_mul(rows, p->kw)));
    touch_panel(bounds, all, all);
}
