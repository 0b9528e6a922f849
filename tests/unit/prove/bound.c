/* SPDX-License-Identifier: Apache-2.0
 * The lower bound, counted by hand for programs of two or three steps, and over random programs:
 * never above the arena, and as near to it as it was. INLAY_CASES: random programs. */
#include "../plan/cases.h"
#include "bounds.h"

enum { CASES = 400 };

static int64_t chain_bound(const Chain *c, int64_t align)
{
    World w;
    make_chain(&w, c);
    const int64_t bound =
        bound_of(&w, &(PlanOptions){ .align = align, .level = PLAN_OVERLAP });
    world_close(&w);
    return bound;
}

/* An image of c channels takes 48 c bytes. */
static void chains(void **state)
{
    (void)state;
    static const struct {
        Chain chain;
        int64_t align, bound;
    } known[] = {
#define ALL { .kind = ROWS_ALL }
#define SAME \
    { \
        .kind = ROWS_SAME \
    }
        { { REUSE_NONE, ALL, { 5 }, 0 }, 16, 0 },
        { { REUSE_NONE, ALL, { 5, 1 }, 0 }, 16, 240 },
        { { REUSE_NONE, ALL, { 5, 1 }, 0 }, 64, 256 },
        { { REUSE_NONE, ALL, { 5, 3, 1 }, 0 }, 16, 240 + 144 },
        { { REUSE_NONE, ALL, { 5, 3, 1 }, 0 }, 64, 256 + 192 },
        { { REUSE_NONE, ALL, { 3, 5, 7, 1 }, 0 }, 16, 240 + 336 },
        { { REUSE_NONE, ALL, { 7, 5, 3, 1 }, 0 }, 16, 336 + 240 },
        { { REUSE_ELEMENTWISE, SAME, { 5, 5, 1 }, 0 }, 16, 240 },
        { { REUSE_ELEMENTWISE, SAME, { 5, 5, 5, 1 }, 0 }, 64, 256 },
        /* row by row: 60 bytes go when their row of the result has come */
        { { REUSE_ROWS, SAME, { 5, 5, 1 }, 0 }, 4, 240 + 60 },
        { { REUSE_ROWS, SAME, { 5, 3, 1 }, 0 }, 4, 240 + 36 },
        { { REUSE_ROWS, SAME, { 3, 5, 1 }, 0 }, 4, 240 + 36 },
        { { REUSE_NONE, ALL, { 5, 1 }, 10 }, 16, 240 + 48 },
        { { REUSE_NONE, ALL, { 5 }, 10 }, 16, 48 },
        { { REUSE_NONE, ALL, { 5, 3, 1 }, 10 }, 64, 256 + 192 + 64 },
        { { REUSE_ELEMENTWISE, SAME, { 5, 5, 1 }, 10 }, 16, 240 + 48 },
#undef ALL
#undef SAME
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const int64_t bound = chain_bound(&known[i].chain, known[i].align);
        if (bound != known[i].bound)
            fail_msg("chain %d: %d, not %d", (int)i, (int)bound,
                     (int)known[i].bound);
    }
}

/* A window of three rows over 9 rows of 24 bytes gives rows of 24 bytes: with padding the second
 * row is made before the first row of the image goes, else a row goes with each. As a stream: three
 * rows of the image, one of the result, and two bytes of state for each of three steps. */
static void windows(void **state)
{
    (void)state;
    static const struct {
        int32_t stride, pad;
        int64_t bound;
    } known[] = { { 1, 1, 9 * 24 + 48 },
                  { 2, 1, 9 * 24 + 24 },
                  { 1, 0, 9 * 24 + 24 } };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        World w;
        world_open(&w, 1);
        Tensor *input = add_input(&w, 9, 3, 1), *x = add_image(&w, 9, 3, 2);
        add_step(&w, &kernel_op, x, 1,
                 &(In){ input, { .kind = ROWS_SAME }, REUSE_NONE }, 0);
        add_sum(&w, add_window(&w, x, known[i].stride, known[i].pad, 3, 3, 2));
        finish(&w);
        const PlanOptions rows = { .align = 8, .level = PLAN_OVERLAP };
        const PlanOptions stream = { .align = 8, .level = PLAN_STREAM };
        assert_int_equal(bound_of(&w, &rows), known[i].bound);
        assert_int_equal(bound_of(&w, &stream), 3 * 24 + 24 + 8);
        world_close(&w);
    }
}

