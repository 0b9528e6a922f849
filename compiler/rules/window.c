/* SPDX-License-Identifier: Apache-2.0
 * Columns of kernels that slide a window over images: a window that begins at another column is
 * another padding. */
#include "kernels/deconv_f32.h"
#include "kernels/dense_f32.h"
#include "kernels/dwpw_f32.h"
#include "kernels/pool.h"
#include "kernels/qpacked.h"
#include "kernels/qshort_params.h"
#include "kernels/qdot.h"
#include "rules/families.h"

/* A row of a window, in a structure of parameters. */
typedef struct Window {
    int32_t *in, *out, *pad;
    int32_t taps, stride, dilation;
} Window;

static Window conv_window(void *params)
{
    inlay_conv_params *p = params;
    return (Window){ &p->iw, &p->ow, &p->pw, p->kw, p->sw, p->dw };
}

static Window pool_window(void *params)
{
    inlay_pool_params *p = params;
    return (Window){ &p->iw, &p->ow, &p->pw, p->kw, p->sw, p->dw };
}

static Window qconv_window(void *params)
{
    inlay_qconv_params *p = params;
    return (Window){ &p->iw, &p->ow, &p->pw, p->kw, p->sw, p->dw };
}

static Window dwpw_window(void *params)
{
    inlay_dwpw_params *p = params;
    return (Window){ &p->iw, &p->ow, &p->pw, p->kw, p->sw, p->dw };
}

/* Row by row, and over all columns of both images. */
static bool takes_columns(const Step *step, const Window *window)
{
    return step->operand[1].rule.kind != ROWS_ALL &&
           *window->in == operand_width(step->operand + 1) &&
           *window->out == operand_width(step->operand);
}

static ColumnRule columns_of(const Step *step, Window window)
{
    if (!takes_columns(step, &window))
        return (ColumnRule){ .kind = COLUMNS_NONE };
    return (ColumnRule){
        .kind = COLUMNS_WINDOW,
        .stride = window.stride,
        .pad = *window.pad,
        .extent = (window.taps - 1) * window.dilation + 1,
    };
}

static void cut_window(Window window, Columns y, Columns there)
{
    *window.pad += there.lo - y.lo * window.stride;
    *window.in = there.hi - there.lo;
    *window.out = y.hi - y.lo;
}

static ColumnRule conv_columns(const Step *step)
{
    return columns_of(step, conv_window(step->params));
}

static void conv_cut(const Step *step, void *params, Columns y, Columns there)
{
    (void)step;
    cut_window(conv_window(params), y, there);
}

/* Weights lie block by block of so many channels; those of a narrow type with scales have them by
 * the number of all channels. */
static ChannelRule conv_channels(const Step *step, void *params)
{
    enum { RESULT, WEIGHTS = 2, BIAS, ADDEND, HOW };
    inlay_conv_params *p = params;
    const bool scaled = step_operands(step) > HOW && step->operand[HOW].tensor;
    if (p->groups != 1 || scaled)
        return (ChannelRule){ .channels = 0 };
    return (ChannelRule){
        .channels = p->oc,
        .least = p->width,
        .count = &p->oc,
        .in_pixels = 1u << RESULT | 1u << ADDEND,
        .each = 1u << WEIGHTS | 1u << BIAS,
    };
}

static ChannelRule dense_channels(const Step *step, void *params)
{
    enum { RESULT, WEIGHTS = 2, BIAS, ADDEND };
    inlay_dense_params *p = params;
    (void)step;
    return (ChannelRule){
        .channels = p->n,
        .least = 4,
        .count = &p->n,
        .in_pixels = 1u << RESULT | 1u << ADDEND,
        .each = 1u << WEIGHTS | 1u << BIAS,
    };
}

static ChannelRule qpacked_channels(const Step *step, void *params)
{
    enum { RESULT, WEIGHTS = 2, BIAS, SCALE, ZEROS, SUMS, ADDED = 9 };
    inlay_qpacked_params *p = params;
    (void)step;
    if (p->groups != 1)
        return (ChannelRule){ .channels = 0 };
    return (ChannelRule){
        .channels = p->oc,
        .least = p->width,
        .count = &p->oc,
        .in_pixels = 1u << RESULT | 1u << ADDED,
        .each = 1u << WEIGHTS | 1u << BIAS | 1u << ZEROS | 1u << SUMS |
                (p->scales > 1 ? 1u << SCALE : 0u),
    };
}

static ColumnRule pool_columns(const Step *step)
{
    return columns_of(step, pool_window(step->params));
}

