/* SPDX-License-Identifier: Apache-2.0
 * Random programs under every level of planning: the checker holds, results are those of a run with
 * all tensors apart, whatever the arena held before, and what the planner promises does not get
 * worse. */
#include "../plan/cases.h"
#include "../plan/programs.h"

#include "schedule/segment.h"
#include "prove/bound.h"

enum { CASES = 3000 };

static void compare_levels(uint64_t seed)
{
    World w;
    random_program(&w, seed, 2 + (int)(seed % 14));
    size_t bytes;
    place_apart(&w);
    const unsigned char *want = run_program(&w, 0, &bytes);
    int64_t least = INT64_MAX;
    if (seed % 4 == 1)
        push_input(&w, seed / 4 % w.graph->input.n);
    if (seed % 3 == 0)
        move_in(&w);
    for (int level = PLAN_SIMPLE; level <= PLAN_STREAM; level++) {
        const PlanOptions opt = { .align = 4 << seed % 4,
                                  .level = (PlanLevel)level,
                                  .preserve_input = seed % 2 };
        const char *why = NULL;
        plan_program(&w.program, &opt);
        if (!plan_holds(&w.program, &why))
            fail_msg("seed %d, level %d: %s", (int)seed, level, why);
        const int64_t bound = plan_lower_bound(&w.program);
        if (bound > w.program.plan.arena_size)
            fail_msg("seed %d, level %d: a bound of %d is above the arena of "
                     "%d bytes",
                     (int)seed, level, (int)bound,
                     (int)w.program.plan.arena_size);
        size_t again;
        if (memcmp(want, run_program(&w, 0xa5, &again), bytes))
            fail_msg("seed %d, level %d: results differ", (int)seed, level);
        least = w.program.plan.arena_size < least ? w.program.plan.arena_size
                                                  : least;
    }
    world_close(&w);
}

/* In two memories, the first too small for all: the same results. */
static bool compare_regions(uint64_t seed)
{
    World w;
    random_program(&w, seed, 2 + (int)(seed % 14));
    size_t bytes, again;
    place_apart(&w);
    const unsigned char *want = run_program(&w, 0, &bytes);
    if (seed % 4 == 1)
        push_input(&w, 0);
    if (seed % 3 == 0)
        move_in(&w);
    PlanOptions opt = { .align = 4, .level = PLAN_STREAM };
    plan_program(&w.program, &opt);
    const int64_t all = w.program.plan.arena_size;
    const Region region[] = { { "fast", all / 8 * 4 + 64, 1 },
                              { "slow", 1 << 20, 5 } };
    opt.region = region;
    opt.regions = 2;
    opt.level = PLAN_SIMPLE + (PlanLevel)(seed % 4);
    const char *why = NULL;
    plan_program(&w.program, &opt);
    if (!plan_holds(&w.program, &why))
        fail_msg("seed %d: %s", (int)seed, why);
    if (memcmp(want, run_program(&w, 0xa5, &again), bytes))
        fail_msg("seed %d: results differ", (int)seed);
    const RegionUse *const use = w.program.plan.region.at;
    for (int k = 0; k < 2; k++)
        assert_true(use[k].size <= region[k].size);
    const bool both = use[0].size && use[1].size;
    world_close(&w);
    return both;
}

static void regions(void **state)
{
    (void)state;
    int both = 0;
    for (int i = 0; i < cases(CASES) / 6; i++)
        both += compare_regions((uint64_t)i + 1);
    assert_true(both > cases(CASES) / 20);
}

static void random_programs(void **state)
{
    (void)state;
    for (int i = 0; i < cases(CASES); i++)
        compare_levels((uint64_t)i + 1);
}

