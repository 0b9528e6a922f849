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

/* How a step reads the first of these rows of an image, for so many units. */
typedef struct Reading {
    RowRule rule;
    int32_t units;
    int32_t rows; /* 0: all four */
    int64_t part; /* channels; 0: all */
} Reading;

static const Rows last_first[] = { { 3, 4 }, { 3, 4 }, { 3, 4 }, { 3, 4 } };
static const Rows not_last[] = { { 0, 3 }, { 0, 3 }, { 0, 3 }, { 0, 3 } };
static const Rows one_in_second[] = { { 0, 2 }, { 0, 1 }, { 0, 2 }, { 2, 4 } };
static const Rows none_in_second[] = { { 0, 2 }, { 2, 2 }, { 2, 3 }, { 3, 4 } };

#define BY_WINDOW(stride_, pad_, extent_) \
    { \
        .kind = ROWS_WINDOW, .stride = (stride_), .pad = (pad_), \
        .extent = (extent_) \
    }
#define BY_TABLE(rows) \
    { \
        .kind = ROWS_TABLE, .table = (rows) \
    }

static Step *add_reader(World *w, Tensor *y, Tensor *x, const Reading *as,
                        int64_t scratch)
{
    const In in = { x, as->rule, REUSE_NONE };
    Step *step = add_step(w, &kernel_op, y, 1, &in, scratch);
    step->operand[1].part = as->part;
    step->operand[0].rows = step->units = as->units;
    if (as->rows)
        step->operand[1].rows = as->rows;
    return step;
}

/* The second step, with scratch of 4 bytes, makes rows of 12 bytes of rows of 36. */
static int64_t least_bound(const Reading *second)
{
    World w;
    const Reading same = { { .kind = ROWS_SAME }, 4, 0, 0 };
    world_open(&w, 1);
    Tensor *x = add_input(&w, 4, 3, 1), *a = add_image(&w, 4, 3, 3);
    add_reader(&w, a, x, &same, 0);
    add_reader(&w, add_image(&w, 4, 3, 1), a, second, 1);
    const int64_t bound = schedules_bound(&w.program);
    world_close(&w);
    return bound;
}

static void fewest_rows_of_a_unit(void **state)
{
    (void)state;
    static const struct {
        Reading second;
        int64_t bound;
    } each[] = {
        { { BY_WINDOW(1, 0, 2), 4, 0, 0 }, 36 + 4 },
        { { BY_WINDOW(1, 1, 2), 4, 0, 0 }, 36 + 4 },
        { { BY_WINDOW(1, -2, 2), 2, 0, 0 }, 36 + 4 },
        { { BY_WINDOW(1, -1, 2), 2, 0, 0 }, 2 * 36 + 4 },
        { { BY_WINDOW(1, 3, 1), 4, 0, 0 }, 36 },
        { { { .kind = ROWS_ALL }, 1, 0, 0 }, 4 * 36 + 4 },
        { { { .kind = ROWS_ALL }, 0, 0, 0 }, 36 },
        { { { .kind = ROWS_ALL }, 4, 0, 2 }, 4 * 3 * 2 * 4 + 4 },
        { { BY_TABLE(one_in_second), 4, 0, 0 }, 36 + 4 },
        { { BY_TABLE(none_in_second), 4, 0, 0 }, 36 },
    };
    for (size_t i = 0; i < sizeof each / sizeof *each; i++)
        assert_int_equal(least_bound(&each[i].second), each[i].bound);
}

/* Images of 1 to 3 channels, each made of the one before, the first of the caller's; the last step
 * reads the first image again, row by row. Before and between tensors lie so many that
 * nobody uses. */
typedef struct Around {
    World w;
    Tensor *a, *b, *c;
    int before, fill;
} Around;

static Tensor *add_filled(Around *around, int32_t rows, int64_t channels)
{
    for (int i = 0; i < around->fill; i++)
        graph_add_tensor(around->w.graph, NULL, DT_I32, shape_vector(1));
    return add_image(&around->w, rows, 3, channels);
}

