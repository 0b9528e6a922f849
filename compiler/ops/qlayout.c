/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/qlayout.h"

#include "base/size.h"
#include "kernels/qpacked.h"

Recipe *packing_bytes(Store *store, const Recipe *w, const Recipe *add)
{
    Recipe *wide = recipe_cast(store, w, DT_F32);
    wide = recipe_add(store, wide, add);
    return recipe_cast(store, wide, DT_I8);
}

int64_t packing_channels(const Packing *packing)
{
    return i64_mul(packing->groups, packing->each);
}

Recipe *packing_matrix(const Packing *packing)
{
    Store *store = packing->lower->store;
    return recipe_matrix(store, packing->w, packing_channels(packing));
}

/* w [groups][blocks * width][rows][run] -> [groups][blocks][rows][steps][width][depth]. */
static Recipe *in_steps(Store *store, const Recipe *w, int64_t width,
                        int64_t depth)
{
    static const int turn[6] = { 0, 1, 3, 4, 2, 5 };
    const int64_t *d = recipe_dims(w);
    const int64_t steps = i64_ceil_div(d[3], depth);
    const int64_t cut[6] = { d[0], d[1] / width, width, d[2], steps, depth };
    Recipe *recipe = recipe_fill_up(store, w, 3, steps * depth);
    recipe = recipe_reshape(store, recipe, 6, cut);
    return recipe_transpose(store, recipe, turn);
}

/* Channels of each group that lie in blocks of one width. */
typedef struct Blocks {
    int64_t from;
    int64_t count;
    int64_t width;
} Blocks;

/* w [groups][channels][rows][columns][IC] -> [groups][channels][rows][run]; deep ones have the
 * whole window in one row. */
static Recipe *in_rows(const Packing *packing, const Recipe *w)
{
    const int64_t *d = recipe_dims(w);
    const int64_t run = i64_mul(d[3], d[4]);
    int64_t dims[4] = { d[0], d[1], d[2], run };
    if (packing->params->deep) {
        dims[2] = 1;
        dims[3] = i64_mul(d[2], run);
    }
    return recipe_reshape(packing->lower->store, w, 4, dims);
}

/* Blocks of w [groups][OC][IC][rows][columns]. */
static Recipe *blocks_of(const Packing *packing, const Recipe *w,
                         const Blocks *blocks)
{
    static const int last[5] = { 0, 1, 3, 4, 2 };
    Store *store = packing->lower->store;
    const int64_t depth = packing->params->deep ? INLAY_QDEPTH : 4;
    const int64_t count = blocks->count;
    const int64_t width = blocks->width;
    const int64_t all = i64_ceil_div(count, width) * width;
    Recipe *recipe = recipe_part(store, w, 1, blocks->from, count);
    recipe = recipe_fill_up(store, recipe, 1, all);
    recipe = recipe_transpose(store, recipe, last);
    recipe = in_rows(packing, recipe);
    return in_steps(store, recipe, width, depth);
}

/* The even or the odd ones of pairs [..][2][..], as floats. */
static Recipe *one_of_pairs(Store *store, const Recipe *pairs, int64_t which)
{
    Recipe *part = recipe_part(store, pairs, 2, which, 1);
    return recipe_cast(store, part, DT_F32);
}

/* Blocks of four channels by four taps as halves of 16 bits, 256 times an odd channel and the even
 * one before it: [channel pair][channel][tap / 2][tap % 2] -> [tap % 2][pair][tap / 2]. */
static Recipe *in_halves(Store *store, const Recipe *w)
{
    static const int turn[4] = { 0, 3, 1, 2 };
    const int64_t n = recipe_count(w) / 16;
    const int64_t cut[5] = { n, 2, 2, 2, 2 };
    const int64_t halves[4] = { n, 2, 2, 2 };
    const int64_t bytes[1] = { recipe_count(w) };
    const Recipe *upper = recipe_number(store, 256.0f);
    const Recipe *pairs = recipe_reshape(store, w, 5, cut);
    Recipe *even = one_of_pairs(store, pairs, 0);
    Recipe *odd = one_of_pairs(store, pairs, 1);
    odd = recipe_mul(store, odd, upper);
    Recipe *sum = recipe_add(store, odd, even);
    sum = recipe_cast(store, sum, DT_I16);
    sum = recipe_reshape(store, sum, 4, halves);
    sum = recipe_transpose(store, sum, turn);
    return recipe_bits(store, sum, DT_I8, 1, bytes);
}

