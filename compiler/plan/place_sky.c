/* SPDX-License-Identifier: Apache-2.0
 * Sections, their floors, and what follows from each change of one: see
 * place_sky.h. Branching is in place_exact.c. */
#include "plan/place_sky.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"

/* ---- the trail ---- */

static void set(Sky *sky, int64_t *where, int64_t value)
{
    VEC_PUSH(sky->arena, &sky->trail, ((SkyChange){ where, *where }));
    *where = value;
}

static void unplace(Sky *sky, int i)
{
    sky->placed[i] = false;
    sky->group_left[sky->group[i]]++;
    for (int s = sky->first[i]; s < sky->last[i]; s++) {
        sky->open_count[s]++;
        sky->rest[s] += sky->p->size[i];
        if (s > sky->first[i])
            sky->crossing[s]++;
    }
}

/* Placing moves an item behind the open ones of its sections and shortens them, so undoing only
 * counts up: any order among the open ones is as good. */
void sky_undo(Sky *sky, size_t mark)
{
    while (sky->trail.n > mark) {
        const SkyChange change = sky->trail.at[--sky->trail.n];
        if (change.where)
            *change.where = change.old;
        else
            unplace(sky, (int)change.old);
    }
}

/* ---- queues ---- */

static void push(SkyQueue *k, int s)
{
    if (k->in[s])
        return;
    k->in[s] = true;
    k->at[k->n++] = s;
}

static int pop(SkyQueue *k)
{
    const int s = k->at[--k->n];
    k->in[s] = false;
    return s;
}

static void clear(SkyQueue *k)
{
    while (k->n)
        pop(k);
}

static bool overflow(Sky *sky, int s)
{
    clear(&sky->raised);
    clear(&sky->stale);
    clear(&sky->touched);
    sky->weight[s]++;
    return false;
}

void sky_mark_all(Sky *sky)
{
    for (int s = 0; s < sky->sections; s++) {
        push(&sky->stale, s);
        push(&sky->touched, s);
    }
}

void sky_set_floor(Sky *sky, int s, int64_t y)
{
    set(sky, &sky->floor[s], y);
    push(&sky->raised, s);
    push(&sky->stale, s);
}

/* ---- placing ---- */

static void close_item(Sky *sky, int i, int s)
{
    int32_t *open = sky->open[s];
    const int k = sky->slot[i][s - sky->first[i]];
    const int end = --sky->open_count[s];
    const int j = open[end];
    open[k] = j;
    sky->slot[j][s - sky->first[j]] = k;
    open[end] = i;
    sky->slot[i][s - sky->first[i]] = end;
    sky->rest[s] -= sky->p->size[i];
    if (s > sky->first[i])
        sky->crossing[s]--;
}

void sky_put(Sky *sky, int i, int64_t y)
{
    VEC_PUSH(sky->arena, &sky->trail, ((SkyChange){ NULL, i }));
    sky->placed[i] = true;
    sky->offset[i] = y;
    sky->group_left[sky->group[i]]--;
    const int64_t end = y + sky->p->size[i];
    for (int s = sky->first[i]; s < sky->last[i]; s++) {
        close_item(sky, i, s);
        set(sky, &sky->top[s], end);
        set(sky, &sky->top_item[s], i);
        sky_set_floor(sky, s, end);
    }
}

/* ---- propagation ---- */

/* Widens the hole at s to either side as long as `least` units fit: sections *from .. *to - 1. */
static void widen_hole(Sky *sky, int s, int64_t least, int *from, int *to)
{
    sky->base[s] = sky->top[s];
    sky->roof[s] = sky->floor[s];
    int t = s;
    for (; t > *from && sky->roof[t] - sky->base[t] >= least; t--) {
        sky->base[t - 1] = i64_max(sky->base[t], sky->top[t - 1]);
        sky->roof[t - 1] = i64_min(sky->roof[t], sky->floor[t - 1]);
    }
    *from = t;
    for (t = s; t < *to - 1 && sky->roof[t] - sky->base[t] >= least; t++) {
        sky->base[t + 1] = i64_max(sky->base[t], sky->top[t + 1]);
        sky->roof[t + 1] = i64_min(sky->roof[t], sky->floor[t + 1]);
    }
    *to = t + 1;
}

/* A closed hole below the floor of s that an open item fits into: some other placement is lower. */
static bool wasteful(Sky *sky, int s)
{
    const int64_t hole = sky->floor[s] - sky->top[s];
    int64_t least = INT64_MAX;
    int from = s;
    int to = s + 1;
    for (int k = 0; k < sky->open_count[s]; k++) {
        const int i = sky->open[s][k];
        if (sky->p->size[i] > hole)
            continue;
        least = i64_min(least, sky->p->size[i]);
        if (sky->first[i] < from)
            from = sky->first[i];
        if (sky->last[i] > to)
            to = sky->last[i];
    }
    if (least > hole)
        return false;
    widen_hole(sky, s, least, &from, &to);
    for (int k = 0; k < sky->open_count[s]; k++) {
        const int i = sky->open[s][k];
        const int a = sky->first[i];
        const int b = sky->last[i] - 1;
        if (sky->p->size[i] > hole || a < from || b >= to)
            continue;
        const int64_t base = i64_max(sky->base[a], sky->base[b]);
        const int64_t roof = i64_min(sky->roof[a], sky->roof[b]);
        if (roof - place_up(base, sky->p->align[i]) >= sky->p->size[i])
            return true;
    }
    return false;
}

