/* SPDX-License-Identifier: Apache-2.0
 * Items and schedule of a plan in the making. */
#include "plan/planner.h"

#include "plan/pair.h"

enum { WALK_BUDGET = 1500000 };

static void set_ring(Planner *p, const Ring *r)
{
    Item *it = p->all.item.at + r->item;
    it->ring = it->whole || r->rows == it->rows ? 0 : r->rows;
}

static void find_schedule(Planner *p, Walked *walked)
{
    const ScheduleOptions opt = { .stream = p->level >= PLAN_STREAM,
                                  .overlap = p->level >= PLAN_OVERLAP,
                                  .enough = p->opt->arena_limit,
                                  .tight = p->tight,
                                  .budget = WALK_BUDGET,
                                  .peak_only = p->peak_only,
                                  .most = p->most,
                                  .walked = walked,
                                  .pixels = p->opt->pixels ? p->opt->pixels : STREAM_PIXELS,
                                  .join = p->join };
    p->schedule = schedule_find(p->arena, &p->all, &opt);
    if (p->peak_only)
        return;
    p->slot_of = NEW_ARRAY(p->arena, int32_t, p->program->step.n + 1);
    for (size_t i = 0; i < p->schedule.slot.n; i++) {
        const Slot *s = p->schedule.slot.at + i;
        for (int32_t k = s->first; k < s->end; k++)
            p->slot_of[k] = (int32_t)i;
        for (size_t r = 0; s->stream && r < s->stream->ring.n; r++)
            set_ring(p, s->stream->ring.at + r);
    }
}

static Planner prepare(Program *program, const Aim *aim, bool tight)
{
    Arena *scratch = &program->graph->store->scratch;
    Planner p = { .arena = scratch,
                  .program = program,
                  .opt = aim->opt,
                  .level = aim->level,
                  .tight = tight,
                  .join = aim->join && !tight };
    p.all = items_find(scratch, program, aim->opt);
    find_schedule(&p, aim->walked);
    return p;
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
    Planner p = { .arena = scratch,
                  .program = program,
                  .opt = aim->opt,
                  .level = aim->level,
                  .peak_only = true,
                  .most = most };
    p.all = items_find(scratch, program, aim->opt);
    find_schedule(&p, aim->walked);
    arena_release(scratch, mark);
    return p.schedule.peak;
}

void planner_narrow(Program *program)
{
    for (size_t i = 0; i < program->step.n; i++)
        pair_widen(program->graph->arena, program->step.at[i], 0);
}

static bool widen(Planner *p, int32_t step, int64_t bytes)
{
    bool wider = false;
    pair_widen(p->program->graph->arena, p->program->step.at[step],
               bytes / p->opt->align * p->opt->align);
    for (const Touch *t = touch_begin(&p->all, step); t < touch_end(&p->all, step); t++) {
        Item *it = p->all.item.at + t->item;
        const int64_t size = items_round(&p->all, tensor_bytes(it->root));
        if (!it->scratch || size == it->size)
            continue;
        it->size = size;
        wider = true;
    }
    return wider;
}

bool planner_widen(Planner *p)
{
    bool wider = false;
    for (size_t i = 0; i < p->schedule.slot.n; i++) {
        const Slot *s = p->schedule.slot.at + i;
        for (int32_t k = s->first; s->stream && k < s->end; k++)
            wider |= widen(p, k, s->stream->scratch + i64_max(0, p->schedule.peak - s->bytes));
    }
    return wider;
}

bool planner_by_list(const Planner *p, const Slot *s)
{
    return s->stream || p->program->step.at[s->first]->pushed;
}
