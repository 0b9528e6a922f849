/* SPDX-License-Identifier: Apache-2.0
 * Bounds of kernels whose places are data: the kernels hold indices to their axes, which are known
 * here. */
#include "bounds/families.h"
#include "bounds/reach.h"
#include "kernels/cache.h"
#include "kernels/control.h"
#include "kernels/lookup.h"
#include "kernels/nms.h"
#include "kernels/scatter.h"
#include "kernels/select.h"
#include "kernels/settle.h"
#include "kernels/values.h"

static bool check_rank(Bounds *b, int32_t rank, int32_t least)
{
    const bool wrong = rank < least || rank > 8;
    bounds_refuse(b, wrong, "it has another number of loops than its kernel");
    return !wrong;
}

static int64_t product3(Bounds *b, int64_t x, int64_t y, int64_t z)
{
    return sat_mul(sat_mul(bounds_size(b, x), bounds_size(b, y)), bounds_size(b, z));
}

/* One more than the furthest element that indices of the shape `y` name along `axis` of `x`. */
static int64_t named_elements(Bounds *b, int rank, const int32_t *x, const int32_t *y, int axis)
{
    int64_t last = 0;
    bounds_refuse(b, axis < 0 || axis >= rank, "its axis is none");
    for (int d = 0; d < rank; d++) {
        const int64_t n = d == axis ? x[d] : y[d];
        last = sat_add(sat_mul(last, bounds_size(b, x[d])), i64_max(n, 1) - 1);
    }
    return sat_add(last, 1);
}

void bounds_gather(Bounds *b)
{
    const inlay_gather_params *p = b->params;
    touch(b, 0, "result", product3(b, p->outer, p->k, p->run));
    touch(b, 1, "data", product3(b, p->outer, p->n, p->run));
    touch(b, 2, "indices", p->k);
}

void bounds_gather_elements(Bounds *b)
{
    const inlay_gather_elements_params *p = b->params;
    if (!check_rank(b, p->rank, 1))
        return;
    const int64_t indices = sizes_walked(b, p->rank, p->y), size = bounds_size(b, p->size);
    const int64_t named = named_elements(b, p->rank, p->x, p->y, p->axis);
    touch(b, 0, "result", sat_mul(indices, size));
    touch(b, 1, "data", sat_mul(named, size));
    touch(b, 2, "indices", indices);
}

void bounds_gather_nd(Bounds *b)
{
    const inlay_gather_nd_params *p = b->params;
    if (!check_rank(b, p->depth, 0))
        return;
    const int64_t vectors = product3(b, p->batch, p->k, 1), run = bounds_size(b, p->run);
    const int64_t each = sat_mul(sizes_product(b, p->depth, p->n), run);
    touch(b, 0, "result", sat_mul(vectors, run));
    touch(b, 1, "data", vectors ? sat_mul(p->batch, each) : 0);
    touch(b, 2, "indices", sat_mul(vectors, p->depth));
}

void bounds_scatter_elements(Bounds *b)
{
    const inlay_scatter_params *p = b->params;
    if (!check_rank(b, p->rank, 1))
        return;
    const int64_t indices = sizes_walked(b, p->rank, p->y);
    const int64_t bytes = bounds_size(b, p->bytes), size = type_bits(b->reach[0].type) / 8;
    const int64_t named = named_elements(b, p->rank, p->x, p->y, p->axis);
    const int64_t whole = i64_ceil_div(bytes, i64_max(size, 1));
    touch(b, 0, "result", touch_given(b, 2) ? i64_max(named, whole) : whole);
    touch(b, 1, "data", whole);
    touch(b, 2, "indices", indices);
    touch(b, 3, "updates", touch_given(b, 2) ? indices : 0);
}

void bounds_scatter_nd(Bounds *b)
{
    const inlay_scatter_params *p = b->params;
    if (!check_rank(b, p->rank, 0))
        return;
    const int64_t bytes = bounds_size(b, p->bytes), size = type_bits(b->reach[0].type) / 8;
    const int64_t whole = i64_ceil_div(bytes, i64_max(size, 1)), k = bounds_size(b, p->k);
    const int64_t named = sat_mul(sizes_product(b, p->rank, p->x), bounds_size(b, p->run));
    touch(b, 0, "result", k ? i64_max(named, whole) : whole);
    touch(b, 1, "data", whole);
    touch(b, 2, "indices", sat_mul(k, p->rank));
    touch(b, 3, "updates", sat_mul(k, p->run));
}

void bounds_onehot(Bounds *b)
{
    const inlay_onehot_params *p = b->params;
    const int64_t size = bounds_size(b, p->size);
    touch(b, 0, "result", sat_mul(product3(b, p->outer, p->depth, p->inner), size));
    touch(b, 1, "indices", p->depth ? product3(b, p->outer, p->inner, 1) : 0);
    touch(b, 2, "values", sat_mul(2, size));
}

void bounds_compress(Bounds *b)
{
    const inlay_compress_params *p = b->params;
    const int64_t run = bounds_size(b, p->run), given = bounds_size(b, p->given);
    touch(b, 0, "result", product3(b, p->outer, p->kept, run));
    touch(b, 1, "count", 1);
    touch_span(b, 2, "input",
               span_times(span_of(sat_mul(given, run)), bounds_size(b, p->outer),
                          sat_mul(bounds_size(b, p->n), run)));
    touch(b, 3, "condition", given);
}

void bounds_trilu(Bounds *b)
{
    const inlay_trilu_params *p = b->params;
    const int64_t bytes = sat_mul(product3(b, p->outer, p->h, p->w), bounds_size(b, p->size));
    touch(b, 0, "result", bytes);
    touch(b, 1, "input", bytes);
    touch(b, 2, "diagonal", 1);
}

