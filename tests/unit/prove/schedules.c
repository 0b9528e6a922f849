/* SPDX-License-Identifier: Apache-2.0
 * The bound of all schedules, counted by hand, and over random programs at every level of the
 * planner: never above the arena. INLAY_CASES: random programs. */
#include "../plan/cases.h"
#include "../plan/programs.h"

#include "prove/schedules.h"

enum { CASES = 400 };

static int64_t bound_of(World *w, PlanLevel level)
{
    const PlanOptions opt = { .align = 4, .level = level };
    plan_program(&w->program, &opt);
    const int64_t bound = schedules_bound(&w->program);
    assert_int_equal(bound, w->program.plan.bound_schedules);
    assert_true(bound <= w->program.plan.arena_size);
    return bound;
}

/* Images of 4 rows of 3 pixels: 12 bytes a row and channel. The second step reads the first image
 * by `second`, the third step both images by `third`; its result is the caller's. */
static int64_t gate_bound(RowKind second, RowKind third, bool skips)
{
    World w;
    const RowRule same = { .kind = ROWS_SAME };
    const RowRule read = { .kind = second };
    const RowRule last = { .kind = third };
    world_open(&w, 1);
    Tensor *x = add_input(&w, 4, 3, 1);
    Tensor *a = add_image(&w, 4, 3, 3);
    Tensor *b = add_image(&w, 4, 3, 1);
    Tensor *y = add_image(&w, 4, 3, 5);
    const In both[] = { { b, last, REUSE_NONE }, { a, same, REUSE_NONE } };
    add_step(&w, &kernel_op, a, 1, &(In){ x, same, REUSE_NONE }, 0);
    add_step(&w, &kernel_op, b, 1, &(In){ a, read, REUSE_NONE }, 0);
    add_step(&w, &kernel_op, y, skips ? 2 : 1, both, 0);
    make_output(&w, y);
    const int64_t bound = bound_of(&w, PLAN_STREAM);
    world_close(&w);
    return bound;
}

static void by_hand(void **state)
{
    (void)state;
    /* Rows alone: 36 bytes of `a`, 12 of `b` and 36 of `a` with it. */
    assert_int_equal(gate_bound(ROWS_SAME, ROWS_SAME, false), 36);
    assert_int_equal(gate_bound(ROWS_SAME, ROWS_SAME, true), 12 + 36);
    /* All of `a` is read before the second step's first row. */
    assert_int_equal(gate_bound(ROWS_ALL, ROWS_SAME, false), 144);
    /* It is read again behind it, while a row of `b` is there. */
    assert_int_equal(gate_bound(ROWS_ALL, ROWS_SAME, true), 144 + 12);
    /* The same in the third step alone: all of `b`, a row of `a`. */
    assert_int_equal(gate_bound(ROWS_SAME, ROWS_ALL, true), 48 + 36);
}

static void random_programs(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)cases(CASES); seed++) {
        World w;
        random_program(&w, seed, 2 + (int)(seed % 14));
        if (seed % 3 == 0)
            move_in(&w);
        for (int level = PLAN_SIMPLE; level <= PLAN_STREAM; level++)
            bound_of(&w, (PlanLevel)level);
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(random_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
