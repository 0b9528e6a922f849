/* SPDX-License-Identifier: Apache-2.0
 * First fit: items in some order, each at the lowest offset its placed
 * neighbours leave. A few orders are tried, then moves of one item within the
 * best order; their number is bounded by work, never by time. Most real graphs
 * meet their lower bound here. */
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "place/problem.h"

/* Arcs looked at by all moves together, about. */
static const size_t MOVE_WORK = 1000000;

/* More items than this are not looked through for each of them. */
enum { MOST_LARGE = 20000 };

/* Offsets that an item cannot have: between low and high. */
typedef struct Taken {
    int64_t low, high;
} Taken;

typedef struct Orders {
    const Problem *p;
    int32_t *order, *next;   /* the best one, and the one being tried */
    int64_t *offset, *trial; /* of each */
    bool *placed;
    /* by item: in the best order it lay beside others, or beside others elsewhere */
    bool *disturbed;
    Taken *taken; /* of one item; room for those of all its arcs */
    int64_t best;
} Orders;

int place_by_key(const void *a, const void *b)
{
    const Ranked *x = a;
    const Ranked *y = b;
    if (x->key != y->key)
        return x->key > y->key ? -1 : 1;
    if (x->item != y->item)
        return x->item < y->item ? -1 : 1;
    return 0;
}

/* What the arcs of item i to placed neighbours take of the offsets from 0 on; returns how many. */
static int list_taken(const Orders *orders, int i)
{
    const Problem *problem = orders->p;
    int n = 0;
    for (size_t e = problem->start[i]; e < problem->start[i + 1]; e++) {
        const Arc *arc = &problem->arc[problem->incident[e]];
        const bool first = arc->i == i;
        const int other = first ? arc->j : arc->i;
        if (!orders->placed[other])
            continue;
        const int64_t at = orders->trial[other];
        const int64_t high = at + (first ? arc->hi : -arc->lo);
        const int64_t low = at + (first ? arc->lo : -arc->hi);
        if (high <= 0)
            continue;
        orders->taken[n] = (Taken){ low, high };
        n++;
    }
    return n;
}

/* The lowest offset of item i that its placed neighbours leave. */
static int64_t lowest_offset(const Orders *orders, int i)
{
    const int64_t align = orders->p->align[i];
    const int n = list_taken(orders, i);
    int64_t y = 0;
    int64_t before;
    do {
        before = y;
        for (int k = 0; k < n; k++) {
            const Taken *taken = orders->taken + k;
            if (taken->low < y && y < taken->high)
                y = place_up(taken->high, align);
        }
    } while (y != before);
    return y;
}

/* What is pinned has its place; the height of that. */
static int64_t place_pinned(Orders *orders)
{
    const Problem *problem = orders->p;
    int64_t height = 0;
    for (int i = 0; i < problem->n; i++) {
        const int64_t pin = problem->pin[i];
        orders->placed[i] = pin >= 0;
        if (pin < 0)
            continue;
        orders->trial[i] = pin;
        height = i64_max(height, pin + problem->size[i]);
    }
    return height;
}

/* The first items of `next` as they lie in the best order, which begins with them, too; the height
 * of what is placed. */
static int64_t place_first(Orders *orders, int first)
{
    int64_t height = place_pinned(orders);
    for (int k = 0; k < first; k++) {
        const int i = orders->next[k];
        orders->trial[i] = orders->offset[i];
        orders->placed[i] = true;
        height = i64_max(height, orders->trial[i] + orders->p->size[i]);
    }
    return height;
}

/* Items that exclude this one. */
static void disturb_around(Orders *orders, int i)
{
    const Problem *problem = orders->p;
    for (size_t e = problem->start[i]; e < problem->start[i + 1]; e++) {
        const Arc *arc = &problem->arc[problem->incident[e]];
        orders->disturbed[arc->i] = true;
        orders->disturbed[arc->j] = true;
    }
}

/* Before there is a best order. */
static void disturb_all(Orders *orders)
{
    const size_t n = (size_t)orders->p->n;
    memset(orders->disturbed, true, sizeof *orders->disturbed * n);
}