/* Images of 48 (the input), 144, 240 and 336 bytes (the result). */
static int64_t arena_chain(bool result, bool preserve)
{
    World w;
    make_chain(&w,
               &(Chain){ REUSE_NONE, { .kind = ROWS_ALL }, { 3, 5, 7 }, 0 });
    w.graph->input.at[0]->storage = STORE_ARENA;
    if (result)
        w.graph->output.at[0]->storage = STORE_ARENA;
    const int64_t bound =
        bound_of(&w, &(PlanOptions){ .align = 16,
                                     .level = PLAN_OVERLAP,
                                     .preserve_input = preserve });
    world_close(&w);
    return bound;
}

static void inputs_and_results_in_the_arena(void **state)
{
    (void)state;
    assert_int_equal(arena_chain(false, false), 144 + 240);
    assert_int_equal(arena_chain(false, true), 48 + 144 + 240);
    assert_int_equal(arena_chain(true, false), 240 + 336);
    assert_int_equal(arena_chain(true, true), 48 + 240 + 336);
}

/* Four rows of the image x, from the given one on, each made into a row of 12 bytes. */
static Tensor *add_half(World *w, Tensor *x, int32_t from, Reuse reuse)
{
    Tensor *y = add_image(w, 4, 3, 1);
    const In in = { x, { .kind = ROWS_SAME }, reuse };
    Step *step = add_step(w, &kernel_op, y, 1, &in, 0);
    Operand *half = step->operand + 1;
    half->offset = from * half->row_bytes;
    half->rows = 4;
    return y;
}

/* The first half of an input of 96 bytes is needed no more where the second is read last: what is
 * made of that lies over it, also where the second half must stay as a whole. */
static void last_reader_of_a_half(void **state)
{
    (void)state;
    static const Reuse reuses[] = { REUSE_ROWS, REUSE_NONE };
    for (int i = 0; i < 2; i++) {
        World w;
        world_open(&w, 1);
        Tensor *x = add_input(&w, 8, 3, 1);
        x->storage = STORE_ARENA;
        make_output(&w, add_half(&w, x, 0, reuses[i]));
        add_sum(&w, add_half(&w, x, 4, reuses[i]));
        finish(&w);
        const PlanOptions opt = { .align = 4, .level = PLAN_OVERLAP };
        assert_int_equal(bound_of(&w, &opt), 96);
        if (reuses[i] == REUSE_ROWS)
            assert_int_equal(w.program.plan.arena_size, 96);
        world_close(&w);
    }
}

/* A model that hands its input on, and an image without columns. */
static void nothing_takes_nothing(void **state)
{
    (void)state;
    World w;
    const RowRule all = { .kind = ROWS_ALL };
    const PlanOptions opt = { .align = 4, .level = PLAN_OVERLAP };
    world_open(&w, 1);
    Tensor *x = add_input(&w, 4, 3, 1);
    x->storage = STORE_ARENA;
    w.program.plan.arena_align = 4;
    assert_int_equal(plan_lower_bound(&w.program), 0);
    Tensor *a = add_image(&w, 4, 0, 1), *y = add_image(&w, 4, 3, 1);
    add_step(&w, &kernel_op, a, 1, &(In){ x, all, REUSE_NONE }, 0);
    add_step(&w, &kernel_op, y, 1, &(In){ a, all, REUSE_NONE }, 0);
    make_output(&w, y);
    assert_int_equal(bound_of(&w, &opt), 48);
    world_close(&w);
}

/* Steps without operands, as some that only go on elsewhere. */
static void steps_that_touch_nothing(void **state)
{
    (void)state;
    World w;
    make_chain(&w,
               &(Chain){ REUSE_NONE, { .kind = ROWS_ALL }, { 5, 3, 1 }, 0 });
    w.program.plan.arena_align = 16;
    w.program.step.at[1]->n_operand = 0;
    assert_int_equal(plan_lower_bound(&w.program), 240);
    world_close(&w);
}

