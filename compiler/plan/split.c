/* SPDX-License-Identifier: Apache-2.0
 * Which steps the threads of a plan share: those that run layer by layer, and where no share writes
 * what another one reads or writes. */
#include "plan/split.h"

#include "base/size.h"
#include "inlay_threads.h"

/* Bytes [begin, end) of a memory. */
typedef struct Touched {
    const Item *item; /* where it is the caller's; NULL: a region */
    int region;
    int64_t begin, end;
} Touched;

/* Share k of so many units, which so many threads share. */
typedef struct Share {
    int32_t units, of, k;
} Share;

/* What units [first, end) touch. */
static Touched touched_by(const Trial *trial, const Touch *touch, int32_t first,
                          int32_t end)
{
    const Item *item = touch_item(&trial->all, touch);
    const int32_t lo = touch_rows(&trial->all, touch, first).lo;
    const int32_t hi = touch_rows(&trial->all, touch, end - 1).hi;
    const Tensor *root = item->root;
    Touched touched = {
        .begin = lo * item->row_bytes,
        .end = hi * item->row_bytes,
    };
    if (item->outside) {
        touched.item = item;
        return touched;
    }
    touched.region = root->region;
    touched.begin += root->offset;
    touched.end += root->offset;
    return touched;
}

static Touched touched_in(const Trial *trial, const Touch *touch,
                          const Share *share)
{
    const int32_t first = inlay_share(share->units, share->of, share->k);
    const int32_t end = inlay_share(share->units, share->of, share->k + 1);
    return touched_by(trial, touch, first, end);
}

static bool meet(const Touched *a, const Touched *b)
{
    if (a->item != b->item || a->region != b->region)
        return false;
    return a->begin < b->end && b->begin < a->end;
}

/* May the other share run while one writes its rows of `written`? */
static bool shares_apart(const Trial *trial, const Touch *written,
                         const Share *one, const Share *other)
{
    const Items *all = &trial->all;
    const Touch *end = touch_end(all, written->step);
    const Touched own = touched_in(trial, written, one);
    for (const Touch *touch = touch_begin(all, written->step); touch < end;
         touch++) {
        const Touched its = touched_in(trial, touch, other);
        if (!touch->operand->scratch && meet(&own, &its))
            return false;
    }
    return true;
}

static bool all_apart(const Trial *trial, const Touch *written)
{
    const int32_t units = items_step(&trial->all, written->step)->units;
    const int32_t shares = (int32_t)i64_min(trial->opt.threads, units);
    for (int32_t i = 0; i < shares; i++)
        for (int32_t k = 0; k < shares; k++) {
            const Share one = { units, shares, i };
            const Share other = { units, shares, k };
            if (i != k && !shares_apart(trial, written, &one, &other))
                return false;
        }
    return true;
}

static bool may_share(const Trial *trial, int32_t step)
{
    const Items *all = &trial->all;
    const Touch *end = touch_end(all, step);
    for (const Touch *touch = touch_begin(all, step); touch < end; touch++) {
        const Operand *operand = touch->operand;
        if (operand->write && !operand->scratch && !all_apart(trial, touch))
            return false;
    }
    return true;
}

static void copy_scratch(const Trial *trial, Step *step)
{
    for (int k = 0; k < step->n_operand; k++) {
        Operand *operand = step->operand + k;
        if (!operand->tensor || !operand->scratch)
            continue;
        const int64_t bytes = tensor_bytes(operand->tensor);
        const int64_t each = items_round(&trial->all, bytes);
        operand->copied = i64_mul(each, trial->opt.threads) - bytes;
    }
}

void split_steps(const Trial *trial, Program *program)
{
    for (size_t i = 0; i < trial->schedule.slot.n; i++) {
        const Slot *slot = trial->schedule.slot.at + i;
        for (int32_t k = slot->first; k < slot->end; k++) {
            Step *step = program->step.at[k];
            if (!step_may_split(step, trial->opt.split_work))
                continue;
            copy_scratch(trial, step);
            step->split = !slot->stream && !trial_by_list(trial, slot) &&
                          may_share(trial, k);
        }
    }
}
