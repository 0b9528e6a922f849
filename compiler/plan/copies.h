/* SPDX-License-Identifier: Apache-2.0
 * Which copies are not made: several ways are tried, and the one with the lowest peak stays. */
#ifndef INLAY_PLAN_COPIES_H
#define INLAY_PLAN_COPIES_H

#include "ir/program.h"

/* Most bytes alive in a good schedule of the program's steps as they are. */
/* The peak of the steps as they are; any number beyond `most` where it is beyond. */
typedef int64_t PeakOf(Program *p, const void *context, int64_t most);

/* Replaces the program's steps by those of the best way; of several with the same peak, by those
 * with the fewest copies. */
void copies_choose(Program *program, PeakOf *peak, const void *context);

#endif
