/* SPDX-License-Identifier: Apache-2.0
 * Bounds of quantization and of products of 8-bit integers. */
#include "bounds/families.h"
#include "bounds/reach.h"
#include "kernels/qconv_packed.h"
#include "kernels/qdot.h"

static void touch_quanta(Bounds *bounds, int k, const char *name,
                         const inlay_quant_params *params)
{
    const int64_t each = sat_mul(bounds_size(bounds, params->axis),
                                 bounds_size(bounds, params->inner));
    const int64_t outer = bounds_size(bounds, params->outer);
    const Stretch row = span_times(span_of(each), outer,
                                   params->rows ? pixel_of(bounds, k) : each);
    if (params->rows)
        touch_each_row(bounds, k, name, bounds->step->units, row);
    else
        touch_span(bounds, k, name, row);
}

void bounds_quant(Bounds *bounds)
{
    const inlay_quant_params *p = bounds->params;
    const int64_t blocks = i64_ceil_div(bounds_size(bounds, p->axis),
                                        bounds_positive(bounds, p->block));
    Stretch stretch =
        span_times(span_of(1), bounds_size(bounds, p->inner), p->si);
    stretch = span_times(stretch, blocks, p->sa);
    stretch = span_times(stretch, bounds_size(bounds, p->outer), p->so);
    if (!p->so && !p->sa && !p->si)
        stretch = span_of(1);
    bounds_narrow(bounds, sat_mul(sat_mul(p->axis, p->inner), p->outer));
    touch_quanta(bounds, 0, "result", p);
    touch_quanta(bounds, 1, "input", p);
    touch_span(bounds, 2, "scale", stretch);
    touch_span(bounds, 3, "zero point", stretch);
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
    for (int d = 0; d < params->rank; d++)
        stretch =
            span_times(stretch, params->dims[d], sat_mul(stride[d], each));
    return stretch;
}

void bounds_qmatmul(Bounds *bounds)
{
    const inlay_qmatmul_params *p = bounds->params;
    bounds_refuse(bounds, p->rank < 0 || p->rank > 6,
                  "it has another number of loops than its kernel");
    if (bounds->wrong)
        return;
    const int64_t m = bounds_size(bounds, p->m);
    const int64_t n = bounds_size(bounds, p->n);
    const int64_t k = bounds_size(bounds, p->k);
    const int64_t batches = sizes_product(bounds, p->rank, p->dims);
    bounds_narrow(bounds, batches);
    quantized_result(bounds, p->out, 6);
    touch(bounds, 0, "result", sat_mul(batches, sat_mul(m, n)));
    touch_span(bounds, 1, "first factor", matrices(p, p->as, sat_mul(m, k)));
    touch_span(bounds, 2, "second factor", matrices(p, p->bs, sat_mul(k, n)));
    touch(bounds, 3, "zero point of the first factor",
          bounds_positive(bounds, p->za));
    touch(bounds, 4, "zero point of the second factor",
          bounds_positive(bounds, p->zb));
    touch(bounds, 5, "scale of the first factor",
          bounds_positive(bounds, p->sa));
    touch(bounds, 6, "scale of the second factor",
          bounds_positive(bounds, p->sb));
    touch(bounds, 7, "scale of the result", 1);
    touch(bounds, 8, "zero point of the result", 1);
}

static void check_axis(Bounds *bounds, int64_t out, int64_t stride, int64_t pad,
                       int64_t taps, int64_t dilation)
{
    bounds_size(bounds, out);
    bounds_narrow(
        bounds,
        sat_add(sat_add(sat_mul(out, stride), sat_mul(taps, dilation)), pad));
    bounds_narrow(
        bounds,
        sat_add(sat_add(sat_mul(out, stride), sat_mul(taps, dilation)), -pad));
}

static void qconv_images(Bounds *bounds, const inlay_qconv_params *params,
                         int64_t groups)
{
    const int64_t units = bounds->step->units;
    const int64_t high =
        bounds_positive(bounds, sat_mul(params->od, params->oh));
    const int64_t planes = sat_mul(bounds_size(bounds, params->id),
                                   bounds_size(bounds, params->ih));
    const int64_t wide = bounds_size(bounds, params->iw);
    touch_each_row(bounds, 0, "result", units,
                   span_pixels(bounds, 0, bounds_size(bounds, params->ow),
                               sat_mul(groups, params->oc)));
    touch_each_row(bounds, 1, "input",
                   sat_mul(i64_ceil_div(units, high), planes),
                   span_pixels(bounds, 1, wide, sat_mul(groups, params->ic)));
}

