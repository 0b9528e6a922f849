/* SPDX-License-Identifier: Apache-2.0
 * The order of the units: layers with their loops, streams with their lists. */
#include "prove/check.h"

#include "prove/replay.h"

static bool can_reverse(const Step *s)
{
    return step_reverses(s) || s->units == 1;
}

static bool check_step(Check *c, const Step *s)
{
    c->step = s;
    if (s->pushed)
        return object(c, s->operand, "is handed in, which only a list can wait for");
    for (int k = 0; k < s->n_operand;
         k++) /* kernels go through the rows of a call more than once */
        if (watched(s->operand + k) && s->operand[k].ref.cap < s->operand[k].rows)
            return object(c, s->operand + k, "is a ring for a step that runs as a whole");
    c->made[s->index] = 0;
    if (s->backward && !can_reverse(s))
        return object(c, s->operand, "is made by a kernel that cannot go backward");
    if (!check_apart(c, s, 0, true, false))
        return false;
    for (int32_t u = 0; u < s->units; u++)
        if (!check_unit(c, s, s->backward ? s->units - 1 - u : u))
            return false;
    return true;
}

/* Loops are gone through twice: what the second round reads must have survived the first. */
static bool check_layers(Check *c, int32_t first, int32_t end)
{
    bool *again = NEW_ARRAY(c->arena, bool, c->program->step.n + 1);
    int32_t open = 0; /* loops whose second round is still to come */
    for (int32_t i = first; i < end; i++) {
        const Step *s = c->program->step.at[i];
        if (s->loop_end >= 0)
            again[i] = true, open++;
        if (!check_step(c, s))
            return false;
        for (int32_t k = i; open && k >= first; k--) {
            const Step *loop = c->program->step.at[k];
            if (loop->loop_end != i || !again[k])
                continue;
            again[k] = false;
            open--;
            if (!check_step(c, loop))
                return false;
            i = k;
            break;
        }
    }
    return true;
}

uint8_t segment_entry(const Segment *g, int32_t e)
{
    if (e >= g->prologue && e < g->prologue + g->period * g->repeats)
        e = g->prologue + (e - g->prologue) % g->period;
    else if (e >= g->prologue)
        e -= g->period * (g->repeats - 1);
    return g->list[e];
}

static bool check_stream(Check *c, const Segment *g)
{
    const int64_t state = c->program->plan.state, end = state + 2 * (int64_t)g->count,
                  place = c->program->plan.place;
    const int32_t entries = g->prologue + g->period * g->repeats + g->epilogue;
    if (state < 0 || end > program_region_size(c->program, 0))
        return object(c, NULL, "the row counters leave the arena");
    shadow_write(&c->shadow, state, end, 0, TAG_STATE);
    for (int32_t i = 0; i < g->count; i++)
        c->made[g->first + i] = 0;
    for (int32_t e = 0; e < entries; e++) {
        const int32_t k = segment_entry(g, e);
        if (k >= g->count)
            return object(c, NULL, "a list names a step beyond its segment");
        const Step *s = c->program->step.at[g->first + k];
        const int32_t made = c->made[s->index];
        if (!check_unit(c, s, s->backward ? s->units - 1 - made : made))
            return false;
        if (!shadow_owns(&c->shadow, state, end, 0, TAG_STATE))
            return object(c, NULL, "the row counters are overwritten");
        if (s->pushed && !shadow_owns(&c->shadow, place, place + PLACE_BYTES, 0, TAG_PLACE))
            return object(c, NULL, "the place of the run is overwritten");
    }
    return true;
}

/* Every row that goes to the caller is made. */
static bool check_outputs(Check *c)
{
    for (size_t i = 0; i < c->program->step.n; i++) {
        const Step *s = c->program->step.at[i];
        for (int k = 0; k < s->n_out; k++) {
            int64_t at;
            c->step = s;
            if (s->operand[k].tensor && owner_of(s->operand + k, &at)->storage == STORE_OUTPUT &&
                c->made[i] != s->units)
                return object(c, s->operand + k, "is not made in full");
        }
    }
    return true;
}

static void write_input(Check *c, const Tensor *t)
{
    Lanes *l = c->lanes + t->id;
    const int64_t home = home_of(c, t);
    shadow_write(&c->shadow, home, home + tensor_bytes(t), -home, t->id);
    for (int32_t r = 0; l->pixel && r < l->rows; r++)
        lane_add(l, r, 0, l->pixel);
}

