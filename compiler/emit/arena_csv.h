/* SPDX-License-Identifier: Apache-2.0
 * The blocks of the arena in MiniMalloc's form, for other planners and viewers. */
#ifndef INLAY_EMIT_ARENA_CSV_H
#define INLAY_EMIT_ARENA_CSV_H

#include "emit/text.h"
#include "ir/program.h"

/* id,lower,upper,size,offset: a line per block in order of birth; alive in steps [lower, upper),
 * bytes. Blocks that the plan laid over each other on purpose (in place, diagonal overlap) overlap
 * here, too. */
Text arena_csv(const Program *program);

#endif
