/* SPDX-License-Identifier: Apache-2.0
 * Weights are read once, a stretch at a time: their sums end in the biases, and their sizes say
 * whether sums of products fit 32 bits. */
#include "ops/qshort.h"

#include "base/size.h"
#include "kernels/qshort_params.h"
#include "ops/qweights.h"

bool is_short(DType type)
{
    return type == DT_I16 || type == DT_U16;
}

/* ---- weights ---- */

/* A product on its way. */
typedef struct Shorts {
    Lower *lower;
    const ByteOperands *q;
    inlay_qshort_params params;
    /* [groups * OC][IC][taps...] of 16 bits, their zero points taken off */
    Recipe *w;
    int64_t channels;
    int64_t blocks; /* channels of a group, filled up */
    bool depthwise;
    bool bytes; /* weights fit 8 bits */
    bool sums;  /* sums fit 32 */
    int64_t *bias;
    ShortScale *scale; /* of each channel, or of all */
} Shorts;

static Recipe *without_zeros(const Shorts *shorts)
{
    Store *store = shorts->lower->store;
    const ByteOperands *q = shorts->q;
    Recipe *wide = recipe_cast(store, q->w->value, DT_F32);
    if (q->zw)
        wide = recipe_add(store, wide, weights_negative_zeros(store, q));
    return recipe_cast(store, wide, DT_I16);
}

/* Of the weights of a channel. */
typedef struct ChannelShorts {
    int64_t sum;
    int64_t size; /* the sum of their sizes */
    int32_t least;
    int32_t most;
} ChannelShorts;

static void take_short(ChannelShorts *channel, int32_t value)
{
    channel->sum += value;
    channel->size += value < 0 ? -value : value;
    if (value < channel->least)
        channel->least = value;
    if (value > channel->most)
        channel->most = value;
}

static void take_shorts(Store *store, const Recipe *row, int64_t from,
                        int64_t n, ChannelShorts *channel)
{
    const ArenaMark mark = arena_mark(&store->scratch);
    const Recipe *part = recipe_part(store, row, 1, from, n);
    const int16_t *value = recipe_values(store, &store->scratch, part);
    for (int64_t i = 0; i < n; i++)
        take_short(channel, value[i]);
    arena_release(&store->scratch, mark);
}

static ChannelShorts channel_shorts(const Shorts *shorts, int64_t i)
{
    enum {
        STRETCH = 1 << 19 /* weights read at a time */
    };
    Store *store = shorts->lower->store;
    Recipe *matrix = recipe_matrix(store, shorts->w, shorts->channels);
    const Recipe *row = recipe_part(store, matrix, 0, i, 1);
    const int64_t k = recipe_dims(matrix)[1];
    ChannelShorts channel = { 0 };
    for (int64_t from = 0; from < k; from += STRETCH)
        take_shorts(store, row, from, i64_min(k - from, STRETCH), &channel);
    return channel;
}

static bool is_byte(int32_t value)
{
    return value >= INT8_MIN && value <= INT8_MAX;
}

/* Biases that zero points of x are in; which sums they leave. */
static void fold_zeros(Shorts *shorts)
{
    enum { MOST_NUMBER = 1 << 15 };
    Lower *lower = shorts->lower;
    const int32_t *given = constant_values(lower, shorts->q->bias, DT_I32);
    shorts->bytes = true;
    shorts->sums = true;
    shorts->bias = NEW_ARRAY(lower->arena, int64_t, shorts->channels);
    for (int64_t i = 0; i < shorts->channels; i++) {
        const ChannelShorts channel = channel_shorts(shorts, i);
        const int64_t bias = given ? given[i] : 0;
        const int64_t folded = bias - shorts->params.zero * channel.sum;
        const int64_t size = folded < 0 ? -folded : folded;
        shorts->bias[i] = folded;
        shorts->bytes &= is_byte(channel.least) && is_byte(channel.most);
        shorts->sums &= size + channel.size * MOST_NUMBER <= INT32_MAX;
    }
}

static double number_of(Lower *lower, const Tensor *tensor)
{
    const float *value = constant_values(lower, tensor, DT_F32);
    return value ? (double)*value : 1.0;
}

/* sx sw / sy of each channel, or of all. */
static double *real_scales(const Shorts *shorts, int64_t n)
{
    Lower *lower = shorts->lower;
    const ByteOperands *q = shorts->q;
    const float *sw = constant_values(lower, q->sw, DT_F32);
    const double sx = number_of(lower, q->sx);
    const double sy = number_of(lower, q->sy);
    double *scale = NEW_ARRAY(lower->arena, double, n);
    for (int64_t i = 0; i < n; i++) {
        const double of_weights = sw ? (double)sw[i] : 1.0;
        scale[i] = sx / sy * of_weights;
    }
    return scale;
}

