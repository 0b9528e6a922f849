/* SPDX-License-Identifier: Apache-2.0
 * Which columns of its tensors a range needs, and the steps made for them. A strip of a tensor is a
 * part of its rows. */
#include "plan/strip.h"

#include <assert.h>

#include "base/size.h"
#include "plan/strip_table.h"

/* ---- ranges ---- */

enum { MOST_ROUNDS = 4 };
enum Relation { COLUMNS_NONE, COLUMNS_SAME, COLUMNS_WINDOW }; /* of an operand to the result's */

static enum Relation relation(const Step *s, int k)
{
    const Operand *o = s->operand + k;
    if (strip_scatters(s))
        return k == 1 && o->rows == s->units ? COLUMNS_SAME : COLUMNS_NONE;
    if (k == 0)
        return COLUMNS_SAME;
    if (k == 1 && strip_row(s)->needs)
        return COLUMNS_WINDOW;
    return o->rows == s->units && o->rule.kind == ROWS_SAME &&
                   strip_width(o) == strip_width(s->operand)
               ? COLUMNS_SAME
               : COLUMNS_NONE;
}

Strips strips_new(Arena *a, const Items *all)
{
    Strips s = { .all = all };
    s.parted = NEW_ARRAY(a, bool, all->item.n + 1);
    s.of_item = NEW_ARRAY(a, Columns, all->item.n + 1);
    s.of_step = NEW_ARRAY(a, Columns, all->program->step.n + 1);
    for (size_t i = 0; i < all->touch.n; i++)
        if (all->touch.at[i].operand->part)
            s.parted[all->touch.at[i].item] = true;
    return s;
}

static bool is_image(const Operand *o)
{
    const Shape *s = &o->tensor->shape;
    return s->rank >= 3 && s->dim[s->rank - 1] == o->pixel &&
           s->dim[s->rank - 2] == strip_width(o) && !o->tensor->view_of && !o->pitch;
}

bool strip_takes(const Strips *s, int32_t step)
{
    const Step *t = s->all->program->step.at[step];
    const StripRow *r = strip_row(t);
    if (!r || t->n_out != 1 || t->accumulates || t->piece || !stream_takes(s->all, step) ||
        !r->takes(t))
        return false;
    if (!strip_scatters(t) && (t->units != t->operand->rows || !t->operand->strided))
        return false;
    for (int k = 0; k < t->n_operand; k++)
        if (t->operand[k].tensor && !t->operand[k].scratch && relation(t, k) &&
            !is_image(t->operand + k))
            return false;
    return true;
}

/* Can strips of the item be made in full rows, or where nobody looks? */
static bool leaves(const Strips *s, const Touch *t, int32_t first)
{
    const Item *it = s->all->item.at + t->item;
    if (strip_scatters(s->all->program->step.at[t->step]))
        return it->outside;
    return it->first >= first && !s->parted[t->item] && t->by_row && !t->all_units;
}

int32_t strip_result(const Strips *s, int32_t first, int32_t end, int32_t *columns)
{
    int32_t result = -1;
    for (int32_t k = first; k < end; k++)
        for (const Touch *t = touch_begin(s->all, k); t < touch_end(s->all, k); t++) {
            const Item *it = s->all->item.at + t->item;
            if (!t->operand->write || (it->first >= first && it->end <= end))
                continue;
            const Step *by = s->all->program->step.at[k];
            if (result >= 0 || !leaves(s, t, first))
                return -1;
            result = t->item;
            *columns = strip_width(by->operand + strip_scatters(by));
        }
    for (int32_t k = first; result >= 0 && k < end; k++)
        for (const Touch *t = touch_begin(s->all, k); t < touch_end(s->all, k); t++)
            if (t->item == result && t->operand->read)
                return -1;
    return result;
}

Columns strip_columns(int32_t width, Cut c, int32_t k)
{
    return (Columns){ k ? c.first + (k - 1) * c.each : 0,
                      k == c.n - 1 ? width : c.first + k * c.each };
}

