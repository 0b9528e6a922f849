/* SPDX-License-Identifier: Apache-2.0
 * Bounds of kernels that work along axes: reductions, normalizations, order, contractions. */
#include "bounds/families.h"
#include "bounds/reach.h"
#include "kernels/einsum.h"
#include "kernels/norm.h"
#include "kernels/order.h"
#include "kernels/qnorm.h"
#include "kernels/qsoftmax.h"
#include "kernels/qstep.h"
#include "kernels/reduce.h"
#include "kernels/softmax.h"

/* The innermost loop goes by whole columns or along lines, whose elements lie together. */
static Stretch reduced_span(Bounds *bounds, const inlay_reduce_params *params)
{
    const int k = params->kept - 1;
    const int r = params->reduced - 1;
    int32_t step = params->sr[r];
    int32_t along = params->nr[r];
    if (params->columns) {
        step = params->sk[k];
        along = params->nk[k];
    }
    bounds_refuse(bounds, step != 1 && along > 1,
                  "its innermost loop leaves gaps");
    Stretch stretch = span_nest(span_of(1), r, params->nr, params->sr);
    stretch = span_nest(stretch, params->kept, params->nk, params->sk);
    return span_times(stretch, params->nr[r], params->sr[r]);
}

static void reduce_known(Bounds *bounds, const inlay_reduce_params *params)
{
    bounds_refuse(bounds, params->kept < 1 || params->reduced < 1,
                  "it has no loops");
    if (bounds->wrong)
        return;
    const int last = params->kept - 1;
    const int32_t *kept = params->nk;
    sizes_walked(bounds, params->reduced, params->nr);
    const int64_t lines = sizes_walked(bounds, last, kept);
    Stretch read = span_of(0);
    if (params->count)
        read = reduced_span(bounds, params);
    const int64_t results = product_of(bounds, lines, kept[last]);
    touch_units(bounds, 0, "result", span_of(results));
    touch_units(bounds, 1, "input", read);
}

/* The kernel holds the axes to those that make the result's sizes: a size of 0 is reduced, and then
 * nothing is read. */
static void reduce_values(Bounds *bounds, const inlay_reduce_params *params)
{
    const int64_t results = sizes_walked(bounds, params->reduced, params->nr);
    const int64_t elements = sizes_product(bounds, params->kept, params->nk);
    touch(bounds, 0, "result", results);
    touch(bounds, 1, "input", elements);
    touch(bounds, 2, "axes", params->axes);
    if (params->axes)
        touch_needs(bounds, 2);
}

void bounds_reduce(Bounds *bounds)
{
    const inlay_reduce_params *p = bounds->params;
    bounds_refuse(bounds, p->kept < 0 || p->kept > 8,
                  "it has another number of loops than its kernel");
    bounds_refuse(bounds, p->reduced < 0 || p->reduced > 8,
                  "it reduces more loops than its kernel");
    if (bounds->wrong)
        return;
    if (p->values)
        reduce_values(bounds, p);
    else
        reduce_known(bounds, p);
}

/* The first member of each line is looked at before there is any. */
void bounds_arg(Bounds *bounds)
{
    const inlay_arg_params *p = bounds->params;
    const int64_t lines = product_of(bounds, p->outer, p->inner);
    int64_t line = bounds_size(bounds, p->n);
    if (line < 1)
        line = 1;
    line = product_of(bounds, lines, line);
    touch_units(bounds, 0, "result", span_of(lines));
    touch_units(bounds, 1, "input", span_of(line));
}

static void touch_lines(Bounds *bounds, int k, const char *name, int64_t outer,
                        int64_t each, bool apart)
{
    const int64_t lines = bounds_size(bounds, outer);
    const int64_t step = apart ? pixel_of(bounds, k) : each;
    const Stretch stretch = span_times(span_of(each), lines, step);
    touch_units(bounds, k, name, stretch);
}

void bounds_softmax(Bounds *bounds)
{
    const inlay_softmax_params *p = bounds->params;
    const int64_t line = bounds_size(bounds, p->n);
    const int64_t each = product_of(bounds, i64_max(line, 1), p->inner);
    const bool apart = p->by_pixel;
    const int64_t outer = p->outer;
    touch_lines(bounds, 0, "result", outer, each, apart);
    touch_lines(bounds, 1, "input", outer, each, apart);
}

void bounds_qsoftmax(Bounds *bounds)
{
    bounds_softmax(bounds);
    touch(bounds, 2, "numbers", INLAY_QSTEP_WORDS);
}

void bounds_qsoftmax_table(Bounds *bounds)
{
    bounds_qsoftmax(bounds);
    touch(bounds, 3, "table", INLAY_QSOFTMAX_TABLE);
}

void bounds_qnorm(Bounds *bounds)
{
    const inlay_qnorm_params *p = bounds->params;
    const int64_t line = p->n;
    bounds_refuse(bounds, line < 1 || line > INLAY_QNORM_MOST,
                  "its lines are too long");
    const int64_t lines = p->outer;
    touch_lines(bounds, 0, "result", lines, line, true);
    touch_lines(bounds, 1, "input", lines, line, true);
    touch(bounds, 2, "scale", line);
    touch(bounds, 3, "bias", line);
    touch_any(bounds, 2, 4);
    touch(bounds, 4, "numbers", INLAY_QSTEP_WORDS);
}

void bounds_lrn(Bounds *bounds)
{
    const inlay_lrn_params *p = bounds->params;
    const int64_t channels = p->c;
    const int64_t each = product_of(bounds, channels, p->inner);
    const int64_t before = bounds_size(bounds, p->before);
    const int64_t after = bounds_size(bounds, p->after);
    bounds_narrow(bounds, sat_add(channels, before));
    bounds_narrow(bounds, sat_add(channels, after));
    const int64_t outer = p->outer;
    const bool apart = p->by_pixel;
    touch_lines(bounds, 0, "result", outer, each, apart);
    touch_lines(bounds, 1, "input", outer, each, apart);
}

