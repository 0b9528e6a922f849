/* SPDX-License-Identifier: Apache-2.0
 * Schedules of all forms under one falling limit after the other; those that another one beats in
 * both bytes and work are dropped; the rest are planned in full, so that the curve holds real
 * arenas. */
#include "plan/frontier.h"

#include <stdlib.h>

#include "base/size.h"
#include "forms/pair.h"

enum { MOST_POINTS = 40 };

/* A schedule of a form. */
typedef struct Point {
    const Program *form;
    int32_t pixels;
    Items *all;
    Schedule schedule;
    int64_t cost;
    size_t found;       /* its number as they were found */
    const Trial *trial; /* planned already; NULL: not yet */
} Point;

typedef struct Frontier {
    Arena *arena;
    const PlanOptions *opt;
    PlanSteps *plan;
    VEC(Point) point;
    VEC(CurvePoint) curve; /* the points that were planned and hold */
    VEC(size_t) of;        /* by point of the curve: its number in `point` */
    int64_t macs;          /* of the steps, each made once */
    /* bytes of the plan that is made without a limit, where it is asked for; -1: it is not */
    int64_t usual;
} Frontier;

static int64_t macs_of(const Program *program)
{
    int64_t macs = 0;
    for (size_t i = 0; i < program->step.n; i++)
        macs = i64_add(macs, program->step.at[i]->macs);
    return macs;
}

/* Of nodes that compute once more what others do. */
static int64_t macs_again(const Program *program)
{
    int64_t macs = 0;
    for (size_t i = 0; i < program->step.n; i++) {
        const Step *step = program->step.at[i];
        if (step->node && step->node->again)
            macs = i64_add(macs, step->macs);
    }
    return macs;
}

static int64_t form_cost(const Program *form)
{
    int64_t cost = 0;
    for (size_t i = 0; i < form->step.n; i++)
        cost += pair_cost(form->step.at[i]);
    return cost;
}

/* The smallest schedule with the MACs of the last point, within its last hundredth. */
static void go_lowest(Frontier *frontier, Finder *finder)
{
    Point last = frontier->point.at[frontier->point.n - 1];
    const int64_t work = last.schedule.work;
    const int64_t given = last.schedule.peak;
    for (int i = 0; i < MOST_POINTS; i++) {
        Point next = last;
        if (!schedule_under(finder, last.schedule.peak - 1, &next.schedule) ||
            next.schedule.work != work)
            break;
        last = next;
    }
    last.cost = last.schedule.cost + form_cost(last.form);
    if (last.schedule.peak < given)
        VEC_PUSH(frontier->arena, &frontier->point, last);
}

/* From the cheapest schedule down, the peak falling by a hundredth at least; what computes nothing
 * twice goes to its end. */
static void list_points(Frontier *frontier, Finder *finder, Point point)
{
    int64_t limit = INT64_MAX / 8;
    int64_t work = 0;
    for (int i = 0; i < MOST_POINTS; i++) {
        const bool found = schedule_under(finder, limit, &point.schedule);
        if (i && (!found || point.schedule.work > work))
            go_lowest(frontier, finder);
        if (!found)
            return;
        work = point.schedule.work;
        point.cost = point.schedule.cost + form_cost(point.form);
        VEC_PUSH(frontier->arena, &frontier->point, point);
        limit = point.schedule.peak - point.schedule.peak / 100 - 1;
        if (limit < 1)
            return;
    }
}

/* A curve is the same for every goal, which only says which point to take. */
static PlanOptions options_of_points(const Frontier *frontier)
{
    PlanOptions opt = *frontier->opt;
    if (opt.curve)
        opt.goal = PLAN_RAM;
    return opt;
}

static void try_form(Frontier *frontier, const Program *form, int32_t pixels)
{
    Items *all = NEW(frontier->arena, Items);
    PlanOptions *opt = NEW(frontier->arena, PlanOptions);
    *opt = options_of_points(frontier);
    opt->hosts = plan_shares(opt, form);
    *all = items_find(frontier->arena, form, opt);
    opt->strips = opt->arena_limit || opt->curve;
    opt->pixels = pixels;
    const Point point = { .form = form, .pixels = pixels, .all = all };
    list_points(frontier, schedule_open(frontier->arena, all, opt), point);
}

/* The plan that is made without a limit. */
static void add_smallest(Frontier *frontier, const Trial *trial)
{
    Point point = {
        .form = trial->program,
        .schedule = trial->schedule,
        .cost = trial->schedule.cost + form_cost(trial->program),
        .trial = trial,
    };
    point.schedule.peak = trial->plan.arena_size;
    VEC_PUSH(frontier->arena, &frontier->point, point);
}

