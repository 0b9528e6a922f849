/* SPDX-License-Identifier: Apache-2.0
 * The checker against damage: every plan is changed in one place, and whenever the changed plan gives other
 * results, or leaves the arena, the checker must object. It never objects to the plan as it was made.
 * INLAY_CASES: damaged plans. */
#include "programs.h"

enum { CASES = 20000, PER_PLAN = 24 };

typedef struct Damage {
    int caught, harmless, missed;
} Damage;

static Step *any_step(World *w) { return w->program.step.at[rnd(w, (uint32_t)w->program.step.n)]; }

static Operand *arena_operand(World *w)
{
    for (int tries = 0; tries < 50; tries++) {
        Step *s = any_step(w);
        Operand *o = s->operand + rnd(w, (uint32_t)s->n_operand);
        if (o->tensor && o->ref.base == INLAY_ARENA) return o;
    }
    return NULL;
}

/* All operands on one tensor move by `by` bytes. */
static void move_tensor(World *w, const Tensor *t, int64_t by)
{
    for (size_t i = 0; i < w->program.step.n; i++)
        for (int k = 0; k < w->program.step.at[i]->n_operand; k++) {
            Operand *o = w->program.step.at[i]->operand + k;
            if (o->tensor == t) o->ref.off = (size_t)((int64_t)o->ref.off + by);
        }
}

static void shorten_ring(World *w, const Tensor *t)
{
    for (size_t i = 0; i < w->program.step.n; i++)
        for (int k = 0; k < w->program.step.at[i]->n_operand; k++) {
            Operand *o = w->program.step.at[i]->operand + k;
            if (o->tensor == t && o->ref.cap > 1) o->ref.cap--;
        }
}

static bool swap_entries(World *w)
{
    Plan *p = &w->program.plan;
    for (int tries = 0; tries < 20 && p->segment.n; tries++) {
        Segment *g = p->segment.at + rnd(w, (uint32_t)p->segment.n);
        const int32_t n = g->prologue + g->period + g->epilogue;
        if (!g->list || n < 2) continue;
        uint8_t *list = arena_copy(&w->arena, g->list, (size_t)n);
        const uint32_t i = rnd(w, (uint32_t)n - 1);
        if (list[i] == list[i + 1]) continue;
        const uint8_t t = list[i];
        list[i] = list[i + 1], list[i + 1] = t;
        g->list = list;
        return true;
    }
    return false;
}

static bool damage(World *w)
{
    Operand *o = arena_operand(w);
    if (!o) return false;
    switch (rnd(w, 6)) {
    case 5:
        if (w->program.plan.place < 4 || !w->program.plan.segment.n) return false;
        w->program.plan.place += rnd(w, 2) ? 4 : -4;
        w->program.plan.state = w->program.plan.place + (program_pushed(&w->program) ? PLACE_BYTES : 0);
        return true;
    case 0: move_tensor(w, o->tensor, o->ref.off >= 4 && rnd(w, 2) ? -4 : 4); return true;
    case 1: shorten_ring(w, o->tensor); return true;
    case 2: { Step *s = any_step(w); s->backward = !s->backward; return true; }
    case 3: return swap_entries(w);
    default: o->ref.off += 4; return true;
    }
}

/* Does the program, as damaged, still compute the same in an arena with guards? */
static bool still_right(World *w, const unsigned char *want, size_t bytes)
{
    for (size_t i = 0; i < w->program.step.n; i++)
        for (int k = 0; k < w->program.step.at[i]->n_operand; k++) {
            const Operand *o = w->program.step.at[i]->operand + k;
            if (!o->tensor || o->ref.base != INLAY_ARENA) continue;
            if (w->program.step.at[i]->pushed && !program_rows(&w->program, w->program.step.at[i])) continue;      /* no row is wanted */
            const int64_t beside = o->part ? 4 * (o->pixel - o->part) : 0;      /* other parts of the last pixel */
            const int64_t end = (int64_t)o->ref.off + (o->ref.cap - 1) * (int64_t)o->ref.row + o->row_bytes - beside;
            if (end > w->program.plan.arena_size) return false;
        }
    for (size_t i = 0; i < w->program.plan.segment.n; i++)
        if (w->program.plan.segment.at[i].list && w->program.plan.state + 2 * w->program.plan.segment.at[i].count > w->program.plan.arena_size) return false;
    for (int poison = 0; poison < 256; poison += 165) {
        size_t n;
        if (memcmp(want, run_program(w, poison, &n), bytes)) return false;
    }
    return true;
}

static void damage_plan(World *w, const unsigned char *want, size_t bytes, Damage *d)
{
    const PlanOptions opt = { .align = 4, .level = PLAN_STREAM };
    plan_program(&w->program, &opt);
    const char *why = NULL;
    if (!plan_holds(&w->program, &why)) fail_msg("a plan as made: %s", why);
    if (!damage(w)) return;
    if (!plan_holds(&w->program, NULL)) d->caught++;
    else if (still_right(w, want, bytes)) d->harmless++;
    else d->missed++;
}

static void damaged_plans(void **state)
{
    (void)state;
    Damage d = { 0, 0, 0 };
    const char *n = getenv("INLAY_CASES");
    const int cases = n ? atoi(n) : CASES;
    for (int i = 0; d.caught + d.harmless + d.missed < cases && i < cases; i++) {
        World w;
        random_program(&w, (uint64_t)i + 1000, 2 + i % 12);
        size_t bytes;
        place_apart(&w);
        const unsigned char *want = run_program(&w, 0, &bytes);
        if (i % 3 == 1) push_input(&w, 0);
        if (i % 4 == 1) move_in(&w);
        for (int k = 0; k < PER_PLAN; k++) damage_plan(&w, want, bytes, &d);
        world_close(&w);
    }
    print_message("%d caught, %d harmless, %d missed\n", d.caught, d.harmless, d.missed);
    assert_int_equal(d.missed, 0);
    assert_true(d.caught > cases / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(damaged_plans) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
