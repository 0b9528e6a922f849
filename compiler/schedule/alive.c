/* SPDX-License-Identifier: Apache-2.0
 * Bytes alive between steps, and what each step takes and costs: by itself, or in a stream. */
#include "base/size.h"
#include "schedule/finder.h"
#include "schedule/overlap.h"

/* What a step in a stream costs, in instructions, about. */
enum { COST_OF_CALL = 300, MACS_OF_INSTRUCTION = 16 };

/* What is alive from place `first` on to `end`, both to be summed up. */
static void note_bytes(int64_t *bytes, int32_t first, int32_t end, int64_t size)
{
    bytes[first] += size;
    bytes[end] -= size;
}

static void note_item(Finder *finder, const Item *item)
{
    const int32_t first = (int32_t)i64_max(item->first, 0);
    const int32_t end = (int32_t)i64_min(item->end, finder->steps + 1);
    const int32_t behind = item->first + 1;
    note_bytes(finder->layer, first, end, item->size);
    if (behind >= item->end)
        return;
    note_bytes(finder->alive, behind, item->end, item->size);
    finder->crossing[behind]++;
    finder->crossing[item->end]--;
}

/* From what each place adds to the one before to what is there. */
static void sum_up(int64_t *bytes, int32_t places)
{
    for (int32_t k = 1; k < places; k++)
        bytes[k] += bytes[k - 1];
}

static void count_alive(Finder *finder)
{
    const Items *all = finder->all;
    const int32_t places = finder->steps + 1;
    finder->alive = NEW_ARRAY(finder->arena, int64_t, places + 1);
    finder->crossing = NEW_ARRAY(finder->arena, int32_t, places + 1);
    finder->layer = NEW_ARRAY(finder->arena, int64_t, places + 1);
    for (size_t i = 0; i < all->item.n; i++) {
        const Item *item = all->item.at + i;
        if (!item->outside)
            note_item(finder, item);
    }
    sum_up(finder->alive, places);
    sum_up(finder->layer, places);
    for (int32_t k = 1; k < places; k++)
        finder->crossing[k] += finder->crossing[k - 1];
}

/* The first place from k on, for each k, that few items cross. */
static int32_t *places_of_few(const Finder *finder)
{
    const int32_t places = finder->steps + 1;
    int32_t *few = NEW_ARRAY(finder->arena, int32_t, places + 1);
    int32_t found = places;
    few[places] = places;
    for (int32_t k = finder->steps; k >= 0; k--) {
        if (finder->crossing[k] <= MOST_CROSSING)
            found = k;
        few[k] = found;
    }
    return few;
}

/* At most so many items are listed at each place. A place that few items cross is soon found from
 * the places behind it: those are skipped that many cross. */
static void list_crossing(Finder *finder)
{
    Arena *arena = finder->arena;
    const Items *all = finder->all;
    const int32_t places = finder->steps + 1;
    const int32_t *few = places_of_few(finder);
    int32_t *listed = NEW_ARRAY(arena, int32_t, places);
    finder->cross = arena_array(arena, (size_t)places, sizeof *finder->cross);
    for (size_t i = 0; i < all->item.n; i++) {
        const Item *item = all->item.at + i;
        const int32_t end = (int32_t)i64_min(item->end, places);
        if (item->outside)
            continue;
        int32_t k = few[item->first + 1];
        while (k < end) {
            int32_t *cross = finder->cross[k];
            cross[listed[k]] = (int32_t)i;
            listed[k]++;
            k = few[k + 1];
        }
    }
}

/* The most rows that a unit may read of an item. */
static int32_t most_rows(const Touch *touch, int32_t units, int32_t rows)
{
    const Operand *operand = touch->operand;
    if (!touch->by_row)
        return rows;
    switch (operand->rule.kind) {
    case ROWS_SAME:
    case ROWS_UNIT:
        return units <= operand->rows ? 1 : rows;
    case ROWS_WINDOW:
        return (int32_t)i64_min(operand->rule.extent, rows);
    case ROWS_TABLE:
        return operand->rule.most;
    default:
        return rows;
    }
}

static void count_rows_of(Finder *finder, const Touch *touch)
{
    const Items *all = finder->all;
    const Item *item = touch_item(all, touch);
    const int32_t units = items_step(all, touch->step)->units;
    const int32_t most = most_rows(touch, units, item->rows);
    int32_t *least = finder->least_rows + touch->item;
    if (touch->operand->write || item->whole)
        return;
    for (int32_t unit = 0; unit < units && *least < most; unit++) {
        const Rows rows = touch_rows(all, touch, unit);
        *least = (int32_t)i64_max(*least, rows.hi - rows.lo);
    }
}

