/* SPDX-License-Identifier: Apache-2.0
 * Items and touches from the program's operands. Lifetimes are half open in steps. */
#include "schedule/items.h"

#include "base/size.h"
#include "ir/traffic.h"
#include "rules/rules.h"

enum { MOST_PIXELS = 1 << 22 };

Item *item_of(const Items *all, Tensor *tensor)
{
    int64_t at;
    const int i = tensor ? all->of[tensor_root(tensor, &at)->id] : -1;
    return i < 0 ? NULL : all->item.at + i;
}

/* Is the tensor, of which the operand may be a part, a number of its rows? */
static bool has_rows(const Tensor *root, const Operand *operand)
{
    const int64_t bytes = tensor_bytes(root);
    return operand->row_bytes && bytes % operand->row_bytes == 0 &&
           bytes / operand->row_bytes <= INT32_MAX;
}

/* Scratch of a step that may be split: as often as there are threads. */
static int64_t size_of(const Items *all, int32_t step, const Operand *operand,
                       int64_t bytes)
{
    const int64_t size = items_round(all, bytes);
    const bool each = all->threads && operand->scratch &&
                      step_may_split(items_step(all, step), all->split_work);
    return each ? i64_mul(size, all->threads) : size;
}

static Item *new_item(Items *all, Tensor *root, int32_t step,
                      const Operand *operand)
{
    const bool outside = root->storage == STORE_OUTPUT;
    const bool input = all->is_input[root->id];
    const bool result = all->is_result[root->id];
    const int64_t bytes = tensor_bytes(root);
    const int64_t row = has_rows(root, operand) ? operand->row_bytes : bytes;
    const Item item = {
        .root = root,
        .size = outside ? 0 : size_of(all, step, operand, bytes),
        .first = input ? -1 : step,
        .end = step + 1,
        .rows = row ? (int32_t)(bytes / row) : 1,
        .row_bytes = row,
        .scratch = operand->scratch,
        .kept = result || root->state || (input && all->preserve_input),
        .fixed = root->state,
        .outside = outside,
    };
    all->of[root->id] = (int)all->item.n;
    VEC_PUSH(all->arena, &all->item, item);
    return all->item.at + all->item.n - 1;
}

/* Where the operand begins in its item, the channels or columns of a part told apart. */
static void locate(Touch *touch, int64_t at)
{
    const Operand *operand = touch->operand;
    const int64_t pitch = operand_pitch(operand);
    touch->lane = operand->part && pitch ? at % pitch : 0;
    touch->at = at - touch->lane;
}

/* Are the rows that the touch sees rows of the item? */
static bool sees_rows(const Touch *touch, const Item *item)
{
    const Operand *operand = touch->operand;
    const int64_t row = operand->row_bytes;
    return row && row == item->row_bytes && touch->at % row == 0 &&
           touch->at / row + operand->rows <= item->rows;
}

/* Does a touch by rows fit a ring? A reader may leave out the last rows. */
static bool sees_enough(const Touch *touch, const Item *item)
{
    if (touch->operand->write)
        return touch->operand->rows == item->rows;
    return !touch->row0;
}

static void note_touch(Item *item, Touch *touch, const Step *step)
{
    const Operand *operand = touch->operand;
    const bool updated = operand->write && operand->read;
    const bool by_row = sees_rows(touch, item);
    const bool by_unit = by_row && operand->rows == step->units;
    touch->by_row = by_row;
    if (by_row)
        touch->row0 = (int32_t)(touch->at / operand->row_bytes);
    touch->all_units = operand->write && (!by_unit || step->accumulates);
    if (!by_row || !sees_enough(touch, item))
        item->whole = true;
    if (updated && !operand->scratch && !step->accumulates)
        item->fixed = true;
}

static int32_t after_last_step(const Items *all)
{
    return (int32_t)all->program->step.n + 1;
}

/* The item of a root, new where no step before this one touched it. */
static Item *item_touched(Items *all, Tensor *root, int32_t step,
                          const Operand *operand)
{
    const int known = all->of[root->id];
    Item *item =
        known < 0 ? new_item(all, root, step, operand) : all->item.at + known;
    item->end = item->kept ? after_last_step(all) : step + 1;
    return item;
}

