/* SPDX-License-Identifier: Apache-2.0
 * Bytes of the arena in use at each step: steps are gone through in order with the blocks alive. */
#include <stdlib.h>

#include "base/size.h"
#include "ir/program.h"

typedef VEC(const Block *) Blocks;

static int by_offset(const void *a, const void *b)
{
    const Block *x = *(const Block *const *)a, *y = *(const Block *const *)b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Bytes under at least one of the blocks, which get sorted by offset. */
static int64_t covered(Blocks *alive)
{
    int64_t bytes = 0, top = 0;
    if (alive->n)
        qsort(alive->at, alive->n, sizeof *alive->at, by_offset);
    for (size_t i = 0; i < alive->n; i++) {
        const int64_t begin = i64_max(alive->at[i]->offset, top),
                      end = alive->at[i]->offset + alive->at[i]->bytes;
        if (end <= begin)
            continue;
        bytes += end - begin;
        top = end;
    }
    return bytes;
}

static void drop_dead(Blocks *alive, int32_t step)
{
    size_t n = 0;
    for (size_t i = 0; i < alive->n; i++)
        if (alive->at[i]->end > step)
            alive->at[n++] = alive->at[i];
    alive->n = n;
}

/* Blocks by the step they are born at: head[step], then next[block]; -1 ends. */
static void list_births(const Program *p, Arena *a, int32_t **head, int32_t **next)
{
    *head = NEW_ARRAY(a, int32_t, p->step.n + 1);
    *next = NEW_ARRAY(a, int32_t, p->plan.block.n + 1);
    for (size_t i = 0; i <= p->step.n; i++)
        (*head)[i] = -1;
    for (size_t i = p->plan.block.n; i-- > 0;) {
        const int32_t at = p->plan.block.at[i].first;
        (*next)[i] = (*head)[at];
        (*head)[at] = (int32_t)i;
    }
}

void program_count_live(Program *p)
{
    Arena *scratch = &p->graph->store->scratch;
    int64_t *live = NEW_ARRAY(p->graph->arena, int64_t, p->step.n + 1);
    const ArenaMark mark = arena_mark(scratch);
    Blocks alive = { 0 };
    int32_t *head, *next;
    list_births(p, scratch, &head, &next);
    for (int32_t k = 0; k < (int32_t)p->step.n; k++) {
        drop_dead(&alive, k);
        for (int32_t i = head[k]; i >= 0; i = next[i])
            VEC_PUSH(scratch, &alive, p->plan.block.at + i);
        live[k] = covered(&alive);
    }
    arena_release(scratch, mark);
    p->plan.live = live;
}
