/* SPDX-License-Identifier: Apache-2.0
 * Constant weights of 8 bits become recipes in the family's layout, as signed bytes. Their sums are
 * read once, a stretch at a time: with a constant zero point of x they end in the bias. */
#include "ops/qpacked.h"

#include "base/size.h"
#include "ops/families.h"

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

bool bytes_packable(const ByteOperands *q, int64_t channels)
{
    const bool floats = q->y->dtype == DT_F32;
    if (!q->w->value || q->x->value || !is_single(q->zx) || !is_single(q->sx))
        return false;
    if (!fits(q->zw, channels) || !fits(q->sw, channels) ||
        !fits_each(q->bias, channels))
        return false;
    if (floats || q->y->dtype == DT_I32)
        return true;
    return is_constant(q->zx) && is_constant(q->sx) && fits(q->sy, 1) &&
           fits(q->zy, 1) && is_constant(q->zy);
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

/* ---- weights ---- */

/* Bytes with a sign: those without one less 128. */
static Recipe *signed_bytes(Store *store, const Tensor *w)
{
    if (is_signed(w))
        return w->value;
    Recipe *wide = recipe_cast(store, w->value, DT_F32);
    wide = recipe_add(store, wide, recipe_number(store, -128.0f));
    return recipe_cast(store, wide, DT_I8);
}

/* w [groups][blocks * width][rows][run] -> [groups][blocks][rows][steps][width][depth]. */
static Recipe *in_steps(Store *store, const Recipe *w, int64_t width,
                        int64_t depth)
{
    static const int turn[6] = { 0, 1, 3, 4, 2, 5 };
    const int64_t *d = recipe_dims(w);
    const int64_t steps = i64_ceil_div(d[3], depth);
    const int64_t cut[6] = { d[0], d[1] / width, width, d[2], steps, depth };
    Recipe *recipe = recipe_pad(store, w, 3, 0, steps * depth - d[3]);
    recipe = recipe_reshape(store, recipe, 6, cut);
    return recipe_transpose(store, recipe, turn);
}

/* Channels [from, from + count) of w [groups][OC][IC][rows][columns] as blocks of `width`. Deep
 * ones have the whole window in one row. */
static Recipe *blocks_of(Store *store, const Recipe *w, int64_t from,
                         int64_t count, int64_t width, int32_t deep)
{
    static const int last[5] = { 0, 1, 3, 4, 2 };
    const int64_t *d = recipe_dims(w);
    const int64_t all = i64_ceil_div(count, width) * width;
    const int64_t run = i64_mul(d[2], d[4]);
    const int64_t rows[4] = { d[0], all, deep ? 1 : d[3],
                              deep ? i64_mul(d[3], run) : run };
    Recipe *recipe = recipe_slice(store, w, 1, from, 1, count);
    recipe = recipe_pad(store, recipe, 1, 0, all - count);
    recipe = recipe_transpose(store, recipe, last);
    recipe = recipe_reshape(store, recipe, 4, rows);
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
    const Recipe *pairs = recipe_reshape(store, w, 5, cut);
    Recipe *even = recipe_slice(store, pairs, 2, 0, 1, 1);
    Recipe *odd = recipe_slice(store, pairs, 2, 1, 1, 1);
    even = recipe_cast(store, even, DT_F32);
    odd = recipe_cast(store, odd, DT_F32);
    odd = recipe_mul(store, odd, recipe_number(store, 256.0f));
    Recipe *sum = recipe_cast(store, recipe_add(store, odd, even), DT_I16);
    sum = recipe_reshape(store, sum, 4, halves);
    sum = recipe_transpose(store, sum, turn);
    return recipe_bits(store, sum, DT_I8, 1, bytes);
}

static Recipe *flat(Store *store, const Recipe *recipe, int64_t groups)
{
    const int64_t dims[2] = { groups, recipe_count(recipe) / groups };
    return recipe_reshape(store, recipe, 2, dims);
}

/* Blocks of the family's width, then one of the rest. */
static Recipe *packed_blocks(Lower *lower, const Recipe *w,
                             const inlay_qpacked_params *p)
{
    Store *store = lower->store;
    const int64_t width = lower->family->byte_width;
    const int64_t dims[5] = { p->groups, p->oc, p->ic, i64_mul(p->kd, p->kh),
                              p->kw };
    const int64_t left = inlay_up4(p->oc) % width;
    const int64_t main = inlay_up4(p->oc) - left;
    Recipe *part[2];
    int n = 0;
    w = recipe_reshape(store, w, 5, dims);
    if (main)
        part[n++] =
            blocks_of(store, w, 0, i64_min(main, p->oc), width, p->deep);
    if (left)
        part[n++] = blocks_of(store, w, main, p->oc - main, left, p->deep);
    if (n == 1)
        return part[0];
    for (int i = 0; i < n; i++)
        part[i] = flat(store, part[i], p->groups);
    return recipe_concat(store, n, part, 1);
}

static Recipe *packed_bytes(Lower *lower, const Recipe *w,
                            const inlay_qpacked_params *p)
{
    Recipe *blocks = packed_blocks(lower, w, p);
    return p->wide ? in_halves(lower->store, blocks) : blocks;
}

/* [channels][1][taps...] -> [channels][columns][rows, filled up]. */
static Recipe *deep_depthwise(Store *store, const Recipe *w,
                              const inlay_qpacked_params *p)
{
    static const int turn[3] = { 0, 2, 1 };
    const int64_t rows = i64_mul(p->kd, p->kh);
    const int64_t dims[3] = { p->groups, rows, p->kw };
    Recipe *recipe = recipe_reshape(store, w, 3, dims);
    recipe = recipe_pad(store, recipe, 1, 0, inlay_qdeep_high(p) - rows);
    return recipe_transpose(store, recipe, turn);
}

/* [channels][1][taps...] -> [taps][channels]. */
static Recipe *packed_depthwise(Lower *lower, const Recipe *w, int64_t channels)
{
    static const int turn[2] = { 1, 0 };
    Store *store = lower->store;
    const int64_t dims[2] = { channels, recipe_count(w) / channels };
    return recipe_transpose(store, recipe_reshape(store, w, 2, dims), turn);
}

/* ---- sums ---- */

enum { STRETCH = 1 << 20 }; /* bytes read at a time */

/* Adds elements [from, from + n) of each of `count` channels from `first` on to their sums; w
 * [channels][K]. */
static void add_stretch(Lower *lower, const Recipe *w, int64_t first,
                        int64_t count, int64_t from, int64_t n, int32_t *sum)
{
    Store *store = lower->store;
    const ArenaMark mark = arena_mark(&store->scratch);
    Recipe *part = recipe_slice(store, w, 0, first, 1, count);
    part = recipe_slice(store, part, 1, from, 1, n);
    const int8_t *value = recipe_values(store, &store->scratch, part);
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < n; k++)
            sum[first + i] = inlay_wrap_add(sum[first + i], value[i * n + k]);
    arena_release(&store->scratch, mark);
}

