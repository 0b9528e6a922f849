/* SPDX-License-Identifier: Apache-2.0
 * The bounds of reductions, counted by hand: loops that are kept, loops that are gone through, axes
 * that are read. */
#include "../plan/programs.h"

#include "bounds/bounds.h"
#include "kernels/reduce.h"

/* y [4] of x [4][6], or of its columns y [6]; operand 2 is the axes. */
static const inlay_reduce_params lines = {
    .kept = 1,
    .reduced = 1,
    .count = 6,
    .nk = { 4 },
    .sk = { 6 },
    .nr = { 6 },
    .sr = { 1 },
};
static const inlay_reduce_params columns = {
    .kept = 1,
    .reduced = 1,
    .columns = 1,
    .count = 4,
    .nk = { 6 },
    .sk = { 1 },
    .nr = { 4 },
    .sr = { 6 },
};
/* x [4][6] over axes that are known when it runs, to y [6]. */
static const inlay_reduce_params asked = {
    .kept = 2, .reduced = 1, .values = 1, .axes = 1, .nk = { 4, 6 }, .nr = { 6 }
};

static Step *make_sum(World *w, inlay_reduce_params *params, int64_t results)
{
    world_open(w, 1);
    const In in[] = {
        { add_image(w, 1, 4, 6), { .kind = ROWS_ALL }, REUSE_NONE },
        { add_image(w, 1, 1, 1), { .kind = ROWS_ALL }, REUSE_NONE },
    };
    Tensor *y = add_image(w, 1, 1, results);
    Step *step = add_step(w, kernel_find("reduce_sum_i32"), y, 2, in, 0);
    in[1].tensor->dtype = DT_I64;
    step->operand[2].row_bytes = 8;
    step->params = params;
    return step;
}

static const char *fault_of(World *w, const Step *step, int *operand)
{
    const BoundsFault fault = bounds_object(&w->arena, &w->program, step);
    *operand = fault.operand;
    return fault.why;
}

typedef struct Change {
    const inlay_reduce_params *from;
    int field, at;
    int32_t value;
    int operand;
    const char *why; /* NULL: it is right */
} Change;

static const char gaps[] = "its innermost loop leaves gaps";
static const char loops[] = "it has another number of loops than its kernel";

static const Change changes[] = {
    { &lines, 0, 0, 1, 0, NULL },
    { &lines, 0, 0, 0, -1, "it has no loops" },
    { &lines, 0, 0, -1, -1, loops },
    { &lines, 0, 0, 9, -1, loops },
    { &lines, 1, 0, 0, -1, "it has no loops" },
    { &lines, 1, 0, 9, -1, "it reduces more loops than its kernel" },
    { &lines, 2, 0, 3, 0, NULL },
    { &lines, 2, 0, 5, 0,
      "a row of its result has 16 bytes, 0 to 20 are written" },
    { &lines, 2, 0, -1, -1, "a size is negative" },
    { &lines, 3, 0, 7, 1,
      "a row of its input has 96 bytes, 0 to 108 are read" },
    { &lines, 3, 0, -6, 1,
      "a row of its input has 96 bytes, -72 to 24 are read" },
    { &lines, 4, 0, 7, 1,
      "a row of its input has 96 bytes, 0 to 100 are read" },
    { &lines, 5, 0, 2, -1, gaps },
    { &columns, 2, 0, 6, 0, NULL },
    { &columns, 2, 0, 7, 0,
      "a row of its result has 24 bytes, 0 to 28 are written" },
    { &columns, 3, 0, 2, -1, gaps },
    { &columns, 4, 0, 5, 1,
      "a row of its input has 96 bytes, 0 to 120 are read" },
    { &columns, 5, 0, 7, 1,
      "a row of its input has 96 bytes, 0 to 108 are read" },
    { &asked, 0, 0, 2, 0, NULL },
    { &asked, 2, 0, 5, 1, "its input has 24 elements, 30 are read" },
    { &asked, 4, 0, 7, 0, "its result has 6 elements, 7 are written" },
    { &asked, 6, 0, 2, 2, "its axes has 1 elements, 2 are read" },
};

static void loops_reach(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        const Change *change = changes + i;
        World w;
        inlay_reduce_params params = *change->from;
        Step *step = make_sum(&w, &params, change->from == &lines ? 4 : 6);
        int32_t *const field[] = {
            &params.kept, &params.reduced, params.nk,    params.sk,
            params.nr,    params.sr,       &params.axes,
        };
        field[change->field][change->at] = change->value;
        int operand;
        const char *why = fault_of(&w, step, &operand);
        if (change->why) {
            assert_non_null(why);
            assert_string_equal(why, change->why);
            assert_int_equal(operand, change->operand);
        } else {
            assert_null(why);
        }
        world_close(&w);
    }
}

/* Nothing is read of an empty input; axes that are asked for must be there. */
static void what_is_left_out(void **state)
{
    (void)state;
    World w;
    int operand;
    inlay_reduce_params params = lines;
    Step *step = make_sum(&w, &params, 4);
    params.sk[0] = 1000;
    params.count = 0;
    assert_null(fault_of(&w, step, &operand));
    world_close(&w);
    params = asked;
    step = make_sum(&w, &params, 6);
    step->operand[2].tensor = NULL;
    assert_string_equal(fault_of(&w, step, &operand), "its axes is left out");
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_reach),
        cmocka_unit_test(what_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
