/* SPDX-License-Identifier: Apache-2.0
 * Rows of a step that may not lie over each other are found, in time that grows with them. */
#include "../plan/programs.h"

#include <time.h>

enum { ROWS = 60000, MOST_SECONDS = 20 };

/* A result of `rows` rows that needs all of its input while it is made; rule: the rows that one of
 * its units reads. */
static void make_step(World *w, int32_t rows, RowKind rule)
{
    world_open(w, 1);
    Tensor *x = add_image(w, rows, 1, 1);
    Tensor *y = add_image(w, rows, 1, 1);
    x->slot = (int)w->graph->input.n;
    VEC_PUSH(&w->arena, &w->graph->input, x);
    add_step(w, &kernel_op, y, 1, &(In){ x, { .kind = rule }, REUSE_NONE }, 0);
    w->program.plan = (Plan){ .arena_size = 8 * (int64_t)rows, .place = -1 };
    w->program.lowered = 1;
}

/* With the result so many bytes behind the input. */
static const char *object_to(World *w, int64_t apart)
{
    const char *why = NULL;
    w->tensor[1]->offset = apart;
    program_link(&w->program);
    plan_holds(&w->program, &why);
    return why;
}

static void every_row_is_compared(void **state)
{
    (void)state;
    World w;
    make_step(&w, 40, ROWS_SAME);
    assert_null(object_to(&w, 160));
    for (int64_t apart = 0; apart < 160; apart += 4)
        assert_string_equal(object_to(&w, apart),
                            "is overwritten by the step that needs it");
    world_close(&w);
}

/* Each with each would be 3.6 thousand million pairs. */
static void ends_soon(RowKind rule)
{
    World w;
    make_step(&w, ROWS, rule);
    const clock_t start = clock();
    assert_null(object_to(&w, 4 * ROWS));
    assert_non_null(object_to(&w, 4 * ROWS - 4));
    assert_true((clock() - start) / CLOCKS_PER_SEC < MOST_SECONDS);
    world_close(&w);
}

static void many_rows(void **state)
{
    (void)state;
    ends_soon(ROWS_SAME);
}

/* As those of a transposition. */
static void units_that_read_all_rows(void **state)
{
    (void)state;
    ends_soon(ROWS_ALL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_compared),
        cmocka_unit_test(many_rows),
        cmocka_unit_test(units_that_read_all_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
