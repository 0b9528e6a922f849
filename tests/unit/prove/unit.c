/* SPDX-License-Identifier: Apache-2.0
 * One unit of a step: what it makes must still be there when the next goes on with it, and pixel by
 * pixel it reads all that it would read row by row. */
#include "../plan/programs.h"

#include "prove/replay.h"

enum { ROWS = 4, ROW = 16 }; /* of two pixels of two int32 */

static Check begin(World *w)
{
    Check check = { .arena = &w->arena, .program = &w->program };
    w->program.plan = (Plan){ .arena_size = 1024, .place = -1 };
    program_link(&w->program);
    check.shadow.arena = check.arena;
    check.made = NEW_ARRAY(check.arena, int32_t, 2);
    check.alone = true;
    find_lanes(&check);
    return check;
}

static void fill(Check *check, const Operand *operand)
{
    for (int32_t i = 0; i < operand->rows; i++) {
        const Piece piece = piece_of(operand, i);
        shadow_write(&check->shadow, piece.begin, piece.end, piece.delta,
                     piece.tag);
    }
}

/* ---- results that take all units ---- */

/* Two rows, or one channel of two of them, that each unit of four sums on; something else is
 * written there behind so many units. Which unit is objected to; ROWS: none is. */
static int32_t objected(int64_t part, int32_t behind)
{
    World w;
    world_open(&w, 1);
    const In x = { add_input(&w, ROWS, 2, 2),
                   { .kind = ROWS_UNIT },
                   REUSE_NONE };
    Step *step = add_step(&w, &kernel_sum, add_image(&w, 2, 2, 2), 1, &x, 0);
    step->units = ROWS;
    step->accumulates = true;
    step->operand->part = part;
    Check check = begin(&w);
    int32_t unit = 0;
    while (unit < ROWS && check_unit(&check, step, unit))
        if (++unit == behind)
            shadow_write(&check.shadow, ROW, ROW + 4, 0, TAG_STATE);
    if (unit < ROWS)
        assert_string_equal(check.found.why, "is overwritten while it is made");
    world_close(&w);
    return unit;
}

static void sums_are_still_there(void **state)
{
    (void)state;
    for (int64_t part = 0; part < 2; part++) {
        assert_int_equal(objected(part, -1), ROWS);
        for (int32_t behind = 1; behind < ROWS; behind++)
            assert_int_equal(objected(part, behind), behind);
    }
}

/* ---- pixel by pixel ---- */

/* y, a pixel before x, of which it is made pixel by pixel, and of z, which is read as a whole. */
typedef struct Pixels {
    World w;
    Step *step;
    Operand *y, *x, *z;
} Pixels;

static void open_pixels(Pixels *p)
{
    World *w = &p->w;
    world_open(w, 1);
    const In in[] = {
        { add_image(w, ROWS, 2, 2), { .kind = ROWS_SAME }, REUSE_ROWS },
        { add_image(w, ROWS, 2, 2), { .kind = ROWS_SAME }, REUSE_ROWS },
    };
    Tensor *y = add_image(w, ROWS, 2, 2);
    p->step = add_step(w, &kernel_pixels, y, 2, in, 0);
    p->y = p->step->operand;
    p->x = p->y + 1;
    p->z = p->y + 2;
    p->x->pixels = (PixelRule){ .stride = 1, .extent = 1, .tile = 1 };
    p->x->tensor->offset = ROW / 2;
    p->z->tensor->offset = 256;
}

static void whole_rows_beside_pixels(void **state)
{
    (void)state;
    for (int filled = 0; filled < 2; filled++) {
        Pixels p;
        open_pixels(&p);
        Check check = begin(&p.w);
        fill(&check, p.x);
        if (filled)
            fill(&check, p.z);
        assert_true(goes_by_pixels(&check, p.step, 0));
        assert_true(check_unit(&check, p.step, 0) == filled);
        assert_true(filled || check.found.operand == p.z);
        world_close(&p.w);
    }
}

/* Units that are not there. */
static void no_such_units(void **state)
{
    (void)state;
    for (int32_t unit = -1; unit <= ROWS; unit++) {
        Pixels p;
        open_pixels(&p);
        Check check = begin(&p.w);
        fill(&check, p.x);
        fill(&check, p.z);
        const bool right = unit >= 0 && unit < ROWS;
        assert_true(check_unit(&check, p.step, unit) == right);
        assert_true(right || !strcmp(check.found.why, "has no such row"));
        assert_int_equal(check.found.row, 0);
        assert_int_equal(check.found.byte, 0);
        world_close(&p.w);
    }
}

static void go_by_no_pixels(void **state)
{
    (void)state;
    for (int change = 0; change < 8; change++) {
        Pixels p;
        open_pixels(&p);
        if (change == 1)
            p.step->n_out = 2;
        if (change == 2)
            p.y->tensor = NULL;
        if (change == 3)
            p.y->rows = 2;
        if (change == 4)
            p.y->offset = 4;
        if (change == 5)
            p.x->pixels.tile = 0;
        if (change == 6)
            p.x->part = 1;
        if (change == 7) { /* by a kernel that goes forward only */
            p.step->backward = true;
            p.x->reuse = p.z->reuse = REUSE_NONE;
        }
        const Check check = begin(&p.w);
        assert_true(goes_by_pixels(&check, p.step, 1) == !change);
        world_close(&p.w);
    }
}

static void pixels_are_whole(void **state)
{
    (void)state;
    const Tensor words = { .dtype = DT_I32 };
    const Tensor halves = { .dtype = DT_I4 };
    const struct {
        Operand operand;
        bool whole;
    } each[] = {
        { { .tensor = (Tensor *)&words, .row_bytes = 16, .pixel = 2 }, true },
        { { .tensor = (Tensor *)&words, .row_bytes = 16, .pixel = 4 }, true },
        { { .tensor = (Tensor *)&words, .row_bytes = 16, .pixel = 3 }, false },
        { { .tensor = (Tensor *)&words, .row_bytes = 16 }, false },
        { { .tensor = (Tensor *)&halves, .row_bytes = 16, .pixel = 1 }, false },
        { { .tensor = (Tensor *)&halves, .row_bytes = 16, .pixel = 2 }, true },
        { { .tensor = (Tensor *)&words,
            .row_bytes = 16,
            .pixel = 2,
            .part = 1 },
          false },
        { { .tensor = (Tensor *)&words,
            .row_bytes = 16,
            .pixel = 2,
            .offset = 8 },
          false },
    };
    for (size_t i = 0; i < sizeof each / sizeof *each; i++)
        assert_true(whole_pixels(&each[i].operand) == each[i].whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_still_there),
        cmocka_unit_test(whole_rows_beside_pixels),
        cmocka_unit_test(no_such_units),
        cmocka_unit_test(go_by_no_pixels),
        cmocka_unit_test(pixels_are_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
