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

void compile_open(Compile *c, const Options *o)
{
    *c = (Compile){ .options = o, .clock = { .running = STAGES }, .io_before = io_count() };
    c->arena.budget = o->max_memory ? (uint64_t)*o->max_memory : 0;
    c->store = (Store){ .arena = &c->arena, .mode = (LoadMode)o->load, .window = DEFAULT_WINDOW };
    c->store.scratch.budget = o->max_memory ? (uint64_t)*o->max_memory : 0;
    progress_begin(c);
    c->arena.beside = &c->store.scratch;
    c->store.scratch.beside = &c->arena;
    c->results.arena = &c->arena;
    json_memory_use(&c->store.scratch);
}

void compile_close(Compile *c)
{
    progress_end(c);
    if (c->out)
        output_abort(c->out);
    json_memory_use(NULL);
    file_close_all(&c->arena);
    arena_free(&c->store.scratch);
    arena_free(&c->arena);
}

void compile_read(Compile *c)
{
    const ReadOptions r = { .external_dir = c->options->external_dir,
                            .no_external = c->options->no_external };
    stats_stage(c, STAGE_READ);
    c->graph = onnx_read(&c->arena, &c->store, c->options->model, &r);
    if (c->options->hash_model)
        model_hash(c, c->model_sha256);
    graph_count_uses(c->graph);
    override_inputs(c->graph, c->options);
    io_forms(c->graph, c->options);
    graph_sort(c->graph);
}

