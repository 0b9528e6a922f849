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
#include "schedule/fit_known.h"
#include "schedule/order_known.h"
#include "schedule/overlap.h"

enum {
    MOST_FORMS = 12, /* that are compared at last */
    FEW_STEPS = 64   /* of which there is time for one search more */
};

/* Bytes beyond what was promised. */
static int64_t beyond(const Trial *trial, int64_t promised)
{
    if (trial->opt.regions)
        return trial->plan.region_missing;
    return i64_max(0, trial->plan.arena_size - promised);
}

static bool is_smaller(const Plan *plan, const Plan *other)
{
    if (plan->region_missing != other->region_missing)
        return plan->region_missing < other->region_missing;
    return plan->arena_size < other->arena_size;
}

/* Of trials that are to hold what was promised. */
static int64_t promised_by(const Trial *trial)
{
    const int64_t peak = items_round(&trial->all, trial->schedule.peak);
    return i64_max(peak, trial->opt.arena_limit);
}

/* Within the peak of its schedule, or at the least that is found; where it is `tried` only, what
 * takes more is of no use. */
static void place_trial(Trial *trial, bool tried)
{
    const int64_t peak = items_round(&trial->all, trial->schedule.peak);
    const bool within = tried && !trial->opt.regions;
    const Trial unplaced = *trial;
    const ArenaMark mark = arena_mark(trial->arena);
    trial_place(trial, within ? peak : 0);
    if (!within || trial->plan.arena_size > peak || trial->plan.optimal)
        return;
    arena_release(trial->arena, mark);
    *trial = unplaced;
    trial_place(trial, 0);
}

/* The pairs in streams pass as many pixels at a time as fit; false: they cannot pass more than now.
 */
static bool place_widened(const Trial *trial, Trial *wide)
{
    if (!trial_widen(trial, wide))
        return false;
    place_trial(wide, true);
    return wide->plan.arena_size <= promised_by(trial);
}

/* A schedule, and another of the same steps that keeps less alive everywhere. */
typedef struct Ways {
    Trial trial;
    Trial tight;
    bool has_tight;
} Ways;

/* Where no offsets hold what the schedule promised: results over their inputs stand in each other's
 * way, or the sum of the regions holds what none of them does. With hosts, place_steps() has
 * another way. */
static void add_tight(const Trial *scheduled, Ways *ways)
{
    PlanOptions options = scheduled->opt;
    if (options.level < PLAN_STREAM || options.hosts)
        return;
    options.join = false;
    options.tight = true;
    options.walks = NULL;
    ways->tight = trial_new(scheduled->program, &options);
    ways->has_tight = ways->tight.schedule.peak <= promised_by(scheduled);
}

/* True: one of the ways, then the only one, is placed as promised. */
static bool place_promised(const Trial *scheduled, Ways *ways)
{
    const int64_t promised = promised_by(scheduled);
    *ways = (Ways){ .trial = *scheduled };
    if (place_widened(scheduled, &ways->trial))
        return true;
    const ArenaMark mark = arena_mark(scheduled->arena);
    ways->trial = *scheduled;
    place_trial(&ways->trial, true);
    if (scheduled->schedule.joined && beyond(&ways->trial, promised)) {
        /* What a slot can spare its neighbours may not. */
        arena_release(scheduled->arena, mark);
        ways->trial = *scheduled;
        trial_unjoin(&ways->trial);
        place_trial(&ways->trial, true);
    }
    if (!beyond(&ways->trial, promised))
        return true;
    add_tight(scheduled, ways);
    if (!ways->has_tight)
        return false;
    place_trial(&ways->tight, true);
    if (beyond(&ways->tight, promised))
        return false;
    ways->trial = ways->tight;
    return true;
}

/* What is not placed as promised, at the least. */
static Trial place_least(Ways *ways)
{
    place_trial(&ways->trial, false);
    if (!ways->has_tight)
        return ways->trial;
    place_trial(&ways->tight, false);
    const bool less = is_smaller(&ways->tight.plan, &ways->trial.plan);
    return less ? ways->tight : ways->trial;
}

static Trial schedule_joined(const Program *program, const PlanOptions *opt)
{
    PlanOptions options = *opt;
    options.join = true;
    return trial_new(program, &options);
}

/* The schedule of the steps as they are, results in the place of what they are made of. */
static Trial schedule_steps(const Program *given, const PlanOptions *opt,
                            int64_t enough)
{
    const Program *program = trial_narrow(given);
    PlanOptions options = *opt;
    options.arena_limit = enough;
    options.hosts = plan_shares(opt, program) && (opt->hosts || !opt->slots);
    /* Of many steps the first schedule is to be the one: there is no room for another. */
    if (!plan_shares(opt, program))
        options.walked = NULL;
    return schedule_joined(program, &options);
}

