/* SPDX-License-Identifier: Apache-2.0
 * The schedule: which steps run layer by layer and which in streams. */
#ifndef INLAY_PLAN_SEGMENT_H
#define INLAY_PLAN_SEGMENT_H

#include "plan/stream.h"

/* A range of steps that share one slot of time: a single step, or a stream. */
typedef struct Slot {
    int32_t first, end;
    Stream *stream;             /* NULL: layer by layer */
} Slot;

typedef struct Schedule {
    VEC(Slot) slot;
    int64_t peak;               /* most bytes alive in a slot, by this count */
    int64_t cost;               /* work that streaming adds, estimated */
} Schedule;

typedef struct ScheduleOptions {
    bool stream, overlap;
    int64_t enough;             /* no need to go below so many bytes; 0: as low as it goes */
    int64_t budget;             /* unit visits of all walks */
} ScheduleOptions;

Schedule schedule_find(Arena *a, const Items *all, const ScheduleOptions *opt);

#endif
