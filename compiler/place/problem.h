/* SPDX-License-Identifier: Apache-2.0
 * What the stages of place() share. Sizes and offsets are counted in units of
 * the items' common alignment; items that take no memory are left out. */
#ifndef INLAY_PLACE_PROBLEM_H
#define INLAY_PLACE_PROBLEM_H

#include "base/arena.h"
#include "place/item.h"

typedef enum Verdict { FOUND, IMPOSSIBLE, UNDECIDED } Verdict;

/* A forbidden open interval of offset[i] - offset[j]; i < j. */
typedef struct Arc {
    int32_t i, j;
    int64_t lo, hi;
} Arc;

/* What the overrides of an item say of another: the pair's arcs, arc[first] and behind. */
typedef struct Partner {
    int32_t item, first, arcs;
} Partner;

/* Units [low, low + length) of an item that nothing else in its list may touch. */
typedef struct Job {
    int32_t item;
    int64_t low, length;
} Job;

typedef struct Problem {
    int n;
    int64_t unit; /* bytes */
    /* the caller's; the entry of item i is item[from[i]] */
    const PlaceItem *item;
    int32_t *from;
    int64_t *size, *align; /* units */
    int64_t *pin;          /* units; -1: free */
    int32_t *begin, *end;
    bool *special; /* named by an override */
    bool plain;    /* lifetimes and sizes say all: no parts, overrides, pins */
    bool mixed;    /* some alignments exceed the unit */

    bool many;    /* too many pairs to list: arcs are those of overrides only */
    size_t n_arc; /* of all pairs that exclude each other */
    Arc *arc;
    /* the arcs of item i: incident[start[i]] .. incident[start[i + 1] - 1] */
    size_t *start;
    int32_t *incident;
    /* of item i, named by overrides: partner[partners[i]] .. */
    size_t *partners;
    Partner *partner;

    /* lists of jobs that exclude each other, when not plain */
    size_t n_job, n_list;
    Job *job;
    size_t *list; /* list k: job[list[k]] .. job[list[k + 1] - 1] */
} Problem;

static inline const PlaceItem *place_item(const Problem *problem, int i)
{
    return problem->item + problem->from[i];
}

/* The next multiple of align, align > 0. */
static inline int64_t place_up(int64_t y, int64_t align)
{
    if (align == 1)
        return y;
    const int64_t rest = y % align;
    const int64_t below = y - rest;
    return rest > 0 ? below + align : below;
}

static inline uint64_t place_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static const uint64_t PLACE_SEED = 88172645463325252u;

/* problem.c: the caller's items in units, with their arcs; pairs: most that are listed. */
Problem *place_problem(Arena *arena, const PlaceItem *item, int n,
                       const PlaceArc *override, int n_override, size_t pairs);
int64_t place_height(const Problem *problem, const int64_t *offset);

/* arcs.c: fills the pairs that exclude each other; n_item: the caller's number of items. */
void place_arcs(Arena *arena, Problem *problem, const PlaceArc *override,
                int n_override, int n_item, size_t pairs);

/* bound.c: a height below which nothing fits; fills the lists of jobs. */
int64_t place_bound(Arena *arena, Problem *problem);

typedef struct Ranked {
    uint64_t key;
    int32_t item;
} Ranked;

/* order.c: the greatest key comes first, of equal ones the first item; for qsort(). */
int place_by_key(const void *a, const void *b);

/* order.c: first fit in a few orders, then order moves while the height is above `goal`.
 * hint: the caller's offsets or NULL. Returns the height. */
int64_t place_by_order(Arena *arena, const Problem *problem,
                       const int64_t *hint, int64_t goal, uint32_t moves,
                       int64_t *offset);

/* many.c: for problems with too many pairs. From the last step to the first, or from the
 * first on; the height. */
int64_t place_many(Arena *arena, const Problem *problem, bool backward,
                   int64_t *offset);
/* Do pinned items exclude each other there? */
bool place_pins_meet(Arena *arena, const Problem *problem);

/* The two exact searches: is there a placement within `capacity` units? IMPOSSIBLE is a proof,
 * UNDECIDED says that the budget is spent. Offsets are written when found; *spent grows by what was
 * used, at least 1. */
typedef struct Skyline Skyline;
Skyline *place_skyline_new(Arena *arena, const Problem *problem,
                           uint64_t budget);
Verdict place_exact(Skyline *skyline, int64_t capacity, bool wide,
                    uint64_t budget, int64_t *offset, uint64_t *spent);

/* squeaky.c: for plain problems whose alignments are all the same. A placement lower than `height`,
 * as low as `work` (looks at items and sections, about) buys, or one within `goal`; returns its
 * height, or `height`: none was found, and offsets stay. Calls go on where the last one ended. */
typedef struct Squeaky Squeaky;
Squeaky *place_squeaky_new(Arena *arena, const Problem *problem);
int64_t place_squeaky(Squeaky *squeaky, int64_t height, int64_t goal,
                      uint64_t work, int64_t *offset);

typedef struct PairSearch PairSearch;
PairSearch *place_pairs_new(Arena *arena, const Problem *problem);
Verdict place_pairs(PairSearch *search, int64_t capacity, uint64_t budget,
                    int64_t *offset, uint64_t *spent);

#endif
