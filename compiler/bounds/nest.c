/* SPDX-License-Identifier: Apache-2.0
 * Bounds of kernels that walk elements in nests of loops: elementwise, moves, copies. */
#include <string.h>

#include "bounds/families.h"
#include "bounds/reach.h"
#include "kernels/concat.h"
#include "kernels/copy.h"
#include "kernels/move_rows.h"
#include "kernels/pick.h"
#include "kernels/qshort_step.h"
#include "kernels/qstep.h"
#include "kernels/resize.h"
#include "kernels/shuffle.h"

/* A row of a unary kernel: whole pixels, as many as hold its elements. */
static Stretch flat_row(Bounds *bounds, const inlay_flat_params *params, int k,
                        bool dense)
{
    const int64_t n = bounds_size(bounds, params->n);
    if (dense || !n)
        return span_of(n);
    const int64_t pixel = bounds_positive(bounds, params->pixel);
    return span_pixels(bounds, k, i64_ceil_div(n, pixel), pixel);
}

void bounds_flat(Bounds *bounds)
{
    const inlay_flat_params *p = bounds->params;
    const bool tight =
        pixel_of(bounds, 0) == p->pixel && pixel_of(bounds, 1) == p->pixel;
    const bool dense = p->pixel == p->n || tight;
    touch_units(bounds, 0, "result", flat_row(bounds, p, 0, dense));
    touch_units(bounds, 1, "input", flat_row(bounds, p, 1, dense));
}

void bounds_table(Bounds *bounds)
{
    bounds_flat(bounds);
    touch(bounds, 2, "table", 256);
    touch_any(bounds, 2, 3);
}

void bounds_qscale(Bounds *bounds)
{
    bounds_flat(bounds);
    touch(bounds, 2, "numbers", INLAY_QSTEP_WORDS);
}

void bounds_qscale_short(Bounds *bounds)
{
    bounds_flat(bounds);
    touch(bounds, 2, "numbers", INLAY_QSHORT_WORDS);
}

/* Packed elements: one unit. */
void bounds_packed(Bounds *bounds)
{
    const inlay_flat_params *p = bounds->params;
    touch(bounds, 0, "result", p->n);
    touch(bounds, 1, "input", p->n);
}

/* Operand k of a nest; stride NULL: dense. */
typedef struct Nest {
    int32_t rank, rows, pixel;
    const int32_t *n;
    /* units for a row of each operand; NULL, or 0: it has no such rows */
    const int32_t *every;
} Nest;

static Stretch nest_span(const Bounds *bounds, const Nest *nest, int k,
                         const int32_t *stride)
{
    const int64_t pixel = nest->rows >> k & 1 ? pixel_of(bounds, k) : 0;
    int64_t dense = 1;
    Stretch stretch = span_of(1);
    for (int i = nest->rank - 1; i >= 0; i--) {
        int64_t step = stride ? stride[i] : dense;
        if (i == nest->pixel && pixel && step)
            step = pixel;
        if (!stride && i == nest->pixel && pixel)
            dense = pixel;
        stretch = span_loop(stretch, nest->n[i], step);
        dense = sat_mul(dense, nest->n[i]);
    }
    return stretch;
}

static void touch_nest(Bounds *bounds, const Nest *nest, int k,
                       const char *name, const int32_t *stride)
{
    const Stretch stretch = nest_span(bounds, nest, k, stride);
    const int32_t every = nest->every ? nest->every[k] : 0;
    const int64_t units = bounds->step->units;
    bounds_refuse(bounds, every < 0, "an operand has less than no rows");
    if (nest->rows >> k & 1)
        touch_units(bounds, k, name, stretch);
    else if (every > 0)
        touch_each_row(
            bounds, k, name,
            i64_min(bounds->step->operand[k].rows, i64_ceil_div(units, every)),
            stretch);
    else
        touch_span(bounds, k, name, stretch);
}

static bool check_nest(Bounds *bounds, const Nest *nest, int least, int most)
{
    const bool wrong =
        nest->rank < least || nest->rank > most || nest->pixel >= nest->rank;
    bounds_refuse(bounds, wrong,
                  "it has another number of loops than its kernel");
    if (!wrong)
        sizes_walked(bounds, nest->rank, nest->n);
    return !wrong;
}

