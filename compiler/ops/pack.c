/* SPDX-License-Identifier: Apache-2.0
 * Packing of constant weights: transposes, paddings and cuts of recipes; no byte is read here. */
#include "ops/pack.h"

#include "base/size.h"
#include "kernels/tile_narrow.h"

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
static Recipe *section(Store *store, const Recipe *w, int64_t from,
                       int64_t count, int64_t width)
{
    Recipe *recipe = recipe_slice(store, w, 1, from, 1, count);
    const int64_t fill = i64_ceil_div(count, width) * width - count;
    if (fill)
        recipe = recipe_pad(store, recipe, 1, 0, fill);
    return cut_blocks(store, recipe, width);
}

static Recipe *flat(Store *store, const Recipe *recipe, int64_t groups)
{
    const int64_t dims[2] = { groups,
                              groups ? recipe_count(recipe) / groups : 0 };
    return recipe_reshape(store, recipe, 2, dims);
}

/* Channels in blocks of the full width, then one of 8, then one of 4. */
enum { SECTIONS = 3 };

typedef struct Section {
    int64_t from, size;
    int64_t width; /* of a block */
} Section;

static void sections_of(int64_t oc, int64_t width, Section *section)
{
    const int64_t full = up4(oc) / width * width;
    const int64_t left = up4(oc) - full;
    const int64_t eight = left >= 8 ? 8 : 0;
    section[0] = (Section){ 0, full, width };
    section[1] = (Section){ full, eight, 8 };
    section[2] = (Section){ full + eight, left - eight, 4 };
}

/* Recipes one behind the other along an axis. */
static Recipe *joined(Store *store, int64_t n, Recipe **part, int axis)
{
    return n == 1 ? part[0] : recipe_concat(store, (int)n, part, axis);
}

/* The sections of w [groups][OC][IC][taps]. */
static Recipe *blocks(Store *store, const Recipe *w, int64_t width)
{
    const int64_t groups = recipe_dims(w)[0];
    const int64_t oc = recipe_dims(w)[1];
    Section sections[SECTIONS];
    Recipe *part[SECTIONS];
    int n = 0;
    sections_of(oc, width, sections);
    for (int i = 0; i < SECTIONS; i++) {
        const Section *s = sections + i;
        const int64_t count = i64_min(s->size, oc - s->from);
        if (s->size)
            part[n++] = section(store, w, s->from, count, s->width);
    }
    if (n == 1)
        return part[0];
    for (int i = 0; i < n; i++)
        part[i] = flat(store, part[i], groups);
    return recipe_concat(store, n, part, 1);
}

/* Weights [groups * OC][IC][taps...] -> for each group, blocks of [taps][IC][width]. */
static Recipe *pack_channels(Lower *lower, const Recipe *w, int64_t groups)
{
    Store *s = lower->store;
    const int64_t *d = recipe_dims(w);
    int64_t taps = 1;
    for (int i = 2; i < recipe_rank(w); i++)
        taps = i64_mul(taps, d[i]);
    const int64_t dims[4] = { groups, d[0] / groups, d[1], taps };
    return blocks(s, recipe_reshape(s, w, 4, dims), lower->pack_width);
}

static Weights wide_weights(Lower *lower, Recipe *packed)
{
    return (Weights){
        .type = DT_F32,
        .values = lower_constant(lower, packed),
    };
}

bool weights_are_narrow(const Lower *lower, const Recipe *w)
{
    Narrow narrow;
    return lower->narrow && recipe_narrow(lower->store, w, &narrow);
}

static int32_t scale_code(const Recipe *scale)
{
    switch (recipe_dtype(scale)) {
    case DT_F16:
        return INLAY_SCALE_F16;
    case DT_BF16:
        return INLAY_SCALE_BF16;
    default:
        return INLAY_SCALE_F32;
    }
}

/* Each scale or zero point of [OC][IC][taps...] once: [OC][blocks][1...]. NULL: they are not the
 * same for so many of IC and all taps. */
static Recipe *each_once(Store *store, const Recipe *recipe, int64_t *block)
{
    const int rank = recipe_rank(recipe);
    Recipe *once = recipe_once(store, recipe, 1, block);
    bool taps = false;
    for (int axis = 2; axis < rank; axis++) {
        int64_t times;
        const int64_t n = recipe_dims(recipe)[axis];
        once = recipe_once(store, once, axis, &times);
        taps = taps || n > 1;
        if (times != n)
            return NULL;
    }
    return taps && recipe_dims(once)[1] > 1 ? NULL : once;
}