static int by_work(const void *a, const void *b)
{
    const Point *x = a;
    const Point *y = b;
    if (x->schedule.work != y->schedule.work)
        return x->schedule.work < y->schedule.work ? -1 : 1;
    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    if (x->schedule.peak != y->schedule.peak)
        return x->schedule.peak < y->schedule.peak ? -1 : 1;
    return x->found < y->found ? -1 : x->found > y->found;
}

static void keep_best(Frontier *frontier)
{
    size_t n = 0;
    int64_t peak = INT64_MAX;
    for (size_t i = 0; i < frontier->point.n; i++)
        frontier->point.at[i].found = i;
    qsort(frontier->point.at, frontier->point.n, sizeof *frontier->point.at,
          by_work);
    for (size_t i = 0; i < frontier->point.n; i++) {
        if (frontier->point.at[i].schedule.peak >= peak)
            continue;
        peak = frontier->point.at[i].schedule.peak;
        frontier->point.at[n++] = frontier->point.at[i];
    }
    frontier->point.n = n;
}

static int32_t strips_of(const Schedule *schedule)
{
    int32_t n = 0;
    for (size_t i = 0; i < schedule->slot.n; i++)
        n += schedule->slot.at[i].cut.n;
    return n;
}

/* The steps of a slot, once for each of its strips; *number counts strips. */
static void add_slot(Frontier *frontier, const Point *point, const Slot *slot,
                     Strips *strips, int32_t *number, Steps *out)
{
    Arena *arena = point->form->graph->arena;
    StripRange range;
    for (int32_t k = slot->first; !slot->cut.n && k < slot->end; k++)
        VEC_PUSH(arena, &out->step, point->form->step.at[k]);
    if (!slot->cut.n)
        return;
    if (!strips->all)
        *strips = strips_new(frontier->arena, point->all);
    strip_range(strips, slot->first, slot->end, &range);
    for (int32_t k = 0; k < slot->cut.n; k++) {
        const Columns y = strip_columns(&range, slot->cut, k);
        *number += 1;
        strip_steps(strips, arena, point->form, &range, y, *number, out);
    }
}

static Program *program_of(Frontier *frontier, const Point *point)
{
    Program *program = NEW(frontier->arena, Program);
    Steps out = { 0 };
    Strips strips = { 0 };
    int32_t number = 0;
    for (size_t i = 0; i < point->schedule.slot.n; i++)
        add_slot(frontier, point, point->schedule.slot.at + i, &strips, &number,
                 &out);
    *program = program_with_steps(point->form, out.step.at, out.step.n);
    return program;
}

static Trial plan_point(Frontier *frontier, const Point *point)
{
    PlanOptions opt = options_of_points(frontier);
    if (point->trial)
        return *point->trial;
    opt.pixels = strips_of(&point->schedule) ? 1 : point->pixels;
    return frontier->plan(program_of(frontier, point), &opt,
                          point->schedule.peak);
}

static CurvePoint curve_point(const Point *point, const Trial *trial)
{
    CurvePoint at = {
        .arena = trial->plan.arena_size,
        .macs = macs_of(trial->program),
        .cost = point->cost,
        .strips = strips_of(&point->schedule),
        .steps = (int32_t)trial->program->step.n,
    };
    for (size_t i = 0; i < trial->schedule.slot.n; i++) {
        const Slot *slot = trial->schedule.slot.at + i;
        if (trial_by_list(trial, slot))
            at.streamed += slot->end - slot->first;
    }
    return at;
}

static bool affordable(const Frontier *frontier, int32_t strips, int64_t cost)
{
    return !strips && goal_affords(frontier->opt->goal, cost, frontier->macs);
}

/* The smallest point that may be taken: all of them under a limit, else those that the goal
 * allows; the first stands for all. */
static size_t smallest(const Frontier *frontier, size_t first)
{
    const CurvePoint *curve = frontier->curve.at;
    size_t best = first;
    for (size_t i = 0; i < frontier->curve.n; i++) {
        const bool taken = frontier->opt->arena_limit ||
                           affordable(frontier, curve[i].strips, curve[i].cost);
        if (taken && curve[i].arena < curve[best].arena)
            best = i;
    }
    return best;
}

/* The cheapest that holds the limit, or the smallest. Without a limit: what is made without a
 * curve, the smallest that the goal allows, or the cheapest. */
