/* SPDX-License-Identifier: Apache-2.0
 * Steps in other orders and other forms; each is compared by the peak of its schedule. */
#include "plan/forms.h"

#include "base/size.h"
#include "plan/frontier.h"
#include "plan/order.h"
#include "plan/pair.h"

enum { QUICK_ORDER = 50000 };

int64_t forms_peak(Program *program, const void *context, int64_t most)
{
    Arena *scratch = &program->graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    const Aim *aim = context;
    int64_t peak = planner_peak(program, aim, most);
    const Items all = items_find(scratch, program, aim->opt);
    const Order order = order_find(scratch, &all, aim->level >= PLAN_OVERLAP, QUICK_ORDER);
    if (order.step && order.peak < order.given) {
        Step **const given = program->step.at, **step = NEW_ARRAY(scratch, Step *, program->step.n);
        for (size_t i = 0; i < program->step.n; i++)
            step[i] = given[order.step[i]];
        frontier_take(program, step, program->step.n);
        peak = i64_min(peak, planner_peak(program, aim, i64_min(most, peak)));
        frontier_take(program, given, program->step.n);
    }
    arena_release(scratch, mark);
    return peak;
}

void forms_order(Program *program, const Aim *aim)
{
    Arena *scratch = &program->graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    const Items all = items_find(scratch, program, aim->opt);
    const Order order = order_find(scratch, &all, aim->level >= PLAN_OVERLAP, 0);
    Step **const as_given = program->step.at,
                 **step =
                     order.step ? NEW_ARRAY(program->graph->arena, Step *, program->step.n) : NULL;
    for (size_t i = 0; step && i < program->step.n; i++)
        step[i] = as_given[order.step[i]];
    arena_release(scratch, mark);
    if (!step)
        return;
    const int64_t given = planner_peak(program, aim, 0);
    frontier_take(program, step, program->step.n);
    if (planner_peak(program, aim, given) >= given)
        frontier_take(program, as_given, program->step.n);
}

void forms_affine(Program *program, const Aim *aim)
{
    Step **const given = program->step.at;
    const size_t n = program->step.n;
    Steps joined;
    if (!pair_affine(program->graph->arena, program, &joined))
        return;
    const int64_t least = planner_peak(program, aim, 0);
    frontier_take(program, joined.step.at, joined.step.n);
    if (planner_peak(program, aim, least) > least)
        frontier_take(program, given, n);
}

int forms_pairs(Program *program, const Aim *aim, Steps *form)
{
    Arena *scratch = &program->graph->store->scratch;
    Steps everywhere;
    if (!pair_steps(program->graph->arena, program, NULL, &everywhere))
        return 0;
    const ArenaMark mark = arena_mark(scratch);
    const Planner now = planner_prepare(program, aim);
    bool *chosen = NEW_ARRAY(scratch, bool, program->step.n + 1);
    int n = 0;
    for (size_t i = 0; i < now.schedule.slot.n; i++)
        for (int32_t k = now.schedule.slot.at[i].first; k < now.schedule.slot.at[i].end; k++)
            chosen[k] = now.schedule.slot.at[i].stream != NULL;
    if (pair_steps(program->graph->arena, program, chosen, form))
        n++;
    form[n++] = everywhere;
    arena_release(scratch, mark);
    return n;
}

void forms_best_pairs(Program *program, const Aim *aim)
{
    Step **const given = program->step.at;
    const size_t n = program->step.n;
    Steps form[2];
    Steps *best = NULL;
    const int forms = forms_pairs(program, aim, form);
    int64_t least = forms ? planner_peak(program, aim, 0) : 0;
    for (int i = 0; i < forms; i++) {
        frontier_take(program, form[i].step.at, form[i].step.n);
        const int64_t peak = planner_peak(program, aim, least);
        if (peak < least)
            least = peak, best = form + i;
    }
    frontier_take(program, best ? best->step.at : given, best ? best->step.n : n);
}
