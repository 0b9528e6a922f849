/* SPDX-License-Identifier: Apache-2.0
 * The offset solver against brute force and against problems that fit by
 * construction, and its rules one by one. */
#include "../plan/cases.h"
#include "problems.h"

#include "place/problem.h"

enum { CASES = 1000 };

static PlaceResult solve(Arena *a, const Case *c, const PlaceOptions *opt)
{
    return place(a, c->item, c->n, c->arc, c->arcs, opt);
}

static bool holds(const Case *c, const PlaceResult *r)
{
    return place_holds(c->item, c->n, c->arc, c->arcs, r->offset, r->height);
}

/* ---- brute force ---- */

/* One below, at and above the optimum: found and impossible, never the other way round. */
static void check_verdicts(const Case *c, int64_t optimum, bool plain)
{
    for (int64_t h = optimum - 1; h <= optimum + 1; h++) {
        Arena a = { 0 };
        int64_t offset[MOST_ITEMS];
        uint64_t spent = 0;
        Problem *p =
            place_problem(&a, c->item, c->n, c->arc, c->arcs, PLACE_PAIRS);
        assert_true(place_bound(&a, p) * p->unit <= optimum);
        if (h >= 0 && h % p->unit == 0) {
            const Verdict v =
                plain ? place_exact(place_skyline_new(&a, p, 1000), h / p->unit,
                                    h % 2, 1000000, offset, &spent)
                      : place_pairs(place_pairs_new(&a, p), h / p->unit,
                                    1000000, offset, &spent);
            assert_int_equal(v, h < optimum ? IMPOSSIBLE : FOUND);
            if (v == FOUND)
                assert_true(place_height(p, offset) * p->unit <= h);
        }
        arena_free(&a);
    }
}

static int64_t check_case(const Case *c, const PlaceOptions *opt)
{
    Arena a = { 0 };
    const PlaceResult r = solve(&a, c, opt);
    const int64_t optimum = brute_force(c, FARTHEST);
    if (r.offset) {
        assert_int_equal(r.height, optimum);
        assert_true(r.optimal && r.lower_bound == r.height);
        assert_true(holds(c, &r));
    } else {
        assert_int_equal(optimum, -1);
    }
    arena_free(&a);
    if (optimum >= 0)
        check_verdicts(c, optimum, false);
    return optimum;
}

static void test_plain(void **state)
{
    (void)state;
    for (int k = 0; k < cases(CASES) / 4; k++) {
        Case c;
        plain_case(&c, 4 + below(6), k % 2 ? 3 : 5);
        check_verdicts(&c, check_case(&c, NULL), true);
    }
}

static void test_plain_mixed_alignment(void **state)
{
    (void)state;
    for (int k = 0; k < cases(CASES) / 4; k++) {
        Case c;
        plain_case(&c, 3 + below(5), 6);
        for (int i = 0; i < c.n; i++)
            c.item[i].align = (int64_t[]){ 1, 2, 3, 4 }[below(4)];
        check_verdicts(&c, check_case(&c, &(PlaceOptions){ .moves = 1 }), true);
    }
}

/* The optimum is above the most bytes alive at once: only an exhausted search proves it. */
static void test_above_bound(void **state)
{
    static const PlaceItem gap[][9] = {
#define I(s, b, e) { .size = s, .begin = b, .end = e }
        { I(1, 3, 5), I(2, 4, 7), I(2, 6, 7), I(2, 0, 2), I(1, 1, 4),
          I(2, 0, 1), I(2, 5, 6), I(1, 1, 5), I(2, 2, 3) },
        { I(1, 4, 6), I(3, 5, 7), I(3, 1, 4), I(1, 3, 5), I(2, 0, 2),
          I(2, 6, 7), I(1, 4, 5), I(1, 3, 6), I(2, 0, 1) },
        { I(1, 2, 6), I(2, 6, 7), I(2, 3, 5), I(3, 0, 2), I(2, 0, 4),
          I(3, 5, 7), I(1, 4, 5), I(1, 4, 6), I(1, 2, 3) },
#undef I
    };
    static const int64_t load[] = { 4, 5, 5 };
    (void)state;
    for (int k = 0; k < 3; k++) {
        Case c = { .n = 9 };
        memcpy(c.item, gap[k], sizeof gap[k]);
        assert_int_equal(brute_force(&c, FARTHEST), load[k] + 1);
        assert_int_equal(check_case(&c, NULL), load[k] + 1);
        check_verdicts(&c, load[k] + 1, true);
    }
    for (int k = 0; k < cases(CASES) / 4; k++) {
        Case c;
        flat_case(&c, 8 + below(6), 9);
        check_verdicts(&c, check_case(&c, NULL), true);
    }
}

static void test_mixed(void **state)
{
    (void)state;
    for (int k = 0; k < cases(CASES); k++) {
        Case c;
        mixed_case(&c, 2 + below(5));
        check_case(&c, k % 2 ? NULL : &(PlaceOptions){ .moves = 1 });
    }
}

