/* SPDX-License-Identifier: Apache-2.0
 * A program as an order problem: what depends on what, and which results may lie over which inputs.
 */
#include "plan/order.h"

#include "base/size.h"
#include "plan/overlap.h"

typedef VEC(int32_t) List;

typedef struct Builder {
    Arena *arena;
    const Items *all;
    bool by_row;
    List before, touch;
    VEC(OrderGain) gain;
    int32_t *last_seen;      /* of an item or a step: the last step that noted it */
    int32_t **maker, **user; /* steps that write, and that touch, item i, each once, ended by -1 */
} Builder;

/* Where the bytes end that it touches. */
static int64_t end_of(const Touch *t)
{
    return t->at + (t->by_row ? t->operand->rows * t->operand->row_bytes
                              : tensor_bytes(t->operand->tensor));
}

static bool conflict(const Items *all, const Touch *t, const Touch *u)
{
    if (!t->operand->write && !u->operand->write)
        return false;
    if (t->at >= end_of(u) || u->at >= end_of(t))
        return false;
    if (t->operand->part && u->operand->part && t->by_row && u->by_row) {
        const int64_t bytes = dtype_bits(all->item.at[t->item].root->dtype) / 8;
        return t->lane < u->lane + u->operand->part * bytes &&
               u->lane < t->lane + t->operand->part * bytes;
    }
    return true;
}

/* Steps that touch (only makers: that write) each item, in their order. */
static int32_t **list_steps(Builder *b, bool only_makers)
{
    const Items *all = b->all;
    const size_t items = all->item.n;
    int32_t *n = NEW_ARRAY(b->arena, int32_t, items + 1),
            **list = NEW_ARRAY(b->arena, int32_t *, items + 1);
    for (size_t i = 0; i < all->touch.n; i++)
        n[all->touch.at[i].item]++;
    for (size_t i = 0; i < items; i++) {
        list[i] = NEW_ARRAY(b->arena, int32_t, n[i] + 1);
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

static void add_before(Builder *b, const Touch *t, int32_t step)
{
    for (const Touch *v = touch_begin(b->all, step); v < touch_end(b->all, step); v++) {
        if (v->item != t->item || !conflict(b->all, t, v) || b->last_seen[step] == t->step)
            continue;
        b->last_seen[step] = t->step;
        VEC_PUSH(b->arena, &b->before, step);
    }
}

static int32_t *list_before(Builder *b)
{
    const int32_t steps = (int32_t)b->all->program->step.n;
    int32_t *of = NEW_ARRAY(b->arena, int32_t, steps + 1);
    b->last_seen = NEW_ARRAY(b->arena, int32_t, steps + 1);
    for (int32_t s = 0; s < steps; s++)
        b->last_seen[s] = -1;
    for (int32_t s = 0; s < steps; s++) {
        of[s] = (int32_t)b->before.n;
        for (const Touch *t = touch_begin(b->all, s); t < touch_end(b->all, s); t++)
            for (const int32_t *u = (t->operand->write ? b->user : b->maker)[t->item];
                 *u >= 0 && *u < s; u++)
                add_before(b, t, *u);
    }
    of[steps] = (int32_t)b->before.n;
    return of;
}

static int32_t *list_touched(Builder *b)
{
    const int32_t steps = (int32_t)b->all->program->step.n;
    int32_t *of = NEW_ARRAY(b->arena, int32_t, steps + 1);
    b->last_seen = NEW_ARRAY(b->arena, int32_t, b->all->item.n + 1);
    for (size_t i = 0; i < b->all->item.n; i++)
        b->last_seen[i] = -1;
    for (int32_t s = 0; s < steps; s++) {
        of[s] = (int32_t)b->touch.n;
        for (const Touch *t = touch_begin(b->all, s); t < touch_end(b->all, s); t++) {
            if (b->last_seen[t->item] == s || b->all->item.at[t->item].outside)
                continue;
            b->last_seen[t->item] = s;
            VEC_PUSH(b->arena, &b->touch, t->item);
        }
    }
    of[steps] = (int32_t)b->touch.n;
    return of;
}

/* Whether an input dies in its step depends on the order; that the step alone makes its result does
 * not. */
static int32_t *list_gains(Builder *b)
{
    const int32_t steps = (int32_t)b->all->program->step.n;
    int32_t *of = NEW_ARRAY(b->arena, int32_t, steps + 1);
    for (int32_t s = 0; s < steps; s++) {
        Overlap found[MOST_OVERLAPS];
        const int n = overlap_possible(b->all, s, b->by_row, found);
        of[s] = (int32_t)b->gain.n;
        for (int i = 0; i < n; i++) {
            const int64_t bytes = overlap_gain(b->all, found + i);
            if (b->maker[found[i].out][1] < 0 && bytes > 0)
                VEC_PUSH(b->arena, &b->gain, ((OrderGain){ found[i].in, bytes }));
        }
    }
    of[steps] = (int32_t)b->gain.n;
    return of;
}

Order order_find(Arena *a, const Items *all, bool by_row, int64_t work)
{
    Builder b = { .arena = a, .all = all, .by_row = by_row };
    if (all->control || !all->program->step.n)
        return (Order){ 0 };
    OrderProblem p = { .steps = (int32_t)all->program->step.n, .items = (int32_t)all->item.n };
    int64_t *size = NEW_ARRAY(a, int64_t, all->item.n + 1);
    bool *given = NEW_ARRAY(a, bool, all->item.n + 1), *kept = NEW_ARRAY(a, bool, all->item.n + 1);
    for (size_t i = 0; i < all->item.n; i++) {
        size[i] = all->item.at[i].size;
        given[i] = all->item.at[i].first < 0;
        kept[i] = all->item.at[i].kept;
    }
    b.maker = list_steps(&b, true);
    b.user = list_steps(&b, false);
    p.size = size;
    p.given = given;
    p.kept = kept;
    p.before_of = list_before(&b);
    p.touch_of = list_touched(&b);
    p.gain_of = list_gains(&b);
    p.before = b.before.at;
    p.touch = b.touch.at;
    p.gain = b.gain.at;
    return order_search(a, &p, work);
}
