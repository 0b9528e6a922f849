/* SPDX-License-Identifier: Apache-2.0
 * Orders that are found at once: depth first from the results, of what a step reads that first
 * which needs most beyond what it leaves (Sethi and Ullman's rule), the given order, and what the
 * search found; each as it is, with steps late that take bytes, and with steps early that set bytes
 * free. Near linear, for what the search cannot finish. */
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "schedule/order_set.h"

/* Orders to begin with; FOUND: of the search. */
enum { AS_GIVEN, BY_DEPTH, FOUND, CANDIDATES };

/* No sum of needs goes beyond. */
static const int64_t MOST_NEED = (int64_t)1 << 60;

typedef struct Need {
    /* bytes: while what leads to the step is made, and after it */
    int64_t peak, left;
    int32_t step;
} Need;

typedef struct Quick {
    Search *search;
    Need *need;   /* by step of the stretch */
    Need *sorted; /* what a step reads, the first to be made first */
    /* the same of all steps: before[] of the problem, in the order to be made */
    int32_t *from;
    int32_t *stack, *at;
    bool *seen;
} Quick;

static int by_need(const void *a, const void *b)
{
    const Need *x = a;
    const Need *y = b;
    const int64_t u = x->peak - x->left;
    const int64_t v = y->peak - y->left;
    if (u != v)
        return u > v ? -1 : 1;
    return x->step < y->step ? -1 : x->step > y->step;
}

/* The bytes that come to life in a step of the given order. */
static int64_t bytes_made(const Search *search, int32_t step)
{
    const OrderProblem *problem = search->p;
    const int32_t end = problem->touch_of[step + 1];
    int64_t made = 0;
    for (int32_t k = problem->touch_of[step]; k < end; k++) {
        const int32_t item = problem->touch[k];
        if (!search->rank[k])
            made += problem->size[item];
    }
    return made;
}

/* What the step reads within the stretch, the first to be made first; returns how many. */
static int32_t sort_read(Quick *quick, int32_t step)
{
    const OrderProblem *problem = quick->search->p;
    const int32_t first = problem->before_of[step];
    const int32_t end = problem->before_of[step + 1];
    Need *sorted = quick->sorted;
    int32_t inside = 0;
    for (int32_t k = first; k < end; k++) {
        const int32_t before = problem->before[k] - quick->search->first;
        if (before < 0)
            continue;
        sorted[inside] = quick->need[before];
        inside++;
    }
    if (inside > 1)
        qsort(sorted, (size_t)inside, sizeof *sorted, by_need);
    int32_t *from = quick->from + first;
    for (int32_t k = 0; k < end - first; k++)
        from[k] = k < inside ? sorted[k].step : -1;
    return inside;
}

static void weigh(Quick *quick, int32_t step)
{
    const int32_t inside = sort_read(quick, step);
    const int64_t made = bytes_made(quick->search, step);
    int64_t held = 0;
    int64_t peak = 0;
    for (int32_t k = 0; k < inside; k++) {
        const Need *read = quick->sorted + k;
        peak = i64_max(peak, i64_min(MOST_NEED, held + read->peak));
        held = i64_min(MOST_NEED, held + read->left);
    }
    quick->need[step - quick->search->first] = (Need){
        .peak = i64_max(peak, held + made),
        .left = made,
        .step = step,
    };
}

/* A step whose reads are to be put before it. */
static void push_step(Quick *quick, int32_t *depth, int32_t step)
{
    quick->seen[step - quick->search->first] = true;
    quick->stack[*depth] = step;
    quick->at[*depth] = quick->search->p->before_of[step];
    *depth += 1;
}

static int32_t put_deep(Quick *quick, int32_t goal, int32_t *order, int32_t n)
{
    const Search *search = quick->search;
    int32_t depth = 0;
    push_step(quick, &depth, goal);
    while (depth) {
        const int32_t step = quick->stack[depth - 1];
        const int32_t k = quick->at[depth - 1]++;
        if (k == search->p->before_of[step + 1]) {
            order[n++] = step;
            depth--;
            continue;
        }
        const int32_t before = quick->from[k];
        if (before >= 0 && !quick->seen[before - search->first])
            push_step(quick, &depth, before);
    }
    return n;
}

/* Does no step of the stretch come after it? */
static bool is_last(const Search *search, int32_t step)
{
    const int32_t end = search->after_of[step + 1];
    for (int32_t k = search->after_of[step]; k < end; k++)
        if (search->after[k] < search->end)
            return false;
    return true;
}

static Quick quick_new(Search *search)
{
    const OrderProblem *problem = search->p;
    Arena *arena = search->arena;
    const int32_t n = search->end - search->first;
    const int32_t reads = problem->before_of[problem->steps];
    return (Quick){
        .search = search,
        .need = NEW_ARRAY(arena, Need, n),
        .sorted = NEW_ARRAY(arena, Need, n),
        .from = NEW_ARRAY(arena, int32_t, reads + 1),
        .stack = NEW_ARRAY(arena, int32_t, n + 1),
        .at = NEW_ARRAY(arena, int32_t, n + 1),
        .seen = NEW_ARRAY(arena, bool, n),
    };
}

