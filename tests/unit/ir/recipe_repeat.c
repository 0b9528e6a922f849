/* SPDX-License-Identifier: Apache-2.0
 * Numbers that come several times in a row, the last one fewer times: the values, and each of them
 * once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "world.h"

enum { ROWS = 4, COLUMNS = 8 };

/* Numbers [ROWS][MANY] that COLUMNS share by threes, the last one by two: each of them once. */
static void last_block_is_in_part(void **state)
{
    static const int swap[2] = { 1, 0 };
    enum { MANY = 3, SHARED = 3 };
    const DType type[] = { DT_F32, DT_U4 };
    const int64_t dims[3] = { ROWS, MANY, 1 };
    const int64_t matrix[2] = { ROWS, COLUMNS };
    float value[ROWS * MANY];
    World w;
    (void)state;
    Store *s = open_world(&w);
    for (int i = 0; i < ROWS * MANY; i++)
        value[i] = (float)i;
    for (int i = 0; i < 2; i++) {
        int64_t times;
        const Recipe *given = recipe_memory(s, DT_F32, 3, dims, value);
        given = recipe_cast(s, recipe_cast(s, given, DT_U8), type[i]);
        const Recipe *all = recipe_repeat(s, given, SHARED, COLUMNS);
        all = recipe_turn(s, recipe_reshape(s, all, 2, matrix));
        const Recipe *once = recipe_once(s, all, 0, &times);
        assert_int_equal(times, SHARED);
        assert_int_equal(recipe_dims(once)[0], MANY);
        const Recipe *wide = recipe_cast(s, all, DT_F32);
        const float *got = recipe_values(s, &w.arena, wide);
        wide = recipe_cast(s, once, DT_F32);
        const float *each = recipe_values(s, &w.arena, wide);
        for (int k = 0; k < COLUMNS * ROWS; k++) {
            const int row = k % ROWS;
            const int block = k / ROWS / SHARED;
            assert_true(got[k] == value[row * MANY + block]);
            assert_true(each[block * ROWS + row] == got[k]);
        }
        /* Rows by themselves read other numbers. */
        recipe_once(s, recipe_transpose(s, all, swap), 0, &times);
        assert_int_equal(times, 1);
    }
    file_close_all(&w.arena);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(last_block_is_in_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
