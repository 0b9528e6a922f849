/* SPDX-License-Identifier: Apache-2.0
 * Bounds of kernels that work along axes: reductions, normalizations, order, contractions. */
#include "bounds/families.h"
#include "bounds/reach.h"
#include "kernels/einsum.h"
#include "kernels/norm.h"
#include "kernels/order.h"
#include "kernels/reduce.h"
#include "kernels/softmax.h"

/* The innermost loop goes by whole columns or along lines, whose elements lie together. */
static Stretch reduced_span(Bounds *b, const inlay_reduce_params *p)
{
    const int k = p->kept - 1, r = p->reduced - 1;
    const bool apart = p->columns ? p->sk[k] != 1 : p->sr[r] != 1;
    const int32_t along = p->columns ? p->nk[k] : p->nr[r];
    bounds_refuse(b, apart && along > 1, "its innermost loop leaves gaps");
    Stretch s = span_nest(span_of(1), r, p->nr, p->sr);
    s = span_nest(s, p->kept, p->nk, p->sk);
    return span_times(s, p->nr[r], p->sr[r]);
}

static void reduce_known(Bounds *b, const inlay_reduce_params *p)
{
    bounds_refuse(b, p->kept < 1 || p->reduced < 1, "it has no loops");
    if (b->wrong)
        return;
    sizes_walked(b, p->reduced, p->nr);
    const int64_t lines = sizes_walked(b, p->kept - 1, p->nk);
    touch(b, 0, "result", sat_mul(lines, bounds_size(b, p->nk[p->kept - 1])));
    touch_span(b, 1, "input", p->count ? reduced_span(b, p) : span_of(0));
}

/* The kernel holds the axes to those that make the result's sizes: a size of 0 is reduced, and then
 * nothing is read. */
static void reduce_values(Bounds *b, const inlay_reduce_params *p)
{
    touch(b, 0, "result", sizes_walked(b, p->reduced, p->nr));
    touch(b, 1, "input", sizes_product(b, p->kept, p->nk));
    touch(b, 2, "axes", p->axes);
    if (p->axes)
        touch_needs(b, 2);
}

void bounds_reduce(Bounds *b)
{
    const inlay_reduce_params *p = b->params;
    bounds_refuse(b, p->kept < 0 || p->kept > 8, "it has another number of loops than its kernel");
    bounds_refuse(b, p->reduced < 0 || p->reduced > 8, "it reduces more loops than its kernel");
    if (b->wrong)
        return;
    if (p->values)
        reduce_values(b, p);
    else
        reduce_known(b, p);
}

static int64_t block(Bounds *b, int64_t outer, int64_t n, int64_t inner)
{
    return sat_mul(sat_mul(bounds_size(b, outer), bounds_size(b, n)), bounds_size(b, inner));
}

/* The first member of each line is looked at before there is any. */
void bounds_arg(Bounds *b)
{
    const inlay_arg_params *p = b->params;
    touch(b, 0, "result", block(b, p->outer, 1, p->inner));
    touch(b, 1, "input", block(b, p->outer, i64_max(bounds_size(b, p->n), 1), p->inner));
}

static void touch_lines(Bounds *b, int k, const char *name, int64_t outer, int64_t each, bool apart)
{
    const Stretch s =
        span_times(span_of(each), bounds_size(b, outer), apart ? pixel_of(b, k) : each);
    touch_each_row(b, k, name, b->step->units, s);
}

void bounds_softmax(Bounds *b)
{
    const inlay_softmax_params *p = b->params;
    const int64_t each = block(b, 1, i64_max(bounds_size(b, p->n), 1), p->inner);
    touch_lines(b, 0, "result", p->outer, each, p->by_pixel);
    touch_lines(b, 1, "input", p->outer, each, p->by_pixel);
}

void bounds_lrn(Bounds *b)
{
    const inlay_lrn_params *p = b->params;
    const int64_t each = block(b, 1, p->c, p->inner);
    bounds_narrow(b, sat_add(p->c, bounds_size(b, p->before)));
    bounds_narrow(b, sat_add(p->c, bounds_size(b, p->after)));
    touch_lines(b, 0, "result", p->outer, each, p->by_pixel);
    touch_lines(b, 1, "input", p->outer, each, p->by_pixel);
}

/* Scale and bias. Where each element has its own they are taken as if they lay together, and
 * columns of channels 16 at a time. */
