/* SPDX-License-Identifier: Apache-2.0
 * Which columns of its tensors a range needs, and the steps made for them. A strip of a tensor is a
 * part of its rows. */
#include "schedule/strip.h"

#include <assert.h>

#include "base/size.h"

/* ---- ranges ---- */

enum { MOST_ROUNDS = 4 };

/* What a strip of the result takes of an operand. */
typedef enum Relation {
    TAKES_ALL,   /* all of it, or the operand has no columns */
    TAKES_SAME,  /* the result's columns, from the first of them on */
    TAKES_FOUND, /* those that the kernel finds */
} Relation;

static Relation relation(const Strips *strips, int32_t index, int k)
{
    const Step *step = strips->all->program->step.at[index];
    const ColumnRule *rule = strips->rule + index;
    const Operand *o = step->operand + k;
    const bool by_row = o->rows == step->units;
    if (rule->planes)
        return k == 1 && by_row ? TAKES_SAME : TAKES_ALL;
    if (k == 0)
        return TAKES_SAME;
    if (k == 1 && rule->kind != COLUMNS_SAME)
        return TAKES_FOUND;
    if (!by_row || o->rule.kind != ROWS_SAME ||
        operand_width(o) != operand_width(step->operand))
        return TAKES_ALL;
    return TAKES_SAME;
}

static Columns columns_hull(Columns a, Columns b)
{
    if (a.lo >= a.hi)
        return b;
    return (Columns){
        (int32_t)i64_min(a.lo, b.lo),
        (int32_t)i64_max(a.hi, b.hi),
    };
}

Strips strips_new(Arena *arena, const Items *all)
{
    Strips strips = { .all = all };
    strips.parted = NEW_ARRAY(arena, bool, all->item.n + 1);
    strips.of_item = NEW_ARRAY(arena, Columns, all->item.n + 1);
    strips.of_step = NEW_ARRAY(arena, Columns, all->program->step.n + 1);
    strips.rule = NEW_ARRAY(arena, ColumnRule, all->program->step.n + 1);
    for (size_t i = 0; i < all->program->step.n; i++)
        strips.rule[i] = rules_columns(all->program->step.at[i]);
    for (size_t i = 0; i < all->touch.n; i++)
        if (all->touch.at[i].operand->part)
            strips.parted[all->touch.at[i].item] = true;
    return strips;
}

static bool is_image(const Operand *operand)
{
    const Shape *s = &operand->tensor->shape;
    return s->rank >= 3 && s->dim[s->rank - 1] == operand->pixel &&
           s->dim[s->rank - 2] == operand_width(operand) &&
           !operand->tensor->view_of && !operand->pitch;
}

bool strip_takes(const Strips *strips, int32_t step)
{
    const Step *other = strips->all->program->step.at[step];
    const ColumnRule *rule = strips->rule + step;
    if (rule->kind == COLUMNS_NONE || other->n_out != 1 || other->accumulates ||
        other->piece || !stream_takes(strips->all, step))
        return false;
    if (!rule->planes &&
        (other->units != other->operand->rows || !other->operand->strided))
        return false;
    for (int k = 0; k < other->n_operand; k++)
        if (other->operand[k].tensor && !other->operand[k].scratch &&
            relation(strips, step, k) && !is_image(other->operand + k))
            return false;
    return true;
}

/* Can strips of the item be made in full rows, or where nobody looks? */
static bool leaves(const Strips *strips, const Touch *touch, int32_t first)
{
    const Item *it = strips->all->item.at + touch->item;
    if (strips->rule[touch->step].planes)
        return it->outside;
    return it->first >= first && !strips->parted[touch->item] &&
           touch->by_row && !touch->all_units;
}