/* Scales and zero points in the order of [OC][IC][taps...], each once. */
typedef struct Scales {
    Recipe *scale, *zero; /* [OC][blocks][1...] */
    int64_t block;        /* of IC, or all of it and the taps */
} Scales;

/* false: they have no such order, or are as large as weights of float32. */
static bool find_scales(Store *store, const Narrow *narrow, Scales *scales)
{
    int64_t block;
    const int bits = dtype_bits(recipe_dtype(narrow->values));
    scales->scale = each_once(store, narrow->scale, &scales->block);
    scales->zero = NULL;
    if (!scales->scale)
        return false;
    const int more = dtype_bits(recipe_dtype(scales->scale));
    if (recipe_dims(scales->scale)[1] > 1 && bits + more / scales->block >= 32)
        return false;
    if (!narrow->zero)
        return true;
    scales->zero = each_once(store, narrow->zero, &block);
    return scales->zero && block == scales->block;
}

/* What a kernel is told of them. */
static Tensor *how_of(Lower *lower, const Narrow *narrow, const Scales *scales,
                      int64_t groups)
{
    const int64_t *dims = recipe_dims(narrow->values);
    const int64_t blocks = recipe_dims(scales->scale)[1];
    int64_t taps = scales->block;
    if (blocks == 1)
        taps = dims[0] ? recipe_count(narrow->values) / dims[0] : 0;
    const int32_t how[INLAY_HOW_COUNT] = {
        [INLAY_HOW_BLOCK] = i32_checked(taps),
        [INLAY_HOW_BLOCKS] = i32_checked(blocks),
        [INLAY_HOW_CHANNELS] =
            i32_checked(i64_mul(groups, up4(dims[0] / groups))),
        [INLAY_HOW_SCALE] = scale_code(scales->scale),
        [INLAY_HOW_ZERO] = (int32_t)narrow->middle,
    };
    return lower_i32s(lower, how, INLAY_HOW_COUNT);
}

/* What `narrow` has beside its values, of [OC][IC][taps...], in the order that kernels read; false:
 * they have no such order. */
static bool pack_scales(Lower *lower, const Narrow *narrow, int64_t groups,
                        Weights *weights)
{
    Scales scales;
    if (!find_scales(lower->store, narrow, &scales))
        return false;
    Recipe *scale = pack_channels(lower, scales.scale, groups);
    weights->how = how_of(lower, narrow, &scales, groups);
    weights->scale = lower_constant(lower, scale);
    if (!scales.zero)
        return true;
    Recipe *zero = pack_channels(lower, scales.zero, groups);
    weights->zero = lower_constant(lower, zero);
    return true;
}

Weights pack_conv_weights(Lower *lower, const Recipe *w, int64_t groups)
{
    Narrow narrow;
    Weights weights = { .type = DT_F32 };
    if (!lower->narrow || !recipe_narrow(lower->store, w, &narrow))
        return wide_weights(lower, pack_channels(lower, w, groups));
    if (narrow.scale && !pack_scales(lower, &narrow, groups, &weights))
        return wide_weights(lower, pack_channels(lower, w, groups));
    weights.type = recipe_dtype(narrow.values);
    weights.values =
        lower_constant(lower, pack_channels(lower, narrow.values, groups));
    return weights;
}

Tensor *pack_wide_weights(Lower *lower, const Recipe *w, int64_t groups)
{
    return lower_constant(lower, pack_channels(lower, w, groups));
}

void weights_operands(Step *step, const Weights *weights)
{
    if (weights->type == DT_F32)
        return;
    step_in(step, weights->how);
    step_in(step, weights->scale);
    step_in(step, weights->zero);
}

