/* SPDX-License-Identifier: Apache-2.0
 * A depth-first search over the items, densest traffic first, cheapest region first: its first leaf
 * is the greedy assignment, and where the budget lasts it is exact. What is left is improved by
 * moves and exchanges. */
#include "place/region.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"

enum {
    TRIES = 6000,
    LEAST_TRIES = 200,
    EXCHANGES = 400,
    EFFORT = 1000,
    MOVES = 60
};

typedef struct Search {
    Arena *arena;
    const RegionProblem *p;
    int32_t *by_cost; /* regions, cheapest first */
    int32_t *order;   /* free items, densest first */
    int n_order;
    /* by place in the order: least cost of the items from there on */
    int64_t *rest;
    int32_t *of; /* by item: its region now, -1: none yet */
    int32_t *best;
    int64_t best_cost; /* INT64_MAX: none found */
    int64_t tries;
    bool exact; /* every question so far was decided */
} Search;

/* ---- one region ---- */

typedef struct Group {
    PlaceItem *item;
    int32_t *from;
    PlaceArc *arc;
    int n, n_arc;
} Group;

/* The items that lie in the region; to[i]: the number in it of item i, or -1. */
static void list_members(const RegionProblem *problem, const int32_t *of,
                         int32_t region, Group *group, int32_t *to)
{
    for (int32_t i = 0; i < problem->n; i++) {
        to[i] = -1;
        if (of[i] != region)
            continue;
        to[i] = group->n;
        group->from[group->n] = i;
        group->item[group->n++] = problem->item[i];
    }
}

static Group group_of(Arena *arena, const RegionProblem *problem,
                      const int32_t *of, int32_t region)
{
    int32_t *to = NEW_ARRAY(arena, int32_t, problem->n + 1);
    Group group = {
        .item = NEW_ARRAY(arena, PlaceItem, problem->n + 1),
        .from = NEW_ARRAY(arena, int32_t, problem->n + 1),
        .arc = NEW_ARRAY(arena, PlaceArc, problem->n_arc + 1),
    };
    list_members(problem, of, region, &group, to);
    for (int k = 0; k < problem->n_arc; k++) {
        PlaceArc arc = problem->arc[k];
        if (to[arc.i] < 0 || to[arc.j] < 0)
            continue;
        arc.i = to[arc.i];
        arc.j = to[arc.j];
        group.arc[group.n_arc++] = arc;
    }
    return group;
}

static bool fits(Search *search, int32_t region)
{
    const ArenaMark mark = arena_mark(search->arena);
    const int64_t size = search->p->region[region].size;
    const Group group = group_of(search->arena, search->p, search->of, region);
    bool holds = true;
    search->tries++;
    for (int i = 0; i < group.n; i++)
        holds &= group.item[i].size <= size;
    if (holds) {
        const PlaceOptions within = {
            .capacity = size,
            .effort = EFFORT,
            .moves = MOVES,
        };
        const PlaceResult result = place(search->arena, group.item, group.n,
                                         group.arc, group.n_arc, &within);
        holds = result.height <= size;
        if (!holds && result.lower_bound <= size)
            search->exact = false;
    }
    arena_release(search->arena, mark);
    return holds;
}

static int64_t cost_of(const RegionProblem *problem, int32_t i, int32_t region)
{
    return i64_mul(problem->traffic[i], problem->region[region].cost);
}

static int64_t total_cost(const RegionProblem *problem, const int32_t *of)
{
    int64_t sum = 0;
    for (int32_t i = 0; i < problem->n; i++)
        sum = i64_add(sum, of[i] < 0 ? 0 : cost_of(problem, i, of[i]));
    return sum;
}

/* ---- search ---- */

static void sort_regions(Search *search)
{
    const RegionProblem *problem = search->p;
    const Region *region = problem->region;
    int32_t *sorted = search->by_cost;
    for (int32_t k = 0; k < problem->regions; k++) {
        int32_t at = k;
        while (at > 0 && region[sorted[at - 1]].cost > region[k].cost) {
            sorted[at] = sorted[at - 1];
            at--;
        }
        sorted[at] = k;
    }
}

