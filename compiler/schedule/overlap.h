/* SPDX-License-Identifier: Apache-2.0
 * Where the result of a step may lie over an input that dies in it. */
#ifndef INLAY_SCHEDULE_OVERLAP_H
#define INLAY_SCHEDULE_OVERLAP_H

#include "schedule/items.h"

/* Offsets may be equal; or, going by rows, in - out >= forward, or out - in >= backward with the
 * loop reversed; or both. */
typedef struct Overlap {
    int32_t in, out; /* items */
    bool equal, by_row;
    int64_t forward, backward;
} Overlap;

enum { MOST_OVERLAPS = 4 };

/* What step `step`, run layer by layer, allows; returns how many. At most one goes by rows: the
 * loop has one direction. */
int overlap_find(const Items *all, int32_t step, bool by_row, Overlap *found);
/* The same of one of its operands, for any order of the steps: whether an input dies in the step is
 * not asked. */
bool overlap_possible(const Items *all, const Touch *touch, bool by_row,
                      Overlap *overlap);
/* The one result of the step that may lie over inputs; NULL: there is none. */
const Touch *overlap_result(const Items *all, int32_t step);
/* What a unit of the step allows the row that it makes, over one of the item's rows that it is the
 * last to need; offsets are those of the two rows. */
Overlap overlap_of_rows(const Items *all, int32_t step, int32_t item);
/* Bytes that the pair saves when it lies as close as allowed. */
int64_t overlap_gain(const Items *all, const Overlap *overlap);
/* What finishing a row before the next costs, in instructions, about: once a row instead of once
 * weights that no cache holds are read, and narrow ones made floats. */
int64_t overlap_cost(const Step *step);
/* May the step go row by row, by the level and the goal? */
bool overlap_pays(const PlanOptions *opt, const Step *step);
/* Does it cost nothing but calls to go row by row? It makes no products and reads no weights. */
bool overlap_is_free(const Step *step);

#endif
