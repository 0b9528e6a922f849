/* SPDX-License-Identifier: Apache-2.0
 * model.onnx -> onnx/ -> Graph -> passes/ -> Graph -> ops/ lower -> Program -> plan/ -> emit/ ->
 * DIR No stage calls another; they meet here. Read this file first. */
#include "compile.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/json_memory.h"
#include "base/limits.h"
#include "bounds/bounds.h"
#include "cli/initializers.h"
#include "cli/io_forms.h"
#include "cli/overrides.h"
#include "cli/regions.h"
#include "cli/stats.h"
#include "emit/arena_csv.h"
#include "emit/former.h"
#include "emit/html.h"
#include "emit/names.h"
#include "emit/peak.h"
#include "emit/report.h"
#include "emit/source.h"
#include "ops/lower_graph.h"
#include "passes/passes.h"
#include "prove/check.h"

enum { DEFAULT_WINDOW = 3 << 20, ARENA_ALIGN = 16, PACK_WIDTH = 16 };

void compile_open(Compile *compile, const Options *o)
{
    *compile = (Compile){ .options = o, .clock = { .running = STAGES }, .io_before = io_count() };
    compile->arena.budget = o->max_memory ? (uint64_t)*o->max_memory : 0;
    compile->store =
        (Store){ .arena = &compile->arena, .mode = (LoadMode)o->load, .window = DEFAULT_WINDOW };
    compile->store.scratch.budget = o->max_memory ? (uint64_t)*o->max_memory : 0;
    progress_begin(compile);
    compile->arena.beside = &compile->store.scratch;
    compile->store.scratch.beside = &compile->arena;
    compile->results.arena = &compile->arena;
    json_memory_use(&compile->store.scratch);
}

void compile_close(Compile *compile)
{
    progress_end(compile);
    if (compile->out)
        output_abort(compile->out);
    json_memory_use(NULL);
    file_close_all(&compile->arena);
    arena_free(&compile->store.scratch);
    arena_free(&compile->arena);
}

void compile_read(Compile *compile)
{
    const ReadOptions r = { .external_dir = compile->options->external_dir,
                            .no_external = compile->options->no_external };
    stats_stage(compile, STAGE_READ);
    compile->graph = onnx_read(&compile->arena, &compile->store, compile->options->model, &r);
    if (compile->options->hash_model)
        model_hash(compile, compile->model_sha256);
    graph_count_uses(compile->graph);
    override_inputs(compile->graph, compile->options);
    io_forms(compile->graph, compile->options);
    graph_sort(compile->graph);
}

static bool left_out(const Options *options, const PassRow *p)
{
    for (const char **w = options->without; w && *w; w++)
        if (!strcmp(*w, p->name))
            return !p->required;
    return false;
}

/* Passes that look at one graph at a time run on every subgraph too, inner ones first. */
static void run_pass(Graph *root, const PassRow *p)
{
    if (p->whole) {
        p->run(root);
        return;
    }
    for (size_t k = root->all.n; k-- > 0;)
        if (!graph_gone(root->all.at[k]))
            p->run(root->all.at[k]);
}

void compile_passes(Compile *compile)
{
    int n;
    const PassRow *p = pass_rows(&n);
    stats_stage(compile, STAGE_PASSES);
    override_check(compile->graph);
    for (int i = 0; i < n; i++) {
        if (!left_out(compile->options, p + i))
            run_pass(compile->graph, p + i);
        if (compile->options->dump_after && !strcmp(compile->options->dump_after, p[i].name))
            return;
    }
}

/* Most blocks of the peak that a message names. */
enum { PEAK_BLOCKS = 12 };

static void check_limit(Compile *compile)
{
    const Plan *p = &compile->program->plan;
    const long long *limit = compile->options->arena_limit;
    if (!limit || p->arena_size <= *limit)
        return;
    const Peak peak = peak_find(compile->program);
    fail_at(STATUS_LIMIT, LOC_NONE,
            arena_printf(&compile->arena, "who needs it, and what would shrink it\n%s",
                         peak_text(&compile->arena, &peak, PEAK_BLOCKS).at),
            "the smallest arena found is %lld bytes (lower bound %lld), the limit is %lld",
            (long long)p->arena_size, (long long)p->lower_bound, *limit);
}

/* For the planner 0 is no limit: where no byte is allowed, one that cannot be used. */
static int64_t arena_limit(const Options *options)
{
    return options->arena_limit ? i64_max(*options->arena_limit, 1) : 0;
}

/* Before a plan is sought: there are not too many rows, and no tensor is larger than an arena. */
static void check_steps(const Program *program)
{
    int64_t rows = 0;
    for (size_t i = 0; i < program->step.n; i++) {
        rows += program->step.at[i]->units;
        if (rows > LIMIT_ROWS)
            fail_at(STATUS_UNSUPPORTED, node_loc(program->step.at[i]->node), NULL,
                    "up to this node results have more than %d rows", LIMIT_ROWS);
        for (int k = 0; k < program->step.at[i]->n_operand; k++) {
            int64_t at;
            Tensor *t = program->step.at[i]->operand[k].tensor;
            const Tensor *root = t ? tensor_root(t, &at) : NULL;
            if (root && root->storage == STORE_ARENA && tensor_bytes(root) > LIMIT_ARENA)
                fail_at(STATUS_UNSUPPORTED, node_loc(program->step.at[i]->node), NULL,
                        "a tensor of %lld bytes: no arena is larger than %lld",
                        (long long)tensor_bytes(root), (long long)LIMIT_ARENA);
        }
    }
}

