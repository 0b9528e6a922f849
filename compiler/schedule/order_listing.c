/* SPDX-License-Identifier: Apache-2.0
 * Steps that may come next are told apart by what they are: by the way to the end behind them, the
 * result of the model that they lead to, the bytes that they make, their work, and at last by a
 * mark of all that they are made of and go into. Those with equal marks can hardly be told apart by
 * anything but their place in the file. */
#include "schedule/order_listing.h"

#include "base/size.h"

typedef struct Lister {
    Arena *arena;
    const Items *all;
    const OrderProblem *problem;
    int32_t *after_of, *after; /* steps that wait for a step, packed */
    uint64_t *mark;            /* by step */
    int32_t *way;     /* by step: steps behind it, one after the other */
    int32_t *goal;    /* by step: the first of the model's results behind it */
    int64_t *made;    /* by step: bytes */
    int32_t *waiting; /* by step: how many it waits for; -1: it is listed */
    /* by step: how many were listed when it had to wait no more */
    int32_t *since;
} Lister;

/* ---- what a step is ---- */

static uint64_t mix(uint64_t mark, uint64_t value)
{
    uint64_t x = (mark ^ value * 0x9e3779b97f4a7c15u) + 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

enum { MOST_VALUES = 16 };

static uint64_t mix_all(uint64_t mark, const int64_t value[MOST_VALUES])
{
    for (int i = 0; i < MOST_VALUES; i++)
        mark = mix(mark, (uint64_t)value[i]);
    return mark;
}

/* Which input, below 0, or result of the model it is, above 0; 0: it is neither. */
static int64_t number_of(const Items *all, const Tensor *root)
{
    if (all->is_input[root->id])
        return -1 - (int64_t)root->slot;
    return all->is_result[root->id] ? 1 + (int64_t)root->slot : 0;
}

static uint64_t mark_of_touch(const Items *all, const Touch *touch)
{
    const Operand *operand = touch->operand;
    const Item *item = touch_item(all, touch);
    const int64_t value[MOST_VALUES] = {
        operand->write,
        operand->read,
        operand->rows,
        operand->row_bytes,
        operand->part,
        operand->rule.kind,
        operand->rule.stride,
        operand->rule.pad,
        operand->rule.extent,
        touch->at,
        touch->lane,
        item->size,
        number_of(all, item->root),
    };
    return mix_all(0, value);
}

static uint64_t mark_of_step(const Items *all, int32_t number)
{
    const Step *step = items_step(all, number);
    const Touch *end = touch_end(all, number);
    uint64_t mark = mix((uint64_t)step->units, (uint64_t)step->macs);
    for (const char *c = step->kernel->name; *c; c++)
        mark = mix(mark, (uint64_t)*c);
    for (const Touch *touch = touch_begin(all, number); touch < end; touch++)
        mark = mix(mark, mark_of_touch(all, touch));
    return mark;
}

/* Of listed steps [first, end), which the file may list in any order. */
static uint64_t sum_of_marks(const Lister *lister, const int32_t *list,
                             int32_t first, int32_t end)
{
    uint64_t sum = 0;
    for (int32_t k = first; k < end; k++)
        sum += mix(lister->mark[list[k]], 1);
    return sum;
}

/* What a step waits for goes into its mark, then what waits for it. */
static void mark_ways(const Lister *lister)
{
    const OrderProblem *problem = lister->problem;
    uint64_t *mark = lister->mark;
    const int32_t *of = problem->before_of;
    for (int32_t s = 0; s < problem->steps; s++) {
        const uint64_t sum =
            sum_of_marks(lister, problem->before, of[s], of[s + 1]);
        mark[s] = mix(mark[s], sum);
    }
    of = lister->after_of;
    for (int32_t s = problem->steps - 1; s >= 0; s--) {
        const uint64_t sum =
            sum_of_marks(lister, lister->after, of[s], of[s + 1]);
        mark[s] = mix(mark[s], sum);
    }
}

/* Which operand of the others an item is goes into the mark of a step. */
static void mark_items(const Lister *lister)
{
    const Items *all = lister->all;
    uint64_t *sum = NEW_ARRAY(lister->arena, uint64_t, all->item.n + 1);
    for (size_t k = 0; k < all->touch.n; k++) {
        const Touch *touch = all->touch.at + k;
        const int64_t operand = touch - touch_begin(all, touch->step);
        sum[touch->item] += mix(lister->mark[touch->step], (uint64_t)operand);
    }
    for (size_t k = 0; k < all->touch.n; k++) {
        const Touch *touch = all->touch.at + k;
        uint64_t *mark = lister->mark + touch->step;
        *mark = mix(*mark, sum[touch->item]);
    }
}

static void mark_steps(Lister *lister)
{
    const int32_t steps = lister->problem->steps;
    lister->mark = NEW_ARRAY(lister->arena, uint64_t, steps + 1);
    for (int32_t s = 0; s < steps; s++)
        lister->mark[s] = mark_of_step(lister->all, s);
    mark_ways(lister);
    mark_items(lister);
    mark_ways(lister);
}

/* ---- what is behind a step ---- */

/* Step s waits for others: it is put to the ends of their lists. */
static void put_after(Lister *lister, int32_t s)
{
    const OrderProblem *problem = lister->problem;
    const int32_t end = problem->before_of[s + 1];
    for (int32_t k = problem->before_of[s]; k < end; k++) {
        int32_t *put = lister->after_of + problem->before[k] + 1;
        lister->after[*put] = s;
        *put += 1;
    }
}

static void list_after(Lister *lister)
{
    const OrderProblem *problem = lister->problem;
    const int32_t steps = problem->steps;
    const int32_t reads = problem->before_of[steps];
    int32_t *of = NEW_ARRAY(lister->arena, int32_t, steps + 2);
    for (int32_t k = 0; k < reads; k++)
        of[problem->before[k] + 2]++;
    for (int32_t s = 0; s < steps; s++)
        of[s + 2] += of[s + 1];
    lister->after_of = of;
    lister->after = NEW_ARRAY(lister->arena, int32_t, reads + 1);
    for (int32_t s = 0; s < steps; s++)
        put_after(lister, s);
}

static void note_results(const Lister *lister, int32_t step)
{
    const Items *all = lister->all;
    const Touch *end = touch_end(all, step);
    int32_t *goal = lister->goal + step;
    *goal = INT32_MAX;
    for (const Touch *touch = touch_begin(all, step); touch < end; touch++) {
        const Item *item = touch_item(all, touch);
        if (!touch->operand->write)
            continue;
        lister->made[step] += item->size;
        if (all->is_result[item->root->id])
            *goal = (int32_t)i64_min(*goal, item->root->slot);
    }
}

static void look_behind(Lister *lister)
{
    const int32_t steps = lister->problem->steps;
    lister->way = NEW_ARRAY(lister->arena, int32_t, steps + 1);
    lister->goal = NEW_ARRAY(lister->arena, int32_t, steps + 1);
    lister->made = NEW_ARRAY(lister->arena, int64_t, steps + 1);
    for (int32_t s = steps - 1; s >= 0; s--) {
        const int32_t end = lister->after_of[s + 1];
        int32_t *way = lister->way + s;
        int32_t *goal = lister->goal + s;
        note_results(lister, s);
        for (int32_t k = lister->after_of[s]; k < end; k++) {
            const int32_t after = lister->after[k];
            *way = (int32_t)i64_max(*way, lister->way[after] + 1);
            *goal = (int32_t)i64_min(*goal, lister->goal[after]);
        }
    }
}

/* ---- the list ---- */

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_work(const Lister *lister, int32_t step, int32_t other)
{
    const int64_t work = items_step(lister->all, step)->macs;
    return compare(items_step(lister->all, other)->macs, work);
}

/* By what both listings tell steps apart. */
static int compare_steps(const Lister *lister, int32_t step, int32_t other)
{
    int order = compare(lister->goal[step], lister->goal[other]);
    if (!order)
        order = compare(lister->made[step], lister->made[other]);
    if (!order)
        order = compare_work(lister, step, other);
    if (!order)
        order = lister->mark[step] < lister->mark[other] ? -1 : 1;
    return order;
}

/* Does the step come before the other, which may come next as well? */
static bool comes_first(const Lister *lister, Listing listing, int32_t step,
                        int32_t other)
{
    const int longer = compare(lister->way[step], lister->way[other]);
    const int later = compare(lister->since[step], lister->since[other]);
    int order = -longer;
    if (listing == LISTING_BREADTH)
        order = later ? later : longer;
    if (!order)
        order = compare_steps(lister, step, other);
    return order < 0;
}

/* Of the steps from `first` on that wait for nothing. */
static int32_t find_next(const Lister *lister, Listing listing, int32_t first)
{
    int32_t next = -1;
    for (int32_t s = first; s < lister->problem->steps; s++) {
        if (lister->waiting[s])
            continue;
        if (next < 0 || comes_first(lister, listing, s, next))
            next = s;
    }
    return next;
}

/* The step is the n-th of the list. */
static void take(const Lister *lister, int32_t step, int32_t n)
{
    const int32_t end = lister->after_of[step + 1];
    lister->waiting[step] = -1;
    for (int32_t k = lister->after_of[step]; k < end; k++) {
        const int32_t after = lister->after[k];
        lister->waiting[after]--;
        lister->since[after] = n + 1;
    }
}

int32_t *order_listing(Arena *arena, const Items *all,
                       const OrderProblem *problem, Listing listing)
{
    const int32_t steps = problem->steps;
    Lister lister = { .arena = arena, .all = all, .problem = problem };
    list_after(&lister);
    look_behind(&lister);
    mark_steps(&lister);
    lister.waiting = NEW_ARRAY(arena, int32_t, steps + 1);
    lister.since = NEW_ARRAY(arena, int32_t, steps + 1);
    for (int32_t s = 0; s < steps; s++)
        lister.waiting[s] = problem->before_of[s + 1] - problem->before_of[s];
    int32_t *order = NEW_ARRAY(arena, int32_t, steps + 1);
    int32_t first = 0;
    for (int32_t n = 0; n < steps; n++) {
        while (lister.waiting[first] < 0)
            first++;
        order[n] = find_next(&lister, listing, first);
        take(&lister, order[n], n);
    }
    return order;
}
