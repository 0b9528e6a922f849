/* SPDX-License-Identifier: Apache-2.0
 * What walks of ranges of steps came to: trial plans are alike but for a few steps, and most ranges
 * are met again. */
#ifndef INLAY_SCHEDULE_WALKED_H
#define INLAY_SCHEDULE_WALKED_H

#include "schedule/items.h"

#define WALKED_NOT INT64_MIN

/* A range as such: what it takes beyond what is alive at its ends, which may be less than nothing.
 */
typedef struct WalkedRange {
    uint64_t key;
    /* of its smallest stream; WALKED_NOT: none was walked to its end */
    int64_t bytes;
    /* then: it takes more than these; WALKED_NOT: nothing is known */
    int64_t beyond;
} WalkedRange;

/* What is remembered of a range. */
typedef enum WalkedKind {
    WALKED_LEAST,    /* its streams, no pool laid out */
    WALKED_FITTED,   /* its streams, their pools laid out */
    WALKED_CLOSE,    /* its stream forward, with more work */
    WALKED_BACKWARD, /* its stream backward, with more work */
    WALKED_PIXELS,   /* of one step: bytes saved by lying over an input */
    WALKED_ELEMENTS, /* the same where only elements lie over elements */
    WALKED_PEAK,     /* of all steps: the least peak of their schedules */
    /* of one step and an input: bytes saved by lying over it where it dies; -1: it may not */
    WALKED_INPUT,
} WalkedKind;

/* Room in proportion to the steps; what no longer fits is forgotten. */
Walked *walked_new(Arena *arena, size_t steps);
/* The entry of a key, empty if it was not met. */
WalkedRange *walked_find(Walked *walked, uint64_t key);
/* What keys of ranges are made of: of each step and item, all but where they lie in the range. */
typedef struct WalkedKeys {
    uint64_t *step, *item;
    int32_t *number; /* by item: scratch of walked_key() */
} WalkedKeys;
/* pixels: as for stream_walk(). */
WalkedKeys walked_keys(Arena *arena, const Items *all, int32_t pixels);
/* Equal for ranges of which the same is to be remembered, but for about one pair in 2^64. */
uint64_t walked_key(const Items *all, int32_t first, int32_t end,
                    const WalkedKeys *keys, WalkedKind kind);

#endif
