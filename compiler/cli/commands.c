/* SPDX-License-Identifier: Apache-2.0
 * compile, analyze, check: the pipeline and its figures. */
#include <inttypes.h>
#include <string.h>

#include "cli/options.h"
#include "cli/place_cmd.h"
#include "cli/stats.h"
#include "emit/arena_csv.h"
#include "emit/html.h"
#include "emit/report.h"

static void build(Compile *c)
{
    compile_passes(c);
    compile_program(c);
}

/* Ends the last stage's clock. */
static void print_stats(Compile *c)
{
    stats_stage(c, STAGES);
    if (c->options->stats)
        stats_print(c);
}

static void put_stdout(void *to, const char *text, size_t n)
{
    (void)to;
    fwrite(text, 1, n, stdout);
}

static void print_json(Compile *c)
{
    const ManifestFacts facts = compile_facts(c);
    stats_stage(c, STAGES);
    manifest_write(c->program, &facts, c->options->stats ? stats_json(c) : NULL,
                   (ManifestSink){ put_stdout, NULL });
}

void cmd_compile(Compile *c)
{
    if (!c->options->output)
        fail_at(STATUS_USAGE, LOC_NONE, NULL, "compile needs an output folder: -o DIR");
    build(c);
    compile_emit(c);
    if (c->options->json)
        print_json(c);
    else
        print_stats(c);
}

void cmd_analyze(Compile *c)
{
    build(c);
    if (c->options->json) {
        print_json(c);
        return;
    }
    const Text t = c->options->csv ? arena_csv(c->program)
                                   : (c->options->html ? html_report
                                                       : report_text)(c->program, compile_name(c));
    fwrite(t.at, 1, t.n, stdout);
    print_stats(c);
}

static void hold(const char *what, uint64_t bytes, const long long *most)
{
    if (!most)
        return;
    printf("%-8s %12" PRIu64 " bytes of %12lld: %s\n", what, bytes, *most,
           bytes <= (uint64_t)*most ? "holds" : "EXCEEDED");
    if (bytes > (uint64_t)*most)
        error_at(STATUS_LIMIT, LOC_NONE, NULL, "%s: %" PRIu64 " bytes are needed, %lld are allowed",
                 what, bytes, *most);
}

void cmd_check(Compile *c)
{
    if (!c->options->max_arena && !c->options->max_weights)
        fail_at(STATUS_USAGE, LOC_NONE, NULL, "check needs --max-arena or --max-weights");
    build(c);
    hold("arena", (uint64_t)c->program->plan.arena_size, c->options->max_arena);
    hold("weights", c->program->weight_bytes, c->options->max_weights);
    fail_if_errors();
}

void cmd_place(Compile *c)
{
    const int status =
        place_command(c->options->model, c->options->capacity ? *c->options->capacity : -1, stdout);
    if (status)
        fail_now((Status)status);
}
