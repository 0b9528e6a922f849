/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/qlayout.h"

#include "base/size.h"

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

/* Blocks of w [groups][OC][IC][rows][columns]. Deep ones have the whole window in one row. */
static Recipe *blocks_of(const Packing *packing, const Recipe *w,
                         const Blocks *blocks)
{
    static const int last[5] = { 0, 1, 3, 4, 2 };
    Store *store = packing->lower->store;
    const bool deep = packing->params->deep;
    const int64_t *d = recipe_dims(w);
    const int64_t width = blocks->width;
    const int64_t all = i64_ceil_div(blocks->count, width) * width;
    const int64_t run = i64_mul(d[2], d[4]);
    int64_t dims[4] = { d[0], all, d[3], run };
    if (deep) {
        dims[2] = 1;
        dims[3] = i64_mul(d[3], run);
    }
    Recipe *recipe = recipe_part(store, w, 1, blocks->from, blocks->count);
    recipe = recipe_fill_up(store, recipe, 1, all);
    recipe = recipe_transpose(store, recipe, last);
    recipe = recipe_reshape(store, recipe, 4, dims);
    return in_steps(store, recipe, width, deep ? INLAY_QDEPTH : 4);
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
    Recipe *even = recipe_part(store, pairs, 2, 0, 1);
    Recipe *odd = recipe_part(store, pairs, 2, 1, 1);
    even = recipe_cast(store, even, DT_F32);
    odd = recipe_cast(store, odd, DT_F32);
    odd = recipe_mul(store, odd, upper);
    Recipe *sum = recipe_add(store, odd, even);
    sum = recipe_cast(store, sum, DT_I16);
    sum = recipe_reshape(store, sum, 4, halves);
    sum = recipe_transpose(store, sum, turn);
    return recipe_bits(store, sum, DT_I8, 1, bytes);
}

/* The weights [groups][OC][IC][rows][columns]. */
static Recipe *weight_images(const Packing *packing)
{
    const inlay_qpacked_params *p = packing->params;
    const int64_t dims[5] = {
        p->groups, p->oc, p->ic, i64_mul(p->kd, p->kh), p->kw,
    };
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
    Recipe *blocks = packed_blocks(packing);
    if (packing->params->wide)
        return in_halves(packing->lower->store, blocks);
    return blocks;
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
