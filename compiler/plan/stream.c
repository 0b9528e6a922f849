/* SPDX-License-Identifier: Apache-2.0
 * The demand-driven walk: to make a unit of a step whose result leaves the range, make the first
 * missing unit that it needs, and so on down. Rows are counted in the direction of the walk. */
#include "plan/stream.h"

#include <string.h>

#include "base/size.h"

enum {
    LEAST_BYTES = 128
}; /* that a call of an elementwise step or a move makes: less is less work than the call */

/* An operand of the range, its rule turned in the direction of the walk. */
typedef struct Port {
    int lane, cell;
    const Touch *touch;
    int64_t lane_from, lane_to; /* bytes of a pixel */
    int32_t base; /* the item's row that is row 0 of the operand, in the direction of the walk */
    bool write, alike; /* alike: unit u reads or makes row base + u */
} Port;

typedef struct Lane { /* a step */
    const Step *step;
    int32_t units, made;
    int32_t burst;   /* units that are made one after the other, where there are so many left */
    int port, ports; /* its operands, scratch left out: port[port .. port + ports - 1] */
    bool last;       /* writes what leaves the range */
} Lane;

typedef struct Cell { /* an item */
    const Item *item;
    int index;
    bool from, to;       /* made before, alive after */
    int32_t rows, keep;  /* keep: most rows alive at once */
    int makers, readers; /* ports, in Walk.maker and Walk.reader from these on */
    int n_makers, n_readers;
} Cell;

typedef struct Walk {
    Arena *arena;
    const Items *all;
    int32_t first, end;
    bool backward;
    int32_t pixels;
    VEC(Lane) lane;
    VEC(Port) port;
    VEC(Cell) cell;
    int *maker, *reader;
    uint8_t *order;
    int32_t calls, room;
    int under, over; /* cells; -1 */
    int64_t distance;
    int64_t rings, most; /* bytes of the rings so far; beyond which the walk is of no use */
} Walk;

bool stream_takes(const Items *all, int32_t step)
{
    const Step *s = all->program->step.at[step];
    if (s->control || s->loop_end >= 0 || s->units > UINT16_MAX)
        return false;
    for (const Touch *t = touch_begin(all, step); t < touch_end(all, step); t++)
        if (all->item.at[t->item].fixed)
            return false;
    return true;
}

bool stream_ascends(const Items *all, int32_t first, int32_t end)
{
    for (int32_t i = first; i < end; i++)
        if (all->program->step.at[i]->accumulates || all->program->step.at[i]->pushed)
            return true;
    return false;
}

/* ---- setting up ---- */

/* Streams are short: a search among their cells costs less than a table of all items for each of
 * them. */
static int cell_of(Walk *w, int item)
{
    for (size_t i = w->cell.n; i-- > 0;)
        if (w->cell.at[i].index == item)
            return (int)i;
    const Item *it = w->all->item.at + item;
    VEC_PUSH(w->arena, &w->cell,
             ((Cell){ .item = it,
                      .index = item,
                      .from = it->first<w->first, .to = it->end> w->end,
                      .rows = it->rows }));
    return (int)w->cell.n - 1;
}

int32_t stream_burst(const Step *s, int32_t pixels)
{
    const Operand *o = s->operand;
    const int64_t pixel = o->tensor ? o->pixel * (int64_t)dtype_bits(o->tensor->dtype) / 8 : 0;
    if (s->pushed || !pixel || o->row_bytes < 1 || o->rows != s->units)
        return 1;
    const int64_t width = i64_max(1, o->row_bytes / pixel),
                  least = s->macs ? 1 : i64_min(i64_ceil_div(LEAST_BYTES, o->row_bytes), s->units);
    if (pixels < 2 || (width > 1 && pixels <= STREAM_PIXELS))
        return 1;
    if (!s->macs && pixels <= STREAM_PIXELS)
        return (int32_t)least;
    return (int32_t)i64_max(i64_max(1, pixels / width), width == 1 ? least : 1);
}

