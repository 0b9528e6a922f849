/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/follow.h"

#include <string.h>

/* Bytes of a constant that are compared with those of another. */
static const int64_t MOST_COMPARED = INT64_C(4) << 20;

typedef struct Follow {
    Lead *lead;
    Program *program;
    OtherConstants *others;
    Tensor **image;  /* by the lead's tensor: the follower's; NULL: not met */
    Tensor **origin; /* the other way */
    const char *why; /* it does not follow */
} Follow;

Lead lead_of(Arena *arena, Program *program)
{
    const int ids = graph_root(program->graph)->next_id;
    return (Lead){
        .program = program,
        .arena = arena,
        .key = NEW_ARRAY(arena, const char *, ids + 1),
    };
}

static bool refuse(Follow *follow, const char *why)
{
    if (!follow->why)
        follow->why = why;
    return false;
}

/* ---- constants ---- */

static const char *key_of(Arena *arena, const Program *program,
                          const Tensor *tensor)
{
    char *key = arena_alloc(arena, 65);
    recipe_key(program->graph->store, tensor->value, KEY_ORIGIN, key);
    return key;
}

static bool same_origin(const Follow *follow, const Tensor *lead,
                        const Tensor *tensor)
{
    const char **key = follow->lead->key + lead->id;
    if (recipe_bytes(lead->value) != recipe_bytes(tensor->value))
        return false;
    if (!*key)
        *key = key_of(follow->lead->arena, follow->lead->program, lead);
    Arena *arena = follow->program->graph->arena;
    return !strcmp(*key, key_of(arena, follow->program, tensor));
}

bool constant_begins(Store *first_store, const Recipe *first, Store *store,
                     const Recipe *recipe)
{
    const int64_t bytes = recipe_bytes(recipe);
    if (bytes > recipe_bytes(first) || recipe_bytes(first) > MOST_COMPARED)
        return false;
    Arena *arena = &store->scratch;
    const ArenaMark mark = arena_mark(arena);
    const void *value = recipe_values(store, arena, recipe);
    const void *of_first = recipe_values(first_store, arena, first);
    const bool alike = !bytes || !memcmp(value, of_first, (size_t)bytes);
    arena_release(arena, mark);
    return alike;
}

/* Is it what the lead's constant begins with? */
static bool begins_alike(const Follow *follow, const Tensor *lead,
                         const Tensor *tensor)
{
    return constant_begins(follow->lead->program->graph->store, lead->value,
                           follow->program->graph->store, tensor->value);
}

static bool follow_constant(Follow *follow, const Tensor *lead, Tensor *tensor,
                            OtherConstant place)
{
    if (lead->dtype != tensor->dtype)
        return refuse(follow, "a constant has another type");
    if (same_origin(follow, lead, tensor) || begins_alike(follow, lead, tensor))
        return true;
    if (recipe_bytes(tensor->value) > MOST_COMPARED)
        return refuse(follow, "a large constant has other values");
    place.tensor = tensor;
    VEC_PUSH(follow->lead->arena, follow->others, place);
    return true;
}

/* ---- tensors and steps ---- */

static bool follow_tensor(Follow *follow, Tensor *lead, Tensor *tensor)
{
    Tensor **image = follow->image + lead->id;
    Tensor **origin = follow->origin + tensor->id;
    if (!*image && !*origin) {
        *image = tensor;
        *origin = lead;
    }
    if (*image != tensor || *origin != lead)
        return refuse(follow, "its steps read each other's results otherwise");
    if (lead->storage != tensor->storage || lead->slot != tensor->slot ||
        lead->dtype != tensor->dtype)
        return refuse(follow, "a result lies elsewhere");
    tensor->offset = lead->offset;
    tensor->region = lead->region;
    tensor->placed = lead->placed;
    return true;
}

static bool same_use(const Operand *lead, const Operand *operand)
{
    return lead->write == operand->write && lead->read == operand->read &&
           lead->scratch == operand->scratch && !lead->ring && !lead->copied &&
           !lead->tensor == !operand->tensor;
}

