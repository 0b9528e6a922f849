/* SPDX-License-Identifier: Apache-2.0
 * The stages of the plan: order and copies, items, schedule, offsets; and its result, written into the program. */
#include "plan/plan.h"

#include "base/size.h"
#include "plan/copies.h"
#include "plan/frontier.h"
#include "plan/items.h"
#include "plan/order.h"
#include "plan/overlap.h"
#include "plan/pair.h"
#include "plan/place.h"
#include "plan/region.h"
#include "plan/segment.h"

typedef struct Planner {
    Arena *arena;
    Program *program;
    const PlanOptions *opt;
    PlanLevel level;
    bool peak_only;             /* of the schedule, see ScheduleOptions */
    int64_t most;
    Items all;
    Schedule schedule;
    int32_t *slot_of;           /* of a step */
    VEC(PlaceItem) item;        /* items, then perhaps the row counters */
    int64_t place_bytes;        /* in front of them */
    VEC(PlaceArc) arc;
    VEC(Overlap) overlap;       /* by rows, of steps run layer by layer */
    int64_t *in_slot;           /* bytes alive in a slot, nothing overlapping */
} Planner;

enum { WALK_BUDGET = 1500000, PLACE_BUDGET = PLACE_EFFORT / 8, QUICK_ORDER = 50000 };

/* ---- items of the offset solver ---- */

static void add_items(Planner *p)
{
    for (size_t i = 0; i < p->all.item.n; i++) {
        const Item *it = p->all.item.at + i;
        const int64_t size = it->ring ? items_round(&p->all, it->ring * it->row_bytes) : it->size;
        const int32_t first = (int32_t)i64_max(it->first, 0);
        const int32_t last = it->outside ? first : (int32_t)i64_max(first, i64_min(it->end, (int64_t)p->program->step.n) - 1);
        VEC_PUSH(p->arena, &p->item, ((PlaceItem){ .size = size, .align = p->opt->align, .begin = p->slot_of[first], .end = p->slot_of[last] + 1 }));
    }
}

/* Rows that are handed in come one by one, in a stream or not. */
static bool by_list(const Planner *p, const Slot *s) { return s->stream || p->program->step.at[s->first]->pushed; }

/* The row counters are alive in the slots that have lists. In front of them, where the run stands that takes rows. */
static void add_state(Planner *p)
{
    VEC(PlacePart) part = { 0 };
    const int32_t slots = (int32_t)p->schedule.slot.n;
    p->place_bytes = program_pushed(p->program) ? PLACE_BYTES : 0;
    int64_t most = p->place_bytes;
    if (p->place_bytes) VEC_PUSH(p->arena, &part, ((PlacePart){ 0, p->place_bytes, 0, slots }));
    for (int32_t i = 0; i < slots; i++) {
        const Slot *s = p->schedule.slot.at + i;
        if (!by_list(p, s)) continue;
        const int64_t bytes = 2 * (int64_t)(s->end - s->first);
        most = i64_max(most, p->place_bytes + bytes);
        VEC_PUSH(p->arena, &part, ((PlacePart){ p->place_bytes, bytes, i, i + 1 }));
    }
    if (!part.n) return;
    VEC_PUSH(p->arena, &p->item, ((PlaceItem){ .size = most, .align = i64_max(p->opt->align, 2), .parts = (int32_t)part.n, .part = part.at }));
}

static void forbid(Planner *p, int32_t i, int32_t j, int64_t lo, int64_t hi)
{
    if (lo < hi) VEC_PUSH(p->arena, &p->arc, ((PlaceArc){ .i = i, .j = j, .lo = lo, .hi = hi }));
    else VEC_PUSH(p->arena, &p->arc, PLACE_SHARE(i, j));
}

/* Distances beyond these keep a pair apart altogether. */
static void allow(Planner *p, const Overlap *o)
{
    const int64_t in = p->item.at[o->in].size, out = p->item.at[o->out].size;
    if (o->equal) {
        VEC_PUSH(p->arena, &p->arc, ((PlaceArc){ .i = o->out, .j = o->in, .lo = -out, .hi = 0 }));
        VEC_PUSH(p->arena, &p->arc, ((PlaceArc){ .i = o->out, .j = o->in, .lo = 0, .hi = in }));
        return;
    }
    forbid(p, o->out, o->in, -i64_min(o->forward, out), i64_min(o->backward, in));
}