static Stretch norm_factors(Bounds *b, const inlay_norm_params *p)
{
    const int64_t group = bounds_positive(b, p->group);
    Stretch s = span_times(span_of(1), i64_ceil_div(bounds_size(b, p->n), group), p->along);
    if (group == 1 && p->inner == 1)
        s = span_both(s, span_of(p->n));
    s = span_times(s, bounds_size(b, p->inner), p->inner_step);
    return span_times(s, i64_min(bounds_positive(b, p->period), bounds_size(b, p->outer)),
                      p->outer_step);
}

void bounds_norm(Bounds *b)
{
    const inlay_norm_params *p = b->params;
    const Stretch all = span_of(block(b, p->outer, p->n, p->inner));
    touch_each_row(b, 0, "result", b->step->units, all);
    touch(b, 1, "mean", block(b, p->outer, 1, p->inner));
    touch(b, 2, "deviation", block(b, p->outer, 1, p->inner));
    touch_each_row(b, 3, "input", b->step->units, all);
    touch_span(b, 4, "scale", norm_factors(b, p));
    touch_span(b, 5, "bias", norm_factors(b, p));
}

/* Without room for one value it compares with the one before the first. */
void bounds_topk(Bounds *b)
{
    const inlay_topk_params *p = b->params;
    const int64_t lines = block(b, p->outer, 1, p->inner);
    bounds_refuse(b, p->k < 1 && p->n > 0 && lines, "it has no room for a value");
    touch(b, 0, "values", block(b, p->outer, p->k, p->inner));
    touch(b, 1, "indices", block(b, p->outer, p->k, p->inner));
    touch(b, 2, "input", block(b, p->outer, p->n, p->inner));
}

void bounds_unique(Bounds *b)
{
    const inlay_unique_params *p = b->params;
    const int64_t n = bounds_size(b, p->n), found = bounds_size(b, p->found);
    touch(b, 0, "result", block(b, p->outer, found, p->inner));
    touch(b, 1, "count", 1);
    touch(b, 2, "first places", found);
    touch(b, 3, "inverse", n);
    touch(b, 4, "counts", found);
    touch(b, 5, "input", block(b, p->outer, n, p->inner));
    touch(b, 6, "scratch", sat_add(n, i64_min(n, found)));
}

void bounds_cumulate(Bounds *b)
{
    const inlay_cumulate_params *p = b->params;
    bounds_refuse(b, p->rank < 0 || p->rank > 8, "it has another number of loops than its kernel");
    if (b->wrong)
        return;
    touch(b, 0, "result", sizes_product(b, p->rank, p->n));
    touch(b, 1, "input", sizes_product(b, p->rank, p->n));
    touch(b, 2, "axis", p->axis < 0);
}

void bounds_range(Bounds *b)
{
    const inlay_range_params *p = b->params;
    touch(b, 0, "result", p->n);
    touch(b, 1, "start", 1);
    touch(b, 2, "limit", 1);
    touch(b, 3, "delta", 1);
}

void bounds_einsum(Bounds *b)
{
    const inlay_einsum_params *p = b->params;
    bounds_refuse(b, p->kept < 1 || p->kept > 8, "it has another number of loops than its kernel");
    bounds_refuse(b, p->summed < 1 || p->summed > 8, "it sums over more loops than its kernel");
    if (b->wrong)
        return;
    sizes_walked(b, p->summed, p->nr);
    const int64_t lines = sizes_walked(b, p->kept - 1, p->nk);
    const Stretch first = span_nest(span_of(1), p->summed, p->nr, p->ar);
    const Stretch second = span_nest(span_of(1), p->summed, p->nr, p->br);
    touch(b, 0, "result", sat_mul(lines, bounds_size(b, p->nk[p->kept - 1])));
    touch_span(b, 1, "first operand", span_nest(first, p->kept, p->nk, p->ak));
    touch_span(b, 2, "second operand", span_nest(second, p->kept, p->nk, p->bk));
}

static void touch_matrices(Bounds *b, const inlay_det_params *p)
{
    const int64_t each = block(b, p->n, p->n, 1);
    bounds_narrow(b, each);
    touch(b, 1, "input", sat_mul(bounds_size(b, p->batch), each));
    touch(b, 2, "scratch", each);
}

void bounds_det(Bounds *b)
{
    const inlay_det_params *p = b->params;
    touch(b, 0, "result", p->batch);
    touch_matrices(b, p);
}

void bounds_inverse(Bounds *b)
{
    const inlay_det_params *p = b->params;
    touch(b, 0, "result", block(b, p->batch, p->n, p->n));
    touch_matrices(b, p);
}
