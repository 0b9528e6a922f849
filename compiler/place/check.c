/* SPDX-License-Identifier: Apache-2.0
 * Says whether offsets keep every rule, from the caller's items and overrides
 * alone: shares nothing with the search. */
#include "place/place.h"

static PlacePart part_of(const PlaceItem *item, int k)
{
    return item->parts ? item->part[k]
                       : (PlacePart){ 0, item->size, item->begin, item->end };
}

static bool lives(const PlaceItem *item)
{
    for (int k = 0; k < (item->parts ? item->parts : 1); k++) {
        const PlacePart part = part_of(item, k);
        if (item->size > 0 && part.size > 0 && part.begin < part.end)
            return true;
    }
    return false;
}

static bool replaced(const PlaceArc *arc, int n_arc, int i, int j, int part_i,
                     int part_j)
{
    for (int k = 0; k < n_arc; k++) {
        const PlaceArc *x = &arc[k];
        const bool forward = x->i == i && x->j == j;
        const bool backward = x->i == j && x->j == i;
        if (!forward && !backward)
            continue;
        const int of_i = forward ? x->of_i : x->of_j;
        const int of_j = forward ? x->of_j : x->of_i;
        if ((!of_i || of_i == part_i) && (!of_j || of_j == part_j))
            return true;
    }
    return false;
}

static bool together(const PlacePart *x, const PlacePart *y)
{
    return x->size > 0 && y->size > 0 && x->begin < x->end &&
           y->begin < y->end && x->begin < y->end && y->begin < x->end;
}

static bool pair_holds(const PlaceItem *item, int i, int j, const PlaceArc *arc,
                       int n_arc, const int64_t *offset)
{
    for (int s = 0; s < (item[i].parts ? item[i].parts : 1); s++) {
        for (int t = 0; t < (item[j].parts ? item[j].parts : 1); t++) {
            const PlacePart x = part_of(&item[i], s);
            const PlacePart y = part_of(&item[j], t);
            const int64_t u = offset[i] + x.offset;
            const int64_t v = offset[j] + y.offset;
            if (!together(&x, &y) || u >= v + y.size || v >= u + x.size)
                continue;
            if (!replaced(arc, n_arc, i, j, s + 1, t + 1))
                return false;
        }
    }
    return true;
}

static bool item_holds(const PlaceItem *item, int64_t offset, int64_t height)
{
    if (item->pinned && offset != item->pin)
        return false;
    if (!lives(item))
        return true;
    if (!item->pinned && item->align > 1 && offset % item->align)
        return false;
    return offset >= 0 && offset <= height - item->size;
}

bool place_holds(const PlaceItem *item, int n, const PlaceArc *override,
                 int n_override, const int64_t *offset, int64_t height)
{
    for (int k = 0; k < n_override; k++) {
        const PlaceArc *x = &override[k];
        const int64_t distance = offset[x->i] - offset[x->j];
        if (lives(&item[x->i]) && lives(&item[x->j]) && x->lo < distance &&
            distance < x->hi)
            return false;
    }
    for (int i = 0; i < n; i++) {
        if (!item_holds(&item[i], offset[i], height))
            return false;
        for (int j = 0; j < i; j++)
            if (!pair_holds(item, i, j, override, n_override, offset))
                return false;
    }
    return true;
}
