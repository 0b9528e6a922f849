/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/literal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "ir/recipe.h"

typedef struct Literal {
    const Graph *graph;
    const Tensor *input;
    const char *text;
    int64_t count;
    double *number;
} Literal;

_Noreturn static void refuse(const Literal *literal, const char *why)
{
    fail_at(STATUS_USAGE, LOC_NONE, NULL, "--const %s=%s: %s",
            literal->input->name, literal->text, why);
}

/* Is all of it numbers with commas between? */
static bool read_numbers(Literal *literal)
{
    const char *at = literal->text;
    for (;; at++) {
        char *end;
        const double number = strtod(at, &end);
        if (end == at)
            return false;
        literal->number[literal->count++] = number;
        at = end;
        if (!*at)
            return true;
        if (*at != ',')
            return false;
    }
}

/* The input's shape, with an open dimension 1, or the number of elements if it is the only one. */
static Shape shape_taken(const Literal *literal)
{
    Shape shape = literal->input->shape;
    if (shape.rank < 0)
        return literal->count == 1 ? shape_scalar()
                                   : shape_of(1, &literal->count);
    const bool list = shape.rank == 1 && shape.dim[0] < 0;
    for (int axis = 0; axis < shape.rank; axis++)
        if (shape.dim[axis] < 0)
            shape.dim[axis] = list ? literal->count : 1;
    return shape;
}

/* Beyond 2^53 not every whole number is a double. */
static const double MOST_WHOLE = 9007199254740992.0;

static void check_whole(const Literal *literal)
{
    for (int64_t i = 0; i < literal->count; i++) {
        const double number = literal->number[i];
        if (number != floor(number) || fabs(number) > MOST_WHOLE)
            refuse(literal, "the input holds whole numbers");
    }
}

/* Do all numbers come back from the input's type? */
static void check_range(const Literal *literal, const Recipe *wide,
                        const Recipe *narrow)
{
    Store *store = literal->graph->store;
    Arena *arena = literal->graph->arena;
    const Recipe *back = recipe_cast(store, narrow, DT_F64);
    const double *before = recipe_values(store, arena, wide);
    const double *after = recipe_values(store, arena, back);
    for (int64_t i = 0; i < literal->count; i++)
        if (before[i] != after[i])
            refuse(literal, "the input's type cannot hold it");
}

static Recipe *typed(const Literal *literal)
{
    const DType type = literal->input->dtype;
    const bool is_float = dtype_is_float(type);
    Store *store = literal->graph->store;
    const int rank = literal->count == 1 ? 0 : 1;
    Recipe *wide =
        recipe_memory(store, DT_F64, rank, &literal->count, literal->number);
    if (!is_float && !dtype_is_integer(type) && type != DT_BOOL)
        refuse(literal, "the input holds no numbers");
    if (!is_float)
        check_whole(literal);
    Recipe *narrow = recipe_cast(store, wide, type);
    if (!is_float)
        check_range(literal, wide, narrow);
    return narrow;
}

Recipe *literal_read(const Graph *graph, const Tensor *input, const char *text)
{
    Literal literal = {
        .graph = graph,
        .input = input,
        .text = text,
        .number = NEW_ARRAY(graph->arena, double, strlen(text) + 1),
    };
    if (!read_numbers(&literal))
        return NULL;
    Recipe *values = typed(&literal);
    const Shape shape = shape_taken(&literal);
    const int64_t elements = shape_count(&shape);
    if (literal.count == 1)
        return recipe_expand(graph->store, values, shape.rank, shape.dim);
    if (literal.count != elements)
        refuse(&literal,
               arena_printf(graph->arena,
                            "%" PRId64 " numbers for %" PRId64 " elements",
                            literal.count, elements));
    return recipe_reshape(graph->store, values, shape.rank, shape.dim);
}
