/* SPDX-License-Identifier: Apache-2.0
 * The static memory plan: every arena tensor of a program gets its offset, steps get
 * their order and direction. prove/ checks the result. */
#ifndef INLAY_PLAN_PLAN_H
#define INLAY_PLAN_PLAN_H

#include "ir/program.h"

/* How far the planner goes; each level includes those before it. */
typedef enum PlanLevel {
    PLAN_DEFAULT, /* PLAN_STREAM */
    PLAN_SIMPLE,  /* lifetimes, views, elementwise results in place */
    PLAN_ORDER, /* steps in the order that needs least; copies into and out of wider tensors dropped
                 */
    PLAN_OVERLAP, /* results lie over inputs that die, row by row */
    PLAN_STREAM,  /* steps run together row by row through rings */
} PlanLevel;

/* What to aim at where no limit says it. Only a limit makes anything be computed twice. */
typedef enum PlanGoal {
    PLAN_RAM,      /* the smallest arena */
    PLAN_BALANCED, /* the smallest at an estimated cost of one instruction in a hundred */
    PLAN_SPEED,    /* layer by layer */
} PlanGoal;

/* A memory of its own, with its own pointer. */
typedef struct Region {
    const char *name;   /* lower case, an identifier */
    int64_t size, cost; /* bytes; what a byte read or written costs, >= 1 */
} Region;

typedef struct RegionPin {
    const char *tensor; /* its name in the model */
    int region;
} RegionPin;

typedef struct PlanOptions {
    int64_t align;       /* of every tensor in the arena, a power of two */
    int64_t arena_limit; /* 0: none; else the cheapest plan that holds it, recomputation included;
                            the smallest where none does */
    int32_t
        pixels; /* that streams make in a call at least, see ScheduleOptions; 0: STREAM_PIXELS */
    bool curve; /* fill Plan.curve, as a limit does */
    PlanLevel level;
    PlanGoal goal;
    bool preserve_input;  /* inputs in the arena are not written */
    const Region *region; /* instead of one arena; what does not fit fails with 1 */
    int regions;
    const RegionPin *pin;
    int pins;
} PlanOptions;

/* Fills Program.plan, Tensor.offset and Operand facts, and links the program. May reorder and drop
 * steps. */
void plan_program(Program *program, const PlanOptions *opt);

#endif
