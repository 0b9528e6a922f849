/* SPDX-License-Identifier: Apache-2.0
 * Steps run row by row: a demand-driven walk of a range of steps gives the order
 * of the units, the rows each inner tensor must keep, and how far results may
 * lie over an input that dies. */
#ifndef INLAY_SCHEDULE_STREAM_H
#define INLAY_SCHEDULE_STREAM_H

#include "schedule/items.h"
#include "schedule/overlap.h"

enum {
    STREAM_STEPS = 48, /* most steps in a stream */
    STREAM_PIXELS =
        4, /* less in a call would take twice the time, for a fifth of the arena */
};

/* How much work goes into a pool. */
typedef enum DealEffort {
    DEAL_NONE, /* no layout goes below these bytes: where they suffice is not known */
    DEAL_QUICK, /* for streams that are compared: there are many */
    DEAL_CLOSE, /* for one that is taken */
} DealEffort;

/* What a pool is to come to: at most `most` bytes for its stream, and there is no need to go below
 * `enough`. */
typedef struct DealAim {
    DealEffort effort;
    int64_t most, enough;
    FitsKnown
        *fits; /* layouts that were found before; NULL: none are remembered */
} DealAim;

typedef struct Ring {
    int32_t item, rows;
    /* an item in whose rows those of this one lie, of which they are made element by element; -1 */
    int32_t host;
    /* where its rows lie in the pool of the stream (deal.h); NULL: one after the other */
    const RowSlots *slots;
    /* some lie over rows that they are made of: the kernel's tiles may not grow */
    bool over;
} Ring;

typedef struct Stream {
    int32_t first, end; /* steps */
    bool backward;
    uint8_t *order; /* a step, relative to first, for each unit made */
    int32_t calls;
    VEC(Ring) ring; /* tensors that live inside only */
    /* items: a dying input, and the result that may lie over it; -1: none */
    int32_t under, over;
    /* under - over >= distance, walked forward; over - under >= distance, backward */
    int64_t distance;
    int64_t bytes; /* rings, the largest scratch, and row counters */
    /* the same, where no layout of its pool takes less (deal.h) */
    int64_t least;
    int64_t scratch; /* the largest scratch of a step */
    /* an item that it makes, `lead` bytes behind whose begin the pool of its rings begins, where
     * its last rows come to lie; -1: none */
    int32_t tail;
    int64_t lead;
    /* the walk stopped: bytes, less what lying over the input can save, would be more than
     * `most` */
    bool beyond;
    int64_t visits; /* of units, by its walk */
    /* the same steps in the other direction; NULL: not known */
    struct Stream *other;
} Stream;

/* Can the step be made unit by unit? */
bool stream_takes(const Items *all, int32_t step);
/* Does some step of the range forbid to go from the last row to the first? */
bool stream_ascends(const Items *all, int32_t first, int32_t end);
/* Units of a step that come one after the other, to be of `pixels` pixels in all; up to
 * STREAM_PIXELS rows of one pixel only. */
int32_t stream_burst(const Step *step, int32_t pixels);
/* The most bytes that a stream may take when its result lies over its input, and how many times as
 * much its rings may take: a pool of their rows takes less. */
typedef struct StreamMost {
    int64_t bytes;
    int32_t times;
} StreamMost;

/* Walks steps [first, end), all of which stream_takes(). Stops, returning false, beyond *budget
 * unit visits, which it counts down, when the units cannot be ordered or two steps write the same,
 * or beyond `most`.
 * Steps of short rows make so many units one after the other, which the runtime joins to one call,
 * that they come to `pixels`. */
bool stream_walk(Arena *arena, const Items *all, int32_t first, int32_t end,
                 bool backward, int32_t pixels, StreamMost most,
                 int64_t *budget, Stream *out);

/* mirror.c: does the range, all of which may go backward, make the same calls from the last row on?
 */
bool stream_mirrors(const Items *all, int32_t first, int32_t end);
/* Then: what such a walk comes to, given one that went forward, no pool laid out. */
Stream stream_mirror(Arena *arena, const Items *all, const Stream *forward);

/* The distance of the stream's result to the input that it may lie over; it has one. */
Overlap stream_overlap(const Stream *stream);
/* The order as a prologue, repeats of a period and an epilogue, in its shortest form. */
Segment stream_list(Arena *arena, const Stream *stream);

#endif
