/* SPDX-License-Identifier: Apache-2.0
 * The caller's items as the searches see them: what takes memory, counted in
 * units. The unit is the largest step that loses nothing: all alignments and
 * pins are multiples of it, and in plain problems all sizes are too. */
#include <assert.h>

#include "base/size.h"
#include "plan/place_internal.h"

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
static void check_range(const PlaceItem *item, int n, const PlaceArc *arc, int n_arc)
{
    int64_t sum = 0;
    for (int i = 0; i < n; i++) {
        assert(item[i].size >= 0 && item[i].align >= 0 && (!item[i].pinned || item[i].pin >= 0));
        sum = i64_add(
            sum, i64_add(i64_add(item[i].size, item[i].align), item[i].pinned ? item[i].pin : 0));
    }
    for (int k = 0; k < n_arc; k++) {
        if (arc[k].lo < -LARGEST || arc[k].hi > LARGEST)
            fail_overflow();
        sum = i64_add(sum, i64_max(i64_max(arc[k].hi, -arc[k].lo), 0));
    }
    if (sum > LARGEST)
        fail_overflow();
}

static int64_t common_unit(const Problem *p)
{
    int64_t unit = 0;
    for (int i = 0; i < p->n; i++) {
        const PlaceItem *item = &p->item[p->from[i]];
        unit = gcd(unit, item->pinned ? item->pin : align_of(item));
    }
    return unit ? unit : 1;
}

/* Where every item has the same alignment, offsets are sums of sizes: their common factor is a unit
 * too. */
static int64_t plain_unit(const Problem *p, int64_t unit)
{
    int64_t common = 0;
    for (int i = 0; i < p->n; i++)
        common = gcd(common, place_up(p->item[p->from[i]].size, unit));
    return common ? common : unit;
}

static void set_lifetime(Problem *p, int i, const PlaceItem *item)
{
    p->begin[i] = item->begin;
    p->end[i] = item->end;
    bool first = true;
    for (int k = 0; k < item->parts; k++) {
        const PlacePart *part = &item->part[k];
        assert(part->offset >= 0 && part->size >= 0 && part->offset <= item->size - part->size);
        if (part->size == 0 || part->begin >= part->end)
            continue;
        if (first || part->begin < p->begin[i])
            p->begin[i] = part->begin;
        if (first || part->end > p->end[i])
            p->end[i] = part->end;
        first = false;
    }
}

static void set_item(Problem *p, int i)
{
    const PlaceItem *item = &p->item[p->from[i]];
    p->size[i] = i64_ceil_div(item->size, p->unit);
    p->align[i] = item->pinned || !p->mixed ? 1 : align_of(item) / p->unit;
    p->pin[i] = item->pinned ? item->pin / p->unit : -1;
    set_lifetime(p, i, item);
}

static void make_room(Arena *a, Problem *p, int n)
{
    p->from = NEW_ARRAY(a, int32_t, n);
    p->size = NEW_ARRAY(a, int64_t, n);
    p->align = NEW_ARRAY(a, int64_t, n);
    p->pin = NEW_ARRAY(a, int64_t, n);
    p->begin = NEW_ARRAY(a, int32_t, n);
    p->end = NEW_ARRAY(a, int32_t, n);
    p->special = NEW_ARRAY(a, bool, n);
}

Problem *place_problem(Arena *a, const PlaceItem *item, int n, const PlaceArc *override,
                       int n_override, size_t pairs)
{
    check_range(item, n, override, n_override);
    Problem *p = NEW(a, Problem);
    p->item = item;
    p->plain = n_override == 0;
    make_room(a, p, n);
    for (int i = 0; i < n; i++) {
        if (!takes_memory(&item[i]))
            continue;
        p->from[p->n++] = i;
        p->plain = p->plain && item[i].parts == 0 && !item[i].pinned;
    }
    p->unit = common_unit(p);
    for (int i = 0; i < p->n; i++)
        p->mixed = p->mixed || (!item[p->from[i]].pinned && align_of(&item[p->from[i]]) != p->unit);
    if (p->plain && !p->mixed)
        p->unit = plain_unit(p, p->unit);
    for (int i = 0; i < p->n; i++)
        set_item(p, i);
    place_arcs(a, p, override, n_override, n, pairs);
    return p;
}

int64_t place_height(const Problem *p, const int64_t *offset)
{
    int64_t height = 0;
    for (int i = 0; i < p->n; i++)
        height = i64_max(height, offset[i] + p->size[i]);
    return height;
}
