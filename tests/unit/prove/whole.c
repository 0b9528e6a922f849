/* SPDX-License-Identifier: Apache-2.0
 * A step that is looked at at once: what is said of it is what its units, one by one, say. */
#include "../plan/programs.h"

#include "prove/replay.h"

enum {
    CASES = 20000,
    LEAST = CASES / 20,
    ROWS = 4,
    CHANNELS = 2,
    BYTES = 4 * ROWS * CHANNELS,
    SPACE = 24
};

static In random_in(World *w)
{
    static const Reuse reuse[] = { REUSE_NONE, REUSE_ROWS, REUSE_ELEMENTWISE };
    const RowRule rules[] = { { .kind = ROWS_SAME },
                              { .kind = ROWS_ALL },
                              window(1, 1, 3) };
    return (In){
        .tensor = add_image(w, ROWS, 1, CHANNELS),
        .rule = rules[rnd(w, 3)],
        .reuse = reuse[rnd(w, 3)],
    };
}

/* A step of one or two inputs; now and then one reads a part of its pixels only. */
static Tensor *make_result(World *w)
{
    const int n = 1 + (int)rnd(w, 2);
    const In in[] = { random_in(w), random_in(w) };
    Tensor *y = add_image(w, ROWS, 1, CHANNELS);
    Step *step = add_step(w, &kernel_op, y, n, in, rnd(w, 2));
    if (!rnd(w, 16))
        step->operand[1].part = 1;
    return y;
}

/* One step anywhere in an arena that may be too small. */
static void make_step(World *w, uint64_t seed)
{
    world_open(w, seed);
    const int64_t rows = rnd(w, 2) ? 1 : ROWS;
    Tensor *y =
        rnd(w, 8) ? make_result(w) : add_sum(w, add_image(w, rows, 1, 1));
    for (size_t i = 0; i < w->graph->tensor.n; i++)
        w->graph->tensor.at[i]->offset = 4 * (int64_t)rnd(w, SPACE);
    if (!rnd(w, 8))
        w->tensor[0]->storage = STORE_INPUT;
    if (rnd(w, 2))
        y->offset = w->tensor[0]->offset;
    w->program.plan =
        (Plan){ .arena_size = 4 * (int64_t)(SPACE - 2 + rnd(w, 2 * ROWS)),
                .place = -1 };
    w->program.lowered = 1;
    program_link(&w->program);
}

/* The replay as the step begins: its inputs are there, now and then less a row. */
static Check begin(World *w, int32_t missing)
{
    Check check = { .arena = &w->arena, .program = &w->program };
    Step *step = w->program.step.at[0];
    check.shadow.arena = check.arena;
    check.made = NEW_ARRAY(check.arena, int32_t, 2);
    check.step = step;
    find_lanes(&check);
    for (int k = 1; k < step->n_operand; k++)
        for (int32_t i = 0; i < step->operand[k].rows; i++) {
            const Piece piece = piece_of(step->operand + k, i);
            if (k != 1 || i != missing)
                shadow_write(&check.shadow, piece.begin, piece.end, piece.delta,
                             piece.tag);
        }
    return check;
}

static bool by_units(Check *check)
{
    const Step *step = check->program->step.at[0];
    if (!check_apart(check, step, 0, true, false))
        return false;
    for (int32_t u = 0; u < step->units; u++) {
        check->first = u;
        if (!check_unit(check, step, u))
            return false;
    }
    return true;
}

static void expect_equal(const Check *a, const Check *b)
{
    assert_int_equal(a->made[0], b->made[0]);
    assert_int_equal(a->shadow.span.n, b->shadow.span.n);
    for (size_t i = 0; i < a->shadow.span.n; i++) {
        const ShadowSpan *x = a->shadow.span.at + i;
        const ShadowSpan *y = b->shadow.span.at + i;
        assert_int_equal(x->begin, y->begin);
        assert_int_equal(x->end, y->end);
        assert_int_equal(x->delta, y->delta);
        assert_int_equal(x->tag, y->tag);
    }
}

