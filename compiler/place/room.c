/* SPDX-License-Identifier: Apache-2.0 */
#include "place/room.h"

#include <assert.h>
#include <string.h>

#include "base/size.h"
#include "base/vec.h"
#include "place/problem.h"

enum { BLOCK = 192 };

typedef struct Gap {
    int64_t low, high;
} Gap;

typedef struct Block {
    int32_t n;
    int64_t most; /* of its gaps; perhaps more */
    Gap gap[BLOCK];
} Block;

struct Room {
    Arena *a;
    VEC(Block *) block; /* never empty; the last gap has no end */
    VEC(Block *) spare;
};

typedef struct Place {
    size_t block;
    int32_t gap;
} Place;

static Block *block_new(Room *room)
{
    if (room->spare.n)
        return room->spare.at[--room->spare.n];
    return NEW(room->a, Block);
}

Room *room_new(Arena *arena)
{
    Room *room = NEW(arena, Room);
    room->a = arena;
    Block *b = block_new(room);
    b->n = 1;
    b->gap[0] = (Gap){ 0, INT64_MAX };
    b->most = INT64_MAX;
    VEC_PUSH(arena, &room->block, b);
    return room;
}

/* The first gap that ends above x; there always is one. */
static Place first_above(const Room *room, int64_t x)
{
    size_t low = 0;
    size_t high = room->block.n - 1;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const Block *b = room->block.at[middle];
        if (b->gap[b->n - 1].high > x)
            high = middle;
        else
            low = middle + 1;
    }
    const Block *b = room->block.at[low];
    int32_t from = 0;
    int32_t to = b->n - 1;
    while (from < to) {
        const int32_t middle = (from + to) / 2;
        if (b->gap[middle].high > x)
            to = middle;
        else
            from = middle + 1;
    }
    return (Place){ low, from };
}

int64_t room_find(const Room *room, int64_t size, int64_t align, int64_t from)
{
    Place at = first_above(room, from);
    for (;; at.block++, at.gap = 0) {
        const Block *b = room->block.at[at.block];
        for (int32_t k = at.gap; b->most >= size && k < b->n; k++) {
            const int64_t y = place_up(i64_max(b->gap[k].low, from), align);
            if (y <= b->gap[k].high - size)
                return y;
        }
    }
}

bool room_next(const Room *room, int64_t low, int64_t high, int64_t *from,
               int64_t *to)
{
    const Place at = first_above(room, low);
    const Gap g = room->block.at[at.block]->gap[at.gap];
    *from = i64_max(low, g.low);
    *to = i64_min(high, g.high);
    return *from < *to;
}

static void measure(Block *block)
{
    block->most = 0;
    for (int32_t k = 0; k < block->n; k++)
        block->most =
            i64_max(block->most, block->gap[k].high - block->gap[k].low);
}

static void insert_block(Room *room, size_t at, Block *b)
{
    VEC_PUSH(room->a, &room->block, b);
    memmove(room->block.at + at + 1, room->block.at + at,
            sizeof b * (room->block.n - 1 - at));
    room->block.at[at] = b;
}

/* Puts a gap in front of the one at a place. */
static void insert_gap(Room *room, Place at, Gap g)
{
    Block *b = room->block.at[at.block];
    if (b->n == BLOCK) {
        Block *half = block_new(room);
        half->n = BLOCK / 2;
        b->n -= half->n;
        memcpy(half->gap, b->gap + b->n, sizeof *b->gap * (size_t)half->n);
        measure(half);
        measure(b);
        insert_block(room, at.block + 1, half);
        if (at.gap > b->n) {
            at.gap -= b->n;
            b = half;
        }
    }
    memmove(b->gap + at.gap + 1, b->gap + at.gap,
            sizeof *b->gap * (size_t)(b->n - at.gap));
    b->gap[at.gap] = g;
    b->n++;
    b->most = i64_max(b->most, g.high - g.low);
}

static void remove_gap(Room *room, Place at)
{
    Block *b = room->block.at[at.block];
    b->n--;
    memmove(b->gap + at.gap, b->gap + at.gap + 1,
            sizeof *b->gap * (size_t)(b->n - at.gap));
    measure(b);
    if (b->n)
        return;
    room->block.n--;
    memmove(room->block.at + at.block, room->block.at + at.block + 1,
            sizeof b * (room->block.n - at.block));
    VEC_PUSH(room->a, &room->spare, b);
}

void room_take(Room *room, int64_t low, int64_t high)
{
    const Place at = first_above(room, low);
    Block *b = room->block.at[at.block];
    Gap *g = b->gap + at.gap;
    const Gap before = { g->low, low };
    assert(g->low <= low && high <= g->high);
    if (g->high == high && g->low == low) {
        remove_gap(room, at);
        return;
    }
    if (g->high == high)
        g->high = low;
    else
        g->low = high;
    measure(b);
    if (before.low < low && g->high != low)
        insert_gap(room, at, before);
}

static Gap *gap_at(const Room *room, Place at)
{
    return room->block.at[at.block]->gap + at.gap;
}

/* The gap before the one at a place; its number is -1 where that is the first of all. */
static Place before_place(const Room *room, Place at)
{
    if (at.gap || !at.block)
        return (Place){ at.block, at.gap - 1 };
    const Block *block = room->block.at[at.block - 1];
    return (Place){ at.block - 1, block->n - 1 };
}

static void extend_gap(const Room *room, Place at, int64_t low, int64_t high)
{
    Block *block = room->block.at[at.block];
    *gap_at(room, at) = (Gap){ low, high };
    block->most = i64_max(block->most, high - low);
}

void room_free(Room *room, int64_t low, int64_t high)
{
    const Place next = first_above(room, low);
    const Place last = before_place(room, next);
    const Gap after = *gap_at(room, next);
    assert(high <= after.low);
    Gap before = { 0, -1 };
    if (last.gap >= 0)
        before = *gap_at(room, last);
    const bool joins = last.gap >= 0 && before.high == low;
    if (after.low == high) {
        extend_gap(room, next, joins ? before.low : low, after.high);
        if (joins)
            remove_gap(room, last);
    } else if (joins) {
        extend_gap(room, last, before.low, high);
    } else {
        insert_gap(room, next, (Gap){ low, high });
    }
}
