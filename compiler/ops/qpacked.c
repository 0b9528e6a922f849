/* SPDX-License-Identifier: Apache-2.0
 * The parameters of packed products of bytes, and the operands that go with their weights. */
#include "ops/qpacked.h"

#include "base/size.h"
#include "kernels/qpacked.h"
#include "ops/families.h"
#include "ops/qlayout.h"
#include "ops/qnarrow.h"
#include "ops/qweights.h"

static bool fits(const Tensor *tensor, int64_t channels)
{
    return constant_or_none(tensor) &&
           (single_or_none(tensor) || tensor_count(tensor) == channels);
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
    return !q->x->value && single_or_none(q->zx) && single_or_none(q->sx);
}

bool bytes_packable(const ByteOperands *q, int64_t channels)
{
    const DType type = q->y->dtype;
    if (!weights_fit(q, channels) || !input_fits(q))
        return false;
    if (type == DT_F32 || type == DT_I32)
        return true;
    if (!constant_or_none(q->zx) || !constant_or_none(q->sx))
        return false;
    return fits(q->sy, 1) && fits(q->zy, 1);
}

static float scale_of(Lower *lower, const Tensor *tensor)
{
    const float *value = constant_values(lower, tensor, DT_F32);
    return value ? *value : 1.0f;
}

static bool is_signed(const Tensor *tensor)
{
    return tensor->dtype == DT_I8;
}

/* ---- what goes with each channel ---- */

/* The factors of n sums: sx sw / sy, or sw where the result is float. */
static float *factors_of(Lower *lower, const ByteOperands *q, int64_t n)
{
    const float *sw = constant_values(lower, q->sw, DT_F32);
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
    if (constant_or_none(q->zy))
        params->zy = constant_number(lower, q->zy);
    if (constant_or_none(q->zx)) {
        const int32_t shift = params->flip - params->minus;
        params->zero = constant_number(lower, q->zx) + shift;
    }
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
    palette_lies(lower, packing->palette, &packing->form);
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
    if (p.kd * p.kh * p.kw == 1) /* no pixel is read twice */
        return 0;
    return p.gather && inlay_qplanes_bytes(&p) <= MOST ? p.gather : 0;
}

static Step *lower_depthwise(Packing *packing, const Folded *folded)
{
    Lower *lower = packing->lower;
    inlay_qpacked_params *params = packing->params;
    Tensor *scale = factors(packing);
    params->deep = goes_deep(params, folded);
    if (params->deep)
        params->gather = (int32_t)i64_min(params->ow, INLAY_QDEEP_PIXELS);
    else
        params->gather = columns_apart(lower, params);
    Recipe *packed = packing_depthwise(packing);
    packing->form = packing_form_depthwise(packing);
    Step *step = begin(packing, "qdwconv_packed", "qdwconv_narrow", packed);
    add_operands(packing, step, folded, scale);
    end(packing, step, column_bytes(params));
    return step;
}

/* Can several results of each channel be made together? */
static bool can_multiply(const Packing *packing, const Folded *folded)
{
    const inlay_qpacked_params *params = packing->params;
    return packing->bits == 8 && !folded->zeros && !params->zw &&
           i64_mul(params->kd, params->kh) <= INLAY_QMANY_ROWS;
}

static Step *lower_multiplied(Packing *packing, const Folded *folded)
{
    Tensor *scale = factors(packing);
    packing->params->deep = 0;
    Recipe *packed = packing_depthwise(packing);
    packing->form = packing_form_depthwise(packing);
    Step *step = begin(packing, "qdwmany_packed", NULL, packed);
    add_operands(packing, step, folded, scale);
    return step;
}

/* Does a row of pixels by two leave one, so that its last three shall go together? Where windows
 * are so small that the scratch for one more is next to nothing. */
static bool leaves_three(const Packing *packing)
{
    enum { MOST = 64 }; /* taps */
    const inlay_qpacked_params *p = packing->params;
    return p->ow % 2 == 1 && p->ow >= 3 && p->groups == 1 && p->oc % 4 == 0 &&
           packing_window(p) <= MOST;
}

/* Pixels whose windows are widened at a time; 0: the weights are not packed as halves. */
static int32_t widened(const Packing *packing)
{
    const int64_t channels = i64_max(packing_channels(packing), 1);
    const int64_t pixels = tensor_count(packing->q->y) / channels;
    if (!packing->lower->family->byte_halves || !weights_fit_halves(packing))
        return 0;
    if (pixels == 1)
        return 1;
    return leaves_three(packing) ? 3 : 2;
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

static Step *lower_conv_packed(Packing *packing, const Folded *folded)
{
    inlay_qpacked_params *params = packing->params;
    params->wide = widened(packing);
    params->gather = packing_gathers(params, packing_window(params),
                                     packing->lower->for_speed);
    Tensor *scale = factors(packing);
    Recipe *packed = packing_blocks(packing);
    packing->form = packing_form(packing);
    Step *step = begin(packing, "qconv_packed", "qconv_narrow", packed);
    add_operands(packing, step, folded, scale);
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
    set_numbers(lower, node, q, params);
    weights_begin(&packing);
    const Folded folded = weights_fold(&packing);
    const bool multiplied = params->oc > 1;
    if (params->groups <= 1 || params->ic != 1 ||
        (multiplied && !can_multiply(&packing, &folded)))
        return lower_conv_packed(&packing, &folded);
    /* Depthwise: all channels are one group. */
    packing.groups = 1;
    packing.each = i64_mul(params->groups, params->oc);
    packing.padded = inlay_up4(i32_checked(packing.each));
    if (multiplied)
        return lower_multiplied(&packing, &folded);
    return lower_depthwise(&packing, &folded);
}
