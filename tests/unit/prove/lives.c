/* SPDX-License-Identifier: Apache-2.0
 * During which steps or streams tensors live: loops, inputs, pools of rows; by the bound that
 * follows, and by themselves. */
#include "bounds.h"

#include "prove/lives.h"

/* What a loop of steps 1 to 3 reads from before, 432 bytes, lives while its second step runs. */
static void loops(void **state)
{
    (void)state;
    for (int looped = 0; looped < 2; looped++) {
        World w;
        make_chain(
            &w,
            &(Chain){ REUSE_NONE, { .kind = ROWS_ALL }, { 9, 3, 5, 7 }, 0 });
        if (looped)
            w.program.step.at[1]->loop_end = 3;
        const PlanOptions opt = { .align = 16, .level = PLAN_SIMPLE };
        plan_program(&w.program, &opt);
        assert_int_equal(plan_lower_bound(&w.program),
                         looped ? 432 + 144 + 240 : 432 + 144);
        world_close(&w);
    }
}

/* What a loop reads from before it is there in the loop's last step, which does not touch it. */
static void loop_ends(void **state)
{
    (void)state;
    for (int looped = 0; looped < 2; looped++) {
        World w;
        make_chain(
            &w,
            &(Chain){ REUSE_NONE, { .kind = ROWS_ALL }, { 9, 3, 15, 1 }, 0 });
        if (looped)
            w.program.step.at[1]->loop_end = 2;
        const PlanOptions opt = { .align = 16, .level = PLAN_SIMPLE };
        assert_int_equal(bound_of(&w, &opt),
                         looped ? 432 + 144 + 720 : 144 + 720);
        world_close(&w);
    }
}

/* Loops in one another: what the outer one reads from before it lives until the outer one ends. */
static void loops_in_loops(void **state)
{
    (void)state;
    World w;
    make_chain(&w,
               &(Chain){ REUSE_NONE, { .kind = ROWS_ALL }, { 9, 3, 5, 1 }, 0 });
    w.program.step.at[1]->loop_end = 3;
    w.program.step.at[2]->loop_end = 2;
    const PlanOptions opt = { .align = 16, .level = PLAN_SIMPLE };
    assert_int_equal(bound_of(&w, &opt), 432 + 144 + 240);
    world_close(&w);
}

/* What is read behind a loop lives until then, whatever the loop does. */
static void read_behind_a_loop(void **state)
{
    (void)state;
    World w;
    const RowRule all = { .kind = ROWS_ALL };
    world_open(&w, 1);
    Tensor *x = add_input(&w, 4, 3, 1), *a = add_image(&w, 4, 3, 9);
    Tensor *b = add_image(&w, 4, 3, 3), *c = add_image(&w, 4, 3, 15);
    Tensor *y = add_image(&w, 4, 3, 1);
    const In both[] = { { c, all, REUSE_NONE }, { a, all, REUSE_NONE } };
    add_step(&w, &kernel_op, a, 1, &(In){ x, all, REUSE_NONE }, 0);
    add_step(&w, &kernel_op, b, 1, &(In){ a, all, REUSE_NONE }, 0)->loop_end =
        1;
    add_step(&w, &kernel_op, c, 1, &(In){ b, all, REUSE_NONE }, 0);
    add_step(&w, &kernel_op, y, 2, both, 0);
    make_output(&w, y);
    const PlanOptions opt = { .align = 16, .level = PLAN_SIMPLE };
    assert_int_equal(bound_of(&w, &opt), 432 + 144 + 720);
    world_close(&w);
}

/* x, of 48 bytes, is made in front of a stream that makes p of it and m of p; p has a pool of two
 * of its rows, of 24 bytes, m lives on. */
typedef struct Pooled {
    World w;
    Tensor *x, *p, *m;
} Pooled;

static const uint16_t turns[] = { 0, 1, 0, 1 };
static const RowSlots pool_of_two = {
    .rows = 4, .unit = 12, .pool = 24, .slot = turns
};

static void put(Tensor *tensor, int64_t offset, int region)
{
    tensor->offset = offset;
    tensor->region = region;
}

static Step *add_row_step(World *w, Tensor *y, Tensor *x)
{
    const RowRule same = { .kind = ROWS_SAME };
    return add_step(w, &kernel_op, y, 1, &(In){ x, same, REUSE_ROWS }, 0);
}

