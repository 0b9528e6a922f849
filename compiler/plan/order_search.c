/* SPDX-License-Identifier: Apache-2.0
 * Best-first search over sets of executed steps, by peak. Steps that do not raise the peak and do
 * not let the live bytes grow are taken at once: doing them earlier can never make a later state
 * worse. Where a step is before or after every other one, any order passes through the same set:
 * the stretches between such steps are searched one by one. A stretch too large for that gets a
 * beam, from the best open state on. */
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "plan/order_set.h"

enum { DEFAULT_WORK = 1000000, MOST_BEAM = 256, BEAM_CHOICES = 8 };

/* ---- states ---- */

static Met *slot_of(Met *table, size_t room, uint64_t key)
{
    size_t at = key & (room - 1);
    while (table[at].key && table[at].key != key)
        at = (at + 1) & (room - 1);
    return table + at;
}

static void grow_met(Search *q)
{
    const size_t room = q->met_room ? 2 * q->met_room : 256;
    Met *table = NEW_ARRAY(q->arena, Met, room);
    for (size_t i = 0; i < q->met_room; i++)
        if (q->met[i].key)
            *slot_of(table, room, q->met[i].key) = q->met[i];
    q->met = table;
    q->met_room = room;
}

/* The least peak by which that set was reached; equal keys count as equal sets. */
static int64_t *met(Search *q, uint64_t key)
{
    if (!key)
        key = 1;
    if (2 * q->met_n >= q->met_room)
        grow_met(q);
    Met *m = slot_of(q->met, q->met_room, key);
    if (!m->key) {
        *m = (Met){ key, INT64_MAX };
        q->met_n++;
    }
    return &m->peak;
}

static bool sooner(const Search *q, int32_t a, int32_t b)
{
    const State *x = q->state.at + a, *y = q->state.at + b;
    if (x->peak != y->peak)
        return x->peak < y->peak;
    if (x->count != y->count)
        return x->count > y->count;
    return a < b;
}

static void push(Search *q, int32_t state)
{
    VEC_PUSH(q->arena, &q->heap, state);
    for (size_t i = q->heap.n - 1; i && sooner(q, q->heap.at[i], q->heap.at[(i - 1) / 2]);
         i = (i - 1) / 2) {
        const int32_t t = q->heap.at[i];
        q->heap.at[i] = q->heap.at[(i - 1) / 2], q->heap.at[(i - 1) / 2] = t;
    }
}

static int32_t pop(Search *q)
{
    const int32_t top = q->heap.at[0], moved = q->heap.at[--q->heap.n];
    size_t i = 0;
    for (size_t k = 1; k < q->heap.n; k = 2 * i + 1) {
        if (k + 1 < q->heap.n && sooner(q, q->heap.at[k + 1], q->heap.at[k]))
            k++;
        if (!sooner(q, q->heap.at[k], moved))
            break;
        q->heap.at[i] = q->heap.at[k];
        i = k;
    }
    if (q->heap.n)
        q->heap.at[i] = moved;
    return top;
}

/* The set at hand as a new open state, unless it was reached as well before; its number, or -1. */
static int32_t add_state(Search *q, int32_t parent, int32_t step)
{
    if (q->peak >= q->limit)
        return -1;
    int64_t *least = met(q, q->key);
    if (*least <= q->peak)
        return -1;
    *least = q->peak;
    VEC_PUSH(q->arena, &q->state,
             ((State){ .key = q->key,
                       .live = q->live,
                       .peak = q->peak,
                       .parent = parent,
                       .step = step,
                       .count = q->n_path }));
    return (int32_t)q->state.n - 1;
}

static void load(Search *q, const State *st)
{
    for (int32_t i = st->done ? order_next_bit(st->done, q->words, 0) : -1; i >= 0;
         i = order_next_bit(st->done, q->words, i + 1))
        order_take(q, q->first + i);
    q->live = st->live;
    q->peak = st->peak;
}

