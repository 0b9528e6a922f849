/* SPDX-License-Identifier: Apache-2.0
 * Distances by rows, a row being finished before the next: a unit reads its rows before it writes
 * its own. Where the kernel goes pixel by pixel, in tiles, distances by pixels: exact for the
 * largest tiles that it has on any target. */
#include "schedule/overlap.h"

#include "base/size.h"
#include "rules/rules.h"

/* The one result; where it is also written by others, its first part. */
const Touch *overlap_result(const Items *all, int32_t step)
{
    const Touch *found = NULL;
    for (const Touch *touch = touch_begin(all, step);
         touch < touch_end(all, step); touch++) {
        const Item *it = all->item.at + touch->item;
        if (!touch->operand->write || it->scratch)
            continue;
        if (found || it->outside || it->fixed || items_return(all, touch) ||
            touch->operand->read)
            return NULL;
        found = touch;
    }
    return found;
}

/* An input that may die in a step, in some order of the steps. */
static bool mortal(const Items *all, const Touch *touch)
{
    const Item *it = all->item.at + touch->item;
    return !touch->operand->write && !items_return(all, touch) &&
           !it->outside && !it->kept && !it->scratch;
}

static bool dies(const Items *all, const Touch *touch, int32_t step)
{
    const Item *it = all->item.at + touch->item;
    return mortal(all, touch) && it->first < step && it->end == step + 1;
}

static bool covers(const Items *all, const Touch *touch)
{
    const Item *it = all->item.at + touch->item;
    return !touch->at && !touch->lane && !touch->operand->part &&
           tensor_bytes(touch->operand->tensor) == tensor_bytes(it->root);
}

/* All operands on the item keep to the rule? */
static bool all_elementwise(const Items *all, int32_t step, int32_t item,
                            const Touch *out)
{
    for (const Touch *touch = touch_begin(all, step);
         touch < touch_end(all, step); touch++)
        if (touch->item == item &&
            (!reuse_in_place(touch->operand->reuse) || !covers(all, touch)))
            return false;
    return covers(all, out);
}

static bool all_pixels(const Items *all, int32_t step, int32_t item)
{
    for (const Touch *touch = touch_begin(all, step);
         touch < touch_end(all, step); touch++)
        if (touch->item == item && touch->operand->reuse != REUSE_PIXELS)
            return false;
    return true;
}

static bool all_by_row(const Items *all, int32_t step, int32_t item,
                       const Touch *out)
{
    for (const Touch *touch = touch_begin(all, step);
         touch < touch_end(all, step); touch++)
        if (touch->item == item &&
            (touch->operand->reuse == REUSE_NONE || !touch->by_row))
            return false;
    return out->by_row && !out->all_units;
}

/* The rows of an item that a unit of the step reads, over all its operands. */
static Rows rows_read(const Items *all, int32_t step, int32_t item, int32_t u)
{
    Rows r = { INT32_MAX, 0 };
    for (const Touch *touch = touch_begin(all, step);
         touch < touch_end(all, step); touch++) {
        if (touch->item != item)
            continue;
        const Rows q = touch_rows(all, touch, u);
        if (q.lo >= q.hi)
            continue;
        r.lo = (int32_t)i64_min(r.lo, q.lo);
        r.hi = (int32_t)i64_max(r.hi, q.hi);
    }
    return r;
}

static int64_t pitch_of(const Operand *operand)
{
    return operand->pixel * (int64_t)dtype_bits(operand->tensor->dtype) / 8;
}

static bool whole_pixels(const Operand *operand)
{
    return !operand->part && !operand->offset && pitch_of(operand) &&
           operand->row_bytes % pitch_of(operand) == 0;
}

/* Do all operands on the item, and the result, go pixel by pixel over whole pixels? */
static bool by_pixel(const Items *all, int32_t step, int32_t item,
                     const Touch *y)
{
    for (const Touch *touch = touch_begin(all, step);
         touch < touch_end(all, step); touch++)
        if (touch->item == item &&
            (!touch->operand->pixels.tile || !whole_pixels(touch->operand)))
            return false;
    return all->by_pixels && whole_pixels(y->operand);
}

