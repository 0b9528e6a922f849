/* SPDX-License-Identifier: Apache-2.0
 * The stages of the plan: copies, order, pairs, schedule, offsets; cheaper plans where a limit or a
 * goal asks for them. */
#include "plan/plan.h"

#include "base/size.h"
#include "forms/copies.h"
#include "plan/candidates.h"
#include "plan/frontier.h"
#include "plan/orders.h"
#include "plan/regions.h"
#include "plan/trial.h"
#include "prove/schedules.h"

/* That are compared at last. */
enum { MOST_FORMS = 4 };

/* Bytes beyond what was promised. */
static int64_t beyond(const Trial *trial, int64_t promised)
{
    if (trial->opt.regions)
        return trial->plan.region_missing;
    return i64_max(0, trial->plan.arena_size - promised);
}

static Trial trial_placed(const Program *program, const PlanOptions *opt)
{
    Trial trial = trial_new(program, opt);
    trial_place(&trial);
    return trial;
}

/* The pairs in streams pass as many pixels at a time as fit; false: they cannot pass more than now.
 */
static bool place_widened(const Trial *trial, Trial *wide)
{
    if (!trial_widen(trial, wide))
        return false;
    trial_place(wide);
    return wide->plan.arena_size <= wide->schedule.peak;
}

/* Where no offsets hold what the schedule promised (results over their inputs stand in each other's
 * way, or the sum of the regions holds what none of them does) a schedule that keeps less alive
 * everywhere may do; with hosts, plan_steps() has another way. */
static Trial plan_schedule(const Program *program, const PlanOptions *opt,
                           int64_t *missing)
{
    Arena *scratch = &program->graph->store->scratch;
    PlanOptions options = *opt;
    options.join = true;
    Trial trial = trial_new(program, &options);
    const Trial scheduled = trial;
    const ArenaMark mark = arena_mark(scratch);
    Trial wide;
    *missing = 0;
    if (place_widened(&trial, &wide))
        return wide;
    trial_place(&trial);
    const int64_t promised = i64_max(trial.schedule.peak, opt->arena_limit);
    if (trial.schedule.joined && beyond(&trial, promised)) {
        /* What a slot can spare its neighbours may not. */
        arena_release(scratch, mark);
        trial = scheduled;
        trial_unjoin(&trial);
        trial_place(&trial);
    }
    *missing = beyond(&trial, promised);
    if (opt->level < PLAN_STREAM || opt->hosts || !*missing)
        return trial;
    options.join = false;
    options.tight = true;
    const Trial tight = trial_placed(program, &options);
    return beyond(&tight, promised) < *missing ? tight : trial;
}

static bool is_smaller(const Plan *plan, const Plan *other)
{
    if (plan->region_missing != other->region_missing)
        return plan->region_missing < other->region_missing;
    return plan->arena_size < other->arena_size;
}

/* The steps as they are. Where results in the place of what they are made of are not placed as
 * promised, each has its own place, and the smaller plan is taken. */
static Trial plan_steps(const Program *given, const PlanOptions *opt,
                        int64_t enough)
{
    const Program *program = trial_narrow(given);
    int64_t missing;
    PlanOptions options = *opt;
    options.arena_limit = enough;
    options.walked = NULL;
    options.hosts = plan_shares(opt, program) && (opt->hosts || !opt->slots);
    const Trial within = plan_schedule(program, &options, &missing);
    if (opt->level < PLAN_STREAM || !missing || !options.hosts)
        return within;
    options.hosts = false;
    const Trial apart = plan_schedule(program, &options, &missing);
    return is_smaller(&apart.plan, &within.plan) ? apart : within;
}

/* Takes the other program where it has, with its pairs, the lower peak. */
static void keep_better(Program *best, int64_t *least, const Program *other,
                        const PlanOptions *opt)
{
    const Program with = candidate_best_pairs(other, opt);
    const int64_t peak = trial_peak(&with, opt, *least);
    if (peak >= *least)
        return;
    *best = *other;
    *least = peak;
}

