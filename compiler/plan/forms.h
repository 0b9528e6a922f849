/* SPDX-License-Identifier: Apache-2.0
 * The order and the form of the steps: whatever lowers the peak of the schedule. */
#ifndef INLAY_PLAN_FORMS_H
#define INLAY_PLAN_FORMS_H

#include "plan/elide.h"
#include "plan/planner.h"

/* A PeakOf (copies.h) whose context is an Aim: the least peak in the order given or in a quickly
 * found one. */
int64_t forms_peak(Program *program, const void *context, int64_t most);
/* Another order of the steps, where it lowers the peak of the schedule, too. */
void forms_order(Program *program, const Aim *aim);
/* Scales and shifts within the convolution that reads them, unless that needs more. */
void forms_affine(Program *program, const Aim *aim);
/* Forms of the steps with pairs: inside the streams of the schedule so far, and everywhere. Returns
 * how many, 2 at most. */
int forms_pairs(Program *program, const Aim *aim, Steps *form);
/* Whichever of them lowers the peak most. */
void forms_best_pairs(Program *program, const Aim *aim);

#endif
