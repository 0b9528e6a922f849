/* SPDX-License-Identifier: Apache-2.0
 * Nothing is estimated: the model is planned with banks of each size for the expansions at the peak
 * of the plan so far, and the smallest arena is kept, as long as it becomes smaller. */
#include "pipeline/banks.h"

#include <string.h>

#include "base/size.h"
#include "pipeline/banks_curve.h"
#include "pipeline/recompile.h"
#include "plan/plan.h"
#include "schedule/options.h"

enum {
    MOST_PEAKS = 6, /* that are cut one after the other */
    /* a smaller arena is one by one part in so many; and of the peak is what is so near to it */
    LEAST_SHARE = 64,
    MOST_STEPS = 4096 /* that are planned, in all attempts together */
};

static const Banks no_banks;

/* A plan with some banks. */
typedef struct Attempt {
    int64_t arena; /* its bytes; -1: there is no such plan */
    int32_t expansions;
    /* of each: do bytes at the peak depend on it? NULL: there are some that depend on none */
    const bool *at_peak;
} Attempt;

/* ---- the peak ---- */

/* A program as it was lowered: the expansion of each step, 0: it is of none. */
static int32_t *expansions_of_steps(Arena *arena, const Program *program)
{
    int32_t *expansion = NEW_ARRAY(arena, int32_t, program->step.n + 1);
    for (size_t i = 0; i < program->step.n; i++) {
        const Node *node = program->step.at[i]->node;
        expansion[i] = node ? node->expansion : 0;
    }
    return expansion;
}

/* The steps that run together with step k, row by row. */
static StepRange steps_beside(const Plan *plan, int32_t k)
{
    for (size_t i = 0; i < plan->segment.n; i++) {
        const Segment *segment = plan->segment.at + i;
        const int32_t end = segment->first + segment->count;
        if (segment->list && k >= segment->first && k < end)
            return (StepRange){ segment->first, end };
    }
    return (StepRange){ k, k + 1 };
}

/* Marks the expansions of the steps; false: there are none. */
static bool mark_expansions(const Program *program, StepRange steps,
                            const int32_t *expansion_of, bool *marked)
{
    bool any = false;
    for (int32_t k = steps.first; k < steps.end; k++) {
        const Step *step = program->step.at[k];
        for (int32_t i = 0; i < step->n_lowered; i++) {
            const int32_t expansion = expansion_of[step->lowered[i]];
            if (expansion)
                marked[expansion - 1] = true;
            any = any || expansion;
        }
    }
    return any;
}

static const bool *expansions_at_peak(Arena *arena, const Program *program,
                                      const int32_t *expansion_of)
{
    const int64_t *live = program->plan.live;
    bool *marked = NEW_ARRAY(arena, bool, program->graph->expansions + 1);
    int64_t peak = 0;
    for (size_t k = 0; k < program->step.n; k++)
        peak = i64_max(peak, live[k]);
    for (size_t k = 0; k < program->step.n; k++) {
        if (live[k] < peak - peak / LEAST_SHARE)
            continue;
        const StepRange steps = steps_beside(&program->plan, (int32_t)k);
        if (!mark_expansions(program, steps, expansion_of, marked))
            return NULL;
    }
    return marked;
}

/* ---- an attempt ---- */

typedef struct Chooser {
    Compile *compile;
    int64_t steps; /* that may still be planned */
} Chooser;

/* All attempts are much like one another, and like the plan behind them. */
static const PlanKnown *known_for(Compile *compile, const Program *program)
{
    if (!compile->known)
        compile->known = plan_known_new(&compile->arena, program->step.n);
    return compile->known;
}

/* An attempt under way. */
typedef struct Measure {
    Chooser *chooser;
    Recompile *again;
    Attempt attempt;
} Measure;

static void measure(void *context)
{
    Measure *m = context;
    Compile *compile = m->chooser->compile;
    Recompile *again = m->again;
    if (recompile_run(again, true))
        return;
    const Program *program = again->compile.program;
    const int32_t *expansion_of = expansions_of_steps(&compile->arena, program);
    m->attempt.expansions = program->graph->expansions;
    m->chooser->steps -= (int64_t)program->step.n;
    again->compile.known = known_for(compile, program);
    again->last = STAGE_PLAN;
    if (!m->attempt.expansions || recompile_run(again, true))
        return;
    m->attempt.at_peak =
        expansions_at_peak(&compile->arena, program, expansion_of);
    m->attempt.arena = program->plan.arena_size;
}

/* Within so many bytes, or without a limit (NULL) the smallest. Whatever fails, what was opened is
 * closed. */
static Attempt plan_within(Chooser *chooser, const long long *limit,
                           const Banks *banks)
{
    Compile *compile = chooser->compile;
    Measure m = { .chooser = chooser, .attempt = { .arena = -1 } };
    Diag diag = { .out = diag_now->out, .quiet = true };
    if (chooser->steps <= 0)
        return m.attempt;
    m.again = NEW(&compile->arena, Recompile);
    recompile_open(compile, m.again, STAGE_LOWER);
    m.again->options.arena_limit = limit;
    m.again->options.curve = 0;
    m.again->options.dump_after = NULL;
    m.again->compile.estimate = true;
    m.again->compile.banks = banks;
    m.again->compile.recompute_chosen = true;
    (void)protect(&diag, measure, &m);
    recompile_close(compile, m.again);
    return m.attempt;
}

/* ---- the choice ---- */

/* Channels of a bank that are tried. */
static const int32_t sizes[] = { 32, 16, 8 };
enum { SIZES = sizeof sizes / sizeof *sizes };

typedef struct Choice {
    const Banks *banks;
    Attempt attempt;
} Choice;

