/* SPDX-License-Identifier: Apache-2.0
 * Lists the lanes of a range: a lane is a step, a port an operand of it, a cell an item that some
 * of them touch. */
#include "schedule/lanes.h"

#include "base/size.h"

/* What an earlier walk listed is told by what stands there: nothing is cleared between walks. */
static int cell_of(Walk *walk, int item)
{
    int32_t *listed = walk->all->listed + item;
    const int32_t n = (int32_t)walk->cell.n;
    if (*listed < n && walk->cell.at[*listed].index == item)
        return *listed;
    *listed = n;
    const Item *it = walk->all->item.at + item;
    const Cell cell = {
        .item = it,
        .index = item,
        .from = (it->first < walk->first),
        .to = (walk->end < it->end),
        .rows = it->rows,
        .host = -1,
    };
    VEC_PUSH(walk->arena, &walk->cell, cell);
    return n;
}

/* Does a unit need the row of the same number? */
static bool is_alike(const Step *step, const Touch *touch)
{
    const Operand *operand = touch->operand;
    const RowKind rule = operand->rule.kind;
    if (operand->write)
        return !touch->all_units;
    return touch->by_row && operand->rows == step->units &&
           (rule == ROWS_SAME || rule == ROWS_UNIT);
}

static Port port_of(const Walk *walk, const Step *step, const Touch *touch,
                    int cell)
{
    const Operand *operand = touch->operand;
    const int32_t rows = walk->cell.at[cell].rows;
    Port port = {
        .lane = (int)walk->lane.n,
        .cell = cell,
        .touch = touch,
        .lane_to = INT64_MAX,
        .base = touch->row0,
        .write = operand->write,
        .alike = is_alike(step, touch),
    };
    if (walk->backward)
        port.base = rows - touch->row0 - operand->rows;
    if (operand->part) {
        const int64_t bits = operand->part * dtype_bits(operand->tensor->dtype);
        port.lane_from = touch->lane;
        port.lane_to = touch->lane + bits / 8;
    }
    return port;
}

/* One more operand of the lane, which is listed last. */
static void add_port(Walk *walk, Lane *lane, const Port *port)
{
    if (port->write && lane->reads == lane->ports)
        lane->reads++;
    lane->ports++;
    if (port->write)
        lane->writes = lane->ports;
    lane->last |= port->write && walk->cell.at[port->cell].to;
    VEC_PUSH(walk->arena, &walk->port, *port);
}

static void add_lane(Walk *walk, int32_t step)
{
    const Step *s = walk->all->program->step.at[step];
    const Touch *end = touch_end(walk->all, step);
    Lane lane = {
        .step = s,
        .units = s->units,
        .burst = 1,
        .port = (int)walk->port.n,
    };
    for (const Touch *touch = touch_begin(walk->all, step); touch < end;
         touch++) {
        if (touch->operand->scratch)
            continue;
        const int cell = cell_of(walk, touch->item);
        const Port port = port_of(walk, s, touch, cell);
        add_port(walk, &lane, &port);
    }
    lane.met = lane.reads;
    if (lane.last)
        VEC_PUSH(walk->arena, &walk->goal, (int)walk->lane.n);
    VEC_PUSH(walk->arena, &walk->lane, lane);
}

static void count_ports(Walk *walk)
{
    int makers = 0;
    int readers = 0;
    for (size_t i = 0; i < walk->port.n; i++) {
        const Port *port = walk->port.at + i;
        Cell *cell = walk->cell.at + port->cell;
        cell->n_makers += port->write;
        cell->n_readers += !port->write;
    }
    for (size_t c = 0; c < walk->cell.n; c++) {
        Cell *cell = walk->cell.at + c;
        cell->makers = makers;
        cell->readers = readers;
        makers += cell->n_makers;
        readers += cell->n_readers;
        cell->n_makers = 0;
        cell->n_readers = 0;
    }
}

static void list_ports(Walk *walk)
{
    walk->maker = NEW_ARRAY(walk->arena, int, walk->port.n + 1);
    walk->reader = NEW_ARRAY(walk->arena, int, walk->port.n + 1);
    count_ports(walk);
    for (size_t i = 0; i < walk->port.n; i++) {
        const Port *port = walk->port.at + i;
        Cell *cell = walk->cell.at + port->cell;
        if (port->write)
            walk->maker[cell->makers + cell->n_makers++] = (int)i;
        else
            walk->reader[cell->readers + cell->n_readers++] = (int)i;
    }
}

/* Does somebody need what the lane makes? */
static bool is_asked_for(const Walk *walk, const Lane *lane)
{
    for (int i = 0; i < lane->ports; i++) {
        const Port *port = walk->port.at + lane->port + i;
        const Cell *cell = walk->cell.at + port->cell;
        if (port->write && (cell->to || cell->n_readers))
            return true;
    }
    return false;
}

