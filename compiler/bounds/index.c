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

/* One more than the furthest element that indices of the shape `y` name along `axis` of `x`. */
static int64_t named_elements(Bounds *bounds, int rank, const int32_t *x,
                              const int32_t *y, int axis)
{
    int64_t last = 0;
    bounds_refuse(bounds, axis < 0 || axis >= rank, "its axis is none");
    for (int d = 0; d < rank; d++) {
        const int64_t n = d == axis ? x[d] : y[d];
        const int64_t before = product_of(bounds, last, x[d]);
        last = sat_add(before, i64_max(n, 1) - 1);
    }
    return sat_add(last, 1);
}

void bounds_gather(Bounds *bounds)
{
    const inlay_gather_params *p = bounds->params;
    touch_box(bounds, 0, "result", p->outer, p->k, p->run);
    touch_box(bounds, 1, "data", p->outer, p->n, p->run);
    touch(bounds, 2, "indices", p->k);
    touch_any(bounds, 1, 2);
}

void bounds_gather_elements(Bounds *bounds)
{
    const inlay_gather_elements_params *p = bounds->params;
    if (!bounds_rank(bounds, p->rank, 1))
        return;
    const int64_t indices = sizes_walked(bounds, p->rank, p->y);
    const int64_t size = bounds_size(bounds, p->size);
    const int64_t named = named_elements(bounds, p->rank, p->x, p->y, p->axis);
    touch_box(bounds, 0, "result", indices, size);
    touch_box(bounds, 1, "data", named, size);
    touch(bounds, 2, "indices", indices);
    touch_any(bounds, 1, 2);
}

/* Bytes of the data from an element that a vector names to the last one that it may name. */
static int64_t named_runs(Bounds *bounds, const inlay_gather_nd_params *params,
                          int64_t run)
{
    int64_t last = 0;
    for (int i = 0; i < params->depth; i++) {
        const int64_t most = i64_max(params->n[i], 1) - 1;
        const int64_t step = params->step[i];
        const int64_t far = sat_mul(most, step);
        bounds_refuse(bounds, step < 0, "an axis goes backward");
        last = sat_add(last, far);
    }
    const int64_t runs = sat_add(last, 1);
    return sat_mul(runs, run);
}

void bounds_gather_nd(Bounds *bounds)
{
    const inlay_gather_nd_params *p = bounds->params;
    if (!bounds_rank(bounds, p->depth, 0))
        return;
    const int64_t vectors = product_of(bounds, p->batch, p->k);
    const int64_t run = bounds_size(bounds, p->run);
    const int64_t runs = sizes_product(bounds, p->depth, p->n);
    const int64_t batch = sat_mul(runs, run);
    const int64_t named = named_runs(bounds, p, run);
    const Stretch data = span_times(span_of(named), p->batch, batch);
    touch_box(bounds, 0, "result", vectors, run);
    if (vectors)
        touch_span(bounds, 1, "data", data);
    touch_box(bounds, 2, "indices", vectors, p->depth);
    touch_any(bounds, 1, 2);
}

/* Elements of the data, which is copied as bytes. */
static int64_t whole_elements(Bounds *bounds,
                              const inlay_scatter_params *params)
{
    const int64_t bytes = bounds_size(bounds, params->bytes);
    const int64_t size = type_bits(bounds->reach[0].type) / 8;
    return i64_ceil_div(bytes, i64_max(size, 1));
}

void bounds_scatter_elements(Bounds *bounds)
{
    const inlay_scatter_params *p = bounds->params;
    if (!bounds_rank(bounds, p->rank, 1))
        return;
    const int64_t indices = sizes_walked(bounds, p->rank, p->y);
    const int64_t named = named_elements(bounds, p->rank, p->x, p->y, p->axis);
    const int64_t whole = whole_elements(bounds, p);
    const bool writes = touch_given(bounds, 2);
    int64_t result = whole;
    if (writes)
        result = i64_max(named, whole);
    touch(bounds, 0, "result", result);
    touch(bounds, 1, "data", whole);
    touch(bounds, 2, "indices", indices);
    touch(bounds, 3, "updates", writes ? indices : 0);
}

void bounds_scatter_nd(Bounds *bounds)
{
    const inlay_scatter_params *p = bounds->params;
    if (!bounds_rank(bounds, p->rank, 0))
        return;
    const int64_t whole = whole_elements(bounds, p);
    const int64_t vectors = bounds_size(bounds, p->k);
    const int64_t places = sizes_product(bounds, p->rank, p->x);
    const int64_t named = product_of(bounds, places, p->run);
    int64_t result = whole;
    if (vectors)
        result = i64_max(named, whole);
    touch(bounds, 0, "result", result);
    touch(bounds, 1, "data", whole);
    touch_box(bounds, 2, "indices", vectors, p->rank);
    touch_box(bounds, 3, "updates", vectors, p->run);
}

void bounds_onehot(Bounds *bounds)
{
    const inlay_onehot_params *p = bounds->params;
    const int64_t size = bounds_size(bounds, p->size);
    const int64_t indices = product_of(bounds, p->outer, p->inner);
    touch_box(bounds, 0, "result", indices, p->depth, size);
    touch(bounds, 1, "indices", p->depth ? indices : 0);
    touch_box(bounds, 2, "values", 2, size);
}

