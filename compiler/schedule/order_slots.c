/* SPDX-License-Identifier: Apache-2.0
 * The order problem of the steps becomes one of the slots: what lives in a single stream goes into
 * an item of the stream's own bytes. Its solution holds the same slots, so its peak is one that the
 * schedule reaches. */
#include "schedule/order_slots.h"

#include "base/size.h"
#include "schedule/overlap.h"

typedef VEC(int32_t) List;

typedef struct Slots {
    Arena *arena;
    const Items *all;
    const OrderProblem *step; /* of the steps */
    const Schedule *schedule;
    int32_t n;
    int32_t *of;        /* of a step */
    int32_t *last_seen; /* of a slot or an item: the last slot that noted it */
    bool *inside;       /* of an item: one stream alone touches it */
    List before, touch;
    VEC(OrderGain) gain;
} Slots;

static const Slot *slot_at(const Slots *slots, int32_t i)
{
    return slots->schedule->slot.at + i;
}

static void number_steps(Slots *slots)
{
    const int32_t steps = slots->step->steps;
    slots->of = NEW_ARRAY(slots->arena, int32_t, steps + 1);
    for (int32_t i = 0; i < slots->n; i++) {
        const Slot *slot = slot_at(slots, i);
        for (int32_t s = slot->first; s < slot->end; s++)
            slots->of[s] = i;
    }
}

/* Items that neither are there before their slot nor stay behind it. */
static void find_inside(Slots *slots)
{
    const OrderProblem *step = slots->step;
    int32_t *first = NEW_ARRAY(slots->arena, int32_t, step->items + 1);
    slots->inside = NEW_ARRAY(slots->arena, bool, step->items + 1);
    for (int32_t i = 0; i < step->items; i++) {
        first[i] = -1;
        slots->inside[i] = !step->given[i] && !step->kept[i];
    }
    for (int32_t s = 0; s < step->steps; s++)
        for (int32_t k = step->touch_of[s]; k < step->touch_of[s + 1]; k++) {
            const int32_t item = step->touch[k];
            if (first[item] < 0)
                first[item] = slots->of[s];
            if (first[item] != slots->of[s])
                slots->inside[item] = false;
        }
}

static void forget_seen(Slots *slots, int32_t n)
{
    slots->last_seen = NEW_ARRAY(slots->arena, int32_t, n + 1);
    for (int32_t i = 0; i < n; i++)
        slots->last_seen[i] = -1;
}

/* False: the slot met it before. */
static bool meets(Slots *slots, int32_t slot, int32_t what)
{
    if (slots->last_seen[what] == slot)
        return false;
    slots->last_seen[what] = slot;
    return true;
}

static int32_t *list_before(Slots *slots)
{
    const OrderProblem *step = slots->step;
    int32_t *of = NEW_ARRAY(slots->arena, int32_t, slots->n + 1);
    forget_seen(slots, slots->n);
    for (int32_t i = 0; i < slots->n; i++) {
        const Slot *slot = slot_at(slots, i);
        of[i] = (int32_t)slots->before.n;
        for (int32_t k = step->before_of[slot->first];
             k < step->before_of[slot->end]; k++) {
            const int32_t before = slots->of[step->before[k]];
            if (before != i && meets(slots, i, before))
                VEC_PUSH(slots->arena, &slots->before, before);
        }
    }
    of[slots->n] = (int32_t)slots->before.n;
    return of;
}

/* A stream's own item comes behind those of the steps. */
static int32_t *list_touched(Slots *slots)
{
    const OrderProblem *step = slots->step;
    int32_t *of = NEW_ARRAY(slots->arena, int32_t, slots->n + 1);
    forget_seen(slots, step->items);
    for (int32_t i = 0; i < slots->n; i++) {
        const Slot *slot = slot_at(slots, i);
        of[i] = (int32_t)slots->touch.n;
        if (slot->stream)
            VEC_PUSH(slots->arena, &slots->touch, step->items + i);
        for (int32_t k = step->touch_of[slot->first];
             k < step->touch_of[slot->end]; k++) {
            const int32_t item = step->touch[k];
            if (slot->stream && slots->inside[item])
                continue;
            if (meets(slots, i, item))
                VEC_PUSH(slots->arena, &slots->touch, item);
        }
    }
    of[slots->n] = (int32_t)slots->touch.n;
    return of;
}

static void add_gain_of_stream(Slots *slots, const Stream *stream)
{
    if (stream->under < 0)
        return;
    const Overlap overlap = stream_overlap(stream);
    const OrderGain gain = { stream->under,
                             overlap_gain(slots->all, &overlap) };
    VEC_PUSH(slots->arena, &slots->gain, gain);
}

static int32_t *list_gains(Slots *slots)
{
    const OrderProblem *step = slots->step;
    int32_t *of = NEW_ARRAY(slots->arena, int32_t, slots->n + 1);
    for (int32_t i = 0; i < slots->n; i++) {
        const Slot *slot = slot_at(slots, i);
        of[i] = (int32_t)slots->gain.n;
        if (slot->stream) {
            add_gain_of_stream(slots, slot->stream);
            continue;
        }
        for (int32_t k = step->gain_of[slot->first];
             k < step->gain_of[slot->end]; k++)
            VEC_PUSH(slots->arena, &slots->gain, step->gain[k]);
    }
    of[slots->n] = (int32_t)slots->gain.n;
    return of;
}

static void list_items(const Slots *slots, OrderProblem *problem)
{
    const OrderProblem *step = slots->step;
    problem->items = step->items + slots->n;
    int64_t *size = NEW_ARRAY(slots->arena, int64_t, problem->items + 1);
    bool *given = NEW_ARRAY(slots->arena, bool, problem->items + 1);
    bool *kept = NEW_ARRAY(slots->arena, bool, problem->items + 1);
    for (int32_t i = 0; i < step->items; i++) {
        size[i] = step->size[i];
        given[i] = step->given[i];
        kept[i] = step->kept[i];
    }
    for (int32_t i = 0; i < slots->n; i++) {
        const Stream *stream = slot_at(slots, i)->stream;
        if (stream)
            size[step->items + i] = stream->bytes;
    }
    problem->size = size;
    problem->given = given;
    problem->kept = kept;
}

/* The steps of the slots in their order. */
static void expand(const Slots *slots, Order *order)
{
    int32_t *step = NEW_ARRAY(slots->arena, int32_t, slots->step->steps + 1);
    int32_t n = 0;
    for (int32_t i = 0; i < slots->n; i++) {
        const Slot *slot = slot_at(slots, order->step[i]);
        for (int32_t s = slot->first; s < slot->end; s++)
            step[n++] = s;
    }
    order->step = step;
}

Order order_slots(Arena *arena, const Items *all, const OrderProblem *step,
                  const Schedule *schedule, int64_t work, OrdersKnown *known)
{
    Slots slots = {
        .arena = arena,
        .all = all,
        .step = step,
        .schedule = schedule,
        .n = (int32_t)schedule->slot.n,
    };
    OrderProblem problem = { .steps = slots.n };
    number_steps(&slots);
    find_inside(&slots);
    list_items(&slots, &problem);
    problem.before_of = list_before(&slots);
    problem.touch_of = list_touched(&slots);
    problem.gain_of = list_gains(&slots);
    problem.before = slots.before.at;
    problem.touch = slots.touch.at;
    problem.gain = slots.gain.at;
    Order order = order_search_known(arena, known, &problem, work);
    if (order.step)
        expand(&slots, &order);
    return order;
}