/* The peak of a program's schedule, by what is known of other programs, too. */
static int64_t peak_by(World *w, Walked *walked, bool peak_only, int64_t most)
{
    Arena a = { 0 };
    const PlanOptions opt = {
        .align = 8,
        .level = PLAN_STREAM,
        .walked = walked,
    };
    const Items all = items_find(&a, &w->program, &opt);
    int64_t peak;
    if (peak_only) {
        peak = schedule_peak(&a, &all, &opt, most);
    } else {
        const Schedule s = schedule_find(&a, &all, &opt);
        for (size_t i = 0; i < s.slot.n; i++)
            assert_true(s.slot.at[i].end - s.slot.at[i].first == 1 ||
                        s.slot.at[i].stream);
        peak = s.peak;
    }
    arena_free(&a);
    return peak;
}

/* What is remembered of a range is true of it in any program, and a bound stays a bound. */
static void walks_are_remembered(void **state)
{
    (void)state;
    Arena a = { 0 };
    Walked *walked = walked_new(&a, 2000);
    for (int i = 0; i < cases(CASES) / 3; i++) {
        World w;
        random_program(&w, (uint64_t)(i % (cases(CASES) / 6 + 1)) + 1,
                       2 + i % 14);
        const int64_t peak = peak_by(&w, NULL, false, 0);
        assert_true(peak < 2 || peak_by(&w, walked, true, peak / 2) > peak / 2);
        assert_int_equal(peak_by(&w, walked, true, peak), peak);
        assert_int_equal(peak_by(&w, walked, false, 0), peak);
        world_close(&w);
    }
    arena_free(&a);
}

/* With slots: a schedule that is only compared with a limit is found where it holds the limit,
 * though what lives at both ends of a stream may take more than that, as its result lies over its
 * input. */
static void limits_hide_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < cases(CASES) / 3; i++) {
        Arena a = { 0 };
        World w;
        random_program(&w, (uint64_t)i + 1, 2 + i % 14);
        const PlanOptions opt = {
            .align = 8,
            .level = PLAN_STREAM,
            .slots = true,
        };
        const Items all = items_find(&a, &w.program, &opt);
        const int64_t peak = schedule_peak(&a, &all, &opt, 0);
        if (schedule_peak(&a, &all, &opt, peak) > peak)
            fail_msg("seed %d: %d bytes are not found again", i + 1, (int)peak);
        world_close(&w);
        arena_free(&a);
    }
}

/* Unit visits that it takes to find the least peak. */
static int64_t visits_of(World *w, Walked *walked, int64_t most)
{
    const int64_t enough = 1000000;
    int64_t walks = enough;
    Arena a = { 0 };
    const PlanOptions opt = {
        .align = 8,
        .level = PLAN_STREAM,
        .walked = walked,
        .walks = &walks,
    };
    const Items all = items_find(&a, &w->program, &opt);
    schedule_peak(&a, &all, &opt, most);
    arena_free(&a);
    return enough - walks;
}

/* A chain of small images, then one that is made as a whole, and large ones. */
static void small_then_large(World *w, int small)
{
    const In all = { .rule = { .kind = ROWS_ALL } };
    world_open(w, 7);
    Tensor *t = add_input(w, 64, 64, 1);
    for (int i = 0; i < small; i++)
        t = add_window(w, t, 1, 1, 3, 64, 1);
    Tensor *large = add_image(w, 64, 64, 16);
    In in = all;
    in.tensor = t;
    add_step(w, &kernel_op, large, 1, &in, 0);
    t = add_window(w, large, 1, 1, 3, 64, 16);
    add_sum(w, add_window(w, t, 1, 1, 3, 64, 16));
    finish(w);
}

/* Streams are walked where the peak is, not where all is smaller than it, and only once. */
static void walks_are_few(void **state)
{
    (void)state;
    int64_t visits[2];
    for (int more = 0; more < 2; more++) {
        Arena a = { 0 };
        World w;
        small_then_large(&w, 1 + 12 * more);
        Walked *walked = walked_new(&a, w.program.step.n);
        visits[more] = visits_of(&w, walked, 0);
        assert_int_equal(visits_of(&w, walked, 0), 0);
        world_close(&w);
        arena_free(&a);
    }
    assert_true(visits[0] > 0);
    assert_true(visits[1] <= visits[0]);
}