/* Inputs in the arena are there before the first step, and so is the place of a run that takes
 * rows. */
static void write_inputs(Check *c)
{
    const Graph *g = c->program->graph;
    const int64_t place = c->program->plan.place;
    if (program_pushed(c->program))
        shadow_write(&c->shadow, place, place + PLACE_BYTES, 0, TAG_PLACE);
    for (size_t i = 0; i < g->input.n; i++) {
        const Tensor *t = g->input.at[i];
        if (t->storage == STORE_ARENA && graph_in_form(g, i) != IO_ROWS)
            write_input(c, t);
    }
}

/* A tensor of the model in the arena, as the caller finds it when all is done. */
static bool is_there(Check *c, const Tensor *t)
{
    const Lanes *l = c->lanes + t->id;
    if (t->storage != STORE_ARENA)
        return true;
    const int64_t home = home_of(c, t);
    bool all = shadow_owns(&c->shadow, home, home + tensor_bytes(t), -home, t->id);
    for (int32_t r = 0; l->pixel && r < l->rows; r++)
        all &= lane_has(l, r, 0, l->pixel);
    return all;
}

static bool check_ends(Check *c)
{
    const Graph *g = c->program->graph;
    const int64_t place = c->program->plan.place;
    if (program_pushed(c->program) &&
        (place < 0 || place + PLACE_BYTES > program_region_size(c->program, 0) ||
         !shadow_owns(&c->shadow, place, place + PLACE_BYTES, 0, TAG_PLACE)))
        return object(c, NULL, "the place of the run is overwritten");
    for (size_t i = 0; i < graph_results(g); i++)
        if (!is_there(c, g->output.at[i]))
            return object(c, NULL, "a result in the arena is not there at the end");
    for (size_t i = 0; c->program->plan.preserve_input && i < g->input.n; i++)
        if (graph_in_form(g, i) != IO_ROWS && !is_there(c, g->input.at[i]))
            return object(c, NULL, "an input that was to be preserved is not there at the end");
    return check_outputs(c);
}

static bool check_schedule(Check *c)
{
    const Program *p = c->program;
    int32_t next = 0;
    for (size_t i = 0; i < p->plan.segment.n; i++) {
        const Segment *g = p->plan.segment.at + i;
        if (g->first != next || g->count < 0)
            return object(c, NULL, "segments leave steps out");
        if (g->count > (int32_t)p->step.n - next)
            return object(c, NULL, "segments name steps that do not exist");
        next += g->count;
    }
    return !p->plan.segment.n || next == (int32_t)p->step.n ||
           object(c, NULL, "segments leave steps out");
}

static bool replay(Check *c)
{
    const Program *p = c->program;
    if (!check_schedule(c) || !check_rewrites(c))
        return false;
    write_inputs(c);
    if (!p->plan.segment.n)
        return check_layers(c, 0, (int32_t)p->step.n) && check_ends(c);
    for (size_t i = 0; i < p->plan.segment.n; i++) {
        const Segment *g = p->plan.segment.at + i;
        if (!(g->list ? check_stream(c, g) : check_layers(c, g->first, g->first + g->count)))
            return false;
    }
    return check_ends(c);
}

Objection plan_object(const Program *p)
{
    Arena *scratch = &p->graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    Check c = { .arena = scratch, .program = p };
    c.shadow.arena = c.arena;
    c.made = NEW_ARRAY(c.arena, int32_t, p->step.n + 1);
    find_lanes(&c);
    replay(&c);
    arena_release(scratch, mark);
    return c.found;
}

bool plan_holds(const Program *p, const char **why)
{
    const Objection o = plan_object(p);
    if (why)
        *why = o.why;
    return !o.why;
}

void plan_check(const Program *p)
{
    const Objection o = plan_object(p);
    const char *help = "please report this model: it is a bug of Inlay, not of the model";
    if (o.why && o.operand)
        fail_at(STATUS_INTERNAL, o.step->node ? node_loc(o.step->node) : LOC_NONE, help,
                "the memory plan is unsound at step %d (%s): row %d of \"%s\", at byte %lld, %s",
                o.step->index, o.step->kernel->name, o.row, o.operand->tensor->name,
                (long long)o.byte, o.why);
    if (o.why)
        fail_at(STATUS_INTERNAL, LOC_NONE, help, "the memory plan is unsound: %s", o.why);
}
