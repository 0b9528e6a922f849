/* SPDX-License-Identifier: Apache-2.0
 * Rows of a step that may not lie over each other are found, in time that grows with them. */
#include "../plan/programs.h"

#include <time.h>

#include "prove/replay.h"

enum { ROWS = 60000, MOST_SECONDS = 20 };

/* A result of `rows` rows that needs all of its input while it is made; rule: the rows that one of
 * its units reads. */
static void make_step(World *w, int32_t rows, RowKind rule)
{
    world_open(w, 1);
    Tensor *x = add_image(w, rows, 1, 1);
    Tensor *y = add_image(w, rows, 1, 1);
    x->slot = (int)w->graph->input.n;
    VEC_PUSH(&w->arena, &w->graph->input, x);
    add_step(w, &kernel_op, y, 1, &(In){ x, { .kind = rule }, REUSE_NONE }, 0);
    w->program.plan = (Plan){ .arena_size = 8 * (int64_t)rows, .place = -1 };
    w->program.lowered = 1;
}

/* With the result so many bytes behind the input. */
static const char *object_to(World *w, int64_t apart)
{
    const char *why = NULL;
    w->tensor[1]->offset = apart;
    program_link(&w->program);
    plan_holds(&w->program, &why);
    return why;
}

static void every_row_is_compared(void **state)
{
    (void)state;
    World w;
    make_step(&w, 40, ROWS_SAME);
    assert_null(object_to(&w, 160));
    for (int64_t apart = 0; apart < 160; apart += 4)
        assert_string_equal(object_to(&w, apart),
                            "is overwritten by the step that needs it");
    world_close(&w);
}

/* Each with each would be 3.6 thousand million pairs. */
static void ends_soon(RowKind rule)
{
    World w;
    make_step(&w, ROWS, rule);
    const clock_t start = clock();
    assert_null(object_to(&w, 4 * ROWS));
    assert_non_null(object_to(&w, 4 * ROWS - 4));
    assert_true((clock() - start) / CLOCKS_PER_SEC < MOST_SECONDS);
    world_close(&w);
}

static void many_rows(void **state)
{
    (void)state;
    ends_soon(ROWS_SAME);
}

/* As those of a transposition. */
static void units_that_read_all_rows(void **state)
{
    (void)state;
    ends_soon(ROWS_ALL);
}

/* ---- rows and places, one by one ---- */

/* Two results of 4 rows of 2 pixels, of an image like them; each lies where it is put. */
typedef struct Rows4 {
    World w;
    Check check;
    Step *step;
    Tensor *y, *z, *x;
} Rows4;

static void open_rows(Rows4 *r)
{
    World *w = &r->w;
    world_open(w, 1);
    r->x = add_image(w, 4, 2, 2);
    r->z = add_image(w, 4, 2, 2);
    r->y = add_image(w, 4, 2, 2);
    const In in[] = { { r->z, { .kind = ROWS_SAME }, REUSE_NONE },
                      { r->x, { .kind = ROWS_SAME }, REUSE_NONE } };
    r->step = add_step(w, &kernel_op, r->y, 2, in, 0);
    r->step->operand[1].write = true;
    r->step->operand[1].read = false;
    r->step->n_out = 2;
    r->z->offset = 64;
    r->x->offset = 128;
    w->program.plan = (Plan){ .arena_size = 512, .place = -1 };
    w->program.lowered = 1;
    r->check = (Check){ .arena = &w->arena, .program = &w->program };
    r->check.step = r->step;
    r->check.alone = true;
    find_lanes(&r->check);
}

/* What is wrong with unit u, or with the step as a whole. */
static const char *compare(Rows4 *r, int32_t u, bool whole)
{
    program_link(&r->w.program);
    r->check.found.why = NULL;
    check_apart(&r->check, r->step, u, whole, false);
    return r->check.found.why;
}

static const char overwritten[] = "is overwritten by the step that needs it";