static void at_once_is_by_units(void **state)
{
    (void)state;
    int holds = 0;
    int fails = 0;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        World w;
        make_step(&w, seed);
        const int32_t missing = (int32_t)rnd(&w, 4 * ROWS);
        Check once = begin(&w, missing);
        Check units = begin(&w, missing);
        const bool at_once = check_at_once(&once, w.program.step.at[0]);
        const bool each = by_units(&units);
        if (at_once) {
            assert_true(each);
            expect_equal(&once, &units);
        }
        holds += at_once;
        fails += !each;
        world_close(&w);
    }
    assert_true(holds > LEAST);
    assert_true(fails > LEAST);
}

/* Nothing is done where the units have to be looked at. */
static void else_nothing_is_done(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES / 10; seed++) {
        World w;
        make_step(&w, seed);
        Check once = begin(&w, 0);
        const Check before = begin(&w, 0);
        if (!check_at_once(&once, w.program.step.at[0]))
            expect_equal(&once, &before);
        assert_null(once.found.why);
        world_close(&w);
    }
}

/* What else is not as in the result. */
enum { NOTHING, OTHER_UNITS, OTHER_ROWS, OTHER_BYTES, OTHER_WIDTH };

/* A result beside its input, over its last element, or in its place. */
static const struct Case {
    int64_t x, y;
    Reuse reuse;
    RowKind rule;
    bool at_once;
    int change;
} CASES_OF_TWO[] = {
    { 0, BYTES, REUSE_NONE, ROWS_ALL, true, NOTHING },
    { BYTES, 0, REUSE_NONE, ROWS_ALL, true, NOTHING },
    { 0, BYTES - 4, REUSE_NONE, ROWS_ALL, false, NOTHING },
    { BYTES - 4, 0, REUSE_NONE, ROWS_ALL, false, NOTHING },
    { 0, 0, REUSE_ELEMENTWISE, ROWS_SAME, true, NOTHING },
    { 0, 0, REUSE_ELEMENTWISE, ROWS_ALL, false, NOTHING },
    { 0, 0, REUSE_NONE, ROWS_SAME, false, NOTHING },
    { 0, 0, REUSE_ELEMENTWISE, ROWS_SAME, false, OTHER_UNITS },
    { 0, 0, REUSE_ELEMENTWISE, ROWS_SAME, false, OTHER_ROWS },
    { 0, 0, REUSE_ELEMENTWISE, ROWS_SAME, false, OTHER_BYTES },
    { 0, 0, REUSE_ELEMENTWISE, ROWS_SAME, false, OTHER_WIDTH },
};

static void change_step(Step *step, int change)
{
    Operand *in = step->operand + 1;
    switch (change) {
    case OTHER_UNITS:
        step->units = 1;
        break;
    case OTHER_ROWS: /* what is compared goes no further than the first */
        in->rows = ROWS - 1;
        in->ring = ROWS;
        break;
    case OTHER_BYTES:
        in->row_bytes = 4;
        break;
    case OTHER_WIDTH:
        in->tensor->dtype = DT_I64;
        break;
    default:
        break;
    }
}

static bool at_once(const struct Case *c)
{
    World w;
    world_open(&w, 1);
    const In x = { add_image(&w, ROWS, 1, CHANNELS),
                   { .kind = c->rule },
                   c->reuse };
    Tensor *y = add_image(&w, ROWS, 1, CHANNELS);
    Step *step = add_step(&w, &kernel_op, y, 1, &x, 0);
    change_step(step, c->change);
    x.tensor->offset = c->x;
    y->offset = c->y;
    w.program.plan = (Plan){ .arena_size = BYTES * 2, .place = -1 };
    w.program.lowered = 1;
    program_link(&w.program);
    Check check = begin(&w, ROWS);
    const bool holds = check_at_once(&check, step);
    world_close(&w);
    return holds;
}

