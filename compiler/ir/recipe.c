/* SPDX-License-Identifier: Apache-2.0
 * Recipes: facts, makers, and one rewriting per operator that moves a constant's elements.
 * No payload byte is touched here, unless a result leaves the normal form and is spilled. */
#include "ir/recipe.h"

#include <assert.h>
#include <string.h>

#include "base/limits.h"
#include "base/size.h"
#include "base/vec.h"
#include "ir/recipe_form.h"

int recipe_rank(const Recipe *r)
{
    return r->rank;
}
const int64_t *recipe_dims(const Recipe *r)
{
    return r->dim;
}
DType recipe_dtype(const Recipe *r)
{
    return (DType)r->dtype;
}
int64_t recipe_bytes(const Recipe *r)
{
    return dtype_bytes(recipe_dtype(r), recipe_count(r));
}

static int64_t product(int rank, const int64_t *dims)
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

int64_t recipe_count(const Recipe *r)
{
    return product(r->rank, r->dim);
}

const Source *recipe_plain(const Recipe *r)
{
    return r->form || r->join ? NULL : r->source;
}

/* --- makers --- */

/* A plain recipe, its source and its spans are one allocation: models have hundreds of thousands of
 * them. */
Recipe *recipe_source(Store *s, const Source *source, int rank, const int64_t *dims)
{
    assert(rank >= 0 && rank <= MAX_RANK && product(rank, dims) == source->count);
    assert(dtype_bits(source->dtype) && (source->file || source->memory || !source->count));
    const size_t head = sizeof(Recipe) + (size_t)rank * sizeof *dims;
    const size_t spans = source->file ? (size_t)source->spans * sizeof(Span) : 0;
    unsigned char *p = arena_alloc(s->arena, size_add(head + sizeof(Source), spans));
    Recipe *r = (Recipe *)(void *)p;
    r->source = (Source *)(void *)(p + head);
    *r->source = *source;
    r->source->reader = NULL;
    if (spans)
        r->source->span = memcpy(p + head + sizeof(Source), source->span, spans);
    r->dtype = (uint8_t)source->dtype;
    r->rank = (uint8_t)rank;
    for (int a = 0; a < rank; a++)
        r->dim[a] = dims[a];
    return r;
}

Recipe *recipe_memory(Store *s, DType t, int rank, const int64_t *dims, const void *values)
{
    const int64_t n = product(rank, dims);
    const size_t bytes = (size_t)dtype_bytes(t, n);
    const Source source = { .dtype = t, .count = n, .memory = arena_copy(s->arena, values, bytes) };
    return recipe_source(s, &source, rank, dims);
}

static Recipe *empty(Store *s, DType t, int rank, const int64_t *dims)
{
    const Source source = { .dtype = t };
    return recipe_source(s, &source, rank, dims);
}

Recipe *recipe_fill(Store *s, DType t, int rank, const int64_t *dims, const void *value)
{
    const int64_t one[MAX_RANK] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    if (!product(rank, dims))
        return empty(s, t, rank, dims);
    return recipe_expand(s, recipe_memory(s, t, rank, one, value), rank, dims);
}

/* --- rewritings --- */

/* A form to rewrite whose axis is one factor, *k; spilled where it is not. */
static Form *copy_axis(Store *s, const Recipe *r, int axis, int *k)
{
    Form *f = form_copy(s, r);
    if ((*k = form_axis(f, axis)) >= 0)
        return f;
    f = form_copy(s, recipe_spill(s, r));
    *k = form_axis(f, axis);
    assert(*k >= 0);
    return f;
}

Recipe *recipe_transpose(Store *s, const Recipe *r, const int *perm)
{
    int64_t dims[MAX_RANK];
    for (int a = 0; a < r->rank; a++)
        dims[a] = r->dim[perm[a]];
    if (!recipe_count(r))
        return empty(s, recipe_dtype(r), r->rank, dims);
    const ArenaMark mark = arena_mark(&s->scratch);
    Form *f = form_copy(s, r);
    Reindex x = { .old_rank = f->rank };
    for (int a = 0; a < r->rank; a++)
        for (int k = 0; k < f->rank; k++)
            if (f->axis[k] == perm[a])
                reindex_insert(&x, x.rank, k, 1, f->dim[k], a);
    form_reindex(f, &x);
    return form_result(s, mark, f, recipe_dtype(r), r->rank, dims);
}

