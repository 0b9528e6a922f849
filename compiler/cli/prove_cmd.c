/* SPDX-License-Identifier: Apache-2.0
 * prove: the plan of a manifest, judged against the model it was made from. */
#include <inttypes.h>
#include <string.h>

#include "base/json_memory.h"
#include "base/progress.h"
#include "base/size.h"
#include "cli/options.h"
#include "ops/lower_graph.h"
#include "prove/bound.h"
#include "prove/check.h"
#include "prove/impose.h"
#include "prove/reach.h"
#include "prove/schedules.h"

static const json_t *parse(Compile *compile, const char *path)
{
    json_error_t error;
    File *f = file_open(&compile->arena, path, LOAD_EAGER);
    const json_t *document = json_loadb((const char *)f->whole, (size_t)f->size,
                                        JSON_REJECT_DUPLICATES, &error);
    file_close(f);
    if (!document)
        fail_at(STATUS_MALFORMED,
                (Loc){ .file = path, .byte = error.position, .node = -1 }, NULL,
                "no JSON: %s", error.text);
    return document;
}

/* The document's memory is free again once the claim is read. */
static const Claim *read_claim(Compile *compile, const char *path)
{
    const ArenaMark mark = arena_mark(json_memory());
    const Claim *claim =
        claim_read(&compile->arena, path, parse(compile, path));
    arena_release(json_memory(), mark);
    return claim;
}

/* Inputs that were constants are given again: their files are not the manifest's to name. */
static void compare_constants(const Claim *claim, const Options *given, Loc loc)
{
    size_t stated = 0;
    size_t found = 0;
    for (const char **name = claim->constant; *name; name++) {
        bool here = false;
        for (const char **o = given->constant; o && *o; o++) {
            const char *eq = strrchr(*o, '=');
            here |= eq && (size_t)(eq - *o) == strlen(*name) &&
                    !strncmp(*o, *name, strlen(*name));
        }
        if (!here)
            fail_at(STATUS_CONFIG, loc,
                    "give it as at the compile: --const INPUT=FILE.pb",
                    "input \"%s\" was made a constant", *name);
        stated++;
    }
    for (const char **o = given->constant; o && *o; o++)
        found++;
    if (found != stated)
        fail_at(STATUS_CONFIG, loc, NULL,
                "%zu inputs were made constants, %zu are given", stated, found);
}

static void read_model(void *context)
{
    Compile *compile = context;
    compile_to(compile, STAGE_PASSES);
}

static void take_options(const Claim *claim, Options *taken)
{
    taken->from = claim->from;
    taken->to = claim->to;
    taken->shape = claim->shape;
    taken->dim = claim->dim;
    taken->without = claim->without;
    taken->io = claim->io;
    taken->state = claim->state;
    taken->preprocess = claim->preprocess;
    taken->hash_model = claim->model_sha256 != NULL;
}

/* The model by the manifest's options. What does not fit the model is the manifest's fault, not the
 * command line's. */
static void open_model(Compile *compile, const Claim *claim, Options *taken,
                       Loc loc)
{
    const Options *given = compile->options;
    if ((given->shape && *given->shape) || (given->dim && *given->dim) ||
        (given->without && *given->without) || (given->io && *given->io))
        fail_at(
            STATUS_USAGE, LOC_NONE, NULL,
            "prove takes --shape, --dim, --io and --without from the manifest");
    compare_constants(claim, given, loc);
    *taken = *given;
    take_options(claim, taken);
    compile->options = taken;
    Diag inner = { .out = diag_now->out };
    const Status status = protect(&inner, read_model, compile);
    if (status == STATUS_USAGE)
        fail_at(STATUS_CONFIG, loc, NULL, "its options do not fit the model");
    if (status)
        fail_now(status);
    if (claim->model_sha256 &&
        strcmp(claim->model_sha256, compile->model_sha256))
        fail_at(STATUS_CONFIG, loc, NULL,
                "it was made from another model: the SHA-256 differs");
}

static void judge_bound(const Claim *claim, int64_t bound, Loc loc)
{
    if (claim->lower_bound > claim->size)
        fail_at(STATUS_LIMIT, loc, NULL,
                "the lower bound, %" PRId64 ", is above the arena, %" PRId64,
                claim->lower_bound, claim->size);
    if (claim->optimal != (claim->lower_bound == claim->size))
        fail_at(STATUS_LIMIT, loc, NULL,
                "the arena is called %s, its size is %" PRId64
                " and its lower bound %" PRId64,
                claim->optimal ? "optimal" : "open", claim->size,
                claim->lower_bound);
    if (bound > claim->size)
        fail_at(STATUS_INTERNAL, loc, "please report this model",
                "the plan holds in %" PRId64
                " bytes, below the bound of %" PRId64,
                claim->size, bound);
}

