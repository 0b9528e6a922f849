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

static void go_back(Chooser *chooser)
{
    chooser->program->weight.n = chooser->weights;
    frontier_take(chooser->program, chooser->given, chooser->n);
}

/* Takes a way where it is better. */
static bool try_way(Chooser *chooser, const uint8_t *way)
{
    Steps made;
    if (elide_copies(chooser->program->graph->arena, chooser->program, way, &made))
        frontier_take(chooser->program, made.step.at, made.step.n);
    const int64_t peak = chooser->peak(chooser->program, chooser->context, chooser->least);
    const size_t steps = chooser->program->step.n;
    go_back(chooser);
    if (peak > chooser->least || (peak == chooser->least && steps >= chooser->steps))
        return false;
    chooser->least = peak;
    chooser->steps = steps;
    memmove(chooser->best, way, chooser->n);
    return true;
}

static bool is_concat(const Step *step)
{
    return !strcmp(step->kernel->name, "concat");
}

/* The way `concat` for concatenations, `slice` for slices. */
static void fill(const Chooser *chooser, uint8_t *way, uint8_t concat, uint8_t slice)
{
    for (size_t i = 0; i < chooser->n; i++) {
        const uint8_t want = is_concat(chooser->given[i]) ? concat : slice;
        way[i] = want < chooser->ways[i] ? want : (uint8_t)(chooser->ways[i] - 1);
    }
}

typedef struct Copy {
    size_t step;
    int64_t bytes;
} Copy;

static int by_bytes(const void *a, const void *b)
{
    const Copy *x = a;
    const Copy *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->step < y->step ? -1 : x->step > y->step;
}

/* The largest are likely to make the peak. */
static size_t list_copies(const Chooser *chooser, Copy *list)
{
    size_t n = 0;
    for (size_t i = 0; i < chooser->n; i++)
        if (chooser->ways[i] > 1)
            list[n++] = (Copy){ i, tensor_bytes(chooser->given[i]->operand[0].tensor) };
    qsort(list, n, sizeof *list, by_bytes);
    return n;
}

static size_t work_of(const Chooser *chooser)
{
    size_t work = chooser->n;
    for (size_t i = 0; i < chooser->n; i++)
        work += (size_t)chooser->given[i]->units / MANY_UNITS;
    return work;
}

static void try_singly(Chooser *chooser, uint8_t *way)
{
    Copy *list = NEW_ARRAY(&chooser->program->graph->store->scratch, Copy, chooser->n + 1);
    const size_t n = list_copies(chooser, list);
    const size_t each = work_of(chooser);
    size_t work = WORK;
    for (size_t k = 0; k < n; k++)
        for (uint8_t w = 0; w < chooser->ways[list[k].step]; w++) {
            if (w == chooser->best[list[k].step])
                continue;
            if (work < each)
                return;
            work -= each;
            memcpy(way, chooser->best, chooser->n);
            way[list[k].step] = w;
            try_way(chooser, way);
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
    Chooser chooser = { .program = p,
                        .peak = peak,
                        .context = context,
                        .given = p->step.at,
                        .n = p->step.n,
                        .weights = p->weight.n,
                        .least = INT64_MAX };
    uint8_t *way = NEW_ARRAY(a, uint8_t, chooser.n + 1);
    int most = 1;
    chooser.best = NEW_ARRAY(a, uint8_t, chooser.n + 1);
    chooser.ways = NEW_ARRAY(a, uint8_t, chooser.n + 1);
    for (size_t i = 0; i < chooser.n; i++) {
        const Step *s = p->step.at[i];
        if (s->control || s->loop_end >= 0)
            return;
        chooser.ways[i] = (uint8_t)elide_ways(p, s);
        if (chooser.ways[i] > most)
            most = chooser.ways[i];
    }
    if (most < 2)
        return;
    for (size_t k = 0; k < sizeof both / sizeof *both; k++) {
        fill(&chooser, way, both[k][0], both[k][1]);
        try_way(&chooser, way);
    }
    try_singly(&chooser, way);
    Steps made;
    if (elide_copies(p->graph->arena, p, chooser.best, &made))
        frontier_take(p, made.step.at, made.step.n);
}
