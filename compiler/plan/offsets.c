/* SPDX-License-Identifier: Apache-2.0
 * From items and schedule to offsets: what may lie over what, one arena or several regions. */
#include <string.h>

#include "base/size.h"
#include "plan/regions.h"
#include "plan/trial.h"

static int64_t own_bytes(const Trial *trial, const Item *item)
{
    if (item->host)
        return 0;
    if (item->slots)
        return items_round(&trial->all, item->slots->pool);
    return item->ring ? items_round(&trial->all, item->ring * item->row_bytes)
                      : item->size;
}

/* A result with the pool of the stream that makes it, and then by itself. */
static PlaceItem place_with_pool(const Trial *trial, const Item *item,
                                 PlaceItem place)
{
    const Item *ring = trial->all.item.at + item->tail - 1;
    const int64_t pool = items_round(&trial->all, ring->slots->pool);
    const int64_t both = i64_max(place.size, ring->lead + pool);
    PlacePart *part = NEW_ARRAY(trial->arena, PlacePart, 2);
    part[0] = (PlacePart){
        .size = both,
        .begin = place.begin,
        .end = place.begin + 1,
    };
    part[1] = (PlacePart){
        .size = place.size,
        .begin = place.begin + 1,
        .end = place.end,
    };
    place.size = both;
    place.parts = 2;
    place.part = part;
    return place;
}

static PlaceItem place_item(const Trial *trial, const Item *item)
{
    const int64_t steps = (int64_t)trial->program->step.n;
    const int64_t first = i64_max(item->first, 0);
    const int64_t last =
        item->outside ? first : i64_max(first, i64_min(item->end, steps) - 1);
    const PlaceItem place = {
        .size = own_bytes(trial, item),
        .align = trial->opt.align,
        .begin = trial->slot_of[first],
        .end = trial->slot_of[last] + 1,
    };
    return item->tail ? place_with_pool(trial, item, place) : place;
}

static void add_items(Trial *trial)
{
    for (size_t i = 0; i < trial->all.item.n; i++) {
        const PlaceItem item = place_item(trial, trial->all.item.at + i);
        VEC_PUSH(trial->arena, &trial->item, item);
    }
}

/* Where the run stands that waits, and behind it the row counters of each slot that has lists.
 */
static PlaceItem state_item(Trial *trial)
{
    VEC(PlacePart) part = { 0 };
    const int32_t slots = (int32_t)trial->schedule.slot.n;
    const PlacePart place = { .size = trial->place_bytes, .end = slots };
    int64_t most = place.size;
    if (place.size)
        VEC_PUSH(trial->arena, &part, place);
    for (int32_t i = 0; i < slots; i++) {
        const Slot *slot = trial->schedule.slot.at + i;
        const PlacePart counters = {
            .offset = place.size,
            .size = 2 * (int64_t)(slot->end - slot->first),
            .begin = i,
            .end = i + 1,
        };
        if (!trial_by_list(trial, slot))
            continue;
        most = i64_max(most, counters.offset + counters.size);
        VEC_PUSH(trial->arena, &part, counters);
    }
    return (PlaceItem){
        .size = most,
        .align = i64_max(trial->opt.align, 2),
        .parts = (int32_t)part.n,
        .part = part.at,
    };
}

static int64_t place_bytes(const Trial *trial)
{
    if (trial->opt.slices)
        return SLICE_BYTES;
    return program_pushed(trial->program) ? PLACE_BYTES : 0;
}

static void add_state(Trial *trial)
{
    trial->place_bytes = place_bytes(trial);
    const PlaceItem state = state_item(trial);
    if (state.parts)
        VEC_PUSH(trial->arena, &trial->item, state);
}

static void count_part(Trial *trial, PlacePart part)
{
    trial->in_slot[part.begin] += part.size;
    trial->in_slot[part.end] -= part.size;
}

