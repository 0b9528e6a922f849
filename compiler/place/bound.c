/* SPDX-License-Identifier: Apache-2.0
 * Heights that no placement can undercut. In a plain problem: the most bytes
 * alive at once. Else, at each step, a set of windows that exclude each other;
 * two windows allowed to overlap count as what they cover together at least.
 * The sets are kept as lists of jobs: the exact search packs them once more. */
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/vec.h"
#include "place/problem.h"

/* What an item takes at one step. */
typedef struct Live {
    int32_t item;
    int64_t low, length; /* units */
    bool whole;          /* no holes in it */
    bool paired;         /* counted together with another that it may overlap */
} Live;

typedef struct Event {
    int32_t time;
    int32_t item;
    int64_t grow;
} Event;

typedef struct Bound {
    Arena *arena;
    Problem *problem;
    int64_t height;
    int n_live, n_chosen;
    Live *live, *chosen; /* chosen: the special ones that count */
    int32_t *chosen_at;  /* of an item: where among them, plus one; 0: not */
    VEC(Job) job;
    VEC(size_t) list;
} Bound;

/* At equal times what ends goes first. */
static int by_time(const void *a, const void *b)
{
    const Event *x = a;
    const Event *y = b;
    const bool x_ends = x->grow < 0;
    const bool y_ends = y->grow < 0;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if (x_ends != y_ends)
        return x_ends ? -1 : 1;
    return x->item < y->item ? -1 : x->item > y->item;
}

static int by_length(const void *a, const void *b)
{
    const Live *x = a;
    const Live *y = b;
    if (x->length != y->length)
        return x->length > y->length ? -1 : 1;
    return x->item < y->item ? -1 : x->item > y->item;
}

/* ---- windows of one step ---- */

