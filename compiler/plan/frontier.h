/* SPDX-License-Identifier: Apache-2.0
 * Arena against work: plans from the cheapest to the smallest, and the cheapest that holds a limit.
 */
#ifndef INLAY_PLAN_FRONTIER_H
#define INLAY_PLAN_FRONTIER_H

#include "plan/elide.h"
#include "plan/plan.h"

/* Plans the program's steps as they are, as cheaply as `enough` bytes allow. */
typedef void FrontierPlan(Program *p, const PlanOptions *opt, PlanLevel level, int64_t enough);

/* Tries forms of the program's steps (the first is the plainest) under falling limits, in strips
 * where that goes lower, fills Plan.curve, and leaves the program in the form and plan that opt
 * asks for. */
void frontier_plan(Program *program, const PlanOptions *opt, PlanLevel level, const Steps *form,
                   int forms, FrontierPlan *plan);
/* Makes these the program's steps. */
void frontier_take(Program *program, Step **step, size_t n);

#endif
