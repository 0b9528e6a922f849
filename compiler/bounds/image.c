/* SPDX-License-Identifier: Apache-2.0
 * Bounds of kernels that look between the elements of images, or put windows back into them. */
#include "bounds/families.h"
#include "bounds/reach.h"
#include "kernels/qresize.h"
#include "kernels/resize.h"
#include "kernels/sample.h"
#include "kernels/unfold.h"

void bounds_resize_table(Bounds *bounds)
{
    const inlay_resize_table_params *p = bounds->params;
    const int64_t out = bounds_size(bounds, p->n_out);
    const int64_t taps = bounds_positive(bounds, p->taps);
    const int64_t entry = sat_add(bounds_size(bounds, p->entry), 1);
    const int64_t entries = bounds_size(bounds, p->entries);
    const int64_t index = sat_mul(out, taps);
    bounds_refuse(bounds, p->first < 0 || entries > 8,
                  "its table begins nowhere");
    bounds_refuse(bounds, p->n_in < 1 && out > 0, "it enlarges an empty axis");
    touch(bounds, 0, "indices", index ? sat_add(p->first, index) : 0);
    touch_box(bounds, 1, "weights", out, sat_add(taps, 1));
    if (p->mode != INLAY_NEAREST)
        touch_needs(bounds, 1);
    touch(bounds, 2, "scales", entry);
    touch(bounds, 3, "sizes", p->policy ? i64_max(entries, entry) : entry);
    touch(bounds, 4, "region", sat_add(entries, entry));
}

/* Entries of the table that a step uses: values, or what the step that makes them holds them to. */
static Stretch resample_places(Bounds *bounds,
                               const inlay_resample_params *params,
                               int64_t first, int64_t entries)
{
    int64_t count;
    const int32_t *table = bounds_values(bounds, 2, &count);
    Stretch stretch = { INT64_MAX, 0 };
    if (!table || sat_add(first, entries) > count)
        return span_of(params->n_in);
    for (int64_t i = first; i < first + entries; i++)
        stretch = (Stretch){ i64_min(stretch.lo, table[i]),
                             i64_max(stretch.hi, (int64_t)table[i] + 1) };
    return entries ? stretch : span_of(0);
}

/* Elements of a row at places of its axis. */
static Stretch at_places(const inlay_resample_params *params, Stretch places,
                         int64_t step)
{
    const Stretch one =
        span_times(span_of(params->inner), places.hi - places.lo, step);
    return span_move(
        one, sat_mul(sat_add(places.lo, -(int64_t)params->origin), step));
}

static void resample_any(Bounds *bounds, const inlay_resample_params *params)
{
    const int64_t outer = bounds_size(bounds, params->outer);
    const int64_t inner = bounds_size(bounds, params->inner);
    const Stretch places = resample_places(
        bounds, params, 0, sat_mul(params->n_out, params->taps));
    touch_box(bounds, 0, "result", outer, params->n_out, inner);
    touch_span(bounds, 1, "input",
               span_times(at_places(params, places, inner), outer,
                          product_of(bounds, params->n_in, inner)));
}

static void resample_rows(Bounds *bounds, const inlay_resample_params *params)
{
    const int64_t images = i64_ceil_div(bounds->step->units,
                                        bounds_positive(bounds, params->n_out));
    const int64_t pixels = bounds_size(bounds, params->pixels);
    const int64_t inner = bounds_size(bounds, params->inner);
    const Stretch places = resample_places(
        bounds, params, 0, sat_mul(params->n_out, params->taps));
    const int64_t first = sat_mul(
        sat_add(params->column, -(int64_t)params->origin), pixel_of(bounds, 1));
    bounds_refuse(bounds, places.lo < 0 || places.hi > params->n_in,
                  "its table leaves the input");
    touch_units(bounds, 0, "result", span_pixels(bounds, 0, pixels, inner));
    touch_each_row(bounds, 1, "input", sat_mul(images, params->n_in),
                   span_move(span_pixels(bounds, 1, pixels, inner), first));
}

static void resample_pixels(Bounds *bounds, const inlay_resample_params *params)
{
    const int64_t first = product_of(bounds, params->column, params->taps);
    const Stretch places = resample_places(
        bounds, params, first, sat_mul(params->n_out, params->taps));
    touch_units(bounds, 0, "result",
                span_pixels(bounds, 0, params->n_out, params->inner));
    touch_units(bounds, 1, "input",
                at_places(params, places, pixel_of(bounds, 1)));
}

void bounds_resample(Bounds *bounds)
{
    const inlay_resample_params *p = bounds->params;
    const int64_t taps = bounds_positive(bounds, p->taps);
    const int64_t out = bounds_size(bounds, p->n_out);
    const int64_t column =
        p->along == INLAY_ALONG_PIXELS ? bounds_size(bounds, p->column) : 0;
    touch_box(bounds, 2, "indices", sat_add(column, out), taps);
    touch_box(bounds, 3, "weights", sat_add(column, out), sat_add(taps, 1));
    if (p->along == INLAY_ALONG_ANY)
        resample_any(bounds, p);
    else if (p->along == INLAY_ALONG_ROWS)
        resample_rows(bounds, p);
    else
        resample_pixels(bounds, p);
}

/* A table of two places for each of `out`, all below `in`, and their weights behind it. */
static void touch_pairs(Bounds *bounds, int k, int64_t out, int64_t in)
{
    int64_t count;
    const int32_t *place = bounds_values(bounds, k, &count);
    bool leaves = false;
    touch_box(bounds, k, "places", out, 2);
    touch_box(bounds, k + 1, "weights", out, 2);
    for (int64_t i = 0; place && i < count; i++)
        leaves |= place[i] < 0 || place[i] >= in;
    bounds_refuse(bounds, !place || leaves, "its table leaves the input");
}

