/* SPDX-License-Identifier: Apache-2.0
 * Sections, their floors, and what follows from each change of one: see
 * skyline.h. Branching is in exact.c. */
#include "place/skyline.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "place/sections.h"

/* ---- the trail ---- */

static void set(Skyline *skyline, int64_t *where, int64_t value)
{
    const SkylineChange change = { where, *where };
    VEC_PUSH(skyline->arena, &skyline->trail, change);
    *where = value;
}

static void unplace(Skyline *skyline, int i)
{
    const int first = skyline->first[i];
    const int last = skyline->last[i];
    skyline->placed[i] = false;
    skyline->group_left[skyline->group[i]]++;
    for (int s = first; s < last; s++) {
        skyline->open_count[s]++;
        skyline->rest[s] += skyline->p->size[i];
        if (s > first)
            skyline->crossing[s]++;
    }
}

/* Placing moves an item behind the open ones of its sections and shortens them, so undoing only
 * counts up: any order among the open ones is as good. */
void skyline_undo(Skyline *skyline, size_t mark)
{
    while (skyline->trail.n > mark) {
        skyline->trail.n--;
        const SkylineChange change = skyline->trail.at[skyline->trail.n];
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
    k->at[k->n] = s;
    k->n++;
}

static int pop(SkylineQueue *k)
{
    k->n--;
    const int s = k->at[k->n];
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
    set(skyline, skyline->floor + s, y);
    push(&skyline->raised, s);
    push(&skyline->stale, s);
}

/* ---- placing ---- */

/* Where item i stands among those of section s. */
static int32_t *slot_in(const Skyline *skyline, int i, int s)
{
    return skyline->slot[i] + (s - skyline->first[i]);
}

static void close_item(Skyline *skyline, int i, int s)
{
    int32_t *open = skyline->open[s];
    int32_t *slot = slot_in(skyline, i, s);
    const int end = skyline->open_count[s] - 1;
    const int other = open[end];
    *slot_in(skyline, other, s) = *slot;
    open[*slot] = other;
    open[end] = i;
    *slot = end;
    skyline->open_count[s] = end;
    skyline->rest[s] -= skyline->p->size[i];
    if (s > skyline->first[i])
        skyline->crossing[s]--;
}

void skyline_put(Skyline *skyline, int i, int64_t y)
{
    const SkylineChange placed = { NULL, i };
    VEC_PUSH(skyline->arena, &skyline->trail, placed);
    skyline->placed[i] = true;
    skyline->offset[i] = y;
    skyline->group_left[skyline->group[i]]--;
    const int64_t end = y + skyline->p->size[i];
    const int last = skyline->last[i];
    for (int s = skyline->first[i]; s < last; s++) {
        close_item(skyline, i, s);
        set(skyline, skyline->top + s, end);
        set(skyline, skyline->top_item + s, i);
        skyline_set_floor(skyline, s, end);
    }
}

/* ---- propagation ---- */

/* Widens the hole at s to either side as long as `least` units fit: sections *from .. *to - 1. */
static void widen_hole(Skyline *skyline, int s, int64_t least, int *from,
                       int *to)
{
    int64_t *base = skyline->base;
    int64_t *roof = skyline->roof;
    int t = s;
    base[s] = skyline->top[s];
    roof[s] = skyline->floor[s];
    for (; t > *from && roof[t] - base[t] >= least; t--) {
        base[t - 1] = i64_max(base[t], skyline->top[t - 1]);
        roof[t - 1] = i64_min(roof[t], skyline->floor[t - 1]);
    }
    *from = t;
    for (t = s; t < *to - 1 && roof[t] - base[t] >= least; t++) {
        base[t + 1] = i64_max(base[t], skyline->top[t + 1]);
        roof[t + 1] = i64_min(roof[t], skyline->floor[t + 1]);
    }
    *to = t + 1;
}

/* The least of the open items of s that are as small as its hole, INT64_MAX if there is none; they
 * live in sections *from .. *to - 1. */
static int64_t least_fitting(const Skyline *skyline, int s, int64_t hole,
                             int *from, int *to)
{
    const int32_t *open = skyline->open[s];
    const int64_t *size = skyline->p->size;
    int64_t least = INT64_MAX;
    for (int k = 0; k < skyline->open_count[s]; k++) {
        const int i = open[k];
        if (size[i] > hole)
            continue;
        least = i64_min(least, size[i]);
        if (skyline->first[i] < *from)
            *from = skyline->first[i];
        if (skyline->last[i] > *to)
            *to = skyline->last[i];
    }
    return least;
}

/* Does an item fit between base and roof, from its first to its last section? */
static bool fits_hole(const Skyline *skyline, int i)
{
    const int a = skyline->first[i];
    const int b = skyline->last[i] - 1;
    const int64_t base = i64_max(skyline->base[a], skyline->base[b]);
    const int64_t roof = i64_min(skyline->roof[a], skyline->roof[b]);
    const int64_t low = place_up(base, skyline->p->align[i]);
    return roof - low >= skyline->p->size[i];
}

/* A closed hole below the floor of s that an open item fits into: some other placement is lower. */
static bool wasteful(Skyline *skyline, int s)
{
    const int64_t hole = skyline->floor[s] - skyline->top[s];
    const int32_t *open = skyline->open[s];
    int from = s;
    int to = s + 1;
    const int64_t least = least_fitting(skyline, s, hole, &from, &to);
    if (least > hole)
        return false;
    widen_hole(skyline, s, least, &from, &to);
    for (int k = 0; k < skyline->open_count[s]; k++) {
        const int i = open[k];
        const bool inside = skyline->first[i] >= from && skyline->last[i] <= to;
        if (inside && skyline->p->size[i] <= hole && fits_hole(skyline, i))
            return true;
    }
    return false;
}

static void sort_by_earliest(Skyline *skyline, int s)
{
    const int64_t *earliest = skyline->earliest;
    int32_t *open = skyline->open[s];
    for (int k = 1; k < skyline->open_count[s]; k++) {
        const int i = open[k];
        int at = k;
        if (earliest[open[k - 1]] <= earliest[i])
            continue;
        for (; at > 0 && earliest[open[at - 1]] > earliest[i]; at--) {
            open[at] = open[at - 1];
            *slot_in(skyline, open[at], s) = at;
        }
        open[at] = i;
        *slot_in(skyline, i, s) = at;
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
        const int64_t size = skyline->p->size[i];
        y = i64_max(y, skyline->earliest[i]);
        if (y + rest > skyline->capacity)
            return false;
        y += size;
        rest -= size;
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
    set(skyline, skyline->earliest + i, y);
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
    const int64_t *align = skyline->p->align;
    const int32_t *open = skyline->open[s];
    const int32_t *end = open + skyline->open_count[s];
    for (; open < end; open++)
        if (earliest[*open] < y)
            raise_item(skyline, *open, place_up(y, align[*open]));
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
        set(skyline, skyline->holder + s, holder);
    if (low <= y)
        return true;
    if (low + skyline->rest[s] > skyline->capacity)
        return false;
    set(skyline, skyline->floor + s, low);
    return !wasteful(skyline, s);
}

/* Is there room for the open items of s above its floor? */
static bool holds_open(const Skyline *skyline, int s)
{
    const int64_t end = skyline->floor[s] + skyline->rest[s];
    return !skyline->open_count[s] || end <= skyline->capacity;
}

bool skyline_propagate(Skyline *skyline)
{
    while (skyline->raised.n || skyline->stale.n) {
        const bool rising = skyline->raised.n > 0;
        const int s = pop(rising ? &skyline->raised : &skyline->stale);
        const bool holds = rising ? holds_open(skyline, s) : settle(skyline, s);
        if (!holds)
            return overflow(skyline, s);
        if (rising)
            raise_items(skyline, s);
    }
    while (skyline->touched.n) {
        const int s = pop(&skyline->touched);
        if (!fits_alone(skyline, s))
            return overflow(skyline, s);
    }
    return true;
}

/* ---- setting up ---- */

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
    if (x->item != y->item)
        return x->item < y->item ? -1 : 1;
    return 0;
}

static Kin *sort_kin(const Skyline *skyline)
{
    Kin *kin = NEW_ARRAY(skyline->arena, Kin, skyline->n);
    for (int i = 0; i < skyline->n; i++)
        kin[i] = (Kin){
            .first = skyline->first[i],
            .last = skyline->last[i],
            .item = i,
            .size = skyline->p->size[i],
            .align = skyline->p->align[i],
        };
    if (skyline->n)
        qsort(kin, (size_t)skyline->n, sizeof *kin, by_lifetime);
    return kin;
}

static bool are_related(const Kin *x, const Kin *y)
{
    return x->first == y->first && x->last == y->last;
}

static bool are_twins(const Kin *x, const Kin *y)
{
    return are_related(x, y) && x->size == y->size && x->align == y->align;
}

static void find_kin(Skyline *skyline)
{
    const ArenaMark mark = arena_mark(skyline->arena);
    const Kin *kin = sort_kin(skyline);
    for (int k = 0; k < skyline->n; k++) {
        const int32_t i = kin[k].item;
        int32_t group = i;
        int32_t twin = -1;
        if (k && are_related(kin + k, kin + k - 1))
            group = skyline->group[kin[k - 1].item];
        if (k && are_twins(kin + k, kin + k - 1))
            twin = kin[k - 1].item;
        skyline->group[i] = group;
        skyline->group_left[group]++;
        skyline->twin[i] = twin;
    }
    arena_release(skyline->arena, mark);
}

static void open_item(Skyline *skyline, int i)
{
    const int first = skyline->first[i];
    const int last = skyline->last[i];
    int32_t *slot = NEW_ARRAY(skyline->arena, int32_t, last - first);
    for (int s = first; s < last; s++) {
        slot[s - first] = skyline->open_count[s];
        skyline->open_count[s]++;
        skyline->rest[s] += skyline->p->size[i];
        if (s > first)
            skyline->crossing[s]++;
    }
    skyline->slot[i] = slot;
}

static void open_items(Skyline *skyline)
{
    for (int i = 0; i < skyline->n; i++)
        open_item(skyline, i);
    for (int s = 0; s < skyline->sections; s++) {
        const int32_t n = skyline->open_count[s];
        skyline->open[s] = NEW_ARRAY(skyline->arena, int32_t, n);
        skyline->top_item[s] = -1;
        skyline->holder[s] = -1;
    }
    for (int i = 0; i < skyline->n; i++) {
        const int last = skyline->last[i];
        for (int s = skyline->first[i]; s < last; s++)
            skyline->open[s][*slot_in(skyline, i, s)] = i;
    }
}

static SkylineQueue new_queue(Arena *arena, int sections)
{
    return (SkylineQueue){ .at = NEW_ARRAY(arena, int32_t, sections),
                           .in = NEW_ARRAY(arena, bool, sections) };
}

static void make_room_for_items(Skyline *skyline, Arena *arena, int n)
{
    skyline->earliest = NEW_ARRAY(arena, int64_t, n);
    skyline->offset = NEW_ARRAY(arena, int64_t, n);
    skyline->placed = NEW_ARRAY(arena, bool, n);
    skyline->group = NEW_ARRAY(arena, int32_t, n);
    skyline->group_left = NEW_ARRAY(arena, int32_t, n);
    skyline->twin = NEW_ARRAY(arena, int32_t, n);
    skyline->rank = NEW_ARRAY(arena, int32_t, n);
    skyline->slot = NEW_ARRAY(arena, int32_t *, n);
    skyline->seen = NEW_ARRAY(arena, int32_t, n);
    skyline->rests = NEW_ARRAY(arena, bool, n);
    skyline->item_key = NEW_ARRAY(arena, uint64_t, n);
}

static void make_room_for_sections(Skyline *skyline, Arena *arena, int n)
{
    const size_t weights = (size_t)SKY_RULES * (size_t)n;
    skyline->open = NEW_ARRAY(arena, int32_t *, n);
    skyline->open_count = NEW_ARRAY(arena, int32_t, n);
    skyline->floor = NEW_ARRAY(arena, int64_t, n);
    skyline->top = NEW_ARRAY(arena, int64_t, n);
    skyline->top_item = NEW_ARRAY(arena, int64_t, n);
    skyline->holder = NEW_ARRAY(arena, int64_t, n);
    skyline->base = NEW_ARRAY(arena, int64_t, n);
    skyline->roof = NEW_ARRAY(arena, int64_t, n);
    skyline->rest = NEW_ARRAY(arena, int64_t, n);
    skyline->crossing = NEW_ARRAY(arena, int32_t, n);
    skyline->weights = NEW_ARRAY(arena, int64_t, weights);
    skyline->raised = new_queue(arena, n);
    skyline->stale = new_queue(arena, n);
    skyline->touched = new_queue(arena, n);
}

static void make_table(Skyline *skyline, uint64_t budget)
{
    int bits = 8;
    while (bits < 20 && (uint64_t)1 << bits < budget)
        bits++;
    skyline->table_bits = bits;
    skyline->table = NEW_ARRAY(skyline->arena, uint64_t, (size_t)1 << bits);
}

Skyline *place_skyline_new(Arena *a, const Problem *problem, uint64_t budget)
{
    Skyline *skyline = NEW(a, Skyline);
    const Sections sections = place_sections(a, problem);
    *skyline = (Skyline){
        .arena = a,
        .p = problem,
        .n = problem->n,
        .sections = sections.n,
        .first = sections.first,
        .last = sections.last,
        .birth = sections.birth,
        .born = sections.born,
    };
    make_room_for_items(skyline, a, skyline->n);
    make_room_for_sections(skyline, a, skyline->sections);
    for (int i = 0; i < skyline->n; i++) {
        const uint64_t key = skyline_mix((uint64_t)i + 12345);
        skyline->item_key[i] = key & ~(uint64_t)1;
    }
    find_kin(skyline);
    open_items(skyline);
    make_table(skyline, budget);
    return skyline;
}
