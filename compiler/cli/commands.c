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

static void print_json(Compile *c)
{
    const ManifestFacts facts = compile_facts(c);
    stats_stage(c, STAGES);
    manifest_write(c->program, &facts, c->options->stats ? stats_json(c) : NULL,
                   pieces_sink(&c->results));
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

static void gates_of(const Compile *c, Gate gate[GATES])
{
    gate[0] = (Gate){ "arena", (uint64_t)c->program->plan.arena_size, c->options->max_arena };
    gate[1] = (Gate){ "weights", c->program->weight_bytes, c->options->max_weights };
}

/* Fails with 1 where one does not hold, once all are named. */
static void require_gates(const Compile *c)
{
    Gate gate[GATES];
    gates_of(c, gate);
    for (const Gate *g = gate; g < gate + GATES; g++)
        if (!holds(g))
            error_at(STATUS_LIMIT, LOC_NONE, NULL,
                     "%s: %" PRIu64 " bytes are needed, %lld are allowed", g->what, g->bytes,
                     *g->most);
    fail_if_errors();
}

void cmd_compile(Compile *c)
{
    if (!c->options->output)
        fail_at(STATUS_USAGE, LOC_NONE, NULL, "compile needs an output folder: -o DIR");
    build(c);
    require_gates(c);
    compile_emit(c);
    if (c->options->json)
        print_json(c);
    else
        print_stats(c);
    output_commit(c->out); /* last, for what fails leaves the folder as it was */
}

void cmd_analyze(Compile *c)
{
    if (c->options->curve && c->options->plan && c->options->plan < PLAN_STREAM)
        fail_at(STATUS_USAGE, LOC_NONE, NULL, "--curve needs --plan=stream, the default");
    c->estimate = true;
    build(c);
    if (c->options->json) {
        print_json(c);
        return;
    }
    const Text t = c->options->csv ? arena_csv(c->program)
                                   : (c->options->html ? html_report
                                                       : report_text)(c->program, compile_name(c));
    pieces_put(&c->results, t.at, t.n);
    print_stats(c);
}

static void print_gates(Compile *c)
{
    Gate gate[GATES];
    gates_of(c, gate);
    for (const Gate *g = gate; g < gate + GATES; g++)
        if (g->most)
            pieces_print(&c->results, "%-8s %12" PRIu64 " bytes of %12lld: %s\n", g->what, g->bytes,
                         *g->most, holds(g) ? "holds" : "EXCEEDED");
}

static void print_gates_json(Compile *c)
{
    Gate gate[GATES];
    gates_of(c, gate);
    const char *separator = "{ ";
    for (const Gate *g = gate; g < gate + GATES; g++) {
        if (!g->most)
            continue;
        pieces_print(&c->results,
                     "%s\"%s\": { \"bytes\": %" PRIu64 ", \"most\": %lld, \"holds\": %s }",
                     separator, g->what, g->bytes, *g->most, holds(g) ? "true" : "false");
        separator = ", ";
    }
    pieces_print(&c->results, "%s\"holds\": %s }\n", separator,
                 holds(gate) && holds(gate + 1) ? "true" : "false");
}

void cmd_check(Compile *c)
{
    if (!c->options->max_arena && !c->options->max_weights)
        fail_at(STATUS_USAGE, LOC_NONE, NULL, "check needs --max-arena or --max-weights");
    build(c);
    if (c->options->json)
        print_gates_json(c);
    else
        print_gates(c);
    require_gates(c);
}

void cmd_place(Compile *c)
{
    const long long *capacity = c->options->capacity;
    place_file(&c->arena, c->options->model, capacity ? *capacity : -1, pieces_sink(&c->results));
}
