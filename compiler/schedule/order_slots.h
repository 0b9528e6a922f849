/* SPDX-License-Identifier: Apache-2.0
 * The order of a schedule's slots: streams move as a whole, at the bytes that they take as streams.
 */
#ifndef INLAY_SCHEDULE_ORDER_SLOTS_H
#define INLAY_SCHEDULE_ORDER_SLOTS_H

#include "schedule/order_known.h"
#include "schedule/segment.h"

/* The order of the steps in which the same slots need least; `problem` is of the same items. work:
 * see order_search(); known: what it found before, or NULL. */
Order order_slots(Arena *arena, const Items *all, const OrderProblem *problem,
                  const Schedule *schedule, int64_t work, OrdersKnown *known);

#endif
