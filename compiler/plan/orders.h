/* SPDX-License-Identifier: Apache-2.0
 * Orders of the same steps, found with the schedule and not before it: streams change what makes
 * the peak. */
#ifndef INLAY_PLAN_ORDERS_H
#define INLAY_PLAN_ORDERS_H

#include "schedule/options.h"

/* The program in the order whose schedule has the least peak that was found, the given order among
 * them; *peak: that. Counts the work down. */
Program orders_search(const Program *program, const PlanOptions *opt,
                      PlanWork *work, int64_t *peak);

#endif