int32_t strip_result(const Strips *strips, int32_t first, int32_t end,
                     int32_t *columns)
{
    int32_t result = -1;
    for (int32_t k = first; k < end; k++)
        for (const Touch *t = touch_begin(strips->all, k);
             t < touch_end(strips->all, k); t++) {
            const Item *it = strips->all->item.at + t->item;
            if (!t->operand->write || (it->first >= first && it->end <= end))
                continue;
            const Step *by = strips->all->program->step.at[k];
            if (result >= 0 || !leaves(strips, t, first))
                return -1;
            result = t->item;
            *columns = operand_width(by->operand + strips->rule[k].planes);
        }
    for (int32_t k = first; result >= 0 && k < end; k++)
        for (const Touch *t = touch_begin(strips->all, k);
             t < touch_end(strips->all, k); t++)
            if (t->item == result && t->operand->read)
                return -1;
    return result;
}

Columns strip_columns(int32_t width, Cut cut, int32_t k)
{
    return (Columns){ k ? cut.first + (k - 1) * cut.each : 0,
                      k == cut.n - 1 ? width : cut.first + k * cut.each };
}

static Columns find_by_taps(const ColumnRule *rule, Columns y)
{
    Columns all = { 0, 0 };
    for (int32_t c = y.lo; c < y.hi; c++)
        for (int32_t k = 0; k < rule->extent; k++) {
            const int32_t at = c + rule->pad - k * rule->dilation;
            const int32_t x = at / rule->stride;
            if (at % rule->stride == 0)
                all = columns_hull(all, (Columns){ x, x + 1 });
        }
    return all;
}

static Columns find_by_table(const ColumnRule *rule, Columns y)
{
    Columns all = { 0, 0 };
    for (int32_t c = y.lo; c < y.hi; c++)
        all = columns_hull(all,
                           (Columns){ rule->table[c].lo, rule->table[c].hi });
    return all;
}

/* Columns that columns y of the result need, before they are clipped. */
static Columns find_columns(const ColumnRule *rule, Columns y)
{
    const int32_t first = y.lo * rule->stride - rule->pad;
    const int32_t last = (y.hi - 1) * rule->stride - rule->pad;
    switch (rule->kind) {
    case COLUMNS_WINDOW:
        return (Columns){ first, last + rule->extent };
    case COLUMNS_TAPS:
        return find_by_taps(rule, y);
    case COLUMNS_TABLE:
        return find_by_table(rule, y);
    default:
        return y;
    }
}

static Columns needs(const Strips *strips, int32_t step, int k, Columns y)
{
    if (relation(strips, step, k) == TAKES_SAME)
        return y;
    const Operand *x = strips->all->program->step.at[step]->operand + k;
    const Columns found = find_columns(strips->rule + step, y);
    return (Columns){
        (int32_t)i64_max(found.lo, 0),
        (int32_t)i64_min(found.hi, operand_width(x)),
    };
}

static bool within(const Item *it, int32_t first, int32_t end)
{
    return it->first >= first && it->end <= end && !it->outside;
}

/* The step's result must have columns c, too; false: what leaves the range is what was asked for.
 */
static bool widen(Strips *strips, int32_t step, int32_t first, int32_t end,
                  Columns c)
{
    for (const Touch *u = touch_begin(strips->all, step);
         u < touch_end(strips->all, step); u++) {
        if (!u->operand->write || u->operand->scratch)
            continue;
        if (!within(strips->all->item.at + u->item, first, end))
            return false;
        strips->of_item[u->item] = columns_hull(strips->of_item[u->item], c);
    }
    return true;
}

static bool same(Columns a, Columns b)
{
    return a.lo == b.lo && a.hi == b.hi;
}

/* A part of the pixels of a wider tensor can be narrowed to a strip of it, but not to some columns
 * of that: whoever reads or makes one goes over all columns that the strip has. */