static void unload(Search *q)
{
    while (q->n_path)
        order_take_back(q);
}

/* Makes state k the set at hand, and notes its steps. */
static void enter(Search *q, int32_t k)
{
    State *st = q->state.at + k;
    q->states++;
    if (st->parent < 0) {
        load(q, st);
        return;
    }
    load(q, q->state.at + st->parent);
    const int32_t from = q->n_path;
    order_run(q, st->step, order_effect(q, st->step));
    order_take_safe(q);
    st->n_taken = q->n_path - from;
    st->taken = arena_copy(q->arena, q->path + from, (size_t)st->n_taken * sizeof *q->path);
    st->done = arena_copy(q->arena, q->done, (size_t)q->words * sizeof *q->done);
}

static bool cheaper(Effect x, Effect y)
{
    return x.during != y.during ? x.during < y.during : x.after < y.after;
}

/* The ready steps below the limit; of more than `most` those that need least. */
static int32_t list_choices(Search *q, int32_t most)
{
    int32_t n = 0;
    for (int32_t i = order_next_bit(q->ready, q->words, 0); i >= 0;
         i = order_next_bit(q->ready, q->words, i + 1)) {
        Choice c = { q->first + i, order_effect(q, q->first + i) };
        c.effect.during = i64_max(c.effect.during, q->peak);
        if (c.effect.during >= q->limit ||
            (n == most && !cheaper(c.effect, q->choice[n - 1].effect)))
            continue;
        int32_t at = n < most ? n++ : n - 1;
        for (; most < q->end - q->first && at > 0 && cheaper(c.effect, q->choice[at - 1].effect);
             at--)
            q->choice[at] = q->choice[at - 1];
        q->choice[at] = c;
    }
    return n;
}

/* What follows from the set at hand, state k, by one step and what is safe after it. Calls found()
 * with each new state. */
static void expand(Search *q, int32_t k, int32_t most, void (*found)(Search *, int32_t))
{
    const int64_t live = q->live, peak = q->peak;
    const int32_t steps = q->n_path, n = list_choices(q, most);
    for (int32_t i = 0; i < n && q->work > q->stop; i++) {
        order_run(q, q->choice[i].step, q->choice[i].effect);
        order_take_safe(q);
        const int32_t made = add_state(q, k, q->choice[i].step);
        if (made >= 0)
            found(q, made);
        while (q->n_path > steps)
            order_take_back(q);
        q->live = live;
        q->peak = peak;
    }
}

/* ---- a stretch ---- */

static void path_of(const Search *q, int32_t goal, int32_t *order)
{
    int32_t at = q->end - q->first;
    for (int32_t k = goal; k >= 0 && at > 0; k = q->state.at[k].parent) {
        const State *st = q->state.at + k;
        at -= st->n_taken;
        memcpy(order + at, st->taken, (size_t)st->n_taken * sizeof *order);
    }
}

static void keep_goal(Search *q, int32_t k, int32_t *order)
{
    enter(q, k);
    unload(q);
    q->limit = q->state.at[k].peak;
    path_of(q, k, order);
}

/* Best first. False: the work was used up; true: the order is proved the best. */
static bool seek(Search *q, int64_t *bound, int32_t *order)
{
    while (q->heap.n) {
        const int32_t k = pop(q);
        const State *st = q->state.at + k;
        if (st->peak >= q->limit)
            break;
        if (*met(q, st->key) < st->peak)
            continue;
        *bound = i64_max(*bound, st->peak);
        if (st->count == q->end - q->first) {
            keep_goal(q, k, order);
            return true;
        }
        if (q->work > q->stop) {
            enter(q, k);
            expand(q, k, q->end - q->first, push);
            unload(q);
        }
        if (q->work > q->stop)
            continue;
        push(q, k); /* the beam goes on from here */
        return false;
    }
    *bound = q->limit;
    return true;
}

