/* SPDX-License-Identifier: Apache-2.0
 * What is placed: sizes, lifetimes and forbidden distances. */
#ifndef INLAY_PLACE_ITEM_H
#define INLAY_PLACE_ITEM_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes [offset, offset + size) of an item, taken in steps [begin, end). */
typedef struct PlacePart {
    int64_t offset, size;
    int32_t begin, end;
} PlacePart;

typedef struct PlaceItem {
    int64_t size;  /* extent in bytes; every part lies in it */
    int64_t align; /* the offset is a multiple of it; 0 and 1: any offset */
    int32_t begin,
        end; /* alive in steps [begin, end); left out when there are parts */
    int32_t parts; /* 0: all bytes are taken for the whole lifetime */
    /* borrowed: parts keep their distances (results of a concat, windows, gaps) */
    const PlacePart *part;
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

#endif
