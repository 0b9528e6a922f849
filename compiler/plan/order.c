/* SPDX-License-Identifier: Apache-2.0
 * Best-first search over sets of executed steps, by peak. A step that is ready, does not raise the peak and
 * does not let the live bytes grow is taken at once: doing it earlier can never make a later state worse. */
#include "plan/order.h"

#include <string.h>

#include "base/size.h"

typedef struct State {
    uint64_t *done;             /* bit set of steps */
    uint64_t key;
    int64_t live, peak;
    int32_t count;              /* steps done */
    int32_t parent;             /* state; -1: none */
    int32_t *taken;             /* steps since the parent */
    int32_t n_taken;
} State;

typedef struct Met {
    uint64_t key;
    int64_t peak;
} Met;

typedef struct Finder {
    Arena *arena;
    const Items *all;
    int32_t steps, words;
    int32_t **before;           /* steps that must come before step s, ended by -1 */
    int32_t **users;            /* steps that touch item i, each once, ended by -1 */
    int32_t **touched;          /* items that step s touches, each once, ended by -1 */
    VEC(State) state;
    VEC(int32_t) heap;          /* open states */
    Met *met;
    size_t met_room, met_n;
    int32_t *path;
    int64_t given;              /* bytes alive before the first step */
} Finder;

enum { DEFAULT_WORK = 150000 };  /* states by steps */

static bool is_done(const uint64_t *done, int32_t s) { return done[s / 64] >> (s % 64) & 1; }

