/* SPDX-License-Identifier: Apache-2.0
 * Bounds of kernels that look between the elements of images, or put windows back into them. */
#include "bounds/families.h"
#include "bounds/reach.h"
#include "kernels/resize.h"
#include "kernels/sample.h"
#include "kernels/unfold.h"

static int64_t product4(Bounds *b, int64_t w, int64_t x, int64_t y, int64_t z)
{
    const int64_t sizes[] = { w, x, y, z };
    return wide_product(b, 4, sizes);
}

void bounds_resize_table(Bounds *b)
{
    const inlay_resize_table_params *p = b->params;
    const int64_t out = bounds_size(b, p->n_out), taps = bounds_positive(b, p->taps);
    const int64_t entry = sat_add(bounds_size(b, p->entry), 1),
                  entries = bounds_size(b, p->entries);
    const int64_t index = sat_mul(out, taps);
    bounds_refuse(b, p->first < 0 || entries > 8, "its table begins nowhere");
    bounds_refuse(b, p->n_in < 1 && out > 0, "it enlarges an empty axis");
    touch(b, 0, "indices", index ? sat_add(p->first, index) : 0);
    touch(b, 1, "weights", sat_mul(out, sat_add(taps, 1)));
    if (p->mode != INLAY_NEAREST)
        touch_needs(b, 1);
    touch(b, 2, "scales", entry);
    touch(b, 3, "sizes", p->policy ? i64_max(entries, entry) : entry);
    touch(b, 4, "region", sat_add(entries, entry));
}

/* Entries of the table that a step uses: values, or what the step that makes them holds them to. */
static Stretch resample_places(Bounds *b, const inlay_resample_params *p, int64_t first,
                               int64_t entries)
{
    int64_t count;
    const int32_t *table = bounds_values(b, 2, &count);
    Stretch s = { INT64_MAX, 0 };
    if (!table || sat_add(first, entries) > count)
        return span_of(p->n_in);
    for (int64_t i = first; i < first + entries; i++)
        s = (Stretch){ i64_min(s.lo, table[i]), i64_max(s.hi, (int64_t)table[i] + 1) };
    return entries ? s : span_of(0);
}

/* Elements of a row at places of its axis. */
static Stretch at_places(const inlay_resample_params *p, Stretch places, int64_t step)
{
    const Stretch one = span_times(span_of(p->inner), places.hi - places.lo, step);
    return span_move(one, sat_mul(sat_add(places.lo, -(int64_t)p->origin), step));
}

static void resample_any(Bounds *b, const inlay_resample_params *p)
{
    const int64_t outer = bounds_size(b, p->outer), inner = bounds_size(b, p->inner);
    const Stretch places = resample_places(b, p, 0, sat_mul(p->n_out, p->taps));
    touch(b, 0, "result", product4(b, outer, p->n_out, inner, 1));
    touch_span(
        b, 1, "input",
        span_times(at_places(p, places, inner), outer, sat_mul(bounds_size(b, p->n_in), inner)));
}

static void resample_rows(Bounds *b, const inlay_resample_params *p)
{
    const int64_t images = i64_ceil_div(b->step->units, bounds_positive(b, p->n_out));
    const int64_t pixels = bounds_size(b, p->pixels), inner = bounds_size(b, p->inner);
    const Stretch places = resample_places(b, p, 0, sat_mul(p->n_out, p->taps));
    const int64_t first = sat_mul(sat_add(p->column, -(int64_t)p->origin), pixel_of(b, 1));
    bounds_refuse(b, places.lo < 0 || places.hi > p->n_in, "its table leaves the input");
    touch_each_row(b, 0, "result", b->step->units, span_pixels(b, 0, pixels, inner));
    touch_each_row(b, 1, "input", sat_mul(images, p->n_in),
                   span_move(span_pixels(b, 1, pixels, inner), first));
}

static void resample_pixels(Bounds *b, const inlay_resample_params *p)
{
    const int64_t first = sat_mul(bounds_size(b, p->column), p->taps);
    const Stretch places = resample_places(b, p, first, sat_mul(p->n_out, p->taps));
    touch_each_row(b, 0, "result", b->step->units, span_pixels(b, 0, p->n_out, p->inner));
    touch_each_row(b, 1, "input", b->step->units, at_places(p, places, pixel_of(b, 1)));
}

void bounds_resample(Bounds *b)
{
    const inlay_resample_params *p = b->params;
    const int64_t taps = bounds_positive(b, p->taps), out = bounds_size(b, p->n_out);
    const int64_t column = p->along == INLAY_ALONG_PIXELS ? bounds_size(b, p->column) : 0;
    touch(b, 2, "indices", sat_mul(sat_add(column, out), taps));
    touch(b, 3, "weights", sat_mul(sat_add(column, out), sat_add(taps, 1)));
    if (p->along == INLAY_ALONG_ANY)
        resample_any(b, p);
    else if (p->along == INLAY_ALONG_ROWS)
        resample_rows(b, p);
    else
        resample_pixels(b, p);
}