/* A kernel whose result lies over its input goes row by row; one whose result lies apart may join rows, which is faster. So
 * rows overlap only where the bytes alive are more than `enough`. */
static void allow_in_layer(Planner *p, int32_t step, int64_t enough)
{
    Overlap found[MOST_OVERLAPS];
    const int n = overlap_find(&p->all, step, p->level >= PLAN_OVERLAP && p->in_slot[p->slot_of[step]] > enough, found);
    for (int i = 0; i < n; i++) {
        allow(p, found + i);
        if (found[i].by_row) VEC_PUSH(p->arena, &p->overlap, found[i]);
    }
}

/* Scratch is not alive between the calls of a stream: that of different steps may be the same. */
static void share_scratch(Planner *p, const Slot *s)
{
    for (const Touch *t = touch_begin(&p->all, s->first); t < touch_begin(&p->all, s->end); t++)
        for (const Touch *u = t + 1; t->operand->scratch && u < touch_begin(&p->all, s->end); u++)
            if (u->operand->scratch && u->step != t->step) VEC_PUSH(p->arena, &p->arc, PLACE_SHARE(t->item, u->item));
}

static void allow_in_stream(Planner *p, const Slot *s)
{
    const Stream *r = s->stream;
    share_scratch(p, s);
    if (r->under < 0) return;
    const int64_t far = INT64_MAX / 4;
    const Overlap o = { r->under, r->over, false, true, r->backward ? far : r->distance, r->backward ? r->distance : far };
    allow(p, &o);
}

/* ---- result ---- */

/* A result over its input, the input's end being written first, runs from last to first. */
static void set_directions(Planner *p)
{
    for (size_t i = 0; i < p->overlap.n; i++) {
        const Overlap *o = p->overlap.at + i;
        const Item *in = p->all.item.at + o->in, *out = p->all.item.at + o->out;
        const int64_t d = out->root->offset - in->root->offset;
        const bool apart = in->root->region != out->root->region || d >= in->size || -d >= out->size;
        p->program->step.at[out->first]->backward = !apart && d > -o->forward;
    }
}

static void set_rings(Planner *p)
{
    for (size_t i = 0; i < p->all.touch.n; i++) {
        const Touch *t = p->all.touch.at + i;
        Operand *o = p->program->step.at[t->step]->operand + (t->operand - p->program->step.at[t->step]->operand);
        o->ring = p->all.item.at[t->item].ring;
    }
}

static void add_segment(Planner *p, const Slot *s)
{
    Plan *plan = &p->program->plan;
    Arena *a = p->program->graph->arena;
    if (!s->stream && by_list(p, s)) {
        uint8_t *const one = NEW(a, uint8_t);
        VEC_PUSH(a, &plan->segment, ((Segment){ .first = s->first, .count = 1, .period = 1, .repeats = p->program->step.at[s->first]->units, .list = one }));
    } else if (s->stream) {
        for (int32_t k = s->first; k < s->end; k++) p->program->step.at[k]->backward = s->stream->backward;
        VEC_PUSH(a, &plan->segment, stream_list(a, s->stream));
    } else if (plan->segment.n && !plan->segment.at[plan->segment.n - 1].list) {
        plan->segment.at[plan->segment.n - 1].count += s->end - s->first;
    } else {
        VEC_PUSH(a, &plan->segment, ((Segment){ .first = s->first, .count = s->end - s->first }));
    }
}

static void count_live(Planner *p)
{
    const size_t steps = p->program->step.n;
    int64_t *live = NEW_ARRAY(p->program->graph->arena, int64_t, steps + 1);
    for (size_t k = 0; k < steps; k++) live[k] = p->in_slot[p->slot_of[k]];
    p->program->plan.live = live;
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
            add_block(p, (Block){ it->root, it->root->offset, place->size, .ring = it->ring, .scratch = it->scratch }, place->begin, place->end - 1);
    }
    if (p->item.n == p->all.item.n) return;
    const PlaceItem *state = p->item.at + p->all.item.n;
    for (int32_t k = 0; k < state->parts; k++)
        add_block(p, (Block){ .offset = p->program->plan.place + state->part[k].offset, .bytes = state->part[k].size }, state->part[k].begin, state->part[k].end - 1);
}

