/* SPDX-License-Identifier: Apache-2.0
 * The order with the least peak. */
#ifndef INLAY_SCHEDULE_ORDER_SEARCH_H
#define INLAY_SCHEDULE_ORDER_SEARCH_H

#include "base/arena.h"
#include "schedule/order_problem.h"

/* Every stretch between two steps that cannot move past any other gets its own least peak. Gives up
 * after about `work` steps taken in trial (0: a default), with the best order met; then bound <
 * peak. */
Order order_search(Arena *arena, const OrderProblem *problem, int64_t work);

#endif