/* The results of the stretch, those first that need most; returns how many. */
static int32_t sort_results(Quick *quick)
{
    const Search *search = quick->search;
    Need *sorted = quick->sorted;
    int32_t results = 0;
    for (int32_t step = search->first; step < search->end; step++) {
        if (!is_last(search, step))
            continue;
        sorted[results] = quick->need[step - search->first];
        results++;
    }
    if (results > 1)
        qsort(sorted, (size_t)results, sizeof *sorted, by_need);
    return results;
}

static void depth_first(Search *search, int32_t *order)
{
    Quick quick = quick_new(search);
    for (int32_t step = search->first; step < search->end; step++)
        weigh(&quick, step);
    const int32_t results = sort_results(&quick);
    int32_t put = 0;
    for (int32_t k = 0; k < results; k++)
        put = put_deep(&quick, quick.sorted[k].step, order, put);
}

/* Is the step of the stretch, not done and waiting for nothing? */
static bool is_ready(const Search *search, int32_t step)
{
    return step < search->end && !search->waiting[step] &&
           !order_is_done(search, step);
}

static void run_if_free(Search *search, int32_t step)
{
    const Effect effect = order_effect(search, step);
    if (effect.during <= search->peak && effect.after <= search->live)
        order_run(search, step, effect);
}

/* What the step made ready and what sets bytes free. */
static void run_after(Search *search, int32_t step)
{
    const int32_t end = search->after_of[step + 1];
    for (int32_t k = search->after_of[step]; k < end; k++) {
        const int32_t after = search->after[k];
        if (is_ready(search, after))
            run_if_free(search, after);
    }
}

/* Runs the order; early: what a step makes ready and what sets bytes free goes before the next. */
static int64_t run_order(Search *search, int64_t live, const int32_t *order,
                         bool early)
{
    const int32_t n = search->end - search->first;
    order_open_stretch(search, live, live);
    for (int32_t i = 0; i < n; i++) {
        const int32_t step = order[i];
        int32_t looked = search->n_path;
        if (!order_is_done(search, step))
            order_run(search, step, order_effect(search, step));
        for (; early && looked < search->n_path; looked++)
            run_after(search, search->path[looked]);
    }
    return search->peak;
}

/* The first place where the step's result is needed, or the end of the stretch. */
static int32_t first_need(const Search *search, int32_t step, const int32_t *at)
{
    const int32_t end = search->after_of[step + 1];
    int32_t first = search->end - search->first;
    for (int32_t k = search->after_of[step]; k < end; k++) {
        const int32_t after = search->after[k];
        if (after < search->end)
            first = (int32_t)i64_min(first, at[after - search->first]);
    }
    return first;
}

/* Moves the step from one place to a later one. */
static void move_later(const Search *search, int32_t *order, int32_t *at,
                       int32_t from, int32_t to)
{
    const int32_t step = order[from];
    for (int32_t i = from; i < to; i++) {
        order[i] = order[i + 1];
        at[order[i] - search->first] = i;
    }
    order[to] = step;
    at[step - search->first] = to;
}

/* Steps that leave more bytes alive than there were go as far back as they may, the last first. */
static void sink(Search *search, int64_t live, int32_t *order)
{
    const ArenaMark mark = arena_mark(search->arena);
    const int32_t n = search->end - search->first;
    int32_t *at = NEW_ARRAY(search->arena, int32_t, n);
    order_open_stretch(search, live, live);
    for (int32_t i = 0; i < n; i++) {
        order_take(search, order[i]);
        at[order[i] - search->first] = i;
    }
    for (int32_t i = n - 1; i >= 0; i--) {
        const int32_t step = order[i];
        order_take_back(search);
        if (order_effect(search, step).after > live)
            move_later(search, order, at, i, first_need(search, step, at) - 1);
    }
    arena_release(search->arena, mark);
}

/* The candidate, as it is and with steps taken early: the better of the two goes into `order` where
 * it peaks below the limit; returns the lower of limit and peak. */
static int64_t try_order(Search *search, int64_t live, int64_t limit,
                         const int32_t *candidate, int32_t *order)
{
    const int32_t n = search->end - search->first;
    for (int early = 0; early < 2; early++) {
        const int64_t peak = run_order(search, live, candidate, early);
        if (peak < limit) {
            limit = peak;
            memcpy(order, search->path, (size_t)n * sizeof *order);
        }
        while (search->n_path)
            order_take_back(search);
    }
    return limit;
}

int64_t order_quick(Search *search, int64_t live, int64_t limit, int32_t *order)
{
    const ArenaMark mark = arena_mark(search->arena);
    const int32_t n = search->end - search->first;
    int32_t *candidate[CANDIDATES];
    for (int k = 0; k < CANDIDATES; k++)
        candidate[k] = NEW_ARRAY(search->arena, int32_t, n);
    memcpy(candidate[FOUND], order, (size_t)n * sizeof *order);
    depth_first(search, candidate[BY_DEPTH]);
    for (int32_t i = 0; i < n; i++)
        candidate[AS_GIVEN][i] = search->first + i;
    for (int k = 0; k < CANDIDATES; k++) {
        limit = try_order(search, live, limit, candidate[k], order);
        sink(search, live, candidate[k]);
        limit = try_order(search, live, limit, candidate[k], order);
    }
    arena_release(search->arena, mark);
    return limit;
}
