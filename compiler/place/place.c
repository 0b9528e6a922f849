/* SPDX-License-Identifier: Apache-2.0
 * The stages of the offset solver: lower bound, first fit with moves, then exact
 * search and squeaky wheels in turn. Each stage runs only if the one before left
 * a gap to the bound (or to the capacity that was asked for); all budgets are
 * counts. */
#include "place/place.h"

#include <assert.h>
#include <string.h>

#include "base/size.h"
#include "place/problem.h"

/* A height that the search by pairs left undecided within so many nodes. */
typedef struct Tried {
    int64_t height;
    uint64_t nodes;
} Tried;

enum { MOST_TRIED = 8 };

typedef struct Run {
    Problem *p;
    Skyline *skyline; /* the exact search of this problem: one of the two */
    PairSearch *pairs;
    Squeaky *squeaky;  /* beside the skyline; NULL: alignments differ */
    int64_t low, high; /* no placement below low; `best` has height high */
    int64_t goal;      /* stop at or below it */
    bool capacity;     /* the goal was asked for */
    int64_t *best, *trial;
    uint64_t nodes, budget;
    Tried tried[MOST_TRIED]; /* the latest of them, in turn */
    int n_tried;
} Run;

static const uint64_t SLICE = 2000; /* nodes of the first tries */
static const uint64_t CAPACITY_SLICE = 60000;
/* Looks of squeaky.c, for each item, that take as long as a node. */
static const uint64_t NODE_WORK = 3;

/* Nothing fits into the capacity that was asked for. */
static bool is_too_small(const Run *run)
{
    return run->capacity && run->low > run->goal;
}

static bool done(const Run *run)
{
    return run->high <= run->goal || run->high <= run->low ||
           is_too_small(run) || run->nodes >= run->budget;
}

/* Where few heights are left they come again and again. */
static bool was_tried(const Run *run, int64_t height, uint64_t nodes)
{
    for (int i = 0; i < MOST_TRIED; i++) {
        const Tried *tried = run->tried + i;
        if (tried->height == height && tried->nodes >= nodes)
            return true;
    }
    return false;
}

/* The search by pairs begins anew each time and learns nothing from one try to the next: the same
 * one again would end as it did, and is only counted. */
static Verdict try_pairs(Run *run, int64_t height, uint64_t slice)
{
    if (was_tried(run, height, slice)) {
        run->nodes += slice + 1;
        return UNDECIDED;
    }
    const Verdict verdict =
        place_pairs(run->pairs, height, slice, run->trial, &run->nodes);
    if (verdict == UNDECIDED) {
        run->tried[run->n_tried % MOST_TRIED] = (Tried){ height, slice };
        run->n_tried++;
    }
    return verdict;
}

static Verdict search_height(Run *run, int64_t height, uint64_t slice,
                             bool wide)
{
    if (!run->skyline)
        return try_pairs(run, height, slice);
    return place_exact(run->skyline, height, wide, slice, run->trial,
                       &run->nodes);
}

/* One try; narrows [low, high] if it decides. */
static void try_height(Run *run, int64_t height, uint64_t slice, bool wide)
{
    const uint64_t left = run->budget - run->nodes;
    const Verdict verdict =
        search_height(run, height, slice < left ? slice : left, wide);
    if (verdict == IMPOSSIBLE)
        run->low = i64_max(run->low, height + 1);
    if (verdict != FOUND)
        return;
    run->high = place_height(run->p, run->trial);
    memcpy(run->best, run->trial, sizeof *run->best * (size_t)run->p->n);
}

/* As much work as so many nodes are, about. */
static void try_squeaky(Run *run, uint64_t nodes)
{
    if (!run->squeaky || done(run))
        return;
    const uint64_t work = nodes * (uint64_t)run->p->n * NODE_WORK;
    const int64_t height =
        place_squeaky(run->squeaky, run->high, run->goal, work, run->trial);
    if (height >= run->high)
        return;
    run->high = height;
    memcpy(run->best, run->trial, sizeof *run->best * (size_t)run->p->n);
}

/* One height, by both tables of rules in turn, in growing slices: the capacity that was asked for,
 * or just below the best found. */