static void sort_by_earliest(Sky *sky, int s)
{
    int32_t *open = sky->open[s];
    for (int k = 1; k < sky->open_count[s]; k++) {
        const int i = open[k];
        const int64_t e = sky->earliest[i];
        if (sky->earliest[open[k - 1]] <= e)
            continue;
        int at = k;
        for (; at > 0 && sky->earliest[open[at - 1]] > e; at--) {
            open[at] = open[at - 1];
            sky->slot[open[at]][s - sky->first[open[at]]] = at;
        }
        open[at] = i;
        sky->slot[i][s - sky->first[i]] = at;
    }
}

/* One section alone is a machine with release dates: its open items, in order of their earliest. */
static bool fits_alone(Sky *sky, int s)
{
    int64_t y = 0;
    int64_t rest = sky->rest[s];
    if (rest > sky->capacity)
        return false;
    sort_by_earliest(sky, s);
    for (int k = 0; k < sky->open_count[s]; k++) {
        const int i = sky->open[s][k];
        y = i64_max(y, sky->earliest[i]);
        if (y + rest > sky->capacity)
            return false;
        y += sky->p->size[i];
        rest -= sky->p->size[i];
    }
    return true;
}

/* Item i rises to y. Only a section whose floor it held down may rise in turn, and only one that
 * cannot take all its open items above y may overflow. */
static void raise_item(Sky *sky, int i, int64_t y)
{
    const int64_t room = sky->capacity - y;
    const int64_t *holder = sky->holder;
    const int64_t *rest = sky->rest;
    const int last = sky->last[i];
    set(sky, &sky->earliest[i], y);
    for (int t = sky->first[i]; t < last; t++) {
        if (holder[t] == i)
            push(&sky->stale, t);
        if (rest[t] > room)
            push(&sky->touched, t);
    }
}

/* The floor of s rose: so do its open items. */
static void raise_items(Sky *sky, int s)
{
    const int64_t y = sky->floor[s];
    const int64_t *earliest = sky->earliest;
    const int32_t *open = sky->open[s];
    const int32_t *end = open + sky->open_count[s];
    for (; open < end; open++)
        if (earliest[*open] < y)
            raise_item(sky, *open, place_up(y, sky->p->align[*open]));
}

/* Lifts the floor of s to its least earliest. */
static bool settle(Sky *sky, int s)
{
    if (sky->open_count[s] == 0)
        return true;
    const int64_t y = sky->floor[s];
    const int64_t *earliest = sky->earliest;
    const int32_t *open = sky->open[s];
    int holder = open[0];
    int64_t low = earliest[holder];
    for (int k = 1; k < sky->open_count[s] && low > y; k++) {
        if (earliest[open[k]] >= low)
            continue;
        holder = open[k];
        low = earliest[holder];
    }
    if (sky->holder[s] != holder)
        set(sky, &sky->holder[s], holder);
    if (low <= y)
        return true;
    if (low + sky->rest[s] > sky->capacity)
        return false;
    set(sky, &sky->floor[s], low);
    return !wasteful(sky, s);
}

