/* SPDX-License-Identifier: Apache-2.0
 * Which columns of its tensors a range needs, what strips of it take, and which are worth trying.
 */
#include "schedule/strip.h"

#include "base/size.h"

enum { MOST_ROUNDS = 4 };

/* ---- columns ---- */

StripTakes strip_relation(const Strips *strips, int32_t number, int k)
{
    const Step *step = items_step(strips->all, number);
    const ColumnRule *rule = strips->rule + number;
    const Operand *operand = step->operand + k;
    const bool by_row = operand->rows == step->units;
    if (rule->planes)
        return k == 1 && by_row ? TAKES_SAME : TAKES_ALL;
    if (k == 0)
        return TAKES_SAME;
    if (k == 1 && rule->kind != COLUMNS_SAME)
        return TAKES_FOUND;
    if (!by_row || operand->rule.kind != ROWS_SAME ||
        operand_width(operand) != operand_width(step->operand))
        return TAKES_ALL;
    return TAKES_SAME;
}

static StripTakes relation_of(const Strips *strips, const Touch *touch)
{
    const Step *step = items_step(strips->all, touch->step);
    const int k = (int)(touch->operand - step->operand);
    return strip_relation(strips, touch->step, k);
}

static Columns columns_hull(Columns x, Columns y)
{
    if (x.lo >= x.hi)
        return y;
    return (Columns){
        .lo = (int32_t)i64_min(x.lo, y.lo),
        .hi = (int32_t)i64_max(x.hi, y.hi),
    };
}

Strips strips_new(Arena *arena, const Items *all)
{
    const int32_t steps = (int32_t)all->program->step.n;
    const Strips strips = {
        .all = all,
        .parted = NEW_ARRAY(arena, bool, all->item.n + 1),
        .rule = NEW_ARRAY(arena, ColumnRule, steps + 1),
        .of_item = NEW_ARRAY(arena, Columns, all->item.n + 1),
        .of_step = NEW_ARRAY(arena, Columns, steps + 1),
    };
    for (int32_t k = 0; k < steps; k++)
        strips.rule[k] = rules_columns(items_step(all, k));
    for (size_t k = 0; k < all->touch.n; k++) {
        const Touch *touch = all->touch.at + k;
        if (touch->operand->part)
            strips.parted[touch->item] = true;
    }
    return strips;
}

static bool is_image(const Operand *operand)
{
    const Tensor *tensor = operand->tensor;
    const Shape *shape = &tensor->shape;
    if (shape->rank < 3 || tensor->view_of || operand->pitch)
        return false;
    const int64_t channels = shape->dim[shape->rank - 1];
    const int64_t columns = shape->dim[shape->rank - 2];
    return channels == operand->pixel && columns == operand_width(operand);
}

/* Are all operands that are cut images? */
static bool all_images(const Strips *strips, int32_t number)
{
    const Step *step = items_step(strips->all, number);
    for (int k = 0; k < step->n_operand; k++) {
        const Operand *operand = step->operand + k;
        if (!operand->tensor || operand->scratch)
            continue;
        if (strip_relation(strips, number, k) != TAKES_ALL &&
            !is_image(operand))
            return false;
    }
    return true;
}

bool strip_takes(const Strips *strips, int32_t step)
{
    const Step *other = items_step(strips->all, step);
    const ColumnRule *rule = strips->rule + step;
    if (rule->kind == COLUMNS_NONE || other->n_out != 1)
        return false;
    if (other->accumulates || other->piece || !stream_takes(strips->all, step))
        return false;
    const Operand *result = other->operand;
    if (!rule->planes && (other->units != result->rows || !result->strided))
        return false;
    return all_images(strips, step);
}

/* ---- ranges ---- */

/* Can strips of the item be made in full rows, or where nobody looks? */
static bool leaves(const Strips *strips, const Touch *touch, int32_t first)
{
    const Item *item = touch_item(strips->all, touch);
    if (strips->rule[touch->step].planes)
        return item->outside;
    return item->first >= first && !strips->parted[touch->item] &&
           touch->by_row && !touch->all_units;
}

/* Adds the item of a touch that others than the range use; false: it cannot be its one result. */
static bool add_result(const Strips *strips, const Touch *touch,
                       StripRange *range)
{
    const Step *step = items_step(strips->all, touch->step);
    const ColumnRule *rule = strips->rule + touch->step;
    if (range->result >= 0 || !leaves(strips, touch, range->first))
        return false;
    range->result = touch->item;
    range->width = operand_width(step->operand + rule->planes);
    return true;
}

