/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run_lengths.h"

#include <inttypes.h>
#include <string.h>

#include "cli/value_files.h"

typedef struct Finder {
    Compile *compile;
    const char *const *file;
    int32_t value[MOST_LENGTHS];     /* -1: no file has said it */
    const char *place[MOST_LENGTHS]; /* the file that did */
} Finder;

/* Which of the lengths dimension k of an input is; -1: none. */
static int length_of(const Lengths *lengths, const Tensor *input, int k)
{
    const char *symbol = input->symbol ? input->symbol[k] : NULL;
    for (int i = 0; symbol && i < lengths->n; i++)
        if (!strcmp(lengths->of[i].symbol, symbol))
            return i;
    return -1;
}

static void take_length(Finder *finder, const char *place, int i, int64_t value)
{
    const Length *length = finder->compile->lengths->of + i;
    if (value < length->least || value > length->most)
        fail_at(STATUS_MALFORMED, value_place(place), NULL,
                "%s is %" PRId64 " in it, which is not from %" PRId32
                " to %" PRId32,
                length->symbol, value, length->least, length->most);
    if (finder->value[i] >= 0 && finder->value[i] != value)
        fail_at(STATUS_MALFORMED, value_place(place), NULL,
                "%s is %" PRId64 " in it, and %" PRId32 " in %s",
                length->symbol, value, finder->value[i], finder->place[i]);
    finder->value[i] = (int32_t)value;
    finder->place[i] = place;
}

/* Of values whose form is no array's, where one dimension alone is open: by their number. */
static void take_by_count(Finder *finder, const char *place,
                          const Tensor *input, const Shape *shape)
{
    const Lengths *lengths = finder->compile->lengths;
    int64_t others = 1;
    int open = -1;
    for (int k = 0; k < input->shape.rank; k++) {
        const int i = length_of(lengths, input, k);
        if (i >= 0 && open >= 0)
            return;
        if (i >= 0)
            open = i;
        else
            others *= input->shape.dim[k];
    }
    const int64_t count = shape_count(shape);
    if (open < 0 || others < 1 || count % others)
        return;
    take_length(finder, place, open, count / others);
}

static void take_shape(Finder *finder, const char *place, const Tensor *input,
                       const Shape *shape)
{
    const Lengths *lengths = finder->compile->lengths;
    if (shape->rank != input->shape.rank) {
        take_by_count(finder, place, input, shape);
        return;
    }
    for (int k = 0; k < shape->rank; k++) {
        const int i = length_of(lengths, input, k);
        if (i >= 0)
            take_length(finder, place, i, shape->dim[k]);
    }
}

/* What no file says is the most. */
static int32_t combination_of(const Finder *finder)
{
    const Lengths *lengths = finder->compile->lengths;
    int32_t combination = 0;
    for (int i = lengths->n; i-- > 0;) {
        const Length *length = lengths->of + i;
        const int32_t value =
            finder->value[i] < 0 ? length->most : finder->value[i];
        combination = combination * (length->most - length->least + 1) + value -
                      length->least;
    }
    return combination;
}

Recompile *run_lengths(Compile *compile, const char *const *file)
{
    const Graph *graph = compile->graph;
    const Tensors inputs = { .at = graph->input.at, .n = graph->input.n };
    Finder finder = { .compile = compile, .file = file };
    if (!compile->lengths)
        return NULL;
    for (int i = 0; i < MOST_LENGTHS; i++)
        finder.value[i] = -1;
    for (size_t i = 0; i < inputs.n; i++) {
        Shape shape;
        const char *place;
        if (values_shape(compile, &inputs, file, i, &shape, &place))
            take_shape(&finder, place, inputs.at[i], &shape);
    }
    Recompile *one =
        lengths_open(compile, combination_of(&finder), STAGE_LAYOUT);
    one->compile.results = compile->results;
    return one;
}

void run_recompile_close(Compile *compile, Recompile *one)
{
    if (!one)
        return;
    compile->results = one->compile.results;
    recompile_close(compile, one);
}
