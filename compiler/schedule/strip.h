/* SPDX-License-Identifier: Apache-2.0
 * Recomputation: a range of steps runs several times, each time for some columns of its result.
 * What lies within is then a strip, a few columns wide; columns that two strips need (their halo)
 * are computed twice. Every element is made by the same sums as in the whole image, so results have
 * the same bits. */
#ifndef INLAY_SCHEDULE_STRIP_H
#define INLAY_SCHEDULE_STRIP_H

#include "rules/rules.h"
#include "schedule/stream.h"

/* n strips: `first` columns, then `each`, the last takes what is left. Equally wide ones have the
 * same parameters; those at the edges have a neighbour, and thus a halo, on one side only. */
typedef struct Cut {
    int32_t n, each, first;
    bool wide; /* one with narrower edges comes next */
} Cut;

/* Finds the columns of a range's tensors, for any strip of its result. */
typedef struct Strips {
    const Items *all;
    bool *parted;     /* by item: some operand is a part of its pixels */
    ColumnRule *rule; /* by step */
    Columns *of_item, *of_step; /* what a strip has of them */
} Strips;

Strips strips_new(Arena *arena, const Items *all);
/* Can the step be made for some columns of its result? */
bool strip_takes(const Strips *strips, int32_t step);
/* The one item that steps [first, end) make for others, in full rows, by one step; -1: the range
 * cannot be cut. *columns: how wide. */
int32_t strip_result(const Strips *strips, int32_t first, int32_t end,
                     int32_t *columns);
/* Columns of strip k. */
Columns strip_columns(int32_t width, Cut cut, int32_t k);
/* For columns y of the result: sets of_step (of results) and of_item (of what lies within); false:
 * something is not needed at all. */
bool strip_find(Strips *strips, int32_t first, int32_t end, int32_t result,
                Columns y);
/* The next cut worth trying, narrower strips later; begins with { 0 }. False: there is none. */
bool strip_next(Strips *strips, const Stream *whole, int32_t result, Cut *cut);
/* What the strips of a cut take, rows in rings as `whole` has them: *bytes of the widest, *macs of
 * all; false: they cannot be. */
bool strip_price(Strips *strips, const Stream *whole, int32_t result, Cut cut,
                 int64_t *bytes, int64_t *macs);

/* Steps [first, end) for columns y of the result, strip number `number` of the program, appended to
 * `out`; new tensors and steps live in `a`. */
void strip_steps(Strips *strips, Arena *arena, const Program *program,
                 int32_t first, int32_t end, int32_t result, Columns y,
                 int32_t number, Steps *out);

#endif
