/* SPDX-License-Identifier: Apache-2.0
 * Distances by rows, a row being finished before the next: a unit reads its rows before it writes its own. Where the kernel goes
 * pixel by pixel, in tiles, distances by pixels: exact for the largest tiles that it has on any target. */
#include "plan/overlap.h"

#include "base/size.h"

/* The one result; where it is also written by others, its first part. */
static const Touch *result_of(const Items *all, int32_t step)
{
    const Touch *found = NULL;
    for (const Touch *t = touch_begin(all, step); t < touch_end(all, step); t++) {
        const Item *it = all->item.at + t->item;
        if (!t->operand->write || it->scratch) continue;
        if (found || it->outside || it->fixed || t->operand->read) return NULL;
        found = t;
    }
    return found;
}

/* An input that may die in a step, in some order of the steps. */
static bool mortal(const Items *all, const Touch *t)
{
    const Item *it = all->item.at + t->item;
    return !t->operand->write && !it->fixed && !it->outside && !it->kept && !it->scratch;
}

static bool dies(const Items *all, const Touch *t, int32_t step)
{
    const Item *it = all->item.at + t->item;
    return mortal(all, t) && it->first < step && it->end == step + 1;
}

static bool covers(const Items *all, const Touch *t)
{
    const Item *it = all->item.at + t->item;
    return !t->at && !t->lane && !t->operand->part && tensor_bytes(t->operand->tensor) == tensor_bytes(it->root);
}

/* All operands on the item keep to the rule? */
static bool all_elementwise(const Items *all, int32_t step, int32_t item, const Touch *out)
{
    for (const Touch *t = touch_begin(all, step); t < touch_end(all, step); t++)
        if (t->item == item && (t->operand->reuse != REUSE_ELEMENTWISE || !covers(all, t))) return false;
    return covers(all, out);
}

static bool all_by_row(const Items *all, int32_t step, int32_t item, const Touch *out)
{
    for (const Touch *t = touch_begin(all, step); t < touch_end(all, step); t++)
        if (t->item == item && (t->operand->reuse == REUSE_NONE || !t->by_row)) return false;
    return out->by_row && !out->all_units;
}

/* The rows of an item that a unit of the step reads, over all its operands. */
static Rows rows_read(const Items *all, int32_t step, int32_t item, int32_t u)
{
    Rows r = { INT32_MAX, 0 };
    for (const Touch *t = touch_begin(all, step); t < touch_end(all, step); t++) {
        if (t->item != item) continue;
        const Rows q = touch_rows(all, t, u);
        if (q.lo >= q.hi) continue;
        r.lo = (int32_t)i64_min(r.lo, q.lo);
        r.hi = (int32_t)i64_max(r.hi, q.hi);
    }
    return r;
}

/* Only kernels that take their rows by the rule are known to go backward, too. */
static bool reverses(const Step *s)
{
    for (int k = s->n_out; k < s->n_operand; k++)
        if (s->operand[k].tensor && s->operand[k].reuse == REUSE_ROWS) return true;
    return false;
}

static int64_t pitch_of(const Operand *o) { return o->pixel * (int64_t)dtype_bits(o->tensor->dtype) / 8; }

static bool whole_pixels(const Operand *o)
{
    return !o->part && !o->offset && pitch_of(o) && o->row_bytes % pitch_of(o) == 0;
}

/* Do all operands on the item, and the result, go pixel by pixel over whole pixels? */
static bool by_pixel(const Items *all, int32_t step, int32_t item, const Touch *y)
{
    for (const Touch *t = touch_begin(all, step); t < touch_end(all, step); t++)
        if (t->item == item && (!t->operand->pixels.tile || !whole_pixels(t->operand))) return false;
    return whole_pixels(y->operand);
}

/* The first byte of the item that is still needed when pixel c of unit u is written: its tile may have begun earlier. */
static int64_t first_needed(const Items *all, int32_t step, int32_t item, int32_t u, int64_t c)
{
    int64_t first = INT64_MAX;
    for (const Touch *t = touch_begin(all, step); t < touch_end(all, step); t++) {
        const Rows r = touch_rows(all, t, u);
        const PixelRule *p = &t->operand->pixels;
        if (t->item != item || r.lo >= r.hi) continue;
        const int64_t begin = i64_max(c - (p->tile - 1), 0), column = i64_max(begin * p->stride - p->pad, 0);
        first = i64_min(first, r.lo * t->operand->row_bytes + i64_min(column * pitch_of(t->operand), t->operand->row_bytes));
    }
    return first;
}

