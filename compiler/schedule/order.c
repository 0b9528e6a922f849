/* SPDX-License-Identifier: Apache-2.0
 * A program as an order problem: what depends on what, and which results may lie over which inputs.
 */
#include "schedule/order.h"

#include "base/mix.h"
#include "base/size.h"
#include "schedule/overlap.h"

typedef VEC(int32_t) List;

typedef struct Builder {
    Arena *arena;
    const Items *all;
    bool by_row;
    Walked *walked; /* where gains are remembered; NULL: nowhere */
    WalkedKeys keys;
    List before, touch;
    VEC(OrderGain) gain;
    /* of an item or a step: the last step that noted it */
    int32_t *last_seen;
    /* steps that write, and that touch, item i, each once, ended by -1 */
    int32_t **maker, **user;
} Builder;

/* Where the bytes end that it touches. */
static int64_t end_of(const Touch *touch)
{
    const Operand *operand = touch->operand;
    if (!touch->by_row)
        return touch->at + tensor_bytes(operand->tensor);
    return touch->at + operand->rows * operand->row_bytes;
}

/* Bytes of a pixel that a part touches. */
static int64_t lane_bytes(const Items *all, const Touch *touch)
{
    const Tensor *root = touch_item(all, touch)->root;
    return touch->operand->part * (dtype_bits(root->dtype) / 8);
}

static bool lanes_meet(const Items *all, const Touch *touch, const Touch *other)
{
    const int64_t end = touch->lane + lane_bytes(all, touch);
    const int64_t other_end = other->lane + lane_bytes(all, other);
    return touch->lane < other_end && other->lane < end;
}

static bool is_part_by_row(const Touch *touch)
{
    return touch->operand->part && touch->by_row;
}

/* Of one item: does the later of the two have to wait for the other? */
static bool conflict(const Items *all, const Touch *touch, const Touch *other)
{
    if (!touch->operand->write && !other->operand->write)
        return false;
    if (touch->at >= end_of(other) || other->at >= end_of(touch))
        return false;
    if (is_part_by_row(touch) && is_part_by_row(other))
        return lanes_meet(all, touch, other);
    return true;
}

/* A list for each item, of room for all its touches and an end. */
static int32_t **empty_lists(const Builder *builder)
{
    const Items *all = builder->all;
    const size_t items = all->item.n;
    int32_t *room = NEW_ARRAY(builder->arena, int32_t, items + 1);
    int32_t **list = NEW_ARRAY(builder->arena, int32_t *, items + 1);
    for (size_t k = 0; k < all->touch.n; k++)
        room[all->touch.at[k].item]++;
    for (size_t i = 0; i < items; i++)
        list[i] = NEW_ARRAY(builder->arena, int32_t, room[i] + 1);
    return list;
}

/* Appends the step, unless the list ends with it. */
static void list_once(int32_t *list, int32_t *n, int32_t step)
{
    if (*n && list[*n - 1] == step)
        return;
    list[*n] = step;
    *n += 1;
}

/* Steps that touch (only makers: that write) each item, in their order. */
static int32_t **list_steps(const Builder *builder, bool only_makers)
{
    const Items *all = builder->all;
    const size_t items = all->item.n;
    int32_t **list = empty_lists(builder);
    int32_t *listed = NEW_ARRAY(builder->arena, int32_t, items + 1);
    for (size_t k = 0; k < all->touch.n; k++) {
        const Touch *touch = all->touch.at + k;
        const int32_t item = touch->item;
        if (!only_makers || touch->operand->write)
            list_once(list[item], listed + item, touch->step);
    }
    for (size_t i = 0; i < items; i++)
        list[i][listed[i]] = -1;
    return list;
}

/* By item or by step: no step has noted it. */
static int32_t *none_seen(const Builder *builder, size_t count)
{
    int32_t *seen = NEW_ARRAY(builder->arena, int32_t, count + 1);
    for (size_t i = 0; i < count; i++)
        seen[i] = -1;
    return seen;
}