static Columns needs(const Step *s, int k, Columns y)
{
    if (relation(s, k) == COLUMNS_SAME)
        return y;
    const Columns c = strip_row(s)->needs(s, y);
    return (Columns){ (int32_t)i64_max(c.lo, 0),
                      (int32_t)i64_min(c.hi, strip_width(s->operand + k)) };
}

static bool within(const Item *it, int32_t first, int32_t end)
{
    return it->first >= first && it->end <= end && !it->outside;
}

/* The step's result must have columns c, too; false: what leaves the range is what was asked for.
 */
static bool widen(Strips *s, int32_t step, int32_t first, int32_t end, Columns c)
{
    for (const Touch *u = touch_begin(s->all, step); u < touch_end(s->all, step); u++) {
        if (!u->operand->write || u->operand->scratch)
            continue;
        if (!within(s->all->item.at + u->item, first, end))
            return false;
        s->of_item[u->item] = columns_hull(s->of_item[u->item], c);
    }
    return true;
}

static bool same(Columns a, Columns b)
{
    return a.lo == b.lo && a.hi == b.hi;
}

/* A part of the pixels of a wider tensor can be narrowed to a strip of it, but not to some columns
 * of that: whoever reads or makes one goes over all columns that the strip has. */
static bool reads_find(Strips *s, int32_t step, int32_t first, int32_t end)
{
    const Step *t = s->all->program->step.at[step];
    for (const Touch *u = touch_begin(s->all, step); u < touch_end(s->all, step); u++) {
        const int k = (int)(u->operand - t->operand);
        if (u->operand->write || u->operand->scratch)
            continue;
        const bool inner = within(s->all->item.at + u->item, first, end),
                   exact = relation(t, k) == COLUMNS_SAME && s->parted[u->item];
        if (!relation(t, k)) {
            if (inner)
                return false;
            continue;
        }
        Columns c = needs(t, k, s->of_step[step]);
        if (c.lo >= c.hi || !u->by_row || (exact && !inner))
            return false;
        if (inner)
            c = s->of_item[u->item] = columns_hull(s->of_item[u->item], c);
        if (exact && !same(c, s->of_step[step]) && !widen(s, step, first, end, c))
            return false;
    }
    return true;
}

/* Do all who write an item write the same columns, and those who read parts of one read them all?
 */
static bool settled(const Strips *s, int32_t first, int32_t end, int32_t result)
{
    for (const Touch *u = touch_begin(s->all, first); u < touch_begin(s->all, end); u++) {
        const Step *t = s->all->program->step.at[u->step];
        if (u->operand->scratch || u->item == result ||
            !within(s->all->item.at + u->item, first, end))
            continue;
        const bool exact =
            u->operand->write ||
            (s->parted[u->item] && relation(t, (int)(u->operand - t->operand)) == COLUMNS_SAME);
        if (exact && !same(s->of_item[u->item], s->of_step[u->step]))
            return false;
    }
    return true;
}

static bool find_back(Strips *s, int32_t first, int32_t end, int32_t result, Columns y)
{
    for (int32_t k = end - 1; k >= first; k--) {
        for (const Touch *u = touch_begin(s->all, k); u < touch_end(s->all, k); u++)
            if (u->operand->write && !u->operand->scratch)
                s->of_step[k] = u->item == result ? y : s->of_item[u->item];
        if (s->of_step[k].lo >= s->of_step[k].hi || !reads_find(s, k, first, end))
            return false;
    }
    return true;
}

/* Once from the end to the beginning is enough, but for parts. Where a part is made of others (a
 * dense block), columns would grow each time round. */
bool strip_find(Strips *s, int32_t first, int32_t end, int32_t result, Columns y)
{
    for (const Touch *u = touch_begin(s->all, first); u < touch_begin(s->all, end); u++)
        s->of_item[u->item] = (Columns){ 0, 0 };
    for (int round = 0; round < MOST_ROUNDS; round++) {
        if (!find_back(s, first, end, result, y))
            return false;
        if (settled(s, first, end, result))
            return true;
    }
    return false;
}

