/* SPDX-License-Identifier: Apache-2.0
 * Rules of kernels that copy: columns, what may be written or read in place instead, and tables
 * that are read from another place on. */
#include "kernels/concat.h"
#include "kernels/move.h"
#include "kernels/move_rows.h"
#include "kernels/pick.h"
#include "kernels/resize.h"
#include "rules/families.h"

static const ColumnRule no_columns = { .kind = COLUMNS_NONE };

/* ---- concatenation ---- */

/* Pixel by pixel: every input has them all. */
static ColumnRule concat_columns(const Step *step)
{
    const inlay_concat_params *p = step->params;
    bool takes = p->size && p->pieces == operand_width(step->operand);
    for (int k = 1; k <= p->inputs && takes; k++) {
        const Operand *x = step->operand + k;
        takes = x->rule.kind == ROWS_SAME && x->rows == step->units &&
                operand_width(x) == p->pieces;
    }
    return (ColumnRule){ .kind = takes ? COLUMNS_SAME : COLUMNS_NONE };
}

static void concat_cut(const Step *step, void *params, Columns y, Columns there)
{
    inlay_concat_params *p = params;
    p->pieces = y.hi - y.lo;
    (void)step, (void)there;
}

static Join concat_join(const Step *step)
{
    const inlay_concat_params *p = step->params;
    if (p->size && step->operand[0].rows == step->units)
        return (Join){ JOIN_PIXELS, p->inputs };
    if (!p->size && p->pieces == 1 && step->units == 1)
        return (Join){ JOIN_BLOCKS, p->inputs };
    return (Join){ JOIN_NOT, p->inputs };
}

static void concat_part(void *params, int64_t bytes)
{
    inlay_concat_params *p = params;
    p->inputs = 1;
    p->bytes = bytes;
}

const KernelRules rules_concat = {
    .columns = concat_columns,
    .cut = concat_cut,
    .join = concat_join,
    .part = concat_part,
};

/* ---- moves ---- */

/* An image that becomes planes in the caller's buffer. */
static bool makes_planes(const Step *step)
{
    const inlay_move_params *p = step->params;
    return p->rows == 2 && p->pixel >= 0 &&
           step->operand->tensor->storage == STORE_OUTPUT;
}

/* Planes to an image, whose source has no rows; or back, and out. */
static ColumnRule move_columns(const Step *step)
{
    const inlay_move_params *p = step->params;
    const bool planes = makes_planes(step);
    const bool to_image = p->rank == 2 && p->rows == 1 && p->pixel == 0;
    if ((!planes && !to_image) ||
        p->n[p->pixel] != operand_width(step->operand + planes))
        return (ColumnRule){ .kind = COLUMNS_NONE, .planes = planes };
    return (ColumnRule){ .kind = COLUMNS_SAME, .planes = planes };
}

static void move_cut(const Step *step, void *params, Columns y, Columns there)
{
    inlay_move_params *p = params;
    p->n[p->pixel] = y.hi - y.lo;
    if (makes_planes(step))
        p->y0 += y.lo * p->y[p->pixel];
    else
        p->x0 += y.lo * p->x[p->pixel];
    (void)there;
}

const KernelRules rules_move = {
    .columns = move_columns,
    .cut = move_cut,
    .moves = true,
};

/* The loop over pixels, where there is one that goes over those of both tensors in their order; -1:
 * there is none. */
static int pixel_loop(const inlay_move_rows_params *params)
{
    int at = -1;
    for (int d = 0; d < params->rank; d++) {
        const bool y = params->y_pixels >> d & 1;
        const bool x = params->x_pixels >> d & 1;
        if (params->n[d] == 1 || (!y && !x))
            continue;
        if (at >= 0 || d < params->units || !y || !x || params->y[d] != 1 ||
            params->x[d] != 1)
            return -1;
        at = d;
    }
    return at;
}

static ColumnRule move_rows_columns(const Step *step)
{
    const inlay_move_rows_params *p = step->params;
    const int d = pixel_loop(p);
    if (d < 0 || p->n[d] != operand_width(step->operand))
        return no_columns;
    return (ColumnRule){
        .kind = COLUMNS_WINDOW,
        .stride = 1,
        .pad = -p->x_pixel,
        .extent = 1,
    };
}

static void move_rows_cut(const Step *step, void *params, Columns y,
                          Columns there)
{
    inlay_move_rows_params *p = params;
    p->n[pixel_loop(step->params)] = y.hi - y.lo;
    p->x_pixel += y.lo - there.lo;
}

/* The same channels, in their order, of the same pixel: loop d keeps to its row. */
static bool keeps_place(const inlay_move_rows_params *params, int d)
{
    const int32_t pixels = params->x_pixels ^ params->y_pixels;
    return params->n[d] <= 1 || (!params->row[d] && !(pixels >> d & 1) &&
                                 params->x[d] == params->y[d]);
}

static bool move_rows_box(const Step *step, Box *box)
{
    const inlay_move_rows_params *p = step->params;
    bool takes = p->units == 1 && p->row[0] == 1 && !p->x[0] && !p->x_pixel;
    for (int d = 1; d < p->rank; d++)
        takes = takes && keeps_place(p, d);
    *box = (Box){ p->first, p->x_channel };
    return takes;
}

const KernelRules rules_move_rows = {
    .columns = move_rows_columns,
    .cut = move_rows_cut,
    .box = move_rows_box,
    .moves = true,
};

/* ---- tables of columns ---- */

static ColumnRule table_columns(const Step *step)
{
    return (ColumnRule){
        .kind = COLUMNS_TABLE,
        .table = step->operand[1].columns,
    };
}

static ColumnRule pick_columns(const Step *step)
{
    const inlay_pick_params *p = step->params;
    const bool takes = !p->rank && p->n[1] == operand_width(step->operand) &&
                       step->operand[1].columns;
    return takes ? table_columns(step) : no_columns;
}

static void pick_cut(const Step *step, void *params, Columns y, Columns there)
{
    inlay_pick_params *p = params;
    p->n[1] = y.hi - y.lo;
    p->column = y.lo;
    p->origin = there.lo;
    (void)step;
}

const KernelRules rules_pick = {
    .columns = pick_columns,
    .cut = pick_cut,
};

static ColumnRule resample_columns(const Step *step)
{
    const inlay_resample_params *p = step->params;
    const int32_t width = operand_width(step->operand);
    if (p->along == INLAY_ALONG_ROWS && p->pixels == width &&
        p->pixels == operand_width(step->operand + 1))
        return (ColumnRule){
            .kind = COLUMNS_WINDOW,
            .stride = 1,
            .extent = 1,
        };
    if (p->along == INLAY_ALONG_PIXELS && p->n_out == width &&
        step->operand[1].columns)
        return table_columns(step);
    return no_columns;
}

static void resample_cut(const Step *step, void *params, Columns y,
                         Columns there)
{
    inlay_resample_params *p = params;
    if (p->along == INLAY_ALONG_ROWS)
        p->pixels = y.hi - y.lo;
    else
        p->n_out = y.hi - y.lo;
    p->column = y.lo;
    p->origin = there.lo;
    (void)step;
}

const KernelRules rules_resample = {
    .columns = resample_columns,
    .cut = resample_cut,
};
