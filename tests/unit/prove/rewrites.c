/* SPDX-License-Identifier: Apache-2.0
 * Who touches bytes that are written again does it in the model's order. */
#include "../plan/programs.h"

#include "prove/replay.h"

/* How a step touches a tensor of 4 rows of 2 pixels of 2 int32. */
typedef struct Touch {
    int64_t offset, part, pitch, row_bytes;
    bool reads;
} Touch;

static void touch(World *w, Tensor *tensor, const Touch *as, int32_t piece)
{
    const In in = { tensor, { .kind = ROWS_SAME }, REUSE_NONE };
    Step *step = add_step(w, &kernel_op, tensor, 1, &in, 0);
    Operand *operand = step->operand + as->reads;
    step->operand[!as->reads].tensor = NULL;
    step->piece = piece;
    operand->offset = as->offset;
    operand->part = as->part;
    operand->pitch = as->pitch;
    if (as->row_bytes) {
        operand->rows = (int32_t)(64 / as->row_bytes);
        operand->row_bytes = as->row_bytes;
    }
}

/* Both in the model's order, in the streams of these segments; NULL: nothing is wrong. */
static const char *in_streams(const Segment *segment, size_t n, bool reads)
{
    World w;
    world_open(&w, 1);
    Tensor *tensor = add_image(&w, 4, 2, 2);
    const Touch writes = { 0, 0, 0, 0, false };
    const Touch second = { 0, 0, 0, 0, reads };
    touch(&w, tensor, &writes, 0);
    touch(&w, tensor, &second, 0);
    for (size_t i = 0; i < n; i++)
        VEC_PUSH(&w.arena, &w.program.plan.segment, segment[i]);
    program_link(&w.program);
    Check check = { .arena = &w.arena, .program = &w.program };
    check_rewrites(&check);
    world_close(&w);
    return check.found.why;
}

static void streams_write_once(void **state)
{
    (void)state;
    static const uint8_t list[] = { 0, 1 };
    const Segment one = { .count = 2, .list = list };
    const Segment two[] = { { .count = 1, .list = list },
                            { .first = 1, .count = 1, .list = list } };
    const Segment layers = { .count = 2 };
    const Segment second[] = { { .count = 0 }, { .count = 2, .list = list } };
    const Segment first[] = { { .count = 1, .list = list },
                              { .first = 1, .count = 1 } };
    assert_string_equal(
        in_streams(&one, 1, false),
        "is written in a stream in which another step needs or makes it");
    assert_string_equal(
        in_streams(second, 2, false),
        "is written in a stream in which another step needs or makes it");
    assert_null(in_streams(first, 2, false));
    assert_null(in_streams(&one, 1, true));
    assert_null(in_streams(two, 2, false));
    assert_null(in_streams(&layers, 1, false));
    assert_null(in_streams(NULL, 0, false));
}

/* Steps of one step of the model have no order. */
static void pieces_have_no_order(void **state)
{
    (void)state;
    World w;
    world_open(&w, 1);
    Tensor *tensor = add_image(&w, 4, 2, 2);
    for (int k = 0; k < 2; k++) {
        touch(&w, tensor, &(Touch){ 0, 0, 0, 0, false }, 0);
        w.program.step.at[k]->lowered = w.program.step.at[0]->lowered;
    }
    program_link(&w.program);
    Check check = { .arena = &w.arena, .program = &w.program };
    assert_true(check_rewrites(&check));
    world_close(&w);
}

/* May what comes first in the model come second? */
static bool may_turn(const Touch *first, const Touch *second, int32_t piece)
{
    static const int32_t turned[] = { 7, 1, 7, 0 };
    World w;
    world_open(&w, 1);
    Tensor *tensor = add_image(&w, 4, 2, 2);
    touch(&w, tensor, first, piece);
    touch(&w, tensor, second, 0);
    for (int k = 0; k < 2; k++) {
        w.program.step.at[k]->lowered = turned + 2 * k;
        w.program.step.at[k]->n_lowered = 2;
    }
    program_link(&w.program);
    Check check = { .arena = &w.arena, .program = &w.program };
    const bool may = check_rewrites(&check);
    if (!may)
        assert_string_equal(
            check.found.why,
            "is read or written in another order than the model's");
    world_close(&w);
    return may;
}

static void parts_by_their_channels(void **state)
{
    (void)state;
    const Touch all = { 0, 0, 0, 0, false };
    const Touch left = { 0, 1, 0, 0, false };
    const Touch right = { 4, 1, 0, 0, false };
    const Touch column = { 8, 2, 4, 0, false };
    const Touch longer = { 4, 1, 0, 32, false };
    assert_true(may_turn(&left, &right, 0));
    assert_true(may_turn(&right, &left, 0));
    assert_false(may_turn(&left, &left, 0));
    assert_false(may_turn(&left, &all, 0));
    assert_false(may_turn(&all, &left, 0));
    assert_false(may_turn(&left, &column, 0));
    assert_false(may_turn(&column, &left, 0));
    assert_false(may_turn(&left, &(Touch){ 3, 1, 0, 0, false }, 0));
    assert_false(may_turn(&all, &(Touch){ 63, 0, 0, 0, false }, 0));
    assert_true(may_turn(&all, &(Touch){ 64, 0, 0, 0, false }, 0));
    /* rows of other lengths are taken for all their bytes */
    assert_false(may_turn(&left, &longer, 0));
    assert_true(may_turn(&longer, &(Touch){ 0, 1, 0, 32, false }, 0));
}

/* A copy may be made early for those who read it. */
static void copies_come_early(void **state)
{
    (void)state;
    const Touch writes = { 0, 0, 0, 0, false };
    const Touch reads = { 0, 0, 0, 0, true };
    assert_true(may_turn(&writes, &reads, 1));
    assert_false(may_turn(&writes, &writes, 1));
    assert_false(may_turn(&reads, &writes, 1));
    assert_false(may_turn(&writes, &reads, 0));
    assert_false(may_turn(&reads, &writes, 0));
    assert_true(may_turn(&reads, &reads, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_by_their_channels),
        cmocka_unit_test(copies_come_early),
        cmocka_unit_test(streams_write_once),
        cmocka_unit_test(pieces_have_no_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