static uint64_t key_of(int32_t s)
{
    uint64_t x = (uint64_t)s + 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* ---- what depends on what ---- */

/* Where the bytes end that it touches. */
static int64_t end_of(const Touch *t)
{
    return t->at + (t->by_row ? t->operand->rows * t->operand->row_bytes : tensor_bytes(t->operand->tensor));
}

static bool conflict(const Items *all, const Touch *t, const Touch *u)
{
    if (!t->operand->write && !u->operand->write) return false;
    if (t->at >= end_of(u) || u->at >= end_of(t)) return false;
    if (t->operand->part && u->operand->part && t->by_row && u->by_row) {
        const int64_t bytes = dtype_bits(all->item.at[t->item].root->dtype) / 8;
        return t->lane < u->lane + u->operand->part * bytes && u->lane < t->lane + t->operand->part * bytes;
    }
    return true;
}

static void list_users(Finder *f)
{
    const Items *all = f->all;
    int32_t *n = NEW_ARRAY(f->arena, int32_t, all->item.n + 1), *last = NEW_ARRAY(f->arena, int32_t, all->item.n + 1);
    f->users = NEW_ARRAY(f->arena, int32_t *, all->item.n + 1);
    f->touched = NEW_ARRAY(f->arena, int32_t *, f->steps + 1);
    for (size_t i = 0; i < all->touch.n; i++) n[all->touch.at[i].item]++;
    for (size_t i = 0; i < all->item.n; i++) {
        f->users[i] = NEW_ARRAY(f->arena, int32_t, n[i] + 1);
        n[i] = 0, last[i] = -1;
    }
    for (int32_t s = 0; s < f->steps; s++) {
        int32_t k = 0;
        f->touched[s] = NEW_ARRAY(f->arena, int32_t, touch_end(all, s) - touch_begin(all, s) + 1);
        for (const Touch *t = touch_begin(all, s); t < touch_end(all, s); t++) {
            if (last[t->item] == s) continue;
            last[t->item] = s;
            f->users[t->item][n[t->item]++] = s;
            f->touched[s][k++] = t->item;
        }
        f->touched[s][k] = -1;
    }
    for (size_t i = 0; i < all->item.n; i++) f->users[i][n[i]] = -1;
}

static void list_before(Finder *f)
{
    const Items *all = f->all;
    VEC(int32_t) list = { 0 };
    f->before = NEW_ARRAY(f->arena, int32_t *, f->steps + 1);
    for (int32_t s = 0; s < f->steps; s++) {
        list.n = 0;
        for (const Touch *t = touch_begin(all, s); t < touch_end(all, s); t++)
            for (const int32_t *u = f->users[t->item]; *u >= 0 && *u < s; u++)
                for (const Touch *v = touch_begin(all, *u); v < touch_end(all, *u); v++)
                    if (v->item == t->item && conflict(all, t, v) && (!list.n || list.at[list.n - 1] != *u)) VEC_PUSH(f->arena, &list, *u);
        VEC_PUSH(f->arena, &list, -1);
        f->before[s] = arena_copy(f->arena, list.at, list.n * sizeof *list.at);
    }
}

/* ---- states ---- */

static bool ready(const Finder *f, const uint64_t *done, int32_t s)
{
    if (is_done(done, s)) return false;
    for (const int32_t *b = f->before[s]; *b >= 0; b++)
        if (!is_done(done, *b)) return false;
    return true;
}

/* Is s the last step that needs the item? */
static bool last_user(const Finder *f, const uint64_t *done, int32_t item, int32_t s)
{
    if (f->all->item.at[item].kept) return false;
    for (const int32_t *u = f->users[item]; *u >= 0; u++)
        if (*u != s && !is_done(done, *u)) return false;
    return true;
}

static bool first_user(const Finder *f, const uint64_t *done, int32_t item)
{
    if (f->all->item.at[item].first < 0) return false;
    for (const int32_t *u = f->users[item]; *u >= 0; u++)
        if (is_done(done, *u)) return false;
    return true;
}

typedef struct Effect {
    int64_t during, after;      /* live bytes */
} Effect;

static Effect effect(const Finder *f, const State *st, int32_t s)
{
    int64_t born = 0, dead = 0, saved = 0, result = 0;
    for (const int32_t *i = f->touched[s]; *i >= 0; i++) {
        const Item *it = f->all->item.at + *i;
        const bool fresh = first_user(f, st->done, *i);
        if (fresh) born += it->size, result = it->scratch ? result : it->size;
        if (last_user(f, st->done, *i, s)) dead += it->size;
    }
    for (const Touch *t = touch_begin(f->all, s); t < touch_end(f->all, s); t++) {
        const Item *it = f->all->item.at + t->item;
        if (t->operand->write || t->operand->reuse != REUSE_ELEMENTWISE || it->size != result) continue;
        if (!first_user(f, st->done, t->item) && last_user(f, st->done, t->item, s)) saved = result;
    }
    return (Effect){ st->live + born - saved, st->live + born - dead };
}

static void take(Finder *f, State *st, int32_t s, Effect e)
{
    st->done[s / 64] |= (uint64_t)1 << (s % 64);
    st->key ^= key_of(s);
    st->live = e.after;
    st->peak = i64_max(st->peak, e.during);
    st->count++;
    f->path[st->n_taken++] = s;
}

static void take_safe(Finder *f, State *st)
{
    for (bool any = true; any;) {
        any = false;
        for (int32_t s = 0; s < f->steps; s++) {
            if (!ready(f, st->done, s)) continue;
            const Effect e = effect(f, st, s);
            if (e.during > st->peak || e.after > st->live) continue;
            take(f, st, s, e);
            any = true;
        }
    }
}

static Met *slot_of(Met *table, size_t room, uint64_t key)
{
    size_t at = key & (room - 1);
    while (table[at].key && table[at].key != key) at = (at + 1) & (room - 1);
    return table + at;
}

static void grow_met(Finder *f)
{
    const size_t room = f->met_room ? 2 * f->met_room : 256;
    Met *table = NEW_ARRAY(f->arena, Met, room);
    for (size_t i = 0; i < f->met_room; i++)
        if (f->met[i].key) *slot_of(table, room, f->met[i].key) = f->met[i];
    f->met = table;
    f->met_room = room;
}

/* The least peak by which that set was reached; equal keys count as equal sets. */
static int64_t *met(Finder *f, uint64_t key)
{
    if (!key) key = 1;
    if (2 * f->met_n >= f->met_room) grow_met(f);
    Met *m = slot_of(f->met, f->met_room, key);
    if (!m->key) {
        *m = (Met){ key, INT64_MAX };
        f->met_n++;
    }
    return &m->peak;
}

static bool sooner(const Finder *f, int32_t a, int32_t b)
{
    const State *x = f->state.at + a, *y = f->state.at + b;
    if (x->peak != y->peak) return x->peak < y->peak;
    if (x->count != y->count) return x->count > y->count;
    return a < b;
}

static void push(Finder *f, int32_t state)
{
    VEC_PUSH(f->arena, &f->heap, state);
    for (size_t i = f->heap.n - 1; i && sooner(f, f->heap.at[i], f->heap.at[(i - 1) / 2]); i = (i - 1) / 2) {
        const int32_t t = f->heap.at[i];
        f->heap.at[i] = f->heap.at[(i - 1) / 2], f->heap.at[(i - 1) / 2] = t;
    }
}

static int32_t pop(Finder *f)
{
    const int32_t top = f->heap.at[0], moved = f->heap.at[--f->heap.n];
    size_t i = 0;
    for (size_t k = 1; k < f->heap.n; k = 2 * i + 1) {
        if (k + 1 < f->heap.n && sooner(f, f->heap.at[k + 1], f->heap.at[k])) k++;
        if (!sooner(f, f->heap.at[k], moved)) break;
        f->heap.at[i] = f->heap.at[k];
        i = k;
    }
    if (f->heap.n) f->heap.at[i] = moved;
    return top;
}

/* A new open state: `from`, then step s (-1: none), then what is safe. Dropped at `limit` bytes. */
static void add_state(Finder *f, int32_t from, int32_t s, int64_t limit)
{
    State st = from < 0 ? (State){ .live = f->given, .peak = f->given } : f->state.at[from];
    const uint64_t *done = st.done;
    Effect e = { 0, 0 };
    if (s >= 0) {
        e = effect(f, &st, s);
        if (i64_max(st.peak, e.during) >= limit) return;
    }
    st.done = NEW_ARRAY(f->arena, uint64_t, f->words);
    if (done) memcpy(st.done, done, (size_t)f->words * sizeof *done);
    st.parent = from;
    st.n_taken = 0;
    if (s >= 0) take(f, &st, s, e);
    take_safe(f, &st);
    int64_t *least = met(f, st.key);
    if (*least <= st.peak) return;
    *least = st.peak;
    st.taken = arena_copy(f->arena, f->path, (size_t)st.n_taken * sizeof *f->path);
    VEC_PUSH(f->arena, &f->state, st);
    push(f, (int32_t)f->state.n - 1);
}

/* ---- search ---- */

static int64_t peak_as_given(Finder *f)
{
    State st = { .done = NEW_ARRAY(f->arena, uint64_t, f->words), .live = f->given, .peak = f->given };
    for (int32_t s = 0; s < f->steps; s++) {
        take(f, &st, s, effect(f, &st, s));
        st.n_taken = 0;
    }
    return st.peak;
}

/* What a step needs by itself, whenever it runs. */
static int64_t least_peak(const Finder *f)
{
    int64_t least = 0;
    for (int32_t s = 0; s < f->steps; s++) {
        int64_t own = 0, most = 0;
        for (const int32_t *i = f->touched[s]; *i >= 0; i++) {
            own += f->all->item.at[*i].size;
            most = i64_max(most, f->all->item.at[*i].size);
        }
        least = i64_max(least, own - most);     /* one of them may lie over another */
    }
    return least;
}

static int32_t *path_of(Finder *f, int32_t goal)
{
    int32_t *order = NEW_ARRAY(f->arena, int32_t, f->steps), at = f->steps;
    for (int32_t k = goal; k >= 0; k = f->state.at[k].parent) {
        const State *st = f->state.at + k;
        at -= st->n_taken;
        memcpy(order + at, st->taken, (size_t)st->n_taken * sizeof *order);
    }
    return order;
}

/* From a state straight to the end, always by the step that needs least. */
static int32_t rush(Finder *f, int32_t from, int64_t limit)
{
    while (f->state.at[from].count < f->steps) {
        const State *st = f->state.at + from;
        int32_t best = -1;
        Effect least = { INT64_MAX, INT64_MAX };
        for (int32_t s = 0; s < f->steps; s++) {
            if (!ready(f, st->done, s)) continue;
            const Effect e = effect(f, st, s);
            if (e.during < least.during || (e.during == least.during && e.after < least.after)) least = e, best = s;
        }
        const size_t n = f->state.n;
        if (best >= 0) add_state(f, from, best, limit);
        if (f->state.n == n) return -1;
        from = (int32_t)n;
    }
    return from;
}

static void search(Finder *f, Order *o, int64_t limit)
{
    add_state(f, -1, -1, o->given);
    while (f->heap.n) {
        const int32_t k = pop(f);
        if (f->state.at[k].peak >= o->given) break;
        if (*met(f, f->state.at[k].key) < f->state.at[k].peak) continue;
        o->bound = i64_max(o->bound, f->state.at[k].peak);
        const bool full = (int64_t)f->state.n > limit;
        const int32_t goal = full ? rush(f, k, o->given) : f->state.at[k].count == f->steps ? k : -1;
        if (goal >= 0) {
            o->peak = f->state.at[goal].peak;
            o->step = path_of(f, goal);
        }
        if (goal >= 0 || full) return;
        for (int32_t s = 0; s < f->steps; s++)
            if (ready(f, f->state.at[k].done, s)) add_state(f, k, s, o->given);
    }
    o->bound = o->given;
}

Order order_find(Arena *a, const Items *all, int64_t limit)
{
    Finder f = { .arena = a, .all = all, .steps = (int32_t)all->program->step.n };
    Order o = { 0 };
    if (all->control || !f.steps) return o;
    f.words = (f.steps + 63) / 64;
    f.path = NEW_ARRAY(a, int32_t, f.steps + 1);
    for (size_t i = 0; i < all->item.n; i++)
        if (all->item.at[i].first < 0) f.given += all->item.at[i].size;
    list_users(&f);
    list_before(&f);
    o.given = o.peak = peak_as_given(&f);
    o.bound = least_peak(&f);
    if (o.given > o.bound) search(&f, &o, limit ? limit : 50 + DEFAULT_WORK / f.steps);
    o.states = (int64_t)f.state.n;
    return o;
}
