/* SPDX-License-Identifier: Apache-2.0
 * A run ends with all of each result: steps that make it in blocks make all of its bytes. */
#include "../plan/programs.h"

#include "prove/replay.h"

enum { ROWS = 4, HALF = ROWS / 2 };

/* A step that makes half of the rows of y, from row `at` on. */
static void make_half(World *w, const In *x, Tensor *y, int32_t at)
{
    Step *s = add_step(w, &kernel_op, y, 1, x, 0);
    Operand *half = s->operand;
    half->rows = HALF;
    half->offset = at * half->row_bytes;
    s->units = HALF;
}

/* What prevents a run that makes half of the result twice, from these rows on. */
static const char *object_to(int storage, int32_t first, int32_t second)
{
    World w;
    const char *why = NULL;
    world_open(&w, 1);
    const In x = { add_input(&w, HALF, 1, 1), { .kind = ROWS_SAME }, 0 };
    Tensor *y = add_image(&w, ROWS, 1, 1);
    make_output(&w, y);
    y->storage = storage;
    make_half(&w, &x, y, first);
    make_half(&w, &x, y, second);
    w.program.plan = (Plan){ .arena_size = 64, .place = -1 };
    w.program.lowered = 2;
    program_link(&w.program);
    plan_holds(&w.program, &why);
    world_close(&w);
    return why;
}

static void all_of_a_result_is_made(void **state)
{
    (void)state;
    static const int storage[] = { STORE_OUTPUT, STORE_ARENA };
    for (int i = 0; i < 2; i++) {
        assert_null(object_to(storage[i], 0, HALF));
        assert_null(object_to(storage[i], HALF, 0));
        for (int32_t at = 0; at < HALF; at++)
            assert_string_equal(
                object_to(storage[i], at, 0),
                "a result is not there, or not all of it, at the end");
    }
}

/* An input in the arena, which its step overwrites, is a state, or to be preserved. */
static const char *object_to_input(bool state, bool preserve)
{
    World w;
    const char *why = NULL;
    world_open(&w, 1);
    Tensor *x = add_input(&w, ROWS, 1, 1);
    Tensor *y = add_image(&w, ROWS, 1, 1);
    add_step(&w, &kernel_op, y, 1,
             &(In){ x, { .kind = ROWS_SAME }, REUSE_ELEMENTWISE }, 0);
    x->storage = STORE_ARENA;
    x->state = state;
    w.program.plan =
        (Plan){ .arena_size = 16, .place = -1, .preserve_input = preserve };
    w.program.lowered = 1;
    program_link(&w.program);
    plan_holds(&w.program, &why);
    world_close(&w);
    return why;
}

static void inputs_are_preserved(void **state)
{
    (void)state;
    assert_null(object_to_input(false, false));
    assert_null(object_to_input(true, false));
    assert_null(object_to_input(true, true));
    assert_string_equal(
        object_to_input(false, true),
        "an input that was to be preserved is not there at the end");
}

/* Two inputs in the arena, of which the first is overwritten, or the second. */
static void each_input_is_preserved(void **state)
{
    (void)state;
    for (int over = 0; over < 2; over++) {
        World w;
        world_open(&w, 1);
        Tensor *x[] = { add_input(&w, ROWS, 1, 1), add_input(&w, ROWS, 1, 1) };
        Tensor *y = add_image(&w, ROWS, 1, 1);
        add_step(&w, &kernel_op, y, 1,
                 &(In){ x[over], { .kind = ROWS_SAME }, REUSE_ELEMENTWISE }, 0);
        x[0]->storage = x[1]->storage = STORE_ARENA;
        x[1]->offset = 16;
        y->offset = 16 * over;
        w.program.plan =
            (Plan){ .arena_size = 32, .place = -1, .preserve_input = true };
        program_link(&w.program);
        assert_string_equal(
            plan_object(&w.program).why,
            "an input that was to be preserved is not there at the end");
        w.program.plan.preserve_input = false;
        assert_null(plan_object(&w.program).why);
        world_close(&w);
    }
}

/* A result of 2 channels of which one step makes the left one, another the right one, but for the
 * first row; or the other way round. */
static void all_parts_of_a_result_are_made(void **state)
{
    (void)state;
    for (int missing = 0; missing < 3; missing++) {
        World w;
        world_open(&w, 1);
        const In x = { add_input(&w, ROWS, 1, 1), { .kind = ROWS_SAME }, 0 };
        Tensor *y = add_image(&w, ROWS, 1, 2);
        make_output(&w, y);
        y->storage = STORE_ARENA;
        for (int k = 0; k < 2; k++) {
            Step *step = add_step(&w, &kernel_op, y, 1, &x, 0);
            Operand *part = step->operand;
            const bool cut = k == missing;
            part->part = 1;
            part->offset = 4 * k + (cut ? part->row_bytes : 0);
            part->rows = step->units = ROWS - cut;
        }
        w.program.plan = (Plan){ .arena_size = 32, .place = -1 };
        program_link(&w.program);
        const char *why = plan_object(&w.program).why;
        if (missing == 2)
            assert_null(why);
        else
            assert_string_equal(
                why, "a result is not there, or not all of it, at the end");
        world_close(&w);
    }
}

