/* SPDX-License-Identifier: Apache-2.0
 * The bounds of a pool, counted by hand: what it reaches, and each parameter that would take it out
 * of its images. */
#include "../plan/programs.h"

#include "bounds/bounds.h"
#include "kernels/concat.h"
#include "kernels/pool.h"

/* 3 x 3 taps over 6 rows of 8 pixels of 5 channels, int8. */
static const inlay_pool_params whole = {
    .id = 1,
    .ih = 6,
    .iw = 8,
    .od = 1,
    .oh = 6,
    .ow = 8,
    .kd = 1,
    .kh = 3,
    .kw = 3,
    .sd = 1,
    .sh = 1,
    .sw = 1,
    .dd = 1,
    .dh = 1,
    .dw = 1,
    .ph = 1,
    .pw = 1,
    .channels = 5,
};

static Step *make_pool(World *w, inlay_pool_params *params)
{
    world_open(w, 1);
    Tensor *x = add_input(w, 6, 8, 5);
    Tensor *y = add_image(w, 6, 8, 5);
    x->dtype = y->dtype = DT_I8;
    const In in = { x, window(1, 1, 3), REUSE_ROWS };
    Step *step = add_step(w, kernel_find("maxpool_i8"), y, 1, &in, 0);
    step->params = params;
    return step;
}

static void reaches_all(void **state)
{
    (void)state;
    World w;
    inlay_pool_params params = whole;
    Reach reach[2];
    Step *step = make_pool(&w, &params);
    assert_null(bounds_judge(&w.arena, &w.program, step, reach).why);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(bounds_bytes(step->operand + k, reach + k), 240);
        assert_int_equal(reach[k].rows, 6);
        assert_int_equal(reach[k].hi, 40);
    }
    step->operand[1].row_bytes = 64; /* of a wider image */
    assert_int_equal(bounds_bytes(step->operand + 1, reach + 1), 5 * 64 + 40);
    world_close(&w);
}

typedef struct Wrong {
    inlay_pool_params params;
    int operand; /* -1: the parameters as a whole */
    const char *why;
} Wrong;

#define WITH(field, value) \
    { \
        .id = 1, .ih = 6, .iw = 8, .od = 1, .oh = 6, .ow = 8, .kd = 1, \
        .kh = 3, .kw = 3, .sd = 1, .sh = 1, .sw = 1, .dd = 1, .dh = 1, \
        .dw = 1, .ph = 1, .pw = 1, .channels = 5, .field = value \
    }

static void refuses(void **state)
{
    (void)state;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
    static const Wrong wrong[] = {
        { WITH(iw, 9), 1, "a row of its input has 40 bytes, 0 to 45 are read" },
        { WITH(ow, 9), 0,
          "a row of its result has 40 bytes, 0 to 45 are written" },
        { WITH(ih, 7), 1, "its input has 6 rows, 7 are read" },
        { WITH(id, 2), 1, "its input has 6 rows, 12 are read" },
        { WITH(channels, 6), 0,
          "a row of its result has 40 bytes, 0 to 41 are written" },
        { WITH(iw, -1), -1, "a size is negative" },
        { WITH(kw, -1), -1, "a size is negative" },
        { WITH(sw, 0), -1, "a stride or a divisor is not positive" },
        { WITH(dh, -2), -1, "a stride or a divisor is not positive" },
        { WITH(pw, INT32_MIN), -1, "a place is beyond 32 bits" },
        { WITH(kh, INT32_MAX), -1, "a place is beyond 32 bits" },
    };
#pragma GCC diagnostic pop
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        World w;
        inlay_pool_params params = wrong[i].params;
        const Step *step = make_pool(&w, &params);
        const BoundsFault fault = bounds_object(&w.arena, &w.program, step);
        assert_non_null(fault.why);
        assert_string_equal(fault.why, wrong[i].why);
        assert_int_equal(fault.operand, wrong[i].operand);
        world_close(&w);
    }
}

/* Operands that are not those of the kernel. */
static void refuses_operands(void **state)
{
    (void)state;
    World w;
    inlay_pool_params params = whole;
    Step *step = make_pool(&w, &params);
    step->operand[1].tensor->dtype = DT_F32;
    assert_string_equal(
        bounds_object(&w.arena, &w.program, step).why,
        "its input is of type float32, which its kernel does not take");
    step->operand[1].tensor = NULL;
    assert_string_equal(bounds_object(&w.arena, &w.program, step).why,
                        "its input is left out");
    step->n_operand = 1;
    assert_string_equal(bounds_object(&w.arena, &w.program, step).why,
                        "it has fewer operands than its kernel");
    world_close(&w);
}

/* A table of sizes that would be beyond what is looked at: status 69. */
static void table_has_a_limit(void *context)
{
    World *w = context;
    Reach reach[3];
    bounds_judge(&w->arena, &w->program, w->program.step.at[0], reach);
}

static void large_tables(void **state)
{
    (void)state;
    World w;
    world_open(&w, 1);
    Tensor *x = add_input(&w, 1, 1, 4);
    Tensor *y = add_image(&w, 1, 1, 4);
    const In in[] = { { .tensor = x }, { .tensor = x } };
    Step *step = add_step(&w, kernel_find("concat"), y, 2, in, 0);
    Diag diag = { .quiet = true };
    const int64_t entries = (1 << 23) + 1;
    const int64_t one = 16;
    const int64_t dim = 1;
    inlay_concat_params params = { .inputs = 1, .pieces = 1, .bytes = 16 };
    step->params = &params;
    step->operand[2].tensor = graph_add_constant(
        w.graph, NULL, recipe_memory(&w.store, DT_I64, 1, &dim, &one));
    assert_int_equal(protect(&diag, table_has_a_limit, &w), 0);
    step->operand[2].tensor->shape = shape_vector(entries);
    assert_int_equal(protect(&diag, table_has_a_limit, &w), STATUS_UNSUPPORTED);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reaches_all),
        cmocka_unit_test(refuses),
        cmocka_unit_test(refuses_operands),
        cmocka_unit_test(large_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
