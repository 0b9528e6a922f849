/* SPDX-License-Identifier: Apache-2.0
 * Which channels of a tensor that is made in parts hold values, row by row. */
#include "../plan/programs.h"

#include "prove/replay.h"

enum { ROWS = 3, CHANNELS = 4, PIXEL = 4 * CHANNELS };

/* A tensor that steps make in parts of some channels, another one that is made as a whole, and the
 * caller's result in parts. */
typedef struct Parts {
    World w;
    Check check;
    Tensor *y, *whole, *given;
} Parts;

static void add_part(Parts *parts, Tensor *tensor, int64_t first, int64_t n)
{
    const In x = { parts->w.tensor[0], { .kind = ROWS_SAME }, REUSE_NONE };
    Step *step = add_step(&parts->w, &kernel_op, tensor, 1, &x, 0);
    step->operand->part = n;
    step->operand->offset = 4 * first;
}

static void open_parts(Parts *parts)
{
    World *w = &parts->w;
    world_open(w, 1);
    (void)add_input(w, ROWS, 2, 1);
    parts->y = add_image(w, ROWS, 2, CHANNELS);
    parts->whole = add_image(w, ROWS, 2, CHANNELS);
    parts->given = add_image(w, ROWS, 2, CHANNELS);
    add_part(parts, parts->y, 2, 1);
    add_part(parts, parts->y, 1, 1);
    add_part(parts, parts->y, 1, 1);
    add_part(parts, parts->whole, 0, 0);
    add_part(parts, parts->given, 1, 3);
    add_part(parts, parts->given, 0, 1);
    parts->check = (Check){ .arena = &w->arena, .program = &w->program };
    make_output(w, parts->given);
    program_link(&w->program);
    find_lanes(&parts->check);
}

static void tensors_in_parts_have_lanes(void **state)
{
    (void)state;
    Parts parts;
    open_parts(&parts);
    const Lanes *y = parts.check.lanes + parts.y->id;
    assert_int_equal(y->pixel, PIXEL);
    assert_int_equal(y->row_bytes, 2 * PIXEL);
    assert_int_equal(y->rows, ROWS);
    assert_int_equal(y->cut.n, 4); /* 0, 8, 12, 4 */
    assert_int_equal(parts.check.lanes[parts.given->id].cut.n, 3);
    assert_int_equal(parts.check.lanes[parts.whole->id].pixel, 0);
    assert_null(parts.check.lanes[parts.whole->id].has);
    world_close(&parts.w);
}

/* Which of four channels there are in each row, as bits. */
static int held(const Lanes *lanes, int32_t row)
{
    int bits = 0;
    for (int c = 0; c < CHANNELS; c++)
        if (lane_has(lanes, row, 4 * c, 4 * c + 4))
            bits |= 1 << c;
    return bits;
}

static void channels_come_and_go(void **state)
{
    (void)state;
    Parts parts;
    open_parts(&parts);
    Lanes *y = parts.check.lanes + parts.y->id;
    assert_int_equal(held(y, 0), 0);
    lane_add(y, 1, 4, 8);
    assert_int_equal(held(y, 0), 0);
    assert_int_equal(held(y, 1), 2);
    assert_int_equal(held(y, 2), 0);
    assert_false(lane_has(y, 1, 4, 12));
    lane_add(y, 1, 8, 12);
    assert_true(lane_has(y, 1, 4, 12));
    assert_false(lane_has(y, 1, 0, 12));
    assert_false(lane_has(y, 1, 4, PIXEL));
    lane_add(y, 2, 0, PIXEL);
    assert_int_equal(held(y, 2), 15);
    lane_clear(y, 1);
    assert_int_equal(held(y, 1), 0);
    assert_int_equal(held(y, 2), 15);
    lane_clear(y, 2);
    assert_int_equal(held(y, 2), 0);
    world_close(&parts.w);
}

/* The channels that no part names are missing, too. */
static void what_no_part_names(void **state)
{
    (void)state;
    Parts parts;
    open_parts(&parts);
    Lanes *y = parts.check.lanes + parts.y->id;
    lane_add(y, 0, 4, 12);
    assert_true(lane_has(y, 0, 4, 12));
    assert_false(lane_has(y, 0, 0, 12));
    assert_false(lane_has(y, 0, 0, 1));
    assert_false(lane_has(y, 0, 4, PIXEL));
    world_close(&parts.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_in_parts_have_lanes),
        cmocka_unit_test(channels_come_and_go),
        cmocka_unit_test(what_no_part_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