/* Inputs have all their channels, whoever reads only some. */
static void parts_of_inputs(void **state)
{
    (void)state;
    World w;
    world_open(&w, 1);
    Tensor *x = add_input(&w, ROWS, 1, 2), *y = add_image(&w, ROWS, 1, 1);
    for (int k = 0; k < 2; k++) {
        const In in = { x, { .kind = ROWS_SAME }, 0 };
        Step *step = add_step(&w, &kernel_op, y, 1, &in, 0);
        step->operand[1].part = 1;
        step->operand[1].offset = 4 * k;
    }
    x->storage = STORE_ARENA;
    y->storage = STORE_OUTPUT;
    w.program.plan = (Plan){ .arena_size = 32, .place = -1 };
    program_link(&w.program);
    assert_null(plan_object(&w.program).why);
    world_close(&w);
}

/* ---- what a step that runs as a whole may do ---- */

typedef struct Pair {
    World w;
    Tensor *x,
        *y; /* in the arena, 64 bytes each: an input, and what is made of it */
    Step *step;
} Pair;

static void open_pair(Pair *pair, Reuse reuse, int64_t y_at)
{
    World *w = &pair->w;
    const RowRule same = { .kind = ROWS_SAME };
    world_open(w, 1);
    pair->x = add_input(w, ROWS, 2, 2);
    pair->y = add_image(w, ROWS, 2, 2);
    pair->step =
        add_step(w, &kernel_op, pair->y, 1, &(In){ pair->x, same, reuse }, 0);
    pair->x->storage = STORE_ARENA;
    pair->x->offset = 16;
    pair->y->offset = y_at;
    w->program.plan = (Plan){ .arena_size = 160, .state = 144, .place = -1 };
}

static Objection object_to_pair(Pair *pair)
{
    program_link(&pair->w.program);
    return plan_object(&pair->w.program);
}

static void steps_that_run_as_a_whole(void **state)
{
    (void)state;
    Pair pair;
    open_pair(&pair, REUSE_NONE, 80);
    assert_null(object_to_pair(&pair).why);
    pair.step->backward = true;
    assert_string_equal(object_to_pair(&pair).why,
                        "is made by a kernel that cannot go backward");
    pair.step->operand[1].reuse = REUSE_ROWS;
    assert_null(object_to_pair(&pair).why);
    pair.step->operand[1].reuse = REUSE_NONE;
    pair.step->units = 2;
    assert_string_equal(object_to_pair(&pair).why,
                        "is made by a kernel that cannot go backward");
    pair.step->units = 1;
    assert_null(object_to_pair(&pair).why);
    pair.step->backward = false;
    pair.step->units = ROWS;
    for (int k = 0; k < 2; k++) {
        pair.step->operand[k].ring = 2;
        const Objection found = object_to_pair(&pair);
        assert_string_equal(found.why,
                            "is a ring for a step that runs as a whole");
        assert_ptr_equal(found.operand, pair.step->operand + k);
        pair.step->operand[k].ring = 0;
    }
    world_close(&pair.w);
}

/* ---- lists ---- */

static const uint8_t zeros[] = { 0, 0, 0, 0 };

/* Rows of y lie over the rows of x before them, which are needed until the call is over: the first
 * row of x that is overwritten too early; -1: none. */
static int early_row(const Segment *segment, Reuse reuse, const RowSlots *slots,
                     int64_t y_at)
{
    Pair pair;
    open_pair(&pair, reuse, y_at);
    for (int k = 0; k < 2; k++)
        pair.step->operand[k].slots = slots;
    VEC_PUSH(&pair.w.arena, &pair.w.program.plan.segment, *segment);
    const Objection found = object_to_pair(&pair);
    if (found.why)
        assert_string_equal(found.why,
                            "is overwritten by the step that needs it");
    world_close(&pair.w);
    return found.why ? found.row : -1;
}

