/* SPDX-License-Identifier: Apache-2.0
 * What repeats itself in a walk is listed instead of walked (repeat.c). */
#ifndef INLAY_SCHEDULE_REPEAT_H
#define INLAY_SCHEDULE_REPEAT_H

#include "schedule/lanes.h"

/* A place of the walk at which no unit was missing, to compare later ones with. */
typedef struct Repeat {
    int32_t *made; /* of each lane */
    int32_t calls;
    int64_t budget;      /* unit visits that were left */
    int32_t goals, most; /* goals since; at so many another place is taken */
    /* of each cell: rows by which its end moved on, where it moves */
    int32_t *shift;
    bool *moves; /* some step still makes rows of it */
    bool off;
} Repeat;

Repeat repeat_new(const Walk *walk);
/* Before each goal: the walk goes on behind what comes again, its budget less what that would have
 * taken. */
void repeat_goal(Repeat *repeat, Walk *walk, int64_t *budget);

#endif