static void count_in_slots(Planner *p)
{
    p->in_slot = NEW_ARRAY(p->arena, int64_t, p->schedule.slot.n + 1);
    for (size_t i = 0; i < p->item.n; i++) {
        const PlaceItem *it = p->item.at + i;
        for (int32_t k = 0; k < it->parts; k++)
            for (int32_t s = it->part[k].begin; s < it->part[k].end; s++) p->in_slot[s] += it->part[k].size;
        for (int32_t k = it->begin; !it->parts && k < it->end; k++) p->in_slot[k] += it->size;
    }
}

/* What may lie over what; a step that needs no more than `enough` bytes keeps its result apart from its input. */
static void find_arcs(Planner *p, int64_t enough)
{
    p->arc.n = p->overlap.n = 0;
    for (size_t i = 0; i < p->schedule.slot.n; i++) {
        const Slot *s = p->schedule.slot.at + i;
        if (s->stream) allow_in_stream(p, s);
        else allow_in_layer(p, s->first, enough);
    }
}

static PlaceResult find_offsets(Planner *p, int64_t enough)
{
    find_arcs(p, enough);
    return place(p->arena, p->item.at, (int)p->item.n, p->arc.at, (int)p->arc.n, &(PlaceOptions){ .effort = PLACE_BUDGET });
}

/* Instead of one arena, whose bound stays that of the sum. */
static void place_in_regions(Planner *p)
{
    Plan *plan = &p->program->plan;
    const size_t items = p->all.item.n;
    find_arcs(p, 0);
    const RegionPlan r = regions_find(p->arena, &p->all, p->item.at, (int)p->item.n, p->arc.at, (int)p->arc.n, p->schedule.slot.at, p->schedule.slot.n, p->opt);
    for (size_t i = 0; i < items; i++) {
        if (p->all.item.at[i].outside) continue;
        p->all.item.at[i].root->offset = r.offset[i];
        p->all.item.at[i].root->region = r.of[i];
    }
    plan->place = p->item.n > items ? r.offset[items] : 0;
    plan->state = plan->place + p->place_bytes;
    plan->arena_size = 0;
    for (int k = 0; k < p->opt->regions; k++) {
        const Region *g = p->opt->region + k;
        const RegionUse use = { g->name, g->size, g->cost, items_round(&p->all, r.height[k]), r.bound[k], r.traffic[k] };
        VEC_PUSH(p->program->graph->arena, &plan->region, use);
        plan->arena_size += use.size;
    }
    plan->optimal = plan->arena_size == plan->lower_bound;
    plan->region_cost = r.cost;
    plan->region_least = r.least;
}

static void place_items(Planner *p)
{
    Plan *plan = &p->program->plan;
    PlaceResult r = find_offsets(p, p->schedule.peak);
    if (!r.optimal || r.height > p->schedule.peak) {
        const PlaceResult apart = r;
        r = find_offsets(p, 0);
        if (r.height >= apart.height) r = find_offsets(p, p->schedule.peak);    /* the same again, with its overlaps */
    }
    for (size_t i = 0; i < p->all.item.n; i++)
        if (!p->all.item.at[i].outside) p->all.item.at[i].root->offset = r.offset[i];
    plan->place = p->item.n > p->all.item.n ? r.offset[p->all.item.n] : 0;
    plan->state = plan->place + p->place_bytes;
    plan->arena_size = r.height;
    plan->lower_bound = r.lower_bound;
    plan->optimal = r.optimal;
    if (p->opt->regions) place_in_regions(p);
}

static void set_ring(Planner *p, const Ring *r)
{
    Item *it = p->all.item.at + r->item;
    it->ring = it->whole || r->rows == it->rows ? 0 : r->rows;
}

