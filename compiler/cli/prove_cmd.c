/* SPDX-License-Identifier: Apache-2.0
 * prove: the plan of a manifest, judged against the model it was made from. */
#include <inttypes.h>
#include <string.h>

#include "base/json_memory.h"
#include "base/size.h"
#include "cli/options.h"
#include "ops/lower_graph.h"
#include "prove/bound.h"
#include "prove/check.h"
#include "prove/impose.h"
#include "prove/reach.h"

static const json_t *parse(Compile *c, const char *path)
{
    json_error_t error;
    File *f = file_open(&c->arena, path, LOAD_EAGER);
    const json_t *document =
        json_loadb((const char *)f->whole, (size_t)f->size, JSON_REJECT_DUPLICATES, &error);
    file_close(f);
    if (!document)
        fail_at(STATUS_MALFORMED, (Loc){ .file = path, .byte = error.position, .node = -1 }, NULL,
                "no JSON: %s", error.text);
    return document;
}

/* The document's memory is free again once the claim is read. */
static const Claim *read_claim(Compile *c, const char *path)
{
    const ArenaMark mark = arena_mark(json_memory());
    const Claim *claim = claim_read(&c->arena, path, parse(c, path));
    arena_release(json_memory(), mark);
    return claim;
}

/* Inputs that were constants are given again: their files are not the manifest's to name. */
static void compare_constants(const Claim *claim, const Options *given, Loc loc)
{
    size_t stated = 0, found = 0;
    for (const char **name = claim->constant; *name; name++) {
        bool here = false;
        for (const char **o = given->constant; o && *o; o++) {
            const char *eq = strrchr(*o, '=');
            here |= eq && (size_t)(eq - *o) == strlen(*name) && !strncmp(*o, *name, strlen(*name));
        }
        if (!here)
            fail_at(STATUS_CONFIG, loc, "give it as at the compile: --const INPUT=FILE.pb",
                    "input \"%s\" was made a constant", *name);
        stated++;
    }
    for (const char **o = given->constant; o && *o; o++)
        found++;
    if (found != stated)
        fail_at(STATUS_CONFIG, loc, NULL, "%zu inputs were made constants, %zu are given", stated,
                found);
}

static void read_model(void *context)
{
    Compile *c = context;
    compile_read(c);
    compile_passes(c);
}

/* The model by the manifest's options. What does not fit the model is the manifest's fault, not the
 * command line's. */
static void open_model(Compile *c, const Claim *claim, Options *taken, Loc loc)
{
    const Options *given = c->options;
    if ((given->shape && *given->shape) || (given->dim && *given->dim) ||
        (given->without && *given->without) || (given->io && *given->io))
        fail_at(STATUS_USAGE, LOC_NONE, NULL,
                "prove takes --shape, --dim, --io and --without from the manifest");
    compare_constants(claim, given, loc);
    *taken = *given;
    taken->shape = claim->shape;
    taken->dim = claim->dim;
    taken->without = claim->without;
    taken->io = claim->io;
    taken->hash_model = claim->model_sha256 != NULL;
    c->options = taken;
    Diag inner = { .out = diag_now->out };
    const Status status = protect(&inner, read_model, c);
    if (status == STATUS_USAGE)
        fail_at(STATUS_CONFIG, loc, NULL, "its options do not fit the model");
    if (status)
        fail_now(status);
    if (claim->model_sha256 && strcmp(claim->model_sha256, c->model_sha256))
        fail_at(STATUS_CONFIG, loc, NULL, "it was made from another model: the SHA-256 differs");
}

static void judge_bound(const Claim *claim, int64_t bound, Loc loc)
{
    if (claim->lower_bound > claim->size)
        fail_at(STATUS_LIMIT, loc, NULL,
                "the lower bound, %" PRId64 ", is above the arena, %" PRId64, claim->lower_bound,
                claim->size);
    if (claim->optimal != (claim->lower_bound == claim->size))
        fail_at(STATUS_LIMIT, loc, NULL,
                "the arena is called %s, its size is %" PRId64 " and its lower bound %" PRId64,
                claim->optimal ? "optimal" : "open", claim->size, claim->lower_bound);
    if (bound > claim->size)
        fail_at(STATUS_INTERNAL, loc, "please report this model",
                "the plan holds in %" PRId64 " bytes, below the bound of %" PRId64, claim->size,
                bound);
}

static void print_verdict(Compile *c, const Claim *claim, int64_t bound)
{
    const Program *p = c->program;
    int64_t units = 0;
    size_t streams = 0;
    for (size_t i = 0; i < p->step.n; i++)
        units += p->step.at[i]->units;
    for (size_t i = 0; i < p->plan.segment.n; i++)
        streams += p->plan.segment.at[i].list != NULL;
    pieces_print(&c->results, "arena %" PRId64 " bytes, lower bound %" PRId64 ": ", claim->size,
                 bound);
    if (bound == claim->size)
        pieces_print(&c->results, "optimal\n");
    else
        pieces_print(&c->results,
                     "open by %" PRId64 " bytes; the manifest states a bound of %" PRId64 "\n",
                     claim->size - bound, claim->lower_bound);
    pieces_print(&c->results,
                 "%zu steps, %zu streams, %" PRId64
                 " units: every byte read is the one that was written\n",
                 p->step.n, streams, units);
}

static void print_json(Compile *c, const Claim *claim, int64_t bound)
{
    pieces_print(&c->results,
                 "{\"arena\": %" PRId64 ", \"lower_bound\": %" PRId64 ", \"stated_bound\": %" PRId64
                 ", \"optimal\": %s, \"proved\": true, \"steps\": %zu}\n",
                 claim->size, bound, claim->lower_bound, bound == claim->size ? "true" : "false",
                 c->program->step.n);
}

void cmd_prove(Compile *c)
{
    const char *path = c->options->manifest;
    const Loc loc = { .file = path, .byte = -1, .node = -1 };
    const Claim *claim = read_claim(c, path);
    Options taken;
    open_model(c, claim, &taken, loc);
    c->program = lower_graph(c->graph, claim->pack);
    claim_impose(c->program, claim, path);
    claim_reach(c->program, claim, path);
    const Objection o = plan_object(c->program);
    if (o.why && o.operand)
        fail_at(STATUS_LIMIT, loc, NULL,
                "step %d (%s, node \"%s\"): row %d of \"%s\", at byte %" PRId64 ", %s",
                o.step->index, o.step->kernel->name, o.step->node ? o.step->node->name : "", o.row,
                o.operand->tensor->name, o.byte, o.why);
    if (o.why)
        fail_at(STATUS_LIMIT, loc, NULL, "step %d: %s", o.step ? o.step->index : 0, o.why);
    const int64_t bound = plan_lower_bound(c->program);
    judge_bound(claim, bound, loc);
    if (c->options->json)
        print_json(c, claim, bound);
    else
        print_verdict(c, claim, bound);
}
