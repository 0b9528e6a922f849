/* SPDX-License-Identifier: Apache-2.0
 * The stages of the offset solver: lower bound, first fit with moves, exact
 * search. Each stage runs only if the one before left a gap to the bound (or to
 * the capacity that was asked for); all budgets are counts. */
#include "plan/place.h"

#include <assert.h>
#include <string.h>

#include "base/size.h"
#include "plan/place_internal.h"

typedef struct Run {
    Problem *p;
    Sky *sky; /* the exact search of this problem: one of the two */
    PairSearch *pairs;
    int64_t low, high; /* no placement below low; `best` has height high */
    int64_t goal;      /* stop at or below it */
    bool capacity;     /* the goal was asked for */
    int64_t *best, *trial;
    uint64_t nodes, budget;
} Run;

static const uint64_t SLICE = 2000; /* nodes of the first tries */
static const uint64_t CAPACITY_SLICE = 60000;

static bool done(const Run *r)
{
    return r->high <= r->goal || r->high <= r->low || r->nodes >= r->budget;
}

/* One try at height c; narrows [low, high] if it decides. */
static Verdict try_height(Run *r, int64_t c, uint64_t slice, bool wide)
{
    slice = slice < r->budget - r->nodes ? slice : r->budget - r->nodes;
    const Verdict v = r->sky ? place_exact(r->sky, c, wide, slice, r->trial, &r->nodes)
                             : place_pairs(r->pairs, c, slice, r->trial, &r->nodes);
    if (v == IMPOSSIBLE)
        r->low = i64_max(r->low, c + 1);
    if (v != FOUND)
        return v;
    r->high = place_height(r->p, r->trial);
    memcpy(r->best, r->trial, sizeof *r->best * (size_t)r->p->n);
    return v;
}

/* One height, by both tables of rules in turn, in growing slices: the capacity that was asked for,
 * or just below the best found. */
static void seek_below(Run *r)
{
    uint64_t slice = CAPACITY_SLICE;
    for (bool wide = false; !done(r) && r->low <= r->goal; wide = !wide) {
        const int64_t high = r->high;
        try_height(r, r->capacity ? r->goal : r->high - 1, slice, wide);
        if (r->high < high)
            slice = CAPACITY_SLICE;
        else if (wide)
            slice *= 4;
    }
}

/* Which part of the gap to try next, in eighths: the difficulty of a height is erratic, so a height
 * that a short try left undecided says little of the next one. */
enum {
    LEAST_SHARE = 6
}; /* slices of the least height, where most plain instances have their optimum */
static const uint8_t EIGHTH[] = { 0, 4, 2, 6, 1, 7, 3, 5 };

/* With pairs a placement is found on the way down, in about as many nodes as there are items, or
 * hardly ever. */
static uint64_t dive_of(const Run *r)
{
    return (uint64_t)r->p->n + (uint64_t)r->p->n / 4 + 20;
}

static void seek_least(Run *r)
{
    uint64_t slice = r->sky ? SLICE : dive_of(r);
    for (int turn = 0; !done(r); turn++) {
        const int64_t gap = r->high - 1 - r->low;
        const uint64_t share =
            !r->sky || turn % 8 || turn >= 24 ? 1 : LEAST_SHARE; /* three times */
        try_height(r, r->low + gap / 8 * EIGHTH[turn % 8] + gap % 8 * EIGHTH[turn % 8] / 8,
                   share * slice, (turn + turn / 8) % 2);
        if (turn % 8 == 7)
            slice = slice * 3 / 2;
    }
}

/* A node costs in proportion to what it looks through. */
static uint64_t budget_of(const Problem *p, uint64_t effort)
{
    const uint64_t cost = p->plain ? (uint64_t)p->n / 256 : p->n_arc / 1024;
    return effort / (1 + cost) + 1;
}

static void seek(Arena *a, Run *r, uint64_t effort)
{
    r->budget = budget_of(r->p, effort);
    r->trial = NEW_ARRAY(a, int64_t, r->p->n);
    if (r->p->plain)
        r->sky = place_sky_new(a, r->p, r->budget);
    else
        r->pairs = place_pairs_new(a, r->p);
    if (!r->capacity)
        seek_least(r);
    if (!r->capacity && r->sky)
        r->budget += r->budget / 4;
    seek_below(r);
}

static bool pins_clash(Arena *a, const Problem *p)
{
    if (p->many && place_pins_meet(a, p))
        return true;
    for (size_t k = 0; k < p->n_arc; k++) {
        const Arc *x = &p->arc[k];
        const int64_t u = p->pin[x->i], v = p->pin[x->j];
        if (u >= 0 && v >= 0 && x->lo < u - v && u - v < x->hi)
            return true;
    }
    return false;
}

/* The exact search of plain problems is strong: leave more to it. */
static uint32_t moves_of(const Problem *p, const PlaceOptions *opt)
{
    if (opt->moves)
        return opt->moves;
    return p->plain ? PLACE_MOVES / 8 : PLACE_MOVES;
}

static void solve(Arena *a, Run *r, const PlaceOptions *opt)
{
    const Problem *p = r->p;
    const int32_t exact_items = opt->exact_items ? opt->exact_items : PLACE_EXACT_ITEMS;
    const int64_t capacity = opt->capacity / p->unit;
    r->best = NEW_ARRAY(a, int64_t, p->n);
    r->low = place_bound(a, r->p);
    r->capacity = capacity >= r->low;
    r->goal = r->capacity ? capacity : r->low;
    r->high = place_by_order(a, p, opt->hint, r->goal, moves_of(p, opt), r->best);
    if (!done(r) && p->n <= exact_items && (p->plain || !p->many))
        seek(a, r, opt->effort ? opt->effort : PLACE_EFFORT);
}

PlaceResult place(Arena *a, const PlaceItem *item, int n, const PlaceArc *override, int n_override,
                  const PlaceOptions *opt)
{
    const PlaceOptions none = { 0 };
    PlaceResult result = { .offset = NEW_ARRAY(a, int64_t, n) };
    const ArenaMark mark = arena_mark(a);
    if (!opt)
        opt = &none;
    const size_t pairs = opt->pairs ? opt->pairs : PLACE_PAIRS;
    Run r = { .p = place_problem(a, item, n, override, n_override, pairs), .budget = 1 };
    const bool clash = pins_clash(a, r.p);
    if (!clash)
        solve(a, &r, opt);
    for (int i = 0; i < n; i++)
        result.offset[i] = item[i].pinned ? item[i].pin : 0;
    for (int i = 0; !clash && i < r.p->n; i++)
        result.offset[r.p->from[i]] = r.best[i] * r.p->unit;
    result.height = r.high * r.p->unit;
    result.lower_bound = i64_min(r.low, r.high) * r.p->unit;
    result.optimal = !clash && r.high <= r.low;
    result.nodes = r.nodes;
    if (clash)
        result.offset = NULL;
    assert(clash || n > PLACE_EXACT_ITEMS ||
           place_holds(item, n, override, n_override, result.offset, result.height));
    arena_release(a, mark);
    return result;
}
