/* SPDX-License-Identifier: Apache-2.0
 * Steps that threads share: which cannot be, and which shares would touch what another writes. */
#include "../plan/programs.h"

#include "prove/replay.h"

enum { ROWS = 8, BYTES = 4 * ROWS };

/* Two threads make y, of rows of 4 bytes, of x behind it. */
typedef struct Shared {
    World w;
    Step *step;
    Tensor *x, *y;
} Shared;

static void open_shared(Shared *shared, int64_t scratch)
{
    World *w = &shared->w;
    world_open(w, 1);
    shared->x = add_image(w, ROWS, 1, 1);
    shared->y = add_image(w, ROWS, 1, 1);
    const In x = { shared->x, { .kind = ROWS_SAME }, REUSE_ROWS };
    shared->step = add_step(w, &kernel_op, shared->y, 1, &x, scratch);
    shared->step->split = true;
    shared->x->offset = BYTES;
    w->program.plan = (Plan){ .arena_size = 1024, .place = -1, .threads = 2 };
}

/* What is wrong; NULL: nothing. */
static const char *split(Shared *shared)
{
    World *w = &shared->w;
    Check check = { .arena = &w->arena, .program = &w->program };
    program_link(&w->program);
    assert_true(check_split(&check, shared->step) == !check.found.why);
    world_close(w);
    return check.found.why;
}

static void not_all_steps_can_be(void **state)
{
    (void)state;
    for (int change = 0; change < 5; change++) {
        Shared shared;
        open_shared(&shared, 0);
        if (change == 1)
            shared.w.program.plan.threads = 1;
        if (change == 2)
            shared.step->units = 1;
        if (change == 3)
            shared.step->accumulates = true;
        if (change == 4)
            shared.step->loop_end = 0;
        if (change == 0)
            shared.step->units = shared.step->operand->rows = 2;
        const char *why = split(&shared);
        assert_true(!why == !change);
        if (why)
            assert_string_equal(why,
                                "a step is split that no threads can share");
    }
}

/* Copied for each thread, wherever that is, or left out. */
static void scratch_is_their_own(void **state)
{
    (void)state;
    for (int change = 0; change < 3; change++) {
        Shared shared;
        open_shared(&shared, 1);
        Operand *scratch = shared.step->operand + 2;
        scratch->tensor->offset = 512;
        if (change == 1) {
            scratch->tensor->offset = 0;
            scratch->copied = 16;
        }
        if (change == 2)
            scratch->tensor = NULL;
        const char *why = split(&shared);
        assert_true(!why == (change > 0));
        if (why)
            assert_string_equal(why, "is scratch that threads share");
    }
}

/* All rows by all threads. */
static void results_are_shared_out(void **state)
{
    (void)state;
    Shared shared;
    open_shared(&shared, 0);
    shared.step->operand->rows = 1;
    assert_string_equal(split(&shared),
                        "is touched while another thread writes it");
    open_shared(&shared, 0);
    shared.step->operand[1].write = true;
    shared.step->operand[1].rows = 1;
    assert_string_equal(split(&shared),
                        "is touched while another thread writes it");
    open_shared(&shared, 0);
    shared.step->operand->scratch = true;
    assert_string_equal(split(&shared), "is scratch that threads share");
}

/* With the input so many bytes behind the result. */
static const char *split_at(int64_t apart, RowRule rule, bool made)
{
    Shared shared;
    open_shared(&shared, 0);
    shared.y->offset = BYTES;
    shared.x->offset = BYTES + apart;
    shared.step->operand[1].rule = rule;
    if (!made)
        shared.step->operand->tensor = NULL;
    return split(&shared);
}

static void shares_are_apart(void **state)
{
    (void)state;
    const char touched[] = "is touched while another thread writes it";
    const RowRule same = { .kind = ROWS_SAME };
    assert_null(split_at(BYTES, same, true));
    assert_null(split_at(0, same, true));
    assert_string_equal(split_at(4, same, true), touched);
    assert_string_equal(split_at(BYTES - 4, same, true), touched);
    assert_string_equal(split_at(4 - BYTES, same, true), touched);
    assert_null(split_at(-BYTES, same, true));
    assert_string_equal(split_at(0, window(1, 1, 3), true), touched);
    assert_null(split_at(4, same, false));
    /* windows of which nothing is left */
    assert_null(split_at(4, window(1, 2 * ROWS, 3), true));
    assert_string_equal(split_at(BYTES / 2, window(1, 5, 5), true), touched);
}

/* Each share may touch all of its own rows, and units that need none touch nothing. */
static void shares_by_tables(void **state)
{
    (void)state;
    static const Rows halves[ROWS] = { { 0, 4 }, { 0, 4 }, { 0, 4 }, { 0, 4 },
                                       { 4, 8 }, { 4, 8 }, { 4, 8 }, { 4, 8 } };
    static const Rows none[ROWS] = { { 0, 0 } };
    const RowRule by_half = { .kind = ROWS_TABLE, .table = halves };
    const RowRule by_none = { .kind = ROWS_TABLE, .table = none };
    assert_null(split_at(0, by_half, true));
    assert_null(split_at(BYTES, by_none, true));
}

/* The last of three operands, behind one that was left out. */
static void behind_what_is_left_out(void **state)
{
    (void)state;
    Shared shared;
    open_shared(&shared, 0);
    const In x = { shared.x, { .kind = ROWS_ALL }, REUSE_ROWS };
    const In both[] = { x, x };
    shared.w.program.step.n = 0;
    shared.step = add_step(&shared.w, &kernel_op, shared.y, 2, both, 0);
    shared.step->operand[1].tensor = NULL;
    shared.x->offset = 4;
    assert_string_equal(split(&shared),
                        "is touched while another thread writes it");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(not_all_steps_can_be),
        cmocka_unit_test(scratch_is_their_own),
        cmocka_unit_test(results_are_shared_out),
        cmocka_unit_test(shares_are_apart),
        cmocka_unit_test(shares_by_tables),
        cmocka_unit_test(behind_what_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