/* A chain of windows: streamed, it needs a few rows of each tensor. */
static void chain_streams(void **state)
{
    (void)state;
    World w;
    world_open(&w, 7);
    Tensor *t = add_input(&w, 64, 64, 3);
    for (int i = 0; i < 4; i++)
        t = add_window(&w, t, 1, 1, 3, 64, 8);
    add_sum(&w, t);
    finish(&w);
    const PlanOptions opt = { .align = 16 };
    plan_program(&w.program, &opt);
    plan_check(&w.program);
    const int64_t row = 64 * 8 * 4;
    assert_true(w.program.plan.arena_size <= 3 * 3 * row + row + 64);
    assert_true(w.program.plan.segment.n >= 1);
    assert_non_null(w.program.plan.segment.at[0].list);
    world_close(&w);
}

/* Of three rings of three rows only one at a time has its third row: with a row of the last result
 * eight rows, each in a slot. */
static void rings_share_a_pool(void **state)
{
    (void)state;
    World w;
    world_open(&w, 7);
    Tensor *t = add_input(&w, 64, 64, 3);
    for (int i = 0; i < 4; i++)
        t = add_window(&w, t, 1, 1, 3, 64, 8);
    add_sum(&w, t);
    finish(&w);
    plan_program(&w.program, &(PlanOptions){ .align = 16 });
    plan_check(&w.program);
    const int64_t row = 64 * 8 * 4;
    assert_in_range(w.program.plan.arena_size, 8 * row, 8 * row + 64);
    const Operand *result = w.program.step.at[0]->operand;
    assert_non_null(result->slots);
    assert_int_equal(result->slots->rows, 64);
    assert_int_equal(result->slots->pool, 8 * row);
    assert_ptr_equal(result->ref.slot, result->slots->slot);
    world_close(&w);
}

/* While the last rows of a stream's result are made, its rings need less and less: they begin where
 * those rows lie. Of 64 rows and a pool of ten, one at least is the same bytes. */
static void pools_begin_in_results(void **state)
{
    (void)state;
    const int64_t row = 64 * 8 * 4;
    World w;
    world_open(&w, 7);
    Tensor *t = add_input(&w, 64, 64, 3);
    for (int i = 0; i < 3; i++)
        t = add_window(&w, t, 1, 1, 3, 64, i < 2 ? 16 : 8);
    Tensor *y = add_image(&w, 1, 64, 8);
    add_step(&w, &kernel_op, y, 1, &(In){ t, { .kind = ROWS_ALL }, REUSE_NONE },
             0);
    finish(&w);
    plan_program(&w.program, &(PlanOptions){ .align = 16 });
    plan_check(&w.program);
    const int64_t arena = w.program.plan.arena_size;
    assert_in_range(arena, 64 * row, 73 * row + 64);
    assert_int_equal(plan_lower_bound(&w.program), arena);
    const Operand *result = w.program.step.at[2]->operand;
    const Operand *ring = w.program.step.at[1]->operand;
    assert_null(result->slots);
    assert_non_null(ring->slots);
    const int64_t end = result->tensor->offset + 64 * row;
    assert_in_range(ring->tensor->offset, end - 16 * row, end - row);
    world_close(&w);
}

static bool rows_meet(const Operand *a, int32_t i, const Operand *b, int32_t k)
{
    const int64_t from = (int64_t)inlay_row_at(&a->ref, i);
    const int64_t other = (int64_t)inlay_row_at(&b->ref, k);
    return from < other + b->row_bytes && other < from + a->row_bytes;
}

/* Some row of step 1's result lies over the one that dies with it, and begins at least `apart`
 * bytes before that: the proof refuses one that begins later. */
