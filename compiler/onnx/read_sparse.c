/* SPDX-License-Identifier: Apache-2.0
 * Sparse tensors: their parts are checked here; ir/recipe_sparse.c makes them dense. */
#include <assert.h>
#include <inttypes.h>

#include "base/diag.h"
#include "onnx/read.h"

#define SPARSE_LIMIT (INT64_C(1) << 30) /* bytes of one dense tensor */

void sparse_enter(Reader *reader, const WireEvent *event)
{
    reader->sparse = (SparseDraft){ .at = event->at, .name = "" };
}

void sparse_field(Reader *reader, const WireEvent *event)
{
    assert(event->field->offset == FIELD(SparseTensorProto, dims));
    reader_dims(reader, event, &reader->sparse.rank, reader->sparse.dims,
                reader->sparse.name);
}

static _Noreturn void fail_sparse(const Reader *reader, const char *what)
{
    fail_at(STATUS_MALFORMED,
            reader_loc(reader, reader->sparse.at, reader->sparse.name), NULL,
            "sparse tensor: %s", what);
}

static void check_count(const Reader *reader)
{
    const SparseDraft *s = &reader->sparse;
    int64_t n = 1;
    for (int i = 0; i < s->rank; i++) {
        if (s->dims[i] < 1)
            fail_sparse(reader, "a dimension is not positive");
        if (__builtin_mul_overflow(n, s->dims[i], &n) || n > SPARSE_LIMIT)
            fail_at(STATUS_UNSUPPORTED, reader_loc(reader, s->at, s->name),
                    NULL, "a sparse tensor of more than %" PRId64 " elements",
                    SPARSE_LIMIT);
    }
}

/* Indices are flat, [n], or one row for each value, [n][rank]. */
static void check_lists(const Reader *reader)
{
    const SparseDraft *s = &reader->sparse;
    const int rank = recipe_rank(s->indices);
    const int64_t n = recipe_count(s->values);
    if (recipe_dtype(s->indices) != DT_I64)
        fail_sparse(reader, "its indices are not int64");
    if (recipe_rank(s->values) != 1)
        fail_sparse(reader, "its values are not a list");
    if (rank < 1 || rank > 2 || recipe_dims(s->indices)[0] != n)
        fail_sparse(reader, "it has not one index for each value");
    if (rank == 2 && recipe_dims(s->indices)[1] != s->rank)
        fail_sparse(reader, "its indices do not have its rank");
}

static Recipe *make_dense(Reader *reader)
{
    const SparseDraft *s = &reader->sparse;
    if (!s->values || !s->indices)
        fail_sparse(reader, "its values or its indices are missing");
    const DType type = recipe_dtype(s->values);
    check_lists(reader);
    if (dtype_bits(type) < 8)
        fail_at(STATUS_UNSUPPORTED, reader_loc(reader, s->at, s->name), NULL,
                "sparse tensors of %s are not supported", dtype_name(type));
    check_count(reader);
    const char *wrong;
    const SparseParts parts = { s->values, s->indices, s->rank, s->dims };
    Recipe *dense = recipe_sparse(reader->store, &parts, &wrong);
    if (wrong)
        fail_sparse(reader, wrong);
    return dense;
}

void sparse_leave(Reader *reader, const WireEvent *event)
{
    Recipe *value = make_dense(reader);
    if (event->parent == MSG_GRAPH) {
        if (!*reader->sparse.name)
            fail_sparse(reader, "its values have no name");
        graph_initializer(
            reader, reader->sparse.name, event->at, recipe_dtype(value),
            shape_of(reader->sparse.rank, reader->sparse.dims), value);
        return;
    }
    AttrDraft *draft = &reader_frame(reader)->attr;
    if (event->field->offset != FIELD(AttributeProto, sparse_tensor)) {
        draft->others++;
        draft->seen = ATTR_SPARSE_TENSORS;
        return;
    }
    if (draft->has_sparse)
        fail_sparse(reader, "the attribute has two");
    draft->has_sparse = true;
    draft->seen = ATTR_SPARSE_TENSOR;
    draft->attr.tensor = value;
}
