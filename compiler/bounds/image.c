/* SPDX-License-Identifier: Apache-2.0
 * Bounds of kernels that look between the elements of images, or put windows back into them. */
#include "bounds/families.h"
#include "bounds/reach.h"
#include "kernels/qresize.h"
#include "kernels/resize.h"
#include "kernels/sample.h"
#include "kernels/unfold.h"

/* Images, or regions of them. */
typedef struct Images {
    int64_t n;
    int64_t channels;
    int64_t high;
    int64_t wide;
} Images;

static int64_t images_size(Bounds *bounds, const Images *images)
{
    const int64_t planes = product_of(bounds, images->n, images->channels);
    return product_of(bounds, planes, images->high, images->wide);
}

static void touch_images(Bounds *bounds, int k, const char *name,
                         const Images *images)
{
    touch(bounds, k, name, images_size(bounds, images));
}

static void check_table(Bounds *bounds, const inlay_resize_table_params *params)
{
    const bool enlarges = params->n_in < 1 && params->n_out > 0;
    const bool begins = params->first >= 0 && params->entries <= 8;
    bounds_refuse(bounds, !begins, "its table begins nowhere");
    bounds_refuse(bounds, enlarges, "it enlarges an empty axis");
}

void bounds_resize_table(Bounds *bounds)
{
    const inlay_resize_table_params *p = bounds->params;
    const int64_t out = bounds_size(bounds, p->n_out);
    const int64_t taps = bounds_positive(bounds, p->taps);
    const int64_t before = bounds_size(bounds, p->entry);
    const int64_t entry = sat_add(before, 1);
    const int64_t entries = bounds_size(bounds, p->entries);
    const int64_t index = sat_mul(out, taps);
    int64_t end = 0;
    if (index)
        end = sat_add(p->first, index);
    int64_t sizes = entry;
    if (p->policy)
        sizes = i64_max(entries, entry);
    check_table(bounds, p);
    touch(bounds, 0, "indices", end);
    touch_box(bounds, 1, "weights", out, sat_add(taps, 1));
    if (p->mode != INLAY_NEAREST)
        touch_needs(bounds, 1);
    touch(bounds, 2, "scales", entry);
    touch(bounds, 3, "sizes", sizes);
    touch(bounds, 4, "region", sat_add(entries, entry));
}

/* The least places of a table, and one more than the greatest. */
static Stretch places_named(const int32_t *place, int64_t count)
{
    Stretch places = { INT64_MAX, 0 };
    if (!count)
        return span_of(0);
    for (int64_t i = 0; i < count; i++) {
        const int64_t end = (int64_t)place[i] + 1;
        places.lo = i64_min(places.lo, place[i]);
        places.hi = i64_max(places.hi, end);
    }
    return places;
}

/* What the entries of the table from `first` on name, that a step uses: values, or what the step
 * that makes them holds them to. */
static Stretch resample_places(Bounds *bounds,
                               const inlay_resample_params *params,
                               int64_t first)
{
    int64_t count;
    const int32_t *table = bounds_values(bounds, 2, &count);
    const int64_t entries = sat_mul(params->n_out, params->taps);
    if (!table || entries < 0 || sat_add(first, entries) > count)
        return span_of(params->n_in);
    return places_named(table + first, entries);
}

/* Elements of a row at places of its axis. */
static Stretch at_places(const inlay_resample_params *params, Stretch places,
                         int64_t step)
{
    const int64_t count = places.hi - places.lo;
    const int64_t first = sat_add(places.lo, -(int64_t)params->origin);
    const Stretch one = span_of(params->inner);
    const Stretch all = span_times(one, count, step);
    return span_move(all, sat_mul(first, step));
}

static void resample_any(Bounds *bounds, const inlay_resample_params *params)
{
    const int64_t outer = bounds_size(bounds, params->outer);
    const int64_t inner = bounds_size(bounds, params->inner);
    const int64_t each = product_of(bounds, params->n_in, inner);
    const Stretch places = resample_places(bounds, params, 0);
    const Stretch one = at_places(params, places, inner);
    const Stretch all = span_times(one, outer, each);
    touch_box(bounds, 0, "result", outer, params->n_out, inner);
    touch_span(bounds, 1, "input", all);
}

/* Images that a step's units, each a row of `rows`, are of. */
static int64_t images_of(Bounds *bounds, int64_t rows)
{
    const int64_t high = bounds_positive(bounds, rows);
    return i64_ceil_div(bounds->step->units, high);
}

static void resample_rows(Bounds *bounds, const inlay_resample_params *params)
{
    const int64_t images = images_of(bounds, params->n_out);
    const int64_t rows = sat_mul(images, params->n_in);
    const int64_t pixels = bounds_size(bounds, params->pixels);
    const int64_t inner = bounds_size(bounds, params->inner);
    const Stretch places = resample_places(bounds, params, 0);
    const bool leaves = places.lo < 0 || places.hi > params->n_in;
    const int64_t column = sat_add(params->column, -(int64_t)params->origin);
    const int64_t first = sat_mul(column, pixel_of(bounds, 1));
    const Stretch result = span_pixels(bounds, 0, pixels, inner);
    const Stretch input = span_pixels(bounds, 1, pixels, inner);
    bounds_refuse(bounds, leaves, "its table leaves the input");
    touch_units(bounds, 0, "result", result);
    touch_each_row(bounds, 1, "input", rows, span_move(input, first));
}