static void nearer_rows_are_refused(World *w, int64_t apart)
{
    const Step *step = w->program.step.at[1];
    Operand *y = step->operand;
    const Operand *x = y + 1;
    const int towards = step->backward ? -1 : 1;
    const size_t rows = (size_t)y->rows;
    uint16_t *slot = arena_copy(&w->arena, y->ref.slot, rows * sizeof *slot);
    int32_t u = 1;
    while (u < y->rows - 1 && !rows_meet(y, u, x, u - towards))
        u++;
    assert_true(u < y->rows - 1);
    const int64_t far = (int64_t)inlay_row_at(&x->ref, u - towards) -
                        (int64_t)inlay_row_at(&y->ref, u);
    assert_true(far * towards >= apart);
    const int64_t nearer = (far * towards - apart) / y->ref.unit + 1;
    slot[u] = (uint16_t)(slot[u] + towards * nearer);
    y->ref.slot = slot;
    w->program.step.at[2]->operand[1].ref.slot = slot;
    assert_false(plan_holds(&w->program, NULL));
}

/* Each window but the first writes its row over the oldest that it reads: three rings of two rows,
 * one that is made, and some pixels that tiles are ahead. */
static void rows_over_rows(void **state)
{
    (void)state;
    const RowRule rule = {
        .kind = ROWS_WINDOW,
        .stride = 1,
        .pad = 1,
        .extent = 3,
    };
    const PixelRule pixels = { .stride = 1, .pad = 1, .extent = 3, .tile = 2 };
    const int64_t pixel = 8 * 4;
    const int64_t row = 256 * pixel;
    World w;
    world_open(&w, 7);
    Tensor *t = add_input(&w, 32, 256, 3);
    for (int i = 0; i < 4; i++)
        t = add_pixels(&w, t, rule, 32, pixels, 8);
    add_sum(&w, t);
    finish(&w);
    plan_program(&w.program, &(PlanOptions){ .align = 16 });
    plan_check(&w.program);
    assert_in_range(w.program.plan.arena_size, 7 * row, 8 * row - 128 * pixel);
    nearer_rows_are_refused(&w, 3 * pixel);
    world_close(&w);
}

/* Elementwise results in a stream are made in the rows of what they are made of: the three rows
 * that the second window needs, and one for the sum; a window that still needs what the elementwise
 * step reads (twice) keeps both apart. */
static void guests_in_rings(void **state)
{
    (void)state;
    const int64_t row = 64 * 8 * 4;
    for (int twice = 0; twice < 2; twice++) {
        World w;
        world_open(&w, 7);
        Tensor *t = add_input(&w, 64, 64, 3);
        for (int i = 0; i < 2; i++) {
            Tensor *made = add_window(&w, t, 1, 1, 3, 64, 8);
            t = add_image(&w, 64, 64, 8);
            add_step(&w, &kernel_elementwise, t, 1,
                     &(In){ made, { .kind = ROWS_SAME }, REUSE_ELEMENTWISE },
                     0);
            if (twice)
                add_sum(&w, add_window(&w, made, 1, 1, 3, 64, 8));
        }
        add_sum(&w, t);
        finish(&w);
        plan_program(&w.program, &(PlanOptions){ .align = 16 });
        plan_check(&w.program);
        if (twice)
            assert_true(w.program.plan.arena_size > 5 * row);
        else
            assert_in_range(w.program.plan.arena_size, 4 * row, 4 * row + 64);
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs),
        cmocka_unit_test(regions),
        cmocka_unit_test(chain_streams),
        cmocka_unit_test(guests_in_rings),
        cmocka_unit_test(walks_are_remembered),
        cmocka_unit_test(limits_hide_nothing),
        cmocka_unit_test(walks_are_few),
        cmocka_unit_test(rings_share_a_pool),
        cmocka_unit_test(rows_over_rows),
        cmocka_unit_test(pools_begin_in_results)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
