/* SPDX-License-Identifier: Apache-2.0
 * An order that the steps alone determine, however they are listed. */
#ifndef INLAY_SCHEDULE_ORDER_DEPTH_H
#define INLAY_SCHEDULE_ORDER_DEPTH_H

#include "schedule/items.h"
#include "schedule/order_problem.h"

/* The steps depth first from the model's results, by their numbers in the given order; `problem` is
 * of the same items. */
int32_t *order_depth(Arena *arena, const Items *all,
                     const OrderProblem *problem);

#endif