/* Where results in the place of what they are made of are not placed as promised, each has its own
 * place, and the smaller plan is taken. */
static Trial place_steps(const Trial *scheduled)
{
    PlanOptions options = scheduled->opt;
    Ways within, apart;
    if (place_promised(scheduled, &within))
        return within.trial;
    if (options.level < PLAN_STREAM || !options.hosts)
        return place_least(&within);
    options.hosts = false;
    const Trial own = schedule_joined(scheduled->program, &options);
    if (place_promised(&own, &apart))
        return apart.trial;
    const Trial least = place_least(&within);
    const Trial other = place_least(&apart);
    return is_smaller(&other.plan, &least.plan) ? other : least;
}

static Trial plan_steps(const Program *given, const PlanOptions *opt,
                        int64_t enough)
{
    const Trial scheduled = schedule_steps(given, opt, enough);
    return place_steps(&scheduled);
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

/* Does a search take so many steps? */
static bool is_searched(const Program *program, const PlanOptions *opt)
{
    return (int64_t)program->step.n <= plan_budget(opt).search.steps &&
           !program_jumps(program);
}

/* Orders are searched again under the streams of the best form so far, then of the other forms. */
static Program search_forms(const Program *affine, const Program *given,
                            const PlanOptions *opt)
{
    Arena *arena = given->graph->arena;
    Program best = *given;
    int64_t peak;
    if (!is_searched(given, opt))
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
    if (!is_searched(given, opt))
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

/* Programs that do the same, each once. */
typedef struct Forms {
    Program at[MOST_FORMS];
    int n;
} Forms;

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

static void add_form(Forms *forms, const Program *form)
{
    for (int i = 0; i < forms->n; i++)
        if (same_steps(forms->at + i, form))
            return;
    forms->at[forms->n] = *form;
    forms->n++;
}

static void add_pairs(Forms *forms, const Program *form, const PlanOptions *opt)
{
    Program with[2];
    const int n = candidate_pairs(form, opt, with);
    for (int i = 0; i < n; i++)
        add_form(forms, with + i);
}

/* Where a search begins decides where it ends: it begins from orders that do not depend on how the
 * file lists the nodes. The steps as they are listed, where there is no search, or where they are
 * few. */
static void list_starts(const Program *program, const PlanOptions *opt,
                        Forms *starts)
{
    const bool fixed = opt->level < PLAN_ORDER || opt->as_lowered;
    if (fixed || !is_searched(program, opt)) {
        add_form(starts, program);
        return;
    }
    for (Listing listing = 0; listing < LISTINGS; listing++) {
        const Program start = candidate_listing(program, opt, listing);
        add_form(starts, &start);
    }
    if (program->step.n <= FEW_STEPS)
        add_form(starts, program);
}

/* Of each start the best form that orders were searched for, the one that it was made of, and that
 * one's pairs. */
static void list_forms(const Program *program, const PlanOptions *opt,
                       Forms *forms)
{
    Forms starts = { 0 };
    list_starts(program, opt, &starts);
    for (int i = 0; i < starts.n; i++) {
        const Program form = choose_steps(starts.at + i, opt);
        if (opt->level < PLAN_STREAM) {
            add_form(forms, &form);
            continue;
        }
        const Program with = search_pairs(&form, opt);
        add_form(forms, &with);
        add_form(forms, &form);
        add_pairs(forms, &form, opt);
    }
}

/* The form that needs least where results go to the place of what they are made of, which no
 * comparison so far has counted. */
static const Program *compare_shared(const Forms *forms, const PlanOptions *opt)
{
    PlanOptions options = *opt;
    options.hosts = plan_shares(opt, forms->at);
    const Program *best = forms->at;
    if (forms->n == 1)
        return best;
    int64_t least = trial_peak(best, &options, 0);
    for (int i = 1; i < forms->n; i++) {
        const int64_t peak = trial_peak(forms->at + i, &options, least);
        if (peak >= least)
            continue;
        least = peak;
        best = forms->at + i;
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

/* The search for a plan whose streams deal the rows of their rings slots of a pool: tables, for
 * which there must be a reason. */
typedef struct SlotSearch {
    PlanOptions opt;
    int64_t walks; /* that are left */
    int64_t below; /* bytes that a plan must not reach */
    Trial best;
    bool found;
} SlotSearch;

/* The plan of a form whose rings share pools, where it is smaller than the best so far. */
static void try_slots(SlotSearch *search, const Program *given, bool hosts)
{
    Arena *scratch = &given->graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    const Program *program = trial_narrow(given);
    PlanOptions options = slot_options(&search->opt, program, hosts);
    Ways ways;
    options.below = search->below - options.align + 1;
    options.walks = &search->walks;
    const Trial scheduled = schedule_joined(program, &options);
    if (scheduled.schedule.peak < options.below) {
        const bool promised = place_promised(&scheduled, &ways);
        const Trial slots = promised ? ways.trial : place_least(&ways);
        if (slots.plan.arena_size < search->below) {
            search->best = slots;
            search->below = slots.plan.arena_size;
            search->found = true;
            return;
        }
    }
    arena_release(scratch, mark);
}

/* Of all forms, then of all with results in the place of what they are made of, as long as there is
 * work left and the rings of the schedule may do without. */
static void plan_slots(SlotSearch *search, const Forms *forms,
                       const Trial *rings)
{
    /* The search keeps memory for each step. */
    const PlanOptions *opt = &search->opt;
    const size_t steps = forms->at->step.n;
    const bool many = (int64_t)steps > plan_budget(opt).search.steps;
    if (opt->rings || opt->regions || many || search->below <= 0)
        return;
    const int ways = has_hosts(rings) ? 2 * forms->n : forms->n;
    for (int way = 0; way < ways && search->walks > 0; way++)
        try_slots(search, forms->at + way % forms->n, way >= forms->n);
}

/* The smallest plan. That of rings that lie apart is placed only where none with slots takes less
 * than its schedule promises. */
static Trial plan_smallest(const Forms *forms, const Program *best,
                           const PlanOptions *opt)
{
    const Trial scheduled = schedule_steps(best, opt, 0);
    const int64_t promised =
        items_round(&scheduled.all, scheduled.schedule.peak);
    SlotSearch search = {
        .opt = *opt,
        .walks = plan_budget(opt).slot_walks,
        .below = promised,
    };
    search.opt.walked = opt->known->slots;
    plan_slots(&search, forms, &scheduled);
    if (search.found)
        return search.best;
    const Trial rings = place_steps(&scheduled);
    search.below = rings.plan.arena_size;
    if (search.below > promised)
        plan_slots(&search, forms, &rings);
    return search.found ? search.best : rings;
}

/* Is there a step that for speed, too, may run together with others? */
static bool streams_for_speed(const Program *program)
{
    for (size_t k = 0; k < program->step.n; k++) {
        const Step *step = program->step.at[k];
        const Tensor *made = step->n_operand ? step->operand->tensor : NULL;
        if (made && tensor_bytes(made) > PLAN_CACHE && overlap_is_free(step))
            return true;
    }
    return false;
}

static PlanLevel level_of(const Program *program, const PlanOptions *opt)
{
    const bool curve = opt->arena_limit || opt->curve;
    const bool speed = opt->goal == PLAN_SPEED && !curve;
    const bool by_layer = speed && !streams_for_speed(program);
    const PlanLevel most = by_layer ? PLAN_OVERLAP : PLAN_STREAM;
    return opt->level && opt->level < most ? opt->level : most;
}

const PlanKnown *plan_known_new(Arena *arena, size_t steps)
{
    PlanKnown *known = NEW(arena, PlanKnown);
    known->rings = walked_new(arena, steps);
    known->slots = walked_new(arena, steps);
    known->orders = orders_known_new(arena, steps);
    known->fits = fits_known_new(arena, steps);
    return known;
}

/* Those of trials, which no limit ends. */
static PlanOptions lowest_options(const Program *program,
                                  const PlanOptions *opt)
{
    Arena *scratch = &program->graph->store->scratch;
    PlanOptions lowest = *opt;
    lowest.arena_limit = 0;
    if (!opt->known)
        lowest.known = plan_known_new(scratch, program->step.n);
    lowest.walked = lowest.known->rings;
    lowest.orders = lowest.known->orders;
    lowest.fits = lowest.known->fits;
    return lowest;
}

Trial plan_find(const Program *program, const PlanOptions *given)
{
    Arena *scratch = &program->graph->store->scratch;
    PlanOptions opt = *given;
    opt.level = level_of(program, given);
    if (opt.arena_limit)
        opt.goal = PLAN_RAM;
    PlanOptions lowest = lowest_options(program, &opt);
    Forms *forms = NEW(scratch, Forms);
    list_forms(program, &lowest, forms);
    const Program *best = compare_shared(forms, &lowest);
    if (opt.level < PLAN_STREAM)
        return plan_steps(best, &opt, 0);
    const bool curve = opt.arena_limit || opt.curve;
    if (curve ? opt.regions > 0 : opt.goal == PLAN_BALANCED)
        return frontier_plan(forms->at, forms->n, &opt, plan_steps, NULL);
    if (curve)
        lowest.goal = PLAN_RAM;
    const Trial smallest = plan_smallest(forms, best, &lowest);
    if (!curve)
        return smallest;
    return frontier_plan(forms->at, forms->n, &opt, plan_steps, &smallest);
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