/* More traffic a byte; of the same, the larger, then the earlier. */
static bool denser(const RegionProblem *problem, int32_t i, int32_t j)
{
    const double x =
        (double)problem->traffic[i] * (double)problem->item[j].size;
    const double y =
        (double)problem->traffic[j] * (double)problem->item[i].size;
    if (x < y || x > y)
        return x > y;
    if (problem->item[i].size != problem->item[j].size)
        return problem->item[i].size > problem->item[j].size;
    return i < j;
}

/* The cheapest region that is large enough for the item alone, as a place in by_cost. */
static int cheapest(const Search *search, int32_t i)
{
    const RegionProblem *problem = search->p;
    for (int k = 0; k < problem->regions; k++) {
        const Region *region = problem->region + search->by_cost[k];
        if (region->size >= problem->item[i].size)
            return k;
    }
    return 0;
}

static void sort_items(Search *search)
{
    const RegionProblem *problem = search->p;
    int32_t *order = search->order;
    for (int32_t i = 0; i < problem->n; i++) {
        if (problem->pin[i] != REGION_ANY || !problem->item[i].size)
            continue;
        int at = search->n_order;
        for (; at > 0 && denser(problem, i, order[at - 1]); at--)
            order[at] = order[at - 1];
        order[at] = i;
        search->n_order++;
    }
    for (int k = search->n_order - 1; k >= 0; k--) {
        const int32_t region = search->by_cost[cheapest(search, order[k])];
        const int64_t own = cost_of(problem, order[k], region);
        search->rest[k] = i64_add(search->rest[k + 1], own);
    }
}

static bool settle_fastest(Search *search, int32_t i)
{
    for (int k = 0; k < search->p->regions; k++) {
        search->of[i] = search->by_cost[k];
        if (fits(search, search->by_cost[k]))
            return true;
    }
    search->of[i] = -1;
    return false;
}

/* Pinned items first, then those that want the fastest region that holds them; false: they do not
 * fit. */
static bool settle_pinned(Search *search)
{
    const RegionProblem *problem = search->p;
    bool all = true;
    for (int32_t i = 0; i < problem->n; i++)
        if (problem->pin[i] >= 0 || !problem->item[i].size)
            search->of[i] = problem->pin[i] >= 0 ? problem->pin[i] : 0;
    for (int32_t r = 0; r < problem->regions; r++)
        all &= fits(search, r);
    for (int32_t i = 0; i < problem->n; i++) {
        if (problem->pin[i] != REGION_FASTEST || search->of[i] >= 0)
            continue;
        if (!settle_fastest(search, i))
            return false;
    }
    return all;
}

static void keep_best(Search *search, int64_t cost)
{
    search->best_cost = cost;
    memcpy(search->best, search->of, (size_t)search->p->n * sizeof *search->of);
}

/* By depth: which region the item is tried in next, and the cost of the items before it. */
typedef struct Walk {
    int32_t *choice;
    int64_t *cost;
} Walk;

/* The region that the item at depth k is tried in next; -1: none is left that may be of use. */
static int32_t next_region(Search *search, const Walk *walk, int k,
                           int64_t budget)
{
    const int32_t next = walk->choice[k];
    walk->choice[k]++;
    if (search->tries >= budget) {
        search->exact = false;
        return -1;
    }
    if (next >= search->p->regions)
        return -1;
    const int32_t region = search->by_cost[next];
    const int64_t own = cost_of(search->p, search->order[k], region);
    const int64_t least =
        i64_add(i64_add(walk->cost[k], own), search->rest[k + 1]);
    return least < search->best_cost ? region : -1;
}