/* Cuts the factors at the new axes, from the last backwards; false: the cuts do not nest. */
static bool cut(Form *f, int rank, const int64_t *dims)
{
    form_join(f, true);
    int k = f->rank - 1;
    for (int a = rank; a-- > 0;) {
        for (int64_t need = dims[a]; need > 1; k--) {
            const int64_t n = f->dim[k];
            if (need % n == 0) {
                need /= n;
            } else {
                if (n % need || !form_split(f, k, need))
                    return false;
                k++;
                need = 1;
            }
            f->axis[k] = (int8_t)a;
        }
    }
    return true;
}

static Recipe *join_recipe(Store *s, const Join *join, DType t, int rank, const int64_t *dims)
{
    Recipe *r = arena_alloc(s->arena, sizeof *r + (size_t)rank * sizeof *dims);
    r->join = join;
    r->dtype = (uint8_t)t;
    r->rank = (uint8_t)rank;
    for (int a = 0; a < rank; a++)
        r->dim[a] = dims[a];
    return r;
}

static Recipe *reshape_plain(Store *s, const Recipe *r, int rank, const int64_t *dims)
{
    if (r->join)
        return join_recipe(s, r->join, recipe_dtype(r), rank, dims);
    return recipe_source(s, r->source, rank, dims);
}

Recipe *recipe_reshape(Store *s, const Recipe *r, int rank, const int64_t *dims)
{
    const DType t = recipe_dtype(r);
    assert(product(rank, dims) == recipe_count(r));
    if (!recipe_count(r))
        return empty(s, t, rank, dims);
    if (!r->form)
        return reshape_plain(s, r, rank, dims);
    const ArenaMark mark = arena_mark(&s->scratch);
    Form *f = form_copy(s, r);
    if (!cut(f, rank, dims)) {
        arena_release(&s->scratch, mark);
        return reshape_plain(s, recipe_spill(s, r), rank, dims);
    }
    return form_result(s, mark, f, t, rank, dims);
}

Recipe *recipe_slice(Store *s, const Recipe *r, int axis, int64_t start, int64_t step,
                     int64_t count)
{
    int64_t dims[MAX_RANK];
    memcpy(dims, r->dim, (size_t)r->rank * sizeof *dims);
    dims[axis] = count;
    if (!product(r->rank, dims))
        return empty(s, recipe_dtype(r), r->rank, dims);
    const int64_t last = i64_add(start, i64_mul(step, count - 1));
    assert(start >= 0 && start < r->dim[axis] && last >= 0 && last < r->dim[axis]);
    int k;
    const ArenaMark mark = arena_mark(&s->scratch);
    Form *f = copy_axis(s, r, axis, &k);
    Reindex x = reindex_same(f);
    x.start[k] = start;
    x.mul[k] = step;
    x.dim[k] = count;
    form_reindex(f, &x);
    return form_result(s, mark, f, recipe_dtype(r), r->rank, dims);
}

static bool guards_full(const Form *f)
{
    for (int p = 0; p < f->parts; p++)
        if (f->part[p].guards == GUARDS)
            return true;
    return false;
}

static void add_guard(Part *p, int k, int64_t low, int64_t high)
{
    Guard *g = p->guard + p->guards++;
    *g = (Guard){ .low = low, .high = high };
    g->at.step[k] = 1;
}

Recipe *recipe_pad(Store *s, const Recipe *r, int axis, int64_t before, int64_t after)
{
    assert(before >= 0 && after >= 0);
    int64_t dims[MAX_RANK];
    memcpy(dims, r->dim, (size_t)r->rank * sizeof *dims);
    dims[axis] = i64_add(i64_add(before, dims[axis]), after);
    if (before == 0 && after == 0)
        return (Recipe *)r;
    if (!product(r->rank, dims))
        return empty(s, recipe_dtype(r), r->rank, dims);
    if (!recipe_count(r)) {
        static const uint64_t zero[2];
        return recipe_fill(s, recipe_dtype(r), r->rank, dims, zero);
    }
    if (r->form && guards_full(r->form))
        r = recipe_spill(s, r);
    int k;
    const ArenaMark mark = arena_mark(&s->scratch);
    Form *f = copy_axis(s, r, axis, &k);
    Reindex x = reindex_same(f);
    x.start[k] = -before;
    x.dim[k] = dims[axis];
    form_reindex(f, &x);
    for (int p = 0; p < f->parts; p++)
        add_guard(f->part + p, k, before, before + r->dim[axis]);
    f->holes = true;
    return form_result(s, mark, f, recipe_dtype(r), r->rank, dims);
}