static void open_pooled(Pooled *pooled)
{
    World *w = &pooled->w;
    world_open(w, 1);
    Tensor *input = add_input(w, 4, 3, 1);
    pooled->x = add_image(w, 4, 3, 1);
    pooled->p = add_image(w, 4, 3, 1);
    pooled->m = add_image(w, 4, 3, 1);
    add_row_step(w, pooled->x, input);
    add_row_step(w, pooled->p, pooled->x)->operand->slots = &pool_of_two;
    add_row_step(w, pooled->m, pooled->p)->operand[1].slots = &pool_of_two;
}

/* m is there as a whole where the pool begins within it, beside x; else it comes row by row, as x
 * goes. */
static void pools_under_results(void **state)
{
    (void)state;
    static const uint8_t list[] = { 0, 1, 0, 1, 0, 1, 0, 1 };
    static const struct {
        int64_t x, m, p;
        int x_region, p_region;
        int64_t bound;
    } each[] = {
        { 0, 0, 24, 0, 0, 48 },
        { 47, 0, 24, 0, 0, 48 },
        { 48, 0, 24, 0, 0, 48 + 48 },
        { 0, 0, 24, 1, 0, 48 + 48 },
        { 0, 0, 24, 0, 1, 48 + 24 },
        { 0, 0, 48, 0, 0, 48 + 24 },
        { 48, 0, 40, 0, 0, 48 + 48 + 16 },
        { 0, 48, 72, 0, 0, 48 + 48 },
        { 1, 48, 72, 0, 0, 48 },
        { 100, 0, 48, 0, 0, 48 + 24 },
        { 100, 0, 0, 0, 0, 48 + 48 },
    };
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        Pooled pooled;
        open_pooled(&pooled);
        put(pooled.x, each[i].x, each[i].x_region);
        put(pooled.p, each[i].p, each[i].p_region);
        put(pooled.m, each[i].m, 0);
        add_sum(&pooled.w, pooled.m);
        finish(&pooled.w);
        assert_int_equal(stream_bound(&pooled.w, 1, list, 8, 4),
                         each[i].bound + 4);
        world_close(&pooled.w);
    }
}

/* What lies over a pool lies there once, however many steps make it. */
static void halves_over_a_pool(void **state)
{
    (void)state;
    static const uint8_t list[] = { 0, 0, 0, 0, 1, 1, 2, 2 };
    Pooled pooled;
    open_pooled(&pooled);
    World *w = &pooled.w;
    pooled.x->storage = STORE_INPUT;
    for (int k = 0; k < 2; k++) {
        Step *step =
            k ? add_row_step(w, pooled.m, pooled.x) : w->program.step.at[2];
        step->operand->rows = step->units = 2;
        step->operand->offset = 24 * k;
    }
    put(pooled.p, 40, 0);
    add_sum(w, pooled.m);
    finish(w);
    assert_int_equal(stream_bound(w, 1, list, 8, 4), 48 + 16 + 8);
    world_close(w);
}

/* Two pools, or one for both. */
static void pools_by_their_place(void **state)
{
    (void)state;
    static const uint8_t list[] = { 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2 };
    for (int apart = 0; apart < 2; apart++) {
        Pooled pooled;
        open_pooled(&pooled);
        World *w = &pooled.w;
        Tensor *q = add_image(w, 4, 3, 1);
        w->program.step.at[2]->operand->slots = &pool_of_two;
        add_row_step(w, q, pooled.m)->operand[1].slots = &pool_of_two;
        pooled.x->storage = STORE_INPUT;
        put(pooled.m, apart ? 100 : 0, 0);
        put(q, 200, 0);
        add_sum(w, q);
        finish(w);
        assert_int_equal(stream_bound(w, 1, list, 12, 4),
                         48 + 24 + 24 * apart + 8);
        world_close(w);
    }
}

/* ---- lives by themselves ---- */

static Life life_in(World *w, const Tensor *tensor)
{
    w->program.plan.arena_align = i64_max(1, w->program.plan.arena_align);
    const Lives lives = lives_find(&w->arena, &w->program);
    return lives.life[tensor->id];
}

typedef struct Looped {
    World w;
    Tensor *x, *t[5]; /* x: an input in the arena; t[i]: what step i makes */
} Looped;

/* Five steps, each of which reads what the one before makes, but that step `reader` reads tensor
 * `read`; loops begin at steps, ends[i] is the last step of that at step i, -1: none begins. */
