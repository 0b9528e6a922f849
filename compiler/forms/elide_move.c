/* SPDX-License-Identifier: Apache-2.0
 * A tensor's operands are found by a list of the steps that touch it, not by a walk over all. */
#include "forms/elide_move.h"

#include <stdlib.h>

Tensor *operand_root(const Operand *operand, int64_t *at)
{
    return tensor_root(operand->tensor, at);
}

bool root_may_move(const Tensor *root)
{
    return root->storage == STORE_ARENA && root->slot < 0;
}

bool operand_is_state(const Operand *operand)
{
    int64_t at;
    return operand_root(operand, &at)->state;
}

Step *elider_copy_step(Arena *arena, const Step *s)
{
    Step *c = arena_copy(arena, s, sizeof *s);
    c->operand = arena_copy(arena, s->operand,
                            (size_t)s->n_operand * sizeof *s->operand);
    c->room = s->n_operand;
    return c;
}

bool elider_is_plain(const Elider *elider, const Operand *operand)
{
    int64_t at;
    const Tensor *root = operand_root(operand, &at);
    const Sight *g = elider->sight + root->id;
    return root_may_move(root) && g->seen && !g->differs && !operand->part &&
           !at && !operand->offset && g->pixel == operand->pixel;
}

static void place_view(Tensor *view, Tensor *of, int64_t offset)
{
    view->view_of = of;
    view->view_offset = offset;
    view->storage = of->storage;
}

Tensor *elider_view(Elider *elider, const Tensor *like, Tensor *of,
                    int64_t offset)
{
    Tensor *view = graph_add_tensor(elider->program->graph, NULL, like->dtype,
                                    like->shape);
    view->name = like->name;
    place_view(view, of, offset);
    return view;
}

/* A view that was made for this operand moves itself: concatenations of concatenations move it many
 * times. */
static void move_view(Elider *elider, Operand *operand, const Home *home,
                      int64_t offset)
{
    Tensor *view = operand->tensor;
    if (view->id < elider->ids)
        operand->tensor = elider_view(elider, view, home->y.tensor, offset);
    else
        place_view(view, home->y.tensor, offset);
}

static void move_operand(Elider *elider, Operand *operand, const Tensor *x,
                         const Home *home)
{
    int64_t at;
    if (!operand->tensor || operand_root(operand, &at) != x ||
        !(operand->write ? home->writes : home->reads))
        return;
    if (home->block) {
        move_view(elider, operand, home, home->offset + at);
        return;
    }
    if (!operand->part)
        operand->part = home->part;
    operand->tensor = home->y.tensor;
    operand->offset += home->offset;
    operand->pixel = home->y.pixel;
    operand->row_bytes = home->y.row_bytes;
}

static int by_number(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a;
    const int32_t y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

/* Of a tensor; -1: none. */
static int32_t first_use(const Elider *elider, const Tensor *x)
{
    if (x->id >= elider->ids)
        return -1;
    return elider->first[x->id];
}

int32_t *elider_uses(const Elider *elider, const Tensor *x, int32_t *n)
{
    const StepUse *use = elider->use.at;
    const int32_t first = first_use(elider, x);
    int32_t listed = 0;
    int32_t kept = 0;
    for (int32_t k = first; k >= 0; k = use[k].next)
        listed++;
    int32_t *step = NEW_ARRAY(elider->arena, int32_t, listed + 1);
    listed = 0;
    for (int32_t k = first; k >= 0; k = use[k].next)
        step[listed++] = use[k].step;
    if (listed)
        qsort(step, (size_t)listed, sizeof *step, by_number);
    for (int32_t i = 0; i < listed; i++)
        if (!kept || step[kept - 1] != step[i])
            step[kept++] = step[i];
    *n = kept;
    return step;
}

Step *elider_step(const Elider *elider, int32_t step)
{
    const size_t i = (size_t)step;
    return i < elider->step.n ? elider->step.at[i]
                              : elider->late.at[i - elider->step.n].step;
}

void elider_note_use(Elider *elider, const Operand *operand, size_t step)
{
    const int32_t number = (int32_t)step;
    int64_t at;
    if (!operand->tensor)
        return;
    const Tensor *root = operand_root(operand, &at);
    if (root->id >= elider->ids)
        return;
    int32_t *first = elider->first + root->id;
    if (*first >= 0 && elider->use.at[*first].step == number)
        return;
    const StepUse use = { .step = number, .next = *first };
    VEC_PUSH(elider->arena, &elider->use, use);
    *first = (int32_t)elider->use.n - 1;
}

void elider_move(Elider *elider, const Tensor *x, const Home *home)
{
    int32_t n;
    const int32_t *step = elider_uses(elider, x, &n);
    for (int32_t i = 0; i < n; i++) {
        Step *s = elider_step(elider, step[i]);
        for (int k = 0; s && k < s->n_operand; k++)
            move_operand(elider, s->operand + k, x, home);
        if (s)
            elider_note_use(elider, &home->y, (size_t)step[i]);
        elider->work -= s ? s->n_operand : 1;
    }
}

void elider_add_late(Elider *elider, Step *s, size_t after)
{
    VEC_PUSH(elider->arena, &elider->late, ((Late){ s, after }));
    for (int k = 0; k < s->n_operand; k++)
        elider_note_use(elider, s->operand + k,
                        elider->step.n + elider->late.n - 1);
}