/* Pieces of a rectangle that is cut at random: they fit into it again. */
typedef struct Piece {
    int begin, end, low, high;
} Piece;

enum { MOST_PIECES = 200 };

static int cut_rectangle(Piece whole, int most, PlaceItem *item)
{
    Piece piece[MOST_PIECES] = { whole };
    int n = 1;
    for (int tries = 0; tries < 12 * most && n < most; tries++) {
        Piece *one = piece + below(n);
        const int wide = one->end - one->begin;
        const int high = one->high - one->low;
        piece[n] = *one;
        if (below(2) && wide > 1)
            one->end = piece[n].begin = one->begin + 1 + below(wide - 1);
        else if (high > 1)
            one->high = piece[n].low = one->low + 1 + below(high - 1);
        else
            continue;
        n++;
    }
    for (int i = 0; i < n; i++)
        item[i] = (PlaceItem){ .size = piece[i].high - piece[i].low,
                               .begin = piece[i].begin,
                               .end = piece[i].end };
    return n;
}

static void test_planted(void **state)
{
    (void)state;
    for (int k = 0; k < 60; k++) {
        PlaceItem item[MOST_PIECES];
        const Piece whole = { 0, 4 + below(12), 0, 4 + below(30) };
        const int n = cut_rectangle(whole, 35, item);
        Arena a = { 0 };
        const PlaceResult r = place(&a, item, n, NULL, 0, NULL);
        assert_int_equal(r.height, whole.high);
        assert_true(r.optimal &&
                    place_holds(item, n, NULL, 0, r.offset, r.height));
        arena_free(&a);
    }
}

/* Placements become lower from call to call, and none is found below the bound. */
static void test_squeaky(void **state)
{
    (void)state;
    int64_t sum = 0;
    for (int k = 0; k < 10; k++) {
        PlaceItem item[MOST_PIECES];
        int64_t offset[MOST_PIECES] = { 0 };
        const Piece whole = { 0, 60, 0, 100000 };
        const int n = cut_rectangle(whole, MOST_PIECES, item);
        Arena a = { 0 };
        Problem *p = place_problem(&a, item, n, NULL, 0, PLACE_PAIRS);
        Squeaky *squeaky = place_squeaky_new(&a, p);
        assert_int_equal(p->unit, 1);
        int64_t height = INT64_MAX;
        for (int call = 0; call < 4; call++) {
            const int64_t before = height;
            height =
                place_squeaky(squeaky, before, whole.high, 1000000, offset);
            assert_true(height <= before && height >= whole.high);
            assert_int_equal(place_height(p, offset), height);
            assert_true(place_holds(item, n, NULL, 0, offset, height));
        }
        sum += height;
        assert_int_equal(place_squeaky(squeaky, whole.high, 0, 100000, offset),
                         whole.high);
        assert_int_equal(place_height(p, offset), height);
        arena_free(&a);
    }
    assert_true(sum < 10 * 105000);
}

/* ---- the rules one by one ---- */

static int64_t height_of(const Case *c)
{
    Arena a = { 0 };
    const PlaceResult r = solve(&a, c, NULL);
    const int64_t height = r.offset ? r.height : -1;
    if (r.offset)
        assert_true(holds(c, &r) && r.optimal);
    arena_free(&a);
    return height;
}

static void test_rules(void **state)
{
    (void)state;
    Case c = { 0 };
    assert_int_equal(height_of(&c), 0);
    add_item(&c, 0, 0, 5);
    add_item(&c, 9, 3, 3);
    assert_int_equal(height_of(&c), 0);
    add_item(&c, 5, 0, 2);
    add_item(&c, 4, 1, 3);
    assert_int_equal(height_of(&c), 9);
    c.arc[c.arcs++] = PLACE_SHARE(3, 2);
    assert_int_equal(height_of(&c), 5);
    c.arc[0] = (PlaceArc){
        .i = 3, .j = 2, .lo = -2, .hi = 5
    }; /* 3 may begin 2 bytes before 2 */
    assert_int_equal(height_of(&c), 7);
    c.item[2].pinned = true;
    c.item[2].pin = 1;
    assert_int_equal(height_of(&c), 10);
    c.item[3].pinned = true;
    c.item[3].pin = 3;
    assert_int_equal(height_of(&c), -1);
}

/* Item 0 rests on item 1, which lies higher: no order of rising offsets finds the optimum. */
static void test_rests_on_higher(void **state)
{
    (void)state;
    Case c = { .arcs = 3,
               .arc = { { 0, 1, -8, -2, 0, 0 },
                        { 0, 2, -8, 3, 0, 0 },
                        { 1, 2, -3, 7, 0, 0 } } };
    add_item(&c, 8, 0, 1);
    add_item(&c, 3, 0, 1);
    add_item(&c, 7, 0, 1);
    assert_int_equal(brute_force(&c, FARTHEST), 13);
    assert_int_equal(height_of(&c), 13);
}

