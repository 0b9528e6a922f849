/* SPDX-License-Identifier: Apache-2.0
 * Sparse tensors: their parts are checked here; ir/recipe_sparse.c makes them dense. */
#include <inttypes.h>

#include "base/diag.h"
#include "onnx/read.h"

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

static void check_count(const Reader *r)
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
}

/* Indices are flat, [n], or one row for each value, [n][rank]. */
static void check_lists(const Reader *r)
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
}

static Recipe *make_dense(Reader *r)
{
    const SparseDraft *s = &r->sparse;
    if (!s->values || !s->indices)
        fail_sparse(r, "its values or its indices are missing");
    const DType t = recipe_dtype(s->values);
    check_lists(r);
    if (dtype_bits(t) < 8)
        fail_at(STATUS_UNSUPPORTED, reader_loc(r, s->at, s->name), NULL,
                "sparse tensors of %s are not supported", dtype_name(t));
    check_count(r);
    const char *wrong;
    const SparseParts parts = { s->values, s->indices, s->rank, s->dims };
    Recipe *dense = recipe_sparse(r->store, &parts, &wrong);
    if (wrong)
        fail_sparse(r, wrong);
    return dense;
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
