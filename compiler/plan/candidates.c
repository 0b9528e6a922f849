/* SPDX-License-Identifier: Apache-2.0
 * Candidates are compared by the peak of their schedules, before offsets are looked for. */
#include "plan/candidates.h"

#include "base/size.h"
#include "forms/pair.h"
#include "plan/trial.h"
#include "schedule/order.h"

static Arena *scratch_of(const Program *program)
{
    return &program->graph->store->scratch;
}

static Order find_order(const Program *program, const PlanOptions *opt,
                        int64_t work)
{
    Arena *scratch = scratch_of(program);
    const bool by_row = opt->level >= PLAN_OVERLAP;
    const Items all = items_find(scratch, program, opt);
    return order_find(scratch, &all, by_row, work, opt->orders, opt->walked);
}

/* The steps in that order, listed in `arena`. */
static Program in_order(Arena *arena, const Program *program,
                        const Order *order)
{
    const size_t n = program->step.n;
    Step **step = NEW_ARRAY(arena, Step *, n + 1);
    for (size_t i = 0; i < n; i++)
        step[i] = program->step.at[order->step[i]];
    return program_with_steps(program, step, n);
}

int64_t candidate_peak(const Program *program, const void *context,
                       int64_t below)
{
    const PlanOptions *opt = context;
    Arena *scratch = scratch_of(program);
    const ArenaMark mark = arena_mark(scratch);
    int64_t peak = trial_peak(program, opt, below);
    const Order order = find_order(program, opt, plan_budget(opt).quick_order);
    if (order.step && order.peak < order.given) {
        const Program other = in_order(scratch, program, &order);
        const int64_t least = trial_peak(&other, opt, i64_min(below, peak));
        peak = i64_min(peak, least);
    }
    arena_release(scratch, mark);
    return peak;
}

Program candidate_listing(const Program *program, const PlanOptions *opt,
                          Listing listing)
{
    Arena *scratch = scratch_of(program);
    const ArenaMark mark = arena_mark(scratch);
    const Items all = items_find(scratch, program, opt);
    const OrderProblem problem = order_problem(scratch, &all, false, NULL);
    const Order order = {
        .step = order_listing(scratch, &all, &problem, listing),
    };
    const Program other = in_order(program->graph->arena, program, &order);
    arena_release(scratch, mark);
    return other;
}

Program candidate_order(const Program *program, const PlanOptions *opt)
{
    Arena *scratch = scratch_of(program);
    const ArenaMark mark = arena_mark(scratch);
    const Order order = find_order(program, opt, plan_budget(opt).order);
    Program other = *program;
    if (order.step)
        other = in_order(program->graph->arena, program, &order);
    arena_release(scratch, mark);
    if (!order.step)
        return *program;
    const int64_t given = trial_peak(program, opt, 0);
    return trial_peak(&other, opt, given) < given ? other : *program;
}

Program candidate_affine(const Program *program, const PlanOptions *opt)
{
    Steps joined;
    if (!pair_affine(program->graph->arena, program, &joined))
        return *program;
    const Program other =
        program_with_steps(program, joined.step.at, joined.step.n);
    const int64_t given = trial_peak(program, opt, 0);
    return trial_peak(&other, opt, given + 1) > given ? *program : other;
}

/* Which steps the schedule so far puts into streams. */
static bool *list_streamed(const Program *program, const PlanOptions *opt)
{
    const Trial trial = trial_new(program, opt);
    bool *streamed = NEW_ARRAY(trial.arena, bool, program->step.n + 1);
    for (size_t i = 0; i < trial.schedule.slot.n; i++) {
        const Slot *slot = trial.schedule.slot.at + i;
        for (int32_t k = slot->first; k < slot->end; k++)
            streamed[k] = slot->stream != NULL;
    }
    return streamed;
}

int candidate_pairs(const Program *program, const PlanOptions *opt,
                    Program *with)
{
    Arena *arena = program->graph->arena;
    Arena *scratch = scratch_of(program);
    Steps everywhere, inside;
    int n = 0;
    if (!pair_steps(arena, program, NULL, &everywhere))
        return 0;
    const ArenaMark mark = arena_mark(scratch);
    if (pair_steps(arena, program, list_streamed(program, opt), &inside))
        with[n++] = program_with_steps(program, inside.step.at, inside.step.n);
    with[n++] =
        program_with_steps(program, everywhere.step.at, everywhere.step.n);
    arena_release(scratch, mark);
    return n;
}

Program candidate_best_pairs(const Program *program, const PlanOptions *opt)
{
    Program with[2];
    const int n = candidate_pairs(program, opt, with);
    const Program *best = program;
    int64_t least = n ? trial_peak(program, opt, 0) : 0;
    for (int i = 0; i < n; i++) {
        const int64_t peak = trial_peak(with + i, opt, least);
        if (peak >= least)
            continue;
        least = peak;
        best = with + i;
    }
    return *best;
}
