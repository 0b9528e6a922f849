/* SPDX-License-Identifier: Apache-2.0
 * Exact search under pairwise forbidden distances: in place, diagonal overlap,
 * parts, pins, any alignment. Each arc is a choice: i above j or below it. The
 * search decides arcs and keeps the lowest and highest offset of each item that
 * the decided ones leave; it ends when the lowest offsets satisfy every arc. No
 * order of placement is assumed: an item may rest on one that lies higher. */
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/vec.h"
#include "place/problem.h"

typedef enum Side { OPEN, ABOVE, BELOW } Side;

/* Of a bound, or, where it is NULL, of an arc's side back to OPEN. */
typedef struct Change {
    int64_t *where, old;
} Change;

typedef struct Frame {
    int32_t arc;
    uint8_t side; /* tried first */
    uint8_t turn; /* sides tried */
    size_t mark;
} Frame;

struct PairSearch {
    Arena *arena;
    const Problem *p;
    int64_t capacity;
    int64_t *low, *high; /* by item */
    uint8_t *side;       /* by arc */
    int64_t *weight;     /* failures of an arc, plus one */
    int32_t *queue;      /* items whose bounds moved */
    bool *queued;
    int n_queue;
    Job *sorted; /* room for one list of jobs */
    /* the lists of item i: of_item[lists[i]] .. of_item[lists[i + 1] - 1] */
    size_t *lists;
    int32_t *of_item;
    /* lists of which an item has risen since they were found to fit */
    int32_t *risen;
    bool *has_risen;
    int n_risen;
    VEC(Change) trail;
    VEC(Frame) frame;
    uint64_t nodes, node_limit;
};

/* ---- the trail ---- */

static void undo(PairSearch *search, size_t mark)
{
    while (search->trail.n > mark) {
        const Change change = search->trail.at[--search->trail.n];
        if (change.where)
            *change.where = change.old;
        else
            search->side[change.old] = OPEN;
    }
}

static void wake(PairSearch *search, int i)
{
    if (search->queued[i])
        return;
    search->queued[i] = true;
    search->queue[search->n_queue++] = i;
}

static void sleep_all(PairSearch *search)
{
    while (search->n_queue)
        search->queued[search->queue[--search->n_queue]] = false;
}

/* ---- bounds ---- */

static void note_risen(PairSearch *search, int i)
{
    for (size_t k = search->lists[i]; k < search->lists[i + 1]; k++) {
        const int32_t list = search->of_item[k];
        if (search->has_risen[list])
            continue;
        search->has_risen[list] = true;
        search->risen[search->n_risen++] = list;
    }
}

static bool at_least(PairSearch *search, int i, int64_t y)
{
    if (y <= search->low[i])
        return true;
    note_risen(search, i);
    y = place_up(y, search->p->align[i]);
    VEC_PUSH(search->arena, &search->trail,
             ((Change){ &search->low[i], search->low[i] }));
    search->low[i] = y;
    wake(search, i);
    return y <= search->high[i];
}

static bool at_most(PairSearch *search, int i, int64_t y)
{
    if (y >= search->high[i])
        return true;
    y = i64_floor_div(y, search->p->align[i]) * search->p->align[i];
    VEC_PUSH(search->arena, &search->trail,
             ((Change){ &search->high[i], search->high[i] }));
    search->high[i] = y;
    wake(search, i);
    return y >= search->low[i];
}

static bool keep_apart(PairSearch *search, int above, int below,
                       int64_t distance)
{
    return at_least(search, above, search->low[below] + distance) &&
           at_most(search, below, search->high[above] - distance);
}

static bool decide(PairSearch *search, int k, Side side)
{
    const Arc *x = &search->p->arc[k];
    if (search->side[k] == OPEN) {
        VEC_PUSH(search->arena, &search->trail, ((Change){ NULL, k }));
        search->side[k] = (uint8_t)side;
    }
    return side == ABOVE ? keep_apart(search, x->i, x->j, x->hi)
                         : keep_apart(search, x->j, x->i, -x->lo);
}

