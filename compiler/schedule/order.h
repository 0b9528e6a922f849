/* SPDX-License-Identifier: Apache-2.0
 * The order of a program's steps that needs the least memory at its worst step. */
#ifndef INLAY_SCHEDULE_ORDER_H
#define INLAY_SCHEDULE_ORDER_H

#include "schedule/items.h"
#include "schedule/order_known.h"
#include "schedule/walked.h"

/* The steps of a program, what comes before what, and the bytes they touch. by_row: results may lie
 * over inputs that die row by row, too. Steps do not jump.
 * walked: what is known of single steps, or NULL. */
OrderProblem order_problem(Arena *arena, const Items *all, bool by_row,
                           Walked *walked);
/* by_row: results may lie over inputs that die row by row, too. No order where steps jump. work:
 * see order_search(); known: what it found before, or NULL; walked: as above. */
Order order_find(Arena *arena, const Items *all, bool by_row, int64_t work,
                 OrdersKnown *known, Walked *walked);

#endif
