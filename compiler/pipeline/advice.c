/* SPDX-License-Identifier: Apache-2.0
 * Nothing is guessed: the model is planned again with each option, and what that saves is said as
 * its plan has it. */
#include "pipeline/advice.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "emit/state_offers.h"
#include "ir/ram.h"
#include "pipeline/recompile.h"
#include "pipeline/values.h"
#include "plan/plan.h"

/* Inputs below this are not worth another interface, in bytes. */
enum { LEAST_INPUT = 1024, MOST_INPUTS = 4 };
/* What is said saves one part in so many at least. */
enum { LEAST_SHARE = 100 };

typedef struct Advisor {
    Compile *compile;
    Advice *advice;
    int64_t total; /* RAM of the plan as it is, in bytes */
} Advisor;

/* ---- an attempt ---- */

static Recompile *open_attempt(const Advisor *advisor)
{
    Compile *compile = advisor->compile;
    Recompile *again = NEW(&compile->arena, Recompile);
    recompile_open(compile, again, STAGE_CHECK);
    again->options.max_arena = NULL;
    again->options.max_weights = NULL;
    again->options.max_ram = NULL;
    again->options.max_stack = NULL;
    again->compile.estimate = true;
    return again;
}

/* A list of the command line, and one more. */
static const char **with_text(Arena *arena, const char **list, const char *text)
{
    VEC(const char *) longer = { 0 };
    for (; list && *list; list++)
        VEC_PUSH(arena, &longer, *list);
    VEC_PUSH(arena, &longer, text);
    VEC_PUSH(arena, &longer, NULL);
    return longer.at;
}

static void keep(const Advisor *advisor, const Program *program,
                 const char *options)
{
    const RamUse use = program_ram(program);
    const Alternative found = {
        .options = options,
        .arena = use.arena,
        .ram = use.total,
        .macs = program_macs(program),
    };
    if (advisor->total - use.total < advisor->total / LEAST_SHARE)
        return;
    VEC_PUSH(&advisor->compile->arena, &advisor->advice->found, found);
}

/* Options that the model does not allow are no advice; an attempt that lacks memory or cannot read
 * the model says nothing about them. */
static void judge(const Advisor *advisor, Recompile *again, const char *options)
{
    const Status status = recompile_run(again, true);
    advisor->advice->tried++;
    if (!status)
        keep(advisor, again->compile.program, options);
    recompile_close(advisor->compile, again);
    if (status >= STATUS_INTERNAL)
        fail_at(status, LOC_NONE, "the compile alone: without --advice",
                "while %s was tried", options);
}

/* ---- inputs ---- */

static bool is_image(int64_t channels)
{
    return channels == 1 || channels == 3 || channels == 4;
}

/* Samples of an image or a signal in the type that sensors give; NULL: it is neither. */
static const char *sensor_form(const Shape *shape)
{
    if (shape->rank == 4 && is_image(shape->dim[1]))
        return "uint8,hwc,scale=1/255";
    if (shape->rank == 4 && is_image(shape->dim[3]))
        return "uint8,scale=1/255";
    return shape->rank && shape->rank < 4 ? "int16,scale=1/32768" : NULL;
}

static void try_rows(const Advisor *advisor, const Tensor *input)
{
    Recompile *again = open_attempt(advisor);
    Arena *arena = &advisor->compile->arena;
    const char *text = arena_printf(arena, "in%d=rows", input->slot);
    again->options.io = with_text(arena, again->options.io, text);
    judge(advisor, again, arena_printf(arena, "--io=%s", text));
}

static void try_sensor(const Advisor *advisor, const Tensor *input)
{
    Arena *arena = &advisor->compile->arena;
    const Shape shape = tensor_model_shape(input);
    const char *form = sensor_form(&shape);
    if (input->dtype != DT_F32 || !form)
        return;
    Recompile *again = open_attempt(advisor);
    const char *text = arena_printf(arena, "%s=%s", input->name, form);
    again->options.preprocess =
        with_text(arena, again->options.preprocess, text);
    judge(
        advisor, again,
        arena_printf(arena, "--preprocess=%s", value_shell_word(arena, text)));
}

static bool is_state(const StateOffers *offers, const Tensor *input)
{
    for (size_t i = 0; i < offers->n; i++)
        if (offers->at[i].in == input)
            return true;
    return false;
}

static void try_inputs(const Advisor *advisor, const StateOffers *offers)
{
    const Graph *graph = advisor->compile->graph;
    int inputs = 0;
    for (size_t i = 0; i < graph->input.n && inputs < MOST_INPUTS; i++) {
        const Tensor *input = graph->input.at[i];
        if (input->storage != STORE_INPUT ||
            tensor_bytes(input) < LEAST_INPUT || is_state(offers, input))
            continue;
        inputs++;
        try_rows(advisor, input);
        try_sensor(advisor, input);
    }
}

