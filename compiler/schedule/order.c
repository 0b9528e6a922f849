/* SPDX-License-Identifier: Apache-2.0
 * A program as an order problem: what depends on what, and which results may lie over which inputs.
 */
#include "schedule/order.h"

#include "base/size.h"
#include "schedule/overlap.h"

typedef VEC(int32_t) List;

typedef struct Builder {
    Arena *arena;
    const Items *all;
    bool by_row;
    List before, touch;
    VEC(OrderGain) gain;
    int32_t *last_seen; /* of an item or a step: the last step that noted it */
    int32_t **maker,
        **user; /* steps that write, and that touch, item i, each once, ended by -1 */
} Builder;

/* Where the bytes end that it touches. */
static int64_t end_of(const Touch *touch)
{
    return touch->at + (touch->by_row
                            ? touch->operand->rows * touch->operand->row_bytes
                            : tensor_bytes(touch->operand->tensor));
}

static bool conflict(const Items *all, const Touch *touch, const Touch *u)
{
    if (!touch->operand->write && !u->operand->write)
        return false;
    if (touch->at >= end_of(u) || u->at >= end_of(touch))
        return false;
    if (touch->operand->part && u->operand->part && touch->by_row &&
        u->by_row) {
        const int64_t bytes =
            dtype_bits(all->item.at[touch->item].root->dtype) / 8;
        return touch->lane < u->lane + u->operand->part * bytes &&
               u->lane < touch->lane + touch->operand->part * bytes;
    }
    return true;
}

/* Steps that touch (only makers: that write) each item, in their order. */
static int32_t **list_steps(Builder *builder, bool only_makers)
{
    const Items *all = builder->all;
    const size_t items = all->item.n;
    int32_t *n = NEW_ARRAY(builder->arena, int32_t, items + 1);
    int32_t **list = NEW_ARRAY(builder->arena, int32_t *, items + 1);
    for (size_t i = 0; i < all->touch.n; i++)
        n[all->touch.at[i].item]++;
    for (size_t i = 0; i < items; i++) {
        list[i] = NEW_ARRAY(builder->arena, int32_t, n[i] + 1);
        n[i] = 0;
    }
    for (size_t k = 0; k < all->touch.n; k++) {
        const Touch *t = all->touch.at + k;
        if (only_makers && !t->operand->write)
            continue;
        if (!n[t->item] || list[t->item][n[t->item] - 1] != t->step)
            list[t->item][n[t->item]++] = t->step;
    }
    for (size_t i = 0; i < items; i++)
        list[i][n[i]] = -1;
    return list;
}

static void add_before(Builder *builder, const Touch *touch, int32_t step)
{
    for (const Touch *v = touch_begin(builder->all, step);
         v < touch_end(builder->all, step); v++) {
        if (v->item != touch->item || !conflict(builder->all, touch, v) ||
            builder->last_seen[step] == touch->step)
            continue;
        builder->last_seen[step] = touch->step;
        VEC_PUSH(builder->arena, &builder->before, step);
    }
}

/* Who reads waits for makers; who writes waits for readers, too. */
static void add_all_before(Builder *builder, const Touch *touch)
{
    int32_t **others = builder->maker;
    if (touch->operand->write)
        others = builder->user;
    const int32_t *step = others[touch->item];
    while (*step >= 0 && *step < touch->step) {
        add_before(builder, touch, *step);
        step++;
    }
}

static int32_t *list_before(Builder *builder)
{
    const int32_t steps = (int32_t)builder->all->program->step.n;
    int32_t *of = NEW_ARRAY(builder->arena, int32_t, steps + 1);
    builder->last_seen = NEW_ARRAY(builder->arena, int32_t, steps + 1);
    for (int32_t s = 0; s < steps; s++)
        builder->last_seen[s] = -1;
    for (int32_t s = 0; s < steps; s++) {
        const Touch *end = touch_end(builder->all, s);
        of[s] = (int32_t)builder->before.n;
        for (const Touch *touch = touch_begin(builder->all, s); touch < end;
             touch++)
            add_all_before(builder, touch);
    }
    of[steps] = (int32_t)builder->before.n;
    return of;
}

static int32_t *list_touched(Builder *builder)
{
    const int32_t steps = (int32_t)builder->all->program->step.n;
    int32_t *of = NEW_ARRAY(builder->arena, int32_t, steps + 1);
    builder->last_seen =
        NEW_ARRAY(builder->arena, int32_t, builder->all->item.n + 1);
    for (size_t i = 0; i < builder->all->item.n; i++)
        builder->last_seen[i] = -1;
    for (int32_t s = 0; s < steps; s++) {
        of[s] = (int32_t)builder->touch.n;
        const Touch *end = touch_end(builder->all, s);
        for (const Touch *t = touch_begin(builder->all, s); t < end; t++) {
            const Item *item = builder->all->item.at + t->item;
            if (builder->last_seen[t->item] == s || item->outside)
                continue;
            builder->last_seen[t->item] = s;
            VEC_PUSH(builder->arena, &builder->touch, t->item);
        }
    }
    of[steps] = (int32_t)builder->touch.n;
    return of;
}

/* Whether an input dies in its step depends on the order; that the step alone makes its result does
 * not. */
static int32_t *list_gains(Builder *builder)
{
    const int32_t steps = (int32_t)builder->all->program->step.n;
    int32_t *of = NEW_ARRAY(builder->arena, int32_t, steps + 1);
    for (int32_t s = 0; s < steps; s++) {
        Overlap found[MOST_OVERLAPS];
        const int n = overlap_possible(builder->all, s, builder->by_row, found);
        of[s] = (int32_t)builder->gain.n;
        for (int i = 0; i < n; i++) {
            const int64_t bytes = overlap_gain(builder->all, found + i);
            if (builder->maker[found[i].out][1] < 0 && bytes > 0)
                VEC_PUSH(builder->arena, &builder->gain,
                         ((OrderGain){ found[i].in, bytes }));
        }
    }
    of[steps] = (int32_t)builder->gain.n;
    return of;
}

/* What takes room, and what is there before the first step and after the last. */
static void list_items(Arena *arena, const Items *all, OrderProblem *problem)
{
    const size_t items = all->item.n;
    int64_t *size = NEW_ARRAY(arena, int64_t, items + 1);
    bool *given = NEW_ARRAY(arena, bool, items + 1);
    bool *kept = NEW_ARRAY(arena, bool, items + 1);
    for (size_t i = 0; i < items; i++) {
        const Item *item = all->item.at + i;
        size[i] = item->size;
        given[i] = item->first < 0;
        kept[i] = item->kept;
    }
    problem->items = (int32_t)items;
    problem->size = size;
    problem->given = given;
    problem->kept = kept;
}

OrderProblem order_problem(Arena *a, const Items *all, bool by_row)
{
    Builder builder = { .arena = a, .all = all, .by_row = by_row };
    OrderProblem problem = { .steps = (int32_t)all->program->step.n };
    list_items(a, all, &problem);
    builder.maker = list_steps(&builder, true);
    builder.user = list_steps(&builder, false);
    problem.before_of = list_before(&builder);
    problem.touch_of = list_touched(&builder);
    problem.gain_of = list_gains(&builder);
    problem.before = builder.before.at;
    problem.touch = builder.touch.at;
    problem.gain = builder.gain.at;
    return problem;
}

Order order_find(Arena *a, const Items *all, bool by_row, int64_t work)
{
    if (all->control || !all->program->step.n)
        return (Order){ 0 };
    const OrderProblem problem = order_problem(a, all, by_row);
    return order_search(a, &problem, work);
}
