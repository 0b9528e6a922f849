/* SPDX-License-Identifier: Apache-2.0
 * The sums of the weights are read once, a stretch at a time: with a constant zero point of x they
 * end in the bias. */
#include "ops/qweights.h"

#include "base/size.h"
#include "kernels/qpacked.h"
#include "ops/qnarrow.h"

bool constant_or_none(const Tensor *tensor)
{
    return !tensor || tensor->value;
}

bool single_or_none(const Tensor *tensor)
{
    return !tensor || tensor_count(tensor) == 1;
}

/* ---- small constants ---- */

const void *constant_values(Lower *lower, const Tensor *tensor, DType type)
{
    Store *store = lower->store;
    if (!tensor)
        return NULL;
    return recipe_values(store, lower->arena,
                         recipe_cast(store, tensor->value, type));
}

int32_t constant_number(Lower *lower, const Tensor *tensor)
{
    const int32_t *value = constant_values(lower, tensor, DT_I32);
    return value ? *value : 0;
}

/* ---- weights as bytes with a sign ---- */

/* What is taken off weights, so that bytes with a sign hold them: of fewer bits their zero points,
 * all of them where they are stored as bytes. */
static void set_off(Packing *packing)
{
    const ByteOperands *q = packing->q;
    const bool narrow = dtype_bits(q->w->dtype) < 8;
    packing->zeros_off = narrow && packing->bits == 8 && !single_or_none(q->zw);
    packing->off = qnarrow_off(q->w->dtype);
    if (narrow && single_or_none(q->zw))
        packing->off = constant_number(packing->lower, q->zw);
}

Recipe *weights_negative_zeros(Store *store, const ByteOperands *q)
{
    int64_t dims[MAX_RANK] = { tensor_count(q->zw), 1, 1, 1, 1, 1, 1, 1 };
    const Recipe *minus = recipe_number(store, -1.0f);
    Recipe *each = recipe_cast(store, q->zw->value, DT_F32);
    each = recipe_mul(store, each, minus);
    return recipe_reshape(store, each, recipe_rank(q->w->value), dims);
}

/* The weights as bytes with a sign. */
static Recipe *signed_bytes(const Packing *packing)
{
    Store *store = packing->lower->store;
    const Recipe *w = packing->q->w->value;
    if (packing->zeros_off)
        return packing_bytes(store, w,
                             weights_negative_zeros(store, packing->q));
    if (packing->off)
        return packing_bytes(store, w,
                             recipe_number(store, -(float)packing->off));
    return recipe_cast(store, w, DT_I8);
}

/* ---- sums ---- */

enum { STRETCH = 1 << 20 }; /* bytes read at a time */

/* Elements [from, from + n) of some channels, from the first on. */
typedef struct Stretch {
    int64_t first;
    int64_t channels;
    int64_t from;
    int64_t n;
} Stretch;

/* The values of a stretch of a matrix [channels][K], in scratch memory. */
static const int8_t *read_stretch(Store *store, const Recipe *matrix,
                                  const Stretch *stretch)
{
    const int64_t channels = stretch->channels;
    Recipe *part = recipe_part(store, matrix, 0, stretch->first, channels);
    part = recipe_part(store, part, 1, stretch->from, stretch->n);
    return recipe_values(store, &store->scratch, part);
}

/* Of the weights of a channel, as signed bytes. */
typedef struct ChannelBytes {
    int32_t sum;
    int32_t least;
    int32_t most;
} ChannelBytes;

static void take_byte(ChannelBytes *bytes, int32_t value)
{
    bytes->sum = inlay_wrap_add(bytes->sum, value);
    if (value < bytes->least)
        bytes->least = value;
    if (value > bytes->most)
        bytes->most = value;
}

static void take_stretch(Store *store, const Recipe *matrix,
                         const Stretch *stretch, ChannelBytes *bytes)
{
    const ArenaMark mark = arena_mark(&store->scratch);
    const int8_t *value = read_stretch(store, matrix, stretch);
    for (int64_t i = 0; i < stretch->channels; i++)
        for (int64_t k = 0; k < stretch->n; k++)
            take_byte(bytes + stretch->first + i, *value++);
    arena_release(&store->scratch, mark);
}

