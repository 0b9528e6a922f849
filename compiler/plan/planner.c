/* SPDX-License-Identifier: Apache-2.0
 * Items and schedule of a plan in the making. */
#include "plan/planner.h"

#include "plan/pair.h"

enum { WALK_BUDGET = 1500000 };

static void set_ring(Planner *planner, const Ring *r)
{
    Item *it = planner->all.item.at + r->item;
    it->ring = it->whole || r->rows == it->rows ? 0 : r->rows;
}

static void find_schedule(Planner *planner, Walked *walked)
{
    const ScheduleOptions opt = { .stream = planner->level >= PLAN_STREAM,
                                  .overlap = planner->level >= PLAN_OVERLAP,
                                  .enough = planner->opt->arena_limit,
                                  .tight = planner->tight,
                                  .budget = WALK_BUDGET,
                                  .peak_only = planner->peak_only,
                                  .most = planner->most,
                                  .walked = walked,
                                  .pixels =
                                      planner->opt->pixels ? planner->opt->pixels : STREAM_PIXELS,
                                  .join = planner->join };
    planner->schedule = schedule_find(planner->arena, &planner->all, &opt);
    if (planner->peak_only)
        return;
    planner->slot_of = NEW_ARRAY(planner->arena, int32_t, planner->program->step.n + 1);
    for (size_t i = 0; i < planner->schedule.slot.n; i++) {
        const Slot *s = planner->schedule.slot.at + i;
        for (int32_t k = s->first; k < s->end; k++)
            planner->slot_of[k] = (int32_t)i;
        for (size_t r = 0; s->stream && r < s->stream->ring.n; r++)
            set_ring(planner, s->stream->ring.at + r);
    }
}

static Planner prepare(Program *program, const Aim *aim, bool tight)
{
    Arena *scratch = &program->graph->store->scratch;
    Planner planner = { .arena = scratch,
                        .program = program,
                        .opt = aim->opt,
                        .level = aim->level,
                        .tight = tight,
                        .join = aim->join && !tight };
    planner.all = items_find(scratch, program, aim->opt);
    find_schedule(&planner, aim->walked);
    return planner;
}

Planner planner_prepare(Program *program, const Aim *aim)
{
    return prepare(program, aim, false);
}

Planner planner_prepare_tight(Program *program, const Aim *aim)
{
    return prepare(program, aim, true);
}

int64_t planner_peak(Program *program, const Aim *aim, int64_t most)
{
    Arena *scratch = &program->graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    Planner planner = { .arena = scratch,
                        .program = program,
                        .opt = aim->opt,
                        .level = aim->level,
                        .peak_only = true,
                        .most = most };
    planner.all = items_find(scratch, program, aim->opt);
    find_schedule(&planner, aim->walked);
    arena_release(scratch, mark);
    return planner.schedule.peak;
}

void planner_narrow(Program *program)
{
    for (size_t i = 0; i < program->step.n; i++)
        pair_widen(program->graph->arena, program->step.at[i], 0);
}

static bool widen(Planner *planner, int32_t step, int64_t bytes)
{
    bool wider = false;
    pair_widen(planner->program->graph->arena, planner->program->step.at[step],
               bytes / planner->opt->align * planner->opt->align);
    for (const Touch *touch = touch_begin(&planner->all, step);
         touch < touch_end(&planner->all, step); touch++) {
        Item *it = planner->all.item.at + touch->item;
        const int64_t size = items_round(&planner->all, tensor_bytes(it->root));
        if (!it->scratch || size == it->size)
            continue;
        it->size = size;
        wider = true;
    }
    return wider;
}

bool planner_widen(Planner *planner)
{
    bool wider = false;
    for (size_t i = 0; i < planner->schedule.slot.n; i++) {
        const Slot *s = planner->schedule.slot.at + i;
        for (int32_t k = s->first; s->stream && k < s->end; k++)
            wider |= widen(planner, k,
                           s->stream->scratch + i64_max(0, planner->schedule.peak - s->bytes));
    }
    return wider;
}

bool planner_by_list(const Planner *planner, const Slot *slot)
{
    return slot->stream || planner->program->step.at[slot->first]->pushed;
}
