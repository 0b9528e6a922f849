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
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static void list_places(Cover *cover, Arena *arena)
{
    const size_t n = cover->p->plan.block.n;
    cover->place = NEW_ARRAY(arena, int64_t, 2 * n + 1);
    for (size_t i = 0; i < n; i++) {
        const Block *b = cover->p->plan.block.at + i;
        cover->place[2 * i] = b->offset;
        cover->place[2 * i + 1] = b->offset + b->bytes;
    }
    if (n)
        qsort(cover->place, 2 * n, sizeof *cover->place, by_value);
    for (size_t i = 0; i < 2 * n; i++)
        if (!cover->places || cover->place[cover->places - 1] != cover->place[i])
            cover->place[cover->places++] = cover->place[i];
}

static Cover cover_new(Arena *arena, const Program *program)
{
    Cover cover = { .p = program, .n = 1 };
    list_places(&cover, arena);
    while (cover.n < cover.places)
        cover.n *= 2;
    cover.wide = NEW_ARRAY(arena, int64_t, 2 * (size_t)cover.n);
    cover.over = NEW_ARRAY(arena, int64_t, 2 * (size_t)cover.n);
    cover.blocks = NEW_ARRAY(arena, int32_t, 2 * (size_t)cover.n);
    for (int32_t k = 0; k + 1 < cover.places; k++)
        cover.wide[cover.n + k] = cover.place[k + 1] - cover.place[k];
    for (int32_t i = cover.n; i-- > 1;)
        cover.wide[i] = cover.wide[2 * i] + cover.wide[2 * i + 1];
    return cover;
}

static void sum_up(Cover *cover, int32_t i)
{
    if (cover->blocks[i])
        cover->over[i] = cover->wide[i];
    else
        cover->over[i] = i >= cover->n ? 0 : cover->over[2 * i] + cover->over[2 * i + 1];
}

static void add_to(Cover *cover, int32_t i, int32_t more)
{
    cover->blocks[i] += more;
    sum_up(cover, i);
}

static int32_t leaf_of(const Cover *cover, int64_t offset)
{
    const int64_t *at =
        bsearch(&offset, cover->place, (size_t)cover->places, sizeof *cover->place, by_value);
    return cover->n + (int32_t)(at - cover->place);
}

/* A block comes (more is 1) or goes (-1). */
static void add_block(Cover *cover, const Block *block, int32_t more)
{
    if (block->bytes <= 0)
        return;
    const int32_t first = leaf_of(cover, block->offset);
    const int32_t end = leaf_of(cover, block->offset + block->bytes);
    for (int32_t i = first, k = end; i < k; i /= 2, k /= 2) {
        if (i % 2)
            add_to(cover, i++, more);
        if (k % 2)
            add_to(cover, --k, more);
    }
    for (int32_t i = first / 2; i; i /= 2)
        sum_up(cover, i);
    for (int32_t i = (end - 1) / 2; i; i /= 2)
        sum_up(cover, i);
}

/* Blocks by a step: head[step], then next[block]; -1 ends. */
typedef struct BlocksOf {
    int32_t *head, *next;
} BlocksOf;

static BlocksOf list_blocks(const Program *program, Arena *arena, bool ends)
{
    BlocksOf l = { NEW_ARRAY(arena, int32_t, program->step.n + 1),
                   NEW_ARRAY(arena, int32_t, program->plan.block.n + 1) };
    for (size_t i = 0; i <= program->step.n; i++)
        l.head[i] = -1;
    for (size_t i = program->plan.block.n; i-- > 0;) {
        const Block *b = program->plan.block.at + i;
        const int64_t at =
            i64_min(ends ? i64_max(b->end, b->first) : b->first, (int64_t)program->step.n);
        l.next[i] = l.head[at];
        l.head[at] = (int32_t)i;
    }
    return l;
}

void program_count_live(Program *program)
{
    Arena *scratch = &program->graph->store->scratch;
    int64_t *live = NEW_ARRAY(program->graph->arena, int64_t, program->step.n + 1);
    const ArenaMark mark = arena_mark(scratch);
    Cover cover = cover_new(scratch, program);
    const BlocksOf born = list_blocks(program, scratch, false);
    const BlocksOf gone = list_blocks(program, scratch, true);
    for (int32_t k = 0; k < (int32_t)program->step.n; k++) {
        for (int32_t i = born.head[k]; i >= 0; i = born.next[i])
            add_block(&cover, program->plan.block.at + i, 1);
        for (int32_t i = gone.head[k]; i >= 0; i = gone.next[i])
            add_block(&cover, program->plan.block.at + i, -1);
        live[k] = cover.over[1];
    }
    arena_release(scratch, mark);
    program->plan.live = live;
}
