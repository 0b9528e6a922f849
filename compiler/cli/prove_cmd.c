/* SPDX-License-Identifier: Apache-2.0
 * prove: the plan of a manifest, judged against the model it was made from. */
#include <inttypes.h>
#include <string.h>

#include "base/json_memory.h"
#include "base/progress.h"
#include "base/size.h"
#include "bounds/bounds.h"
#include "cli/manifest_file.h"
#include "cli/options.h"
#include "forms/coded.h"
#include "forms/fetch.h"
#include "ir/follow.h"
#include "ops/lower_graph.h"
#include "pipeline/lengths.h"
#include "pipeline/values.h"
#include "prove/bound.h"
#include "prove/check.h"
#include "prove/impose.h"
#include "prove/reach.h"
#include "prove/schedules.h"
#include "schedule/options.h"

static const json_t *parse(Compile *compile, const char *path)
{
    json_error_t error;
    File *f = file_open(&compile->arena, path, LOAD_EAGER);
    const char *text = (const char *)f->whole;
    json_check_size(text, (size_t)f->size, path);
    const json_t *document =
        json_loadb(text, (size_t)f->size, JSON_REJECT_DUPLICATES, &error);
    file_close(f);
    if (!document)
        fail_at(STATUS_MALFORMED,
                (Loc){ .file = path, .byte = error.position, .node = -1 },
                "the manifest comes first: inlay prove NAME.json MODEL.onnx",
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
    taken->stream = claim->stream;
    taken->preprocess = claim->preprocess;
    taken->target = family_target(claim->family);
    taken->optimize = claim->winograd ? PLAN_SPEED : PLAN_RAM;
    taken->hash_model = claim->model_sha256 != NULL;
}

static const Map *kept_names(Arena *arena, const Claim *claim)
{
    Map *kept = NEW(arena, Map);
    *kept = map_new(arena);
    for (const char **name = claim->kept; name && *name; name++)
        map_put(kept, *name, kept);
    return kept;
}

static const Banks *banks_of(Arena *arena, const Claim *claim)
{
    const Banks banks = { (int32_t)claim->bank.n, claim->bank.at };
    return arena_copy(arena, &banks, sizeof banks);
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
    compile->kept = kept_names(&compile->arena, claim);
    compile->banks = banks_of(&compile->arena, claim);
    compile->recompute = claim->recompute;
    compile->recompute_chosen = true;
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

static LowerOptions lower_options(const Claim *claim, bool any_rows)
{
    return (LowerOptions){
        .family = claim->family,
        .narrow = claim->narrow,
        .for_speed = claim->winograd,
        .any_rows = any_rows,
        .window = claim->coded ? 0 : claim->window,
        .palette = {
            .values = claim->palette,
            .left = (int)claim->left.n,
            .number = claim->left.at,
        },
    };
}

/* What steps read through windows. */
static void fetch(Program *program, const Claim *claim, Loc loc)
{
    const FetchOptions options = {
        .window = claim->window,
        .resident = claim->resident,
        .whole = claim->whole,
        .coded = claim->coded,
        .room = claim->room.n ? claim->room.at : NULL,
    };
    if (claim->room.n && claim->room.n != program->step.n)
        fail_at(STATUS_MALFORMED, loc, NULL,
                "weights.stream.room is for %zu steps, the model has %zu",
                claim->room.n, program->step.n);
    if (options.coded)
        coded_choose(program);
    if (options.window || options.coded)
        fetch_steps(program, &options);
}

/* The claim's plan on the model's steps, replayed. */
static void judge_plan(Program *program, const Claim *claim, Loc loc)
{
    claim_impose(program, claim, loc.file);
    claim_reach(program, claim, loc.file);
    const Objection objection = plan_object(program);
    if (objection.why)
        fail_objection(&objection, loc);
}

/* ---- lengths that runs are given ---- */

/* The compile knows the lengths as the command line would give them. */
static void take_lengths(Compile *compile, const Claim *claim, Loc loc)
{
    Arena *arena = &compile->arena;
    VEC(const char *) dim = { 0 };
    for (const char **text = claim->dim; *text; text++) {
        char *symbol;
        const char *own = *text;
        (void)value_divide(arena, own, &symbol);
        for (size_t i = 0; i < claim->length.n; i++) {
            const ClaimLength *length = claim->length.at + i;
            if (!strcmp(length->symbol, symbol))
                own = arena_printf(arena, "%s=%" PRId32 "..%" PRId32, symbol,
                                   length->least, length->most);
        }
        VEC_PUSH(arena, &dim, own);
    }
    VEC_PUSH(arena, &dim, NULL);
    Options *bounded =
        arena_copy(arena, compile->options, sizeof *compile->options);
    bounded->dim = dim.at;
    compile->options = bounded;
    lengths_begin(compile);
    if (!compile->lengths ||
        lengths_combinations(compile->lengths) != (int64_t)claim->variant_of.n)
        fail_at(STATUS_CONFIG, loc, NULL, "its lengths are not its options'");
}

typedef struct LengthProof {
    Compile *compile;
    const Claim *claim;
    Loc loc;
    int32_t variant;
    int32_t first; /* the combination that the variant's plan is of */
    Lead *lead;
    Recompile *one; /* under way */
} LengthProof;

static Recompile *open_at(const LengthProof *proof, int32_t combination)
{
    Recompile *one = lengths_open(proof->compile, combination, STAGE_PASSES);
    const LowerOptions options = lower_options(proof->claim, true);
    one->compile.program = lower_graph(one->compile.graph, &options);
    return one;
}

/* Another combination has the steps of the variant's first, and its plan holds. */
static void prove_member(void *context)
{
    const LengthProof *proof = context;
    Program *program = proof->one->compile.program;
    OtherConstants others = { 0 };
    const char *why = follow_lead(proof->lead, program, &others);
    if (why)
        fail_at(STATUS_LIMIT, proof->loc, NULL, "%s", why);
    bounds_check_planned(program);
    const Objection objection = plan_object(program);
    if (objection.why)
        fail_objection(&objection, proof->loc);
}

static void prove_combination(LengthProof *proof, int32_t combination)
{
    Diag inner = { .out = diag_now->out };
    proof->one = open_at(proof, combination);
    const Status status = protect(&inner, prove_member, proof);
    recompile_close(proof->compile, proof->one);
    if (!status)
        return;
    note_at(proof->loc, "this is at %s",
            lengths_text(proof->compile->lengths, combination));
    fail_now(status);
}

/* What stays from run to run is where the next run, of any length, looks for it. */
static void prove_states(const LengthProof *proof, const Program *program)
{
    const Graph *first = proof->compile->program->graph;
    const Graph *graph = program->graph;
    for (size_t i = 0; i < graph->state.n; i++) {
        const Tensor *wanted = first->input.at[first->state.at[i].in];
        const Tensor *state = graph->input.at[graph->state.at[i].in];
        if (state->offset != wanted->offset ||
            tensor_bytes(state) != tensor_bytes(wanted))
            fail_at(STATUS_LIMIT, proof->loc, NULL,
                    "variants[%d] has state %zu at another place than the "
                    "first variant",
                    proof->variant - 1, i);
    }
}

static void prove_members(void *context)
{
    LengthProof *proof = context;
    const Claim *claim = proof->claim;
    Program *program =
        proof->variant ? proof->one->compile.program : proof->compile->program;
    Lead lead = lead_of(&proof->compile->arena, program);
    if (proof->variant)
        judge_plan(program, claim->variant.at[proof->variant], proof->loc);
    prove_states(proof, program);
    if (claim->variant.at[proof->variant]->size > claim->size)
        fail_at(STATUS_LIMIT, proof->loc, NULL,
                "variants[%d] has a larger arena than the model",
                proof->variant - 1);
    proof->lead = &lead;
    for (int32_t i = proof->first; i-- > 0;)
        if (claim->variant_of.at[i] == proof->variant)
            prove_combination(proof, i);
}

/* Each variant by the plan of its greatest combination; the others follow that. */
static void prove_variant(LengthProof *proof)
{
    const Claim *claim = proof->claim;
    int32_t first = (int32_t)claim->variant_of.n;
    while (first-- > 0)
        if (claim->variant_of.at[first] == proof->variant)
            break;
    if (first < 0)
        fail_at(STATUS_LIMIT, proof->loc, NULL, "variant %d has no lengths",
                proof->variant);
    if (!proof->variant && first + 1 < (int32_t)claim->variant_of.n)
        fail_at(STATUS_LIMIT, proof->loc, NULL,
                "the greatest lengths are not of the first variant");
    proof->first = first;
    if (!proof->variant) {
        prove_members(proof);
        return;
    }
    Diag inner = { .out = diag_now->out };
    Recompile *one = open_at(proof, first);
    proof->one = one;
    const Status status = protect(&inner, prove_members, proof);
    recompile_close(proof->compile, one);
    if (status)
        fail_now(status);
}

static void prove_lengths(Compile *compile, const Claim *claim, Loc loc)
{
    const Options *options = compile->options;
    LengthProof proof = { .compile = compile, .claim = claim, .loc = loc };
    take_lengths(compile, claim, loc);
    for (size_t v = 0; v < claim->variant.n; v++) {
        proof.variant = (int32_t)v;
        prove_variant(&proof);
    }
    compile->options = options;
}

void cmd_prove(Compile *compile)
{
    const char *path = compile->options->manifest;
    const Loc loc = { .file = path, .byte = -1, .node = -1 };
    const Claim *claim = read_claim(compile, path);
    const bool lengths = claim->length.n != 0;
    Options taken;
    open_model(compile, claim, &taken, loc);
    progress_doing("proving the plan");
    const LowerOptions options = lower_options(claim, lengths);
    compile->program = lower_graph(compile->graph, &options);
    fetch(compile->program, claim, loc);
    judge_plan(compile->program, claim, loc);
    const int64_t bound = plan_lower_bound(compile->program);
    judge_bound(claim, bound, loc);
    const int64_t schedules = judge_schedules(compile->program, claim, loc);
    if (lengths)
        prove_lengths(compile, claim, loc);
    if (compile->options->json) {
        print_json(compile, claim, bound, schedules);
        return;
    }
    print_verdict(compile, claim, bound);
    print_schedules(compile, claim, schedules);
    if (lengths)
        pieces_print(&compile->results,
                     "the same for each of %zu lengths or combinations of "
                     "them, in %zu variants\n",
                     claim->variant_of.n, claim->variant.n);
}
