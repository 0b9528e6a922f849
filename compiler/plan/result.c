/* SPDX-License-Identifier: Apache-2.0
 * Schedule and offsets, written into the program: directions, rings, segments, and the blocks that
 * reports draw. */
#include "plan/planner.h"

/* A result over its input, the input's end being written first, runs from last to first. */
static void set_directions(Planner *planner)
{
    for (size_t i = 0; i < planner->overlap.n; i++) {
        const Overlap *o = planner->overlap.at + i;
        const Item *in = planner->all.item.at + o->in;
        const Item *out = planner->all.item.at + o->out;
        const int64_t d = out->root->offset - in->root->offset;
        const bool apart =
            in->root->region != out->root->region || d >= in->size || -d >= out->size;
        planner->program->step.at[out->first]->backward = !apart && d > -o->forward;
    }
}

static void set_rings(Planner *planner)
{
    for (size_t i = 0; i < planner->all.touch.n; i++) {
        const Touch *t = planner->all.touch.at + i;
        Operand *o = planner->program->step.at[t->step]->operand +
                     (t->operand - planner->program->step.at[t->step]->operand);
        o->ring = planner->all.item.at[t->item].ring;
    }
}

static void add_segment(Planner *planner, const Slot *slot)
{
    Plan *plan = &planner->program->plan;
    Arena *a = planner->program->graph->arena;
    if (!slot->stream && planner_by_list(planner, slot)) {
        uint8_t *const one = NEW(a, uint8_t);
        VEC_PUSH(a, &plan->segment,
                 ((Segment){ .first = slot->first,
                             .count = 1,
                             .period = 1,
                             .repeats = planner->program->step.at[slot->first]->units,
                             .list = one }));
    } else if (slot->stream) {
        for (int32_t k = slot->first; k < slot->end; k++)
            planner->program->step.at[k]->backward = slot->stream->backward;
        VEC_PUSH(a, &plan->segment, stream_list(a, slot->stream));
    } else if (plan->segment.n && !plan->segment.at[plan->segment.n - 1].list) {
        plan->segment.at[plan->segment.n - 1].count += slot->end - slot->first;
    } else {
        VEC_PUSH(a, &plan->segment,
                 ((Segment){ .first = slot->first, .count = slot->end - slot->first }));
    }
}

static void add_block(Planner *planner, Block b, int32_t first_slot, int32_t last_slot)
{
    b.offset += b.tensor ? program_region_start(planner->program, b.tensor->region) : 0;
    b.first = planner->schedule.slot.at[first_slot].first;
    b.end = planner->schedule.slot.at[last_slot].end;
    VEC_PUSH(planner->program->graph->arena, &planner->program->plan.block, b);
}

static void list_blocks(Planner *planner)
{
    for (size_t i = 0; planner->schedule.slot.n && i < planner->all.item.n; i++) {
        const Item *it = planner->all.item.at + i;
        const PlaceItem *place = planner->item.at + i;
        if (!it->outside)
            add_block(planner,
                      (Block){ it->root, it->root->offset, place->size, .ring = it->ring,
                               .scratch = it->scratch },
                      place->begin, place->end - 1);
    }
    if (planner->item.n == planner->all.item.n)
        return;
    const PlaceItem *state = planner->item.at + planner->all.item.n;
    for (int32_t k = 0; k < state->parts; k++)
        add_block(planner,
                  (Block){ .offset = planner->program->plan.place + state->part[k].offset,
                           .bytes = state->part[k].size },
                  state->part[k].begin, state->part[k].end - 1);
}

void planner_write(Planner *planner)
{
    bool streams = false;
    set_directions(planner);
    set_rings(planner);
    for (size_t i = 0; i < planner->schedule.slot.n; i++)
        streams |= planner_by_list(planner, planner->schedule.slot.at + i);
    for (size_t i = 0; streams && i < planner->schedule.slot.n; i++)
        add_segment(planner, planner->schedule.slot.at + i);
    list_blocks(planner);
    program_count_live(planner->program);
    program_link(planner->program);
}
