/* SPDX-License-Identifier: Apache-2.0
 * Bounds of kernels whose places are data: the kernels hold indices to their axes, which are known
 * here. */
#include "bounds/families.h"
#include "bounds/reach.h"
#include "kernels/cache.h"
#include "kernels/control.h"
#include "kernels/lookup.h"
#include "kernels/nms.h"
#include "kernels/gather.h"
#include "kernels/scatter.h"
#include "kernels/select.h"
#include "kernels/settle.h"
#include "kernels/values.h"

static bool check_rank(Bounds *bounds, int32_t rank, int32_t least)
{
    const bool wrong = rank < least || rank > 8;
    bounds_refuse(bounds, wrong,
                  "it has another number of loops than its kernel");
    return !wrong;
}

static int64_t product3(Bounds *bounds, int64_t x, int64_t y, int64_t z)
{
    return sat_mul(sat_mul(bounds_size(bounds, x), bounds_size(bounds, y)),
                   bounds_size(bounds, z));
}

/* One more than the furthest element that indices of the shape `y` name along `axis` of `x`. */
static int64_t named_elements(Bounds *bounds, int rank, const int32_t *x,
                              const int32_t *y, int axis)
{
    int64_t last = 0;
    bounds_refuse(bounds, axis < 0 || axis >= rank, "its axis is none");
    for (int d = 0; d < rank; d++) {
        const int64_t n = d == axis ? x[d] : y[d];
        last = sat_add(sat_mul(last, bounds_size(bounds, x[d])),
                       i64_max(n, 1) - 1);
    }
    return sat_add(last, 1);
}

void bounds_gather(Bounds *bounds)
{
    const inlay_gather_params *p = bounds->params;
    touch(bounds, 0, "result", product3(bounds, p->outer, p->k, p->run));
    touch(bounds, 1, "data", product3(bounds, p->outer, p->n, p->run));
    touch(bounds, 2, "indices", p->k);
}

void bounds_gather_elements(Bounds *bounds)
{
    const inlay_gather_elements_params *p = bounds->params;
    if (!check_rank(bounds, p->rank, 1))
        return;
    const int64_t indices = sizes_walked(bounds, p->rank, p->y);
    const int64_t size = bounds_size(bounds, p->size);
    const int64_t named = named_elements(bounds, p->rank, p->x, p->y, p->axis);
    touch(bounds, 0, "result", sat_mul(indices, size));
    touch(bounds, 1, "data", sat_mul(named, size));
    touch(bounds, 2, "indices", indices);
}

void bounds_gather_nd(Bounds *bounds)
{
    const inlay_gather_nd_params *p = bounds->params;
    if (!check_rank(bounds, p->depth, 0))
        return;
    const int64_t vectors = product3(bounds, p->batch, p->k, 1);
    const int64_t run = bounds_size(bounds, p->run);
    const int64_t each = sat_mul(sizes_product(bounds, p->depth, p->n), run);
    touch(bounds, 0, "result", sat_mul(vectors, run));
    touch(bounds, 1, "data", vectors ? sat_mul(p->batch, each) : 0);
    touch(bounds, 2, "indices", sat_mul(vectors, p->depth));
}

void bounds_scatter_elements(Bounds *bounds)
{
    const inlay_scatter_params *p = bounds->params;
    if (!check_rank(bounds, p->rank, 1))
        return;
    const int64_t indices = sizes_walked(bounds, p->rank, p->y);
    const int64_t bytes = bounds_size(bounds, p->bytes);
    const int64_t size = type_bits(bounds->reach[0].type) / 8;
    const int64_t named = named_elements(bounds, p->rank, p->x, p->y, p->axis);
    const int64_t whole = i64_ceil_div(bytes, i64_max(size, 1));
    touch(bounds, 0, "result",
          touch_given(bounds, 2) ? i64_max(named, whole) : whole);
    touch(bounds, 1, "data", whole);
    touch(bounds, 2, "indices", indices);
    touch(bounds, 3, "updates", touch_given(bounds, 2) ? indices : 0);
}