/* The banks of a choice, as a list that may be written. */
static int32_t *list_of(Arena *arena, const Choice *choice)
{
    const Banks *banks = choice->banks;
    int32_t *list = NEW_ARRAY(arena, int32_t, choice->attempt.expansions);
    for (int32_t i = 0; i < banks->n; i++)
        list[i] = banks->channels[i];
    return list;
}

static Choice choose(Chooser *chooser, int32_t expansions, const int32_t *list)
{
    const Banks banks = { expansions, list };
    Choice choice;
    choice.banks = arena_copy(&chooser->compile->arena, &banks, sizeof banks);
    choice.attempt = plan_within(chooser, NULL, choice.banks);
    return choice;
}

/* The expansions at the peak get banks of so many channels; false: they have such banks, or smaller
 * ones, or the peak does not depend on them. */
static bool cut_peak(Chooser *chooser, int32_t channels, Choice *choice)
{
    const Attempt *attempt = &choice->attempt;
    if (attempt->arena < 0 || !attempt->at_peak)
        return false;
    int32_t *list = list_of(&chooser->compile->arena, choice);
    bool any = false;
    for (int32_t i = 0; i < attempt->expansions; i++) {
        if (!attempt->at_peak[i] || (list[i] && list[i] <= channels))
            continue;
        list[i] = channels;
        any = true;
    }
    if (any)
        *choice = choose(chooser, attempt->expansions, list);
    return any;
}

static bool is_smaller(const Choice *choice, const Choice *other)
{
    const int64_t most = other->attempt.arena;
    const int64_t arena = choice->attempt.arena;
    return arena >= 0 && arena <= most - most / LEAST_SHARE;
}

/* Expansion i is not cut where the arena stays as small. */
static void spare(Chooser *chooser, int32_t i, Choice *choice)
{
    int32_t *list = list_of(&chooser->compile->arena, choice);
    if (!list[i])
        return;
    list[i] = 0;
    const Choice other = choose(chooser, choice->attempt.expansions, list);
    if (other.attempt.arena >= 0 &&
        other.attempt.arena <= choice->attempt.arena)
        *choice = other;
}

bool banks_may_choose(const Compile *compile)
{
    const Options *options = compile->options;
    const PlanLevel level = (PlanLevel)options->plan;
    if (level != PLAN_DEFAULT && level != PLAN_STREAM)
        return false;
    if ((PlanGoal)options->optimize != PLAN_RAM || options->per_step)
        return false;
    if (options->region || options->window || options->code_weights)
        return false;
    return !compile->lengths && !compile->apart;
}

static bool is_grouped(const Graph *graph)
{
    for (size_t i = 0; i < graph->node.n; i++) {
        const Attr *group = node_attr(graph->node.at[i], "group");
        if (group && group->kind == ATTR_INT && group->i > 1)
            return true;
    }
    return false;
}

/* Is there a convolution of groups, in functions, too, which are not yet in their places? */
static bool has_groups(const Graph *root)
{
    for (size_t i = 0; i < root->all.n; i++)
        if (is_grouped(root->all.at[i]))
            return true;
    for (size_t i = 0; i < root->function.n; i++)
        if (is_grouped(root->function.at[i]->body))
            return true;
    return false;
}

/* Fewer channels would leave a part of each vector idle. */
static int32_t least_bank(const Compile *compile)
{
    const Family *family = family_of_target(compile->options->target);
    return family->float_vectors ? family->float_width : sizes[SIZES - 1];
}

/* One peak after the other is cut into banks of a size, and the best choice kept: the arena may be
 * larger at first. False: it always is larger than `whole`, which has no banks. */
static bool cut_peaks(Chooser *chooser, int32_t channels, const Choice *whole,
                      Choice *best)
{
    Choice way = *whole;
    bool larger = true;
    for (int n = 0; n < MOST_PEAKS; n++) {
        if (!cut_peak(chooser, channels, &way))
            return n == 0 || !larger;
        larger = larger && way.attempt.arena > whole->attempt.arena;
        if (is_smaller(&way, best))
            *best = way;
    }
    return !larger;
}

/* The best of all sizes. Smaller banks are more steps, with more between them, so that none are
 * tried where larger ones only made the arena larger. Where it is small enough without banks, there
 * are none. */
static Choice find_smallest(Chooser *chooser, int64_t enough)
{
    const Choice whole = { &no_banks, plan_within(chooser, NULL, &no_banks) };
    const int32_t least = least_bank(chooser->compile);
    Choice best = whole;
    if (whole.attempt.arena <= enough)
        return best;
    for (int i = 0; i < SIZES && sizes[i] >= least; i++)
        if (!cut_peaks(chooser, sizes[i], &whole, &best))
            break;
    for (int32_t i = 0; i < best.banks->n; i++)
        spare(chooser, i, &best);
    return best;
}

static const Banks *find_banks(Chooser *chooser, const long long *limit)
{
    const Choice least = find_smallest(chooser, limit ? *limit : 0);
    if (!limit || least.attempt.arena <= *limit)
        return least.banks;
    if (plan_within(chooser, limit, &no_banks).arena >= 0)
        return &no_banks;
    const Attempt both = plan_within(chooser, limit, least.banks);
    return both.arena >= 0 ? least.banks : &no_banks;
}

void banks_skip(Compile *compile)
{
    compile->banks = &no_banks;
}

void banks_choose(Compile *compile)
{
    if (compile->banks)
        return;
    banks_skip(compile);
    if (!banks_may_choose(compile) || !has_groups(compile->graph))
        return;
    Chooser chooser = { compile, MOST_STEPS };
    compile->banks = find_banks(&chooser, compile->options->arena_limit);
    if (compile->banks->n && compile->options->curve)
        banks_note_curve(compile);
}