/* Scale and bias. Where each element has its own they are taken as if they lay together, and
 * columns of channels 16 at a time. */
static Stretch norm_factors(Bounds *bounds, const inlay_norm_params *params)
{
    const int64_t n = bounds_size(bounds, params->n);
    const int64_t group = bounds_positive(bounds, params->group);
    const int64_t groups = i64_ceil_div(n, group);
    const int64_t inner = bounds_size(bounds, params->inner);
    const int64_t period = bounds_positive(bounds, params->period);
    const int64_t outer = bounds_size(bounds, params->outer);
    Stretch stretch = span_times(span_of(1), groups, params->along);
    if (group == 1 && inner == 1)
        stretch = span_both(stretch, span_of(n));
    stretch = span_times(stretch, inner, params->inner_step);
    return span_times(stretch, i64_min(period, outer), params->outer_step);
}

void bounds_norm(Bounds *bounds)
{
    const inlay_norm_params *p = bounds->params;
    const int64_t lines = product_of(bounds, p->outer, p->inner);
    const Stretch all = span_of(product_of(bounds, lines, p->n));
    const Stretch factors = norm_factors(bounds, p);
    touch_units(bounds, 0, "result", all);
    touch(bounds, 1, "mean", lines);
    touch(bounds, 2, "deviation", lines);
    touch_units(bounds, 3, "input", all);
    touch_span(bounds, 4, "scale", factors);
    touch_span(bounds, 5, "bias", factors);
    touch_any(bounds, 4, 6);
}

/* Without room for one value it compares with the one before the first. */
void bounds_topk(Bounds *bounds)
{
    const inlay_topk_params *p = bounds->params;
    const int64_t lines = product_of(bounds, p->outer, p->inner);
    const int64_t room = p->k;
    bounds_refuse(bounds, room < 1 && p->n > 0 && lines,
                  "it has no room for a value");
    touch_box(bounds, 0, "values", lines, room);
    touch_box(bounds, 1, "indices", lines, room);
    touch_box(bounds, 2, "input", lines, p->n);
}

void bounds_unique(Bounds *bounds)
{
    const inlay_unique_params *p = bounds->params;
    const int64_t n = bounds_size(bounds, p->n);
    const int64_t found = bounds_size(bounds, p->found);
    const int64_t counted = i64_min(n, found);
    const int64_t lines = product_of(bounds, p->outer, p->inner);
    const int64_t values = product_of(bounds, lines, found);
    touch(bounds, 0, "result", values);
    touch(bounds, 1, "count", 1);
    touch(bounds, 2, "first places", found);
    touch(bounds, 3, "inverse", n);
    touch(bounds, 4, "counts", found);
    touch_box(bounds, 5, "input", lines, n);
    touch(bounds, 6, "scratch", sat_add(n, counted));
}

void bounds_cumulate(Bounds *bounds)
{
    const inlay_cumulate_params *p = bounds->params;
    if (!bounds_rank(bounds, p->rank, 0))
        return;
    const int64_t elements = sizes_product(bounds, p->rank, p->n);
    touch(bounds, 0, "result", elements);
    touch(bounds, 1, "input", elements);
    touch(bounds, 2, "axis", p->axis < 0);
}

void bounds_range(Bounds *bounds)
{
    const inlay_range_params *p = bounds->params;
    touch(bounds, 0, "result", p->n);
    touch(bounds, 1, "start", 1);
    touch(bounds, 2, "limit", 1);
    touch(bounds, 3, "delta", 1);
}

void bounds_einsum(Bounds *bounds)
{
    const inlay_einsum_params *p = bounds->params;
    bounds_refuse(bounds, p->kept < 1 || p->kept > 8,
                  "it has another number of loops than its kernel");
    bounds_refuse(bounds, p->summed < 1 || p->summed > 8,
                  "it sums over more loops than its kernel");
    if (bounds->wrong)
        return;
    sizes_walked(bounds, p->summed, p->nr);
    const int64_t lines = sizes_walked(bounds, p->kept - 1, p->nk);
    const int loops = p->kept;
    const int32_t *kept = p->nk;
    const int32_t *summed = p->nr;
    Stretch first = span_of(1);
    Stretch second = first;
    first = span_nest(first, p->summed, summed, p->ar);
    first = span_nest(first, loops, kept, p->ak);
    second = span_nest(second, p->summed, summed, p->br);
    second = span_nest(second, loops, kept, p->bk);
    touch_box(bounds, 0, "result", lines, kept[p->kept - 1]);
    touch_span(bounds, 1, "first operand", first);
    touch_span(bounds, 2, "second operand", second);
    touch_any_floats(bounds, 1, 3);
}

static void touch_matrices(Bounds *bounds, const inlay_det_params *params)
{
    const int64_t each = product_of(bounds, params->n, params->n);
    bounds_narrow(bounds, each);
    touch_box(bounds, 1, "input", params->batch, each);
    touch(bounds, 2, "scratch", each);
}

void bounds_det(Bounds *bounds)
{
    const inlay_det_params *p = bounds->params;
    touch(bounds, 0, "result", p->batch);
    touch_matrices(bounds, p);
}

void bounds_inverse(Bounds *bounds)
{
    const inlay_det_params *p = bounds->params;
    const int64_t each = product_of(bounds, p->n, p->n);
    touch_box(bounds, 0, "result", p->batch, each);
    touch_matrices(bounds, p);
}