bool sky_propagate(Sky *sky)
{
    while (sky->raised.n || sky->stale.n) {
        const bool rising = sky->raised.n > 0;
        const int s = pop(rising ? &sky->raised : &sky->stale);
        if (rising) {
            if (sky->open_count[s] && sky->floor[s] + sky->rest[s] > sky->capacity)
                return overflow(sky, s);
            raise_items(sky, s);
        } else if (!settle(sky, s)) {
            return overflow(sky, s);
        }
    }
    while (sky->touched.n) {
        const int s = pop(&sky->touched);
        if (!fits_alone(sky, s))
            return overflow(sky, s);
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

static void find_kin(Sky *sky)
{
    const ArenaMark mark = arena_mark(sky->arena);
    Kin *kin = NEW_ARRAY(sky->arena, Kin, sky->n);
    for (int i = 0; i < sky->n; i++)
        kin[i] = (Kin){ sky->first[i], sky->last[i], i, sky->p->size[i], sky->p->align[i] };
    if (sky->n)
        qsort(kin, (size_t)sky->n, sizeof *kin, by_lifetime);
    for (int k = 0; k < sky->n; k++) {
        const Kin *x = &kin[k];
        const Kin *before = k ? &kin[k - 1] : NULL;
        const bool related = before && before->first == x->first && before->last == x->last;
        sky->group[x->item] = related ? sky->group[before->item] : x->item;
        sky->group_left[sky->group[x->item]]++;
        sky->twin[x->item] =
            related && before->size == x->size && before->align == x->align ? before->item : -1;
    }
    arena_release(sky->arena, mark);
}

static void open_items(Sky *sky)
{
    for (int i = 0; i < sky->n; i++) {
        sky->slot[i] = NEW_ARRAY(sky->arena, int32_t, sky->last[i] - sky->first[i]);
        for (int s = sky->first[i]; s < sky->last[i]; s++) {
            sky->slot[i][s - sky->first[i]] = sky->open_count[s]++;
            sky->rest[s] += sky->p->size[i];
            if (s > sky->first[i])
                sky->crossing[s]++;
        }
    }
    for (int s = 0; s < sky->sections; s++) {
        sky->open[s] = NEW_ARRAY(sky->arena, int32_t, sky->open_count[s]);
        sky->top_item[s] = sky->holder[s] = -1;
    }
    for (int i = 0; i < sky->n; i++)
        for (int s = sky->first[i]; s < sky->last[i]; s++)
            sky->open[s][sky->slot[i][s - sky->first[i]]] = i;
}

static void list_births(Sky *sky)
{
    for (int i = 0; i < sky->n; i++)
        sky->birth[sky->first[i] + 1]++;
    for (int s = 0; s < sky->sections; s++)
        sky->birth[s + 1] += sky->birth[s];
    for (int i = sky->n - 1; i >= 0; i--)
        sky->born[--sky->birth[sky->first[i] + 1]] = i;
    for (int s = 0; s < sky->sections; s++)
        sky->birth[s] = sky->birth[s + 1];
    sky->birth[sky->sections] = sky->n;
}

static SkyQueue new_queue(Arena *arena, int sections)
{
    return (SkyQueue){ .at = NEW_ARRAY(arena, int32_t, sections),
                       .in = NEW_ARRAY(arena, bool, sections) };
}

static void make_room(Sky *sky)
{
    Arena *a = sky->arena;
    const int n = sky->n;
    const int s = sky->sections;
    sky->first = NEW_ARRAY(a, int32_t, n);
    sky->last = NEW_ARRAY(a, int32_t, n);
    sky->earliest = NEW_ARRAY(a, int64_t, n);
    sky->offset = NEW_ARRAY(a, int64_t, n);
    sky->placed = NEW_ARRAY(a, bool, n);
    sky->group = NEW_ARRAY(a, int32_t, n);
    sky->group_left = NEW_ARRAY(a, int32_t, n);
    sky->twin = NEW_ARRAY(a, int32_t, n);
    sky->rank = NEW_ARRAY(a, int32_t, n);
    sky->slot = NEW_ARRAY(a, int32_t *, n);
    sky->seen = NEW_ARRAY(a, int32_t, n);
    sky->rests = NEW_ARRAY(a, bool, n);
    sky->item_key = NEW_ARRAY(a, uint64_t, n);
    sky->birth = NEW_ARRAY(a, int32_t, s + 1);
    sky->born = NEW_ARRAY(a, int32_t, n);
    sky->open = NEW_ARRAY(a, int32_t *, s);
    sky->open_count = NEW_ARRAY(a, int32_t, s);
    sky->floor = NEW_ARRAY(a, int64_t, s);
    sky->top = NEW_ARRAY(a, int64_t, s);
    sky->top_item = NEW_ARRAY(a, int64_t, s);
    sky->holder = NEW_ARRAY(a, int64_t, s);
    sky->base = NEW_ARRAY(a, int64_t, s);
    sky->roof = NEW_ARRAY(a, int64_t, s);
    sky->rest = NEW_ARRAY(a, int64_t, s);
    sky->crossing = NEW_ARRAY(a, int32_t, s);
    sky->weights = NEW_ARRAY(a, int64_t, (size_t)SKY_RULES * (size_t)s);
    sky->raised = new_queue(a, s);
    sky->stale = new_queue(a, s);
    sky->touched = new_queue(a, s);
}

Sky *place_sky_new(Arena *a, const Problem *problem, uint64_t budget)
{
    Sky *sky = NEW(a, Sky);
    int n_border;
    const int32_t *border = borders(a, problem, &n_border);
    *sky =
        (Sky){ .arena = a, .p = problem, .n = problem->n, .sections = n_border ? n_border - 1 : 0 };
    make_room(sky);
    for (int i = 0; i < sky->n; i++) {
        sky->first[i] = index_of(border, n_border, problem->begin[i]);
        sky->last[i] = index_of(border, n_border, problem->end[i]);
        sky->item_key[i] = sky_mix((uint64_t)i + 12345) & ~(uint64_t)1;
    }
    find_kin(sky);
    open_items(sky);
    list_births(sky);
    for (sky->table_bits = 8; sky->table_bits < 20 && (uint64_t)1 << sky->table_bits < budget;)
        sky->table_bits++;
    sky->table = NEW_ARRAY(a, uint64_t, (size_t)1 << sky->table_bits);
    return sky;
}
