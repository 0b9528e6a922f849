/* SPDX-License-Identifier: Apache-2.0
 * Which bytes the rows of an operand are, and whose. */
#include "../plan/programs.h"

#include "prove/replay.h"

/* 8 rows of 12 bytes, of which 4 exist at a time: rows that lie one behind another are one piece,
 * and only those near it may meet a piece. */
static void rows_of_a_ring(void **state)
{
    (void)state;
    static const struct {
        Range rows;
        bool joined;
        Range near; /* of the bytes of the second place */
    } each[] = {
        { { 0, 4 }, true, { 0, 3 } },  { { 4, 8 }, true, { 4, 7 } },
        { { 5, 8 }, true, { 5, 7 } },  { { 2, 6 }, false, { 2, 6 } },
        { { 2, 5 }, false, { 2, 5 } }, { { 3, 5 }, false, { 3, 5 } },
        { { 2, 4 }, true, { 2, 3 } },  { { 6, 7 }, false, { 6, 7 } },
    };
    World w;
    world_open(&w, 1);
    Tensor *x = add_input(&w, 8, 3, 1), *y = add_image(&w, 8, 3, 1);
    const In in = { x, { .kind = ROWS_SAME }, REUSE_NONE };
    Operand *ring = add_step(&w, &kernel_op, y, 1, &in, 0)->operand;
    ring->ring = 4;
    program_link(&w.program);
    Check check = { .arena = &w.arena, .program = &w.program };
    find_lanes(&check);
    const Piece second = { .begin = 12, .end = 24 };
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        Piece all;
        const Range rows = each[i].rows;
        assert_int_equal(rows_joined(&check, ring, rows, &all), each[i].joined);
        if (each[i].joined) {
            assert_int_equal(all.begin, rows.lo % 4 * 12);
            assert_int_equal(all.end - all.begin, (rows.hi - rows.lo) * 12);
        }
        const Range near = rows_near(ring, rows, &second);
        if (near.lo != each[i].near.lo || near.hi != each[i].near.hi)
            fail_msg("rows %d: %d to %d", (int)i, near.lo, near.hi);
    }
    const Piece last = { .begin = 36, .end = 48 };
    const Range near = rows_near(ring, (Range){ 5, 8 }, &last);
    assert_int_equal(near.lo, 6);
    assert_int_equal(near.hi, 8);
    world_close(&w);
}

/* An objection names the byte of the region in which it lies. */
static void bytes_of_objections(void **state)
{
    (void)state;
    const int64_t second_region = (int64_t)1 << 44;
    const Piece piece = { .begin = second_region + 20, .own_row = 3 };
    const Operand operand = { .rows = 4 };
    Check check = { .first = 0 };
    assert_false(object_at(&check, &operand, &piece, "why"));
    assert_int_equal(check.found.byte, 20);
    assert_int_equal(check.found.row, 3);
    assert_ptr_equal(check.found.operand, &operand);
}

/* The last row of an operand ends with its tensor. */
static void rows_end_with_their_tensor(void **state)
{
    (void)state;
    World w;
    world_open(&w, 1);
    Tensor *y = add_image(&w, 4, 3, 1);
    Operand operand = operand_of(y);
    operand.rows = 1;
    operand.offset = 40;
    const In in = { add_input(&w, 4, 3, 1), { .kind = ROWS_SAME }, REUSE_NONE };
    Step *step = add_step(&w, &kernel_op, y, 1, &in, 0);
    step->operand[0] = operand;
    program_link(&w.program);
    const Piece piece = piece_of(step->operand, 0);
    assert_int_equal(piece.begin, 40);
    assert_int_equal(piece.end, 48);
    world_close(&w);
}

/* Bytes of a view are its owner's; a state of the next run is another value in the same ones. */
static void owners_and_versions(void **state)
{
    (void)state;
    World w;
    world_open(&w, 1);
    Tensor *owner = add_image(&w, 4, 3, 1), *middle = add_image(&w, 4, 3, 1);
    Tensor *view = add_image(&w, 2, 3, 1);
    middle->view_of = owner;
    middle->view_offset = 8;
    view->view_of = middle;
    view->view_offset = 4;
    const Operand operand = { .tensor = view, .offset = 1 };
    for (int is_state = 0; is_state < 2; is_state++) {
        int64_t at;
        middle->state = is_state;
        assert_ptr_equal(owner_of(&operand, &at), owner);
        assert_int_equal(at, 13);
        assert_ptr_equal(version_of(&operand, &at), is_state ? middle : owner);
        assert_int_equal(at, is_state ? 5 : 13);
    }
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(owners_and_versions),
        cmocka_unit_test(rows_of_a_ring),
        cmocka_unit_test(bytes_of_objections),
        cmocka_unit_test(rows_end_with_their_tensor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
