/* SPDX-License-Identifier: Apache-2.0
 * Random nets of image operators with the real kernels: whatever passes and planner make of a net (fused, streamed,
 * overlapped, read and written in place), the answer is that of the same steps with all tensors apart, bit for
 * bit, and that of the net as it is written but for rounding. */
#include "cases.h"
#include "random_nets.h"

enum { CASES = 400 };

static float *answer(Net *t, Program *p, int64_t *count)
{
    const Tensor *x = t->w.graph->input.at[0];
    *count = tensor_count(t->w.graph->output.at[0]);
    float *in = NEW_ARRAY(&t->w.arena, float, tensor_count(x)), *out = NEW_ARRAY(&t->w.arena, float, *count + 1);
    for (int64_t i = 0; i < tensor_count(x); i++) in[i] = (float)((i * 7919 + 13) % 2003) / 1001.0f - 1.0f;
    for (int64_t i = 0; i < *count; i++) out[i] = 12345.0f;
    weights_layout(p);
    program_link(p);
    assert_int_equal(eval_run(p, (void *const[]){ in }, (void *const[]){ out }), 0);
    return out;
}

static float *planned(MakeNet *make, uint64_t seed, PlanLevel level, Net *t, int64_t *count)
{
    Program *p = lowered(t, make, seed, true);
    const PlanOptions opt = { .align = 16, .level = level };
    const char *why = NULL;
    if (seed % 2 && level > PLAN_SIMPLE) elide_some(t, p);
    plan_program(p, &opt);
    if (!plan_holds(p, &why)) fail_msg("seed %d, level %d: %s", (int)seed, (int)level, why);
    return answer(t, p, count);
}

static void compare(MakeNet *make, uint64_t seed)
{
    Net plain, apart, net;
    int64_t n, m;
    Program *p = lowered(&plain, make, seed, false), *q = lowered(&apart, make, seed, true);
    p->plan.arena_size = eval_place_apart(p);
    q->plan.arena_size = eval_place_apart(q);
    const float *want = answer(&plain, p, &n), *exact = answer(&apart, q, &m);
    assert_int_equal(n, m);
    for (int64_t i = 0; i < n; i++)
        if (!(fabsf(want[i] - exact[i]) <= 2e-4f * (1.0f + fabsf(want[i])))) fail_msg("seed %d: element %d is %g, as written %g", (int)seed, (int)i, (double)exact[i], (double)want[i]);
    for (int level = PLAN_SIMPLE; level <= PLAN_STREAM; level++) {
        const float *got = planned(make, seed, (PlanLevel)level, &net, &m);
        if (memcmp(exact, got, (size_t)n * sizeof *got)) fail_msg("seed %d, level %d: bits differ", (int)seed, level);
        world_close(&net.w);
    }
    world_close(&plain.w);
    world_close(&apart.w);
}

static void random_nets(void **state)
{
    (void)state;
    const char *first = getenv("INLAY_FIRST");
    const int from = first ? atoi(first) : 1;
    for (int i = 0; i < cases(CASES); i++) compare(random_net, (uint64_t)(from + i));
}

static void random_volumes(void **state)
{
    (void)state;
    for (int i = 0; i < CASES / 4; i++) compare(random_volumes_net, (uint64_t)i);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(random_nets), cmocka_unit_test(random_volumes) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
