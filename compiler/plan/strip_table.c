/* SPDX-License-Identifier: Apache-2.0
 * No kernel knows of strips: a window that begins at another column is another padding, a table is
 * read from another place on. */
#include "plan/strip_table.h"

#include <assert.h>
#include <string.h>

#include "base/size.h"
#include "kernels/concat.h"
#include "kernels/deconv_f32.h"
#include "kernels/move.h"
#include "kernels/move_rows.h"
#include "kernels/pick.h"
#include "kernels/quant.h"
#include "kernels/resize.h"

Columns columns_hull(Columns a, Columns b)
{
    if (a.lo >= a.hi)
        return b;
    return (Columns){ (int32_t)i64_min(a.lo, b.lo), (int32_t)i64_max(a.hi, b.hi) };
}

/* The field of a parameter structure by name. */
static int32_t *field(const Step *step, void *params, const char *name)
{
    for (int i = 0; i < step->kernel->fields; i++)
        if (!strcmp(step->kernel->field[i].name, name))
            return (int32_t *)(void *)((unsigned char *)params + step->kernel->field[i].offset);
    assert(0 && "a window without that field");
    return NULL;
}

static int32_t value(const Step *step, const char *name)
{
    return *field(step, step->params, name);
}

int32_t strip_width(const Operand *operand)
{
    const int64_t pixel = operand->pixel * (int64_t)dtype_bits(operand->tensor->dtype) / 8;
    return pixel ? (int32_t)(operand->row_bytes / pixel) : 0;
}

static bool window_takes(const Step *step)
{
    const RowKind k = step->operand[1].rule.kind;
    return k != ROWS_ALL && value(step, "iw") == strip_width(step->operand + 1) &&
           value(step, "ow") == strip_width(step->operand);
}

static Columns window_needs(const Step *step, Columns y)
{
    const int32_t sw = value(step, "sw");
    const int32_t pw = value(step, "pw");
    const int32_t extent = (value(step, "kw") - 1) * value(step, "dw") + 1;
    return (Columns){ y.lo * sw - pw, (y.hi - 1) * sw - pw + extent };
}

static void window_cut(const Step *step, void *params, Columns y, int32_t origin, int32_t width)
{
    *field(step, params, "pw") += origin - y.lo * value(step, "sw");
    *field(step, params, "iw") = width;
    *field(step, params, "ow") = y.hi - y.lo;
}

static bool pixels_takes(const Step *step)
{
    return value(step, "pixels") == strip_width(step->operand);
}

static void pixels_cut(const Step *step, void *params, Columns y, int32_t origin, int32_t width)
{
    *field(step, params, "pixels") = y.hi - y.lo;
    (void)origin, (void)width;
}

static bool flat_takes(const Step *step)
{
    const inlay_flat_params *p = step->params;
    return p->n == strip_width(step->operand) * p->pixel && p->pixel == step->operand->pixel;
}

static void flat_cut(const Step *step, void *params, Columns y, int32_t origin, int32_t width)
{
    inlay_flat_params *p = params;
    p->n = (y.hi - y.lo) * p->pixel;
    (void)step, (void)origin, (void)width;
}

/* Loops over pixels and channels; operands without rows must not differ from pixel to pixel. */
static bool nest_takes(const Step *step, int32_t rank, int32_t rows, int32_t pixel,
                       const int32_t *n, const int32_t *const *stride)
{
    if (rank != 2 || pixel != 0 || !(rows & 1) || n[0] != strip_width(step->operand))
        return false;
    for (int k = 1; k < step->n_operand; k++)
        if (!(rows >> k & 1) && stride[k][0])
            return false;
    return true;
}

static bool nd2_takes(const Step *step)
{
    const inlay_nd2_params *p = step->params;
    const int32_t *const stride[] = { NULL, p->a, p->b };
    return nest_takes(step, p->rank, p->rows, p->pixel, p->n, stride);
}

