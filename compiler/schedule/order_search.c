/* SPDX-License-Identifier: Apache-2.0
 * Best-first search over sets of executed steps, by peak. Steps that do not raise the peak and do
 * not let the live bytes grow are taken at once: doing them earlier can never make a later state
 * worse. Where a step is before or after every other one, any order passes through the same set:
 * the stretches between such steps are searched one by one. A stretch too large for that gets a
 * beam, from the best open state on. */
#include "schedule/order_search.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "schedule/order_states.h"

enum { DEFAULT_WORK = 1000000, MOST_BEAM = 256, BEAM_CHOICES = 8 };

/* ---- a stretch ---- */

static void keep_goal(Search *search, int32_t k, int32_t *order)
{
    order_enter(search, k);
    order_leave(search);
    search->limit = search->state.at[k].peak;
    order_path(search, k, order);
}

/* Best first. False: the work was used up; true: the order is proved the best. */
static bool seek(Search *search, int64_t *bound, int32_t *order)
{
    while (search->heap.n) {
        const int32_t k = order_next_open(search);
        const State *st = search->state.at + k;
        if (st->peak >= search->limit)
            break;
        if (*order_met(search, st->key) < st->peak)
            continue;
        *bound = i64_max(*bound, st->peak);
        if (st->count == search->end - search->first) {
            keep_goal(search, k, order);
            return true;
        }
        if (search->work > search->stop) {
            order_enter(search, k);
            order_expand(search, k, search->end - search->first, order_open);
            order_leave(search);
        }
        if (search->work > search->stop)
            continue;
        order_open(search, k); /* the beam goes on from here */
        return false;
    }
    *bound = search->limit;
    return true;
}

