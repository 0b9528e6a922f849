/* SPDX-License-Identifier: Apache-2.0
 * Orders that were searched before: candidates often differ in what no order problem sees. */
#ifndef INLAY_SCHEDULE_ORDER_KNOWN_H
#define INLAY_SCHEDULE_ORDER_KNOWN_H

#include "schedule/options.h"
#include "schedule/order_search.h"

/* steps: of a program, its candidates have about as many. */
OrdersKnown *orders_known_new(Arena *arena, size_t steps);
/* order_search(), or what it found for an equal problem with as much work, but for about one pair
 * of problems in 2^64. known: NULL: nothing is remembered. */
Order order_search_known(Arena *arena, OrdersKnown *known,
                         const OrderProblem *problem, int64_t work);

#endif
