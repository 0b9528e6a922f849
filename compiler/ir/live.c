/* SPDX-License-Identifier: Apache-2.0
 * Bytes of the arena in use at each step: blocks come and go in the order of the steps, in a tree
 * over the places where blocks begin and end that knows how much of it lies under one. */
#include <stdlib.h>

#include "base/size.h"
#include "ir/program.h"

/* Leaf k, at n + k, is from place[k] to place[k + 1]; node i has the children 2i and 2i + 1. */
typedef struct Cover {
    const Program *p;
    int64_t *place;
    int32_t places, n;    /* n: leaves, a power of two */
    int64_t *wide, *over; /* bytes of a node, and of those that lie under a block */
    int32_t *blocks;      /* that lie over all of a node and not over all of its parent */
} Cover;

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static void list_places(Cover *c, Arena *a)
{
    const size_t n = c->p->plan.block.n;
    c->place = NEW_ARRAY(a, int64_t, 2 * n + 1);
    for (size_t i = 0; i < n; i++) {
        const Block *b = c->p->plan.block.at + i;
        c->place[2 * i] = b->offset;
        c->place[2 * i + 1] = b->offset + b->bytes;
    }
    if (n)
        qsort(c->place, 2 * n, sizeof *c->place, by_value);
    for (size_t i = 0; i < 2 * n; i++)
        if (!c->places || c->place[c->places - 1] != c->place[i])
            c->place[c->places++] = c->place[i];
}

static Cover cover_new(Arena *a, const Program *p)
{
    Cover c = { .p = p, .n = 1 };
    list_places(&c, a);
    while (c.n < c.places)
        c.n *= 2;
    c.wide = NEW_ARRAY(a, int64_t, 2 * (size_t)c.n);
    c.over = NEW_ARRAY(a, int64_t, 2 * (size_t)c.n);
    c.blocks = NEW_ARRAY(a, int32_t, 2 * (size_t)c.n);
    for (int32_t k = 0; k + 1 < c.places; k++)
        c.wide[c.n + k] = c.place[k + 1] - c.place[k];
    for (int32_t i = c.n; i-- > 1;)
        c.wide[i] = c.wide[2 * i] + c.wide[2 * i + 1];
    return c;
}

static void sum_up(Cover *c, int32_t i)
{
    if (c->blocks[i])
        c->over[i] = c->wide[i];
    else
        c->over[i] = i >= c->n ? 0 : c->over[2 * i] + c->over[2 * i + 1];
}

static void add_to(Cover *c, int32_t i, int32_t more)
{
    c->blocks[i] += more;
    sum_up(c, i);
}

static int32_t leaf_of(const Cover *c, int64_t offset)
{
    const int64_t *at = bsearch(&offset, c->place, (size_t)c->places, sizeof *c->place, by_value);
    return c->n + (int32_t)(at - c->place);
}

/* A block comes (more is 1) or goes (-1). */
static void add_block(Cover *c, const Block *b, int32_t more)
{
    if (b->bytes <= 0)
        return;
    const int32_t first = leaf_of(c, b->offset), end = leaf_of(c, b->offset + b->bytes);
    for (int32_t i = first, k = end; i < k; i /= 2, k /= 2) {
        if (i % 2)
            add_to(c, i++, more);
        if (k % 2)
            add_to(c, --k, more);
    }
    for (int32_t i = first / 2; i; i /= 2)
        sum_up(c, i);
    for (int32_t i = (end - 1) / 2; i; i /= 2)
        sum_up(c, i);
}

/* Blocks by a step: head[step], then next[block]; -1 ends. */
typedef struct BlocksOf {
    int32_t *head, *next;
} BlocksOf;

static BlocksOf list_blocks(const Program *p, Arena *a, bool ends)
{
    BlocksOf l = { NEW_ARRAY(a, int32_t, p->step.n + 1),
                   NEW_ARRAY(a, int32_t, p->plan.block.n + 1) };
    for (size_t i = 0; i <= p->step.n; i++)
        l.head[i] = -1;
    for (size_t i = p->plan.block.n; i-- > 0;) {
        const Block *b = p->plan.block.at + i;
        const int64_t at = i64_min(ends ? i64_max(b->end, b->first) : b->first, (int64_t)p->step.n);
        l.next[i] = l.head[at];
        l.head[at] = (int32_t)i;
    }
    return l;
}

void program_count_live(Program *p)
{
    Arena *scratch = &p->graph->store->scratch;
    int64_t *live = NEW_ARRAY(p->graph->arena, int64_t, p->step.n + 1);
    const ArenaMark mark = arena_mark(scratch);
    Cover c = cover_new(scratch, p);
    const BlocksOf born = list_blocks(p, scratch, false), gone = list_blocks(p, scratch, true);
    for (int32_t k = 0; k < (int32_t)p->step.n; k++) {
        for (int32_t i = born.head[k]; i >= 0; i = born.next[i])
            add_block(&c, p->plan.block.at + i, 1);
        for (int32_t i = gone.head[k]; i >= 0; i = gone.next[i])
            add_block(&c, p->plan.block.at + i, -1);
        live[k] = c.over[1];
    }
    arena_release(scratch, mark);
    p->plan.live = live;
}
