/* SPDX-License-Identifier: Apache-2.0
 * Combinations of lengths that one program serves, a variant, and what the variants share. */
#include "pipeline/lengths.h"

#include <inttypes.h>
#include <string.h>

#include "base/size.h"
#include "bounds/bounds.h"
#include "emit/weights.h"
#include "ir/follow.h"
#include "pipeline/lengths_states.h"
#include "pipeline/values.h"
#include "prove/check.h"

/* Bytes of constants that are others for each combination. */
static const int64_t MOST_OWN = INT64_C(8) << 20;

/* A combination being followed. */
typedef struct Pursuit {
    Compile *compile;
    VEC(Lead) lead; /* of each variant */
    /* a plan that is right for the first of a variant was not for another */
    bool objected;
} Pursuit;

static void add_variant(Pursuit *pursuit, Program *program, int32_t combination)
{
    Lengths *lengths = pursuit->compile->lengths;
    lengths_place_states(lengths, program, combination);
    Arena *arena = lengths->arena;
    Variant *variant = NEW(arena, Variant);
    variant->program = program;
    program->lengths = lengths;
    program_link(program);
    VEC_PUSH(arena, &lengths->variant, variant);
    VEC_PUSH(arena, &pursuit->lead, lead_of(arena, program));
}

static void plan_lead(void *context)
{
    Compile *compile = context;
    compile->call->to(compile, STAGE_CHECK);
}

/* The model for a combination as the first of a variant: read into the compile itself, whose
 * constants it shares. */
static Program *new_lead(Compile *compile, int32_t combination)
{
    const Options *options = compile->options;
    const Compile before = *compile;
    Diag quiet = { .out = diag_now->out, .quiet = true };
    compile->options = lengths_with_dims(
        &compile->arena, options,
        lengths_dims_at(&compile->arena, compile, combination));
    compile->next = STAGE_READ;
    compile->lengths = NULL;
    compile->apart = true;
    const Status status = protect(&quiet, plan_lead, compile);
    Program *program = compile->program;
    compile->options = options;
    compile->next = before.next;
    compile->lengths = before.lengths;
    compile->apart = false;
    compile->graph = before.graph;
    compile->whole = before.whole;
    compile->shape = before.shape;
    compile->program = before.program;
    if (status)
        fail_now(status);
    return program;
}

/* The constant that the operand has in the first member. */
static Tensor *first_constant(const Variant *variant, OtherConstant place)
{
    const Step *step = variant->program->step.at[place.step];
    int64_t at;
    return tensor_root(step->operand[place.operand].tensor, &at);
}

static OwnConstant *own_constant(Lengths *lengths, Variant *variant,
                                 OtherConstant place)
{
    for (size_t i = 0; i < variant->own.n; i++) {
        OwnConstant *own = variant->own.at + i;
        if (own->step == place.step && own->operand == place.operand)
            return own;
    }
    const OwnConstant made = { .step = place.step, .operand = place.operand };
    VEC_PUSH(lengths->arena, &variant->own, made);
    OwnConstant *own = variant->own.at + variant->own.n - 1;
    for (size_t i = 0; i < variant->member.n; i++)
        VEC_PUSH(lengths->arena, &own->tensor, first_constant(variant, place));
    return own;
}

/* The follower's constant as one of the first member's graph. */
static Tensor *copy_constant(const Variant *variant, const Program *program,
                             const Tensor *tensor)
{
    Graph *graph = variant->program->graph;
    const void *values = recipe_values(program->graph->store,
                                       program->graph->arena, tensor->value);
    const Recipe *recipe = tensor->value;
    Tensor *copy = graph_add_tensor(graph, NULL, tensor->dtype, tensor->shape);
    copy->value =
        recipe_memory(graph->store, recipe_dtype(recipe), recipe_rank(recipe),
                      recipe_dims(recipe), values);
    copy->storage = STORE_WEIGHTS;
    return copy;
}

