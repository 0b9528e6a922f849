/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/recipe_tile.h"

#include <stdlib.h>

#include "base/size.h"

enum {
    TINY_BYTES = 4096, /* a read so short may hold anything */
    NEAR_BYTES = 256,  /* single elements so near are read through */
    WRITE_COST =
        4, /* a write of fresh pages by a read of cached ones (measured 3 to 6) */
    LINE = 16, /* elements */
};

int64_t box_count(const Box *box, int rank)
{
    int64_t n = 1;
    for (int k = 0; k < rank; k++)
        n *= box->n[k];
    return n;
}

/* Factors by distance in the source, nearest first; those of step zero first or last. */
static void order_by_step(const Part *part, int rank, bool zero_last,
                          int *order)
{
    for (int i = 0; i < rank; i++) {
        const int64_t s = llabs(part->at.step[i]);
        int j = i;
        for (; j > 0; j--) {
            const int64_t before = llabs(part->at.step[order[j - 1]]);
            const bool later =
                zero_last ? (before == 0 || (s != 0 && before > s)) && s != 0
                          : before > s;
            if (!later)
                break;
            order[j] = order[j - 1];
        }
        order[j] = i;
    }
}

/* May the next factor be part of one read of `wide` elements? While little is read in vain. */
static bool merges(int64_t n, int64_t step, int64_t wide, int64_t size)
{
    if (n == 1 || step <= wide + wide / 4)
        return true;
    if (wide == 1 && step <= NEAR_BYTES / size)
        return true;
    const int64_t tiny = TINY_BYTES / size;
    return step <= tiny && n <= tiny && step * (n - 1) + wide <= tiny;
}

static void lowest_address(const Part *part, int rank, const Box *box,
                           ReadPlan *plan)
{
    plan->first = part->at.base;
    for (int k = 0; k < rank; k++) {
        const int64_t s = part->at.step[k];
        plan->first += s * box->at[k] + (s < 0 ? s * (box->n[k] - 1) : 0);
    }
}

/* Rows in the buffer get an odd pitch, not to share cache sets. */
static int64_t odd_pitch(int64_t span)
{
    const int64_t lines = span / LINE + 1;
    return (lines % 2 ? lines : lines + 1) * LINE;
}

/* Puts the factors into one read, nearest first, while little is read in vain; returns how many. */
static int merge_factors(const Part *part, int rank, const int64_t *size,
                         const Box *box, const int *order, ReadPlan *plan)
{
    const int64_t element = (int64_t)dtype_work(part->source->dtype);
    int64_t wide = 1;
    int merged = 0;
    for (; merged < rank; merged++) {
        const int k = order[merged];
        const int64_t step = llabs(part->at.step[k]);
        if (!merges(size[k], step, wide, element))
            break;
        plan->step[k] = step;
        plan->span += step * (box->n[k] - 1);
        wide += step * (size[k] - 1);
    }
    return merged;
}

/* Factors that go backwards through the source begin at their other end. */
static void turn_backwards(const Part *part, int rank, const Box *box,
                           ReadPlan *plan)
{
    for (int k = 0; k < rank; k++) {
        if (part->at.step[k] >= 0)
            continue;
        plan->origin += plan->step[k] * (box->n[k] - 1);
        plan->step[k] = -plan->step[k];
    }
}

ReadPlan read_plan(const Part *part, int rank, const int64_t *size,
                   const Box *box)
{
    ReadPlan plan = { .span = 1 };
    int order[FACTORS];
    lowest_address(part, rank, box, &plan);
    order_by_step(part, rank, false, order);
    const int merged = merge_factors(part, rank, size, box, order, &plan);
    plan.pitch = merged < rank ? odd_pitch(plan.span) : plan.span;
    plan.need = plan.pitch;
    for (int j = merged; j < rank; j++) {
        const int k = order[j];
        plan.factor[plan.outer++] = k;
        plan.step[k] = plan.need;
        plan.need *= box->n[k];
    }
    turn_backwards(part, rank, box, &plan);
    return plan;
}

Part operand_part(const Change *change)
{
    return (Part){ .source = change->source, .at = change->at };
}

int64_t operand_need(const Change *change, int rank, const Box *t)
{
    if (!change->source || change_memory(change))
        return 0;
    const Part part = operand_part(change);
    return read_plan(&part, rank, t->n, t).need;
}

/* Operands are read into the first buffer and become floats in one more. */
static bool operands_fit(const Part *part, int rank, const Box *t, int64_t room)
{
    int64_t floats = 0;
    for (int i = 0; i < part->changes; i++) {
        const int64_t need = operand_need(part->change + i, rank, t);
        if (need &&
            need > room / (int64_t)dtype_work(part->change[i].source->dtype))
            return false;
        floats += need;
    }
    return floats <= room / (int64_t)sizeof(float);
}

static bool fits(const Form *form, DType out, const Box *t, int64_t room)
{
    const int64_t n = box_count(t, form->rank);
    if (n > room / (int64_t)dtype_work(out))
        return false;
    for (int p = 0; p < form->parts; p++) {
        const int64_t most =
            room / (int64_t)dtype_work(form->part[p].source->dtype);
        if (n > most ||
            read_plan(form->part + p, form->rank, t->n, t).need > most)
            return false;
        if (!operands_fit(form->part + p, form->rank, t, room))
            return false;
    }
    return true;
}

/* Doubles the first factor, in that order, that is not whole; false: it does not fit, or all are.
 */
static bool grow(const Form *form, DType out, Box *t, const int *order,
                 int64_t room)
{
    for (int j = 0; j < form->rank; j++) {
        const int k = order[j];
        if (t->n[k] == form->dim[k])
            continue;
        Box more = *t;
        more.n[k] = i64_min(form->dim[k], t->n[k] * 2);
        if (!fits(form, out, &more, room))
            return false;
        *t = more;
        return true;
    }
    return false;
}

/* Elements that follow one another in that order. */
static int64_t run_length(const Form *form, const Box *t, const int *order)
{
    int64_t n = 1;
    for (int j = 0; j < form->rank; j++) {
        n *= t->n[order[j]];
        if (t->n[order[j]] != form->dim[order[j]])
            break;
    }
    return n;
}

static const Part *main_part(const Form *form)
{
    const Part *most = form->part;
    for (int p = 1; p < form->parts; p++)
        if (form->part[p].source->count > most->source->count)
            most = form->part + p;
    return most;
}

Box tile_shape(const Form *form, DType out, int64_t room, int *order)
{
    int write_order[FACTORS];
    Box t = { { 0 }, { 0 } };
    for (int k = 0; k < form->rank; k++) {
        t.n[k] = 1;
        write_order[k] = order[k] = form->rank - 1 - k;
    }
    if (form->parts)
        order_by_step(main_part(form), form->rank, true, order);
    for (bool can_read = true, can_write = true; can_read || can_write;) {
        const bool read_first = run_length(form, &t, order) * WRITE_COST <=
                                run_length(form, &t, write_order);
        if (can_read && (read_first || !can_write))
            can_read = grow(form, out, &t, order, room);
        else
            can_write = grow(form, out, &t, write_order, room);
    }
    return t;
}