/* Tightens a decided arc; decides an open one of which a side is out of reach. */
static bool revise(PairSearch *search, int k)
{
    const Arc *x = &search->p->arc[k];
    if (search->side[k] != OPEN)
        return decide(search, k, (Side)search->side[k]);
    const bool above = search->high[x->i] - search->low[x->j] >= x->hi;
    const bool below = search->low[x->i] - search->high[x->j] <= x->lo;
    if (above && below)
        return true;
    return (above || below) && decide(search, k, above ? ABOVE : BELOW);
}

static int64_t release(const PairSearch *search, const Job *job)
{
    return search->low[job->item] + job->low;
}

/* A list of jobs is one machine with release dates. */
static bool list_fits(PairSearch *search, size_t from, size_t to)
{
    size_t n = 0;
    for (size_t k = from; k < to; k++) {
        const Job job = search->p->job[k];
        size_t at = n++;
        for (; at > 0 &&
               release(search, &search->sorted[at - 1]) > release(search, &job);
             at--)
            search->sorted[at] = search->sorted[at - 1];
        search->sorted[at] = job;
    }
    int64_t y = 0;
    for (size_t k = 0; k < n; k++)
        y = i64_max(y, release(search, &search->sorted[k])) +
            search->sorted[k].length;
    return y <= search->capacity;
}

/* The others fit as they did: what was taken back can only have sunk. */
static bool lists_fit(PairSearch *search)
{
    while (search->n_risen) {
        const int32_t k = search->risen[--search->n_risen];
        search->has_risen[k] = false;
        if (!list_fits(search, search->p->list[k], search->p->list[k + 1]))
            return false;
    }
    return true;
}

static bool propagate(PairSearch *search)
{
    while (search->n_queue) {
        const int i = search->queue[--search->n_queue];
        search->queued[i] = false;
        for (size_t e = search->p->start[i]; e < search->p->start[i + 1]; e++) {
            const int k = search->p->incident[e];
            if (revise(search, k))
                continue;
            search->weight[k]++;
            sleep_all(search);
            return false;
        }
    }
    return lists_fit(search);
}

/* ---- the tree ---- */

/* The arc broken by the lowest offsets that leaves least room on its two sides; -1: none is broken.
 */
static int pick_arc(const PairSearch *search)
{
    int best = -1;
    int64_t least = INT64_MAX;
    for (size_t k = 0; k < search->p->n_arc; k++) {
        const Arc *x = &search->p->arc[k];
        const int64_t distance = search->low[x->i] - search->low[x->j];
        if (search->side[k] != OPEN || distance <= x->lo || distance >= x->hi)
            continue;
        const int64_t above = search->high[x->i] - search->low[x->j] - x->hi;
        const int64_t below = search->high[x->j] - search->low[x->i] + x->lo;
        const int64_t both = (above + below + 1) * 64;
        const int64_t weight = search->weight[k];
        /* A division is slow. */
        const int64_t room = weight == 1 ? both : both / weight;
        if (room >= least)
            continue;
        least = room;
        best = (int)k;
    }
    return best;
}

static void open_node(PairSearch *search, int k)
{
    const Arc *x = &search->p->arc[k];
    const int64_t lift_i = search->low[x->j] + x->hi - search->low[x->i];
    const int64_t lift_j = search->low[x->i] - x->lo - search->low[x->j];
    const Frame f = { .arc = k,
                      .side = lift_i <= lift_j ? ABOVE : BELOW,
                      .mark = search->trail.n };
    VEC_PUSH(search->arena, &search->frame, f);
}

/* Tries sides of the open nodes, from the top, until one holds; false if none is left. */
static bool next_side(PairSearch *search)
{
    while (search->frame.n) {
        Frame *f = &search->frame.at[search->frame.n - 1];
        undo(search, f->mark);
        if (f->turn == 2) {
            search->frame.n--;
            continue;
        }
        const Side other = f->side == ABOVE ? BELOW : ABOVE;
        const Side side = f->turn++ ? other : (Side)f->side;
        if (decide(search, f->arc, side)) {
            if (propagate(search))
                return true;
        } else {
            search->weight[f->arc]++;
            sleep_all(search);
        }
    }
    return false;
}