static void keep_constants(Lengths *lengths, Variant *variant,
                           const Program *program, const OtherConstants *others)
{
    const size_t place = variant->member.n - 1;
    for (size_t i = 0; i < variant->own.n; i++) {
        OwnConstant *own = variant->own.at + i;
        const OtherConstant at = { .step = own->step, .operand = own->operand };
        VEC_PUSH(lengths->arena, &own->tensor, first_constant(variant, at));
    }
    for (size_t i = 0; i < others->n; i++) {
        const OtherConstant *other = others->at + i;
        OwnConstant *own = own_constant(lengths, variant, *other);
        own->tensor.at[place] = copy_constant(variant, program, other->tensor);
    }
}

/* The program becomes a member of the variant. */
static void keep(Lengths *lengths, Variant *variant, int32_t combination,
                 const Program *program, const OtherConstants *others)
{
    VEC_PUSH(lengths->arena, &variant->member, combination);
    VEC_PUSH(lengths->arena, &variant->numbers,
             numbers_listed(lengths->arena, program));
    keep_constants(lengths, variant, program, others);
}

/* Of the variants the one that it can follow, the newest first; false: of none. */
static bool follow_any(Pursuit *pursuit, int32_t combination, Recompile *one)
{
    Lengths *lengths = pursuit->compile->lengths;
    Program *program = one->compile.program;
    for (size_t v = lengths->variant.n; v-- > 0;) {
        OtherConstants others = { 0 };
        if (follow_lead(pursuit->lead.at + v, program, &others))
            continue;
        if (plan_object(program).why) {
            pursuit->objected = true;
            continue;
        }
        bounds_check_planned(program);
        keep(lengths, lengths->variant.at[v], combination, program, &others);
        return true;
    }
    return false;
}

static void begin_variant(Pursuit *pursuit, int32_t combination)
{
    Compile *compile = pursuit->compile;
    Lengths *lengths = compile->lengths;
    const OtherConstants none = { 0 };
    if (lengths->variant.n == MOST_VARIANTS)
        fail_at(
            STATUS_UNSUPPORTED,
            (Loc){ .file = compile->options->model, .byte = -1, .node = -1 },
            "take narrower bounds, or one length: --dim T=64",
            "the steps of the model change with its lengths more than %d "
            "times, at last at %s",
            MOST_VARIANTS, lengths_text(lengths, combination));
    add_variant(pursuit, new_lead(compile, combination), combination);
    Variant *variant = lengths->variant.at[lengths->variant.n - 1];
    keep(lengths, variant, combination, variant->program, &none);
}

static void follow_one(void *context, Pursuit *pursuit, int32_t combination)
{
    Recompile *one = context;
    const bool follows = follow_any(pursuit, combination, one);
    recompile_close(pursuit->compile, one);
    if (!follows)
        begin_variant(pursuit, combination);
}

/* false: the plan was not right for all members of a variant, or none of this kind is. */
static bool follow_all(Compile *compile)
{
    Lengths *lengths = compile->lengths;
    Pursuit pursuit = { .compile = compile };
    const OtherConstants none = { 0 };
    int32_t combination = (int32_t)lengths_combinations(lengths) - 1;
    lengths->variant.n = 0;
    add_variant(&pursuit, compile->program, combination);
    keep(lengths, lengths->variant.at[0], combination, compile->program, &none);
    while (combination-- > 0 && !pursuit.objected) {
        Recompile *one = lengths_open(compile, combination, STAGE_LOWER);
        follow_one(one, &pursuit, combination);
    }
    return !pursuit.objected;
}

/* ---- all of them ---- */

static int64_t own_bytes(const Lengths *lengths)
{
    int64_t bytes = 0;
    for (size_t v = 0; v < lengths->variant.n; v++) {
        const Variant *variant = lengths->variant.at[v];
        for (size_t i = 0; i < variant->own.n; i++)
            for (size_t k = 0; k < variant->own.at[i].tensor.n; k++)
                bytes += tensor_bytes(variant->own.at[i].tensor.at[k]);
    }
    return bytes;
}

static void add_constants(const Lengths *lengths, const Variant *variant,
                          Program *all)
{
    const Program *program = variant->program;
    for (size_t i = 0; i < program->weight.n; i++)
        VEC_PUSH(lengths->arena, &all->weight, program->weight.at[i]);
}