static void add_lane(Walk *w, int32_t step)
{
    const Step *s = w->all->program->step.at[step];
    Lane lane = {
        .step = s, .units = s->units, .burst = stream_burst(s, w->pixels), .port = (int)w->port.n
    };
    bool leaves = false;
    for (const Touch *t = touch_begin(w->all, step); t < touch_end(w->all, step); t++) {
        if (t->operand->scratch)
            continue;
        const int c = cell_of(w, t->item);
        const bool write = t->operand->write;
        if (write && w->cell.at[c].to)
            leaves = true;
        const int32_t base =
            w->backward ? w->cell.at[c].rows - t->row0 - t->operand->rows : t->row0;
        const int64_t from = t->operand->part ? t->lane : 0;
        const int64_t to = t->operand->part
                               ? from + t->operand->part * dtype_bits(t->operand->tensor->dtype) / 8
                               : INT64_MAX;
        VEC_PUSH(w->arena, &w->port,
                 ((Port){ (int)w->lane.n, c, t, from, to, base, write,
                          write ? !t->all_units
                                : t->by_row && t->operand->rows == s->units &&
                                      (t->operand->rule.kind == ROWS_SAME ||
                                       t->operand->rule.kind == ROWS_UNIT) }));
    }
    lane.ports = (int)w->port.n - lane.port;
    lane.last = leaves;
    VEC_PUSH(w->arena, &w->lane, lane);
}

static void list_ports(Walk *w)
{
    w->maker = NEW_ARRAY(w->arena, int, w->port.n + 1);
    w->reader = NEW_ARRAY(w->arena, int, w->port.n + 1);
    int makers = 0, readers = 0;
    for (size_t c = 0; c < w->cell.n; c++) {
        Cell *cell = w->cell.at + c;
        cell->makers = makers;
        cell->readers = readers;
        for (size_t i = 0; i < w->port.n; i++) {
            if (w->port.at[i].cell != (int)c)
                continue;
            if (w->port.at[i].write)
                w->maker[makers++] = (int)i;
            else
                w->reader[readers++] = (int)i;
        }
        cell->n_makers = makers - cell->makers;
        cell->n_readers = readers - cell->readers;
    }
}

/* Are all its rows made here, one by one? How others see them does not matter. */
static bool made_by_rows(const Walk *w, const Cell *c)
{
    for (int k = 0; k < c->n_makers; k++) {
        const Touch *t = w->port.at[w->maker[c->makers + k]].touch;
        if (!t->by_row || t->operand->rows != c->item->rows)
            return false;
    }
    return c->n_makers > 0;
}

/* The dying input that the largest result may lie over. */
static void pick_pair(Walk *w)
{
    w->under = w->over = -1;
    int64_t best = 0;
    for (size_t i = 0; i < w->cell.n; i++)
        for (size_t o = 0; o < w->cell.n; o++) {
            const Cell *in = w->cell.at + i, *out = w->cell.at + o;
            if (!in->from || in->to || in->n_makers || out->from || !out->to ||
                !made_by_rows(w, out))
                continue;
            const int64_t gain = i64_min(in->item->size, out->item->size);
            if (gain > best)
                best = gain, w->under = (int)i, w->over = (int)o;
        }
}

/* ---- walking ---- */

static Rows need(const Walk *w, const Port *p, int32_t u)
{
    const Cell *c = w->cell.at + p->cell;
    if (p->alike && p->base + u < c->rows)
        return (Rows){ p->base + u, p->base + u + 1 };
    if (!w->backward)
        return touch_rows(w->all, p->touch, u);
    const Rows r = touch_rows(w->all, p->touch, w->lane.at[p->lane].units - 1 - u);
    return (Rows){ c->rows - r.hi, c->rows - r.lo };
}

static int32_t burst_of(const Lane *l)
{
    return l->burst < l->units - l->made ? l->burst : l->units - l->made;
}

/* What the next units of its lane need, as far as it goes. */
static Rows need_now(const Walk *w, const Port *p)
{
    const Lane *l = w->lane.at + p->lane;
    Rows all = need(w, p, l->made);
    for (int32_t u = 1; u < burst_of(l); u++) {
        const Rows r = need(w, p, l->made + u);
        if (r.lo < r.hi)
            all = (Rows){ all.lo < all.hi ? all.lo : r.lo,
                          (int32_t)i64_max(all.lo < all.hi ? all.hi : 0, r.hi) };
    }
    return all;
}