/* Axis of k taps -> taps of a phase, last first, and phases: two axes. */
static Recipe *cut_phases(Store *store, const Recipe *w, int axis,
                          int64_t stride)
{
    const int64_t k = recipe_dims(w)[axis];
    const int64_t each = i64_ceil_div(k, stride);
    Recipe *recipe = recipe_pad(store, w, axis, 0, each * stride - k);
    int64_t dims[MAX_RANK];
    const int rank = recipe_rank(recipe);
    for (int i = 0; i < rank; i++)
        dims[i < axis ? i : i + 1] = recipe_dims(recipe)[i];
    dims[axis] = each, dims[axis + 1] = stride;
    return recipe_slice(store, recipe_reshape(store, recipe, rank + 1, dims),
                        axis, each - 1, -1, each);
}

/* Blocks of [from, from + count) of w [groups][IC][OC][KH][PH][KW][PW] ->
 * [PH][PW][groups][blocks][KH][KW][IC][width], as [phases * groups][all the rest]. */
static Recipe *deconv_section(Store *store, const Recipe *w, int64_t from,
                              int64_t count, int64_t width)
{
    static const int perm[8] = { 5, 7, 0, 2, 4, 6, 1, 3 };
    const int64_t fill = i64_ceil_div(count, width) * width - count;
    Recipe *recipe = recipe_slice(store, w, 2, from, 1, count);
    recipe = recipe_pad(store, recipe, 2, 0, fill);
    const int64_t *d = recipe_dims(recipe);
    const int64_t block = d[2] / width;
    const int64_t cut[8] = { d[0], d[1], block, width, d[3], d[4], d[5], d[6] };
    recipe = recipe_reshape(store, recipe, 8, cut);
    return recipe_transpose(store, recipe, perm);
}

/* w [groups][IC][OC][KH][KW] -> [PH * PW * groups][blocks]. */
static Recipe *deconv_plane(Lower *lower, const Recipe *w, int64_t sh,
                            int64_t sw)
{
    Store *store = lower->store;
    const int64_t groups = recipe_dims(w)[0];
    const int64_t oc = recipe_dims(w)[2];
    const int64_t phases = i64_mul(groups, i64_mul(sh, sw));
    Section sections[SECTIONS];
    Recipe *part[SECTIONS];
    int n = 0;
    Recipe *recipe = cut_phases(store, cut_phases(store, w, 4, sw), 3, sh);
    sections_of(oc, lower->pack_width, sections);
    for (int i = 0; i < SECTIONS; i++) {
        const Section *section = sections + i;
        if (!section->size)
            continue;
        const int64_t count = i64_min(section->size, oc - section->from);
        Recipe *blocks_of =
            deconv_section(store, recipe, section->from, count, section->width);
        part[n++] = flat(store, blocks_of, phases);
    }
    return joined(store, n, part, 1);
}

/* Channels [from, from + count) of a plane of w [IC][OC][KD][KH][KW], in a block of that width. */
static Recipe *plane_block(Store *store, const Recipe *w, int64_t z,
                           const int64_t *phase, int64_t from, int64_t width)
{
    const int64_t *d = recipe_dims(w);
    const int64_t dims[5] = { 1, d[0], d[1], d[3], d[4] };
    const int64_t count = i64_min(width, d[1] - from);
    Recipe *recipe = recipe_slice(store, w, 2, z, 1, 1);
    recipe = recipe_reshape(store, recipe, 5, dims);
    recipe = cut_phases(store, recipe, 4, phase[1]);
    recipe = cut_phases(store, recipe, 3, phase[0]);
    recipe = deconv_section(store, recipe, from, count, width);
    return flat(store, recipe, i64_mul(phase[0], phase[1]));
}

/* The same of all planes. */
static Recipe *deconv_block(Lower *lower, const Recipe *w, const int64_t *phase,
                            int64_t from, int64_t width)
{
    Store *store = lower->store;
    const int64_t planes = recipe_dims(w)[2];
    Recipe **plane = NEW_ARRAY(lower->arena, Recipe *, planes);
    for (int64_t z = 0; z < planes; z++)
        plane[z] = plane_block(store, w, z, phase, from, width);
    return joined(store, planes, plane, 1);
}

/* One phase of depth, taps last first, one group: each plane by itself, block by block. w
 * [IC][OC][KD][KH][KW] -> [PH * PW][blocks]. */
