/* SPDX-License-Identifier: Apache-2.0
 * Streams that are the same backward: what is taken for such a walk is what the walk comes to. */
#include "../plan/cases.h"
#include "../plan/programs.h"

#include "schedule/stream.h"

enum { CASES = 600 };

static void compare_rings(const Stream *got, const Stream *want)
{
    assert_int_equal(got->ring.n, want->ring.n);
    for (size_t i = 0; i < want->ring.n; i++) {
        assert_int_equal(got->ring.at[i].item, want->ring.at[i].item);
        assert_int_equal(got->ring.at[i].rows, want->ring.at[i].rows);
        assert_int_equal(got->ring.at[i].host, want->ring.at[i].host);
    }
}

static void compare_streams(const Stream *got, const Stream *want)
{
    assert_true(got->backward);
    assert_int_equal(got->bytes, want->bytes);
    assert_int_equal(got->least, want->least);
    assert_int_equal(got->scratch, want->scratch);
    assert_int_equal(got->under, want->under);
    assert_int_equal(got->over, want->over);
    if (want->under >= 0)
        assert_int_equal(got->distance, want->distance);
    assert_int_equal(got->visits, want->visits);
    assert_int_equal(got->calls, want->calls);
    assert_memory_equal(got->order, want->order, (size_t)want->calls);
    compare_rings(got, want);
}

/* Walked to the end, or up to what a half of the bytes allows. */
static bool compare_range(Arena *a, const Items *all, int32_t first,
                          int32_t end, StreamMost most)
{
    int64_t budget = 1 << 20;
    Stream forward, backward;
    const bool there =
        stream_walk(a, all, first, end, false, 4, most, &budget, &forward);
    const bool back =
        stream_walk(a, all, first, end, true, 4, most, &budget, &backward);
    const Stream mirror = stream_mirror(a, all, &forward);
    assert_int_equal(there, back);
    assert_int_equal(forward.beyond, backward.beyond);
    if (there)
        compare_streams(&mirror, &backward);
    else
        assert_int_equal(mirror.visits, backward.visits);
    return there;
}

/* How many ranges of the program are the same backward. */
static int compare_ranges(World *w, bool hosts)
{
    const PlanOptions opt = { .align = 8, .hosts = hosts };
    const Items all = items_find(&w->arena, &w->program, &opt);
    const int32_t steps = (int32_t)w->program.step.n;
    int n = 0;
    for (int32_t first = 0; first < steps; first++) {
        for (int32_t end = first + 1; end <= steps; end++) {
            if (!stream_takes(&all, end - 1))
                break;
            if (stream_ascends(&all, first, end) ||
                !stream_mirrors(&all, first, end))
                continue;
            const StreamMost all_of_it = { INT64_MAX / 4, 1 };
            const StreamMost little = { 600, 1 };
            n += compare_range(&w->arena, &all, first, end, all_of_it) &&
                 end - first > 1;
            compare_range(&w->arena, &all, first, end, little);
        }
    }
    return n;
}

static void mirrors_are_walks(void **state)
{
    (void)state;
    int n = 0;
    for (int i = 0; i < cases(CASES); i++) {
        World w;
        random_program(&w, (uint64_t)i + 1, 2 + i % 14);
        n += compare_ranges(&w, i % 2);
        world_close(&w);
    }
    assert_true(n > cases(CASES) / 4);
}

/* With a stride the last window ends elsewhere than the first begins, or does not. */
static void strides_differ(void **state)
{
    (void)state;
    static const struct {
        int32_t rows, pad;
        bool mirrors;
    } nets[] = { { 16, 1, false }, { 17, 1, true }, { 16, 0, false } };
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        World w;
        world_open(&w, 7);
        Tensor *t = add_input(&w, nets[i].rows, 8, 2);
        t = add_window(&w, t, 1, 1, 3, 8, 2);
        t = add_window(&w, t, 2, nets[i].pad, 3, 8, 2);
        make_output(&w, t);
        finish(&w);
        const PlanOptions opt = { .align = 8 };
        const Items all = items_find(&w.arena, &w.program, &opt);
        assert_int_equal(stream_mirrors(&all, 0, 2), nets[i].mirrors);
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mirrors_are_walks),
        cmocka_unit_test(strides_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
