/* SPDX-License-Identifier: Apache-2.0
 * The order of the units: layers with their loops, streams with their lists. */
#include "prove/check.h"

#include "base/size.h"
#include "prove/replay.h"

static bool can_reverse(const Step *step)
{
    return step_reverses(step) || step->units == 1;
}

static bool place_is_there(const Check *check)
{
    const Plan *plan = &check->program->plan;
    return shadow_owns(&check->shadow, plan->place,
                       plan->place + plan->place_bytes, 0, TAG_PLACE);
}

/* What a step that is in no list may not be. */
static bool check_whole(Check *check, const Step *step)
{
    if (step->pushed)
        return object(check, step->operand,
                      "is handed in, which only a list can wait for");
    for (int k = 0; k < step->n_operand; k++) {
        const Operand *operand = step->operand + k;
        const inlay_ref *ref = &operand->ref;
        /* kernels go through the rows of a call more than once */
        if (watched(operand) && (ref->cap < operand->rows || ref->slot))
            return object(check, operand,
                          "is a ring for a step that runs as a whole");
    }
    if (step->backward && !can_reverse(step))
        return object(check, step->operand,
                      "is made by a kernel that cannot go backward");
    return true;
}

static bool check_step(Check *check, const Step *s)
{
    check->step = s;
    check->made[s->index] = 0;
    if (!check_whole(check, s))
        return false;
    if (s->split && !check_split(check, s))
        return false;
    if (check_at_once(check, s))
        return true;
    if (!check_apart(check, s, 0, true, false))
        return false;
    for (int32_t u = 0; u < s->units; u++) {
        check->first = s->backward ? s->units - 1 - u : u;
        if (!check_unit(check, s, check->first))
            return false;
    }
    return true;
}

/* Loops are gone through twice: what the second round reads must have survived the first. */
static bool check_layers(Check *check, int32_t first, int32_t end)
{
    Step *const *step = check->program->step.at;
    /* loops whose second round is still to come, the outermost first */
    int32_t *open = NEW_ARRAY(check->arena, int32_t, check->program->step.n);
    int32_t n = 0;
    for (int32_t i = first; i < end; i++) {
        if (step[i]->loop_end >= i)
            open[n++] = i;
        if (!check_step(check, step[i]))
            return false;
        while (n && step[open[n - 1]]->loop_end == i) {
            i = open[--n];
            if (!check_step(check, step[i]))
                return false;
        }
    }
    return true;
}

uint8_t segment_entry(const Segment *segment, int32_t e)
{
    if (e >= segment->prologue &&
        e < segment->prologue + segment->period * segment->repeats)
        e = segment->prologue + (e - segment->prologue) % segment->period;
    else if (e >= segment->prologue)
        e -= segment->period * (segment->repeats - 1);
    return segment->list[e];
}

static bool counters_are_there(const Check *check, const Segment *segment)
{
    const int64_t state = check->program->plan.state;
    const int64_t end = state + 2 * (int64_t)segment->count;
    return shadow_owns(&check->shadow, state, end, 0, TAG_STATE);
}

/* Where the runtime begins a list anew: at its head, at each period and behind the last. */
static bool begins_part(const Segment *segment, int32_t e)
{
    const int32_t round = e - segment->prologue;
    const int32_t rounds = segment->period * segment->repeats;
    return !e || (round >= 0 && round <= rounds &&
                  round % i64_max(1, segment->period) == 0);
}

/* Is entry e of a stream the first of a call? Those behind it that name the same step are of it. */
static bool begins_call(const Segment *segment, int32_t e)
{
    return begins_part(segment, e) ||
           segment_entry(segment, e) != segment_entry(segment, e - 1);
}

static int32_t entries_of(const Segment *segment)
{
    return segment->prologue + segment->period * segment->repeats +
           segment->epilogue;
}

/* The next unit of the step that entry e of a stream names, and what the loop itself keeps in the
 * arena. */
static bool check_entry(Check *check, const Segment *segment, int32_t e)
{
    const uint8_t k = segment_entry(segment, e);
    if (k >= segment->count)
        return object(check, NULL, "a list names a step beyond its segment");
    const Step *step = check->program->step.at[segment->first + k];
    if (step->split)
        return object(check, NULL, "a step of a list is split");
    const int32_t made = check->made[step->index];
    const int32_t unit = step->backward ? step->units - 1 - made : made;
    const bool first = begins_call(segment, e);
    if (first)
        check->first = unit;
    check->alone =
        first && (e + 1 == entries_of(segment) || begins_call(segment, e + 1));
    if (!check_unit(check, step, unit))
        return false;
    if (!counters_are_there(check, segment))
        return object(check, NULL, "the row counters are overwritten");
    return true;
}

/* Kernels look for the slot of row r at r, or at r modulo the rows of a ring, and for elements
 * where their size divides the address. */
static bool check_slots(Check *check, const Step *step)
{
    check->step = step;
    for (int k = 0; k < step->n_operand; k++) {
        const Operand *operand = step->operand + k;
        if (operand->ref.slot && operand->ref.cap != operand->rows)
            return object(check, operand, "is a ring and has slots");
        if (operand->ref.slot && operand->ref.unit * 8 % element_bits(operand))
            return object(check, operand, "has rows that are not aligned");
    }
    return true;
}

