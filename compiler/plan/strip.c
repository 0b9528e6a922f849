/* SPDX-License-Identifier: Apache-2.0
 * The table of kernels that can make some columns of their result, and the steps made for them. No kernel knows
 * of strips: a window that begins at another column is another padding, and a strip of a tensor is a part of its rows. */
#include "plan/strip.h"

#include <assert.h>
#include <string.h>

#include "base/size.h"
#include "kernels/move.h"
#include "kernels/nd.h"

/* ---- the table ---- */

/* The field of a parameter structure by name. */
static int32_t *field(const Step *s, void *params, const char *name)
{
    for (int i = 0; i < s->kernel->fields; i++)
        if (!strcmp(s->kernel->field[i].name, name)) return (int32_t *)(void *)((unsigned char *)params + s->kernel->field[i].offset);
    assert(!"a window without that field");
    return NULL;
}

static int32_t value(const Step *s, const char *name) { return *field(s, s->params, name); }

static int32_t width_of(const Operand *o)
{
    const int64_t pixel = o->pixel * (int64_t)dtype_bits(o->tensor->dtype) / 8;
    return pixel ? (int32_t)(o->row_bytes / pixel) : 0;
}

/* How a kernel makes columns y of its result, its other images being there from column `origin` on, `width` wide. */
typedef struct StripRow {
    const char *kernel, *params;                        /* NULL: any */
    bool (*takes)(const Step *s);
    Columns (*needs)(const Step *s, Columns y);         /* of operand 1, before it is clipped; NULL: the same columns */
    void (*cut)(const Step *s, void *params, Columns y, int32_t origin, int32_t width);
} StripRow;

static bool window_takes(const Step *s)
{
    const RowKind k = s->operand[1].rule.kind;
    return (k == ROWS_WINDOW || k == ROWS_SAME) && value(s, "iw") == width_of(s->operand + 1) && value(s, "ow") == width_of(s->operand);
}

static Columns window_needs(const Step *s, Columns y)
{
    const int32_t sw = value(s, "sw"), pw = value(s, "pw"), extent = (value(s, "kw") - 1) * value(s, "dw") + 1;
    return (Columns){ y.lo * sw - pw, (y.hi - 1) * sw - pw + extent };
}

static void window_cut(const Step *s, void *params, Columns y, int32_t origin, int32_t width)
{
    *field(s, params, "pw") += origin - y.lo * value(s, "sw");
    *field(s, params, "iw") = width;
    *field(s, params, "ow") = y.hi - y.lo;
}

static bool pixels_takes(const Step *s) { return value(s, "pixels") == width_of(s->operand); }

static void pixels_cut(const Step *s, void *params, Columns y, int32_t origin, int32_t width)
{
    *field(s, params, "pixels") = y.hi - y.lo;
    (void)origin, (void)width;
}

static bool flat_takes(const Step *s)
{
    const inlay_flat_params *p = s->params;
    return p->n == width_of(s->operand) * p->pixel && p->pixel == s->operand->pixel;
}

static void flat_cut(const Step *s, void *params, Columns y, int32_t origin, int32_t width)
{
    inlay_flat_params *p = params;
    p->n = (y.hi - y.lo) * p->pixel;
    (void)s, (void)origin, (void)width;
}

/* Loops over pixels and channels; operands without rows must not differ from pixel to pixel. */
static bool nest_takes(const Step *s, int32_t rank, int32_t rows, int32_t pixel, const int32_t *n, const int32_t *const *stride)
{
    if (rank != 2 || pixel != 0 || !(rows & 1) || n[0] != width_of(s->operand)) return false;
    for (int k = 1; k < s->n_operand; k++)
        if (!(rows >> k & 1) && stride[k][0]) return false;
    return true;
}

static bool nd2_takes(const Step *s)
{
    const inlay_nd2_params *p = s->params;
    const int32_t *const stride[] = { NULL, p->a, p->b };
    return nest_takes(s, p->rank, p->rows, p->pixel, p->n, stride);
}