typedef struct Stretch {
    int32_t first, end;        /* steps */
    int64_t live, peak, bound; /* bytes: before it; its peak, and the least that is proved */
    bool moved;
} Stretch;

/* The few best of the states that have as many steps done. */
typedef struct Level {
    VEC(int32_t) state;
} Level;

static bool better(const State *x, const State *y)
{
    return x->peak != y->peak ? x->peak < y->peak : x->live < y->live;
}

static void keep_best(Search *q, Level *level, int32_t state, int32_t width)
{
    if ((int32_t)level->state.n < width)
        VEC_PUSH(q->arena, &level->state, state);
    else if (!better(q->state.at + state, q->state.at + level->state.at[width - 1]))
        return;
    size_t i = level->state.n - 1;
    for (; i && better(q->state.at + state, q->state.at + level->state.at[i - 1]); i--)
        level->state.at[i] = level->state.at[i - 1];
    level->state.at[i] = state;
}

static void collect(Search *q, int32_t state)
{
    VEC_PUSH(q->arena, &q->heap, state);
}

/* Level by level from the open states, `width` of each. False: the work was used up. */
static bool beam(Search *q, const int32_t *open, size_t n_open, int32_t width, int32_t *order)
{
    const int32_t steps = q->end - q->first;
    Level *level = NEW_ARRAY(q->arena, Level, steps + 1);
    for (size_t i = 0; i < n_open; i++)
        keep_best(q, level + q->state.at[open[i]].count, open[i], width);
    if (q->met_room)
        memset(q->met, 0, q->met_room * sizeof *q->met);
    q->met_n = 0;
    for (int32_t n = 0; n < steps; n++)
        for (size_t i = 0; i < level[n].state.n && q->work > q->stop; i++) {
            const int32_t k = level[n].state.at[i];
            q->heap.n = 0;
            enter(q, k);
            expand(q, k, BEAM_CHOICES, collect);
            unload(q);
            for (size_t m = 0; m < q->heap.n; m++) {
                const int32_t made = q->heap.at[m];
                keep_best(q, level + q->state.at[made].count, made, width);
            }
        }
    if (level[steps].state.n)
        keep_goal(q, level[steps].state.at[0], order);
    return q->work > q->stop;
}

/* One state of each level first; then as many as the rest of the work allows, going by what that
 * took. */
static void beams(Search *q, int32_t *order)
{
    const size_t n = q->heap.n;
    const int32_t *open = arena_copy(q->arena, q->heap.at, n * sizeof *open);
    const int64_t work = q->work;
    if (work <= q->stop || !beam(q, open, n, 1, order))
        return;
    const int64_t width = i64_min(MOST_BEAM, (q->work - q->stop) / (work - q->work + 1));
    if (width > 1)
        beam(q, open, n, (int32_t)width, order);
}

/* What a step needs by itself, whenever it runs in the stretch. */
static int64_t least_peak(const Search *q, int64_t live)
{
    const OrderProblem *p = q->p;
    int64_t least = live;
    for (int32_t s = q->first; s < q->end; s++) {
        int64_t own = 0, gain = 0, most = 0;
        for (int32_t k = p->touch_of[s]; k < p->touch_of[s + 1]; k++) {
            own += p->size[p->touch[k]];
            most = i64_max(most, p->size[p->touch[k]]);
        }
        for (int32_t k = p->gain_of[s]; k < p->gain_of[s + 1]; k++)
            gain = i64_max(gain, p->gain[k].bytes);
        least = i64_max(least, own - i64_min(gain, most));
    }
    return least;
}

static void add_root(Search *q)
{
    order_take_safe(q);
    const int32_t root = add_state(q, -1, -1);
    if (root >= 0) {
        State *st = q->state.at + root;
        st->n_taken = q->n_path;
        st->taken = arena_copy(q->arena, q->path, (size_t)q->n_path * sizeof *q->path);
        st->done = arena_copy(q->arena, q->done, (size_t)q->words * sizeof *q->done);
        push(q, root);
    }
    unload(q);
}