static void count_in_slots(Trial *trial)
{
    const size_t slots = trial->schedule.slot.n;
    /* First what each slot adds to the one before. */
    trial->in_slot = NEW_ARRAY(trial->arena, int64_t, slots + 1);
    for (size_t i = 0; i < trial->item.n; i++) {
        const PlaceItem *item = trial->item.at + i;
        for (int k = 0; k < place_parts(item); k++)
            count_part(trial, place_part(item, k));
    }
    for (size_t i = 1; i <= slots; i++)
        trial->in_slot[i] += trial->in_slot[i - 1];
}

static void forbid(Trial *trial, int32_t i, int32_t j, int64_t lo, int64_t hi)
{
    const PlaceArc apart = { .i = i, .j = j, .lo = lo, .hi = hi };
    const PlaceArc arc = lo < hi ? apart : PLACE_SHARE(i, j);
    VEC_PUSH(trial->arena, &trial->arc, arc);
}

/* Distances beyond these keep a pair apart altogether. */
static void allow(Trial *trial, const Overlap *overlap)
{
    const PlaceItem *dying = trial->item.at + overlap->in;
    const int64_t in = place_part(dying, place_parts(dying) - 1).size;
    const int64_t out = trial->item.at[overlap->out].size;
    const int64_t below =
        overlap->by_row ? -i64_min(overlap->forward, out) : -out;
    const int64_t above = overlap->by_row ? i64_min(overlap->backward, in) : in;
    if (!overlap->equal) {
        forbid(trial, overlap->out, overlap->in, below, above);
        return;
    }
    forbid(trial, overlap->out, overlap->in, below, 0);
    forbid(trial, overlap->out, overlap->in, 0, above);
}

/* A kernel whose result lies over its input goes row by row; one whose result lies apart may join
 * rows, which is faster. So rows overlap only where the bytes alive are more than `enough`. */
static void allow_in_layer(Trial *trial, int32_t step, int64_t enough)
{
    Overlap found[MOST_OVERLAPS];
    const bool by_row =
        trial->in_slot[trial->slot_of[step]] > enough &&
        overlap_pays(&trial->opt, trial->program->step.at[step]);
    const int n = overlap_find(&trial->all, step, by_row, found);
    for (int i = 0; i < n; i++) {
        allow(trial, found + i);
        if (found[i].by_row)
            VEC_PUSH(trial->arena, &trial->overlap, found[i]);
    }
}

/* With the scratch of later steps of the slot. */
static void share_with(Trial *trial, const Touch *touch, const Touch *end)
{
    for (const Touch *other = touch + 1; other < end; other++)
        if (other->operand->scratch && other->step != touch->step)
            VEC_PUSH(trial->arena, &trial->arc,
                     PLACE_SHARE(touch->item, other->item));
}

/* Scratch is not alive between the calls of a stream: that of different steps may be the same. */
static void share_scratch(Trial *trial, const Slot *slot)
{
    const Touch *begin = touch_begin(&trial->all, slot->first);
    const Touch *end = touch_begin(&trial->all, slot->end);
    for (const Touch *touch = begin; touch < end; touch++)
        if (touch->operand->scratch)
            share_with(trial, touch, end);
}

static void allow_in_stream(Trial *trial, const Slot *slot)
{
    const Stream *stream = slot->stream;
    share_scratch(trial, slot);
    if (stream->under < 0)
        return;
    const Overlap overlap = stream_overlap(stream);
    allow(trial, &overlap);
}

/* What may lie over what; a step that needs no more than `enough` bytes keeps its result apart from
 * its input. */
static void find_arcs(Trial *trial, int64_t enough)
{
    trial->arc.n = trial->overlap.n = 0;
    for (size_t i = 0; i < trial->schedule.slot.n; i++) {
        const Slot *slot = trial->schedule.slot.at + i;
        if (slot->stream)
            allow_in_stream(trial, slot);
        else
            allow_in_layer(trial, slot->first, enough);
    }
}

/* A node of the exact search takes time by the number of its items. */
static int64_t nodes_of(const PlanBudget *budget, int64_t items)
{
    const int64_t most = budget->placing_items / (items + 1);
    return i64_min(budget->placing, most);
}

