/* SPDX-License-Identifier: Apache-2.0
 * The pairs of items that exclude each other, as forbidden intervals of their
 * distance. A sweep over time meets each pair that lives together once, so the
 * work is in proportion to the pairs. Overrides replace what they name. */
#include <assert.h>
#include <stdlib.h>

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
    if (x->item != y->item)
        return x->item < y->item ? -1 : 1;
    return 0;
}

static int by_pair(const void *a, const void *b)
{
    const Override *x = a;
    const Override *y = b;
    if (x->i != y->i)
        return x->i < y->i ? -1 : 1;
    if (x->j != y->j)
        return x->j < y->j ? -1 : 1;
    return 0;
}

static int by_low_end(const void *a, const void *b)
{
    const Interval *x = a;
    const Interval *y = b;
    if (x->lo != y->lo)
        return x->lo < y->lo ? -1 : 1;
    if (x->hi != y->hi)
        return x->hi < y->hi ? -1 : 1;
    return 0;
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
    int dead = 0;
    for (int born = 0; born < problem->n; born++) {
        while (death[dead].time <= birth[born].time)
            dead++;
        pairs += (size_t)(born - dead);
    }
    arena_release(arena, mark);
    return pairs;
}

/* ---- overrides ---- */

/* By the caller's numbers of items, the problem's; -1: they need no place. */
static int32_t *list_numbers(const Builder *builder, int n_item)
{
    const Problem *problem = builder->p;
    int32_t *number = NEW_ARRAY(builder->a, int32_t, n_item);
    for (int i = 0; i < n_item; i++)
        number[i] = -1;
    for (int i = 0; i < problem->n; i++)
        number[problem->from[i]] = i;
    return number;
}

static Override override_of(const PlaceArc *arc, int32_t i, int32_t j)
{
    Override override = {
        .i = i,
        .j = j,
        .of_i = arc->of_i,
        .of_j = arc->of_j,
        .lo = arc->lo,
        .hi = arc->hi,
    };
    if (i > j)
        override = (Override){
            .i = j,
            .j = i,
            .of_i = arc->of_j,
            .of_j = arc->of_i,
            .lo = -arc->hi,
            .hi = -arc->lo,
        };
    return override;
}

static void load_overrides(Builder *builder, const PlaceArc *arc, int n_arc,
                           int n_item)
{
    bool *special = builder->p->special;
    const int32_t *number = list_numbers(builder, n_item);
    Override *override = NEW_ARRAY(builder->a, Override, n_arc);
    int n = 0;
    for (int k = 0; k < n_arc; k++) {
        assert(arc[k].i >= 0 && arc[k].i < n_item);
        assert(arc[k].j >= 0 && arc[k].j < n_item);
        assert(arc[k].i != arc[k].j);
        const int32_t i = number[arc[k].i];
        const int32_t j = number[arc[k].j];
        if (i < 0 || j < 0)
            continue;
        override[n] = override_of(arc + k, i, j);
        n++;
        special[i] = true;
        special[j] = true;
    }
    if (n)
        qsort(override, (size_t)n, sizeof *override, by_pair);
    builder->override = override;
    builder->n_override = n;
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
    const Override *override = builder->override + k;
    return k < builder->n_override && override->i == i && override->j == j;
}

