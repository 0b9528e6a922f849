/* SPDX-License-Identifier: Apache-2.0
 * What a step of the plan reads and writes follows from the steps that it does. */
#include "prove/joined.h"

#include <assert.h>

#include "base/size.h"
#include "prove/part.h"
#include "rules/rules.h"

/* Of two steps as one (rules.h), and of the second alone; more of that stand before scratch. */
enum { OPERANDS = 8, SECOND = 5 };

static int operands_of(const Step *second)
{
    return OPERANDS - SECOND + second->n_operand;
}

/* What the second has behind the operands that all such steps have. */
static void take_rest(Step *step, const Step *second)
{
    Operand *to = step->operand + OPERANDS - 1;
    for (int k = SECOND; k < second->n_operand; k++)
        *to++ = second->operand[k];
}

/* The table of one size, as a constant. */
static Operand table_of(Program *program, int64_t bytes)
{
    Graph *graph = program->graph;
    const int64_t one = 1;
    Recipe *value = recipe_memory(graph->store, DT_I64, 1, &one, &bytes);
    Tensor *table = graph_add_constant(graph, NULL, value);
    table->storage = STORE_WEIGHTS;
    return (Operand){
        .tensor = table,
        .read = true,
        .rows = 1,
        .pixel = 1,
        .row_bytes = (int64_t)sizeof bytes,
    };
}

/* Operand k of a concatenation becomes the only one that the step copies. */
static void take_piece(Program *program, Step *step, const Step *whole, int k)
{
    const Operand *x = whole->operand + k;
    const int64_t element = dtype_bits(x->tensor->dtype) / 8;
    const int64_t part = concat_part(whole, k);
    const int64_t bytes = part ? part * element : tensor_bytes(x->tensor);
    Operand *y = step->operand;
    step->n_operand = 3; /* result, input, the table of sizes */
    step->piece = k;
    y->part = part;
    if (!part)
        y->row_bytes = bytes;
    y->offset = i64_add(y->offset, concat_lane(whole, k));
    y->strided = element > 0;
    step->operand[1] = *x;
    step->operand[2] = table_of(program, bytes);
    step->kernel->rules->part(step->params, bytes);
}

Step *step_again(Arena *arena, Program *program, const Step *step,
                 int32_t piece)
{
    Step *again = step_copy(arena, step);
    if (piece)
        take_piece(program, again, step, piece);
    return again;
}

/* Does the operand need row u of its tensor for row u of the result, and nothing else? */
static bool reads_row_by_row(const Operand *x)
{
    const RowRule *rule = &x->rule;
    switch (rule->kind) {
    case ROWS_SAME:
        return true;
    case ROWS_ALL:
        return x->rows == 1;
    case ROWS_WINDOW:
        return rule->stride == 1 && rule->pad == 0 && rule->extent == 1;
    default:
        return false;
    }
}

/* Row u of the second is made of row u of the first, and nobody but the model's steps sees that. */
static bool row_by_row(const Step *first, const Step *second)
{
    const Operand *y = first->operand;
    const Operand *x = second->operand + 1;
    const Tensor *between = y->tensor;
    if (!between || between != x->tensor || between->view_of ||
        between->storage != STORE_ARENA || between->slot >= 0)
        return false;
    return reads_row_by_row(x) && first->units == second->units &&
           y->rows == first->units && x->rows == second->units &&
           second->operand[0].rows == second->units;
}

/* The result that the second adds to, the input of the first; constants of both; the scratch. */
static void join_operands(Step *step, const Step *first, const Step *second,
                          Tensor *scratch, int64_t pixel)
{
    const Operand *const from[] = {
        second->operand,     first->operand + 1,  first->operand + 2,
        first->operand + 3,  second->operand + 2, second->operand + 3,
        second->operand + 4,
    };
    const int last = operands_of(second) - 1;
    for (int k = 0; k < OPERANDS - 1; k++)
        step->operand[k] = *from[k];
    take_rest(step, second);
    Operand *x = step->operand + 1;
    if (x->reuse == REUSE_ELEMENTWISE) {
        x->reuse = REUSE_ROWS;
        x->pixels = (PixelRule){ .stride = 1, .extent = 1 };
    }
    x->pixels.tile = (int32_t)(tensor_bytes(scratch) / pixel);
    step->operand[last] = (Operand){
        .tensor = scratch,
        .write = true,
        .read = true,
        .scratch = true,
        .rows = 1,
        .pixel = 1,
        .row_bytes = tensor_bytes(scratch),
    };
    step->n_operand = last + 1;
}

static Tensor *new_scratch(Program *program, int64_t bytes)
{
    Tensor *scratch =
        graph_add_tensor(program->graph, NULL, DT_U8, shape_vector(bytes));
    scratch->storage = STORE_ARENA;
    scratch->slot = -1;
    return scratch;
}

/* Bytes of scratch that the claim has; 0: it is no scratch. */
static int64_t claimed_scratch(const ClaimStep *claim)
{
    const ClaimOperand *operand = claim->operand.at + claim->operand.n - 1;
    return operand->given && !operand->constant ? operand->row : 0;
}

/* What both are as one, their operands apart. */
static Step *join_steps(Arena *arena, const Step *first, const Step *second,
                        const PairRule *pair, int32_t pixels)
{
    Step *step = arena_copy(arena, second, sizeof *second);
    const int32_t numbers[] = { first->lowered[0], second->lowered[0] };
    Chunk chunk;
    const char *suffix = pair_suffix(pair, second);
    step->kernel = kernel_find(arena_printf(arena, "%s%s", pair->both, suffix));
    step->params = arena_alloc(arena, step->kernel->params_size);
    pair->join(first, second, step->params);
    const bool chunked = rules_chunk(step, step->params, &chunk);
    assert(chunked); /* so all kernels of pairs go */
    *chunk.pixels = pixels;
    step->lowered = arena_copy(arena, numbers, sizeof numbers);
    step->n_lowered = 2;
    step->room = operands_of(second);
    step->operand = NEW_ARRAY(arena, Operand, step->room);
    return step;
}

Step *step_joined(Arena *arena, Program *program, Step *const *lowered,
                  const ClaimStep *claim, const char **why)
{
    const Step *first = lowered[claim->lowered.at[0]];
    const Step *second = lowered[claim->lowered.at[1]];
    const PairRule *pair =
        claim->lowered.n == 2 ? rules_pair(first, second) : NULL;
    *why = "does steps that cannot be one";
    if (!pair || !row_by_row(first, second))
        return NULL;
    *why = "does not have the operands of the two steps";
    if (claim->operand.n != (size_t)operands_of(second))
        return NULL;
    const Operand *between = first->operand;
    const int64_t pixel =
        i64_max(1, between->pixel * dtype_bits(between->tensor->dtype) / 8);
    const int64_t bytes = claimed_scratch(claim);
    *why = "has a scratch that holds no whole pixels";
    if (!bytes || bytes % pixel || bytes > INT32_MAX)
        return NULL;
    Step *step =
        join_steps(arena, first, second, pair, (int32_t)(bytes / pixel));
    join_operands(step, first, second, new_scratch(program, bytes), pixel);
    *why = NULL;
    return step;
}
