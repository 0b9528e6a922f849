/* SPDX-License-Identifier: Apache-2.0
 * The best paths through the places between steps. Edges that are not settled count with their
 * lower bound, so what is found at last is the same as if all had been walked. */
#include "base/size.h"
#include "schedule/finder.h"

static bool better(const Best *a, const Best *b, bool by_cost)
{
    if (!by_cost && a->peak != b->peak)
        return a->peak < b->peak;
    if (a->work != b->work)
        return a->work < b->work;
    if (a->cost != b->cost)
        return a->cost < b->cost;
    return a->peak < b->peak;
}

/* What a path is asked to have little of. */
static int64_t cost_of(const Finder *finder, const Edge *edge)
{
    if (!finder->opt->tight)
        return edge->cost;
    return edge->bytes / 16 * (edge->to - edge->from);
}

/* Does its walk tell no more than is known? */
static bool is_settled(const Finder *finder, const Edge *edge)
{
    return edge->exact || (finder->bounding && edge->bounded);
}

/* While the least peak is sought: of its walk. */
static int64_t work_of(const Finder *finder, const Edge *edge)
{
    if (finder->seeking)
        return is_settled(finder, edge) ? 0 : edge->to - edge->from;
    return edge->strip ? strip_of_edge(finder, edge)->work : 0;
}

/* The path to where the edge begins, and the edge. */
static Best led_on(const Finder *finder, const Best *before, int32_t number)
{
    const Edge *edge = finder->edge.at + number;
    const int64_t least = i64_max(before->peak, finder->floor);
    return (Best){
        .peak = i64_max(least, edge->bytes),
        .work = before->work + work_of(finder, edge),
        .cost = before->cost + cost_of(finder, edge),
        .edge = number,
    };
}

static Best best_into(const Finder *finder, int32_t to, int64_t limit,
                      bool exact, const Best *best)
{
    Best least = { NEVER, NEVER, NEVER, -1 };
    int64_t most = limit ? limit : NEVER;
    for (int32_t k = finder->into[to]; k < finder->into_end[to]; k++) {
        const Edge *edge = finder->edge.at + k;
        const Best *before = best + edge->from;
        if (edge->bytes > most || (exact && !edge->exact) ||
            before->peak > most || before->peak >= NEVER)
            continue;
        const Best by = led_on(finder, before, k);
        if (least.edge >= 0 && !better(&by, &least, limit > 0))
            continue;
        least = by;
        if (!limit)
            most = by.peak;
    }
    return least;
}

void finder_find_path(Finder *finder, int64_t limit, bool exact, Best *best)
{
    finder->looking -= (int64_t)finder->edge.n;
    best[0] = (Best){ .edge = -1 };
    for (int32_t to = 1; to <= finder->steps; to++)
        best[to] = best_into(finder, to, limit, exact, best);
}

static bool same(const Best *a, const Best *b, bool by_cost)
{
    return a->peak == b->peak &&
           (!by_cost || (a->work == b->work && a->cost == b->cost));
}

void finder_forget_grown(Finder *finder)
{
    for (size_t i = 0; i < finder->grown.n; i++)
        finder->edge.at[finder->grown.at[i]].grown = false;
    finder->grown.n = 0;
}

/* Has the edge grown, or the path to where it begins changed? */
static bool has_changed(const Finder *finder, int32_t number)
{
    if (number < 0)
        return false;
    const Edge *edge = finder->edge.at + number;
    return edge->grown || finder->changed[edge->from];
}

/* Without a limit costs may be old ones: they only decide between equals. */
void finder_mend_path(Finder *finder, int64_t limit, Best *best)
{
    finder->looking -= finder->steps;
    for (int32_t to = 1; to <= finder->steps; to++) {
        finder->changed[to] = has_changed(finder, best[to].edge);
        if (!finder->changed[to])
            continue;
        finder->looking -= finder->into_end[to] - finder->into[to];
        const Best now = best_into(finder, to, limit, false, best);
        finder->changed[to] = !same(&now, best + to, limit > 0);
        best[to] = now;
    }
    finder_forget_grown(finder);
}

bool finder_settle_path(Finder *finder, const Best *best)
{
    int32_t place = finder->steps;
    while (place > 0) {
        const int32_t number = best[place].edge;
        Edge *edge = finder->edge.at + number;
        place = edge->from;
        if (is_settled(finder, edge))
            continue;
        finder_settle(finder, edge);
        edge->grown = true;
        VEC_PUSH(finder->arena, &finder->grown, number);
    }
    return finder->grown.n;
}

void finder_give_up_edges(Finder *finder)
{
    for (size_t k = 0; k < finder->edge.n; k++) {
        Edge *edge = finder->edge.at + k;
        if (edge->exact)
            continue;
        edge->bytes = NEVER;
        edge->exact = true;
    }
    finder_forget_grown(finder);
}

void finder_drop_edges(Finder *finder, int64_t most)
{
    finder_forget_grown(finder);
    for (int32_t to = 1; to <= finder->steps; to++) {
        int32_t kept = finder->into[to];
        for (int32_t k = kept; k < finder->into_end[to]; k++) {
            const Edge *edge = finder->edge.at + k;
            if (edge->bytes > most && !edge->exact)
                continue;
            finder->edge.at[kept] = *edge;
            kept++;
        }
        finder->into_end[to] = kept;
    }
}
