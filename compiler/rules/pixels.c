/* SPDX-License-Identifier: Apache-2.0
 * Columns of kernels that make each pixel of the same pixels of their images. */
#include "kernels/affine_f32.h"
#include "kernels/quant.h"
#include "rules/families.h"

/* Each column of the same one, where the step can do that. */
static ColumnRule same_columns(bool takes)
{
    return (ColumnRule){ .kind = takes ? COLUMNS_SAME : COLUMNS_NONE };
}

static int32_t width_of(Columns y)
{
    return y.hi - y.lo;
}

static ColumnRule affine_columns(const Step *step)
{
    const inlay_affine_params *p = step->params;
    return same_columns(p->pixels == operand_width(step->operand));
}

static void affine_cut(const Step *step, void *params, Columns y, Columns there)
{
    inlay_affine_params *p = params;
    p->pixels = width_of(y);
    (void)step, (void)there;
}

static ColumnRule affine_conv_columns(const Step *step)
{
    const inlay_affine_conv_params *p = step->params;
    return same_columns(p->pixels == operand_width(step->operand));
}

static void affine_conv_cut(const Step *step, void *params, Columns y,
                            Columns there)
{
    inlay_affine_conv_params *p = params;
    p->pixels = width_of(y);
    (void)step, (void)there;
}

static Chunk affine_conv_chunk(void *params)
{
    inlay_affine_conv_params *p = params;
    return (Chunk){
        .pixels = &p->chunk,
        .width = p->pixels,
        .bytes = (int64_t)p->ic * 4,
        .rule = pairs_affine,
    };
}

static ColumnRule quant_columns(const Step *step)
{
    const inlay_quant_params *p = step->params;
    return same_columns(p->rows && !p->so &&
                        p->outer == operand_width(step->operand));
}

static void quant_cut(const Step *step, void *params, Columns y, Columns there)
{
    inlay_quant_params *p = params;
    p->outer = width_of(y);
    (void)step, (void)there;
}

static ColumnRule flat_columns(const Step *step)
{
    const inlay_flat_params *p = step->params;
    const Operand *y = step->operand;
    return same_columns(p->pixel == y->pixel &&
                        p->n == operand_width(y) * p->pixel);
}

static void flat_cut(const Step *step, void *params, Columns y, Columns there)
{
    inlay_flat_params *p = params;
    p->n = width_of(y) * p->pixel;
    (void)step, (void)there;
}

/* Loops over pixels and channels; operands without rows must not differ from pixel to pixel. */
static ColumnRule nest_columns(const Step *step, int32_t rows, const int32_t *n,
                               const int32_t *const *stride, int operands)
{
    bool takes = rows & 1 && n[0] == operand_width(step->operand);
    for (int k = 1; k < operands; k++)
        takes = takes && (rows >> k & 1 || !stride[k][0]);
    return same_columns(takes);
}

static ColumnRule nd2_columns(const Step *step)
{
    const inlay_nd2_params *p = step->params;
    const int32_t *const stride[] = { NULL, p->a, p->b };
    if (p->rank != 2 || p->pixel != 0)
        return same_columns(false);
    return nest_columns(step, p->rows, p->n, stride, 3);
}

static void nd2_cut(const Step *step, void *params, Columns y, Columns there)
{
    inlay_nd2_params *p = params;
    p->n[0] = width_of(y);
    (void)step, (void)there;
}

static ColumnRule nd3_columns(const Step *step)
{
    const inlay_nd3_params *p = step->params;
    const int32_t *const stride[] = { NULL, p->a, p->b, p->c };
    if (p->rank != 2 || p->pixel != 0)
        return same_columns(false);
    return nest_columns(step, p->rows, p->n, stride, 4);
}

static void nd3_cut(const Step *step, void *params, Columns y, Columns there)
{
    inlay_nd3_params *p = params;
    p->n[0] = width_of(y);
    (void)step, (void)there;
}

const KernelRules rules_affine = {
    .columns = affine_columns,
    .cut = affine_cut,
    .pairs = pairs_affine,
};
const KernelRules rules_affine_act = {
    .columns = affine_columns,
    .cut = affine_cut,
};
const KernelRules rules_affine_conv = {
    .columns = affine_conv_columns,
    .cut = affine_conv_cut,
    .chunk = affine_conv_chunk,
    .tiles = tiles_affine_conv,
};
const KernelRules rules_quant = {
    .columns = quant_columns,
    .cut = quant_cut,
};
const KernelRules rules_flat = {
    .columns = flat_columns,
    .cut = flat_cut,
};
const KernelRules rules_nd2 = {
    .columns = nd2_columns,
    .cut = nd2_cut,
};
const KernelRules rules_nd3 = {
    .columns = nd3_columns,
    .cut = nd3_cut,
};