static void find_schedule(Planner *p)
{
    const ScheduleOptions opt = { .stream = p->level >= PLAN_STREAM, .overlap = p->level >= PLAN_OVERLAP,
        .enough = p->opt->arena_limit, .budget = WALK_BUDGET, .peak_only = p->peak_only, .most = p->most };
    p->schedule = schedule_find(p->arena, &p->all, &opt);
    if (p->peak_only) return;
    p->slot_of = NEW_ARRAY(p->arena, int32_t, p->program->step.n + 1);
    for (size_t i = 0; i < p->schedule.slot.n; i++) {
        const Slot *s = p->schedule.slot.at + i;
        for (int32_t k = s->first; k < s->end; k++) p->slot_of[k] = (int32_t)i;
        for (size_t r = 0; s->stream && r < s->stream->ring.n; r++)
            set_ring(p, s->stream->ring.at + r);
    }
}

static void clear(Program *p)
{
    for (size_t i = 0; i < p->step.n; i++) {
        p->step.at[i]->backward = false;
        for (int k = 0; k < p->step.at[i]->n_operand; k++) p->step.at[i]->operand[k].ring = 0;
    }
    p->plan = (Plan){ 0 };
}

static void write_plan(Planner *p)
{
    bool streams = false;
    set_directions(p);
    set_rings(p);
    for (size_t i = 0; i < p->schedule.slot.n; i++) streams |= by_list(p, p->schedule.slot.at + i);
    for (size_t i = 0; streams && i < p->schedule.slot.n; i++) add_segment(p, p->schedule.slot.at + i);
    count_live(p);
    list_blocks(p);
    program_link(p->program);
}

/* Items and schedule of the steps as they are: enough to compare. */
static Planner prepare(Program *program, const PlanOptions *opt, PlanLevel level)
{
    Arena *scratch = &program->graph->store->scratch;
    Planner p = { .arena = scratch, .program = program, .opt = opt, .level = level };
    p.all = items_find(scratch, program, opt);
    find_schedule(&p);
    return p;
}

/* The least peak of the steps as they are, where it is not beyond `most` (0: wherever it is). */
static int64_t least_peak(Program *program, const PlanOptions *opt, PlanLevel level, int64_t most)
{
    Arena *scratch = &program->graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    Planner p = { .arena = scratch, .program = program, .opt = opt, .level = level, .peak_only = true, .most = most };
    p.all = items_find(scratch, program, opt);
    find_schedule(&p);
    arena_release(scratch, mark);
    return p.schedule.peak;
}

static int64_t peak_of(Program *program, const void *options, int64_t most)
{
    Arena *scratch = &program->graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    const PlanOptions *opt = options;
    const PlanLevel level = opt->level ? opt->level : PLAN_STREAM;
    int64_t peak = least_peak(program, opt, level, most);
    const Items all = items_find(scratch, program, opt);
    const Order o = order_find(scratch, &all, level >= PLAN_OVERLAP, QUICK_ORDER);
    if (o.step && o.peak < o.given) {
        Step **const given = program->step.at, **step = NEW_ARRAY(scratch, Step *, program->step.n);
        for (size_t i = 0; i < program->step.n; i++) step[i] = given[o.step[i]];
        frontier_take(program, step, program->step.n);
        peak = i64_min(peak, least_peak(program, opt, level, i64_min(most, peak)));
        frontier_take(program, given, program->step.n);
    }
    arena_release(scratch, mark);
    return peak;
}

static void finish(Planner *p)
{
    clear(p->program);
    p->program->plan.arena_align = p->opt->align;
    p->program->plan.preserve_input = p->opt->preserve_input;
    add_items(p);
    add_state(p);
    count_in_slots(p);
    place_items(p);
    write_plan(p);
}

/* Another order of the steps, where it lowers the peak of the schedule, too. */
static void reorder(Program *p, const PlanOptions *opt, PlanLevel level)
{
    Arena *scratch = &p->graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    const Items all = items_find(scratch, p, opt);
    const Order o = order_find(scratch, &all, level >= PLAN_OVERLAP, 0);
    Step **const as_given = p->step.at, **step = o.step ? NEW_ARRAY(p->graph->arena, Step *, p->step.n) : NULL;
    for (size_t i = 0; step && i < p->step.n; i++) step[i] = as_given[o.step[i]];
    arena_release(scratch, mark);
    if (!step) return;
    const int64_t given = least_peak(p, opt, level, 0);
    frontier_take(p, step, p->step.n);
    if (least_peak(p, opt, level, given) >= given) frontier_take(p, as_given, p->step.n);
}