void bounds_qconv(Bounds *bounds)
{
    const inlay_qconv_params *p = bounds->params;
    const int32_t taps[] = { p->kd, p->kh, p->kw, p->ic, p->oc };
    const int64_t groups = bounds_size(bounds, p->groups);
    const int64_t channels = sat_mul(groups, bounds_size(bounds, p->oc));
    check_axis(bounds, p->od, p->sd, p->pd, p->kd, p->dd);
    check_axis(bounds, p->oh, p->sh, p->ph, p->kh, p->dh);
    check_axis(bounds, p->ow, p->sw, p->pw, p->kw, p->dw);
    quantized_result(bounds, p->out, 6);
    qconv_images(bounds, p, groups);
    touch(bounds, 2, "weights",
          sat_mul(groups, sizes_product(bounds, 5, taps)));
    touch(bounds, 3, "zero point of the input", 1);
    touch(bounds, 4, "zero point of the weights", p->zw > 1 ? channels : 1);
    touch(bounds, 5, "scale of the input", 1);
    touch(bounds, 6, "scale of the weights", p->sw_count > 1 ? channels : 1);
    touch(bounds, 7, "scale of the result", 1);
    touch(bounds, 8, "zero point of the result", 1);
    touch(bounds, 9, "bias", channels);
}

/* Operands x and y. */
static void qpacked_images(Bounds *bounds)
{
    const inlay_qpacked_params *p = bounds->params;
    const int64_t groups = bounds_size(bounds, p->groups);
    const int64_t units = bounds->step->units;
    const int64_t high = bounds_positive(bounds, sat_mul(p->od, p->oh));
    const int64_t planes =
        sat_mul(bounds_size(bounds, p->id), bounds_size(bounds, p->ih));
    const int64_t rows = sat_mul(i64_ceil_div(units, high), planes);
    quantized_result(bounds, p->out, 4);
    touch_each_row(bounds, 0, "result", units,
                   span_pixels(bounds, 0, bounds_size(bounds, p->ow),
                               sat_mul(groups, p->oc)));
    touch_each_row(bounds, 1, "input", rows,
                   span_pixels(bounds, 1, bounds_size(bounds, p->iw),
                               sat_mul(groups, p->ic)));
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
    bounds_refuse(bounds, !is_byte(p->zy) || !is_byte(p->lo) || !is_byte(p->hi),
                  "its results are no bytes");
}

/* Does a window leave the image along a dimension? */
static bool leaves(int32_t in, int32_t out, int32_t stride, int32_t pad,
                   int32_t extent)
{
    return pad > 0 || (int64_t)(out - 1) * stride - pad + extent > in;
}

/* Are there windows that do not lie in x as they are? */
static bool must_gather(const inlay_qpacked_params *p)
{
    if (p->deep && !inlay_qdeep_lies(p))
        return true;
    return p->kw > 1 || leaves(p->iw, p->ow, p->sw, p->pw, 1) ||
           leaves(p->ih, p->oh, p->sh, p->ph, (p->kh - 1) * p->dh + 1) ||
           leaves(p->id, p->od, p->sd, p->pd, (p->kd - 1) * p->dd + 1);
}

/* Geometry, and what goes with each of the channels, filled up to fours. */
static void qpacked_channels(Bounds *bounds, int64_t padded)
{
    const inlay_qpacked_params *p = bounds->params;
    check_axis(bounds, p->od, p->sd, p->pd, p->kd, p->dd);
    check_axis(bounds, p->oh, p->sh, p->ph, p->kh, p->dh);
    check_axis(bounds, p->ow, p->sw, p->pw, p->kw, p->dw);
    qpacked_numbers(bounds);
    touch(bounds, 3, "bias", padded);
    touch(bounds, 4, "scale", p->scales > 1 ? padded : 1);
    touch(bounds, 5, "zero points of the weights", padded);
    touch(bounds, 6, "sums of the weights", padded);
    touch(bounds, 7, "zero point of the input", 1);
    touch(bounds, 8, "scale of the input", 1);
    touch(bounds, 9, "what is added",
          sat_mul(bounds_size(bounds, p->groups), p->oc));
}

