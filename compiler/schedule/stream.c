/* SPDX-License-Identifier: Apache-2.0
 * The demand-driven walk: to make a unit of a step whose result leaves the range, make the first
 * missing unit that it needs, and so on down. Rows are counted in the direction of the walk. */
#include "schedule/stream.h"

#include "base/size.h"
#include "schedule/goals.h"
#include "schedule/repeat.h"

enum {
    LEAST_BYTES = 128
}; /* that a call of an elementwise step or a move makes: less is less work than the call */

bool stream_takes(const Items *all, int32_t step)
{
    const Step *s = all->program->step.at[step];
    if (step_jumps(s) || s->fetch || s->units > UINT16_MAX)
        return false;
    for (const Touch *touch = touch_begin(all, step);
         touch < touch_end(all, step); touch++)
        if (touch->operand->write && all->item.at[touch->item].fixed)
            return false;
    return true;
}

bool stream_ascends(const Items *all, int32_t first, int32_t end)
{
    for (int32_t i = first; i < end; i++)
        if (all->program->step.at[i]->accumulates ||
            all->program->step.at[i]->pushed)
            return true;
    return false;
}

/* Of the result; 0: it has none. */
static int64_t bytes_of_pixel(const Operand *result)
{
    if (!result->tensor)
        return 0;
    return result->pixel * (int64_t)dtype_bits(result->tensor->dtype) / 8;
}

int32_t stream_burst(const Step *step, int32_t pixels)
{
    const Operand *result = step->operand;
    const bool narrow = pixels <= STREAM_PIXELS;
    if (!step->n_operand || step->pushed)
        return 1;
    const int64_t pixel = bytes_of_pixel(result);
    if (!pixel || result->row_bytes < 1)
        return 1;
    if (result->rows != step->units)
        return 1;
    const int64_t width = i64_max(1, result->row_bytes / pixel);
    int64_t least = 1;
    if (!step->macs)
        least =
            i64_min(i64_ceil_div(LEAST_BYTES, result->row_bytes), step->units);
    if (pixels < 2 || (width > 1 && narrow))
        return 1;
    if (!step->macs && narrow)
        return (int32_t)least;
    if (width > 1)
        least = 1;
    return (int32_t)i64_max(i64_max(1, pixels / width), least);
}

static int last_host(const Walk *walk, int cell)
{
    while (walk->hosted && walk->cell.at[cell].host >= 0)
        cell = walk->cell.at[cell].host;
    return cell;
}

static bool is_guest(const Walk *walk, int cell)
{
    bool guest = walk->cell.at[cell].host >= 0;
    for (; walk->cell.at[cell].host >= 0; cell = walk->cell.at[cell].host)
        guest &= !walk->cell.at[cell].apart;
    return guest;
}

/* ---- walking ---- */

/* The same unit is asked for again and again, until it is made. */
static Rows need(const Walk *walk, Port *port, int32_t u)
{
    if (port->asked != u + 1) {
        port->rows = port_rows(walk, port, u);
        port->asked = u + 1;
    }
    return port->rows;
}

static int32_t burst_of(const Lane *l)
{
    return l->burst < l->units - l->made ? l->burst : l->units - l->made;
}

/* What units [unit, end) of its lane need. */
static Rows need_all(const Walk *walk, const Port *port, int32_t unit,
                     int32_t end)
{
    Rows all = { 0 };
    for (; unit < end; unit++) {
        const Rows rows = port_rows(walk, port, unit);
        const bool any = all.lo < all.hi;
        if (rows.lo >= rows.hi)
            continue;
        all.lo = any ? all.lo : rows.lo;
        all.hi = any ? (int32_t)i64_max(all.hi, rows.hi) : rows.hi;
    }
    return all;
}

/* What the next units of its lane need, as far as it goes: the last needs what comes last. */
static Rows need_now(const Walk *walk, Port *port)
{
    const Lane *l = walk->lane.at + port->lane;
    const int32_t end = l->made + burst_of(l);
    const Rows first = need(walk, port, l->made);
    if (l->made + 1 == end)
        return first;
    const Rows last = port_rows(walk, port, end - 1);
    if (first.lo >= first.hi || last.lo >= last.hi)
        return need_all(walk, port, l->made, end);
    return (Rows){ first.lo, (int32_t)i64_max(first.hi, last.hi) };
}

/* Do they touch channels in common? A part of a tensor may be read long before another is made. */
static bool meet(const Port *port, const Port *q)
{
    return port->lane_from < q->lane_to && q->lane_from < port->lane_to;
}