static int64_t scratch_bytes(const Items *all, int32_t first, int32_t end)
{
    int64_t most = 0;
    for (int32_t k = first; k < end; k++) {
        int64_t own = 0;
        for (const Touch *t = touch_begin(all, k); t < touch_end(all, k); t++)
            if (t->operand->scratch)
                own += all->item.at[t->item].size;
        most = i64_max(most, own);
    }
    return most;
}

static int64_t macs_of(const Step *s, Columns y)
{
    const int32_t width = strip_width(s->operand);
    return s->macs / width * (y.hi - y.lo) + s->macs % width * (y.hi - y.lo) / width;
}

/* Bytes of one strip, its rings as `whole` has them; negative: it cannot be. */
static int64_t strip_bytes(Strips *s, const Stream *whole, int32_t result, Columns y)
{
    int64_t bytes = items_round(s->all, 2 * (int64_t)(whole->end - whole->first));
    if (!strip_find(s, whole->first, whole->end, result, y))
        return -1;
    for (size_t i = 0; i < whole->ring.n; i++) {
        const Item *it = s->all->item.at + whole->ring.at[i].item;
        const Columns c = s->of_item[whole->ring.at[i].item];
        const Shape *shape = &it->root->shape;
        if (!it->scratch)
            bytes += items_round(s->all, it->row_bytes / shape->dim[shape->rank - 2] *
                                             (c.hi - c.lo) * whole->ring.at[i].rows);
    }
    return bytes;
}

bool strip_price(Strips *s, const Stream *whole, int32_t result, Cut cut, int64_t *bytes,
                 int64_t *macs)
{
    int32_t width = 0;
    strip_result(s, whole->first, whole->end, &width);
    *bytes = *macs = 0;
    for (int32_t k = 0; k < cut.n; k++) {
        const int64_t own = strip_bytes(s, whole, result, strip_columns(width, cut, k));
        if (own < 0)
            return false;
        *bytes = i64_max(*bytes, own);
        for (int32_t t = whole->first; t < whole->end; t++)
            *macs = i64_add(*macs, macs_of(s->all->program->step.at[t], s->of_step[t]));
    }
    *bytes += scratch_bytes(s->all, whole->first, whole->end);
    return true;
}

/* The most columns of the first strip, or the last, that take no more than `bytes`; `least` do. */
static int32_t widest_edge(Strips *s, const Stream *whole, int32_t result, int32_t width,
                           int32_t least, bool first, int64_t bytes)
{
    int32_t n = least;
    while (n + 1 < width &&
           strip_bytes(s, whole, result,
                       first ? (Columns){ 0, n + 1 } : (Columns){ width - n - 1, width }) <= bytes)
        n++;
    return n;
}

/* The first and the last strip are as wide as one between them takes bytes, less what their sum is
 * too much; or, with one strip fewer, more. */
static bool cut_by(Strips *s, const Stream *whole, int32_t result, int32_t width, int32_t each,
                   bool wide, Cut *c)
{
    const int32_t middle = (width - each) / 2;
    const int64_t bytes = strip_bytes(s, whole, result, (Columns){ middle, middle + each });
    if (bytes < 0)
        return false;
    const int32_t first = widest_edge(s, whole, result, width, each, true, bytes),
                  last = widest_edge(s, whole, result, width, each, false, bytes);
    const int32_t strict = (int32_t)i64_max(0, (width - first - last + each - 1) / each),
                  between = (int32_t)i64_max(0, strict - wide);
    const int32_t spare = first + last + between * each - width;
    *c = (Cut){ 2 + between, each,
                (int32_t)i64_max(1, i64_min(first - spare / 2, width - between * each - 1)),
                wide && strict };
    return true;
}

bool strip_next(Strips *s, const Stream *whole, int32_t result, Cut *c)
{
    int32_t width = 0;
    strip_result(s, whole->first, whole->end, &width);
    if (!c->n && width >= 2) {
        *c = (Cut){ 2, width / 2, width / 2, false };
        return true;
    }
    const int32_t each = c->wide ? c->each : c->each - 1 - c->each / 7;
    return each >= 1 && cut_by(s, whole, result, width, each, !c->wide, c);
}