/* The touch waits for the step where they meet on the touch's item. */
static void add_before(Builder *builder, const Touch *touch, int32_t step)
{
    const Items *all = builder->all;
    int32_t *last = builder->last_seen + step;
    for (const Touch *other = touch_begin(all, step);
         other < touch_end(all, step); other++) {
        if (other->item != touch->item || !conflict(all, touch, other) ||
            *last == touch->step)
            continue;
        *last = touch->step;
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
    const Items *all = builder->all;
    const int32_t steps = (int32_t)all->program->step.n;
    int32_t *of = NEW_ARRAY(builder->arena, int32_t, steps + 1);
    builder->last_seen = none_seen(builder, all->program->step.n);
    for (int32_t step = 0; step < steps; step++) {
        of[step] = (int32_t)builder->before.n;
        for (const Touch *touch = touch_begin(all, step);
             touch < touch_end(all, step); touch++)
            add_all_before(builder, touch);
    }
    of[steps] = (int32_t)builder->before.n;
    return of;
}

/* What takes room, each item once. */
static void add_touched(Builder *builder, int32_t step)
{
    const Items *all = builder->all;
    for (const Touch *touch = touch_begin(all, step);
         touch < touch_end(all, step); touch++) {
        int32_t *last = builder->last_seen + touch->item;
        if (*last == step || touch_item(all, touch)->outside)
            continue;
        *last = step;
        VEC_PUSH(builder->arena, &builder->touch, touch->item);
    }
}

static int32_t *list_touched(Builder *builder)
{
    const Items *all = builder->all;
    const int32_t steps = (int32_t)all->program->step.n;
    int32_t *of = NEW_ARRAY(builder->arena, int32_t, steps + 1);
    builder->last_seen = none_seen(builder, all->item.n);
    for (int32_t step = 0; step < steps; step++) {
        of[step] = (int32_t)builder->touch.n;
        add_touched(builder, step);
    }
    of[steps] = (int32_t)builder->touch.n;
    return of;
}

/* Does one step alone write the item? */
static bool made_at_once(const Builder *builder, int32_t item)
{
    const int32_t *makers = builder->maker[item];
    return makers[1] < 0;
}

/* Bytes that the result saves by lying over the operand's item; -1: it may not. */
static int64_t find_gain(const Builder *builder, const Touch *touch)
{
    const Items *all = builder->all;
    Overlap overlap;
    if (!overlap_possible(all, touch, builder->by_row, &overlap))
        return -1;
    return overlap_gain(all, &overlap);
}

/* The same, as remembered where it is. */
static int64_t gain_of(const Builder *builder, const Touch *touch)
{
    const Items *all = builder->all;
    const int32_t step = touch->step;
    if (!builder->walked)
        return find_gain(builder, touch);
    uint64_t key =
        walked_key(all, step, step + 1, &builder->keys, WALKED_INPUT);
    key = mix_number(key, touch - touch_begin(all, step));
    key = mix_number(key, builder->by_row | all->by_pixels << 1);
    WalkedRange *range = walked_find(builder->walked, key);
    if (range->bytes == WALKED_NOT)
        range->bytes = find_gain(builder, touch);
    return range->bytes;
}

/* Did an operand of its step before it touch the same item? */
static bool was_seen(const Builder *builder, const Touch *touch)
{
    int32_t *last = builder->last_seen + touch->item;
    const bool seen = *last == touch->step;
    *last = touch->step;
    return seen;
}

/* Whether an input dies in its step depends on the order; that the step alone makes its result does
 * not. */
static void add_gains(Builder *builder, int32_t step)
{
    const Items *all = builder->all;
    const Touch *out = overlap_result(all, step);
    const Touch *end = touch_end(all, step);
    int n = 0;
    if (!out || !made_at_once(builder, out->item))
        return;
    for (const Touch *touch = touch_begin(all, step);
         touch < end && n < MOST_OVERLAPS; touch++) {
        if (touch->operand->write || was_seen(builder, touch))
            continue;
        const int64_t bytes = gain_of(builder, touch);
        const OrderGain gain = { touch->item, bytes };
        n += bytes >= 0;
        if (bytes > 0)
            VEC_PUSH(builder->arena, &builder->gain, gain);
    }
}

static int32_t *list_gains(Builder *builder)
{
    const int32_t steps = (int32_t)builder->all->program->step.n;
    int32_t *of = NEW_ARRAY(builder->arena, int32_t, steps + 1);
    builder->last_seen = none_seen(builder, builder->all->item.n);
    for (int32_t step = 0; step < steps; step++) {
        of[step] = (int32_t)builder->gain.n;
        add_gains(builder, step);
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

OrderProblem order_problem(Arena *arena, const Items *all, bool by_row,
                           Walked *walked)
{
    Builder builder = {
        .arena = arena,
        .all = all,
        .by_row = by_row,
        .walked = walked,
    };
    OrderProblem problem = { .steps = (int32_t)all->program->step.n };
    list_items(arena, all, &problem);
    builder.maker = list_steps(&builder, true);
    builder.user = list_steps(&builder, false);
    if (walked)
        builder.keys = walked_keys(arena, all, 1);
    problem.before_of = list_before(&builder);
    problem.touch_of = list_touched(&builder);
    problem.gain_of = list_gains(&builder);
    problem.before = builder.before.at;
    problem.touch = builder.touch.at;
    problem.gain = builder.gain.at;
    return problem;
}

Order order_find(Arena *arena, const Items *all, bool by_row, int64_t work,
                 OrdersKnown *known, Walked *walked)
{
    if (all->jumped.end || !all->program->step.n)
        return (Order){ 0 };
    const OrderProblem problem = order_problem(arena, all, by_row, walked);
    return order_search_known(arena, known, &problem, work);
}
