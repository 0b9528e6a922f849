/* SPDX-License-Identifier: Apache-2.0
 * The static memory plan: every arena tensor of a program gets its offset, steps get
 * their order and direction. prove/ checks the result. */
#ifndef INLAY_PLAN_PLAN_H
#define INLAY_PLAN_PLAN_H

#include "ir/program.h"
#include "schedule/options.h"

/* Plans the program and applies the plan: fills Program.plan, Tensor.offset and Operand facts, and
 * links the program. May reorder and drop steps. */
void plan_program(Program *program, const PlanOptions *opt);

/* For plans of about so many steps. */
const PlanKnown *plan_known_new(Arena *arena, size_t steps);

#endif
