/* SPDX-License-Identifier: Apache-2.0
 * Offsets in one arena for items with known lifetimes: the last stage of the
 * memory plan. Knows sizes, lifetimes and forbidden distances, and nothing of
 * tensors. Integers only, no clock, ties by index: the same items get the same
 * offsets everywhere. */
#ifndef INLAY_PLACE_PLACE_H
#define INLAY_PLACE_PLACE_H

#include "base/arena.h"
#include "place/item.h"

/* Zero or NULL is the default everywhere. */
typedef struct PlaceOptions {
    /* stop at the first placement within so many bytes; 0: seek the least height */
    int64_t capacity;
    const int64_t *hint; /* offsets whose order is tried first */
    /* budget of the exact search, about nodes; default PLACE_EFFORT */
    uint64_t effort;
    /* most order moves; default PLACE_MOVES, an eighth of it in plain problems */
    uint32_t moves;
    /* more items than this: no exact search; default PLACE_EXACT_ITEMS */
    int32_t exact_items;
    /* more pairs of items alive together than this are not listed, and placed one item after the
     * other; default PLACE_PAIRS */
    size_t pairs;
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
    /* one per item, arena; NULL: pinned items exclude each other */
    int64_t *offset;
    uint64_t nodes; /* spent by the exact search */
} PlaceResult;

/* Items of size 0 and items never alive take no memory and lie at 0, or at their pin.
 * `opt` may be NULL. Sizes whose sum leaves 55 bits end in fail_overflow(). */
PlaceResult place(Arena *arena, const PlaceItem *item, int n,
                  const PlaceArc *override, int n_override,
                  const PlaceOptions *opt);

/* Do the offsets keep every rule and stay within `height`? Plain quadratic check, apart from the
 * search. */
bool place_holds(const PlaceItem *item, int n, const PlaceArc *override,
                 int n_override, const int64_t *offset, int64_t height);

#endif