/* ---- steps ---- */

typedef struct Cutter {
    Strips *strips;
    Arena *arena;
    Program *program;
    int32_t first, end, result, number;
    Tensor **made; /* by item: its strip */
} Cutter;

static Tensor *strip_of(Cutter *c, int32_t item)
{
    if (c->made[item])
        return c->made[item];
    const Tensor *root = c->strips->all->item.at[item].root;
    const Columns w = c->strips->of_item[item];
    Shape shape = root->shape;
    shape.dim[shape.rank - 2] = w.hi - w.lo;
    Tensor *t = graph_add_tensor(c->program->graph,
                                 arena_printf(c->arena, "%s[%d:%d]", root->name, w.lo, w.hi),
                                 root->dtype, shape);
    t->storage = STORE_ARENA;
    t->slot = -1;
    return c->made[item] = t;
}

static Tensor *scratch_of(Cutter *c, const Tensor *like)
{
    Tensor *t = graph_add_tensor(c->program->graph, NULL, like->dtype, like->shape);
    t->storage = STORE_ARENA;
    t->slot = -1;
    return t;
}

/* The operand becomes columns y of an image that begins with column `origin`. */
static void take_columns(Operand *o, Columns y, int32_t origin)
{
    const int64_t pixel = o->pixel * (int64_t)dtype_bits(o->tensor->dtype) / 8;
    if (y.lo == origin && (y.hi - y.lo) * pixel == o->row_bytes)
        return;
    o->pitch = o->row_bytes / pixel * o->pixel;
    o->offset += (y.lo - origin) * pixel;
    o->part = (y.hi - y.lo) * o->pixel;
}

static void cut_operand(Cutter *c, const Step *s, Operand *o, int k, int32_t item, Columns y,
                        int32_t *origin, int32_t *width)
{
    const Item *it = item < 0 ? NULL : c->strips->all->item.at + item;
    if (o->scratch) {
        o->tensor = scratch_of(c, o->tensor);
        return;
    }
    if (!relation(s, k))
        return;
    Columns have = { 0, strip_width(o) };
    o->pixels = (PixelRule){ 0 };
    if (it && within(it, c->first, c->end)) {
        have = c->strips->of_item[item];
        o->row_bytes = o->row_bytes / strip_width(o) * (have.hi - have.lo);
        o->tensor = strip_of(c, item);
    }
    if (relation(s, k) == COLUMNS_SAME)
        take_columns(o, y, have.lo);
    else
        *origin = have.lo, *width = have.hi - have.lo;
}

static Step *cut_step(Cutter *c, int32_t step)
{
    const Step *s = c->strips->all->program->step.at[step];
    const Columns y = c->strips->of_step[step];
    Step *t = arena_copy(c->arena, s, sizeof *s);
    t->operand = arena_copy(c->arena, s->operand, (size_t)s->n_operand * sizeof *s->operand);
    t->room = (size_t)s->n_operand;
    t->params = arena_copy(c->arena, s->params, s->kernel->params_size);
    t->macs = macs_of(s, y);
    t->strip = c->number, t->first_column = y.lo, t->end_column = y.hi;
    int32_t origin = 0, width = strip_width(s->operand + 1);
    for (int k = 0; k < t->n_operand; k++) {
        if (!t->operand[k].tensor)
            continue;
        int64_t at;
        cut_operand(c, s, t->operand + k, k,
                    c->strips->all->of[tensor_root(t->operand[k].tensor, &at)->id], y, &origin,
                    &width);
    }
    strip_row(s)->cut(s, t->params, y, origin, width);
    return t;
}

void strip_steps(Strips *s, Arena *a, Program *p, int32_t first, int32_t end, int32_t result,
                 Columns y, int32_t number, Steps *out)
{
    Cutter c = { s, a, p, first, end, result, number, NEW_ARRAY(a, Tensor *, s->all->item.n + 1) };
    const bool found = strip_find(s, first, end, result, y);
    assert(found);
    (void)found;
    for (int32_t k = first; k < end; k++)
        VEC_PUSH(a, &out->step, cut_step(&c, k));
}