static void open_around(Around *around, const Reading *second,
                        const Reading *third)
{
    World *w = &around->w;
    const Reading same = { { .kind = ROWS_SAME }, 4, 0, 0 };
    world_open(w, 1);
    Tensor *x = add_input(w, 4, 3, 1);
    for (int i = 0; i < around->before; i++)
        (void)add_filled(around, 1, 1);
    around->a = add_filled(around, 4, 3);
    around->b = add_filled(around, second->units, 1);
    around->c = add_filled(around, 4, 2);
    Tensor *y = add_filled(around, 4, 5);
    const In both[] = { { around->c, same.rule, REUSE_NONE },
                        { around->a, same.rule, REUSE_NONE } };
    add_reader(w, around->a, x, &same, 0);
    add_reader(w, around->b, around->a, second, 0);
    add_reader(w, around->c, around->b, third, 0);
    add_step(w, &kernel_op, y, 2, both, 0);
    make_output(w, y);
}

static int64_t around_bound(int before, int fill, const Reading *second,
                            const Reading *third)
{
    Around around = { .before = before, .fill = fill };
    open_around(&around, second, third);
    const int64_t bound = schedules_bound(&around.w.program);
    world_close(&around.w);
    return bound;
}

/* All of the second image is read before the third begins: is the first there as a whole, too, 144
 * bytes, since the second step reads all of it? */
static void all_units_read_all_rows(void **state)
{
    (void)state;
    static const Reading all = { { .kind = ROWS_ALL }, 4, 0, 0 };
    static const struct {
        Reading second;
        int64_t bound;
    } each[] = {
        { { { .kind = ROWS_SAME }, 4, 0, 0 }, 144 + 48 },
        { { BY_WINDOW(1, 1, 3), 4, 0, 0 }, 144 + 48 },
        { { BY_WINDOW(1, 0, 2), 4, 0, 0 }, 144 + 48 },
        { { BY_WINDOW(2, 0, 2), 2, 0, 0 }, 144 + 24 },
        { { BY_TABLE(none_in_second), 4, 0, 0 }, 36 + 24 },
        { { BY_TABLE(last_first), 4, 0, 0 }, 36 + 24 },
        { { BY_TABLE(not_last), 4, 0, 0 }, 3 * 36 },
        { { BY_WINDOW(3, 0, 1), 2, 0, 0 }, 36 + 24 },
        { { BY_WINDOW(1, -1, 3), 4, 0, 0 }, 36 + 24 },
        { { BY_WINDOW(1, 1, 1), 4, 0, 0 }, 36 + 24 },
        { { { .kind = ROWS_SAME }, 4, 2, 0 }, 72 },
        { { { .kind = ROWS_SAME }, 4, 0, 1 }, 36 + 24 },
    };
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        const int64_t bound = around_bound(0, 0, &each[i].second, &all);
        if (bound != each[i].bound)
            fail_msg("reader %d: %d, not %d", (int)i, (int)bound,
                     (int)each[i].bound);
    }
}

/* All of the first image is read before the second begins, a row of which each unit of the third
 * step needs; whatever numbers the tensors have. */
static void what_came_before_is_there(void **state)
{
    (void)state;
    static const Reading all = { { .kind = ROWS_ALL }, 4, 0, 0 };
    static const Reading same = { { .kind = ROWS_SAME }, 4, 0, 0 };
    static const Reading none = { BY_TABLE(none_in_second), 4, 0, 0 };
    for (int fill = 0; fill < 200; fill += fill < 70 ? 1 : 13) {
        assert_int_equal(around_bound(0, fill, &all, &same), 144 + 24);
        assert_int_equal(around_bound(fill, 0, &same, &all), 144 + 48);
    }
    for (int before = 180; before < 200; before++)
        assert_int_equal(around_bound(before, 0, &same, &all), 144 + 48);
    /* a unit that needs none may come before */
    assert_int_equal(around_bound(0, 0, &all, &none), 144);
}