static void resample_pixels(Bounds *bounds, const inlay_resample_params *params)
{
    const int64_t first = product_of(bounds, params->column, params->taps);
    const int64_t pixel = pixel_of(bounds, 1);
    const Stretch places = resample_places(bounds, params, first);
    const Stretch result = span_pixels(bounds, 0, params->n_out, params->inner);
    touch_units(bounds, 0, "result", result);
    touch_units(bounds, 1, "input", at_places(params, places, pixel));
}

void bounds_resample(Bounds *bounds)
{
    const inlay_resample_params *p = bounds->params;
    const int64_t taps = bounds_positive(bounds, p->taps);
    int64_t places = bounds_size(bounds, p->n_out);
    if (p->along == INLAY_ALONG_PIXELS) {
        const int64_t column = bounds_size(bounds, p->column);
        places = sat_add(column, places);
    }
    touch_box(bounds, 2, "indices", places, taps);
    touch_box(bounds, 3, "weights", places, sat_add(taps, 1));
    if (p->along == INLAY_ALONG_ANY)
        resample_any(bounds, p);
    else if (p->along == INLAY_ALONG_ROWS)
        resample_rows(bounds, p);
    else
        resample_pixels(bounds, p);
}

/* Are all of them elements of an axis of that size? */
static bool lie_within(const int32_t *place, int64_t count, int64_t size)
{
    for (int64_t i = 0; i < count; i++)
        if (place[i] < 0 || place[i] >= size)
            return false;
    return true;
}

/* A table of two places for each of `out`, all below `in`, and their weights behind it. */
static void touch_pairs(Bounds *bounds, int k, int64_t out, int64_t in)
{
    int64_t count;
    const int32_t *place = bounds_values(bounds, k, &count);
    const bool lies = place && lie_within(place, count, in);
    touch_box(bounds, k, "places", out, 2);
    touch_box(bounds, k + 1, "weights", out, 2);
    bounds_refuse(bounds, !lies, "its table leaves the input");
}

void bounds_qresize(Bounds *bounds)
{
    const inlay_qresize_params *p = bounds->params;
    const int64_t images = images_of(bounds, p->out);
    const int64_t channels = bounds_size(bounds, p->channels);
    const int64_t high = bounds_size(bounds, p->out);
    const int64_t wide = bounds_size(bounds, p->wide_out);
    const int64_t pixels = bounds_size(bounds, p->wide_in);
    const int64_t rows = product_of(bounds, images, p->in);
    const Stretch result = span_pixels(bounds, 0, wide, channels);
    const Stretch input = span_pixels(bounds, 1, pixels, channels);
    touch_units(bounds, 0, "result", result);
    touch_each_row(bounds, 1, "input", rows, input);
    touch_pairs(bounds, 2, high, p->in);
    touch_pairs(bounds, 4, wide, p->wide_in);
    touch(bounds, 6, "numbers", INLAY_QSTEP_WORDS);
}

static void check_axes(Bounds *bounds, int32_t axes)
{
    bounds_refuse(bounds, axes < 1 || axes > 3,
                  "it has another number of axes than its kernel");
}

void bounds_grid_sample(Bounds *bounds)
{
    const inlay_grid_sample_params *p = bounds->params;
    const int64_t places = product_of(bounds, p->n, p->out);
    const int64_t plane = wide_product(bounds, 3, p->size);
    check_axes(bounds, p->axes);
    touch_box(bounds, 0, "result", places, p->c);
    touch_box(bounds, 1, "input", p->n, p->c, plane);
    touch_box(bounds, 2, "grid", places, p->axes);
}

void bounds_affine_grid(Bounds *bounds)
{
    const inlay_affine_grid_params *p = bounds->params;
    const int64_t plane = wide_product(bounds, 3, p->size);
    const int64_t columns = sat_add(p->axes, 1);
    check_axes(bounds, p->axes);
    touch_box(bounds, 0, "result", p->n, plane, p->axes);
    touch_box(bounds, 1, "matrix", p->n, p->axes, columns);
}

void bounds_roi_align(Bounds *bounds)
{
    const inlay_roi_align_params *p = bounds->params;
    const Images input = {
        .n = p->n,
        .channels = p->c,
        .high = p->h,
        .wide = p->w,
    };
    const Images result = {
        .n = p->regions,
        .channels = p->c,
        .high = p->ph,
        .wide = p->pw,
    };
    const int64_t cells = images_size(bounds, &result);
    const bool empty = p->h < 1 || p->w < 1;
    bounds_refuse(bounds, cells && empty, "its images have no elements");
    touch(bounds, 0, "result", cells);
    touch_images(bounds, 1, "input", &input);
    touch_box(bounds, 2, "regions", p->regions, 4);
    touch(bounds, 3, "image numbers", p->regions);
}

