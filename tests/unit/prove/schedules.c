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

/* Steps of which no unit runs need nothing. */
static void steps_without_units(void **state)
{
    (void)state;
    World w;
    const RowRule same = { .kind = ROWS_SAME };
    const RowRule all = { .kind = ROWS_ALL };
    world_open(&w, 1);
    Tensor *x = add_input(&w, 4, 3, 1), *a = add_image(&w, 4, 3, 3);
    Tensor *b = add_image(&w, 4, 3, 1);
    add_step(&w, &kernel_op, a, 1, &(In){ x, same, REUSE_NONE }, 0);
    Step *none = add_step(&w, &kernel_op, b, 1, &(In){ a, all, REUSE_NONE }, 0);
    assert_int_equal(schedules_bound(&w.program), 144);
    none->units = 0;
    assert_int_equal(schedules_bound(&w.program), 36);
    world_close(&w);
}

/* As gate_bound(ROWS_ALL, ROWS_SAME, true), where units read rows of `a` by a table again, beside
 * so many tensors that nobody reads. */
static int64_t table_bound(const Rows *table, int tensors)
{
    World w;
    const RowRule same = { .kind = ROWS_SAME };
    const RowRule all = { .kind = ROWS_ALL };
    const RowRule rows = { .kind = ROWS_TABLE, .table = table };
    world_open(&w, 1);
    Tensor *x = add_input(&w, 4, 3, 1), *a = add_image(&w, 4, 3, 3);
    Tensor *b = add_image(&w, 4, 3, 1), *y = add_image(&w, 4, 3, 5);
    const In both[] = { { b, same, REUSE_NONE }, { a, rows, REUSE_NONE } };
    add_step(&w, &kernel_op, a, 1, &(In){ x, same, REUSE_NONE }, 0);
    add_step(&w, &kernel_op, b, 1, &(In){ a, all, REUSE_NONE }, 0);
    add_step(&w, &kernel_op, y, 2, both, 0);
    make_output(&w, y);
    for (int i = 0; i < tensors; i++)
        graph_add_tensor(w.graph, NULL, DT_I32, shape_vector(1));
    const int64_t bound = schedules_bound(&w.program);
    world_close(&w);
    return bound;
}

/* All rows are known to be read where the first unit does. */
static void rows_of_tables(void **state)
{
    (void)state;
    static const Rows at_first[] = { { 0, 4 }, { 3, 4 }, { 3, 4 }, { 3, 4 } };
    static const Rows in_turn[] = { { 0, 1 }, { 1, 2 }, { 2, 3 }, { 3, 4 } };
    assert_int_equal(table_bound(at_first, 0), 144 + 12);
    assert_int_equal(table_bound(in_turn, 0), 144);
}

/* Beyond a table of sets steps count by themselves. */
static void many_tensors(void **state)
{
    (void)state;
    static const Rows table[] = { { 0, 4 }, { 3, 4 }, { 3, 4 }, { 3, 4 } };
    assert_int_equal(table_bound(table, 5000), 144 + 12);
    assert_int_equal(table_bound(table, 6000), 144);
}

/* Parts of less than a byte, and scratch that is left out. */
static void what_takes_nothing(void **state)
{
    (void)state;
    World w;
    world_open(&w, 1);
    const In x = { add_image(&w, 4, 4, 1), { .kind = ROWS_SAME }, REUSE_NONE };
    Tensor *y = add_image(&w, 4, 4, 1);
    x.tensor->dtype = DT_I4;
    Step *step = add_step(&w, &kernel_op, y, 1, &x, 5);
    make_output(&w, y);
    assert_int_equal(schedules_bound(&w.program), 20 + 2);
    step->operand[1].part = 1;
    assert_int_equal(schedules_bound(&w.program), 20);
    step->operand[2].tensor = NULL;
    assert_int_equal(schedules_bound(&w.program), 0);
    world_close(&w);
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
        cmocka_unit_test(steps_without_units),
        cmocka_unit_test(rows_of_tables),
        cmocka_unit_test(many_tensors),
        cmocka_unit_test(what_takes_nothing),
        cmocka_unit_test(random_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
