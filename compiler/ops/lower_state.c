/* SPDX-License-Identifier: Apache-2.0
 * Steps that depend on the first one that writes the new bytes come behind all that read the old
 * ones; where one of them reads those itself, the new bytes need a place of their own. */
#include "ops/lower_state.h"

#include "rules/rules.h"

/* What depends on a step, by the ids of roots: written by it, or read or written. */
typedef struct Behind {
    bool *step;
    bool *written, *touched;
} Behind;

static Tensor *root_of(const Operand *operand)
{
    int64_t at;
    return tensor_root(operand->tensor, &at);
}

static bool touches(const Step *step, const Tensor *root, bool write)
{
    for (int k = 0; k < step->n_operand; k++) {
        const Operand *operand = step->operand + k;
        if (!operand->tensor || root_of(operand) != root)
            continue;
        if (write ? operand->write : operand->read)
            return true;
    }
    return false;
}

static bool depends(const Behind *behind, const Step *step)
{
    for (int k = 0; k < step->n_operand; k++) {
        const Operand *operand = step->operand + k;
        if (!operand->tensor || operand->tensor->value)
            continue;
        const int id = root_of(operand)->id;
        if (behind->written[id] || (operand->write && behind->touched[id]))
            return true;
    }
    return false;
}

static void note_step(const Behind *behind, const Step *step)
{
    behind->step[step->index] = true;
    for (int k = 0; k < step->n_operand; k++) {
        const Operand *operand = step->operand + k;
        if (!operand->tensor || operand->tensor->value)
            continue;
        const int id = root_of(operand)->id;
        behind->touched[id] = true;
        behind->written[id] |= operand->write;
    }
}

/* All that make the result, and what depends on them. */
static Behind find_behind(const Lower *lower, const Tensor *result)
{
    const Program *program = lower->program;
    const int ids = graph_root(lower->graph)->next_id;
    const Behind behind = {
        .step = NEW_ARRAY(lower->arena, bool, program->step.n + 1),
        .written = NEW_ARRAY(lower->arena, bool, ids + 1),
        .touched = NEW_ARRAY(lower->arena, bool, ids + 1),
    };
    for (size_t i = 0; i < program->step.n; i++) {
        const Step *step = program->step.at[i];
        if (touches(step, result, true) || depends(&behind, step))
            note_step(&behind, step);
    }
    return behind;
}

static bool is_whole(const Operand *operand, const Tensor *root)
{
    int64_t at;
    return tensor_root(operand->tensor, &at) == root && !at &&
           !operand->offset && !operand->part &&
           tensor_bytes(operand->tensor) == tensor_bytes(root);
}

/* Does the step read each element of the operand before it writes that of its result, and no other
 * behind it? */
static bool goes_along(const Step *step, const Operand *operand)
{
    const Operand *result = step->operand;
    return operand->reuse == REUSE_ELEMENTWISE &&
           operand->rows == result->rows &&
           operand->row_bytes == result->row_bytes &&
           operand->pixel == result->pixel &&
           dtype_bits(operand->tensor->dtype) ==
               dtype_bits(result->tensor->dtype) &&
           (step->units == 1 || operand->rule.kind == ROWS_SAME);
}

/* May the step write the result over the input that it reads? */
static bool goes_in_place(const Step *step, const Tensor *input,
                          const Tensor *result)
{
    if (!is_whole(step->operand, result))
        return false;
    for (int k = 1; k < step->n_operand; k++) {
        const Operand *operand = step->operand + k;
        if (!operand->tensor || operand->scratch)
            continue;
        if (root_of(operand) == result)
            return false;
        if (root_of(operand) == input &&
            (!is_whole(operand, input) || !goes_along(step, operand)))
            return false;
    }
    return true;
}

/* Can every step that reads the input come before those that make the result? */
static bool can_replace(const Lower *lower, const Behind *behind,
                        const Tensor *input, const Tensor *result)
{
    const Program *program = lower->program;
    bool made = false;
    if (result->view_of || program_jumps(program))
        return false;
    for (size_t i = 0; i < program->step.n; i++) {
        const Step *step = program->step.at[i];
        const bool first = !made && touches(step, result, true);
        made |= first;
        if (!behind->step[i] || !touches(step, input, false))
            continue;
        if (!first || !goes_in_place(step, input, result))
            return false;
    }
    return true;
}

