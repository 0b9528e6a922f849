/* SPDX-License-Identifier: Apache-2.0
 * A weight is read twice: once for what it would take without loss, then for its palettes. */
#include "ops/palette.h"

#include <math.h>
#include <string.h>

#include "base/size.h"
#include "ir/clusters.h"
#include "ir/coded.h"
#include "ir/convert.h"

enum {
    STRETCH = 1 << 18, /* numbers that are read at a time */
    MANTISSA = 23      /* of float32 */
};

/* A weight under way. */
typedef struct Maker {
    Lower *lower;
    const Recipe *matrix; /* [channels][numbers], float32 */
    DType type;           /* of the weight */
    const PaletteFacts *facts;
    int64_t channels;
    int64_t each; /* numbers of a channel */
    int values;   /* of a palette, at most */
    Clusters *clusters;
    uint64_t to; /* byte of the spill file */
    double squares, errors, most;
} Maker;

/* Channels [first, first + channels), and of each numbers [from, from + n). */
typedef struct Stretch {
    int64_t first, channels, from, n;
} Stretch;

/* ---- which weights ---- */

/* Bits of a number that are stored beside what is coded without loss; -1: there are no palettes of
 * the type. */
static int stored_bits(DType type)
{
    switch (type) {
    case DT_F32:
        return 24;
    case DT_F16:
        return 11;
    case DT_BF16:
        return 8;
    case DT_I8:
    case DT_U8:
        return 0;
    default:
        return -1;
    }
}

static bool is_left(const Lower *lower, int number)
{
    for (int i = 0; i < lower->palette.left; i++)
        if (lower->palette.number[i] == number)
            return true;
    return false;
}

/* ---- what is read ---- */

static float *read_stretch(const Maker *maker, const Stretch *stretch)
{
    Store *store = maker->lower->store;
    Recipe *part =
        recipe_part(store, maker->matrix, 0, stretch->first, stretch->channels);
    part = recipe_part(store, part, 1, stretch->from, stretch->n);
    return recipe_values(store, &store->scratch, part);
}

/* The first stretch, and the one after another: of several channels that are whole, or of one.
 * false: there is none. */
static bool next_stretch(const Maker *maker, Stretch *stretch)
{
    const int64_t at_once = i64_max(1, STRETCH / i64_max(maker->each, 1));
    stretch->from += stretch->n;
    if (stretch->from == maker->each) {
        stretch->first += stretch->channels;
        stretch->from = 0;
    }
    stretch->channels = i64_min(at_once, maker->channels - stretch->first);
    stretch->n = i64_min(STRETCH, maker->each - stretch->from);
    return stretch->channels > 0;
}

/* ---- what it takes without loss ---- */

/* How often what is coded of a number comes. */
typedef struct Seen {
    uint64_t count[CODE_BYTES];
    bool finite;
} Seen;

static void see(Seen *seen, DType type, const float *number, int64_t n)
{
    const bool is_float = stored_bits(type) > 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, number + i, sizeof bits);
        if (is_float)
            seen->count[bits >> MANTISSA & 255]++;
        else
            seen->count[(uint8_t)(int)number[i]]++;
    }
    seen->finite = !is_float || !seen->count[255];
}

/* Are palettes smaller than the numbers, as they are and coded without loss? */
static bool pays(const Maker *maker)
{
    Arena *scratch = &maker->lower->store->scratch;
    const int64_t count = i64_mul(maker->channels, maker->each);
    const int64_t width = dtype_bits(maker->type) / 8;
    const int64_t own = i64_mul(maker->channels, maker->values * width);
    const int64_t bytes = own + count * (maker->values > 4 ? 4 : 2) / 8;
    const int64_t plain = i64_mul(count, width);
    Stretch stretch = { 0 };
    Seen seen = { .finite = true };
    if (!coded_pays((uint64_t)plain, (uint64_t)bytes))
        return false;
    while (seen.finite && next_stretch(maker, &stretch)) {
        const ArenaMark mark = arena_mark(scratch);
        const float *number = read_stretch(maker, &stretch);
        see(&seen, maker->type, number, stretch.channels * stretch.n);
        arena_release(scratch, mark);
    }
    const uint64_t coded = prefix_code_bound(seen.count) / 8;
    const uint64_t stored = (uint64_t)(count * stored_bits(maker->type) / 8);
    return seen.finite && (uint64_t)bytes < coded + stored;
}

/* ---- palettes ---- */

/* The nearest number of the type, for one between two of them. */
static float rounded(DType type, float x)
{
    if (type == DT_I8 || type == DT_U8)
        return rintf(x);
    if (type == DT_F32)
        return x;
    return small_to_float(type, small_from_float(type, x));
}

static float zero_of(const Maker *maker, int64_t channel)
{
    return maker->facts->zero ? (float)maker->facts->zero[channel] : 0.0f;
}

/* The palette of the numbers that were added; 0: they stay as they are. */
static int find_palette(const Maker *maker, float zero, float *value)
{
    Clusters *clusters = maker->clusters;
    int n;
    if (clusters_few(clusters, maker->values))
        return 0;
    if (maker->facts->filled)
        n = clusters_find_with(clusters, maker->values, zero, value);
    else
        n = clusters_find(clusters, maker->values, value);
    for (int i = 0; i < n; i++)
        value[i] = rounded(maker->type, value[i]);
    return n;
}