static void results_are_apart(void **state)
{
    (void)state;
    Rows4 r;
    open_rows(&r);
    for (int whole = 0; whole < 2; whole++) {
        r.z->offset = 64;
        assert_null(compare(&r, 1, whole));
        r.z->offset = 0;
        assert_true((compare(&r, 1, whole) == NULL) == whole);
    }
    r.step->operand[1].scratch = true;
    assert_string_equal(compare(&r, 1, true), overwritten);
    r.step->operand[1].scratch = false;
    r.y->offset = 128;
    assert_string_equal(compare(&r, 1, false), overwritten);
    r.y->offset = 0;
    r.step->operand[1].tensor = NULL;
    r.x->offset = 32;
    assert_string_equal(compare(&r, 1, true), overwritten);
    world_close(&r.w);
}

/* Results may make bytes of one tensor; what only reads those bytes may not. */
static void one_tensor_twice(void **state)
{
    (void)state;
    Rows4 r;
    open_rows(&r);
    Operand *second = r.step->operand + 1;
    second->tensor = r.y;
    assert_null(compare(&r, 1, false));
    second->scratch = true;
    assert_string_equal(compare(&r, 1, false), overwritten);
    second->scratch = false;
    r.step->operand[0].scratch = true;
    assert_string_equal(compare(&r, 1, false), overwritten);
    second->read = r.step->operand[0].read = true;
    assert_null(compare(&r, 1, false));
    world_close(&r.w);
}

/* Reads bytes [lo, lo + 4) of each pixel of 8 of y, and writes those from `at` on. */
static const char *write_beside(int64_t lo, int64_t at, int32_t ring)
{
    Rows4 r;
    open_rows(&r);
    Operand *operand = r.step->operand;
    operand[1].tensor = NULL;
    operand[2].tensor = r.y;
    operand[0].part = operand[2].part = 1;
    operand[0].offset = at;
    operand[2].offset = lo;
    operand[0].ring = ring;
    const char *why = compare(&r, 1, false);
    world_close(&r.w);
    return why;
}

static void parts_are_apart(void **state)
{
    (void)state;
    assert_null(write_beside(0, 4, 0));
    assert_null(write_beside(4, 0, 0));
    assert_string_equal(write_beside(0, 0, 0), overwritten);
    assert_string_equal(write_beside(4, 4, 0), overwritten);
    /* row 1 of one, where row 0 of the other is */
    assert_string_equal(write_beside(0, 4, 1), overwritten);
}

/* Other parts of the pixels that all are read: of the same tensor, or another. */
static void parts_of_what_is_read(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        Rows4 r;
        open_rows(&r);
        Operand *operand = r.step->operand;
        operand[1].tensor = NULL;
        operand[k / 2 * 2].part = 1;
        if (k % 2)
            operand[2].tensor = r.y;
        r.x->offset = 0;
        assert_string_equal(compare(&r, 1, false), overwritten);
        world_close(&r.w);
    }
}

static void rows_of_windows(void **state)
{
    (void)state;
    static const Rows table[] = { { 0, 2 }, { -1, 9 } };
    const Step step = { .units = 4 };
    static const struct {
        int32_t unit, lo, hi;
    } each[] = { { 0, 0, 2 }, { 1, 1, 4 }, { 2, 3, 5 } };
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        const Operand x = { .rows = 5, .rule = window(2, 1, 3) };
        const Range rows = rows_of(&step, &x, each[i].unit);
        assert_int_equal(rows.lo, each[i].lo);
        assert_int_equal(rows.hi, each[i].hi);
    }
    for (int32_t u = 0; u < 2; u++) {
        const Operand x = { .rows = 5,
                            .rule = { .kind = ROWS_TABLE, .table = table } };
        const Range rows = rows_of(&step, &x, u);
        assert_int_equal(rows.lo, 0);
        assert_int_equal(rows.hi, u ? 5 : 2);
    }
}

static void rows_that_units_need(void **state)
{
    (void)state;
    static const struct {
        RowKind kind;
        int32_t rows, lo, hi;
    } each[] = {
        { ROWS_SAME, 4, 2, 3 }, { ROWS_SAME, 3, 0, 3 }, { ROWS_UNIT, 4, 2, 3 },
        { ROWS_UNIT, 5, 0, 5 }, { ROWS_ALL, 4, 0, 4 },
    };
    const Step step = { .units = 4 };
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        const Operand x = { .read = true,
                            .rows = each[i].rows,
                            .rule = { .kind = each[i].kind } };
        const Range rows = rows_of(&step, &x, 2);
        assert_int_equal(rows.lo, each[i].lo);
        assert_int_equal(rows.hi, each[i].hi);
    }
}

