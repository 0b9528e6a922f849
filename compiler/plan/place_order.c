/* SPDX-License-Identifier: Apache-2.0
 * First fit: items in some order, each at the lowest offset its placed
 * neighbours leave. A few orders are tried, then moves of one item within the
 * best order; their number is bounded by work, never by time. Most real graphs
 * meet their lower bound here. */
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "plan/place_internal.h"

/* Arcs looked at by all moves together, about. */
static const size_t MOVE_WORK = 1000000;

/* More items than this are not looked through for each of them. */
enum { MOST_LARGE = 20000 };

typedef struct Orders {
    const Problem *p;
    int32_t *order, *next;   /* the best one, and the one being tried */
    int64_t *offset, *trial; /* of each */
    bool *placed;
    int64_t best;
} Orders;

typedef struct Ranked {
    uint64_t key; /* greater goes first */
    int32_t item;
} Ranked;

static int by_key(const void *a, const void *b)
{
    const Ranked *x = a, *y = b;
    if (x->key != y->key)
        return x->key > y->key ? -1 : 1;
    return x->item < y->item ? -1 : x->item > y->item;
}

/* The lowest offset at or above y that one arc to a placed neighbour moves i to; y if none does. */
static int64_t raise_once(const Orders *o, int i, int64_t y)
{
    const Problem *p = o->p;
    for (size_t e = p->start[i]; e < p->start[i + 1]; e++) {
        const Arc *arc = &p->arc[p->incident[e]];
        const bool first = arc->i == i;
        const int other = first ? arc->j : arc->i;
        if (!o->placed[other])
            continue;
        const int64_t lo = o->trial[other] + (first ? arc->lo : -arc->hi);
        const int64_t hi = o->trial[other] + (first ? arc->hi : -arc->lo);
        if (lo < y && y < hi)
            y = place_up(hi, p->align[i]);
    }
    return y;
}

/* Height of first fit in the order `next`; gives up above `limit`. */
static int64_t first_fit(Orders *o, int64_t limit)
{
    const Problem *p = o->p;
    int64_t height = 0;
    for (int i = 0; i < p->n; i++) {
        o->placed[i] = p->pin[i] >= 0;
        if (!o->placed[i])
            continue;
        o->trial[i] = p->pin[i];
        height = i64_max(height, p->pin[i] + p->size[i]);
    }
    for (int k = 0; k < p->n && height <= limit; k++) {
        const int i = o->next[k];
        if (o->placed[i])
            continue;
        int64_t y = 0;
        for (int64_t up; (up = raise_once(o, i, y)) != y;)
            y = up;
        o->trial[i] = y;
        o->placed[i] = true;
        height = i64_max(height, y + p->size[i]);
    }
    return height;
}

static void keep(Orders *o, int64_t height)
{
    o->best = height;
    memcpy(o->order, o->next, sizeof *o->order * (size_t)o->p->n);
    memcpy(o->offset, o->trial, sizeof *o->offset * (size_t)o->p->n);
}

/* ---- orders ---- */

enum { BY_HINT, BY_SIZE, BY_AREA, BY_DURATION, ORDERS };

static uint64_t order_key(const Problem *p, int i, int kind, const int64_t *hint)
{
    const uint64_t size = (uint64_t)p->size[i],
                   duration = (uint64_t)((int64_t)p->end[i] - p->begin[i]);
    if (kind == BY_HINT)
        return ~(uint64_t)hint[p->from[i]];
    if (kind == BY_SIZE)
        return size;
    if (kind == BY_DURATION)
        return duration;
    return size > UINT64_MAX / duration ? UINT64_MAX : size * duration;
}

static void sort_order(Arena *a, Orders *o, int kind, const int64_t *hint)
{
    const ArenaMark mark = arena_mark(a);
    Ranked *r = NEW_ARRAY(a, Ranked, o->p->n);
    for (int i = 0; i < o->p->n; i++)
        r[i] = (Ranked){ order_key(o->p, i, kind, hint), i };
    if (o->p->n)
        qsort(r, (size_t)o->p->n, sizeof *r, by_key);
    for (int i = 0; i < o->p->n; i++)
        o->next[i] = r[i].item;
    arena_release(a, mark);
}

/* ---- moves ---- */

