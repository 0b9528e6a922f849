/* SPDX-License-Identifier: Apache-2.0
 * A plan as a value. Stages make trials of a program's steps, or of other steps that do the same,
 * compare them and return one; nothing is written into steps and tensors before trial_apply(). */
#ifndef INLAY_PLAN_TRIAL_H
#define INLAY_PLAN_TRIAL_H

#include "place/place.h"
#include "schedule/items.h"
#include "schedule/overlap.h"
#include "schedule/segment.h"

typedef struct Trial {
    Arena *arena;
    /* its steps and weights are the trial's; its plan is not */
    const Program *program;
    PlanOptions opt;
    Items all;
    Schedule schedule;
    int32_t *slot_of; /* of a step */

    /* Once placed. */
    VEC(PlaceItem) item; /* items, then perhaps the row counters */
    int64_t place_bytes; /* in front of them */
    VEC(PlaceArc) arc;
    VEC(Overlap) overlap; /* by rows, of steps run layer by layer */
    int64_t *in_slot;     /* bytes alive in a slot, nothing overlapping */
    int64_t *offset;      /* of items and row counters */
    int32_t *region;      /* of items and row counters; NULL: one arena */
    /* sizes, bound and regions; segments and blocks are made when it is applied */
    Plan plan;
} Trial;

/* The plan as a value, in the program's scratch memory: nothing of the program changes (plan.c). */
Trial plan_find(const Program *program, const PlanOptions *opt);

/* Items and schedule of the program's steps: enough to compare. The program outlives the trial. */
Trial trial_new(const Program *program, const PlanOptions *opt);
/* Takes the calls of its streams apart that were joined; before it is placed. */
void trial_unjoin(Trial *trial);
/* The least peak of the program's steps; where that is not below `below`, any number that is not
 * (0: there is no such bound). */
int64_t trial_peak(const Program *program, const PlanOptions *opt,
                   int64_t below);
/* The pairs pass as few pixels at a time through their scratch as they can: the program itself,
 * where they do so already. */
const Program *trial_narrow(const Program *program);
/* The same schedule, the pairs in its streams passing as many pixels at a time as the largest
 * scratch holds, and what is free below the peak. False: they do so already. */
bool trial_widen(const Trial *trial, Trial *wide);

/* Rows that are handed in come one by one, in a stream or not. */
bool trial_by_list(const Trial *trial, const Slot *slot);
/* The offsets of the items, and what the plan says of them (offsets.c). capacity: beyond so many
 * bytes no arena is of use, and the search ends early; 0: the least that is found. */
void trial_place(Trial *trial, int64_t capacity);
/* Makes the trial's steps those of the program: directions, rings, offsets, segments and blocks
 * (apply.c). */
void trial_apply(const Trial *trial, Program *program);

#endif