void bounds_nd2(Bounds *bounds)
{
    const inlay_nd2_params *p = bounds->params;
    const Nest nest = {
        p->rank, p->rows, p->pixel, p->n, p->every,
    };
    if (!check_nest(bounds, &nest, 1, 8))
        return;
    touch_nest(bounds, &nest, 0, "result", NULL);
    touch_nest(bounds, &nest, 1, "first operand", p->a);
    touch_nest(bounds, &nest, 2, "second operand", p->b);
    touch_any_floats(bounds, 1, 3);
}

void bounds_qpair(Bounds *bounds)
{
    bounds_nd2(bounds);
    touch(bounds, 3, "numbers", INLAY_QSTEP_WORDS);
}

void bounds_qpair_short(Bounds *bounds)
{
    bounds_nd2(bounds);
    touch(bounds, 3, "numbers", INLAY_QSHORT_WORDS);
}

void bounds_nd3(Bounds *bounds)
{
    const inlay_nd3_params *p = bounds->params;
    const Nest nest = {
        p->rank, p->rows, p->pixel, p->n, p->every,
    };
    if (!check_nest(bounds, &nest, 1, 8))
        return;
    touch_nest(bounds, &nest, 0, "result", NULL);
    touch_nest(bounds, &nest, 1, "condition", p->a);
    touch_nest(bounds, &nest, 2, "first choice", p->b);
    touch_nest(bounds, &nest, 3, "second choice", p->c);
    touch_any(bounds, 2, 4);
}

/* Where the units of an operand without rows begin. */
static Stretch move_units(Bounds *bounds, const inlay_move_params *params,
                          Stretch stretch)
{
    const int64_t units = bounds->step->units;
    const int64_t each = bounds_positive(bounds, params->units_in);
    stretch = span_times(stretch, i64_ceil_div(units, each), params->outer);
    return span_times(stretch, i64_min(units, each), params->inner);
}

static void touch_move(Bounds *bounds, const Nest *nest, int k,
                       const char *name, const int32_t *stride)
{
    const inlay_move_params *p = bounds->params;
    const bool by_row = p->rows >> k & 1;
    Stretch stretch = span_of(1);
    for (int i = 0; i < nest->rank; i++)
        stretch = span_loop(stretch, nest->n[i],
                            by_row && i == nest->pixel ? pixel_of(bounds, k)
                                                       : stride[i]);
    stretch = span_move(stretch, k ? p->x0 : p->y0);
    if (by_row)
        touch_units(bounds, k, name, stretch);
    else
        touch_span(bounds, k, name, move_units(bounds, p, stretch));
}

void bounds_move(Bounds *bounds)
{
    const inlay_move_params *p = bounds->params;
    const Nest nest = { p->rank, p->rows, p->pixel, p->n, NULL };
    if (!check_nest(bounds, &nest, 2, 8))
        return;
    touch_move(bounds, &nest, 0, "result", p->y);
    touch_move(bounds, &nest, 1, "input", p->x);
}

/* Elements of a row that loops [first, rank) reach; `pixels`: those of them that count pixels. */
static Stretch row_loops(const Bounds *bounds, int k, int first,
                         const int32_t *stride, int32_t pixels)
{
    const inlay_move_rows_params *p = bounds->params;
    Stretch stretch = span_of(1);
    for (int i = first; i < p->rank; i++)
        stretch = span_loop(
            stretch, p->n[i],
            sat_mul(stride[i], pixels >> i & 1 ? pixel_of(bounds, k) : 1));
    return stretch;
}

/* The loops that count units, one row of the result each. */
static void check_units(Bounds *bounds, const inlay_move_rows_params *params)
{
    bounds_refuse(bounds, params->units < 0 || params->units > params->rank - 2,
                  "its rows are no loops of it");
    for (int i = 0; i < params->units && i < params->rank; i++)
        bounds_positive(bounds, params->n[i]);
}

