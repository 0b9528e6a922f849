/* SPDX-License-Identifier: Apache-2.0
 * A step whose units several threads share: whatever the order in which they come, each must see
 * what it would see alone. */
#include "base/size.h"
#include "inlay_threads.h"
#include "prove/replay.h"

/* Addresses from the first byte to the last of what a share touches through an operand. */
typedef struct Extent {
    int64_t begin, end;
} Extent;

static void widen(Extent *extent, const Piece *piece)
{
    extent->begin = i64_min(extent->begin, piece->begin);
    extent->end = i64_max(extent->end, piece->end);
}

/* Rows are in the order of their addresses: nothing of a split step is a ring. */
static Extent extent_of(const Step *step, const Operand *operand, int32_t first,
                        int32_t end)
{
    Extent extent = { INT64_MAX, INT64_MIN };
    for (int32_t u = first; u < end; u++) {
        const Range rows = rows_of(step, operand, u);
        if (rows.lo >= rows.hi)
            continue;
        const Piece head = piece_of(operand, rows.lo);
        const Piece tail = piece_of(operand, rows.hi - 1);
        widen(&extent, &head);
        widen(&extent, &tail);
    }
    return extent;
}

/* By share, of one operand. */
static Extent *extents_of(Check *check, const Step *step,
                          const Operand *operand, int32_t shares)
{
    Extent *extent = NEW_ARRAY(check->arena, Extent, shares);
    for (int32_t k = 0; k < shares; k++)
        extent[k] =
            extent_of(step, operand, inlay_share(step->units, shares, k),
                      inlay_share(step->units, shares, k + 1));
    return extent;
}

/* Does a share of `written` meet another share of `other`? */
static bool shares_meet(const Extent *written, const Extent *other,
                        int32_t shares)
{
    for (int32_t i = 0; i < shares; i++)
        for (int32_t k = 0; k < shares; k++)
            if (i != k && written[i].begin < other[k].end &&
                other[k].begin < written[i].end)
                return true;
    return false;
}

/* Each thread has scratch of its own. */
static bool check_copies(Check *check, const Step *step)
{
    for (int k = 0; k < step->n_operand; k++) {
        const Operand *operand = step->operand + k;
        if (watched(operand) && operand->scratch && !operand->copied)
            return object(check, operand, "is scratch that threads share");
    }
    return true;
}

static bool check_result(Check *check, const Step *step, int written,
                         int32_t shares)
{
    const Extent *own =
        extents_of(check, step, step->operand + written, shares);
    for (int k = 0; k < step->n_operand; k++) {
        const Operand *operand = step->operand + k;
        if (!watched(operand) || operand->scratch)
            continue;
        if (shares_meet(own, extents_of(check, step, operand, shares), shares))
            return object(check, operand,
                          "is touched while another thread writes it");
    }
    return true;
}

bool check_split(Check *check, const Step *step)
{
    const int32_t threads = check->program->plan.threads;
    const int32_t shares = (int32_t)i64_min(threads, step->units);
    if (threads < 2 || step->units < 2 || step->accumulates || step_jumps(step))
        return object(check, NULL, "a step is split that no threads can share");
    if (!check_copies(check, step))
        return false;
    for (int k = 0; k < step->n_operand; k++) {
        const Operand *operand = step->operand + k;
        if (watched(operand) && operand->write && !operand->scratch &&
            !check_result(check, step, k, shares))
            return false;
    }
    return true;
}