static void seek_below(Run *run)
{
    uint64_t slice = CAPACITY_SLICE;
    for (bool wide = false; !done(run) && run->low <= run->goal; wide = !wide) {
        const int64_t high = run->high;
        try_height(run, run->capacity ? run->goal : run->high - 1, slice, wide);
        if (run->high < high)
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
static uint64_t dive_of(const Run *run)
{
    return (uint64_t)run->p->n + (uint64_t)run->p->n / 4 + 20;
}

static void seek_least(Run *run)
{
    uint64_t slice = run->skyline ? SLICE : dive_of(run);
    for (int turn = 0; !done(run); turn++) {
        const int64_t gap = run->high - 1 - run->low;
        const uint64_t share = !run->skyline || turn % 8 || turn >= 24
                                   ? 1
                                   : LEAST_SHARE; /* three times */
        try_height(run,
                   run->low + gap / 8 * EIGHTH[turn % 8] +
                       gap % 8 * EIGHTH[turn % 8] / 8,
                   share * slice, (turn + turn / 8) % 2);
        if (turn % 8 != 7)
            continue;
        try_squeaky(run, 8 * slice);
        slice = slice * 3 / 2;
    }
}

/* A node costs in proportion to what it looks through. */
static uint64_t budget_of(const Problem *problem, uint64_t effort)
{
    const uint64_t cost =
        problem->plain ? (uint64_t)problem->n / 256 : problem->n_arc / 1024;
    return effort / (1 + cost) + 1;
}

static void open_search(Arena *arena, Run *run, uint64_t effort)
{
    run->budget = budget_of(run->p, effort);
    run->trial = NEW_ARRAY(arena, int64_t, run->p->n);
    if (run->p->plain)
        run->skyline = place_skyline_new(arena, run->p, run->budget);
    else
        run->pairs = place_pairs_new(arena, run->p);
    if (run->p->plain && !run->p->mixed)
        run->squeaky = place_squeaky_new(arena, run->p);
}

static void seek(Run *run)
{
    if (!run->capacity)
        seek_least(run);
    if (!run->capacity && run->skyline)
        run->budget += run->budget / 4;
    seek_below(run);
}

static bool pins_clash(Arena *arena, const Problem *problem)
{
    if (problem->many && place_pins_meet(arena, problem))
        return true;
    for (size_t k = 0; k < problem->n_arc; k++) {
        const Arc *x = &problem->arc[k];
        const int64_t u = problem->pin[x->i];
        const int64_t v = problem->pin[x->j];
        if (u >= 0 && v >= 0 && x->lo < u - v && u - v < x->hi)
            return true;
    }
    return false;
}

/* The exact search of plain problems is strong: leave more to it. */
static uint32_t moves_of(const Problem *problem, const PlaceOptions *opt)
{
    if (opt->moves)
        return opt->moves;
    return problem->plain ? PLACE_MOVES / 8 : PLACE_MOVES;
}

static void try_orders(Arena *arena, Run *run, const int64_t *hint,
                       uint32_t moves)
{
    int64_t *offset = NEW_ARRAY(arena, int64_t, run->p->n);
    const int64_t height =
        place_by_order(arena, run->p, hint, run->goal, moves, offset);
    if (run->best && height >= run->high)
        return;
    run->high = height;
    run->best = offset;
}

/* Is the exact search for problems like this? */
static bool is_sought(const Problem *problem, const PlaceOptions *opt)
{
    const int32_t most =
        opt->exact_items ? opt->exact_items : PLACE_EXACT_ITEMS;
    return problem->n <= most && (problem->plain || !problem->many);
}

static void solve(Arena *arena, Run *run, const PlaceOptions *opt)
{
    const Problem *problem = run->p;
    const bool sought = is_sought(problem, opt);
    const int64_t capacity = opt->capacity / problem->unit;
    run->low = place_bound(arena, run->p);
    run->capacity = capacity >= run->low;
    run->goal = run->capacity ? capacity : run->low;
    if (sought && !problem->plain) {
        /* One way down costs less than the moves. */
        try_orders(arena, run, opt->hint, 0);
        open_search(arena, run, opt->effort ? opt->effort : PLACE_EFFORT);
        if (!done(run))
            try_height(run, run->goal, dive_of(run), false);
    }
    if (!run->best || !done(run))
        try_orders(arena, run, opt->hint, moves_of(problem, opt));
    if (!sought || done(run))
        return;
    if (problem->plain)
        open_search(arena, run, opt->effort ? opt->effort : PLACE_EFFORT);
    seek(run);
}

/* The offsets of the caller's items. */
static void write_offsets(const Run *run, const PlaceItem *item, int n,
                          int64_t *offset)
{
    for (int i = 0; i < n; i++)
        offset[i] = item[i].pinned ? item[i].pin : 0;
    for (int i = 0; i < run->p->n; i++)
        offset[run->p->from[i]] = run->best[i] * run->p->unit;
}

static PlaceResult result_of(const Run *run, int64_t *offset)
{
    const int64_t unit = run->p->unit;
    return (PlaceResult){
        .offset = offset,
        .height = run->high * unit,
        .lower_bound = i64_min(run->low, run->high) * unit,
        .optimal = run->high <= run->low,
        .nodes = run->nodes,
    };
}

PlaceResult place(Arena *arena, const PlaceItem *item, int n,
                  const PlaceArc *override, int n_override,
                  const PlaceOptions *opt)
{
    const PlaceOptions none = { 0 };
    const PlaceOptions *options = opt ? opt : &none;
    const size_t pairs = options->pairs ? options->pairs : PLACE_PAIRS;
    int64_t *offset = NEW_ARRAY(arena, int64_t, n);
    const ArenaMark mark = arena_mark(arena);
    Run run = {
        .p = place_problem(arena, item, n, override, n_override, pairs),
        .budget = 1,
    };
    if (pins_clash(arena, run.p)) {
        arena_release(arena, mark);
        return (PlaceResult){ .offset = NULL };
    }
    solve(arena, &run, options);
    write_offsets(&run, item, n, offset);
    const PlaceResult result = result_of(&run, offset);
    assert(n > PLACE_EXACT_ITEMS ||
           place_holds(item, n, override, n_override, offset, result.height));
    arena_release(arena, mark);
    return result;
}