/* An order of the stretch with a peak below its own, if there is one; none below `floor` is looked
 * for. */
static void search_stretch(Search *q, Stretch *t, int64_t floor, int64_t stop, int64_t stop_beam,
                           int32_t *order)
{
    const ArenaMark mark = arena_mark(q->arena);
    const int64_t least = i64_max(t->bound, floor); /* what stays below it is free */
    int64_t bound = least;
    if (least >= t->peak)
        return;
    q->first = t->first, q->end = t->end;
    q->limit = t->peak;
    order_open_stretch(q, t->live, least);
    add_root(q);
    q->stop = stop;
    if (!seek(q, &bound, order + t->first)) {
        q->stop = stop_beam;
        beams(q, order + t->first);
        q->limit = order_quick(q, t->live, q->limit, order + t->first);
    }
    if (bound > least)
        t->bound = i64_min(bound, q->limit);
    t->moved |= q->limit < t->peak;
    t->peak = q->limit;
    arena_release(q->arena, mark);
}

/* ---- the whole ---- */

/* cut[k]: every step before k comes before every step from k on, in any order. */
static bool *find_cuts(Search *q)
{
    const OrderProblem *p = q->p;
    const int32_t n = p->steps;
    bool *cut = NEW_ARRAY(q->arena, bool, n + 1);
    int32_t *last_before = NEW_ARRAY(q->arena, int32_t, n + 1); /* over all steps from k on */
    last_before[n] = n;
    for (int32_t s = n; s-- > 0;) {
        int32_t last = -1;
        for (int32_t k = p->before_of[s]; k < p->before_of[s + 1]; k++)
            last = (int32_t)i64_max(last, p->before[k]);
        last_before[s] = (int32_t)i64_min(last_before[s + 1], last);
    }
    int32_t first_after = 0; /* over all steps before s */
    for (int32_t s = 0; s < n; s++) {
        if (first_after <= s && last_before[s + 1] >= s)
            cut[s] = cut[s + 1] = true; /* s is behind and before all others */
        int32_t first = n;
        for (int32_t k = q->after_of[s]; k < q->after_of[s + 1]; k++)
            first = (int32_t)i64_min(first, q->after[k]);
        first_after = (int32_t)i64_max(first_after, first);
    }
    cut[n] = true;
    return cut;
}

static void list_after(Search *q)
{
    const OrderProblem *p = q->p;
    int32_t *of = NEW_ARRAY(q->arena, int32_t, p->steps + 2),
            *next = NEW_ARRAY(q->arena, int32_t, p->steps + 1);
    int32_t *after = NEW_ARRAY(q->arena, int32_t, p->before_of[p->steps] + 1);
    for (int32_t k = 0; k < p->before_of[p->steps]; k++)
        of[p->before[k] + 1]++;
    for (int32_t s = 0; s < p->steps; s++)
        of[s + 1] += of[s], next[s] = of[s];
    for (int32_t s = 0; s < p->steps; s++)
        for (int32_t k = p->before_of[s]; k < p->before_of[s + 1]; k++)
            after[next[p->before[k]]++] = s;
    q->after_of = of;
    q->after = after;
}

/* The peaks of the given order, and the bytes alive before each step. */
static int64_t *peaks_as_given(Search *q, int64_t *live)
{
    const int32_t n = q->p->steps;
    int64_t *peak = NEW_ARRAY(q->arena, int64_t, n + 1);
    q->end = n;
    for (int32_t i = 0; q->p->given && i < q->p->items; i++)
        live[0] += q->p->given[i] ? q->p->size[i] : 0;
    order_open_stretch(q, live[0], live[0]);
    for (int32_t s = 0; s < n; s++) {
        const Effect e = order_effect(q, s);
        live[s] = q->live;
        peak[s] = e.during;
        order_run(q, s, e);
    }
    q->n_path = 0;
    memset(q->seen, 0, (size_t)q->p->items * sizeof *q->seen);
    return peak;
}

