/* SPDX-License-Identifier: Apache-2.0
 * Bytes of the arena in use at each step: blocks come and go in the order of the steps, in a tree
 * over the places where blocks begin and end that knows how much of it lies under one. */
#include <stdlib.h>

#include "base/size.h"
#include "ir/program.h"

/* Leaf k, at n + k, is from place[k] to place[k + 1]; node i has the children 2i and 2i + 1. */
typedef struct Cover {
    int64_t *place;
    int32_t places;
    int32_t n;       /* leaves, a power of two */
    int64_t *wide;   /* bytes of a node */
    int64_t *over;   /* of these, what lies under a block */
    int32_t *blocks; /* over all of a node and not over all of its parent */
} Cover;

static int by_value(const void *a, const void *b)
{
    const int64_t *x = a;
    const int64_t *y = b;
    return (*x > *y) - (*x < *y);
}

static void add_place(Cover *cover, int64_t place)
{
    if (!cover->places || cover->place[cover->places - 1] != place)
        cover->place[cover->places++] = place;
}

/* The places, each once, in ascending order. */
static void list_places(Cover *cover, Arena *arena, const Plan *plan)
{
    const size_t ends = 2 * plan->block.n;
    cover->place = NEW_ARRAY(arena, int64_t, ends + 1);
    int64_t *to = cover->place;
    for (size_t i = 0; i < plan->block.n; i++) {
        const Block *block = plan->block.at + i;
        *to++ = block->offset;
        *to++ = block->offset + block->bytes;
    }
    if (ends)
        qsort(cover->place, ends, sizeof *cover->place, by_value);
    for (size_t i = 0; i < ends; i++)
        add_place(cover, cover->place[i]);
}

static Cover cover_new(Arena *arena, const Plan *plan)
{
    Cover cover = { .n = 1 };
    list_places(&cover, arena, plan);
    while (cover.n < cover.places)
        cover.n *= 2;
    const size_t nodes = 2 * (size_t)cover.n;
    cover.wide = NEW_ARRAY(arena, int64_t, nodes);
    cover.over = NEW_ARRAY(arena, int64_t, nodes);
    cover.blocks = NEW_ARRAY(arena, int32_t, nodes);
    int64_t *leaf = cover.wide + cover.n;
    for (int32_t k = 0; k + 1 < cover.places; k++)
        leaf[k] = cover.place[k + 1] - cover.place[k];
    for (int32_t i = cover.n; i-- > 1;) {
        const int64_t *child = cover.wide + 2 * i;
        cover.wide[i] = child[0] + child[1];
    }
    return cover;
}

static void sum_up(Cover *cover, int32_t i)
{
    if (cover->blocks[i]) {
        cover->over[i] = cover->wide[i];
        return;
    }
    cover->over[i] = 0;
    if (i < cover->n) {
        const int64_t *child = cover->over + 2 * i;
        cover->over[i] = child[0] + child[1];
    }
}

static void add_to(Cover *cover, int32_t i, int32_t more)
{
    cover->blocks[i] += more;
    sum_up(cover, i);
}

static int32_t leaf_of(const Cover *cover, int64_t offset)
{
    const int64_t *at = bsearch(&offset, cover->place, (size_t)cover->places,
                                sizeof *cover->place, by_value);
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

static void add_to_list(BlocksOf *list, int64_t step, int32_t block)
{
    list->next[block] = list->head[step];
    list->head[step] = block;
}

/* By the step at which a block comes, or with which it ends. */
static BlocksOf list_blocks(const Program *program, Arena *arena, bool ends)
{
    const int64_t steps = (int64_t)program->step.n;
    const size_t blocks = program->plan.block.n;
    BlocksOf list = {
        .head = NEW_ARRAY(arena, int32_t, steps + 1),
        .next = NEW_ARRAY(arena, int32_t, blocks + 1),
    };
    for (int64_t i = 0; i <= steps; i++)
        list.head[i] = -1;
    for (size_t i = blocks; i-- > 0;) {
        const Block *block = program->plan.block.at + i;
        int64_t step = block->first;
        if (ends)
            step = i64_max(block->end, block->first);
        add_to_list(&list, i64_min(step, steps), (int32_t)i);
    }
    return list;
}

/* The blocks of one step come (more is 1) or go (-1). */
static void add_blocks(Cover *cover, const Plan *plan, const BlocksOf *list,
                       int32_t step, int32_t more)
{
    for (int32_t i = list->head[step]; i >= 0; i = list->next[i])
        add_block(cover, plan->block.at + i, more);
}

void program_count_live(Program *program)
{
    Arena *scratch = &program->graph->store->scratch;
    int64_t *live =
        NEW_ARRAY(program->graph->arena, int64_t, program->step.n + 1);
    const ArenaMark mark = arena_mark(scratch);
    Cover cover = cover_new(scratch, &program->plan);
    const BlocksOf born = list_blocks(program, scratch, false);
    const BlocksOf gone = list_blocks(program, scratch, true);
    for (int32_t k = 0; k < (int32_t)program->step.n; k++) {
        add_blocks(&cover, &program->plan, &born, k, 1);
        add_blocks(&cover, &program->plan, &gone, k, -1);
        live[k] = cover.over[1];
    }
    arena_release(scratch, mark);
    program->plan.live = live;
}
