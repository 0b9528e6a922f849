/* SPDX-License-Identifier: Apache-2.0
 * All in place, nothing in place and mixtures of both first; then, while work is left, each copy by
 * itself. */
#include "forms/copies.h"

#include <stdlib.h>
#include <string.h>

#include "forms/elide.h"
#include "rules/rules.h"

enum { MANY_UNITS = 256 }; /* so many more in a step count as another */

typedef struct Chooser {
    const Program *program;
    PeakOf *peak;
    const void *context;
    size_t n;
    uint8_t *best; /* by step: the way taken so far */
    uint8_t *ways; /* by step: how many there are */
    int64_t least;
    size_t steps; /* of the best */
} Chooser;

/* The program, its copies made or not as `way` says. */
static Program program_by(Arena *arena, const Program *program,
                          const uint8_t *way)
{
    Steps made;
    if (!elide_copies(arena, program, way, &made))
        return *program;
    return program_with(arena, program, &made);
}

/* Takes a way where it is better. */
static void try_way(Chooser *chooser, const uint8_t *way)
{
    Arena *scratch = &chooser->program->graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    const Program other = program_by(scratch, chooser->program, way);
    const size_t steps = other.step.n;
    const int64_t below = chooser->least + (steps < chooser->steps);
    const int64_t peak = chooser->peak(&other, chooser->context, below);
    arena_release(scratch, mark);
    if (peak > chooser->least ||
        (peak == chooser->least && steps >= chooser->steps))
        return;
    chooser->least = peak;
    chooser->steps = steps;
    memmove(chooser->best, way, chooser->n);
}

/* Concatenations, slices. */
static const uint8_t BOTH[COPIES_WAYS][2] = {
    { ELIDE_IN_PLACE, ELIDE_IN_PLACE },  { ELIDE_IN_PLACE, ELIDE_NOT },
    { ELIDE_BUT_FIRST, ELIDE_IN_PLACE }, { ELIDE_BUT_FIRST, ELIDE_NOT },
    { ELIDE_NOT, ELIDE_IN_PLACE },       { ELIDE_NOT, ELIDE_NOT },
};

/* Global way k: for concatenations, and for slices. */
static void fill(const Chooser *chooser, uint8_t *way, int k)
{
    const uint8_t concat = BOTH[k][0];
    const uint8_t slice = BOTH[k][1];
    for (size_t i = 0; i < chooser->n; i++) {
        const uint8_t want =
            rules_join(chooser->program->step.at[i]).inputs ? concat : slice;
        way[i] =
            want < chooser->ways[i] ? want : (uint8_t)(chooser->ways[i] - 1);
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
            list[n++] = (Copy){
                i, tensor_bytes(chooser->program->step.at[i]->operand[0].tensor)
            };
    qsort(list, n, sizeof *list, by_bytes);
    return n;
}

static int64_t work_of(const Chooser *chooser)
{
    int64_t work = (int64_t)chooser->n;
    for (size_t i = 0; i < chooser->n; i++)
        work += chooser->program->step.at[i]->units / MANY_UNITS;
    return work;
}

static void try_singly(Chooser *chooser, uint8_t *way, int64_t work)
{
    Copy *list = NEW_ARRAY(&chooser->program->graph->store->scratch, Copy,
                           chooser->n + 1);
    const size_t n = list_copies(chooser, list);
    const int64_t each = work_of(chooser);
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

/* How many ways there are for each step; false: nothing to choose. */
static bool count_ways(Chooser *chooser)
{
    int most = 1;
    for (size_t i = 0; i < chooser->n; i++) {
        const Step *step = chooser->program->step.at[i];
        if (step_jumps(step))
            return false;
        chooser->ways[i] = (uint8_t)elide_ways(chooser->program, step);
        if (chooser->ways[i] > most)
            most = chooser->ways[i];
    }
    return most > 1;
}

static bool chooser_new(Chooser *chooser, const Program *program)
{
    Arena *scratch = &program->graph->store->scratch;
    *chooser = (Chooser){
        .program = program,
        .n = program->step.n,
        .least = INT64_MAX,
    };
    chooser->best = NEW_ARRAY(scratch, uint8_t, chooser->n + 1);
    chooser->ways = NEW_ARRAY(scratch, uint8_t, chooser->n + 1);
    return count_ways(chooser);
}

/* Is it a way that no earlier one is the same as? */
static bool is_new(const Chooser *chooser, int k)
{
    Arena *scratch = &chooser->program->graph->store->scratch;
    uint8_t *way = NEW_ARRAY(scratch, uint8_t, chooser->n + 1);
    uint8_t *before = NEW_ARRAY(scratch, uint8_t, chooser->n + 1);
    fill(chooser, way, k);
    for (int i = 0; i < k; i++) {
        fill(chooser, before, i);
        if (!memcmp(way, before, chooser->n))
            return false;
    }
    return true;
}

bool copies_all(Arena *arena, const Program *program, int k, Program *out)
{
    Chooser chooser;
    if (!chooser_new(&chooser, program) || !is_new(&chooser, k))
        return false;
    fill(&chooser, chooser.best, k);
    *out = program_by(arena, program, chooser.best);
    return true;
}

Program copies_choose(const Program *program, PeakOf *peak, const void *context,
                      int64_t work)
{
    Chooser chooser;
    if (!chooser_new(&chooser, program))
        return *program;
    chooser.peak = peak;
    chooser.context = context;
    uint8_t *way =
        NEW_ARRAY(&program->graph->store->scratch, uint8_t, chooser.n + 1);
    for (int k = 0; k < COPIES_WAYS; k++) {
        if (!is_new(&chooser, k))
            continue;
        fill(&chooser, way, k);
        try_way(&chooser, way);
    }
    try_singly(&chooser, way, work);
    return program_by(program->graph->arena, program, chooser.best);
}