/* Of what two steps make a unit may need only what the first of them makes. */
static void made_by_two_steps(void **state)
{
    (void)state;
    const Reading all = { { .kind = ROWS_ALL }, 4, 0, 0 };
    const Reading same = { { .kind = ROWS_SAME }, 4, 0, 0 };
    Around around = { .fill = 0 };
    open_around(&around, &all, &same);
    Step *half = step_copy(&around.w.arena, around.w.program.step.at[1]);
    VEC_PUSH(&around.w.arena, &around.w.program.step, half);
    assert_int_equal(schedules_bound(&around.w.program), 144);
    world_close(&around.w);
}

/* An input in the arena, all of which is read before the first row is made, and by the last step
 * before its only one; the first step reads two others, by rows. */
static void inputs_in_the_arena(void **state)
{
    (void)state;
    World w;
    const RowRule all = { .kind = ROWS_ALL };
    const RowRule same = { .kind = ROWS_SAME };
    world_open(&w, 1);
    Tensor *x0 = add_input(&w, 4, 3, 1), *x1 = add_input(&w, 4, 3, 1);
    Tensor *x = add_input(&w, 4, 3, 1), *a = add_image(&w, 4, 3, 9);
    Tensor *b = add_image(&w, 4, 3, 1), *y = add_image(&w, 1, 3, 1);
    const In three[] = { { x0, same, REUSE_NONE },
                         { x1, same, REUSE_NONE },
                         { x, all, REUSE_NONE } };
    const In two[] = { { b, all, REUSE_NONE }, { x, all, REUSE_NONE } };
    x1->storage = x->storage = STORE_ARENA;
    add_step(&w, &kernel_op, a, 3, three, 0);
    add_step(&w, &kernel_op, b, 1, &(In){ a, same, REUSE_NONE }, 0);
    add_step(&w, &kernel_op, y, 2, two, 0);
    make_output(&w, y);
    assert_int_equal(schedules_bound(&w.program), 48 + 108);
    world_close(&w);
}

/* Each step counts what it reads anew; states live through all of them. */
static void states_and_sums(void **state)
{
    (void)state;
    World w;
    const RowRule same = { .kind = ROWS_SAME };
    world_open(&w, 1);
    Tensor *x = add_input(&w, 4, 3, 1), *a = add_image(&w, 4, 3, 3);
    Tensor *x1 = add_input(&w, 4, 3, 2), *y = add_image(&w, 4, 3, 1);
    const In both[] = { { a, same, REUSE_NONE }, { x1, same, REUSE_NONE } };
    x1->storage = STORE_ARENA;
    add_step(&w, &kernel_op, a, 1, &(In){ x, same, REUSE_NONE }, 0);
    add_step(&w, &kernel_op, y, 2, both, 0);
    make_output(&w, y);
    assert_int_equal(schedules_bound(&w.program), 36 + 24);
    VEC_PUSH(&w.arena, &w.graph->state, ((State){ .in = 0 }));
    VEC_PUSH(&w.arena, &w.graph->state, ((State){ .in = 1 }));
    assert_int_equal(schedules_bound(&w.program), 36 + 24 + 48 + 96);
    x1->state = true;
    assert_int_equal(schedules_bound(&w.program), 36 + 48 + 96);
    world_close(&w);
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
    x.tensor->dtype = DT_I8;
    step->operand[1].row_bytes = 3;
    assert_int_equal(schedules_bound(&w.program), 3);
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
        cmocka_unit_test(fewest_rows_of_a_unit),
        cmocka_unit_test(all_units_read_all_rows),
        cmocka_unit_test(what_came_before_is_there),
        cmocka_unit_test(made_by_two_steps),
        cmocka_unit_test(inputs_in_the_arena),
        cmocka_unit_test(states_and_sums),
        cmocka_unit_test(what_takes_nothing),
        cmocka_unit_test(random_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
