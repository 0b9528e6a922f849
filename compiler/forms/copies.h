/* SPDX-License-Identifier: Apache-2.0
 * Which copies are not made: several ways are tried, and the one with the lowest peak stays. */
#ifndef INLAY_FORMS_COPIES_H
#define INLAY_FORMS_COPIES_H

#include "ir/program.h"

/* The peak of a program's steps as they are; where that is not below `below`, any number
 * that is not. */
typedef int64_t PeakOf(const Program *program, const void *context,
                       int64_t below);

/* The program with the steps of the best way; of several with the same peak, with the fewest
 * copies. work: steps of the programs that are tried for the sake of single copies. */
Program copies_choose(const Program *program, PeakOf *peak, const void *context,
                      int64_t work);

/* The program with all copies treated alike, in one of so many ways; false: there is nothing to
 * choose, or an earlier way is the same. Its steps are the arena's. */
enum { COPIES_WAYS = 6 };
bool copies_all(Arena *arena, const Program *program, int way, Program *out);

#endif
