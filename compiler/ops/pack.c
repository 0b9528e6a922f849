/* SPDX-License-Identifier: Apache-2.0
 * Packing of constant weights: transposes, paddings and cuts of recipes; no byte is read here. */
#include "ops/pack.h"

#include "base/size.h"

static int64_t up4(int64_t n)
{
    return i64_add(n, 3) / 4 * 4;
}

/* w [groups][IC][taps][OC'] with OC' = blocks * width -> [groups][blocks][taps][IC][width]. */
static Recipe *cut_blocks(Store *store, const Recipe *w, int64_t width)
{
    const int64_t *d = recipe_dims(w);
    const int64_t cut[5] = { d[0], d[1] / width, width, d[2], d[3] };
    static const int perm[5] = { 0, 1, 4, 3, 2 };
    return recipe_transpose(store, recipe_reshape(store, w, 5, cut), perm);
}

/* Channels [from, from + count) of w [groups][OC][IC][taps], filled up to whole blocks. */
static Recipe *section(Store *store, const Recipe *w, int64_t from, int64_t count, int64_t width)
{
    Recipe *recipe = recipe_slice(store, w, 1, from, 1, count);
    const int64_t fill = i64_ceil_div(count, width) * width - count;
    if (fill)
        recipe = recipe_pad(store, recipe, 1, 0, fill);
    return cut_blocks(store, recipe, width);
}

static Recipe *flat(Store *store, const Recipe *recipe, int64_t groups)
{
    const int64_t dims[2] = { groups, groups ? recipe_count(recipe) / groups : 0 };
    return recipe_reshape(store, recipe, 2, dims);
}

/* Blocks of `width`, then one of 8 and one of 4, as many as are needed. w [groups][OC][IC][taps].
 */
static Recipe *blocks(Store *store, const Recipe *w, int64_t width)
{
    const int64_t groups = recipe_dims(w)[0];
    const int64_t oc = recipe_dims(w)[1];
    int64_t full = up4(oc) / width * width;
    int64_t left = up4(oc) - full;
    Recipe *part[3];
    int n = 0;
    if (full)
        part[n++] = section(store, w, 0, i64_min(full, oc), width);
    if (left >= 8)
        part[n++] = section(store, w, full, i64_min(8, oc - full), 8), full += 8, left -= 8;
    if (left)
        part[n++] = section(store, w, full, oc - full, 4);
    if (n == 1)
        return part[0];
    for (int i = 0; i < n; i++)
        part[i] = flat(store, part[i], groups);
    return recipe_concat(store, n, part, 1);
}

Tensor *pack_conv_weights(Lower *lower, const Recipe *w, int64_t groups)
{
    Store *s = lower->graph->store;
    const int64_t *d = recipe_dims(w);
    int64_t taps = 1;
    for (int i = 2; i < recipe_rank(w); i++)
        taps = i64_mul(taps, d[i]);
    const int64_t dims[4] = { groups, d[0] / groups, d[1], taps };
    return lower_constant(lower, blocks(s, recipe_reshape(s, w, 4, dims), lower->pack_width));
}

/* Axis of k taps -> taps of a phase, last first, and phases: two axes. */
static Recipe *cut_phases(Store *store, const Recipe *w, int axis, int64_t stride)
{
    const int64_t k = recipe_dims(w)[axis];
    const int64_t each = i64_ceil_div(k, stride);
    Recipe *recipe = recipe_pad(store, w, axis, 0, each * stride - k);
    int64_t dims[MAX_RANK];
    const int rank = recipe_rank(recipe);
    for (int i = 0; i < rank; i++)
        dims[i < axis ? i : i + 1] = recipe_dims(recipe)[i];
    dims[axis] = each, dims[axis + 1] = stride;
    return recipe_slice(store, recipe_reshape(store, recipe, rank + 1, dims), axis, each - 1, -1,
                        each);
}

/* Blocks of [from, from + count) of w [groups][IC][OC][KH][PH][KW][PW] ->
 * [PH][PW][groups][blocks][KH][KW][IC][width], as [phases * groups][all the rest]. */
static Recipe *deconv_section(Store *store, const Recipe *w, int64_t from, int64_t count,
                              int64_t width)
{
    static const int perm[8] = { 5, 7, 0, 2, 4, 6, 1, 3 };
    const int64_t fill = i64_ceil_div(count, width) * width - count;
    Recipe *recipe = recipe_pad(store, recipe_slice(store, w, 2, from, 1, count), 2, 0, fill);
    const int64_t *d = recipe_dims(recipe);
    const int64_t cut[8] = { d[0], d[1], d[2] / width, width, d[3], d[4], d[5], d[6] };
    return recipe_transpose(store, recipe_reshape(store, recipe, 8, cut), perm);
}

/* w [groups][IC][OC][KH][KW] -> [PH * PW * groups][blocks]. */
static Recipe *deconv_plane(Lower *lower, const Recipe *w, int64_t sh, int64_t sw)
{
    Store *s = lower->graph->store;
    const int64_t oc = recipe_dims(w)[2];
    const int64_t width = lower->pack_width;
    const int64_t phases = i64_mul(recipe_dims(w)[0], i64_mul(sh, sw));
    Recipe *recipe = cut_phases(s, cut_phases(s, w, 4, sw), 3, sh);
    Recipe *part[3];
    int64_t full = up4(oc) / width * width;
    int64_t left = up4(oc) - full;
    int n = 0;
    if (full)
        part[n++] = deconv_section(s, recipe, 0, i64_min(full, oc), width);
    if (left >= 8)
        part[n++] = deconv_section(s, recipe, full, i64_min(8, oc - full), 8), full += 8, left -= 8;
    if (left)
        part[n++] = deconv_section(s, recipe, full, oc - full, 4);
    for (int i = 0; i < n; i++)
        part[i] = flat(s, part[i], phases);
    return n == 1 ? part[0] : recipe_concat(s, n, part, 1);
}