static void append_steps(const Lower *lower, const Behind *behind,
                         bool is_behind, Step **order, size_t *n)
{
    const Program *program = lower->program;
    for (size_t i = 0; i < program->step.n; i++)
        if (behind->step[i] == is_behind)
            order[(*n)++] = program->step.at[i];
}

/* What depends on the result comes last; the order is as it was otherwise. */
static void put_behind(const Lower *lower, const Behind *behind)
{
    Program *program = lower->program;
    Step **order = NEW_ARRAY(lower->arena, Step *, program->step.n + 1);
    size_t n = 0;
    append_steps(lower, behind, false, order, &n);
    append_steps(lower, behind, true, order, &n);
    program_take_steps(program, order, n);
}

/* Does a step of those that come behind stand before one that reads the input? */
static bool is_in_order(const Lower *lower, const Behind *behind,
                        const Tensor *input)
{
    const Program *program = lower->program;
    bool made = false;
    for (size_t i = 0; i < program->step.n; i++) {
        const bool reads = touches(program->step.at[i], input, false);
        if (made && reads && !behind->step[i])
            return false;
        made |= behind->step[i];
    }
    return true;
}

static void become_state(Tensor *result, Tensor *input)
{
    result->view_of = input;
    result->view_offset = 0;
    result->storage = STORE_ARENA;
    result->state = true;
}

/* The new bytes have a place of their own until the last step. */
static void copy_at_end(Lower *lower, size_t place, Tensor *input)
{
    Graph *graph = lower->graph;
    Tensor *made = graph->output.at[place];
    Tensor *result =
        graph_add_tensor(graph, made->name, made->dtype, made->shape);
    result->slot = made->slot;
    made->slot = -1;
    made->storage = STORE_ARENA;
    become_state(result, input);
    graph->output.at[place] = result;
    lower_copy(lower, result, made);
}

/* ---- results of parts that lie one after the other ---- */

/* A part of a state, and the bytes of it that the part is. */
typedef struct Part {
    Tensor *tensor; /* owns its bytes */
    int64_t from, to;
} Part;

/* The only step that writes the result, which lays its operands one after the other; NULL: it is
 * made otherwise. */
static Step *joining_step(const Program *program, const Tensor *result)
{
    Step *found = NULL;
    for (size_t i = 0; i < program->step.n; i++) {
        Step *step = program->step.at[i];
        if (!touches(step, result, true))
            continue;
        if (found || rules_join(step).way != JOIN_BLOCKS)
            return NULL;
        found = step;
    }
    return found && is_whole(found->operand, result) ? found : NULL;
}

static Part part_of(const Step *join, int k)
{
    Part part = { .tensor = root_of(join->operand + k) };
    for (int i = 1; i < k; i++)
        part.from += tensor_bytes(join->operand[i].tensor);
    part.to = part.from + tensor_bytes(join->operand[k].tensor);
    return part;
}

/* Is the operand the whole of a tensor that may lie anywhere, and no other operand that tensor? */
static bool is_free_part(const Step *join, int k)
{
    const Operand *operand = join->operand + k;
    const Tensor *tensor = root_of(operand);
    int seen = 0;
    for (int i = 1; i < join->n_operand; i++)
        seen += root_of(join->operand + i) == tensor;
    return seen == 1 && tensor->storage == STORE_ARENA && tensor->slot < 0 &&
           !tensor->state && !tensor->value && is_whole(operand, tensor);
}

/* Does the step read old bytes of the input in that range? */
static bool reads_old(const Step *step, const Tensor *input, const Part *part)
{
    for (int k = 0; k < step->n_operand; k++) {
        const Operand *operand = step->operand + k;
        const Tensor *tensor = operand->tensor;
        int64_t at = 0;
        if (!tensor || !operand->read)
            continue;
        const int64_t bytes = tensor_bytes(tensor);
        for (; tensor->view_of && !tensor->state; tensor = tensor->view_of)
            at += tensor->view_offset;
        if (tensor == input && at < part->to && part->from < at + bytes)
            return true;
    }
    return false;
}

