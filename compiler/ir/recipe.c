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

int64_t recipe_count(const Recipe *recipe)
{
    return product(recipe->rank, recipe->dim);
}

const Source *recipe_plain(const Recipe *recipe)
{
    return recipe->form || recipe->join ? NULL : recipe->source;
}

/* --- makers --- */

/* A plain recipe, its source and its spans are one allocation: models have hundreds of thousands of
 * them. */
Recipe *recipe_source(Store *store, const Source *source, int rank, const int64_t *dims)
{
    assert(rank >= 0 && rank <= MAX_RANK && product(rank, dims) == source->count);
    assert(dtype_bits(source->dtype) && (source->file || source->memory || !source->count));
    const size_t head = sizeof(Recipe) + (size_t)rank * sizeof *dims;
    const size_t spans = source->file ? (size_t)source->spans * sizeof(Span) : 0;
    unsigned char *p = arena_alloc(store->arena, size_add(head + sizeof(Source), spans));
    Recipe *recipe = (Recipe *)(void *)p;
    recipe->source = (Source *)(void *)(p + head);
    *recipe->source = *source;
    recipe->source->reader = NULL;
    if (spans)
        recipe->source->span = memcpy(p + head + sizeof(Source), source->span, spans);
    recipe->dtype = (uint8_t)source->dtype;
    recipe->rank = (uint8_t)rank;
    for (int a = 0; a < rank; a++)
        recipe->dim[a] = dims[a];
    return recipe;
}

Recipe *recipe_memory(Store *store, DType type, int rank, const int64_t *dims, const void *values)
{
    const int64_t n = product(rank, dims);
    const size_t bytes = (size_t)dtype_bytes(type, n);
    const Source source = { .dtype = type,
                            .count = n,
                            .memory = arena_copy(store->arena, values, bytes) };
    return recipe_source(store, &source, rank, dims);
}

static Recipe *empty(Store *store, DType type, int rank, const int64_t *dims)
{
    const Source source = { .dtype = type };
    return recipe_source(store, &source, rank, dims);
}

Recipe *recipe_fill(Store *store, DType type, int rank, const int64_t *dims, const void *value)
{
    const int64_t one[MAX_RANK] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    if (!product(rank, dims))
        return empty(store, type, rank, dims);
    return recipe_expand(store, recipe_memory(store, type, rank, one, value), rank, dims);
}

/* --- rewritings --- */

/* A form to rewrite whose axis is one factor, *k; spilled where it is not. */
static Form *copy_axis(Store *store, const Recipe *recipe, int axis, int *k)
{
    Form *form = form_copy(store, recipe);
    if ((*k = form_axis(form, axis)) >= 0)
        return form;
    form = form_copy(store, recipe_spill(store, recipe));
    *k = form_axis(form, axis);
    assert(*k >= 0);
    return form;
}

Recipe *recipe_transpose(Store *store, const Recipe *recipe, const int *perm)
{
    int64_t dims[MAX_RANK];
    for (int a = 0; a < recipe->rank; a++)
        dims[a] = recipe->dim[perm[a]];
    if (!recipe_count(recipe))
        return empty(store, recipe_dtype(recipe), recipe->rank, dims);
    const ArenaMark mark = arena_mark(&store->scratch);
    Form *form = form_copy(store, recipe);
    Reindex x = { .old_rank = form->rank };
    for (int a = 0; a < recipe->rank; a++)
        for (int k = 0; k < form->rank; k++)
            if (form->axis[k] == perm[a])
                reindex_insert(&x, x.rank, k, 1, form->dim[k], a);
    form_reindex(form, &x);
    return form_result(store, mark, form, recipe_dtype(recipe), recipe->rank, dims);
}