/* The same of each channel. */
static ChannelBytes *channel_bytes(const Packing *packing)
{
    Lower *lower = packing->lower;
    const int64_t channels = packing_channels(packing);
    const Recipe *matrix = packing_matrix(packing);
    const int64_t k = recipe_dims(matrix)[1];
    const int64_t n = i64_min(k, STRETCH);
    const int64_t at_once = n ? STRETCH / n : channels;
    ChannelBytes *bytes = NEW_ARRAY(lower->arena, ChannelBytes, channels);
    for (int64_t i = 0; i < channels; i++)
        bytes[i] = (ChannelBytes){ .least = 127, .most = -128 };
    for (int64_t first = 0; n && first < channels; first += at_once)
        for (int64_t from = 0; from < k; from += n) {
            const Stretch stretch = {
                .first = first,
                .channels = i64_min(at_once, channels - first),
                .from = from,
                .n = i64_min(n, k - from),
            };
            take_stretch(lower->store, matrix, &stretch, bytes);
        }
    return bytes;
}

/* Is a channel's stretch small enough to be the upper one of two in a half? *size: of its numbers
 * before it. A sum of products with bytes stays below 2^23. */
static bool stretch_fits(const int8_t *value, int64_t n, int64_t *size)
{
    for (int64_t k = 0; k < n; k++) {
        if (value[k] == -128)
            return false;
        *size += value[k] < 0 ? -value[k] : value[k];
    }
    return *size < (1 << 23) / 128;
}

/* Are all stretches of a channel? */
static bool channel_fits(Store *store, const Recipe *matrix, int64_t channel)
{
    const int64_t k = recipe_dims(matrix)[1];
    Stretch stretch = {
        .first = channel,
        .channels = 1,
    };
    int64_t size = 0;
    bool fits = true;
    for (; fits && stretch.from < k; stretch.from += STRETCH) {
        const ArenaMark mark = arena_mark(&store->scratch);
        stretch.n = i64_min(STRETCH, k - stretch.from);
        const int8_t *value = read_stretch(store, matrix, &stretch);
        fits = stretch_fits(value, stretch.n, &size);
        arena_release(&store->scratch, mark);
    }
    return fits;
}

/* Are the odd channels of each group such? */
bool weights_fit_halves(const Packing *packing)
{
    Store *store = packing->lower->store;
    const Recipe *matrix = packing_matrix(packing);
    const int64_t channels = packing_channels(packing);
    for (int64_t i = 0; i < channels; i++) {
        const bool upper = i % packing->each % 2 == 1;
        if (upper && !channel_fits(store, matrix, i))
            return false;
    }
    return true;
}

/* ---- zero points ---- */

static int32_t packing_taps(const Packing *packing)
{
    return (int32_t)(recipe_count(packing->w) / packing_channels(packing));
}

/* The zero point of the signed weights of each channel. */
static int32_t *weight_zeros(const Packing *packing)
{
    Lower *lower = packing->lower;
    const Tensor *given = packing->q->zw;
    const int64_t channels = packing_channels(packing);
    const int32_t off = packing->off;
    const int32_t *value = constant_values(lower, given, DT_I32);
    int32_t *zeros = NEW_ARRAY(lower->arena, int32_t, channels);
    for (int64_t i = 0; i < channels; i++) {
        const int64_t at = single_or_none(given) ? 0 : i;
        if (!packing->zeros_off)
            zeros[i] = (value ? value[at] : 0) - off;
    }
    return zeros;
}

/* Do zeros fill up its windows? */
static bool is_filled(const Packing *packing)
{
    const inlay_qpacked_params *p = packing->params;
    if (p->groups > 1 && p->ic == 1)
        return p->deep && inlay_qdeep_high(p) != p->kd * p->kh;
    return packing_window(p) != packing_taps(packing);
}