/* Rows that a window has in common with the next one stay between the two. */
static void count_kept(Finder *finder, const Touch *touch)
{
    const RowRule *rule = &touch->operand->rule;
    int32_t *kept = finder->least_kept + touch->item;
    const int32_t rows = touch_item(finder->all, touch)->rows;
    if (touch->operand->write || rule->kind != ROWS_WINDOW)
        return;
    const int64_t common = rule->extent - (int64_t)rule->stride;
    *kept = (int32_t)i64_max(*kept, i64_min(common, rows));
}

/* The most rows that a unit reads: so many at least a ring has. */
static void count_rows(Finder *finder)
{
    const Items *all = finder->all;
    finder->least_rows = NEW_ARRAY(finder->arena, int32_t, all->item.n + 1);
    finder->least_kept = NEW_ARRAY(finder->arena, int32_t, all->item.n + 1);
    for (size_t i = 0; i < all->item.n; i++) {
        finder->least_rows[i] = 1;
    }
    for (size_t k = 0; k < all->touch.n; k++) {
        count_rows_of(finder, all->touch.at + k);
        count_kept(finder, all->touch.at + k);
    }
}

/* Bytes that the step's result saves by lying over an input. */
static int64_t find_overlap(const Finder *finder, int32_t step, bool by_row)
{
    const Items *all = finder->all;
    Overlap found[MOST_OVERLAPS];
    const int n = overlap_find(all, step, by_row, found);
    int64_t most = 0;
    for (int i = 0; i < n; i++)
        most = i64_max(most, overlap_gain(all, found + i));
    return most;
}

/* The same, as remembered where it is. */
static int64_t overlap_of(const Finder *finder, int32_t step)
{
    const Items *all = finder->all;
    const bool by_row = overlap_pays(finder->opt, items_step(all, step));
    WalkedKind kind = WALKED_ELEMENTS;
    if (!finder->opt->walked)
        return find_overlap(finder, step, by_row);
    if (by_row)
        kind = WALKED_PIXELS;
    WalkedRange *range =
        walked_find(finder->opt->walked,
                    walked_key(all, step, step + 1, &finder->keys, kind));
    if (range->bytes == WALKED_NOT)
        range->bytes = find_overlap(finder, step, by_row);
    return range->bytes;
}

static void count_overlaps(Finder *finder)
{
    for (int32_t k = 0; k < finder->steps; k++)
        finder->layer[k] -= overlap_of(finder, k);
}

/* Of a row of the result. */
static int64_t pixels_of(const Step *step)
{
    const Operand *result = step->operand;
    if (!step->n_operand || !result->tensor || result->pixel <= 0)
        return 1;
    const int64_t bits = result->pixel * dtype_bits(result->tensor->dtype);
    return i64_max(1, result->row_bytes * 8 / i64_max(1, bits));
}

/* What streaming a step costs: its calls, the inner loops that get shorter, and weights that are
 * read once a row instead of once. */
static int64_t stream_cost(const Step *step, int32_t least_pixels)
{
    const int64_t burst = stream_burst(step, least_pixels);
    const int64_t calls = i64_ceil_div(step->units, burst);
    const int64_t loop = MACS_OF_INSTRUCTION * pixels_of(step) * burst;
    const int64_t again = overlap_cost(step) / burst;
    return COST_OF_CALL * calls + step->macs / loop + again;
}

static void count_costs(Finder *finder)
{
    const Items *all = finder->all;
    finder->cost = NEW_ARRAY(finder->arena, int64_t, finder->steps + 1);
    for (int32_t k = 0; k < finder->steps; k++) {
        finder->cost[k] = -1;
        const Step *step = items_step(all, k);
        if (finder->opt->goal == PLAN_SPEED && !overlap_is_free(step))
            continue;
        if (stream_takes(all, k))
            finder->cost[k] = stream_cost(step, finder->pixels);
    }
}

void finder_count(Finder *finder)
{
    count_alive(finder);
    list_crossing(finder);
    count_overlaps(finder);
    count_rows(finder);
    count_costs(finder);
}

int64_t finder_around(const Finder *finder, int32_t from, int32_t to)
{
    const int32_t *cross = finder->cross[from];
    int64_t bytes = finder->alive[from] + finder->alive[to];
    for (int32_t i = 0; i < finder->crossing[from]; i++) {
        const Item *item = finder->all->item.at + cross[i];
        if (item->end > to)
            bytes -= item->size;
    }
    return bytes;
}
