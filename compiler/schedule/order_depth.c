/* SPDX-License-Identifier: Apache-2.0
 * Depth first from the results: of what a step reads that comes first which takes most steps, of
 * equals in the order of the operands. So chains of steps stay together, as streams need them, and
 * what is made in a few steps is made when it is needed. */
#include "schedule/order_depth.h"

#include <stdlib.h>

/* A step and what sorts it. */
typedef struct Turn {
    int32_t step, place; /* of equals the lowest place comes first */
    int32_t length;      /* steps of the longest way to it */
} Turn;

typedef struct Depth {
    const Items *all;
    const OrderProblem *problem;
    int32_t *length; /* by step: steps of the longest way to it */
    Turn *sorted;
    int32_t *from; /* before[] of the problem, in the order to be made */
    int32_t *stack, *at;
    bool *seen, *read; /* by step; read: another one waits for it */
    int32_t *order, n;
} Depth;

static int by_length(const void *a, const void *b)
{
    const Turn *x = a;
    const Turn *y = b;
    if (x->length != y->length)
        return x->length > y->length ? -1 : 1;
    return x->place - y->place;
}

static int by_place(const void *a, const void *b)
{
    const Turn *x = a;
    const Turn *y = b;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return x->step - y->step;
}

/* What the step reads, the first to be made first. */
static void sort_read(Depth *depth, int32_t step)
{
    const OrderProblem *problem = depth->problem;
    const int32_t first = problem->before_of[step];
    const int32_t n = problem->before_of[step + 1] - first;
    Turn *sorted = depth->sorted;
    for (int32_t k = 0; k < n; k++) {
        const int32_t before = problem->before[first + k];
        sorted[k] = (Turn){ before, k, depth->length[before] };
        depth->read[before] = true;
    }
    qsort(sorted, (size_t)n, sizeof *sorted, by_length);
    for (int32_t k = 0; k < n; k++)
        depth->from[first + k] = sorted[k].step;
    depth->length[step] = 1 + (n ? sorted->length : 0);
}

static void push_step(Depth *depth, int32_t *height, int32_t step)
{
    depth->seen[step] = true;
    depth->stack[*height] = step;
    depth->at[*height] = depth->problem->before_of[step];
    *height += 1;
}

static void put_deep(Depth *depth, int32_t goal)
{
    int32_t height = 0;
    push_step(depth, &height, goal);
    while (height) {
        const int32_t step = depth->stack[height - 1];
        const int32_t k = depth->at[height - 1]++;
        if (k == depth->problem->before_of[step + 1]) {
            depth->order[depth->n++] = step;
            height--;
        } else if (!depth->seen[depth->from[k]])
            push_step(depth, &height, depth->from[k]);
    }
}

/* The number of the model's result that the step makes; a large one: it makes none. */
static int32_t result_of(const Items *all, int32_t step)
{
    const Touch *end = touch_end(all, step);
    for (const Touch *touch = touch_begin(all, step); touch < end; touch++) {
        const Tensor *root = touch_item(all, touch)->root;
        if (touch->operand->write && all->is_result[root->id])
            return root->slot;
    }
    return INT32_MAX;
}

/* The steps that nothing waits for, in the order of the model's results. */
static int32_t list_goals(Depth *depth)
{
    int32_t goals = 0;
    for (int32_t step = 0; step < depth->problem->steps; step++) {
        if (depth->read[step])
            continue;
        depth->sorted[goals] = (Turn){
            .step = step,
            .place = result_of(depth->all, step),
        };
        goals++;
    }
    qsort(depth->sorted, (size_t)goals, sizeof *depth->sorted, by_place);
    return goals;
}

int32_t *order_depth(Arena *arena, const Items *all,
                     const OrderProblem *problem)
{
    const int32_t n = problem->steps;
    const int32_t reads = problem->before_of[n];
    Depth depth = {
        .all = all,
        .problem = problem,
        .length = NEW_ARRAY(arena, int32_t, n + 1),
        .sorted = NEW_ARRAY(arena, Turn, n + 1),
        .from = NEW_ARRAY(arena, int32_t, reads + 1),
        .stack = NEW_ARRAY(arena, int32_t, n + 1),
        .at = NEW_ARRAY(arena, int32_t, n + 1),
        .seen = NEW_ARRAY(arena, bool, n + 1),
        .read = NEW_ARRAY(arena, bool, n + 1),
        .order = NEW_ARRAY(arena, int32_t, n + 1),
    };
    for (int32_t step = 0; step < n; step++)
        sort_read(&depth, step);
    const int32_t goals = list_goals(&depth);
    for (int32_t k = 0; k < goals; k++)
        put_deep(&depth, depth.sorted[k].step);
    return depth.order;
}
