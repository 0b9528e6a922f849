/* SPDX-License-Identifier: Apache-2.0
 * Recipes taken apart into narrow values, scales and zero points: together they give the same
 * numbers, and what has another form is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

enum { ROWS = 4, COLUMNS = 8, BLOCK = 4, BLOCKS = COLUMNS / BLOCK };

static Recipe *numbers(World *w, DType type, int64_t columns, int start)
{
    int8_t value[ROWS * COLUMNS];
    const int64_t dims[2] = { ROWS, columns };
    for (int i = 0; i < ROWS * columns; i++)
        value[i] = (int8_t)(start + 3 * i);
    return recipe_memory(&w->store, type, 2, dims, value);
}

static Recipe *scales(World *w)
{
    float value[ROWS * BLOCKS];
    const int64_t dims[2] = { ROWS, BLOCKS };
    for (int i = 0; i < ROWS * BLOCKS; i++)
        value[i] = 0.25f + (float)i;
    return recipe_memory(&w->store, DT_F32, 2, dims, value);
}

/* (values - zero) * scale in blocks along the columns. */
static Recipe *dequantized(World *w, const Recipe *values, const Recipe *zero)
{
    Store *s = &w->store;
    const int64_t cut[3] = { ROWS, BLOCKS, BLOCK };
    const int64_t each[3] = { ROWS, BLOCKS, 1 };
    const int64_t dims[2] = { ROWS, COLUMNS };
    Recipe *r = recipe_cast(s, recipe_reshape(s, values, 3, cut), DT_F32);
    Recipe *z = recipe_cast(s, recipe_reshape(s, zero, 3, each), DT_F32);
    r = recipe_add(s, r, recipe_mul(s, z, recipe_number(s, -1.0f)));
    r = recipe_mul(s, r, recipe_reshape(s, scales(w), 3, each));
    return recipe_reshape(s, r, 2, dims);
}

static void check_parts(World *w, const Recipe *whole)
{
    static const int swap[2] = { 1, 0 };
    Store *s = &w->store;
    Narrow narrow;
    int64_t times;
    /* As a product takes them: after any move of elements. */
    const Recipe *turned = recipe_transpose(s, whole, swap);
    assert_true(recipe_narrow(s, turned, &narrow));
    const float *want = recipe_values(s, &w->arena, turned);
    const int8_t *values = recipe_values(s, &w->arena, narrow.values);
    Recipe *scale = recipe_once(s, narrow.scale, 0, &times);
    assert_int_equal(times, BLOCK);
    assert_int_equal(recipe_dims(scale)[0], BLOCKS);
    assert_int_equal(recipe_dims(scale)[1], ROWS);
    const float *factor = recipe_values(s, &w->arena, scale);
    const int8_t *zero = NULL;
    if (narrow.zero)
        zero =
            recipe_values(s, &w->arena, recipe_once(s, narrow.zero, 0, &times));
    for (int c = 0; c < COLUMNS; c++)
        for (int r = 0; r < ROWS; r++) {
            const int at = c / BLOCK * ROWS + r;
            const float z = zero ? (float)zero[at] : narrow.middle;
            const float got = ((float)values[c * ROWS + r] - z) * factor[at];
            assert_memory_equal(&got, want + c * ROWS + r, sizeof got);
        }
}

static void blocks_come_apart(void **state)
{
    World w;
    (void)state;
    open_world(&w);
    const Recipe *values = numbers(&w, DT_I8, COLUMNS, -40);
    check_parts(&w, dequantized(&w, values, numbers(&w, DT_I8, BLOCKS, -9)));
    close_world(&w);
}

static void one_zero_is_a_number(void **state)
{
    const int8_t middle = 7;
    const int64_t dims[2] = { ROWS, BLOCKS };
    World w;
    Narrow narrow;
    (void)state;
    open_world(&w);
    const Recipe *values = numbers(&w, DT_I8, COLUMNS, -40);
    const Recipe *zero = recipe_fill(&w.store, DT_I8, 2, dims, &middle);
    const Recipe *whole = dequantized(&w, values, zero);
    assert_true(recipe_narrow(&w.store, whole, &narrow));
    assert_null(narrow.zero);
    assert_true(narrow.middle == 7.0f);
    check_parts(&w, whole);
    close_world(&w);
}