static Recipe *deconv_depth(Lower *lower, const Recipe *w, const int64_t *phase)
{
    Store *store = lower->store;
    const int64_t oc = recipe_dims(w)[1];
    Section sections[SECTIONS];
    Recipe *all = NULL;
    sections_of(oc, lower->pack_width, sections);
    for (int i = 0; i < SECTIONS; i++) {
        const Section *section = sections + i;
        const int64_t end = section->from + section->size;
        for (int64_t from = section->from; from < end && from < oc;
             from += section->width) {
            Recipe *block = deconv_block(lower, w, phase, from, section->width);
            Recipe *both[] = { all, block };
            all = all ? recipe_concat(store, 2, both, 1) : block;
        }
    }
    return all;
}

/* w [IC][OC][KD][KH][KW] of one group: phase of depth by phase of depth. */
static Recipe *pack_deconv_planes(Lower *lower, const Recipe *w,
                                  const int64_t *phases)
{
    Store *store = lower->store;
    const int64_t deep = recipe_dims(w)[2];
    const int64_t planes = phases[0];
    const int64_t each = i64_ceil_div(deep, planes);
    const int64_t last = (each - 1) * planes;
    Recipe **depth = NEW_ARRAY(lower->arena, Recipe *, planes);
    Recipe *padded = recipe_pad(store, w, 2, 0, each * planes - deep);
    for (int64_t z = 0; z < planes; z++) {
        Recipe *taps = recipe_slice(store, padded, 2, z + last, -planes, each);
        depth[z] = deconv_depth(lower, taps, phases + 1);
    }
    return joined(store, planes, depth, 0);
}

static Recipe *pack_deconv(Lower *lower, const Recipe *w, int64_t groups,
                           const DeconvTaps *taps)
{
    Store *store = lower->store;
    const int64_t *d = recipe_dims(w);
    const int64_t *phases = taps->phases;
    if (recipe_rank(w) >= 5)
        return pack_deconv_planes(lower, w, phases);
    const int64_t dims[5] = {
        groups, d[0] / groups, d[1], taps->all[1], taps->all[2],
    };
    Recipe *image = recipe_reshape(store, w, 5, dims);
    return deconv_plane(lower, image, phases[1], phases[2]);
}

/* Taps that a phase lacks are stored as zeros: only without scales these stay zero. */
Weights pack_deconv_weights(Lower *lower, const Recipe *w, int64_t groups,
                            const DeconvTaps *taps)
{
    Narrow narrow;
    if (!lower->narrow || !recipe_narrow(lower->store, w, &narrow) ||
        narrow.scale) {
        Recipe *wide = pack_deconv(lower, w, groups, taps);
        return wide_weights(lower, wide);
    }
    Recipe *packed = pack_deconv(lower, narrow.values, groups, taps);
    return (Weights){
        .type = recipe_dtype(narrow.values),
        .values = lower_constant(lower, packed),
    };
}

Weights pack_matrix(Lower *lower, const Recipe *w, bool transposed, float alpha)
{
    static const int swap[2] = { 1, 0 };
    Store *store = lower->store;
    Recipe *recipe = transposed ? recipe_reshape(store, w, 2, recipe_dims(w))
                                : recipe_transpose(store, w, swap);
    if (alpha != 1.0f)
        recipe = recipe_mul(store, recipe, recipe_number(store, alpha));
    return pack_conv_weights(lower, recipe, 1);
}

Tensor *pack_bias(Lower *lower, const Recipe *bias, int64_t groups, int64_t oc)
{
    Store *store = lower->store;
    const int64_t dims[2] = { groups, oc };
    const int64_t all[2] = { groups, up4(oc) };
    const int64_t more = all[1] - oc;
    const float zero = 0.0f;
    if (!bias)
        return lower_constant(lower, recipe_fill(store, DT_F32, 2, all, &zero));
    Recipe *recipe = recipe_reshape(store, bias, 2, dims);
    if (more)
        recipe = recipe_pad(store, recipe, 1, 0, more);
    return lower_constant(lower, recipe);
}

Weights pack_depthwise_weights(Lower *lower, const Recipe *w)
{
    Store *s = lower->store;
    static const int swap[2] = { 1, 0 };
    const int64_t c = recipe_dims(w)[0];
    const int64_t dims[2] = { c, c ? recipe_count(w) / c : 0 };
    return wide_weights(
        lower, recipe_transpose(s, recipe_reshape(s, w, 2, dims), swap));
}