/* Offsets within a capacity are found within so many nodes an item, or hardly ever. */
enum { FEW_NODES = 4 };

static PlaceResult find_offsets(const Trial *trial, int64_t capacity)
{
    const PlanBudget budget = plan_budget(&trial->opt);
    const int64_t items = (int64_t)trial->item.n;
    int64_t nodes = nodes_of(&budget, items);
    if (capacity)
        nodes = i64_min(nodes, FEW_NODES * items);
    const PlaceOptions opt = {
        .effort = (uint64_t)nodes,
        .pairs = (size_t)(budget.pairs + budget.pairs_of_item * items),
        .capacity = capacity,
    };
    return place(trial->arena, trial->item.at, (int)trial->item.n,
                 trial->arc.at, (int)trial->arc.n, &opt);
}

static void list_regions(Trial *trial, const RegionPlan *found)
{
    Plan *plan = &trial->plan;
    plan->arena_size = 0;
    for (int k = 0; k < trial->opt.regions; k++) {
        const Region *region = trial->opt.region + k;
        const RegionUse use = {
            .name = region->name,
            .capacity = region->size,
            .cost = region->cost,
            .size = items_round(&trial->all, found->height[k]),
            .lower_bound = found->bound[k],
            .traffic = found->traffic[k],
        };
        VEC_PUSH(trial->program->graph->arena, &plan->region, use);
        plan->arena_size += use.size;
    }
}

/* Instead of one arena, whose bound stays that of the sum. */
static void place_in_regions(Trial *trial)
{
    Plan *plan = &trial->plan;
    find_arcs(trial, 0);
    const RegionPlan found = regions_find(trial);
    trial->offset = found.offset;
    trial->region = found.of;
    list_regions(trial, &found);
    plan->optimal = plan->arena_size == plan->lower_bound;
    plan->region_cost = found.cost;
    plan->region_least = found.least;
    plan->region_missing = found.missing;
}

/* First with the overlaps that the peak asks for, then with all there are. */
static PlaceResult place_in_arena(Trial *trial, int64_t capacity)
{
    Trial close = *trial;
    memset(&close.arc, 0, sizeof close.arc);
    memset(&close.overlap, 0, sizeof close.overlap);
    find_arcs(trial, trial->schedule.peak);
    const PlaceResult apart = find_offsets(trial, capacity);
    if (apart.optimal && apart.height <= trial->schedule.peak)
        return apart;
    find_arcs(&close, 0);
    if (close.arc.n <= trial->arc.n)
        return apart;
    const PlaceResult over = find_offsets(&close, capacity);
    if (over.height >= apart.height)
        return apart;
    *trial = close;
    return over;
}

/* What lies in the rows of another item. */
static void place_guests(Trial *trial)
{
    for (size_t i = 0; i < trial->all.item.n; i++) {
        const int32_t host = trial->all.item.at[i].host - 1;
        if (host < 0)
            continue;
        const int64_t lead = trial->all.item.at[i].lead;
        trial->offset[i] = trial->offset[host] + lead;
        if (trial->region)
            trial->region[i] = trial->region[host];
    }
}

void trial_place(Trial *trial, int64_t capacity)
{
    Plan *plan = &trial->plan;
    const size_t items = trial->all.item.n;
    trial->item.n = 0;
    add_items(trial);
    add_state(trial);
    count_in_slots(trial);
    const PlaceResult found = place_in_arena(trial, capacity);
    plan->arena_align = trial->opt.align;
    plan->preserve_input = trial->opt.preserve_input;
    plan->threads = trial->opt.threads;
    plan->arena_size = found.height;
    plan->lower_bound = found.lower_bound;
    plan->optimal = found.optimal;
    trial->offset = found.offset;
    if (trial->opt.regions)
        place_in_regions(trial);
    place_guests(trial);
    plan->place = trial->item.n > items ? trial->offset[items] : 0;
    plan->place_bytes = trial->place_bytes;
    plan->state = plan->place + plan->place_bytes;
}