static void search_regions(Search *search, int64_t base, int64_t budget)
{
    const size_t depths = (size_t)search->n_order + 1;
    const Walk walk = {
        .choice = NEW_ARRAY(search->arena, int32_t, depths),
        .cost = NEW_ARRAY(search->arena, int64_t, depths),
    };
    int k = 0;
    walk.cost[0] = base;
    while (k >= 0) {
        if (k == search->n_order) {
            if (walk.cost[k] < search->best_cost)
                keep_best(search, walk.cost[k]);
            k--;
            continue;
        }
        const int32_t i = search->order[k];
        search->of[i] = -1;
        const int32_t region = next_region(search, &walk, k, budget);
        if (region < 0) {
            walk.choice[k] = 0;
            k--;
            continue;
        }
        search->of[i] = region;
        if (!fits(search, region))
            continue;
        const int64_t own = cost_of(search->p, i, region);
        walk.cost[k + 1] = i64_add(walk.cost[k], own);
        k++;
    }
}

/* ---- improvement ---- */

/* Item i goes to region r, where j (or nobody: -1) leaves for its place; kept where both regions
 * hold it. */
static bool exchange(Search *search, int32_t i, int32_t r, int32_t j)
{
    const int32_t was = search->of[i];
    search->of[i] = r;
    if (j >= 0)
        search->of[j] = was;
    if (fits(search, r) && (j < 0 || fits(search, was)))
        return true;
    search->of[i] = was;
    if (j >= 0)
        search->of[j] = r;
    return false;
}

static bool improve_item(Search *search, int32_t i, int64_t limit)
{
    const RegionProblem *problem = search->p;
    for (int k = 0; k < problem->regions; k++) {
        const int32_t r = search->by_cost[k];
        if (problem->region[r].cost >= problem->region[search->of[i]].cost)
            return false;
        for (int at = search->n_order; at >= 0 && search->tries < limit;
             at--) { /* nobody, then the least dense */
            const int32_t j = at == search->n_order ? -1 : search->order[at];
            if (j >= 0 && (search->of[j] != r ||
                           problem->traffic[j] >= problem->traffic[i]))
                continue;
            if (exchange(search, i, r, j))
                return true;
        }
    }
    return false;
}

static void improve(Search *search)
{
    const int64_t limit = search->tries + EXCHANGES;
    memcpy(search->of, search->best, (size_t)search->p->n * sizeof *search->of);
    for (bool any = true; any && search->tries < limit;) {
        any = false;
        for (int k = 0; k < search->n_order && search->tries < limit; k++)
            any |= improve_item(search, search->order[k], limit);
    }
    keep_best(search, total_cost(search->p, search->of));
}

/* ---- bound ---- */

/* Takes part in an arc: it may share bytes with another item that is alive with it. */
static bool *find_shared(Arena *arena, const RegionProblem *problem)
{
    bool *shared = NEW_ARRAY(arena, bool, problem->n + 1);
    for (int k = 0; k < problem->n_arc; k++)
        shared[problem->arc[k].i] = shared[problem->arc[k].j] = true;
    return shared;
}

/* Bytes of item i that are surely its own in that step. */
static bool counts(const RegionProblem *problem, const bool *shared, int32_t i,
                   int32_t step)
{
    const PlaceItem *it = problem->item + i;
    if (it->parts || step < it->begin || step >= it->end)
        return false;
    return !shared[i] ||
           (step > it->begin &&
            step + 1 <
                it->end); /* items share in the first and the last step of one of them */
}

/* Does the item count in that step? What is too large for the cheapest region costs its own. */
static bool counts_free(const Search *search, const bool *shared, int32_t i,
                        int32_t step)
{
    return counts(search->p, shared, i, step) && !cheapest(search, i);
}

/* Regions as they fill up, the cheapest first. */
typedef struct Fill {
    int at;
    int64_t left;  /* bytes of region by_cost[at] */
    int64_t extra; /* cost of what was put in, beyond the cheapest region's */
} Fill;