static void neighbours_are_apart(void **state)
{
    (void)state;
    const size_t n = sizeof CASES_OF_TWO / sizeof *CASES_OF_TWO;
    for (size_t i = 0; i < n; i++)
        assert_int_equal(at_once(CASES_OF_TWO + i), CASES_OF_TWO[i].at_once);
}

/* The second of two results lies beyond the arena, or not. */
static void second_results(void **state)
{
    (void)state;
    for (int beyond = 0; beyond < 2; beyond++) {
        World w;
        world_open(&w, 1);
        const In x = { add_image(&w, ROWS, 1, CHANNELS),
                       { .kind = ROWS_SAME },
                       REUSE_NONE };
        Tensor *y = add_image(&w, ROWS, 1, CHANNELS);
        Tensor *z = add_image(&w, ROWS, 1, CHANNELS);
        const In both[] = { { z, x.rule, REUSE_NONE }, x };
        Step *step = add_step(&w, &kernel_op, y, 2, both, 0);
        step->n_out = 2;
        step->operand[1].write = true;
        step->operand[1].read = false;
        y->offset = BYTES;
        z->offset = 2 * BYTES;
        w.program.plan =
            (Plan){ .arena_size = 3 * BYTES - 4 * beyond, .place = -1 };
        program_link(&w.program);
        Check check = begin(&w, 4 * ROWS);
        shadow_write(&check.shadow, z->offset, 3 * BYTES, 0, 0);
        assert_true(check_at_once(&check, step) == !beyond);
        assert_null(check.found.why);
        if (!beyond)
            assert_true(shadow_owns(&check.shadow, z->offset, 3 * BYTES,
                                    -z->offset, z->id));
        world_close(&w);
    }
}

/* Two rows that are no one piece are looked at one by one. */
static void parts_of_two_rows(void **state)
{
    (void)state;
    World w;
    world_open(&w, 1);
    const In x = { add_image(&w, 2, 1, CHANNELS),
                   { .kind = ROWS_SAME },
                   REUSE_NONE };
    Tensor *y = add_image(&w, 2, 1, CHANNELS);
    Step *step = add_step(&w, &kernel_op, y, 1, &x, 0);
    step->operand[1].part = 1;
    y->offset = BYTES;
    w.program.plan = (Plan){ .arena_size = 2 * BYTES, .place = -1 };
    program_link(&w.program);
    Check check = begin(&w, 1);
    assert_false(check_at_once(&check, step));
    world_close(&w);
}

/* Of more operands than pieces are looked at each. */
static void few_operands(void **state)
{
    (void)state;
    enum { MOST = 16 };
    for (int n = MOST; n <= MOST + 1; n++) {
        World w;
        world_open(&w, 1);
        const In x = { add_image(&w, ROWS, 1, CHANNELS),
                       { .kind = ROWS_SAME },
                       REUSE_NONE };
        Tensor *y = add_image(&w, ROWS, 1, CHANNELS);
        Step *step = add_step(&w, &kernel_op, y, 1, &x, 0);
        Operand *operand = NEW_ARRAY(&w.arena, Operand, MOST + 1);
        for (int k = 0; k < n; k++)
            operand[k] = step->operand[k > 0];
        step->operand = operand;
        step->n_operand = n;
        y->offset = BYTES;
        w.program.plan = (Plan){ .arena_size = BYTES * 2, .place = -1 };
        program_link(&w.program);
        Check check = begin(&w, MOST * ROWS);
        assert_true(check_at_once(&check, step) == (n == MOST));
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_once_is_by_units),
        cmocka_unit_test(else_nothing_is_done),
        cmocka_unit_test(neighbours_are_apart),
        cmocka_unit_test(second_results),
        cmocka_unit_test(parts_of_two_rows),
        cmocka_unit_test(few_operands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
