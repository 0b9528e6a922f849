/* SPDX-License-Identifier: Apache-2.0
 * The same program in other orders and other forms: whatever lowers the peak of the schedule. Each
 * takes a program and returns one; the given one is not changed. */
#ifndef INLAY_PLAN_CANDIDATES_H
#define INLAY_PLAN_CANDIDATES_H

#include "schedule/options.h"
#include "schedule/order_listing.h"

/* A PeakOf (copies.h) whose context is a PlanOptions: the least peak in the order given or in a
 * quickly found one. */
int64_t candidate_peak(const Program *program, const void *context,
                       int64_t below);
/* In an order that the steps alone determine; they do not jump. */
Program candidate_listing(const Program *program, const PlanOptions *opt,
                          Listing listing);
/* Another order of the steps, where it lowers the peak of the schedule, too. */
Program candidate_order(const Program *program, const PlanOptions *opt);
/* Scales and shifts within the convolution that reads them, unless that needs more. */
Program candidate_affine(const Program *program, const PlanOptions *opt);
/* With pairs: inside the streams of the schedule so far, and everywhere. Returns how many programs,
 * 2 at most. */
int candidate_pairs(const Program *program, const PlanOptions *opt,
                    Program *with);
/* Whichever of them lowers the peak most. */
Program candidate_best_pairs(const Program *program, const PlanOptions *opt);

#endif
