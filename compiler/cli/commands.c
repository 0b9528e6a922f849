/* SPDX-License-Identifier: Apache-2.0
 * compile, analyze, place: the pipeline and its figures. */
#include <inttypes.h>

#include "base/progress.h"
#include "cli/cache.h"
#include "cli/options.h"
#include "cli/place_cmd.h"
#include "emit/arena_csv.h"
#include "emit/group.h"
#include "emit/html.h"
#include "emit/palettes.h"
#include "emit/report.h"
#include "ir/ram.h"
#include "pipeline/depfile.h"
#include "pipeline/many.h"
#include "pipeline/model_name.h"
#include "pipeline/stats.h"
#include "pipeline/values.h"
#include "pipeline/write.h"
#include "plan/plan.h"

/* Ends the last stage's clock. */
static void print_stats(Compile *compile)
{
    stats_stage(compile, STAGES);
    if (compile->options->stats)
        stats_print(compile);
}

static void print_json(Compile *compile)
{
    if (compile->group) {
        group_manifest(compile->group, NULL, pieces_sink(&compile->results));
        return;
    }
    const ManifestFacts facts = manifest_facts(compile);
    stats_stage(compile, STAGES);
    manifest_write(compile->program, &facts,
                   compile->options->stats ? stats_json(compile) : NULL,
                   pieces_sink(&compile->results));
}

/* The same of several models. */
static void print_group(Compile *compile)
{
    const Group *group = compile->group;
    Pieces *to = &compile->results;
    pieces_print(
        to,
        "%s: %zu models, arena %" PRId64 " bytes; weights %" PRIu64 " bytes\n",
        group->name, group->model.n, group->arena_size, group_weights(group));
    pieces_print(to,
                 "written to %s: include src/%s.h, call the models' _run(); "
                 "%s.txt has all figures\n",
                 compile->options->output, group->name, group->name);
}

/* How far weights are off that were rounded. */
static void print_palettes(Pieces *to, const Program *program)
{
    const PaletteSum sum = palette_sum(program);
    if (!program->palette.values)
        return;
    pieces_print(to,
                 "%d values a channel of %d weights: %" PRIu64
                 " bytes in %" PRIu64
                 "; off by %.2f %% of their size, at most %.0f %%\n",
                 program->palette.values, sum.weights, sum.plain, sum.coded,
                 100 * sum.error, 100 * sum.most);
}

/* What was made, in a few lines, and what to do with it. */
static void print_summary(Compile *compile)
{
    const Program *program = compile->program;
    const Plan *plan = &program->plan;
    const char *name = model_name(compile);
    const char *folder = compile->options->output;
    Pieces *to = &compile->results;
    pieces_print(to,
                 "%s: arena %" PRId64 " bytes (lower bound %" PRId64
                 "), total RAM %" PRId64 "; weights %" PRIu64 " bytes\n",
                 name, plan->arena_size, plan->lower_bound,
                 program_ram(program).total, program->weight_bytes);
    print_palettes(to, program);
    pieces_print(to,
                 "written to %s: include src/%s.h, call %s_run(); %s.txt "
                 "has all figures\n",
                 folder, name, name, name);
}

static void print_outcome(Compile *compile)
{
    if (compile->group && !compile->options->quiet)
        print_group(compile);
    if (compile->group)
        return;
    if (!compile->options->quiet)
        print_summary(compile);
    print_stats(compile);
}

static _Noreturn void fail_no_output(Compile *compile)
{
    const Options *options = compile->options;
    const bool many = options->each != NULL;
    const char *folder =
        many ? "DIR" : name_by_options(&compile->arena, options);
    Text next = text_new(&compile->arena);
    value_put_command(&next, options);
    text_put(&next, " -o");
    value_put_word(&next, folder);
    fail_at(STATUS_USAGE, LOC_NONE, next.at,
            "compile needs an output folder: -o DIR");
}

void cmd_compile(Compile *compile)
{
    const Options *options = compile->options;
    if (!options->output)
        fail_no_output(compile);
    if (options->concurrent && !options->each)
        fail_at(STATUS_USAGE, LOC_NONE, NULL,
                "--concurrent is of no use with one model");
    if (options->each)
        many_begin(compile);
    Cache *cache = cache_open(compile);
    if (cache && cache_find(cache))
        return;
    if (options->each)
        compile_many(compile);
    else
        compile_to(compile, STAGE_REPORT);
    if (options->json)
        print_json(compile);
    else
        print_outcome(compile);
    if (options->depfile)
        depfile_write(compile);
    if (cache)
        cache_take(cache);
    progress_doing("moving the folder to its place");
    /* This comes last: what fails leaves the folder as it was. */
    output_commit(compile->out);
    if (cache)
        cache_keep(cache);
}

static Text analysis(Compile *compile)
{
    const Options *options = compile->options;
    const Program *program = compile->program;
    if (options->csv)
        return arena_csv(program);
    if (options->html)
        return html_report(program, model_name(compile));
    return report_text(program, model_name(compile));
}

void cmd_analyze(Compile *compile)
{
    const Options *options = compile->options;
    if (options->curve && options->plan && options->plan < PLAN_STREAM)
        fail_at(STATUS_USAGE, LOC_NONE, NULL,
                "--curve needs --plan=stream, the default");
    compile->estimate = true;
    compile_to(compile, STAGE_LAYOUT);
    if (options->json) {
        print_json(compile);
        return;
    }
    const Text text = analysis(compile);
    pieces_put(&compile->results, text.at, text.n);
    print_stats(compile);
}

void cmd_place(Compile *compile)
{
    const long long *capacity = compile->options->capacity;
    place_file(&compile->arena, compile->options->model,
               capacity ? *capacity : -1,
               value_read_effort(compile->options->effort),
               pieces_sink(&compile->results));
}
