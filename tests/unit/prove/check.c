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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_a_result_is_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
