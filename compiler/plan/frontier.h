/* SPDX-License-Identifier: Apache-2.0
 * Arena against work: plans from the cheapest to the smallest, and the cheapest that holds a limit.
 */
#ifndef INLAY_PLAN_FRONTIER_H
#define INLAY_PLAN_FRONTIER_H

#include "plan/trial.h"

/* Plans a program's steps as they are, as cheaply as `enough` bytes allow. */
typedef Trial PlanSteps(const Program *program, const PlanOptions *opt,
                        int64_t enough);

/* Tries forms of a program (the first is the plainest) under falling limits, in strips where that
 * goes lower. smallest: the plan that is made without a limit, a point like the others; NULL: there
 * is none. The plan that opt asks for, with all of them in Plan.curve. */
Trial frontier_plan(const Program *form, int forms, const PlanOptions *opt,
                    PlanSteps *plan, const Trial *smallest);

#endif
