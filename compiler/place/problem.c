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
    for (int k = 0; k < place_parts(item); k++) {
        const PlacePart part = place_part(item, k);
        if (place_part_lives(&part))
            return true;
    }
    return false;
}

/* No offset or distance of any placement we try exceeds the sum of everything: keep that far from
 * the limit. */
static void check_range(const PlaceItem *item, int n, const PlaceArc *arc,
                        int n_arc)
{
    int64_t sum = 0;
    for (int i = 0; i < n; i++) {
        const int64_t pin = item[i].pinned ? item[i].pin : 0;
        assert(item[i].size >= 0 && item[i].align >= 0 && pin >= 0);
        sum = i64_add(sum, item[i].size);
        sum = i64_add(sum, item[i].align);
        sum = i64_add(sum, pin);
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
        const PlaceItem *item = place_item(problem, i);
        unit = gcd(unit, item->pinned ? item->pin : align_of(item));
    }
    return unit ? unit : 1;
}

/* Where every item has the same alignment, offsets are sums of sizes: their common factor is a unit
 * too. */
static int64_t plain_unit(const Problem *problem, int64_t unit)
{
    int64_t common = 0;
    for (int i = 0; i < problem->n; i++) {
        const int64_t size = place_item(problem, i)->size;
        common = gcd(common, place_up(size, unit));
    }
    return common ? common : unit;
}

static void set_lifetime(Problem *problem, int i, const PlaceItem *item)
{
    problem->begin[i] = item->begin;
    problem->end[i] = item->end;
    bool first = true;
    for (int k = 0; k < item->parts; k++) {
        const PlacePart *part = &item->part[k];
        assert(part->offset >= 0 && part->size >= 0);
        assert(part->offset <= item->size - part->size);
        if (!place_part_lives(part))
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
    const PlaceItem *item = place_item(problem, i);
    problem->size[i] = i64_ceil_div(item->size, problem->unit);
    problem->align[i] = 1;
    problem->pin[i] = -1;
    if (item->pinned)
        problem->pin[i] = item->pin / problem->unit;
    else if (problem->mixed)
        problem->align[i] = align_of(item) / problem->unit;
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

static void list_items(Problem *problem, int n)
{
    for (int i = 0; i < n; i++) {
        const PlaceItem *item = problem->item + i;
        if (!takes_memory(item))
            continue;
        problem->from[problem->n] = i;
        problem->n++;
        if (item->parts || item->pinned)
            problem->plain = false;
    }
}

static bool has_mixed_alignments(const Problem *problem)
{
    for (int i = 0; i < problem->n; i++) {
        const PlaceItem *item = place_item(problem, i);
        if (!item->pinned && align_of(item) != problem->unit)
            return true;
    }
    return false;
}

Problem *place_problem(Arena *arena, const PlaceItem *item, int n,
                       const PlaceArc *override, int n_override, size_t pairs)
{
    check_range(item, n, override, n_override);
    Problem *problem = NEW(arena, Problem);
    problem->item = item;
    problem->plain = n_override == 0;
    make_room(arena, problem, n);
    list_items(problem, n);
    problem->unit = common_unit(problem);
    problem->mixed = has_mixed_alignments(problem);
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
