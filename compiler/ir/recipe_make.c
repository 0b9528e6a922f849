/* SPDX-License-Identifier: Apache-2.0
 * What a recipe is, and the recipes of constants as they are found: a source, values in memory. */
#include <assert.h>
#include <string.h>

#include "base/size.h"
#include "ir/recipe_form.h"

int recipe_rank(const Recipe *recipe)
{
    return recipe->rank;
}
const int64_t *recipe_dims(const Recipe *recipe)
{
    return recipe->dim;
}
DType recipe_dtype(const Recipe *recipe)
{
    return (DType)recipe->dtype;
}
int64_t recipe_bytes(const Recipe *recipe)
{
    return dtype_bytes(recipe_dtype(recipe), recipe_count(recipe));
}

int64_t dims_product(int rank, const int64_t *dims)
{
    int64_t n = 1;
    for (int a = 0; a < rank; a++) {
        assert(dims[a] >= 0);
        if (dims[a] == 0)
            return 0;
    }
    for (int a = 0; a < rank; a++)
        n = i64_mul(n, dims[a]);
    return n;
}

int64_t recipe_count(const Recipe *recipe)
{
    return dims_product(recipe->rank, recipe->dim);
}

const Source *recipe_plain(const Recipe *recipe)
{
    return recipe->form || recipe->join ? NULL : recipe->source;
}

/* --- makers --- */

static void set_shape(Recipe *recipe, DType type, int rank, const int64_t *dims)
{
    recipe->dtype = (uint8_t)type;
    recipe->rank = (uint8_t)rank;
    for (int axis = 0; axis < rank; axis++)
        recipe->dim[axis] = dims[axis];
}

/* A plain recipe, its source and its spans are one allocation: models have hundreds of thousands of
 * them. */
Recipe *recipe_source(Store *store, const Source *source, int rank,
                      const int64_t *dims)
{
    assert(rank >= 0 && rank <= MAX_RANK);
    assert(dims_product(rank, dims) == source->count);
    assert(dtype_bits(source->dtype));
    assert(source->file || source->memory || !source->count);
    const size_t spans = source->file ? (size_t)source->spans : 0;
    const size_t span_bytes = spans * sizeof(Span);
    const size_t head = sizeof(Recipe) + (size_t)rank * sizeof *dims;
    const size_t fixed = head + sizeof(Source);
    char *memory = arena_alloc(store->arena, size_add(fixed, span_bytes));
    Recipe *recipe = (void *)memory;
    Source *own = (void *)(memory + head);
    *own = *source;
    own->reader = NULL;
    if (spans)
        own->span = memcpy(memory + fixed, source->span, span_bytes);
    recipe->source = own;
    set_shape(recipe, source->dtype, rank, dims);
    return recipe;
}

Recipe *recipe_memory(Store *store, DType type, int rank, const int64_t *dims,
                      const void *values)
{
    const int64_t n = dims_product(rank, dims);
    const size_t bytes = (size_t)dtype_bytes(type, n);
    const Source source = { .dtype = type,
                            .count = n,
                            .memory = arena_copy(store->arena, values, bytes) };
    return recipe_source(store, &source, rank, dims);
}

Recipe *recipe_empty(Store *store, DType type, int rank, const int64_t *dims)
{
    const Source source = { .dtype = type };
    return recipe_source(store, &source, rank, dims);
}

Recipe *recipe_fill(Store *store, DType type, int rank, const int64_t *dims,
                    const void *value)
{
    const int64_t one[MAX_RANK] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    if (!dims_product(rank, dims))
        return recipe_empty(store, type, rank, dims);
    return recipe_expand(store, recipe_memory(store, type, rank, one, value),
                         rank, dims);
}

Recipe *recipe_joined(Store *store, const Join *join, DType type, int rank,
                      const int64_t *dims)
{
    Recipe *recipe =
        arena_alloc(store->arena, sizeof *recipe + (size_t)rank * sizeof *dims);
    recipe->join = join;
    set_shape(recipe, type, rank, dims);
    return recipe;
}
