/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/winograd.h"

#include "base/io.h"
#include "base/size.h"
#include "kernels/winograd_f32.h"

enum {
    TAPS = 9,        /* of a window */
    PIECE = 1 << 20, /* bytes of weights that are transformed at a time */
    CACHE_BYTES =
        1 << 18, /* of patches and products of a block: more buys little time */
    LEAST_TILES = 14,    /* of a block, that each weight is used for */
    LEAST_CHANNELS = 16, /* of x; fewer are less than a vector */
    LEAST_RESULTS = 8,   /* fewer channels do not pay for the transformations */
};

/* Rows of G: how the three taps of an axis become the `side` weights of a patch. */
static const double small_rows[4][3] = {
    { 1.0, 0.0, 0.0 },
    { 0.5, 0.5, 0.5 },
    { 0.5, -0.5, 0.5 },
    { 0.0, 0.0, 1.0 },
};
static const double large_rows[6][3] = {
    { 1.0 / 4, 0.0, 0.0 },
    { -1.0 / 6, -1.0 / 6, -1.0 / 6 },
    { -1.0 / 6, 1.0 / 6, -1.0 / 6 },
    { 1.0 / 24, 1.0 / 12, 1.0 / 6 },
    { 1.0 / 24, -1.0 / 12, 1.0 / 6 },
    { 0.0, 0.0, 1.0 },
};

static const double (*rows_of(int32_t tile))[3]
{
    return tile == 4 ? large_rows : small_rows;
}

/* ---- weights ---- */

typedef struct Transform {
    Later later; /* the first member: what the recipe knows of it */
    const Recipe *w;
    int64_t ic, oc;
    int32_t tile;
} Transform;

/* A row of G times three taps. */
static double taps_by(const double *row, double a, double b, double c)
{
    return row[0] * a + row[1] * b + row[2] * c;
}

/* G w G' of one pair of channels, `apart` floats from each other. */
static void transform_taps(const float *w, int32_t tile, float *to,
                           int64_t apart)
{
    const int side = tile + 2;
    const double(*rows)[3] = rows_of(tile);
    for (int i = 0; i < side; i++) {
        double half[3];
        for (int k = 0; k < 3; k++)
            half[k] = taps_by(rows[i], (double)w[k], (double)w[3 + k],
                              (double)w[6 + k]);
        for (int k = 0; k < side; k++) {
            *to = (float)taps_by(rows[k], half[0], half[1], half[2]);
            to += apart;
        }
    }
}

/* Channels [from, from + n) of the result: a run of the file for each place of a patch. */
static void transform_piece(Store *store, const Transform *transform,
                            int64_t from, int64_t n)
{
    Arena *arena = store->arena;
    const int64_t pairs = n * transform->ic;
    const int64_t side = transform->tile + 2;
    const Recipe *slice = recipe_part(store, transform->w, 0, from, n);
    const float *w = recipe_values(store, arena, slice);
    float *made = arena_buffer(
        arena, size_mul(sizeof *made, (size_t)(pairs * side * side)));
    for (int64_t i = 0; i < pairs; i++)
        transform_taps(w + i * TAPS, transform->tile, made + i, pairs);
    const int64_t row = transform->ic * (int64_t)sizeof *made;
    for (int64_t k = 0; k < side * side; k++) {
        const int64_t channel = k * transform->oc + from;
        const uint64_t at =
            transform->later.place.offset + (uint64_t)(channel * row);
        file_write(store->spill, at, made + k * pairs, (size_t)(n * row));
    }
}

static void make_transformed(Store *store, Later *later)
{
    const Transform *transform = (const Transform *)later;
    const int64_t each = transform->ic * TAPS * (int64_t)sizeof(float);
    const int64_t most = i64_max(PIECE / each, 1);
    for (int64_t from = 0; from < transform->oc; from += most) {
        const ArenaMark mark = arena_mark(store->arena);
        const uint64_t spilled = store->spill_size;
        transform_piece(store, transform, from,
                        i64_min(most, transform->oc - from));
        store->spill_size = spilled;
        arena_release(store->arena, mark);
    }
}