void bounds_roi_pool(Bounds *bounds)
{
    const inlay_roi_pool_params *p = bounds->params;
    const Images input = {
        .n = p->n,
        .channels = p->c,
        .high = p->h,
        .wide = p->w,
    };
    const Images result = {
        .n = p->regions,
        .channels = p->c,
        .high = p->ph,
        .wide = p->pw,
    };
    touch_images(bounds, 0, "result", &result);
    touch_images(bounds, 1, "input", &input);
    touch_box(bounds, 2, "regions", p->regions, 5);
}

/* Taps that are known; else the kernel holds their number to the columns. */
static int64_t col2im_columns(Bounds *bounds, const inlay_col2im_params *params)
{
    if (!params->tap[0])
        return bounds_size(bounds, params->columns);
    const int64_t taps = wide_product(bounds, params->axes, params->tap);
    const int64_t blocks = wide_product(bounds, params->axes, params->blocks);
    return sat_mul(taps, blocks);
}

void bounds_col2im(Bounds *bounds)
{
    const inlay_col2im_params *p = bounds->params;
    if (!bounds_rank(bounds, p->axes, 1))
        return;
    const bool known = p->tap[0];
    for (int a = 0; a < p->axes; a++) {
        bounds_positive(bounds, p->stride[a]);
        bounds_refuse(bounds, known && p->tap[a] < 1, "its window has no taps");
    }
    const int64_t planes = bounds_size(bounds, p->planes);
    const int64_t image = wide_product(bounds, p->axes, p->image);
    const int64_t columns = col2im_columns(bounds, p);
    touch_box(bounds, 0, "result", planes, image);
    touch_box(bounds, 1, "input", planes, columns);
    touch(bounds, 2, "sizes of the image", p->axes);
    touch(bounds, 3, "sizes of the window", p->axes);
    if (known)
        return;
    touch_needs(bounds, 2);
    touch_needs(bounds, 3);
}

void bounds_max_unpool(Bounds *bounds)
{
    const inlay_max_unpool_params *p = bounds->params;
    const int64_t count = bounds_size(bounds, p->count);
    if (!bounds_rank(bounds, p->rank, 1))
        return;
    int64_t end = bounds_size(bounds, p->total);
    if (count) {
        const int64_t named = wide_product(bounds, p->rank, p->to);
        end = i64_max(end, named);
        for (int a = 0; a < p->rank; a++)
            bounds_positive(bounds, p->from[a]);
    }
    touch(bounds, 0, "result", end);
    touch(bounds, 1, "input", count);
    touch(bounds, 2, "indices", count);
}

/* One more than the last channel of x that weights meet. */
static int64_t deformed_channels(Bounds *bounds,
                                 const inlay_deform_conv_params *params)
{
    const int64_t groups = bounds_positive(bounds, params->groups);
    const int64_t out = bounds_positive(bounds, params->o / groups);
    const int64_t each = params->c / groups;
    bounds_size(bounds, params->o);
    bounds_size(bounds, params->c);
    return sat_mul((params->o - 1) / out + 1, each);
}

/* Groups of channels, of weights and of offsets. */
static void check_deformed(Bounds *bounds,
                           const inlay_deform_conv_params *params)
{
    const int64_t channels = deformed_channels(bounds, params);
    const int64_t groups = bounds_positive(bounds, params->offset_groups);
    const int64_t set = bounds_positive(bounds, params->c / groups);
    const int64_t last = (channels - 1) / set;
    bounds_refuse(bounds, channels > params->c,
                  "its groups take more channels than there are");
    bounds_refuse(bounds, channels > 0 && last >= params->offset_groups,
                  "its channels take more offsets than there are");
    touch_any(bounds, 2, 6);
}

void bounds_deform_conv(Bounds *bounds)
{
    const inlay_deform_conv_params *p = bounds->params;
    const Images input = {
        .n = p->n,
        .channels = p->c,
        .high = p->h,
        .wide = p->w,
    };
    const Images result = {
        .n = p->n,
        .channels = p->o,
        .high = p->oh,
        .wide = p->ow,
    };
    check_deformed(bounds, p);
    const int64_t groups = bounds_positive(bounds, p->groups);
    const int64_t taps = product_of(bounds, p->kh, p->kw);
    const int64_t planes = product_of(bounds, p->n, p->offset_groups, taps);
    const int64_t moved = product_of(bounds, planes, p->oh, p->ow);
    touch_images(bounds, 0, "result", &result);
    touch_images(bounds, 1, "input", &input);
    touch_box(bounds, 2, "weights", p->o, p->c / groups, taps);
    touch_box(bounds, 3, "offsets", moved, 2);
    touch(bounds, 4, "bias", p->o);
    touch(bounds, 5, "mask", moved);
}