static bool reads_find(Strips *strips, int32_t step, int32_t first, int32_t end)
{
    const Step *other = strips->all->program->step.at[step];
    for (const Touch *u = touch_begin(strips->all, step);
         u < touch_end(strips->all, step); u++) {
        const int k = (int)(u->operand - other->operand);
        if (u->operand->write || u->operand->scratch)
            continue;
        const bool inner = within(strips->all->item.at + u->item, first, end);
        const bool exact =
            relation(strips, step, k) == TAKES_SAME && strips->parted[u->item];
        if (relation(strips, step, k) == TAKES_ALL) {
            if (inner)
                return false;
            continue;
        }
        Columns c = needs(strips, step, k, strips->of_step[step]);
        if (c.lo >= c.hi || !u->by_row || (exact && !inner))
            return false;
        if (inner)
            c = strips->of_item[u->item] =
                columns_hull(strips->of_item[u->item], c);
        if (exact && !same(c, strips->of_step[step]) &&
            !widen(strips, step, first, end, c))
            return false;
    }
    return true;
}

/* Do all who write an item write the same columns, and those who read parts of one read them all?
 */
static bool settled(const Strips *strips, int32_t first, int32_t end,
                    int32_t result)
{
    for (const Touch *u = touch_begin(strips->all, first);
         u < touch_begin(strips->all, end); u++) {
        const Step *other = strips->all->program->step.at[u->step];
        if (u->operand->scratch || u->item == result ||
            !within(strips->all->item.at + u->item, first, end))
            continue;
        const bool exact =
            u->operand->write ||
            (strips->parted[u->item] &&
             relation(strips, u->step, (int)(u->operand - other->operand)) ==
                 TAKES_SAME);
        if (exact && !same(strips->of_item[u->item], strips->of_step[u->step]))
            return false;
    }
    return true;
}

static bool find_back(Strips *strips, int32_t first, int32_t end,
                      int32_t result, Columns y)
{
    for (int32_t k = end - 1; k >= first; k--) {
        for (const Touch *u = touch_begin(strips->all, k);
             u < touch_end(strips->all, k); u++)
            if (u->operand->write && !u->operand->scratch)
                strips->of_step[k] =
                    u->item == result ? y : strips->of_item[u->item];
        if (strips->of_step[k].lo >= strips->of_step[k].hi ||
            !reads_find(strips, k, first, end))
            return false;
    }
    return true;
}

/* Once from the end to the beginning is enough, but for parts. Where a part is made of others (a
 * dense block), columns would grow each time round. */
bool strip_find(Strips *strips, int32_t first, int32_t end, int32_t result,
                Columns y)
{
    for (const Touch *u = touch_begin(strips->all, first);
         u < touch_begin(strips->all, end); u++)
        strips->of_item[u->item] = (Columns){ 0, 0 };
    for (int round = 0; round < MOST_ROUNDS; round++) {
        if (!find_back(strips, first, end, result, y))
            return false;
        if (settled(strips, first, end, result))
            return true;
    }
    return false;
}

static int64_t scratch_bytes(const Items *all, int32_t first, int32_t end)
{
    int64_t most = 0;
    for (int32_t k = first; k < end; k++) {
        int64_t own = 0;
        for (const Touch *touch = touch_begin(all, k);
             touch < touch_end(all, k); touch++)
            if (touch->operand->scratch)
                own += all->item.at[touch->item].size;
        most = i64_max(most, own);
    }
    return most;
}

static int64_t macs_of(const Step *step, Columns y)
{
    const int32_t width = operand_width(step->operand);
    return step->macs / width * (y.hi - y.lo) +
           step->macs % width * (y.hi - y.lo) / width;
}

