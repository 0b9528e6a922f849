/* SPDX-License-Identifier: Apache-2.0
 * Sparse tensors become dense constants: small ones in memory, others in the spill
 * file, where what is never written reads as zero. Values and indices are read some
 * thousands at a time; the result goes through a window that moves forward only. */
#include <string.h>

#include "base/size.h"
#include "ir/recipe_form.h"

enum {
    FEW = 4096 /* values at a time */,
    VIEW = 256 * 1024 /* bytes of the result in sight */
};

typedef struct Dense {
    Store *store;
    const SparseParts *parts;
    Source *value, *index;
    int width;           /* numbers of an index; 0: it is flat */
    int64_t count, last; /* elements; the last place that was set */
    size_t size;         /* of an element */
    uint64_t at;         /* in the spill file */
    int64_t begin, end;  /* elements in sight */
    int64_t low,
        high; /* of these, from the first that was set to behind the last */
    uint8_t *view;
} Dense;

static void flush(Dense *dense)
{
    Store *s = dense->store;
    const size_t skip = (size_t)(dense->low - dense->begin) * dense->size;
    if (dense->low < dense->high)
        file_write(s->spill, dense->at + (uint64_t)dense->low * dense->size,
                   dense->view + skip,
                   (size_t)(dense->high - dense->low) * dense->size);
    memset(dense->view + skip, 0,
           (size_t)(dense->high - dense->low) * dense->size);
}

/* Moves the window so that it begins with this place. */
static void look_at(Dense *dense, int64_t place)
{
    flush(dense);
    dense->begin = dense->low = dense->high = place;
    dense->end = i64_min(dense->count, place + VIEW / (int64_t)dense->size);
}

/* NULL, or what is wrong. */
static const char *put(Dense *dense, int64_t place, const uint8_t *value)
{
    if (place < 0 || place >= dense->count)
        return "an index is out of range";
    if (place <= dense->last)
        return "its indices are not in ascending order";
    if (place >= dense->end)
        look_at(dense, place);
    memcpy(dense->view + (size_t)(place - dense->begin) * dense->size, value,
           dense->size);
    dense->last = place;
    dense->high = place + 1;
    return NULL;
}

/* The place that an index names; -1: out of range. */
static int64_t place_of(const Dense *dense, const int64_t *index)
{
    int64_t place = 0;
    if (!dense->width)
        return index[0];
    for (int i = 0; i < dense->width; i++) {
        if (index[i] < 0 || index[i] >= dense->parts->dims[i])
            return -1;
        place = place * dense->parts->dims[i] + index[i];
    }
    return place;
}

static const char *put_all(Dense *dense, int64_t n, uint8_t *value,
                           int64_t *index)
{
    const int64_t each = dense->width ? dense->width : 1;
    const char *wrong = NULL;
    for (int64_t i = 0; i < n && !wrong; i += FEW) {
        const int64_t few = i64_min(n - i, FEW);
        source_read(dense->store, dense->value, i, few, value);
        source_read(dense->store, dense->index, i * each, few * each, index);
        for (int64_t k = 0; k < few && !wrong; k++)
            wrong = put(dense, place_of(dense, index + k * each),
                        value + (size_t)k * dense->size);
    }
    return wrong;
}

/* Room for the result: all of it is in sight, or it is in the spill file. */
static Source begin_dense(Dense *dense, DType type, Span *span)
{
    Store *s = dense->store;
    Source result = { .dtype = type, .count = dense->count };
    const uint64_t bytes = (uint64_t)dense->count * dense->size;
    if (bytes <= SMALL_BYTES) {
        result.memory = dense->view = arena_alloc(s->arena, (size_t)bytes);
        dense->end = dense->count;
        return result;
    }
    dense->at = spill_room(s, bytes);
    file_write(s->spill, dense->at + bytes - 1, "",
               1); /* its full length; holes are zero */
    *span = (Span){ dense->at, bytes };
    result.file = s->spill;
    result.span = span;
    result.spans = 1;
    return result;
}

static Source *plain_source(Store *store, const Recipe *recipe)
{
    return recipe_plain(recipe) ? recipe->source
                                : recipe_spill(store, recipe)->source;
}

static Dense dense_of(Store *store, const SparseParts *parts)
{
    const DType type = recipe_dtype(parts->values);
    Dense dense = {
        .store = store,
        .parts = parts,
        .value = plain_source(store, parts->values),
        .index = plain_source(store, parts->indices),
        .count = 1,
        .last = -1,
        .size = (size_t)dtype_bits(type) / 8,
    };
    if (recipe_rank(parts->indices) == 2)
        dense.width = parts->rank;
    for (int i = 0; i < parts->rank; i++)
        dense.count = i64_mul(dense.count, parts->dims[i]);
    return dense;
}

/* Reads the parts and writes the result; NULL, or what is wrong. */
static const char *fill(Dense *dense)
{
    Arena *arena = dense->store->arena;
    const size_t width = dense->width ? (size_t)dense->width : 1;
    source_open(dense->store, dense->value);
    source_open(dense->store, dense->index);
    uint8_t *value = arena_buffer(arena, FEW * dense->size);
    int64_t *index = arena_buffer(arena, FEW * width * sizeof *index);
    const int64_t n = recipe_count(dense->parts->values);
    const char *wrong = put_all(dense, n, value, index);
    source_close(dense->value);
    source_close(dense->index);
    return wrong;
}

Recipe *recipe_sparse(Store *store, const SparseParts *parts,
                      const char **wrong)
{
    Dense dense = dense_of(store, parts);
    Span span;
    const DType type = recipe_dtype(parts->values);
    const Source result = begin_dense(&dense, type, &span);
    const ArenaMark mark = arena_mark(store->arena);
    if (!dense.view)
        dense.view = arena_alloc(store->arena, VIEW);
    *wrong = fill(&dense);
    if (result.file)
        flush(&dense);
    arena_release(store->arena, mark);
    return recipe_source(store, &result, parts->rank, parts->dims);
}
