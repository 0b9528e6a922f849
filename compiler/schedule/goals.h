/* SPDX-License-Identifier: Apache-2.0
 * Which of the steps whose results leave a walk makes its next unit. */
#ifndef INLAY_SCHEDULE_GOALS_H
#define INLAY_SCHEDULE_GOALS_H

#include "schedule/lanes.h"

/* The goal that was taken last, as it was then; units 0: none was. */
typedef struct GoalTurn {
    size_t goal;
    Lane lane;
} GoalTurn;

/* Of the steps whose results leave: the one that has made the smallest part. -1: all are done. */
int goals_next(const Walk *walk, GoalTurn *turn);

#endif
