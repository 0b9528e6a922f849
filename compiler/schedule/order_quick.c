/* SPDX-License-Identifier: Apache-2.0
 * Orders that are found at once: depth first from the results, of what a step reads that first
 * which needs most beyond what it leaves (Sethi and Ullman's rule), and the given order, each as
 * it is and with steps taken early that set bytes free. Near linear, for what the search cannot
 * finish. */
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "schedule/order_set.h"

/* No sum of needs goes beyond. */
static const int64_t MOST_NEED = (int64_t)1 << 60;

typedef struct Need {
    int64_t peak,
        left; /* bytes: while what leads to the step is made, and after it */
    int32_t step;
} Need;

typedef struct Quick {
    Search *q;
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
static int64_t bytes_made(const Search *search, int32_t s)
{
    const OrderProblem *problem = search->p;
    int64_t made = 0;
    for (int32_t k = problem->touch_of[s]; k < problem->touch_of[s + 1]; k++)
        made += search->rank[k] ? 0 : problem->size[problem->touch[k]];
    return made;
}

/* What the step reads within the stretch, the first to be made first; returns how many. */
static int32_t sort_read(Quick *w, int32_t step)
{
    const OrderProblem *problem = w->q->p;
    const int32_t first = problem->before_of[step];
    const int32_t n = problem->before_of[step + 1] - first;
    int32_t inside = 0;
    for (int32_t k = first; k < first + n; k++) {
        const int32_t before = problem->before[k] - w->q->first;
        if (before >= 0)
            w->sorted[inside++] = w->need[before];
    }
    if (inside > 1)
        qsort(w->sorted, (size_t)inside, sizeof *w->sorted, by_need);
    for (int32_t k = 0; k < n; k++)
        w->from[first + k] = k < inside ? w->sorted[k].step : -1;
    return inside;
}

static void weigh(Quick *w, int32_t step)
{
    const int32_t inside = sort_read(w, step);
    int64_t held = 0;
    int64_t peak = 0;
    for (int32_t k = 0; k < inside; k++) {
        const Need *need = w->sorted + k;
        peak = i64_max(peak, i64_min(MOST_NEED, held + need->peak));
        held = i64_min(MOST_NEED, held + need->left);
    }
    const int64_t made = bytes_made(w->q, step);
    const Need need = { i64_max(peak, held + made), made, step };
    w->need[step - w->q->first] = need;
}

static int32_t put_deep(Quick *w, int32_t goal, int32_t *order, int32_t n)
{
    const OrderProblem *problem = w->q->p;
    int32_t depth = 0;
    w->stack[depth] = goal;
    w->at[depth++] = problem->before_of[goal];
    w->seen[goal - w->q->first] = true;
    while (depth) {
        const int32_t s = w->stack[depth - 1];
        const int32_t k = w->at[depth - 1]++;
        if (k == problem->before_of[s + 1]) {
            order[n++] = s;
            depth--;
            continue;
        }
        const int32_t t = w->from[k];
        if (t < 0 || w->seen[t - w->q->first])
            continue;
        w->seen[t - w->q->first] = true;
        w->stack[depth] = t;
        w->at[depth++] = problem->before_of[t];
    }
    return n;
}

static bool is_last(const Search *search, int32_t s)
{
    for (int32_t k = search->after_of[s]; k < search->after_of[s + 1]; k++)
        if (search->after[k] < search->end)
            return false;
    return true;
}

static Quick quick_new(Search *search)
{
    const int32_t n = search->end - search->first;
    const int32_t all = search->p->before_of[search->p->steps];
    return (Quick){
        .q = search,
        .need = NEW_ARRAY(search->arena, Need, n),
        .sorted = NEW_ARRAY(search->arena, Need, n),
        .from = NEW_ARRAY(search->arena, int32_t, all + 1),
        .stack = NEW_ARRAY(search->arena, int32_t, n + 1),
        .at = NEW_ARRAY(search->arena, int32_t, n + 1),
        .seen = NEW_ARRAY(search->arena, bool, n),
    };
}

/* Results first that need most. */
static void depth_first(Search *search, int32_t *order)
{
    Quick w = quick_new(search);
    int32_t goals = 0;
    int32_t put = 0;
    for (int32_t s = search->first; s < search->end; s++)
        weigh(&w, s);
    for (int32_t s = search->first; s < search->end; s++)
        if (is_last(search, s))
            w.sorted[goals++] = w.need[s - search->first];
    if (goals > 1)
        qsort(w.sorted, (size_t)goals, sizeof *w.sorted, by_need);
    for (int32_t k = 0; k < goals; k++)
        put = put_deep(&w, w.sorted[k].step, order, put);
}

static void run_if_free(Search *search, int32_t s)
{
    const Effect effect = order_effect(search, s);
    if (effect.during <= search->peak && effect.after <= search->live)
        order_run(search, s, effect);
}

/* Runs the order; early: what a step makes ready and what sets bytes free goes before the next. */
static int64_t run_order(Search *search, int64_t live, const int32_t *order,
                         bool early)
{
    const int32_t n = search->end - search->first;
    order_open_stretch(search, live, live);
    for (int32_t i = 0; i < n; i++) {
        int32_t looked = search->n_path;
        if (!order_is_done(search, order[i]))
            order_run(search, order[i], order_effect(search, order[i]));
        for (; early && looked < search->n_path; looked++)
            for (int32_t k = search->after_of[search->path[looked]];
                 k < search->after_of[search->path[looked] + 1]; k++)
                if (search->after[k] < search->end &&
                    !search->waiting[search->after[k]] &&
                    !order_is_done(search, search->after[k]))
                    run_if_free(search, search->after[k]);
    }
    return search->peak;
}

int64_t order_quick(Search *search, int64_t live, int64_t limit, int32_t *order)
{
    const ArenaMark mark = arena_mark(search->arena);
    const int32_t n = search->end - search->first;
    int32_t *by_depth = NEW_ARRAY(search->arena, int32_t, n);
    int32_t *as_given = NEW_ARRAY(search->arena, int32_t, n);
    for (int32_t i = 0; i < n; i++)
        as_given[i] = search->first + i;
    depth_first(search, by_depth);
    for (int k = 0; k < 3; k++) {
        const int64_t peak =
            run_order(search, live, k ? by_depth : as_given, k != 1);
        if (peak < limit) {
            limit = peak;
            memcpy(order, search->path, (size_t)n * sizeof *order);
        }
        while (search->n_path)
            order_take_back(search);
    }
    arena_release(search->arena, mark);
    return limit;
}
