/* SPDX-License-Identifier: Apache-2.0
 * The checker against damage, on nets of real kernels: streams, pairs and strips (under a limit),
 * regions, inputs and results in the arena and by rows. Each plan is changed in one place; what the
 * checker lets pass must give the same bits when it is run. INLAY_CASES: damaged plans to be
 * caught. */
#include "cases.h"
#include "random_nets.h"

#include "damage.h"

/* So many cases meet each kind of plan and of damage. */
enum { CASES = 4000, ALL_KINDS = 2000, PER_PLAN = 24 };

typedef struct Planned {
    Net net;
    Program *program;
    IoForm in, out;
    PlanOptions opt;
    uint64_t seed;
    const unsigned char *want;
} Planned;

static void lower(void *context)
{
    Planned *t = context;
    t->program = lowered_as(&t->net, random_net, t->seed, true, t->in, t->out);
}

/* False: the input cannot come as it should. */
static bool try_lower(Planned *t)
{
    Diag d = { .out = stderr, .quiet = true };
    if (!protect(&d, lower, t))
        return true;
    world_close(&t->net.w);
    return false;
}

static unsigned char *filled(Arena *a, size_t bytes, int poison)
{
    unsigned char *p = arena_alloc(a, bytes + 64);
    memset(p, poison, bytes + 64);
    return p + (64 - (uintptr_t)p % 64) % 64;
}

/* The bytes of the result, of a run in memory that is full of `poison`. */
static unsigned char *run(Planned *t, Arena *a, int poison)
{
    const Graph *g = t->net.w.graph;
    const int64_t n = tensor_count(g->input.at[0]);
    float *x = NEW_ARRAY(a, float, n);
    unsigned char *memory[4],
        *y = filled(a, (size_t)tensor_bytes(g->output.at[0]), poison);
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)((i * 7919 + 13) % 2003) / 1001.0f - 1.0f;
    for (int r = 0; r < program_regions(t->program); r++)
        memory[r] =
            filled(a, (size_t)program_region_size(t->program, r), poison);
    assert_int_equal(eval_run_in(t->program, memory, (void *const[]){ x },
                                 (void *const[]){ y }),
                     0);
    return y;
}

static bool still_right(void *context)
{
    Planned *t = context;
    const size_t bytes = (size_t)tensor_bytes(t->net.w.graph->output.at[0]);
    bool same = true;
    for (int poison = 0; same && poison < 256; poison += 255) {
        const ArenaMark mark = arena_mark(&t->net.w.arena);
        same = !memcmp(t->want, run(t, &t->net.w.arena, poison), bytes);
        arena_release(&t->net.w.arena, mark);
    }
    return same;
}

/* One of the limits that can be met, or two memories. */
static void choose_options(Planned *t, uint64_t choice)
{
    Planned first = *t;
    first.opt.curve = true;
    assert_true(try_lower(&first));
    plan_program(first.program, &first.opt);
    const Plan *p = &first.program->plan;
    if (choice % 3 == 0 && p->curve.n)
        t->opt.arena_limit = p->curve.at[choice / 3 % p->curve.n].arena;
    if (choice % 3 == 1) {
        const Region regions[] = { { "fast", p->arena_size / 32 * 16 + 64, 1 },
                                   { "slow", 1 << 22, 5 } };
        t->opt.region = arena_copy(&t->net.w.arena, regions, sizeof regions);
        t->opt.regions = 2;
    }
    world_close(&first.net.w);
}

/* What it answers with all tensors apart. */
static void expect(Planned *t, Planned *apart)
{
    *apart = *t;
    if (t->in == IO_ROWS)
        apart->in = IO_ARENA;
    assert_true(try_lower(apart));
    apart->program->plan.arena_size = eval_place_apart(apart->program);
    weights_layout(apart->program, UINT64_MAX);
    program_link(apart->program);
    t->want = run(apart, &apart->net.w.arena, 0);
}

static void plan(Planned *t)
{
    const char *why = NULL;
    plan_program(t->program, &t->opt);
    weights_layout(t->program, UINT64_MAX);
    program_link(t->program);
    if (!plan_holds(t->program, &why))
        fail_msg("seed %d, a plan as made: %s", (int)t->seed, why);
    if (!still_right(t))
        fail_msg("seed %d: bits differ", (int)t->seed);
}

static void damage_net(uint64_t seed, DamageCount *n)
{
    static const IoForm forms[] = { IO_CALLER, IO_ARENA, IO_ROWS };
    const uint64_t choice = (seed * UINT64_C(0x9E3779B97F4A7C15)) >> 32;
    Planned t = { .seed = seed,
                  .in = forms[choice % 3],
                  .out = choice / 3 % 2 ? IO_ARENA : IO_CALLER },
            apart;
    t.opt = (PlanOptions){ .align = 16,
                           .level = choice / 6 % 5 ? PLAN_STREAM : PLAN_OVERLAP,
                           .preserve_input = choice / 30 % 7 == 0,
                           .slices = t.in != IO_ROWS && choice % 4 == 0,
                           .threads = t.in != IO_ROWS && choice % 4 == 1
                                          ? 2 + (int32_t)(choice / 4 % 3)
                                          : 0 };
    if (!try_lower(&t))
        return;
    expect(&t, &apart);
    choose_options(&t, choice / 210);
    plan(&t);
    damage_note(t.program, n);
    Damage d = damage_begin(&t.net.w.arena, t.program, seed);
    const int before = n->missed;
    for (int k = 0; k < PER_PLAN; k++)
        damage_try(&d, &t.net.w.arena,
                   (DamageKind)damage_random(&d, DAMAGE_KINDS), still_right, &t,
                   n);
    if (n->missed > before)
        print_message("seed %d: %d missed\n", (int)seed, n->missed - before);
    world_close(&apart.net.w);
    world_close(&t.net.w);
}

/* Nets whose plans the checker had objected to: two strips in one stream, each of which writes some
 * columns of a result of planes. */
static const uint64_t found[] = { 3849 };

static void damaged_nets(void **state)
{
    (void)state;
    DamageCount n = { .missed = 0 };
    for (size_t i = 0; i < sizeof found / sizeof *found; i++)
        damage_net(found[i], &n);
    const char *first = getenv("INLAY_FIRST");
    for (uint64_t i = first ? strtoull(first, NULL, 10) : 1;
         damage_total(&n, n.caught) < cases(CASES); i++)
        damage_net(i, &n);
    damage_print(&n);
    assert_int_equal(n.missed, 0);
    if (cases(CASES) < ALL_KINDS)
        return;
    for (int k = 0; k < DAMAGE_KINDS; k++)
        assert_true(n.caught[k] > 0);
    for (int k = 0; k < PLAN_KINDS; k++)
        assert_true(n.with[k] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(damaged_nets) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