/* Rows of a cell that are complete as far as `reader` sees them. */
static int32_t ready(const Walk *walk, const Cell *c, const Port *reader)
{
    int32_t rows = c->rows;
    for (int k = 0; k < c->n_makers; k++) {
        const Port *p = walk->port.at + walk->maker[c->makers + k];
        if (!meet(p, reader))
            continue;
        const Lane *lane = walk->lane.at + p->lane;
        const int32_t some = p->alike ? p->base + lane->made : 0;
        const int32_t made = lane->made == lane->units ? c->rows : some;
        rows = made < rows ? made : rows;
    }
    return rows;
}

/* The first row that some reader still needs. */
static int32_t oldest(const Walk *walk, const Cell *c)
{
    int32_t row = c->rows;
    for (int k = 0; k < c->n_readers; k++) {
        Port *p = walk->port.at + walk->reader[c->readers + k];
        const Lane *l = walk->lane.at + p->lane;
        if (l->made < l->units)
            row = (int32_t)i64_min(row, need(walk, p, l->made).lo);
    }
    return row;
}

/* Of the makers of a cell the one that has made least, of those that make some of the rows below
 * `end` that a reader needs: parts of one tensor go in step. -1: there is none. */
static int maker_of(const Walk *walk, const Cell *c, const Port *reader,
                    int32_t end)
{
    int best = -1;
    for (int k = 0; k < c->n_makers; k++) {
        const Port *port = walk->port.at + walk->maker[c->makers + k];
        const Lane *lane = walk->lane.at + port->lane;
        if (lane->made == lane->units || !meet(reader, port))
            continue;
        if (port->alike && port->base + lane->made >= end)
            continue;
        if (best < 0 || lane->made < walk->lane.at[best].made)
            best = port->lane;
    }
    return best;
}

/* The step that must make a unit before lane k can, or -1. What an operand needs and has it keeps.
 */
static int missing(const Walk *walk, int k)
{
    Lane *l = walk->lane.at + k;
    for (; l->met < l->ports; l->met++) {
        Port *p = walk->port.at + l->port + l->met;
        const Cell *c = walk->cell.at + p->cell;
        if (p->write || !c->n_makers)
            continue;
        const Rows r = need_now(walk, p);
        if (r.hi <= r.lo || ready(walk, c, p) >= r.hi)
            continue;
        const int maker = maker_of(walk, c, p, r.hi);
        if (maker >= 0)
            return maker;
    }
    return -1;
}

/* The first row that is not made by all its makers, or the row that is made now. */
static int32_t unfinished(const Walk *walk, const Cell *c)
{
    int32_t row = c->rows;
    for (int k = 0; k < c->n_makers; k++) {
        const Port *p = walk->port.at + walk->maker[c->makers + k];
        const Lane *l = walk->lane.at + p->lane;
        if (l->made < l->units)
            row = (int32_t)i64_min(row, p->alike ? p->base + l->made : 0);
    }
    return row;
}

static bool is_ring(const Cell *c)
{
    return is_inside(c) && !c->item->whole;
}

/* So many rows of an inner ring are alive at once; one is counted from the begin on. */
static void keep_rows(Walk *walk, Cell *c, int32_t rows)
{
    const int32_t more = rows - (int32_t)i64_max(c->keep, 1);
    if (more > 0 && is_ring(c))
        walk->rings += more * c->item->row_bytes;
    c->keep = (int32_t)i64_max(c->keep, rows);
}

/* Rows up to `top` of a ring are made; those of a guest take no room of their own. */
static void note_made(Walk *walk, Cell *c, int32_t top)
{
    const int32_t from = (int32_t)i64_min(oldest(walk, c), unfinished(walk, c));
    const int32_t rows = (int32_t)i64_max(1, top - from);
    if (c->host < 0)
        keep_rows(walk, c, rows);
    else
        c->keep = (int32_t)i64_max(c->keep, rows);
}

/* Rows up to `top` of a cell are made: in the place of its last host there are those, too, that are
 * needed of the host. Where they are apart in the end they take no less. */
static void note_both(Walk *walk, int cell, int32_t top)
{
    Cell *last = walk->cell.at + last_host(walk, cell);
    const int32_t from =
        (int32_t)i64_min(oldest(walk, last), unfinished(walk, last));
    keep_rows(walk, last, top - from);
}

/* Rows up to `top` of a cell are made by a lane: does another still need those of a guest? */
static void note_guests(Walk *walk, const Lane *lane, int cell, int32_t top)
{
    for (int i = 0; i < lane->ports; i++) {
        const Port *port = walk->port.at + lane->port + i;
        Cell *c = walk->cell.at + port->cell;
        if (port->write || c->host != cell)
            continue;
        for (int k = 0; k < c->n_readers; k++) {
            Port *p = walk->port.at + walk->reader[c->readers + k];
            const Lane *l = walk->lane.at + p->lane;
            if (l != lane && l->made < l->units &&
                need(walk, p, l->made).lo < top)
                c->apart = true;
        }
    }
}