/* A model of float16 or bfloat16 rounds what it dequantizes; the parts are the same without. */
static void half_widths_come_apart(void **state)
{
    static const DType half[] = { DT_F16, DT_BF16 };
    World w;
    (void)state;
    Store *s = open_world(&w);
    const Recipe *values = numbers(&w, DT_I8, COLUMNS, -40);
    const Recipe *wide =
        dequantized(&w, values, numbers(&w, DT_I8, BLOCKS, -9));
    for (int i = 0; i < 2; i++) {
        Narrow narrow, same;
        const Recipe *rounded = recipe_cast(s, wide, half[i]);
        assert_false(recipe_narrow(s, rounded, &narrow));
        rounded = recipe_cast(s, rounded, DT_F32);
        assert_true(recipe_narrow(s, rounded, &narrow));
        assert_int_equal(narrow.rounded, half[i]);
        assert_true(recipe_narrow(s, wide, &same));
        assert_int_equal(same.rounded, DT_NONE);
        assert_true(recipe_same(narrow.values, same.values));
        assert_true(recipe_same(narrow.scale, same.scale));
        assert_true(recipe_same(narrow.zero, same.zero));
        rounded = recipe_mul(s, rounded, recipe_number(s, 2.0f));
        assert_true(recipe_narrow(s, rounded, &narrow));
        assert_int_equal(narrow.rounded, DT_NONE);
        assert_true(narrow.folded && !same.folded);
    }
    close_world(&w);
}

/* A normalization of what is made with the numbers: its factors go into the scales. */
static void factors_fold(void **state)
{
    static const float factor[ROWS] = { 2.0f, 0.5f, -4.0f, 1.0f };
    World w;
    (void)state;
    Store *s = open_world(&w);
    const Recipe *values = numbers(&w, DT_I8, COLUMNS, -40);
    const Recipe *zero = numbers(&w, DT_I8, BLOCKS, -9);
    const Recipe *each = recipe_along(s, 2, 0, ROWS, factor);
    const Recipe *wide = dequantized(&w, values, zero);
    check_parts(&w, recipe_mul(s, wide, each));
    Narrow narrow;
    int64_t times;
    const Recipe *once = recipe_cast(s, values, DT_F32);
    once = recipe_mul(s, once, recipe_number(s, 3.0f));
    assert_true(recipe_narrow(s, recipe_mul(s, once, each), &narrow));
    /* One scale for all, one factor for each row. */
    recipe_once(s, narrow.scale, 1, &times);
    assert_int_equal(times, COLUMNS);
    recipe_once(s, narrow.scale, 0, &times);
    assert_int_equal(times, 1);
    close_world(&w);
}

static void other_forms_are_refused(void **state)
{
    World w;
    Narrow narrow;
    (void)state;
    Store *s = open_world(&w);
    const Recipe *values = numbers(&w, DT_I8, COLUMNS, -40);
    Recipe *wide = recipe_cast(s, values, DT_F32);
    Recipe *half = recipe_cast(s, recipe_cast(s, wide, DT_F16), DT_F32);
    Recipe *number = recipe_number(s, 2.0f);
    Recipe *more = recipe_add(s, recipe_mul(s, wide, number), number);
    assert_true(recipe_narrow(s, wide, &narrow));
    assert_null(narrow.scale);
    assert_false(recipe_narrow(s, half, &narrow));
    assert_false(recipe_narrow(s, more, &narrow));
    assert_false(recipe_narrow(s, scales(&w), &narrow));
    assert_false(recipe_narrow(s, values, &narrow));
    /* A zero point without a scale, one that is no whole number. */
    assert_false(recipe_narrow(s, recipe_add(s, wide, number), &narrow));
    Recipe *odd = recipe_add(s, wide, recipe_number(s, 0.5f));
    assert_false(recipe_narrow(s, recipe_mul(s, odd, number), &narrow));
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_come_apart),
        cmocka_unit_test(one_zero_is_a_number),
        cmocka_unit_test(half_widths_come_apart),
        cmocka_unit_test(factors_fold),
        cmocka_unit_test(other_forms_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