void bounds_move_rows(Bounds *bounds)
{
    const inlay_move_rows_params *p = bounds->params;
    const Nest nest = { p->rank, 0, -1, p->n, NULL };
    if (!check_nest(bounds, &nest, 2, 12))
        return;
    check_units(bounds, p);
    const Stretch rows =
        span_move(span_nest(span_of(1), p->rank - 2, p->n, p->row), p->first);
    const int first = (int)i64_max(p->units, 0);
    const Stretch y = row_loops(bounds, 0, first, p->y, p->y_pixels);
    const Stretch x = row_loops(bounds, 1, 0, p->x, p->x_pixels);
    const int64_t at =
        sat_add(sat_mul(p->x_pixel, pixel_of(bounds, 1)), p->x_channel);
    bounds_refuse(bounds, rows.lo < 0, "it reads a row before the first");
    touch_units(bounds, 0, "result", y);
    touch_each_row(bounds, 1, "input", rows.hi, span_move(x, at));
}

/* The channels that cycles move: the largest one, or -1 where the table is none. */
static int64_t last_channel(const uint16_t *table, int64_t entries)
{
    int64_t last = 0;
    int64_t i = 0;
    while (i < entries) {
        const int64_t end = i + 1 + table[i];
        if (!table[i] || end > entries)
            return -1;
        for (i++; i < end; i++)
            last = i64_max(last, table[i]);
    }
    return last;
}

void bounds_shuffle(Bounds *bounds)
{
    const inlay_shuffle_params *p = bounds->params;
    int64_t count;
    int64_t last = -1;
    const uint16_t *table = bounds_values(bounds, 2, &count);
    const int64_t pixels = bounds_size(bounds, p->pixels);
    touch(bounds, 2, "order", p->entries);
    if (table && p->entries <= count)
        last = last_channel(table, p->entries);
    bounds_refuse(bounds, last < 0 && p->entries <= count, "its order is none");
    touch_units(bounds, 0, "result", span_pixels(bounds, 0, pixels, last + 1));
    touch_units(bounds, 1, "input", span_pixels(bounds, 1, pixels, last + 1));
}

/* The values of n entries of a table, as a span. */
static Stretch table_span(const int32_t *table, int64_t n)
{
    Stretch stretch = { 0, 0 };
    for (int64_t i = 0; i < n; i++)
        stretch =
            span_both(stretch, (Stretch){ table[i], (int64_t)table[i] + 1 });
    return stretch;
}

/* Tables that are made while running: by steps that hold their entries to the axis. */
static Stretch made_table(Bounds *bounds, const Tensor *table)
{
    Stretch stretch = span_of(1);
    for (size_t i = 0; i < bounds->program->step.n; i++) {
        const Step *m = bounds->program->step.at[i];
        if (m == bounds->step || !m->n_operand || m->operand[0].tensor != table)
            continue;
        if (strcmp(m->kernel->name, "resize_table")) {
            bounds_refuse(bounds, true,
                          "its table is made by a step that does not hold it "
                          "to the axis");
            continue;
        }
        const inlay_resize_table_params *p = m->params;
        stretch = span_times(stretch, p->n_in, p->stride);
    }
    return stretch;
}

static Stretch tables_span(Bounds *bounds, const inlay_pick_params *params,
                           int64_t entries)
{
    int64_t count;
    const int32_t *table = bounds_values(bounds, 2, &count);
    Stretch stretch = span_of(1);
    if (!touch_given(bounds, 2) || entries > count)
        return stretch;
    if (!table)
        return made_table(bounds, bounds->step->operand[2].tensor);
    for (int d = 0; d < params->rank; d++) {
        const Stretch own = table_span(table, params->n[d]);
        stretch = (Stretch){ sat_add(stretch.lo, own.lo),
                             sat_add(stretch.hi, i64_max(own.hi - 1, 0)) };
        table += params->n[d];
    }
    return stretch;
}

