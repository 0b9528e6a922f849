/* SPDX-License-Identifier: Apache-2.0
 * Assignments to regions: small problems against all assignments there are, larger ones against
 * their own rules and bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../plan/cases.h"
#include "place/region.h"

enum { MOST = 64, CASES = 400, SMALL = 6 };

typedef struct World {
    Arena arena;
    uint64_t random;
    PlaceItem item[MOST];
    PlaceArc arc[MOST];
    int64_t traffic[MOST];
    int32_t pin[MOST];
    Region region[3];
    RegionProblem p;
} World;

static uint32_t rnd(World *w, uint32_t n)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return (uint32_t)(w->random >> 33) % n;
}

static void make(World *w, uint64_t seed, int n, int regions)
{
    memset(w, 0, sizeof *w);
    w->random = seed * 2654435761u + 88172645463325252u;
    for (int i = 0; i < n; i++) {
        const int32_t begin = (int32_t)rnd(w, 6);
        w->item[i] = (PlaceItem){ .size = 16 * (1 + (int64_t)rnd(w, 12)),
                                  .align = 16,
                                  .begin = begin,
                                  .end = begin + 1 + (int32_t)rnd(w, 4) };
        w->traffic[i] = (int64_t)rnd(w, 5000);
        w->pin[i] = rnd(w, 8) ? REGION_ANY : (int32_t)rnd(w, (uint32_t)regions);
    }
    int arcs = 0;
    for (int i = 0; i + 1 < n; i++)
        if (rnd(w, 4) == 0)
            w->arc[arcs++] = (PlaceArc){ .i = i,
                                         .j = i + 1,
                                         .lo = -16 * (int64_t)rnd(w, 4),
                                         .hi = 16 * (1 + (int64_t)rnd(w, 4)) };
    for (int k = 0; k < regions; k++)
        w->region[k] =
            (Region){ "r", 16 * (8 + (int64_t)rnd(w, 12 + 20 * (uint32_t)k)),
                      1 + (int64_t)rnd(w, 9) };
    w->p = (RegionProblem){ .item = w->item,
                            .n = n,
                            .arc = w->arc,
                            .n_arc = arcs,
                            .traffic = w->traffic,
                            .pin = w->pin,
                            .region = w->region,
                            .regions = regions };
}

/* Do the items of region r fit it, as they lie (offset) or in the best way there is (NULL)? */
static bool region_holds(World *w, const int32_t *of, int r,
                         const int64_t *offset)
{
    PlaceItem item[MOST];
    PlaceArc arc[MOST];
    int64_t at[MOST];
    int to[MOST], n = 0, arcs = 0;
    for (int i = 0; i < w->p.n; i++) {
        to[i] = -1;
        if (of[i] != r)
            continue;
        to[i] = n;
        at[n] = offset ? offset[i] : 0;
        item[n++] = w->item[i];
    }
    for (int k = 0; k < w->p.n_arc; k++) {
        if (to[w->arc[k].i] < 0 || to[w->arc[k].j] < 0)
            continue;
        arc[arcs] = w->arc[k];
        arc[arcs].i = to[w->arc[k].i];
        arc[arcs++].j = to[w->arc[k].j];
    }
    if (offset)
        return place_holds(item, n, arc, arcs, at, w->region[r].size);
    return place(&w->arena, item, n, arc, arcs, NULL).height <=
           w->region[r].size;
}

static int64_t cost(const World *w, const int32_t *of)
{
    int64_t sum = 0;
    for (int i = 0; i < w->p.n; i++)
        sum += w->traffic[i] * w->region[of[i]].cost;
    return sum;
}

/* The least cost over all assignments; -1: none fits. */
static int64_t brute(World *w)
{
    int32_t of[MOST] = { 0 };
    int64_t least = -1;
    for (;;) {
        bool good = least < 0 || cost(w, of) < least;
        for (int i = 0; i < w->p.n; i++)
            good &= w->pin[i] < 0 || of[i] == w->pin[i];
        for (int r = 0; good && r < w->p.regions; r++)
            good = region_holds(w, of, r, NULL);
        if (good)
            least = cost(w, of);
        int i = 0;
        while (i < w->p.n && ++of[i] == w->p.regions)
            of[i++] = 0;
        if (i == w->p.n)
            return least;
    }
}

static void check(World *w, const RegionPlan *r)
{
    for (int i = 0; i < w->p.n; i++)
        assert_true(w->pin[i] < 0 || r->of[i] == w->pin[i]);
    for (int k = 0; k < w->p.regions; k++) {
        assert_true(region_holds(w, r->of, k, r->offset));
        assert_true(r->bound[k] <= r->height[k] &&
                    r->height[k] <= w->region[k].size);
    }
    assert_true(r->cost == cost(w, r->of));
    assert_true(r->least <= r->cost);
    assert_true(r->optimal == (r->least == r->cost));
}

static void all_assignments(void **state)
{
    (void)state;
    int fit = 0, split = 0;
    const int n = cases(CASES);
    for (int c = 0; c < n; c++) {
        World w;
        make(&w, (uint64_t)c + 1, 2 + c % (SMALL - 1), 2 + c % 2);
        const RegionPlan r = region_plan(&w.arena, &w.p);
        const int64_t least = brute(&w);
        if ((least < 0) != (r.missing > 0))
            fail_msg("case %d: %lld bytes missing, the best costs %lld", c,
                     (long long)r.missing, (long long)least);
        if (least >= 0) {
            check(&w, &r);
            if (r.cost != least || !r.optimal)
                fail_msg("case %d: costs %lld, the best %lld", c,
                         (long long)r.cost, (long long)least);
            fit++;
            for (int i = 1; i < w.p.n; i++)
                if (r.of[i] != r.of[0]) {
                    split++;
                    break;
                }
        }
        arena_free(&w.arena);
    }
    assert_true(fit > n / 3);
    assert_true(split > n / 6);
}

static void large(void **state)
{
    (void)state;
    const int n = cases(CASES) * 3 / 20;
    int fit = 0;
    for (int c = 0; c < n; c++) {
        World w;
        make(&w, (uint64_t)c + 1000, 20 + c % 40, 3);
        for (int k = 0; k < 3; k++) {
            w.region[k].size = w.region[k].size * (k == 2 ? 16 : 2);
            w.region[k].cost = 1 + 3 * k;
        }
        const RegionPlan r = region_plan(&w.arena, &w.p);
        if (!r.missing)
            check(&w, &r);
        fit += !r.missing;
        arena_free(&w.arena);
    }
    assert_true(fit > n / 2);
}

/* Scratch goes to the cheapest region that holds it, whatever its traffic. */
static void scratch(void **state)
{
    (void)state;
    World w;
    make(&w, 1, 3, 2);
    for (int i = 0; i < 3; i++) {
        w.item[i] =
            (PlaceItem){ .size = 64, .align = 16, .begin = 0, .end = 1 };
        w.traffic[i] = 100;
        w.pin[i] = REGION_ANY;
    }
    w.p.n_arc = 0;
    w.traffic[2] = 1;
    w.pin[2] = REGION_FASTEST;
    w.region[0] = (Region){ "slow", 1024, 10 };
    w.region[1] = (Region){ "fast", 64, 1 };
    const RegionPlan r = region_plan(&w.arena, &w.p);
    assert_int_equal(r.missing, 0);
    assert_int_equal(r.of[2], 1);
    assert_int_equal(r.of[0] + r.of[1], 0);
    arena_free(&w.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(all_assignments),
                                        cmocka_unit_test(large),
                                        cmocka_unit_test(scratch) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
