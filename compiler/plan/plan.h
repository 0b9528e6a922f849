/* SPDX-License-Identifier: Apache-2.0
 * The static memory plan: every arena tensor of a program gets its offset, and the
 * plan is proved by a checker that shares no code with the planner. */
#ifndef INLAY_PLAN_PLAN_H
#define INLAY_PLAN_PLAN_H

#include "ir/program.h"

typedef struct PlanOptions {
    int64_t align;              /* of every tensor in the arena, a power of two */
    int64_t arena_limit;        /* 0: none */
} PlanOptions;

/* Fills Program.plan, Tensor.offset and Operand facts; program_link() must follow. */
void plan_program(Program *p, const PlanOptions *opt);
/* Replays the program's reads and writes over the arena; an unsound plan is our bug: status 70. */
void plan_check(const Program *p);

#endif