/* Overrides keep items apart that never live together. */
static void test_strangers(void **state)
{
    (void)state;
    Case c = { .arcs = 1, .arc = { { 0, 1, -4, 4, 0, 0 } } };
    add_item(&c, 4, 0, 1);
    add_item(&c, 4, 7, 8);
    assert_int_equal(height_of(&c), 8);
}

static void test_capacity(void **state)
{
    (void)state;
    Case c;
    Arena a = { 0 };
    plain_case(&c, 12, 5);
    const PlaceResult least = solve(&a, &c, NULL);
    const PlaceResult loose =
        solve(&a, &c, &(PlaceOptions){ .capacity = least.height + 9 });
    const PlaceResult tight =
        solve(&a, &c, &(PlaceOptions){ .capacity = least.height - 1 });
    assert_true(loose.height <= least.height + 9 && holds(&c, &loose));
    assert_true(tight.lower_bound == least.height && holds(&c, &tight));
    const PlaceResult hinted =
        solve(&a, &c, &(PlaceOptions){ .hint = least.offset });
    assert_int_equal(hinted.height, least.height);
    arena_free(&a);
}

/* Thousands of items with few alive, and more pairs than are listed. */
static void test_large(void **state)
{
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        const int n = wide ? 4000 : 6000;
        Arena a = { 0 };
        PlaceItem *item = NEW_ARRAY(&a, PlaceItem, n);
        for (int i = 0; i < n; i++)
            item[i] = (PlaceItem){ .size = 16 * (1 + below(64)),
                                   .align = 16,
                                   .begin = i,
                                   .end = i + 1 + below(wide ? 4000 : 8) };
        const PlaceResult r = place(&a, item, n, NULL, 0, NULL);
        assert_true(place_holds(item, n, NULL, 0, r.offset, r.height));
        assert_true(r.lower_bound <= r.height && r.height < 2 * r.lower_bound);
        arena_free(&a);
    }
}

/* Placed one after the other, whatever they are: every rule holds, and the bound is one. */
static void test_without_pairs(void **state)
{
    const PlaceOptions opt = { .pairs = 1, .exact_items = 1, .moves = 1 };
    (void)state;
    for (int k = 0; k < 2000; k++) {
        Case c;
        Arena a = { 0 };
        if (k % 2)
            mixed_case(&c, 3 + below(4));
        else
            plain_case(&c, 4 + below(6), 5);
        const int64_t optimum = brute_force(&c, FARTHEST);
        const PlaceResult r = solve(&a, &c, &opt);
        assert_int_equal(!r.offset, optimum < 0);
        if (r.offset) {
            assert_true(
                place_holds(c.item, c.n, c.arc, c.arcs, r.offset, r.height));
            assert_true(r.lower_bound <= optimum && optimum <= r.height);
        }
        arena_free(&a);
    }
}

/* A tensor that is alive in a step and the one before, its bytes taken over by the next. */
static void test_long_chain_in_place(void **state)
{
    enum { STEPS = 3000 };
    Arena a = { 0 };
    PlaceItem *item = NEW_ARRAY(&a, PlaceItem, 2 * STEPS);
    PlaceArc *arc = NEW_ARRAY(&a, PlaceArc, STEPS);
    (void)state;
    for (int i = 0; i < STEPS; i++) { /* and as many that stay to the end */
        item[i] = (PlaceItem){ .size = 16 + i % 3, .begin = i, .end = i + 2 };
        item[STEPS + i] = (PlaceItem){ .size = 8, .begin = i, .end = STEPS };
        arc[i] = PLACE_SHARE(i, i ? i - 1 : STEPS);
    }
    const PlaceResult r = place(&a, item, 2 * STEPS, arc, STEPS,
                                &(PlaceOptions){ .pairs = 1000 });
    assert_true(place_holds(item, 2 * STEPS, arc, STEPS, r.offset, r.height));
    assert_true(r.height <= 8 * STEPS + 64 && r.lower_bound >= 8 * STEPS);
    arena_free(&a);
}

static void test_same_every_time(void **state)
{
    (void)state;
    for (int k = 0; k < 20; k++) {
        Case c;
        Arena a = { 0 };
        mixed_case(&c, 12);
        const PlaceResult x = solve(&a, &c, NULL), y = solve(&a, &c, NULL);
        assert_true(x.nodes == y.nodes && x.height == y.height &&
                    !x.offset == !y.offset);
        if (x.offset)
            assert_memory_equal(x.offset, y.offset,
                                sizeof *x.offset * (size_t)c.n);
        arena_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_rests_on_higher),
        cmocka_unit_test(test_strangers),
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_plain_mixed_alignment),
        cmocka_unit_test(test_above_bound),
        cmocka_unit_test(test_mixed),
        cmocka_unit_test(test_planted),
        cmocka_unit_test(test_squeaky),
        cmocka_unit_test(test_capacity),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_without_pairs),
        cmocka_unit_test(test_long_chain_in_place),
        cmocka_unit_test(test_same_every_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