static bool replaced(const Builder *builder, int k, int i, int j, int part_i,
                     int part_j)
{
    for (; of_pair(builder, k, i, j); k++) {
        const Override *override = builder->override + k;
        const bool of_i = override->of_i == 0 || override->of_i == part_i;
        const bool of_j = override->of_j == 0 || override->of_j == part_j;
        if (of_i && of_j)
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

/* Parts that live together are disjoint; `k` is where the overrides of the pair would begin. */
static void exclude_parts(Builder *builder, int i, int j, int k)
{
    const PlaceItem *x = place_item(builder->p, i);
    const PlaceItem *y = place_item(builder->p, j);
    for (int s = 0; s < place_parts(x); s++) {
        const PlacePart part = place_part(x, s);
        for (int t = 0; t < place_parts(y); t++) {
            const PlacePart other = place_part(y, t);
            const int64_t apart = other.offset - part.offset;
            if (!place_parts_meet(&part, &other))
                continue;
            if (!replaced(builder, k, i, j, s + 1, t + 1))
                add_interval(builder, apart - part.size, apart + other.size);
        }
    }
}

/* Joins intervals that overlap; open ends that meet leave a point between them. */
static void add_arcs(Builder *builder, int i, int j)
{
    Interval *interval = builder->pair.at;
    const size_t n = builder->pair.n;
    size_t next = 0;
    if (n > 1)
        qsort(interval, n, sizeof *interval, by_low_end);
    for (size_t k = 0; k < n; k = next) {
        const int64_t lo = interval[k].lo;
        int64_t hi = interval[k].hi;
        for (next = k + 1; next < n && interval[next].lo < hi; next++)
            hi = i64_max(hi, interval[next].hi);
        VEC_PUSH(builder->a, &builder->arc, ((Arc){ i, j, lo, hi }));
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
    const bool parts =
        place_item(problem, i)->parts || place_item(problem, j)->parts;
    const bool overridden = problem->special[i] && problem->special[j];
    const Arc apart = { i, j, -problem->size[i], problem->size[j] };
    if (!parts && !overridden) {
        VEC_PUSH(builder->a, &builder->arc, apart);
        return;
    }
    const size_t arcs = builder->arc.n;
    int k = builder->n_override;
    if (overridden)
        k = first_override(builder, i, j);
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
    int n = 0;
    for (int e = 0; e < problem->n; e++) {
        const int i = birth[e].item;
        int kept = 0;
        for (int k = 0; k < n; k++) {
            const int j = alive[k];
            if (problem->end[j] <= problem->begin[i])
                continue;
            alive[kept] = j;
            kept++;
            add_pair(builder, i < j ? i : j, i < j ? j : i);
        }
        alive[kept] = i;
        n = kept + 1;
    }
}

/* Overrides hold for items that never live together, too. swept: the others are there already. */
static void add_overridden(Builder *builder, bool swept)
{
    const Problem *problem = builder->p;
    const Override *override = builder->override;
    int k = 0;
    while (k < builder->n_override) {
        const int i = override[k].i;
        const int j = override[k].j;
        const bool together = problem->begin[i] < problem->end[j] &&
                              problem->begin[j] < problem->end[i];
        const size_t arcs = builder->arc.n;
        for (; of_pair(builder, k, i, j); k++)
            if (!together)
                add_interval(builder, override[k].lo, override[k].hi);
        if (together && !swept)
            add_pair(builder, i, j);
        add_arcs(builder, i, j);
        if (!together && builder->arc.n > arcs)
            note_pair(builder, i, j, arcs);
    }
}

static void add_partner(Problem *problem, int32_t i, Partner partner)
{
    size_t *next = problem->partners + 1 + i;
    problem->partner[*next] = partner;
    ++*next;
}

static void sum_up(size_t *count, int n)
{
    for (int i = 1; i <= n; i++)
        count[i] += count[i - 1];
}

static void list_partners(Builder *builder)
{
    Problem *problem = builder->p;
    const Pair *pair = builder->overridden.at;
    const size_t n = builder->overridden.n;
    problem->partners = NEW_ARRAY(builder->a, size_t, problem->n + 2);
    problem->partner = NEW_ARRAY(builder->a, Partner, 2 * n);
    size_t *next = problem->partners + 1;
    for (size_t k = 0; k < n; k++) {
        next[pair[k].i + 1]++;
        next[pair[k].j + 1]++;
    }
    sum_up(next, problem->n);
    for (size_t k = 0; k < n; k++) {
        Partner partner = {
            .item = pair[k].j,
            .first = pair[k].first,
            .arcs = pair[k].arcs,
        };
        add_partner(problem, pair[k].i, partner);
        partner.item = pair[k].i;
        add_partner(problem, pair[k].j, partner);
    }
}

static void add_incident(Problem *problem, int32_t i, size_t arc)
{
    size_t *next = problem->start + 1 + i;
    problem->incident[*next] = (int32_t)arc;
    ++*next;
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
    sum_up(next, problem->n);
    for (size_t k = 0; k < problem->n_arc; k++) {
        add_incident(problem, problem->arc[k].i, k);
        add_incident(problem, problem->arc[k].j, k);
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
    arena_drop(arena, builder.override,
               (size_t)n_override * sizeof *builder.override);
    problem->arc = builder.arc.at;
    problem->n_arc = builder.arc.n;
    if (!problem->many)
        index_arcs(arena, problem);
}
