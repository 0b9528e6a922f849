/* SPDX-License-Identifier: Apache-2.0
 * Bytes that a row takes less where its pixels take the place of those that are needed no more. */
#include "../plan/programs.h"

#include "prove/replay.h"

/* A row of 4 pixels of so many channels is made while rows of 4 pixels of one die. */
static int64_t saved(int64_t channels, PixelRule rule, int32_t rows,
                     bool backward)
{
    World w;
    world_open(&w, 1);
    const In x = { add_image(&w, 2, 4, 1), { .kind = ROWS_SAME }, REUSE_ROWS };
    Step *step =
        add_step(&w, &kernel_pixels, add_image(&w, 2, 4, channels), 1, &x, 0);
    step->operand[1].pixels = rule;
    const int32_t dying[] = { 0, rows };
    const int64_t bytes = pixels_saved(step, backward, dying);
    world_close(&w);
    return bytes;
}

static void rows_of_one_pixel_after_the_other(void **state)
{
    (void)state;
    static const PixelRule each = { .stride = 1, .extent = 1, .tile = 1 };
    static const PixelRule pairs = { .stride = 1, .extent = 1, .tile = 2 };
    static const PixelRule window = {
        .stride = 1, .pad = 1, .extent = 3, .tile = 1
    };
    for (int backward = 0; backward < 2; backward++) {
        assert_int_equal(saved(1, each, 1, backward), 32 - 20);
        /* a tile may be read until it is made */
        assert_int_equal(saved(1, pairs, 1, backward), 32 - 24);
        assert_int_equal(saved(1, window, 1, backward), 32 - 24);
        assert_int_equal(saved(2, each, 1, backward), 48 - 36);
        /* of two rows that die eight bytes go with each pixel of four */
        assert_int_equal(saved(1, each, 2, backward), 48 - 36);
        assert_int_equal(saved(1, each, 0, backward), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_one_pixel_after_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