static void pick_elements(Bounds *bounds, const inlay_pick_params *params)
{
    const int64_t run = bounds_size(bounds, params->run);
    int64_t entries = 0;
    for (int d = 0; d < params->rank; d++)
        entries = sat_add(entries, i64_max(bounds_size(bounds, params->n[d]),
                                           d < params->rank - 1));
    const Stretch from = tables_span(bounds, params, entries);
    touch(bounds, 2, "table", entries);
    const int64_t lines =
        sat_mul(sizes_walked(bounds, params->rank - 1, params->n),
                params->n[params->rank - 1]);
    touch_box(bounds, 0, "result", lines, run);
    touch_span(bounds, 1, "input",
               (Stretch){ from.lo, sat_add(from.hi - 1, run) });
}

/* Pixels of `run` elements that a table of columns names, in a row that begins at `origin`. */
static Stretch picked_pixels(const Bounds *bounds,
                             const inlay_pick_params *params,
                             const int32_t *columns)
{
    const int64_t pixel = pixel_of(bounds, 1);
    const Stretch at =
        span_move(table_span(columns, params->n[1]), -(int64_t)params->origin);
    const Stretch row = span_times(span_of(params->run), at.hi - at.lo, pixel);
    return span_move(row, sat_mul(at.lo, pixel));
}

static void pick_rows(Bounds *bounds, const inlay_pick_params *params)
{
    const int32_t units = bounds->step->units;
    const int64_t run = bounds_size(bounds, params->run);
    const int64_t pixels = bounds_size(bounds, params->n[1]);
    const int64_t first = sat_add(bounds_size(bounds, params->n[0]),
                                  bounds_size(bounds, params->column));
    int64_t count;
    const int32_t *table = bounds_values(bounds, 2, &count);
    touch(bounds, 2, "table", sat_add(first, pixels));
    touch_units(bounds, 0, "result", span_pixels(bounds, 0, pixels, run));
    bounds_refuse(bounds, units > params->n[0],
                  "its table has fewer rows than its result");
    bounds_refuse(bounds, !table, "its table is made while running");
    if (bounds->wrong || sat_add(first, pixels) > count)
        return;
    const Stretch rows = table_span(table, units);
    bounds_refuse(bounds, rows.lo < 0, "it reads a row before the first");
    touch_each_row(bounds, 1, "input", rows.hi,
                   picked_pixels(bounds, params, table + first));
}

void bounds_pick(Bounds *bounds)
{
    const inlay_pick_params *p = bounds->params;
    if (!bounds_rank(bounds, p->rank, 0))
        return;
    if (p->rank)
        pick_elements(bounds, p);
    else
        pick_rows(bounds, p);
}

void bounds_copy(Bounds *bounds)
{
    const inlay_copy_params *p = bounds->params;
    touch(bounds, 0, "result", p->bytes);
    touch(bounds, 1, "input", p->bytes);
}

void bounds_clear(Bounds *bounds)
{
    const inlay_copy_params *p = bounds->params;
    touch(bounds, 0, "result", p->bytes);
}

/* `pieces` of n bytes, in pixels or one behind the other. */
static Stretch piece_span(const Bounds *bounds, int k, int64_t n, int64_t whole)
{
    const inlay_concat_params *p = bounds->params;
    const int64_t step =
        p->size ? sat_mul(p->size, pixel_of(bounds, k)) : whole;
    return span_times(span_of(n), p->pieces, step);
}

void bounds_concat(Bounds *bounds)
{
    const inlay_concat_params *p = bounds->params;
    int64_t count;
    int64_t sum = 0;
    const int64_t *table = bounds_values(bounds, p->inputs + 1, &count);
    bounds_refuse(bounds, p->inputs < 0 || !table || count < p->inputs,
                  "its table of sizes is short");
    bounds_refuse(bounds, p->pieces < 0 || p->size < 0 || p->bytes < 0,
                  "a size is negative");
    if (bounds->wrong)
        return;
    touch_as(bounds, p->inputs + 1, '8');
    touch(bounds, p->inputs + 1, "table", p->inputs);
    for (int i = 0; i < p->inputs; i++) {
        const int64_t n = bounds_size(bounds, table[i]);
        touch_units(bounds, i + 1, "input", piece_span(bounds, i + 1, n, n));
        sum = sat_add(sum, n);
    }
    touch_units(bounds, 0, "result", piece_span(bounds, 0, sum, p->bytes));
    touch_any(bounds, 1, p->inputs + 1);
}
