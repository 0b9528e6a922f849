/* SPDX-License-Identifier: Apache-2.0
 * Sections, their floors, and what follows from each change of one: see
 * skyline.h. Branching is in exact.c. */
#include "place/skyline.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"

/* ---- the trail ---- */

static void set(Skyline *skyline, int64_t *where, int64_t value)
{
    VEC_PUSH(skyline->arena, &skyline->trail,
             ((SkylineChange){ where, *where }));
    *where = value;
}

static void unplace(Skyline *skyline, int i)
{
    skyline->placed[i] = false;
    skyline->group_left[skyline->group[i]]++;
    for (int s = skyline->first[i]; s < skyline->last[i]; s++) {
        skyline->open_count[s]++;
        skyline->rest[s] += skyline->p->size[i];
        if (s > skyline->first[i])
            skyline->crossing[s]++;
    }
}

/* Placing moves an item behind the open ones of its sections and shortens them, so undoing only
 * counts up: any order among the open ones is as good. */
void skyline_undo(Skyline *skyline, size_t mark)
{
    while (skyline->trail.n > mark) {
        const SkylineChange change = skyline->trail.at[--skyline->trail.n];
        if (change.where)
            *change.where = change.old;
        else
            unplace(skyline, (int)change.old);
    }
}

/* ---- queues ---- */

static void push(SkylineQueue *k, int s)
{
    if (k->in[s])
        return;
    k->in[s] = true;
    k->at[k->n++] = s;
}

static int pop(SkylineQueue *k)
{
    const int s = k->at[--k->n];
    k->in[s] = false;
    return s;
}

static void clear(SkylineQueue *k)
{
    while (k->n)
        pop(k);
}

static bool overflow(Skyline *skyline, int s)
{
    clear(&skyline->raised);
    clear(&skyline->stale);
    clear(&skyline->touched);
    skyline->weight[s]++;
    return false;
}

void skyline_mark_all(Skyline *skyline)
{
    for (int s = 0; s < skyline->sections; s++) {
        push(&skyline->stale, s);
        push(&skyline->touched, s);
    }
}

void skyline_set_floor(Skyline *skyline, int s, int64_t y)
{
    set(skyline, &skyline->floor[s], y);
    push(&skyline->raised, s);
    push(&skyline->stale, s);
}

/* ---- placing ---- */

static void close_item(Skyline *skyline, int i, int s)
{
    int32_t *open = skyline->open[s];
    const int k = skyline->slot[i][s - skyline->first[i]];
    const int end = --skyline->open_count[s];
    const int j = open[end];
    open[k] = j;
    skyline->slot[j][s - skyline->first[j]] = k;
    open[end] = i;
    skyline->slot[i][s - skyline->first[i]] = end;
    skyline->rest[s] -= skyline->p->size[i];
    if (s > skyline->first[i])
        skyline->crossing[s]--;
}

void skyline_put(Skyline *skyline, int i, int64_t y)
{
    VEC_PUSH(skyline->arena, &skyline->trail, ((SkylineChange){ NULL, i }));
    skyline->placed[i] = true;
    skyline->offset[i] = y;
    skyline->group_left[skyline->group[i]]--;
    const int64_t end = y + skyline->p->size[i];
    for (int s = skyline->first[i]; s < skyline->last[i]; s++) {
        close_item(skyline, i, s);
        set(skyline, &skyline->top[s], end);
        set(skyline, &skyline->top_item[s], i);
        skyline_set_floor(skyline, s, end);
    }
}

/* ---- propagation ---- */

/* Widens the hole at s to either side as long as `least` units fit: sections *from .. *to - 1. */
static void widen_hole(Skyline *skyline, int s, int64_t least, int *from,
                       int *to)
{
    skyline->base[s] = skyline->top[s];
    skyline->roof[s] = skyline->floor[s];
    int t = s;
    for (; t > *from && skyline->roof[t] - skyline->base[t] >= least; t--) {
        skyline->base[t - 1] = i64_max(skyline->base[t], skyline->top[t - 1]);
        skyline->roof[t - 1] = i64_min(skyline->roof[t], skyline->floor[t - 1]);
    }
    *from = t;
    for (t = s; t < *to - 1 && skyline->roof[t] - skyline->base[t] >= least;
         t++) {
        skyline->base[t + 1] = i64_max(skyline->base[t], skyline->top[t + 1]);
        skyline->roof[t + 1] = i64_min(skyline->roof[t], skyline->floor[t + 1]);
    }
    *to = t + 1;
}

