/* SPDX-License-Identifier: Apache-2.0
 * Bounds of kernels that walk elements in nests of loops: elementwise, moves, copies. */
#include <string.h>

#include "bounds/families.h"
#include "bounds/reach.h"
#include "kernels/concat.h"
#include "kernels/copy.h"
#include "kernels/move_rows.h"
#include "kernels/pick.h"
#include "kernels/resize.h"
#include "kernels/shuffle.h"

/* A row of a unary kernel: whole pixels, as many as hold its elements. */
static Stretch flat_row(Bounds *b, const inlay_flat_params *p, int k, bool dense)
{
    const int64_t n = bounds_size(b, p->n);
    if (dense || !n)
        return span_of(n);
    const int64_t pixel = bounds_positive(b, p->pixel);
    return span_pixels(b, k, i64_ceil_div(n, pixel), pixel);
}

void bounds_flat(Bounds *b)
{
    const inlay_flat_params *p = b->params;
    const bool tight = pixel_of(b, 0) == p->pixel && pixel_of(b, 1) == p->pixel;
    const bool dense = p->pixel == p->n || tight;
    touch_each_row(b, 0, "result", b->step->units, flat_row(b, p, 0, dense));
    touch_each_row(b, 1, "input", b->step->units, flat_row(b, p, 1, dense));
}

/* Packed elements: one unit. */
void bounds_packed(Bounds *b)
{
    const inlay_flat_params *p = b->params;
    touch(b, 0, "result", p->n);
    touch(b, 1, "input", p->n);
}

/* Operand k of a nest; stride NULL: dense. */
typedef struct Nest {
    int32_t rank, rows, pixel;
    const int32_t *n;
} Nest;

static Stretch nest_span(const Bounds *b, const Nest *t, int k, const int32_t *stride)
{
    const int64_t pixel = t->rows >> k & 1 ? pixel_of(b, k) : 0;
    int64_t dense = 1;
    Stretch s = span_of(1);
    for (int i = t->rank - 1; i >= 0; i--) {
        int64_t step = stride ? stride[i] : dense;
        if (i == t->pixel && pixel && step)
            step = pixel;
        if (!stride && i == t->pixel && pixel)
            dense = pixel;
        s = span_loop(s, t->n[i], step);
        dense = sat_mul(dense, t->n[i]);
    }
    return s;
}

static void touch_nest(Bounds *b, const Nest *t, int k, const char *name, const int32_t *stride)
{
    const Stretch s = nest_span(b, t, k, stride);
    if (t->rows >> k & 1)
        touch_each_row(b, k, name, b->step->units, s);
    else
        touch_span(b, k, name, s);
}

static bool check_nest(Bounds *b, const Nest *t, int least, int most)
{
    const bool wrong = t->rank < least || t->rank > most || t->pixel >= t->rank;
    bounds_refuse(b, wrong, "it has another number of loops than its kernel");
    if (!wrong)
        sizes_walked(b, t->rank, t->n);
    return !wrong;
}

void bounds_nd2(Bounds *b)
{
    const inlay_nd2_params *p = b->params;
    const Nest t = { p->rank, p->rows, p->pixel, p->n };
    if (!check_nest(b, &t, 1, 8))
        return;
    touch_nest(b, &t, 0, "result", NULL);
    touch_nest(b, &t, 1, "first operand", p->a);
    touch_nest(b, &t, 2, "second operand", p->b);
}

void bounds_nd3(Bounds *b)
{
    const inlay_nd3_params *p = b->params;
    const Nest t = { p->rank, p->rows, p->pixel, p->n };
    if (!check_nest(b, &t, 1, 8))
        return;
    touch_nest(b, &t, 0, "result", NULL);
    touch_nest(b, &t, 1, "condition", p->a);
    touch_nest(b, &t, 2, "first choice", p->b);
    touch_nest(b, &t, 3, "second choice", p->c);
}

/* Where the units of an operand without rows begin. */
static Stretch move_units(Bounds *b, const inlay_move_params *p, Stretch s)
{
    const int64_t units = b->step->units, each = bounds_positive(b, p->units_in);
    s = span_times(s, i64_ceil_div(units, each), p->outer);
    return span_times(s, i64_min(units, each), p->inner);
}