/* The program in the order that is best under the streams of a schedule; *peak: what it needs. */
static Program search_order(const Program *program, const PlanOptions *opt,
                            int64_t *peak)
{
    Arena *arena = program->graph->arena;
    PlanWork work = plan_budget(opt).search;
    int32_t *order = NEW_ARRAY(arena, int32_t, program->step.n + 1);
    *peak = orders_search(program, opt, &work, order);
    return orders_program(arena, program, order);
}

/* The order of form k of the copies whose peak is below `least`; NULL: there is no such form, or no
 * such order. Forms are many, and large where concatenations are: only the result stays. */
static int32_t *order_of_form(const Program *affine, int k,
                              const PlanOptions *opt, int64_t least)
{
    Arena *scratch = &affine->graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    PlanWork work = plan_budget(opt).search;
    Program form;
    int32_t *order = NULL;
    if (copies_all(scratch, affine, k, &form)) {
        order = NEW_ARRAY(affine->graph->arena, int32_t, form.step.n + 1);
        if (orders_search(&form, opt, &work, order) >= least)
            order = NULL;
    }
    arena_release(scratch, mark);
    return order;
}

/* Orders are searched again under the streams of the best form so far, then of the other forms. */
static Program search_forms(const Program *affine, const Program *given,
                            const PlanOptions *opt)
{
    Arena *arena = given->graph->arena;
    Program best = *given;
    int64_t peak;
    if ((int64_t)given->step.n > plan_budget(opt).search.steps ||
        program_jumps(given))
        return best;
    const Program with = candidate_best_pairs(given, opt);
    int64_t least = trial_peak(&with, opt, 0);
    const Program again = search_order(given, opt, &peak);
    keep_better(&best, &least, &again, opt);
    for (int k = 0; k < COPIES_WAYS; k++) {
        const int32_t *order = order_of_form(affine, k, opt, least);
        Program form;
        if (!order || !copies_all(arena, affine, k, &form))
            continue;
        const Program other = orders_program(arena, &form, order);
        keep_better(&best, &least, &other, opt);
    }
    return best;
}

/* The order and form of the steps, the same under every limit. */
static Program choose_steps(const Program *given, const PlanOptions *opt)
{
    if (opt->level < PLAN_ORDER)
        return *given;
    if (opt->as_lowered)
        return candidate_order(given, opt);
    const int64_t work = plan_budget(opt).copies;
    const Program affine = candidate_affine(given, opt);
    const Program copied = copies_choose(&affine, candidate_peak, opt, work);
    const Program ordered = candidate_order(&copied, opt);
    return search_forms(&affine, &ordered, opt);
}

/* The best of the program and the same with pairs, whose orders are searched again. */
static Program search_pairs(const Program *given, const PlanOptions *opt)
{
    Program with[2];
    const int n = candidate_pairs(given, opt, with);
    Program best = candidate_best_pairs(given, opt);
    if ((int64_t)given->step.n > plan_budget(opt).search.steps ||
        program_jumps(given))
        return best;
    int64_t least = n ? trial_peak(&best, opt, 0) : 0;
    for (int i = 0; i < n; i++) {
        int64_t peak;
        const Program other = search_order(with + i, opt, &peak);
        if (peak >= least)
            continue;
        least = peak;
        best = other;
    }
    return best;
}