/* Cuts the factors at the new axes, from the last backwards; false: the cuts do not nest. */
static bool cut(Form *form, int rank, const int64_t *dims)
{
    form_join(form, true);
    int k = form->rank - 1;
    for (int a = rank; a-- > 0;) {
        for (int64_t need = dims[a]; need > 1; k--) {
            const int64_t n = form->dim[k];
            if (need % n == 0) {
                need /= n;
            } else {
                if (n % need || !form_split(form, k, need))
                    return false;
                k++;
                need = 1;
            }
            form->axis[k] = (int8_t)a;
        }
    }
    return true;
}

static Recipe *join_recipe(Store *store, const Join *join, DType type, int rank,
                           const int64_t *dims)
{
    Recipe *recipe = arena_alloc(store->arena, sizeof *recipe + (size_t)rank * sizeof *dims);
    recipe->join = join;
    recipe->dtype = (uint8_t)type;
    recipe->rank = (uint8_t)rank;
    for (int a = 0; a < rank; a++)
        recipe->dim[a] = dims[a];
    return recipe;
}

static Recipe *reshape_plain(Store *store, const Recipe *recipe, int rank, const int64_t *dims)
{
    if (recipe->join)
        return join_recipe(store, recipe->join, recipe_dtype(recipe), rank, dims);
    return recipe_source(store, recipe->source, rank, dims);
}

Recipe *recipe_reshape(Store *store, const Recipe *recipe, int rank, const int64_t *dims)
{
    const DType type = recipe_dtype(recipe);
    assert(product(rank, dims) == recipe_count(recipe));
    if (!recipe_count(recipe))
        return empty(store, type, rank, dims);
    if (!recipe->form)
        return reshape_plain(store, recipe, rank, dims);
    const ArenaMark mark = arena_mark(&store->scratch);
    Form *f = form_copy(store, recipe);
    if (!cut(f, rank, dims)) {
        arena_release(&store->scratch, mark);
        return reshape_plain(store, recipe_spill(store, recipe), rank, dims);
    }
    return form_result(store, mark, f, type, rank, dims);
}

Recipe *recipe_slice(Store *store, const Recipe *recipe, int axis, int64_t start, int64_t step,
                     int64_t count)
{
    int64_t dims[MAX_RANK];
    memcpy(dims, recipe->dim, (size_t)recipe->rank * sizeof *dims);
    dims[axis] = count;
    if (!product(recipe->rank, dims))
        return empty(store, recipe_dtype(recipe), recipe->rank, dims);
    const int64_t last = i64_add(start, i64_mul(step, count - 1));
    assert(start >= 0 && start < recipe->dim[axis] && last >= 0 && last < recipe->dim[axis]);
    int k;
    const ArenaMark mark = arena_mark(&store->scratch);
    Form *form = copy_axis(store, recipe, axis, &k);
    Reindex x = reindex_same(form);
    x.start[k] = start;
    x.mul[k] = step;
    x.dim[k] = count;
    form_reindex(form, &x);
    return form_result(store, mark, form, recipe_dtype(recipe), recipe->rank, dims);
}

static bool guards_full(const Form *form)
{
    for (int p = 0; p < form->parts; p++)
        if (form->part[p].guards == GUARDS)
            return true;
    return false;
}

static void add_guard(Part *part, int k, int64_t low, int64_t high)
{
    Guard *g = part->guard + part->guards++;
    *g = (Guard){ .low = low, .high = high };
    g->at.step[k] = 1;
}

Recipe *recipe_pad(Store *store, const Recipe *recipe, int axis, int64_t before, int64_t after)
{
    assert(before >= 0 && after >= 0);
    int64_t dims[MAX_RANK];
    memcpy(dims, recipe->dim, (size_t)recipe->rank * sizeof *dims);
    dims[axis] = i64_add(i64_add(before, dims[axis]), after);
    if (before == 0 && after == 0)
        return (Recipe *)recipe;
    if (!product(recipe->rank, dims))
        return empty(store, recipe_dtype(recipe), recipe->rank, dims);
    if (!recipe_count(recipe)) {
        static const uint64_t zero[2];
        return recipe_fill(store, recipe_dtype(recipe), recipe->rank, dims, zero);
    }
    if (recipe->form && guards_full(recipe->form))
        recipe = recipe_spill(store, recipe);
    int k;
    const ArenaMark mark = arena_mark(&store->scratch);
    Form *f = copy_axis(store, recipe, axis, &k);
    Reindex x = reindex_same(f);
    x.start[k] = -before;
    x.dim[k] = dims[axis];
    form_reindex(f, &x);
    for (int p = 0; p < f->parts; p++)
        add_guard(f->part + p, k, before, before + recipe->dim[axis]);
    f->holes = true;
    return form_result(store, mark, f, recipe_dtype(recipe), recipe->rank, dims);
}