static void add_touch(Items *all, int32_t number, const Step *step,
                      const Operand *operand)
{
    if (!operand->tensor)
        return;
    int64_t at;
    Tensor *root = tensor_root(operand->tensor, &at);
    if (root->storage != STORE_ARENA && root->storage != STORE_OUTPUT)
        return;
    Item *item = item_touched(all, root, number, operand);
    Touch touch = {
        .step = number,
        .item = all->of[root->id],
        .operand = operand,
    };
    locate(&touch, at + operand->offset);
    note_touch(item, &touch, step);
    VEC_PUSH(all->arena, &all->touch, touch);
}

/* What a loop reads from outside lives until the loop ends, and what lives in it lives through it.
 */
static void extend_over_loop(Items *all, int32_t first, int32_t last)
{
    for (size_t i = 0; i < all->item.n; i++) {
        Item *item = all->item.at + i;
        if (item->end <= first || item->first > last)
            continue;
        item->looped = true;
        if (item->first < first || item->end > last + 1) {
            item->first = (int32_t)i64_min(item->first, first);
            item->end = (int32_t)i64_max(item->end, last + 1);
        }
    }
}

/* Inputs in the arena that no step reads take room all the same, before the first step. */
static void add_unread(Items *all)
{
    const Graph *graph = all->program->graph;
    for (size_t i = 0; i < graph->input.n; i++) {
        Tensor *tensor = graph->input.at[i];
        if (tensor->storage != STORE_ARENA || all->of[tensor->id] >= 0)
            continue;
        const Operand operand = {
            .tensor = tensor,
            .rows = 1,
            .row_bytes = tensor_bytes(tensor),
        };
        Item *item = new_item(all, tensor, 0, &operand);
        item->whole = true;
        if (item->kept)
            item->end = after_last_step(all);
    }
}

/* Which tensors are there before the first step, and which are asked for after the last. */
static void note_ends(Items *all)
{
    Graph *graph = all->program->graph;
    const int ids = graph_root(graph)->next_id;
    all->is_input = NEW_ARRAY(all->arena, bool, ids + 1);
    all->is_result = NEW_ARRAY(all->arena, bool, ids + 1);
    for (size_t i = 0; i < graph->input.n; i++) {
        const Tensor *tensor = graph->input.at[i];
        const bool by_row = graph_in_form(graph, i) == IO_ROWS;
        all->is_input[tensor->id] = !by_row;
    }
    for (size_t i = 0; i < graph->output.n; i++) {
        const Tensor *tensor = graph->output.at[i];
        all->is_result[tensor->id] = true;
    }
}

static void add_touches(Items *all)
{
    const int ids = graph_root(all->program->graph)->next_id;
    const int32_t steps = (int32_t)all->program->step.n;
    all->of = NEW_ARRAY(all->arena, int, ids + 1);
    for (int id = 0; id < ids; id++)
        all->of[id] = -1;
    all->touch_of = NEW_ARRAY(all->arena, int32_t, steps + 1);
    for (int32_t i = 0; i < steps; i++) {
        const Step *step = items_step(all, i);
        all->touch_of[i] = (int32_t)all->touch.n;
        for (int k = 0; k < step->n_operand; k++)
            add_touch(all, i, step, step->operand + k);
    }
    all->touch_of[steps] = (int32_t)all->touch.n;
}

/* Does the operand go over all of the item, a row for each unit? */
static bool goes_along(const Items *all, const Touch *touch)
{
    const int32_t units = items_step(all, touch->step)->units;
    const Operand *operand = touch->operand;
    const bool whole = touch->by_row && !touch->at && !operand->part;
    bool same = operand->rule.kind == ROWS_SAME;
    if (operand->write)
        same = !touch->all_units;
    return same && whole && operand->rows == units &&
           operand->rows == touch_item(all, touch)->rows;
}

/* The step's one result, if it goes along with the units. */
static const Touch *lone_result(const Items *all, int32_t step)
{
    const Touch *found = NULL;
    for (const Touch *touch = touch_begin(all, step);
         touch < touch_end(all, step); touch++) {
        if (!touch->operand->write || touch->operand->scratch)
            continue;
        if (found)
            return NULL;
        found = touch;
    }
    return found && goes_along(all, found) ? found : NULL;
}