/* Results that nobody reads come row by row, as those that are read. */
static void results_that_nobody_reads(void **state)
{
    (void)state;
    World w;
    world_open(&w, 1);
    Tensor *x = add_input(&w, 4, 3, 1), *y = add_image(&w, 4, 3, 1);
    x->storage = STORE_ARENA;
    add_step(&w, &kernel_op, y, 1,
             &(In){ x, { .kind = ROWS_SAME }, REUSE_ROWS }, 0);
    w.program.plan.arena_align = 4;
    assert_int_equal(plan_lower_bound(&w.program), 48 + 12);
    world_close(&w);
}

/* Each unit reads a row and the one before it: from the last row on the first unit is done with
 * one, from the first on only the second. */
static void steps_that_turn(void **state)
{
    (void)state;
    static const int64_t known[][2] = { { REUSE_ROWS, 48 + 12 },
                                        { REUSE_NONE, 48 + 48 } };
    for (int i = 0; i < 2; i++) {
        World w;
        world_open(&w, 1);
        Tensor *x = add_input(&w, 4, 3, 1), *y = add_image(&w, 4, 3, 1);
        x->storage = STORE_ARENA;
        add_step(&w, &kernel_op, y, 1,
                 &(In){ x, window(1, 1, 2), (Reuse)known[i][0] }, 0);
        w.program.plan.arena_align = 4;
        assert_int_equal(plan_lower_bound(&w.program), known[i][1]);
        world_close(&w);
    }
}

/* Two operands on one image, of which the first half stands for both: its rows go one by one,
 * though each unit reads all of the other half. */
static void readers_of_two_halves(void **state)
{
    (void)state;
    World w;
    world_open(&w, 1);
    Tensor *x = add_input(&w, 8, 3, 1), *y = add_image(&w, 4, 3, 1);
    const In in[] = { { x, { .kind = ROWS_SAME }, REUSE_ROWS },
                      { x, { .kind = ROWS_ALL }, REUSE_ROWS } };
    Operand *half = add_step(&w, &kernel_op, y, 2, in, 0)->operand;
    half[1].rows = half[2].rows = 4;
    half[2].offset = 48;
    x->storage = STORE_ARENA;
    add_sum(&w, y);
    finish(&w);
    w.program.plan.arena_align = 4;
    assert_int_equal(plan_lower_bound(&w.program), 48 + 12);
    world_close(&w);
}

/* Of three operands on one image the last reads the most, all of it in each unit: it stands for
 * them. */
static void the_widest_reader_stands_for_all(void **state)
{
    (void)state;
    World w;
    world_open(&w, 1);
    Tensor *x = add_input(&w, 8, 3, 1), *y = add_image(&w, 4, 3, 1);
    const In half = { x, { .kind = ROWS_SAME }, REUSE_ROWS };
    const In in[] = { half, half, { x, { .kind = ROWS_ALL }, REUSE_ROWS } };
    Operand *operand = add_step(&w, &kernel_op, y, 3, in, 0)->operand;
    operand[1].rows = operand[2].rows = 4;
    operand[3].rows = 6;
    x->storage = STORE_ARENA;
    w.program.plan.arena_align = 4;
    assert_int_equal(plan_lower_bound(&w.program), 72 + 48);
    world_close(&w);
}

/* The first step makes some channels of two of four rows of 24 bytes, beside scratch of 200. */
static int64_t piece_bound(int64_t part, int32_t units, bool sums, bool reads)
{
    World w;
    const RowRule all = { .kind = ROWS_ALL };
    world_open(&w, 1);
    Tensor *x = add_input(&w, 4, 3, 1), *y = add_image(&w, 4, 3, 2);
    const In in = { reads ? y : x, all, REUSE_NONE };
    Step *step = add_step(&w, &kernel_op, y, 1, &in, 50);
    step->operand->part = part;
    step->operand->rows = units ? 2 : 0;
    step->units = units;
    step->accumulates = sums;
    add_step(&w, &kernel_op, y, 1, &(In){ x, all, REUSE_NONE }, 0);
    add_sum(&w, y);
    finish(&w);
    w.program.plan.arena_align = 4;
    const int64_t bound = plan_lower_bound(&w.program);
    world_close(&w);
    return bound;
}

