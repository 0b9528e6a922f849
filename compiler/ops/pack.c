/* SPDX-License-Identifier: Apache-2.0
 * Packing of constant weights: transposes, paddings and cuts of recipes; no byte is read here. */
#include "ops/pack.h"

#include "base/size.h"
#include "kernels/dwconv_narrow.h"
#include "kernels/tile_narrow.h"
#include "ops/nest.h"

static int64_t up4(int64_t n)
{
    return i64_add(n, 3) / 4 * 4;
}

/* Channels of the result from `from` on, which lie in blocks of one width. */
typedef struct Section {
    int64_t from;
    int64_t size;
    int64_t width; /* of a block */
} Section;

/* Channels in blocks of the full width, then one of 8, then one of 4. */
typedef struct Sections {
    int n;
    int64_t end; /* of the last */
    Section section[3];
} Sections;

static void add_section(Sections *sections, int64_t size, int64_t width)
{
    if (!size)
        return;
    sections->section[sections->n++] = (Section){
        .from = sections->end,
        .size = size,
        .width = width,
    };
    sections->end += size;
}

static Sections sections_of(int64_t oc, int64_t width)
{
    const int64_t full = up4(oc) / width * width;
    const int64_t left = up4(oc) - full;
    const int64_t eight = left >= 8 ? 8 : 0;
    Sections sections = { .n = 0 };
    add_section(&sections, full, width);
    add_section(&sections, eight, 8);
    add_section(&sections, left - eight, 4);
    return sections;
}

/* A section of the channels, which are an axis of w, filled up to whole blocks. */
static Recipe *cut_section(Store *store, const Recipe *w, int axis,
                           const Section *section)
{
    const int64_t channels = recipe_dims(w)[axis] - section->from;
    const int64_t count = i64_min(section->size, channels);
    const int64_t blocks = i64_ceil_div(count, section->width);
    Recipe *part = recipe_part(store, w, axis, section->from, count);
    return recipe_fill_up(store, part, axis, blocks * section->width);
}

/* A section of w [groups][OC][IC][taps] -> [groups][blocks][taps][IC][width]. */
static Recipe *conv_section(Store *store, const Recipe *w,
                            const Section *section)
{
    static const int perm[5] = { 0, 1, 4, 3, 2 };
    Recipe *recipe = cut_section(store, w, 1, section);
    const int64_t *d = recipe_dims(recipe);
    const int64_t width = section->width;
    const int64_t cut[5] = { d[0], d[1] / width, width, d[2], d[3] };
    recipe = recipe_reshape(store, recipe, 5, cut);
    return recipe_transpose(store, recipe, perm);
}

/* Recipes one behind the other along an axis. */
static Recipe *joined(Store *store, int64_t n, Recipe **part, int axis)
{
    return n == 1 ? part[0] : recipe_concat(store, (int)n, part, axis);
}

/* The sections of w [groups][OC][IC][taps]. */
static Recipe *blocks(Store *store, const Recipe *w, int64_t width)
{
    const int64_t *dims = recipe_dims(w);
    const Sections sections = sections_of(dims[1], width);
    const int n = sections.n;
    Recipe *part[3];
    for (int i = 0; i < n; i++)
        part[i] = conv_section(store, w, sections.section + i);
    if (n == 1)
        return part[0];
    for (int i = 0; i < n; i++)
        part[i] = recipe_matrix(store, part[i], dims[0]);
    return recipe_concat(store, n, part, 1);
}

/* Weights [groups * OC][IC][taps...] -> for each group, blocks of [taps][IC][width]. */
static Recipe *pack_channels(Lower *lower, const Recipe *w, int64_t groups,
                             int width)
{
    Store *store = lower->store;
    const int64_t *d = recipe_dims(w);
    int64_t taps = 1;
    for (int i = 2; i < recipe_rank(w); i++)
        taps = i64_mul(taps, d[i]);
    const int64_t dims[4] = { groups, d[0] / groups, d[1], taps };
    Recipe *image = recipe_reshape(store, w, 4, dims);
    return blocks(store, image, width);
}

/* Channels of a block of w [groups * OC][IC][taps...], with their bias: fewer where weights come
 * through a window that a block of the usual size does not fit into. */