static bool nd3_takes(const Step *s)
{
    const inlay_nd3_params *p = s->params;
    const int32_t *const stride[] = { NULL, p->a, p->b, p->c };
    return nest_takes(s, p->rank, p->rows, p->pixel, p->n, stride);
}

static void nest_cut(const Step *s, void *params, Columns y, int32_t origin, int32_t width)
{
    field(s, params, "n")[0] = y.hi - y.lo;
    (void)origin, (void)width;
}

/* Planes to an image: its source has no rows. */
static bool move_takes(const Step *s)
{
    const inlay_move_params *p = s->params;
    return p->rank == 2 && p->rows == 1 && p->pixel == 0 && p->n[0] == width_of(s->operand);
}

static void move_cut(const Step *s, void *params, Columns y, int32_t origin, int32_t width)
{
    inlay_move_params *p = params;
    p->n[0] = y.hi - y.lo;
    p->x0 += y.lo * p->x[0];
    (void)s, (void)origin, (void)width;
}

static const StripRow rows[] = {
    { "conv_f32", NULL, window_takes, window_needs, window_cut },
    { "conv_act_f32", NULL, window_takes, window_needs, window_cut },
    { "dwconv_f32", NULL, window_takes, window_needs, window_cut },
    { "dwconv_act_f32", NULL, window_takes, window_needs, window_cut },
    { "dwpw_f32", NULL, window_takes, window_needs, window_cut },
    { NULL, "pool", window_takes, window_needs, window_cut },
    { NULL, "affine", pixels_takes, NULL, pixels_cut },
    { NULL, "affine_conv", pixels_takes, NULL, pixels_cut },
    { NULL, "flat", flat_takes, NULL, flat_cut },
    { NULL, "nd2", nd2_takes, NULL, nest_cut },
    { NULL, "nd3", nd3_takes, NULL, nest_cut },
    { NULL, "move", move_takes, NULL, move_cut },
};

static const StripRow *row_of(const Step *s)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].kernel ? rows[i].kernel : rows[i].params, rows[i].kernel ? s->kernel->name : s->kernel->params)) return rows + i;
    return NULL;
}

/* ---- ranges ---- */

enum Relation { COLUMNS_NONE, COLUMNS_SAME, COLUMNS_WINDOW };   /* of an operand to the result's */

static enum Relation relation(const Step *s, int k)
{
    const Operand *o = s->operand + k;
    if (k == 0) return COLUMNS_SAME;
    if (k == 1 && row_of(s)->needs) return COLUMNS_WINDOW;
    return o->rows == s->units && o->rule.kind == ROWS_SAME && width_of(o) == width_of(s->operand) ? COLUMNS_SAME : COLUMNS_NONE;
}

Strips strips_new(Arena *a, const Items *all)
{
    Strips s = { .all = all };
    s.parted = NEW_ARRAY(a, bool, all->item.n + 1);
    s.of_item = NEW_ARRAY(a, Columns, all->item.n + 1);
    s.of_step = NEW_ARRAY(a, Columns, all->program->step.n + 1);
    for (size_t i = 0; i < all->touch.n; i++)
        if (all->touch.at[i].operand->part) s.parted[all->touch.at[i].item] = true;
    return s;
}

static bool is_image(const Operand *o)
{
    const Shape *s = &o->tensor->shape;
    return s->rank >= 3 && s->dim[s->rank - 1] == o->pixel && s->dim[s->rank - 2] == width_of(o) && !o->tensor->view_of && !o->pitch;
}

bool strip_takes(const Strips *s, int32_t step)
{
    const Step *t = s->all->program->step.at[step];
    const StripRow *r = row_of(t);
    if (!r || t->n_out != 1 || t->accumulates || t->units != t->operand->rows || !t->operand->strided || !stream_takes(s->all, step) || !r->takes(t)) return false;
    for (int k = 0; k < t->n_operand; k++)
        if (t->operand[k].tensor && !t->operand[k].scratch && relation(t, k) && !is_image(t->operand + k)) return false;
    return true;
}