/* Can every step that reads old bytes of the part come before those that make it? */
static bool part_fits(const Lower *lower, const Step *join, int k,
                      const Tensor *input)
{
    const Program *program = lower->program;
    const Part part = part_of(join, k);
    if (!is_free_part(join, k))
        return false;
    const Behind behind = find_behind(lower, part.tensor);
    for (size_t i = 0; i < program->step.n; i++)
        if (behind.step[i] && reads_old(program->step.at[i], input, &part))
            return false;
    return true;
}

/* Whether old bytes are read behind the first step that writes new ones over them. */
static bool is_late(const Lower *lower, const Behind *behind,
                    const Tensor *input, const Part *part)
{
    const Program *program = lower->program;
    bool made = false;
    for (size_t i = 0; i < program->step.n; i++) {
        if (made && reads_old(program->step.at[i], input, part))
            return true;
        made |= behind->step[i];
    }
    return false;
}

/* The part lies in the state from the first. */
static void place_part(Lower *lower, const Part *part, const Tensor *input,
                       Tensor *result)
{
    const Behind behind = find_behind(lower, part->tensor);
    if (is_late(lower, &behind, input, part))
        put_behind(lower, &behind);
    part->tensor->view_of = result;
    part->tensor->view_offset = part->from;
}

static void take_out(const Lower *lower, const Step *gone)
{
    Program *program = lower->program;
    Step **rest = NEW_ARRAY(lower->arena, Step *, program->step.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < program->step.n; i++)
        if (program->step.at[i] != gone)
            rest[n++] = program->step.at[i];
    program_take_steps(program, rest, n);
}

/* Each part is made where it lies in the state; false: one of them cannot be. */
static bool make_parts(Lower *lower, Tensor *input, Tensor *result)
{
    Program *program = lower->program;
    if (result->view_of || program_jumps(program))
        return false;
    Step *join = joining_step(program, result);
    const int parts = join ? rules_join(join).inputs : 0;
    for (int k = 1; k <= parts; k++)
        if (!part_fits(lower, join, k, input))
            return false;
    if (!parts)
        return false;
    for (int k = 1; k <= parts; k++) {
        const Part part = part_of(join, k);
        place_part(lower, &part, input, result);
    }
    take_out(lower, join);
    become_state(result, input);
    return true;
}

/* ---- one after the other ---- */

static void check_alike(const Graph *graph, const Tensor *input,
                        const Tensor *result)
{
    Arena *arena = graph->arena;
    if (result->dynamic || result->words || input->words)
        fail_at(STATUS_CONFIG, LOC_NONE, NULL, "--state: \"%s\" has %s",
                result->name,
                result->dynamic ? "a size that only a run knows"
                                : "words as elements");
    if (input->dtype != result->dtype ||
        !shape_equal(&input->shape, &result->shape))
        fail_at(STATUS_CONFIG, LOC_NONE, NULL,
                "--state: result \"%s\" is %s %s, input \"%s\" is %s %s",
                result->name, dtype_name(result->dtype),
                shape_text(arena, &result->shape), input->name,
                dtype_name(input->dtype), shape_text(arena, &input->shape));
}

static void lower_one(Lower *lower, const State *state)
{
    Graph *graph = lower->graph;
    Tensor *input = graph->input.at[state->in];
    Tensor *result = graph->output.at[state->out];
    check_alike(graph, input, result);
    input->state = true;
    if (make_parts(lower, input, result))
        return;
    const Behind behind = find_behind(lower, result);
    if (!can_replace(lower, &behind, input, result)) {
        copy_at_end(lower, state->out, input);
        return;
    }
    if (!is_in_order(lower, &behind, input))
        put_behind(lower, &behind);
    become_state(result, input);
}

void lower_states(Lower *lower)
{
    for (size_t i = 0; i < lower->graph->state.n; i++)
        lower_one(lower, lower->graph->state.at + i);
}