/* Of a region of 64 bytes, or of the caller's. */
static void rows_lie_inside(void **state)
{
    (void)state;
    static const RegionUse regions[] = { { .size = 16 }, { .size = 64 } };
    Rows4 r;
    open_rows(&r);
    for (int i = 0; i < 2; i++)
        VEC_PUSH(&r.w.arena, &r.w.program.plan.region, regions[i]);
    r.x->region = 1;
    make_output(&r.w, r.y);
    Operand *y = r.step->operand;
    for (int64_t at = 0; at < 16; at += 4) {
        r.x->offset = at;
        program_link(&r.w.program);
        y->ref.off += (size_t)at;
        for (int32_t row = 0; row < 4; row++) {
            const Piece of_x = piece_of(r.step->operand + 2, row);
            const Piece of_y = piece_of(y, row);
            assert_true(inside(&r.check, &of_x) == (!at || row < 3));
            assert_true(inside(&r.check, &of_y) == !at);
        }
    }
    world_close(&r.w);
}

/* ---- in place ---- */

enum { CHANGES_IN_PLACE = 14, CHANGES_OF_SLOTS = 16 };

/* An image of int32 in the very place of the result; how it is changed. */
static bool lies_in_place(int change)
{
    static const uint16_t slots[] = { 0, 1, 2, 3 };
    static const RowSlots pool = { .rows = 4, .unit = 16, .slot = slots };
    Rows4 r;
    open_rows(&r);
    Operand *out = r.step->operand;
    Operand *in = out + 2;
    in->reuse = REUSE_ELEMENTWISE;
    r.x->offset = 0;
    switch (change) {
    case 1:
        in->reuse = REUSE_ROWS;
        break;
    case 2:
        r.x->offset = 4;
        break;
    case 3:
        out->part = 1;
        break;
    case 4:
        in->part = 1;
        break;
    case 5:
        in->ring = 2;
        break;
    case 6:
        in->slots = &pool;
        break;
    case 7:
        out->slots = &pool;
        break;
    case 8: /* narrower */
        r.y->dtype = DT_I16;
        break;
    case 9:
        r.x->dtype = DT_I16;
        break;
    case 10:
        r.y->dtype = DT_I16;
        r.step->backward = true;
        break;
    case 11:
        r.y->dtype = DT_I16;
        in->ring = 3;
        break;
    case 12:
        r.y->dtype = DT_I16;
        out->ring = 3;
        break;
    case 13:
        r.step->backward = true;
        break;
    default:
        break;
    }
    program_link(&r.w.program);
    const bool whole = in_place(r.step, out, in);
    world_close(&r.w);
    return whole;
}

static void elements_in_their_place(void **state)
{
    (void)state;
    for (int change = 0; change < CHANGES_IN_PLACE; change++)
        assert_int_equal(lies_in_place(change),
                         !change || change == 8 || change == 13);
}

/* Row 1 of both in slot 3 of one pool; how it is changed. */
static bool slot_in_place(int change)
{
    static const uint16_t slots[] = { 0, 3, 1, 2, 4 };
    static const uint16_t others[] = { 0, 2, 1, 3, 4 };
    static const RowSlots pool = { .rows = 4, .unit = 16, .slot = slots };
    static const RowSlots other = { .rows = 4, .unit = 16, .slot = others };
    Rows4 r;
    open_rows(&r);
    Operand *out = r.step->operand;
    Operand *in = out + 2;
    in->reuse = REUSE_ELEMENTWISE;
    in->slots = out->slots = &pool;
    r.x->offset = 0;
    switch (change) {
    case 1:
        r.check.alone = false;
        break;
    case 2:
        in->reuse = REUSE_ROWS;
        break;
    case 3:
        in->part = 1;
        break;
    case 4:
        out->part = 1;
        break;
    case 5:
        out->slots = NULL;
        break;
    case 6:
        in->slots = NULL;
        break;
    case 7:
        r.step->accumulates = true;
        break;
    case 8:
        in->rule.kind = ROWS_ALL;
        break;
    case 9:
        in->rows = 3;
        break;
    case 10:
        in->slots = &other;
        break;
    case 11:
        in->row_bytes = 8;
        break;
    case 12:
        in->pixel = 1;
        break;
    case 13:
        r.x->dtype = DT_I16;
        break;
    case 14: /* from where the slot begins */
        in->offset = 4;
        r.x->offset = -4;
        break;
    case 15:
        out->offset = 4;
        r.y->offset = -4;
        break;
    default:
        break;
    }
    program_link(&r.w.program);
    const bool same = unit_in_place(&r.check, out, in, 1);
    world_close(&r.w);
    return same;
}