int32_t strip_result(const Strips *s, int32_t first, int32_t end, int32_t *columns)
{
    int32_t result = -1;
    for (int32_t k = first; k < end; k++)
        for (const Touch *t = touch_begin(s->all, k); t < touch_end(s->all, k); t++) {
            const Item *it = s->all->item.at + t->item;
            if (!t->operand->write || (it->first >= first && it->end <= end)) continue;
            if (result >= 0 || it->first < first || s->parted[t->item] || !t->by_row || t->all_units) return -1;
            result = t->item;
            *columns = width_of(t->operand);
        }
    for (int32_t k = first; result >= 0 && k < end; k++)
        for (const Touch *t = touch_begin(s->all, k); t < touch_end(s->all, k); t++)
            if (t->item == result && t->operand->read) return -1;
    return result;
}

Columns strip_columns(int32_t width, int32_t k, int32_t n)
{
    return (Columns){ (int32_t)((int64_t)width * k / n), (int32_t)((int64_t)width * (k + 1) / n) };
}

static Columns hull(Columns a, Columns b)
{
    if (a.lo >= a.hi) return b;
    return (Columns){ (int32_t)i64_min(a.lo, b.lo), (int32_t)i64_max(a.hi, b.hi) };
}

static Columns needs(const Step *s, int k, Columns y)
{
    if (relation(s, k) == COLUMNS_SAME) return y;
    const Columns c = row_of(s)->needs(s, y);
    return (Columns){ (int32_t)i64_max(c.lo, 0), (int32_t)i64_min(c.hi, width_of(s->operand + k)) };
}

static bool within(const Item *it, int32_t first, int32_t end) { return it->first >= first && it->end <= end && !it->outside; }

/* A part of the pixels of a wider tensor can be narrowed to a strip of it, but not to some columns of that. */
static bool reads_find(Strips *s, int32_t step, int32_t first, int32_t end)
{
    const Step *t = s->all->program->step.at[step];
    const Columns y = s->of_step[step];
    for (const Touch *u = touch_begin(s->all, step); u < touch_end(s->all, step); u++) {
        const int k = (int)(u->operand - t->operand);
        if (u->operand->write || u->operand->scratch) continue;
        const bool inner = within(s->all->item.at + u->item, first, end);
        if (!relation(t, k)) {
            if (inner) return false;
            continue;
        }
        const Columns c = needs(t, k, y);
        if (c.lo >= c.hi || !u->by_row || (relation(t, k) == COLUMNS_SAME && s->parted[u->item])) return false;
        if (inner) s->of_item[u->item] = hull(s->of_item[u->item], c);
    }
    return true;
}

bool strip_find(Strips *s, int32_t first, int32_t end, int32_t result, Columns y)
{
    for (const Touch *u = touch_begin(s->all, first); u < touch_begin(s->all, end); u++) s->of_item[u->item] = (Columns){ 0, 0 };
    for (int32_t k = end - 1; k >= first; k--) {
        for (const Touch *u = touch_begin(s->all, k); u < touch_end(s->all, k); u++)
            if (u->operand->write && !u->operand->scratch) s->of_step[k] = u->item == result ? y : s->of_item[u->item];
        if (s->of_step[k].lo >= s->of_step[k].hi || !reads_find(s, k, first, end)) return false;
    }
    return true;
}

static int64_t scratch_bytes(const Items *all, int32_t first, int32_t end)
{
    int64_t most = 0;
    for (int32_t k = first; k < end; k++) {
        int64_t own = 0;
        for (const Touch *t = touch_begin(all, k); t < touch_end(all, k); t++)
            if (t->operand->scratch) own += all->item.at[t->item].size;
        most = i64_max(most, own);
    }
    return most;
}

static int64_t macs_of(const Step *s, Columns y)
{
    const int32_t width = width_of(s->operand);
    return s->macs / width * (y.hi - y.lo) + s->macs % width * (y.hi - y.lo) / width;
}

