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
    const Order o = order_find(scratch, &all, aim->level >= PLAN_OVERLAP, QUICK_ORDER);
    if (o.step && o.peak < o.given) {
        Step **const given = program->step.at, **step = NEW_ARRAY(scratch, Step *, program->step.n);
        for (size_t i = 0; i < program->step.n; i++)
            step[i] = given[o.step[i]];
        frontier_take(program, step, program->step.n);
        peak = i64_min(peak, planner_peak(program, aim, i64_min(most, peak)));
        frontier_take(program, given, program->step.n);
    }
    arena_release(scratch, mark);
    return peak;
}

void forms_order(Program *p, const Aim *aim)
{
    Arena *scratch = &p->graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    const Items all = items_find(scratch, p, aim->opt);
    const Order o = order_find(scratch, &all, aim->level >= PLAN_OVERLAP, 0);
    Step **const as_given = p->step.at,
                 **step = o.step ? NEW_ARRAY(p->graph->arena, Step *, p->step.n) : NULL;
    for (size_t i = 0; step && i < p->step.n; i++)
        step[i] = as_given[o.step[i]];
    arena_release(scratch, mark);
    if (!step)
        return;
    const int64_t given = planner_peak(p, aim, 0);
    frontier_take(p, step, p->step.n);
    if (planner_peak(p, aim, given) >= given)
        frontier_take(p, as_given, p->step.n);
}

void forms_affine(Program *p, const Aim *aim)
{
    Step **const given = p->step.at;
    const size_t n = p->step.n;
    Steps joined;
    if (!pair_affine(p->graph->arena, p, &joined))
        return;
    const int64_t least = planner_peak(p, aim, 0);
    frontier_take(p, joined.step.at, joined.step.n);
    if (planner_peak(p, aim, least) > least)
        frontier_take(p, given, n);
}

int forms_pairs(Program *p, const Aim *aim, Steps *form)
{
    Arena *scratch = &p->graph->store->scratch;
    Steps everywhere;
    if (!pair_steps(p->graph->arena, p, NULL, &everywhere))
        return 0;
    const ArenaMark mark = arena_mark(scratch);
    const Planner now = planner_prepare(p, aim);
    bool *chosen = NEW_ARRAY(scratch, bool, p->step.n + 1);
    int n = 0;
    for (size_t i = 0; i < now.schedule.slot.n; i++)
        for (int32_t k = now.schedule.slot.at[i].first; k < now.schedule.slot.at[i].end; k++)
            chosen[k] = now.schedule.slot.at[i].stream != NULL;
    if (pair_steps(p->graph->arena, p, chosen, form))
        n++;
    form[n++] = everywhere;
    arena_release(scratch, mark);
    return n;
}

void forms_best_pairs(Program *p, const Aim *aim)
{
    Step **const given = p->step.at;
    const size_t n = p->step.n;
    Steps form[2], *best = NULL;
    const int forms = forms_pairs(p, aim, form);
    int64_t least = forms ? planner_peak(p, aim, 0) : 0;
    for (int i = 0; i < forms; i++) {
        frontier_take(p, form[i].step.at, form[i].step.n);
        const int64_t peak = planner_peak(p, aim, least);
        if (peak < least)
            least = peak, best = form + i;
    }
    frontier_take(p, best ? best->step.at : given, best ? best->step.n : n);
}
