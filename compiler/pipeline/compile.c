/* SPDX-License-Identifier: Apache-2.0
 * The list of all stages: read this file first.
 *
 *   model.onnx -> Graph -> Program -> Plan -> C
 *
 * No stage calls another. Each finds in Compile what the stages before it made. */
#include "pipeline/compile.h"

#include "base/json_memory.h"
#include "base/progress.h"
#include "bounds/bounds.h"
#include "emit/group.h"
#include "emit/weights.h"
#include "forms/fetch.h"
#include "ops/lower_graph.h"
#include "pipeline/advice.h"
#include "pipeline/banks_curve.h"
#include "pipeline/recompute.h"
#include "pipeline/coded.h"
#include "pipeline/lengths.h"
#include "pipeline/palettes.h"
#include "pipeline/limits.h"
#include "pipeline/plan_options.h"
#include "pipeline/read.h"
#include "pipeline/rewrite.h"
#include "pipeline/stats.h"
#include "pipeline/write.h"
#include "prove/check.h"

/* Where weights are streamed: what steps read through windows. */
static void fetch(Compile *compile)
{
    const Options *options = compile->options;
    const FetchOptions fetch_options = {
        .window = options->window ? *options->window : 0,
        .resident = options->resident ? *options->resident : 0,
        .whole = options->slices,
    };
    if (options->weights == WEIGHTS_STREAM && !fetch_options.window)
        fail_at(STATUS_USAGE, LOC_NONE, "--weights=stream --window=64K",
                "--weights=stream is of no use without --window");
    if (fetch_options.window)
        fetch_steps(compile->program, &fetch_options);
}

static void lower(Compile *compile)
{
    const Options *options = compile->options;
    const bool streamed = options->window && !options->code_weights;
    const LowerOptions lower_options = {
        .family = family_of_target(options->target),
        .narrow = !options->weights_type,
        .for_speed = rewrite_buys_time(options),
        .any_rows = compile->lengths || compile->apart,
        .window = streamed ? *options->window : 0,
        .palette = palettes_ask(compile),
    };
    compile->program = lower_graph(compile->graph, &lower_options);
    if (options->code_weights)
        coded_steps(compile);
    else
        fetch(compile);
    limit_steps(compile->program);
}

static void plan(Compile *compile)
{
    const PlanOptions options = plan_options(compile);
    plan_program(compile->program, &options);
    banks_join_curve(compile);
    recompute_join_curve(compile);
    limit_arena(compile);
}

static void check(Compile *compile)
{
    plan_check(compile->program);
    bounds_check_planned(compile->program);
    lengths_follow(compile);
}

static void layout(Compile *compile)
{
    const uint64_t compared = compile->estimate ? WEIGHTS_LITTLE : UINT64_MAX;
    if (compile->lengths) {
        lengths_layout(compile);
        return;
    }
    compile->program->updates = compile->options->update != 0;
    if (compile->options->code_weights)
        coded_layout(compile->program);
    else if (compile->options->weights == WEIGHTS_BLOB ||
             compile->options->window)
        weights_layout_blob(compile->program);
    else if (compile->group)
        weights_layout_known(compile->program, &compile->group->known,
                             compile->options->name,
                             (WeightsForm)compile->options->weights);
    else
        weights_layout(compile->program, compared);
    limit_weights(compile);
    program_link(compile->program);
}

void compile_to(Compile *compile, Stage last)
{
    typedef void StageFunction(Compile *);
    static StageFunction *const stages[STAGES] = {
        [STAGE_READ] = read_model,      /* the file becomes a Graph */
        [STAGE_PASSES] = rewrite_graph, /* shapes, folding, fusion */
        [STAGE_LOWER] = lower,          /* nodes become steps: kernel calls */
        [STAGE_PLAN] = plan,            /* order, live ranges, offsets */
        [STAGE_CHECK] = check,          /* the plan is replayed and proved */
        [STAGE_ADVICE] = advise,        /* --advice: other options are tried */
        [STAGE_LAYOUT] = layout,        /* each constant's place in the blob */
        [STAGE_LIMITS] = limit_sizes,   /* --max-arena, --max-weights */
        [STAGE_WRITE] = write_source,   /* C and weights */
        [STAGE_REPORT] = write_reports, /* the manifest and the reports */
    };
    for (; compile->next <= last; compile->next++) {
        const Loc model = { compile->options->model, -1, -1, NULL, NULL };
        diag_work(model);
        stats_stage(compile, compile->next);
        stages[compile->next](compile);
        arena_give_back(&compile->store.scratch);
        arena_give_back(&compile->arena);
    }
    progress_doing(NULL);
}

/* ---- what a compile owns ---- */

/* Bytes of a constant that are in memory at a time. */
enum { DEFAULT_WINDOW = 3 << 20 };

void compile_open(Compile *compile, const Options *options)
{
    static const CompileCalls calls = { compile_open, compile_to,
                                        compile_close };
    const long long *budget = options->max_memory;
    *compile = (Compile){
        .call = &calls,
        .options = options,
        .clock = { .running = STAGES },
        .io_before = io_count(),
    };
    compile->store = (Store){
        .arena = &compile->arena,
        .mode = (LoadMode)options->load,
        .window = DEFAULT_WINDOW,
    };
    compile->arena.budget = budget ? (uint64_t)*budget : 0;
    compile->store.scratch.budget = compile->arena.budget;
    compile->arena.beside = &compile->store.scratch;
    compile->store.scratch.beside = &compile->arena;
    compile->results.arena = &compile->arena;
    compile->progress = !options->quiet;
    if (compile->progress)
        progress_begin();
    json_memory_use(&compile->store.scratch);
}

void compile_close(Compile *compile)
{
    if (compile->progress)
        progress_end();
    if (compile->out)
        output_abort(compile->out);
    json_memory_use(NULL);
    file_close_all(&compile->arena);
    arena_free(&compile->store.scratch);
    arena_free(&compile->arena);
}