static void touch_move(Bounds *b, const Nest *t, int k, const char *name, const int32_t *stride)
{
    const inlay_move_params *p = b->params;
    const bool by_row = p->rows >> k & 1;
    Stretch s = span_of(1);
    for (int i = 0; i < t->rank; i++)
        s = span_loop(s, t->n[i], by_row && i == t->pixel ? pixel_of(b, k) : stride[i]);
    s = span_move(s, k ? p->x0 : p->y0);
    if (by_row)
        touch_each_row(b, k, name, b->step->units, s);
    else
        touch_span(b, k, name, move_units(b, p, s));
}

void bounds_move(Bounds *b)
{
    const inlay_move_params *p = b->params;
    const Nest t = { p->rank, p->rows, p->pixel, p->n };
    if (!check_nest(b, &t, 2, 8))
        return;
    touch_move(b, &t, 0, "result", p->y);
    touch_move(b, &t, 1, "input", p->x);
}

/* Elements of a row that loops [first, rank) reach; `pixels`: those of them that count pixels. */
static Stretch row_loops(const Bounds *b, int k, int first, const int32_t *stride, int32_t pixels)
{
    const inlay_move_rows_params *p = b->params;
    Stretch s = span_of(1);
    for (int i = first; i < p->rank; i++)
        s = span_loop(s, p->n[i], sat_mul(stride[i], pixels >> i & 1 ? pixel_of(b, k) : 1));
    return s;
}

void bounds_move_rows(Bounds *b)
{
    const inlay_move_rows_params *p = b->params;
    const Nest t = { p->rank, 0, -1, p->n };
    if (!check_nest(b, &t, 2, 12))
        return;
    bounds_refuse(b, p->units < 0 || p->units > p->rank - 2, "its rows are no loops of it");
    for (int i = 0; i < p->units && i < p->rank; i++)
        bounds_positive(b, p->n[i]);
    const Stretch rows = span_move(span_nest(span_of(1), p->rank - 2, p->n, p->row), p->first);
    const int64_t at = sat_add(sat_mul(p->x_pixel, pixel_of(b, 1)), p->x_channel);
    bounds_refuse(b, rows.lo < 0, "it reads a row before the first");
    touch_each_row(b, 0, "result", b->step->units,
                   row_loops(b, 0, (int)i64_max(p->units, 0), p->y, p->y_pixels));
    touch_each_row(b, 1, "input", rows.hi, span_move(row_loops(b, 1, 0, p->x, p->x_pixels), at));
}

/* The channels that cycles move: the largest one, or -1 where the table is none. */
static int64_t last_channel(const uint16_t *table, int64_t entries)
{
    int64_t last = 0, i = 0;
    while (i < entries) {
        const int64_t end = i + 1 + table[i];
        if (!table[i] || end > entries)
            return -1;
        for (i++; i < end; i++)
            last = i64_max(last, table[i]);
    }
    return last;
}

void bounds_shuffle(Bounds *b)
{
    const inlay_shuffle_params *p = b->params;
    int64_t count, last = -1;
    const uint16_t *table = bounds_values(b, 2, &count);
    const int64_t pixels = bounds_size(b, p->pixels);
    touch(b, 2, "order", p->entries);
    if (table && p->entries <= count)
        last = last_channel(table, p->entries);
    bounds_refuse(b, last < 0 && p->entries <= count, "its order is none");
    touch_each_row(b, 0, "result", b->step->units, span_pixels(b, 0, pixels, last + 1));
    touch_each_row(b, 1, "input", b->step->units, span_pixels(b, 1, pixels, last + 1));
}

/* The values of n entries of a table, as a span. */
static Stretch table_span(const int32_t *table, int64_t n)
{
    Stretch s = { 0, 0 };
    for (int64_t i = 0; i < n; i++)
        s = span_both(s, (Stretch){ table[i], (int64_t)table[i] + 1 });
    return s;
}

/* Tables that are made while running: by steps that hold their entries to the axis. */
static Stretch made_table(Bounds *b, const Tensor *table)
{
    Stretch s = span_of(1);
    for (size_t i = 0; i < b->program->step.n; i++) {
        const Step *m = b->program->step.at[i];
        if (m == b->step || !m->n_operand || m->operand[0].tensor != table)
            continue;
        if (strcmp(m->kernel->name, "resize_table")) {
            bounds_refuse(b, true, "its table is made by a step that does not hold it to the axis");
            continue;
        }
        const inlay_resize_table_params *p = m->params;
        s = span_times(s, p->n_in, p->stride);
    }
    return s;
}