/* What is not disturbed lies as it does in the best order. */
static int64_t offset_in_order(Orders *orders, int i)
{
    const int64_t before = orders->offset[i];
    if (!orders->disturbed[i])
        return before;
    const int64_t now = lowest_offset(orders, i);
    if (now != before)
        disturb_around(orders, i);
    return now;
}

/* Height of first fit in the order `next`, whose `first` items are those of the best order; gives
 * up above `limit`. */
static int64_t first_fit(Orders *orders, int first, int64_t limit)
{
    const Problem *problem = orders->p;
    int64_t height = place_first(orders, first);
    for (int k = first; k < problem->n && height <= limit; k++) {
        const int i = orders->next[k];
        if (orders->placed[i])
            continue;
        const int64_t y = offset_in_order(orders, i);
        orders->trial[i] = y;
        orders->placed[i] = true;
        height = i64_max(height, y + problem->size[i]);
    }
    return height;
}

static void keep(Orders *orders, int64_t height)
{
    const size_t n = (size_t)orders->p->n;
    orders->best = height;
    memcpy(orders->order, orders->next, sizeof *orders->order * n);
    memcpy(orders->offset, orders->trial, sizeof *orders->offset * n);
}

/* ---- orders ---- */

enum { BY_HINT, BY_SIZE, BY_AREA, BY_DURATION, ORDERS };

static uint64_t order_key(const Problem *problem, int i, int kind,
                          const int64_t *hint)
{
    const uint64_t size = (uint64_t)problem->size[i];
    const uint64_t duration =
        (uint64_t)((int64_t)problem->end[i] - problem->begin[i]);
    if (kind == BY_HINT)
        return ~(uint64_t)hint[problem->from[i]];
    if (kind == BY_SIZE)
        return size;
    if (kind == BY_DURATION)
        return duration;
    return size > UINT64_MAX / duration ? UINT64_MAX : size * duration;
}

static void sort_order(Arena *arena, Orders *orders, int kind,
                       const int64_t *hint)
{
    const ArenaMark mark = arena_mark(arena);
    const int n = orders->p->n;
    Ranked *ranked = NEW_ARRAY(arena, Ranked, n);
    for (int i = 0; i < n; i++)
        ranked[i] = (Ranked){ order_key(orders->p, i, kind, hint), i };
    if (n)
        qsort(ranked, (size_t)n, sizeof *ranked, place_by_key);
    for (int i = 0; i < n; i++)
        orders->next[i] = ranked[i].item;
    arena_release(arena, mark);
}

/* ---- moves ---- */

static int index_at_peak(const Orders *orders, int from)
{
    const Problem *problem = orders->p;
    for (int k = 0; k < problem->n; k++) {
        const int at = (from + k) % problem->n;
        const int i = orders->order[at];
        if (orders->offset[i] + problem->size[i] == orders->best)
            return at;
    }
    return from;
}

static void move_item(int32_t *order, int n, int from, int to)
{
    const int32_t i = order[from];
    memmove(order + from, order + from + 1,
            sizeof *order * (size_t)(n - from - 1));
    memmove(order + to + 1, order + to, sizeof *order * (size_t)(n - 1 - to));
    order[to] = i;
}

/* Any item to any place and, in turn, an item at the peak to an earlier place. Returns how many
 * items stay in front. */
static int next_move(Orders *orders, uint32_t turn, uint64_t *state)
{
    const int n = orders->p->n;
    const uint64_t x = place_random(state);
    int from = (int)(x % (uint64_t)n);
    int to = (int)((x >> 32) % (uint64_t)n);
    if (turn % 2) {
        from = index_at_peak(orders, from);
        to = from ? (int)((x >> 32) % (uint64_t)from) : 0;
    }
    memcpy(orders->next, orders->order, sizeof *orders->next * (size_t)n);
    memset(orders->disturbed, 0, sizeof *orders->disturbed * (size_t)n);
    orders->disturbed[orders->order[from]] = true;
    disturb_around(orders, orders->order[from]);
    move_item(orders->next, n, from, to);
    return from < to ? from : to;
}

