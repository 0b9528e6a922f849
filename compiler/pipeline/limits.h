/* SPDX-License-Identifier: Apache-2.0
 * What a compile may not exceed: limits of Inlay's own, and those that the user set. */
#ifndef INLAY_PIPELINE_LIMITS_H
#define INLAY_PIPELINE_LIMITS_H

#include "pipeline/state.h"

/* Before a plan is sought: there are not too many rows, and no tensor is larger than an arena. */
void limit_steps(const Program *program);
/* Once the weights are laid out: files give rise to constants only within reason. */
void limit_weights(const Compile *compile);
/* Of a plan: --arena-limit, and what an arena can have at most. */
void limit_arena(Compile *compile);

/* A size with the limit that the user set. */
typedef struct SizeLimit {
    const char *what;
    uint64_t bytes;
    bool unknown;          /* bytes is none: no limit holds */
    const long long *most; /* NULL: none was set */
} SizeLimit;

enum { SIZE_LIMITS = 4 };

/* --max-arena, --max-weights, --max-ram and --max-stack. */
void size_limits(const Compile *compile, SizeLimit limits[SIZE_LIMITS]);
bool size_holds(const SizeLimit *limit);
/* A stage. Fails with 1 where one does not hold, once all of those are named. */
void limit_sizes(Compile *compile);

#endif