static void add_own_constants(const Lengths *lengths, const Variant *variant,
                              Program *all)
{
    for (size_t i = 0; i < variant->own.n; i++)
        for (size_t k = 0; k < variant->own.at[i].tensor.n; k++) {
            const WeightSlot slot = {
                .tensor = variant->own.at[i].tensor.at[k],
            };
            VEC_PUSH(lengths->arena, &all->weight, slot);
        }
}

/* The steps and constants of all variants. */
static void join(Lengths *lengths)
{
    Arena *arena = lengths->arena;
    const Program *first = lengths->variant.at[0]->program;
    Program *all = arena_copy(arena, first, sizeof *first);
    memset(&all->step, 0, sizeof all->step);
    memset(&all->weight, 0, sizeof all->weight);
    for (size_t v = 0; v < lengths->variant.n; v++) {
        const Program *program = lengths->variant.at[v]->program;
        for (size_t i = 0; i < program->step.n; i++)
            VEC_PUSH(arena, &all->step, program->step.at[i]);
        add_constants(lengths, lengths->variant.at[v], all);
    }
    for (size_t v = 0; v < lengths->variant.n; v++)
        add_own_constants(lengths, lengths->variant.at[v], all);
    lengths->all = all;
}

/* One arena holds each variant. */
static void share_arena(const Lengths *lengths)
{
    int64_t size = 0;
    for (size_t v = 0; v < lengths->variant.n; v++)
        size = i64_max(size, lengths->variant.at[v]->program->plan.arena_size);
    for (size_t v = 0; v < lengths->variant.n; v++) {
        Plan *plan = &lengths->variant.at[v]->program->plan;
        plan->arena_size = size;
        plan->optimal = size == plan->lower_bound;
    }
}

void lengths_follow(Compile *compile)
{
    Lengths *lengths = compile->lengths;
    if (!lengths)
        return;
    if (!follow_all(compile)) {
        /* Results lie over their inputs as the largest sizes allow; apart they are right for
         * all. */
        const int32_t last = (int32_t)lengths_combinations(lengths) - 1;
        compile->each_apart = true;
        compile->program = new_lead(compile, last);
        compile->graph = compile->program->graph;
        if (!follow_all(compile))
            fail_at(STATUS_UNSUPPORTED, LOC_NONE, "give one length: --dim T=64",
                    "no plan of the arena holds for all lengths");
    }
    if (own_bytes(lengths) > MOST_OWN)
        fail_at(STATUS_UNSUPPORTED, LOC_NONE,
                "take narrower bounds, or one length: --dim T=64",
                "constants that are others for each length take %" PRId64
                " bytes in all, more than %" PRId64,
                own_bytes(lengths), MOST_OWN);
    share_arena(lengths);
    join(lengths);
}

const char **const *lengths_dims(Compile *compile)
{
    Arena *arena = &compile->arena;
    const Lengths *lengths = compile->lengths;
    const char ***dim = NEW_ARRAY(arena, const char **, lengths->variant.n);
    for (size_t v = 0; v < lengths->variant.n; v++)
        dim[v] = lengths_dims_at(arena, compile,
                                 lengths->variant.at[v]->member.at[0]);
    return dim;
}

/* Each program has the places of its constants. */
static void hand_back(const Lengths *lengths)
{
    const WeightSlot *slot = lengths->all->weight.at;
    for (size_t v = 0; v < lengths->variant.n; v++) {
        Program *program = lengths->variant.at[v]->program;
        for (size_t i = 0; i < program->weight.n; i++)
            program->weight.at[i] = *slot++;
        program->weight_bytes = lengths->all->weight_bytes;
        program->weights_alike = lengths->all->weights_alike;
        program_link(program);
    }
}

void lengths_layout(Compile *compile)
{
    Lengths *lengths = compile->lengths;
    weights_layout(lengths->all,
                   compile->estimate ? WEIGHTS_LITTLE : UINT64_MAX);
    hand_back(lengths);
    lengths_settle(lengths);
    if (lengths->column.n > UINT16_MAX)
        fail_at(STATUS_UNSUPPORTED, LOC_NONE,
                "take narrower bounds, or one length: --dim T=64",
                "%zu numbers follow the lengths, more than %d",
                lengths->column.n, UINT16_MAX);
}
