/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/many.h"

#include <inttypes.h>
#include <string.h>

#include "base/json_memory.h"
#include "base/nearest.h"
#include "emit/build_files.h"
#include "emit/former.h"
#include "emit/group.h"
#include "pipeline/model_name.h"

static Loc loc_of(const char *file)
{
    Loc loc = LOC_NONE;
    loc.file = file;
    return loc;
}

/* ---- what does not go with several models ---- */

static _Noreturn void fail_option(const char *option)
{
    fail_at(STATUS_USAGE, LOC_NONE, "compile each model into its own folder",
            "%s goes with one model, not with several", option);
}

static void refuse_options(const Options *options)
{
    if (options->region)
        fail_option("--region");
    if (options->stats)
        fail_option("--stats");
    if (options->max_ram)
        fail_option("--max-ram");
    if (options->max_stack)
        fail_option("--max-stack");
    if (options->weights == WEIGHTS_BLOB)
        fail_option("--weights=blob");
    if (options->update)
        fail_option("--update");
    if (options->weights == WEIGHTS_STREAM)
        fail_option("--weights=stream");
    if (options->code_weights)
        fail_option("--code-weights");
    for (int kind = 0; build_kinds[kind]; kind++)
        if (options->emit >> kind & 1 && !build_files_for_many(kind))
            fail_at(STATUS_USAGE, LOC_NONE,
                    "compile each model into its own folder",
                    "--emit=%s goes with one model, not with several",
                    build_kinds[kind]);
    if (options->models > GROUP_MOST)
        fail_at(STATUS_USAGE, LOC_NONE, NULL,
                "%d models: at most %d go into one folder", options->models,
                GROUP_MOST);
}

/* ---- names ---- */

/* What goes with all models together is not asked of one. */
static Options options_of(const Options *own)
{
    Options one = *own;
    one.max_arena = NULL;
    one.max_weights = NULL;
    return one;
}

static void check_name(const Options *each, const char *const *name, int i)
{
    for (int k = 0; k < i; k++)
        if (!strcmp(name[k], name[i]))
            fail_at(STATUS_USAGE, LOC_NONE,
                    "say how a model is called behind it: MODEL.onnx --name "
                    "my_net",
                    "%s and %s are both called %s", each[k].model,
                    each[i].model, name[i]);
}

static const char *const *names_of(Arena *arena, const Options *options)
{
    const char **name = NEW_ARRAY(arena, const char *, options->models + 1);
    for (int i = 0; i < options->models; i++) {
        name[i] = name_by_options(arena, options->each + i);
        check_name(options->each, name, i);
    }
    return name;
}

/* The name of all together, before the first model or from the folder. */
static const char *name_of_all(Arena *arena, const Options *options,
                               const char *const *name)
{
    const char *all = name_by_options(arena, options);
    for (int i = 0; name[i]; i++)
        if (!strcmp(name[i], all))
            fail_at(STATUS_USAGE, LOC_NONE,
                    "give all together another with --name before the first "
                    "model",
                    "the folder and %s are both called %s",
                    options->each[i].model, all);
    return all;
}

/* ---- --concurrent ---- */

static uint64_t bit_of(Arena *arena, const char *const *name, const char *one)
{
    for (int i = 0; name[i]; i++)
        if (!strcmp(name[i], one))
            return UINT64_C(1) << i;
    fail_unknown(arena, "--concurrent: there is no model", one, name);
}

static uint64_t set_of(Arena *arena, const char *const *name, const char *text)
{
    uint64_t set = 0;
    for (const char *at = text;; at++) {
        const size_t length = strcspn(at, ",");
        set |= bit_of(arena, name, arena_text(arena, at, length));
        at += length;
        if (!*at)
            break;
    }
    if (!(set & (set - 1)))
        fail_at(STATUS_USAGE, LOC_NONE, NULL,
                "--concurrent %s: name two models at least", text);
    return set;
}

void many_begin(Compile *all)
{
    Arena *arena = &all->arena;
    const Options *options = all->options;
    refuse_options(options);
    const char *const *name = names_of(arena, options);
    Options *own = arena_copy(arena, options, sizeof *options);
    Options *each = arena_copy(arena, options->each,
                               (size_t)options->models * sizeof *each);
    Group *group = NEW(arena, Group);
    own->name = name_of_all(arena, options, name);
    own->each = each;
    *group = (Group){
        .arena = arena,
        .name = own->name,
        .use = runtime_use(arena),
        .known = known_weights(arena),
    };
    for (int i = 0; i < options->models; i++)
        each[i].name = name[i];
    for (const char **set = options->concurrent; set && *set; set++)
        VEC_PUSH(arena, &group->together, set_of(arena, name, *set));
    all->options = own;
    all->group = group;
}