/* Steps whose results nobody reads, checks among them, run for themselves. */
static void aim_at_unread(Walk *walk)
{
    for (size_t k = 0; k < walk->lane.n; k++) {
        Lane *lane = walk->lane.at + k;
        if (lane->last || is_asked_for(walk, lane))
            continue;
        lane->last = true;
        VEC_PUSH(walk->arena, &walk->goal, (int)k);
    }
}

/* Are all its rows made here, one by one? How others see them does not matter. */
static bool made_by_rows(const Walk *walk, const Cell *c)
{
    for (int k = 0; k < c->n_makers; k++) {
        const Touch *t = walk->port.at[walk->maker[c->makers + k]].touch;
        if (!t->by_row || t->operand->rows != c->item->rows)
            return false;
    }
    return c->n_makers > 0;
}

static Rows rows_written(const Walk *walk, const Port *port)
{
    const Rows all = { 0, walk->cell.at[port->cell].rows };
    if (!port->alike)
        return all;
    return (Rows){ port->base, port->base + port->touch->operand->rows };
}

/* Channels and rows in common. */
static bool write_alike(const Walk *walk, const Port *one, const Port *other)
{
    const Rows a = rows_written(walk, one);
    const Rows b = rows_written(walk, other);
    return one->lane_from < other->lane_to && other->lane_from < one->lane_to &&
           a.lo < b.hi && b.lo < a.hi;
}

bool lanes_rewrite(const Walk *walk)
{
    for (size_t i = 0; i < walk->cell.n; i++) {
        const Cell *cell = walk->cell.at + i;
        const int *maker = walk->maker + cell->makers;
        for (int k = 1; k < cell->n_makers; k++)
            for (int other = 0; other < k; other++)
                if (write_alike(walk, walk->port.at + maker[k],
                                walk->port.at + maker[other]))
                    return true;
    }
    return false;
}

/* Is it an input that dies in the range? */
static bool dies(const Cell *c)
{
    return c->from && !c->to && !c->n_makers;
}

/* Is it a result that is made row by row? */
static bool is_born_by_rows(const Walk *walk, const Cell *c)
{
    return !c->from && c->to && made_by_rows(walk, c);
}

/* The dying input that the largest result may lie over. */
static void pick_pair(Walk *walk)
{
    const Cell *cell = walk->cell.at;
    int32_t *born = NEW_ARRAY(walk->arena, int32_t, walk->cell.n + 1);
    int32_t n = 0;
    int64_t best = 0;
    walk->under = -1;
    walk->over = -1;
    for (size_t i = 0; i < walk->cell.n; i++)
        if (is_born_by_rows(walk, cell + i))
            born[n++] = (int32_t)i;
    for (size_t i = 0; i < walk->cell.n; i++) {
        for (int32_t k = 0; dies(cell + i) && k < n; k++) {
            const int64_t gain =
                i64_min(cell[i].item->size, cell[born[k]].item->size);
            if (gain <= best)
                continue;
            best = gain;
            walk->under = (int)i;
            walk->over = born[k];
        }
    }
}

/* The cell that the lane makes alone, from its first row on; -1: there is none. */
static int lone_result(const Walk *walk, const Lane *lane)
{
    for (int i = 0; i < lane->ports; i++) {
        const Port *port = walk->port.at + lane->port + i;
        const Cell *c = walk->cell.at + port->cell;
        if (port->write)
            return c->from || c->n_makers != 1 ? -1 : port->cell;
    }
    return -1;
}

static void find_hosts(Walk *walk)
{
    for (size_t i = 0; i < walk->cell.n; i++) {
        Cell *c = walk->cell.at + i;
        const int32_t step = c->item->lent - 1;
        if (!is_inside(c) || !c->n_makers || step < walk->first)
            continue;
        c->host = lone_result(walk, walk->lane.at + step - walk->first);
        walk->hosted |= c->host >= 0;
    }
}

Rows port_rows(const Walk *walk, const Port *port, int32_t unit)
{
    const Cell *c = walk->cell.at + port->cell;
    if (port->alike && port->base + unit < c->rows)
        return (Rows){ port->base + unit, port->base + unit + 1 };
    if (!walk->backward)
        return touch_rows(walk->all, port->touch, unit);
    const int32_t units = walk->lane.at[port->lane].units;
    const Rows r = touch_rows(walk->all, port->touch, units - 1 - unit);
    return (Rows){ c->rows - r.hi, c->rows - r.lo };
}

void lanes_list(Walk *walk)
{
    for (int32_t s = walk->first; s < walk->end; s++)
        add_lane(walk, s);
    list_ports(walk);
    aim_at_unread(walk);
    pick_pair(walk);
    find_hosts(walk);
}
