/* SPDX-License-Identifier: Apache-2.0
 * Layouts of pools that were found before: attempts are alike but for a few steps, and most pools
 * are met again. */
#ifndef INLAY_SCHEDULE_FIT_KNOWN_H
#define INLAY_SCHEDULE_FIT_KNOWN_H

#include "schedule/options.h"
#include "schedule/pool.h"

/* steps: of a program, its candidates have about as many. */
FitsKnown *fits_known_new(Arena *arena, size_t steps);
/* deal_fit(), or what it found for equal rows, but for about one pair of pools in 2^64. known:
 * NULL: nothing is remembered. */
int64_t deal_fit_known(FitsKnown *known, const Deal *deal, const DealAim *aim);

#endif