static const struct {
    Segment segment;
    int early;  /* row of x over which a later unit of its call writes */
    int shared; /* row of the first call of several */
} calls[] = {
    { { 0, 1, 4, 0, 0, 0, zeros }, 0, 0 },
    { { 0, 1, 0, 1, 4, 0, zeros }, -1, -1 },
    { { 0, 1, 0, 2, 2, 0, zeros }, 0, 0 },
    { { 0, 1, 0, 4, 1, 0, zeros }, 0, 0 },
    { { 0, 1, 1, 1, 2, 1, zeros }, -1, -1 },
    { { 0, 1, 1, 1, 1, 2, zeros }, 2, 2 },
    { { 0, 1, 1, 2, 1, 1, zeros }, 1, 1 },
    { { 0, 1, 2, 1, 2, 0, zeros }, 0, 0 },
    { { 0, 1, 1, 3, 1, 0, zeros }, 1, 1 },
    { { 0, 1, 1, 0, 0, 3, zeros }, 1, 1 },
    { { 0, 1, 0, 1, 3, 1, zeros }, -1, -1 },
    { { 0, 1, 0, 1, 2, 2, zeros }, 2, 2 },
};

/* A call ends where another step follows, and where the runtime begins its list anew. */
static void calls_of_lists(void **state)
{
    (void)state;
    static const uint16_t in_turn[] = { 0, 1, 2, 3 };
    static const RowSlots slots = {
        .rows = ROWS, .unit = 16, .pool = 64, .slot = in_turn
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const Segment *s = &calls[i].segment;
        assert_int_equal(early_row(s, REUSE_NONE, NULL, 0), calls[i].early);
        assert_int_equal(early_row(s, REUSE_ROWS, NULL, 0), -1);
        assert_int_equal(early_row(s, REUSE_ELEMENTWISE, &slots, 16),
                         calls[i].shared);
    }
}

/* Entry e of a list whose middle part runs so often. */
static void entries_of_lists(void **state)
{
    (void)state;
    static const uint8_t list[] = { 7, 1, 2, 9, 8 };
    static const struct {
        int32_t repeats, entries;
        uint8_t want[9];
    } each[] = {
        { 0, 3, { 7, 9, 8 } },
        { 1, 5, { 7, 1, 2, 9, 8 } },
        { 3, 9, { 7, 1, 2, 1, 2, 1, 2, 9, 8 } },
    };
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        const Segment segment = { 0, 9, 1, 2, each[i].repeats, 2, list };
        for (int32_t e = 0; e < each[i].entries; e++)
            assert_int_equal(segment_entry(&segment, e), each[i].want[e]);
    }
}

/* Slots of rings, and of rows that are not aligned; a step beyond the segment. */
static void what_lists_may_not_name(void **state)
{
    (void)state;
    static const uint16_t in_turn[] = { 0, 1, 2, 3 };
    RowSlots slots = { .rows = ROWS, .unit = 16, .pool = 64, .slot = in_turn };
    Segment segment = { .count = 1, .prologue = ROWS, .list = zeros };
    Pair pair;
    open_pair(&pair, REUSE_ROWS, 80);
    Plan *plan = &pair.w.program.plan;
    VEC_PUSH(&pair.w.arena, &plan->segment, segment);
    pair.step->operand->slots = &slots;
    assert_null(object_to_pair(&pair).why);
    pair.step->operand->ring = 2;
    assert_string_equal(object_to_pair(&pair).why, "is a ring and has slots");
    pair.step->operand->ring = 0;
    slots.unit = 14;
    assert_string_equal(object_to_pair(&pair).why,
                        "has rows that are not aligned");
    pair.step->operand->slots = NULL;
    add_step(&pair.w, &kernel_op, pair.y, 1,
             &(In){ pair.x, { .kind = ROWS_SAME }, REUSE_ROWS }, 0);
    plan->segment.at[0].list = (const uint8_t[]){ 0, 0, 0, 1 };
    VEC_PUSH(&pair.w.arena, &plan->segment,
             ((Segment){ .first = 1, .count = 1 }));
    assert_string_equal(object_to_pair(&pair).why,
                        "a list names a step beyond its segment");
    world_close(&pair.w);
}

/* ---- the schedule, and the place of a run ---- */

/* Two steps in these segments. */
static const char *object_to_segments(const Segment *segment, size_t n)
{
    Pair pair;
    open_pair(&pair, REUSE_NONE, 80);
    add_step(&pair.w, &kernel_op, pair.y, 1,
             &(In){ pair.x, { .kind = ROWS_SAME }, REUSE_NONE }, 0);
    for (size_t i = 0; i < n; i++)
        VEC_PUSH(&pair.w.arena, &pair.w.program.plan.segment, segment[i]);
    const char *why = object_to_pair(&pair).why;
    world_close(&pair.w);
    return why;
}

static void segments_are_all_steps(void **state)
{
    (void)state;
    static const char out[] = "segments leave steps out";
    static const char none[] = "segments name steps that do not exist";
    const Segment behind[] = { { .first = 1, .count = 2 } };
    const Segment empty[] = { { .count = 0 }, { .count = 2 } };
    const Segment beyond[] = { { .count = 1 }, { .first = 1, .count = 2 } };
    const Segment less[] = { { .count = 1 }, { .first = 1, .count = 0 } };
    assert_string_equal(object_to_segments(behind, 1), out);
    assert_null(object_to_segments(empty, 2));
    assert_string_equal(object_to_segments(beyond, 2), none);
    assert_string_equal(object_to_segments(less, 2), out);
}