typedef struct Stretch {
    int32_t first, end; /* steps */
    /* bytes: before it; its peak, and the least that is proved */
    int64_t live, peak, bound;
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

/* Among the best `width` of its level, if it is one of those. */
static void keep_best(Search *search, Level *levels, int32_t state,
                      int32_t width)
{
    const State *states = search->state.at;
    Level *level = levels + states[state].count;
    const size_t n = level->state.n;
    if ((int32_t)n < width)
        VEC_PUSH(search->arena, &level->state, state);
    else if (!better(states + state, states + level->state.at[n - 1]))
        return;
    int32_t *kept = level->state.at;
    size_t i = level->state.n - 1;
    while (i && better(states + state, states + kept[i - 1])) {
        kept[i] = kept[i - 1];
        i--;
    }
    kept[i] = state;
}

static void collect(Search *search, int32_t state)
{
    VEC_PUSH(search->arena, &search->heap, state);
}

/* What follows from state k comes to the levels behind its own. */
static void expand_into(Search *search, int32_t k, Level *levels, int32_t width)
{
    search->heap.n = 0;
    order_enter(search, k);
    order_expand(search, k, BEAM_CHOICES, collect);
    order_leave(search);
    for (size_t i = 0; i < search->heap.n; i++)
        keep_best(search, levels, search->heap.at[i], width);
}

static void forget_met(Search *search)
{
    if (search->met_room)
        memset(search->met, 0, search->met_room * sizeof *search->met);
    search->met_n = 0;
}

/* Level by level from the open states, `width` of each. False: the work was used up. */
static bool beam(Search *search, const int32_t *open, size_t n_open,
                 int32_t width, int32_t *order)
{
    const int32_t steps = search->end - search->first;
    Level *levels = NEW_ARRAY(search->arena, Level, steps + 1);
    for (size_t i = 0; i < n_open; i++)
        keep_best(search, levels, open[i], width);
    forget_met(search);
    for (int32_t n = 0; n < steps; n++) {
        const Level *level = levels + n;
        for (size_t i = 0; i < level->state.n; i++) {
            if (search->work <= search->stop)
                break;
            expand_into(search, level->state.at[i], levels, width);
        }
    }
    if (levels[steps].state.n)
        keep_goal(search, levels[steps].state.at[0], order);
    return search->work > search->stop;
}

/* One state of each level first; then as many as the rest of the work allows, going by what that
 * took. */
static void beams(Search *search, int32_t *order)
{
    const size_t n = search->heap.n;
    const int32_t *open =
        arena_copy(search->arena, search->heap.at, n * sizeof *open);
    const int64_t work = search->work;
    if (work <= search->stop || !beam(search, open, n, 1, order))
        return;
    const int64_t width = i64_min(MOST_BEAM, (search->work - search->stop) /
                                                 (work - search->work + 1));
    if (width > 1)
        beam(search, open, n, (int32_t)width, order);
}

/* What step s needs by itself. */
static int64_t own_peak(const OrderProblem *problem, int32_t s)
{
    int64_t own = 0;
    int64_t gain = 0;
    int64_t most = 0;
    for (int32_t k = problem->touch_of[s]; k < problem->touch_of[s + 1]; k++) {
        const int64_t size = problem->size[problem->touch[k]];
        own += size;
        most = i64_max(most, size);
    }
    for (int32_t k = problem->gain_of[s]; k < problem->gain_of[s + 1]; k++)
        gain = i64_max(gain, problem->gain[k].bytes);
    return own - i64_min(gain, most);
}

/* What the steps of the stretch need at least, whenever they run in it. */
static int64_t least_peak(const Search *search, int64_t live)
{
    int64_t least = live;
    for (int32_t s = search->first; s < search->end; s++)
        least = i64_max(least, own_peak(search->p, s));
    return least;
}

/* An order of the stretch with a peak below its own, if there is one; none below `floor` is looked
 * for. */
static void search_stretch(Search *search, Stretch *t, int64_t floor,
                           int64_t stop, int64_t stop_beam, int32_t *order)
{
    const ArenaMark mark = arena_mark(search->arena);
    /* what stays below it is free */
    const int64_t least = i64_max(t->bound, floor);
    int64_t bound = least;
    if (least >= t->peak)
        return;
    search->first = t->first;
    search->end = t->end;
    search->limit = t->peak;
    order_open_stretch(search, t->live, least);
    order_add_root(search);
    search->stop = stop;
    if (!seek(search, &bound, order + t->first)) {
        search->stop = stop_beam;
        beams(search, order + t->first);
        search->limit =
            order_quick(search, t->live, search->limit, order + t->first);
    }
    if (bound > least)
        t->bound = i64_min(bound, search->limit);
    t->moved |= search->limit < t->peak;
    t->peak = search->limit;
    arena_release(search->arena, mark);
}

/* ---- the whole ---- */

static int32_t last_before(const Search *search, int32_t s)
{
    const OrderProblem *problem = search->p;
    const int32_t end = problem->before_of[s + 1];
    int32_t last = -1;
    for (int32_t k = problem->before_of[s]; k < end; k++)
        last = (int32_t)i64_max(last, problem->before[k]);
    return last;
}

static int32_t first_after(const Search *search, int32_t s)
{
    const int32_t end = search->after_of[s + 1];
    int32_t first = search->p->steps;
    for (int32_t k = search->after_of[s]; k < end; k++)
        first = (int32_t)i64_min(first, search->after[k]);
    return first;
}

/* cut[k]: every step before k comes before every step from k on, in any order. */
static bool *find_cuts(Search *search)
{
    const int32_t n = search->p->steps;
    bool *cut = NEW_ARRAY(search->arena, bool, n + 1);
    /* the least of all steps from k on */
    int32_t *before = NEW_ARRAY(search->arena, int32_t, n + 1);
    before[n] = n;
    for (int32_t s = n - 1; s >= 0; s--)
        before[s] = (int32_t)i64_min(before[s + 1], last_before(search, s));
    int32_t after = 0; /* the most of all steps before s */
    for (int32_t s = 0; s < n; s++) {
        if (after <= s && before[s + 1] >= s) {
            cut[s] = true; /* s is behind and before all others */
            cut[s + 1] = true;
        }
        after = (int32_t)i64_max(after, first_after(search, s));
    }
    cut[n] = true;
    return cut;
}

static void list_after(Search *search)
{
    const OrderProblem *problem = search->p;
    const int32_t pairs = problem->before_of[problem->steps];
    int32_t *of = NEW_ARRAY(search->arena, int32_t, problem->steps + 2);
    int32_t *next = NEW_ARRAY(search->arena, int32_t, problem->steps + 1);
    int32_t *after = NEW_ARRAY(search->arena, int32_t, pairs + 1);
    for (int32_t k = 0; k < pairs; k++)
        of[problem->before[k] + 1]++;
    for (int32_t s = 0; s < problem->steps; s++) {
        of[s + 1] += of[s];
        next[s] = of[s];
    }
    for (int32_t s = 0; s < problem->steps; s++) {
        const int32_t end = problem->before_of[s + 1];
        for (int32_t k = problem->before_of[s]; k < end; k++) {
            int32_t *put = next + problem->before[k];
            after[*put] = s;
            ++*put;
        }
    }
    search->after_of = of;
    search->after = after;
}

/* The peaks of the given order, and the bytes alive before each step. */
static int64_t *peaks_as_given(Search *search, int64_t *live)
{
    const int32_t n = search->p->steps;
    int64_t *peak = NEW_ARRAY(search->arena, int64_t, n + 1);
    search->end = n;
    const OrderProblem *problem = search->p;
    for (int32_t i = 0; problem->given && i < problem->items; i++)
        live[0] += problem->given[i] ? problem->size[i] : 0;
    order_open_stretch(search, live[0], live[0]);
    for (int32_t s = 0; s < n; s++) {
        const Effect effect = order_effect(search, s);
        live[s] = search->live;
        peak[s] = effect.during;
        order_run(search, s, effect);
    }
    search->n_path = 0;
    memset(search->seen, 0, (size_t)search->p->items * sizeof *search->seen);
    return peak;
}

typedef VEC(Stretch) Stretches;

static Stretches find_stretches(Search *search)
{
    const int32_t n = search->p->steps;
    Stretches all = { 0 };
    int64_t *live = NEW_ARRAY(search->arena, int64_t, n + 1);
    const int64_t *given = peaks_as_given(search, live);
    const bool *cut = find_cuts(search);
    for (int32_t first = 0, end; first < n; first = end) {
        Stretch t = { .first = first, .live = live[first] };
        for (end = first; end < n && (end == first || !cut[end]); end++)
            t.peak = i64_max(t.peak, given[end]);
        t.end = search->end = end;
        search->first = first;
        t.bound = end - first > 1 ? i64_min(least_peak(search, t.live), t.peak)
                                  : t.peak;
        VEC_PUSH(search->arena, &all, t);
    }
    return all;
}

static int by_peak(const void *a, const void *b)
{
    const Stretch *x = a;
    const Stretch *y = b;
    if (x->peak != y->peak)
        return x->peak > y->peak ? -1 : 1;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return 0;
}

/* The highest stretches, down to the least peak of the whole; then what is left of the work goes to
 * the others, whose peak counts where the highest are streamed. */
static void search_stretches(Search *search, Stretches *all, int64_t work,
                             int32_t *order)
{
    int64_t floor = 0;
    qsort(all->at, all->n, sizeof *all->at, by_peak);
    search->work = work;
    for (size_t i = 0; i < all->n; i++) {
        Stretch *t = all->at + i;
        if (t->peak <= floor)
            break;
        search_stretch(search, t, floor, 0, -work, order);
        floor = i64_max(floor, t->peak);
    }
    for (size_t i = 0; i < all->n; i++) {
        const int64_t left = search->work;
        if (left <= work / 2)
            break;
        const int64_t stop = i64_max(work / 2, left - work / 8);
        search_stretch(search, all->at + i, 0, stop, left, order);
    }
}

static Search search_new(Arena *arena, const OrderProblem *problem)
{
    const int32_t steps = problem->steps + 1;
    const int32_t items = problem->items + 1;
    return (Search){
        .arena = arena,
        .p = problem,
        .waiting = NEW_ARRAY(arena, int32_t, steps),
        .left = NEW_ARRAY(arena, int32_t, items),
        .begun = NEW_ARRAY(arena, int32_t, items),
        .seen = NEW_ARRAY(arena, int32_t, items),
        .path = NEW_ARRAY(arena, int32_t, steps),
        .choice = NEW_ARRAY(arena, Choice, steps),
    };
}

static int64_t highest(const Stretches *all)
{
    int64_t peak = 0;
    for (size_t i = 0; i < all->n; i++)
        peak = i64_max(peak, all->at[i].peak);
    return peak;
}

Order order_search(Arena *arena, const OrderProblem *problem, int64_t work)
{
    const int32_t n = problem->steps;
    Search search = search_new(arena, problem);
    int32_t *step = NEW_ARRAY(arena, int32_t, n + 1);
    bool moved = false;
    list_after(&search);
    order_rank_touches(&search);
    Stretches all = find_stretches(&search);
    Order order = { .given = highest(&all) };
    for (int32_t s = 0; s < n; s++)
        step[s] = s;
    search_stretches(&search, &all, work ? work : DEFAULT_WORK, step);
    for (size_t i = 0; i < all.n; i++) {
        order.bound = i64_max(order.bound, all.at[i].bound);
        moved |= all.at[i].moved;
    }
    order.peak = highest(&all);
    order.states = search.states;
    order.step = moved ? step : NULL;
    return order;
}
