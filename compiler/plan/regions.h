/* SPDX-License-Identifier: Apache-2.0
 * Several memories for the items of a trial. */
#ifndef INLAY_PLAN_REGIONS_H
#define INLAY_PLAN_REGIONS_H

#include "plan/trial.h"

/* Which region each item lies in, and where. Scratch lies in the fastest that holds it, the row
 * counters in the first. A pin that names nothing fails. */
RegionPlan regions_find(const Trial *trial);
/* Fails where the plan does not fit. */
void regions_require(const Plan *plan);

#endif
