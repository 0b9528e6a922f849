/* SPDX-License-Identifier: Apache-2.0
 * Packing of constant weights: in which type, with which scales. How they lie: pack_blocks.c. */
#include "ops/pack.h"

#include "base/size.h"
#include "kernels/dwconv_narrow.h"
#include "kernels/tile_narrow.h"
#include "ops/palette.h"

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

/* w [groups * OC][IC][taps...] in blocks of that width. */
static Tensor *in_blocks(Lower *lower, const Recipe *w, int64_t groups,
                         int width)
{
    static const PaletteFacts facts = { .filled = false };
    Palette *palette;
    const Recipe *own = palette_weights(lower, w, &facts, &palette);
    const PaletteForm form = blocks_form(w, groups, width);
    Recipe *packed = blocks_of_conv(lower, own, groups, width);
    Tensor *constant = lower_constant(lower, packed);
    palette_lies(lower, palette, &form);
    return constant;
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
    if (runs && blocks_up4(each) % width)
        return false;
    return is_one(store, scales->scale) &&
           (!scales->zero || is_one(store, scales->zero));
}

static Tensor *pack_numbers(Lower *lower, const Recipe *numbers,
                            int64_t channels, int64_t groups, int width)
{
    const Recipe *part = recipe_part(lower->store, numbers, 0, 0, channels);
    return lower_constant(lower, blocks_of_conv(lower, part, groups, width));
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
    int64_t packed = i64_mul(groups, blocks_up4(each));
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
    weights->type = recipe_dtype(narrow->values);
    weights->values = in_blocks(lower, narrow->values, groups, weights->width);
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
    weights = (Weights){
        .type = DT_F32,
        .width = block_width(lower, w, groups, DT_F32),
    };
    weights.values = in_blocks(lower, w, groups, weights.width);
    return weights;
}

Tensor *pack_wide_weights(Lower *lower, const Recipe *w, int64_t groups)
{
    return in_blocks(lower, w, groups, lower->pack_width);
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
    conv.values = blocks_as_conv(store, narrow->values, groups);
    conv.scale = blocks_as_conv(store, narrow->scale, groups);
    if (narrow->zero)
        conv.zero = blocks_as_conv(store, narrow->zero, groups);
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
        Recipe *wide = blocks_of_deconv(lower, w, groups, taps);
        return wide_weights(lower, wide);
    }
    Recipe *packed = blocks_of_deconv(lower, narrow.values, groups, taps);
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
    const int64_t all[2] = { groups, blocks_up4(oc) };
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

/* w [C][1][taps...] -> [taps...][C]. */
static Tensor *turned_channels(Lower *lower, const Recipe *w, int64_t channels)
{
    static const PaletteFacts facts = { .filled = false };
    Palette *palette;
    const Recipe *own = palette_weights(lower, w, &facts, &palette);
    const PaletteForm form = palette_turned(channels, recipe_count(w));
    Recipe *matrix = recipe_matrix(lower->store, own, channels);
    Recipe *turned = recipe_turn(lower->store, matrix);
    Tensor *constant = lower_constant(lower, turned);
    palette_lies(lower, palette, &form);
    return constant;
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
    weights.type = recipe_dtype(stored);
    weights.values = turned_channels(lower, stored, channels);
    return weights;
}