void bounds_compress(Bounds *bounds)
{
    const inlay_compress_params *p = bounds->params;
    const int64_t run = bounds_size(bounds, p->run);
    const int64_t given = bounds_size(bounds, p->given);
    touch_box(bounds, 0, "result", p->outer, p->kept, run);
    touch(bounds, 1, "count", 1);
    touch_span(bounds, 2, "input",
               span_times(span_of(sat_mul(given, run)),
                          bounds_size(bounds, p->outer),
                          product_of(bounds, p->n, run)));
    touch(bounds, 3, "condition", given);
}

void bounds_trilu(Bounds *bounds)
{
    const inlay_trilu_params *p = bounds->params;
    const int64_t bytes = product_of(bounds, p->outer, p->h, p->w, p->size);
    touch(bounds, 0, "result", bytes);
    touch(bounds, 1, "input", bytes);
    touch(bounds, 2, "diagonal", 1);
}

void bounds_reverse_sequence(Bounds *bounds)
{
    const inlay_reverse_sequence_params *p = bounds->params;
    const int64_t bytes = product_of(bounds, p->a, p->b, p->run);
    touch(bounds, 0, "result", bytes);
    touch(bounds, 1, "input", bytes);
    touch(bounds, 2, "lengths", p->time_first ? p->b : p->a);
}

void bounds_nonzero(Bounds *bounds)
{
    const inlay_nonzero_params *p = bounds->params;
    if (!bounds_rank(bounds, p->rank, 0))
        return;
    touch_box(bounds, 0, "result", p->rank, p->room);
    touch(bounds, 1, "count", 1);
    touch(bounds, 2, "input", sizes_product(bounds, p->rank, p->n));
}

void bounds_check_values(Bounds *bounds)
{
    const inlay_check_params *p = bounds->params;
    touch(bounds, 0, "values", p->n);
    touch_box(bounds, 1, "table", p->n, p->tables);
}

static bool window_nd(Bounds *bounds, const inlay_window_nd_params *params)
{
    if (!bounds_rank(bounds, params->rank, 0))
        return false;
    const int64_t size = bounds_size(bounds, params->size);
    touch_box(bounds, 0, "result",
              sizes_walked(bounds, params->rank, params->y), size);
    touch_box(bounds, 1, "data", sizes_product(bounds, params->rank, params->x),
              size);
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
    touch_box(bounds, 2, "pads", 2, p->count);
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
    touch_box(bounds, slice, "slice", p->outer, p->bytes);
    touch_box(bounds, sequence, "sequence", p->outer, p->length, p->bytes);
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
    if (!bounds_rank(bounds, p->rank, 1))
        return;
    const int64_t bytes =
        product_of(bounds, sizes_product(bounds, p->rank, p->n), p->size);
    touch(bounds, 0, "result", bytes);
    touch(bounds, 1, "input", bytes);
    touch(bounds, 2, "sizes", p->rank);
}

void bounds_nms(Bounds *bounds)
{
    const inlay_nms_params *p = bounds->params;
    const int64_t entries = product_of(bounds, p->room, 3);
    touch(bounds, 0, "result", entries);
    touch(bounds, 1, "count", 1);
    const int64_t boxes = product_of(bounds, p->batch, p->n);
    touch_box(bounds, 2, "boxes", boxes, 4);
    const int64_t scores = product_of(bounds, p->n, p->classes);
    Stretch all = span_of(1);
    all = span_times(all, p->n, p->next_box);
    all = span_times(all, p->classes, p->next_class);
    all = span_times(all, p->batch, scores);
    touch_span(bounds, 3, "scores", all);
    touch(bounds, 4, "most boxes of a class", 1);
    touch(bounds, 5, "threshold of overlap", 1);
    touch(bounds, 6, "threshold of scores", 1);
    touch_box(bounds, 7, "scratch", p->n,
              p->sorted ? (int64_t)sizeof(uint64_t) : 1);
    bounds_narrow(bounds, entries);
}

void bounds_cache(Bounds *bounds)
{
    const inlay_cache_params *p = bounds->params;
    const int64_t rows = product_of(bounds, p->batch, p->outer, p->bytes);
    bounds_refuse(bounds, p->count > p->length,
                  "it has more new rows than its cache");
    touch_box(bounds, 0, "result", rows, p->length);
    touch_box(bounds, 1, "cache", rows, p->length);
    touch_box(bounds, 2, "update", rows, p->count);
    touch(bounds, 3, "places", p->batch);
}

void bounds_lookup(Bounds *bounds)
{
    const inlay_lookup_params *p = bounds->params;
    const int64_t size = bounds_size(bounds, p->size);
    const int64_t keys = bounds_size(bounds, p->keys);
    touch_box(bounds, 0, "result", p->n, size);
    touch(bounds, 1, "input", p->n);
    touch(bounds, 2, "keys", keys);
    touch_box(bounds, 3, "values", sat_add(keys, 1), size);
}