static size_t choose(const Frontier *frontier)
{
    const CurvePoint *curve = frontier->curve.at;
    const size_t n = frontier->curve.n;
    const int64_t limit = frontier->opt->arena_limit;
    size_t first = 0;
    for (size_t i = 0; limit && i < n; i++)
        if (curve[i].arena <= limit)
            return i;
    for (size_t i = 0; !limit && i < n; i++)
        if (curve[i].arena <= frontier->usual && !curve[i].strips)
            return i;
    while (!limit && first + 1 < n && curve[first].strips)
        first++;
    return smallest(frontier, first);
}

/* Without a curve to show, only the last schedule that the goal allows is planned. */
static void keep_goal(Frontier *frontier)
{
    size_t best = 0;
    for (size_t i = 0; i < frontier->point.n; i++)
        if (affordable(frontier, strips_of(&frontier->point.at[i].schedule),
                       frontier->point.at[i].cost))
            best = i;
    frontier->point.at[0] = frontier->point.at[best];
    frontier->point.n = 1;
}

/* Does a point below take fewer MACs? */
static bool is_beaten(const Frontier *frontier, size_t point)
{
    const CurvePoint *curve = frontier->curve.at;
    const int64_t once = frontier->macs;
    for (size_t i = point + 1; i < frontier->curve.n; i++)
        if (i64_max(curve[i].macs, once) < i64_max(curve[point].macs, once))
            return true;
    return false;
}

/* Work was counted range by range, where leaving out columns that nobody reads saved nothing: so a
 * point may be useless after all. */
static void drop_beaten(Frontier *frontier)
{
    size_t kept = 0;
    for (size_t i = 0; i < frontier->curve.n; i++) {
        if (is_beaten(frontier, i))
            continue;
        frontier->curve.at[kept] = frontier->curve.at[i];
        frontier->of.at[kept++] = frontier->of.at[i];
    }
    frontier->curve.n = kept;
}

static bool has_short_rows(const Program *form)
{
    for (size_t i = 0; i < form->step.n; i++)
        if (stream_burst(form->step.at[i], STREAM_PIXELS) > 1)
            return true;
    return false;
}

static void try_forms(Frontier *frontier, const Program *form, int forms,
                      const Trial *smallest)
{
    for (int i = 0; i < forms; i++) {
        try_form(frontier, form + i, STREAM_PIXELS);
        if (has_short_rows(form + i))
            try_form(frontier, form + i, 1);
    }
    if (smallest)
        add_smallest(frontier, smallest);
    keep_best(frontier);
    if (!frontier->opt->arena_limit && !frontier->opt->curve)
        keep_goal(frontier);
}

/* Is the planned point one of the curve? Not where its schedule promised more than offsets hold;
 * where none fits the regions the last stands for all. */
static bool holds(const Frontier *frontier, const CurvePoint *at,
                  const Trial *trial, bool last)
{
    const size_t n = frontier->curve.n;
    if (n && at->arena >= frontier->curve.at[n - 1].arena)
        return false;
    return !trial->plan.region_missing || (last && !n);
}

/* Plans all points; returns the trial of the last. */
static Trial plan_points(Frontier *frontier, Arena *arena)
{
    const ArenaMark mark = arena_mark(frontier->arena);
    Trial trial;
    for (size_t i = 0; i < frontier->point.n; i++) {
        const Point *point = frontier->point.at + i;
        arena_release(frontier->arena, mark);
        trial = plan_point(frontier, point);
        const CurvePoint at = curve_point(point, &trial);
        if (!holds(frontier, &at, &trial, i + 1 == frontier->point.n))
            continue;
        VEC_PUSH(arena, &frontier->curve, at);
        VEC_PUSH(arena, &frontier->of, i);
    }
    return trial;
}

Trial frontier_plan(const Program *form, int forms, const PlanOptions *opt,
                    PlanSteps *plan, const Trial *smallest)
{
    Frontier frontier = {
        .arena = &form->graph->store->scratch,
        .opt = opt,
        .plan = plan,
        .macs = macs_of(form),
        .usual = -1,
    };
    if (smallest && opt->goal == PLAN_RAM)
        frontier.usual = smallest->plan.arena_size;
    try_forms(&frontier, form, forms, smallest);
    Trial trial = plan_points(&frontier, form->graph->arena);
    drop_beaten(&frontier);
    const size_t best = choose(&frontier);
    const size_t point = frontier.of.at[best];
    if (point != frontier.point.n - 1)
        trial = plan_point(&frontier, frontier.point.at + point);
    frontier.curve.at[best].chosen = true;
    trial.plan.curve = (CurvePoints){
        .at = frontier.curve.at,
        .n = frontier.curve.n,
        .room = frontier.curve.room,
    };
    trial.plan.macs_once = frontier.macs - macs_again(form);
    return trial;
}