void bounds_qresize(Bounds *bounds)
{
    const inlay_qresize_params *p = bounds->params;
    const int64_t images =
        i64_ceil_div(bounds->step->units, bounds_positive(bounds, p->out));
    const int64_t channels = bounds_size(bounds, p->channels);
    touch_units(
        bounds, 0, "result",
        span_pixels(bounds, 0, bounds_size(bounds, p->wide_out), channels));
    touch_each_row(
        bounds, 1, "input", product_of(bounds, images, p->in),
        span_pixels(bounds, 1, bounds_size(bounds, p->wide_in), channels));
    touch_pairs(bounds, 2, bounds_size(bounds, p->out), p->in);
    touch_pairs(bounds, 4, bounds_size(bounds, p->wide_out), p->wide_in);
    touch(bounds, 6, "numbers", INLAY_QSTEP_WORDS);
}

void bounds_grid_sample(Bounds *bounds)
{
    const inlay_grid_sample_params *p = bounds->params;
    const int64_t places = product_of(bounds, p->n, p->out);
    bounds_refuse(bounds, p->axes < 1 || p->axes > 3,
                  "it has another number of axes than its kernel");
    touch_box(bounds, 0, "result", places, p->c);
    touch_box(bounds, 1, "input", p->n, p->c, wide_product(bounds, 3, p->size));
    touch_box(bounds, 2, "grid", places, p->axes);
}

void bounds_affine_grid(Bounds *bounds)
{
    const inlay_affine_grid_params *p = bounds->params;
    bounds_refuse(bounds, p->axes < 1 || p->axes > 3,
                  "it has another number of axes than its kernel");
    touch_box(bounds, 0, "result", p->n, wide_product(bounds, 3, p->size),
              p->axes);
    touch_box(bounds, 1, "matrix", p->n, p->axes, (int64_t)p->axes + 1);
}

void bounds_roi_align(Bounds *bounds)
{
    const inlay_roi_align_params *p = bounds->params;
    const int64_t cells = product_of(bounds, p->regions, p->c, p->ph, p->pw);
    bounds_refuse(bounds, cells && (p->h < 1 || p->w < 1),
                  "its images have no elements");
    touch(bounds, 0, "result", cells);
    touch_box(bounds, 1, "input", p->n, p->c, p->h, p->w);
    touch_box(bounds, 2, "regions", p->regions, 4);
    touch(bounds, 3, "image numbers", p->regions);
}

void bounds_roi_pool(Bounds *bounds)
{
    const inlay_roi_pool_params *p = bounds->params;
    touch_box(bounds, 0, "result", p->regions, p->c, p->ph, p->pw);
    touch_box(bounds, 1, "input", p->n, p->c, p->h, p->w);
    touch_box(bounds, 2, "regions", p->regions, 5);
}

/* Taps that are known; else the kernel holds their number to the columns. */
static int64_t col2im_columns(Bounds *bounds, const inlay_col2im_params *params)
{
    if (!params->tap[0])
        return bounds_size(bounds, params->columns);
    return sat_mul(wide_product(bounds, params->axes, params->tap),
                   wide_product(bounds, params->axes, params->blocks));
}

void bounds_col2im(Bounds *bounds)
{
    const inlay_col2im_params *p = bounds->params;
    if (!bounds_rank(bounds, p->axes, 1))
        return;
    for (int a = 0; a < p->axes; a++) {
        bounds_positive(bounds, p->stride[a]);
        bounds_refuse(bounds, p->tap[0] && p->tap[a] < 1,
                      "its window has no taps");
    }
    const int64_t planes = bounds_size(bounds, p->planes);
    touch_box(bounds, 0, "result", planes,
              wide_product(bounds, p->axes, p->image));
    touch_box(bounds, 1, "input", planes, col2im_columns(bounds, p));
    touch(bounds, 2, "sizes of the image", p->axes);
    touch(bounds, 3, "sizes of the window", p->axes);
    for (int k = 2; k < 4 && !p->tap[0]; k++)
        touch_needs(bounds, k);
}

void bounds_max_unpool(Bounds *bounds)
{
    const inlay_max_unpool_params *p = bounds->params;
    const int64_t count = bounds_size(bounds, p->count);
    if (!bounds_rank(bounds, p->rank, 1))
        return;
    for (int a = 0; a < p->rank && count; a++)
        bounds_positive(bounds, p->from[a]);
    const int64_t named = count ? wide_product(bounds, p->rank, p->to) : 0;
    touch(bounds, 0, "result", i64_max(named, bounds_size(bounds, p->total)));
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

void bounds_deform_conv(Bounds *bounds)
{
    const inlay_deform_conv_params *p = bounds->params;
    const int64_t taps = product_of(bounds, p->kh, p->kw);
    const int64_t channels = deformed_channels(bounds, p);
    const int64_t set = bounds_positive(
        bounds, p->c / bounds_positive(bounds, p->offset_groups));
    const int64_t plane = product_of(bounds, p->oh, p->ow);
    bounds_refuse(bounds, channels > p->c,
                  "its groups take more channels than there are");
    bounds_refuse(bounds,
                  channels > 0 && (channels - 1) / set >= p->offset_groups,
                  "its channels take more offsets than there are");
    touch_box(bounds, 0, "result", p->n, p->o, plane);
    touch_box(bounds, 1, "input", p->n, p->c, p->h, p->w);
    touch_box(bounds, 2, "weights", p->o,
              p->c / bounds_positive(bounds, p->groups), taps);
    touch_box(bounds, 3, "offsets", p->n, p->offset_groups, taps, plane, 2);
    touch(bounds, 4, "bias", p->o);
    touch_box(bounds, 5, "mask", p->n, p->offset_groups, taps, plane);
}