/* Going backward: where what is still needed ends. */
static int64_t last_needed(const Items *all, int32_t step, int32_t item, int32_t u, int64_t c, int64_t width)
{
    int64_t last = 0;
    for (const Touch *t = touch_begin(all, step); t < touch_end(all, step); t++) {
        const Rows r = touch_rows(all, t, u);
        const PixelRule *p = &t->operand->pixels;
        if (t->item != item || r.lo >= r.hi) continue;
        const int64_t begin = i64_min(c + p->tile - 1, width - 1), column = i64_max(begin * p->stride - p->pad + p->extent, 0);
        last = i64_max(last, (r.hi - 1) * t->operand->row_bytes + i64_min(column * pitch_of(t->operand), t->operand->row_bytes));
    }
    return last;
}

/* below, above: first byte that later units need, going forward, and end of what they need, going backward. */
static void measure_row(const Items *all, int32_t step, const Touch *y, int32_t u, int64_t below, int64_t above, Overlap *o)
{
    const int64_t pitch = pitch_of(y->operand), width = y->operand->row_bytes / pitch, row = (y->row0 + u) * all->item.at[o->out].row_bytes;
    for (int64_t c = 0; c < width; c++) {
        o->forward = i64_max(o->forward, row + (c + 1) * pitch - i64_min(below, first_needed(all, step, o->in, u, c)));
        o->backward = i64_max(o->backward, i64_max(above, last_needed(all, step, o->in, u, c, width)) - (row + c * pitch));
    }
}

static void measure(const Items *all, int32_t step, const Touch *y, Overlap *o)
{
    const Item *in = all->item.at + o->in, *out = all->item.at + o->out;
    const int32_t units = all->program->step.at[step]->units;
    const bool pixels = by_pixel(all, step, o->in, y);
    int32_t low = in->rows, *high = NEW_ARRAY(all->arena, int32_t, units + 1);      /* rows needed by later units: going forward, backward */
    for (int32_t u = 0; u < units; u++) high[u + 1] = (int32_t)i64_max(high[u], rows_read(all, step, o->in, u).hi);
    for (int32_t u = units; u-- > 0;) {
        if (pixels) measure_row(all, step, y, u, low * in->row_bytes, high[u] * in->row_bytes, o);
        low = (int32_t)i64_min(low, rows_read(all, step, o->in, u).lo);
        if (pixels) continue;
        o->forward = i64_max(o->forward, (y->row0 + u + 1) * out->row_bytes - low * in->row_bytes);
        o->backward = i64_max(o->backward, high[u + 1] * in->row_bytes - (y->row0 + u) * out->row_bytes);
    }
    if (!reverses(all->program->step.at[step])) o->backward = INT64_MAX / 4;
}

static bool seen(const Overlap *found, int n, int32_t item)
{
    for (int i = 0; i < n; i++)
        if (found[i].in == item) return true;
    return false;
}

static bool measure_if_allowed(const Items *all, int32_t step, bool by_row, const Touch *out, Overlap *o)
{
    if (all_elementwise(all, step, o->in, out)) {
        o->equal = true;
        return true;
    }
    if (!by_row || !all_by_row(all, step, o->in, out)) return false;
    o->by_row = true;
    measure(all, step, out, o);
    return true;
}

int overlap_possible(const Items *all, int32_t step, bool by_row, Overlap *found)
{
    int n = 0;
    const Touch *out = result_of(all, step);
    for (const Touch *t = touch_begin(all, step); out && t < touch_end(all, step); t++) {
        if (n == MOST_OVERLAPS || !mortal(all, t) || t->item == out->item || seen(found, n, t->item)) continue;
        found[n] = (Overlap){ .in = t->item, .out = out->item };
        n += measure_if_allowed(all, step, by_row, out, found + n);
    }
    return n;
}

int overlap_find(const Items *all, int32_t step, bool by_row, Overlap *found)
{
    int n = 0, best = -1;
    const Touch *out = result_of(all, step);
    if (!out || all->item.at[out->item].first != step) return 0;
    for (const Touch *t = touch_begin(all, step); t < touch_end(all, step); t++) {
        if (n == MOST_OVERLAPS || !dies(all, t, step) || seen(found, n, t->item)) continue;
        Overlap o = { .in = t->item, .out = out->item };
        if (!measure_if_allowed(all, step, by_row, out, &o)) continue;
        if (o.by_row && best >= 0) {
            if (overlap_gain(all, &o) > overlap_gain(all, found + best)) found[best] = o;
            continue;
        }
        if (o.by_row) best = n;
        found[n++] = o;
    }
    return n;
}

int64_t overlap_gain(const Items *all, const Overlap *o)
{
    const int64_t in = all->item.at[o->in].size, out = all->item.at[o->out].size;
    if (o->equal) return i64_min(in, out);
    const int64_t below = i64_max(out, i64_max(o->forward, 0) + in), above = i64_max(in, i64_max(o->backward, 0) + out);
    return i64_max(0, in + out - i64_min(below, above));
}