/* Is every axis at most one factor, and is there room for a guard? */
static bool is_simple(const Recipe *recipe)
{
    if (!recipe->form)
        return !recipe->join;
    for (int k = 0; k + 1 < recipe->form->rank; k++)
        if (recipe->form->axis[k] == recipe->form->axis[k + 1])
            return false;
    return !guards_full(recipe->form);
}

/* One input of a concat, from `offset` of the axis, in the result's index space. */
static Form *concat_input(Store *store, const Recipe *recipe, int axis, int64_t offset,
                          int64_t whole)
{
    Form *form = form_copy(store, recipe);
    Reindex x = { .old_rank = form->rank };
    int of_axis = 0;
    for (int a = 0; a < recipe->rank; a++) {
        int k = form->rank;
        while (k-- > 0 && form->axis[k] != a)
            continue;
        if (a == axis) {
            of_axis = x.rank;
            if (k >= 0)
                x.start[k] = -offset;
        }
        const int64_t dim = a == axis ? whole : recipe->dim[a];
        if (dim > 1)
            reindex_insert(&x, x.rank, k, 1, dim, a);
    }
    form_reindex(form, &x);
    for (int p = 0; p < form->parts && whole > 1; p++)
        add_guard(form->part + p, of_axis, offset, offset + recipe->dim[axis]);
    return form;
}

Recipe *recipe_bits(Store *store, const Recipe *recipe, DType type, int rank, const int64_t *dims)
{
    if (!recipe_plain(recipe) ||
        (recipe->source->encoding == ENC_VARINT && dtype_bits(recipe_dtype(recipe)) > 8))
        recipe = recipe_spill(store, recipe);
    Source source = *recipe->source;
    source.dtype = type;
    source.count = product(rank, dims);
    assert(dtype_bytes(type, source.count) == recipe_bytes(recipe));
    return recipe_source(store, &source, rank, dims);
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
static void add_pieces(Store *store, Pieces *to, const Recipe *recipe, int axis, int64_t offset,
                       int64_t row)
{
    const int64_t groups = product(axis, recipe->dim);
    const bool fits =
        recipe->join && (groups == 1 || joined_by(recipe->join, groups, recipe_count(recipe)));
    if (!fits) {
        Form *f = form_copy(store, recipe);
        Piece p = { .form = form_keep(store, f), .offset = offset, .row = row };
        while (p.outer < f->rank && f->axis[p.outer] < axis)
            p.outer++;
        VEC_PUSH(&store->scratch, to, p);
        return;
    }
    for (int i = 0; i < recipe->join->pieces; i++) {
        Piece p = recipe->join->piece[i];
        p.offset = i64_add(p.offset, offset);
        if (groups > 1)
            p.row = row;
        VEC_PUSH(&store->scratch, to, p);
    }
}

static Recipe *concat_pieces(Store *store, int n, Recipe *const *r, int axis, const int64_t *dims)
{
    const ArenaMark mark = arena_mark(&store->scratch);
    const int rank = r[0]->rank;
    const int64_t inner = product(rank - axis - 1, dims + axis + 1);
    int64_t offset = 0;
    Pieces piece = { 0 };
    for (int i = 0; i < n; i++) {
        if (r[i]->dim[axis])
            add_pieces(store, &piece, r[i], axis, offset, i64_mul(dims[axis], inner));
        offset += r[i]->dim[axis] * inner;
    }
    Join *join = arena_alloc(store->arena, sizeof *join + piece.n * sizeof *piece.at);
    join->pieces = (int)piece.n;
    memcpy(join->piece, piece.at, piece.n * sizeof *piece.at);
    arena_release(&store->scratch, mark);
    return join_recipe(store, join, recipe_dtype(r[0]), rank, dims);
}

Recipe *recipe_concat(Store *store, int n, Recipe *const *r, int axis)
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
        return empty(store, recipe_dtype(r[0]), r[0]->rank, dims);
    for (int i = 0; i < n; i++)
        if (!is_simple(r[i]))
            return concat_pieces(store, n, r, axis, dims);
    const ArenaMark mark = arena_mark(&store->scratch);
    VEC(Part) part = { 0 };
    Form all = { 0 };
    bool holes = false;
    int64_t offset = 0;
    for (int i = 0; i < n; i++) {
        assert(r[i]->dtype == r[0]->dtype && r[i]->rank == r[0]->rank);
        if (!r[i]->dim[axis])
            continue;
        all = *concat_input(store, r[i], axis, offset, dims[axis]);
        holes = holes || all.holes;
        for (int p = 0; p < all.parts; p++)
            VEC_PUSH(&store->scratch, &part, all.part[p]);
        if (part.n > LIMIT_PIECES)
            fail_at(STATUS_UNSUPPORTED, LOC_NONE, "compute it before the model is written",
                    "a constant is put together of more than %d pieces", LIMIT_PIECES);
        offset += r[i]->dim[axis];
    }
    all.holes = holes;
    all.part = part.at;
    all.parts = (int)part.n;
    return form_result(store, mark, &all, recipe_dtype(r[0]), r[0]->rank, dims);
}