void bounds_grid_sample(Bounds *b)
{
    const inlay_grid_sample_params *p = b->params;
    const int64_t places = product4(b, p->n, p->out, 1, 1);
    bounds_refuse(b, p->axes < 1 || p->axes > 3, "it has another number of axes than its kernel");
    touch(b, 0, "result", sat_mul(places, bounds_size(b, p->c)));
    touch(b, 1, "input", product4(b, p->n, p->c, wide_product(b, 3, p->size), 1));
    touch(b, 2, "grid", sat_mul(places, p->axes));
}

void bounds_affine_grid(Bounds *b)
{
    const inlay_affine_grid_params *p = b->params;
    bounds_refuse(b, p->axes < 1 || p->axes > 3, "it has another number of axes than its kernel");
    touch(b, 0, "result", product4(b, p->n, wide_product(b, 3, p->size), p->axes, 1));
    touch(b, 1, "matrix", product4(b, p->n, p->axes, (int64_t)p->axes + 1, 1));
}

void bounds_roi_align(Bounds *b)
{
    const inlay_roi_align_params *p = b->params;
    const int64_t cells = product4(b, p->regions, p->c, p->ph, p->pw);
    bounds_refuse(b, cells && (p->h < 1 || p->w < 1), "its images have no elements");
    touch(b, 0, "result", cells);
    touch(b, 1, "input", product4(b, p->n, p->c, p->h, p->w));
    touch(b, 2, "regions", sat_mul(bounds_size(b, p->regions), 4));
    touch(b, 3, "image numbers", p->regions);
}

void bounds_roi_pool(Bounds *b)
{
    const inlay_roi_pool_params *p = b->params;
    touch(b, 0, "result", product4(b, p->regions, p->c, p->ph, p->pw));
    touch(b, 1, "input", product4(b, p->n, p->c, p->h, p->w));
    touch(b, 2, "regions", sat_mul(bounds_size(b, p->regions), 5));
}

/* Taps that are known; else the kernel holds their number to the columns. */
static int64_t col2im_columns(Bounds *b, const inlay_col2im_params *p)
{
    if (!p->tap[0])
        return bounds_size(b, p->columns);
    return sat_mul(wide_product(b, p->axes, p->tap), wide_product(b, p->axes, p->blocks));
}

void bounds_col2im(Bounds *b)
{
    const inlay_col2im_params *p = b->params;
    bounds_refuse(b, p->axes < 1 || p->axes > 8, "it has another number of axes than its kernel");
    if (b->wrong)
        return;
    for (int a = 0; a < p->axes; a++) {
        bounds_positive(b, p->stride[a]);
        bounds_refuse(b, p->tap[0] && p->tap[a] < 1, "its window has no taps");
    }
    const int64_t planes = bounds_size(b, p->planes);
    touch(b, 0, "result", sat_mul(planes, wide_product(b, p->axes, p->image)));
    touch(b, 1, "input", sat_mul(planes, col2im_columns(b, p)));
    touch(b, 2, "sizes of the image", p->axes);
    touch(b, 3, "sizes of the window", p->axes);
    for (int k = 2; k < 4 && !p->tap[0]; k++)
        touch_needs(b, k);
}

void bounds_max_unpool(Bounds *b)
{
    const inlay_max_unpool_params *p = b->params;
    const int64_t count = bounds_size(b, p->count);
    bounds_refuse(b, p->rank < 1 || p->rank > 8, "it has another number of axes than its kernel");
    if (b->wrong)
        return;
    for (int a = 0; a < p->rank && count; a++)
        bounds_positive(b, p->from[a]);
    const int64_t named = count ? wide_product(b, p->rank, p->to) : 0;
    touch(b, 0, "result", i64_max(named, bounds_size(b, p->total)));
    touch(b, 1, "input", count);
    touch(b, 2, "indices", count);
}

/* One more than the last channel of x that weights meet. */
static int64_t deformed_channels(Bounds *b, const inlay_deform_conv_params *p)
{
    const int64_t groups = bounds_positive(b, p->groups);
    const int64_t out = bounds_positive(b, p->o / groups), each = p->c / groups;
    bounds_size(b, p->o);
    bounds_size(b, p->c);
    return sat_mul((p->o - 1) / out + 1, each);
}

void bounds_deform_conv(Bounds *b)
{
    const inlay_deform_conv_params *p = b->params;
    const int64_t taps = product4(b, p->kh, p->kw, 1, 1), channels = deformed_channels(b, p);
    const int64_t set = bounds_positive(b, p->c / bounds_positive(b, p->offset_groups));
    const int64_t plane = product4(b, p->oh, p->ow, 1, 1);
    bounds_refuse(b, channels > p->c, "its groups take more channels than there are");
    bounds_refuse(b, channels > 0 && (channels - 1) / set >= p->offset_groups,
                  "its channels take more offsets than there are");
    touch(b, 0, "result", product4(b, p->n, p->o, plane, 1));
    touch(b, 1, "input", product4(b, p->n, p->c, p->h, p->w));
    touch(b, 2, "weights", product4(b, p->o, p->c / bounds_positive(b, p->groups), taps, 1));
    touch(b, 3, "offsets", sat_mul(product4(b, p->n, p->offset_groups, taps, plane), 2));
    touch(b, 4, "bias", p->o);
    touch(b, 5, "mask", product4(b, p->n, p->offset_groups, taps, plane));
}