static int by_place(const void *a, const void *b)
{
    const PlacePart *x = a;
    const PlacePart *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Windows count the units that begin in them: disjoint windows have no such unit in common. The
 * parts are in the order of their offsets. */
static Live join_parts(const PlacePart *part, size_t n, int64_t unit)
{
    Live live = { .whole = true };
    int64_t end = 0;
    for (size_t k = 0; k < n; k++) {
        const int64_t part_end = part[k].offset + part[k].size;
        const int64_t low = i64_ceil_div(part[k].offset, unit);
        const int64_t high = i64_ceil_div(part_end, unit);
        if (live.length == 0)
            live.low = end = low;
        live.whole = live.whole && low <= end;
        live.length += i64_max(high - i64_max(low, end), 0);
        end = i64_max(end, high);
    }
    return live;
}

static Live live_parts(const Bound *bound, int i, int32_t time)
{
    const PlaceItem *item = place_item(bound->problem, i);
    const ArenaMark mark = arena_mark(bound->arena);
    PlacePart *alive = NEW_ARRAY(bound->arena, PlacePart, item->parts);
    size_t n = 0;
    for (int k = 0; k < item->parts; k++) {
        const PlacePart *part = item->part + k;
        if (part->size <= 0 || part->begin > time || part->end <= time)
            continue;
        alive[n] = *part;
        n++;
    }
    if (n > 1)
        qsort(alive, n, sizeof *alive, by_place);
    Live live = join_parts(alive, n, bound->problem->unit);
    live.item = i;
    arena_release(bound->arena, mark);
    return live;
}

static Live live_at(const Bound *bound, int i, int32_t time)
{
    const Problem *problem = bound->problem;
    if (place_item(problem, i)->parts)
        return live_parts(bound, i, time);
    return (Live){ .item = i, .length = problem->size[i], .whole = true };
}

/* ---- pairs that may overlap ---- */

static int64_t overlap_at(const Live *x, const Live *y, int64_t distance)
{
    /* where x's window begins and ends, seen from y's */
    const int64_t begin = distance + x->low - y->low;
    const int64_t end = i64_min(begin + x->length, y->length);
    return i64_max(end - i64_max(begin, 0), 0);
}

static bool distance_allowed(const Problem *problem, int i, const Partner *with,
                             int64_t distance)
{
    for (int32_t k = 0; k < with->arcs; k++) {
        const Arc *arc = problem->arc + with->first + k;
        const int64_t seen = arc->i == i ? distance : -distance;
        if (arc->lo < seen && seen < arc->hi)
            return false;
    }
    return true;
}

/* What they have in common at a distance; 0 where that is forbidden. */
static int64_t shared_at(const Problem *problem, const Live *x, const Live *y,
                         const Partner *with, int64_t distance)
{
    if (!distance_allowed(problem, x->item, with, distance))
        return 0;
    return overlap_at(x, y, distance);
}

/* The most units two windows may have in common: at the end of a forbidden interval, or nested. */
static int64_t most_shared(const Problem *problem, const Live *x, const Live *y,
                           const Partner *with)
{
    const int64_t nested = y->low - x->low;
    int64_t most = shared_at(problem, x, y, with, nested);
    for (int32_t k = 0; k < with->arcs; k++) {
        const Arc *arc = problem->arc + with->first + k;
        const int64_t sign = arc->i == x->item ? 1 : -1;
        const int64_t at_lo = shared_at(problem, x, y, with, sign * arc->lo);
        const int64_t at_hi = shared_at(problem, x, y, with, sign * arc->hi);
        most = i64_max(most, i64_max(at_lo, at_hi));
    }
    return most;
}

/* ---- all steps at once ---- */

typedef VEC(Event) Events;

static void add_events(Arena *arena, Events *events, int32_t end, Event begin)
{
    const Event last = { end, begin.item, -begin.grow };
    VEC_PUSH(arena, events, begin);
    VEC_PUSH(arena, events, last);
}

/* What items with the same overrides may share is taken off, as if each pair shared other units. */
static void add_shared(Arena *arena, const Problem *problem, int i,
                       Events *events)
{
    const Live x = { .item = i, .length = problem->size[i] };
    for (size_t k = problem->partners[i]; k < problem->partners[i + 1]; k++) {
        const Partner *with = problem->partner + k;
        const int32_t j = with->item;
        const Live y = { .item = j, .length = problem->size[j] };
        const int64_t begin = i64_max(problem->begin[i], problem->begin[j]);
        const int64_t end = i64_min(problem->end[i], problem->end[j]);
        if (j >= i || begin >= end || place_item(problem, j)->parts)
            continue;
        const int64_t shared = most_shared(problem, &x, &y, with);
        const Event event = { (int32_t)begin, i, -shared };
        add_events(arena, events, (int32_t)end, event);
    }
}

/* When items begin and end, and pairs of them that may share units; items of parts do not count. */
static Events list_events(Arena *arena, const Problem *problem)
{
    Events events = { 0 };
    for (int i = 0; i < problem->n; i++) {
        const Event begin = { problem->begin[i], i, problem->size[i] };
        if (place_item(problem, i)->parts)
            continue;
        add_events(arena, &events, problem->end[i], begin);
        add_shared(arena, problem, i, &events);
    }
    if (events.n)
        qsort(events.at, events.n, sizeof *events.at, by_time);
    return events;
}

static int64_t most_alive(Arena *arena, const Problem *problem)
{
    const ArenaMark mark = arena_mark(arena);
    const Events events = list_events(arena, problem);
    int64_t now = 0;
    int64_t most = 0;
    for (size_t k = 0; k < events.n; k++) {
        const Event *event = events.at + k;
        now += event->grow;
        if (k + 1 == events.n || event[1].time != event->time)
            most = i64_max(most, now);
    }
    arena_release(arena, mark);
    return most;
}

/* ---- the set of one step ---- */

static void add_job(Bound *bound, const Live *live)
{
    const Job job = { live->item, live->low, live->length };
    VEC_PUSH(bound->arena, &bound->job, job);
}

/* Does the window share units with one chosen window at most, neither of them with holes? *with:
 * that one, or NULL; *shared: how many. */
static bool find_pair(const Bound *bound, const Live *live, Live **with,
                      int64_t *shared)
{
    const Problem *problem = bound->problem;
    const size_t *partners = problem->partners + live->item;
    *with = NULL;
    *shared = 0;
    for (size_t k = partners[0]; k < partners[1]; k++) {
        const Partner *partner = problem->partner + k;
        const int32_t at = bound->chosen_at[partner->item];
        if (!at)
            continue;
        Live *other = bound->chosen + at - 1;
        const int64_t units = most_shared(problem, live, other, partner);
        if (units == 0)
            continue;
        if (*with || other->paired || !live->whole || !other->whole)
            return false;
        *with = other;
        *shared = units;
    }
    return true;
}

/* Adds a special window to the chosen ones if it can count beside them; returns what it adds. */
static int64_t choose(Bound *bound, Live *live)
{
    Live *with;
    int64_t shared;
    if (!find_pair(bound, live, &with, &shared))
        return 0;
    live->paired = with != NULL;
    if (with)
        with->paired = true;
    else
        add_job(bound, live);
    bound->chosen[bound->n_chosen] = *live;
    bound->n_chosen++;
    bound->chosen_at[live->item] = bound->n_chosen;
    return live->length - shared;
}

/* Moves the special windows to the front and counts the others; returns how many are special. */
static int count_plain(Bound *bound, int64_t *sum)
{
    int special = 0;
    for (int k = 0; k < bound->n_live; k++) {
        const Live live = bound->live[k];
        if (bound->problem->special[live.item]) {
            bound->live[special] = live;
            special++;
        } else {
            *sum += live.length;
            add_job(bound, &live);
        }
    }
    return special;
}

static void count_step(Bound *bound)
{
    int64_t sum = 0;
    const int special = count_plain(bound, &sum);
    Live *live = bound->live;
    bound->n_chosen = 0;
    if (special > 1)
        qsort(live, (size_t)special, sizeof *live, by_length);
    for (int k = 0; k < special; k++)
        sum += choose(bound, live + k);
    for (int k = 0; k < bound->n_chosen; k++)
        bound->chosen_at[bound->chosen[k].item] = 0;
    bound->height = i64_max(bound->height, sum);
    VEC_PUSH(bound->arena, &bound->list, bound->job.n);
}

static size_t list_births(const Problem *problem, Event *event)
{
    size_t n = 0;
    for (int i = 0; i < problem->n; i++) {
        const PlaceItem *item = place_item(problem, i);
        event[n++] = (Event){ problem->begin[i], i, 0 };
        for (int k = 0; k < item->parts; k++) {
            const int32_t begin = item->part[k].begin;
            if (begin > problem->begin[i] && begin < problem->end[i])
                event[n++] = (Event){ begin, -1, 0 };
        }
    }
    return n;
}

/* The times at which something begins, rising: each item, and of parts alone each time once. */
static size_t births(const Bound *bound, Event **out)
{
    const Problem *problem = bound->problem;
    size_t most = 0;
    for (int i = 0; i < problem->n; i++)
        most += (size_t)place_item(problem, i)->parts + 1;
    Event *event = NEW_ARRAY(bound->arena, Event, most);
    const size_t n = list_births(problem, event);
    if (n)
        qsort(event, n, sizeof *event, by_time);
    size_t kept = 0;
    for (size_t k = 0; k < n; k++) {
        const bool first = kept && event[kept - 1].time != event[k].time;
        if (event[k].item < 0 && !first)
            continue;
        event[kept] = event[k];
        kept++;
    }
    *out = event;
    return kept;
}

/* What has not ended by now; returns how many. */
static int drop_ended(const Problem *problem, int32_t *alive, int n,
                      int32_t now)
{
    int kept = 0;
    for (int k = 0; k < n; k++) {
        const int32_t item = alive[k];
        if (problem->end[item] <= now)
            continue;
        alive[kept] = item;
        kept++;
    }
    return kept;
}

/* The windows of what is alive, those of no units left out. */
static void list_live(Bound *bound, const int32_t *alive, int n, int32_t now)
{
    bound->n_live = 0;
    for (int k = 0; k < n; k++) {
        const Live live = live_at(bound, alive[k], now);
        if (!live.length)
            continue;
        bound->live[bound->n_live] = live;
        bound->n_live++;
    }
}

static void count_steps(Bound *bound)
{
    const Problem *problem = bound->problem;
    Event *event;
    const size_t n = births(bound, &event);
    int32_t *alive = NEW_ARRAY(bound->arena, int32_t, problem->n);
    int n_alive = 0;
    for (size_t k = 0; k < n;) {
        const int32_t now = event[k].time;
        n_alive = drop_ended(problem, alive, n_alive, now);
        for (; k < n && event[k].time == now; k++)
            if (event[k].item >= 0)
                alive[n_alive++] = event[k].item;
        list_live(bound, alive, n_alive, now);
        count_step(bound);
    }
}

/* No lower than each item by itself. */
static int64_t least_height(Arena *arena, const Problem *problem)
{
    int64_t height = 0;
    if (problem->plain || problem->many)
        height = most_alive(arena, problem);
    for (int i = 0; i < problem->n; i++) {
        const int64_t place = i64_max(problem->pin[i], 0);
        height = i64_max(height, problem->size[i] + place);
    }
    return height;
}

int64_t place_bound(Arena *arena, Problem *problem)
{
    Bound bound = { .arena = arena, .problem = problem };
    bound.height = least_height(arena, problem);
    if (problem->plain || problem->many)
        return bound.height;
    bound.live = NEW_ARRAY(arena, Live, problem->n);
    bound.chosen = NEW_ARRAY(arena, Live, problem->n);
    bound.chosen_at = NEW_ARRAY(arena, int32_t, problem->n);
    VEC_PUSH(arena, &bound.list, 0);
    count_steps(&bound);
    problem->job = bound.job.at;
    problem->n_job = bound.job.n;
    problem->list = bound.list.at;
    problem->n_list = bound.list.n - 1;
    return bound.height;
}
