/* SPDX-License-Identifier: Apache-2.0
 * A trial, written into the program: steps, offsets, directions, rings, segments, and the blocks
 * that reports draw. */
#include "base/size.h"
#include "plan/split.h"
#include "plan/trial.h"

static void reset_step(Step *step)
{
    step->backward = step->split = false;
    for (int k = 0; k < step->n_operand; k++) {
        step->operand[k].ring = 0;
        step->operand[k].slots = NULL;
        step->operand[k].copied = 0;
    }
}

static void take_steps(const Trial *trial, Program *program)
{
    const Program *planned = trial->program;
    const size_t n = planned->step.n;
    Step **step = NEW_ARRAY(program->graph->arena, Step *, n + 1);
    for (size_t i = 0; i < n; i++) {
        step[i] = planned->step.at[i];
        reset_step(step[i]);
    }
    program->weight = planned->weight;
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
    program_place_states(trial->program);
}

/* Do two tensors share bytes of a memory, the second beginning so far behind the first? */
static bool shares_bytes(const Item *in, const Item *out, int64_t distance)
{
    return in->root->region == out->root->region && distance < in->size &&
           -distance < out->size;
}

/* A result over its input, the input's end being written first, runs from last to first. */
static void set_directions(const Trial *trial, Program *program)
{
    for (size_t i = 0; i < trial->overlap.n; i++) {
        const Overlap *overlap = trial->overlap.at + i;
        const Item *in = trial->all.item.at + overlap->in;
        const Item *out = trial->all.item.at + overlap->out;
        const int64_t distance = out->root->offset - in->root->offset;
        Step *step = program->step.at[out->first];
        step->backward =
            shares_bytes(in, out, distance) && distance > -overlap->forward;
    }
}

/* Of each item, with memory of the program. */
static const RowSlots **copy_slots(const Trial *trial, const Program *program)
{
    Arena *arena = program->graph->arena;
    const Items *all = &trial->all;
    const RowSlots **copies =
        NEW_ARRAY(trial->arena, const RowSlots *, all->item.n + 1);
    for (size_t i = 0; i < all->item.n; i++) {
        const RowSlots *slots = all->item.at[i].slots;
        if (!slots)
            continue;
        const size_t bytes = (size_t)slots->rows * sizeof *slots->slot;
        RowSlots *copy = arena_copy(arena, slots, sizeof *slots);
        copy->slot = arena_copy(arena, slots->slot, bytes);
        copies[i] = copy;
    }
    return copies;
}

static void set_rings(const Trial *trial, Program *program)
{
    const Items *all = &trial->all;
    const RowSlots **slots = copy_slots(trial, program);
    for (size_t i = 0; i < all->touch.n; i++) {
        const Touch *touch = all->touch.at + i;
        Step *step = program->step.at[touch->step];
        const ptrdiff_t k = touch->operand - step->operand;
        step->operand[k].ring = touch_item(all, touch)->ring;
        step->operand[k].slots = slots[touch->item];
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

static void add_segment(Program *program, Segment segment)
{
    Arena *arena = program->graph->arena;
    VEC_PUSH(arena, &program->plan.segment, segment);
}

static void add_stream(Program *program, const Slot *slot)
{
    Arena *arena = program->graph->arena;
    for (int32_t k = slot->first; k < slot->end; k++)
        program->step.at[k]->backward = slot->stream->backward;
    add_segment(program, stream_list(arena, slot->stream));
}

/* Steps that run layer by layer are one segment with those before them. */
static void add_layers(Program *program, const Slot *slot)
{
    const Plan *plan = &program->plan;
    const size_t n = plan->segment.n;
    Segment *last = n ? plan->segment.at + n - 1 : NULL;
    const Segment layers = {
        .first = slot->first,
        .count = slot->end - slot->first,
    };
    if (last && !last->list)
        last->count += layers.count;
    else
        add_segment(program, layers);
}

static void add_slot(const Trial *trial, Program *program, const Slot *slot)
{
    Arena *arena = program->graph->arena;
    const Step *step = program->step.at[slot->first];
    if (slot->stream)
        add_stream(program, slot);
    else if (trial_by_list(trial, slot))
        add_segment(program, list_of_one(arena, step, slot->first));
    else
        add_layers(program, slot);
}

static void add_segments(const Trial *trial, Program *program)
{
    const Schedule *schedule = &trial->schedule;
    bool lists = false;
    for (size_t i = 0; i < schedule->slot.n; i++)
        lists |= trial_by_list(trial, schedule->slot.at + i);
    for (size_t i = 0; lists && i < schedule->slot.n; i++)
        add_slot(trial, program, schedule->slot.at + i);
}

/* The block is alive in slots [begin, end). */
static void add_block(const Trial *trial, Program *program, Block block,
                      int32_t begin, int32_t end)
{
    const Slot *slot = trial->schedule.slot.at;
    if (block.tensor)
        block.offset += program_region_start(program, block.tensor->region);
    block.first = slot[begin].first;
    block.end = slot[end - 1].end;
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

/* A result that the pool of its stream begins in: the one before the other, then all of it. */
static void list_tail(const Trial *trial, Program *program, const Item *item,
                      Block block)
{
    const Item *ring = trial->all.item.at + item->tail - 1;
    const PlaceItem *place = trial->item.at + (item - trial->all.item.at);
    const PlacePart *both = place->part;
    const Block pool = {
        .tensor = ring->root,
        .offset = item->root->offset + ring->lead,
        .bytes = both->size - ring->lead,
        .pool = true,
    };
    block.bytes = ring->lead;
    add_block(trial, program, block, both->begin, both->end);
    add_block(trial, program, pool, both->begin, both->end);
    block.bytes = place->part[1].size;
    if (both->end < place->end)
        add_block(trial, program, block, both->end, place->end);
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
            .pool = item->slots,
            .scratch = item->scratch,
        };
        if (item->outside || item->host)
            continue;
        if (item->tail)
            list_tail(trial, program, item, block);
        else
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
    if (trial->opt.threads)
        split_steps(trial, program);
    list_blocks(trial, program);
    program_count_live(program);
    program_link(program);
}