/* A closed hole below the floor of s that an open item fits into: some other placement is lower. */
static bool wasteful(Skyline *skyline, int s)
{
    const int64_t hole = skyline->floor[s] - skyline->top[s];
    int64_t least = INT64_MAX;
    int from = s;
    int to = s + 1;
    for (int k = 0; k < skyline->open_count[s]; k++) {
        const int i = skyline->open[s][k];
        if (skyline->p->size[i] > hole)
            continue;
        least = i64_min(least, skyline->p->size[i]);
        if (skyline->first[i] < from)
            from = skyline->first[i];
        if (skyline->last[i] > to)
            to = skyline->last[i];
    }
    if (least > hole)
        return false;
    widen_hole(skyline, s, least, &from, &to);
    for (int k = 0; k < skyline->open_count[s]; k++) {
        const int i = skyline->open[s][k];
        const int a = skyline->first[i];
        const int b = skyline->last[i] - 1;
        if (skyline->p->size[i] > hole || a < from || b >= to)
            continue;
        const int64_t base = i64_max(skyline->base[a], skyline->base[b]);
        const int64_t roof = i64_min(skyline->roof[a], skyline->roof[b]);
        if (roof - place_up(base, skyline->p->align[i]) >= skyline->p->size[i])
            return true;
    }
    return false;
}

static void sort_by_earliest(Skyline *skyline, int s)
{
    int32_t *open = skyline->open[s];
    for (int k = 1; k < skyline->open_count[s]; k++) {
        const int i = open[k];
        const int64_t e = skyline->earliest[i];
        if (skyline->earliest[open[k - 1]] <= e)
            continue;
        int at = k;
        for (; at > 0 && skyline->earliest[open[at - 1]] > e; at--) {
            open[at] = open[at - 1];
            skyline->slot[open[at]][s - skyline->first[open[at]]] = at;
        }
        open[at] = i;
        skyline->slot[i][s - skyline->first[i]] = at;
    }
}

/* One section alone is a machine with release dates: its open items, in order of their earliest. */
static bool fits_alone(Skyline *skyline, int s)
{
    int64_t y = 0;
    int64_t rest = skyline->rest[s];
    if (rest > skyline->capacity)
        return false;
    sort_by_earliest(skyline, s);
    for (int k = 0; k < skyline->open_count[s]; k++) {
        const int i = skyline->open[s][k];
        y = i64_max(y, skyline->earliest[i]);
        if (y + rest > skyline->capacity)
            return false;
        y += skyline->p->size[i];
        rest -= skyline->p->size[i];
    }
    return true;
}

/* Item i rises to y. Only a section whose floor it held down may rise in turn, and only one that
 * cannot take all its open items above y may overflow. */
static void raise_item(Skyline *skyline, int i, int64_t y)
{
    const int64_t room = skyline->capacity - y;
    const int64_t *holder = skyline->holder;
    const int64_t *rest = skyline->rest;
    const int last = skyline->last[i];
    set(skyline, &skyline->earliest[i], y);
    for (int t = skyline->first[i]; t < last; t++) {
        if (holder[t] == i)
            push(&skyline->stale, t);
        if (rest[t] > room)
            push(&skyline->touched, t);
    }
}

/* The floor of s rose: so do its open items. */
static void raise_items(Skyline *skyline, int s)
{
    const int64_t y = skyline->floor[s];
    const int64_t *earliest = skyline->earliest;
    const int32_t *open = skyline->open[s];
    const int32_t *end = open + skyline->open_count[s];
    for (; open < end; open++)
        if (earliest[*open] < y)
            raise_item(skyline, *open, place_up(y, skyline->p->align[*open]));
}

/* Lifts the floor of s to its least earliest. */
static bool settle(Skyline *skyline, int s)
{
    if (skyline->open_count[s] == 0)
        return true;
    const int64_t y = skyline->floor[s];
    const int64_t *earliest = skyline->earliest;
    const int32_t *open = skyline->open[s];
    int holder = open[0];
    int64_t low = earliest[holder];
    for (int k = 1; k < skyline->open_count[s] && low > y; k++) {
        if (earliest[open[k]] >= low)
            continue;
        holder = open[k];
        low = earliest[holder];
    }
    if (skyline->holder[s] != holder)
        set(skyline, &skyline->holder[s], holder);
    if (low <= y)
        return true;
    if (low + skyline->rest[s] > skyline->capacity)
        return false;
    set(skyline, &skyline->floor[s], low);
    return !wasteful(skyline, s);
}

