/* SPDX-License-Identifier: Apache-2.0
 * Orders that are found at once: depth first from the results, of what a step reads that first
 * which needs most beyond what it leaves (Sethi and Ullman's rule), and the given order, each as
 * it is and with steps taken early that set bytes free. Near linear, for what the search cannot
 * finish. */
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "plan/order_set.h"

/* No sum of needs goes beyond. */
static const int64_t MOST_NEED = (int64_t)1 << 60;

typedef struct Need {
    int64_t peak, left; /* bytes: while what leads to the step is made, and after it */
    int32_t step;
} Need;

typedef struct Quick {
    Search *q;
    Need *need;    /* by step of the stretch */
    Need *sorted;  /* what a step reads, the first to be made first */
    int32_t *from; /* the same of all steps: before[] of the problem, in the order to be made */
    int32_t *stack, *at;
    bool *seen;
} Quick;

static int by_need(const void *a, const void *b)
{
    const Need *x = a, *y = b;
    const int64_t u = x->peak - x->left, v = y->peak - y->left;
    if (u != v)
        return u > v ? -1 : 1;
    return x->step < y->step ? -1 : x->step > y->step;
}

/* The bytes that come to life in a step of the given order. */
static int64_t bytes_made(const Search *q, int32_t s)
{
    const OrderProblem *p = q->p;
    int64_t made = 0;
    for (int32_t k = p->touch_of[s]; k < p->touch_of[s + 1]; k++)
        made += q->rank[k] ? 0 : p->size[p->touch[k]];
    return made;
}

static void weigh(Quick *w, int32_t s)
{
    const OrderProblem *p = w->q->p;
    const int32_t first = p->before_of[s], n = p->before_of[s + 1] - first;
    int64_t held = 0, peak = 0;
    int32_t inside = 0;
    for (int32_t k = 0; k < n; k++)
        if (p->before[first + k] >= w->q->first)
            w->sorted[inside++] = w->need[p->before[first + k] - w->q->first];
    if (inside > 1)
        qsort(w->sorted, (size_t)inside, sizeof *w->sorted, by_need);
    for (int32_t k = 0; k < n; k++)
        w->from[first + k] = k < inside ? w->sorted[k].step : -1;
    for (int32_t k = 0; k < inside; k++) {
        peak = i64_max(peak, i64_min(MOST_NEED, held + w->sorted[k].peak));
        held = i64_min(MOST_NEED, held + w->sorted[k].left);
    }
    const int64_t made = bytes_made(w->q, s);
    w->need[s - w->q->first] = (Need){ i64_max(peak, held + made), made, s };
}

static int32_t put_deep(Quick *w, int32_t goal, int32_t *order, int32_t n)
{
    const OrderProblem *p = w->q->p;
    int32_t depth = 0;
    w->stack[depth] = goal;
    w->at[depth++] = p->before_of[goal];
    w->seen[goal - w->q->first] = true;
    while (depth) {
        const int32_t s = w->stack[depth - 1], k = w->at[depth - 1]++;
        if (k == p->before_of[s + 1]) {
            order[n++] = s;
            depth--;
            continue;
        }
        const int32_t t = w->from[k];
        if (t < 0 || w->seen[t - w->q->first])
            continue;
        w->seen[t - w->q->first] = true;
        w->stack[depth] = t;
        w->at[depth++] = p->before_of[t];
    }
    return n;
}

static bool is_last(const Search *q, int32_t s)
{
    for (int32_t k = q->after_of[s]; k < q->after_of[s + 1]; k++)
        if (q->after[k] < q->end)
            return false;
    return true;
}

/* Results first that need most. */
static void depth_first(Search *q, int32_t *order)
{
    const int32_t n = q->end - q->first;
    Quick w = { .q = q,
                .need = NEW_ARRAY(q->arena, Need, n),
                .sorted = NEW_ARRAY(q->arena, Need, n),
                .from = NEW_ARRAY(q->arena, int32_t, q->p->before_of[q->p->steps] + 1),
                .stack = NEW_ARRAY(q->arena, int32_t, n + 1),
                .at = NEW_ARRAY(q->arena, int32_t, n + 1),
                .seen = NEW_ARRAY(q->arena, bool, n) };
    int32_t goals = 0, put = 0;
    for (int32_t s = q->first; s < q->end; s++)
        weigh(&w, s);
    for (int32_t s = q->first; s < q->end; s++)
        if (is_last(q, s))
            w.sorted[goals++] = w.need[s - q->first];
    if (goals > 1)
        qsort(w.sorted, (size_t)goals, sizeof *w.sorted, by_need);
    for (int32_t k = 0; k < goals; k++)
        put = put_deep(&w, w.sorted[k].step, order, put);
}

static void run_if_free(Search *q, int32_t s)
{
    const Effect e = order_effect(q, s);
    if (e.during <= q->peak && e.after <= q->live)
        order_run(q, s, e);
}

/* Runs the order; early: what a step makes ready and what sets bytes free goes before the next. */
static int64_t run_order(Search *q, int64_t live, const int32_t *order, bool early)
{
    const int32_t n = q->end - q->first;
    order_open_stretch(q, live, live);
    for (int32_t i = 0; i < n; i++) {
        int32_t looked = q->n_path;
        if (!order_is_done(q, order[i]))
            order_run(q, order[i], order_effect(q, order[i]));
        for (; early && looked < q->n_path; looked++)
            for (int32_t k = q->after_of[q->path[looked]]; k < q->after_of[q->path[looked] + 1];
                 k++)
                if (q->after[k] < q->end && !q->waiting[q->after[k]] &&
                    !order_is_done(q, q->after[k]))
                    run_if_free(q, q->after[k]);
    }
    return q->peak;
}

int64_t order_quick(Search *q, int64_t live, int64_t limit, int32_t *order)
{
    const ArenaMark mark = arena_mark(q->arena);
    const int32_t n = q->end - q->first;
    int32_t *by_depth = NEW_ARRAY(q->arena, int32_t, n),
            *as_given = NEW_ARRAY(q->arena, int32_t, n);
    for (int32_t i = 0; i < n; i++)
        as_given[i] = q->first + i;
    depth_first(q, by_depth);
    for (int k = 0; k < 3; k++) {
        const int64_t peak = run_order(q, live, k ? by_depth : as_given, k != 1);
        if (peak < limit) {
            limit = peak;
            memcpy(order, q->path, (size_t)n * sizeof *order);
        }
        while (q->n_path)
            order_take_back(q);
    }
    arena_release(q->arena, mark);
    return limit;
}
