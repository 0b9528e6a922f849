/* SPDX-License-Identifier: Apache-2.0
 * Orders of the same steps, found with the schedule and not before it: streams change what makes
 * the peak. */
#ifndef INLAY_PLAN_ORDERS_H
#define INLAY_PLAN_ORDERS_H

#include "schedule/options.h"

/* Writes the order, by the steps' places in the program, whose schedule has the least peak that was
 * found, the given order among them, to `best`; returns that peak. Counts the work down. */
int64_t orders_search(const Program *program, const PlanOptions *opt,
                      PlanWork *work, int32_t *best);

/* Its steps in that order; the list of them is the arena's. */
Program orders_program(Arena *arena, const Program *program,
                       const int32_t *order);

#endif
