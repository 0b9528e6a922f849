/* SPDX-License-Identifier: Apache-2.0
 * Schedules of all forms under one falling limit after the other; those that another one beats in
 * both bytes and work are dropped; the rest are planned in full, so that the curve holds real
 * arenas. */
#include "plan/frontier.h"

#include <stdlib.h>

#include "base/size.h"
#include "plan/pair.h"
#include "plan/segment.h"

enum { MOST_POINTS = 40, WALK_BUDGET = 20000000 };

/* A schedule of a form. */
typedef struct Point {
    const Steps *form;
    int32_t pixels;
    Items *all;
    Schedule schedule;
    int64_t cost;
} Point;

typedef struct Frontier {
    Program *program;
    Arena *arena;
    const PlanOptions *opt;
    PlanLevel level;
    FrontierPlan *plan;
    VEC(Point) point;
    int64_t macs; /* of the steps, each made once */
} Frontier;

void frontier_take(Program *program, Step **step, size_t n)
{
    program->step.at = step;
    program->step.n = program->step.room = n;
    for (size_t i = 0; i < n; i++)
        step[i]->index = (int)i;
}

static int64_t macs_of(Step *const *step, size_t n)
{
    int64_t macs = 0;
    for (size_t i = 0; i < n; i++)
        macs = i64_add(macs, step[i]->macs);
    return macs;
}

static int64_t form_cost(const Steps *form)
{
    int64_t cost = 0;
    for (size_t i = 0; i < form->step.n; i++)
        cost += pair_cost(form->step.at[i]);
    return cost;
}

/* The smallest schedule with the MACs of `last`, within its last hundredth. */
static void go_lowest(Frontier *frontier, Finder *finder, Point last)
{
    const int64_t work = last.schedule.work;
    const int64_t given = last.schedule.peak;
    for (int i = 0; i < MOST_POINTS; i++) {
        Point p = last;
        if (!schedule_under(finder, last.schedule.peak - 1, &p.schedule) || p.schedule.work != work)
            break;
        last = p;
    }
    last.cost = last.schedule.cost + form_cost(last.form);
    if (last.schedule.peak < given)
        VEC_PUSH(frontier->arena, &frontier->point, last);
}

/* From the cheapest schedule down, the peak falling by a hundredth at least; what computes nothing
 * twice goes to its end. */
static void try_form(Frontier *frontier, const Steps *form, int32_t pixels)
{
    Items *all = NEW(frontier->arena, Items);
    ScheduleOptions *opt = NEW(frontier->arena, ScheduleOptions);
    frontier_take(frontier->program, form->step.at, form->step.n);
    *all = items_find(frontier->arena, frontier->program, frontier->opt);
    *opt = (ScheduleOptions){ .stream = true,
                              .overlap = true,
                              .strips = frontier->opt->arena_limit || frontier->opt->curve,
                              .budget = WALK_BUDGET,
                              .pixels = pixels };
    Finder *finder = schedule_open(frontier->arena, all, opt);
    int64_t limit = INT64_MAX / 8;
    int64_t work = 0;
    for (int i = 0; i < MOST_POINTS; i++) {
        Point p = { .form = form, .pixels = pixels, .all = all };
        const bool found = schedule_under(finder, limit, &p.schedule);
        if (i && (!found || p.schedule.work > work))
            go_lowest(frontier, finder, frontier->point.at[frontier->point.n - 1]);
        if (!found)
            return;
        work = p.schedule.work;
        p.cost = p.schedule.cost + form_cost(form);
        VEC_PUSH(frontier->arena, &frontier->point, p);
        limit = p.schedule.peak - p.schedule.peak / 100 - 1;
        if (limit < 1)
            return;
    }
}

static int by_work(const void *a, const void *b)
{
    const Point *x = a;
    const Point *y = b;
    if (x->schedule.work != y->schedule.work)
        return x->schedule.work < y->schedule.work ? -1 : 1;
    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    return x->schedule.peak < y->schedule.peak ? -1 : x->schedule.peak > y->schedule.peak;
}

