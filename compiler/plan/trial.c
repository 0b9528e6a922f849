/* SPDX-License-Identifier: Apache-2.0
 * Items and schedule of a trial. */
#include "plan/trial.h"

#include "base/size.h"
#include "forms/pair.h"

static Arena *scratch_of(const Program *program)
{
    return &program->graph->store->scratch;
}

/* The first of those that share the pool of a stream stands for it. */
static void set_pool(Trial *trial, const Stream *stream)
{
    int32_t pool = stream->tail;
    for (size_t i = 0; i < stream->ring.n; i++) {
        const Ring *ring = stream->ring.at + i;
        Item *item = trial->all.item.at + ring->item;
        item->slots = ring->slots;
        item->over = ring->over;
        if (!ring->slots)
            continue;
        item->ring = 0;
        item->host = pool + 1;
        item->lead = stream->lead;
        if (pool < 0)
            pool = ring->item;
        if (pool == stream->tail)
            trial->all.item.at[pool].tail = ring->item + 1;
    }
}

static void set_rings(Trial *trial, const Stream *stream)
{
    for (size_t i = 0; i < stream->ring.n; i++) {
        const Ring *ring = stream->ring.at + i;
        Item *item = trial->all.item.at + ring->item;
        const bool all_rows = item->whole || ring->rows == item->rows;
        item->ring = all_rows ? 0 : ring->rows;
        item->host = ring->host + 1;
        item->lead = 0;
    }
}

/* Which steps share a slot, and which items are rings there. */
static void take_schedule(Trial *trial)
{
    const Schedule *schedule = &trial->schedule;
    const size_t steps = trial->program->step.n;
    for (size_t i = 0; i < trial->all.item.n; i++)
        trial->all.item.at[i].tail = 0;
    trial->slot_of = NEW_ARRAY(trial->arena, int32_t, steps + 1);
    for (int32_t i = 0; i < (int32_t)schedule->slot.n; i++) {
        const Slot *slot = schedule->slot.at + i;
        for (int32_t k = slot->first; k < slot->end; k++)
            trial->slot_of[k] = i;
        if (!slot->stream)
            continue;
        set_rings(trial, slot->stream);
        set_pool(trial, slot->stream);
    }
}

Trial trial_new(const Program *program, const PlanOptions *opt)
{
    Trial trial = {
        .arena = scratch_of(program),
        .program = program,
        .opt = *opt,
    };
    trial.all = items_find(trial.arena, program, opt);
    trial.schedule = schedule_find(trial.arena, &trial.all, opt);
    take_schedule(&trial);
    return trial;
}

void trial_unjoin(Trial *trial)
{
    Schedule *schedule = &trial->schedule;
    trial->opt.join = false;
    schedule->joined = false;
    for (size_t i = 0; i < schedule->slot.n; i++) {
        Slot *slot = schedule->slot.at + i;
        slot->stream = slot->unjoined;
    }
    take_schedule(trial);
}

int64_t trial_peak(const Program *program, const PlanOptions *opt,
                   int64_t below)
{
    Arena *scratch = scratch_of(program);
    const ArenaMark mark = arena_mark(scratch);
    const Items all = items_find(scratch, program, opt);
    const int64_t peak =
        schedule_peak(scratch, &all, opt, i64_max(0, below - 1));
    arena_release(scratch, mark);
    return peak;
}

/* Bytes that the scratch of a pair in the slot may take. */
static int64_t free_for_scratch(const Trial *trial, const Slot *slot)
{
    if (!slot->stream)
        return 0;
    const int64_t below = i64_max(0, trial->schedule.peak - slot->bytes);
    const int64_t bytes = slot->stream->scratch + below;
    return bytes / trial->opt.align * trial->opt.align;
}

/* The program with other steps, where some differ; else NULL. */
static Program *replaced(const Program *program, Step **step)
{
    const size_t n = program->step.n;
    for (size_t i = 0; i < n; i++) {
        if (step[i] == program->step.at[i])
            continue;
        Program *result = NEW(scratch_of(program), Program);
        *result = program_with_steps(program, step, n);
        return result;
    }
    return NULL;
}

const Program *trial_narrow(const Program *program)
{
    const size_t n = program->step.n;
    Step **step = NEW_ARRAY(scratch_of(program), Step *, n + 1);
    for (size_t i = 0; i < n; i++)
        step[i] = pair_widened(program->graph->arena, program->step.at[i], 0);
    const Program *narrow = replaced(program, step);
    return narrow ? narrow : program;
}

/* Does its result lie over rows that it reads, as far as its tiles allow? */
static bool lies_close(const Trial *trial, int32_t step)
{
    const Touch *end = touch_end(&trial->all, step);
    for (const Touch *touch = touch_begin(&trial->all, step); touch < end;
         touch++)
        if (touch->operand->write && touch_item(&trial->all, touch)->over)
            return true;
    return false;
}

/* Of each slot's steps, the pairs as wide as there is room. */
static Step **widened_steps(const Trial *trial)
{
    const Program *program = trial->program;
    Arena *arena = program->graph->arena;
    Step **step = NEW_ARRAY(trial->arena, Step *, program->step.n + 1);
    for (size_t i = 0; i < trial->schedule.slot.n; i++) {
        const Slot *slot = trial->schedule.slot.at + i;
        const int64_t bytes = free_for_scratch(trial, slot);
        for (int32_t k = slot->first; k < slot->end; k++) {
            step[k] = program->step.at[k];
            if (!lies_close(trial, k))
                step[k] = pair_widened(arena, step[k], bytes);
        }
    }
    return step;
}

bool trial_widen(const Trial *trial, Trial *wide)
{
    const Program *wider = replaced(trial->program, widened_steps(trial));
    if (!wider)
        return false;
    *wide = *trial;
    wide->program = wider;
    wide->all = items_find(wide->arena, wider, &wide->opt);
    take_schedule(wide);
    return true;
}

bool trial_by_list(const Trial *trial, const Slot *slot)
{
    return slot->stream || trial->program->step.at[slot->first]->pushed;
}
