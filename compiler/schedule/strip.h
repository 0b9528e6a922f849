/* SPDX-License-Identifier: Apache-2.0
 * Recomputation: a range of steps runs several times, each time for some columns of its result.
 * What lies within is then a strip, a few columns wide; columns that two strips need (their halo)
 * are computed twice. Every element is made by the same sums as in the whole image, so results have
 * the same bits. */
#ifndef INLAY_SCHEDULE_STRIP_H
#define INLAY_SCHEDULE_STRIP_H

#include "rules/rules.h"
#include "schedule/stream.h"

/* Steps [first, end), which make one item for others, `result`, of so many columns. */
typedef struct StripRange {
    int32_t first, end;
    int32_t result, width;
} StripRange;

/* n strips: `first` columns, then `each`, the last takes what is left. Equally wide ones have the
 * same parameters; those at the edges have a neighbour, and thus a halo, on one side only. */
typedef struct Cut {
    int32_t n, each, first;
    bool wide; /* one with narrower edges comes next */
} Cut;

/* What the strips of a cut take, rows in rings as those of the whole. */
typedef struct StripPrice {
    int64_t bytes; /* of the widest */
    int64_t macs;  /* of all */
} StripPrice;

/* Finds the columns of a range's tensors, for any strip of its result. */
typedef struct Strips {
    const Items *all;
    bool *parted;     /* by item: some operand is a part of its pixels */
    ColumnRule *rule; /* by step */
    Columns *of_item, *of_step; /* what a strip has of them */
} Strips;

/* What a strip of the result takes of an operand. */
typedef enum StripTakes {
    TAKES_ALL,   /* all of it, or the operand has no columns */
    TAKES_SAME,  /* the result's columns, from the first of them on */
    TAKES_FOUND, /* those that the kernel finds */
} StripTakes;

static inline int32_t columns_width(Columns columns)
{
    return columns.hi - columns.lo;
}

/* Does the item live in the range only? */
static inline bool strip_within(const StripRange *range, const Item *item)
{
    return item->first >= range->first && item->end <= range->end &&
           !item->outside;
}

Strips strips_new(Arena *arena, const Items *all);
/* Operand k of a step, which has a tensor and is not scratch. */
StripTakes strip_relation(const Strips *strips, int32_t step, int k);
/* Can the step be made for some columns of its result? */
bool strip_takes(const Strips *strips, int32_t step);
/* Finds the result of steps [first, end): made in full rows, by one step. False: there is none, the
 * range cannot be cut. */
bool strip_range(const Strips *strips, int32_t first, int32_t end,
                 StripRange *range);
/* Columns of strip k. */
Columns strip_columns(const StripRange *range, Cut cut, int32_t k);
/* For columns y of the result: sets of_step (of results) and of_item (of what lies within); false:
 * something is not needed at all. */
bool strip_find(Strips *strips, const StripRange *range, Columns y);
/* The next cut worth trying, narrower strips later; begins with { 0 }. False: there is none. The
 * stream `whole` is the range in full rows. */
bool strip_next(Strips *strips, const StripRange *range, const Stream *whole,
                Cut *cut);
/* False: the strips of the cut cannot be. */
bool strip_price(Strips *strips, const StripRange *range, const Stream *whole,
                 Cut cut, StripPrice *price);

/* MACs of a step for columns y of its result. */
int64_t strip_macs(const Step *step, Columns y);

/* strip_steps.c: the steps of the range for columns y of the result, strip number `number` of the
 * program, appended to `out`; new tensors and steps live in `arena`. */
void strip_steps(Strips *strips, Arena *arena, const Program *program,
                 const StripRange *range, Columns y, int32_t number,
                 Steps *out);

#endif