/* Do they touch channels in common? A part of a tensor may be read long before another is made. */
static bool meet(const Port *p, const Port *q)
{
    return p->lane_from < q->lane_to && q->lane_from < p->lane_to;
}

/* Rows of a cell that are complete as far as `reader` sees them. */
static int32_t ready(const Walk *w, const Cell *c, const Port *reader)
{
    int32_t rows = c->rows;
    for (int k = 0; k < c->n_makers; k++) {
        const Port *p = w->port.at + w->maker[c->makers + k];
        if (!meet(p, reader))
            continue;
        const Lane *l = w->lane.at + p->lane;
        const int32_t made = l->made == l->units ? c->rows : p->alike ? p->base + l->made : 0;
        if (made < rows)
            rows = made;
    }
    return rows;
}

/* The first row that some reader still needs. */
static int32_t oldest(const Walk *w, const Cell *c)
{
    int32_t row = c->rows;
    for (int k = 0; k < c->n_readers; k++) {
        const Port *p = w->port.at + w->reader[c->readers + k];
        const Lane *l = w->lane.at + p->lane;
        if (l->made < l->units)
            row = (int32_t)i64_min(row, need(w, p, l->made).lo);
    }
    return row;
}

/* The step that must make a unit before lane k can, or -1. */
static int missing(const Walk *w, int k)
{
    const Lane *l = w->lane.at + k;
    for (int i = 0; i < l->ports; i++) {
        const Port *p = w->port.at + l->port + i;
        const Cell *c = w->cell.at + p->cell;
        if (p->write || !c->n_makers)
            continue;
        const Rows r = need_now(w, p);
        if (r.hi <= r.lo || ready(w, c, p) >= r.hi)
            continue;
        int best = -1; /* parts of one tensor go in step */
        for (int m = 0; m < c->n_makers; m++) {
            const Port *q = w->port.at + w->maker[c->makers + m];
            const Lane *by = w->lane.at + q->lane;
            if (by->made == by->units || !meet(p, q) || (q->alike && q->base + by->made >= r.hi))
                continue;
            if (best < 0 || by->made < w->lane.at[best].made)
                best = q->lane;
        }
        if (best >= 0)
            return best;
    }
    return -1;
}

/* The first row that is not made by all its makers, or the row that is made now. */
static int32_t unfinished(const Walk *w, const Cell *c)
{
    int32_t row = c->rows;
    for (int k = 0; k < c->n_makers; k++) {
        const Port *p = w->port.at + w->maker[c->makers + k];
        const Lane *l = w->lane.at + p->lane;
        if (l->made < l->units)
            row = (int32_t)i64_min(row, p->alike ? p->base + l->made : 0);
    }
    return row;
}

static void note_rows(Walk *w, const Lane *l)
{
    for (int i = 0; i < l->ports; i++) {
        const Port *p = w->port.at + l->port + i;
        if (!p->write)
            continue;
        Cell *c = w->cell.at + p->cell;
        const int32_t top = p->alike ? p->base + l->made + burst_of(l) : c->rows;
        const int32_t from = (int32_t)i64_min(oldest(w, c), unfinished(w, c));
        const int32_t keep = (int32_t)i64_max(c->keep, i64_max(1, top - from));
        if (!c->from && !c->to && !c->item->whole)
            w->rings += (keep - c->keep) * c->item->row_bytes;
        c->keep = keep;
        if (p->cell != w->over || w->under < 0)
            continue;
        const Cell *in = w->cell.at + w->under;
        w->distance =
            i64_max(w->distance, top * c->item->row_bytes - oldest(w, in) * in->item->row_bytes);
    }
}

static bool make(Walk *w, int k)
{
    Lane *l = w->lane.at + k;
    note_rows(w, l);
    if (w->calls + burst_of(l) > w->room || w->rings > w->most)
        return false;
    for (int32_t n = burst_of(l); n > 0; n--) {
        w->order[w->calls++] = (uint8_t)k;
        l->made++;
    }
    return true;
}

