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
#include "plan/place_internal.h"

typedef enum Side { OPEN, ABOVE, BELOW } Side;

typedef struct Change { /* of a bound, or, where it is NULL, of an arc's side back to OPEN */
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
    Job *sorted;   /* room for one list of jobs */
    size_t *lists; /* the lists of item i: of_item[lists[i]] .. of_item[lists[i + 1] - 1] */
    int32_t *of_item;
    int32_t *risen; /* lists of which an item has risen since they were found to fit */
    bool *has_risen;
    int n_risen;
    VEC(Change) trail;
    VEC(Frame) frame;
    uint64_t nodes, node_limit;
};

/* ---- the trail ---- */

static void undo(PairSearch *q, size_t mark)
{
    while (q->trail.n > mark) {
        const Change c = q->trail.at[--q->trail.n];
        if (c.where)
            *c.where = c.old;
        else
            q->side[c.old] = OPEN;
    }
}

static void wake(PairSearch *q, int i)
{
    if (q->queued[i])
        return;
    q->queued[i] = true;
    q->queue[q->n_queue++] = i;
}

static void sleep_all(PairSearch *q)
{
    while (q->n_queue)
        q->queued[q->queue[--q->n_queue]] = false;
}

/* ---- bounds ---- */

static void note_risen(PairSearch *q, int i)
{
    for (size_t k = q->lists[i]; k < q->lists[i + 1]; k++) {
        const int32_t list = q->of_item[k];
        if (q->has_risen[list])
            continue;
        q->has_risen[list] = true;
        q->risen[q->n_risen++] = list;
    }
}

static bool at_least(PairSearch *q, int i, int64_t y)
{
    if (y <= q->low[i])
        return true;
    note_risen(q, i);
    y = place_up(y, q->p->align[i]);
    VEC_PUSH(q->arena, &q->trail, ((Change){ &q->low[i], q->low[i] }));
    q->low[i] = y;
    wake(q, i);
    return y <= q->high[i];
}

static bool at_most(PairSearch *q, int i, int64_t y)
{
    if (y >= q->high[i])
        return true;
    y = i64_floor_div(y, q->p->align[i]) * q->p->align[i];
    VEC_PUSH(q->arena, &q->trail, ((Change){ &q->high[i], q->high[i] }));
    q->high[i] = y;
    wake(q, i);
    return y >= q->low[i];
}

static bool keep_apart(PairSearch *q, int above, int below, int64_t distance)
{
    return at_least(q, above, q->low[below] + distance) &&
           at_most(q, below, q->high[above] - distance);
}

static bool decide(PairSearch *q, int k, Side side)
{
    const Arc *x = &q->p->arc[k];
    if (q->side[k] == OPEN) {
        VEC_PUSH(q->arena, &q->trail, ((Change){ NULL, k }));
        q->side[k] = (uint8_t)side;
    }
    return side == ABOVE ? keep_apart(q, x->i, x->j, x->hi) : keep_apart(q, x->j, x->i, -x->lo);
}

/* Tightens a decided arc; decides an open one of which a side is out of reach. */
static bool revise(PairSearch *q, int k)
{
    const Arc *x = &q->p->arc[k];
    if (q->side[k] != OPEN)
        return decide(q, k, (Side)q->side[k]);
    const bool above = q->high[x->i] - q->low[x->j] >= x->hi,
               below = q->low[x->i] - q->high[x->j] <= x->lo;
    if (above && below)
        return true;
    return (above || below) && decide(q, k, above ? ABOVE : BELOW);
}

static int64_t release(const PairSearch *q, const Job *job)
{
    return q->low[job->item] + job->low;
}

/* A list of jobs is one machine with release dates. */
static bool list_fits(PairSearch *q, size_t from, size_t to)
{
    size_t n = 0;
    for (size_t k = from; k < to; k++) {
        const Job job = q->p->job[k];
        size_t at = n++;
        for (; at > 0 && release(q, &q->sorted[at - 1]) > release(q, &job); at--)
            q->sorted[at] = q->sorted[at - 1];
        q->sorted[at] = job;
    }
    int64_t y = 0;
    for (size_t k = 0; k < n; k++)
        y = i64_max(y, release(q, &q->sorted[k])) + q->sorted[k].length;
    return y <= q->capacity;
}

/* The others fit as they did: what was taken back can only have sunk. */
static bool lists_fit(PairSearch *q)
{
    while (q->n_risen) {
        const int32_t k = q->risen[--q->n_risen];
        q->has_risen[k] = false;
        if (!list_fits(q, q->p->list[k], q->p->list[k + 1]))
            return false;
    }
    return true;
}

static bool propagate(PairSearch *q)
{
    while (q->n_queue) {
        const int i = q->queue[--q->n_queue];
        q->queued[i] = false;
        for (size_t e = q->p->start[i]; e < q->p->start[i + 1]; e++) {
            const int k = q->p->incident[e];
            if (revise(q, k))
                continue;
            q->weight[k]++;
            sleep_all(q);
            return false;
        }
    }
    return lists_fit(q);
}

