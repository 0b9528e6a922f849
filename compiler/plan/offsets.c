/* SPDX-License-Identifier: Apache-2.0
 * From items and schedule to offsets: what may lie over what, one arena or several regions. */
#include "plan/planner.h"

#include "base/size.h"
#include "plan/region.h"

enum {
    PLACE_BUDGET = PLACE_EFFORT / 8,
    PAIRS = 1 << 18, /* that are listed, and so many more of each item */
    PAIRS_OF_ITEM = 16,
};

static void add_items(Planner *planner)
{
    for (size_t i = 0; i < planner->all.item.n; i++) {
        const Item *it = planner->all.item.at + i;
        const int64_t size =
            it->ring ? items_round(&planner->all, it->ring * it->row_bytes) : it->size;
        const int32_t first = (int32_t)i64_max(it->first, 0);
        const int32_t last =
            it->outside
                ? first
                : (int32_t)i64_max(first, i64_min(it->end, (int64_t)planner->program->step.n) - 1);
        VEC_PUSH(planner->arena, &planner->item,
                 ((PlaceItem){ .size = size,
                               .align = planner->opt->align,
                               .begin = planner->slot_of[first],
                               .end = planner->slot_of[last] + 1 }));
    }
}

/* The row counters are alive in the slots that have lists. In front of them, where the run stands
 * that takes rows. */
static void add_state(Planner *planner)
{
    VEC(PlacePart) part = { 0 };
    const int32_t slots = (int32_t)planner->schedule.slot.n;
    planner->place_bytes = program_pushed(planner->program) ? PLACE_BYTES : 0;
    int64_t most = planner->place_bytes;
    if (planner->place_bytes)
        VEC_PUSH(planner->arena, &part, ((PlacePart){ 0, planner->place_bytes, 0, slots }));
    for (int32_t i = 0; i < slots; i++) {
        const Slot *s = planner->schedule.slot.at + i;
        if (!planner_by_list(planner, s))
            continue;
        const int64_t bytes = 2 * (int64_t)(s->end - s->first);
        most = i64_max(most, planner->place_bytes + bytes);
        VEC_PUSH(planner->arena, &part, ((PlacePart){ planner->place_bytes, bytes, i, i + 1 }));
    }
    if (!part.n)
        return;
    VEC_PUSH(planner->arena, &planner->item,
             ((PlaceItem){ .size = most,
                           .align = i64_max(planner->opt->align, 2),
                           .parts = (int32_t)part.n,
                           .part = part.at }));
}

static void count_in_slots(Planner *planner)
{
    const size_t slots = planner->schedule.slot.n;
    planner->in_slot =
        NEW_ARRAY(planner->arena, int64_t, slots + 1); /* first what each adds to the one before */
    for (size_t i = 0; i < planner->item.n; i++) {
        const PlaceItem *it = planner->item.at + i;
        const PlacePart whole = { 0, it->size, it->begin, it->end };
        for (int32_t k = 0; k < (it->parts ? it->parts : 1); k++) {
            const PlacePart part = it->parts ? it->part[k] : whole;
            planner->in_slot[part.begin] += part.size;
            planner->in_slot[part.end] -= part.size;
        }
    }
    for (size_t s = 1; s <= slots; s++)
        planner->in_slot[s] += planner->in_slot[s - 1];
}

static void forbid(Planner *planner, int32_t i, int32_t j, int64_t lo, int64_t hi)
{
    if (lo < hi)
        VEC_PUSH(planner->arena, &planner->arc, ((PlaceArc){ .i = i, .j = j, .lo = lo, .hi = hi }));
    else
        VEC_PUSH(planner->arena, &planner->arc, PLACE_SHARE(i, j));
}

/* Distances beyond these keep a pair apart altogether. */
static void allow(Planner *planner, const Overlap *overlap)
{
    const int64_t in = planner->item.at[overlap->in].size;
    const int64_t out = planner->item.at[overlap->out].size;
    const int64_t below = overlap->by_row ? -i64_min(overlap->forward, out) : -out;
    const int64_t above = overlap->by_row ? i64_min(overlap->backward, in) : in;
    if (!overlap->equal) {
        forbid(planner, overlap->out, overlap->in, below, above);
        return;
    }
    forbid(planner, overlap->out, overlap->in, below, 0);
    forbid(planner, overlap->out, overlap->in, 0, above);
}

/* A kernel whose result lies over its input goes row by row; one whose result lies apart may join
 * rows, which is faster. So rows overlap only where the bytes alive are more than `enough`. */
static void allow_in_layer(Planner *planner, int32_t step, int64_t enough)
{
    Overlap found[MOST_OVERLAPS];
    const int n = overlap_find(
        &planner->all, step,
        planner->level >= PLAN_OVERLAP && planner->in_slot[planner->slot_of[step]] > enough, found);
    for (int i = 0; i < n; i++) {
        allow(planner, found + i);
        if (found[i].by_row)
            VEC_PUSH(planner->arena, &planner->overlap, found[i]);
    }
}

