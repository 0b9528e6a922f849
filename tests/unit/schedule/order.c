/* SPDX-License-Identifier: Apache-2.0
 * The order search against every order of small random programs, and on a shape where the given
 * order is bad. */
#include "../plan/cases.h"
#include "schedule/order.h"
#include "schedule/order_listing.h"
#include "../plan/programs.h"

enum { CASES = 400, MOST_STEPS = 7 };

typedef struct Orders {
    const Program *p;
    int n, order[MOST_STEPS];
    bool used[MOST_STEPS];
    int64_t least;
} Orders;

static bool touches(const Step *s, const Tensor *t, bool *write)
{
    bool any = false;
    for (int k = 0; k < s->n_operand; k++)
        if (s->operand[k].tensor == t) {
            any = true;
            *write |= s->operand[k].write;
        }
    return any;
}

static bool must_follow(const Step *a, const Step *b)
{
    for (int k = 0; k < a->n_operand; k++) {
        bool write = a->operand[k].write;
        const Tensor *t = a->operand[k].tensor;
        if (t->storage != STORE_INPUT && touches(b, t, &write) && write)
            return true;
    }
    return false;
}

/* Position of the first and last step that touches t. */
static void life(const Orders *o, const Tensor *t, int *first, int *last)
{
    *first = *last = -1;
    for (int i = 0; i < o->n; i++) {
        bool write = false;
        if (!touches(o->p->step.at[o->order[i]], t, &write))
            continue;
        if (*first < 0)
            *first = i;
        *last = i;
    }
}

static int64_t bytes_at(const Orders *o, int at)
{
    const Graph *g = o->p->graph;
    const Step *s = o->p->step.at[o->order[at]];
    const int64_t result = s->operand[0].tensor->storage == STORE_ARENA
                               ? tensor_bytes(s->operand[0].tensor)
                               : 0;
    int64_t bytes = 0;
    int first, last;
    for (size_t i = 0; i < g->tensor.n; i++) {
        if (g->tensor.at[i]->storage != STORE_ARENA)
            continue;
        life(o, g->tensor.at[i], &first, &last);
        if (first >= 0 && first <= at && last >= at)
            bytes += tensor_bytes(g->tensor.at[i]);
    }
    life(o, s->operand[0].tensor, &first, &last);
    if (first != at || !result)
        return bytes;
    for (int k = 1; k < s->n_operand; k++) {
        const Operand *x = s->operand + k;
        if (x->reuse != REUSE_ELEMENTWISE ||
            x->tensor->storage != STORE_ARENA ||
            tensor_bytes(x->tensor) != result)
            continue;
        life(o, x->tensor, &first, &last);
        if (first < at && last == at)
            return bytes - result;
    }
    return bytes;
}

static int64_t peak_of(const Orders *o)
{
    int64_t peak = 0;
    for (int i = 0; i < o->n; i++)
        peak = bytes_at(o, i) > peak ? bytes_at(o, i) : peak;
    return peak;
}

static bool valid(const Orders *o)
{
    for (int i = 0; i < o->n; i++)
        for (int k = i + 1; k < o->n; k++)
            if (o->order[i] > o->order[k] &&
                must_follow(o->p->step.at[o->order[k]],
                            o->p->step.at[o->order[i]]))
                return false;
    return true;
}

static bool next_permutation(int *a, int n)
{
    int i = n - 2, k = n - 1;
    while (i >= 0 && a[i] > a[i + 1])
        i--;
    if (i < 0)
        return false;
    while (a[k] < a[i])
        k--;
    const int t = a[i];
    a[i] = a[k];
    a[k] = t;
    for (int l = i + 1, r = n - 1; l < r; l++, r--) {
        const int u = a[l];
        a[l] = a[r];
        a[r] = u;
    }
    return true;
}

