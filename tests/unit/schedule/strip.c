/* SPDX-License-Identifier: Apache-2.0
 * Strips: which columns steps need, what they cost, and the steps made for them, which compute the
 * same bytes. */
#include "../plan/programs.h"

#include "kernels/conv_f32.h"
#include "kernels/pool.h"
#include "schedule/strip.h"

enum { STEPS = 3 };

/* Pools of three taps, stride 1 and padding 1, over an image of int8: real kernels, and no weights
 * are needed. */
static Tensor *add_pool(World *w, Tensor *x, int32_t stride, int32_t pad)
{
    const int32_t ih = (int32_t)x->shape.dim[1], iw = (int32_t)x->shape.dim[2],
                  c = (int32_t)x->shape.dim[3];
    const int32_t oh = (ih + 2 * pad - 3) / stride + 1,
                  ow = (iw + 2 * pad - 3) / stride + 1;
    Tensor *y = add_image(w, oh, ow, c);
    y->dtype = DT_I8;
    Step *s = add_step(w, kernel_find("maxpool_i8"), y, 1,
                       &(In){ x, window(stride, pad, 3), REUSE_ROWS }, 0);
    const inlay_pool_params p = { .id = 1,
                                  .ih = ih,
                                  .iw = iw,
                                  .od = 1,
                                  .oh = oh,
                                  .ow = ow,
                                  .kd = 1,
                                  .kh = 3,
                                  .kw = 3,
                                  .sd = 1,
                                  .sh = stride,
                                  .sw = stride,
                                  .dd = 1,
                                  .dh = 1,
                                  .dw = 1,
                                  .ph = pad,
                                  .pw = pad,
                                  .eh = pad,
                                  .ew = pad,
                                  .channels = c };
    s->params = arena_copy(&w->arena, &p, sizeof p);
    s->macs = 9 * (int64_t)oh * ow * c;
    return y;
}

static void chain(World *w, int32_t width, int32_t stride)
{
    world_open(w, 5);
    Tensor *t = add_input(w, 24, width, 4);
    t->dtype = DT_I8;
    for (int i = 0; i < STEPS; i++)
        t = add_pool(w, t, i == 1 ? stride : 1, 1);
    make_output(w, t);
    w->program.lowered = STEPS;
}

/* The halo of three windows, clipped at the borders. */
static void columns(void **state)
{
    (void)state;
    World w;
    chain(&w, 20, 1);
    const PlanOptions opt = { .align = 16 };
    const Items all = items_find(&w.arena, &w.program, &opt);
    Strips s = strips_new(&w.arena, &all);
    StripRange range;
    assert_true(strip_range(&s, 0, STEPS, &range));
    assert_int_equal(range.width, 20);
    for (int32_t k = 0; k < STEPS; k++)
        assert_true(strip_takes(&s, k));
    assert_true(strip_find(&s, &range, (Columns){ 8, 12 }));
    assert_int_equal(s.of_step[2].lo, 8);
    assert_int_equal(s.of_step[2].hi, 12);
    assert_int_equal(s.of_step[1].lo, 7);
    assert_int_equal(s.of_step[1].hi, 13);
    assert_int_equal(s.of_step[0].lo, 6);
    assert_int_equal(s.of_step[0].hi, 14);
    assert_true(strip_find(&s, &range, (Columns){ 0, 5 }));
    assert_int_equal(s.of_step[0].lo, 0);
    assert_int_equal(s.of_step[0].hi, 7);
    world_close(&w);
}

/* MACs of all strips are those of their columns; two strips of 20 columns: 20, 22 and 24 columns
 * are made. */
static void price(void **state)
{
    (void)state;
    World w;
    chain(&w, 20, 1);
    const PlanOptions opt = { .align = 16 };
    const Items all = items_find(&w.arena, &w.program, &opt);
    Strips s = strips_new(&w.arena, &all);
    StripRange range;
    StripPrice two, five;
    Stream whole;
    int64_t budget = 100000;
    assert_true(strip_range(&s, 0, STEPS, &range));
    const StreamMost most = { INT64_MAX, 1 };
    assert_true(
        stream_walk(&w.arena, &all, 0, STEPS, false, 1, most, &budget, &whole));
    assert_true(strip_price(&s, &range, &whole,
                            (Cut){ .n = 2, .each = 5, .first = 5 }, &two));
    assert_int_equal(two.macs, 9 * 24 * 4 * (20 + 22 + 24));
    assert_true(two.bytes < whole.bytes);
    assert_true(strip_price(&s, &range, &whole,
                            (Cut){ .n = 5, .each = 2, .first = 2 }, &five));
    assert_true(five.bytes < two.bytes);
    world_close(&w);
}

/* Every number of strips: the plan holds, and gives the bytes of the whole. */
static void same_bytes(void **state)
{
    (void)state;
    for (int32_t stride = 1; stride <= 2; stride++)
        for (int32_t n = 2; n <= 9; n++) {
            World w;
            chain(&w, 19, stride);
            size_t bytes, again;
            place_apart(&w);
            const unsigned char *want = run_program(&w, 0, &bytes);
            const PlanOptions opt = { .align = 16 };
            const Items all = items_find(&w.arena, &w.program, &opt);
            Strips s = strips_new(&w.arena, &all);
            StripRange range;
            Steps out = { 0 };
            assert_true(strip_range(&s, 0, STEPS, &range));
            const int32_t each = range.width / n;
            const Cut cut = { .n = n, .each = each, .first = each };
            for (int32_t k = 0; k < n; k++)
                strip_steps(&s, &w.arena, &w.program, &range,
                            strip_columns(&range, cut, k), k + 1, &out);
            assert_int_equal(out.step.n, STEPS * (size_t)n);
            w.program.step.at = out.step.at;
            w.program.step.n = w.program.step.room = out.step.n;
            for (size_t i = 0; i < out.step.n; i++)
                out.step.at[i]->index = (int)i;
            const char *why = NULL;
            plan_program(&w.program, &opt);
            if (!plan_holds(&w.program, &why))
                fail_msg("%d strips: %s", n, why);
            if (memcmp(want, run_program(&w, 0xa5, &again), bytes))
                fail_msg("%d strips, stride %d: results differ", n, stride);
            world_close(&w);
        }
}

/* A result that is read within, or by rows only in part, is none. */
static void no_strips(void **state)
{
    (void)state;
    World w;
    chain(&w, 20, 1);
    add_sum(&w, w.tensor[2]);
    const PlanOptions opt = { .align = 16 };
    const Items all = items_find(&w.arena, &w.program, &opt);
    Strips s = strips_new(&w.arena, &all);
    StripRange range;
    assert_false(strip_takes(&s, STEPS));
    /* step 1's result leaves, too */
    assert_false(strip_range(&s, 0, STEPS, &range));
    assert_true(strip_range(&s, 0, 2, &range));
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(columns),
                                        cmocka_unit_test(price),
                                        cmocka_unit_test(same_bytes),
                                        cmocka_unit_test(no_strips) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
