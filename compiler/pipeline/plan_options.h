/* SPDX-License-Identifier: Apache-2.0
 * What the planner is asked for: --plan, --optimize, --arena-limit; --region and --pin, several
 * memories instead of one arena. */
#ifndef INLAY_PIPELINE_PLAN_OPTIONS_H
#define INLAY_PIPELINE_PLAN_OPTIONS_H

#include "pipeline/state.h"
#include "plan/plan.h"

/* --region and --pin that are malformed or do not fit together fail with 64. */
PlanOptions plan_options(Compile *compile);

/* Fails with 64 where the text is no value of --region. */
void region_check(Arena *arena, const char *text);

#endif
