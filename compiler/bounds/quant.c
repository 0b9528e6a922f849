/* SPDX-License-Identifier: Apache-2.0
 * Bounds of quantization and of products of 8-bit integers. */
#include "bounds/families.h"
#include "bounds/reach.h"
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