/* Bytes of one strip, its rings as `whole` has them; negative: it cannot be. */
static int64_t strip_bytes(Strips *strips, const Stream *whole, int32_t result,
                           Columns y)
{
    int64_t bytes =
        items_round(strips->all, 2 * (int64_t)(whole->end - whole->first));
    if (!strip_find(strips, whole->first, whole->end, result, y))
        return -1;
    for (size_t i = 0; i < whole->ring.n; i++) {
        const Item *it = strips->all->item.at + whole->ring.at[i].item;
        const Columns c = strips->of_item[whole->ring.at[i].item];
        const Shape *shape = &it->root->shape;
        if (!it->scratch && whole->ring.at[i].host < 0)
            bytes += items_round(strips->all,
                                 it->row_bytes / shape->dim[shape->rank - 2] *
                                     (c.hi - c.lo) * whole->ring.at[i].rows);
    }
    return bytes;
}

bool strip_price(Strips *strips, const Stream *whole, int32_t result, Cut cut,
                 int64_t *bytes, int64_t *macs)
{
    int32_t width = 0;
    strip_result(strips, whole->first, whole->end, &width);
    *bytes = *macs = 0;
    for (int32_t k = 0; k < cut.n; k++) {
        const int64_t own =
            strip_bytes(strips, whole, result, strip_columns(width, cut, k));
        if (own < 0)
            return false;
        *bytes = i64_max(*bytes, own);
        for (int32_t t = whole->first; t < whole->end; t++)
            *macs = i64_add(*macs, macs_of(strips->all->program->step.at[t],
                                           strips->of_step[t]));
    }
    *bytes += scratch_bytes(strips->all, whole->first, whole->end);
    return true;
}

/* The most columns of the first strip, or the last, that take no more than `bytes`; `least` do. */
static int32_t widest_edge(Strips *strips, const Stream *whole, int32_t result,
                           int32_t width, int32_t least, bool first,
                           int64_t bytes)
{
    int32_t n = least;
    while (n + 1 < width &&
           strip_bytes(strips, whole, result,
                       first ? (Columns){ 0, n + 1 }
                             : (Columns){ width - n - 1, width }) <= bytes)
        n++;
    return n;
}

/* The first and the last strip are as wide as one between them takes bytes, less what their sum is
 * too much; or, with one strip fewer, more. */
static bool cut_by(Strips *strips, const Stream *whole, int32_t result,
                   int32_t width, int32_t each, bool wide, Cut *cut)
{
    const int32_t middle = (width - each) / 2;
    const int64_t bytes =
        strip_bytes(strips, whole, result, (Columns){ middle, middle + each });
    if (bytes < 0)
        return false;
    const int32_t first =
        widest_edge(strips, whole, result, width, each, true, bytes);
    const int32_t last =
        widest_edge(strips, whole, result, width, each, false, bytes);
    const int32_t strict =
        (int32_t)i64_max(0, (width - first - last + each - 1) / each);
    const int32_t between = (int32_t)i64_max(0, strict - wide);
    const int32_t spare = first + last + between * each - width;
    *cut = (Cut){ 2 + between, each,
                  (int32_t)i64_max(1, i64_min(first - spare / 2,
                                              width - between * each - 1)),
                  wide && strict };
    return true;
}

bool strip_next(Strips *strips, const Stream *whole, int32_t result, Cut *cut)
{
    int32_t width = 0;
    strip_result(strips, whole->first, whole->end, &width);
    if (!cut->n && width >= 2) {
        *cut = (Cut){ 2, width / 2, width / 2, false };
        return true;
    }
    const int32_t each = cut->wide ? cut->each : cut->each - 1 - cut->each / 7;
    return each >= 1 &&
           cut_by(strips, whole, result, width, each, !cut->wide, cut);
}

/* ---- steps ---- */

typedef struct Cutter {
    Strips *strips;
    Arena *arena;
    const Program *program;
    int32_t first, end, result, number;
    Tensor **made; /* by item: its strip */
} Cutter;

