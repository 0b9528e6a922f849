/* SPDX-License-Identifier: Apache-2.0
 * What the parts of the order search share: the set of steps at hand, and what may follow it. */
#ifndef INLAY_SCHEDULE_ORDER_SET_H
#define INLAY_SCHEDULE_ORDER_SET_H

#include "base/arena.h"
#include "base/vec.h"
#include "schedule/order_problem.h"

typedef struct State {
    uint64_t key;
    int64_t live, peak;
    /* the parent's set, this step, and what is safe then; parent -1: the start */
    int32_t parent, step;
    int32_t count;  /* steps done */
    int32_t *taken; /* since the parent; none until it is looked at */
    int32_t n_taken;
} State;

typedef struct Met {
    uint64_t key;
    int64_t peak;
} Met;

typedef struct Effect {
    int64_t during, after; /* live bytes */
} Effect;

typedef struct Choice {
    int32_t step;
    Effect effect;
} Choice;

typedef struct Search {
    Arena *arena;
    const OrderProblem *p;
    const int32_t *after_of, *after;
    /* of a touch: how many steps touched the item before, in the given order */
    int32_t *rank;
    int32_t *users; /* of an item: how many steps touch it */
    /* of an item: the stretch that was set up last, by its first step, plus 1 */
    int32_t *seen;
    int32_t *waiting; /* of a step: how many before it are not done */
    /* of an item: its steps that are not done, and that are */
    int32_t *left, *begun;

    int32_t first, end, words; /* the stretch: steps [first, end) */
    uint64_t *done, *ready;    /* of the set at hand, bits of the stretch */
    uint64_t key;
    int64_t live, peak;
    int32_t *path, n_path; /* steps taken */
    Choice *choice;

    VEC(State) state;
    VEC(int32_t) heap; /* open states */
    Met *met;
    size_t met_room, met_n;
    int64_t limit; /* peaks from here on are of no use */
    /* steps to be taken or weighed in trial: what is left; where the phase at hand ends */
    int64_t work, stop;
    int64_t states;
} Search;

/* Counts what touches each item, before all else. What is given counts as touched before the first
 * step, what is kept as touched after the last. */
void order_rank_touches(Search *search);
void order_take(Search *search, int32_t s);
void order_take_back(Search *search);
Effect order_effect(Search *search, int32_t s);
/* Takes step s, whose effect is effect. */
void order_run(Search *search, int32_t s, Effect effect);
/* What is best done at once: see there. */
void order_take_safe(Search *search);
bool order_is_done(const Search *search, int32_t s);
/* The set of all steps before the stretch [q->first, search->end) as the set at hand. */
void order_open_stretch(Search *search, int64_t live, int64_t peak);
/* The first bit at or behind `from`, or -1. */
int32_t order_next_bit(const uint64_t *bits, int32_t words, int32_t from);

/* order_quick.c: orders of the stretch found in near-linear time, from `live` bytes on. Where the
 * best of them peaks below `limit` it is put into `order`; returns the lower of the two. */
int64_t order_quick(Search *search, int64_t live, int64_t limit,
                    int32_t *order);

#endif