Recipe *winograd_weights(Store *store, const Recipe *w, int32_t tile)
{
    const int64_t side = tile + 2;
    Transform *transform = NEW(store->arena, Transform);
    *transform = (Transform){
        .later.make = make_transformed,
        .w = recipe_cuttable(store, w),
        .oc = recipe_dims(w)[0],
        .ic = recipe_dims(w)[1],
        .tile = tile,
    };
    const int64_t channels = i64_mul(side * side, transform->oc);
    const int64_t dims[4] = { channels, transform->ic, 1, 1 };
    transform->later.depth =
        recipe_settle(store, transform->w, LATER_DEPTH) + 1;
    return recipe_later(store, &transform->later, DT_F32, 4, dims);
}

/* ---- does it pay? ---- */

int64_t winograd_scratch(const inlay_winograd_params *params)
{
    const int64_t side = params->tile + 2;
    const int64_t made =
        i64_min(inlay_winograd_room(params->oc), INLAY_WINOGRAD_CHANNELS);
    const int64_t channels = params->ic + made;
    const int64_t tiles = i64_mul(side * side, params->block);
    const int64_t floats =
        i64_add(inlay_winograd_zeros(params), i64_mul(tiles, channels));
    return i64_mul(floats, (int64_t)sizeof(float));
}

/* As many tiles as let patches and products stay in the cache, all blocks alike. */
static int32_t block_of(const inlay_winograd_params *params, int64_t tiles)
{
    const int64_t side = params->tile + 2;
    const int64_t channels = params->ic + INLAY_WINOGRAD_CHANNELS;
    const int64_t bytes = side * side * channels * (int64_t)sizeof(float);
    const int64_t fit = i64_max(CACHE_BYTES / bytes, LEAST_TILES);
    const int64_t blocks = i64_ceil_div(tiles, fit);
    return (int32_t)i64_ceil_div(tiles, blocks);
}

/* Is it a window of 3x3 adjacent taps over every pixel of flat images? */
static bool is_window(const inlay_conv_params *conv)
{
    const bool flat = conv->id == 1 && conv->od == 1 && conv->kd == 1;
    const bool taps = conv->kh == 3 && conv->kw == 3;
    const bool adjacent = conv->dh == 1 && conv->dw == 1;
    const bool each = conv->sh == 1 && conv->sw == 1;
    return flat && taps && adjacent && each && conv->groups == 1;
}

static bool has_channels(const inlay_conv_params *conv)
{
    return conv->ic >= LEAST_CHANNELS && conv->oc >= LEAST_RESULTS;
}

/* Multiplications in the time in which a weight is read that few pixels use; and at what cost of a
 * pixel and a pair of channels, 9 without tiles, these are left alone. */
static const double weight_cost = 8.0;
static const double most_cost = 8.5;

/* That cost with tiles of such a size: the multiplications of all pixels that they cover, and the
 * weights that are read for them. */
static double cost_of(const inlay_conv_params *conv, int32_t tile)
{
    const double side = tile + 2;
    const double pixels = (double)conv->oh * conv->ow;
    const double tiles = (double)i64_ceil_div(conv->oh, tile) *
                         (double)i64_ceil_div(conv->ow, tile);
    return side * side * (tiles + weight_cost) / pixels;
}

inlay_winograd_params winograd_params(const inlay_conv_params *conv)
{
    inlay_winograd_params params = {
        .ih = conv->ih,
        .iw = conv->iw,
        .oh = conv->oh,
        .ow = conv->ow,
        .ph = conv->ph,
        .pw = conv->pw,
        .ic = conv->ic,
        .oc = conv->oc,
        .width = conv->width,
        .clamp = conv->clamp,
        .act = conv->act,
        .a = conv->a,
        .b = conv->b,
    };
    if (!is_window(conv) || !has_channels(conv))
        return params;
    const double large = cost_of(conv, 4);
    const double small = cost_of(conv, 2);
    if (large >= most_cost && small >= most_cost)
        return params;
    params.tile = large < small ? 4 : 2;
    params.block = block_of(&params, i64_ceil_div(conv->oh, params.tile) *
                                         i64_ceil_div(conv->ow, params.tile));
    return params;
}