static Stretch tables_span(Bounds *b, const inlay_pick_params *p, int64_t entries)
{
    int64_t count;
    const int32_t *table = bounds_values(b, 2, &count);
    Stretch s = span_of(1);
    if (!touch_given(b, 2) || entries > count)
        return s;
    if (!table)
        return made_table(b, b->step->operand[2].tensor);
    for (int d = 0; d < p->rank; d++) {
        const Stretch own = table_span(table, p->n[d]);
        s = (Stretch){ sat_add(s.lo, own.lo), sat_add(s.hi, i64_max(own.hi - 1, 0)) };
        table += p->n[d];
    }
    return s;
}

static void pick_elements(Bounds *b, const inlay_pick_params *p)
{
    const int64_t run = bounds_size(b, p->run);
    int64_t entries = 0;
    for (int d = 0; d < p->rank; d++)
        entries = sat_add(entries, i64_max(bounds_size(b, p->n[d]), d < p->rank - 1));
    const Stretch from = tables_span(b, p, entries);
    touch(b, 2, "table", entries);
    const int64_t lines = sat_mul(sizes_walked(b, p->rank - 1, p->n), p->n[p->rank - 1]);
    touch(b, 0, "result", sat_mul(lines, run));
    touch_span(b, 1, "input", (Stretch){ from.lo, sat_add(from.hi - 1, run) });
}

static void pick_rows(Bounds *b, const inlay_pick_params *p)
{
    const int64_t run = bounds_size(b, p->run), pixels = bounds_size(b, p->n[1]);
    const int64_t first = sat_add(bounds_size(b, p->n[0]), bounds_size(b, p->column));
    int64_t count;
    const int32_t *table = bounds_values(b, 2, &count);
    touch(b, 2, "table", sat_add(first, pixels));
    touch_each_row(b, 0, "result", b->step->units, span_pixels(b, 0, pixels, run));
    bounds_refuse(b, b->step->units > p->n[0], "its table has fewer rows than its result");
    bounds_refuse(b, !table, "its table is made while running");
    if (b->wrong || sat_add(first, pixels) > count)
        return;
    const Stretch rows = table_span(table, b->step->units);
    const Stretch at = span_move(table_span(table + first, pixels), -(int64_t)p->origin);
    bounds_refuse(b, rows.lo < 0, "it reads a row before the first");
    touch_each_row(b, 1, "input", rows.hi,
                   span_move(span_times(span_of(run), at.hi - at.lo, pixel_of(b, 1)),
                             sat_mul(at.lo, pixel_of(b, 1))));
}

void bounds_pick(Bounds *b)
{
    const inlay_pick_params *p = b->params;
    bounds_refuse(b, p->rank < 0 || p->rank > 8, "it has another number of loops than its kernel");
    if (b->wrong)
        return;
    if (p->rank)
        pick_elements(b, p);
    else
        pick_rows(b, p);
}

void bounds_copy(Bounds *b)
{
    const inlay_copy_params *p = b->params;
    touch(b, 0, "result", p->bytes);
    touch(b, 1, "input", p->bytes);
}

void bounds_clear(Bounds *b)
{
    const inlay_copy_params *p = b->params;
    touch(b, 0, "result", p->bytes);
}

/* `pieces` of n bytes, in pixels or one behind the other. */
static Stretch piece_span(const Bounds *b, int k, int64_t n, int64_t whole)
{
    const inlay_concat_params *p = b->params;
    const int64_t step = p->size ? sat_mul(p->size, pixel_of(b, k)) : whole;
    return span_times(span_of(n), p->pieces, step);
}

void bounds_concat(Bounds *b)
{
    const inlay_concat_params *p = b->params;
    int64_t count, sum = 0;
    const int64_t *table = bounds_values(b, p->inputs + 1, &count);
    bounds_refuse(b, p->inputs < 0 || !table || count < p->inputs, "its table of sizes is short");
    bounds_refuse(b, p->pieces < 0 || p->size < 0 || p->bytes < 0, "a size is negative");
    if (b->wrong)
        return;
    touch_as(b, p->inputs + 1, '8');
    touch(b, p->inputs + 1, "table", p->inputs);
    for (int i = 0; i < p->inputs; i++) {
        const int64_t n = bounds_size(b, table[i]);
        touch_each_row(b, i + 1, "input", b->step->units, piece_span(b, i + 1, n, n));
        sum = sat_add(sum, n);
    }
    touch_each_row(b, 0, "result", b->step->units, piece_span(b, 0, sum, p->bytes));
}
