/* SPDX-License-Identifier: Apache-2.0
 * A table of fixed room, since trials give back all memory that they take. */
#include "schedule/order_known.h"

#include <string.h>

#include "base/mix.h"

/* Orders in the table, and steps beyond those of the program that there is room for. */
enum { ORDERS = 64, MORE_STEPS = 64 };

typedef struct KnownOrder {
    uint64_t key; /* 0: there is none */
    Order order;
    int32_t *step; /* room for its steps */
} KnownOrder;

struct OrdersKnown {
    int32_t room; /* steps */
    KnownOrder at[ORDERS];
};

OrdersKnown *orders_known_new(Arena *arena, size_t steps)
{
    OrdersKnown *known = NEW(arena, OrdersKnown);
    const size_t room = steps + steps / 2 + MORE_STEPS;
    known->room = room < INT32_MAX ? (int32_t)room : INT32_MAX;
    int32_t *step = NEW_ARRAY(arena, int32_t, ORDERS * room);
    for (size_t i = 0; i < ORDERS; i++)
        known->at[i].step = step + i * room;
    return known;
}

static uint64_t mix_items(uint64_t key, const OrderProblem *problem)
{
    for (int32_t i = 0; i < problem->items; i++) {
        key = mix_number(key, problem->size[i]);
        if (problem->given)
            key = mix_number(key, problem->given[i]);
        if (problem->kept)
            key = mix_number(key, problem->kept[i]);
    }
    return key;
}

static uint64_t mix_step(uint64_t key, const OrderProblem *problem, int32_t s)
{
    for (int32_t k = problem->before_of[s]; k < problem->before_of[s + 1]; k++)
        key = mix_number(key, problem->before[k]);
    key = mix_number(key, -1);
    for (int32_t k = problem->touch_of[s]; k < problem->touch_of[s + 1]; k++)
        key = mix_number(key, problem->touch[k]);
    key = mix_number(key, -1);
    for (int32_t k = problem->gain_of[s]; k < problem->gain_of[s + 1]; k++) {
        key = mix_number(key, problem->gain[k].item);
        key = mix_number(key, problem->gain[k].bytes);
    }
    return mix_number(key, -1);
}

static uint64_t key_of(const OrderProblem *problem, int64_t work)
{
    uint64_t key = mix_number((uint64_t)work, problem->steps);
    key = mix_number(key, problem->items);
    key = mix_number(key, problem->given != NULL);
    key = mix_number(key, problem->kept != NULL);
    key = mix_items(key, problem);
    for (int32_t s = 0; s < problem->steps; s++)
        key = mix_step(key, problem, s);
    return key ? key : 1;
}

static void remember(KnownOrder *known, uint64_t key, const Order *order,
                     int32_t steps)
{
    known->key = key;
    known->order = *order;
    if (order->step)
        memcpy(known->step, order->step, (size_t)steps * sizeof *known->step);
}

static Order recall(Arena *arena, const KnownOrder *known, int32_t steps)
{
    Order order = known->order;
    if (order.step)
        order.step =
            arena_copy(arena, known->step, (size_t)steps * sizeof *known->step);
    return order;
}

Order order_search_known(Arena *arena, OrdersKnown *known,
                         const OrderProblem *problem, int64_t work)
{
    if (!known || problem->steps > known->room)
        return order_search(arena, problem, work);
    const uint64_t key = key_of(problem, work);
    KnownOrder *at = known->at + key % ORDERS;
    if (at->key == key)
        return recall(arena, at, problem->steps);
    const Order order = order_search(arena, problem, work);
    remember(at, key, &order, problem->steps);
    return order;
}