static bool nd3_takes(const Step *step)
{
    const inlay_nd3_params *p = step->params;
    const int32_t *const stride[] = { NULL, p->a, p->b, p->c };
    return nest_takes(step, p->rank, p->rows, p->pixel, p->n, stride);
}

static void nest_cut(const Step *step, void *params, Columns y, int32_t origin, int32_t width)
{
    field(step, params, "n")[0] = y.hi - y.lo;
    (void)origin, (void)width;
}

bool strip_scatters(const Step *step)
{
    const inlay_move_params *p = step->params;
    return !strcmp(step->kernel->params, "move") && p->rows == 2 && p->pixel >= 0 &&
           step->operand->tensor->storage == STORE_OUTPUT;
}

/* Planes to an image, whose source has no rows; or back, and out. */
static bool move_takes(const Step *step)
{
    const inlay_move_params *p = step->params;
    if (strip_scatters(step))
        return p->n[p->pixel] == strip_width(step->operand + 1);
    return p->rank == 2 && p->rows == 1 && p->pixel == 0 && p->n[0] == strip_width(step->operand);
}

static void move_cut(const Step *step, void *params, Columns y, int32_t origin, int32_t width)
{
    inlay_move_params *p = params;
    p->n[p->pixel] = y.hi - y.lo;
    if (strip_scatters(step))
        p->y0 += y.lo * p->y[p->pixel];
    else
        p->x0 += y.lo * p->x[p->pixel];
    (void)origin, (void)width;
}

static bool quant_takes(const Step *step)
{
    const inlay_quant_params *p = step->params;
    return p->rows && !p->so && p->outer == strip_width(step->operand);
}

static void quant_cut(const Step *step, void *params, Columns y, int32_t origin, int32_t width)
{
    *field(step, params, "outer") = y.hi - y.lo;
    (void)origin, (void)width;
}

/* Pixel by pixel: every input has them all. */
static bool concat_takes(const Step *step)
{
    const inlay_concat_params *p = step->params;
    for (int k = 1; k <= p->inputs; k++)
        if (step->operand[k].rule.kind != ROWS_SAME || step->operand[k].rows != step->units ||
            strip_width(step->operand + k) != p->pieces)
            return false;
    return p->size && p->pieces == strip_width(step->operand);
}

static void concat_cut(const Step *step, void *params, Columns y, int32_t origin, int32_t width)
{
    *field(step, params, "pieces") = y.hi - y.lo;
    (void)origin, (void)width;
}

/* The loop over pixels, where there is one that goes over those of both tensors in their order. */
static int pixel_loop(const inlay_move_rows_params *params)
{
    int at = -1;
    for (int d = 0; d < params->rank; d++) {
        const bool y = params->y_pixels >> d & 1;
        const bool x = params->x_pixels >> d & 1;
        if (params->n[d] == 1 || (!y && !x))
            continue;
        if (at >= 0 || d < params->units || !y || !x || params->y[d] != 1 || params->x[d] != 1)
            return -1;
        at = d;
    }
    return at;
}

static bool move_rows_takes(const Step *step)
{
    const inlay_move_rows_params *p = step->params;
    const int d = pixel_loop(p);
    return d >= 0 && p->n[d] == strip_width(step->operand);
}

static Columns move_rows_needs(const Step *step, Columns y)
{
    const inlay_move_rows_params *p = step->params;
    return (Columns){ y.lo + p->x_pixel, y.hi + p->x_pixel };
}

static void move_rows_cut(const Step *step, void *params, Columns y, int32_t origin, int32_t width)
{
    inlay_move_rows_params *p = params;
    p->n[pixel_loop(step->params)] = y.hi - y.lo;
    p->x_pixel += y.lo - origin;
    (void)width;
}

