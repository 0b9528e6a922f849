/* SPDX-License-Identifier: Apache-2.0
 * A run ends with all of each result: steps that make it in blocks make all of its bytes. */
#include "../plan/programs.h"

enum { ROWS = 4, HALF = ROWS / 2 };

/* A step that makes half of the rows of y, from row `at` on. */
static void make_half(World *w, const In *x, Tensor *y, int32_t at)
{
    Step *s = add_step(w, &kernel_op, y, 1, x, 0);
    Operand *half = s->operand;
    half->rows = HALF;
    half->offset = at * half->row_bytes;
    s->units = HALF;
}

/* What prevents a run that makes half of the result twice, from these rows on. */
static const char *object_to(int storage, int32_t first, int32_t second)
{
    World w;
    const char *why = NULL;
    world_open(&w, 1);
    const In x = { add_input(&w, HALF, 1, 1), { .kind = ROWS_SAME }, 0 };
    Tensor *y = add_image(&w, ROWS, 1, 1);
    make_output(&w, y);
    y->storage = storage;
    make_half(&w, &x, y, first);
    make_half(&w, &x, y, second);
    w.program.plan = (Plan){ .arena_size = 64, .place = -1 };
    w.program.lowered = 2;
    program_link(&w.program);
    plan_holds(&w.program, &why);
    world_close(&w);
    return why;
}

static void all_of_a_result_is_made(void **state)
{
    (void)state;
    static const int storage[] = { STORE_OUTPUT, STORE_ARENA };
    for (int i = 0; i < 2; i++) {
        assert_null(object_to(storage[i], 0, HALF));
        assert_null(object_to(storage[i], HALF, 0));
        for (int32_t at = 0; at < HALF; at++)
            assert_string_equal(
                object_to(storage[i], at, 0),
                "a result is not there, or not all of it, at the end");
    }
}

/* An input in the arena, which its step overwrites, is a state, or to be preserved. */
static const char *object_to_input(bool state, bool preserve)
{
    World w;
    const char *why = NULL;
    world_open(&w, 1);
    Tensor *x = add_input(&w, ROWS, 1, 1);
    Tensor *y = add_image(&w, ROWS, 1, 1);
    add_step(&w, &kernel_op, y, 1,
             &(In){ x, { .kind = ROWS_SAME }, REUSE_ELEMENTWISE }, 0);
    x->storage = STORE_ARENA;
    x->state = state;
    w.program.plan =
        (Plan){ .arena_size = 16, .place = -1, .preserve_input = preserve };
    w.program.lowered = 1;
    program_link(&w.program);
    plan_holds(&w.program, &why);
    world_close(&w);
    return why;
}

static void inputs_are_preserved(void **state)
{
    (void)state;
    assert_null(object_to_input(false, false));
    assert_null(object_to_input(true, false));
    assert_null(object_to_input(true, true));
    assert_string_equal(
        object_to_input(false, true),
        "an input that was to be preserved is not there at the end");
}

/* ---- loops ---- */

/* x is read by the first step of a loop, of which the second may make its result over it, and by
 * the first of a loop within. */
static const char *object_to_loop(bool looped, int64_t second, bool inner)
{
    World w;
    const char *why = NULL;
    const RowRule same = { .kind = ROWS_SAME };
    world_open(&w, 1);
    Tensor *x = add_input(&w, ROWS, 1, 1);
    Tensor *a = add_image(&w, ROWS, 1, 1);
    Tensor *b = add_image(&w, ROWS, 1, 1);
    Tensor *c = add_image(&w, ROWS, 1, 1);
    x->storage = STORE_ARENA;
    Step *outer =
        add_step(&w, &kernel_op, a, 1, &(In){ x, same, REUSE_NONE }, 0);
    Step *within =
        add_step(&w, &kernel_op, b, 1, &(In){ a, same, REUSE_NONE }, 0);
    add_step(&w, &kernel_op, c, 1, &(In){ a, same, REUSE_NONE }, 0);
    outer->loop_end = looped ? 2 : -1;
    within->loop_end = inner ? 2 : -1;
    a->offset = 16;
    b->offset = second;
    c->offset = 48;
    w.program.plan = (Plan){ .arena_size = 64, .place = -1 };
    w.program.lowered = 3;
    program_link(&w.program);
    plan_holds(&w.program, &why);
    world_close(&w);
    return why;
}

static void loops_begin_anew(void **state)
{
    (void)state;
    const char gone[] = "is read where its bytes are not, or no more";
    for (int inner = 0; inner < 2; inner++) {
        assert_null(object_to_loop(true, 32, inner));
        assert_null(object_to_loop(false, 0, inner));
        assert_string_equal(object_to_loop(true, 0, inner), gone);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_a_result_is_made),
        cmocka_unit_test(inputs_are_preserved),
        cmocka_unit_test(loops_begin_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
