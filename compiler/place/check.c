/* SPDX-License-Identifier: Apache-2.0
 * Says whether offsets keep every rule, from the caller's items and overrides
 * alone: shares nothing with the search. */
#include "place/place.h"

static bool lives(const PlaceItem *item)
{
    for (int k = 0; k < place_parts(item); k++) {
        const PlacePart part = place_part(item, k);
        if (item->size > 0 && place_part_lives(&part))
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

static bool share_bytes(const PlacePart *x, int64_t at, const PlacePart *y,
                        int64_t from)
{
    const int64_t low = at + x->offset;
    const int64_t other = from + y->offset;
    return low < other + y->size && other < low + x->size;
}

static bool pair_holds(const PlaceItem *item, int i, int j, const PlaceArc *arc,
                       int n_arc, const int64_t *offset)
{
    for (int s = 0; s < place_parts(item + i); s++) {
        for (int t = 0; t < place_parts(item + j); t++) {
            const PlacePart x = place_part(item + i, s);
            const PlacePart y = place_part(item + j, t);
            if (!place_parts_meet(&x, &y) ||
                !share_bytes(&x, offset[i], &y, offset[j]))
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
        const PlaceArc *arc = override + k;
        const int64_t distance = offset[arc->i] - offset[arc->j];
        const bool both = lives(item + arc->i) && lives(item + arc->j);
        if (both && arc->lo < distance && distance < arc->hi)
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