bool strip_range(const Strips *strips, int32_t first, int32_t end,
                 StripRange *range)
{
    const Touch *begin = touch_begin(strips->all, first);
    const Touch *behind = touch_begin(strips->all, end);
    *range = (StripRange){ .first = first, .end = end, .result = -1 };
    for (const Touch *touch = begin; touch < behind; touch++) {
        const Item *item = touch_item(strips->all, touch);
        const bool inner = item->first >= first && item->end <= end;
        if (!touch->operand->write || inner)
            continue;
        if (!add_result(strips, touch, range))
            return false;
    }
    for (const Touch *touch = begin; touch < behind; touch++)
        if (touch->item == range->result && touch->operand->read)
            return false;
    return range->result >= 0;
}

Columns strip_columns(const StripRange *range, Cut cut, int32_t k)
{
    Columns y = {
        .lo = cut.first + (k - 1) * cut.each,
        .hi = cut.first + k * cut.each,
    };
    if (k == 0)
        y.lo = 0;
    if (k == cut.n - 1)
        y.hi = range->width;
    return y;
}

static Columns find_by_taps(const ColumnRule *rule, Columns y)
{
    Columns found = { 0, 0 };
    for (int32_t column = y.lo; column < y.hi; column++)
        for (int32_t k = 0; k < rule->extent; k++) {
            const int32_t at = column + rule->pad - k * rule->dilation;
            const int32_t x = at / rule->stride;
            if (at % rule->stride == 0)
                found = columns_hull(found, (Columns){ x, x + 1 });
        }
    return found;
}

static Columns find_by_table(const ColumnRule *rule, Columns y)
{
    Columns found = { 0, 0 };
    for (int32_t column = y.lo; column < y.hi; column++) {
        const Rows *entry = rule->table + column;
        found = columns_hull(found, (Columns){ entry->lo, entry->hi });
    }
    return found;
}

/* Columns that columns y of the result need, before they are clipped. */
static Columns find_columns(const ColumnRule *rule, Columns y)
{
    const int32_t first = y.lo * rule->stride - rule->pad;
    const int32_t last = (y.hi - 1) * rule->stride - rule->pad;
    switch (rule->kind) {
    case COLUMNS_WINDOW:
        return (Columns){ first, last + rule->extent };
    case COLUMNS_TAPS:
        return find_by_taps(rule, y);
    case COLUMNS_TABLE:
        return find_by_table(rule, y);
    default:
        return y;
    }
}

/* The columns that the step reads for those of its result. */
static Columns columns_read(const Strips *strips, const Touch *touch)
{
    const Columns y = strips->of_step[touch->step];
    if (relation_of(strips, touch) == TAKES_SAME)
        return y;
    const Columns found = find_columns(strips->rule + touch->step, y);
    const int32_t width = operand_width(touch->operand);
    return (Columns){
        .lo = (int32_t)i64_max(found.lo, 0),
        .hi = (int32_t)i64_min(found.hi, width),
    };
}

static bool touches_within(const Strips *strips, const StripRange *range,
                           const Touch *touch)
{
    return strip_within(range, touch_item(strips->all, touch));
}

/* The item must have these columns, too; returns all that it has now. */
static Columns add_columns(Strips *strips, int32_t item, Columns columns)
{
    Columns *all = strips->of_item + item;
    *all = columns_hull(*all, columns);
    return *all;
}

/* The step's result must have these columns, too; false: what leaves the range is what was asked
 * for. */
static bool widen(Strips *strips, const StripRange *range, int32_t step,
                  Columns columns)
{
    for (const Touch *touch = touch_begin(strips->all, step);
         touch < touch_end(strips->all, step); touch++) {
        if (!touch->operand->write || touch->operand->scratch)
            continue;
        if (!touches_within(strips, range, touch))
            return false;
        add_columns(strips, touch->item, columns);
    }
    return true;
}

static bool same(Columns a, Columns b)
{
    return a.lo == b.lo && a.hi == b.hi;
}

/* A part of the pixels of a wider tensor can be narrowed to a strip of it, but not to some columns
 * of that: whoever reads or makes one goes over all columns that the strip has. */
