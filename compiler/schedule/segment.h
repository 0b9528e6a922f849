/* SPDX-License-Identifier: Apache-2.0
 * The schedule: which steps run layer by layer and which in streams. */
#ifndef INLAY_SCHEDULE_SEGMENT_H
#define INLAY_SCHEDULE_SEGMENT_H

#include "schedule/strip.h"
#include "schedule/walked.h"

/* A range of steps that share one slot of time: a single step, or a stream; or a range that is to
 * become several streams. */
typedef struct Slot {
    int32_t first, end;
    Stream *stream;   /* NULL: layer by layer, or in strips */
    Stream *unjoined; /* the same before calls were joined (PlanOptions.join) */
    Cut cut;          /* n > 0: to be made in so many strips */
    int64_t bytes;    /* alive in it, by the count of Schedule.peak */
} Slot;

typedef struct Schedule {
    VEC(Slot) slot;
    int64_t peak; /* most bytes alive in a slot, by this count */
    int64_t work; /* MACs that strips compute again */
    int64_t cost; /* work that streaming adds, estimated */
    bool joined;  /* see PlanOptions.join: some do */
} Schedule;

/* The least peak, then the cheapest schedule under that (or under opt->arena_limit). */
Schedule schedule_find(Arena *arena, const Items *all, const PlanOptions *opt);
/* The least peak alone; any number beyond `most` where it is beyond (0: wherever it is). */
int64_t schedule_peak(Arena *arena, const Items *all, const PlanOptions *opt,
                      int64_t most);

/* The same choice under one limit after the other: fewest MACs, then least cost; false: no schedule
 * holds it. */
typedef struct Finder Finder;
Finder *schedule_open(Arena *arena, const Items *all, const PlanOptions *opt);
bool schedule_under(Finder *finder, int64_t limit, Schedule *out);

#endif
