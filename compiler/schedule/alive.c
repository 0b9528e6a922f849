/* SPDX-License-Identifier: Apache-2.0
 * Bytes alive between steps, and what each step takes and costs: by itself, or in a stream. */
#include "base/size.h"
#include "schedule/finder.h"
#include "schedule/overlap.h"

/* What a step in a stream costs, in instructions, about. */
enum { COST_OF_CALL = 300, MACS_OF_INSTRUCTION = 16 };

/* What begins and ends at each place, to be summed up. */
static void note_ends(Finder *finder, int64_t *bytes, int32_t *items)
{
    const int steps = finder->steps;
    for (size_t i = 0; i < finder->all->item.n; i++) {
        const Item *it = finder->all->item.at + i;
        if (it->outside)
            continue;
        finder->layer[i64_max(it->first, 0)] += it->size;
        finder->layer[i64_min(it->end, steps + 1)] -= it->size;
        if (it->first + 1 >= it->end)
            continue;
        bytes[it->first + 1] += it->size;
        items[it->first + 1]++;
        bytes[it->end] -= it->size;
        items[it->end]--;
    }
}

static void count_alive(Finder *finder)
{
    const int steps = finder->steps;
    finder->alive = NEW_ARRAY(finder->arena, int64_t, steps + 2);
    finder->crossing = NEW_ARRAY(finder->arena, int32_t, steps + 2);
    finder->layer = NEW_ARRAY(finder->arena, int64_t, steps + 2);
    note_ends(finder, finder->alive, finder->crossing);
    for (int k = 1; k <= steps; k++) {
        finder->alive[k] += finder->alive[k - 1];
        finder->crossing[k] += finder->crossing[k - 1];
        finder->layer[k] += finder->layer[k - 1];
    }
}

/* At most so many items are listed at each place. A place that few items cross is soon found from
 * the places behind it: those are skipped that many cross. */
static void list_crossing(Finder *finder)
{
    const int32_t steps = finder->steps;
    int32_t *listed = NEW_ARRAY(finder->arena, int32_t, steps + 1);
    /* The first place from k on that few items cross. */
    int32_t *few = NEW_ARRAY(finder->arena, int32_t, steps + 2);
    finder->cross =
        arena_array(finder->arena, (size_t)steps + 1, sizeof *finder->cross);
    few[steps + 1] = steps + 1;
    for (int32_t k = steps; k >= 0; k--)
        few[k] = finder->crossing[k] <= MOST_CROSSING ? k : few[k + 1];
    for (size_t i = 0; i < finder->all->item.n; i++) {
        const Item *it = finder->all->item.at + i;
        const int32_t end = (int32_t)i64_min(it->end, steps + 1);
        if (it->outside)
            continue;
        for (int32_t k = few[it->first + 1]; k < end; k = few[k + 1])
            finder->cross[k][listed[k]++] = (int32_t)i;
    }
}

static void count_rows_of(Finder *finder, const Touch *touch)
{
    const Items *all = finder->all;
    const Item *it = all->item.at + touch->item;
    const RowRule *rule = &touch->operand->rule;
    const int32_t units = all->program->step.at[touch->step]->units;
    const int32_t most = rule->kind == ROWS_WINDOW ? rule->extent : it->rows;
    int32_t *least = finder->least_rows + touch->item;
    if (touch->operand->write || it->whole)
        return;
    for (int32_t unit = 0; unit < units && *least < most; unit++) {
        const Rows rows = touch_rows(all, touch, unit);
        *least = (int32_t)i64_max(*least, rows.hi - rows.lo);
    }
}

/* The most rows that a unit reads: so many at least a ring has. */
static void count_rows(Finder *finder)
{
    const size_t items = finder->all->item.n;
    finder->least_rows = NEW_ARRAY(finder->arena, int32_t, items + 1);
    for (size_t i = 0; i < items; i++)
        finder->least_rows[i] = 1;
    for (size_t k = 0; k < finder->all->touch.n; k++)
        count_rows_of(finder, finder->all->touch.at + k);
}

/* A result that lies over an input saves bytes of the step. */
static void count_overlaps(Finder *finder)
{
    for (int32_t k = 0; k < finder->steps; k++) {
        Overlap found[MOST_OVERLAPS];
        const Step *step = finder->all->program->step.at[k];
        const bool by_row = overlap_pays(finder->opt, step);
        const int n = overlap_find(finder->all, k, by_row, found);
        int64_t most = 0;
        for (int i = 0; i < n; i++)
            most = i64_max(most, overlap_gain(finder->all, found + i));
        finder->layer[k] -= most;
    }
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
    finder->cost = NEW_ARRAY(finder->arena, int64_t, finder->steps + 1);
    for (int32_t k = 0; k < finder->steps; k++) {
        const Step *step = finder->all->program->step.at[k];
        finder->cost[k] = stream_takes(finder->all, k)
                              ? stream_cost(step, finder->pixels)
                              : -1;
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
    int64_t bytes = finder->alive[from] + finder->alive[to];
    for (int32_t i = 0; i < finder->crossing[from]; i++) {
        const Item *it = finder->all->item.at + finder->cross[from][i];
        if (it->end > to)
            bytes -= it->size;
    }
    return bytes;
}