/* A row of the result, and one of the operands that it is made from. */
typedef struct PixelRow {
    int64_t width, pitch;  /* pixels and bytes of a pixel of the result */
    int64_t columns, size; /* the same of the operand */
    PixelRule rule;
} PixelRow;

static int64_t clip(int64_t x, int64_t most)
{
    return i64_min(i64_max(x, 0), most);
}

/* Bytes into its rows: what is still needed when pixel c is written, whose tile may have begun
 * earlier. */
static int64_t first_needed(const PixelRow *r, int64_t c)
{
    return clip(i64_max(c - (r->rule.tile - 1), 0) * r->rule.stride -
                    r->rule.pad,
                r->columns) *
           r->size;
}

/* Going backward: where what is still needed ends. */
static int64_t last_needed(const PixelRow *r, int64_t c)
{
    return clip(i64_min(c + r->rule.tile - 1, r->width - 1) * r->rule.stride -
                    r->rule.pad + r->rule.extent,
                r->columns) *
           r->size;
}

static void widen_at(const PixelRow *r, int64_t c, int64_t *forward,
                     int64_t *backward)
{
    const int64_t first = first_needed(r, c);
    const int64_t last = last_needed(r, c);
    if (first < r->columns * r->size)
        *forward = i64_max(*forward, (c + 1) * r->pitch - first);
    if (last > 0)
        *backward = i64_max(*backward, last - c * r->pitch);
}

/* Both needs are linear in c but for a few bends; the distances are greatest beside those or at the
 * ends. */
static void widest(const PixelRow *r, int64_t *forward, int64_t *backward)
{
    const int64_t tile = r->rule.tile - 1;
    const int64_t stride = i64_max(r->rule.stride, 1);
    const int64_t pad = r->rule.pad;
    const int64_t inside = pad - r->rule.extent;
    const int64_t end = r->width - 1;
    const int64_t bend[] = {
        0,
        end,
        tile,
        tile + pad / stride,
        tile + (pad + r->columns) / stride,
        end - tile,
        inside / stride - tile,
        (inside + r->columns) / stride - tile,
    };
    *forward = *backward = -INT64_MAX / 4; /* nothing is needed any more */
    for (size_t i = 0; i < sizeof bend / sizeof *bend; i++) {
        const int64_t last = i64_min(bend[i] + 1, end);
        for (int64_t c = i64_max(bend[i] - 1, 0); c <= last; c++)
            widen_at(r, c, forward, backward);
    }
}

/* Rows of the input that units need, and where those of the result lie. */
typedef struct Needs {
    const Item *in;
    int64_t in_row, out_row; /* bytes */
    int32_t row0, units;     /* of the result */
    int32_t *low;            /* by unit: needed by it and those behind it */
    int32_t *high;           /* by unit: needed by those before it, the end */
} Needs;

static Needs needs_new(const Items *all, const Touch *out,
                       const Overlap *overlap)
{
    const Item *in = all->item.at + overlap->in;
    const int32_t units = items_step(all, out->step)->units;
    return (Needs){
        .in = in,
        .in_row = in->row_bytes,
        .out_row = touch_item(all, out)->row_bytes,
        .row0 = out->row0,
        .units = units,
        .low = NEW_ARRAY(all->arena, int32_t, units + 1),
        .high = NEW_ARRAY(all->arena, int32_t, units + 1),
    };
}

static Needs find_needs(const Items *all, const Touch *out,
                        const Overlap *overlap)
{
    const Needs needs = needs_new(all, out, overlap);
    const int32_t units = needs.units;
    needs.low[units] = needs.in->rows;
    for (int32_t u = 0; u < units; u++) {
        const Rows rows = rows_read(all, out->step, overlap->in, u);
        needs.low[u] = rows.lo;
        needs.high[u + 1] = (int32_t)i64_max(needs.high[u], rows.hi);
    }
    for (int32_t u = units; u-- > 0;)
        needs.low[u] = (int32_t)i64_min(needs.low[u + 1], needs.low[u]);
    return needs;
}

static void raise(int64_t *most, int64_t value)
{
    *most = i64_max(*most, value);
}