/* Replaces numbers by those of a palette of n, and counts how far they are off. */
static void replace(Maker *maker, const float *value, int n, float zero,
                    float *number, int64_t numbers)
{
    for (int64_t i = 0; i < numbers; i++) {
        const double was = (double)number[i];
        const double from = was - (double)zero;
        if (n)
            number[i] = value[cluster_nearest(value, n, number[i])];
        const double off = fabs((double)number[i] - was);
        maker->squares += from * from;
        maker->errors += off * off;
        maker->most = off > maker->most ? off : maker->most;
    }
}

static void write_stretch(Maker *maker, const float *number, int64_t n)
{
    const size_t bytes = (size_t)n * sizeof *number;
    file_write(maker->lower->store->spill, maker->to, number, bytes);
    maker->to += bytes;
}

/* Some whole channels. */
static void make_channels(Maker *maker, const Stretch *stretch)
{
    float value[CLUSTERS_MOST];
    float *number = read_stretch(maker, stretch);
    for (int64_t i = 0; i < stretch->channels; i++) {
        const float zero = zero_of(maker, stretch->first + i);
        float *own = number + i * stretch->n;
        clusters_begin(maker->clusters);
        clusters_add(maker->clusters, own, stretch->n);
        const int n = find_palette(maker, zero, value);
        replace(maker, value, n, zero, own, stretch->n);
    }
    write_stretch(maker, number, stretch->channels * stretch->n);
}

/* A channel of several stretches, the first of which is given. */
static void make_large(Maker *maker, Stretch *stretch)
{
    Arena *scratch = &maker->lower->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    const int64_t channel = stretch->first;
    const float zero = zero_of(maker, channel);
    float value[CLUSTERS_MOST];
    int n = 0;
    clusters_begin(maker->clusters);
    for (int writes = 0; writes < 2; writes++) {
        Stretch part = { .first = channel, .channels = 1 };
        while (next_stretch(maker, &part) && part.first == channel) {
            float *number = read_stretch(maker, &part);
            if (!writes)
                clusters_add(maker->clusters, number, part.n);
            else
                replace(maker, value, n, zero, number, part.n);
            if (writes)
                write_stretch(maker, number, part.n);
            *stretch = part;
            arena_release(scratch, mark);
        }
        if (!writes)
            n = find_palette(maker, zero, value);
    }
}

static void make_all(Maker *maker)
{
    Arena *scratch = &maker->lower->store->scratch;
    Stretch stretch = { 0 };
    while (next_stretch(maker, &stretch)) {
        const ArenaMark mark = arena_mark(scratch);
        if (stretch.n == maker->each)
            make_channels(maker, &stretch);
        else
            make_large(maker, &stretch);
        arena_release(scratch, mark);
    }
}

/* ---- the weight ---- */

static Palette *palette_of(const Maker *maker, int number)
{
    const int64_t count = i64_mul(maker->channels, maker->each);
    const double mean = sqrt(maker->squares / (double)count);
    Palette *palette = NEW(maker->lower->arena, Palette);
    *palette = (Palette){
        .number = number,
        .values = maker->values,
        .count = count,
    };
    if (mean > 0) {
        palette->error = sqrt(maker->errors / maker->squares);
        palette->most = maker->most / mean;
    }
    return palette;
}

/* The numbers as they are in the spill file. */
static Recipe *spilled(const Maker *maker, const Recipe *w, const Span *place)
{
    const Source source = {
        .dtype = DT_F32,
        .count = recipe_count(w),
        .file = maker->lower->store->spill,
        .span = place,
        .spans = 1,
    };
    Store *store = maker->lower->store;
    Recipe *made =
        recipe_source(store, &source, recipe_rank(w), recipe_dims(w));
    return recipe_cast(store, made, maker->type);
}

static Maker maker_of(Lower *lower, const Recipe *w, const PaletteFacts *facts)
{
    Store *store = lower->store;
    const int64_t channels = recipe_dims(w)[0];
    Recipe *matrix = recipe_matrix(store, w, channels);
    matrix = recipe_cast(store, matrix, DT_F32);
    return (Maker){
        .lower = lower,
        .matrix = recipe_cuttable(store, matrix),
        .type = recipe_dtype(w),
        .facts = facts,
        .channels = channels,
        .each = recipe_count(w) / channels,
        .values = lower->palette.values,
    };
}

/* Is it of a type and a size that palettes may be for? */
static bool may_have(const Lower *lower, const Recipe *w)
{
    return lower->palette.values && stored_bits(recipe_dtype(w)) >= 0 &&
           recipe_bytes(w) >= CODED_LEAST;
}

const Recipe *palette_weights(Lower *lower, const Recipe *w,
                              const PaletteFacts *facts, Palette **palette)
{
    Store *store = lower->store;
    *palette = NULL;
    if (!may_have(lower, w))
        return w;
    const int number = lower->program->palettes++;
    const ArenaMark mark = arena_mark(&store->scratch);
    Maker maker = maker_of(lower, w, facts);
    if (!is_left(lower, number) && pays(&maker)) {
        const Span place = {
            .offset =
                spill_room(store, (uint64_t)recipe_count(w) * sizeof(float)),
            .length = (uint64_t)recipe_count(w) * sizeof(float),
        };
        maker.to = place.offset;
        maker.clusters = clusters_new(&store->scratch);
        make_all(&maker);
        *palette = palette_of(&maker, number);
        w = spilled(&maker, w, &place);
    }
    arena_release(&store->scratch, mark);
    return w;
}

void palette_lies(Lower *lower, const Palette *palette, const PaletteForm *form)
{
    Program *program = lower->program;
    if (!palette)
        return;
    WeightSlot *slot = program->weight.at + program->weight.n - 1;
    Palette *own = arena_copy(lower->arena, palette, sizeof *palette);
    own->form = *form;
    slot->palette = own;
}
