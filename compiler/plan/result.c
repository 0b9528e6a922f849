/* SPDX-License-Identifier: Apache-2.0
 * Schedule and offsets, written into the program: directions, rings, segments, and the blocks that
 * reports draw. */
#include "plan/planner.h"

/* A result over its input, the input's end being written first, runs from last to first. */
static void set_directions(Planner *p)
{
    for (size_t i = 0; i < p->overlap.n; i++) {
        const Overlap *o = p->overlap.at + i;
        const Item *in = p->all.item.at + o->in, *out = p->all.item.at + o->out;
        const int64_t d = out->root->offset - in->root->offset;
        const bool apart =
            in->root->region != out->root->region || d >= in->size || -d >= out->size;
        p->program->step.at[out->first]->backward = !apart && d > -o->forward;
    }
}

static void set_rings(Planner *p)
{
    for (size_t i = 0; i < p->all.touch.n; i++) {
        const Touch *t = p->all.touch.at + i;
        Operand *o = p->program->step.at[t->step]->operand +
                     (t->operand - p->program->step.at[t->step]->operand);
        o->ring = p->all.item.at[t->item].ring;
    }
}

static void add_segment(Planner *p, const Slot *s)
{
    Plan *plan = &p->program->plan;
    Arena *a = p->program->graph->arena;
    if (!s->stream && planner_by_list(p, s)) {
        uint8_t *const one = NEW(a, uint8_t);
        VEC_PUSH(a, &plan->segment,
                 ((Segment){ .first = s->first,
                             .count = 1,
                             .period = 1,
                             .repeats = p->program->step.at[s->first]->units,
                             .list = one }));
    } else if (s->stream) {
        for (int32_t k = s->first; k < s->end; k++)
            p->program->step.at[k]->backward = s->stream->backward;
        VEC_PUSH(a, &plan->segment, stream_list(a, s->stream));
    } else if (plan->segment.n && !plan->segment.at[plan->segment.n - 1].list) {
        plan->segment.at[plan->segment.n - 1].count += s->end - s->first;
    } else {
        VEC_PUSH(a, &plan->segment, ((Segment){ .first = s->first, .count = s->end - s->first }));
    }
}

static void add_block(Planner *p, Block b, int32_t first_slot, int32_t last_slot)
{
    b.offset += b.tensor ? program_region_start(p->program, b.tensor->region) : 0;
    b.first = p->schedule.slot.at[first_slot].first;
    b.end = p->schedule.slot.at[last_slot].end;
    VEC_PUSH(p->program->graph->arena, &p->program->plan.block, b);
}

static void list_blocks(Planner *p)
{
    for (size_t i = 0; p->schedule.slot.n && i < p->all.item.n; i++) {
        const Item *it = p->all.item.at + i;
        const PlaceItem *place = p->item.at + i;
        if (!it->outside)
            add_block(p,
                      (Block){ it->root, it->root->offset, place->size, .ring = it->ring,
                               .scratch = it->scratch },
                      place->begin, place->end - 1);
    }
    if (p->item.n == p->all.item.n)
        return;
    const PlaceItem *state = p->item.at + p->all.item.n;
    for (int32_t k = 0; k < state->parts; k++)
        add_block(p,
                  (Block){ .offset = p->program->plan.place + state->part[k].offset,
                           .bytes = state->part[k].size },
                  state->part[k].begin, state->part[k].end - 1);
}

void planner_write(Planner *p)
{
    bool streams = false;
    set_directions(p);
    set_rings(p);
    for (size_t i = 0; i < p->schedule.slot.n; i++)
        streams |= planner_by_list(p, p->schedule.slot.at + i);
    for (size_t i = 0; streams && i < p->schedule.slot.n; i++)
        add_segment(p, p->schedule.slot.at + i);
    list_blocks(p);
    program_count_live(p->program);
    program_link(p->program);
}