static void pieces(void **state)
{
    (void)state;
    assert_int_equal(piece_bound(1, 2, false, false), 200 + 24);
    assert_int_equal(piece_bound(0, 2, false, false), 200 + 48);
    assert_int_equal(piece_bound(1, 1, false, false), 200 + 24);
    assert_int_equal(piece_bound(1, 2, true, false), 200 + 24);
    assert_int_equal(piece_bound(0, 2, true, false), 200 + 48);
    assert_int_equal(piece_bound(1, 2, false, true), 200 + 24);
    assert_int_equal(piece_bound(0, 0, false, false), 200);
}

/* An image of 48 bytes of which its last reader reads no row is there until that has made a row. */
static int64_t unread_bound(int32_t units)
{
    World w;
    const RowRule all = { .kind = ROWS_ALL };
    world_open(&w, 1);
    Tensor *x = add_input(&w, 4, 3, 1), *a = add_image(&w, 4, 3, 1);
    Tensor *b = add_image(&w, 4, 3, 1), *y = add_image(&w, 4, 3, 1);
    add_step(&w, &kernel_op, a, 1, &(In){ x, all, REUSE_NONE }, 0);
    Step *step = add_step(&w, &kernel_op, b, 1, &(In){ a, all, REUSE_ROWS }, 0);
    step->operand[1].rows = 0;
    step->units = units;
    add_step(&w, &kernel_op, y, 1, &(In){ b, all, REUSE_NONE }, 0);
    make_output(&w, y);
    w.program.plan.arena_align = 4;
    const int64_t bound = plan_lower_bound(&w.program);
    world_close(&w);
    return bound;
}

static void readers_of_no_row(void **state)
{
    (void)state;
    assert_int_equal(unread_bound(4), 48 + 12);
    assert_int_equal(unread_bound(0), 48);
}

/* Rows of 60 bytes in pixels of 20, made of rows like them pixel by pixel, and read by a second
 * operand too. */
static int64_t pixels_bound(Reuse reuse, bool twice, Reuse second)
{
    World w;
    const RowRule same = { .kind = ROWS_SAME };
    world_open(&w, 1);
    Tensor *x = add_input(&w, 4, 3, 1), *a = add_image(&w, 4, 3, 5);
    Tensor *y = add_image(&w, 4, 3, 5);
    const In in[] = { { a, same, reuse }, { a, same, second } };
    add_step(&w, &kernel_op, a, 1, &(In){ x, same, REUSE_NONE }, 0);
    Step *step = add_step(&w, &kernel_pixels, y, 1 + twice, in, 0);
    step->operand[1].pixels =
        (PixelRule){ .stride = 1, .extent = 1, .tile = 1 };
    add_sum(&w, y);
    finish(&w);
    const PlanOptions opt = { .align = 4, .level = PLAN_OVERLAP };
    const int64_t bound = bound_of(&w, &opt);
    world_close(&w);
    return bound;
}

/* The same, with an operand in front of it that does not die. */
static int64_t pixels_behind(void)
{
    World w;
    const RowRule same = { .kind = ROWS_SAME };
    world_open(&w, 1);
    Tensor *x = add_input(&w, 4, 3, 1), *a = add_image(&w, 4, 3, 5);
    Tensor *y = add_image(&w, 4, 3, 5);
    const In in[] = { { x, same, REUSE_ROWS }, { a, same, REUSE_ROWS } };
    add_step(&w, &kernel_op, a, 1, &(In){ x, same, REUSE_NONE }, 0);
    Step *step = add_step(&w, &kernel_pixels, y, 2, in, 0);
    step->operand[2].pixels =
        (PixelRule){ .stride = 1, .extent = 1, .tile = 1 };
    add_step(&w, &kernel_op, add_image(&w, 4, 3, 1), 1,
             &(In){ y, same, REUSE_NONE }, 0);
    finish(&w);
    w.program.plan.arena_align = 4;
    const int64_t bound = plan_lower_bound(&w.program);
    world_close(&w);
    return bound;
}

