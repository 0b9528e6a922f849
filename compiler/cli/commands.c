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

static void build(Compile *compile)
{
    compile_passes(compile);
    compile_program(compile);
}

/* Ends the last stage's clock. */
static void print_stats(Compile *compile)
{
    stats_stage(compile, STAGES);
    if (compile->options->stats)
        stats_print(compile);
}

static void print_json(Compile *compile)
{
    const ManifestFacts facts = compile_facts(compile);
    stats_stage(compile, STAGES);
    manifest_write(compile->program, &facts, compile->options->stats ? stats_json(compile) : NULL,
                   pieces_sink(&compile->results));
}

/* ---- gates ---- */

typedef struct Gate {
    const char *what;
    uint64_t bytes;
    const long long *most; /* NULL: none was asked for */
} Gate;

static bool holds(const Gate *g)
{
    return !g->most || g->bytes <= (uint64_t)*g->most;
}

enum { GATES = 2 };

static void gates_of(const Compile *compile, Gate gate[GATES])
{
    gate[0] =
        (Gate){ "arena", (uint64_t)compile->program->plan.arena_size, compile->options->max_arena };
    gate[1] = (Gate){ "weights", compile->program->weight_bytes, compile->options->max_weights };
}

/* Fails with 1 where one does not hold, once all are named. */
static void require_gates(const Compile *compile)
{
    Gate gate[GATES];
    gates_of(compile, gate);
    for (const Gate *g = gate; g < gate + GATES; g++)
        if (!holds(g))
            error_at(STATUS_LIMIT, LOC_NONE, NULL,
                     "%s: %" PRIu64 " bytes are needed, %lld are allowed", g->what, g->bytes,
                     *g->most);
    fail_if_errors();
}

void cmd_compile(Compile *compile)
{
    if (!compile->options->output)
        fail_at(STATUS_USAGE, LOC_NONE, NULL, "compile needs an output folder: -o DIR");
    build(compile);
    require_gates(compile);
    compile_emit(compile);
    if (compile->options->json)
        print_json(compile);
    else
        print_stats(compile);
    output_commit(compile->out); /* last, for what fails leaves the folder as it was */
}

void cmd_analyze(Compile *compile)
{
    if (compile->options->curve && compile->options->plan && compile->options->plan < PLAN_STREAM)
        fail_at(STATUS_USAGE, LOC_NONE, NULL, "--curve needs --plan=stream, the default");
    compile->estimate = true;
    build(compile);
    if (compile->options->json) {
        print_json(compile);
        return;
    }
    const Text text = compile->options->csv ? arena_csv(compile->program)
                                            : (compile->options->html ? html_report : report_text)(
                                                  compile->program, compile_name(compile));
    pieces_put(&compile->results, text.at, text.n);
    print_stats(compile);
}

static void print_gates(Compile *compile)
{
    Gate gate[GATES];
    gates_of(compile, gate);
    for (const Gate *g = gate; g < gate + GATES; g++)
        if (g->most)
            pieces_print(&compile->results, "%-8s %12" PRIu64 " bytes of %12lld: %s\n", g->what,
                         g->bytes, *g->most, holds(g) ? "holds" : "EXCEEDED");
}

static void print_gates_json(Compile *compile)
{
    Gate gate[GATES];
    gates_of(compile, gate);
    const char *separator = "{ ";
    for (const Gate *g = gate; g < gate + GATES; g++) {
        if (!g->most)
            continue;
        pieces_print(&compile->results,
                     "%s\"%s\": { \"bytes\": %" PRIu64 ", \"most\": %lld, \"holds\": %s }",
                     separator, g->what, g->bytes, *g->most, holds(g) ? "true" : "false");
        separator = ", ";
    }
    pieces_print(&compile->results, "%s\"holds\": %s }\n", separator,
                 holds(gate) && holds(gate + 1) ? "true" : "false");
}

void cmd_check(Compile *compile)
{
    if (!compile->options->max_arena && !compile->options->max_weights)
        fail_at(STATUS_USAGE, LOC_NONE, NULL, "check needs --max-arena or --max-weights");
    build(compile);
    if (compile->options->json)
        print_gates_json(compile);
    else
        print_gates(compile);
    require_gates(compile);
}

void cmd_place(Compile *compile)
{
    const long long *capacity = compile->options->capacity;
    place_file(&compile->arena, compile->options->model, capacity ? *capacity : -1,
               pieces_sink(&compile->results));
}