/* ---- one of them ---- */

typedef struct One {
    Compile *all;
    Compile compile;
    Options options;
    Stage last;
} One;

static void run_one(void *context)
{
    One *one = context;
    compile_open(&one->compile, &one->options);
    one->compile.group = one->all->group;
    one->compile.out = one->all->out;
    compile_to(&one->compile, one->last);
}

/* The files it read are files of all: for --depfile and --cache. */
static void keep_inputs(void *context)
{
    const One *one = context;
    Compile *all = one->all;
    for (size_t i = 0; i < one->compile.store.input.n; i++) {
        const char *path = one->compile.store.input.at[i];
        VEC_PUSH(&all->arena, &all->store.input,
                 arena_text(&all->arena, path, strlen(path)));
    }
}

static void close_one(void *context)
{
    One *one = context;
    one->compile.out = NULL; /* it is that of all */
    compile_close(&one->compile);
}

static Status compile_one(Compile *all, const Options *own, Stage last)
{
    One one = {
        .all = all,
        .options = options_of(own),
        .last = last,
    };
    Diag diag = { .out = diag_now->out };
    const Status status = protect(&diag, run_one, &one);
    const Status kept = protect(&diag, keep_inputs, &one);
    protect(&diag, close_one, &one);
    json_memory_use(&all->store.scratch);
    diag_now->warnings += diag.warnings;
    return status ? status : kept;
}

/* Is it a fault of the model, so that others may have theirs? */
static bool is_of_model(Status status)
{
    return status == STATUS_MALFORMED || status == STATUS_NO_INPUT ||
           status == STATUS_UNSUPPORTED || status == STATUS_CONFIG ||
           status == STATUS_USAGE;
}

/* All of them; behind one that failed the others as far as faults of models are found. */
static void compile_each(Compile *all)
{
    const Options *options = all->options;
    Status failed = STATUS_OK;
    for (int i = 0; i < options->models; i++) {
        const Options *own = options->each + i;
        const Stage last = failed ? STAGE_LOWER : STAGE_REPORT;
        const Status status = compile_one(all, own, last);
        if (!status)
            continue;
        note_at(loc_of(own->model),
                "this model does not compile: the folder %s is not written",
                options->output);
        if (!is_of_model(status))
            fail_now(status);
        failed = failed ? failed : status;
    }
    if (failed)
        fail_now(failed);
}

/* ---- all together ---- */

static void limit(const char *what, uint64_t bytes, const long long *most)
{
    if (most && bytes > (uint64_t)*most)
        error_at(STATUS_LIMIT, LOC_NONE, NULL,
                 "%s: %" PRIu64 " bytes are needed, %lld are allowed", what,
                 bytes, *most);
}

static void limit_all(const Compile *all)
{
    const Options *options = all->options;
    limit("arena", (uint64_t)all->group->arena_size, options->max_arena);
    limit("weights", group_weights(all->group), options->max_weights);
    fail_if_errors();
}

static void write_manifest(Compile *all)
{
    const Group *group = all->group;
    json_t *files = files_list(all->out, NULL);
    Pieces pieces = { .arena = &all->arena };
    pieces.file = output_create(
        all->out, arena_printf(&all->arena, "%s.json", group->name));
    group_manifest(group, files, pieces_sink(&pieces));
    pieces_flush(&pieces);
    file_close(pieces.file);
}

static void write_all(Compile *all)
{
    Group *group = all->group;
    const Text report = group_report(group);
    group_emit(group, all->out);
    build_files_group(group, all->out, (unsigned)all->options->emit);
    output_text(all->out, arena_printf(&all->arena, "%s.txt", group->name),
                report.at, report.n);
    write_manifest(all);
    files_forget(all->out, &all->arena, group->name, build_files_name);
    for (size_t i = 0; i < group->model.n; i++)
        files_forget(all->out, &all->arena, group->model.at[i].name,
                     build_files_name);
}

void compile_many(Compile *all)
{
    all->out = output_begin(&all->arena, all->options->output);
    compile_each(all);
    group_place(all->group);
    limit_all(all);
    write_all(all);
}