void bounds_scatter_nd(Bounds *bounds)
{
    const inlay_scatter_params *p = bounds->params;
    if (!check_rank(bounds, p->rank, 0))
        return;
    const int64_t bytes = bounds_size(bounds, p->bytes);
    const int64_t size = type_bits(bounds->reach[0].type) / 8;
    const int64_t whole = i64_ceil_div(bytes, i64_max(size, 1));
    const int64_t k = bounds_size(bounds, p->k);
    const int64_t named = sat_mul(sizes_product(bounds, p->rank, p->x),
                                  bounds_size(bounds, p->run));
    touch(bounds, 0, "result", k ? i64_max(named, whole) : whole);
    touch(bounds, 1, "data", whole);
    touch(bounds, 2, "indices", sat_mul(k, p->rank));
    touch(bounds, 3, "updates", sat_mul(k, p->run));
}

void bounds_onehot(Bounds *bounds)
{
    const inlay_onehot_params *p = bounds->params;
    const int64_t size = bounds_size(bounds, p->size);
    touch(bounds, 0, "result",
          sat_mul(product3(bounds, p->outer, p->depth, p->inner), size));
    touch(bounds, 1, "indices",
          p->depth ? product3(bounds, p->outer, p->inner, 1) : 0);
    touch(bounds, 2, "values", sat_mul(2, size));
}

void bounds_compress(Bounds *bounds)
{
    const inlay_compress_params *p = bounds->params;
    const int64_t run = bounds_size(bounds, p->run);
    const int64_t given = bounds_size(bounds, p->given);
    touch(bounds, 0, "result", product3(bounds, p->outer, p->kept, run));
    touch(bounds, 1, "count", 1);
    touch_span(bounds, 2, "input",
               span_times(span_of(sat_mul(given, run)),
                          bounds_size(bounds, p->outer),
                          sat_mul(bounds_size(bounds, p->n), run)));
    touch(bounds, 3, "condition", given);
}

void bounds_trilu(Bounds *bounds)
{
    const inlay_trilu_params *p = bounds->params;
    const int64_t bytes = sat_mul(product3(bounds, p->outer, p->h, p->w),
                                  bounds_size(bounds, p->size));
    touch(bounds, 0, "result", bytes);
    touch(bounds, 1, "input", bytes);
    touch(bounds, 2, "diagonal", 1);
}

void bounds_reverse_sequence(Bounds *bounds)
{
    const inlay_reverse_sequence_params *p = bounds->params;
    const int64_t bytes = product3(bounds, p->a, p->b, p->run);
    touch(bounds, 0, "result", bytes);
    touch(bounds, 1, "input", bytes);
    touch(bounds, 2, "lengths", p->time_first ? p->b : p->a);
}

void bounds_nonzero(Bounds *bounds)
{
    const inlay_nonzero_params *p = bounds->params;
    if (!check_rank(bounds, p->rank, 0))
        return;
    touch(bounds, 0, "result", product3(bounds, p->rank, p->room, 1));
    touch(bounds, 1, "count", 1);
    touch(bounds, 2, "input", sizes_product(bounds, p->rank, p->n));
}

void bounds_check_values(Bounds *bounds)
{
    const inlay_check_params *p = bounds->params;
    touch(bounds, 0, "values", p->n);
    touch(bounds, 1, "table", product3(bounds, p->n, p->tables, 1));
}

static bool window_nd(Bounds *bounds, const inlay_window_nd_params *params)
{
    if (!check_rank(bounds, params->rank, 0))
        return false;
    const int64_t size = bounds_size(bounds, params->size);
    touch(bounds, 0, "result",
          sat_mul(sizes_walked(bounds, params->rank, params->y), size));
    touch(bounds, 1, "data",
          sat_mul(sizes_product(bounds, params->rank, params->x), size));
    bounds_size(bounds, params->count);
    return true;
}

void bounds_slice_values(Bounds *bounds)
{
    const inlay_window_nd_params *p = bounds->params;
    if (!window_nd(bounds, p))
        return;
    touch(bounds, 2, "starts", p->count);
    touch(bounds, 3, "ends", p->count);
    touch(bounds, 4, "axes", p->count);
    touch(bounds, 5, "steps", p->count);
    bounds_refuse(bounds, p->count > p->rank && !touch_given(bounds, 4),
                  "it has more starts than axes");
}