static void check_arena(const Plan *p)
{
    if (p->arena_size > LIMIT_ARENA)
        fail_at(STATUS_UNSUPPORTED, LOC_NONE, NULL,
                "an arena of %lld bytes: none is larger than %lld", (long long)p->arena_size,
                (long long)LIMIT_ARENA);
}

void compile_program(Compile *compile)
{
    PlanOptions plan = { .align = ARENA_ALIGN,
                         .arena_limit = arena_limit(compile->options),
                         .curve = compile->options->curve != 0,
                         .preserve_input = compile->options->preserve_input,
                         .level = (PlanLevel)compile->options->plan,
                         .goal = (PlanGoal)compile->options->optimize };
    region_options(&compile->arena, compile->options, &plan);
    stats_stage(compile, STAGE_PLAN);
    compile->program = lower_graph(compile->graph, PACK_WIDTH);
    check_steps(compile->program);
    plan_program(compile->program, &plan);
    check_limit(compile);
    check_arena(&compile->program->plan);
    plan_check(compile->program);
    bounds_check_planned(compile->program);
    weights_layout(compile->program, compile->estimate ? WEIGHTS_LITTLE : UINT64_MAX);
    program_link(compile->program);
}

static bool valid_name(const char *s)
{
    if (!islower((unsigned char)*s) || strlen(s) > NAME_LONGEST)
        return false;
    for (; *s; s++)
        if (!islower((unsigned char)*s) && !isdigit((unsigned char)*s) && *s != '_')
            return false;
    return true;
}

static void check_name(const char *given)
{
    if (!valid_name(given))
        fail_at(STATUS_USAGE, LOC_NONE,
                "take lower-case letters, digits and _, a letter first, at most 40",
                "--name \"%s\" is no usable C identifier", given);
    const char *fault = name_fault(given);
    if (fault)
        fail_at(STATUS_USAGE, LOC_NONE, "take another, like my_net", "the name \"%s\" %s", given,
                fault);
}

const char *compile_name(Compile *compile)
{
    const char *given = compile->options->name;
    if (given) {
        check_name(given);
        return given;
    }
    const char *slash = strrchr(compile->options->model, '/');
    const char *file = slash ? slash + 1 : compile->options->model;
    char *name = arena_text(&compile->arena, file, strcspn(file, "."));
    if (strlen(name) > NAME_LONGEST)
        name[NAME_LONGEST] = 0;
    for (char *s = name; *s; s++)
        *s = isalnum((unsigned char)*s) ? (char)tolower((unsigned char)*s) : '_';
    if (name_fault(name))
        name = arena_printf(&compile->arena, "model_%.32s", name);
    return valid_name(name) && !name_fault(name) ? name : "model";
}

static void emit_report(Compile *compile, const char *kind, Text text)
{
    output_text(compile->out, arena_printf(&compile->arena, "%s.%s", compile_name(compile), kind),
                text.at, text.n);
}

ManifestFacts compile_facts(Compile *compile)
{
    const Options *o = compile->options;
    return (ManifestFacts){ .name = compile_name(compile),
                            .model_sha256 = *compile->model_sha256 ? compile->model_sha256 : NULL,
                            .weights_form = "none",
                            .target = o->target,
                            .shape = o->shape,
                            .dim = o->dim,
                            .constant = o->constant,
                            .without = o->without,
                            .io = o->io,
                            .pack_width = PACK_WIDTH };
}

static void emit_manifest(Compile *compile, const ManifestFacts *facts)
{
    Pieces pieces = { .arena = &compile->arena };
    pieces.file =
        output_create(compile->out, arena_printf(&compile->arena, "%s.json", facts->name));
    manifest_write(compile->program, facts, NULL, pieces_sink(&pieces));
    pieces_flush(&pieces);
    file_close(pieces.file);
}

/* The form of the weights; where they are too large for the usual ones the user is told. */
static WeightsForm take_form(Compile *compile)
{
    const WeightsForm asked = (WeightsForm)compile->options->weights;
    if (asked == WEIGHTS_AUTO && !weights_linkable(compile->program))
        warn_at(LOC_NONE,
                "%" PRIu64 " bytes of weights cannot be linked into a program: they are in "
                "src/%s_weights.bin, for %s_run_with()",
                compile->program->weight_bytes, compile_name(compile), compile_name(compile));
    return weights_form_taken(compile->program, asked);
}

void compile_emit(Compile *compile)
{
    const char *name = compile_name(compile);
    const bool hash = !compile->options->no_hash;
    stats_stage(compile, STAGE_WRITE);
    char sha[65] = "";
    compile->out = output_begin(&compile->arena, compile->options->output);
    const WeightsForm form = take_form(compile);
    emit_source(compile->program, compile->out, name, form);
    weights_emit(compile->program, compile->out, name, form, compile->options->target, hash, sha);
    progress_end(compile);
    ManifestFacts facts = compile_facts(compile);
    facts.weights_sha256 = hash && *sha ? sha : NULL;
    facts.weights_form = weights_forms[form];
    emit_report(compile, "txt", report_text(compile->program, name));
    if (compile->options->csv)
        emit_report(compile, "csv", arena_csv(compile->program));
    if (compile->options->html)
        emit_report(compile, "html", html_report(compile->program, name));
    facts.files = files_list(compile->out);
    emit_manifest(compile, &facts);
    files_forget(compile->out, &compile->arena, name);
}
