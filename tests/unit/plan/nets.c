/* SPDX-License-Identifier: Apache-2.0
 * Random nets of image operators with the real kernels: whatever passes and planner make of a net
 * (fused, streamed, overlapped, read and written in place), the answer is that of the same steps
 * with all tensors apart, bit for bit, and that of the net as it is written but for rounding. */
#include "cases.h"
#include "random_nets.h"

#include "base/size.h"
#include "kernels/dwpw_f32.h"
#include "plan/trial.h"

enum { CASES = 400 };

static float *answer(Net *t, Program *p, int64_t *count)
{
    const Tensor *x = t->w.graph->input.at[0];
    *count = tensor_count(t->w.graph->output.at[0]);
    float *in = NEW_ARRAY(&t->w.arena, float, tensor_count(x)),
          *out = NEW_ARRAY(&t->w.arena, float, *count + 1);
    for (int64_t i = 0; i < tensor_count(x); i++)
        in[i] = (float)((i * 7919 + 13) % 2003) / 1001.0f - 1.0f;
    for (int64_t i = 0; i < *count; i++)
        out[i] = 12345.0f;
    weights_layout(p, UINT64_MAX);
    program_link(p);
    assert_int_equal(eval_run(p, (void *const[]){ in }, (void *const[]){ out }),
                     0);
    return out;
}

static float *planned(MakeNet *make, uint64_t seed, PlanLevel level, Net *t,
                      int64_t *count)
{
    Program *p = lowered(t, make, seed, true);
    const PlanOptions opt = { .align = 16,
                              .level = level,
                              .pixels = seed % 3 ? 0 : 1 };
    const char *why = NULL;
    if (seed % 2 && level > PLAN_SIMPLE)
        elide_some(t, p);
    plan_program(p, &opt);
    if (!plan_holds(p, &why))
        fail_msg("seed %d, level %d: %s", (int)seed, (int)level, why);
    return answer(t, p, count);
}

static void compare(MakeNet *make, uint64_t seed)
{
    Net plain, apart, net;
    int64_t n, m;
    Program *p = lowered(&plain, make, seed, false),
            *q = lowered(&apart, make, seed, true);
    p->plan.arena_size = eval_place_apart(p);
    q->plan.arena_size = eval_place_apart(q);
    const float *want = answer(&plain, p, &n), *exact = answer(&apart, q, &m);
    assert_int_equal(n, m);
    for (int64_t i = 0; i < n; i++)
        if (!(fabsf(want[i] - exact[i]) <= 2e-4f * (1.0f + fabsf(want[i]))))
            fail_msg("seed %d: element %d is %g, as written %g", (int)seed,
                     (int)i, (double)exact[i], (double)want[i]);
    for (int level = PLAN_SIMPLE; level <= PLAN_STREAM; level++) {
        const float *got = planned(make, seed, (PlanLevel)level, &net, &m);
        if (memcmp(exact, got, (size_t)n * sizeof *got))
            fail_msg("seed %d, level %d: bits differ", (int)seed, level);
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
    for (int i = 0; i < cases(CASES); i++)
        compare(random_net, (uint64_t)(from + i));
}

static void random_signals(void **state)
{
    (void)state;
    const char *first = getenv("INLAY_FIRST");
    const int from = first ? atoi(first) : 1;
    for (int i = 0; i < cases(CASES); i++)
        compare(random_signal, (uint64_t)(from + i));
}

static void random_volumes(void **state)
{
    (void)state;
    for (int i = 0; i < CASES / 4; i++)
        compare(random_volumes_net, (uint64_t)i);
}

/* Depthwise and 1x1 convolutions in turn, over rows of many pixels. */
static void pairs_net(Net *t, uint64_t seed)
{
    memset(t, 0, sizeof *t);
    t->random = seed + 88172645463325252u;
    world_open(&t->w);
    int64_t c = 4 + 4 * (int64_t)rnd(t, 2);
    const int64_t dims[] = { 1, c, 24, 30 + rnd(t, 18) },
                  pads[] = { 1, 1, 1, 1 };
    Tensor *x = input(&t->w, 4, dims);
    for (int i = 0; i < 3; i++) {
        const int64_t deep[] = { c, 1, 3, 3 }, flat[] = { 2 * c, c, 1, 1 };
        x = op(&t->w, "Conv", x, floats(t, 4, deep, 0.3f, 0.0f), NULL);
        node_set_ints(x->producer, "pads", 4, pads);
        node_set_int(x->producer, "group", c);
        x = op(&t->w, "Conv", unary(&t->w, "Relu", x),
               floats(t, 4, flat, 0.3f, 0.0f), NULL);
        c *= 2;
    }
    x = unary(&t->w, "Relu", x);
    finish(&t->w, unary(&t->w, "GlobalAveragePool", x));
}

/* The pairs of a stream take turns with one scratch: each passes as many pixels through it as it
 * holds. */
static void pairs_fill_scratch(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        Net t;
        compare(pairs_net, seed);
        Program *p = lowered(&t, pairs_net, seed, true);
        plan_program(p, &(PlanOptions){ .align = 16, .rings = true });
        assert_int_equal(p->plan.arena_size, p->plan.lower_bound);
        int64_t most = 0, pairs = 0, whole = 0;
        for (size_t i = 0; i < p->step.n; i++) {
            const Operand *last =
                p->step.at[i]->operand + p->step.at[i]->n_operand - 1;
            if (last->scratch)
                most = i64_max(most, last->row_bytes);
        }
        for (size_t i = 0; i < p->step.n; i++) {
            if (strcmp(p->step.at[i]->kernel->name, "dwpw_f32"))
                continue;
            const inlay_dwpw_params *q = p->step.at[i]->params;
            pairs++;
            whole += q->chunk == q->ow;
            assert_true(q->chunk == q->ow ||
                        (q->chunk + 12) * q->channels * 4 > most);
        }
        assert_int_equal(pairs, 3);
        assert_true(whole >= 1);
        world_close(&t.w);
    }
}

