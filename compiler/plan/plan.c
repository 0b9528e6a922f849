/* SPDX-License-Identifier: Apache-2.0
 * The stages of the plan: copies, order, pairs, schedule, offsets; cheaper plans where a limit or a
 * goal asks for them. */
#include "plan/plan.h"

#include "base/size.h"
#include "plan/copies.h"
#include "plan/forms.h"
#include "plan/frontier.h"
#include "plan/planner.h"
#include "plan/region.h"

static void clear(Program *program)
{
    for (size_t i = 0; i < program->step.n; i++) {
        program->step.at[i]->backward = false;
        for (int k = 0; k < program->step.at[i]->n_operand; k++)
            program->step.at[i]->operand[k].ring = 0;
    }
    program->plan = (Plan){ 0 };
}

static void finish(Planner *planner)
{
    clear(planner->program);
    planner->program->plan.arena_align = planner->opt->align;
    planner->program->plan.preserve_input = planner->opt->preserve_input;
    planner_place(planner);
    planner_write(planner);
}

/* Bytes beyond what was promised. */
static int64_t beyond(const Plan *plan, const PlanOptions *opt, int64_t promised)
{
    return opt->regions ? plan->region_missing : i64_max(0, plan->arena_size - promised);
}

/* The steps as they are. Where no offsets hold what the schedule promised (results over their
 * inputs stand in each other's way, or the sum of the regions holds what none of them does) a
 * schedule that keeps less alive everywhere may do. */
static void plan_steps(Program *program, const PlanOptions *opt, PlanLevel level, int64_t enough)
{
    PlanOptions options = *opt;
    options.arena_limit = enough;
    Aim aim = { .opt = &options, .level = level, .join = true };
    planner_narrow(program);
    Planner planner = planner_prepare(program, &aim);
    if (planner_widen(&planner)) {
        finish(&planner);
        if (program->plan.arena_size <= planner.schedule.peak)
            return;
        planner_narrow(program);
        planner = planner_prepare(program, &aim);
    }
    finish(&planner);
    const int64_t promised = i64_max(planner.schedule.peak, enough);
    if (planner.schedule.joined && beyond(&program->plan, opt, promised)) {
        aim.join = false; /* what a slot can spare its neighbours may not */
        planner = planner_prepare(program, &aim);
        finish(&planner);
    }
    const int64_t missing = beyond(&program->plan, opt, promised);
    if (level < PLAN_STREAM || !missing)
        return;
    Planner tight = planner_prepare_tight(program, &aim);
    finish(&tight);
    if (beyond(&program->plan, opt, promised) < missing)
        return;
    finish(&planner); /* its offsets are known */
}

static void plan_frontier(Program *program, const PlanOptions *opt, const Aim *aim)
{
    Steps form[3] = {
        { .step = { .at = program->step.at, .n = program->step.n, .room = program->step.n } }
    };
    const int forms = 1 + forms_pairs(program, aim, form + 1);
    frontier_plan(program, opt, aim->level, form, forms, plan_steps);
}

void plan_program(Program *program, const PlanOptions *opt)
{
    Arena *scratch = &program->graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    const bool curve = opt->arena_limit || opt->curve;
    const PlanLevel most = opt->goal == PLAN_SPEED && !curve ? PLAN_OVERLAP : PLAN_STREAM;
    PlanOptions lowest = *opt; /* of the steps' order and form, the same under every limit */
    lowest.level = opt->level && opt->level < most ? opt->level : most;
    lowest.arena_limit = 0;
    const Aim aim = { .opt = &lowest,
                      .level = lowest.level,
                      .walked = walked_new(scratch, program->step.n) };
    if (aim.level >= PLAN_ORDER)
        forms_affine(program, &aim);
    if (aim.level >= PLAN_ORDER)
        copies_choose(program, forms_peak, &aim);
    if (aim.level >= PLAN_ORDER)
        forms_order(program, &aim);
    if (aim.level >= PLAN_STREAM && (curve || opt->goal != PLAN_RAM)) {
        plan_frontier(program, opt, &aim);
    } else {
        if (aim.level >= PLAN_STREAM)
            forms_best_pairs(program, &aim);
        plan_steps(program, opt, aim.level, 0);
    }
    if (opt->regions)
        regions_require(&program->plan);
    arena_release(scratch, mark);
}
