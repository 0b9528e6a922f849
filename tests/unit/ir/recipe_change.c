/* SPDX-License-Identifier: Apache-2.0
 * Products and sums with other recipes: single facts beside the random chains of recipe.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ir/recipe.h"

static void operands_may_have_other_factors(void **state)
{
    (void)state;
    Arena arena = { 0 };
    Store s = { .arena = &arena, .window = 3 * 4096 };
    const float w[6] = { 1, 2, 3, 4, 5, 6 };
    const int64_t tall[2] = { 3, 2 }, wide[2] = { 2, 3 }, all = 6;
    const int turn[2] = { 1, 0 };
    Recipe *r = recipe_transpose(&s, recipe_memory(&s, DT_F32, 2, tall, w),
                                 turn),
           *v = recipe_transpose(&s, recipe_memory(&s, DT_F32, 2, wide, w),
                                 turn);
    r = recipe_mul(&s, recipe_reshape(&s, r, 1, &all),
                   recipe_reshape(&s, v, 1, &all));
    const float *got = recipe_values(&s, &arena, r);
    for (int i = 0; i < 6; i++)
        assert_true(got[i] == w[i % 3 * 2 + i / 3] * w[i % 2 * 3 + i / 2]);
    arena_free(&s.scratch);
    arena_free(&arena);
}

/* Operands count against the window, also where they are wider than what they change. */
static void operands_share_the_window(void **state)
{
    (void)state;
    enum { N = 2000000, ROOM = 1 << 20 };
    Arena arena = { 0 };
    Store s = { .arena = &arena, .window = 3 * ROOM };
    File *in = file_temporary(&arena), *out = file_temporary(&arena);
    const int64_t n = N;
    const Span span = { 0, N * 8 }, half = { 0, N * 4 };
    file_write(in, N * 8 - 1, "", 1);
    const Source f64 = {
        .dtype = DT_F64, .count = N, .file = in, .span = &span, .spans = 1
    };
    const Source f32 = {
        .dtype = DT_F32, .count = N, .file = in, .span = &half, .spans = 1
    };
    Recipe *r = recipe_source(&s, &f32, 1, &n);
    r = recipe_mul(&s, r,
                   recipe_cast(&s, recipe_source(&s, &f64, 1, &n), DT_F32));
    recipe_write(&s, r, out, 0);
    assert_int_equal(s.bytes_spilled, 0);
    assert_true(arena.peak <= 4 * ROOM + 256 * 1024);
    file_close_all(&arena);
    arena_free(&s.scratch);
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operands_may_have_other_factors),
        cmocka_unit_test(operands_share_the_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
