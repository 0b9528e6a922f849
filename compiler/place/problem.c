/* SPDX-License-Identifier: Apache-2.0
 * The caller's items as the searches see them: what takes memory, counted in
 * units. The unit is the largest step that loses nothing: all alignments and
 * pins are multiples of it, and in plain problems all sizes are too. */
#include <assert.h>

#include "base/size.h"
#include "place/problem.h"

static const int64_t LARGEST = (int64_t)1 << 55;

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        const int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

static int64_t align_of(const PlaceItem *item)
{
    return item->align > 1 ? item->align : 1;
}

static bool takes_memory(const PlaceItem *item)
{
    if (item->size <= 0)
        return false;
    if (item->parts == 0)
        return item->begin < item->end;
    for (int k = 0; k < item->parts; k++)
        if (item->part[k].size > 0 && item->part[k].begin < item->part[k].end)
            return true;
    return false;
}

/* No offset or distance of any placement we try exceeds the sum of everything: keep that far from
 * the limit. */
static void check_range(const PlaceItem *item, int n, const PlaceArc *arc,
                        int n_arc)
{
    int64_t sum = 0;
    for (int i = 0; i < n; i++) {
        assert(item[i].size >= 0 && item[i].align >= 0 &&
               (!item[i].pinned || item[i].pin >= 0));
        sum = i64_add(sum, i64_add(i64_add(item[i].size, item[i].align),
                                   item[i].pinned ? item[i].pin : 0));
    }
    for (int k = 0; k < n_arc; k++) {
        if (arc[k].lo < -LARGEST || arc[k].hi > LARGEST)
            fail_overflow();
        sum = i64_add(sum, i64_max(i64_max(arc[k].hi, -arc[k].lo), 0));
    }
    if (sum > LARGEST)
        fail_overflow();
}

static int64_t common_unit(const Problem *problem)
{
    int64_t unit = 0;
    for (int i = 0; i < problem->n; i++) {
        const PlaceItem *item = &problem->item[problem->from[i]];
        unit = gcd(unit, item->pinned ? item->pin : align_of(item));
    }
    return unit ? unit : 1;
}

/* Where every item has the same alignment, offsets are sums of sizes: their common factor is a unit
 * too. */
static int64_t plain_unit(const Problem *problem, int64_t unit)
{
    int64_t common = 0;
    for (int i = 0; i < problem->n; i++)
        common =
            gcd(common, place_up(problem->item[problem->from[i]].size, unit));
    return common ? common : unit;
}

static void set_lifetime(Problem *problem, int i, const PlaceItem *item)
{
    problem->begin[i] = item->begin;
    problem->end[i] = item->end;
    bool first = true;
    for (int k = 0; k < item->parts; k++) {
        const PlacePart *part = &item->part[k];
        assert(part->offset >= 0 && part->size >= 0 &&
               part->offset <= item->size - part->size);
        if (part->size == 0 || part->begin >= part->end)
            continue;
        if (first || part->begin < problem->begin[i])
            problem->begin[i] = part->begin;
        if (first || part->end > problem->end[i])
            problem->end[i] = part->end;
        first = false;
    }
}

static void set_item(Problem *problem, int i)
{
    const PlaceItem *item = &problem->item[problem->from[i]];
    problem->size[i] = i64_ceil_div(item->size, problem->unit);
    problem->align[i] =
        item->pinned || !problem->mixed ? 1 : align_of(item) / problem->unit;
    problem->pin[i] = item->pinned ? item->pin / problem->unit : -1;
    set_lifetime(problem, i, item);
}

static void make_room(Arena *arena, Problem *problem, int n)
{
    problem->from = NEW_ARRAY(arena, int32_t, n);
    problem->size = NEW_ARRAY(arena, int64_t, n);
    problem->align = NEW_ARRAY(arena, int64_t, n);
    problem->pin = NEW_ARRAY(arena, int64_t, n);
    problem->begin = NEW_ARRAY(arena, int32_t, n);
    problem->end = NEW_ARRAY(arena, int32_t, n);
    problem->special = NEW_ARRAY(arena, bool, n);
}

Problem *place_problem(Arena *arena, const PlaceItem *item, int n,
                       const PlaceArc *override, int n_override, size_t pairs)
{
    check_range(item, n, override, n_override);
    Problem *problem = NEW(arena, Problem);
    problem->item = item;
    problem->plain = n_override == 0;
    make_room(arena, problem, n);
    for (int i = 0; i < n; i++) {
        if (!takes_memory(&item[i]))
            continue;
        problem->from[problem->n++] = i;
        problem->plain =
            problem->plain && item[i].parts == 0 && !item[i].pinned;
    }
    problem->unit = common_unit(problem);
    for (int i = 0; i < problem->n; i++)
        problem->mixed = problem->mixed ||
                         (!item[problem->from[i]].pinned &&
                          align_of(&item[problem->from[i]]) != problem->unit);
    if (problem->plain && !problem->mixed)
        problem->unit = plain_unit(problem, problem->unit);
    for (int i = 0; i < problem->n; i++)
        set_item(problem, i);
    place_arcs(arena, problem, override, n_override, n, pairs);
    return problem;
}

int64_t place_height(const Problem *problem, const int64_t *offset)
{
    int64_t height = 0;
    for (int i = 0; i < problem->n; i++)
        height = i64_max(height, offset[i] + problem->size[i]);
    return height;
}
