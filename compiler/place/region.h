/* SPDX-License-Identifier: Apache-2.0
 * Several memories instead of one arena: which item lies in which, by traffic and cost, and where.
 * Knows items and distances as the offset solver does, and nothing of tensors. */
#ifndef INLAY_PLACE_REGION_H
#define INLAY_PLACE_REGION_H

#include "place/place.h"

/* A memory of its own, with its own pointer. */
typedef struct Region {
    const char *name;   /* lower case, an identifier */
    int64_t size, cost; /* bytes; what a byte read or written costs, >= 1 */
} Region;

typedef struct RegionProblem {
    const PlaceItem *item;
    int n;
    /* of items in the same region; in different ones they never meet */
    const PlaceArc *arc;
    int n_arc;
    const int64_t *traffic; /* by item: bytes read and written in a run */
    const int32_t *pin;   /* by item: its region; REGION_ANY, REGION_FASTEST */
    const Region *region; /* in the caller's order */
    int regions;
} RegionProblem;

enum {
    REGION_ANY = -1,
    REGION_FASTEST = -2
}; /* FASTEST: the cheapest region that holds it beside those that are pinned */

typedef struct RegionPlan {
    int32_t *of;     /* by item: its region */
    int64_t *offset; /* by item, in its region */
    /* by region: bytes, and a proved least for the items in it */
    int64_t *height, *bound;
    int64_t *traffic; /* by region */
    /* traffic times cost, summed; no assignment costs less than `least` */
    int64_t cost, least;
    bool optimal; /* cost is the least there is */
    /* bytes beyond the sizes of the regions, in the best assignment found; 0: it fits */
    int64_t missing;
} RegionPlan;

/* Exact while the items are few, else the densest traffic first, improved by exchanges; all budgets
 * are counts. */
RegionPlan region_plan(Arena *arena, const RegionProblem *problem);

#endif
