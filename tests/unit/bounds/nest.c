/* SPDX-License-Identifier: Apache-2.0
 * The bounds of kernels that walk nests of loops, counted by hand: elementwise and moves. */
#include "../plan/programs.h"

#include "bounds/bounds.h"
#include "kernels/move.h"
#include "kernels/nd.h"

enum { WHOLE = -1 }; /* not one operand: the parameters */

typedef struct Want {
    const char *why; /* NULL: it is right */
    int operand;
} Want;

static void judge(World *w, const Step *step, Want want)
{
    const BoundsFault fault = bounds_object(&w->arena, &w->program, step);
    if (want.why) {
        assert_non_null(fault.why);
        assert_string_equal(fault.why, want.why);
        assert_int_equal(fault.operand, want.operand);
    } else {
        assert_null(fault.why);
    }
}

/* A whole tensor as one unit. */
static void as_one(Operand *operand)
{
    operand->rows = 1;
    operand->row_bytes = tensor_bytes(operand->tensor);
    operand->rule.kind = ROWS_ALL;
}

/* y [4][6][2] = a [4][6][2] and b [6][2], one unit. */
static const inlay_nd2_params sum = {
    .rank = 2, .pixel = -1, .n = { 4, 12 }, .a = { 12, 1 }, .b = { 0, 1 }
};

static Step *make_sum(World *w, inlay_nd2_params *params)
{
    world_open(w, 1);
    const In in[] = {
        { add_image(w, 4, 6, 2), { .kind = ROWS_ALL }, REUSE_NONE },
        { add_image(w, 1, 6, 2), { .kind = ROWS_ALL }, REUSE_NONE },
    };
    Tensor *y = add_image(w, 4, 6, 2);
    Step *step = add_step(w, kernel_find("add_i32"), y, 2, in, 0);
    for (int k = 0; k < 3; k++)
        as_one(step->operand + k);
    step->units = 1;
    step->params = params;
    return step;
}

static void elementwise(void **state)
{
    (void)state;
    static const struct {
        int field, at;
        int32_t value;
        Want want;
    } each[] = {
        { 0, 0, 2, { NULL, 0 } },
        { 0,
          0,
          0,
          { "it has another number of loops than its kernel", WHOLE } },
        { 0,
          0,
          9,
          { "it has another number of loops than its kernel", WHOLE } },
        { 1, 0, 5, { "its result has 48 elements, 60 are written", 0 } },
        { 1, 0, 3, { NULL, 0 } },
        { 1, 1, -1, { "a size is negative", WHOLE } },
        { 2, 0, 13, { "its first operand has 48 elements, 51 are read", 1 } },
        { 2,
          0,
          -1,
          { "its first operand begins at 0, and is read from -3 elements on",
            1 } },
        { 3, 0, 1, { "its second operand has 12 elements, 15 are read", 2 } },
        { 3, 1, 2, { "its second operand has 12 elements, 23 are read", 2 } },
    };
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        World w;
        inlay_nd2_params params = sum;
        Step *step = make_sum(&w, &params);
        int32_t *const field[] = { &params.rank, params.n, params.a, params.b };
        field[each[i].field][each[i].at] = each[i].value;
        judge(&w, step, each[i].want);
        world_close(&w);
    }
}

/* y [6][4] = x [4][6] turned, one unit. */
static const inlay_move_params turn = {
    .rank = 2,
    .units_in = 1,
    .pixel = -1,
    .n = { 6, 4 },
    .y = { 4, 1 },
    .x = { 1, 6 },
};

static Step *make_turn(World *w, inlay_move_params *params)
{
    world_open(w, 1);
    const In in = { add_image(w, 4, 6, 1), { .kind = ROWS_ALL }, REUSE_NONE };
    Tensor *y = add_image(w, 6, 4, 1);
    Step *step = add_step(w, kernel_find("move_32"), y, 1, &in, 0);
    as_one(step->operand);
    as_one(step->operand + 1);
    step->units = 1;
    step->params = params;
    return step;
}

static void moves(void **state)
{
    (void)state;
    static const struct {
        int field, at;
        int32_t value;
        Want want;
    } each[] = {
        { 0, 0, 2, { NULL, 0 } },
        { 0,
          0,
          1,
          { "it has another number of loops than its kernel", WHOLE } },
        { 0,
          0,
          9,
          { "it has another number of loops than its kernel", WHOLE } },
        { 1, 0, 7, { "its result has 24 elements, 28 are written", 0 } },
        { 2, 0, 5, { "its result has 24 elements, 29 are written", 0 } },
        { 3, 1, 7, { "its input has 24 elements, 27 are read", 1 } },
        { 3,
          1,
          -6,
          { "its input begins at 0, and is read from -18 elements on", 1 } },
        { 4, 0, 1, { "its result has 24 elements, 25 are written", 0 } },
        { 5,
          0,
          -1,
          { "its input begins at 0, and is read from -1 elements on", 1 } },
        { 6,
          0,
          2,
          { "it has another number of loops than its kernel", WHOLE } },
    };
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        World w;
        inlay_move_params params = turn;
        Step *step = make_turn(&w, &params);
        int32_t *const field[] = { &params.rank, params.n,   params.y,
                                   params.x,     &params.y0, &params.x0,
                                   &params.pixel };
        field[each[i].field][each[i].at] = each[i].value;
        judge(&w, step, each[i].want);
        world_close(&w);
    }
}

/* A source read backward from its end is no fault. */
static void moves_go_backward(void **state)
{
    (void)state;
    World w;
    inlay_move_params params = turn;
    Step *step = make_turn(&w, &params);
    params.x[1] = -6;
    params.x0 = 18;
    judge(&w, step, (Want){ NULL, 0 });
    params.x0 = 19;
    judge(&w, step, (Want){ "its input has 24 elements, 25 are read", 1 });
    params.x0 = 17;
    judge(
        &w, step,
        (Want){ "its input begins at 0, and is read from -1 elements on", 1 });
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elementwise),
        cmocka_unit_test(moves),
        cmocka_unit_test(moves_go_backward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