static void all_orders(void **state)
{
    (void)state;
    int better = 0;
    const int n = cases(CASES);
    for (int c = 0; c < n; c++) {
        World w;
        random_program(&w, (uint64_t)c + 5000, 3 + c % (MOST_STEPS - 2));
        if (w.program.step.n > MOST_STEPS) {
            world_close(&w);
            continue;
        }
        const Items all =
            items_find(&w.arena, &w.program, &(PlanOptions){ .align = 4 });
        const Order got = order_find(&w.arena, &all, false, 0, NULL, NULL);
        Orders o = { .p = &w.program,
                     .n = (int)w.program.step.n,
                     .least = INT64_MAX };
        for (int i = 0; i < o.n; i++)
            o.order[i] = i;
        assert_int_equal(got.given, peak_of(&o));
        do {
            if (valid(&o) && peak_of(&o) < o.least)
                o.least = peak_of(&o);
        } while (next_permutation(o.order, o.n));
        assert_int_equal(got.peak, o.least);
        assert_true(got.bound <= got.peak);
        if (got.step) {
            for (int i = 0; i < o.n; i++)
                o.order[i] = got.step[i];
            assert_true(valid(&o));
            assert_int_equal(peak_of(&o), o.least);
            better++;
        }
        world_close(&w);
    }
    assert_true(better > n / 50);
}

/* Branches that shrink: one after the other, not side by side. */
static void branches(void **state)
{
    (void)state;
    World w;
    world_open(&w, 3);
    Tensor *x = add_input(&w, 8, 8, 4), *wide[6], *narrow[6];
    for (int i = 0; i < 6; i++)
        wide[i] = add_window(&w, x, 1, 0, 1, 8, 64);
    for (int i = 0; i < 6; i++)
        narrow[i] = add_window(&w, wide[i], 1, 0, 1, 8, 1);
    for (int i = 0; i < 5; i++)
        narrow[i + 1] = add_window(&w, narrow[i + 1], 1, 0, 1, 8, 1);
    finish(&w);
    const Items all =
        items_find(&w.arena, &w.program, &(PlanOptions){ .align = 4 });
    const Order got = order_find(&w.arena, &all, false, 0, NULL, NULL);
    assert_non_null(got.step);
    assert_true(got.peak < 2 * tensor_bytes(wide[0]));
    assert_true(got.given >= 6 * tensor_bytes(wide[0]));
    world_close(&w);
}

/* The steps in another order that is valid, drawn by chance. */
static void relist(World *w)
{
    const int32_t n = (int32_t)w->program.step.n;
    const Items all =
        items_find(&w->arena, &w->program, &(PlanOptions){ .align = 4 });
    const OrderProblem problem = order_problem(&w->arena, &all, false, NULL);
    Step **step = NEW_ARRAY(&w->arena, Step *, n + 1);
    bool *listed = NEW_ARRAY(&w->arena, bool, n + 1);
    for (int32_t i = 0; i < n;) {
        const int32_t next = (int32_t)rnd(w, (uint32_t)n);
        bool ready = !listed[next];
        for (int32_t k = problem.before_of[next];
             k < problem.before_of[next + 1]; k++)
            ready &= listed[problem.before[k]];
        if (!ready)
            continue;
        listed[next] = true;
        step[i] = w->program.step.at[next];
        i++;
    }
    memcpy(w->program.step.at, step, (size_t)n * sizeof *step);
}

static Step **list_steps(World *w, Listing listing)
{
    const size_t n = w->program.step.n;
    const Items all =
        items_find(&w->arena, &w->program, &(PlanOptions){ .align = 4 });
    const OrderProblem problem = order_problem(&w->arena, &all, false, NULL);
    const int32_t *order = order_listing(&w->arena, &all, &problem, listing);
    Step **step = NEW_ARRAY(&w->arena, Step *, n + 1);
    for (size_t i = 0; i < n; i++)
        step[i] = w->program.step.at[order[i]];
    return step;
}

static void assert_alike(const Step *step, const Step *other)
{
    assert_ptr_equal(step->kernel, other->kernel);
    assert_int_equal(step->units, other->units);
    assert_int_equal(step->operand->row_bytes, other->operand->row_bytes);
}

/* Wherever the file lists a node, the search begins from the same steps, one after the other. */
static void listings(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)cases(CASES); seed++) {
        World w;
        random_program(&w, seed, 3 + (int)(seed % 20));
        for (Listing listing = 0; listing < LISTINGS; listing++) {
            Step **step = list_steps(&w, listing);
            relist(&w);
            Step **again = list_steps(&w, listing);
            for (size_t i = 0; i < w.program.step.n; i++)
                assert_alike(step[i], again[i]);
        }
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(all_orders),
                                        cmocka_unit_test(branches),
                                        cmocka_unit_test(listings) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