static void pixels_that_others_read(void **state)
{
    (void)state;
    assert_int_equal(pixels_behind(), 240 + 20);
    assert_int_equal(pixels_bound(REUSE_ROWS, false, REUSE_NONE), 240 + 20);
    assert_int_equal(pixels_bound(REUSE_ROWS, true, REUSE_ROWS), 240 + 60);
    assert_int_equal(pixels_bound(REUSE_NONE, false, REUSE_NONE), 240 + 240);
    assert_int_equal(pixels_bound(REUSE_ROWS, true, REUSE_NONE), 240 + 240);
}

/* ---- streams ---- */

/* Halves of 24 bytes of y are all of it: with the last of them alignment counts too, beside z,
 * which comes in rows of 4 bytes, and the counters. */
static void halves_in_a_stream(void **state)
{
    (void)state;
    static const uint8_t list[] = { 0, 0, 1, 1, 2, 2, 2, 2 };
    World w;
    const RowRule same = { .kind = ROWS_SAME };
    world_open(&w, 1);
    Tensor *x = add_input(&w, 4, 3, 1), *y = add_image(&w, 4, 3, 1);
    Tensor *z = add_image(&w, 4, 1, 1);
    for (int k = 0; k < 2; k++) {
        Step *step =
            add_step(&w, &kernel_op, y, 1, &(In){ x, same, REUSE_NONE }, 0);
        step->operand->rows = step->units = 2;
        step->operand->offset = 24 * k;
    }
    add_step(&w, &kernel_op, z, 1, &(In){ x, same, REUSE_NONE }, 0);
    add_sum(&w, y);
    add_sum(&w, z);
    finish(&w);
    assert_int_equal(stream_bound(&w, 0, list, 8, 64), 64 + 128);
    world_close(&w);
}

enum { LEVELS = PLAN_STREAM - PLAN_SIMPLE + 1 };

typedef struct Tight {
    int64_t gap[LEVELS]; /* bytes of arena above the bound, of all programs */
    int count[LEVELS];   /* programs without a gap */
} Tight;

static void try_levels(World *w, uint64_t seed, Tight *t)
{
    for (int level = 0; level < LEVELS; level++) {
        const PlanOptions opt = { .align = 4 << seed % 4,
                                  .level = (PlanLevel)(PLAN_SIMPLE + level),
                                  .preserve_input = seed % 2 };
        const int64_t gap = -bound_of(w, &opt) + w->program.plan.arena_size;
        t->gap[level] += gap;
        t->count[level] += !gap;
    }
}

/* A bound that counts too little opens the gaps; one that counts too much is above an arena. */
static void random_programs(void **state)
{
    (void)state;
    static const int64_t most_gap[LEVELS] = { 383228, 342688, 41660, 306808 };
    static const int least_count[LEVELS] = { 14, 65, 235, 144 };
    Tight t = { .gap = { 0 } };
    for (uint64_t seed = 1; seed <= (uint64_t)cases(CASES); seed++) {
        World w;
        random_program(&w, seed, 2 + (int)(seed % 14));
        place_apart(&w);
        if (seed % 4 == 1)
            push_input(&w, seed / 4 % w.graph->input.n);
        if (seed % 3 == 0)
            move_in(&w);
        try_levels(&w, seed, &t);
        world_close(&w);
    }
    for (int k = 0; k < LEVELS; k++) {
        assert_true(cases(CASES) != CASES || t.gap[k] <= most_gap[k]);
        assert_true(cases(CASES) != CASES || t.count[k] >= least_count[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains),
        cmocka_unit_test(windows),
        cmocka_unit_test(inputs_and_results_in_the_arena),
        cmocka_unit_test(last_reader_of_a_half),
        cmocka_unit_test(nothing_takes_nothing),
        cmocka_unit_test(steps_that_touch_nothing),
        cmocka_unit_test(results_that_nobody_reads),
        cmocka_unit_test(steps_that_turn),
        cmocka_unit_test(readers_of_two_halves),
        cmocka_unit_test(the_widest_reader_stands_for_all),
        cmocka_unit_test(pieces),
        cmocka_unit_test(readers_of_no_row),
        cmocka_unit_test(pixels_that_others_read),
        cmocka_unit_test(halves_in_a_stream),
        cmocka_unit_test(random_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
