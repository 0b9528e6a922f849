/* SPDX-License-Identifier: Apache-2.0
 * Sparse tensors become dense constants: small ones in memory, others in the
 * spill file, where what is never written reads as zero. Values and indices are
 * taken a few at a time, so their number hardly costs memory. */
#include <inttypes.h>
#include <string.h>

#include "base/diag.h"
#include "base/size.h"
#include "onnx/read.h"

enum { CHUNK = 1024, IN_MEMORY = 64 * 1024 };
#define SPARSE_LIMIT (INT64_C(1) << 30) /* bytes of one dense tensor */

void sparse_enter(Reader *r, const WireEvent *e)
{
    r->sparse = (SparseDraft){ .at = e->at, .name = "" };
}

void sparse_field(Reader *r, const WireEvent *e)
{
    reader_dims(r, e, &r->sparse.rank, r->sparse.dims, r->sparse.name);
}

static _Noreturn void fail_sparse(const Reader *r, const char *what)
{
    fail_at(STATUS_MALFORMED, reader_loc(r, r->sparse.at, r->sparse.name), NULL,
            "sparse tensor: %s", what);
}

static int64_t dense_count(const Reader *r)
{
    const SparseDraft *s = &r->sparse;
    int64_t n = 1;
    for (int i = 0; i < s->rank; i++) {
        if (s->dims[i] < 1)
            fail_sparse(r, "a dimension is not positive");
        if (__builtin_mul_overflow(n, s->dims[i], &n) || n > SPARSE_LIMIT)
            fail_at(STATUS_UNSUPPORTED, reader_loc(r, s->at, s->name), NULL,
                    "a sparse tensor of more than %" PRId64 " elements", SPARSE_LIMIT);
    }
    return n;
}

/* Indices are flat, [n], or one row for each value, [n][rank]. Returns the numbers of a row. */
static int index_width(const Reader *r)
{
    const SparseDraft *s = &r->sparse;
    const int rank = recipe_rank(s->indices);
    const int64_t n = recipe_count(s->values);
    if (recipe_dtype(s->indices) != DT_I64)
        fail_sparse(r, "its indices are not int64");
    if (recipe_rank(s->values) != 1)
        fail_sparse(r, "its values are not a list");
    if (rank < 1 || rank > 2 || recipe_dims(s->indices)[0] != n)
        fail_sparse(r, "it has not one index for each value");
    if (rank == 2 && recipe_dims(s->indices)[1] != s->rank)
        fail_sparse(r, "its indices do not have its rank");
    return rank == 2 ? s->rank : 0;
}

static int64_t flat_index(const Reader *r, const int64_t *at, int width)
{
    int64_t flat = width ? 0 : at[0];
    for (int i = 0; i < width; i++) {
        if (at[i] < 0 || at[i] >= r->sparse.dims[i])
            fail_sparse(r, "an index is out of range");
        flat = flat * r->sparse.dims[i] + at[i];
    }
    return flat;
}

typedef struct Dense {
    int64_t count, last; /* elements; the last place that was set */
    size_t size;         /* of an element */
    uint8_t *memory;     /* NULL: in the spill file */
    File *file;
    uint64_t at;
} Dense;

static void put(Reader *r, Dense *d, int64_t place, const uint8_t *value)
{
    if (place < 0 || place >= d->count)
        fail_sparse(r, "an index is out of range");
    if (place <= d->last)
        fail_sparse(r, "its indices are not in ascending order");
    d->last = place;
    if (d->memory)
        memcpy(d->memory + (size_t)place * d->size, value, d->size);
    else
        file_write(d->file, d->at + (uint64_t)place * d->size, value, d->size);
}

static void put_chunk(Reader *r, Dense *d, int width, int64_t first, int64_t n)
{
    const SparseDraft *s = &r->sparse;
    Arena *scratch = &r->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    const uint8_t *value =
        recipe_values(r->store, scratch, recipe_slice(r->store, s->values, 0, first, 1, n));
    const int64_t *index =
        recipe_values(r->store, scratch, recipe_slice(r->store, s->indices, 0, first, 1, n));
    for (int64_t i = 0; i < n; i++)
        put(r, d, flat_index(r, index + i * (width ? width : 1), width),
            value + (size_t)i * d->size);
    arena_release(scratch, mark);
}

static Dense dense_new(Reader *r, DType t, int64_t count)
{
    Dense d = { .count = count, .last = -1, .size = (size_t)dtype_bits(t) / 8 };
    const uint64_t bytes = (uint64_t)count * d.size;
    if (bytes <= IN_MEMORY) {
        d.memory = arena_alloc(r->arena, (size_t)bytes);
        return d;
    }
    Store *s = r->store;
    if (!s->spill)
        s->spill = file_temporary(s->arena);
    d.file = s->spill;
    d.at = s->spill_size;
    s->spill_size += bytes;
    s->bytes_spilled += bytes;
    file_write(d.file, d.at + bytes - 1, "", 1); /* the file has its full length; holes are zero */
    return d;
}

static Recipe *dense_recipe(Reader *r, const Dense *d, DType t)
{
    const SparseDraft *s = &r->sparse;
    if (d->memory)
        return recipe_memory(r->store, t, s->rank, s->dims, d->memory);
    const Span span = { d->at, (uint64_t)d->count * d->size };
    const Source source = { .dtype = t,
                            .count = d->count,
                            .encoding = ENC_FIXED,
                            .file = d->file,
                            .span = &span,
                            .spans = 1 };
    return recipe_source(r->store, &source, s->rank, s->dims);
}

static Recipe *make_dense(Reader *r)
{
    const SparseDraft *s = &r->sparse;
    if (!s->values || !s->indices)
        fail_sparse(r, "its values or its indices are missing");
    const DType t = recipe_dtype(s->values);
    const int width = index_width(r);
    if (dtype_bits(t) < 8)
        fail_at(STATUS_UNSUPPORTED, reader_loc(r, s->at, s->name), NULL,
                "sparse tensors of %s are not supported", dtype_name(t));
    Dense d = dense_new(r, t, dense_count(r));
    const int64_t n = recipe_count(s->values);
    for (int64_t i = 0; i < n; i += CHUNK)
        put_chunk(r, &d, width, i, i64_min(n - i, CHUNK));
    return dense_recipe(r, &d, t);
}

void sparse_leave(Reader *r, const WireEvent *e)
{
    Recipe *value = make_dense(r);
    if (e->parent == MSG_GRAPH) {
        if (!*r->sparse.name)
            fail_sparse(r, "its values have no name");
        graph_initializer(r, r->sparse.name, e->at, recipe_dtype(value),
                          shape_of(r->sparse.rank, r->sparse.dims), value);
        return;
    }
    AttrDraft *d = &reader_frame(r)->attr;
    if (e->field != ATTRIBUTE_SPARSE) {
        d->others++;
        d->seen = ATTR_SPARSE_TENSORS;
        return;
    }
    if (d->has_sparse)
        fail_sparse(r, "the attribute has two");
    d->has_sparse = true;
    d->seen = ATTR_SPARSE_TENSOR;
    d->attr.tensor = value;
}