/* A transposed convolution: the columns in which the taps of some phase begin and end. */
static Columns deconv_needs(const Step *s, Columns y)
{
    const int32_t sw = value(s, "sw");
    const int32_t dw = value(s, "dw");
    const int32_t kw = value(s, "kw");
    const int32_t pw = value(s, "pw");
    Columns all = { 0, 0 };
    for (int32_t c = y.lo; c < y.hi; c++) {
        const inlay_phase f = inlay_phase_of(c + pw, sw, dw, kw);
        if (f.first >= 0)
            all = columns_hull(all, (Columns){ f.top, f.top + (kw - 1) * f.step + 1 });
    }
    return all;
}

static void deconv_cut(const Step *step, void *params, Columns y, int32_t origin, int32_t width)
{
    *field(step, params, "pw") += y.lo - origin * value(step, "sw");
    *field(step, params, "iw") = width;
    *field(step, params, "ow") = y.hi - y.lo;
}

/* Tables of columns. */
static bool pick_takes(const Step *step)
{
    const inlay_pick_params *p = step->params;
    return !p->rank && p->n[1] == strip_width(step->operand) && step->operand[1].columns;
}

static bool resample_takes(const Step *step)
{
    const inlay_resample_params *p = step->params;
    if (p->along == INLAY_ALONG_ROWS)
        return p->pixels == strip_width(step->operand) &&
               p->pixels == strip_width(step->operand + 1);
    return p->along == INLAY_ALONG_PIXELS && p->n_out == strip_width(step->operand) &&
           step->operand[1].columns;
}

static Columns table_needs(const Step *step, Columns y)
{
    Columns all = { 0, 0 };
    for (int32_t c = y.lo; step->operand[1].columns && c < y.hi; c++)
        all = columns_hull(
            all, (Columns){ step->operand[1].columns[c].lo, step->operand[1].columns[c].hi });
    return step->operand[1].columns ? all : y;
}

static void table_cut(const Step *step, void *params, Columns y, int32_t origin, int32_t width)
{
    const inlay_resample_params *p = step->params;
    const char *const count = !strcmp(step->kernel->params, "pick") ? "n"
                              : p->along == INLAY_ALONG_ROWS        ? "pixels"
                                                                    : "n_out";
    field(step, params, count)[!strcmp(count, "n")] = y.hi - y.lo;
    *field(step, params, "column") = y.lo;
    *field(step, params, "origin") = origin;
    (void)width;
}

static const StripRow rows[] = {
    { "conv_f32", NULL, window_takes, window_needs, window_cut },
    { "conv_act_f32", NULL, window_takes, window_needs, window_cut },
    { "dwconv_f32", NULL, window_takes, window_needs, window_cut },
    { "dwconv_act_f32", NULL, window_takes, window_needs, window_cut },
    { "deconv_f32", NULL, window_takes, deconv_needs, deconv_cut },
    { "deconv_act_f32", NULL, window_takes, deconv_needs, deconv_cut },
    { NULL, "dwpw", window_takes, window_needs, window_cut },
    { NULL, "qconv", window_takes, window_needs, window_cut },
    { NULL, "pool", window_takes, window_needs, window_cut },
    { NULL, "affine", pixels_takes, NULL, pixels_cut },
    { NULL, "affine_conv", pixels_takes, NULL, pixels_cut },
    { NULL, "quant", quant_takes, NULL, quant_cut },
    { NULL, "concat", concat_takes, NULL, concat_cut },
    { NULL, "flat", flat_takes, NULL, flat_cut },
    { NULL, "nd2", nd2_takes, NULL, nest_cut },
    { NULL, "nd3", nd3_takes, NULL, nest_cut },
    { NULL, "move", move_takes, NULL, move_cut },
    { NULL, "move_rows", move_rows_takes, move_rows_needs, move_rows_cut },
    { NULL, "pick", pick_takes, table_needs, table_cut },
    { NULL, "resample", resample_takes, table_needs, table_cut },
};

const StripRow *strip_row(const Step *step)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].kernel ? rows[i].kernel : rows[i].params,
                    rows[i].kernel ? step->kernel->name : step->kernel->params))
            return rows + i;
    return NULL;
}
