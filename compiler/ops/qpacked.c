/* SPDX-License-Identifier: Apache-2.0
 * Constant weights of 8 bits become recipes in the family's layout, as signed bytes. Their sums are
 * read once, a stretch at a time: with a constant zero point of x they end in the bias. */
#include "ops/qpacked.h"

#include "base/size.h"
#include "ops/families.h"
#include "ops/qlayout.h"
#include "ops/qnarrow.h"

static bool is_constant(const Tensor *tensor)
{
    return !tensor || tensor->value;
}

static bool is_single(const Tensor *tensor)
{
    return !tensor || tensor_count(tensor) == 1;
}

static bool fits(const Tensor *tensor, int64_t channels)
{
    return is_constant(tensor) &&
           (is_single(tensor) || tensor_count(tensor) == channels);
}

static bool fits_each(const Tensor *tensor, int64_t channels)
{
    return !tensor || (tensor->value && tensor_count(tensor) == channels);
}

void bytes_bounds(const Node *node, int32_t *lo, int32_t *hi)
{
    const int32_t least = node->out[0]->dtype == DT_I8 ? -128 : 0;
    *lo = (int32_t)node_int(node, "lo", least);
    *hi = (int32_t)node_int(node, "hi", least + 255);
}

static bool weights_fit(const ByteOperands *q, int64_t channels)
{
    if (!q->w->value || !fits(q->zw, channels))
        return false;
    return fits(q->sw, channels) && fits_each(q->bias, channels);
}

static bool input_fits(const ByteOperands *q)
{
    return !q->x->value && is_single(q->zx) && is_single(q->sx);
}

bool bytes_packable(const ByteOperands *q, int64_t channels)
{
    const DType type = q->y->dtype;
    if (!weights_fit(q, channels) || !input_fits(q))
        return false;
    if (type == DT_F32 || type == DT_I32)
        return true;
    if (!is_constant(q->zx) || !is_constant(q->sx))
        return false;
    return fits(q->sy, 1) && fits(q->zy, 1);
}

/* ---- small constants ---- */

/* Element i of a constant; `none` where it is left out. */
static const void *values_of(Lower *lower, const Tensor *tensor, DType type)
{
    Store *store = lower->store;
    if (!tensor)
        return NULL;
    return recipe_values(store, lower->arena,
                         recipe_cast(store, tensor->value, type));
}

static int32_t number_of(Lower *lower, const Tensor *tensor)
{
    const int32_t *value = values_of(lower, tensor, DT_I32);
    return value ? *value : 0;
}

static float scale_of(Lower *lower, const Tensor *tensor)
{
    const float *value = values_of(lower, tensor, DT_F32);
    return value ? *value : 1.0f;
}

static bool is_signed(const Tensor *tensor)
{
    return tensor->dtype == DT_I8;
}

/* What is taken off weights, so that bytes with a sign hold them: of fewer bits their zero points,
 * all of them where they are stored as bytes. */
static void set_off(Packing *packing)
{
    const ByteOperands *q = packing->q;
    const bool narrow = dtype_bits(q->w->dtype) < 8;
    packing->zeros_off = narrow && packing->bits == 8 && !is_single(q->zw);
    packing->off = qnarrow_off(q->w->dtype);
    if (narrow && is_single(q->zw))
        packing->off = number_of(packing->lower, q->zw);
}

