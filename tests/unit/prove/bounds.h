/* SPDX-License-Identifier: Apache-2.0
 * The lower bound of programs of two or three steps. */
#ifndef TEST_PROVE_BOUNDS_H
#define TEST_PROVE_BOUNDS_H

#include "../plan/programs.h"

#include "prove/bound.h"

/* A chain: the caller's input, then an image of each number of channels, 4 rows of 3 pixels. */
typedef struct Chain {
    Reuse reuse;
    RowRule rule;
    int channels[4]; /* to the first 0; the last is the caller's result */
    int64_t scratch; /* elements, of each step */
} Chain;

static inline void make_chain(World *w, const Chain *c)
{
    world_open(w, 1);
    Tensor *t = add_input(w, 4, 3, 1);
    for (int i = 0; i < 4 && c->channels[i]; i++) {
        Tensor *y = add_image(w, 4, 3, c->channels[i]);
        add_step(w, &kernel_op, y, 1, &(In){ t, c->rule, c->reuse },
                 c->scratch);
        t = y;
    }
    make_output(w, t);
}

static inline int64_t bound_of(World *w, const PlanOptions *opt)
{
    const char *why = NULL;
    plan_program(&w->program, opt);
    if (!plan_holds(&w->program, &why))
        fail_msg("%s", why);
    const int64_t bound = plan_lower_bound(&w->program);
    assert_true(bound <= w->program.plan.arena_size);
    return bound;
}

/* Steps from the given one on run in this order, beside it in layers. */
static inline int64_t stream_bound(World *w, int32_t first, const uint8_t *list,
                                   int32_t entries, int64_t align)
{
    int32_t count = 0;
    for (int32_t i = 0; i < entries; i++)
        count = list[i] >= count ? list[i] + 1 : count;
    const Segment all[] = {
        { .first = 0, .count = first },
        { .first = first, .count = count, .list = list, .prologue = entries },
    };
    Plan *plan = &w->program.plan;
    plan->arena_align = align;
    plan->segment.at = arena_copy(&w->arena, all, sizeof all);
    plan->segment.n = 2;
    program_link(&w->program);
    return plan_lower_bound(&w->program);
}

#endif
