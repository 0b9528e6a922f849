/* SPDX-License-Identifier: Apache-2.0
 * The steps of a strip: those of the range, for the columns that were found. A strip of a tensor is
 * a part of its rows. */
#include <assert.h>

#include "schedule/strip.h"

typedef struct Cutter {
    Strips *strips;
    Arena *arena;
    const Program *program;
    const StripRange *range;
    int32_t number;
    Tensor **made; /* by item: its strip */
} Cutter;

static Tensor *add_tensor(const Cutter *cutter, const char *name,
                          const Tensor *like, Shape shape)
{
    Graph *graph = cutter->program->graph;
    Tensor *tensor = graph_add_tensor(graph, name, like->dtype, shape);
    tensor->storage = STORE_ARENA;
    tensor->slot = -1;
    return tensor;
}

static Tensor *strip_of(Cutter *cutter, int32_t item)
{
    if (cutter->made[item])
        return cutter->made[item];
    const Tensor *root = cutter->strips->all->item.at[item].root;
    const Columns has = cutter->strips->of_item[item];
    const char *name =
        arena_printf(cutter->arena, "%s[%d:%d]", root->name, has.lo, has.hi);
    Shape shape = root->shape;
    shape.dim[shape.rank - 2] = columns_width(has);
    cutter->made[item] = add_tensor(cutter, name, root, shape);
    return cutter->made[item];
}

/* The operand becomes columns y of an image that begins with column `origin`. */
static void take_columns(Operand *operand, Columns y, int32_t origin)
{
    const int bits = dtype_bits(operand->tensor->dtype);
    const int64_t pixel = operand->pixel * (int64_t)bits / 8;
    const int64_t columns = columns_width(y);
    if (y.lo == origin && columns * pixel == operand->row_bytes)
        return;
    operand->pitch = operand->row_bytes / pixel * operand->pixel;
    operand->offset += (y.lo - origin) * pixel;
    operand->part = columns * operand->pixel;
}

/* Within the range the operand's tensor becomes a strip, its rows as long. Returns the columns that
 * there are. */
static Columns narrow_tensor(Cutter *cutter, Operand *operand)
{
    const Items *all = cutter->strips->all;
    const Item *item = item_of(all, operand->tensor);
    const int32_t width = operand_width(operand);
    if (!item || !strip_within(cutter->range, item))
        return (Columns){ 0, width };
    const int32_t number = (int32_t)(item - all->item.at);
    const Columns has = cutter->strips->of_item[number];
    operand->row_bytes = operand->row_bytes / width * columns_width(has);
    operand->tensor = strip_of(cutter, number);
    return has;
}

static void own_scratch(const Cutter *cutter, Operand *operand)
{
    const Tensor *like = operand->tensor;
    if (like)
        operand->tensor = add_tensor(cutter, NULL, like, like->shape);
}

/* Operand k of a step, for the columns of its result; *there: of the image that the kernel finds
 * its columns in. */
static void cut_operand(Cutter *cutter, int32_t step, int k, Operand *operand,
                        Columns *there)
{
    const StripTakes takes = strip_relation(cutter->strips, step, k);
    if (takes == TAKES_ALL)
        return;
    operand->pixels = (PixelRule){ 0 };
    const Columns has = narrow_tensor(cutter, operand);
    if (takes == TAKES_FOUND)
        *there = has;
    else
        take_columns(operand, cutter->strips->of_step[step], has.lo);
}

static Step *cut_step(Cutter *cutter, int32_t number)
{
    const Step *step = items_step(cutter->strips->all, number);
    const Columns y = cutter->strips->of_step[number];
    Columns there = { 0, operand_width(step->operand + 1) };
    Step *cut = step_copy(cutter->arena, step);
    cut->macs = strip_macs(step, y);
    cut->strip = cutter->number;
    cut->first_column = y.lo;
    cut->end_column = y.hi;
    for (int k = 0; k < cut->n_operand; k++) {
        Operand *operand = cut->operand + k;
        if (operand->scratch)
            own_scratch(cutter, operand);
        else if (operand->tensor)
            cut_operand(cutter, number, k, operand, &there);
    }
    step->kernel->rules->cut(step, cut->params, y, there);
    return cut;
}

void strip_steps(Strips *strips, Arena *arena, const Program *program,
                 const StripRange *range, Columns y, int32_t number, Steps *out)
{
    Cutter cutter = {
        .strips = strips,
        .arena = arena,
        .program = program,
        .range = range,
        .number = number,
        .made = NEW_ARRAY(arena, Tensor *, strips->all->item.n + 1),
    };
    const bool found = strip_find(strips, range, y);
    assert(found);
    (void)found;
    for (int32_t k = range->first; k < range->end; k++)
        VEC_PUSH(arena, &out->step, cut_step(&cutter, k));
}
