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

static void add_items(Planner *p)
{
    for (size_t i = 0; i < p->all.item.n; i++) {
        const Item *it = p->all.item.at + i;
        const int64_t size = it->ring ? items_round(&p->all, it->ring * it->row_bytes) : it->size;
        const int32_t first = (int32_t)i64_max(it->first, 0);
        const int32_t last =
            it->outside
                ? first
                : (int32_t)i64_max(first, i64_min(it->end, (int64_t)p->program->step.n) - 1);
        VEC_PUSH(p->arena, &p->item,
                 ((PlaceItem){ .size = size,
                               .align = p->opt->align,
                               .begin = p->slot_of[first],
                               .end = p->slot_of[last] + 1 }));
    }
}

/* The row counters are alive in the slots that have lists. In front of them, where the run stands
 * that takes rows. */
static void add_state(Planner *p)
{
    VEC(PlacePart) part = { 0 };
    const int32_t slots = (int32_t)p->schedule.slot.n;
    p->place_bytes = program_pushed(p->program) ? PLACE_BYTES : 0;
    int64_t most = p->place_bytes;
    if (p->place_bytes)
        VEC_PUSH(p->arena, &part, ((PlacePart){ 0, p->place_bytes, 0, slots }));
    for (int32_t i = 0; i < slots; i++) {
        const Slot *s = p->schedule.slot.at + i;
        if (!planner_by_list(p, s))
            continue;
        const int64_t bytes = 2 * (int64_t)(s->end - s->first);
        most = i64_max(most, p->place_bytes + bytes);
        VEC_PUSH(p->arena, &part, ((PlacePart){ p->place_bytes, bytes, i, i + 1 }));
    }
    if (!part.n)
        return;
    VEC_PUSH(p->arena, &p->item,
             ((PlaceItem){ .size = most,
                           .align = i64_max(p->opt->align, 2),
                           .parts = (int32_t)part.n,
                           .part = part.at }));
}

static void count_in_slots(Planner *p)
{
    const size_t slots = p->schedule.slot.n;
    p->in_slot =
        NEW_ARRAY(p->arena, int64_t, slots + 1); /* first what each adds to the one before */
    for (size_t i = 0; i < p->item.n; i++) {
        const PlaceItem *it = p->item.at + i;
        const PlacePart whole = { 0, it->size, it->begin, it->end };
        for (int32_t k = 0; k < (it->parts ? it->parts : 1); k++) {
            const PlacePart part = it->parts ? it->part[k] : whole;
            p->in_slot[part.begin] += part.size;
            p->in_slot[part.end] -= part.size;
        }
    }
    for (size_t s = 1; s <= slots; s++)
        p->in_slot[s] += p->in_slot[s - 1];
}

static void forbid(Planner *p, int32_t i, int32_t j, int64_t lo, int64_t hi)
{
    if (lo < hi)
        VEC_PUSH(p->arena, &p->arc, ((PlaceArc){ .i = i, .j = j, .lo = lo, .hi = hi }));
    else
        VEC_PUSH(p->arena, &p->arc, PLACE_SHARE(i, j));
}

/* Distances beyond these keep a pair apart altogether. */
static void allow(Planner *p, const Overlap *o)
{
    const int64_t in = p->item.at[o->in].size, out = p->item.at[o->out].size;
    const int64_t below = o->by_row ? -i64_min(o->forward, out) : -out,
                  above = o->by_row ? i64_min(o->backward, in) : in;
    if (!o->equal) {
        forbid(p, o->out, o->in, below, above);
        return;
    }
    forbid(p, o->out, o->in, below, 0);
    forbid(p, o->out, o->in, 0, above);
}

/* A kernel whose result lies over its input goes row by row; one whose result lies apart may join
 * rows, which is faster. So rows overlap only where the bytes alive are more than `enough`. */
static void allow_in_layer(Planner *p, int32_t step, int64_t enough)
{
    Overlap found[MOST_OVERLAPS];
    const int n = overlap_find(
        &p->all, step, p->level >= PLAN_OVERLAP && p->in_slot[p->slot_of[step]] > enough, found);
    for (int i = 0; i < n; i++) {
        allow(p, found + i);
        if (found[i].by_row)
            VEC_PUSH(p->arena, &p->overlap, found[i]);
    }
}