/* A unit that needs `rows`, each of which goes so far beyond the result's pixels. */
static void measure_unit(const Needs *needs, int32_t unit, Rows rows,
                         int64_t forward, int64_t backward, Overlap *overlap)
{
    const int64_t row = (needs->row0 + unit) * needs->out_row;
    const int64_t end = row + needs->out_row;
    const int32_t behind = needs->low[unit + 1];
    const int32_t before = needs->high[unit];
    if (behind < needs->in->rows) /* other units need something */
        raise(&overlap->forward, end - behind * needs->in_row);
    if (before)
        raise(&overlap->backward, before * needs->in_row - row);
    if (rows.lo >= rows.hi)
        return;
    raise(&overlap->forward, row + forward - rows.lo * needs->in_row);
    raise(&overlap->backward, (rows.hi - 1) * needs->in_row + backward - row);
}

static PixelRow pixel_row(const Touch *touch, const Touch *y)
{
    const int64_t pitch = pitch_of(y->operand);
    const int64_t size = pitch_of(touch->operand);
    return (PixelRow){
        .width = y->operand->row_bytes / pitch,
        .pitch = pitch,
        .columns = touch->operand->row_bytes / size,
        .size = size,
        .rule = touch->operand->pixels,
    };
}

/* All units of a step pixel by pixel, for each of its operands on the item. */
static void measure_pixels(const Items *all, int32_t step, const Touch *y,
                           const Needs *needs, Overlap *overlap)
{
    const Touch *end = touch_end(all, step);
    for (const Touch *touch = touch_begin(all, step); touch < end; touch++) {
        int64_t forward, backward;
        if (touch->item != overlap->in)
            continue;
        const PixelRow row = pixel_row(touch, y);
        widest(&row, &forward, &backward);
        for (int32_t u = 0; u < needs->units; u++)
            measure_unit(needs, u, touch_rows(all, touch, u), forward, backward,
                         overlap);
    }
}

static void measure_rows(const Needs *needs, Overlap *overlap)
{
    for (int32_t u = 0; u < needs->units; u++) {
        const int64_t row = (needs->row0 + u) * needs->out_row;
        raise(&overlap->forward,
              row + needs->out_row - needs->low[u] * needs->in_row);
        raise(&overlap->backward, needs->high[u + 1] * needs->in_row - row);
    }
}

static void measure(const Items *all, int32_t step, const Touch *y,
                    Overlap *overlap)
{
    const ArenaMark mark = arena_mark(all->arena);
    const Needs needs = find_needs(all, y, overlap);
    if (by_pixel(all, step, overlap->in, y))
        measure_pixels(all, step, y, &needs, overlap);
    else
        measure_rows(&needs, overlap);
    arena_release(all->arena, mark);
    if (!step_reverses(all->program->step.at[step]))
        overlap->backward = INT64_MAX / 4;
}

/* Are all operands on the item, and the result, rows of the same elements? */
static bool same_rows(const Items *all, int32_t step, int32_t item,
                      const Touch *y)
{
    const Operand *result = y->operand;
    const Touch *end = touch_end(all, step);
    for (const Touch *touch = touch_begin(all, step); touch < end; touch++) {
        const Operand *operand = touch->operand;
        if (touch->item != item)
            continue;
        if (operand->rule.kind != ROWS_SAME || !touch->by_row ||
            operand->rows != result->rows ||
            operand->row_bytes != result->row_bytes ||
            pitch_of(operand) != pitch_of(result))
            return false;
    }
    return y->by_row && !y->all_units;
}

Overlap overlap_of_rows(const Items *all, int32_t step, int32_t item)
{
    const Touch *y = overlap_result(all, step);
    const Touch *end = touch_end(all, step);
    Overlap rows = { .in = item,
                     .forward = -INT64_MAX / 4,
                     .backward = -INT64_MAX / 4 };
    if (!y || y->item == item)
        return rows;
    rows.out = y->item;
    rows.equal =
        all_elementwise(all, step, item, y) && same_rows(all, step, item, y);
    rows.by_row =
        all_by_row(all, step, item, y) && by_pixel(all, step, item, y);
    for (const Touch *touch = touch_begin(all, step); touch < end; touch++) {
        int64_t forward, backward;
        if (touch->item != item || !rows.by_row)
            continue;
        const PixelRow row = pixel_row(touch, y);
        widest(&row, &forward, &backward);
        raise(&rows.forward, forward);
        raise(&rows.backward, backward);
    }
    if (!step_reverses(items_step(all, step)))
        rows.backward = INT64_MAX / 4;
    return rows;
}