bool skyline_propagate(Skyline *skyline)
{
    while (skyline->raised.n || skyline->stale.n) {
        const bool rising = skyline->raised.n > 0;
        const int s = pop(rising ? &skyline->raised : &skyline->stale);
        if (rising) {
            if (skyline->open_count[s] &&
                skyline->floor[s] + skyline->rest[s] > skyline->capacity)
                return overflow(skyline, s);
            raise_items(skyline, s);
        } else if (!settle(skyline, s)) {
            return overflow(skyline, s);
        }
    }
    while (skyline->touched.n) {
        const int s = pop(&skyline->touched);
        if (!fits_alone(skyline, s))
            return overflow(skyline, s);
    }
    return true;
}

/* ---- setting up ---- */

static int by_value(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a;
    const int32_t y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

static int32_t *borders(Arena *arena, const Problem *problem, int *count)
{
    int32_t *time = NEW_ARRAY(arena, int32_t, 2 * (size_t)problem->n);
    int n = 0;
    for (int i = 0; i < problem->n; i++) {
        time[2 * i] = problem->begin[i];
        time[2 * i + 1] = problem->end[i];
    }
    if (problem->n)
        qsort(time, 2 * (size_t)problem->n, sizeof *time, by_value);
    for (int k = 0; k < 2 * problem->n; k++)
        if (n == 0 || time[k] != time[n - 1])
            time[n++] = time[k];
    *count = n;
    return time;
}

static int index_of(const int32_t *time, int n, int32_t t)
{
    const int32_t *at = bsearch(&t, time, (size_t)n, sizeof t, by_value);
    return (int)(at - time);
}

typedef struct Kin {
    int32_t first, last, item;
    int64_t size, align;
} Kin;

static int by_lifetime(const void *a, const void *b)
{
    const Kin *x = a;
    const Kin *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    if (x->last != y->last)
        return x->last < y->last ? -1 : 1;
    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    if (x->align != y->align)
        return x->align < y->align ? -1 : 1;
    return x->item < y->item ? -1 : x->item > y->item;
}

static void find_kin(Skyline *skyline)
{
    const ArenaMark mark = arena_mark(skyline->arena);
    Kin *kin = NEW_ARRAY(skyline->arena, Kin, skyline->n);
    for (int i = 0; i < skyline->n; i++)
        kin[i] = (Kin){ skyline->first[i], skyline->last[i], i,
                        skyline->p->size[i], skyline->p->align[i] };
    if (skyline->n)
        qsort(kin, (size_t)skyline->n, sizeof *kin, by_lifetime);
    for (int k = 0; k < skyline->n; k++) {
        const Kin *x = &kin[k];
        const Kin *before = k ? &kin[k - 1] : NULL;
        const bool related =
            before && before->first == x->first && before->last == x->last;
        skyline->group[x->item] =
            related ? skyline->group[before->item] : x->item;
        skyline->group_left[skyline->group[x->item]]++;
        skyline->twin[x->item] =
            related && before->size == x->size && before->align == x->align
                ? before->item
                : -1;
    }
    arena_release(skyline->arena, mark);
}

static void open_items(Skyline *skyline)
{
    for (int i = 0; i < skyline->n; i++) {
        skyline->slot[i] = NEW_ARRAY(skyline->arena, int32_t,
                                     skyline->last[i] - skyline->first[i]);
        for (int s = skyline->first[i]; s < skyline->last[i]; s++) {
            skyline->slot[i][s - skyline->first[i]] = skyline->open_count[s]++;
            skyline->rest[s] += skyline->p->size[i];
            if (s > skyline->first[i])
                skyline->crossing[s]++;
        }
    }
    for (int s = 0; s < skyline->sections; s++) {
        skyline->open[s] =
            NEW_ARRAY(skyline->arena, int32_t, skyline->open_count[s]);
        skyline->top_item[s] = skyline->holder[s] = -1;
    }
    for (int i = 0; i < skyline->n; i++)
        for (int s = skyline->first[i]; s < skyline->last[i]; s++)
            skyline->open[s][skyline->slot[i][s - skyline->first[i]]] = i;
}

static void list_births(Skyline *skyline)
{
    for (int i = 0; i < skyline->n; i++)
        skyline->birth[skyline->first[i] + 1]++;
    for (int s = 0; s < skyline->sections; s++)
        skyline->birth[s + 1] += skyline->birth[s];
    for (int i = skyline->n - 1; i >= 0; i--)
        skyline->born[--skyline->birth[skyline->first[i] + 1]] = i;
    for (int s = 0; s < skyline->sections; s++)
        skyline->birth[s] = skyline->birth[s + 1];
    skyline->birth[skyline->sections] = skyline->n;
}

static SkylineQueue new_queue(Arena *arena, int sections)
{
    return (SkylineQueue){ .at = NEW_ARRAY(arena, int32_t, sections),
                           .in = NEW_ARRAY(arena, bool, sections) };
}

static void make_room(Skyline *skyline)
{
    Arena *a = skyline->arena;
    const int n = skyline->n;
    const int s = skyline->sections;
    skyline->first = NEW_ARRAY(a, int32_t, n);
    skyline->last = NEW_ARRAY(a, int32_t, n);
    skyline->earliest = NEW_ARRAY(a, int64_t, n);
    skyline->offset = NEW_ARRAY(a, int64_t, n);
    skyline->placed = NEW_ARRAY(a, bool, n);
    skyline->group = NEW_ARRAY(a, int32_t, n);
    skyline->group_left = NEW_ARRAY(a, int32_t, n);
    skyline->twin = NEW_ARRAY(a, int32_t, n);
    skyline->rank = NEW_ARRAY(a, int32_t, n);
    skyline->slot = NEW_ARRAY(a, int32_t *, n);
    skyline->seen = NEW_ARRAY(a, int32_t, n);
    skyline->rests = NEW_ARRAY(a, bool, n);
    skyline->item_key = NEW_ARRAY(a, uint64_t, n);
    skyline->birth = NEW_ARRAY(a, int32_t, s + 1);
    skyline->born = NEW_ARRAY(a, int32_t, n);
    skyline->open = NEW_ARRAY(a, int32_t *, s);
    skyline->open_count = NEW_ARRAY(a, int32_t, s);
    skyline->floor = NEW_ARRAY(a, int64_t, s);
    skyline->top = NEW_ARRAY(a, int64_t, s);
    skyline->top_item = NEW_ARRAY(a, int64_t, s);
    skyline->holder = NEW_ARRAY(a, int64_t, s);
    skyline->base = NEW_ARRAY(a, int64_t, s);
    skyline->roof = NEW_ARRAY(a, int64_t, s);
    skyline->rest = NEW_ARRAY(a, int64_t, s);
    skyline->crossing = NEW_ARRAY(a, int32_t, s);
    skyline->weights = NEW_ARRAY(a, int64_t, (size_t)SKY_RULES * (size_t)s);
    skyline->raised = new_queue(a, s);
    skyline->stale = new_queue(a, s);
    skyline->touched = new_queue(a, s);
}

Skyline *place_skyline_new(Arena *a, const Problem *problem, uint64_t budget)
{
    Skyline *skyline = NEW(a, Skyline);
    int n_border;
    const int32_t *border = borders(a, problem, &n_border);
    *skyline = (Skyline){ .arena = a,
                          .p = problem,
                          .n = problem->n,
                          .sections = n_border ? n_border - 1 : 0 };
    make_room(skyline);
    for (int i = 0; i < skyline->n; i++) {
        skyline->first[i] = index_of(border, n_border, problem->begin[i]);
        skyline->last[i] = index_of(border, n_border, problem->end[i]);
        skyline->item_key[i] = skyline_mix((uint64_t)i + 12345) & ~(uint64_t)1;
    }
    find_kin(skyline);
    open_items(skyline);
    list_births(skyline);
    for (skyline->table_bits = 8; skyline->table_bits < 20 &&
                                  (uint64_t)1 << skyline->table_bits < budget;)
        skyline->table_bits++;
    skyline->table = NEW_ARRAY(a, uint64_t, (size_t)1 << skyline->table_bits);
    return skyline;
}