static void improve(Orders *orders, int64_t goal, uint32_t moves)
{
    uint64_t state = PLACE_SEED;
    const size_t most =
        MOVE_WORK / (orders->p->n_arc + (size_t)orders->p->n + 1);
    if (moves > most)
        moves = (uint32_t)most;
    for (uint32_t turn = 0; turn < moves && orders->best > goal; turn++) {
        const int first = next_move(orders, turn, &state);
        const int64_t height = first_fit(orders, first, orders->best);
        if (height <= orders->best)
            keep(orders, height);
    }
}

/* ---- problems without a list of pairs ---- */

static bool live_together(const Problem *problem, int i, int j)
{
    return problem->begin[i] < problem->end[j] &&
           problem->begin[j] < problem->end[i];
}

/* The lowest gap that holds item i between the n that are placed, which are listed rising. */
static int64_t lowest_gap(const Orders *orders, const int32_t *rising, int n,
                          int i)
{
    const Problem *problem = orders->p;
    int64_t y = 0;
    for (int m = 0; m < n; m++) {
        const int j = rising[m];
        const int64_t begin = orders->offset[j];
        if (begin >= y + problem->size[i])
            break;
        const int64_t end = begin + problem->size[j];
        if (live_together(problem, i, j))
            y = i64_max(y, place_up(end, problem->align[i]));
    }
    return y;
}

/* Largest first; the placed items are looked through from below for a gap. Plain problems only. */
static int64_t place_large(Arena *arena, Orders *orders)
{
    const Problem *problem = orders->p;
    const int64_t *offset = orders->offset;
    sort_order(arena, orders, BY_SIZE, NULL);
    int32_t *rising = NEW_ARRAY(arena, int32_t, problem->n);
    int64_t height = 0;
    for (int k = 0; k < problem->n; k++) {
        const int i = orders->next[k];
        const int64_t y = lowest_gap(orders, rising, k, i);
        int at = k;
        for (; at > 0 && offset[rising[at - 1]] > y; at--)
            rising[at] = rising[at - 1];
        rising[at] = i;
        orders->offset[i] = y;
        height = i64_max(height, y + problem->size[i]);
    }
    return height;
}

static int64_t place_without_pairs(Arena *arena, Orders *orders, int64_t goal)
{
    const Problem *problem = orders->p;
    orders->best = INT64_MAX;
    if (problem->plain && problem->n <= MOST_LARGE)
        orders->best = place_large(arena, orders);
    for (int backward = 0; backward < 2 && orders->best > goal; backward++) {
        const int64_t height =
            place_many(arena, problem, backward, orders->trial);
        if (height >= orders->best)
            continue;
        orders->best = height;
        memcpy(orders->offset, orders->trial,
               sizeof *orders->offset * (size_t)problem->n);
    }
    return orders->best;
}

/* Most arcs that an item has. */
static size_t most_arcs(const Problem *problem)
{
    size_t most = 0;
    for (int i = 0; i < problem->n; i++) {
        const size_t arcs = problem->start[i + 1] - problem->start[i];
        if (arcs > most)
            most = arcs;
    }
    return most;
}

static Orders orders_new(Arena *arena, const Problem *problem, int64_t *offset)
{
    return (Orders){
        .p = problem,
        .order = NEW_ARRAY(arena, int32_t, problem->n),
        .next = NEW_ARRAY(arena, int32_t, problem->n),
        .offset = offset,
        .trial = NEW_ARRAY(arena, int64_t, problem->n),
        .placed = NEW_ARRAY(arena, bool, problem->n),
        .disturbed = NEW_ARRAY(arena, bool, problem->n),
        .best = INT64_MAX,
    };
}

int64_t place_by_order(Arena *arena, const Problem *problem,
                       const int64_t *hint, int64_t goal, uint32_t moves,
                       int64_t *offset)
{
    Orders orders = orders_new(arena, problem, offset);
    if (problem->many)
        return place_without_pairs(arena, &orders, goal);
    orders.taken = NEW_ARRAY(arena, Taken, most_arcs(problem));
    for (int kind = hint ? BY_HINT : BY_SIZE;
         kind < ORDERS && orders.best > goal; kind++) {
        sort_order(arena, &orders, kind, hint);
        disturb_all(&orders);
        const int64_t height = first_fit(&orders, 0, orders.best);
        if (height < orders.best)
            keep(&orders, height);
    }
    if (problem->n > 1)
        improve(&orders, goal, moves);
    return orders.best;
}