/* Zero points of the channels, less than 0, of weights [channels]... */
static Recipe *negative_zeros(const Packing *packing)
{
    Store *store = packing->lower->store;
    const ByteOperands *q = packing->q;
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
        return packing_bytes(store, w, negative_zeros(packing));
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
static bool halves_fit(const Packing *packing)
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

/* ---- what goes with each channel ---- */

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
    const int32_t *value = values_of(lower, given, DT_I32);
    int32_t *zeros = NEW_ARRAY(lower->arena, int32_t, channels);
    for (int64_t i = 0; i < channels; i++) {
        const int64_t at = is_single(given) ? 0 : i;
        if (!packing->zeros_off)
            zeros[i] = (value ? value[at] : 0) - off;
    }
    return zeros;
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
        bytes[i].sum = inlay_wrap_add(bytes[i].sum, -taps * by);
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

/* The factors of n sums: sx sw / sy, or sw where the result is float. */
static float *factors_of(Lower *lower, const ByteOperands *q, int64_t n)
{
    const float *sw = values_of(lower, q->sw, DT_F32);
    float *factor = NEW_ARRAY(lower->arena, float, n);
    float sx = 1.0f;
    float sy = 1.0f;
    if (q->y->dtype != DT_F32) {
        sx = scale_of(lower, q->sx);
        sy = scale_of(lower, q->sy);
    }
    for (int64_t i = 0; i < n; i++) {
        const float scale = sx * (sw ? sw[i] : 1.0f);
        factor[i] = scale / sy;
    }
    return factor;
}

/* One for all, or one for each channel; NULL: results are the sums. */
static Tensor *factors(const Packing *packing)
{
    Lower *lower = packing->lower;
    const ByteOperands *q = packing->q;
    packing->params->scales = 1;
    if (q->y->dtype == DT_I32)
        return NULL;
    const int64_t n = q->sw ? tensor_count(q->sw) : 1;
    const float *factor = factors_of(lower, q, n);
    if (n == 1)
        return lower_floats(lower, factor, 1);
    const int64_t padded = packing->groups * packing->padded;
    packing->params->scales = i32_checked(padded);
    return packing_each(packing, DT_F32, factor);
}

static int32_t kind_of(DType type)
{
    if (type == DT_F32)
        return INLAY_QOUT_F32;
    if (type == DT_I32)
        return INLAY_QOUT_I32;
    return type == DT_I8 ? INLAY_QOUT_I8 : INLAY_QOUT_U8;
}

/* Does the family read x's bytes as signed ones? */
static bool reads_signed(const Lower *lower, const Tensor *x)
{
    const ByteSign sign = lower->family->bytes;
    if (sign == BYTES_AS_THEY_ARE)
        return is_signed(x);
    return sign == BYTES_SIGNED;
}

/* How x's bytes are read, and what its results are. */
static void set_numbers(Lower *lower, const Node *node, const ByteOperands *q,
                        inlay_qpacked_params *params)
{
    params->width = lower->family->byte_width;
    params->deep = lower->family->byte_depth == INLAY_QDEPTH;
    params->flip = is_signed(q->x) ? 128 : 0;
    params->minus = reads_signed(lower, q->x) ? 128 : 0;
    params->out = kind_of(q->y->dtype);
    bytes_bounds(node, &params->lo, &params->hi);
    if (is_constant(q->zy))
        params->zy = number_of(lower, q->zy);
    if (is_constant(q->zx)) {
        const int32_t shift = params->flip - params->minus;
        params->zero = number_of(lower, q->zx) + shift;
    }
}

/* What is made of zero points and sums: for each channel its bias, and zero points of weights
 * where they differ. */
typedef struct Folded {
    int32_t *bias;
    int32_t *sums;
    int32_t *zeros;
    bool late; /* x's zero point comes at run time: it is not in the bias */
} Folded;

/* The sum of a channel's weights less their zero points. */
static int32_t sum_from_zero(const Packing *packing, const ChannelBytes *bytes,
                             int32_t zero)
{
    const int32_t off = inlay_wrap_mul(-packing_taps(packing), zero);
    return inlay_wrap_add(bytes->sum, off);
}

static Folded fold_zeros(Packing *packing)
{
    Lower *lower = packing->lower;
    const ByteOperands *q = packing->q;
    inlay_qpacked_params *params = packing->params;
    const int64_t channels = packing_channels(packing);
    const int32_t *given = values_of(lower, q->bias, DT_I32);
    int32_t *zeros = weight_zeros(packing);
    ChannelBytes *bytes = channel_bytes(packing);
    if (packing->bits == 8)
        recenter(packing, zeros, bytes);
    Folded folded = {
        .bias = NEW_ARRAY(lower->arena, int32_t, channels),
        .sums = NEW_ARRAY(lower->arena, int32_t, channels),
        .zeros = zeros_apart(zeros, channels, &params->zw),
        .late = !is_constant(q->zx),
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

/* The operands behind the weights. */
static void add_operands(const Packing *packing, Step *step,
                         const Folded *folded, Tensor *scale)
{
    const ByteOperands *q = packing->q;
    Tensor *zeros = NULL;
    Tensor *sums = NULL;
    if (folded->zeros)
        zeros = packing_each(packing, DT_I32, folded->zeros);
    if (folded->late)
        sums = packing_each(packing, DT_I32, folded->sums);
    Tensor *bias = packing_each(packing, DT_I32, folded->bias);
    step_in(step, bias);
    step_in(step, scale);
    step_in(step, zeros);
    step_in(step, sums);
    step_in(step, folded->late ? q->zx : NULL);
    step_in(step, q->y->dtype == DT_F32 ? q->sx : NULL);
    step_in(step, q->add);
}

/* The step with its weights, by the second kernel where these have fewer bits than bytes. */
static Step *begin(const Packing *packing, const char *of_bytes,
                   const char *of_fewer, Recipe *packed)
{
    Lower *lower = packing->lower;
    Step *step;
    if (packing->bits == 8) {
        step = lower_step(lower, of_bytes, packing->params);
    } else {
        const inlay_qnarrow_params narrow = qnarrow_params(packing);
        step = lower_step(lower, of_fewer, &narrow);
        packed = qnarrow_packed(packing, packed);
    }
    Tensor *weights = lower_constant(lower, packed);
    step_out(step, packing->q->y);
    step_in(step, packing->q->x);
    step_in(step, weights);
    return step;
}

/* Scratch of so many bytes; behind it that of weights of fewer bits. */
static void end(const Packing *packing, Step *step, int64_t scratch)
{
    step_scratch(packing->lower, step, scratch);
    if (packing->bits < 8)
        qnarrow_panel(packing->lower, step);
}

/* Are columns of pixels laid side by side? Weights have no zero points, and windows are small. */
static bool goes_deep(const inlay_qpacked_params *params, const Folded *folded)
{
    const int64_t rows = i64_mul(params->kd, params->kh);
    const int64_t taps = i64_mul(rows, params->kw);
    if (!params->deep || folded->zeros || params->zw)
        return false;
    return taps <= INLAY_QDEEP_WINDOW && params->sw <= INLAY_QDEEP_WINDOW;
}

static int64_t column_bytes(const inlay_qpacked_params *params)
{
    if (params->deep)
        return i64_mul(inlay_qdeep_plane(params), INLAY_QDEEP_LANES);
    return params->gather ? inlay_qplanes_bytes(params) : 0;
}

/* Columns that a depthwise step has scratch for; 0: it takes none. */
static int32_t columns_apart(const Lower *lower,
                             const inlay_qpacked_params *params)
{
    enum { MOST = 8192, ROWS = 16 }; /* bytes of scratch; rows of the window */
    inlay_qpacked_params p = *params;
    p.gather = (int32_t)i64_min(p.ow + p.ow % 2, lower->family->byte_columns);
    if ((int64_t)p.kd * p.kh > ROWS || (int64_t)p.kw * p.dw > MOST)
        return 0;
    return p.gather && inlay_qplanes_bytes(&p) <= MOST ? p.gather : 0;
}

static Step *lower_depthwise(Packing *packing)
{
    Lower *lower = packing->lower;
    inlay_qpacked_params *params = packing->params;
    const Folded folded = fold_zeros(packing);
    Tensor *scale = factors(packing);
    params->deep = goes_deep(params, &folded);
    if (params->deep)
        params->gather = (int32_t)i64_min(params->ow, INLAY_QDEEP_PIXELS);
    else
        params->gather = columns_apart(lower, params);
    Recipe *packed = packing_depthwise(packing);
    Step *step = begin(packing, "qdwconv_packed", "qdwconv_narrow", packed);
    add_operands(packing, step, &folded, scale);
    end(packing, step, column_bytes(params));
    return step;
}

/* Pixels whose windows are widened at a time; 0: the weights are not packed as halves. */
static int32_t widened(const Packing *packing)
{
    const int64_t channels = i64_max(packing_channels(packing), 1);
    const int64_t pixels = tensor_count(packing->q->y) / channels;
    if (!packing->lower->family->byte_halves || !halves_fit(packing))
        return 0;
    return pixels == 1 ? 1 : 2;
}

static int64_t scratch_bytes(const inlay_qpacked_params *params)
{
    return i64_mul(packing_window(params), inlay_qpacked_windows(params));
}

/* How many bits a weight keeps; the report tells of those that get more than the file has. */
static int kept_bits(Lower *lower, const Tensor *w)
{
    Graph *root = graph_root(lower->graph);
    const int bits = dtype_bits(w->dtype);
    if (bits == 8 || lower->narrow_bytes)
        return bits;
    const int64_t more = tensor_count(w) - tensor_bytes(w);
    root->widened++;
    root->widened_bytes = i64_add(root->widened_bytes, more);
    return 8;
}

static Step *lower_conv_packed(Packing *packing)
{
    inlay_qpacked_params *params = packing->params;
    const Folded folded = fold_zeros(packing);
    params->wide = widened(packing);
    params->gather = packing_gathers(params, packing_window(params),
                                     packing->lower->for_speed);
    Tensor *scale = factors(packing);
    Recipe *packed = packing_blocks(packing);
    Step *step = begin(packing, "qconv_packed", "qconv_narrow", packed);
    add_operands(packing, step, &folded, scale);
    end(packing, step, scratch_bytes(params));
    return step;
}

Step *lower_bytes_packed(Lower *lower, Node *node, const ByteOperands *q,
                         inlay_qpacked_params *params)
{
    Packing packing = {
        .lower = lower,
        .q = q,
        .params = params,
        .bits = kept_bits(lower, q->w),
        .groups = params->groups,
        .each = params->oc,
        .padded = inlay_up4(params->oc),
    };
    set_off(&packing);
    packing.w = signed_bytes(&packing);
    set_numbers(lower, node, q, params);
    if (params->groups <= 1 || params->ic != 1 || params->oc != 1)
        return lower_conv_packed(&packing);
    /* Depthwise: all channels are one group. */
    packing.groups = 1;
    packing.each = params->groups;
    packing.padded = inlay_up4(params->groups);
    return lower_depthwise(&packing);
}