static void open_looped(Looped *looped, const int32_t *ends, int reader,
                        int read)
{
    World *w = &looped->w;
    const RowRule all = { .kind = ROWS_ALL };
    world_open(w, 1);
    looped->x = add_input(w, 4, 3, 1);
    looped->x->storage = STORE_ARENA;
    for (int i = 0; i < 5; i++) {
        Tensor *before = i ? looped->t[i - 1] : looped->x;
        if (i == reader)
            before = read < 0 ? looped->x : looped->t[read];
        looped->t[i] = add_image(w, 4, 3, 1);
        add_step(w, &kernel_op, looped->t[i], 1,
                 &(In){ before, all, REUSE_NONE }, 0)
            ->loop_end = ends[i];
    }
    program_link(&w->program);
}

/* What a loop reads from before it is kept until it ends, what was made in it is not. */
static void kept_by_loops(void **state)
{
    (void)state;
    static const struct {
        int32_t ends[5];
        int reader,
            read; /* the last step that reads the tensor; -1: the input */
        int32_t last;
        bool kept;
    } each[] = {
        { { -1, -1, -1, -1, -1 }, 2, 0, 2, false },
        { { -1, 1, 3, -1, -1 }, 2, 0, 3, true }, /* the first has ended */
        { { -1, 3, -1, -1, -1 }, 3, 0, 3, true },
        { { -1, -1, -1, 3, -1 }, 3, 0, 3, true },  /* a loop of one step */
        { { 3, -1, -1, -1, -1 }, 2, 0, 2, false }, /* made within */
        { { 1, -1, -1, -1, -1 }, 0, -1, 1, true },
        { { 0, -1, -1, -1, -1 }, 0, -1, 0, true },
        { { -1, 3, -1, -1, -1 }, 3, 1, 3, false }, /* by its first step */
        { { 4, 3, 2, -1, -1 }, 2, 0, 3, true },    /* the second of three */
        { { 4, -1, 3, -1, -1 }, 2, 1, 3, true },
        { { 4, 4, 3, 3, -1 }, 3, 1, 3, true }, /* the third of four */
        { { 4, 4, 4, 3, -1 }, 3, 2, 3, true }, /* the last of four */
        { { -1, 99, -1, -1, -1 }, 2, 0, 4, true },
        { { -1, 2, -1, -1, -1 }, 4, 0, 4, false }, /* and behind it */
    };
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        Looped looped;
        const int read = each[i].read;
        open_looped(&looped, each[i].ends, each[i].reader, read);
        const Tensor *tensor = read < 0 ? looped.x : looped.t[read];
        const Life life = life_in(&looped.w, tensor);
        if (life.last != each[i].last || life.kept != each[i].kept)
            fail_msg("loops %d: to %d, kept %d", (int)i, life.last, life.kept);
        world_close(&looped.w);
    }
}

/* A sum that a loop goes on with is read in each of its rounds. */
static void sums_in_loops(void **state)
{
    (void)state;
    static const int32_t ends[] = { -1, -1, 3, -1, -1 };
    Looped looped;
    open_looped(&looped, ends, 1, 0);
    Operand *sum = looped.w.program.step.at[2]->operand;
    sum->tensor = looped.t[0];
    sum->read = true;
    program_link(&looped.w.program);
    const Life life = life_in(&looped.w, looped.t[0]);
    assert_true(life.kept);
    assert_int_equal(life.last, 3);
    world_close(&looped.w);
}

/* Inputs are there before the first step; whoever reads them, or nobody. */
static void lives_of_inputs(void **state)
{
    (void)state;
    static const int32_t ends[] = { -1, -1, -1, -1, -1 };
    Looped looped;
    open_looped(&looped, ends, 3, -1);
    World *w = &looped.w;
    Tensor *unread = add_input(w, 4, 3, 2), *result = looped.t[4];
    unread->storage = STORE_ARENA;
    assert_int_equal(life_in(w, unread).last, 0);
    assert_int_equal(life_in(w, unread).bytes, 96);
    assert_int_equal(life_in(w, looped.x).last, 3);
    assert_true(life_in(w, looped.x).first < 0);
    assert_int_equal(life_in(w, result).last, 4);
    make_output(w, result);
    result->storage = STORE_ARENA;
    assert_int_equal(life_in(w, result).last, 5);
    result->state = true;
    assert_int_equal(life_in(w, result).last, 4);
    unread->state = true;
    assert_int_equal(life_in(w, unread).last, 5);
    unread->state = false;
    w->program.plan.preserve_input = true;
    assert_int_equal(life_in(w, unread).last, 5);
    world_close(w);
}

