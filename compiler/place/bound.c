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
    Arena *a;
    Problem *p;
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
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if ((x->grow < 0) != (y->grow < 0))
        return x->grow < 0 ? -1 : 1;
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
        const int64_t low = i64_ceil_div(part[k].offset, unit);
        const int64_t high = i64_ceil_div(part[k].offset + part[k].size, unit);
        if (live.length == 0)
            live.low = end = low;
        live.whole = live.whole && low <= end;
        live.length += i64_max(high - i64_max(low, end), 0);
        end = i64_max(end, high);
    }
    return live;
}

static Live live_parts(Bound *bound, int i, int32_t time)
{
    const PlaceItem *item = &bound->p->item[bound->p->from[i]];
    const ArenaMark mark = arena_mark(bound->a);
    PlacePart *part = NEW_ARRAY(bound->a, PlacePart, item->parts);
    size_t n = 0;
    for (int k = 0; k < item->parts; k++) {
        const PlacePart *other = item->part + k;
        if (other->size > 0 && other->begin <= time && time < other->end)
            part[n++] = *other;
    }
    if (n > 1)
        qsort(part, n, sizeof *part, by_place);
    Live live = join_parts(part, n, bound->p->unit);
    live.item = i;
    arena_release(bound->a, mark);
    return live;
}

static Live live_at(Bound *bound, int i, int32_t time)
{
    if (bound->p->item[bound->p->from[i]].parts)
        return live_parts(bound, i, time);
    return (Live){ .item = i, .length = bound->p->size[i], .whole = true };
}

/* ---- pairs that may overlap ---- */

static int64_t overlap_at(const Live *x, const Live *y, int64_t distance)
{
    const int64_t at =
        distance + x->low - y->low; /* of x's window, seen from y's */
    return i64_max(i64_min(at + x->length, y->length) - i64_max(at, 0), 0);
}

static bool distance_allowed(const Problem *problem, int i, const Partner *with,
                             int64_t distance)
{
    for (int32_t e = with->first; e < with->first + with->arcs; e++) {
        const Arc *arc = &problem->arc[e];
        const int64_t d = arc->i == i ? distance : -distance;
        if (arc->lo < d && d < arc->hi)
            return false;
    }
    return true;
}

/* The most units two windows may have in common: at the end of a forbidden interval, or nested. */
static int64_t most_shared(const Problem *problem, const Live *x, const Live *y,
                           const Partner *with)
{
    const int i = x->item;
    const int64_t nested = y->low - x->low;
    int64_t most = distance_allowed(problem, i, with, nested)
                       ? overlap_at(x, y, nested)
                       : 0;
    for (int32_t e = with->first; e < with->first + with->arcs; e++) {
        const Arc *arc = &problem->arc[e];
        const int64_t lo = arc->i == i ? arc->lo : -arc->hi;
        const int64_t hi = arc->i == i ? arc->hi : -arc->lo;
        if (distance_allowed(problem, i, with, lo))
            most = i64_max(most, overlap_at(x, y, lo));
        if (distance_allowed(problem, i, with, hi))
            most = i64_max(most, overlap_at(x, y, hi));
    }
    return most;
}

/* ---- all steps at once ---- */

typedef VEC(Event) Events;

static void add_events(Arena *arena, Events *events, int32_t begin, int32_t end,
                       int32_t item, int64_t grow)
{
    VEC_PUSH(arena, events, ((Event){ begin, item, grow }));
    VEC_PUSH(arena, events, ((Event){ end, item, -grow }));
}

/* What items with the same overrides may share is taken off, as if each pair shared other units. */
static void add_shared(Arena *arena, const Problem *problem, int i,
                       Events *events)
{
    const Live x = { .item = i, .length = problem->size[i] };
    for (size_t k = problem->partners[i]; k < problem->partners[i + 1]; k++) {
        const int32_t j = problem->partner[k].item;
        const int32_t begin =
            (int32_t)i64_max(problem->begin[i], problem->begin[j]);
        const int32_t end = (int32_t)i64_min(problem->end[i], problem->end[j]);
        const Live y = { .item = j, .length = problem->size[j] };
        if (j < i && begin < end && !problem->item[problem->from[j]].parts)
            add_events(arena, events, begin, end, i,
                       -most_shared(problem, &x, &y, problem->partner + k));
    }
}

/* Items of parts do not count. */
static int64_t most_alive(Arena *arena, const Problem *problem)
{
    const ArenaMark mark = arena_mark(arena);
    Events event = { 0 };
    for (int i = 0; i < problem->n; i++) {
        if (problem->item[problem->from[i]].parts)
            continue;
        add_events(arena, &event, problem->begin[i], problem->end[i], i,
                   problem->size[i]);
        add_shared(arena, problem, i, &event);
    }
    if (event.n)
        qsort(event.at, event.n, sizeof *event.at, by_time);
    int64_t now = 0;
    int64_t most = 0;
    for (size_t k = 0; k < event.n; k++) {
        now += event.at[k].grow;
        if (k + 1 == event.n || event.at[k + 1].time != event.at[k].time)
            most = i64_max(most, now);
    }
    arena_release(arena, mark);
    return most;
}