/* The sum of each channel of w [channels][...]. */
static int32_t *sums_of(Lower *lower, const Recipe *w, int64_t channels)
{
    const int64_t k = recipe_count(w) / channels;
    const int64_t dims[2] = { channels, k };
    int32_t *sum = NEW_ARRAY(lower->arena, int32_t, channels);
    const Recipe *matrix = recipe_reshape(lower->store, w, 2, dims);
    const int64_t n = i64_min(k, STRETCH);
    const int64_t at_once = n ? STRETCH / n : channels;
    for (int64_t first = 0; n && first < channels; first += at_once)
        for (int64_t from = 0; from < k; from += n)
            add_stretch(lower, matrix, first,
                        i64_min(at_once, channels - first), from,
                        i64_min(n, k - from), sum);
    return sum;
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

/* Are the odd channels of each group of `each` such? w [channels][K]. */
static bool halves_fit(Lower *lower, const Recipe *w, int64_t each)
{
    Store *store = lower->store;
    const int64_t channels = recipe_dims(w)[0];
    const int64_t dims[2] = { channels, recipe_count(w) / channels };
    const Recipe *matrix = recipe_reshape(store, w, 2, dims);
    bool fits = true;
    for (int64_t i = 0; fits && i < channels; i++) {
        const ArenaMark mark = arena_mark(&store->scratch);
        const bool upper = i % each % 2 == 1;
        int64_t size = 0;
        for (int64_t from = 0; upper && fits && from < dims[1];
             from += STRETCH) {
            const int64_t n = i64_min(STRETCH, dims[1] - from);
            Recipe *part = recipe_slice(store, matrix, 0, i, 1, 1);
            part = recipe_slice(store, part, 1, from, 1, n);
            fits = stretch_fits(recipe_values(store, &store->scratch, part), n,
                                &size);
        }
        arena_release(&store->scratch, mark);
    }
    return fits;
}

/* ---- what goes with each channel ---- */

/* Channels of y in groups, each filled up to fours. */
typedef struct Channels {
    int64_t groups, each, padded;
} Channels;

/* `count` elements of 4 bytes, in the places of channels. */
static Tensor *each_channel(Lower *lower, const Channels *c, DType type,
                            const void *values)
{
    Store *store = lower->store;
    const int64_t dims[2] = { c->groups, c->each };
    const int64_t all = c->padded - c->each;
    Recipe *recipe = recipe_memory(store, type, 2, dims, values);
    if (all)
        recipe = recipe_pad(store, recipe, 1, 0, all);
    return lower_constant(lower, recipe);
}

/* Zero points of signed weights; *all: that of all of them, where NULL is returned. */
static int32_t *weight_zeros(Lower *lower, const ByteOperands *q,
                             int64_t channels, int32_t *all)
{
    const int32_t off = is_signed(q->w) ? 0 : 128;
    const int32_t *value = values_of(lower, q->zw, DT_I32);
    bool same = true;
    *all = (value ? *value : 0) - off;
    if (is_single(q->zw))
        return NULL;
    int32_t *zeros = NEW_ARRAY(lower->arena, int32_t, channels);
    for (int64_t i = 0; i < channels; i++) {
        zeros[i] = value[i] - off;
        same = same && zeros[i] == *all;
    }
    return same ? NULL : zeros;
}

/* The factors of the sums: sx sw / sy, or sw where the result is float. */
static Tensor *factors(Lower *lower, const ByteOperands *q, const Channels *c,
                       inlay_qpacked_params *params)
{
    params->scales = 1;
    if (q->y->dtype == DT_I32)
        return NULL;
    const int64_t n = q->sw ? tensor_count(q->sw) : 1;
    const float *sw = values_of(lower, q->sw, DT_F32);
    float *factor = NEW_ARRAY(lower->arena, float, n);
    const bool floats = q->y->dtype == DT_F32;
    const float sx = floats ? 1.0f : scale_of(lower, q->sx);
    const float sy = floats ? 1.0f : scale_of(lower, q->sy);
    for (int64_t i = 0; i < n; i++) {
        const float scale = sx * (sw ? sw[i] : 1.0f);
        factor[i] = scale / sy;
    }
    if (n == 1)
        return lower_floats(lower, factor, 1);
    params->scales = i32_checked(c->groups * c->padded);
    return each_channel(lower, c, DT_F32, factor);
}

static int32_t kind_of(DType type)
{
    if (type == DT_F32)
        return INLAY_QOUT_F32;
    if (type == DT_I32)
        return INLAY_QOUT_I32;
    return type == DT_I8 ? INLAY_QOUT_I8 : INLAY_QOUT_U8;
}

/* How x's bytes are read, and what its results are. */
static void set_numbers(Lower *lower, const Node *node, const ByteOperands *q,
                        inlay_qpacked_params *params)
{
    const ByteSign sign = lower->family->bytes;
    const bool x_signed = is_signed(q->x);
    const bool as_signed =
        sign == BYTES_SIGNED || (sign == BYTES_AS_THEY_ARE && x_signed);
    params->width = lower->family->byte_width;
    params->deep = lower->family->byte_depth == INLAY_QDEPTH;
    params->flip = x_signed ? 128 : 0;
    params->minus = as_signed ? 128 : 0;
    params->out = kind_of(q->y->dtype);
    bytes_bounds(node, &params->lo, &params->hi);
    if (is_constant(q->zy))
        params->zy = number_of(lower, q->zy);
    if (is_constant(q->zx))
        params->zero = number_of(lower, q->zx) + params->flip - params->minus;
}

/* Does a window leave the image along a dimension? */
static bool leaves(int32_t in, int32_t out, int32_t stride, int32_t pad,
                   int32_t extent)
{
    return pad > 0 || (int64_t)(out - 1) * stride - pad + extent > in;
}

static bool is_clipped(const inlay_qpacked_params *p)
{
    const int32_t deep = (p->kd - 1) * p->dd + 1;
    const int32_t high = (p->kh - 1) * p->dh + 1;
    const int32_t wide = (p->kw - 1) * p->dw + 1;
    return leaves(p->id, p->od, p->sd, p->pd, deep) ||
           leaves(p->ih, p->oh, p->sh, p->ph, high) ||
           leaves(p->iw, p->ow, p->sw, p->pw, wide);
}

static int64_t pixels_of(const inlay_qpacked_params *params)
{
    return i64_mul(i64_mul(params->od, params->oh), params->ow);
}

/* Pixels whose windows are gathered at a time; 0: no window is ever gathered. */
static int32_t gathered(const inlay_qpacked_params *params, int64_t window)
{
    enum { MOST = 8192 }; /* bytes of scratch for more than one */
    if (params->wide)
        return 0;
    if (params->deep ? inlay_qdeep_lies(params) : params->kw == 1)
        if (!is_clipped(params))
            return 0;
    if (params->deep)
        return pixels_of(params) == 1 ? 1 : 2;
    const int64_t fit = MOST / i64_max(window, 1);
    return fit < 1 ? 1 : (int32_t)i64_min(fit, INLAY_QPIXELS);
}

static int64_t window_bytes(const inlay_qpacked_params *params)
{
    const int64_t run = i64_mul(params->kw, params->ic);
    const int64_t rows = i64_mul(params->kd, params->kh);
    if (params->deep)
        return i64_mul(i64_ceil_div(i64_mul(rows, run), INLAY_QDEPTH),
                       INLAY_QDEPTH);
    return i64_mul(rows, i64_ceil_div(run, 4) * 4);
}

/* What is made of zero points and sums: for each channel its bias, and zero points of weights
 * where they differ. */
typedef struct Folded {
    int32_t *bias, *sums, *zeros;
    bool late; /* x's zero point comes at run time: it is not in the bias */
} Folded;

static Folded fold_zeros(Lower *lower, const ByteOperands *q, const Recipe *w,
                         const Channels *c, inlay_qpacked_params *params)
{
    const int64_t channels = i64_mul(c->groups, c->each);
    const int32_t taps = (int32_t)(recipe_count(w) / channels);
    const int32_t *given = values_of(lower, q->bias, DT_I32);
    Folded folded = {
        .bias = NEW_ARRAY(lower->arena, int32_t, channels),
        .sums = sums_of(lower, w, channels),
        .zeros = weight_zeros(lower, q, channels, &params->zw),
        .late = !is_constant(q->zx),
    };
    for (int64_t i = 0; i < channels; i++) {
        const int32_t zero = folded.zeros ? folded.zeros[i] : params->zw;
        int32_t *sum = folded.sums + i;
        int32_t off = inlay_wrap_mul(taps, zero);
        *sum = inlay_wrap_add(*sum, -off);
        off = inlay_wrap_mul(params->zero, *sum);
        folded.bias[i] =
            inlay_wrap_add(given ? given[i] : 0, folded.late ? 0 : -off);
    }
    return folded;
}

/* The operands behind the weights. */
static void add_operands(Lower *lower, Step *step, const ByteOperands *q,
                         const Channels *c, const Folded *folded, Tensor *scale)
{
    Tensor *zeros = NULL;
    Tensor *sums = NULL;
    if (folded->zeros)
        zeros = each_channel(lower, c, DT_I32, folded->zeros);
    if (folded->late)
        sums = each_channel(lower, c, DT_I32, folded->sums);
    step_in(step, each_channel(lower, c, DT_I32, folded->bias));
    step_in(step, scale);
    step_in(step, zeros);
    step_in(step, sums);
    step_in(step, folded->late ? q->zx : NULL);
    step_in(step, q->y->dtype == DT_F32 ? q->sx : NULL);
    step_in(step, q->add);
}

static void begin(Step *step, const ByteOperands *q, Tensor *weights)
{
    step_out(step, q->y);
    step_in(step, q->x);
    step_in(step, weights);
}

/* Are columns of pixels laid side by side? Weights have no zero points, and windows are small. */
static bool goes_deep(const inlay_qpacked_params *params, const Folded *folded)
{
    const int64_t rows = i64_mul(params->kd, params->kh);
    return params->deep && !folded->zeros && params->zw == 0 &&
           i64_mul(rows, params->kw) <= INLAY_QDEEP_WINDOW &&
           params->sw <= INLAY_QDEEP_WINDOW;
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

static Step *lower_depthwise(Lower *lower, const ByteOperands *q,
                             inlay_qpacked_params *params)
{
    const Channels c = { 1, params->groups, inlay_up4(params->groups) };
    const Recipe *w = signed_bytes(lower->store, q->w);
    const Folded folded = fold_zeros(lower, q, w, &c, params);
    Tensor *scale = factors(lower, q, &c, params);
    params->deep = goes_deep(params, &folded);
    if (params->deep)
        params->gather = (int32_t)i64_min(params->ow, INLAY_QDEEP_PIXELS);
    else
        params->gather = columns_apart(lower, params);
    Recipe *packed = params->deep ? deep_depthwise(lower->store, w, params)
                                  : packed_depthwise(lower, w, params->groups);
    Step *step = lower_step(lower, "qdwconv_packed", params);
    begin(step, q, lower_constant(lower, packed));
    add_operands(lower, step, q, &c, &folded, scale);
    step_scratch(lower, step, column_bytes(params));
    return step;
}

/* Pixels whose windows are widened at a time; 0: the weights are not packed as halves. */
static int32_t widened(Lower *lower, const ByteOperands *q, const Recipe *w,
                       const inlay_qpacked_params *params)
{
    const int64_t channels = i64_max((int64_t)params->groups * params->oc, 1);
    const int64_t pixels = tensor_count(q->y) / channels;
    if (!lower->family->byte_halves || !halves_fit(lower, w, params->oc))
        return 0;
    return pixels == 1 ? 1 : 2;
}

static int64_t scratch_bytes(const inlay_qpacked_params *params)
{
    return i64_mul(window_bytes(params), inlay_qpacked_windows(params));
}

Step *lower_bytes_packed(Lower *lower, Node *node, const ByteOperands *q,
                         inlay_qpacked_params *params)
{
    set_numbers(lower, node, q, params);
    if (params->groups > 1 && params->ic == 1 && params->oc == 1)
        return lower_depthwise(lower, q, params);
    const Channels c = { params->groups, params->oc, inlay_up4(params->oc) };
    const Recipe *w = signed_bytes(lower->store, q->w);
    params->wide = widened(lower, q, w, params);
    params->gather = gathered(params, window_bytes(params));
    const Folded folded = fold_zeros(lower, q, w, &c, params);
    Tensor *scale = factors(lower, q, &c, params);
    Recipe *packed = packed_bytes(lower, w, params);
    Step *step = lower_step(lower, "qconv_packed", params);
    begin(step, q, lower_constant(lower, packed));
    add_operands(lower, step, q, &c, &folded, scale);
    step_scratch(lower, step, scratch_bytes(params));
    return step;
}
