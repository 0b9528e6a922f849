/* SPDX-License-Identifier: Apache-2.0
 * A plan in the making, handed from stage to stage: items and schedule, then offsets, then the
 * program's Plan. */
#ifndef INLAY_PLAN_PLANNER_H
#define INLAY_PLAN_PLANNER_H

#include "plan/items.h"
#include "plan/overlap.h"
#include "plan/place.h"
#include "plan/segment.h"

/* What all trial plans of a program have in common. */
typedef struct Aim {
    const PlanOptions *opt;
    PlanLevel level;
    Walked *walked; /* NULL: each starts afresh */
    bool join;      /* see ScheduleOptions */
} Aim;

typedef struct Planner {
    Arena *arena;
    Program *program;
    const PlanOptions *opt;
    PlanLevel level;
    bool peak_only; /* of the schedule, see ScheduleOptions */
    int64_t most;
    bool tight, join; /* see ScheduleOptions */
    Items all;
    Schedule schedule;
    int32_t *slot_of;    /* of a step */
    VEC(PlaceItem) item; /* items, then perhaps the row counters */
    int64_t place_bytes; /* in front of them */
    VEC(PlaceArc) arc;
    VEC(Overlap) overlap; /* by rows, of steps run layer by layer */
    int64_t *in_slot;     /* bytes alive in a slot, nothing overlapping */
    PlaceResult found;    /* once placed */
} Planner;

/* Items and schedule of the steps as they are: enough to compare. */
Planner planner_prepare(Program *program, const Aim *aim);
/* The same with another schedule: fewest bytes everywhere. */
Planner planner_prepare_tight(Program *program, const Aim *aim);
/* The least peak of the steps as they are; any number beyond `most` where it is beyond (0: wherever
 * it is). */
int64_t planner_peak(Program *program, const Aim *aim, int64_t most);

/* The pairs of a stream pass few pixels at a time through the scratch that they share. Narrow: as
 * few as they can. */
void planner_narrow(Program *program);
/* As many as the largest scratch holds, and what is free below the peak. False: they are as they
 * were. */
bool planner_widen(Planner *planner);

/* Rows that are handed in come one by one, in a stream or not. */
bool planner_by_list(const Planner *planner, const Slot *slot);
/* The offsets of the items, and what the plan says of them (offsets.c); found once, written each
 * time. */
void planner_place(Planner *planner);
/* Directions, rings, segments and blocks, from schedule and offsets (result.c). */
void planner_write(Planner *planner);

#endif