/* What is said of other schedules is counted anew, too. */
static int64_t judge_schedules(const Program *program, const Claim *claim,
                               Loc loc)
{
    const int64_t bound = schedules_bound(program);
    if (claim->bound_schedules > bound)
        fail_at(STATUS_LIMIT, loc, NULL,
                "no schedule is said to need less than %" PRId64
                ", but %" PRId64 " is proved",
                claim->bound_schedules, bound);
    if (bound > claim->size)
        fail_at(STATUS_INTERNAL, loc, "please report this model",
                "the plan holds in %" PRId64
                " bytes, below the bound of all schedules, %" PRId64,
                claim->size, bound);
    return bound;
}

static void print_schedules(Compile *compile, const Claim *claim, int64_t bound)
{
    if (bound == claim->size)
        pieces_print(&compile->results, "no schedule needs less: optimal\n");
    else
        pieces_print(&compile->results,
                     "no schedule needs less than %" PRId64
                     " bytes: the arena is at most %.1f %% above\n",
                     bound, plan_above(claim->size, bound));
}

static void print_verdict(Compile *compile, const Claim *claim, int64_t bound)
{
    const Program *p = compile->program;
    int64_t units = 0;
    size_t streams = 0;
    for (size_t i = 0; i < p->step.n; i++)
        units += p->step.at[i]->units;
    for (size_t i = 0; i < p->plan.segment.n; i++)
        streams += p->plan.segment.at[i].list != NULL;
    pieces_print(&compile->results,
                 "arena %" PRId64 " bytes, lower bound %" PRId64 ": ",
                 claim->size, bound);
    if (bound == claim->size)
        pieces_print(&compile->results, "placed optimally\n");
    else
        pieces_print(&compile->results,
                     "open by %" PRId64
                     " bytes; the manifest states a bound of %" PRId64 "\n",
                     claim->size - bound, claim->lower_bound);
    pieces_print(&compile->results,
                 "%zu steps, %zu streams, %" PRId64
                 " units: every byte read is the one that was written\n",
                 p->step.n, streams, units);
}

static void print_json(Compile *compile, const Claim *claim, int64_t bound,
                       int64_t schedules)
{
    pieces_print(
        &compile->results,
        "{\"arena\": %" PRId64 ", \"lower_bound\": %" PRId64
        ", \"bound_schedules\": %" PRId64 ", \"stated_bound\": %" PRId64
        ", \"optimal\": %s, \"proved\": true, \"steps\": %zu}\n",
        claim->size, bound, schedules, claim->lower_bound,
        bound == claim->size ? "true" : "false", compile->program->step.n);
}

static _Noreturn void fail_objection(const Objection *objection, Loc loc)
{
    const Step *step = objection->step;
    const Operand *operand = objection->operand;
    const int index = step ? step->index : 0;
    if (!operand)
        fail_at(STATUS_LIMIT, loc, NULL, "step %d: %s", index, objection->why);
    fail_at(
        STATUS_LIMIT, loc, NULL,
        "step %d (%s, node \"%s\"): row %d of \"%s\", at byte %" PRId64 ", %s",
        index, step->kernel->name, step->node ? step->node->name : "",
        objection->row, operand->tensor->name, objection->byte, objection->why);
}

void cmd_prove(Compile *compile)
{
    const char *path = compile->options->manifest;
    const Loc loc = { .file = path, .byte = -1, .node = -1 };
    const Claim *claim = read_claim(compile, path);
    Options taken;
    open_model(compile, claim, &taken, loc);
    progress_doing("proving the plan");
    const LowerOptions lower_options = {
        .family = claim->family,
        .narrow = claim->narrow,
        .winograd = claim->winograd,
    };
    compile->program = lower_graph(compile->graph, &lower_options);
    claim_impose(compile->program, claim, path);
    claim_reach(compile->program, claim, path);
    const Objection objection = plan_object(compile->program);
    if (objection.why)
        fail_objection(&objection, loc);
    const int64_t bound = plan_lower_bound(compile->program);
    judge_bound(claim, bound, loc);
    const int64_t schedules = judge_schedules(compile->program, claim, loc);
    if (compile->options->json) {
        print_json(compile, claim, bound, schedules);
        return;
    }
    print_verdict(compile, claim, bound);
    print_schedules(compile, claim, schedules);
}
