/* SPDX-License-Identifier: Apache-2.0
 * The pairs of items that exclude each other, as forbidden intervals of their
 * distance. A sweep over time meets each pair that lives together once, so the
 * work is in proportion to the pairs. Overrides replace what they name. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/vec.h"
#include "plan/place_internal.h"

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
    const Event *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->item < y->item ? -1 : x->item > y->item;
}

static int by_pair(const void *a, const void *b)
{
    const Override *x = a, *y = b;
    if (x->i != y->i)
        return x->i < y->i ? -1 : 1;
    return x->j < y->j ? -1 : x->j > y->j;
}

static int by_low_end(const void *a, const void *b)
{
    const Interval *x = a, *y = b;
    if (x->lo != y->lo)
        return x->lo < y->lo ? -1 : 1;
    return x->hi < y->hi ? -1 : x->hi > y->hi;
}

static Event *in_order_of_birth(Arena *a, const Problem *p)
{
    Event *event = NEW_ARRAY(a, Event, p->n);
    for (int i = 0; i < p->n; i++)
        event[i] = (Event){ p->begin[i], i };
    if (p->n)
        qsort(event, (size_t)p->n, sizeof *event, by_time);
    return event;
}

static size_t count_pairs(Arena *a, const Problem *p)
{
    const ArenaMark mark = arena_mark(a);
    const Event *birth = in_order_of_birth(a, p);
    Event *death = NEW_ARRAY(a, Event, p->n);
    for (int i = 0; i < p->n; i++)
        death[i] = (Event){ p->end[i], i };
    if (p->n)
        qsort(death, (size_t)p->n, sizeof *death, by_time);
    size_t pairs = 0;
    for (int b = 0, d = 0; b < p->n; b++) {
        while (death[d].time <= birth[b].time)
            d++;
        pairs += (size_t)(b - d);
    }
    arena_release(a, mark);
    return pairs;
}

/* ---- overrides ---- */

static void load_overrides(Builder *b, const PlaceArc *arc, int n_arc, int n_item)
{
    b->override = NEW_ARRAY(b->a, Override, n_arc);
    int32_t *of = NEW_ARRAY(b->a, int32_t, n_item);
    memset(of, 0xff, sizeof *of * (size_t)n_item);
    for (int i = 0; i < b->p->n; i++)
        of[b->p->from[i]] = i;
    for (int k = 0; k < n_arc; k++) {
        const PlaceArc x = arc[k];
        assert(x.i >= 0 && x.i < n_item && x.j >= 0 && x.j < n_item && x.i != x.j);
        const int32_t i = of[x.i], j = of[x.j];
        if (i < 0 || j < 0)
            continue;
        b->override[b->n_override++] = i < j ? (Override){ i, j, x.of_i, x.of_j, x.lo, x.hi }
                                             : (Override){ j, i, x.of_j, x.of_i, -x.hi, -x.lo };
        b->p->special[i] = b->p->special[j] = true;
    }
    if (b->n_override)
        qsort(b->override, (size_t)b->n_override, sizeof *b->override, by_pair);
}

