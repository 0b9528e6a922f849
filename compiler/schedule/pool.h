/* SPDX-License-Identifier: Apache-2.0
 * The rows of rings that share a pool, as deal.c lists them, over.c finds which may lie over which,
 * and fit.c lays them out: rectangles, calls of the stream one way, bytes of the pool the other. */
#ifndef INLAY_SCHEDULE_POOL_H
#define INLAY_SCHEDULE_POOL_H

#include "schedule/stream.h"

/* A row of a ring, alive from the call that makes it first to the last one that needs it. */
typedef struct Row {
    int32_t first,
        last; /* places in the stream's order; last < 0: it is not made */
    int64_t bytes, at;
    /* The row that is made in the last call that needs this one, and may lie over it; -1: none.
     * Going forward it begins `apart` bytes before this one at the latest, going backward `apart`
     * bytes behind it at the earliest; or, where `equal`, with it. */
    int32_t over;
    int32_t under; /* one of those that this one may lie over; -1: none */
    bool equal;
    int64_t apart;
} Row;

/* A touch of rows that are dealt. */
typedef struct Seen {
    const Touch *touch;
    Row *row;   /* row 0 of its item */
    bool alike; /* unit u touches row u */
} Seen;

typedef struct Deal {
    Arena *arena;
    const Items *all;
    const Stream *stream;
    /* by item of the stream's touches, from `least` on; -1: it stays a ring */
    int32_t *ring_of;
    int32_t least; /* number of an item */
    int32_t *base; /* by ring: its first row in `row`; -1: it stays a ring */
    Row *row;
    int32_t rows;
    /* by step of the stream: its touches of such rows are seen[seen_of[k]] and behind */
    Seen *seen;
    int32_t *seen_of;
    int32_t *call,
        *end; /* by place in the order: where its call begins, its last place */
    int64_t rings;       /* bytes that those take which are dealt */
    int64_t unit, alive; /* bytes alive at once */
    /* what the stream makes for others, whose last rows may lie in the pool's first bytes; NULL:
     * nothing */
    const Touch *result;
    int32_t tail; /* so many of them, in `row` behind the others */
} Deal;

/* The rows that a unit touches. */
static inline Rows seen_rows(const Deal *deal, const Seen *seen, int32_t unit)
{
    if (seen->alike)
        return (Rows){ unit, unit + 1 };
    return touch_rows(deal->all, seen->touch, unit);
}

/* tail.c: finds the result. */
void deal_find_result(Deal *deal);
/* How many of its rows pay, given the bytes alive in each call of all other rows: lists them, and
 * counts them in. */
void deal_find_tail(Deal *deal, const int64_t *alive);
/* Bytes of the result before the pool begins. */
int64_t deal_lead(const Deal *deal);
/* Bytes of the pool that lie over the end of the result; 0: none do. */
int64_t deal_shared(const Deal *deal);
/* Bytes that a pool of so many takes beside the result. */
int64_t deal_beside(const Deal *deal, int64_t pool);

/* over.c: fills in Row.over once all lives are known. */
void deal_find_over(const Deal *deal);
/* Bytes that a row saves at most by lying over the one that is made in its last call. */
int64_t row_saves(const Deal *deal, const Row *row);

/* fit.c: bytes of the pool that end the search, as no layout needs to be smaller. */
int64_t deal_enough(const Deal *deal, const DealAim *aim);
/* Gives the rows their places; returns the bytes of the pool. Where they were not found to
 * fit into aim->most bytes beside the result, it is larger. */
int64_t deal_fit(const Deal *deal, const DealAim *aim);

#endif