static bool reads_part(const Strips *strips, const Touch *touch)
{
    return strips->parted[touch->item] &&
           relation_of(strips, touch) == TAKES_SAME;
}

/* What a step reads must have the columns that it needs for its own; false: it cannot. */
static bool read_finds(Strips *strips, const StripRange *range,
                       const Touch *touch)
{
    const Columns y = strips->of_step[touch->step];
    const bool inner = touches_within(strips, range, touch);
    const bool exact = reads_part(strips, touch);
    if (relation_of(strips, touch) == TAKES_ALL)
        return !inner;
    Columns read = columns_read(strips, touch);
    if (columns_width(read) <= 0 || !touch->by_row || (exact && !inner))
        return false;
    if (inner)
        read = add_columns(strips, touch->item, read);
    if (!exact || same(read, y))
        return true;
    return widen(strips, range, touch->step, read);
}

static bool reads_find(Strips *strips, const StripRange *range, int32_t step)
{
    for (const Touch *touch = touch_begin(strips->all, step);
         touch < touch_end(strips->all, step); touch++) {
        if (touch->operand->write || touch->operand->scratch)
            continue;
        if (!read_finds(strips, range, touch))
            return false;
    }
    return true;
}

/* Do all who write an item write the same columns, and those who read parts of one read them all?
 */
static bool settled(const Strips *strips, const StripRange *range)
{
    const Touch *end = touch_begin(strips->all, range->end);
    for (const Touch *touch = touch_begin(strips->all, range->first);
         touch < end; touch++) {
        const Columns item = strips->of_item[touch->item];
        const Columns y = strips->of_step[touch->step];
        if (touch->operand->scratch || touch->item == range->result ||
            !touches_within(strips, range, touch))
            continue;
        if (!touch->operand->write && !reads_part(strips, touch))
            continue;
        if (!same(item, y))
            return false;
    }
    return true;
}

/* The step's columns are those of what it writes. */
static void take_written(Strips *strips, const StripRange *range, int32_t step,
                         Columns y)
{
    for (const Touch *touch = touch_begin(strips->all, step);
         touch < touch_end(strips->all, step); touch++) {
        if (!touch->operand->write || touch->operand->scratch)
            continue;
        Columns written = strips->of_item[touch->item];
        if (touch->item == range->result)
            written = y;
        strips->of_step[step] = written;
    }
}

static bool find_back(Strips *strips, const StripRange *range, Columns y)
{
    for (int32_t step = range->end - 1; step >= range->first; step--) {
        take_written(strips, range, step, y);
        if (columns_width(strips->of_step[step]) <= 0)
            return false;
        if (!reads_find(strips, range, step))
            return false;
    }
    return true;
}

/* Once from the end to the beginning is enough, but for parts. Where a part is made of others (a
 * dense block), columns would grow each time round. */
bool strip_find(Strips *strips, const StripRange *range, Columns y)
{
    const Touch *end = touch_begin(strips->all, range->end);
    for (const Touch *touch = touch_begin(strips->all, range->first);
         touch < end; touch++)
        strips->of_item[touch->item] = (Columns){ 0, 0 };
    for (int round = 0; round < MOST_ROUNDS; round++) {
        if (!find_back(strips, range, y))
            return false;
        if (settled(strips, range))
            return true;
    }
    return false;
}

/* ---- prices ---- */

static int64_t scratch_bytes(const Items *all, const StripRange *range)
{
    int64_t most = 0;
    for (int32_t step = range->first; step < range->end; step++) {
        int64_t own = 0;
        for (const Touch *touch = touch_begin(all, step);
             touch < touch_end(all, step); touch++)
            if (touch->operand->scratch)
                own += touch_item(all, touch)->size;
        most = i64_max(most, own);
    }
    return most;
}

int64_t strip_macs(const Step *step, Columns y)
{
    const int32_t width = operand_width(step->operand);
    const int32_t columns = columns_width(y);
    const int64_t of_all = step->macs / width * columns;
    return of_all + step->macs % width * columns / width;
}

/* Of the strip whose columns were found. */
static int64_t macs_of_strip(const Strips *strips, const StripRange *range)
{
    int64_t macs = 0;
    for (int32_t k = range->first; k < range->end; k++) {
        const Step *step = items_step(strips->all, k);
        macs = i64_add(macs, strip_macs(step, strips->of_step[k]));
    }
    return macs;
}

