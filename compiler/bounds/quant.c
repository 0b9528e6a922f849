/* SPDX-License-Identifier: Apache-2.0
 * Bounds of quantization and of products of 8-bit integers. */
#include "bounds/families.h"
#include "bounds/reach.h"
#include "kernels/qdot.h"

static void touch_quanta(Bounds *b, int k, const char *name, const inlay_quant_params *p)
{
    const int64_t each = sat_mul(bounds_size(b, p->axis), bounds_size(b, p->inner));
    const int64_t outer = bounds_size(b, p->outer);
    const Stretch row = span_times(span_of(each), outer, p->rows ? pixel_of(b, k) : each);
    if (p->rows)
        touch_each_row(b, k, name, b->step->units, row);
    else
        touch_span(b, k, name, row);
}

void bounds_quant(Bounds *b)
{
    const inlay_quant_params *p = b->params;
    const int64_t blocks = i64_ceil_div(bounds_size(b, p->axis), bounds_positive(b, p->block));
    Stretch s = span_times(span_of(1), bounds_size(b, p->inner), p->si);
    s = span_times(s, blocks, p->sa);
    s = span_times(s, bounds_size(b, p->outer), p->so);
    if (!p->so && !p->sa && !p->si)
        s = span_of(1);
    bounds_narrow(b, sat_mul(sat_mul(p->axis, p->inner), p->outer));
    touch_quanta(b, 0, "result", p);
    touch_quanta(b, 1, "input", p);
    touch_span(b, 2, "scale", s);
    touch_span(b, 3, "zero point", s);
}

void bounds_dynamic_quantize(Bounds *b)
{
    const inlay_dynamic_quantize_params *p = b->params;
    touch(b, 0, "result", p->n);
    touch(b, 1, "scale", 1);
    touch(b, 2, "zero point", 1);
    touch(b, 3, "input", p->n);
}

/* What the sums become; scales of b are read for all but sums themselves. */
static void quantized_result(Bounds *b, int32_t out, int scale)
{
    static const char type[] = {
        [INLAY_QOUT_I32] = 'i', [INLAY_QOUT_U8] = 'B', [INLAY_QOUT_I8] = 'b', [INLAY_QOUT_F32] = 'f'
    };
    bounds_refuse(b, out < 0 || out >= (int32_t)sizeof type, "it has a result of no known type");
    if (b->wrong)
        return;
    touch_as(b, 0, type[out]);
    if (out != INLAY_QOUT_I32)
        touch_needs(b, scale);
}

/* Matrices of an operand that repeats along some dimensions of the batch. */
static Stretch matrices(const inlay_qmatmul_params *p, const int32_t *stride, int64_t each)
{
    Stretch s = span_of(each);
    for (int d = 0; d < p->rank; d++)
        s = span_times(s, p->dims[d], sat_mul(stride[d], each));
    return s;
}

void bounds_qmatmul(Bounds *b)
{
    const inlay_qmatmul_params *p = b->params;
    bounds_refuse(b, p->rank < 0 || p->rank > 6, "it has another number of loops than its kernel");
    if (b->wrong)
        return;
    const int64_t m = bounds_size(b, p->m), n = bounds_size(b, p->n), k = bounds_size(b, p->k);
    const int64_t batches = sizes_product(b, p->rank, p->dims);
    bounds_narrow(b, batches);
    quantized_result(b, p->out, 6);
    touch(b, 0, "result", sat_mul(batches, sat_mul(m, n)));
    touch_span(b, 1, "first factor", matrices(p, p->as, sat_mul(m, k)));
    touch_span(b, 2, "second factor", matrices(p, p->bs, sat_mul(k, n)));
    touch(b, 3, "zero point of the first factor", bounds_positive(b, p->za));
    touch(b, 4, "zero point of the second factor", bounds_positive(b, p->zb));
    touch(b, 5, "scale of the first factor", bounds_positive(b, p->sa));
    touch(b, 6, "scale of the second factor", bounds_positive(b, p->sb));
    touch(b, 7, "scale of the result", 1);
    touch(b, 8, "zero point of the result", 1);
}

static void check_axis(Bounds *b, int64_t out, int64_t stride, int64_t pad, int64_t taps,
                       int64_t dilation)
{
    bounds_size(b, out);
    bounds_narrow(b, sat_add(sat_add(sat_mul(out, stride), sat_mul(taps, dilation)), pad));
    bounds_narrow(b, sat_add(sat_add(sat_mul(out, stride), sat_mul(taps, dilation)), -pad));
}

static void qconv_images(Bounds *b, const inlay_qconv_params *p, int64_t groups)
{
    const int64_t units = b->step->units;
    const int64_t high = bounds_positive(b, sat_mul(p->od, p->oh));
    const int64_t planes = sat_mul(bounds_size(b, p->id), bounds_size(b, p->ih));
    const int64_t wide = bounds_size(b, p->iw);
    touch_each_row(b, 0, "result", units,
                   span_pixels(b, 0, bounds_size(b, p->ow), sat_mul(groups, p->oc)));
    touch_each_row(b, 1, "input", sat_mul(i64_ceil_div(units, high), planes),
                   span_pixels(b, 1, wide, sat_mul(groups, p->ic)));
}

void bounds_qconv(Bounds *b)
{
    const inlay_qconv_params *p = b->params;
    const int32_t taps[] = { p->kd, p->kh, p->kw, p->ic, p->oc };
    const int64_t groups = bounds_size(b, p->groups);
    const int64_t channels = sat_mul(groups, bounds_size(b, p->oc));
    check_axis(b, p->od, p->sd, p->pd, p->kd, p->dd);
    check_axis(b, p->oh, p->sh, p->ph, p->kh, p->dh);
    check_axis(b, p->ow, p->sw, p->pw, p->kw, p->dw);
    quantized_result(b, p->out, 6);
    qconv_images(b, p, groups);
    touch(b, 2, "weights", sat_mul(groups, sizes_product(b, 5, taps)));
    touch(b, 3, "zero point of the input", 1);
    touch(b, 4, "zero point of the weights", p->zw > 1 ? channels : 1);
    touch(b, 5, "scale of the input", 1);
    touch(b, 6, "scale of the weights", p->sw_count > 1 ? channels : 1);
    touch(b, 7, "scale of the result", 1);
    touch(b, 8, "zero point of the result", 1);
    touch(b, 9, "bias", channels);
}
