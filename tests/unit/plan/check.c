/* SPDX-License-Identifier: Apache-2.0
 * The checker against damage: plans of random programs are changed in one place each, and whenever
 * the changed plan gives other results, or leaves its memory, the checker must object. It never
 * objects to the plan as it was made. INLAY_CASES: damaged plans to be caught. */
#include "cases.h"
#include "programs.h"

#include "damage.h"

enum { CASES = 20000, PER_PLAN = 24 };

typedef struct Planned {
    World w;
    const unsigned char *want;
    size_t bytes;
} Planned;

static bool still_right(void *context)
{
    Planned *t = context;
    size_t n;
    for (int poison = 0; poison < 256; poison += 165)
        if (memcmp(t->want, run_program(&t->w, poison, &n), t->bytes))
            return false;
    return true;
}

static void plan(Planned *t, uint64_t seed)
{
    PlanOptions opt = { .align = 4,
                        .level = seed % 5 ? PLAN_STREAM : PLAN_OVERLAP,
                        .preserve_input = seed % 7 == 0 };
    const char *why = NULL;
    plan_program(&t->w.program, &opt);
    const Region region[] = { { "fast",
                                t->w.program.plan.arena_size / 8 * 4 + 64, 1 },
                              { "slow", 1 << 20, 5 } };
    if (seed % 6 == 0) {
        opt.region = region;
        opt.regions = 2;
        plan_program(&t->w.program, &opt);
    }
    if (!plan_holds(&t->w.program, &why))
        fail_msg("seed %d, a plan as made: %s", (int)seed, why);
}

static void check_it(void *context)
{
    plan_check(context);
}

static Status checked(Program *program)
{
    FILE *out = tmpfile();
    Diag diag = { .out = out };
    const Status status = protect(&diag, check_it, program);
    fclose(out);
    return status;
}

static void damage_program(uint64_t seed, DamageCount *n)
{
    Planned t;
    random_program(&t.w, seed + 1000, 2 + (int)(seed % 12));
    place_apart(&t.w);
    t.want = run_program(&t.w, 0, &t.bytes);
    if (seed % 3 == 1)
        push_input(&t.w, 0);
    if (seed % 4 == 1)
        move_in(&t.w);
    plan(&t, seed);
    damage_note(&t.w.program, n);
    Damage d = damage_begin(&t.w.arena, &t.w.program, seed);
    for (int k = 0; k < PER_PLAN; k++)
        damage_try(&d, &t.w.arena, (DamageKind)damage_random(&d, DAMAGE_KINDS),
                   still_right, &t, n);
    world_close(&t.w);
}

static void damaged_plans(void **state)
{
    (void)state;
    DamageCount n = { .missed = 0 };
    for (uint64_t i = 0; damage_total(&n, n.caught) < cases(CASES); i++)
        damage_program(i, &n);
    damage_print(&n);
    assert_int_equal(n.missed, 0);
    for (int k = 0; k < DAMAGE_KINDS; k++)
        assert_true(n.caught[k] > 0);
}

/* What is wrong whatever the steps do. */
static void statements_of_the_plan(void **state)
{
    (void)state;
    static const char place[] = "the place of the run is overwritten",
                      out[] = "segments leave steps out",
                      none[] = "segments name steps that do not exist",
                      beyond[] = "a list names a step beyond its segment",
                      counters[] = "the row counters leave the arena";
    static const uint8_t list[] = { 255 };
    Planned t;
    random_program(&t.w, 1, 4);
    place_apart(&t.w);
    plan(&t, 1);
    Plan *p = &t.w.program.plan;
    const Plan right = *p;
    const int32_t n = (int32_t)t.w.program.step.n;
    const struct {
        int64_t place, bytes;
        Segment segment;
        const char *why;
    } cases[] = {
        { -1, 8, { 0 }, place },
        { p->arena_size, 8, { 0 }, place },
        { -1, 0, { .first = 1, .count = n - 1 }, out },
        { -1, 0, { .first = 0, .count = -1 }, out },
        { -1, 0, { .first = 0, .count = n - 1 }, out },
        { -1, 0, { .first = 0, .count = n + 1 }, none },
        { -1, 0, { .count = n, .list = list, .prologue = 1 }, beyond },
        { -1, 0, { .count = n, .list = list, .prologue = 1 }, counters },
        { -1, 0, { .count = n, .list = list, .prologue = 1 }, counters },
    };
    const int64_t states[] = { 0, -2, p->arena_size };
    int lists = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Segment segment = cases[i].segment;
        p->place = cases[i].place;
        p->place_bytes = cases[i].bytes;
        if (segment.list)
            p->state = states[lists++];
        if (segment.count) {
            p->segment.at = &segment;
            p->segment.n = 1;
        }
        assert_string_equal(plan_object(&t.w.program).why, cases[i].why);
        assert_int_equal(checked(&t.w.program), STATUS_INTERNAL);
        *p = right;
    }
    assert_int_equal(checked(&t.w.program), STATUS_OK);
    t.w.program.step.at[0]->units++;
    assert_non_null(plan_object(&t.w.program).operand);
    assert_int_equal(checked(&t.w.program), STATUS_INTERNAL);
    Node node = { .graph = t.w.graph, .name = "n", .op_type = "Op" };
    for (int32_t i = 0; i < n; i++)
        t.w.program.step.at[i]->node = &node;
    assert_int_equal(checked(&t.w.program), STATUS_INTERNAL);
    world_close(&t.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_plans),
        cmocka_unit_test(statements_of_the_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