/* Scales and shifts within the convolution that reads them, unless that needs more. */
static void make_affine_pairs(Program *p, const PlanOptions *opt, PlanLevel level)
{
    Step **const given = p->step.at;
    const size_t n = p->step.n;
    Steps joined;
    if (!pair_affine(p->graph->arena, p, &joined)) return;
    const int64_t least = least_peak(p, opt, level, 0);
    frontier_take(p, joined.step.at, joined.step.n);
    if (least_peak(p, opt, level, least) > least) frontier_take(p, given, n);
}

/* Forms of the steps with pairs: inside the streams of the schedule so far, and everywhere. Returns how many. */
static int list_pairs(Program *p, const PlanOptions *opt, PlanLevel level, Steps *form)
{
    Arena *scratch = &p->graph->store->scratch;
    Steps everywhere;
    if (!pair_steps(p->graph->arena, p, NULL, &everywhere)) return 0;
    const ArenaMark mark = arena_mark(scratch);
    const Planner now = prepare(p, opt, level);
    bool *chosen = NEW_ARRAY(scratch, bool, p->step.n + 1);
    int n = 0;
    for (size_t i = 0; i < now.schedule.slot.n; i++)
        for (int32_t k = now.schedule.slot.at[i].first; k < now.schedule.slot.at[i].end; k++) chosen[k] = now.schedule.slot.at[i].stream != NULL;
    if (pair_steps(p->graph->arena, p, chosen, form)) n++;
    form[n++] = everywhere;
    arena_release(scratch, mark);
    return n;
}

/* Whichever form lowers the peak most. */
static void make_pairs(Program *p, const PlanOptions *opt, PlanLevel level)
{
    Step **const given = p->step.at;
    const size_t n = p->step.n;
    Steps form[2], *best = NULL;
    const int forms = list_pairs(p, opt, level, form);
    int64_t least = forms ? least_peak(p, opt, level, 0) : 0;
    for (int i = 0; i < forms; i++) {
        frontier_take(p, form[i].step.at, form[i].step.n);
        const int64_t peak = least_peak(p, opt, level, least);
        if (peak < least) least = peak, best = form + i;
    }
    frontier_take(p, best ? best->step.at : given, best ? best->step.n : n);
}

/* The steps as they are. */
static void plan_steps(Program *program, const PlanOptions *opt, PlanLevel level, int64_t enough)
{
    PlanOptions o = *opt;
    o.arena_limit = enough;
    Planner p = prepare(program, &o, level);
    finish(&p);
}

static void plan_frontier(Program *p, const PlanOptions *opt, PlanLevel level)
{
    PlanOptions lowest = *opt;
    lowest.arena_limit = 0;
    Steps form[3] = { { .step = { .at = p->step.at, .n = p->step.n, .room = p->step.n } } };
    const int forms = 1 + list_pairs(p, &lowest, level, form + 1);
    frontier_plan(p, opt, level, form, forms, plan_steps);
}

void plan_program(Program *program, const PlanOptions *opt)
{
    Arena *scratch = &program->graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    const bool curve = opt->arena_limit || opt->curve;
    const PlanLevel most = opt->goal == PLAN_SPEED && !curve ? PLAN_OVERLAP : PLAN_STREAM;
    PlanOptions aim = *opt;     /* of the steps' order and form, the same under every limit */
    aim.level = opt->level && opt->level < most ? opt->level : most;
    aim.arena_limit = 0;
    const PlanLevel level = aim.level;
    if (level >= PLAN_ORDER) copies_choose(program, peak_of, &aim);
    if (level >= PLAN_ORDER) reorder(program, &aim, level);
    if (level >= PLAN_ORDER) make_affine_pairs(program, &aim, level);
    if (level >= PLAN_STREAM && (curve || opt->goal != PLAN_RAM)) {
        plan_frontier(program, opt, level);
    } else {
        if (level >= PLAN_STREAM) make_pairs(program, &aim, level);
        plan_steps(program, opt, level, 0);
    }
    arena_release(scratch, mark);
}