static bool seen(const Overlap *found, int n, int32_t item)
{
    for (int i = 0; i < n; i++)
        if (found[i].in == item)
            return true;
    return false;
}

static bool measure_if_allowed(const Items *all, int32_t step, bool by_row,
                               const Touch *out, Overlap *overlap)
{
    overlap->equal = all_elementwise(all, step, overlap->in, out);
    if (overlap->equal && !all_pixels(all, step, overlap->in))
        return true;
    if (!by_row || !all_by_row(all, step, overlap->in, out))
        return overlap->equal;
    overlap->by_row = true;
    measure(all, step, out, overlap);
    return true;
}

bool overlap_possible(const Items *all, const Touch *touch, bool by_row,
                      Overlap *overlap)
{
    const Touch *out = overlap_result(all, touch->step);
    if (!out || !mortal(all, touch) || touch->item == out->item)
        return false;
    *overlap = (Overlap){ .in = touch->item, .out = out->item };
    return measure_if_allowed(all, touch->step, by_row, out, overlap);
}

int overlap_find(const Items *all, int32_t step, bool by_row, Overlap *found)
{
    int n = 0;
    int best = -1;
    const Touch *out = overlap_result(all, step);
    if (!out || all->item.at[out->item].first != step)
        return 0;
    for (const Touch *touch = touch_begin(all, step);
         touch < touch_end(all, step); touch++) {
        if (n == MOST_OVERLAPS || !dies(all, touch, step) ||
            seen(found, n, touch->item))
            continue;
        Overlap overlap = { .in = touch->item, .out = out->item };
        if (!measure_if_allowed(all, step, by_row, out, &overlap))
            continue;
        if (overlap.by_row && best >= 0) {
            if (overlap_gain(all, &overlap) > overlap_gain(all, found + best))
                found[best] = overlap;
            continue;
        }
        if (overlap.by_row)
            best = n;
        found[n++] = overlap;
    }
    return n;
}

int64_t overlap_gain(const Items *all, const Overlap *overlap)
{
    const int64_t in = all->item.at[overlap->in].size;
    const int64_t out = all->item.at[overlap->out].size;
    if (overlap->equal)
        return i64_min(in, out);
    const int64_t below = i64_max(out, i64_max(overlap->forward, 0) + in);
    const int64_t above = i64_max(in, i64_max(overlap->backward, 0) + out);
    return i64_max(0, in + out - i64_min(below, above));
}

/* The constants that a step reads. */
typedef struct Weights {
    int64_t bytes;
    int64_t narrow; /* elements of less than a float's size */
} Weights;

static Weights weights_of(const Step *step)
{
    Weights weights = { 0 };
    for (int k = 0; k < step->n_operand; k++) {
        Tensor *tensor = step->operand[k].tensor;
        int64_t at;
        if (!tensor || tensor_root(tensor, &at)->storage != STORE_WEIGHTS)
            continue;
        const int bits = dtype_bits(tensor->dtype);
        weights.bytes += tensor_bytes(tensor);
        if (bits < 32)
            weights.narrow += tensor_bytes(tensor) * 8 / bits;
    }
    return weights;
}

int64_t overlap_cost(const Step *step)
{
    enum { CACHED_WEIGHTS = 400000, BYTES_READ = 4, FLOATS_MADE = 8 };
    const Weights weights = weights_of(step);
    int64_t cost = 0;
    if (weights.bytes > CACHED_WEIGHTS)
        cost += weights.bytes / BYTES_READ;
    if (rules_tiles(step))
        cost += weights.narrow / FLOATS_MADE;
    return cost * step->units;
}

bool overlap_is_free(const Step *step)
{
    return !step->macs && !overlap_cost(step);
}

/* Rows also make the tiles of a kernel shorter, and threads would write over what others read. */
bool overlap_pays(const PlanOptions *opt, const Step *step)
{
    if (opt->threads && step_may_split(step, opt->split_work))
        return false;
    if (opt->level < PLAN_OVERLAP || !rules_tiles(step))
        return opt->level >= PLAN_OVERLAP;
    return goal_affords(opt->goal, overlap_cost(step), step->macs);
}