bool strip_price(Strips *s, const Stream *whole, int32_t result, int32_t n, int64_t *bytes, int64_t *macs)
{
    const Items *all = s->all;
    const int64_t fixed = scratch_bytes(all, whole->first, whole->end) + items_round(all, 2 * (int64_t)(whole->end - whole->first));
    int32_t width = 0;
    strip_result(s, whole->first, whole->end, &width);
    *bytes = *macs = 0;
    for (int32_t k = 0; k < n; k++) {
        int64_t rings = 0;
        if (!strip_find(s, whole->first, whole->end, result, strip_columns(width, k, n))) return false;
        for (size_t i = 0; i < whole->ring.n; i++) {
            const Item *it = all->item.at + whole->ring.at[i].item;
            const Columns c = s->of_item[whole->ring.at[i].item];
            const Shape *shape = &it->root->shape;
            if (!it->scratch) rings += items_round(all, it->row_bytes / shape->dim[shape->rank - 2] * (c.hi - c.lo) * whole->ring.at[i].rows);
        }
        *bytes = i64_max(*bytes, rings + fixed);
        for (int32_t t = whole->first; t < whole->end; t++) *macs = i64_add(*macs, macs_of(all->program->step.at[t], s->of_step[t]));
    }
    return true;
}

/* ---- steps ---- */

typedef struct Cutter {
    Strips *strips;
    Arena *arena;
    Program *program;
    int32_t first, end, result, number;
    Tensor **made;              /* by item: its strip */
} Cutter;

static Tensor *strip_of(Cutter *c, int32_t item)
{
    if (c->made[item]) return c->made[item];
    const Tensor *root = c->strips->all->item.at[item].root;
    const Columns w = c->strips->of_item[item];
    Shape shape = root->shape;
    shape.dim[shape.rank - 2] = w.hi - w.lo;
    Tensor *t = graph_add_tensor(c->program->graph, arena_printf(c->arena, "%s[%d:%d]", root->name, w.lo, w.hi), root->dtype, shape);
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
    if (y.lo == origin && (y.hi - y.lo) * pixel == o->row_bytes) return;
    o->pitch = o->row_bytes / pixel * o->pixel;
    o->offset += (y.lo - origin) * pixel;
    o->part = (y.hi - y.lo) * o->pixel;
}

static void cut_operand(Cutter *c, const Step *s, Operand *o, int k, int32_t item, Columns y, int32_t *origin, int32_t *width)
{
    const Item *it = item < 0 ? NULL : c->strips->all->item.at + item;
    if (o->scratch) {
        o->tensor = scratch_of(c, o->tensor);
        return;
    }
    if (!relation(s, k)) return;
    Columns have = { 0, width_of(o) };
    o->pixels = (PixelRule){ 0 };
    if (it && within(it, c->first, c->end)) {
        have = c->strips->of_item[item];
        o->row_bytes = o->row_bytes / width_of(o) * (have.hi - have.lo);
        o->tensor = strip_of(c, item);
    }
    if (relation(s, k) == COLUMNS_SAME) take_columns(o, y, have.lo);
    else *origin = have.lo, *width = have.hi - have.lo;
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
    int32_t origin = 0, width = width_of(s->operand + 1);
    for (int k = 0; k < t->n_operand; k++) {
        if (!t->operand[k].tensor) continue;
        int64_t at;
        cut_operand(c, s, t->operand + k, k, c->strips->all->of[tensor_root(t->operand[k].tensor, &at)->id], y, &origin, &width);
    }
    row_of(s)->cut(s, t->params, y, origin, width);
    return t;
}

void strip_steps(Strips *s, Arena *a, Program *p, int32_t first, int32_t end, int32_t result, Columns y, int32_t number, Steps *out)
{
    Cutter c = { s, a, p, first, end, result, number, NEW_ARRAY(a, Tensor *, s->all->item.n + 1) };
    const bool found = strip_find(s, first, end, result, y);
    assert(found);
    (void)found;
    for (int32_t k = first; k < end; k++) VEC_PUSH(a, &out->step, cut_step(&c, k));
}