/* As short ones, where these suit all. */
static void fold_scales(Shorts *shorts)
{
    const Tensor *sw = shorts->q->sw;
    const int64_t n = sw ? tensor_count(sw) : 1;
    const double *real = real_scales(shorts, n);
    bool far = !shorts->sums;
    far = far || !shorts->bytes;
    shorts->scale = NEW_ARRAY(shorts->lower->arena, ShortScale, n);
    shorts->params.scales = i32_checked(n);
    for (int64_t i = 0; i < n && !far; i++) {
        ShortScale *scale = shorts->scale + i;
        far = !short_scale(real[i], scale);
    }
    for (int64_t i = 0; i < n && far; i++) {
        ShortScale *scale = shorts->scale + i;
        *scale = short_scale_long(real[i]);
    }
    shorts->params.far = far;
}

/* ---- what is packed ---- */

/* [groups * OC][IC][taps...] -> [groups][OC][window], the channels of a pixel side by side. */
static Recipe *windows(const Shorts *shorts)
{
    static const int last[4] = { 0, 1, 3, 2 };
    Store *store = shorts->lower->store;
    const inlay_qshort_params *p = &shorts->params;
    const int64_t taps = i64_mul(i64_mul(p->kd, p->kh), p->kw);
    const int64_t image[4] = { p->groups, p->oc, p->ic, taps };
    const int64_t rows[3] = { p->groups, p->oc, i64_mul(taps, p->ic) };
    Recipe *w = recipe_reshape(store, shorts->w, 4, image);
    return recipe_reshape(store, recipe_transpose(store, w, last), 3, rows);
}

/* [groups][OC][window] -> [groups][blocks][pairs][width][2]; crossed: [pairs][width / 2][tap][of
 * two channels]. */
static Recipe *packed_blocks(const Shorts *shorts)
{
    static const int pairs[6] = { 0, 1, 4, 2, 3, 5 };
    static const int crossed[6] = { 0, 1, 4, 2, 5, 3 };
    Store *store = shorts->lower->store;
    const inlay_qshort_params *p = &shorts->params;
    const int64_t halves = inlay_qshort_pairs(p);
    const int64_t cut[6] = {
        p->groups, shorts->blocks / p->width, p->width / 2, 2, halves, 2,
    };
    Recipe *w = windows(shorts);
    w = recipe_fill_up(store, w, 1, shorts->blocks);
    w = recipe_fill_up(store, w, 2, 2 * halves);
    w = recipe_reshape(store, w, 6, cut);
    return recipe_transpose(store, w, p->crossed ? crossed : pairs);
}

/* [C][1][taps...] -> [taps][C filled up]. */
static Recipe *packed_depthwise(const Shorts *shorts)
{
    Store *store = shorts->lower->store;
    Recipe *w = recipe_matrix(store, shorts->w, shorts->channels);
    w = recipe_fill_up(store, w, 0, shorts->blocks);
    return recipe_turn(store, w);
}

static Tensor *packed_weights(const Shorts *shorts)
{
    Store *store = shorts->lower->store;
    Recipe *w =
        shorts->depthwise ? packed_depthwise(shorts) : packed_blocks(shorts);
    return lower_constant(
        shorts->lower, recipe_cast(store, w, shorts->bytes ? DT_I8 : DT_I16));
}

/* Numbers of each channel, filled up to blocks in each group. */
static Recipe *of_channels(const Shorts *shorts, DType type, const void *value)
{
    Store *store = shorts->lower->store;
    const int64_t groups = shorts->depthwise ? 1 : shorts->params.groups;
    const int64_t dims[2] = { groups, shorts->channels / groups };
    Recipe *recipe = recipe_memory(store, type, 2, dims, value);
    return recipe_fill_up(store, recipe, 1, shorts->blocks);
}

static Tensor *biases(const Shorts *shorts)
{
    Store *store = shorts->lower->store;
    Recipe *bias = of_channels(shorts, DT_I64, shorts->bias);
    if (shorts->sums && shorts->bytes)
        bias = recipe_cast(store, bias, DT_I32);
    return lower_constant(shorts->lower, bias);
}

/* Numbers for all channels: one, or each in its place. */
static Recipe *of_scales(const Shorts *shorts, const int32_t *value)
{
    Store *store = shorts->lower->store;
    const int64_t n = shorts->params.scales;
    if (n == 1)
        return recipe_memory(store, DT_I32, 1, &n, value);
    Recipe *each = of_channels(shorts, DT_I32, value);
    const int64_t all = recipe_count(each);
    return recipe_reshape(store, each, 1, &all);
}

/* Factors, then places. */
static Tensor *scales(Shorts *shorts)
{
    Lower *lower = shorts->lower;
    const int32_t n = shorts->params.scales;
    int32_t *factor = NEW_ARRAY(lower->arena, int32_t, n);
    int32_t *places = NEW_ARRAY(lower->arena, int32_t, n);
    Recipe *part[2];
    for (int i = 0; i < n; i++) {
        factor[i] = shorts->scale[i].factor;
        places[i] = shorts->scale[i].places;
    }
    part[0] = of_scales(shorts, factor);
    part[1] = of_scales(shorts, places);
    shorts->params.scales = i32_checked(recipe_count(part[0]));
    return lower_constant(lower, recipe_concat(lower->store, 2, part, 0));
}