static int64_t up4(int64_t n)
{
    return sat_mul(i64_ceil_div(n, 4), 4);
}

/* Bytes of a channel's window, each row filled up to fours, or all up to sixteens. */
static int64_t packed_window(Bounds *bounds)
{
    const inlay_qpacked_params *p = bounds->params;
    const int32_t rows[] = { p->kd, p->kh };
    const int64_t run =
        sat_mul(bounds_size(bounds, p->kw), bounds_size(bounds, p->ic));
    const int64_t high = sizes_product(bounds, 2, rows);
    if (p->deep)
        return sat_mul(i64_ceil_div(sat_mul(high, run), INLAY_QDEPTH),
                       INLAY_QDEPTH);
    return sat_mul(high, up4(run));
}

/* Blocks, and the form that their weights have. */
static void qpacked_layout(Bounds *bounds)
{
    const inlay_qpacked_params *p = bounds->params;
    bounds_refuse(bounds, p->width != 16 && p->width != 4,
                  "it has blocks of another width than its kernel");
    bounds_refuse(bounds,
                  p->wide < 0 || p->wide > 2 || (p->wide && p->width != 4),
                  "it widens other windows than its kernel");
    bounds_refuse(bounds, p->deep && (p->deep != 1 || p->width != 4 || p->wide),
                  "its weights are packed in no known way");
}

void bounds_qpacked(Bounds *bounds)
{
    const inlay_qpacked_params *p = bounds->params;
    const int64_t groups = bounds_size(bounds, p->groups);
    const int64_t padded = sat_mul(groups, up4(bounds_size(bounds, p->oc)));
    const int64_t window = packed_window(bounds);
    qpacked_layout(bounds);
    bounds_narrow(bounds, window);
    qpacked_images(bounds);
    qpacked_channels(bounds, padded);
    touch(bounds, 2, "weights", sat_mul(padded, window));
    touch(bounds, 10, "windows",
          sat_mul(p->wide ? 2 * p->wide : bounds_size(bounds, p->gather),
                  window));
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
    touch(bounds, 2, "weights",
          sat_mul(channels, sat_mul(inlay_qdeep_high(p), p->kw)));
    touch(bounds, 10, "columns",
          sat_mul(INLAY_QDEEP_LANES, inlay_qdeep_plane(p)));
    touch_needs(bounds, 10);
}

/* Scratch of numbers and weights that are taken apart. */
static void touch_planes(Bounds *bounds)
{
    enum { ROWS = 16 };
    const inlay_qpacked_params *p = bounds->params;
    const int32_t rows[] = { p->kd, p->kh };
    const int64_t extent = sat_mul(p->kw, p->dw);
    const int64_t columns = sat_mul(p->gather, p->sw);
    bounds_narrow(bounds, extent);
    bounds_narrow(bounds, sat_add(columns, extent));
    bounds_refuse(bounds, p->gather < 0 || p->gather % 2,
                  "it takes an odd number of columns apart");
    if (bounds->wrong || !p->gather)
        return;
    bounds_refuse(bounds, sizes_product(bounds, 2, rows) > ROWS,
                  "it takes more rows apart than its kernel");
    if (bounds->wrong)
        return;
    touch(bounds, 10, "numbers taken apart", inlay_qplanes_bytes(p));
    touch_needs(bounds, 10);
}

void bounds_qdwpacked(Bounds *bounds)
{
    const inlay_qpacked_params *p = bounds->params;
    const int32_t taps[] = { p->kd, p->kh, p->kw };
    const int64_t channels = bounds_size(bounds, p->groups);
    bounds_refuse(bounds, p->ic != 1 || p->oc != 1,
                  "its channels are not each by itself");
    qpacked_images(bounds);
    qpacked_channels(bounds, up4(channels));
    if (p->deep) {
        qdwpacked_deep(bounds, channels, sizes_product(bounds, 3, taps));
        return;
    }
    touch(bounds, 2, "weights",
          sat_mul(channels, sizes_product(bounds, 3, taps)));
    touch_planes(bounds);
}
