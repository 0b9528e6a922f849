/* SPDX-License-Identifier: Apache-2.0
 * What guards leave of a box. */
#include "base/size.h"
#include "ir/recipe_tile.h"

/* The one factor a guard depends on with step 1, or -1. */
static int plain_factor(const Guard *guard, int rank)
{
    int found = -1;
    for (int k = 0; k < rank; k++) {
        if (!guard->at.step[k])
            continue;
        if (found >= 0 || guard->at.step[k] != 1)
            return -1;
        found = k;
    }
    return found;
}

/* Least and greatest value that the guard looks at in the box. */
static void guard_range(const Guard *guard, int rank, const Box *box,
                        int64_t *low, int64_t *high)
{
    *low = *high = guard->at.base;
    for (int k = 0; k < rank; k++) {
        const int64_t step = guard->at.step[k];
        const int64_t first = step * box->at[k];
        const int64_t last = step * (box->at[k] + box->n[k] - 1);
        *low += i64_min(first, last);
        *high += i64_max(first, last);
    }
}

/* Leaves what the guard lets through along factor k; false: nothing. */
static bool cut_factor(const Guard *guard, int k, Box *box)
{
    const int64_t end = box->at[k] + box->n[k];
    const int64_t from = i64_max(box->at[k], guard->low - guard->at.base);
    box->n[k] = i64_min(end, guard->high - guard->at.base) - from;
    box->at[k] = from;
    return box->n[k] > 0;
}

bool box_cut(const Part *part, int rank, Box *box, bool *whole)
{
    *whole = true;
    for (int i = 0; i < part->guards; i++) {
        const Guard *guard = part->guard + i;
        int64_t low;
        int64_t high;
        guard_range(guard, rank, box, &low, &high);
        if (high < guard->low || low >= guard->high)
            return false;
        if (low >= guard->low && high < guard->high)
            continue;
        const int k = plain_factor(guard, rank);
        if (k < 0)
            *whole = false;
        else if (!cut_factor(guard, k, box))
            return false;
    }
    return true;
}
