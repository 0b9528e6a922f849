/* SPDX-License-Identifier: Apache-2.0
 * A trial, written into the program: steps, offsets, directions, rings, segments, and the blocks
 * that reports draw. */
#include "base/size.h"
#include "plan/trial.h"

static void take_steps(const Trial *trial, Program *program)
{
    Arena *arena = program->graph->arena;
    const size_t n = trial->program->step.n;
    Step **step = NEW_ARRAY(arena, Step *, n + 1);
    for (size_t i = 0; i < n; i++) {
        step[i] = trial->program->step.at[i];
        step[i]->backward = false;
        for (int k = 0; k < step[i]->n_operand; k++)
            step[i]->operand[k].ring = 0;
    }
    program->weight = trial->program->weight;
    program_take_steps(program, step, n);
}

static int32_t region_of(const Trial *trial, size_t item)
{
    return trial->region ? trial->region[item] : 0;
}

static void set_offsets(const Trial *trial)
{
    for (size_t i = 0; i < trial->all.item.n; i++) {
        const Item *item = trial->all.item.at + i;
        if (item->outside)
            continue;
        item->root->offset = trial->offset[i];
        item->root->region = region_of(trial, i);
    }
}

/* A result over its input, the input's end being written first, runs from last to first. */
static void set_directions(const Trial *trial, Program *program)
{
    for (size_t i = 0; i < trial->overlap.n; i++) {
        const Overlap *overlap = trial->overlap.at + i;
        const Item *in = trial->all.item.at + overlap->in;
        const Item *out = trial->all.item.at + overlap->out;
        const int64_t distance = out->root->offset - in->root->offset;
        const bool apart = in->root->region != out->root->region ||
                           distance >= in->size || -distance >= out->size;
        program->step.at[out->first]->backward =
            !apart && distance > -overlap->forward;
    }
}

static void set_rings(const Trial *trial, Program *program)
{
    for (size_t i = 0; i < trial->all.touch.n; i++) {
        const Touch *touch = trial->all.touch.at + i;
        Step *step = program->step.at[touch->step];
        Operand *operand = step->operand + (touch->operand - step->operand);
        operand->ring = trial->all.item.at[touch->item].ring;
    }
}

/* A step of which rows are handed in, by itself: a list of its units. */
static Segment list_of_one(Arena *arena, const Step *step, int32_t first)
{
    return (Segment){
        .first = first,
        .count = 1,
        .period = 1,
        .repeats = step->units,
        .list = NEW(arena, uint8_t),
    };
}

static void add_stream(Program *program, const Slot *slot)
{
    Arena *arena = program->graph->arena;
    for (int32_t k = slot->first; k < slot->end; k++)
        program->step.at[k]->backward = slot->stream->backward;
    VEC_PUSH(arena, &program->plan.segment, stream_list(arena, slot->stream));
}

static void add_segment(const Trial *trial, Program *program, const Slot *slot)
{
    Plan *plan = &program->plan;
    Arena *arena = program->graph->arena;
    const Step *first = program->step.at[slot->first];
    const Segment layer = { .first = slot->first,
                            .count = slot->end - slot->first };
    if (slot->stream)
        add_stream(program, slot);
    else if (trial_by_list(trial, slot))
        VEC_PUSH(arena, &plan->segment, list_of_one(arena, first, slot->first));
    else if (plan->segment.n && !plan->segment.at[plan->segment.n - 1].list)
        plan->segment.at[plan->segment.n - 1].count += layer.count;
    else
        VEC_PUSH(arena, &plan->segment, layer);
}

static void add_segments(const Trial *trial, Program *program)
{
    bool lists = false;
    for (size_t i = 0; i < trial->schedule.slot.n; i++)
        lists |= trial_by_list(trial, trial->schedule.slot.at + i);
    for (size_t i = 0; lists && i < trial->schedule.slot.n; i++)
        add_segment(trial, program, trial->schedule.slot.at + i);
}

/* The block is alive in slots [begin, end). */
static void add_block(const Trial *trial, Program *program, Block block,
                      int32_t begin, int32_t end)
{
    if (block.tensor)
        block.offset += program_region_start(program, block.tensor->region);
    block.first = trial->schedule.slot.at[begin].first;
    block.end = trial->schedule.slot.at[end - 1].end;
    VEC_PUSH(program->graph->arena, &program->plan.block, block);
}

static void add_counters(const Trial *trial, Program *program)
{
    const PlaceItem *counters = trial->item.at + trial->all.item.n;
    for (int32_t k = 0; k < counters->parts; k++) {
        const PlacePart *part = counters->part + k;
        const Block block = {
            .offset = program->plan.place + part->offset,
            .bytes = part->size,
        };
        add_block(trial, program, block, part->begin, part->end);
    }
}

static void list_blocks(const Trial *trial, Program *program)
{
    if (!trial->schedule.slot.n)
        return;
    for (size_t i = 0; i < trial->all.item.n; i++) {
        const Item *item = trial->all.item.at + i;
        const PlaceItem *place = trial->item.at + i;
        const Block block = {
            .tensor = item->root,
            .offset = item->root->offset,
            .bytes = place->size,
            .ring = item->ring,
            .scratch = item->scratch,
        };
        if (!item->outside && !item->host)
            add_block(trial, program, block, place->begin, place->end);
    }
    if (trial->item.n > trial->all.item.n)
        add_counters(trial, program);
}

void trial_apply(const Trial *trial, Program *program)
{
    program->plan = trial->plan;
    take_steps(trial, program);
    set_offsets(trial);
    set_directions(trial, program);
    set_rings(trial, program);
    add_segments(trial, program);
    list_blocks(trial, program);
    program_count_live(program);
    program_link(program);
}