/* The first row of the input that may lie under the result which is still needed while lane l makes
 * its next units: kernels that do not say that they go row by row read all rows of a call to its
 * end. */
static int32_t oldest_under(const Walk *walk, const Lane *l)
{
    const Cell *under = walk->cell.at + walk->under;
    Port *port = walk->port.at + l->port;
    const Port *end = port + l->ports;
    int32_t row = oldest(walk, under);
    for (; port < end; port++) {
        const Reuse reuse = port->touch->operand->reuse;
        if (port->write || port->cell != walk->under)
            continue;
        if (reuse != REUSE_NONE)
            continue;
        const Rows rows = need(walk, port, l->called);
        row = (int32_t)i64_min(row, rows.lo);
    }
    return row;
}

static void note_distance(Walk *walk, const Lane *l, const Cell *c, int32_t top)
{
    const Cell *in = walk->cell.at + walk->under;
    const int64_t first = oldest_under(walk, l);
    const int64_t needed = first * in->item->row_bytes;
    const int64_t made = top * c->item->row_bytes;
    walk->distance = i64_max(walk->distance, made - needed);
}

static void note_rows(Walk *walk, const Lane *l)
{
    for (int i = 0; i < l->writes; i++) {
        const Port *p = walk->port.at + l->port + i;
        if (!p->write)
            continue;
        Cell *c = walk->cell.at + p->cell;
        const int32_t top =
            p->alike ? p->base + l->made + burst_of(l) : c->rows;
        if (walk->hosted)
            note_guests(walk, l, p->cell, top);
        if (c->keep < top && is_ring(c))
            note_made(walk, c, top);
        if (c->host >= 0)
            note_both(walk, p->cell, top);
        if (walk->under >= 0 && last_host(walk, p->cell) == walk->over)
            note_distance(walk, l, c, top);
    }
}

/* What is made after units of the same step goes into their call. */
static bool begins_call(const Walk *walk, int k)
{
    const int32_t last = walk->calls - 1;
    return last < 0 || walk->order[last] != k;
}

static bool make(Walk *walk, int k)
{
    Lane *l = walk->lane.at + k;
    if (begins_call(walk, k))
        l->called = l->made;
    note_rows(walk, l);
    const int32_t burst = burst_of(l);
    if (walk->calls + burst > walk->room || walk->rings > walk->most)
        return false;
    for (int32_t n = 0; n < burst; n++)
        walk->order[walk->calls++] = (uint8_t)k;
    l->made += burst;
    l->met = l->reads;
    return true;
}

/* Makes the next unit of a goal, and what it needs. */
static bool make_goal(Walk *walk, int goal, int64_t *budget)
{
    int stack[STREAM_STEPS + 1];
    int depth = 0;
    stack[depth++] = goal;
    while (depth) {
        if (--*budget < 0)
            return false;
        const int k = stack[depth - 1];
        const int m = missing(walk, k);
        if (m >= 0) {
            if (depth > STREAM_STEPS)
                return false;
            stack[depth++] = m;
        } else {
            if (!make(walk, k))
                return false;
            depth--;
        }
    }
    return true;
}

static bool walk(Walk *w, int64_t *budget)
{
    Repeat repeat = repeat_new(w);
    GoalTurn turn = { 0 };
    int goal = goals_next(w, &turn);
    while (goal >= 0) {
        if (!make_goal(w, goal, budget))
            return false;
        repeat_goal(&repeat, w, budget);
        goal = goals_next(w, &turn);
    }
    return true;
}

/* ---- result ---- */

/* Is there in the place of a cell a guest that must have all its rows? */
static bool hosts_whole(const Walk *walk, const Cell *host)
{
    const int cells = walk->hosted ? (int)walk->cell.n : 0;
    for (int i = 0; i < cells; i++) {
        const Cell *c = walk->cell.at + i;
        const Cell *last = walk->cell.at + last_host(walk, i);
        if (last != host)
            continue;
        if (c->item->whole && is_guest(walk, i))
            return true;
    }
    return false;
}

static int32_t rows_of_ring(const Walk *walk, const Cell *c)
{
    if (c->item->whole || !is_inside(c) || hosts_whole(walk, c))
        return c->rows;
    return (int32_t)i64_min(c->rows, i64_max(1, c->keep));
}

/* Returns their bytes. */
static int64_t collect_rings(Walk *walk, Stream *out)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < walk->cell.n; i++) {
        const Cell *c = walk->cell.at + i;
        if (!is_inside(c))
            continue;
        const bool guest = is_guest(walk, (int)i);
        const Cell *last = c;
        if (guest)
            last = walk->cell.at + last_host(walk, (int)i);
        const Ring ring = {
            .item = c->index,
            .rows = rows_of_ring(walk, last),
            .host = guest ? last->index : -1,
        };
        VEC_PUSH(walk->arena, &out->ring, ring);
        if (!guest)
            bytes += items_round(walk->all, ring.rows * c->item->row_bytes);
    }
    return bytes;
}

