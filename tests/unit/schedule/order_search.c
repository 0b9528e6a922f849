/* SPDX-License-Identifier: Apache-2.0
 * The order search on random order problems, against all orders (least peak of every set of steps),
 * and what it says when its work is used up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/vec.h"
#include "../plan/cases.h"
#include "schedule/order_known.h"

enum { CASES = 1500, MOST = 11 };

typedef struct Made {
    Arena arena;
    uint64_t random;
    OrderProblem p;
    VEC(int64_t) size;
    bool given[512], kept[512];
    VEC(int32_t) before, touch, before_of, touch_of, gain_of;
    VEC(OrderGain) gain;
} Made;

static int below(Made *m, int n)
{
    m->random ^= m->random << 13;
    m->random ^= m->random >> 7;
    m->random ^= m->random << 17;
    return (int)((m->random >> 20) % (uint64_t)n);
}

static bool touched(const Made *m, size_t from, int32_t item)
{
    for (size_t k = from; k < m->touch.n; k++)
        if (m->touch.at[k] == item)
            return true;
    return false;
}

/* Each step makes an item and reads a few earlier ones, seldom far back; now and then two steps
 * fill one item. */
static void make(Made *m, uint64_t seed, int steps, int back)
{
    memset(m, 0, sizeof *m);
    m->random = seed * 2654435761u + 88172645463325252u;
    int32_t item_of[512];
    for (int s = 0; s < steps; s++) {
        const size_t begin = m->touch.n;
        VEC_PUSH(&m->arena, &m->before_of, (int32_t)m->before.n);
        VEC_PUSH(&m->arena, &m->touch_of, (int32_t)begin);
        VEC_PUSH(&m->arena, &m->gain_of, (int32_t)m->gain.n);
        const bool joins = s && below(m, 8) == 0;
        m->given[m->size.n] = below(m, 16) == 0;
        m->kept[m->size.n] = below(m, 16) == 0;
        if (!joins)
            VEC_PUSH(&m->arena, &m->size, below(m, 4) ? 1 + below(m, 9) : 4);
        item_of[s] = joins ? item_of[s - 1] : (int32_t)m->size.n - 1;
        VEC_PUSH(&m->arena, &m->touch, item_of[s]);
        for (int k = below(m, 4); s && k > 0; k--) {
            const int from = s - 1 - below(m, s < back ? s : back);
            if (touched(m, begin, item_of[from]))
                continue;
            for (int maker = 0; maker < s; maker++)
                if (item_of[maker] == item_of[from])
                    VEC_PUSH(&m->arena, &m->before, maker);
            VEC_PUSH(&m->arena, &m->touch, item_of[from]);
            const int64_t least =
                m->size.at[item_of[from]] < m->size.at[item_of[s]]
                    ? m->size.at[item_of[from]]
                    : m->size.at[item_of[s]];
            if (below(m, 3) == 0)
                VEC_PUSH(
                    &m->arena, &m->gain,
                    ((OrderGain){ item_of[from], 1 + below(m, (int)least) }));
        }
    }
    VEC_PUSH(&m->arena, &m->before_of, (int32_t)m->before.n);
    VEC_PUSH(&m->arena, &m->touch_of, (int32_t)m->touch.n);
    VEC_PUSH(&m->arena, &m->gain_of, (int32_t)m->gain.n);
    m->p = (OrderProblem){ .steps = steps,
                           .items = (int32_t)m->size.n,
                           .size = m->size.at,
                           .given = m->given,
                           .kept = m->kept,
                           .before_of = m->before_of.at,
                           .before = m->before.at,
                           .touch_of = m->touch_of.at,
                           .touch = m->touch.at,
                           .gain_of = m->gain_of.at,
                           .gain = m->gain.at };
}

/* Bytes alive while step s runs after the steps of `done`, and after it. Readers of a set are
 * counted from scratch. */
static int64_t during(const OrderProblem *p, const bool *done, int s)
{
    int64_t live = 0, gain = 0;
    for (int32_t i = 0; i < p->items; i++) {
        bool begun = p->given[i], left = p->kept[i], here = false,
             last = !p->kept[i];
        for (int t = 0; t < p->steps; t++)
            for (int32_t k = p->touch_of[t]; k < p->touch_of[t + 1]; k++) {
                if (p->touch[k] != i)
                    continue;
                begun |= done[t];
                left |= !done[t];
                here |= t == s;
                last &= done[t] || t == s;
            }
        if ((begun && left) || here)
            live += p->size[i];
        for (int32_t k = p->gain_of[s];
             here && begun && last && k < p->gain_of[s + 1]; k++)
            if (p->gain[k].item == i && p->gain[k].bytes > gain)
                gain = p->gain[k].bytes;
    }
    return live - gain;
}

static bool ready(const OrderProblem *p, const bool *done, int s)
{
    for (int32_t k = p->before_of[s]; k < p->before_of[s + 1]; k++)
        if (!done[p->before[k]])
            return false;
    return !done[s];
}

/* Over all sets of steps, small ones first. */
static int64_t least_of_all(const OrderProblem *p)
{
    static int64_t least[1 << MOST];
    const int sets = 1 << p->steps;
    for (int set = 0; set < sets; set++)
        least[set] = set ? INT64_MAX : 0;
    for (int set = 0; set < sets; set++) {
        bool done[MOST] = { false };
        if (least[set] == INT64_MAX)
            continue;
        for (int s = 0; s < p->steps; s++)
            done[s] = set >> s & 1;
        for (int s = 0; s < p->steps; s++) {
            if (!ready(p, done, s))
                continue;
            const int64_t step = during(p, done, s),
                          peak = step > least[set] ? step : least[set];
            if (peak < least[set | 1 << s])
                least[set | 1 << s] = peak;
        }
    }
    return least[sets - 1];
}

