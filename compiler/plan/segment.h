/* SPDX-License-Identifier: Apache-2.0
 * The schedule: which steps run layer by layer and which in streams. */
#ifndef INLAY_PLAN_SEGMENT_H
#define INLAY_PLAN_SEGMENT_H

#include "plan/strip.h"
#include "plan/walked.h"

/* A range of steps that share one slot of time: a single step, or a stream; or a range that is to
 * become several streams. */
typedef struct Slot {
    int32_t first, end;
    Stream *stream; /* NULL: layer by layer, or in strips */
    Cut cut;        /* n > 0: to be made in so many strips of item `result` */
    int32_t result;
    int64_t bytes; /* alive in it, by the count of Schedule.peak */
} Slot;

typedef struct Schedule {
    VEC(Slot) slot;
    int64_t peak; /* most bytes alive in a slot, by this count */
    int64_t work; /* MACs that strips compute again */
    int64_t cost; /* work that streaming adds, estimated */
    bool joined;  /* see ScheduleOptions.join: some do */
} Schedule;

typedef struct ScheduleOptions {
    bool stream, overlap;
    bool strips;    /* ranges may be computed in strips; schedule_under() only */
    int64_t enough; /* no need to go below so many bytes; 0: as low as it goes */
    bool tight; /* schedule_find(): under the least peak the fewest bytes everywhere, instead of the
                   least cost */
    int64_t budget; /* unit visits of all walks */
    bool peak_only; /* schedule_find(): of the result only the peak is asked for */
    int64_t most;   /* then: any peak beyond it is as good as another; 0: none */
    Walked *walked; /* what is known from other schedules; NULL: nothing */
    int32_t pixels; /* that streams make in a call at least, where their rows are shorter */
    bool join;      /* schedule_find(): and as many as they can where the peak stays as it is */
} ScheduleOptions;

/* The least peak, then the cheapest schedule under that (or under what is enough). */
Schedule schedule_find(Arena *arena, const Items *all, const ScheduleOptions *opt);

/* The same choice under one limit after the other: fewest MACs, then least cost; false: no schedule
 * holds it. */
typedef struct Finder Finder;
Finder *schedule_open(Arena *arena, const Items *all, const ScheduleOptions *opt);
bool schedule_under(Finder *finder, int64_t limit, Schedule *out);

#endif
