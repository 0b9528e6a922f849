/* SPDX-License-Identifier: Apache-2.0
 * Types and shapes are not known here: lowering compares them. */
#include "pipeline/states.h"

#include <string.h>

#include "base/nearest.h"
#include "pipeline/values.h"

/* The model's inputs, or its results. */
typedef struct Side {
    Tensor *const *tensor;
    size_t count;
    IoForm *form;
    const char *missing, *kind;
} Side;

static const char *const *names_of(Arena *arena, const Side *side)
{
    const char **name = NEW_ARRAY(arena, const char *, side->count + 1);
    for (size_t i = 0; i < side->count; i++)
        name[i] = side->tensor[i]->name;
    return name;
}

static size_t find(Arena *arena, const Side *side, const char *name)
{
    size_t i = 0;
    while (i < side->count && strcmp(side->tensor[i]->name, name))
        i++;
    if (i == side->count)
        fail_unknown(arena, side->missing, name, names_of(arena, side));
    if (side->form[i] == IO_STATE)
        fail_at(STATUS_USAGE, LOC_NONE, NULL,
                "--state: %s \"%s\" is of two states", side->kind, name);
    side->form[i] = IO_STATE;
    return i;
}

void states_find(Graph *graph, const Options *options, IoForm *in, IoForm *out)
{
    Arena *arena = graph->arena;
    const Side inputs = { graph->input.at, graph->input.n, in,
                          "--state: the model has no input", "input" };
    const Side results = { graph->output.at, graph->output.n, out,
                           "--state: the model has no result", "result" };
    for (const char **text = options->state; text && *text; text++) {
        char *result;
        const char *input = value_divide(arena, *text, &result);
        State state;
        state.out = find(arena, &results, result);
        state.in = find(arena, &inputs, input);
        VEC_PUSH(arena, &graph->state, state);
    }
}