/* What steps make in halves and nobody reads is there as a whole with the last of them. */
static void halves_that_nobody_reads(void **state)
{
    (void)state;
    static const int32_t ends[] = { -1, -1, -1, -1, -1 };
    Looped looped;
    open_looped(&looped, ends, 1, -1);
    looped.w.program.step.at[2]->operand->tensor = looped.t[0];
    program_link(&looped.w.program);
    const Life life = life_in(&looped.w, looped.t[0]);
    assert_int_equal(life.last, 2);
    assert_true(life.one_piece);
    assert_false(life.elementwise);
    world_close(&looped.w);
}

/* ---- guests ---- */

/* In a stream a tensor is made, and in its place another: a guest, where that is made in the arena
 * element by element, and is another one. */
typedef struct Guests {
    World w;
    Tensor *t, *y;
    Step *step;
} Guests;

static void open_guests(Guests *guests)
{
    static const uint8_t list[] = { 0, 1, 0, 1, 0, 1, 0, 1 };
    static const Segment stream = { .count = 2, .list = list, .prologue = 8 };
    World *w = &guests->w;
    const RowRule same = { .kind = ROWS_SAME };
    world_open(w, 1);
    Tensor *x = add_input(w, 4, 3, 1);
    guests->t = add_image(w, 4, 3, 1);
    guests->y = add_image(w, 4, 3, 1);
    add_step(w, &kernel_op, guests->t, 1, &(In){ x, same, REUSE_NONE }, 0);
    guests->step = add_step(w, &kernel_op, guests->y, 1,
                            &(In){ guests->t, same, REUSE_ELEMENTWISE }, 0);
    VEC_PUSH(&w->arena, &w->program.plan.segment, stream);
}

static bool is_guest(Guests *guests)
{
    program_link(&guests->w.program);
    return life_in(&guests->w, guests->t).guest;
}

static void guests_of_streams(void **state)
{
    (void)state;
    Guests guests;
    open_guests(&guests);
    assert_true(is_guest(&guests));
    guests.y->storage = STORE_OUTPUT;
    assert_false(is_guest(&guests));
    guests.y->storage = STORE_ARENA;
    guests.step->operand[0].tensor = guests.t;
    assert_false(is_guest(&guests));
    guests.step->operand[0].tensor = guests.y;
    guests.step->operand[1].row_bytes = 4;
    assert_false(is_guest(&guests));
    guests.step->operand[1].row_bytes = 12;
    guests.y->offset = 12;
    assert_false(is_guest(&guests));
    guests.w.program.plan.segment.n = 0;
    guests.y->offset = 0;
    assert_false(is_guest(&guests));
    world_close(&guests.w);
}

/* The second of two results may take the place, another operand's place is none. */
static void guests_of_second_results(void **state)
{
    (void)state;
    Guests guests;
    open_guests(&guests);
    World *w = &guests.w;
    const RowRule same = { .kind = ROWS_SAME };
    Tensor *other = add_image(w, 4, 3, 1);
    const In both[] = { { other, same, REUSE_ELEMENTWISE },
                        { guests.t, same, REUSE_ELEMENTWISE } };
    w->program.step.n = 1;
    Step *step = add_step(w, &kernel_op, guests.y, 2, both, 0);
    guests.y->offset = 100;
    assert_false(is_guest(&guests));
    step->n_out = 2;
    step->operand[1].write = true;
    step->operand[1].read = false;
    assert_true(is_guest(&guests));
    world_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops),
        cmocka_unit_test(loop_ends),
        cmocka_unit_test(loops_in_loops),
        cmocka_unit_test(read_behind_a_loop),
        cmocka_unit_test(kept_by_loops),
        cmocka_unit_test(sums_in_loops),
        cmocka_unit_test(lives_of_inputs),
        cmocka_unit_test(halves_that_nobody_reads),
        cmocka_unit_test(guests_of_streams),
        cmocka_unit_test(guests_of_second_results),
        cmocka_unit_test(pools_under_results),
        cmocka_unit_test(halves_over_a_pool),
        cmocka_unit_test(pools_by_their_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