/* ---- the tree ---- */

/* The arc broken by the lowest offsets that leaves least room on its two sides; -1: none is broken.
 */
static int pick_arc(const PairSearch *q)
{
    int best = -1;
    int64_t least = INT64_MAX;
    for (size_t k = 0; k < q->p->n_arc; k++) {
        const Arc *x = &q->p->arc[k];
        const int64_t distance = q->low[x->i] - q->low[x->j];
        if (q->side[k] != OPEN || distance <= x->lo || distance >= x->hi)
            continue;
        const int64_t above = q->high[x->i] - q->low[x->j] - x->hi,
                      below = q->high[x->j] - q->low[x->i] + x->lo;
        const int64_t both = (above + below + 1) * 64,
                      room =
                          q->weight[k] == 1 ? both : both / q->weight[k]; /* a division is slow */
        if (room >= least)
            continue;
        least = room;
        best = (int)k;
    }
    return best;
}

static void open_node(PairSearch *q, int k)
{
    const Arc *x = &q->p->arc[k];
    const int64_t lift_i = q->low[x->j] + x->hi - q->low[x->i],
                  lift_j = q->low[x->i] - x->lo - q->low[x->j];
    const Frame f = { .arc = k, .side = lift_i <= lift_j ? ABOVE : BELOW, .mark = q->trail.n };
    VEC_PUSH(q->arena, &q->frame, f);
}

/* Tries sides of the open nodes, from the top, until one holds; false if none is left. */
static bool next_side(PairSearch *q)
{
    while (q->frame.n) {
        Frame *f = &q->frame.at[q->frame.n - 1];
        undo(q, f->mark);
        if (f->turn == 2) {
            q->frame.n--;
            continue;
        }
        const Side other = f->side == ABOVE ? BELOW : ABOVE,
                   side = f->turn++ ? other : (Side)f->side;
        if (decide(q, f->arc, side)) {
            if (propagate(q))
                return true;
        } else {
            q->weight[f->arc]++;
            sleep_all(q);
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

static void list_jobs(Arena *a, PairSearch *q)
{
    const Problem *p = q->p;
    q->lists = NEW_ARRAY(a, size_t, p->n + 2);
    q->of_item = NEW_ARRAY(a, int32_t, p->n_job);
    q->risen = NEW_ARRAY(a, int32_t, p->n_list);
    q->has_risen = NEW_ARRAY(a, bool, p->n_list);
    size_t *next = q->lists + 1;
    for (size_t k = 0; k < p->n_job; k++)
        next[p->job[k].item + 1]++;
    for (int i = 1; i <= p->n; i++)
        next[i] += next[i - 1];
    for (size_t list = 0; list < p->n_list; list++)
        for (size_t k = p->list[list]; k < p->list[list + 1]; k++)
            q->of_item[next[p->job[k].item]++] = (int32_t)list;
}

PairSearch *place_pairs_new(Arena *a, const Problem *p)
{
    PairSearch *q = NEW(a, PairSearch);
    size_t longest = 0;
    for (size_t k = 0; k < p->n_list; k++)
        if (p->list[k + 1] - p->list[k] > longest)
            longest = p->list[k + 1] - p->list[k];
    *q = (PairSearch){ .arena = a, .p = p };
    q->low = NEW_ARRAY(a, int64_t, p->n);
    q->high = NEW_ARRAY(a, int64_t, p->n);
    q->queue = NEW_ARRAY(a, int32_t, p->n);
    q->queued = NEW_ARRAY(a, bool, p->n);
    q->side = NEW_ARRAY(a, uint8_t, p->n_arc);
    q->weight = NEW_ARRAY(a, int64_t, p->n_arc);
    q->sorted = NEW_ARRAY(a, Job, longest);
    list_jobs(a, q);
    return q;
}

/* All bounds and sides afresh; false if some item does not fit alone. */
static bool begin(PairSearch *q)
{
    const Problem *p = q->p;
    bool fits = true;
    q->trail.n = q->frame.n = 0;
    if (p->n_arc)
        memset(q->side, OPEN, p->n_arc);
    for (int i = 0; i < p->n; i++) {
        const bool pinned = p->pin[i] >= 0;
        const int64_t room = q->capacity - p->size[i];
        q->low[i] = pinned ? p->pin[i] : 0;
        q->high[i] = pinned ? p->pin[i] : i64_floor_div(room, p->align[i]) * p->align[i];
        fits = fits && q->low[i] <= room && q->low[i] <= q->high[i];
    }
    for (int i = 0; fits && i < p->n; i++)
        wake(q, i), note_risen(q, i);
    return fits;
}

Verdict place_pairs(PairSearch *q, int64_t capacity, uint64_t budget, int64_t *offset,
                    uint64_t *spent)
{
    uint64_t used = 0;
    Verdict verdict = UNDECIDED;
    q->capacity = capacity;
    for (size_t k = 0; k < q->p->n_arc; k++)
        q->weight[k] = 1;
    for (uint64_t limit = 500; verdict == UNDECIDED && used < budget; limit *= 2) {
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