/* What is given counts as touched before the first step, what is kept as touched after the last. */
static void rank_touches(Search *q)
{
    const OrderProblem *p = q->p;
    q->rank = NEW_ARRAY(q->arena, int32_t, p->touch_of[p->steps] + 1);
    q->users = NEW_ARRAY(q->arena, int32_t, p->items + 1);
    for (int32_t i = 0; i < p->items; i++)
        q->users[i] = p->given && p->given[i];
    for (int32_t k = 0; k < p->touch_of[p->steps]; k++)
        q->rank[k] = q->users[p->touch[k]]++;
    for (int32_t i = 0; i < p->items; i++)
        q->users[i] += p->kept && p->kept[i];
}

typedef VEC(Stretch) Stretches;

static Stretches find_stretches(Search *q)
{
    const int32_t n = q->p->steps;
    Stretches all = { 0 };
    int64_t *live = NEW_ARRAY(q->arena, int64_t, n + 1);
    const int64_t *given = peaks_as_given(q, live);
    const bool *cut = find_cuts(q);
    for (int32_t first = 0, end; first < n; first = end) {
        Stretch t = { .first = first, .live = live[first] };
        for (end = first; end < n && (end == first || !cut[end]); end++)
            t.peak = i64_max(t.peak, given[end]);
        t.end = q->end = end;
        q->first = first;
        t.bound = end - first > 1 ? i64_min(least_peak(q, t.live), t.peak) : t.peak;
        VEC_PUSH(q->arena, &all, t);
    }
    return all;
}

static int by_peak(const void *a, const void *b)
{
    const Stretch *x = a, *y = b;
    if (x->peak != y->peak)
        return x->peak > y->peak ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* The highest stretches, down to the least peak of the whole; then what is left of the work goes to
 * the others, whose peak counts where the highest are streamed. */
static void search_stretches(Search *q, Stretches *all, int64_t work, int32_t *order)
{
    int64_t floor = 0;
    qsort(all->at, all->n, sizeof *all->at, by_peak);
    q->work = work;
    for (size_t i = 0; i < all->n && all->at[i].peak > floor; i++) {
        search_stretch(q, all->at + i, floor, 0, -work, order);
        floor = i64_max(floor, all->at[i].peak);
    }
    for (size_t i = 0; i < all->n && q->work > work / 2; i++)
        search_stretch(q, all->at + i, 0, i64_max(work / 2, q->work - work / 8), q->work, order);
}

Order order_search(Arena *a, const OrderProblem *p, int64_t work)
{
    const int32_t n = p->steps;
    Search q = { .arena = a, .p = p };
    Order o = { .step = NEW_ARRAY(a, int32_t, n + 1) };
    q.waiting = NEW_ARRAY(a, int32_t, n + 1);
    q.left = NEW_ARRAY(a, int32_t, p->items + 1);
    q.begun = NEW_ARRAY(a, int32_t, p->items + 1);
    q.seen = NEW_ARRAY(a, int32_t, p->items + 1);
    q.path = NEW_ARRAY(a, int32_t, n + 1);
    q.choice = NEW_ARRAY(a, Choice, n + 1);
    list_after(&q);
    rank_touches(&q);
    Stretches all = find_stretches(&q);
    for (int32_t s = 0; s < n; s++)
        o.step[s] = s;
    for (size_t i = 0; i < all.n; i++)
        o.given = i64_max(o.given, all.at[i].peak);
    search_stretches(&q, &all, work ? work : DEFAULT_WORK, o.step);
    bool moved = false;
    for (size_t i = 0; i < all.n; i++) {
        o.peak = i64_max(o.peak, all.at[i].peak);
        o.bound = i64_max(o.bound, all.at[i].bound);
        moved |= all.at[i].moved;
    }
    o.states = q.states;
    if (!moved)
        o.step = NULL;
    return o;
}