static Verdict search(PairSearch *q)
{
    for (;;) {
        if (q->nodes >= q->node_limit)
            return UNDECIDED;
        q->nodes++;
        const int k = pick_arc(q);
        if (k < 0)
            return FOUND;
        open_node(q, k);
        if (!next_side(q))
            return IMPOSSIBLE;
    }
}

/* ---- rounds ---- */

static void list_jobs(Arena *arena, PairSearch *search)
{
    const Problem *problem = search->p;
    search->lists = NEW_ARRAY(arena, size_t, problem->n + 2);
    search->of_item = NEW_ARRAY(arena, int32_t, problem->n_job);
    search->risen = NEW_ARRAY(arena, int32_t, problem->n_list);
    search->has_risen = NEW_ARRAY(arena, bool, problem->n_list);
    size_t *next = search->lists + 1;
    for (size_t k = 0; k < problem->n_job; k++)
        next[problem->job[k].item + 1]++;
    for (int i = 1; i <= problem->n; i++)
        next[i] += next[i - 1];
    for (size_t list = 0; list < problem->n_list; list++)
        for (size_t k = problem->list[list]; k < problem->list[list + 1]; k++)
            search->of_item[next[problem->job[k].item]++] = (int32_t)list;
}

PairSearch *place_pairs_new(Arena *a, const Problem *problem)
{
    PairSearch *search = NEW(a, PairSearch);
    size_t longest = 0;
    for (size_t k = 0; k < problem->n_list; k++)
        if (problem->list[k + 1] - problem->list[k] > longest)
            longest = problem->list[k + 1] - problem->list[k];
    *search = (PairSearch){ .arena = a, .p = problem };
    search->low = NEW_ARRAY(a, int64_t, problem->n);
    search->high = NEW_ARRAY(a, int64_t, problem->n);
    search->queue = NEW_ARRAY(a, int32_t, problem->n);
    search->queued = NEW_ARRAY(a, bool, problem->n);
    search->side = NEW_ARRAY(a, uint8_t, problem->n_arc);
    search->weight = NEW_ARRAY(a, int64_t, problem->n_arc);
    search->sorted = NEW_ARRAY(a, Job, longest);
    list_jobs(a, search);
    return search;
}

/* All bounds and sides afresh; false if some item does not fit alone. */
static bool begin(PairSearch *search)
{
    const Problem *problem = search->p;
    bool fits = true;
    search->trail.n = search->frame.n = 0;
    if (problem->n_arc)
        memset(search->side, OPEN, problem->n_arc);
    for (int i = 0; i < problem->n; i++) {
        const bool pinned = problem->pin[i] >= 0;
        const int64_t room = search->capacity - problem->size[i];
        search->low[i] = pinned ? problem->pin[i] : 0;
        search->high[i] =
            pinned ? problem->pin[i]
                   : i64_floor_div(room, problem->align[i]) * problem->align[i];
        fits =
            fits && search->low[i] <= room && search->low[i] <= search->high[i];
    }
    for (int i = 0; fits && i < problem->n; i++) {
        wake(search, i);
        note_risen(search, i);
    }
    return fits;
}

Verdict place_pairs(PairSearch *q, int64_t capacity, uint64_t budget,
                    int64_t *offset, uint64_t *spent)
{
    uint64_t used = 0;
    Verdict verdict = UNDECIDED;
    q->capacity = capacity;
    for (size_t k = 0; k < q->p->n_arc; k++)
        q->weight[k] = 1;
    for (uint64_t limit = 500; verdict == UNDECIDED && used < budget;
         limit *= 2) {
        q->nodes = 0;
        q->node_limit = limit < budget - used ? limit : budget - used;
        verdict = begin(q) && propagate(q) ? search(q) : IMPOSSIBLE;
        used += q->nodes;
    }
    if (verdict == FOUND)
        memcpy(offset, q->low, sizeof *offset * (size_t)q->p->n);
    *spent += used + 1;
    return verdict;
}