static bool same_steps(const Program *program, const Program *other)
{
    const size_t n = program->step.n;
    if (other->step.n != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (program->step.at[i] != other->step.at[i])
            return false;
    return true;
}

/* Of the best form that orders were searched for, the one that it was made of, and that one's pairs
 * (form[0], form[1], and from form[2] on): the one that needs least where results go to the place
 * of what they are made of, which no comparison so far has counted. */
static const Program *compare_shared(Program *form, const PlanOptions *opt)
{
    PlanOptions options = *opt;
    options.walked = NULL;
    options.hosts = plan_shares(opt, form);
    const Program *best = form;
    if (!options.hosts)
        return best;
    const int n = 2 + candidate_pairs(form + 1, opt, form + 2);
    if (n == 2 && same_steps(form, form + 1))
        return best;
    int64_t least = trial_peak(form, &options, 0);
    for (int i = 1; i < n; i++) {
        const int64_t peak = trial_peak(form + i, &options, least);
        if (peak >= least)
            continue;
        least = peak;
        best = form + i;
    }
    return best;
}

/* How the rings of streams may share memory: rows in slots, and results in the place of what they
 * are made of or not. */
static PlanOptions slot_options(const PlanOptions *opt, const Program *program,
                                bool hosts)
{
    PlanOptions options = *opt;
    options.slots = true;
    options.hosts = hosts && plan_shares(opt, program);
    return options;
}

static bool has_hosts(const Trial *trial)
{
    for (size_t i = 0; i < trial->all.item.n; i++)
        if (trial->all.item.at[i].host)
            return true;
    return false;
}

/* A form whose rings share pools. */
typedef struct Dealt {
    const Program *program; /* NULL: none is smaller */
    bool hosts;
} Dealt;

/* Which of two forms needs least, and less than the plan whose rings lie apart. */
static Dealt choose_dealt(const Program *form, const PlanOptions *opt,
                          const Trial *rings)
{
    Dealt best = { 0 };
    int64_t least = rings->plan.arena_size;
    int64_t walks = plan_budget(opt).slot_walks;
    const int ways = same_steps(form, form + 1) ? 2 : 4;
    for (int way = 0; way < ways && !opt->regions; way++) {
        const Program *program = form + way / 2;
        const bool hosts = way % 2;
        if (hosts && !has_hosts(rings))
            continue;
        PlanOptions options = slot_options(opt, program, hosts);
        options.walks = &walks;
        const int64_t peak = trial_peak(program, &options, least - 1);
        if (peak >= least)
            continue;
        least = peak;
        best = (Dealt){ program, hosts };
    }
    return best;
}

/* The plan of a form whose streams deal the rows of their rings slots of a pool, where it is
 * smaller than one whose rings lie apart: tables, for which there must be a reason. */
static Trial plan_slots(const Program *form, const PlanOptions *given,
                        const Trial *rings)
{
    /* The search keeps memory for each step. */
    const bool many = (int64_t)form->step.n > plan_budget(given).search.steps;
    PlanOptions own = *given;
    int64_t missing;
    if (given->rings || many)
        return *rings;
    own.walked = walked_new(rings->arena, form->step.n);
    const Dealt best = choose_dealt(form, &own, rings);
    if (!best.program)
        return *rings;
    const Program *narrow = trial_narrow(best.program);
    const PlanOptions options = slot_options(&own, narrow, best.hosts);
    const Trial slots = plan_schedule(narrow, &options, &missing);
    return is_smaller(&slots.plan, &rings->plan) ? slots : *rings;
}

static PlanLevel level_of(const PlanOptions *opt)
{
    const bool curve = opt->arena_limit || opt->curve;
    const bool by_layer = opt->goal == PLAN_SPEED && !curve;
    const PlanLevel most = by_layer ? PLAN_OVERLAP : PLAN_STREAM;
    return opt->level && opt->level < most ? opt->level : most;
}

Trial plan_find(const Program *program, const PlanOptions *given)
{
    Arena *scratch = &program->graph->store->scratch;
    PlanOptions opt = *given;
    opt.level = level_of(given);
    if (opt.arena_limit)
        opt.goal = PLAN_RAM;
    PlanOptions lowest = opt;
    lowest.arena_limit = 0;
    lowest.walked = walked_new(scratch, program->step.n);
    Program *form = NEW_ARRAY(scratch, Program, MOST_FORMS);
    form[0] = choose_steps(program, &lowest);
    if (opt.level < PLAN_STREAM)
        return plan_steps(form, &opt, 0);
    if (opt.arena_limit || opt.curve || opt.goal != PLAN_RAM) {
        const int pairs = candidate_pairs(form, &lowest, form + 1);
        return frontier_plan(form, 1 + pairs, &opt, plan_steps);
    }
    form[1] = form[0];
    form[0] = search_pairs(form, &lowest);
    const Trial rings = plan_steps(compare_shared(form, &lowest), &opt, 0);
    return plan_slots(form, &lowest, &rings);
}

void plan_program(Program *program, const PlanOptions *opt)
{
    Arena *scratch = &program->graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    const Trial found = plan_find(program, opt);
    trial_apply(&found, program);
    program->plan.bound_schedules = schedules_bound(program);
    if (opt->regions)
        regions_require(&program->plan);
    arena_release(scratch, mark);
}
