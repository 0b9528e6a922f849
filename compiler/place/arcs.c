/* SPDX-License-Identifier: Apache-2.0
 * The pairs of items that exclude each other, as forbidden intervals of their
 * distance. A sweep over time meets each pair that lives together once, so the
 * work is in proportion to the pairs. Overrides replace what they name. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/vec.h"
#include "place/problem.h"

typedef struct Interval {
    int64_t lo, hi;
} Interval;

/* An override seen from the item of lower number. */
typedef struct Override {
    int32_t i, j;
    int32_t of_i, of_j;
    int64_t lo, hi;
} Override;

/* Items of which overrides speak, and their arcs. */
typedef struct Pair {
    int32_t i, j, first, arcs;
} Pair;

typedef struct Builder {
    Arena *a;
    Problem *p;
    int n_override;
    Override *override; /* by pair */
    VEC(Interval) pair; /* of the pair at hand */
    VEC(Arc) arc;
    VEC(Pair) overridden;
} Builder;

typedef struct Event {
    int32_t time, item;
} Event;

static int by_time(const void *a, const void *b)
{
    const Event *x = a;
    const Event *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->item < y->item ? -1 : x->item > y->item;
}

static int by_pair(const void *a, const void *b)
{
    const Override *x = a;
    const Override *y = b;
    if (x->i != y->i)
        return x->i < y->i ? -1 : 1;
    return x->j < y->j ? -1 : x->j > y->j;
}

static int by_low_end(const void *a, const void *b)
{
    const Interval *x = a;
    const Interval *y = b;
    if (x->lo != y->lo)
        return x->lo < y->lo ? -1 : 1;
    return x->hi < y->hi ? -1 : x->hi > y->hi;
}

static Event *in_order_of_birth(Arena *arena, const Problem *problem)
{
    Event *event = NEW_ARRAY(arena, Event, problem->n);
    for (int i = 0; i < problem->n; i++)
        event[i] = (Event){ problem->begin[i], i };
    if (problem->n)
        qsort(event, (size_t)problem->n, sizeof *event, by_time);
    return event;
}

static size_t count_pairs(Arena *arena, const Problem *problem)
{
    const ArenaMark mark = arena_mark(arena);
    const Event *birth = in_order_of_birth(arena, problem);
    Event *death = NEW_ARRAY(arena, Event, problem->n);
    for (int i = 0; i < problem->n; i++)
        death[i] = (Event){ problem->end[i], i };
    if (problem->n)
        qsort(death, (size_t)problem->n, sizeof *death, by_time);
    size_t pairs = 0;
    for (int b = 0, d = 0; b < problem->n; b++) {
        while (death[d].time <= birth[b].time)
            d++;
        pairs += (size_t)(b - d);
    }
    arena_release(arena, mark);
    return pairs;
}

/* ---- overrides ---- */

static void load_overrides(Builder *builder, const PlaceArc *arc, int n_arc,
                           int n_item)
{
    builder->override = NEW_ARRAY(builder->a, Override, n_arc);
    int32_t *of = NEW_ARRAY(builder->a, int32_t, n_item);
    memset(of, 0xff, sizeof *of * (size_t)n_item);
    for (int i = 0; i < builder->p->n; i++)
        of[builder->p->from[i]] = i;
    for (int k = 0; k < n_arc; k++) {
        const PlaceArc x = arc[k];
        assert(x.i >= 0 && x.i < n_item && x.j >= 0 && x.j < n_item &&
               x.i != x.j);
        const int32_t i = of[x.i];
        const int32_t j = of[x.j];
        if (i < 0 || j < 0)
            continue;
        builder->override[builder->n_override++] =
            i < j ? (Override){ i, j, x.of_i, x.of_j, x.lo, x.hi }
                  : (Override){ j, i, x.of_j, x.of_i, -x.hi, -x.lo };
        builder->p->special[i] = builder->p->special[j] = true;
    }
    if (builder->n_override)
        qsort(builder->override, (size_t)builder->n_override,
              sizeof *builder->override, by_pair);
}

