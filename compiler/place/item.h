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
    /* alive in steps [begin, end); left out when there are parts */
    int32_t begin, end;
    int32_t parts; /* 0: all bytes are taken for the whole lifetime */
    /* borrowed: parts keep their distances (results of a concat, windows, gaps) */
    const PlacePart *part;
    bool pinned; /* the offset is given: `pin`, whatever the alignment */
    int64_t pin;
} PlaceItem;

/* Its parts, or all of it as the only one. */
static inline int place_parts(const PlaceItem *item)
{
    return item->parts ? item->parts : 1;
}

static inline PlacePart place_part(const PlaceItem *item, int k)
{
    if (item->parts)
        return item->part[k];
    return (PlacePart){ 0, item->size, item->begin, item->end };
}

static inline bool place_part_lives(const PlacePart *part)
{
    return part->size > 0 && part->begin < part->end;
}

static inline bool place_parts_meet(const PlacePart *part,
                                    const PlacePart *other)
{
    return place_part_lives(part) && place_part_lives(other) &&
           part->begin < other->end && other->begin < part->end;
}

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
