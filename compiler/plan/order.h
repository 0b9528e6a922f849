/* SPDX-License-Identifier: Apache-2.0
 * The order of the steps that needs the least memory at its worst step. */
#ifndef INLAY_PLAN_ORDER_H
#define INLAY_PLAN_ORDER_H

#include "plan/items.h"

typedef struct Order {
    int32_t *step;              /* old numbers in the new order; NULL: the given order stays */
    int64_t given, peak;        /* most bytes alive, in the given order and in the new one */
    int64_t bound;              /* proved: no order needs less */
    int64_t states;
} Order;

/* Gives up after `limit` states (0: a default) with the best order met; then bound < peak. */
Order order_find(Arena *a, const Items *all, int64_t limit);

#endif