/* The bytes in the places that they have in such halves, each by itself. */
static Recipe *in_half_places(Store *store, const Recipe *w)
{
    static const int turn[5] = { 0, 4, 1, 3, 2 };
    const int64_t cut[5] = { recipe_count(w) / 16, 2, 2, 2, 2 };
    const Recipe *pairs = recipe_reshape(store, w, 5, cut);
    return recipe_transpose(store, pairs, turn);
}

/* The weights [groups][OC][IC][rows][columns]. */
static Recipe *weight_images(const Packing *packing)
{
    const inlay_qpacked_params *p = packing->params;
    const int64_t rows = i64_mul(p->kd, p->kh);
    const int64_t dims[5] = { p->groups, p->oc, p->ic, rows, p->kw };
    return recipe_reshape(packing->lower->store, packing->w, 5, dims);
}

/* Blocks of the family's width, then one of the rest. */
static Recipe *packed_blocks(const Packing *packing)
{
    Store *store = packing->lower->store;
    const int64_t width = packing->lower->family->byte_width;
    const int64_t left = packing->padded % width;
    const int64_t main = packing->padded - left;
    const Blocks full = {
        .count = i64_min(main, packing->each),
        .width = width,
    };
    const Blocks rest = {
        .from = main,
        .count = packing->each - main,
        .width = left,
    };
    const Recipe *w = weight_images(packing);
    Recipe *part[2];
    int n = 0;
    if (main)
        part[n++] = blocks_of(packing, w, &full);
    if (left)
        part[n++] = blocks_of(packing, w, &rest);
    if (n == 1)
        return part[0];
    for (int i = 0; i < n; i++)
        part[i] = recipe_matrix(store, part[i], packing->groups);
    return recipe_concat(store, n, part, 1);
}

Recipe *packing_blocks(const Packing *packing)
{
    Store *store = packing->lower->store;
    Recipe *blocks = packed_blocks(packing);
    if (!packing->params->wide)
        return blocks;
    if (packing->bits < 8)
        return in_half_places(store, blocks);
    return in_halves(store, blocks);
}

PaletteForm packing_form(const Packing *packing)
{
    const inlay_qpacked_params *params = packing->params;
    const int64_t window = packing_window(params);
    const int64_t width = packing->lower->family->byte_width;
    const int64_t left = packing->padded % width;
    const PaletteRun main = {
        .blocks = packing->padded / width,
        .block = i64_mul(window, width),
        .lanes = width,
        .each = params->deep ? INLAY_QDEPTH : 4,
    };
    const PaletteRun rest = {
        .blocks = 1,
        .block = i64_mul(window, left),
        .lanes = left,
        .each = main.each,
    };
    PaletteForm form = { .halves = params->wide > 0 };
    if (main.blocks)
        form.run[form.runs++] = main;
    if (left)
        form.run[form.runs++] = rest;
    return form;
}

/* [channels][1][taps...] -> [channels][columns][rows, filled up]. */
static Recipe *deep_depthwise(Store *store, const Recipe *w,
                              const inlay_qpacked_params *p)
{
    static const int turn[3] = { 0, 2, 1 };
    const int64_t rows = i64_mul(p->kd, p->kh);
    const int64_t dims[3] = { p->groups, rows, p->kw };
    Recipe *recipe = recipe_reshape(store, w, 3, dims);
    recipe = recipe_fill_up(store, recipe, 1, inlay_qdeep_high(p));
    return recipe_transpose(store, recipe, turn);
}

/* [channels][1][taps...] -> the same, or [taps][channels]. */
Recipe *packing_depthwise(const Packing *packing)
{
    Store *store = packing->lower->store;
    if (packing->params->deep)
        return deep_depthwise(store, packing->w, packing->params);
    return recipe_turn(store, packing_matrix(packing));
}

