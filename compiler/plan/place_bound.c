/* SPDX-License-Identifier: Apache-2.0
 * Heights that no placement can undercut. In a plain problem: the most bytes
 * alive at once. Else, at each step, a set of windows that exclude each other;
 * two windows allowed to overlap count as what they cover together at least.
 * The sets are kept as lists of jobs: the exact search packs them once more. */
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/vec.h"
#include "plan/place_internal.h"

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
    const Event *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if ((x->grow < 0) != (y->grow < 0))
        return x->grow < 0 ? -1 : 1;
    return x->item < y->item ? -1 : x->item > y->item;
}

static int by_length(const void *a, const void *b)
{
    const Live *x = a, *y = b;
    if (x->length != y->length)
        return x->length > y->length ? -1 : 1;
    return x->item < y->item ? -1 : x->item > y->item;
}

/* ---- windows of one step ---- */

static int by_place(const void *a, const void *b)
{
    const PlacePart *x = a, *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Windows count the units that begin in them: disjoint windows have no such unit in common. */
static Live live_parts(Bound *b, int i, int32_t time)
{
    const PlaceItem *item = &b->p->item[b->p->from[i]];
    const int64_t unit = b->p->unit;
    const ArenaMark mark = arena_mark(b->a);
    PlacePart *part = NEW_ARRAY(b->a, PlacePart, item->parts);
    size_t n = 0;
    for (int k = 0; k < item->parts; k++)
        if (item->part[k].size > 0 && item->part[k].begin <= time && time < item->part[k].end)
            part[n++] = item->part[k];
    if (n > 1)
        qsort(part, n, sizeof *part, by_place);
    Live live = { .item = i, .whole = true };
    int64_t end = 0;
    for (size_t k = 0; k < n; k++) {
        const int64_t low = i64_ceil_div(part[k].offset, unit),
                      high = i64_ceil_div(part[k].offset + part[k].size, unit);
        if (live.length == 0)
            live.low = end = low;
        live.whole = live.whole && low <= end;
        live.length += i64_max(high - i64_max(low, end), 0);
        end = i64_max(end, high);
    }
    arena_release(b->a, mark);
    return live;
}

static Live live_at(Bound *b, int i, int32_t time)
{
    if (b->p->item[b->p->from[i]].parts)
        return live_parts(b, i, time);
    return (Live){ .item = i, .length = b->p->size[i], .whole = true };
}

/* ---- pairs that may overlap ---- */

static int64_t overlap_at(const Live *x, const Live *y, int64_t distance)
{
    const int64_t at = distance + x->low - y->low; /* of x's window, seen from y's */
    return i64_max(i64_min(at + x->length, y->length) - i64_max(at, 0), 0);
}

static bool distance_allowed(const Problem *p, int i, const Partner *with, int64_t distance)
{
    for (int32_t e = with->first; e < with->first + with->arcs; e++) {
        const Arc *arc = &p->arc[e];
        const int64_t d = arc->i == i ? distance : -distance;
        if (arc->lo < d && d < arc->hi)
            return false;
    }
    return true;
}

/* The most units two windows may have in common: at the end of a forbidden interval, or nested. */
static int64_t most_shared(const Problem *p, const Live *x, const Live *y, const Partner *with)
{
    const int i = x->item;
    const int64_t nested = y->low - x->low;
    int64_t most = distance_allowed(p, i, with, nested) ? overlap_at(x, y, nested) : 0;
    for (int32_t e = with->first; e < with->first + with->arcs; e++) {
        const Arc *arc = &p->arc[e];
        const int64_t lo = arc->i == i ? arc->lo : -arc->hi, hi = arc->i == i ? arc->hi : -arc->lo;
        if (distance_allowed(p, i, with, lo))
            most = i64_max(most, overlap_at(x, y, lo));
        if (distance_allowed(p, i, with, hi))
            most = i64_max(most, overlap_at(x, y, hi));
    }
    return most;
}

/* ---- all steps at once ---- */

typedef VEC(Event) Events;

static void add_events(Arena *a, Events *e, int32_t begin, int32_t end, int32_t item, int64_t grow)
{
    VEC_PUSH(a, e, ((Event){ begin, item, grow }));
    VEC_PUSH(a, e, ((Event){ end, item, -grow }));
}

/* What items with the same overrides may share is taken off, as if each pair shared other units. */
static void add_shared(Arena *a, const Problem *p, int i, Events *e)
{
    const Live x = { .item = i, .length = p->size[i] };
    for (size_t k = p->partners[i]; k < p->partners[i + 1]; k++) {
        const int32_t j = p->partner[k].item;
        const int32_t begin = (int32_t)i64_max(p->begin[i], p->begin[j]),
                      end = (int32_t)i64_min(p->end[i], p->end[j]);
        const Live y = { .item = j, .length = p->size[j] };
        if (j < i && begin < end && !p->item[p->from[j]].parts)
            add_events(a, e, begin, end, i, -most_shared(p, &x, &y, p->partner + k));
    }
}

/* Items of parts do not count. */
static int64_t most_alive(Arena *a, const Problem *p)
{
    const ArenaMark mark = arena_mark(a);
    Events event = { 0 };
    for (int i = 0; i < p->n; i++) {
        if (p->item[p->from[i]].parts)
            continue;
        add_events(a, &event, p->begin[i], p->end[i], i, p->size[i]);
        add_shared(a, p, i, &event);
    }
    if (event.n)
        qsort(event.at, event.n, sizeof *event.at, by_time);
    int64_t now = 0, most = 0;
    for (size_t k = 0; k < event.n; k++) {
        now += event.at[k].grow;
        if (k + 1 == event.n || event.at[k + 1].time != event.at[k].time)
            most = i64_max(most, now);
    }
    arena_release(a, mark);
    return most;
}

/* ---- the set of one step ---- */

static void add_job(Bound *b, const Live *x)
{
    VEC_PUSH(b->a, &b->job, ((Job){ x->item, x->low, x->length }));
}

/* Adds a special window to the chosen ones if it can count beside them; returns what it adds. */
static int64_t choose(Bound *b, Live *x)
{
    const Problem *p = b->p;
    Live *partner = NULL;
    int64_t shared = 0;
    for (size_t k = p->partners[x->item]; k < p->partners[x->item + 1]; k++) {
        const int32_t at = b->chosen_at[p->partner[k].item];
        Live *y = at ? b->chosen + at - 1 : NULL;
        const int64_t s = y ? most_shared(p, x, y, p->partner + k) : 0;
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
        add_job(b, x);
    b->chosen[b->n_chosen++] = *x;
    b->chosen_at[x->item] = b->n_chosen;
    return x->length - shared;
}

static void count_step(Bound *b)
{
    int64_t sum = 0;
    int special = 0;
    b->n_chosen = 0;
    for (int k = 0; k < b->n_live; k++) {
        if (b->p->special[b->live[k].item]) {
            b->live[special++] = b->live[k];
        } else {
            sum += b->live[k].length;
            add_job(b, &b->live[k]);
        }
    }
    if (special > 1)
        qsort(b->live, (size_t)special, sizeof *b->live, by_length);
    for (int k = 0; k < special; k++)
        sum += choose(b, &b->live[k]);
    for (int k = 0; k < b->n_chosen; k++)
        b->chosen_at[b->chosen[k].item] = 0;
    b->height = i64_max(b->height, sum);
    VEC_PUSH(b->a, &b->list, b->job.n);
}

/* The times at which something begins; each once, rising. */
static size_t births(Bound *b, Event **out)
{
    const Problem *p = b->p;
    size_t n = 0, m = 0;
    for (int i = 0; i < p->n; i++)
        n += (size_t)p->item[p->from[i]].parts + 1;
    Event *event = NEW_ARRAY(b->a, Event, n);
    n = 0;
    for (int i = 0; i < p->n; i++) {
        const PlaceItem *item = &p->item[p->from[i]];
        event[n++] = (Event){ p->begin[i], i, 0 };
        for (int k = 0; k < item->parts; k++)
            if (item->part[k].begin > p->begin[i] && item->part[k].begin < p->end[i])
                event[n++] = (Event){ item->part[k].begin, -1, 0 };
    }
    if (n)
        qsort(event, n, sizeof *event, by_time);
    for (size_t k = 0; k < n; k++)
        if (event[k].item >= 0 || (m && event[m - 1].time != event[k].time))
            event[m++] = event[k];
    *out = event;
    return m;
}

static void count_steps(Bound *b)
{
    const Problem *p = b->p;
    Event *event;
    const size_t n = births(b, &event);
    int32_t *alive = NEW_ARRAY(b->a, int32_t, p->n);
    int n_alive = 0;
    for (size_t k = 0; k < n;) {
        const int32_t now = event[k].time;
        int kept = 0;
        for (int m = 0; m < n_alive; m++)
            if (p->end[alive[m]] > now)
                alive[kept++] = alive[m];
        for (; k < n && event[k].time == now; k++)
            if (event[k].item >= 0)
                alive[kept++] = event[k].item;
        n_alive = kept;
        b->n_live = 0;
        for (int m = 0; m < n_alive; m++) {
            b->live[b->n_live] = live_at(b, alive[m], now);
            if (b->live[b->n_live].length)
                b->n_live++;
        }
        count_step(b);
    }
}

int64_t place_bound(Arena *a, Problem *p)
{
    int64_t height = p->plain || p->many ? most_alive(a, p) : 0;
    for (int i = 0; i < p->n; i++)
        height = i64_max(height, p->size[i] + i64_max(p->pin[i], 0));
    if (p->plain || p->many)
        return height;
    Bound b = { .a = a, .p = p, .height = height };
    b.live = NEW_ARRAY(a, Live, p->n);
    b.chosen = NEW_ARRAY(a, Live, p->n);
    b.chosen_at = NEW_ARRAY(a, int32_t, p->n);
    VEC_PUSH(a, &b.list, 0);
    count_steps(&b);
    p->job = b.job.at;
    p->n_job = b.job.n;
    p->list = b.list.at;
    p->n_list = b.list.n - 1;
    return b.height;
}
