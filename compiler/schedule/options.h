/* SPDX-License-Identifier: Apache-2.0
 * What is asked of a plan, and how much work the planner may do for it. */
#ifndef INLAY_SCHEDULE_OPTIONS_H
#define INLAY_SCHEDULE_OPTIONS_H

#include "ir/program.h"
#include "place/region.h"

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
    PLAN_RAM, /* the smallest arena */
    PLAN_BALANCED, /* the smallest at an estimated cost of one instruction in a hundred */
    PLAN_SPEED, /* layer by layer, but for streams of what no cache holds */
} PlanGoal;

/* Larger tensors are written to memory and read from there again. */
enum { PLAN_CACHE = 8 << 20 };

/* Does the goal allow `cost` instructions more where there are `macs` MACs, for a smaller arena? */
bool goal_affords(PlanGoal goal, int64_t cost, int64_t macs);

typedef struct RegionPin {
    const char *tensor; /* its name in the model */
    int region;
} RegionPin;

/* What is known of ranges of steps from other schedules (walked.h). */
typedef struct Walked Walked;
/* Orders that were found before (order_known.h). */
typedef struct OrdersKnown OrdersKnown;
/* Layouts of pools that were found before (fit_known.h). */
typedef struct FitsKnown FitsKnown;

/* What a plan leaves to plans of programs much like its own. Rows of rings in slots of a pool and
 * rings that lie apart come to other sizes. */
typedef struct PlanKnown {
    Walked *rings, *slots;
    OrdersKnown *orders;
    FitsKnown *fits;
} PlanKnown;

enum { EFFORT_USUAL = 10 };

typedef struct PlanOptions {
    int64_t align; /* of every tensor in the arena, a power of two */
    /* 0: none; else the cheapest plan that holds it, recomputation included; the smallest where
     * none does. Of a schedule: there is no need to go below so many bytes. */
    int64_t arena_limit;
    /* That streams make in a call at least, where their rows are shorter; 0: STREAM_PIXELS. */
    int32_t pixels;
    bool curve; /* fill Plan.curve, as a limit does */
    PlanLevel level;
    PlanGoal goal;
    bool preserve_input; /* inputs in the arena are not written */
    /* that share the units of large steps, each with scratch of its own; 0: there is one */
    int32_t threads;
    int64_t split_work; /* multiplications below which a step is not split */
    bool slices; /* the run stops after so many units, and goes on later */
    /* The steps stay as lowered: others with other sizes take their order and their places. */
    bool as_lowered;
    /* Instead of one arena; what does not fit fails with 1. */
    const Region *region;
    int regions;
    const RegionPin *pin;
    int pins;
    /* each ring has rows of its own, though a pool of slots may be smaller (deal.h) */
    bool rings;
    /* work of each search, in tenths of the usual; 0: EFFORT_USUAL */
    int32_t effort;
    const PlanKnown *known; /* of earlier plans; NULL: there are none */

    /* What the planner asks of its own trials; callers leave it 0. */
    /* under the least peak the fewest bytes everywhere, instead of the least cost */
    bool tight;
    /* calls of streams make more pixels where the peak stays as it is */
    bool join;
    /* streams may make results in the place of what they are made of */
    bool hosts;
    /* rings of a stream may share a pool, in which each of their rows has a slot (deal.h) */
    bool slots;
    /* schedules with slots that need no less are of no use: they are not looked for, and their peak
     * is said to be as high; 0: all are */
    int64_t below;
    bool strips; /* ranges may be computed in strips; schedule_under() only */
    Walked *walked;      /* NULL: each schedule begins anew */
    OrdersKnown *orders; /* NULL: each search begins anew */
    FitsKnown *fits;     /* NULL: each layout is sought anew */
    /* unit visits that are left to all schedules together; NULL: each has its own */
    int64_t *walks;
} PlanOptions;

/* What is left to a search of orders: steps that are scheduled, and unit visits while streams are
 * walked. */
typedef struct PlanWork {
    int64_t steps, walks;
} PlanWork;

/* Work that searches may do, counted, never timed: plans are the same on every machine. */
typedef struct PlanBudget {
    /* steps of the programs scheduled for the sake of single copies */
    int64_t copies;
    /* steps taken in trial: of the program, of each candidate, of each schedule */
    int64_t order, quick_order, slot_order;
    PlanWork search; /* for each form of the steps */
    /* units made while streams are walked: of a schedule, of a curve */
    int64_t walks, curve_walks;
    /* the same, of all schedules with slots that are only compared */
    int64_t slot_walks;
    /* edges looked at in search of a path, and more for each step */
    int64_t paths, paths_of_step;
    /* ranges that may become streams: beyond, streams must be shorter */
    int64_t edges;
    /* nodes of the exact search for offsets; times items */
    int64_t placing, placing_items;
    int64_t pairs, pairs_of_item; /* of items alive together that it lists */
} PlanBudget;

PlanBudget plan_budget(const PlanOptions *opt);
/* Are results sought in the place of what they are made of? A plan of many steps that is not placed
 * as promised would be kept beside another one: too much memory. */
bool plan_shares(const PlanOptions *opt, const Program *program);

#endif