static int64_t ring_bytes(const Strips *strips, const Ring *ring)
{
    const Item *item = strips->all->item.at + ring->item;
    const Shape *shape = &item->root->shape;
    const int32_t columns = columns_width(strips->of_item[ring->item]);
    if (item->scratch || ring->host >= 0)
        return 0;
    const int64_t pixel = item->row_bytes / shape->dim[shape->rank - 2];
    return items_round(strips->all, pixel * columns * ring->rows);
}

/* Bytes of one strip, its rings as `whole` has them; negative: it cannot be. */
static int64_t strip_bytes(Strips *strips, const StripRange *range,
                           const Stream *whole, Columns y)
{
    const int64_t counters = 2 * (int64_t)(range->end - range->first);
    if (!strip_find(strips, range, y))
        return -1;
    int64_t bytes = items_round(strips->all, counters);
    for (size_t i = 0; i < whole->ring.n; i++)
        bytes += ring_bytes(strips, whole->ring.at + i);
    return bytes;
}

bool strip_price(Strips *strips, const StripRange *range, const Stream *whole,
                 Cut cut, StripPrice *price)
{
    int64_t widest = 0;
    int64_t macs = 0;
    for (int32_t k = 0; k < cut.n; k++) {
        const Columns y = strip_columns(range, cut, k);
        const int64_t own = strip_bytes(strips, range, whole, y);
        if (own < 0)
            return false;
        widest = i64_max(widest, own);
        macs = i64_add(macs, macs_of_strip(strips, range));
    }
    *price = (StripPrice){
        .bytes = widest + scratch_bytes(strips->all, range),
        .macs = macs,
    };
    return true;
}

/* The first n columns, or the last. */
static Columns edge_columns(const StripRange *range, int32_t n, bool first)
{
    if (first)
        return (Columns){ 0, n };
    return (Columns){ range->width - n, range->width };
}

/* The most columns of the first strip, or the last, that take no more than `bytes`; `least` do. */
static int32_t widest_edge(Strips *strips, const StripRange *range,
                           const Stream *whole, int32_t least, bool first,
                           int64_t bytes)
{
    int32_t n = least;
    while (n + 1 < range->width) {
        const Columns wider = edge_columns(range, n + 1, first);
        if (strip_bytes(strips, range, whole, wider) > bytes)
            break;
        n++;
    }
    return n;
}

/* Of so many columns in the middle of the result. */
static int64_t middle_bytes(Strips *strips, const StripRange *range,
                            const Stream *whole, int32_t columns)
{
    const int32_t before = (range->width - columns) / 2;
    const Columns middle = { before, before + columns };
    return strip_bytes(strips, range, whole, middle);
}

/* The first and the last strip are as wide as one between them takes bytes, less what their sum is
 * too much; or, with one strip fewer, more. */
static bool cut_by(Strips *strips, const StripRange *range, const Stream *whole,
                   int32_t each, bool wide, Cut *cut)
{
    const int32_t width = range->width;
    const int64_t bytes = middle_bytes(strips, range, whole, each);
    if (bytes < 0)
        return false;
    const int32_t first = widest_edge(strips, range, whole, each, true, bytes);
    const int32_t last = widest_edge(strips, range, whole, each, false, bytes);
    const int32_t rest = width - first - last;
    const int32_t strict = (int32_t)i64_max(0, (rest + each - 1) / each);
    const int32_t between = (int32_t)i64_max(0, strict - wide);
    const int32_t spare = between * each - rest;
    const int32_t most = width - between * each - 1;
    *cut = (Cut){
        .n = 2 + between,
        .each = each,
        .first = (int32_t)i64_max(1, i64_min(first - spare / 2, most)),
        .wide = wide && strict,
    };
    return true;
}

bool strip_next(Strips *strips, const StripRange *range, const Stream *whole,
                Cut *cut)
{
    if (!cut->n && range->width >= 2) {
        const int32_t half = range->width / 2;
        *cut = (Cut){ .n = 2, .each = half, .first = half };
        return true;
    }
    int32_t each = cut->each;
    if (!cut->wide)
        each -= 1 + cut->each / 7;
    return each >= 1 && cut_by(strips, range, whole, each, !cut->wide, cut);
}