static bool follow_operand(Follow *follow, const Step *step, Operand *operand,
                           const Operand *lead)
{
    int64_t at;
    if (!same_use(lead, operand))
        return refuse(follow, "a step has other operands");
    if (!lead->tensor)
        return true;
    Tensor *of_lead = tensor_root(lead->tensor, &at);
    Tensor *root = tensor_root(operand->tensor, &at);
    const OtherConstant place = {
        .step = step->index,
        .operand = (int32_t)(operand - step->operand),
    };
    if (of_lead->storage != STORE_WEIGHTS)
        return follow_tensor(follow, of_lead, root);
    if (root->storage != STORE_WEIGHTS)
        return refuse(follow, "a constant is none");
    return follow_constant(follow, of_lead, root, place);
}

static bool follow_step(Follow *follow, Step *step, const Step *lead)
{
    step->index = lead->index;
    step->backward = lead->backward;
    if (step->kernel != lead->kernel || step->n_operand != lead->n_operand ||
        step->n_out != lead->n_out || step->control != lead->control ||
        step->loop_end != lead->loop_end)
        return refuse(follow, "it has other steps");
    for (int k = 0; k < step->n_operand; k++)
        if (!follow_operand(follow, step, step->operand + k, lead->operand + k))
            return false;
    return true;
}

static bool follow_steps(Follow *follow)
{
    const Program *lead = follow->lead->program;
    Program *program = follow->program;
    const size_t n = lead->step.n;
    if (program->step.n != n || program->lowered != lead->lowered)
        return refuse(follow, "it has another number of steps");
    Step **lowered = NEW_ARRAY(program->graph->arena, Step *, n + 1);
    Step **step = NEW_ARRAY(program->graph->arena, Step *, n + 1);
    for (size_t i = 0; i < n; i++)
        lowered[program->step.at[i]->lowered[0]] = program->step.at[i];
    for (size_t i = 0; i < n; i++) {
        step[i] = lowered[lead->step.at[i]->lowered[0]];
        if (!follow_step(follow, step[i], lead->step.at[i]))
            return false;
    }
    program_take_steps(program, step, n);
    return true;
}

/* Inputs and results that no step touches have no image yet. */
static bool follow_values(Follow *follow)
{
    const Graph *lead = follow->lead->program->graph;
    const Graph *graph = follow->program->graph;
    if (lead->input.n != graph->input.n || lead->output.n != graph->output.n)
        return refuse(follow, "it has other inputs or results");
    for (size_t i = 0; i < lead->input.n; i++)
        if (lead->input.at[i]->dtype != graph->input.at[i]->dtype)
            return refuse(follow, "an input has another type");
    for (size_t i = 0; i < graph_results(lead); i++)
        if (lead->output.at[i]->dtype != graph->output.at[i]->dtype ||
            lead->output.at[i]->shape.rank != graph->output.at[i]->shape.rank ||
            !lead->output.at[i]->dynamic != !graph->output.at[i]->dynamic)
            return refuse(follow, "a result has another type");
    return true;
}

/* The plan of the lead; what reports draw of it is not the follower's. */
static void take_plan(Program *program, const Plan *lead)
{
    program->plan = (Plan){
        .arena_size = lead->arena_size,
        .arena_align = lead->arena_align,
        .lower_bound = lead->lower_bound,
        .optimal = lead->optimal,
    };
}

/* States lie where they do in the lead, whatever the lengths. */
static bool follow_states(Follow *follow)
{
    const Graph *lead = follow->lead->program->graph;
    const Graph *graph = follow->program->graph;
    for (size_t i = 0; i < graph->state.n; i++) {
        const Tensor *of_lead = lead->input.at[lead->state.at[i].in];
        Tensor *state = graph->input.at[graph->state.at[i].in];
        if (tensor_bytes(of_lead) != tensor_bytes(state))
            return refuse(follow, "a state has another size");
        state->offset = of_lead->offset;
    }
    program_place_states(follow->program);
    return true;
}

const char *follow_lead(Lead *lead, Program *program, OtherConstants *others)
{
    Arena *arena = program->graph->arena;
    const int of_lead = graph_root(lead->program->graph)->next_id;
    const int ids = graph_root(program->graph)->next_id;
    Follow follow = {
        .lead = lead,
        .program = program,
        .others = others,
        .image = NEW_ARRAY(arena, Tensor *, of_lead + 1),
        .origin = NEW_ARRAY(arena, Tensor *, ids + 1),
    };
    if (!follow_values(&follow) || !follow_steps(&follow) ||
        !follow_states(&follow))
        return follow.why;
    take_plan(program, &lead->program->plan);
    program_link(program);
    return NULL;
}