/* Scratch is not alive between the calls of a stream: that of different steps may be the same. */
static void share_scratch(Planner *p, const Slot *s)
{
    for (const Touch *t = touch_begin(&p->all, s->first); t < touch_begin(&p->all, s->end); t++)
        for (const Touch *u = t + 1; t->operand->scratch && u < touch_begin(&p->all, s->end); u++)
            if (u->operand->scratch && u->step != t->step)
                VEC_PUSH(p->arena, &p->arc, PLACE_SHARE(t->item, u->item));
}

static void allow_in_stream(Planner *p, const Slot *s)
{
    const Stream *r = s->stream;
    share_scratch(p, s);
    if (r->under < 0)
        return;
    const int64_t far = INT64_MAX / 4;
    const Overlap o = { r->under,
                        r->over,
                        false,
                        true,
                        r->backward ? far : r->distance,
                        r->backward ? r->distance : far };
    allow(p, &o);
}

/* What may lie over what; a step that needs no more than `enough` bytes keeps its result apart from
 * its input. */
static void find_arcs(Planner *p, int64_t enough)
{
    p->arc.n = p->overlap.n = 0;
    for (size_t i = 0; i < p->schedule.slot.n; i++) {
        const Slot *s = p->schedule.slot.at + i;
        if (s->stream)
            allow_in_stream(p, s);
        else
            allow_in_layer(p, s->first, enough);
    }
}

static PlaceResult find_offsets(const Planner *p)
{
    const size_t pairs = PAIRS + PAIRS_OF_ITEM * p->item.n;
    return place(p->arena, p->item.at, (int)p->item.n, p->arc.at, (int)p->arc.n,
                 &(PlaceOptions){ .effort = PLACE_BUDGET, .pairs = pairs });
}

/* Instead of one arena, whose bound stays that of the sum. */
static void place_in_regions(Planner *p)
{
    Plan *plan = &p->program->plan;
    const size_t items = p->all.item.n;
    find_arcs(p, 0);
    const RegionPlan r =
        regions_find(p->arena, &p->all, p->item.at, (int)p->item.n, p->arc.at, (int)p->arc.n,
                     p->schedule.slot.at, p->schedule.slot.n, p->opt);
    for (size_t i = 0; i < items; i++) {
        if (p->all.item.at[i].outside)
            continue;
        p->all.item.at[i].root->offset = r.offset[i];
        p->all.item.at[i].root->region = r.of[i];
    }
    plan->place = p->item.n > items ? r.offset[items] : 0;
    plan->state = plan->place + p->place_bytes;
    plan->arena_size = 0;
    for (int k = 0; k < p->opt->regions; k++) {
        const Region *g = p->opt->region + k;
        const RegionUse use = { g->name,    g->size,     g->cost, items_round(&p->all, r.height[k]),
                                r.bound[k], r.traffic[k] };
        VEC_PUSH(p->program->graph->arena, &plan->region, use);
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
    PlaceResult r = find_offsets(p);
    if (!r.optimal || r.height > p->schedule.peak) {
        find_arcs(&close, 0);
        const PlaceResult s = close.arc.n > p->arc.n ? find_offsets(&close) : r;
        if (s.height < r.height)
            r = s, *p = close;
    }
    p->found = r;
}

void planner_place(Planner *p)
{
    Plan *plan = &p->program->plan;
    if (!p->found.offset)
        find_placement(p);
    const PlaceResult r = p->found;
    for (size_t i = 0; i < p->all.item.n; i++)
        if (!p->all.item.at[i].outside)
            p->all.item.at[i].root->offset = r.offset[i];
    plan->place = p->item.n > p->all.item.n ? r.offset[p->all.item.n] : 0;
    plan->state = plan->place + p->place_bytes;
    plan->arena_size = r.height;
    plan->lower_bound = r.lower_bound;
    plan->optimal = r.optimal;
    if (p->opt->regions)
        place_in_regions(p);
}