/* Is every axis at most one factor, and is there room for a guard? */
static bool is_simple(const Recipe *r)
{
    if (!r->form)
        return !r->join;
    for (int k = 0; k + 1 < r->form->rank; k++)
        if (r->form->axis[k] == r->form->axis[k + 1])
            return false;
    return !guards_full(r->form);
}

/* One input of a concat, from `offset` of the axis, in the result's index space. */
static Form *concat_input(Store *s, const Recipe *r, int axis, int64_t offset, int64_t whole)
{
    Form *f = form_copy(s, r);
    Reindex x = { .old_rank = f->rank };
    int of_axis = 0;
    for (int a = 0; a < r->rank; a++) {
        int k = f->rank;
        while (k-- > 0 && f->axis[k] != a)
            continue;
        if (a == axis) {
            of_axis = x.rank;
            if (k >= 0)
                x.start[k] = -offset;
        }
        const int64_t dim = a == axis ? whole : r->dim[a];
        if (dim > 1)
            reindex_insert(&x, x.rank, k, 1, dim, a);
    }
    form_reindex(f, &x);
    for (int p = 0; p < f->parts && whole > 1; p++)
        add_guard(f->part + p, of_axis, offset, offset + r->dim[axis]);
    return f;
}

Recipe *recipe_bits(Store *s, const Recipe *r, DType t, int rank, const int64_t *dims)
{
    if (!recipe_plain(r) || (r->source->encoding == ENC_VARINT && dtype_bits(recipe_dtype(r)) > 8))
        r = recipe_spill(s, r);
    Source source = *r->source;
    source.dtype = t;
    source.count = product(rank, dims);
    assert(dtype_bytes(t, source.count) == recipe_bytes(r));
    return recipe_source(s, &source, rank, dims);
}

/* --- concat of what has several factors to an axis --- */

typedef VEC(Piece) Pieces;

/* Does every piece step by rows, as many as there are groups, of `count` elements in all? */
static bool joined_by(const Join *join, int64_t groups, int64_t count)
{
    for (int i = 0; i < join->pieces; i++) {
        const Piece *p = join->piece + i;
        int64_t rows = 1;
        for (int k = 0; k < p->outer; k++)
            rows *= p->form->dim[k];
        if (rows != groups || p->row != count / groups)
            return false;
    }
    return true;
}

/* The pieces of one input at `offset` of rows of `row` elements. */
static void add_pieces(Store *s, Pieces *to, const Recipe *r, int axis, int64_t offset, int64_t row)
{
    const int64_t groups = product(axis, r->dim);
    const bool fits = r->join && (groups == 1 || joined_by(r->join, groups, recipe_count(r)));
    if (!fits) {
        Form *f = form_copy(s, r);
        Piece p = { .form = form_keep(s, f), .offset = offset, .row = row };
        while (p.outer < f->rank && f->axis[p.outer] < axis)
            p.outer++;
        VEC_PUSH(&s->scratch, to, p);
        return;
    }
    for (int i = 0; i < r->join->pieces; i++) {
        Piece p = r->join->piece[i];
        p.offset = i64_add(p.offset, offset);
        if (groups > 1)
            p.row = row;
        VEC_PUSH(&s->scratch, to, p);
    }
}

static Recipe *concat_pieces(Store *s, int n, Recipe *const *r, int axis, const int64_t *dims)
{
    const ArenaMark mark = arena_mark(&s->scratch);
    const int rank = r[0]->rank;
    const int64_t inner = product(rank - axis - 1, dims + axis + 1);
    int64_t offset = 0;
    Pieces piece = { 0 };
    for (int i = 0; i < n; i++) {
        if (r[i]->dim[axis])
            add_pieces(s, &piece, r[i], axis, offset, i64_mul(dims[axis], inner));
        offset += r[i]->dim[axis] * inner;
    }
    Join *join = arena_alloc(s->arena, sizeof *join + piece.n * sizeof *piece.at);
    join->pieces = (int)piece.n;
    memcpy(join->piece, piece.at, piece.n * sizeof *piece.at);
    arena_release(&s->scratch, mark);
    return join_recipe(s, join, recipe_dtype(r[0]), rank, dims);
}

