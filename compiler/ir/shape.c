/* SPDX-License-Identifier: Apache-2.0
 * Shapes, and constants read as numbers. */
#include <assert.h>
#include <string.h>

#include "base/size.h"
#include "ir/convert.h"
#include "ir/graph.h"

Shape shape_of(int rank, const int64_t *dims)
{
    assert(rank <= MAX_RANK);
    Shape shape = { .rank = rank };
    if (rank > 0)
        memcpy(shape.dim, dims, (size_t)rank * sizeof *dims);
    return shape;
}

Shape shape_scalar(void)
{
    return (Shape){ .rank = 0 };
}

Shape shape_vector(int64_t n)
{
    return (Shape){ .rank = 1, .dim = { n } };
}

bool shape_known(const Shape *shape)
{
    if (shape->rank < 0)
        return false;
    for (int i = 0; i < shape->rank; i++)
        if (shape->dim[i] < 0)
            return false;
    return true;
}

bool shape_equal(const Shape *a, const Shape *b)
{
    return a->rank == b->rank &&
           (a->rank <= 0 ||
            !memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim));
}

int64_t shape_count(const Shape *shape)
{
    assert(shape_known(shape));
    int64_t n = 1;
    for (int i = 0; i < shape->rank; i++)
        n = i64_mul(n, shape->dim[i]);
    return n;
}

const char *shape_text(Arena *arena, const Shape *shape)
{
    if (shape->rank < 0)
        return "?";
    char text[24 * MAX_RANK + 3];
    size_t n = 0;
    text[n++] = '[';
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dim[i] < 0)
            n += (size_t)snprintf(text + n, 24, "%s?", i ? "," : "");
        else
            n += (size_t)snprintf(text + n, 24, "%s%lld", i ? "," : "",
                                  (long long)shape->dim[i]);
    }
    text[n++] = ']';
    return arena_text(arena, text, n);
}

int64_t tensor_count(const Tensor *tensor)
{
    return shape_count(&tensor->shape);
}

int64_t tensor_bytes(const Tensor *tensor)
{
    return dtype_bytes(tensor->dtype, tensor_count(tensor));
}

static int64_t int_at(DType type, const void *values, int64_t i)
{
    switch (type) {
    case DT_I64:
        return ((const int64_t *)values)[i];
    case DT_U64:
        return (int64_t)((const uint64_t *)values)[i];
    case DT_I32:
        return ((const int32_t *)values)[i];
    case DT_U32:
        return ((const uint32_t *)values)[i];
    case DT_I16:
        return ((const int16_t *)values)[i];
    case DT_U16:
        return ((const uint16_t *)values)[i];
    case DT_I8:
        return ((const int8_t *)values)[i];
    default:
        return ((const uint8_t *)values)[i];
    }
}

/* Values that a pass or an operator looks at, as 64-bit numbers: shapes, axes, scales, vectors. */
enum { VALUES_LIMIT = 1 << 20 /* bytes */ };

static bool is_small(const Tensor *tensor)
{
    return recipe_count(tensor->value) <= VALUES_LIMIT / 8;
}

const int64_t *tensor_ints(Graph *graph, const Tensor *tensor, int64_t *count)
{
    *count = 0;
    if (!tensor || !tensor->value || !is_small(tensor))
        return NULL;
    if (tensor->dtype != DT_BOOL &&
        (!dtype_is_integer(tensor->dtype) || dtype_bits(tensor->dtype) < 8))
        return NULL;
    const void *values =
        recipe_values(graph->store, graph->arena, tensor->value);
    *count = recipe_count(tensor->value);
    if (tensor->dtype == DT_I64)
        return values;
    int64_t *wide = NEW_ARRAY(graph->arena, int64_t, *count);
    for (int64_t i = 0; i < *count; i++)
        wide[i] = int_at(tensor->dtype, values, i);
    return wide;
}

const double *tensor_doubles(Graph *graph, const Tensor *tensor, int64_t *count)
{
    *count = 0;
    if (!tensor || !tensor->value || !convert_possible(tensor->dtype, DT_F64) ||
        !is_small(tensor))
        return NULL;
    *count = recipe_count(tensor->value);
    return recipe_values(graph->store, graph->arena,
                         recipe_cast(graph->store, tensor->value, DT_F64));
}
