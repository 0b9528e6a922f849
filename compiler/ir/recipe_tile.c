/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/recipe_tile.h"

#include <stdlib.h>

#include "base/size.h"

enum {
    TINY_BYTES = 4096, /* a read so short may hold anything */
    NEAR_BYTES = 256,  /* single elements so near are read through */
    WRITE_COST = 4,    /* a write of fresh pages by a read of cached ones (measured 3 to 6) */
    LINE = 16,         /* elements: rows in the buffer get an odd pitch, not to share cache sets */
};

int64_t box_count(const Box *b, int rank)
{
    int64_t n = 1;
    for (int k = 0; k < rank; k++)
        n *= b->n[k];
    return n;
}

/* Factors by distance in the source, nearest first; those of step zero first or last. */
static void order_by_step(const Part *p, int rank, bool zero_last, int *order)
{
    for (int i = 0; i < rank; i++) {
        const int64_t s = llabs(p->at.step[i]);
        int j = i;
        for (; j > 0; j--) {
            const int64_t before = llabs(p->at.step[order[j - 1]]);
            const bool later =
                zero_last ? (before == 0 || (s != 0 && before > s)) && s != 0 : before > s;
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

static void lowest_address(const Part *p, int rank, const Box *b, ReadPlan *r)
{
    r->first = p->at.base;
    for (int k = 0; k < rank; k++) {
        const int64_t s = p->at.step[k];
        r->first += s * b->at[k] + (s < 0 ? s * (b->n[k] - 1) : 0);
    }
}

ReadPlan read_plan(const Part *p, int rank, const int64_t *size, const Box *b)
{
    const int64_t element = (int64_t)dtype_work(p->source->dtype);
    ReadPlan r = { .span = 1 };
    int order[FACTORS], j = 0;
    lowest_address(p, rank, b, &r);
    order_by_step(p, rank, false, order);
    for (int64_t wide = 1; j < rank; j++) {
        const int k = order[j];
        const int64_t s = llabs(p->at.step[k]);
        if (!merges(size[k], s, wide, element))
            break;
        r.step[k] = s;
        r.span += s * (b->n[k] - 1);
        wide += s * (size[k] - 1);
    }
    r.pitch = j < rank ? (r.span / LINE + 1) * LINE : r.span;
    if (j < rank && r.pitch / LINE % 2 == 0)
        r.pitch += LINE;
    r.need = r.pitch;
    for (; j < rank; j++) {
        const int k = order[j];
        r.factor[r.outer++] = k;
        r.step[k] = r.need;
        r.need *= b->n[k];
    }
    for (int k = 0; k < rank; k++) {
        if (p->at.step[k] >= 0)
            continue;
        r.origin += r.step[k] * (b->n[k] - 1);
        r.step[k] = -r.step[k];
    }
    return r;
}

Part operand_part(const Change *c)
{
    return (Part){ .source = c->source, .at = c->at };
}

int64_t operand_need(const Change *c, int rank, const Box *t)
{
    if (!c->source || change_memory(c))
        return 0;
    const Part p = operand_part(c);
    return read_plan(&p, rank, t->n, t).need;
}

/* Operands are read into the first buffer and become floats in one more. */
static bool operands_fit(const Part *p, int rank, const Box *t, int64_t room)
{
    int64_t floats = 0;
    for (int i = 0; i < p->changes; i++) {
        const int64_t need = operand_need(p->change + i, rank, t);
        if (need && need > room / (int64_t)dtype_work(p->change[i].source->dtype))
            return false;
        floats += need;
    }
    return floats <= room / (int64_t)sizeof(float);
}

static bool fits(const Form *f, DType out, const Box *t, int64_t room)
{
    const int64_t n = box_count(t, f->rank);
    if (n > room / (int64_t)dtype_work(out))
        return false;
    for (int p = 0; p < f->parts; p++) {
        const int64_t most = room / (int64_t)dtype_work(f->part[p].source->dtype);
        if (n > most || read_plan(f->part + p, f->rank, t->n, t).need > most)
            return false;
        if (!operands_fit(f->part + p, f->rank, t, room))
            return false;
    }
    return true;
}

/* Doubles the first factor, in that order, that is not whole; false: it does not fit, or all are.
 */
static bool grow(const Form *f, DType out, Box *t, const int *order, int64_t room)
{
    for (int j = 0; j < f->rank; j++) {
        const int k = order[j];
        if (t->n[k] == f->dim[k])
            continue;
        Box more = *t;
        more.n[k] = i64_min(f->dim[k], t->n[k] * 2);
        if (!fits(f, out, &more, room))
            return false;
        *t = more;
        return true;
    }
    return false;
}

/* Elements that follow one another in that order. */
static int64_t run_length(const Form *f, const Box *t, const int *order)
{
    int64_t n = 1;
    for (int j = 0; j < f->rank; j++) {
        n *= t->n[order[j]];
        if (t->n[order[j]] != f->dim[order[j]])
            break;
    }
    return n;
}

static const Part *main_part(const Form *f)
{
    const Part *most = f->part;
    for (int p = 1; p < f->parts; p++)
        if (f->part[p].source->count > most->source->count)
            most = f->part + p;
    return most;
}

Box tile_shape(const Form *f, DType out, int64_t room, int *order)
{
    int write_order[FACTORS];
    Box t = { { 0 }, { 0 } };
    for (int k = 0; k < f->rank; k++) {
        t.n[k] = 1;
        write_order[k] = order[k] = f->rank - 1 - k;
    }
    if (f->parts)
        order_by_step(main_part(f), f->rank, true, order);
    for (bool can_read = true, can_write = true; can_read || can_write;) {
        const bool read_first =
            run_length(f, &t, order) * WRITE_COST <= run_length(f, &t, write_order);
        if (can_read && (read_first || !can_write))
            can_read = grow(f, out, &t, order, room);
        else
            can_write = grow(f, out, &t, write_order, room);
    }
    return t;
}
