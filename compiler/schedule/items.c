/* SPDX-License-Identifier: Apache-2.0
 * Items and touches from the program's operands. Lifetimes are half open in steps. */
#include "schedule/items.h"

#include "base/size.h"

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

static Item *new_item(Items *all, Tensor *root, int32_t step,
                      const Operand *operand)
{
    all->of[root->id] = (int)all->item.n;
    const bool outside = root->storage == STORE_OUTPUT;
    const bool input = all->is_input[root->id];
    const bool result = all->is_result[root->id];
    const int64_t bytes = tensor_bytes(root);
    const int64_t row = has_rows(root, operand) ? operand->row_bytes : bytes;
    VEC_PUSH(all->arena, &all->item,
             ((Item){ .root = root,
                      .size = outside ? 0 : items_round(all, bytes),
                      .first = input ? -1 : step,
                      .end = step + 1,
                      .rows = row ? (int32_t)(bytes / row) : 1,
                      .row_bytes = row,
                      .scratch = operand->scratch,
                      .kept = result || (input && all->preserve_input),
                      .outside = outside }));
    return all->item.at + all->item.n - 1;
}

/* Where the operand begins in its item, the channels or columns of a part told apart. */
static void locate(Touch *touch, int64_t at)
{
    const Operand *o = touch->operand;
    const int64_t pitch = operand_pitch(o);
    touch->lane = o->part && pitch ? at % pitch : 0;
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

static void note_touch(Item *item, Touch *touch, const Step *step)
{
    const Operand *operand = touch->operand;
    const bool updated = operand->write && operand->read;
    touch->by_row = sees_rows(touch, item);
    if (touch->by_row)
        touch->row0 = (int32_t)(touch->at / operand->row_bytes);
    touch->all_units =
        operand->write &&
        (!touch->by_row || operand->rows != step->units || step->accumulates);
    if (!touch->by_row || operand->rows != item->rows)
        item->whole = true;
    if (updated && !operand->scratch && !step->accumulates)
        item->fixed = true;
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
    Item *item = all->of[root->id] < 0 ? new_item(all, root, number, operand)
                                       : all->item.at + all->of[root->id];
    item->end = item->kept ? (int32_t)all->program->step.n + 1 : number + 1;
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
        Item *it = all->item.at + i;
        if (it->end <= first || it->first > last)
            continue;
        it->fixed = true;
        if (it->first < first || it->end > last + 1) {
            it->first = (int32_t)i64_min(it->first, first);
            it->end = (int32_t)i64_max(it->end, last + 1);
        }
    }
}

/* Inputs in the arena that no step reads take room all the same, before the first step. */
static void add_unread(Items *all)
{
    const Graph *g = all->program->graph;
    for (size_t i = 0; i < g->input.n; i++) {
        Tensor *t = g->input.at[i];
        const Operand operand = { .tensor = t,
                                  .rows = 1,
                                  .row_bytes = tensor_bytes(t) };
        if (t->storage != STORE_ARENA || all->of[t->id] >= 0)
            continue;
        Item *it = new_item(all, t, 0, &operand);
        it->whole = true;
        if (it->kept)
            it->end = (int32_t)all->program->step.n + 1;
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
        const bool by_row = graph_in_form(graph, i) == IO_ROWS;
        all->is_input[graph->input.at[i]->id] = !by_row;
    }
    for (size_t i = 0; i < graph->output.n; i++)
        all->is_result[graph->output.at[i]->id] = true;
    all->of = NEW_ARRAY(all->arena, int, ids + 1);
    for (int i = 0; i < ids; i++)
        all->of[i] = -1;
}

static void add_touches(Items *all)
{
    const size_t steps = all->program->step.n;
    all->touch_of = NEW_ARRAY(all->arena, int32_t, steps + 1);
    for (size_t i = 0; i < steps; i++) {
        const Step *step = all->program->step.at[i];
        all->touch_of[i] = (int32_t)all->touch.n;
        if (step->control || step->loop_end >= 0)
            all->control = true;
        for (int k = 0; k < step->n_operand; k++)
            add_touch(all, (int32_t)i, step, step->operand + k);
    }
    all->touch_of[steps] = (int32_t)all->touch.n;
}

/* Does the operand go over all of the item, a row for each unit? */
static bool goes_along(const Items *all, const Touch *touch)
{
    const Step *step = all->program->step.at[touch->step];
    const Operand *operand = touch->operand;
    const bool same =
        operand->write ? !touch->all_units : operand->rule.kind == ROWS_SAME;
    return same && touch->by_row && !touch->at && !operand->part &&
           operand->rows == step->units &&
           operand->rows == all->item.at[touch->item].rows;
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

/* Of what a step could make its result in the place of, the item that lives shortest. */
static void lend(Items *all, int32_t step)
{
    const Touch *result = lone_result(all, step);
    Item *best = NULL;
    if (!result || all->item.at[result->item].outside)
        return;
    for (const Touch *touch = touch_begin(all, step);
         touch < touch_end(all, step); touch++) {
        Item *item = all->item.at + touch->item;
        if (item->lent || item->outside || !goes_in_place(all, touch, result) ||
            !all_go_in_place(all, touch->item, result))
            continue;
        if (!best || item->first > best->first)
            best = item;
    }
    if (best)
        best->lent = step + 1;
}

Items items_find(Arena *a, const Program *p, const PlanOptions *opt)
{
    Items all = {
        .arena = a,
        .program = p,
        .align = opt->align,
        .preserve_input = opt->preserve_input,
        .hosts = opt->hosts && !opt->pins,
    };
    note_ends(&all);
    add_touches(&all);
    for (size_t i = 0; all.hosts && i < p->step.n; i++)
        lend(&all, (int32_t)i);
    for (size_t i = 0; i < p->step.n; i++) {
        const int32_t last = p->step.at[i]->loop_end;
        if (last >= 0)
            extend_over_loop(&all, (int32_t)i, last);
    }
    add_unread(&all);
    return all;
}

static Rows rule_rows(const Operand *operand, int32_t u)
{
    const RowRule *r = &operand->rule;
    const int64_t lo = (int64_t)u * r->stride - r->pad;
    const int64_t hi = lo + r->extent;
    switch (r->kind) {
    case ROWS_SAME:
    case ROWS_UNIT:
        return u < operand->rows ? (Rows){ u, u + 1 }
                                 : (Rows){ 0, operand->rows };
    case ROWS_WINDOW:
        return (Rows){ (int32_t)i64_min(i64_max(lo, 0), operand->rows),
                       (int32_t)i64_max(i64_min(hi, operand->rows), 0) };
    case ROWS_TABLE:
        return r->table[u];
    default:
        return (Rows){ 0, operand->rows };
    }
}

static Rows operand_rows(const Touch *touch, int32_t unit)
{
    const Operand *operand = touch->operand;
    if (!operand->write)
        return rule_rows(operand, unit);
    if (touch->all_units)
        return (Rows){ 0, operand->rows };
    return (Rows){ unit, unit + 1 };
}

Rows touch_rows(const Items *all, const Touch *touch, int32_t unit)
{
    if (!touch->by_row)
        return (Rows){ 0, all->item.at[touch->item].rows };
    const Rows rows = operand_rows(touch, unit);
    return (Rows){ rows.lo + touch->row0, rows.hi + touch->row0 };
}