static uint64_t mixed(uint64_t sum, const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < n; i++)
        sum = (sum ^ at[i]) * 0x100000001b3u;
    return sum;
}

/* All that a plan could change of a program's steps and tensors. */
static uint64_t image_of(const Program *p)
{
    uint64_t sum = p->step.n * 31 + p->weight.n;
    for (size_t i = 0; i < p->step.n; i++) {
        const Step *s = p->step.at[i];
        sum = mixed(sum, &s, sizeof s);
        sum = mixed(sum, s, sizeof *s);
        sum = mixed(sum, s->params, s->kernel->params_size);
        for (int k = 0; k < s->n_operand; k++) {
            sum = mixed(sum, s->operand + k, sizeof *s->operand);
            if (s->operand[k].tensor)
                sum = mixed(sum, s->operand[k].tensor, sizeof(Tensor));
        }
    }
    return sum;
}

/* A plan is a value: whatever is tried, the program is as it was, and the same plan is found. */
static void nothing_is_changed(void **state)
{
    static MakeNet *const make[] = { random_net, random_signal, pairs_net };
    (void)state;
    for (uint64_t seed = 1; seed <= 24; seed++) {
        Net t;
        Program *p = lowered(&t, make[seed % 3], seed, true);
        const PlanOptions opt = { .align = 16,
                                  .curve = seed % 4 == 0,
                                  .arena_limit = seed % 5 ? 0 : 2000 };
        const uint64_t before = image_of(p);
        const Trial first = plan_find(p, &opt);
        assert_true(image_of(p) == before);
        const Trial again = plan_find(p, &opt);
        assert_int_equal(first.plan.arena_size, again.plan.arena_size);
        plan_program(p, &opt);
        assert_int_equal(first.plan.arena_size, p->plan.arena_size);
        assert_true(image_of(p) != before);
        world_close(&t.w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(random_nets),
                                        cmocka_unit_test(nothing_is_changed),
                                        cmocka_unit_test(random_signals),
                                        cmocka_unit_test(random_volumes),
                                        cmocka_unit_test(pairs_fill_scratch) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