/* Scratch is not alive between the calls of a stream: that of different steps may be the same. */
static void share_scratch(Planner *planner, const Slot *slot)
{
    for (const Touch *touch = touch_begin(&planner->all, slot->first);
         touch < touch_begin(&planner->all, slot->end); touch++)
        for (const Touch *u = touch + 1;
             touch->operand->scratch && u < touch_begin(&planner->all, slot->end); u++)
            if (u->operand->scratch && u->step != touch->step)
                VEC_PUSH(planner->arena, &planner->arc, PLACE_SHARE(touch->item, u->item));
}

static void allow_in_stream(Planner *planner, const Slot *slot)
{
    const Stream *r = slot->stream;
    share_scratch(planner, slot);
    if (r->under < 0)
        return;
    const int64_t far = INT64_MAX / 4;
    const Overlap overlap = { r->under,
                              r->over,
                              false,
                              true,
                              r->backward ? far : r->distance,
                              r->backward ? r->distance : far };
    allow(planner, &overlap);
}

/* What may lie over what; a step that needs no more than `enough` bytes keeps its result apart from
 * its input. */
static void find_arcs(Planner *planner, int64_t enough)
{
    planner->arc.n = planner->overlap.n = 0;
    for (size_t i = 0; i < planner->schedule.slot.n; i++) {
        const Slot *s = planner->schedule.slot.at + i;
        if (s->stream)
            allow_in_stream(planner, s);
        else
            allow_in_layer(planner, s->first, enough);
    }
}

static PlaceResult find_offsets(const Planner *planner)
{
    const size_t pairs = PAIRS + PAIRS_OF_ITEM * planner->item.n;
    return place(planner->arena, planner->item.at, (int)planner->item.n, planner->arc.at,
                 (int)planner->arc.n, &(PlaceOptions){ .effort = PLACE_BUDGET, .pairs = pairs });
}

/* Instead of one arena, whose bound stays that of the sum. */
static void place_in_regions(Planner *planner)
{
    Plan *plan = &planner->program->plan;
    const size_t items = planner->all.item.n;
    find_arcs(planner, 0);
    const RegionPlan r = regions_find(
        planner->arena, &planner->all, planner->item.at, (int)planner->item.n, planner->arc.at,
        (int)planner->arc.n, planner->schedule.slot.at, planner->schedule.slot.n, planner->opt);
    for (size_t i = 0; i < items; i++) {
        if (planner->all.item.at[i].outside)
            continue;
        planner->all.item.at[i].root->offset = r.offset[i];
        planner->all.item.at[i].root->region = r.of[i];
    }
    plan->place = planner->item.n > items ? r.offset[items] : 0;
    plan->state = plan->place + planner->place_bytes;
    plan->arena_size = 0;
    for (int k = 0; k < planner->opt->regions; k++) {
        const Region *g = planner->opt->region + k;
        const RegionUse use = { g->name,    g->size,
                                g->cost,    items_round(&planner->all, r.height[k]),
                                r.bound[k], r.traffic[k] };
        VEC_PUSH(planner->program->graph->arena, &plan->region, use);
        plan->arena_size += use.size;
    }
    plan->optimal = plan->arena_size == plan->lower_bound;
    plan->region_cost = r.cost;
    plan->region_least = r.least;
    plan->region_missing = r.missing;
}

static void find_placement(Planner *p)
{
    add_items(p);
    add_state(p);
    count_in_slots(p);
    Planner close = *p; /* with all overlaps there are */
    find_arcs(p, p->schedule.peak);
    PlaceResult result = find_offsets(p);
    if (!result.optimal || result.height > p->schedule.peak) {
        find_arcs(&close, 0);
        const PlaceResult s = close.arc.n > p->arc.n ? find_offsets(&close) : result;
        if (s.height < result.height)
            result = s, *p = close;
    }
    p->found = result;
}

void planner_place(Planner *planner)
{
    Plan *plan = &planner->program->plan;
    if (!planner->found.offset)
        find_placement(planner);
    const PlaceResult result = planner->found;
    for (size_t i = 0; i < planner->all.item.n; i++)
        if (!planner->all.item.at[i].outside)
            planner->all.item.at[i].root->offset = result.offset[i];
    plan->place = planner->item.n > planner->all.item.n ? result.offset[planner->all.item.n] : 0;
    plan->state = plan->place + planner->place_bytes;
    plan->arena_size = result.height;
    plan->lower_bound = result.lower_bound;
    plan->optimal = result.optimal;
    if (planner->opt->regions)
        place_in_regions(planner);
}