static int block_width(const Lower *lower, const Recipe *w, int64_t groups,
                       DType type)
{
    const int64_t channels = recipe_dims(w)[0];
    int width = lower->pack_width;
    if (!lower->window || !channels || groups != 1)
        return width;
    const int64_t bits = i64_mul(recipe_count(w) / channels, dtype_bits(type));
    const int64_t bytes = i64_add(bits, dtype_bits(DT_F32)) / 8;
    while (width > 4 && i64_mul(bytes, width) > lower->window)
        width /= 2;
    return width;
}

static Weights wide_weights(Lower *lower, Recipe *packed)
{
    return (Weights){
        .type = DT_F32,
        .values = lower_constant(lower, packed),
        .width = lower->pack_width,
    };
}

/* false: they are of float32, or are to become so. */
static bool find_narrow(const Lower *lower, const Recipe *w, Narrow *narrow)
{
    return lower->narrow && recipe_narrow(lower->store, w, narrow);
}

bool weights_are_narrow(const Lower *lower, const Recipe *w)
{
    Narrow narrow;
    return find_narrow(lower, w, &narrow);
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
    Recipe *scale; /* [OC][blocks][1...] */
    Recipe *zero;  /* so too */
    int64_t block; /* of IC, or all of it and the taps */
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

/* What a kernel is told of them; `channels`: that have scales. */
static Tensor *how_of(Lower *lower, const Narrow *narrow, const Scales *scales,
                      int64_t channels)
{
    const int64_t *dims = recipe_dims(narrow->values);
    const int64_t blocks = recipe_dims(scales->scale)[1];
    int64_t taps = scales->block;
    if (blocks == 1)
        taps = dims[0] ? recipe_count(narrow->values) / dims[0] : 0;
    const int32_t how[INLAY_HOW_COUNT] = {
        [INLAY_HOW_BLOCK] = i32_checked(taps),
        [INLAY_HOW_BLOCKS] = i32_checked(blocks),
        [INLAY_HOW_CHANNELS] = i32_checked(channels),
        [INLAY_HOW_SCALE] = scale_code(scales->scale),
        [INLAY_HOW_ZERO] = (int32_t)narrow->middle,
    };
    return lower_i32s(lower, how, INLAY_HOW_COUNT);
}

/* Are they one for all channels? */
static bool is_one(Store *store, const Recipe *numbers)
{
    int64_t times;
    const int64_t *dims = recipe_dims(numbers);
    recipe_once(store, numbers, 0, &times);
    return dims[1] == 1 && times == dims[0];
}

/* One scale for all serves as that of the channels of one block, where all blocks begin at a
 * multiple of its width: in one run of channels, or in runs that end with whole blocks. */
static bool serves_all(Store *store, const Scales *scales, int64_t each,
                       bool runs, int64_t width)
{
    if (recipe_dims(scales->scale)[0] <= width)
        return false;
    if (runs && up4(each) % width)
        return false;
    return is_one(store, scales->scale) &&
           (!scales->zero || is_one(store, scales->zero));
}

static Tensor *pack_numbers(Lower *lower, const Recipe *numbers,
                            int64_t channels, int64_t groups, int width)
{
    const Recipe *part = recipe_part(lower->store, numbers, 0, 0, channels);
    return lower_constant(lower, pack_channels(lower, part, groups, width));
}

/* What `narrow` has beside its values, of [OC][IC][taps...], in the order that kernels read; false:
 * they have no such order. runs: channels lie in several. */
static bool pack_scales(Lower *lower, const Narrow *narrow, int64_t groups,
                        bool runs, Weights *weights)
{
    Scales scales;
    if (!find_scales(lower->store, narrow, &scales))
        return false;
    int64_t channels = recipe_dims(scales.scale)[0];
    const int64_t each = channels / groups;
    int64_t packed = i64_mul(groups, up4(each));
    const int width = weights->width;
    if (serves_all(lower->store, &scales, each, runs, width)) {
        channels = width;
        packed = width;
        groups = 1;
    }
    weights->how = how_of(lower, narrow, &scales, packed);
    weights->scale = pack_numbers(lower, scales.scale, channels, groups, width);
    if (scales.zero)
        weights->zero =
            pack_numbers(lower, scales.zero, channels, groups, width);
    return true;
}

/* In blocks of weights->width; false: they are packed as float32. */
static bool pack_narrow(Lower *lower, const Narrow *narrow, int64_t groups,
                        Weights *weights)
{
    if (narrow->scale &&
        !pack_scales(lower, narrow, groups, groups != 1, weights))
        return false;
    Recipe *packed =
        pack_channels(lower, narrow->values, groups, weights->width);
    weights->type = recipe_dtype(narrow->values);
    weights->values = lower_constant(lower, packed);
    return true;
}

Weights pack_conv_weights(Lower *lower, const Recipe *w, int64_t groups)
{
    Narrow narrow;
    Weights weights = { .width = lower->pack_width };
    const bool is_narrow = find_narrow(lower, w, &narrow);
    if (is_narrow && !narrow.scale) {
        const DType type = recipe_dtype(narrow.values);
        weights.width = block_width(lower, w, groups, type);
    }
    if (is_narrow && pack_narrow(lower, &narrow, groups, &weights))
        return weights;
    const int width = block_width(lower, w, groups, DT_F32);
    weights = wide_weights(lower, pack_channels(lower, w, groups, width));
    weights.width = width;
    return weights;
}

Tensor *pack_wide_weights(Lower *lower, const Recipe *w, int64_t groups)
{
    return lower_constant(lower,
                          pack_channels(lower, w, groups, lower->pack_width));
}

DType gate_weights_type(const Lower *lower, const Recipe *w)
{
    Narrow narrow;
    Scales scales;
    if (!find_narrow(lower, w, &narrow))
        return DT_F32;
    if (narrow.scale && !find_scales(lower->store, &narrow, &scales))
        return DT_F32;
    return recipe_dtype(narrow.values);
}

Weights pack_gate_weights(Lower *lower, const Recipe *w, int64_t groups,
                          DType type)
{
    Narrow narrow;
    Weights weights = { .width = lower->pack_width };
    if (type != DT_F32 && find_narrow(lower, w, &narrow) &&
        pack_narrow(lower, &narrow, groups, &weights))
        return weights;
    weights.type = DT_F32;
    weights.values = pack_wide_weights(lower, w, groups);
    return weights;
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
    const int64_t *from = recipe_dims(w);
    const int rank = recipe_rank(w);
    const int64_t each = i64_ceil_div(from[axis], stride);
    int64_t dims[MAX_RANK];
    for (int i = 0; i < rank; i++)
        dims[i < axis ? i : i + 1] = from[i];
    dims[axis] = each;
    dims[axis + 1] = stride;
    Recipe *recipe = recipe_fill_up(store, w, axis, each * stride);
    recipe = recipe_reshape(store, recipe, rank + 1, dims);
    return recipe_slice(store, recipe, axis, each - 1, -1, each);
}

/* Both axes of the taps of an image, the last two, cut into phases. */
static Recipe *cut_image(Store *store, const Recipe *w, const int64_t *phases)
{
    Recipe *recipe = cut_phases(store, w, 4, phases[1]);
    return cut_phases(store, recipe, 3, phases[0]);
}

/* Blocks of a section of w [groups][IC][OC][KH][PH][KW][PW] ->
 * [PH][PW][groups][blocks][KH][KW][IC][width], as a matrix of so many rows. */
static Recipe *deconv_section(Store *store, const Recipe *w,
                              const Section *section, int64_t rows)
{
    static const int perm[8] = { 5, 7, 0, 2, 4, 6, 1, 3 };
    const int64_t width = section->width;
    Recipe *recipe = cut_section(store, w, 2, section);
    const int64_t *d = recipe_dims(recipe);
    const int64_t block = d[2] / width;
    const int64_t cut[8] = {
        d[0], d[1], block, width, d[3], d[4], d[5], d[6],
    };
    recipe = recipe_reshape(store, recipe, 8, cut);
    recipe = recipe_transpose(store, recipe, perm);
    return recipe_matrix(store, recipe, rows);
}

/* w [groups][IC][OC][KH][KW] -> [PH * PW * groups][blocks]. */
static Recipe *deconv_plane(Lower *lower, const Recipe *w,
                            const int64_t *phases)
{
    Store *store = lower->store;
    const int64_t *dims = recipe_dims(w);
    const int64_t each = i64_mul(phases[0], phases[1]);
    const int64_t rows = i64_mul(dims[0], each);
    Recipe *part[3];
    Recipe *recipe = cut_image(store, w, phases);
    const Sections sections = sections_of(dims[2], lower->pack_width);
    for (int i = 0; i < sections.n; i++) {
        const Section *section = sections.section + i;
        part[i] = deconv_section(store, recipe, section, rows);
    }
    return joined(store, sections.n, part, 1);
}

/* A block of channels of plane z of w [IC][OC][KD][KH][KW]. */
static Recipe *plane_block(Store *store, const Recipe *w, int64_t z,
                           const int64_t *phases, const Section *block)
{
    const int64_t *d = recipe_dims(w);
    const int64_t dims[5] = { 1, d[0], d[1], d[3], d[4] };
    const int64_t rows = i64_mul(phases[0], phases[1]);
    Recipe *recipe = recipe_part(store, w, 2, z, 1);
    recipe = recipe_reshape(store, recipe, 5, dims);
    recipe = cut_image(store, recipe, phases);
    return deconv_section(store, recipe, block, rows);
}

/* The same of all planes. */
static Recipe *deconv_block(Lower *lower, const Recipe *w,
                            const int64_t *phases, const Section *block)
{
    Store *store = lower->store;
    const int64_t planes = recipe_dims(w)[2];
    Recipe **plane = NEW_ARRAY(lower->arena, Recipe *, planes);
    for (int64_t z = 0; z < planes; z++)
        plane[z] = plane_block(store, w, z, phases, block);
    return joined(store, planes, plane, 1);
}

/* One phase of depth, taps last first, one group: each plane by itself, block by block. w
 * [IC][OC][KD][KH][KW] -> [PH * PW][blocks]. */
static Recipe *deconv_depth(Lower *lower, const Recipe *w,
                            const int64_t *phases)
{
    const int64_t oc = recipe_dims(w)[1];
    const Sections sections = sections_of(oc, lower->pack_width);
    Recipe *both[2];
    int n = 0;
    for (int i = 0; i < sections.n; i++) {
        Section block = sections.section[i];
        const int64_t end = i64_min(oc, block.from + block.size);
        for (block.size = block.width; block.from < end;
             block.from += block.width) {
            both[n++] = deconv_block(lower, w, phases, &block);
            both[0] = joined(lower->store, n, both, 1);
            n = 1;
        }
    }
    return n ? both[0] : NULL;
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
    Recipe *padded = recipe_fill_up(store, w, 2, each * planes);
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
    return deconv_plane(lower, image, phases + 1);
}

/* w [groups * IC][OC][taps...] -> [groups * OC][IC][taps], as a Conv has them. */
static Recipe *as_conv(Store *store, const Recipe *w, int64_t groups)
{
    static const int perm[4] = { 0, 2, 1, 3 };
    const Shape shape = shape_of(recipe_rank(w), recipe_dims(w));
    const int64_t ic = shape.dim[0] / groups;
    const int64_t oc = shape.dim[1];
    const int64_t taps = shape_product(&shape, 2, shape.rank);
    const int64_t cut[4] = { groups, ic, oc, taps };
    const int64_t dims[3] = { i64_mul(groups, oc), ic, taps };
    Recipe *apart = recipe_reshape(store, w, 4, cut);
    Recipe *turned = recipe_transpose(store, apart, perm);
    return recipe_reshape(store, turned, 3, dims);
}

/* Taps that a phase lacks are stored as zeros: with zero points these do not stay zero. */
static bool zeros_stay(const Narrow *narrow, const DeconvTaps *taps)
{
    if (!narrow->zero && narrow->middle == 0.0f)
        return true;
    for (int i = 0; i < 3; i++)
        if (taps->all[i] % taps->phases[i])
            return false;
    return true;
}

static bool all_zero(Store *store, const Recipe *numbers)
{
    const ArenaMark mark = arena_mark(&store->scratch);
    const uint8_t *byte = recipe_values(store, &store->scratch, numbers);
    bool zero = true;
    for (int64_t i = 0; i < recipe_bytes(numbers); i++)
        zero &= byte[i] == 0;
    arena_release(&store->scratch, mark);
    return zero;
}

/* The scales of each channel, which serve all phases; false: they are not of that form. */
static bool deconv_scales(Lower *lower, const Narrow *narrow, int64_t groups,
                          const DeconvTaps *taps, Weights *weights)
{
    Scales scales;
    Store *store = lower->store;
    Narrow conv = *narrow;
    if (recipe_rank(narrow->values) >= 5)
        return false;
    conv.values = as_conv(store, narrow->values, groups);
    conv.scale = as_conv(store, narrow->scale, groups);
    if (narrow->zero)
        conv.zero = as_conv(store, narrow->zero, groups);
    if (!find_scales(store, &conv, &scales))
        return false;
    const int64_t blocks = recipe_dims(scales.scale)[1];
    if (blocks != 1)
        return false;
    if (conv.zero && all_zero(store, scales.zero))
        conv.zero = NULL;
    return zeros_stay(&conv, taps) &&
           pack_scales(lower, &conv, groups, true, weights);
}

Weights pack_deconv_weights(Lower *lower, const Recipe *w, int64_t groups,
                            const DeconvTaps *taps)
{
    Narrow narrow;
    Weights weights = { .width = lower->pack_width };
    if (!find_narrow(lower, w, &narrow) ||
        (narrow.scale &&
         !deconv_scales(lower, &narrow, groups, taps, &weights))) {
        Recipe *wide = pack_deconv(lower, w, groups, taps);
        return wide_weights(lower, wide);
    }
    Recipe *packed = pack_deconv(lower, narrow.values, groups, taps);
    weights.type = recipe_dtype(narrow.values);
    weights.values = lower_constant(lower, packed);
    return weights;
}

Weights pack_matrix(Lower *lower, const Recipe *w, bool transposed, float alpha)
{
    Store *store = lower->store;
    Recipe *recipe = transposed ? recipe_reshape(store, w, 2, recipe_dims(w))
                                : recipe_turn(store, w);
    if (alpha != 1.0f) {
        const Recipe *factor = recipe_number(store, alpha);
        recipe = recipe_mul(store, recipe, factor);
    }
    return pack_conv_weights(lower, recipe, 1);
}

Tensor *pack_bias(Lower *lower, const Recipe *bias, int64_t groups, int64_t oc)
{
    Store *store = lower->store;
    const int64_t dims[2] = { groups, oc };
    const int64_t all[2] = { groups, up4(oc) };
    const float zero = 0.0f;
    Recipe *recipe;
    if (bias) {
        recipe = recipe_reshape(store, bias, 2, dims);
        recipe = recipe_fill_up(store, recipe, 1, all[1]);
    } else {
        recipe = recipe_fill(store, DT_F32, 2, all, &zero);
    }
    return lower_constant(lower, recipe);
}

/* Scales or zero points [C][1][1...], one for each channel. */
static Tensor *of_channels(Lower *lower, const Recipe *numbers)
{
    const int64_t channels = recipe_dims(numbers)[0];
    return lower_constant(lower,
                          recipe_reshape(lower->store, numbers, 1, &channels));
}

/* false: they have another order than that of the channels. */
static bool depthwise_scales(Lower *lower, const Narrow *narrow,
                             Weights *weights)
{
    Scales scales;
    if (!find_scales(lower->store, narrow, &scales))
        return false;
    const int64_t channels = recipe_dims(narrow->values)[0];
    weights->how = how_of(lower, narrow, &scales, channels);
    weights->scale = of_channels(lower, scales.scale);
    if (scales.zero)
        weights->zero = of_channels(lower, scales.zero);
    return true;
}

Weights pack_depthwise_weights(Lower *lower, const Recipe *w)
{
    Narrow narrow;
    Weights weights = { .width = lower->pack_width };
    const int64_t channels = recipe_dims(w)[0];
    const bool few = recipe_count(w) / channels <= INLAY_DW_NARROW_TAPS;
    const bool as_stored =
        few && find_narrow(lower, w, &narrow) &&
        (!narrow.scale || depthwise_scales(lower, &narrow, &weights));
    const Recipe *stored = as_stored ? narrow.values : w;
    Recipe *matrix = recipe_matrix(lower->store, stored, channels);
    weights.type = recipe_dtype(stored);
    weights.values = lower_constant(lower, recipe_turn(lower->store, matrix));
    return weights;
}
