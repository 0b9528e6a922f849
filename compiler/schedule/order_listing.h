/* SPDX-License-Identifier: Apache-2.0
 * Orders that the steps alone determine: what a search begins from does not depend on how a file
 * lists its nodes. */
#ifndef INLAY_SCHEDULE_ORDER_LISTING_H
#define INLAY_SCHEDULE_ORDER_LISTING_H

#include "schedule/items.h"
#include "schedule/order_problem.h"

/* Which of the steps that wait for nothing comes next. */
typedef enum Listing {
    LISTING_BREADTH, /* the one that has waited for nothing the longest */
    LISTING_LONGEST, /* the one with the longest way to the end behind it */
    LISTINGS
} Listing;

/* The numbers of the steps in that order. The problem is the one of the items; steps do not jump.
 */
int32_t *order_listing(Arena *arena, const Items *all,
                       const OrderProblem *problem, Listing listing);

#endif