/* First override of the pair, or of the next pair that has one. */
static int first_override(const Builder *b, int i, int j)
{
    const Override key = { .i = i, .j = j };
    int low = 0, high = b->n_override;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (by_pair(&b->override[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool of_pair(const Builder *b, int k, int i, int j)
{
    return k < b->n_override && b->override[k].i == i && b->override[k].j == j;
}

static bool replaced(const Builder *b, int k, int i, int j, int part_i, int part_j)
{
    for (; of_pair(b, k, i, j); k++) {
        const Override *x = &b->override[k];
        if ((x->of_i == 0 || x->of_i == part_i) && (x->of_j == 0 || x->of_j == part_j))
            return true;
    }
    return false;
}

/* ---- one pair ---- */

static void add_interval(Builder *b, int64_t lo, int64_t hi)
{
    const Interval x = { i64_floor_div(lo, b->p->unit), i64_ceil_div(hi, b->p->unit) };
    if (x.lo + 1 < x.hi)
        VEC_PUSH(b->a, &b->pair, x);
}

static PlacePart whole(const PlaceItem *item)
{
    return (PlacePart){ 0, item->size, item->begin, item->end };
}

/* Parts that live together are disjoint; `k` is where the overrides of the pair would begin. */
static void exclude_parts(Builder *b, int i, int j, int k)
{
    const PlaceItem *x = &b->p->item[b->p->from[i]], *y = &b->p->item[b->p->from[j]];
    for (int s = 0; s < (x->parts ? x->parts : 1); s++) {
        const PlacePart u = x->parts ? x->part[s] : whole(x);
        for (int t = 0; t < (y->parts ? y->parts : 1); t++) {
            const PlacePart v = y->parts ? y->part[t] : whole(y);
            if (u.begin >= v.end || v.begin >= u.end || u.begin >= u.end || v.begin >= v.end)
                continue;
            if (u.size == 0 || v.size == 0 || replaced(b, k, i, j, s + 1, t + 1))
                continue;
            add_interval(b, v.offset - u.offset - u.size, v.offset + v.size - u.offset);
        }
    }
}

/* Joins intervals that overlap; open ends that meet leave a point between them. */
static void add_arcs(Builder *b, int i, int j)
{
    if (b->pair.n > 1)
        qsort(b->pair.at, b->pair.n, sizeof *b->pair.at, by_low_end);
    for (size_t k = 0; k < b->pair.n;) {
        Interval x = b->pair.at[k++];
        while (k < b->pair.n && b->pair.at[k].lo < x.hi)
            x.hi = i64_max(x.hi, b->pair.at[k++].hi);
        VEC_PUSH(b->a, &b->arc, ((Arc){ i, j, x.lo, x.hi }));
    }
    b->pair.n = 0;
}

static void note_pair(Builder *b, int i, int j, size_t arcs)
{
    if (b->arc.n > INT32_MAX / 2)
        fail_overflow();
    VEC_PUSH(b->a, &b->overridden, ((Pair){ i, j, (int32_t)arcs, (int32_t)(b->arc.n - arcs) }));
}

static void add_pair(Builder *b, int i, int j)
{
    const Problem *p = b->p;
    const bool parts = p->item[p->from[i]].parts || p->item[p->from[j]].parts;
    const bool overridden = p->special[i] && p->special[j];
    if (!parts && !overridden) {
        VEC_PUSH(b->a, &b->arc, ((Arc){ i, j, -p->size[i], p->size[j] }));
        return;
    }
    const int k = overridden ? first_override(b, i, j) : b->n_override;
    const size_t arcs = b->arc.n;
    exclude_parts(b, i, j, k);
    for (int m = k; of_pair(b, m, i, j); m++)
        add_interval(b, b->override[m].lo, b->override[m].hi);
    add_arcs(b, i, j);
    if (of_pair(b, k, i, j))
        note_pair(b, i, j, arcs);
}

/* ---- all pairs ---- */

static void sweep(Builder *b)
{
    const Problem *p = b->p;
    const Event *birth = in_order_of_birth(b->a, p);
    int32_t *alive = NEW_ARRAY(b->a, int32_t, p->n);
    for (int e = 0, n = 0; e < p->n; e++) {
        const int i = birth[e].item;
        int kept = 0;
        for (int k = 0; k < n; k++) {
            const int j = alive[k];
            if (p->end[j] <= p->begin[i])
                continue;
            alive[kept++] = j;
            add_pair(b, i < j ? i : j, i < j ? j : i);
        }
        alive[kept++] = i;
        n = kept;
    }
}

/* Overrides hold for items that never live together, too. swept: the others are there already. */
static void add_overridden(Builder *b, bool swept)
{
    const Problem *p = b->p;
    for (int k = 0; k < b->n_override;) {
        const int i = b->override[k].i, j = b->override[k].j;
        const bool together = p->begin[i] < p->end[j] && p->begin[j] < p->end[i];
        const size_t arcs = b->arc.n;
        for (; of_pair(b, k, i, j); k++)
            if (!together)
                add_interval(b, b->override[k].lo, b->override[k].hi);
        if (together && !swept)
            add_pair(b, i, j);
        add_arcs(b, i, j);
        if (!together && b->arc.n > arcs)
            note_pair(b, i, j, arcs);
    }
}

static void list_partners(Builder *b)
{
    Problem *p = b->p;
    p->partners = NEW_ARRAY(b->a, size_t, p->n + 2);
    p->partner = NEW_ARRAY(b->a, Partner, 2 * b->overridden.n);
    size_t *next = p->partners + 1;
    for (size_t k = 0; k < b->overridden.n; k++) {
        next[b->overridden.at[k].i + 1]++;
        next[b->overridden.at[k].j + 1]++;
    }
    for (int i = 1; i <= p->n; i++)
        next[i] += next[i - 1];
    for (size_t k = 0; k < b->overridden.n; k++) {
        const Pair x = b->overridden.at[k];
        p->partner[next[x.i]++] = (Partner){ x.j, x.first, x.arcs };
        p->partner[next[x.j]++] = (Partner){ x.i, x.first, x.arcs };
    }
}

static void index_arcs(Arena *a, Problem *p)
{
    if (p->n_arc > INT32_MAX / 2)
        fail_overflow();
    p->start = NEW_ARRAY(a, size_t, p->n + 2);
    p->incident = NEW_ARRAY(a, int32_t, 2 * p->n_arc);
    size_t *next = p->start + 1;
    for (size_t k = 0; k < p->n_arc; k++) {
        next[p->arc[k].i + 1]++;
        next[p->arc[k].j + 1]++;
    }
    for (int i = 1; i <= p->n; i++)
        next[i] += next[i - 1];
    for (size_t k = 0; k < p->n_arc; k++) {
        p->incident[next[p->arc[k].i]++] = (int32_t)k;
        p->incident[next[p->arc[k].j]++] = (int32_t)k;
    }
}

static bool any_pin(const Problem *p)
{
    for (int i = 0; i < p->n; i++)
        if (p->pin[i] >= 0)
            return true;
    return false;
}

void place_arcs(Arena *a, Problem *p, const PlaceArc *override, int n_override, int n_item,
                size_t pairs)
{
    Builder b = { .a = a, .p = p };
    p->many = !(n_override && any_pin(p)) && count_pairs(a, p) > pairs;
    load_overrides(&b, override, n_override, n_item);
    if (!p->many)
        sweep(&b);
    add_overridden(&b, !p->many);
    list_partners(&b);
    p->arc = b.arc.at;
    p->n_arc = b.arc.n;
    if (!p->many)
        index_arcs(a, p);
}
