/* SPDX-License-Identifier: Apache-2.0
 * Sections, their floors, and what follows from each change of one: see
 * place_sky.h. Branching is in place_exact.c. */
#include "plan/place_sky.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"

/* ---- the trail ---- */

static void set(Sky *q, int64_t *where, int64_t value)
{
    VEC_PUSH(q->arena, &q->trail, ((SkyChange){ where, *where }));
    *where = value;
}

static void unplace(Sky *q, int i)
{
    q->placed[i] = false;
    q->group_left[q->group[i]]++;
    for (int s = q->first[i]; s < q->last[i]; s++) {
        q->open_count[s]++;
        q->rest[s] += q->p->size[i];
        if (s > q->first[i])
            q->crossing[s]++;
    }
}

/* Placing moves an item behind the open ones of its sections and shortens them, so undoing only
 * counts up: any order among the open ones is as good. */
void sky_undo(Sky *q, size_t mark)
{
    while (q->trail.n > mark) {
        const SkyChange c = q->trail.at[--q->trail.n];
        if (c.where)
            *c.where = c.old;
        else
            unplace(q, (int)c.old);
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

static bool overflow(Sky *q, int s)
{
    clear(&q->raised);
    clear(&q->stale);
    clear(&q->touched);
    q->weight[s]++;
    return false;
}

void sky_mark_all(Sky *q)
{
    for (int s = 0; s < q->sections; s++) {
        push(&q->stale, s);
        push(&q->touched, s);
    }
}

void sky_set_floor(Sky *q, int s, int64_t y)
{
    set(q, &q->floor[s], y);
    push(&q->raised, s);
    push(&q->stale, s);
}

/* ---- placing ---- */

static void close_item(Sky *q, int i, int s)
{
    int32_t *open = q->open[s];
    const int k = q->slot[i][s - q->first[i]], end = --q->open_count[s], j = open[end];
    open[k] = j;
    q->slot[j][s - q->first[j]] = k;
    open[end] = i;
    q->slot[i][s - q->first[i]] = end;
    q->rest[s] -= q->p->size[i];
    if (s > q->first[i])
        q->crossing[s]--;
}

void sky_put(Sky *q, int i, int64_t y)
{
    VEC_PUSH(q->arena, &q->trail, ((SkyChange){ NULL, i }));
    q->placed[i] = true;
    q->offset[i] = y;
    q->group_left[q->group[i]]--;
    const int64_t end = y + q->p->size[i];
    for (int s = q->first[i]; s < q->last[i]; s++) {
        close_item(q, i, s);
        set(q, &q->top[s], end);
        set(q, &q->top_item[s], i);
        sky_set_floor(q, s, end);
    }
}

/* ---- propagation ---- */

/* Widens the hole at s to either side as long as `least` units fit: sections *from .. *to - 1. */
static void widen_hole(Sky *q, int s, int64_t least, int *from, int *to)
{
    q->base[s] = q->top[s];
    q->roof[s] = q->floor[s];
    int t = s;
    for (; t > *from && q->roof[t] - q->base[t] >= least; t--) {
        q->base[t - 1] = i64_max(q->base[t], q->top[t - 1]);
        q->roof[t - 1] = i64_min(q->roof[t], q->floor[t - 1]);
    }
    *from = t;
    for (t = s; t < *to - 1 && q->roof[t] - q->base[t] >= least; t++) {
        q->base[t + 1] = i64_max(q->base[t], q->top[t + 1]);
        q->roof[t + 1] = i64_min(q->roof[t], q->floor[t + 1]);
    }
    *to = t + 1;
}

/* A closed hole below the floor of s that an open item fits into: some other placement is lower. */
static bool wasteful(Sky *q, int s)
{
    const int64_t hole = q->floor[s] - q->top[s];
    int64_t least = INT64_MAX;
    int from = s, to = s + 1;
    for (int k = 0; k < q->open_count[s]; k++) {
        const int i = q->open[s][k];
        if (q->p->size[i] > hole)
            continue;
        least = i64_min(least, q->p->size[i]);
        if (q->first[i] < from)
            from = q->first[i];
        if (q->last[i] > to)
            to = q->last[i];
    }
    if (least > hole)
        return false;
    widen_hole(q, s, least, &from, &to);
    for (int k = 0; k < q->open_count[s]; k++) {
        const int i = q->open[s][k], a = q->first[i], b = q->last[i] - 1;
        if (q->p->size[i] > hole || a < from || b >= to)
            continue;
        const int64_t base = i64_max(q->base[a], q->base[b]),
                      roof = i64_min(q->roof[a], q->roof[b]);
        if (roof - place_up(base, q->p->align[i]) >= q->p->size[i])
            return true;
    }
    return false;
}

static void sort_by_earliest(Sky *q, int s)
{
    int32_t *open = q->open[s];
    for (int k = 1; k < q->open_count[s]; k++) {
        const int i = open[k];
        const int64_t e = q->earliest[i];
        if (q->earliest[open[k - 1]] <= e)
            continue;
        int at = k;
        for (; at > 0 && q->earliest[open[at - 1]] > e; at--) {
            open[at] = open[at - 1];
            q->slot[open[at]][s - q->first[open[at]]] = at;
        }
        open[at] = i;
        q->slot[i][s - q->first[i]] = at;
    }
}

/* One section alone is a machine with release dates: its open items, in order of their earliest. */
static bool fits_alone(Sky *q, int s)
{
    int64_t y = 0, rest = q->rest[s];
    if (rest > q->capacity)
        return false;
    sort_by_earliest(q, s);
    for (int k = 0; k < q->open_count[s]; k++) {
        const int i = q->open[s][k];
        y = i64_max(y, q->earliest[i]);
        if (y + rest > q->capacity)
            return false;
        y += q->p->size[i];
        rest -= q->p->size[i];
    }
    return true;
}

/* Item i rises to y. Only a section whose floor it held down may rise in turn, and only one that
 * cannot take all its open items above y may overflow. */
static void raise_item(Sky *q, int i, int64_t y)
{
    const int64_t room = q->capacity - y, *holder = q->holder, *rest = q->rest;
    const int last = q->last[i];
    set(q, &q->earliest[i], y);
    for (int t = q->first[i]; t < last; t++) {
        if (holder[t] == i)
            push(&q->stale, t);
        if (rest[t] > room)
            push(&q->touched, t);
    }
}

/* The floor of s rose: so do its open items. */
static void raise_items(Sky *q, int s)
{
    const int64_t y = q->floor[s], *earliest = q->earliest;
    const int32_t *open = q->open[s], *end = open + q->open_count[s];
    for (; open < end; open++)
        if (earliest[*open] < y)
            raise_item(q, *open, place_up(y, q->p->align[*open]));
}

/* Lifts the floor of s to its least earliest. */
static bool settle(Sky *q, int s)
{
    if (q->open_count[s] == 0)
        return true;
    const int64_t y = q->floor[s], *earliest = q->earliest;
    const int32_t *open = q->open[s];
    int holder = open[0];
    int64_t low = earliest[holder];
    for (int k = 1; k < q->open_count[s] && low > y; k++) {
        if (earliest[open[k]] >= low)
            continue;
        holder = open[k];
        low = earliest[holder];
    }
    if (q->holder[s] != holder)
        set(q, &q->holder[s], holder);
    if (low <= y)
        return true;
    if (low + q->rest[s] > q->capacity)
        return false;
    set(q, &q->floor[s], low);
    return !wasteful(q, s);
}

bool sky_propagate(Sky *q)
{
    while (q->raised.n || q->stale.n) {
        const bool rising = q->raised.n > 0;
        const int s = pop(rising ? &q->raised : &q->stale);
        if (rising) {
            if (q->open_count[s] && q->floor[s] + q->rest[s] > q->capacity)
                return overflow(q, s);
            raise_items(q, s);
        } else if (!settle(q, s)) {
            return overflow(q, s);
        }
    }
    while (q->touched.n) {
        const int s = pop(&q->touched);
        if (!fits_alone(q, s))
            return overflow(q, s);
    }
    return true;
}

/* ---- setting up ---- */

static int by_value(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

static int32_t *borders(Arena *a, const Problem *p, int *count)
{
    int32_t *time = NEW_ARRAY(a, int32_t, 2 * (size_t)p->n);
    int n = 0;
    for (int i = 0; i < p->n; i++) {
        time[2 * i] = p->begin[i];
        time[2 * i + 1] = p->end[i];
    }
    if (p->n)
        qsort(time, 2 * (size_t)p->n, sizeof *time, by_value);
    for (int k = 0; k < 2 * p->n; k++)
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
    const Kin *x = a, *y = b;
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

static void find_kin(Sky *q)
{
    const ArenaMark mark = arena_mark(q->arena);
    Kin *kin = NEW_ARRAY(q->arena, Kin, q->n);
    for (int i = 0; i < q->n; i++)
        kin[i] = (Kin){ q->first[i], q->last[i], i, q->p->size[i], q->p->align[i] };
    if (q->n)
        qsort(kin, (size_t)q->n, sizeof *kin, by_lifetime);
    for (int k = 0; k < q->n; k++) {
        const Kin *x = &kin[k], *before = k ? &kin[k - 1] : NULL;
        const bool related = before && before->first == x->first && before->last == x->last;
        q->group[x->item] = related ? q->group[before->item] : x->item;
        q->group_left[q->group[x->item]]++;
        q->twin[x->item] =
            related && before->size == x->size && before->align == x->align ? before->item : -1;
    }
    arena_release(q->arena, mark);
}

static void open_items(Sky *q)
{
    for (int i = 0; i < q->n; i++) {
        q->slot[i] = NEW_ARRAY(q->arena, int32_t, q->last[i] - q->first[i]);
        for (int s = q->first[i]; s < q->last[i]; s++) {
            q->slot[i][s - q->first[i]] = q->open_count[s]++;
            q->rest[s] += q->p->size[i];
            if (s > q->first[i])
                q->crossing[s]++;
        }
    }
    for (int s = 0; s < q->sections; s++) {
        q->open[s] = NEW_ARRAY(q->arena, int32_t, q->open_count[s]);
        q->top_item[s] = q->holder[s] = -1;
    }
    for (int i = 0; i < q->n; i++)
        for (int s = q->first[i]; s < q->last[i]; s++)
            q->open[s][q->slot[i][s - q->first[i]]] = i;
}

static void list_births(Sky *q)
{
    for (int i = 0; i < q->n; i++)
        q->birth[q->first[i] + 1]++;
    for (int s = 0; s < q->sections; s++)
        q->birth[s + 1] += q->birth[s];
    for (int i = q->n - 1; i >= 0; i--)
        q->born[--q->birth[q->first[i] + 1]] = i;
    for (int s = 0; s < q->sections; s++)
        q->birth[s] = q->birth[s + 1];
    q->birth[q->sections] = q->n;
}

static SkyQueue new_queue(Arena *a, int sections)
{
    return (SkyQueue){ .at = NEW_ARRAY(a, int32_t, sections), .in = NEW_ARRAY(a, bool, sections) };
}

static void make_room(Sky *q)
{
    Arena *a = q->arena;
    const int n = q->n, s = q->sections;
    q->first = NEW_ARRAY(a, int32_t, n);
    q->last = NEW_ARRAY(a, int32_t, n);
    q->earliest = NEW_ARRAY(a, int64_t, n);
    q->offset = NEW_ARRAY(a, int64_t, n);
    q->placed = NEW_ARRAY(a, bool, n);
    q->group = NEW_ARRAY(a, int32_t, n);
    q->group_left = NEW_ARRAY(a, int32_t, n);
    q->twin = NEW_ARRAY(a, int32_t, n);
    q->rank = NEW_ARRAY(a, int32_t, n);
    q->slot = NEW_ARRAY(a, int32_t *, n);
    q->seen = NEW_ARRAY(a, int32_t, n);
    q->rests = NEW_ARRAY(a, bool, n);
    q->item_key = NEW_ARRAY(a, uint64_t, n);
    q->birth = NEW_ARRAY(a, int32_t, s + 1);
    q->born = NEW_ARRAY(a, int32_t, n);
    q->open = NEW_ARRAY(a, int32_t *, s);
    q->open_count = NEW_ARRAY(a, int32_t, s);
    q->floor = NEW_ARRAY(a, int64_t, s);
    q->top = NEW_ARRAY(a, int64_t, s);
    q->top_item = NEW_ARRAY(a, int64_t, s);
    q->holder = NEW_ARRAY(a, int64_t, s);
    q->base = NEW_ARRAY(a, int64_t, s);
    q->roof = NEW_ARRAY(a, int64_t, s);
    q->rest = NEW_ARRAY(a, int64_t, s);
    q->crossing = NEW_ARRAY(a, int32_t, s);
    q->weights = NEW_ARRAY(a, int64_t, (size_t)SKY_RULES * (size_t)s);
    q->raised = new_queue(a, s);
    q->stale = new_queue(a, s);
    q->touched = new_queue(a, s);
}

Sky *place_sky_new(Arena *a, const Problem *p, uint64_t budget)
{
    Sky *q = NEW(a, Sky);
    int n_border;
    const int32_t *border = borders(a, p, &n_border);
    *q = (Sky){ .arena = a, .p = p, .n = p->n, .sections = n_border ? n_border - 1 : 0 };
    make_room(q);
    for (int i = 0; i < q->n; i++) {
        q->first[i] = index_of(border, n_border, p->begin[i]);
        q->last[i] = index_of(border, n_border, p->end[i]);
        q->item_key[i] = sky_mix((uint64_t)i + 12345) & ~(uint64_t)1;
    }
    find_kin(q);
    open_items(q);
    list_births(q);
    for (q->table_bits = 8; q->table_bits < 20 && (uint64_t)1 << q->table_bits < budget;)
        q->table_bits++;
    q->table = NEW_ARRAY(a, uint64_t, (size_t)1 << q->table_bits);
    return q;
}