Recipe *recipe_concat(Store *s, int n, Recipe *const *r, int axis)
{
    assert(n > 0);
    int64_t dims[MAX_RANK];
    memcpy(dims, r[0]->dim, r[0]->rank * sizeof *dims);
    dims[axis] = 0;
    for (int i = 0; i < n; i++)
        dims[axis] = i64_add(dims[axis], r[i]->dim[axis]);
    if (n == 1)
        return r[0];
    if (!product(r[0]->rank, dims))
        return empty(s, recipe_dtype(r[0]), r[0]->rank, dims);
    for (int i = 0; i < n; i++)
        if (!is_simple(r[i]))
            return concat_pieces(s, n, r, axis, dims);
    const ArenaMark mark = arena_mark(&s->scratch);
    VEC(Part) part = { 0 };
    Form all = { 0 };
    bool holes = false;
    int64_t offset = 0;
    for (int i = 0; i < n; i++) {
        assert(r[i]->dtype == r[0]->dtype && r[i]->rank == r[0]->rank);
        if (!r[i]->dim[axis])
            continue;
        all = *concat_input(s, r[i], axis, offset, dims[axis]);
        holes = holes || all.holes;
        for (int p = 0; p < all.parts; p++)
            VEC_PUSH(&s->scratch, &part, all.part[p]);
        if (part.n > LIMIT_PIECES)
            fail_at(STATUS_UNSUPPORTED, LOC_NONE, "compute it before the model is written",
                    "a constant is put together of more than %d pieces", LIMIT_PIECES);
        offset += r[i]->dim[axis];
    }
    all.holes = holes;
    all.part = part.at;
    all.parts = (int)part.n;
    return form_result(s, mark, &all, recipe_dtype(r[0]), r[0]->rank, dims);
}

/* Dims of the broadcast of r and dims; axis a of r is axis a + *shift of the result. */
static int broadcast(const Recipe *r, int rank, const int64_t *dims, int64_t *out, int *shift)
{
    const int most = rank > r->rank ? rank : r->rank;
    *shift = most - r->rank;
    for (int a = 0; a < most; a++) {
        const int64_t mine = a >= *shift ? r->dim[a - *shift] : 1;
        const int64_t other = a >= most - rank ? dims[a - (most - rank)] : 1;
        assert(mine == other || mine == 1 || other == 1);
        out[a] = mine == 1 ? other : mine;
    }
    return most;
}

static bool expand_form(Form *f, int rank, const int64_t *dims, int shift)
{
    Reindex x = { .old_rank = f->rank };
    int k = 0;
    for (int a = 0; a < rank; a++) {
        bool own = false;
        for (; k < f->rank && f->axis[k] + shift == a; k++) {
            if (x.rank == FACTORS)
                return false;
            reindex_insert(&x, x.rank, k, 1, f->dim[k], a);
            own = true;
        }
        if (own || dims[a] == 1)
            continue;
        if (x.rank == FACTORS)
            return false;
        reindex_insert(&x, x.rank, -1, 0, dims[a], a);
    }
    form_reindex(f, &x);
    return true;
}

Recipe *recipe_expand(Store *s, const Recipe *r, int rank, const int64_t *dims)
{
    int64_t out[MAX_RANK];
    int shift;
    const int most = broadcast(r, rank, dims, out, &shift);
    if (!product(most, out))
        return empty(s, recipe_dtype(r), most, out);
    if (product(most, out) == recipe_count(r))
        return recipe_reshape(s, r, most, out);
    const ArenaMark mark = arena_mark(&s->scratch);
    Form *f = form_copy(s, r);
    if (!expand_form(f, most, out, shift)) {
        f = form_copy(s, recipe_spill(s, r));
        const bool fits = expand_form(f, most, out, shift);
        assert(fits);
        (void)fits;
    }
    return form_result(s, mark, f, recipe_dtype(r), most, out);
}