/* Cuts item i to pieces where it does not fit; false: all regions are full. */
static bool fill_with(const Search *search, Fill *fill, int32_t i)
{
    const Region *region = search->p->region;
    const int64_t whole = search->p->item[i].size;
    const double traffic = (double)search->p->traffic[i];
    int64_t size = whole;
    while (size) {
        if (!fill->left && fill->at + 1 == search->p->regions)
            return false;
        if (!fill->left) {
            fill->at++;
            fill->left = region[search->by_cost[fill->at]].size;
            continue;
        }
        const int64_t piece = i64_min(fill->left, size);
        const int64_t more = region[search->by_cost[fill->at]].cost -
                             region[search->by_cost[0]].cost;
        const double share = (double)piece / (double)whole;
        fill->extra += (int64_t)(traffic * (double)more * share);
        fill->left -= piece;
        size -= piece;
    }
    return true;
}

/* More than all in the cheapest region: the items of a step, cut to pieces where it helps, the
 * densest traffic in the cheapest regions. of: by item, the only step in which it counts; NULL: all
 * in which it is alive. */
static int64_t extra_at(const Search *search, const bool *shared, int32_t step,
                        const int32_t *of)
{
    Fill fill = { .left = search->p->region[search->by_cost[0]].size };
    bool room = true;
    for (int k = 0; room && k < search->n_order; k++) {
        const int32_t i = search->order[k];
        const bool here = !of || of[i] == step;
        if (here && counts_free(search, shared, i, step))
            room = fill_with(search, &fill, i);
    }
    return fill.extra;
}

/* For each item the step in which most is alive with it. */
static int32_t *busiest(const Search *search, const bool *shared, int32_t steps)
{
    const RegionProblem *problem = search->p;
    int64_t *load = NEW_ARRAY(search->arena, int64_t, steps + 1);
    int32_t *of = NEW_ARRAY(search->arena, int32_t, problem->n + 1);
    for (int k = 0; k < search->n_order; k++) {
        const int32_t i = search->order[k];
        for (int32_t t = 0; t < steps; t++)
            if (counts_free(search, shared, i, t))
                load[t] += problem->item[i].size;
    }
    for (int32_t i = 0; i < problem->n; i++) {
        of[i] = -1;
        for (int32_t t = 0; t < steps; t++)
            if (counts(problem, shared, i, t) &&
                (of[i] < 0 || load[t] > load[of[i]]))
                of[i] = t;
    }
    return of;
}

/* The costliest step alone; or the sum of all, each item counted in one of them. */
static int64_t bound(const Search *search, int64_t base)
{
    const bool *shared = find_shared(search->arena, search->p);
    int32_t steps = 0;
    int64_t most = 0;
    int64_t sum = 0;
    for (int i = 0; i < search->p->n; i++)
        steps = search->p->item[i].end > steps ? search->p->item[i].end : steps;
    const int32_t *of = busiest(search, shared, steps);
    for (int32_t t = 0; t < steps; t++) {
        most = i64_max(most, extra_at(search, shared, t, NULL));
        sum = i64_add(sum, extra_at(search, shared, t, of));
    }
    return i64_add(base, i64_max(most, sum));
}

/* ---- result ---- */

static PlaceResult place_group(Arena *arena, const Group *group, int64_t size)
{
    const PlaceOptions least = { .effort = EFFORT };
    const PlaceOptions within = {
        .capacity = size,
        .effort = EFFORT,
        .moves = MOVES,
    };
    const PlaceResult found =
        place(arena, group->item, group->n, group->arc, group->n_arc, &least);
    if (found.height <= size)
        return found;
    return place(arena, group->item, group->n, group->arc, group->n_arc,
                 &within);
}

static void place_all(Arena *arena, const RegionProblem *problem, RegionPlan *r)
{
    r->missing = 0;
    for (int32_t k = 0; k < problem->regions; k++) {
        const Group group = group_of(arena, problem, r->of, k);
        const int64_t size = problem->region[k].size;
        const PlaceResult found = place_group(arena, &group, size);
        for (int i = 0; i < group.n; i++)
            r->offset[group.from[i]] = found.offset[i];
        r->height[k] = found.height;
        r->bound[k] = found.lower_bound;
        r->missing += i64_max(0, found.height - size);
    }
    r->cost = total_cost(problem, r->of);
    for (int i = 0; i < problem->n; i++) {
        int64_t *traffic = r->traffic + r->of[i];
        *traffic = i64_add(*traffic, problem->traffic[i]);
    }
}