/* Dims of the broadcast of recipe and dims; axis a of recipe is axis a + *shift of the result. */
static int broadcast(const Recipe *recipe, int rank, const int64_t *dims, int64_t *out, int *shift)
{
    const int most = rank > recipe->rank ? rank : recipe->rank;
    *shift = most - recipe->rank;
    for (int a = 0; a < most; a++) {
        const int64_t mine = a >= *shift ? recipe->dim[a - *shift] : 1;
        const int64_t other = a >= most - rank ? dims[a - (most - rank)] : 1;
        assert(mine == other || mine == 1 || other == 1);
        out[a] = mine == 1 ? other : mine;
    }
    return most;
}

static bool expand_form(Form *form, int rank, const int64_t *dims, int shift)
{
    Reindex x = { .old_rank = form->rank };
    int k = 0;
    for (int a = 0; a < rank; a++) {
        bool own = false;
        for (; k < form->rank && form->axis[k] + shift == a; k++) {
            if (x.rank == FACTORS)
                return false;
            reindex_insert(&x, x.rank, k, 1, form->dim[k], a);
            own = true;
        }
        if (own || dims[a] == 1)
            continue;
        if (x.rank == FACTORS)
            return false;
        reindex_insert(&x, x.rank, -1, 0, dims[a], a);
    }
    form_reindex(form, &x);
    return true;
}

Recipe *recipe_expand(Store *store, const Recipe *recipe, int rank, const int64_t *dims)
{
    int64_t out[MAX_RANK];
    int shift;
    const int most = broadcast(recipe, rank, dims, out, &shift);
    if (!product(most, out))
        return empty(store, recipe_dtype(recipe), most, out);
    if (product(most, out) == recipe_count(recipe))
        return recipe_reshape(store, recipe, most, out);
    const ArenaMark mark = arena_mark(&store->scratch);
    Form *form = form_copy(store, recipe);
    if (!expand_form(form, most, out, shift)) {
        form = form_copy(store, recipe_spill(store, recipe));
        const bool fits = expand_form(form, most, out, shift);
        assert(fits);
        (void)fits;
    }
    return form_result(store, mark, form, recipe_dtype(recipe), most, out);
}