static void pool_cut(const Step *step, void *params, Columns y, Columns there)
{
    (void)step;
    cut_window(pool_window(params), y, there);
}

static ColumnRule qconv_columns(const Step *step)
{
    return columns_of(step, qconv_window(step->params));
}

static void qconv_cut(const Step *step, void *params, Columns y, Columns there)
{
    (void)step;
    cut_window(qconv_window(params), y, there);
}

static Window qpacked_window(void *params)
{
    inlay_qpacked_params *p = params;
    return (Window){ &p->iw, &p->ow, &p->pw, p->kw, p->sw, p->dw };
}

static ColumnRule qpacked_columns(const Step *step)
{
    return columns_of(step, qpacked_window(step->params));
}

static Window qshort_window(void *params)
{
    inlay_qshort_params *p = params;
    return (Window){ &p->iw, &p->ow, &p->pw, p->kw, p->sw, p->dw };
}

static ColumnRule qshort_columns(const Step *step)
{
    return columns_of(step, qshort_window(step->params));
}

static void qshort_cut(const Step *step, void *params, Columns y, Columns there)
{
    (void)step;
    cut_window(qshort_window(params), y, there);
}

static void qpacked_cut(const Step *step, void *params, Columns y,
                        Columns there)
{
    (void)step;
    cut_window(qpacked_window(params), y, there);
}

static ColumnRule dwpw_columns(const Step *step)
{
    return columns_of(step, dwpw_window(step->params));
}

static void dwpw_cut(const Step *step, void *params, Columns y, Columns there)
{
    (void)step;
    cut_window(dwpw_window(params), y, there);
}

static Chunk dwpw_chunk(void *params)
{
    inlay_dwpw_params *p = params;
    return (Chunk){
        .pixels = &p->chunk,
        .width = p->ow,
        .bytes = (int64_t)p->channels * 4,
        .rule = pairs_depthwise,
    };
}

/* kw counts the taps of one phase, of which there are as many as places between two whose taps are
 * the same ones. */
static ColumnRule deconv_columns(const Step *step)
{
    const Window window = conv_window(step->params);
    if (!takes_columns(step, &window))
        return (ColumnRule){ .kind = COLUMNS_NONE };
    const int32_t phases =
        window.stride / inlay_gcd(window.stride, window.dilation);
    return (ColumnRule){
        .kind = COLUMNS_TAPS,
        .stride = window.stride,
        .pad = *window.pad,
        .extent = window.taps * phases,
        .dilation = window.dilation,
    };
}

static void deconv_cut(const Step *step, void *params, Columns y, Columns there)
{
    const Window window = conv_window(params);
    *window.pad += y.lo - there.lo * window.stride;
    *window.in = there.hi - there.lo;
    *window.out = y.hi - y.lo;
    (void)step;
}

const KernelRules rules_conv = {
    .columns = conv_columns,
    .cut = conv_cut,
    .channels = conv_channels,
    .tiles = tiles_conv,
};
const KernelRules rules_conv1d = {
    .channels = conv_channels,
    .tiles = tiles_conv1d,
};
const KernelRules rules_dense = {
    .channels = dense_channels,
};
const KernelRules rules_dwconv_act = {
    .columns = conv_columns,
    .cut = conv_cut,
};
const KernelRules rules_depthwise = {
    .columns = conv_columns,
    .cut = conv_cut,
    .pairs = pairs_depthwise,
};
const KernelRules rules_deconv = {
    .columns = deconv_columns,
    .cut = deconv_cut,
    .tiles = tiles_deconv,
};
const KernelRules rules_pool = {
    .columns = pool_columns,
    .cut = pool_cut,
};
const KernelRules rules_qpacked = {
    .columns = qpacked_columns,
    .cut = qpacked_cut,
    .channels = qpacked_channels,
    .packed = packed_conv,
};
const KernelRules rules_qdwpacked = {
    .columns = qpacked_columns,
    .cut = qpacked_cut,
    .channels = qpacked_channels,
    .packed = packed_depthwise,
};
const KernelRules rules_qdwmany = {
    .columns = qpacked_columns,
    .cut = qpacked_cut,
    .packed = packed_multiplied,
};
const KernelRules rules_qshort = {
    .columns = qshort_columns,
    .cut = qshort_cut,
};
const KernelRules rules_qconv = {
    .columns = qconv_columns,
    .cut = qconv_cut,
};
const KernelRules rules_dwpw = {
    .columns = dwpw_columns,
    .cut = dwpw_cut,
    .chunk = dwpw_chunk,
    .tiles = tiles_dwpw,
};