static bool left_out(const Options *o, const PassRow *p)
{
    for (const char **w = o->without; w && *w; w++)
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

void compile_passes(Compile *c)
{
    int n;
    const PassRow *p = pass_rows(&n);
    stats_stage(c, STAGE_PASSES);
    override_check(c->graph);
    for (int i = 0; i < n; i++) {
        if (!left_out(c->options, p + i))
            run_pass(c->graph, p + i);
        if (c->options->dump_after && !strcmp(c->options->dump_after, p[i].name))
            return;
    }
}

/* Most blocks of the peak that a message names. */
enum { PEAK_BLOCKS = 12 };

static void check_limit(Compile *c)
{
    const Plan *p = &c->program->plan;
    const long long *limit = c->options->arena_limit;
    if (!limit || p->arena_size <= *limit)
        return;
    const Peak peak = peak_find(c->program);
    fail_at(STATUS_LIMIT, LOC_NONE,
            arena_printf(&c->arena, "who needs it, and what would shrink it\n%s",
                         peak_text(&c->arena, &peak, PEAK_BLOCKS).at),
            "the smallest arena found is %lld bytes (lower bound %lld), the limit is %lld",
            (long long)p->arena_size, (long long)p->lower_bound, *limit);
}

/* For the planner 0 is no limit: where no byte is allowed, one that cannot be used. */
static int64_t arena_limit(const Options *o)
{
    return o->arena_limit ? i64_max(*o->arena_limit, 1) : 0;
}

/* Before a plan is sought: there are not too many rows, and no tensor is larger than an arena. */
static void check_steps(const Program *p)
{
    int64_t rows = 0;
    for (size_t i = 0; i < p->step.n; i++) {
        rows += p->step.at[i]->units;
        if (rows > LIMIT_ROWS)
            fail_at(STATUS_UNSUPPORTED, node_loc(p->step.at[i]->node), NULL,
                    "up to this node results have more than %d rows", LIMIT_ROWS);
        for (int k = 0; k < p->step.at[i]->n_operand; k++) {
            int64_t at;
            Tensor *t = p->step.at[i]->operand[k].tensor;
            const Tensor *root = t ? tensor_root(t, &at) : NULL;
            if (root && root->storage == STORE_ARENA && tensor_bytes(root) > LIMIT_ARENA)
                fail_at(STATUS_UNSUPPORTED, node_loc(p->step.at[i]->node), NULL,
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

void compile_program(Compile *c)
{
    PlanOptions plan = { .align = ARENA_ALIGN,
                         .arena_limit = arena_limit(c->options),
                         .curve = c->options->curve != 0,
                         .preserve_input = c->options->preserve_input,
                         .level = (PlanLevel)c->options->plan,
                         .goal = (PlanGoal)c->options->optimize };
    region_options(&c->arena, c->options, &plan);
    stats_stage(c, STAGE_PLAN);
    c->program = lower_graph(c->graph, PACK_WIDTH);
    check_steps(c->program);
    plan_program(c->program, &plan);
    check_limit(c);
    check_arena(&c->program->plan);
    plan_check(c->program);
    bounds_check_planned(c->program);
    weights_layout(c->program, c->estimate ? WEIGHTS_LITTLE : UINT64_MAX);
    program_link(c->program);
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

const char *compile_name(Compile *c)
{
    const char *given = c->options->name;
    if (given) {
        check_name(given);
        return given;
    }
    const char *slash = strrchr(c->options->model, '/'),
               *file = slash ? slash + 1 : c->options->model;
    char *name = arena_text(&c->arena, file, strcspn(file, "."));
    if (strlen(name) > NAME_LONGEST)
        name[NAME_LONGEST] = 0;
    for (char *s = name; *s; s++)
        *s = isalnum((unsigned char)*s) ? (char)tolower((unsigned char)*s) : '_';
    if (name_fault(name))
        name = arena_printf(&c->arena, "model_%.32s", name);
    return valid_name(name) && !name_fault(name) ? name : "model";
}

static void emit_report(Compile *c, const char *kind, Text t)
{
    output_text(c->out, arena_printf(&c->arena, "%s.%s", compile_name(c), kind), t.at, t.n);
}

ManifestFacts compile_facts(Compile *c)
{
    const Options *o = c->options;
    return (ManifestFacts){ .name = compile_name(c),
                            .model_sha256 = *c->model_sha256 ? c->model_sha256 : NULL,
                            .weights_form = "none",
                            .target = o->target,
                            .shape = o->shape,
                            .dim = o->dim,
                            .constant = o->constant,
                            .without = o->without,
                            .io = o->io,
                            .pack_width = PACK_WIDTH };
}

static void emit_manifest(Compile *c, const ManifestFacts *facts)
{
    Pieces p = { .arena = &c->arena };
    p.file = output_create(c->out, arena_printf(&c->arena, "%s.json", facts->name));
    manifest_write(c->program, facts, NULL, pieces_sink(&p));
    pieces_flush(&p);
    file_close(p.file);
}

/* The form of the weights; where they are too large for the usual ones the user is told. */
static WeightsForm take_form(Compile *c)
{
    const WeightsForm asked = (WeightsForm)c->options->weights;
    if (asked == WEIGHTS_AUTO && !weights_linkable(c->program))
        warn_at(LOC_NONE,
                "%" PRIu64 " bytes of weights cannot be linked into a program: they are in "
                "src/%s_weights.bin, for %s_run_with()",
                c->program->weight_bytes, compile_name(c), compile_name(c));
    return weights_form_taken(c->program, asked);
}

void compile_emit(Compile *c)
{
    const char *name = compile_name(c);
    const bool hash = !c->options->no_hash;
    stats_stage(c, STAGE_WRITE);
    char sha[65] = "";
    c->out = output_begin(&c->arena, c->options->output);
    const WeightsForm form = take_form(c);
    emit_source(c->program, c->out, name, form);
    weights_emit(c->program, c->out, name, form, c->options->target, hash, sha);
    progress_end(c);
    ManifestFacts facts = compile_facts(c);
    facts.weights_sha256 = hash && *sha ? sha : NULL;
    facts.weights_form = weights_forms[form];
    emit_report(c, "txt", report_text(c->program, name));
    if (c->options->csv)
        emit_report(c, "csv", arena_csv(c->program));
    if (c->options->html)
        emit_report(c, "html", html_report(c->program, name));
    facts.files = files_list(c->out);
    emit_manifest(c, &facts);
    files_forget(c->out, &c->arena, name);
}