static void keep_best(Frontier *frontier)
{
    size_t n = 0;
    int64_t peak = INT64_MAX;
    qsort(frontier->point.at, frontier->point.n, sizeof *frontier->point.at, by_work);
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

/* The steps of a schedule: those in strips are there once for each. */
static Steps steps_of(Frontier *frontier, const Point *point)
{
    Arena *a = frontier->program->graph->arena;
    Steps out = { 0 };
    int32_t number = 0;
    Strips strips = { 0 };
    for (size_t i = 0; i < point->schedule.slot.n; i++) {
        const Slot *s = point->schedule.slot.at + i;
        int32_t width = 0;
        if (!s->cut.n) {
            for (int32_t k = s->first; k < s->end; k++)
                VEC_PUSH(a, &out.step, point->form->step.at[k]);
            continue;
        }
        if (!strips.all)
            strips = strips_new(frontier->arena, point->all);
        strip_result(&strips, s->first, s->end, &width);
        for (int32_t k = 0; k < s->cut.n; k++)
            strip_steps(&strips, a, frontier->program, s->first, s->end, s->result,
                        strip_columns(width, s->cut, k), ++number, &out);
    }
    return out;
}

static CurvePoint plan_point(Frontier *frontier, const Point *point)
{
    frontier_take(frontier->program, point->form->step.at, point->form->step.n);
    const Steps steps = steps_of(frontier, point);
    frontier_take(frontier->program, steps.step.at, steps.step.n);
    PlanOptions opt = *frontier->opt;
    opt.pixels = strips_of(&point->schedule) ? 1 : point->pixels;
    frontier->plan(frontier->program, &opt, frontier->level, point->schedule.peak);
    const Plan *plan = &frontier->program->plan;
    CurvePoint c = { .arena = plan->arena_size,
                     .macs = macs_of(steps.step.at, steps.step.n),
                     .cost = point->cost,
                     .strips = strips_of(&point->schedule),
                     .steps = (int32_t)steps.step.n };
    for (size_t i = 0; i < plan->segment.n; i++)
        if (plan->segment.at[i].list)
            c.streamed += plan->segment.at[i].count;
    return c;
}

/* Does the goal allow what it costs? About two instructions are needed for a MAC. */
static bool affordable(const Frontier *frontier, int32_t strips, int64_t cost)
{
    if (strips)
        return false;
    return frontier->opt->goal == PLAN_RAM ||
           (frontier->opt->goal == PLAN_BALANCED && cost <= frontier->macs / 50);
}

/* The cheapest that holds the limit, or the smallest. Without a limit: the smallest that the goal
 * allows, or the cheapest. */
static size_t choose(const Frontier *frontier, const CurvePoint *curve, size_t n)
{
    size_t best = 0;
    while (!frontier->opt->arena_limit && best + 1 < n && curve[best].strips)
        best++;
    for (size_t i = 0; i < n; i++) {
        if (frontier->opt->arena_limit && curve[i].arena <= frontier->opt->arena_limit)
            return i;
        if ((frontier->opt->arena_limit || affordable(frontier, curve[i].strips, curve[i].cost)) &&
            curve[i].arena < curve[best].arena)
            best = i;
    }
    return best;
}

/* Nobody wants to see the curve: only the last schedule that the goal allows is planned. */
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

/* A point below with fewer MACs makes a point useless: work was counted range by range, where
 * leaving out columns that nobody reads saved nothing. Returns how many are left. */
static size_t drop_beaten(const Frontier *frontier, CurvePoint *curve, size_t *of, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        bool beaten = false;
        for (size_t j = i + 1; j < n && !beaten; j++)
            beaten =
                i64_max(curve[j].macs, frontier->macs) < i64_max(curve[i].macs, frontier->macs);
        if (beaten)
            continue;
        curve[kept] = curve[i];
        of[kept++] = of[i];
    }
    return kept;
}

static bool has_short_rows(const Steps *form)
{
    for (size_t i = 0; i < form->step.n; i++)
        if (stream_burst(form->step.at[i], STREAM_PIXELS) > 1)
            return true;
    return false;
}

void frontier_plan(Program *p, const PlanOptions *opt, PlanLevel level, const Steps *form,
                   int forms, FrontierPlan *plan)
{
    Frontier frontier = { .program = p,
                          .arena = &p->graph->store->scratch,
                          .opt = opt,
                          .level = level,
                          .plan = plan,
                          .macs = macs_of(form->step.at, form->step.n) };
    VEC(CurvePoint) curve = { 0 };
    VEC(size_t) of = { 0 };
    for (int i = 0; i < forms; i++) {
        try_form(&frontier, form + i, STREAM_PIXELS);
        if (has_short_rows(form + i))
            try_form(&frontier, form + i, 1);
    }
    keep_best(&frontier);
    if (!opt->arena_limit && !opt->curve)
        keep_goal(&frontier);
    for (size_t i = 0; i < frontier.point.n; i++) {
        const ArenaMark mark = arena_mark(frontier.arena);
        const CurvePoint c = plan_point(&frontier, frontier.point.at + i);
        arena_release(frontier.arena, mark);
        if (curve.n && c.arena >= curve.at[curve.n - 1].arena)
            continue; /* its schedule promised more than offsets hold */
        if (p->plan.region_missing && (i + 1 < frontier.point.n || curve.n))
            continue; /* where none fits the regions the last stands for all */
        VEC_PUSH(p->graph->arena, &curve, c);
        VEC_PUSH(p->graph->arena, &of, i);
    }
    curve.n = drop_beaten(&frontier, curve.at, of.at, curve.n);
    const size_t best = choose(&frontier, curve.at, curve.n);
    curve.at[best].chosen = true;
    if (of.at[best] != frontier.point.n - 1)
        plan_point(&frontier, frontier.point.at + of.at[best]);
    p->plan.curve = (CurvePoints){ .at = curve.at, .n = curve.n, .room = curve.room };
    p->plan.macs_once = frontier.macs;
}
