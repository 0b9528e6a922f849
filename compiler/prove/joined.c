/* SPDX-License-Identifier: Apache-2.0
 * What a step of the plan reads and writes follows from the steps that it does. */
#include "prove/joined.h"

#include "base/size.h"
#include "prove/part.h"

Step *step_again(Arena *arena, const Step *step, int32_t piece)
{
    Step *c = arena_copy(arena, step, sizeof *step);
    c->operand = arena_copy(arena, step->operand, (size_t)step->n_operand * sizeof *step->operand);
    c->room = (size_t)step->n_operand;
    if (!piece)
        return c;
    const Operand *x = step->operand + piece;
    const int64_t bytes = dtype_bits(x->tensor->dtype) / 8;
    c->n_operand = 3; /* result, input, the table of sizes */
    c->piece = piece;
    c->operand[0].part = concat_part(step, piece);
    if (!c->operand[0].part)
        c->operand[0].row_bytes = tensor_bytes(x->tensor);
    c->operand[0].offset = i64_add(c->operand[0].offset, concat_lane(step, piece));
    c->operand[0].strided = bytes > 0;
    c->operand[1] = *x;
    c->operand[2] = step->operand[step->n_operand - 1];
    return c;
}

/* Row u of the second is made of row u of the first, and of nothing else of it. */
static bool row_by_row(const Step *first, const Step *second)
{
    const Operand *y = first->operand;
    const Operand *x = second->operand + 1;
    const RowRule *r = &x->rule;
    const bool same = r->kind == ROWS_SAME || (r->kind == ROWS_ALL && x->rows == 1) ||
                      (r->kind == ROWS_WINDOW && r->stride == 1 && r->pad == 0 && r->extent == 1);
    return y->tensor && y->tensor == x->tensor && !y->tensor->view_of &&
           y->tensor->storage == STORE_ARENA && y->tensor->slot < 0 && same &&
           first->units == second->units && y->rows == first->units && x->rows == second->units &&
           second->operand[0].rows == second->units;
}

/* Two steps that are known as one: pixels of the tensor between them pass through a scratch. */
typedef struct Pair {
    const char *first, *second, *both;
} Pair;

static const Pair pairs[] = {
    { "dwconv_f32", "conv_f32", "dwpw_f32" },
    { "affine_f32", "conv_f32", "affine_conv_f32" },
    { "affine_f32", "conv_act_f32", "affine_conv_act_f32" },
};

static const Pair *pair_of(const Step *first, const Step *second)
{
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (!strcmp(pairs[i].first, first->kernel->name) &&
            !strcmp(pairs[i].second, second->kernel->name))
            return pairs + i;
    return NULL;
}

/* The result that the second adds to, the input of the first; constants of both. */
static void join_operands(Step *step, const Step *first, const Step *second, Tensor *scratch,
                          int64_t pixel)
{
    const Operand *const from[] = { second->operand,    first->operand + 1,  first->operand + 2,
                                    first->operand + 3, second->operand + 2, second->operand + 3,
                                    second->operand + 4 };
    for (int k = 0; k < 7; k++)
        step->operand[k] = *from[k];
    if (first->operand[1].reuse == REUSE_ELEMENTWISE)
        step->operand[1].reuse = REUSE_ROWS,
        step->operand[1].pixels = (PixelRule){ .stride = 1, .extent = 1 };
    step->operand[1].pixels.tile = (int32_t)(tensor_bytes(scratch) / pixel);
    step->operand[7] = (Operand){ .tensor = scratch,
                                  .write = true,
                                  .read = true,
                                  .scratch = true,
                                  .rows = 1,
                                  .pixel = 1,
                                  .row_bytes = tensor_bytes(scratch) };
    step->n_operand = 8;
}

Step *step_joined(Arena *arena, Program *program, Step *const *lowered, const ClaimStep *claim,
                  const char **why)
{
    const Step *first = lowered[claim->lowered.at[0]];
    const Step *second = lowered[claim->lowered.at[1]];
    const Pair *pair = claim->lowered.n == 2 ? pair_of(first, second) : NULL;
    if (!pair || (first->n_operand > 4 && first->operand[4].tensor) || !row_by_row(first, second)) {
        *why = "does steps that cannot be one";
        return NULL;
    }
    if (claim->operand.n != 8) {
        *why = "does not have the operands of the two steps";
        return NULL;
    }
    const ClaimOperand *claimed = claim->operand.at + 7;
    const Operand *between = first->operand;
    const int64_t bytes = claimed->given && !claimed->constant ? claimed->row : 0;
    if (!bytes || bytes % i64_max(1, between->pixel * dtype_bits(between->tensor->dtype) / 8)) {
        *why = "has a scratch that holds no whole pixels";
        return NULL;
    }
    Tensor *scratch = graph_add_tensor(program->graph, NULL, DT_U8, shape_vector(bytes));
    scratch->storage = STORE_ARENA;
    scratch->slot = -1;
    Step *step = arena_copy(arena, second, sizeof *second);
    const int32_t numbers[] = { claim->lowered.at[0], claim->lowered.at[1] };
    step->kernel = kernel_find(pair->both);
    step->lowered = arena_copy(arena, numbers, sizeof numbers);
    step->n_lowered = 2;
    step->room = 8;
    step->operand = NEW_ARRAY(arena, Operand, 8);
    join_operands(step, first, second, scratch,
                  between->pixel * dtype_bits(between->tensor->dtype) / 8);
    return step;
}
