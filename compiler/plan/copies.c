/* SPDX-License-Identifier: Apache-2.0
 * All in place, nothing in place and mixtures of both first; then, while work is left, each copy by
 * itself. */
#include "plan/copies.h"

#include <stdlib.h>
#include <string.h>

#include "plan/elide.h"
#include "plan/frontier.h"

enum {
    WORK = 4000,      /* steps of all programs that are scheduled for the sake of single copies */
    MANY_UNITS = 256, /* so many more in a step count as another */
};

typedef struct Chooser {
    Program *program;
    PeakOf *peak;
    const void *context;
    Step **given;
    size_t n, weights;
    uint8_t *best, *ways; /* by step: the way taken so far, how many there are */
    int64_t least;
    size_t steps; /* of the best */
} Chooser;

static void go_back(Chooser *c)
{
    c->program->weight.n = c->weights;
    frontier_take(c->program, c->given, c->n);
}

/* Takes a way where it is better. */
static bool try_way(Chooser *c, const uint8_t *way)
{
    Steps made;
    if (elide_copies(c->program->graph->arena, c->program, way, &made))
        frontier_take(c->program, made.step.at, made.step.n);
    const int64_t peak = c->peak(c->program, c->context, c->least);
    const size_t steps = c->program->step.n;
    go_back(c);
    if (peak > c->least || (peak == c->least && steps >= c->steps))
        return false;
    c->least = peak;
    c->steps = steps;
    memmove(c->best, way, c->n);
    return true;
}

static bool is_concat(const Step *s)
{
    return !strcmp(s->kernel->name, "concat");
}

/* The way `concat` for concatenations, `slice` for slices. */
static void fill(const Chooser *c, uint8_t *way, uint8_t concat, uint8_t slice)
{
    for (size_t i = 0; i < c->n; i++) {
        const uint8_t want = is_concat(c->given[i]) ? concat : slice;
        way[i] = want < c->ways[i] ? want : (uint8_t)(c->ways[i] - 1);
    }
}

typedef struct Copy {
    size_t step;
    int64_t bytes;
} Copy;

static int by_bytes(const void *a, const void *b)
{
    const Copy *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->step < y->step ? -1 : x->step > y->step;
}

/* The largest are likely to make the peak. */
static size_t list_copies(const Chooser *c, Copy *list)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++)
        if (c->ways[i] > 1)
            list[n++] = (Copy){ i, tensor_bytes(c->given[i]->operand[0].tensor) };
    qsort(list, n, sizeof *list, by_bytes);
    return n;
}

static size_t work_of(const Chooser *c)
{
    size_t work = c->n;
    for (size_t i = 0; i < c->n; i++)
        work += (size_t)c->given[i]->units / MANY_UNITS;
    return work;
}

static void try_singly(Chooser *c, uint8_t *way)
{
    Copy *list = NEW_ARRAY(&c->program->graph->store->scratch, Copy, c->n + 1);
    const size_t n = list_copies(c, list);
    const size_t each = work_of(c);
    size_t work = WORK;
    for (size_t k = 0; k < n; k++)
        for (uint8_t w = 0; w < c->ways[list[k].step]; w++) {
            if (w == c->best[list[k].step])
                continue;
            if (work < each)
                return;
            work -= each;
            memcpy(way, c->best, c->n);
            way[list[k].step] = w;
            try_way(c, way);
        }
}

void copies_choose(Program *p, PeakOf *peak, const void *context)
{
    static const uint8_t both[][2] = {
        { ELIDE_IN_PLACE, ELIDE_IN_PLACE },  { ELIDE_IN_PLACE, ELIDE_NOT },
        { ELIDE_BUT_FIRST, ELIDE_IN_PLACE }, { ELIDE_BUT_FIRST, ELIDE_NOT },
        { ELIDE_NOT, ELIDE_IN_PLACE },       { ELIDE_NOT, ELIDE_NOT },
    };
    Arena *a = &p->graph->store->scratch;
    Chooser c = { .program = p,
                  .peak = peak,
                  .context = context,
                  .given = p->step.at,
                  .n = p->step.n,
                  .weights = p->weight.n,
                  .least = INT64_MAX };
    uint8_t *way = NEW_ARRAY(a, uint8_t, c.n + 1);
    int most = 1;
    c.best = NEW_ARRAY(a, uint8_t, c.n + 1);
    c.ways = NEW_ARRAY(a, uint8_t, c.n + 1);
    for (size_t i = 0; i < c.n; i++) {
        const Step *s = p->step.at[i];
        if (s->control || s->loop_end >= 0)
            return;
        c.ways[i] = (uint8_t)elide_ways(p, s);
        if (c.ways[i] > most)
            most = c.ways[i];
    }
    if (most < 2)
        return;
    for (size_t k = 0; k < sizeof both / sizeof *both; k++) {
        fill(&c, way, both[k][0], both[k][1]);
        try_way(&c, way);
    }
    try_singly(&c, way);
    Steps made;
    if (elide_copies(p->graph->arena, p, c.best, &made))
        frontier_take(p, made.step.at, made.step.n);
}