void bounds_pad_values(Bounds *bounds)
{
    const inlay_window_nd_params *p = bounds->params;
    if (!window_nd(bounds, p))
        return;
    touch(bounds, 2, "pads", sat_mul(2, p->count));
    touch(bounds, 3, "value", p->size);
    touch(bounds, 4, "axes", p->count);
    bounds_refuse(bounds, p->count > p->rank && !touch_given(bounds, 4),
                  "it has more pads than axes");
}

/* A step of the program. */
static void check_target(Bounds *bounds, int32_t target)
{
    bounds_refuse(bounds,
                  target < 0 || (size_t)target > bounds->program->step.n,
                  "it goes on at no step");
}

void bounds_jump(Bounds *bounds)
{
    const inlay_jump_params *p = bounds->params;
    check_target(bounds, p->target);
}

void bounds_jump_unless(Bounds *bounds)
{
    touch(bounds, 0, "condition", 1);
    bounds_jump(bounds);
}

void bounds_refusal(Bounds *bounds)
{
    (void)bounds;
}

void bounds_loop(Bounds *bounds)
{
    const inlay_loop_params *p = bounds->params;
    touch(bounds, 0, "counter", 1);
    touch(bounds, 1, "trip count", 1);
    touch(bounds, 2, "condition", 1);
    check_target(bounds, p->target);
}

static void turns(Bounds *bounds, int slice, int sequence)
{
    const inlay_slice_params *p = bounds->params;
    touch(bounds, slice, "slice", product3(bounds, p->outer, p->bytes, 1));
    touch(bounds, sequence, "sequence",
          product3(bounds, p->outer, p->length, p->bytes));
    touch(bounds, 2, "counter", 1);
}

void bounds_slice_load(Bounds *bounds)
{
    turns(bounds, 0, 1);
}

void bounds_slice_store(Bounds *bounds)
{
    turns(bounds, 1, 0);
}

void bounds_settle(Bounds *bounds)
{
    const inlay_settle_params *p = bounds->params;
    if (!check_rank(bounds, p->rank, 1))
        return;
    const int64_t bytes = sat_mul(sizes_product(bounds, p->rank, p->n),
                                  bounds_size(bounds, p->size));
    touch(bounds, 0, "result", bytes);
    touch(bounds, 1, "input", bytes);
    touch(bounds, 2, "sizes", p->rank);
}

void bounds_nms(Bounds *bounds)
{
    const inlay_nms_params *p = bounds->params;
    touch(bounds, 0, "result", product3(bounds, p->room, 3, 1));
    touch(bounds, 1, "count", 1);
    touch(bounds, 2, "boxes", product3(bounds, p->batch, p->n, 4));
    touch(bounds, 3, "scores", product3(bounds, p->batch, p->classes, p->n));
    touch(bounds, 4, "most boxes of a class", 1);
    touch(bounds, 5, "threshold of overlap", 1);
    touch(bounds, 6, "threshold of scores", 1);
    touch(bounds, 7, "scratch", p->n);
    bounds_narrow(bounds, product3(bounds, p->room, 3, 1));
}

void bounds_cache(Bounds *bounds)
{
    const inlay_cache_params *p = bounds->params;
    const int64_t rows = product3(bounds, p->batch, p->outer, p->bytes);
    bounds_refuse(bounds, p->count > p->length,
                  "it has more new rows than its cache");
    touch(bounds, 0, "result", sat_mul(rows, bounds_size(bounds, p->length)));
    touch(bounds, 1, "cache", sat_mul(rows, bounds_size(bounds, p->length)));
    touch(bounds, 2, "update", sat_mul(rows, bounds_size(bounds, p->count)));
    touch(bounds, 3, "places", p->batch);
}

void bounds_lookup(Bounds *bounds)
{
    const inlay_lookup_params *p = bounds->params;
    const int64_t size = bounds_size(bounds, p->size);
    const int64_t keys = bounds_size(bounds, p->keys);
    touch(bounds, 0, "result", product3(bounds, p->n, size, 1));
    touch(bounds, 1, "input", p->n);
    touch(bounds, 2, "keys", keys);
    touch(bounds, 3, "values", sat_mul(sat_add(keys, 1), size));
}
