/* SPDX-License-Identifier: Apache-2.0
 * Places of whole arenas in one. They are few, and any two may exclude each other: so they are put
 * down one after the other, each as low as it can lie, in all orders until one meets the bound. */
#include <string.h>

#include "base/size.h"
#include "emit/group.h"

enum { TRIES = 20000 }; /* placements of a model, all orders together */

typedef struct Search {
    const Group *group;
    int64_t *offset; /* of those placed */
    bool *placed;
    int64_t best;
    int64_t *best_offset;
    int tries;
} Search;

static bool are_together(const Group *group, size_t a, size_t b)
{
    const uint64_t both = UINT64_C(1) << a | UINT64_C(1) << b;
    for (size_t i = 0; i < group->together.n; i++)
        if ((group->together.at[i] & both) == both)
            return true;
    return false;
}

/* Bytes [from, end) of an arena. */
typedef struct Part {
    int64_t from, end;
} Part;

/* Where model `at` must go to if these parts would meet at `offset`: its part behind the other. */
static int64_t beyond(int64_t offset, Part own, Part other)
{
    const bool meet = own.from < own.end && other.from < other.end &&
                      offset + own.from < other.end &&
                      other.from < offset + own.end;
    return meet ? i64_max(other.end - own.from, offset) : offset;
}

/* The lowest offset from `offset` on where model i does not disturb the placed model k. */
static int64_t clear_of(const Search *search, size_t i, size_t k,
                        int64_t offset)
{
    const GroupModel *own = search->group->model.at + i;
    const GroupModel *other = search->group->model.at + k;
    const int64_t base = search->offset[k];
    const Part own_all = { 0, own->arena_size };
    const Part own_kept = { own->kept, own->kept_end };
    const Part all = { base, base + other->arena_size };
    const Part kept = { base + other->kept, base + other->kept_end };
    if (are_together(search->group, i, k))
        return beyond(offset, own_all, all);
    return beyond(beyond(offset, own_all, kept), own_kept, all);
}

static int64_t lowest(const Search *search, size_t i)
{
    const int64_t align = search->group->arena_align;
    int64_t offset = 0;
    for (size_t k = 0; k < search->group->model.n;) {
        const int64_t next =
            search->placed[k] ? clear_of(search, i, k, offset) : offset;
        /* Behind one there may be another that was passed already. */
        k = next == offset ? k + 1 : 0;
        offset = (int64_t)size_align((size_t)next, (size_t)align);
    }
    return offset;
}

static void keep_best(Search *search, int64_t size)
{
    const size_t n = search->group->model.n;
    search->best = size;
    memcpy(search->best_offset, search->offset, n * sizeof *search->offset);
}

/* All orders of the models that are not placed yet; those placed so far end at `size`. */
static void place_rest(Search *search, size_t count, int64_t size)
{
    const Group *group = search->group;
    if (size >= search->best)
        return;
    if (count == group->model.n) {
        keep_best(search, size);
        return;
    }
    for (size_t i = 0; i < group->model.n; i++) {
        if (search->placed[i] || search->best == group->lower_bound ||
            (search->best < INT64_MAX && search->tries > TRIES))
            continue;
        search->tries++;
        search->offset[i] = lowest(search, i);
        search->placed[i] = true;
        const int64_t end = search->offset[i] + group->model.at[i].arena_size;
        place_rest(search, count + 1, i64_max(size, end));
        search->placed[i] = false;
    }
}

/* The largest of each alone and of the sum of each set; a model's arena and what others keep. */
static int64_t lower_bound(const Group *group)
{
    int64_t bound = 0;
    int64_t kept = 0;
    for (size_t i = 0; i < group->model.n; i++)
        kept += group->model.at[i].kept_end - group->model.at[i].kept;
    for (size_t i = 0; i < group->model.n; i++) {
        const GroupModel *model = group->model.at + i;
        const int64_t own = model->kept_end - model->kept;
        bound = i64_max(bound, model->arena_size + kept - own);
    }
    for (size_t k = 0; k < group->together.n; k++) {
        int64_t sum = 0;
        for (size_t i = 0; i < group->model.n; i++)
            if (group->together.at[k] >> i & 1)
                sum = i64_add(sum, group->model.at[i].arena_size);
        bound = i64_max(bound, sum);
    }
    return bound;
}

void group_place(Group *group)
{
    const size_t n = group->model.n;
    Search search = {
        .group = group,
        .offset = NEW_ARRAY(group->arena, int64_t, n),
        .best_offset = NEW_ARRAY(group->arena, int64_t, n),
        .placed = NEW_ARRAY(group->arena, bool, n),
        .best = INT64_MAX,
    };
    for (size_t i = 0; i < n; i++)
        group->arena_align =
            i64_max(group->arena_align, group->model.at[i].arena_align);
    group->lower_bound = lower_bound(group);
    place_rest(&search, 0, 0);
    for (size_t i = 0; i < n; i++)
        group->model.at[i].offset = search.best_offset[i];
    group->arena_size = search.best;
}
