/* SPDX-License-Identifier: Apache-2.0
 * The peak of maps made by hand: where it is, what lies there, and what is shared. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emit/peak.h"

enum { STEPS = 4 };

typedef struct World {
    Arena arena;
    Store store;
    Program program;
    Tensor *tensor[STEPS + 1];
} World;

/* A chain: step k reads tensor k and writes tensor k + 1. */
static void open_world(World *w)
{
    static const KernelRow kernel = { .name = "chain" };
    memset(w, 0, sizeof *w);
    w->store = (Store){ .arena = &w->arena, .window = 4096 };
    Graph *g = graph_new(&w->arena, &w->store, "test", NULL);
    w->program.graph = g;
    for (int i = 0; i <= STEPS; i++) {
        const int64_t dims[] = { 1, 4, 4, 4 };
        w->tensor[i] = graph_add_tensor(g, arena_printf(&w->arena, "t%d", i),
                                        DT_F32, shape_of(4, dims));
        w->tensor[i]->storage = STORE_ARENA;
    }
    for (int i = 0; i < STEPS; i++) {
        Step *s = NEW(&w->arena, Step);
        Operand *o = NEW_ARRAY(&w->arena, Operand, 2);
        o[0] =
            (Operand){ .tensor = w->tensor[i + 1], .write = true, .rows = 4 };
        o[1] = (Operand){ .tensor = w->tensor[i], .read = true, .rows = 4 };
        *s = (Step){ .index = i,
                     .kernel = &kernel,
                     .n_operand = 2,
                     .n_out = 1,
                     .operand = o,
                     .units = 4,
                     .loop_end = -1 };
        VEC_PUSH(&w->arena, &w->program.step, s);
    }
}

static void add(World *w, int t, int64_t offset, int64_t bytes, int32_t first,
                int32_t end)
{
    VEC_PUSH(&w->arena, &w->program.plan.block,
             ((Block){ .tensor = w->tensor[t],
                       .offset = offset,
                       .bytes = bytes,
                       .first = first,
                       .end = end }));
}

static Peak find(World *w)
{
    program_count_live(&w->program);
    return peak_find(&w->program);
}

static void close_world(World *w)
{
    arena_free(&w->store.scratch);
    arena_free(&w->arena);
}

static void fullest_step(void **state)
{
    (void)state;
    World w;
    open_world(&w);
    add(&w, 0, 0, 100, 0, 1);
    add(&w, 1, 100, 200, 0, 4); /* also wanted by the last step */
    add(&w, 2, 300, 300, 1, 3);
    add(&w, 3, 0, 64, 2, 4);
    w.program.step.at[3]->operand[1].tensor = w.tensor[1];
    w.program.plan.arena_size = w.program.plan.lower_bound = 600;
    const Peak p = find(&w);
    assert_int_equal(p.first, 2);
    assert_int_equal(p.end, 3);
    assert_int_equal(p.bytes, 564);
    assert_int_equal(p.block.n, 3);
    assert_string_equal(p.block.at[0].name, "t2");
    assert_int_equal(p.block.at[0].role, PEAK_READ);
    assert_string_equal(p.block.at[1].name, "t1");
    assert_int_equal(p.block.at[1].role, PEAK_KEPT);
    assert_int_equal(p.block.at[2].role, PEAK_MADE);
    const Text t = peak_text(&w.arena, &p, 2);
    assert_non_null(strstr(t.at, "564 bytes in use, step 2"));
    assert_non_null(strstr(t.at, "and 1 more"));
    close_world(&w);
}

/* Bytes that two blocks share are bytes once, and the fullest step is found by them. */
static void shared_bytes(void **state)
{
    (void)state;
    World w;
    open_world(&w);
    add(&w, 0, 0, 400, 0, 1);
    add(&w, 1, 100, 400, 0, 2); /* 500 in step 0, for 800 of blocks */
    add(&w, 2, 500, 110, 1, 2); /* 510 in step 1 */
    w.program.plan.arena_size = 610;
    w.program.plan.lower_bound = 510;
    const Peak p = find(&w);
    assert_int_equal(p.first, 1);
    assert_int_equal(p.bytes, 510);
    close_world(&w);
}

static void a_stream_is_one_place(void **state)
{
    (void)state;
    static const uint8_t list[] = { 0, 1, 2 };
    World w;
    open_world(&w);
    add(&w, 1, 0, 100, 0, 3);
    add(&w, 2, 100, 100, 0, 3);
    add(&w, 3, 200, 50, 3, 4);
    VEC_PUSH(
        &w.arena, &w.program.plan.segment,
        ((Segment){ .first = 0, .count = 3, .prologue = 3, .list = list }));
    const Peak p = find(&w);
    assert_int_equal(p.first, 0);
    assert_int_equal(p.end, 3);
    assert_int_equal(p.block.n, 2);
    assert_int_equal(p.block.at[0].role, PEAK_MADE);
    close_world(&w);
}

static void nothing(void **state)
{
    (void)state;
    World w;
    open_world(&w);
    const Peak p = find(&w);
    assert_int_equal(p.bytes, 0);
    assert_int_equal(p.block.n, 0);
    assert_int_equal(peak_text(&w.arena, &p, 5).n, 0);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(fullest_step),
                                        cmocka_unit_test(shared_bytes),
                                        cmocka_unit_test(a_stream_is_one_place),
                                        cmocka_unit_test(nothing) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
