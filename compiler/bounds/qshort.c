/* SPDX-License-Identifier: Apache-2.0
 * Bounds of products of numbers of 16 bits. */
#include "bounds/families.h"
#include "bounds/reach.h"
#include "kernels/qshort_params.h"

static bool is_number(int32_t n)
{
    return n >= INT16_MIN && n <= INT16_MAX;
}

static bool is_flip(int32_t n)
{
    return n == 0 || n == 1 << 15;
}

/* How codes are read and written. */
static void short_codes(Bounds *bounds)
{
    const inlay_qshort_params *p = bounds->params;
    const bool flips = is_flip(p->flip) && is_flip(p->flip_y);
    const bool zeros = is_number(p->zero) && is_number(p->zy);
    const bool ends = is_number(p->lo) && is_number(p->hi);
    bounds_refuse(bounds, !flips, "it has codes of no known kind");
    bounds_refuse(bounds, !zeros, "a zero point is no code");
    bounds_refuse(bounds, !ends, "its results are no codes");
}

/* Geometry, images, and what goes with each of the channels, filled up to blocks. */
static void short_images(Bounds *bounds, int64_t padded)
{
    const inlay_qshort_params *p = bounds->params;
    const int64_t high = sat_mul(p->od, p->oh);
    const int64_t planes = product_of(bounds, p->id, p->ih);
    const int64_t rows = image_rows(bounds, high, planes);
    const int64_t in = product_of(bounds, p->groups, p->ic);
    const int64_t out = product_of(bounds, p->groups, p->oc);
    const int64_t scales = bounds_positive(bounds, p->scales);
    bounds_axes(bounds, p);
    short_codes(bounds);
    bounds_refuse(bounds, scales != 1 && scales != padded,
                  "it has another number of scales than channels");
    touch_image(bounds, 0, "result", p->ow, out);
    touch_source(bounds, rows, p->iw, in);
    touch(bounds, 3, "bias", padded);
    touch(bounds, 4, "scales", sat_mul(scales, 2));
    touch_any(bounds, 2, 5);
}

static bool are_ones(int n, const int32_t *size)
{
    for (int i = 0; i < n; i++)
        if (size[i] != 1)
            return false;
    return true;
}

/* Is the only pixel read where it lies, four numbers at a time? */
static bool lies(const inlay_qshort_params *p)
{
    const int32_t sizes[] = {
        p->id, p->ih, p->iw, p->od, p->oh, p->ow, p->kd, p->kh, p->kw,
    };
    const int count = (int)(sizeof sizes / sizeof *sizes);
    if (p->pd || p->ph || p->pw)
        return false;
    if (p->flip || p->ic % 4)
        return false;
    return are_ones(count, sizes);
}

/* How weights lie, and windows. */
static void short_layout(Bounds *bounds)
{
    const inlay_qshort_params *p = bounds->params;
    const bool blocks = p->width == 16 || p->width == 4;
    const bool crosses = p->crossed == 0 || p->crossed == 1;
    bounds_refuse(bounds, !blocks,
                  "it has blocks of another width than its kernel");
    bounds_refuse(bounds, !crosses, "its weights are packed in no known way");
    bounds_refuse(bounds, p->gather < 0 || (!p->gather && !lies(p)),
                  "it gathers no windows, but has to");
}

/* Taps of a window, filled up to fours. */
static int64_t short_window(Bounds *bounds)
{
    const inlay_qshort_params *p = bounds->params;
    const int64_t taps = product_of(bounds, p->kd, p->kh, p->kw);
    const int64_t window = sat_mul(taps, bounds_size(bounds, p->ic));
    return up_to_four(window);
}

void bounds_qconv_short(Bounds *bounds)
{
    const inlay_qshort_params *p = bounds->params;
    const int64_t window = short_window(bounds);
    const int64_t pixels = p->gather > 1 ? INLAY_QSHORT_PIXELS : p->gather;
    short_layout(bounds);
    bounds_narrow(bounds, sat_mul(window, INLAY_QSHORT_PIXELS));
    if (bounds->wrong)
        return;
    const int64_t blocks = i64_ceil_div(bounds_size(bounds, p->oc), p->width);
    const int64_t each = sat_mul(blocks, p->width);
    const int64_t padded = sat_mul(bounds_size(bounds, p->groups), each);
    bounds_narrow(bounds, padded);
    short_images(bounds, padded);
    touch(bounds, 2, "weights", sat_mul(padded, window));
    touch(bounds, 5, "windows", sat_mul(window, pixels));
    if (p->gather)
        touch_needs(bounds, 5);
}

void bounds_qdwconv_short(Bounds *bounds)
{
    const inlay_qshort_params *p = bounds->params;
    const int64_t rows = product_of(bounds, p->kd, p->kh);
    const int64_t channels = bounds_size(bounds, p->groups);
    const int64_t padded = up_to_four(channels);
    bounds_refuse(bounds, p->ic != 1 || p->oc != 1,
                  "its channels are not each by itself");
    bounds_refuse(bounds, rows > INLAY_QDW_SHORT_ROWS,
                  "its window has too many rows");
    short_images(bounds, padded);
    touch_box(bounds, 2, "weights", rows, p->kw, padded);
}