static int32_t largest_region(const RegionProblem *problem)
{
    int32_t largest = 0;
    for (int32_t k = 1; k < problem->regions; k++)
        if (problem->region[k].size > problem->region[largest].size)
            largest = k;
    return largest;
}

/* From the largest region to the cheapest other one that holds item i. */
static void leave_largest(Search *search, int32_t i, int32_t largest)
{
    for (int k = 0; k < search->p->regions; k++) {
        const int32_t region = search->by_cost[k];
        if (search->of[i] != largest || region == largest)
            continue;
        search->of[i] = region;
        if (!fits(search, region))
            search->of[i] = largest;
    }
}

/* Where nothing fits: what holds goes to the cheapest region that holds it, the rest to the
 * largest. */
static void overflow(Search *search)
{
    const RegionProblem *problem = search->p;
    const int32_t largest = largest_region(problem);
    for (int32_t i = 0; i < problem->n; i++) {
        const int32_t free = problem->item[i].size ? largest : 0;
        const int32_t pin = problem->pin[i];
        search->of[i] = pin >= 0 ? pin : free;
        search->best[i] = search->of[i];
    }
    for (int k = 0; k < search->n_order; k++)
        leave_largest(search, search->order[k], largest);
    keep_best(search, INT64_MAX);
}

static RegionPlan plan_new(Arena *arena, const RegionProblem *problem)
{
    const size_t regions = (size_t)problem->regions + 1;
    return (RegionPlan){
        .of = NEW_ARRAY(arena, int32_t, problem->n + 1),
        .offset = NEW_ARRAY(arena, int64_t, problem->n + 1),
        .height = NEW_ARRAY(arena, int64_t, regions),
        .bound = NEW_ARRAY(arena, int64_t, regions),
        .traffic = NEW_ARRAY(arena, int64_t, regions),
    };
}

static Search search_new(Arena *arena, const RegionProblem *problem,
                         int32_t *best)
{
    Search search = {
        .arena = arena,
        .p = problem,
        .by_cost = NEW_ARRAY(arena, int32_t, problem->regions + 1),
        .order = NEW_ARRAY(arena, int32_t, problem->n + 1),
        .rest = NEW_ARRAY(arena, int64_t, problem->n + 2),
        .of = NEW_ARRAY(arena, int32_t, problem->n + 1),
        .best = best,
        .best_cost = INT64_MAX,
        .exact = true,
    };
    for (int i = 0; i < problem->n; i++)
        search.of[i] = -1;
    sort_regions(&search);
    sort_items(&search);
    return search;
}

/* Returns a cost that no assignment goes below. */
static int64_t assign(Search *search)
{
    const RegionProblem *problem = search->p;
    const int64_t base = total_cost(problem, search->of);
    const int64_t tries = LEAST_TRIES + TRIES / (1 + problem->n / 8);
    search_regions(search, base, search->tries + tries);
    const int64_t least = bound(search, i64_add(base, search->rest[0]));
    const bool found = search->best_cost < INT64_MAX;
    if (found && !search->exact && search->best_cost > least)
        improve(search);
    return least;
}

RegionPlan region_plan(Arena *arena, const RegionProblem *problem)
{
    RegionPlan plan = plan_new(arena, problem);
    const ArenaMark mark = arena_mark(arena);
    Search search = search_new(arena, problem, plan.of);
    if (settle_pinned(&search))
        plan.least = assign(&search);
    if (search.best_cost == INT64_MAX)
        overflow(&search);
    place_all(arena, problem, &plan);
    if (search.exact)
        plan.least = plan.cost;
    plan.optimal = !plan.missing && plan.cost <= plan.least;
    if (plan.optimal)
        plan.least = plan.cost;
    arena_release(arena, mark);
    return plan;
}
