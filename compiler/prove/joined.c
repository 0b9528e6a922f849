/* SPDX-License-Identifier: Apache-2.0 */
#include "prove/joined.h"

#include "base/size.h"
#include "prove/part.h"

Step *step_again(Arena *a, const Step *s, int32_t piece)
{
    Step *c = arena_copy(a, s, sizeof *s);
    c->operand = arena_copy(a, s->operand, (size_t)s->n_operand * sizeof *s->operand);
    c->room = (size_t)s->n_operand;
    if (!piece) return c;
    const Operand *x = s->operand + piece;
    const int64_t bytes = dtype_bits(x->tensor->dtype) / 8;
    c->n_operand = 3;           /* result, input, the table of sizes */
    c->piece = piece;
    c->operand[0].part = x->tensor->shape.dim[x->tensor->shape.rank - 1];
    c->operand[0].offset = i64_add(c->operand[0].offset, concat_lane(s, piece));
    c->operand[0].strided = bytes > 0;
    c->operand[1] = *x;
    c->operand[2] = s->operand[s->n_operand - 1];
    return c;
}

/* Row u of the second is made of row u of the first, and of nothing else of it. */
static bool row_by_row(const Step *first, const Step *second)
{
    const Operand *y = first->operand, *x = second->operand + 1;
    const RowRule *r = &x->rule;
    const bool same = r->kind == ROWS_SAME || (r->kind == ROWS_WINDOW && r->stride == 1 && r->pad == 0 && r->extent == 1);
    return y->tensor && y->tensor == x->tensor && !y->tensor->view_of && y->tensor->storage == STORE_ARENA && same
        && first->units == second->units && y->rows == first->units && x->rows == second->units && second->operand[0].rows == second->units;
}

/* Depthwise, then 1x1: pixels of the tensor between them pass through a scratch. */
Step *step_joined(Arena *a, Program *p, Step *const *lowered, const ClaimStep *c, const char **why)
{
    const Step *dw = lowered[c->lowered.at[0]], *pw = lowered[c->lowered.at[1]];
    if (c->lowered.n != 2 || strcmp(dw->kernel->name, "dwconv_f32") || strcmp(pw->kernel->name, "conv_f32") || dw->operand[4].tensor || !row_by_row(dw, pw)) {
        *why = "does steps that cannot be one";
        return NULL;
    }
    if (c->operand.n != 8) {
        *why = "does not have the operands of the two steps";
        return NULL;
    }
    Step *s = arena_copy(a, pw, sizeof *pw);
    const int32_t numbers[] = { c->lowered.at[0], c->lowered.at[1] };
    s->kernel = kernel_find("dwpw_f32");
    s->lowered = arena_copy(a, numbers, sizeof numbers);
    s->n_lowered = 2;
    s->n_operand = 8;
    s->room = 8;
    s->operand = NEW_ARRAY(a, Operand, 8);
    const Operand *const from[] = { pw->operand, dw->operand + 1, dw->operand + 2, dw->operand + 3, pw->operand + 2, pw->operand + 3, pw->operand + 4 };
    for (int k = 0; k < 7; k++) s->operand[k] = *from[k];
    const ClaimOperand *scratch = c->operand.at + 7;
    const int64_t bytes = scratch->given && !scratch->constant ? scratch->row : 0, pixel = dw->operand[0].pixel * dtype_bits(dw->operand[0].tensor->dtype) / 8;
    if (!bytes || bytes % pixel) {
        *why = "has a scratch that holds no whole pixels";
        return NULL;
    }
    Tensor *t = graph_add_tensor(p->graph, NULL, DT_U8, shape_vector(bytes));
    t->storage = STORE_ARENA;
    t->slot = -1;
    s->operand[7] = (Operand){ .tensor = t, .write = true, .read = true, .scratch = true, .rows = 1, .pixel = 1, .row_bytes = bytes };
    return s;
}