/* At the end of the first region, and a byte beyond it. */
static void the_place_lies_in_the_first_region(void **state)
{
    (void)state;
    Pair pair;
    open_pair(&pair, REUSE_NONE, 80);
    Plan *plan = &pair.w.program.plan;
    plan->place_bytes = PLACE_BYTES;
    plan->place = 152;
    assert_null(object_to_pair(&pair).why);
    plan->place = 153;
    assert_string_equal(object_to_pair(&pair).why,
                        "the place of the run is overwritten");
    plan->place = 152;
    VEC_PUSH(&pair.w.arena, &plan->region, ((RegionUse){ .size = 160 }));
    VEC_PUSH(&pair.w.arena, &plan->region, ((RegionUse){ .size = 16 }));
    assert_null(object_to_pair(&pair).why);
    plan->place = 76; /* y lies over its second half */
    assert_string_equal(object_to_pair(&pair).why,
                        "the place of the run is overwritten");
    world_close(&pair.w);
}

/* ---- loops ---- */

/* x is read by the first step of a loop, of which the second may make its result over it, and by
 * the first of a loop within. */
static const char *object_to_loop(bool looped, int64_t second, bool inner)
{
    World w;
    const char *why = NULL;
    const RowRule same = { .kind = ROWS_SAME };
    world_open(&w, 1);
    Tensor *x = add_input(&w, ROWS, 1, 1);
    Tensor *a = add_image(&w, ROWS, 1, 1);
    Tensor *b = add_image(&w, ROWS, 1, 1);
    Tensor *c = add_image(&w, ROWS, 1, 1);
    x->storage = STORE_ARENA;
    Step *outer =
        add_step(&w, &kernel_op, a, 1, &(In){ x, same, REUSE_NONE }, 0);
    Step *within =
        add_step(&w, &kernel_op, b, 1, &(In){ a, same, REUSE_NONE }, 0);
    add_step(&w, &kernel_op, c, 1, &(In){ a, same, REUSE_NONE }, 0);
    outer->loop_end = looped ? 2 : -1;
    within->loop_end = inner ? 2 : -1;
    a->offset = 16;
    b->offset = second;
    c->offset = 48;
    w.program.plan = (Plan){ .arena_size = 64, .place = -1 };
    w.program.lowered = 3;
    program_link(&w.program);
    plan_holds(&w.program, &why);
    world_close(&w);
    return why;
}

static void loops_begin_anew(void **state)
{
    (void)state;
    const char gone[] = "is read where its bytes are not, or no more";
    for (int inner = 0; inner < 2; inner++) {
        assert_null(object_to_loop(true, 32, inner));
        assert_null(object_to_loop(false, 0, inner));
        assert_string_equal(object_to_loop(true, 0, inner), gone);
    }
}

/* A loop of one step that makes its result over what it reads, by itself or at the end of another
 * that reads it, too. */
static void loops_of_one_step(void **state)
{
    (void)state;
    for (int outer = 0; outer < 2; outer++) {
        Pair pair;
        open_pair(&pair, REUSE_ELEMENTWISE, 16);
        World *w = &pair.w;
        const RowRule same = { .kind = ROWS_SAME };
        if (outer) {
            Tensor *z = add_image(w, ROWS, 2, 2);
            z->offset = 80;
            w->program.step.n = 0;
            add_step(w, &kernel_op, z, 1, &(In){ pair.x, same, REUSE_NONE }, 0)
                ->loop_end = 2;
            add_step(w, &kernel_op, pair.y, 1,
                     &(In){ pair.x, same, REUSE_ELEMENTWISE }, 0);
            add_step(w, &kernel_op, z, 1, &(In){ pair.y, same, REUSE_NONE }, 0)
                ->loop_end = 2;
        } else {
            assert_null(object_to_pair(&pair).why);
            pair.step->loop_end = 0;
        }
        assert_string_equal(object_to_pair(&pair).why,
                            "is read where its bytes are not, or no more");
        world_close(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_a_result_is_made),
        cmocka_unit_test(inputs_are_preserved),
        cmocka_unit_test(each_input_is_preserved),
        cmocka_unit_test(all_parts_of_a_result_are_made),
        cmocka_unit_test(parts_of_inputs),
        cmocka_unit_test(steps_that_run_as_a_whole),
        cmocka_unit_test(calls_of_lists),
        cmocka_unit_test(entries_of_lists),
        cmocka_unit_test(what_lists_may_not_name),
        cmocka_unit_test(segments_are_all_steps),
        cmocka_unit_test(the_place_lies_in_the_first_region),
        cmocka_unit_test(loops_of_one_step),
        cmocka_unit_test(loops_begin_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