static bool check_stream(Check *check, const Segment *segment)
{
    const int64_t state = check->program->plan.state;
    const int64_t end = state + 2 * (int64_t)segment->count;
    const int32_t entries = entries_of(segment);
    if (state < 0 || end > program_region_size(check->program, 0))
        return object(check, NULL, "the row counters leave the arena");
    shadow_write(&check->shadow, state, end, 0, TAG_STATE);
    for (int32_t i = 0; i < segment->count; i++) {
        const Step *step = check->program->step.at[segment->first + i];
        if (!check_slots(check, step))
            return false;
    }
    for (int32_t e = 0; e < entries; e++)
        if (!check_entry(check, segment, e))
            return false;
    return true;
}

static void write_input(Check *check, const Tensor *tensor)
{
    Lanes *l = check->lanes + tensor->id;
    const int64_t home = home_of(check, tensor);
    shadow_write(&check->shadow, home, home + tensor_bytes(tensor), -home,
                 tensor->id);
    for (int32_t r = 0; l->pixel && r < l->rows; r++)
        lane_add(l, r, 0, l->pixel);
}

/* Inputs in the arena are there before the first step, and so is the place of a run that waits. */
static void write_inputs(Check *check)
{
    const Graph *g = check->program->graph;
    const Plan *plan = &check->program->plan;
    if (plan->place_bytes)
        shadow_write(&check->shadow, plan->place,
                     plan->place + plan->place_bytes, 0, TAG_PLACE);
    for (size_t i = 0; i < g->input.n; i++) {
        const Tensor *tensor = g->input.at[i];
        if (tensor->storage == STORE_ARENA && graph_in_form(g, i) != IO_ROWS)
            write_input(check, tensor);
    }
}

/* An input or a result of the model that steps may write, as the caller finds it when all is done.
 */
static bool is_there(Check *check, const Tensor *tensor)
{
    const Lanes *l = check->lanes + tensor->id;
    if (tensor->storage != STORE_ARENA && tensor->storage != STORE_OUTPUT)
        return true;
    const int64_t home = home_of(check, tensor);
    bool all = shadow_owns(&check->shadow, home, home + tensor_bytes(tensor),
                           -home, tensor->id);
    for (int32_t r = 0; l->pixel && r < l->rows; r++)
        all &= lane_has(l, r, 0, l->pixel);
    return all;
}

static bool check_ends(Check *check)
{
    const Graph *g = check->program->graph;
    const Plan *plan = &check->program->plan;
    if (plan->place_bytes && (plan->place < 0 ||
                              plan->place + plan->place_bytes >
                                  program_region_size(check->program, 0) ||
                              !place_is_there(check)))
        return object(check, NULL, "the place of the run is overwritten");
    for (size_t i = 0; i < g->output.n; i++)
        if (!is_there(check, g->output.at[i]))
            return object(
                check, NULL,
                "a result is not there, or not all of it, at the end");
    for (size_t i = 0; check->program->plan.preserve_input && i < g->input.n;
         i++)
        if (graph_in_form(g, i) != IO_ROWS && !g->input.at[i]->state &&
            !is_there(check, g->input.at[i]))
            return object(
                check, NULL,
                "an input that was to be preserved is not there at the end");
    return true;
}

static bool check_schedule(Check *check)
{
    const Program *p = check->program;
    int32_t next = 0;
    for (size_t i = 0; i < p->plan.segment.n; i++) {
        const Segment *g = p->plan.segment.at + i;
        if (g->first != next || g->count < 0)
            return object(check, NULL, "segments leave steps out");
        if (g->count > (int32_t)p->step.n - next)
            return object(check, NULL, "segments name steps that do not exist");
        next += g->count;
    }
    if (p->plan.segment.n && next != (int32_t)p->step.n)
        return object(check, NULL, "segments leave steps out");
    return true;
}

static bool replay(Check *check)
{
    const Program *p = check->program;
    if (!check_schedule(check) || !check_rewrites(check))
        return false;
    write_inputs(check);
    if (!p->plan.segment.n)
        return check_layers(check, 0, (int32_t)p->step.n) && check_ends(check);
    for (size_t i = 0; i < p->plan.segment.n; i++) {
        const Segment *g = p->plan.segment.at + i;
        if (!(g->list ? check_stream(check, g)
                      : check_layers(check, g->first, g->first + g->count)))
            return false;
    }
    return check_ends(check);
}

Objection plan_object(const Program *p)
{
    Arena *scratch = &p->graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    Check check = { .arena = scratch, .program = p };
    check.shadow.arena = check.arena;
    check.made = NEW_ARRAY(check.arena, int32_t, p->step.n);
    find_lanes(&check);
    replay(&check);
    arena_release(scratch, mark);
    return check.found;
}

bool plan_holds(const Program *program, const char **why)
{
    const Objection objection = plan_object(program);
    if (why)
        *why = objection.why;
    return !objection.why;
}

void plan_check(const Program *program)
{
    const Objection objection = plan_object(program);
    const char *help =
        "please report this model: it is a bug of Inlay, not of the model";
    if (objection.why && objection.operand)
        fail_at(STATUS_INTERNAL,
                objection.step->node ? node_loc(objection.step->node)
                                     : LOC_NONE,
                help,
                "the memory plan is unsound at step %d (%s): row %d of \"%s\", "
                "at byte %lld, %s",
                objection.step->index, objection.step->kernel->name,
                objection.row, objection.operand->tensor->name,
                (long long)objection.byte, objection.why);
    if (objection.why)
        fail_at(STATUS_INTERNAL, LOC_NONE, help,
                "the memory plan is unsound: %s", objection.why);
}