/* First override of the pair, or of the next pair that has one. */
static int first_override(const Builder *builder, int i, int j)
{
    const Override key = { .i = i, .j = j };
    int low = 0;
    int high = builder->n_override;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (by_pair(&builder->override[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool of_pair(const Builder *builder, int k, int i, int j)
{
    return k < builder->n_override && builder->override[k].i == i &&
           builder->override[k].j == j;
}

static bool replaced(const Builder *builder, int k, int i, int j, int part_i,
                     int part_j)
{
    for (; of_pair(builder, k, i, j); k++) {
        const Override *x = &builder->override[k];
        if ((x->of_i == 0 || x->of_i == part_i) &&
            (x->of_j == 0 || x->of_j == part_j))
            return true;
    }
    return false;
}

/* ---- one pair ---- */

static void add_interval(Builder *builder, int64_t lo, int64_t hi)
{
    const Interval x = { i64_floor_div(lo, builder->p->unit),
                         i64_ceil_div(hi, builder->p->unit) };
    if (x.lo + 1 < x.hi)
        VEC_PUSH(builder->a, &builder->pair, x);
}

static PlacePart whole(const PlaceItem *item)
{
    return (PlacePart){ 0, item->size, item->begin, item->end };
}

/* Parts that live together are disjoint; `k` is where the overrides of the pair would begin. */
static void exclude_parts(Builder *builder, int i, int j, int k)
{
    const PlaceItem *x = &builder->p->item[builder->p->from[i]];
    const PlaceItem *y = &builder->p->item[builder->p->from[j]];
    for (int s = 0; s < (x->parts ? x->parts : 1); s++) {
        const PlacePart u = x->parts ? x->part[s] : whole(x);
        for (int t = 0; t < (y->parts ? y->parts : 1); t++) {
            const PlacePart v = y->parts ? y->part[t] : whole(y);
            if (u.begin >= v.end || v.begin >= u.end || u.begin >= u.end ||
                v.begin >= v.end)
                continue;
            if (u.size == 0 || v.size == 0 ||
                replaced(builder, k, i, j, s + 1, t + 1))
                continue;
            add_interval(builder, v.offset - u.offset - u.size,
                         v.offset + v.size - u.offset);
        }
    }
}

/* Joins intervals that overlap; open ends that meet leave a point between them. */
static void add_arcs(Builder *builder, int i, int j)
{
    if (builder->pair.n > 1)
        qsort(builder->pair.at, builder->pair.n, sizeof *builder->pair.at,
              by_low_end);
    for (size_t k = 0; k < builder->pair.n;) {
        Interval x = builder->pair.at[k++];
        while (k < builder->pair.n && builder->pair.at[k].lo < x.hi)
            x.hi = i64_max(x.hi, builder->pair.at[k++].hi);
        VEC_PUSH(builder->a, &builder->arc, ((Arc){ i, j, x.lo, x.hi }));
    }
    builder->pair.n = 0;
}

static void note_pair(Builder *builder, int i, int j, size_t arcs)
{
    if (builder->arc.n > INT32_MAX / 2)
        fail_overflow();
    VEC_PUSH(builder->a, &builder->overridden,
             ((Pair){ i, j, (int32_t)arcs, (int32_t)(builder->arc.n - arcs) }));
}

static void add_pair(Builder *builder, int i, int j)
{
    const Problem *problem = builder->p;
    const bool parts = problem->item[problem->from[i]].parts ||
                       problem->item[problem->from[j]].parts;
    const bool overridden = problem->special[i] && problem->special[j];
    if (!parts && !overridden) {
        VEC_PUSH(builder->a, &builder->arc,
                 ((Arc){ i, j, -problem->size[i], problem->size[j] }));
        return;
    }
    const int k =
        overridden ? first_override(builder, i, j) : builder->n_override;
    const size_t arcs = builder->arc.n;
    exclude_parts(builder, i, j, k);
    for (int m = k; of_pair(builder, m, i, j); m++)
        add_interval(builder, builder->override[m].lo, builder->override[m].hi);
    add_arcs(builder, i, j);
    if (of_pair(builder, k, i, j))
        note_pair(builder, i, j, arcs);
}

/* ---- all pairs ---- */

static void sweep(Builder *builder)
{
    const Problem *problem = builder->p;
    const Event *birth = in_order_of_birth(builder->a, problem);
    int32_t *alive = NEW_ARRAY(builder->a, int32_t, problem->n);
    for (int e = 0, n = 0; e < problem->n; e++) {
        const int i = birth[e].item;
        int kept = 0;
        for (int k = 0; k < n; k++) {
            const int j = alive[k];
            if (problem->end[j] <= problem->begin[i])
                continue;
            alive[kept++] = j;
            add_pair(builder, i < j ? i : j, i < j ? j : i);
        }
        alive[kept++] = i;
        n = kept;
    }
}

/* Overrides hold for items that never live together, too. swept: the others are there already. */
static void add_overridden(Builder *builder, bool swept)
{
    const Problem *problem = builder->p;
    for (int k = 0; k < builder->n_override;) {
        const int i = builder->override[k].i;
        const int j = builder->override[k].j;
        const bool together = problem->begin[i] < problem->end[j] &&
                              problem->begin[j] < problem->end[i];
        const size_t arcs = builder->arc.n;
        for (; of_pair(builder, k, i, j); k++)
            if (!together)
                add_interval(builder, builder->override[k].lo,
                             builder->override[k].hi);
        if (together && !swept)
            add_pair(builder, i, j);
        add_arcs(builder, i, j);
        if (!together && builder->arc.n > arcs)
            note_pair(builder, i, j, arcs);
    }
}

static void list_partners(Builder *builder)
{
    Problem *problem = builder->p;
    problem->partners = NEW_ARRAY(builder->a, size_t, problem->n + 2);
    problem->partner =
        NEW_ARRAY(builder->a, Partner, 2 * builder->overridden.n);
    size_t *next = problem->partners + 1;
    for (size_t k = 0; k < builder->overridden.n; k++) {
        next[builder->overridden.at[k].i + 1]++;
        next[builder->overridden.at[k].j + 1]++;
    }
    for (int i = 1; i <= problem->n; i++)
        next[i] += next[i - 1];
    for (size_t k = 0; k < builder->overridden.n; k++) {
        const Pair x = builder->overridden.at[k];
        problem->partner[next[x.i]++] = (Partner){ x.j, x.first, x.arcs };
        problem->partner[next[x.j]++] = (Partner){ x.i, x.first, x.arcs };
    }
}

static void index_arcs(Arena *arena, Problem *problem)
{
    if (problem->n_arc > INT32_MAX / 2)
        fail_overflow();
    problem->start = NEW_ARRAY(arena, size_t, problem->n + 2);
    problem->incident = NEW_ARRAY(arena, int32_t, 2 * problem->n_arc);
    size_t *next = problem->start + 1;
    for (size_t k = 0; k < problem->n_arc; k++) {
        next[problem->arc[k].i + 1]++;
        next[problem->arc[k].j + 1]++;
    }
    for (int i = 1; i <= problem->n; i++)
        next[i] += next[i - 1];
    for (size_t k = 0; k < problem->n_arc; k++) {
        problem->incident[next[problem->arc[k].i]++] = (int32_t)k;
        problem->incident[next[problem->arc[k].j]++] = (int32_t)k;
    }
}

static bool any_pin(const Problem *problem)
{
    for (int i = 0; i < problem->n; i++)
        if (problem->pin[i] >= 0)
            return true;
    return false;
}

void place_arcs(Arena *arena, Problem *problem, const PlaceArc *override,
                int n_override, int n_item, size_t pairs)
{
    Builder builder = { .a = arena, .p = problem };
    problem->many = !(n_override && any_pin(problem)) &&
                    count_pairs(arena, problem) > pairs;
    load_overrides(&builder, override, n_override, n_item);
    if (!problem->many)
        sweep(&builder);
    add_overridden(&builder, !problem->many);
    list_partners(&builder);
    problem->arc = builder.arc.at;
    problem->n_arc = builder.arc.n;
    if (!problem->many)
        index_arcs(arena, problem);
}