void weights_begin(Packing *packing)
{
    set_off(packing);
    packing->w = signed_bytes(packing);
    if (packing->bits < 8)
        return;
    const PaletteFacts facts = {
        .zero = weight_zeros(packing),
        .filled = is_filled(packing),
    };
    packing->w =
        palette_weights(packing->lower, packing->w, &facts, &packing->palette);
}

/* What is taken off a channel's weights, so that its zero point becomes 0, or as near to that as
 * they remain within -127 .. 127. */
static int32_t recentered_by(const ChannelBytes *bytes, int32_t zero)
{
    const int32_t least = bytes->most - 127;
    const int32_t most = bytes->least + 127;
    if (zero == 0 || least > most)
        return 0;
    if (zero < least)
        return least;
    return zero < most ? zero : most;
}

/* The weights, and for each channel a number more. */
static Recipe *moved_by(const Packing *packing, const float *off)
{
    Store *store = packing->lower->store;
    const int64_t dims[2] = { packing_channels(packing), 1 };
    const Recipe *add = recipe_memory(store, DT_F32, 2, dims, off);
    Recipe *wide = recipe_cast(store, packing_matrix(packing), DT_F32);
    Recipe *moved = recipe_cast(store, recipe_add(store, wide, add), DT_I8);
    return recipe_reshape(store, moved, recipe_rank(packing->w),
                          recipe_dims(packing->w));
}

/* Takes so much off each channel's weights and zero point. */
static void recenter(Packing *packing, int32_t *zeros, ChannelBytes *bytes)
{
    const int64_t channels = packing_channels(packing);
    const int32_t taps = packing_taps(packing);
    float *off = NEW_ARRAY(packing->lower->arena, float, channels);
    bool moved = false;
    for (int64_t i = 0; i < channels; i++) {
        const int32_t by = recentered_by(bytes + i, zeros[i]);
        zeros[i] -= by;
        bytes[i].sum = inlay_wrap_add(bytes[i].sum, inlay_wrap_mul(-taps, by));
        off[i] = (float)-by;
        moved = moved || by;
    }
    if (moved)
        packing->w = moved_by(packing, off);
}

/* NULL: all channels have the zero point *all. */
static int32_t *zeros_apart(int32_t *zeros, int64_t channels, int32_t *all)
{
    *all = zeros[0];
    for (int64_t i = 0; i < channels; i++)
        if (zeros[i] != *all)
            return zeros;
    return NULL;
}

/* The sum of a channel's weights less their zero points. */
static int32_t sum_from_zero(const Packing *packing, const ChannelBytes *bytes,
                             int32_t zero)
{
    const int32_t off = inlay_wrap_mul(-packing_taps(packing), zero);
    return inlay_wrap_add(bytes->sum, off);
}

Folded weights_fold(Packing *packing)
{
    Lower *lower = packing->lower;
    const ByteOperands *q = packing->q;
    inlay_qpacked_params *params = packing->params;
    const int64_t channels = packing_channels(packing);
    const int32_t *given = constant_values(lower, q->bias, DT_I32);
    int32_t *zeros = weight_zeros(packing);
    ChannelBytes *bytes = channel_bytes(packing);
    if (packing->bits == 8)
        recenter(packing, zeros, bytes);
    Folded folded = {
        .bias = NEW_ARRAY(lower->arena, int32_t, channels),
        .sums = NEW_ARRAY(lower->arena, int32_t, channels),
        .zeros = zeros_apart(zeros, channels, &params->zw),
        .late = !constant_or_none(q->zx),
    };
    const int32_t shift = folded.late ? 0 : -params->zero;
    for (int64_t i = 0; i < channels; i++) {
        const int32_t sum = sum_from_zero(packing, bytes + i, zeros[i]);
        const int32_t bias = given ? given[i] : 0;
        folded.sums[i] = sum;
        folded.bias[i] = inlay_wrap_add(bias, inlay_wrap_mul(shift, sum));
    }
    return folded;
}
