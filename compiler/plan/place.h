/* SPDX-License-Identifier: Apache-2.0
 * Offsets in one arena for items with known lifetimes: the last stage of the
 * memory plan. Knows sizes, lifetimes and forbidden distances, and nothing of
 * tensors. Integers only, no clock, ties by index: the same items get the same
 * offsets everywhere. */
#ifndef INLAY_PLAN_PLACE_H
#define INLAY_PLAN_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

/* Bytes [offset, offset + size) of an item, taken in steps [begin, end). */
typedef struct PlacePart {
    int64_t offset, size;
    int32_t begin, end;
} PlacePart;

typedef struct PlaceItem {
    int64_t size;       /* extent in bytes; every part lies in it */
    int64_t align;      /* the offset is a multiple of it; 0 and 1: any offset */
    int32_t begin, end; /* alive in steps [begin, end); left out when there are parts */
    int32_t parts;      /* 0: all bytes are taken for the whole lifetime */
    const PlacePart
        *part;   /* borrowed: parts keep their distances (results of a concat, windows, gaps) */
    bool pinned; /* the offset is given: `pin`, whatever the alignment */
    int64_t pin;
} PlaceItem;

/* Items alive in the same step are disjoint, part by part, unless their pair is named here: then
 * offset[i] - offset[j] must not lie in the open interval (lo, hi), for each arc of the pair, and
 * that is all that keeps them apart. An empty interval forbids nothing, so PLACE_SHARE lets two
 * items overlap freely. of_i, of_j narrow what is replaced to one pair of parts (1: the first part;
 * 0: all); the distance is always that of the items' offsets. */
typedef struct PlaceArc {
    int32_t i, j;
    int64_t lo, hi;
    int32_t of_i, of_j;
} PlaceArc;

#define PLACE_SHARE(i, j) ((PlaceArc){ (i), (j), 0, 0, 0, 0 })

/* Zero or NULL is the default everywhere. */
typedef struct PlaceOptions {
    int64_t
        capacity; /* stop at the first placement within so many bytes; 0: seek the least height */
    const int64_t *hint; /* offsets whose order is tried first */
    uint64_t effort;     /* budget of the exact search, about nodes; default PLACE_EFFORT */
    uint32_t moves; /* most order moves; default PLACE_MOVES, an eighth of it in plain problems */
    int32_t exact_items; /* more items than this: no exact search; default PLACE_EXACT_ITEMS */
    size_t pairs; /* more pairs of items alive together than this are not listed, and placed one
                     item after the other; default PLACE_PAIRS */
} PlaceOptions;

enum {
    PLACE_EFFORT = 50000,
    PLACE_MOVES = 2000,
    PLACE_EXACT_ITEMS = 2000,
    PLACE_PAIRS = 1 << 21,
};

/* Heights count whole units of the items' common alignment. */
typedef struct PlaceResult {
    int64_t height;      /* end of the highest item */
    int64_t lower_bound; /* proved: no placement is lower */
    bool optimal;        /* height == lower_bound; else open */
    int64_t *offset;     /* one per item, arena; NULL: pinned items exclude each other */
    uint64_t nodes;      /* spent by the exact search */
} PlaceResult;

/* Items of size 0 and items never alive take no memory and lie at 0, or at their pin.
 * `opt` may be NULL. Sizes whose sum leaves 55 bits end in fail_overflow(). */
PlaceResult place(Arena *arena, const PlaceItem *item, int n, const PlaceArc *override,
                  int n_override, const PlaceOptions *opt);

/* Do the offsets keep every rule and stay within `height`? Plain quadratic check, apart from the
 * search. */
bool place_holds(const PlaceItem *item, int n, const PlaceArc *override, int n_override,
                 const int64_t *offset, int64_t height);

#endif
