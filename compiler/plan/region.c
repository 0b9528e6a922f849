/* SPDX-License-Identifier: Apache-2.0
 * A depth-first search over the items, densest traffic first, cheapest region first: its first leaf
 * is the greedy assignment, and where the budget lasts it is exact. What is left is improved by
 * moves and exchanges. */
#include "plan/region.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"

enum { TRIES = 6000, LEAST_TRIES = 200, EXCHANGES = 400, EFFORT = 1000, MOVES = 60 };

typedef struct Search {
    Arena *arena;
    const RegionProblem *p;
    int32_t *by_cost; /* regions, cheapest first */
    int32_t *order;   /* free items, densest first */
    int n_order;
    int64_t *rest; /* by place in the order: least cost of the items from there on */
    int32_t *of;   /* by item: its region now, -1: none yet */
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

static Group group_of(Arena *a, const RegionProblem *p, const int32_t *of, int32_t region)
{
    Group g = { .item = NEW_ARRAY(a, PlaceItem, p->n + 1),
                .from = NEW_ARRAY(a, int32_t, p->n + 1),
                .arc = NEW_ARRAY(a, PlaceArc, p->n_arc + 1) };
    int32_t *to = NEW_ARRAY(a, int32_t, p->n + 1);
    for (int32_t i = 0; i < p->n; i++) {
        to[i] = -1;
        if (of[i] != region)
            continue;
        to[i] = g.n;
        g.from[g.n] = i;
        g.item[g.n++] = p->item[i];
    }
    for (int k = 0; k < p->n_arc; k++) {
        PlaceArc x = p->arc[k];
        if (to[x.i] < 0 || to[x.j] < 0)
            continue;
        x.i = to[x.i], x.j = to[x.j];
        g.arc[g.n_arc++] = x;
    }
    return g;
}

static bool fits(Search *s, int32_t region)
{
    const ArenaMark mark = arena_mark(s->arena);
    const int64_t size = s->p->region[region].size;
    const Group g = group_of(s->arena, s->p, s->of, region);
    bool holds = true;
    s->tries++;
    for (int i = 0; i < g.n; i++)
        holds &= g.item[i].size <= size;
    if (holds) {
        const PlaceResult r =
            place(s->arena, g.item, g.n, g.arc, g.n_arc,
                  &(PlaceOptions){ .capacity = size, .effort = EFFORT, .moves = MOVES });
        holds = r.height <= size;
        if (!holds && r.lower_bound <= size)
            s->exact = false;
    }
    arena_release(s->arena, mark);
    return holds;
}

static int64_t cost_of(const RegionProblem *p, int32_t i, int32_t region)
{
    return i64_mul(p->traffic[i], p->region[region].cost);
}

static int64_t total_cost(const RegionProblem *p, const int32_t *of)
{
    int64_t sum = 0;
    for (int32_t i = 0; i < p->n; i++)
        sum = i64_add(sum, of[i] < 0 ? 0 : cost_of(p, i, of[i]));
    return sum;
}

/* ---- search ---- */

static void sort_regions(Search *s)
{
    const RegionProblem *p = s->p;
    for (int32_t k = 0; k < p->regions; k++) {
        int32_t at = k;
        for (; at > 0 && p->region[s->by_cost[at - 1]].cost > p->region[k].cost; at--)
            s->by_cost[at] = s->by_cost[at - 1];
        s->by_cost[at] = k;
    }
}

/* More traffic a byte; of the same, the larger, then the earlier. */
static bool denser(const RegionProblem *p, int32_t i, int32_t j)
{
    const double x = (double)p->traffic[i] * (double)p->item[j].size,
                 y = (double)p->traffic[j] * (double)p->item[i].size;
    if (x < y || x > y)
        return x > y;
    if (p->item[i].size != p->item[j].size)
        return p->item[i].size > p->item[j].size;
    return i < j;
}

/* The cheapest region that is large enough for the item alone, as a place in by_cost. */
static int cheapest(const Search *s, int32_t i)
{
    for (int k = 0; k < s->p->regions; k++)
        if (s->p->region[s->by_cost[k]].size >= s->p->item[i].size)
            return k;
    return 0;
}

static void sort_items(Search *s)
{
    for (int32_t i = 0; i < s->p->n; i++) {
        if (s->p->pin[i] != REGION_ANY || !s->p->item[i].size)
            continue;
        int at = s->n_order++;
        for (; at > 0 && denser(s->p, i, s->order[at - 1]); at--)
            s->order[at] = s->order[at - 1];
        s->order[at] = i;
    }
    for (int k = s->n_order; k-- > 0;)
        s->rest[k] = i64_add(s->rest[k + 1],
                             cost_of(s->p, s->order[k], s->by_cost[cheapest(s, s->order[k])]));
}

/* Pinned items first, then those that want the fastest region that holds them; false: they do not
 * fit. */
static bool settle_pinned(Search *s)
{
    const RegionProblem *p = s->p;
    bool all = true;
    for (int32_t i = 0; i < p->n; i++)
        if (p->pin[i] >= 0 || !p->item[i].size)
            s->of[i] = p->pin[i] >= 0 ? p->pin[i] : 0;
    for (int32_t r = 0; r < p->regions; r++)
        all &= fits(s, r);
    for (int32_t i = 0; i < p->n; i++)
        for (int k = 0; p->pin[i] == REGION_FASTEST && s->of[i] < 0; k++) {
            if (k == p->regions)
                return false;
            s->of[i] = s->by_cost[k];
            if (!fits(s, s->by_cost[k]))
                s->of[i] = -1;
        }
    return all;
}

static void keep_best(Search *s, int64_t cost)
{
    s->best_cost = cost;
    memcpy(s->best, s->of, (size_t)s->p->n * sizeof *s->of);
}

static void search(Search *s, int64_t base, int64_t budget)
{
    const RegionProblem *p = s->p;
    int32_t *choice = NEW_ARRAY(s->arena, int32_t, s->n_order + 1);
    int64_t *cost = NEW_ARRAY(s->arena, int64_t, s->n_order + 1);
    cost[0] = base;
    for (int k = 0; k >= 0;) {
        if (k == s->n_order) {
            if (cost[k] < s->best_cost)
                keep_best(s, cost[k]);
            k--;
            continue;
        }
        const int32_t i = s->order[k];
        s->of[i] = -1;
        const int32_t next = choice[k]++, r = next < p->regions ? s->by_cost[next] : 0;
        const bool out = s->tries >= budget;
        if (out)
            s->exact = false;
        if (next >= p->regions || out ||
            i64_add(i64_add(cost[k], cost_of(p, i, r)), s->rest[k + 1]) >= s->best_cost) {
            choice[k--] = 0;
            continue;
        }
        s->of[i] = r;
        if (!fits(s, r))
            continue;
        cost[k + 1] = i64_add(cost[k], cost_of(p, i, r));
        k++;
    }
}

/* ---- improvement ---- */

/* Item i goes to region r, where j (or nobody: -1) leaves for its place; kept where both regions
 * hold it. */
static bool exchange(Search *s, int32_t i, int32_t r, int32_t j)
{
    const int32_t was = s->of[i];
    s->of[i] = r;
    if (j >= 0)
        s->of[j] = was;
    if (fits(s, r) && (j < 0 || fits(s, was)))
        return true;
    s->of[i] = was;
    if (j >= 0)
        s->of[j] = r;
    return false;
}

static bool improve_item(Search *s, int32_t i, int64_t limit)
{
    const RegionProblem *p = s->p;
    for (int k = 0; k < p->regions; k++) {
        const int32_t r = s->by_cost[k];
        if (p->region[r].cost >= p->region[s->of[i]].cost)
            return false;
        for (int at = s->n_order; at >= 0 && s->tries < limit;
             at--) { /* nobody, then the least dense */
            const int32_t j = at == s->n_order ? -1 : s->order[at];
            if (j >= 0 && (s->of[j] != r || p->traffic[j] >= p->traffic[i]))
                continue;
            if (exchange(s, i, r, j))
                return true;
        }
    }
    return false;
}

static void improve(Search *s)
{
    const int64_t limit = s->tries + EXCHANGES;
    memcpy(s->of, s->best, (size_t)s->p->n * sizeof *s->of);
    for (bool any = true; any && s->tries < limit;) {
        any = false;
        for (int k = 0; k < s->n_order && s->tries < limit; k++)
            any |= improve_item(s, s->order[k], limit);
    }
    keep_best(s, total_cost(s->p, s->of));
}

/* ---- bound ---- */

/* Takes part in an arc: it may share bytes with another item that is alive with it. */
static bool *find_shared(Arena *a, const RegionProblem *p)
{
    bool *shared = NEW_ARRAY(a, bool, p->n + 1);
    for (int k = 0; k < p->n_arc; k++)
        shared[p->arc[k].i] = shared[p->arc[k].j] = true;
    return shared;
}

/* Bytes of item i that are surely its own in that step. */
static bool counts(const RegionProblem *p, const bool *shared, int32_t i, int32_t step)
{
    const PlaceItem *it = p->item + i;
    if (it->parts || step < it->begin || step >= it->end)
        return false;
    return !shared[i] ||
           (step > it->begin &&
            step + 1 < it->end); /* items share in the first and the last step of one of them */
}

/* More than all in the cheapest region: the items of a step, cut to pieces where it helps, the
 * densest traffic in the cheapest regions. of: by item, the only step in which it counts; NULL: all
 * in which it is alive. */
static int64_t extra_at(const Search *s, const bool *shared, int32_t step, const int32_t *of)
{
    const RegionProblem *p = s->p;
    int64_t left = p->region[s->by_cost[0]].size, extra = 0;
    int at = 0;
    for (int k = 0; k < s->n_order; k++) {
        const int32_t i = s->order[k];
        if (!counts(p, shared, i, step) || (of && of[i] != step) || cheapest(s, i))
            continue; /* what is too large costs its own */
        for (int64_t size = p->item[i].size; size;) {
            if (!left && at + 1 == p->regions)
                return extra;
            if (!left) {
                left = p->region[s->by_cost[++at]].size;
                continue;
            }
            const int64_t piece = i64_min(left, size),
                          more = p->region[s->by_cost[at]].cost - p->region[s->by_cost[0]].cost;
            extra += (int64_t)((double)p->traffic[i] * (double)more *
                               ((double)piece / (double)p->item[i].size));
            left -= piece;
            size -= piece;
        }
    }
    return extra;
}

/* For each item the step in which most is alive with it. */
static int32_t *busiest(const Search *s, const bool *shared, int32_t steps)
{
    const RegionProblem *p = s->p;
    int64_t *load = NEW_ARRAY(s->arena, int64_t, steps + 1);
    int32_t *of = NEW_ARRAY(s->arena, int32_t, p->n + 1);
    for (int k = 0; k < s->n_order; k++)
        for (int32_t t = 0; t < steps; t++)
            if (counts(p, shared, s->order[k], t) && !cheapest(s, s->order[k]))
                load[t] += p->item[s->order[k]].size;
    for (int32_t i = 0; i < p->n; i++) {
        of[i] = -1;
        for (int32_t t = 0; t < steps; t++)
            if (counts(p, shared, i, t) && (of[i] < 0 || load[t] > load[of[i]]))
                of[i] = t;
    }
    return of;
}

/* The costliest step alone; or the sum of all, each item counted in one of them. */
static int64_t bound(const Search *s, int64_t base)
{
    const bool *shared = find_shared(s->arena, s->p);
    int32_t steps = 0;
    int64_t most = 0, sum = 0;
    for (int i = 0; i < s->p->n; i++)
        steps = s->p->item[i].end > steps ? s->p->item[i].end : steps;
    const int32_t *of = busiest(s, shared, steps);
    for (int32_t t = 0; t < steps; t++) {
        most = i64_max(most, extra_at(s, shared, t, NULL));
        sum = i64_add(sum, extra_at(s, shared, t, of));
    }
    return i64_add(base, i64_max(most, sum));
}

/* ---- result ---- */

static void place_all(Arena *a, const RegionProblem *p, RegionPlan *r)
{
    r->missing = 0;
    for (int32_t k = 0; k < p->regions; k++) {
        const Group g = group_of(a, p, r->of, k);
        const int64_t size = p->region[k].size;
        PlaceResult x = place(a, g.item, g.n, g.arc, g.n_arc, &(PlaceOptions){ .effort = EFFORT });
        if (x.height > size)
            x = place(a, g.item, g.n, g.arc, g.n_arc,
                      &(PlaceOptions){ .capacity = size, .effort = EFFORT, .moves = MOVES });
        for (int i = 0; i < g.n; i++)
            r->offset[g.from[i]] = x.offset[i];
        r->height[k] = x.height;
        r->bound[k] = x.lower_bound;
        r->missing += i64_max(0, x.height - size);
    }
    r->cost = total_cost(p, r->of);
    for (int i = 0; i < p->n; i++)
        r->traffic[r->of[i]] = i64_add(r->traffic[r->of[i]], p->traffic[i]);
}

/* Where nothing fits: what holds goes to the cheapest region that holds it, the rest to the
 * largest. */
static void overflow(Search *s)
{
    const RegionProblem *p = s->p;
    int32_t largest = 0;
    for (int32_t k = 1; k < p->regions; k++)
        if (p->region[k].size > p->region[largest].size)
            largest = k;
    for (int32_t i = 0; i < p->n; i++)
        s->best[i] = s->of[i] = p->pin[i] >= 0 ? p->pin[i] : p->item[i].size ? largest : 0;
    for (int k = 0; k < s->n_order; k++)
        for (int c = 0; c < p->regions; c++) {
            const int32_t was = s->of[s->order[k]];
            if (was != largest || s->by_cost[c] == largest)
                continue;
            s->of[s->order[k]] = s->by_cost[c];
            if (!fits(s, s->by_cost[c]))
                s->of[s->order[k]] = was;
        }
    keep_best(s, INT64_MAX);
}

RegionPlan region_plan(Arena *a, const RegionProblem *p)
{
    RegionPlan r = { .of = NEW_ARRAY(a, int32_t, p->n + 1),
                     .offset = NEW_ARRAY(a, int64_t, p->n + 1),
                     .height = NEW_ARRAY(a, int64_t, p->regions + 1),
                     .bound = NEW_ARRAY(a, int64_t, p->regions + 1),
                     .traffic = NEW_ARRAY(a, int64_t, p->regions + 1) };
    const ArenaMark mark = arena_mark(a);
    Search s = { .arena = a,
                 .p = p,
                 .by_cost = NEW_ARRAY(a, int32_t, p->regions + 1),
                 .order = NEW_ARRAY(a, int32_t, p->n + 1),
                 .rest = NEW_ARRAY(a, int64_t, p->n + 2),
                 .of = NEW_ARRAY(a, int32_t, p->n + 1),
                 .best = r.of,
                 .best_cost = INT64_MAX,
                 .exact = true };
    for (int i = 0; i < p->n; i++)
        s.of[i] = -1;
    sort_regions(&s);
    sort_items(&s);
    if (settle_pinned(&s)) {
        const int64_t base = total_cost(p, s.of);
        search(&s, base, s.tries + LEAST_TRIES + TRIES / (1 + p->n / 8));
        r.least = bound(&s, i64_add(base, s.rest[0]));
        if (s.best_cost < INT64_MAX && !s.exact && s.best_cost > r.least)
            improve(&s);
    }
    if (s.best_cost == INT64_MAX)
        overflow(&s);
    place_all(a, p, &r);
    if (s.exact)
        r.least = r.cost;
    r.optimal = !r.missing && r.cost <= r.least;
    if (r.optimal)
        r.least = r.cost;
    arena_release(a, mark);
    return r;
}