static bool alike_in_bytes(const Operand *x, const Operand *y)
{
    return x->row_bytes == y->row_bytes &&
           dtype_bits(x->tensor->dtype) == dtype_bits(y->tensor->dtype);
}

/* May the result go to the operand's place, element by element? */
static bool goes_in_place(const Items *all, const Touch *touch,
                          const Touch *result)
{
    return reuse_in_place(touch->operand->reuse) && goes_along(all, touch) &&
           alike_in_bytes(touch->operand, result->operand);
}

/* The same of all operands that see the item: a window over it needs what would be overwritten. */
static bool all_go_in_place(const Items *all, int32_t item, const Touch *result)
{
    for (const Touch *touch = touch_begin(all, result->step);
         touch < touch_end(all, result->step); touch++)
        if (touch->item == item && !goes_in_place(all, touch, result))
            return false;
    return true;
}

/* Could the step make its result in the place of this? */
static bool may_lend(const Items *all, const Touch *touch, const Touch *result)
{
    const Item *item = touch_item(all, touch);
    if (item->lent || item->outside)
        return false;
    return all_go_in_place(all, touch->item, result);
}

/* Of what a step could make its result in the place of, the item that lives shortest. */
static void lend(Items *all, int32_t step)
{
    const Touch *result = lone_result(all, step);
    Item *best = NULL;
    if (!result || touch_item(all, result)->outside)
        return;
    for (const Touch *touch = touch_begin(all, step);
         touch < touch_end(all, step); touch++) {
        Item *item = touch_item(all, touch);
        if (!may_lend(all, touch, result))
            continue;
        if (!best || item->first > best->first)
            best = item;
    }
    if (best)
        best->lent = step + 1;
}

bool items_jumped(const Items *all, int32_t step)
{
    return step >= all->jumped.first && step < all->jumped.end;
}

bool items_return(const Items *all, const Touch *touch)
{
    const Item *item = all->item.at + touch->item;
    return item->looped && items_jumped(all, touch->step);
}

/* Pixels of a result that is made of another pixel by pixel. */
static int64_t pixels_of(const Step *step)
{
    const Operand *y = step->operand;
    bool any = false;
    for (int k = step->n_out; k < step->n_operand; k++)
        any |= step->operand[k].pixels.tile > 0;
    if (!any || !y->tensor || !y->pixel)
        return 0;
    return i64_mul(y->rows, operand_width(y));
}

/* The proof of a plan follows each pixel: beyond so many, results lie rows away from what they are
 * made of. */
static bool has_few_pixels(const Program *program)
{
    int64_t pixels = 0;
    for (size_t i = 0; i < program->step.n; i++)
        pixels = i64_add(pixels, pixels_of(program->step.at[i]));
    return pixels <= MOST_PIXELS;
}

Items items_find(Arena *arena, const Program *program, const PlanOptions *opt)
{
    const int32_t steps = (int32_t)program->step.n;
    Items all = {
        .arena = arena,
        .program = program,
        .align = opt->align,
        .preserve_input = opt->preserve_input,
        .threads = opt->threads,
        .split_work = opt->split_work,
        .hosts = opt->hosts && !opt->pins,
        .by_pixels = has_few_pixels(program),
    };
    all.jumped = steps_jumped(program->step.at, steps);
    note_ends(&all);
    add_touches(&all);
    for (int32_t i = 0; all.hosts && i < steps; i++)
        lend(&all, i);
    for (int32_t i = 0; i < steps; i++) {
        const int32_t last = program->step.at[i]->loop_end;
        if (last >= 0)
            extend_over_loop(&all, i, last);
    }
    add_unread(&all);
    all.listed = NEW_ARRAY(arena, int32_t, all.item.n + 1);
    return all;
}

static Rows operand_rows(const Touch *touch, int32_t unit)
{
    const Operand *operand = touch->operand;
    if (!operand->write)
        return operand_rows_read(operand, unit);
    if (touch->all_units)
        return (Rows){ 0, operand->rows };
    return (Rows){ unit, unit + 1 };
}

Rows touch_rows(const Items *all, const Touch *touch, int32_t unit)
{
    if (!touch->by_row)
        return (Rows){ 0, touch_item(all, touch)->rows };
    const Rows rows = operand_rows(touch, unit);
    return (Rows){ rows.lo + touch->row0, rows.hi + touch->row0 };
}