/* Inputs and results lie in the arena, beside what is alive with them. */
static void try_arena(const Advisor *advisor)
{
    if (advisor->compile->options->io)
        return;
    Recompile *again = open_attempt(advisor);
    again->options.io =
        with_text(&advisor->compile->arena, again->options.io, "arena");
    judge(advisor, again, "--io=arena");
}

static void try_states(const Advisor *advisor, const StateOffers *offers)
{
    Arena *arena = &advisor->compile->arena;
    if (!offers->n)
        return;
    Recompile *again = open_attempt(advisor);
    const char *options = "";
    for (size_t i = 0; i < offers->n; i++) {
        const StateOffer *offer = offers->at + i;
        const char *text =
            arena_printf(arena, "%s=%s", offer->out->name, offer->in->name);
        again->options.state = with_text(arena, again->options.state, text);
        options = arena_printf(arena, "%s%s--state=%s", options, i ? " " : "",
                               value_shell_word(arena, text));
    }
    judge(advisor, again, options);
}

/* ---- the plan ---- */

static void try_goal(const Advisor *advisor)
{
    if (advisor->compile->options->optimize == PLAN_RAM)
        return;
    Recompile *again = open_attempt(advisor);
    again->options.optimize = PLAN_RAM;
    judge(advisor, again, "--optimize=ram");
}

/* The curve of the model becomes the plan's, which is one of its points. */
static void find_curve(const Advisor *advisor)
{
    Compile *compile = advisor->compile;
    Plan *plan = &compile->program->plan;
    if (plan->curve.n)
        return;
    Recompile *again = open_attempt(advisor);
    again->options.curve = 1;
    if (!recompile_run(again, true)) {
        const Plan *with = &again->compile.program->plan;
        for (size_t i = 0; i < with->curve.n; i++)
            VEC_PUSH(&compile->arena, &plan->curve, with->curve.at[i]);
        plan->macs_once = with->macs_once;
    }
    recompile_close(compile, again);
}

static void try_limit(const Advisor *advisor, const CurvePoint *point)
{
    long long *limit = NEW(&advisor->compile->arena, long long);
    *limit = point->arena;
    Recompile *again = open_attempt(advisor);
    again->options.arena_limit = limit;
    judge(advisor, again,
          arena_printf(&advisor->compile->arena, "--arena-limit=%" PRId64,
                       point->arena));
}

/* The smallest arena for a twentieth more multiplications, and the smallest of all. */
static void try_limits(const Advisor *advisor)
{
    const Plan *plan = &advisor->compile->program->plan;
    const int64_t macs = program_macs(advisor->compile->program);
    const CurvePoint *cheap = NULL;
    const CurvePoint *last = NULL;
    for (size_t i = 0; i < plan->curve.n; i++) {
        const CurvePoint *point = plan->curve.at + i;
        if (point->arena >= plan->arena_size)
            continue;
        last = point;
        if (point->macs <= macs + macs / 20)
            cheap = point;
    }
    if (cheap)
        try_limit(advisor, cheap);
    if (last && last != cheap)
        try_limit(advisor, last);
}

static void try_recomputing(const Advisor *advisor)
{
    const Options *options = advisor->compile->options;
    if (options->region || options->threads || options->arena_limit)
        return;
    find_curve(advisor);
    try_limits(advisor);
}

/* ---- all of it ---- */

static int by_ram(const void *a, const void *b)
{
    const Alternative *one = a;
    const Alternative *other = b;
    if (one->ram != other->ram)
        return one->ram < other->ram ? -1 : 1;
    if (one->macs != other->macs)
        return one->macs < other->macs ? -1 : 1;
    return strcmp(one->options, other->options);
}

void advise(Compile *compile)
{
    const Options *options = compile->options;
    Program *program = compile->program;
    if (!options->advice || compile->lengths || compile->group)
        return;
    Advice *advice = NEW(&compile->arena, Advice);
    const Advisor advisor = {
        .compile = compile,
        .advice = advice,
        .total = program_ram(program).total,
    };
    const StateOffers offers = state_offers(compile->graph);
    program->advice = advice;
    try_inputs(&advisor, &offers);
    try_arena(&advisor);
    try_states(&advisor, &offers);
    try_goal(&advisor);
    try_recomputing(&advisor);
    if (advice->found.n)
        qsort(advice->found.at, advice->found.n, sizeof *advice->found.at,
              by_ram);
}