/* The most that a step of the walk needs for itself. */
static int64_t scratch_of(const Walk *walk)
{
    int64_t scratch = 0;
    for (int32_t s = walk->first; s < walk->end; s++) {
        const Touch *end = touch_end(walk->all, s);
        int64_t own = 0;
        for (const Touch *touch = touch_begin(walk->all, s); touch < end;
             touch++) {
            if (touch->operand->scratch)
                own += walk->all->item.at[touch->item].size;
        }
        scratch = i64_max(scratch, own);
    }
    return scratch;
}

/* The item of the result that lies over one that is read, and how far they must be apart. */
static void collect_pair(const Walk *walk, Stream *out)
{
    out->distance = walk->distance;
    if (walk->under >= 0)
        out->under = walk->cell.at[walk->under].index;
    if (walk->over >= 0)
        out->over = walk->cell.at[walk->over].index;
    if (!walk->backward || walk->under < 0)
        return;
    out->distance += tensor_bytes(walk->cell.at[walk->under].item->root);
    out->distance -= tensor_bytes(walk->cell.at[walk->over].item->root);
}

static void collect(Walk *walk, Stream *out)
{
    const int64_t counters = 2 * (int64_t)walk->lane.n;
    const int64_t rings = collect_rings(walk, out);
    out->scratch = scratch_of(walk);
    out->bytes = rings + out->scratch + items_round(walk->all, counters);
    out->least = out->bytes;
    collect_pair(walk, out);
    out->order = walk->order;
    out->calls = walk->calls;
}

/* What a ring takes before a row is made: all of it, or a row. */
static int64_t least_of(const Cell *cell)
{
    if (!is_inside(cell) || cell->host >= 0)
        return 0;
    return cell->item->whole ? cell->item->size : cell->item->row_bytes;
}

/* Rings that are whole tensors, and the most that a result over an input can save, are known
 * before. */
static void set_most(Walk *walk, StreamMost most)
{
    for (size_t i = 0; i < walk->cell.n; i++)
        walk->rings += least_of(walk->cell.at + i);
    walk->most = most.bytes;
    if (walk->under >= 0)
        walk->most += i64_min(walk->cell.at[walk->under].item->size,
                              walk->cell.at[walk->over].item->size);
    if (walk->most < INT64_MAX / most.times)
        walk->most *= most.times;
}

/* What stays comes first: there are many streams, and what a walk needs for itself is larger. */
static void make_room(Walk *walk, Stream *out)
{
    const Items *all = walk->all;
    const Touch *begin = touch_begin(all, walk->first);
    for (int32_t s = walk->first; s < walk->end; s++)
        walk->room += all->program->step.at[s]->units;
    walk->order = NEW_ARRAY(walk->arena, uint8_t, walk->room + 1);
    out->ring.room = (size_t)(touch_begin(all, walk->end) - begin);
    out->ring.at = NEW_ARRAY(walk->arena, Ring, out->ring.room);
}

static void set_bursts(Walk *walk, int32_t pixels)
{
    for (size_t k = 0; k < walk->lane.n; k++) {
        Lane *lane = walk->lane.at + k;
        lane->burst = stream_burst(lane->step, pixels);
    }
}

bool stream_walk(Arena *a, const Items *all, int32_t first, int32_t end,
                 bool backward, int32_t pixels, StreamMost most,
                 int64_t *budget, Stream *out)
{
    Walk w = {
        .arena = a,
        .all = all,
        .first = first,
        .end = end,
        .backward = backward,
    };
    *out = (Stream){
        .first = first,
        .end = end,
        .backward = backward,
        .under = -1,
        .over = -1,
        .tail = -1,
    };
    make_room(&w, out);
    const ArenaMark mark = arena_mark(a);
    const int64_t before = *budget;
    lanes_list(&w);
    set_bursts(&w, pixels);
    set_most(&w, most);
    const bool done = !lanes_rewrite(&w) && walk(&w, budget);
    if (done)
        collect(&w, out);
    else
        out->beyond = w.rings > w.most;
    out->visits = before - *budget;
    arena_release(a, mark);
    return done;
}

Overlap stream_overlap(const Stream *stream)
{
    const int64_t far = INT64_MAX / 4;
    return (Overlap){
        .in = stream->under,
        .out = stream->over,
        .by_row = true,
        .forward = stream->backward ? far : stream->distance,
        .backward = stream->backward ? stream->distance : far,
    };
}