/* The peak of an order, which must be valid; NULL: as given. */
static int64_t peak_of(const OrderProblem *p, const int32_t *order)
{
    bool done[512] = { false };
    int64_t peak = 0;
    for (int i = 0; i < p->steps; i++) {
        const int s = order ? order[i] : i;
        assert_true(ready(p, done, s));
        const int64_t now = during(p, done, s);
        peak = now > peak ? now : peak;
        done[s] = true;
    }
    return peak;
}

static void all_orders(void **state)
{
    (void)state;
    int better = 0;
    const int n = cases(CASES);
    for (int c = 0; c < n; c++) {
        Made m;
        make(&m, (uint64_t)c + 1, 3 + c % (MOST - 2), c % 2 ? MOST : 3);
        const Order o = order_search(&m.arena, &m.p, 0);
        assert_int_equal(o.given, peak_of(&m.p, NULL));
        assert_int_equal(o.peak, peak_of(&m.p, o.step));
        assert_int_equal(o.peak, least_of_all(&m.p));
        assert_int_equal(o.bound, o.peak);
        better += o.peak < o.given;
        arena_free(&m.arena);
    }
    assert_true(better > n / 10);
}

/* The same steps in another valid order, at random. */
static void scramble(Made *m)
{
    const OrderProblem old = m->p, *p = &old;
    bool done[512] = { false };
    int32_t place[512], *before_of = arena_copy(&m->arena, p->before_of,
                                                (size_t)(p->steps + 1) * 4);
    int32_t *touch_of =
                arena_copy(&m->arena, p->touch_of, (size_t)(p->steps + 1) * 4),
            *gain_of =
                arena_copy(&m->arena, p->gain_of, (size_t)(p->steps + 1) * 4);
    memset(&m->before, 0, sizeof m->before);
    memset(&m->touch, 0, sizeof m->touch);
    memset(&m->gain, 0, sizeof m->gain);
    int32_t order[512];
    for (int i = 0; i < p->steps; i++) {
        int s = below(m, p->steps);
        while (!ready(p, done, s))
            s = (s + 1) % p->steps;
        done[s] = true;
        order[i] = s;
        place[s] = i;
    }
    for (int i = 0; i < p->steps; i++) {
        const int32_t s = order[i];
        m->before_of.at[i] = (int32_t)m->before.n;
        m->touch_of.at[i] = (int32_t)m->touch.n;
        m->gain_of.at[i] = (int32_t)m->gain.n;
        for (int32_t k = before_of[s]; k < before_of[s + 1]; k++)
            VEC_PUSH(&m->arena, &m->before, place[p->before[k]]);
        for (int32_t k = touch_of[s]; k < touch_of[s + 1]; k++)
            VEC_PUSH(&m->arena, &m->touch, p->touch[k]);
        for (int32_t k = gain_of[s]; k < gain_of[s + 1]; k++)
            VEC_PUSH(&m->arena, &m->gain, p->gain[k]);
    }
    m->p.before = m->before.at;
    m->p.touch = m->touch.at;
    m->p.gain = m->gain.at;
}

/* With too little work for a proof it still gives a valid order, mostly a better one, and a bound
 * that holds. */
static void little_work(void **state)
{
    (void)state;
    const int n = cases(CASES) * 2 / 75;
    int open = 0, better = 0;
    for (int c = 0; c < n; c++) {
        Made m;
        make(&m, (uint64_t)c + 777, 200, 30);
        scramble(&m);
        const Order full = order_search(&m.arena, &m.p, 3000000),
                    o = order_search(&m.arena, &m.p, c % 3 ? 150000 : 300);
        assert_int_equal(o.peak, peak_of(&m.p, o.step));
        assert_true(o.bound <= full.peak && o.peak <= o.given &&
                    full.bound <= full.peak);
        open += o.bound < o.peak;
        better += o.peak < o.given;
        arena_free(&m.arena);
    }
    assert_true(open > 0 && better > n / 2);
}

static void asked_alike(Made *m, OrdersKnown *known)
{
    const size_t bytes = (size_t)m->p.steps * sizeof(int32_t);
    const Order order = order_search(&m->arena, &m->p, 0);
    for (int again = 0; again < 2; again++) {
        const Order other = order_search_known(&m->arena, known, &m->p, 0);
        assert_int_equal(other.given, order.given);
        assert_int_equal(other.peak, order.peak);
        assert_int_equal(other.bound, order.bound);
        assert_int_equal(!other.step, !order.step);
        if (order.step)
            assert_memory_equal(other.step, order.step, bytes);
    }
}

/* One number of the problem is another. */
static void change(Made *m, int what)
{
    const int item = below(m, (int)m->size.n);
    if (what == 0)
        m->size.at[item] += 5;
    if (what == 1)
        m->given[item] = !m->given[item];
    if (what == 2)
        m->kept[item] = !m->kept[item];
    if (what == 3 && m->gain.n)
        m->gain.at[below(m, (int)m->gain.n)].bytes = 1;
}

/* What is remembered is what a search finds, also where problems differ in a single number. */
static void remembered(void **state)
{
    (void)state;
    Arena arena = { 0 };
    OrdersKnown *known = orders_known_new(&arena, MOST);
    const int n = cases(CASES);
    for (int c = 0; c < n; c++) {
        Made m;
        make(&m, (uint64_t)c + 99, 3 + c % (MOST - 2), c % 2 ? MOST : 3);
        asked_alike(&m, known);
        change(&m, c % 4);
        asked_alike(&m, known);
        arena_free(&m.arena);
    }
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(all_orders),
                                        cmocka_unit_test(remembered),
                                        cmocka_unit_test(little_work) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