static void rows_in_their_slots(void **state)
{
    (void)state;
    for (int change = 0; change < CHANGES_OF_SLOTS; change++)
        assert_int_equal(slot_in_place(change), !change);
}

/* ---- rows of nothing, and of other lengths ---- */

/* Images without columns: no row has a byte. */
static void rows_without_bytes(void **state)
{
    (void)state;
    World w;
    world_open(&w, 1);
    Tensor *x = add_image(&w, 4, 0, 1);
    Tensor *y = add_image(&w, 4, 0, 1);
    add_step(&w, &kernel_op, y, 1,
             &(In){ x, { .kind = ROWS_SAME }, REUSE_NONE }, 0);
    w.program.plan = (Plan){ .arena_size = 16, .place = -1 };
    w.program.lowered = 1;
    assert_null(object_to(&w, 0));
    world_close(&w);
    Rows4 r;
    open_rows(&r);
    r.step->operand[2].row_bytes = 0;
    assert_null(compare(&r, 1, false));
    world_close(&r.w);
}

/* Channel 0 of 4 rows of y is made, channel 1 of so many of them from the first on; a unit reads
 * three rows of half their length from there. */
static const char *half_rows(int32_t first, int32_t made)
{
    World w;
    const char *why = NULL;
    world_open(&w, 1);
    const In x = { add_input(&w, 4, 2, 1), { .kind = ROWS_SAME }, REUSE_NONE };
    Tensor *y = add_image(&w, 4, 2, 2);
    Tensor *z = add_image(&w, 6, 1, 1);
    for (int k = 0; k < 2; k++) {
        Step *step = add_step(&w, &kernel_op, y, 1, &x, 0);
        step->operand->part = 1;
        step->operand->offset = k ? 4 + 16 * first : 0;
        if (k)
            step->units = step->operand->rows = made;
    }
    Step *reader = add_step(&w, &kernel_op, z, 1,
                            &(In){ y, { .kind = ROWS_WINDOW }, REUSE_NONE }, 0);
    reader->operand[1].rule = window(1, 0, 3);
    reader->operand[1].rows = 8 - 2 * first;
    reader->operand[1].offset = 16 * first;
    reader->operand[1].row_bytes = 8;
    reader->units = reader->operand->rows = 1;
    make_output(&w, z);
    z->storage = STORE_ARENA;
    z->shape.dim[1] = 1;
    z->offset = 64;
    w.program.plan = (Plan){ .arena_size = 128, .place = -1 };
    w.program.lowered = 3;
    program_link(&w.program);
    plan_holds(&w.program, &why);
    world_close(&w);
    return why;
}

static void rows_of_another_length(void **state)
{
    (void)state;
    const char before[] = "is read before all its parts are made";
    assert_null(half_rows(0, 4));
    assert_null(half_rows(0, 2));
    assert_string_equal(half_rows(0, 1), before);
    assert_null(half_rows(1, 3));
    assert_null(half_rows(1, 2));
    assert_string_equal(half_rows(1, 1), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_compared),
        cmocka_unit_test(many_rows),
        cmocka_unit_test(units_that_read_all_rows),
        cmocka_unit_test(results_are_apart),
        cmocka_unit_test(one_tensor_twice),
        cmocka_unit_test(parts_are_apart),
        cmocka_unit_test(parts_of_what_is_read),
        cmocka_unit_test(rows_of_windows),
        cmocka_unit_test(rows_lie_inside),
        cmocka_unit_test(rows_that_units_need),
        cmocka_unit_test(elements_in_their_place),
        cmocka_unit_test(rows_in_their_slots),
        cmocka_unit_test(rows_without_bytes),
        cmocka_unit_test(rows_of_another_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