static int index_at_peak(const Orders *o, int from)
{
    for (int k = 0; k < o->p->n; k++) {
        const int at = (from + k) % o->p->n, i = o->order[at];
        if (o->offset[i] + o->p->size[i] == o->best)
            return at;
    }
    return from;
}

static void move_item(int32_t *order, int n, int from, int to)
{
    const int32_t i = order[from];
    memmove(order + from, order + from + 1, sizeof *order * (size_t)(n - from - 1));
    memmove(order + to + 1, order + to, sizeof *order * (size_t)(n - 1 - to));
    order[to] = i;
}

/* Any item to any place and, in turn, an item at the peak to an earlier place. */
static void next_move(Orders *o, uint32_t turn, uint64_t *state)
{
    const int n = o->p->n;
    const uint64_t x = place_random(state);
    int from = (int)(x % (uint64_t)n), to = (int)((x >> 32) % (uint64_t)n);
    if (turn % 2) {
        from = index_at_peak(o, from);
        to = from ? (int)((x >> 32) % (uint64_t)from) : 0;
    }
    memcpy(o->next, o->order, sizeof *o->next * (size_t)n);
    move_item(o->next, n, from, to);
}

static void improve(Orders *o, int64_t goal, uint32_t moves)
{
    uint64_t state = PLACE_SEED;
    const size_t most = MOVE_WORK / (o->p->n_arc + (size_t)o->p->n + 1);
    if (moves > most)
        moves = (uint32_t)most;
    for (uint32_t turn = 0; turn < moves && o->best > goal; turn++) {
        next_move(o, turn, &state);
        const int64_t height = first_fit(o, o->best);
        if (height <= o->best)
            keep(o, height);
    }
}

/* ---- problems without a list of pairs ---- */

/* Largest first; the placed items are looked through from below for a gap. Plain problems only. */
static int64_t place_large(Arena *a, Orders *o)
{
    const Problem *p = o->p;
    sort_order(a, o, BY_SIZE, NULL);
    int32_t *rising = NEW_ARRAY(a, int32_t, p->n);
    int64_t height = 0;
    for (int k = 0; k < p->n; k++) {
        const int i = o->next[k];
        int64_t y = 0;
        for (int m = 0; m < k && o->offset[rising[m]] < y + p->size[i]; m++) {
            const int j = rising[m];
            if (p->begin[i] >= p->end[j] || p->begin[j] >= p->end[i])
                continue;
            y = i64_max(y, place_up(o->offset[j] + p->size[j], p->align[i]));
        }
        int at = k;
        for (; at > 0 && o->offset[rising[at - 1]] > y; at--)
            rising[at] = rising[at - 1];
        rising[at] = i;
        o->offset[i] = y;
        height = i64_max(height, y + p->size[i]);
    }
    return height;
}

static int64_t place_without_pairs(Arena *a, Orders *o, int64_t goal)
{
    const Problem *p = o->p;
    o->best = INT64_MAX;
    if (p->plain && p->n <= MOST_LARGE)
        o->best = place_large(a, o);
    for (int backward = 0; backward < 2 && o->best > goal; backward++) {
        const int64_t height = place_many(a, p, backward, o->trial);
        if (height >= o->best)
            continue;
        o->best = height;
        memcpy(o->offset, o->trial, sizeof *o->offset * (size_t)p->n);
    }
    return o->best;
}

int64_t place_by_order(Arena *a, const Problem *p, const int64_t *hint, int64_t goal,
                       uint32_t moves, int64_t *offset)
{
    Orders o = { .p = p, .offset = offset, .best = INT64_MAX };
    o.order = NEW_ARRAY(a, int32_t, p->n);
    o.next = NEW_ARRAY(a, int32_t, p->n);
    o.trial = NEW_ARRAY(a, int64_t, p->n);
    o.placed = NEW_ARRAY(a, bool, p->n);
    if (p->many)
        return place_without_pairs(a, &o, goal);
    for (int kind = hint ? BY_HINT : BY_SIZE; kind < ORDERS && o.best > goal; kind++) {
        sort_order(a, &o, kind, hint);
        const int64_t height = first_fit(&o, o.best);
        if (height < o.best)
            keep(&o, height);
    }
    if (p->n > 1)
        improve(&o, goal, moves);
    return o.best;
}