PaletteForm packing_form_depthwise(const Packing *packing)
{
    const inlay_qpacked_params *p = packing->params;
    const int64_t channels = packing_channels(packing);
    PaletteForm form = palette_turned(channels, recipe_count(packing->w));
    if (p->deep) {
        form.run[0].each = i64_mul(p->kw, inlay_qdeep_high(p));
        form.run[0].block = i64_mul(channels, form.run[0].each);
    }
    return form;
}

Tensor *packing_each(const Packing *packing, DType type, const void *values)
{
    Lower *lower = packing->lower;
    const int64_t dims[2] = { packing->groups, packing->each };
    Recipe *recipe = recipe_memory(lower->store, type, 2, dims, values);
    recipe = recipe_fill_up(lower->store, recipe, 1, packing->padded);
    return lower_constant(lower, recipe);
}

/* ---- windows of pixels ---- */

/* A dimension of the image, and what a window takes of it. */
typedef struct Axis {
    int32_t in;
    int32_t out;
    int32_t stride;
    int32_t pad;
    int32_t taps;
    int32_t dilation;
} Axis;

/* Does a window leave the image along the axis? */
static bool leaves(const Axis *axis)
{
    const int32_t extent = (axis->taps - 1) * axis->dilation + 1;
    const int64_t last = (int64_t)(axis->out - 1) * axis->stride;
    if (axis->pad > 0)
        return true;
    return last - axis->pad + extent > axis->in;
}

static bool is_clipped(const inlay_qpacked_params *p)
{
    const Axis depth = {
        .in = p->id,
        .out = p->od,
        .stride = p->sd,
        .pad = p->pd,
        .taps = p->kd,
        .dilation = p->dd,
    };
    const Axis height = {
        .in = p->ih,
        .out = p->oh,
        .stride = p->sh,
        .pad = p->ph,
        .taps = p->kh,
        .dilation = p->dh,
    };
    const Axis width = {
        .in = p->iw,
        .out = p->ow,
        .stride = p->sw,
        .pad = p->pw,
        .taps = p->kw,
        .dilation = p->dw,
    };
    return leaves(&depth) || leaves(&height) || leaves(&width);
}

/* Do all windows lie in x as they are? */
static bool windows_lie(const inlay_qpacked_params *params)
{
    if (params->deep && !inlay_qdeep_lies(params))
        return false;
    if (!params->deep && params->kw != 1)
        return false;
    return !is_clipped(params);
}

static int64_t pixels_of(const inlay_qpacked_params *params)
{
    return i64_mul(i64_mul(params->od, params->oh), params->ow);
}

/* As many windows take the room of those of so many pixels, which overlap (qsegment.inc.h). */
static int64_t windows_of(const inlay_qpacked_params *params, int64_t pixels)
{
    const int64_t moved = i64_mul(pixels - 1, params->sw);
    if (params->dw != 1)
        return pixels;
    return i64_min(pixels, 1 + i64_ceil_div(moved, params->kw));
}

int32_t packing_gathers(const inlay_qpacked_params *params, int64_t window,
                        bool rows)
{
    enum { MOST = 8192 }; /* bytes of scratch for more than one */
    if (params->wide || windows_lie(params))
        return 0;
    if (params->deep)
        return pixels_of(params) == 1 ? 1 : 2;
    const int64_t fit = MOST / i64_max(window, 1);
    const int64_t pixels =
        rows ? params->ow : i64_min(params->ow, INLAY_QPIXELS);
    return fit < 1 ? 1 : (int32_t)i64_min(fit, windows_of(params, pixels));
}

int64_t packing_window(const inlay_qpacked_params *params)
{
    const int64_t run = i64_mul(params->kw, params->ic);
    const int64_t rows = i64_mul(params->kd, params->kh);
    if (!params->deep)
        return i64_mul(rows, i64_ceil_div(run, 4) * 4);
    const int64_t steps = i64_ceil_div(i64_mul(rows, run), INLAY_QDEPTH);
    return i64_mul(steps, INLAY_QDEPTH);
}