/* Of the steps whose results leave: the one that has made the smallest part. */
static int next_goal(const Walk *w)
{
    int best = -1;
    for (size_t k = 0; k < w->lane.n; k++) {
        const Lane *l = w->lane.at + k;
        if (!l->last || l->made == l->units)
            continue;
        if (best < 0 ||
            (int64_t)l->made * w->lane.at[best].units < (int64_t)w->lane.at[best].made * l->units)
            best = (int)k;
    }
    return best;
}

static bool walk(Walk *w, int64_t *budget)
{
    int stack[STREAM_STEPS + 1];
    for (int goal = next_goal(w); goal >= 0; goal = next_goal(w)) {
        int depth = 0;
        stack[depth++] = goal;
        while (depth) {
            if (--*budget < 0)
                return false;
            const int k = stack[depth - 1], m = missing(w, k);
            if (m >= 0) {
                if (depth > STREAM_STEPS)
                    return false;
                stack[depth++] = m;
            } else {
                if (!make(w, k))
                    return false;
                depth--;
            }
        }
    }
    return true;
}

/* ---- result ---- */

static void collect(Walk *w, Stream *out)
{
    int64_t scratch = 0, rings = 0;
    for (size_t i = 0; i < w->cell.n; i++) {
        const Cell *c = w->cell.at + i;
        if (c->from || c->to)
            continue;
        const int32_t rows =
            c->item->whole ? c->rows : (int32_t)i64_min(c->rows, i64_max(1, c->keep));
        VEC_PUSH(w->arena, &out->ring, ((Ring){ c->index, rows }));
        rings += items_round(w->all, rows * c->item->row_bytes);
    }
    for (int32_t s = w->first; s < w->end; s++) {
        int64_t own = 0;
        for (const Touch *t = touch_begin(w->all, s); t < touch_end(w->all, s); t++)
            if (t->operand->scratch)
                own += w->all->item.at[t->item].size;
        scratch = i64_max(scratch, own);
    }
    out->scratch = scratch;
    out->bytes = rings + scratch + items_round(w->all, 2 * (int64_t)w->lane.n);
    out->under = w->under < 0 ? -1 : w->cell.at[w->under].index;
    out->over = w->over < 0 ? -1 : w->cell.at[w->over].index;
    out->distance = w->distance;
    if (w->backward && w->under >= 0)
        out->distance += tensor_bytes(w->cell.at[w->under].item->root) -
                         tensor_bytes(w->cell.at[w->over].item->root);
    out->order = w->order;
    out->calls = w->calls;
}

/* Rings that are whole tensors, and the most that a result over an input can save, are known
 * before. */
static void set_most(Walk *w, int64_t most)
{
    for (size_t i = 0; i < w->cell.n; i++)
        if (!w->cell.at[i].from && !w->cell.at[i].to && w->cell.at[i].item->whole)
            w->rings += w->cell.at[i].item->size;
    w->most = most;
    if (w->under >= 0)
        w->most += i64_min(w->cell.at[w->under].item->size, w->cell.at[w->over].item->size);
}

bool stream_walk(Arena *a, const Items *all, int32_t first, int32_t end, bool backward,
                 int32_t pixels, int64_t most, int64_t *budget, Stream *out)
{
    Walk w = {
        .arena = a, .all = all, .first = first, .end = end, .backward = backward, .pixels = pixels
    };
    *out = (Stream){ .first = first, .end = end, .backward = backward, .under = -1, .over = -1 };
    for (int32_t s = first; s < end; s++)
        w.room += all->program->step.at[s]->units;
    /* What stays comes first: there are many streams, and what a walk needs for itself is larger.
     */
    w.order = NEW_ARRAY(a, uint8_t, w.room + 1);
    out->ring.room = (size_t)(touch_begin(all, end) - touch_begin(all, first));
    out->ring.at = NEW_ARRAY(a, Ring, out->ring.room);
    const ArenaMark mark = arena_mark(a);
    for (int32_t s = first; s < end; s++)
        add_lane(&w, s);
    list_ports(&w);
    pick_pair(&w);
    set_most(&w, most);
    const bool done = walk(&w, budget);
    if (done)
        collect(&w, out);
    else
        out->beyond = w.rings > w.most;
    arena_release(a, mark);
    return done;
}
