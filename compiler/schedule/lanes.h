/* SPDX-License-Identifier: Apache-2.0
 * The steps, items and operands of a range that becomes a stream, as a walk sees them: what
 * stream.c and lanes.c share. */
#ifndef INLAY_SCHEDULE_LANES_H
#define INLAY_SCHEDULE_LANES_H

#include "schedule/items.h"

/* An operand of the range, its rule turned in the direction of the walk. */
typedef struct Port {
    int lane, cell;
    const Touch *touch;
    int64_t lane_from, lane_to; /* bytes of a pixel */
    /* the item's row that is row 0 of the operand, in the direction of the walk */
    int32_t base;
    bool write, alike; /* alike: unit u reads or makes row base + u */
    /* 1 + the unit that was asked for last, and the rows that it needs */
    int32_t asked;
    Rows rows;
} Port;

typedef struct Lane { /* a step */
    const Step *step;
    int32_t units, made;
    /* units that were made when its call began: those behind it belong to it */
    int32_t called;
    /* units that are made one after the other, where there are so many left */
    int32_t burst;
    /* its operands, scratch left out: port[port .. port + ports - 1] */
    int port, ports;
    /* the first of them that is read, and behind the last that is written: outputs come first */
    int reads, writes;
    /* so many of them, from the first on, have what the next units need */
    int met;
    bool last; /* writes what leaves the range */
} Lane;

typedef struct Cell { /* an item */
    const Item *item;
    int index;
    bool from, to; /* made before, alive after */
    /* keep: most rows alive at once, with those of its guests */
    int32_t rows, keep;
    /* ports, in Walk.maker and Walk.reader from these on */
    int makers, readers;
    int n_makers, n_readers;
    int host; /* a cell made of this one in its place, -1: none */
    /* rows are needed that would be overwritten there */
    bool apart;
} Cell;

typedef struct Walk {
    Arena *arena;
    const Items *all;
    int32_t first, end;
    bool backward;
    VEC(Lane) lane;
    VEC(Port) port;
    VEC(Cell) cell;
    VEC(int) goal; /* lanes whose results leave */
    int *maker, *reader;
    uint8_t *order;
    int32_t calls, room;
    int under, over; /* cells; -1 */
    bool hosted;     /* some cell has a host */
    int64_t distance;
    /* bytes of the rings so far; beyond which the walk is of no use */
    int64_t rings, most;
} Walk;

/* Does it live within the range? Then it may be a ring. */
static inline bool is_inside(const Cell *c)
{
    return !c->from && !c->to;
}

/* Fills in lanes, ports and cells, the pair of items that may overlap, and the hosts. */
void lanes_list(Walk *walk);
/* The rows of its cell that a unit of the port's lane needs, in the direction of the walk. */
Rows port_rows(const Walk *walk, const Port *port, int32_t unit);
/* Do two steps write what cannot be told apart? Such writes come in the model's order, which a
 * stream does not keep. */
bool lanes_rewrite(const Walk *walk);

#endif