/* ---- the step ---- */

/* The number of a code of that type. */
static int32_t signed_code(DType type, int64_t code)
{
    return (int32_t)(type == DT_U16 ? code - (1 << 15) : code);
}

static void set_codes(Shorts *shorts, const Node *node)
{
    Lower *lower = shorts->lower;
    const ByteOperands *q = shorts->q;
    inlay_qshort_params *params = &shorts->params;
    const DType x = q->x->dtype;
    const DType y = q->y->dtype;
    const int32_t least = y == DT_U16 ? 0 : INT16_MIN;
    params->flip = x == DT_U16 ? 1 << 15 : 0;
    params->flip_y = y == DT_U16 ? 1 << 15 : 0;
    params->zero = signed_code(x, constant_number(lower, q->zx));
    params->zy = signed_code(y, constant_number(lower, q->zy));
    params->lo = signed_code(y, node_int(node, "lo", least));
    params->hi = signed_code(y, node_int(node, "hi", least + UINT16_MAX));
}

/* Can the only pixel be read where it lies? */
static bool lies(const Shorts *shorts, const Window *window)
{
    const inlay_qshort_params *p = &shorts->params;
    if (p->flip || p->ic % 4)
        return false;
    for (int i = 0; i < WINDOW_DIMS; i++) {
        const WindowAxis *axis = window->axis + i;
        if (axis->in != 1 || axis->out != 1 || axis->kernel != 1)
            return false;
        if (axis->pad)
            return false;
    }
    return true;
}

static int64_t scratch_bytes(const inlay_qshort_params *params)
{
    const int64_t pairs = inlay_qshort_pairs(params);
    return i64_mul(pairs * 4, params->gather);
}

static const char *kernel_of(const Shorts *shorts)
{
    if (shorts->depthwise)
        return shorts->bytes ? "qdwconv_short" : "qdwconv_short_wide";
    if (!shorts->bytes)
        return "qconv_short_wide";
    return shorts->sums ? "qconv_short" : "qconv_short_long";
}

/* Rows and pixels, by those of the window. */
static void short_rows(const Shorts *shorts, const Window *window, Step *step)
{
    Operand *x = step->operand + 1;
    window_rows(window, step, step->operand, x);
    if (x->rule.kind != ROWS_ALL)
        window_pixels(window, x, shorts->depthwise ? 1 : INLAY_QSHORT_PIXELS);
}

static void make_step(Shorts *shorts, const Window *window)
{
    Lower *lower = shorts->lower;
    inlay_qshort_params *params = &shorts->params;
    Tensor *scale = scales(shorts);
    const bool gathers = !shorts->depthwise && !lies(shorts, window);
    const int64_t pixels = params->ow > 1 ? INLAY_QSHORT_PIXELS : 1;
    const int64_t each = recipe_count(shorts->w) / shorts->channels;
    params->gather = gathers ? (int32_t)pixels : 0;
    Step *step = lower_step(lower, kernel_of(shorts), params);
    step_out(step, shorts->q->y);
    step_in(step, shorts->q->x);
    step_in(step, packed_weights(shorts));
    step_in(step, biases(shorts));
    step_in(step, scale);
    if (!shorts->depthwise)
        step_scratch(lower, step, scratch_bytes(params));
    short_rows(shorts, window, step);
    step->macs = i64_mul(tensor_count(shorts->q->y), each);
}

static bool is_depthwise(const inlay_qshort_params *p)
{
    return p->groups > 1 && p->ic == 1 && p->oc == 1 &&
           i64_mul(p->kd, p->kh) <= INLAY_QDW_SHORT_ROWS;
}

static void set_geometry(Shorts *shorts, const Node *node, const Window *window)
{
    const int64_t groups = node_int(node, "group", 1);
    inlay_qshort_params *params = &shorts->params;
    window_short_params(window, params);
    params->groups = i32_checked(groups);
    params->ic = i32_checked(window->channels / groups);
    params->oc = i32_checked(shorts->channels / groups);
    params->width = shorts->lower->family->byte_width;
    shorts->depthwise = is_depthwise(params);
    shorts->blocks = inlay_qshort_padded(params);
    if (shorts->depthwise)
        shorts->blocks = inlay_qdw_short_padded(params);
}

void lower_shorts(Lower *lower, Node *node, const ByteOperands *q,
                  const Window *window)
{
    Shorts shorts = {
        .lower = lower,
        .q = q,
        .channels = q->w->shape.dim[0],
    };
    set_geometry(&shorts, node, window);
    set_codes(&shorts, node);
    shorts.w = without_zeros(&shorts);
    fold_zeros(&shorts);
    if (shorts.depthwise)
        shorts.bytes = shorts.bytes && shorts.sums;
    fold_scales(&shorts);
    shorts.params.crossed = shorts.bytes && lower->family->crossed;
    make_step(&shorts, window);
}