void bounds_reverse_sequence(Bounds *b)
{
    const inlay_reverse_sequence_params *p = b->params;
    const int64_t bytes = product3(b, p->a, p->b, p->run);
    touch(b, 0, "result", bytes);
    touch(b, 1, "input", bytes);
    touch(b, 2, "lengths", p->time_first ? p->b : p->a);
}

void bounds_nonzero(Bounds *b)
{
    const inlay_nonzero_params *p = b->params;
    if (!check_rank(b, p->rank, 0))
        return;
    touch(b, 0, "result", product3(b, p->rank, p->room, 1));
    touch(b, 1, "count", 1);
    touch(b, 2, "input", sizes_product(b, p->rank, p->n));
}

void bounds_check_values(Bounds *b)
{
    const inlay_check_params *p = b->params;
    touch(b, 0, "values", p->n);
    touch(b, 1, "table", product3(b, p->n, p->tables, 1));
}

static bool window_nd(Bounds *b, const inlay_window_nd_params *p)
{
    if (!check_rank(b, p->rank, 0))
        return false;
    const int64_t size = bounds_size(b, p->size);
    touch(b, 0, "result", sat_mul(sizes_walked(b, p->rank, p->y), size));
    touch(b, 1, "data", sat_mul(sizes_product(b, p->rank, p->x), size));
    bounds_size(b, p->count);
    return true;
}

void bounds_slice_values(Bounds *b)
{
    const inlay_window_nd_params *p = b->params;
    if (!window_nd(b, p))
        return;
    touch(b, 2, "starts", p->count);
    touch(b, 3, "ends", p->count);
    touch(b, 4, "axes", p->count);
    touch(b, 5, "steps", p->count);
    bounds_refuse(b, p->count > p->rank && !touch_given(b, 4), "it has more starts than axes");
}

void bounds_pad_values(Bounds *b)
{
    const inlay_window_nd_params *p = b->params;
    if (!window_nd(b, p))
        return;
    touch(b, 2, "pads", sat_mul(2, p->count));
    touch(b, 3, "value", p->size);
    touch(b, 4, "axes", p->count);
    bounds_refuse(b, p->count > p->rank && !touch_given(b, 4), "it has more pads than axes");
}

/* A step of the program. */
static void check_target(Bounds *b, int32_t target)
{
    bounds_refuse(b, target < 0 || (size_t)target > b->program->step.n, "it goes on at no step");
}

void bounds_jump(Bounds *b)
{
    const inlay_jump_params *p = b->params;
    check_target(b, p->target);
}

void bounds_jump_unless(Bounds *b)
{
    touch(b, 0, "condition", 1);
    bounds_jump(b);
}

void bounds_refusal(Bounds *b)
{
    (void)b;
}

void bounds_loop(Bounds *b)
{
    const inlay_loop_params *p = b->params;
    touch(b, 0, "counter", 1);
    touch(b, 1, "trip count", 1);
    touch(b, 2, "condition", 1);
    check_target(b, p->target);
}

static void turns(Bounds *b, int slice, int sequence)
{
    const inlay_slice_params *p = b->params;
    touch(b, slice, "slice", product3(b, p->outer, p->bytes, 1));
    touch(b, sequence, "sequence", product3(b, p->outer, p->length, p->bytes));
    touch(b, 2, "counter", 1);
}

void bounds_slice_load(Bounds *b)
{
    turns(b, 0, 1);
}

void bounds_slice_store(Bounds *b)
{
    turns(b, 1, 0);
}

void bounds_settle(Bounds *b)
{
    const inlay_settle_params *p = b->params;
    if (!check_rank(b, p->rank, 1))
        return;
    const int64_t bytes = sat_mul(sizes_product(b, p->rank, p->n), bounds_size(b, p->size));
    touch(b, 0, "result", bytes);
    touch(b, 1, "input", bytes);
    touch(b, 2, "sizes", p->rank);
}

void bounds_nms(Bounds *b)
{
    const inlay_nms_params *p = b->params;
    touch(b, 0, "result", product3(b, p->room, 3, 1));
    touch(b, 1, "count", 1);
    touch(b, 2, "boxes", product3(b, p->batch, p->n, 4));
    touch(b, 3, "scores", product3(b, p->batch, p->classes, p->n));
    touch(b, 4, "most boxes of a class", 1);
    touch(b, 5, "threshold of overlap", 1);
    touch(b, 6, "threshold of scores", 1);
    touch(b, 7, "scratch", p->n);
    bounds_narrow(b, product3(b, p->room, 3, 1));
}

void bounds_cache(Bounds *b)
{
    const inlay_cache_params *p = b->params;
    const int64_t rows = product3(b, p->batch, p->outer, p->bytes);
    bounds_refuse(b, p->count > p->length, "it has more new rows than its cache");
    touch(b, 0, "result", sat_mul(rows, bounds_size(b, p->length)));
    touch(b, 1, "cache", sat_mul(rows, bounds_size(b, p->length)));
    touch(b, 2, "update", sat_mul(rows, bounds_size(b, p->count)));
    touch(b, 3, "places", p->batch);
}

void bounds_lookup(Bounds *b)
{
    const inlay_lookup_params *p = b->params;
    const int64_t size = bounds_size(b, p->size), keys = bounds_size(b, p->keys);
    touch(b, 0, "result", product3(b, p->n, size, 1));
    touch(b, 1, "input", p->n);
    touch(b, 2, "keys", keys);
    touch(b, 3, "values", sat_mul(sat_add(keys, 1), size));
}