static Tensor *strip_of(Cutter *cutter, int32_t item)
{
    if (cutter->made[item])
        return cutter->made[item];
    const Tensor *root = cutter->strips->all->item.at[item].root;
    const Columns w = cutter->strips->of_item[item];
    Shape shape = root->shape;
    shape.dim[shape.rank - 2] = w.hi - w.lo;
    Tensor *tensor = graph_add_tensor(
        cutter->program->graph,
        arena_printf(cutter->arena, "%s[%d:%d]", root->name, w.lo, w.hi),
        root->dtype, shape);
    tensor->storage = STORE_ARENA;
    tensor->slot = -1;
    return cutter->made[item] = tensor;
}

static Tensor *scratch_of(Cutter *cutter, const Tensor *like)
{
    Tensor *tensor = graph_add_tensor(cutter->program->graph, NULL, like->dtype,
                                      like->shape);
    tensor->storage = STORE_ARENA;
    tensor->slot = -1;
    return tensor;
}

/* The operand becomes columns y of an image that begins with column `origin`. */
static void take_columns(Operand *operand, Columns y, int32_t origin)
{
    const int64_t pixel =
        operand->pixel * (int64_t)dtype_bits(operand->tensor->dtype) / 8;
    if (y.lo == origin && (y.hi - y.lo) * pixel == operand->row_bytes)
        return;
    operand->pitch = operand->row_bytes / pixel * operand->pixel;
    operand->offset += (y.lo - origin) * pixel;
    operand->part = (y.hi - y.lo) * operand->pixel;
}

static void cut_operand(Cutter *cutter, int32_t step, Operand *operand, int k,
                        int32_t item, Columns y, Columns *there)
{
    const Item *it = item < 0 ? NULL : cutter->strips->all->item.at + item;
    if (operand->scratch) {
        operand->tensor = scratch_of(cutter, operand->tensor);
        return;
    }
    const Relation takes = relation(cutter->strips, step, k);
    if (takes == TAKES_ALL)
        return;
    Columns have = { 0, operand_width(operand) };
    operand->pixels = (PixelRule){ 0 };
    if (it && within(it, cutter->first, cutter->end)) {
        have = cutter->strips->of_item[item];
        operand->row_bytes =
            operand->row_bytes / operand_width(operand) * (have.hi - have.lo);
        operand->tensor = strip_of(cutter, item);
    }
    if (takes == TAKES_SAME)
        take_columns(operand, y, have.lo);
    else
        *there = have;
}

static Step *cut_step(Cutter *cutter, int32_t step)
{
    const Step *s = cutter->strips->all->program->step.at[step];
    const Columns y = cutter->strips->of_step[step];
    Step *other = arena_copy(cutter->arena, s, sizeof *s);
    other->operand = arena_copy(cutter->arena, s->operand,
                                (size_t)s->n_operand * sizeof *s->operand);
    other->room = (size_t)s->n_operand;
    other->params =
        arena_copy(cutter->arena, s->params, s->kernel->params_size);
    other->macs = macs_of(s, y);
    other->strip = cutter->number, other->first_column = y.lo,
    other->end_column = y.hi;
    Columns there = { 0, operand_width(s->operand + 1) };
    for (int k = 0; k < other->n_operand; k++) {
        if (!other->operand[k].tensor)
            continue;
        int64_t at;
        cut_operand(cutter, step, other->operand + k, k,
                    cutter->strips->all
                        ->of[tensor_root(other->operand[k].tensor, &at)->id],
                    y, &there);
    }
    s->kernel->rules->cut(s, other->params, y, there);
    return other;
}

void strip_steps(Strips *strips, Arena *a, const Program *p, int32_t first,
                 int32_t end, int32_t result, Columns y, int32_t number,
                 Steps *out)
{
    Cutter cutter = { strips, a,
                      p,      first,
                      end,    result,
                      number, NEW_ARRAY(a, Tensor *, strips->all->item.n + 1) };
    const bool found = strip_find(strips, first, end, result, y);
    assert(found);
    (void)found;
    for (int32_t k = first; k < end; k++)
        VEC_PUSH(a, &out->step, cut_step(&cutter, k));
}