/* One phase of depth, taps last first, one group: each plane by itself. w [IC][OC][KD][KH][KW] ->
 * [PH * PW][blocks]. */
static Recipe *deconv_depth(Lower *lower, const Recipe *w, int64_t sh, int64_t sw)
{
    Store *s = lower->graph->store;
    const int64_t *d = recipe_dims(w);
    const int64_t kd = d[2];
    const int64_t oc = d[1];
    const int64_t width = lower->pack_width;
    const int64_t phases = i64_mul(sh, sw);
    Recipe **plane = NEW_ARRAY(lower->arena, Recipe *, kd);
    Recipe *all = NULL;
    const int64_t dims[5] = { 1, d[0], oc, d[3], d[4] };
    const int64_t full = up4(oc) / width * width;
    const int64_t left = up4(oc) - full;
    const int64_t from[3] = { 0, full, left >= 8 ? full + 8 : full };
    const int64_t size[3] = { full, left >= 8 ? 8 : 0, left % 8 };
    for (int k = 0; k < 3; k++) { /* block by block, plane after plane */
        if (!size[k] || from[k] >= oc)
            continue;
        const int64_t each = k == 0 ? width : size[k];
        for (int64_t o = from[k]; o < from[k] + size[k]; o += each) {
            for (int64_t z = 0; z < kd; z++) {
                Recipe *recipe = recipe_reshape(s, recipe_slice(s, w, 2, z, 1, 1), 5, dims);
                recipe = cut_phases(s, cut_phases(s, recipe, 4, sw), 3, sh);
                plane[z] =
                    flat(s, deconv_section(s, recipe, o, i64_min(each, oc - o), each), phases);
            }
            Recipe *block = kd == 1 ? plane[0] : recipe_concat(s, (int)kd, plane, 1);
            all = all ? recipe_concat(s, 2, (Recipe *[]){ all, block }, 1) : block;
        }
    }
    return all;
}

Tensor *pack_deconv_weights(Lower *lower, const Recipe *w, int64_t groups, const int64_t *kernel,
                            const int64_t *phases)
{
    Store *s = lower->graph->store;
    const int64_t *d = recipe_dims(w);
    const int rank = recipe_rank(w);
    if (rank < 5) {
        const int64_t dims[5] = { groups, d[0] / groups, d[1], kernel[1], kernel[2] };
        return lower_constant(
            lower, deconv_plane(lower, recipe_reshape(s, w, 5, dims), phases[1], phases[2]));
    }
    Recipe **depth = NEW_ARRAY(lower->arena, Recipe *, phases[0]);
    const int64_t each = i64_ceil_div(d[2], phases[0]);
    Recipe *padded = recipe_pad(s, w, 2, 0, each * phases[0] - d[2]);
    for (int64_t z = 0; z < phases[0]; z++)
        depth[z] = deconv_depth(
            lower, recipe_slice(s, padded, 2, z + (each - 1) * phases[0], -phases[0], each),
            phases[1], phases[2]);
    return lower_constant(lower,
                          phases[0] == 1 ? depth[0] : recipe_concat(s, (int)phases[0], depth, 0));
}

Tensor *pack_matrix(Lower *lower, const Recipe *w, bool transposed, float alpha)
{
    Store *s = lower->graph->store;
    static const int swap[2] = { 1, 0 };
    Recipe *recipe =
        transposed ? recipe_reshape(s, w, 2, recipe_dims(w)) : recipe_transpose(s, w, swap);
    if (alpha != 1.0f)
        recipe = recipe_mul(s, recipe, recipe_number(s, alpha));
    const int64_t dims[4] = { 1, recipe_dims(recipe)[0], recipe_dims(recipe)[1], 1 };
    return lower_constant(lower, blocks(s, recipe_reshape(s, recipe, 4, dims), lower->pack_width));
}

Tensor *pack_bias(Lower *lower, const Recipe *bias, int64_t groups, int64_t oc)
{
    Store *s = lower->graph->store;
    const int64_t dims[2] = { groups, oc };
    const int64_t all[2] = { groups, up4(oc) };
    const float zero = 0.0f;
    if (!bias)
        return lower_constant(lower, recipe_fill(s, DT_F32, 2, all, &zero));
    Recipe *recipe = recipe_reshape(s, bias, 2, dims);
    return lower_constant(lower, all[1] == oc ? recipe : recipe_pad(s, recipe, 1, 0, all[1] - oc));
}

Tensor *pack_depthwise_weights(Lower *lower, const Recipe *w)
{
    Store *s = lower->graph->store;
    static const int swap[2] = { 1, 0 };
    const int64_t c = recipe_dims(w)[0];
    const int64_t dims[2] = { c, c ? recipe_count(w) / c : 0 };
    return lower_constant(lower, recipe_transpose(s, recipe_reshape(s, w, 2, dims), swap));
}