/* ---- the set of one step ---- */

static void add_job(Bound *bound, const Live *x)
{
    VEC_PUSH(bound->a, &bound->job, ((Job){ x->item, x->low, x->length }));
}

/* Adds a special window to the chosen ones if it can count beside them; returns what it adds. */
static int64_t choose(Bound *bound, Live *x)
{
    const Problem *problem = bound->p;
    Live *partner = NULL;
    int64_t shared = 0;
    for (size_t k = problem->partners[x->item];
         k < problem->partners[x->item + 1]; k++) {
        const int32_t at = bound->chosen_at[problem->partner[k].item];
        Live *y = at ? bound->chosen + at - 1 : NULL;
        const int64_t s =
            y ? most_shared(problem, x, y, problem->partner + k) : 0;
        if (s == 0)
            continue;
        if (partner || y->paired || !x->whole || !y->whole)
            return 0;
        partner = y;
        shared = s;
    }
    x->paired = partner != NULL;
    if (partner)
        partner->paired = true;
    else
        add_job(bound, x);
    bound->chosen[bound->n_chosen++] = *x;
    bound->chosen_at[x->item] = bound->n_chosen;
    return x->length - shared;
}

static void count_step(Bound *bound)
{
    int64_t sum = 0;
    int special = 0;
    bound->n_chosen = 0;
    for (int k = 0; k < bound->n_live; k++) {
        if (bound->p->special[bound->live[k].item]) {
            bound->live[special++] = bound->live[k];
        } else {
            sum += bound->live[k].length;
            add_job(bound, &bound->live[k]);
        }
    }
    if (special > 1)
        qsort(bound->live, (size_t)special, sizeof *bound->live, by_length);
    for (int k = 0; k < special; k++)
        sum += choose(bound, &bound->live[k]);
    for (int k = 0; k < bound->n_chosen; k++)
        bound->chosen_at[bound->chosen[k].item] = 0;
    bound->height = i64_max(bound->height, sum);
    VEC_PUSH(bound->a, &bound->list, bound->job.n);
}

static size_t list_births(const Problem *problem, Event *event)
{
    size_t n = 0;
    for (int i = 0; i < problem->n; i++) {
        const PlaceItem *item = &problem->item[problem->from[i]];
        event[n++] = (Event){ problem->begin[i], i, 0 };
        for (int k = 0; k < item->parts; k++) {
            const int32_t begin = item->part[k].begin;
            if (begin > problem->begin[i] && begin < problem->end[i])
                event[n++] = (Event){ begin, -1, 0 };
        }
    }
    return n;
}

/* The times at which something begins; each once, rising. */
static size_t births(Bound *bound, Event **out)
{
    const Problem *problem = bound->p;
    size_t most = 0;
    for (int i = 0; i < problem->n; i++)
        most += (size_t)problem->item[problem->from[i]].parts + 1;
    Event *event = NEW_ARRAY(bound->a, Event, most);
    const size_t n = list_births(problem, event);
    if (n)
        qsort(event, n, sizeof *event, by_time);
    size_t kept = 0;
    for (size_t k = 0; k < n; k++) {
        const bool first = kept && event[kept - 1].time != event[k].time;
        if (event[k].item >= 0 || first)
            event[kept++] = event[k];
    }
    *out = event;
    return kept;
}

static void count_steps(Bound *bound)
{
    const Problem *problem = bound->p;
    Event *event;
    const size_t n = births(bound, &event);
    int32_t *alive = NEW_ARRAY(bound->a, int32_t, problem->n);
    int n_alive = 0;
    for (size_t k = 0; k < n;) {
        const int32_t now = event[k].time;
        int kept = 0;
        for (int m = 0; m < n_alive; m++)
            if (problem->end[alive[m]] > now)
                alive[kept++] = alive[m];
        for (; k < n && event[k].time == now; k++)
            if (event[k].item >= 0)
                alive[kept++] = event[k].item;
        n_alive = kept;
        bound->n_live = 0;
        for (int m = 0; m < n_alive; m++) {
            bound->live[bound->n_live] = live_at(bound, alive[m], now);
            if (bound->live[bound->n_live].length)
                bound->n_live++;
        }
        count_step(bound);
    }
}

int64_t place_bound(Arena *arena, Problem *problem)
{
    int64_t height =
        problem->plain || problem->many ? most_alive(arena, problem) : 0;
    for (int i = 0; i < problem->n; i++)
        height =
            i64_max(height, problem->size[i] + i64_max(problem->pin[i], 0));
    if (problem->plain || problem->many)
        return height;
    Bound bound = { .a = arena, .p = problem, .height = height };
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
