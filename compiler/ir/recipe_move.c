/* SPDX-License-Identifier: Apache-2.0
 * One rewriting per operator that moves a constant's elements; recipe_concat.c has that of several.
 * No payload byte is touched here, unless a result leaves the normal form and is spilled. */
#include <assert.h>
#include <string.h>

#include "base/size.h"
#include "ir/recipe_form.h"

/* Of the type and rank of a recipe. */
static Recipe *result_like(Store *store, ArenaMark mark, Form *form,
                           const Recipe *recipe, const int64_t *dims)
{
    const DType type = recipe_dtype(recipe);
    return form_result(store, mark, form, type, recipe->rank, dims);
}

static Recipe *empty_like(Store *store, const Recipe *recipe,
                          const int64_t *dims)
{
    return recipe_empty(store, recipe_dtype(recipe), recipe->rank, dims);
}

/* The same index space but for one axis. */
static void other_axis(const Recipe *recipe, int axis, int64_t dim,
                       int64_t *dims)
{
    const size_t rank = recipe->rank;
    memcpy(dims, recipe->dim, rank * sizeof *dims);
    dims[axis] = dim;
}

static bool has_dims(const Recipe *recipe, int rank, const int64_t *dims)
{
    bool same = rank == recipe->rank;
    for (int a = 0; same && a < rank; a++)
        same = dims[a] == recipe->dim[a];
    return same;
}

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

/* The factors of an axis come next, as axis `to`. */
static void add_axis(Reindex *x, const Form *form, int from, int to)
{
    for (int k = 0; k < form->rank; k++) {
        if (form->axis[k] != from)
            continue;
        const int64_t dim = form->dim[k];
        reindex_insert(x, x->rank, k, 1, dim, to);
    }
}

Recipe *recipe_transpose(Store *store, const Recipe *recipe, const int *perm)
{
    int64_t dims[MAX_RANK];
    for (int a = 0; a < recipe->rank; a++)
        dims[a] = recipe->dim[perm[a]];
    if (!recipe_count(recipe))
        return empty_like(store, recipe, dims);
    const ArenaMark mark = arena_mark(&store->scratch);
    Form *form = form_copy(store, recipe);
    Reindex x = { .old_rank = form->rank };
    for (int a = 0; a < recipe->rank; a++)
        add_axis(&x, form, perm[a], a);
    form_reindex(form, &x);
    return result_like(store, mark, form, recipe, dims);
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

static Recipe *reshape_plain(Store *store, const Recipe *recipe, int rank,
                             const int64_t *dims)
{
    if (recipe->join)
        return recipe_joined(store, recipe->join, recipe_dtype(recipe), rank,
                             dims);
    return recipe_source(store, recipe->source, rank, dims);
}

Recipe *recipe_reshape(Store *store, const Recipe *recipe, int rank,
                       const int64_t *dims)
{
    const DType type = recipe_dtype(recipe);
    assert(dims_product(rank, dims) == recipe_count(recipe));
    if (has_dims(recipe, rank, dims))
        return (Recipe *)recipe;
    if (!recipe_count(recipe))
        return recipe_empty(store, type, rank, dims);
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

Recipe *recipe_slice(Store *store, const Recipe *recipe, int axis,
                     int64_t start, int64_t step, int64_t count)
{
    int64_t dims[MAX_RANK];
    other_axis(recipe, axis, count, dims);
    if (!dims_product(recipe->rank, dims))
        return empty_like(store, recipe, dims);
    const int64_t last = i64_add(start, i64_mul(step, count - 1));
    const int64_t dim = recipe->dim[axis];
    assert(start >= 0 && start < dim);
    assert(last >= 0 && last < dim);
    if (count == dim && start == 0)
        return (Recipe *)recipe;
    int k;
    const ArenaMark mark = arena_mark(&store->scratch);
    Form *form = copy_axis(store, recipe, axis, &k);
    Reindex x = reindex_same(form);
    x.start[k] = start;
    x.mul[k] = step;
    x.dim[k] = count;
    form_reindex(form, &x);
    return result_like(store, mark, form, recipe, dims);
}

/* So many zeros before and behind an axis of what is not empty. */
static Recipe *pad_form(Store *store, const Recipe *recipe, int axis,
                        int64_t before, const int64_t *dims)
{
    int k;
    const ArenaMark mark = arena_mark(&store->scratch);
    Form *form = copy_axis(store, recipe, axis, &k);
    Reindex x = reindex_same(form);
    x.start[k] = -before;
    x.dim[k] = dims[axis];
    form_reindex(form, &x);
    const int64_t end = before + recipe->dim[axis];
    for (int p = 0; p < form->parts; p++)
        form_add_guard(form->part + p, k, before, end);
    form->holes = true;
    return result_like(store, mark, form, recipe, dims);
}

Recipe *recipe_pad(Store *store, const Recipe *recipe, int axis, int64_t before,
                   int64_t after)
{
    static const uint64_t zero[2];
    assert(before >= 0 && after >= 0);
    if (before == 0 && after == 0)
        return (Recipe *)recipe;
    const DType type = recipe_dtype(recipe);
    int64_t dims[MAX_RANK];
    const int64_t dim = i64_add(before, recipe->dim[axis]);
    other_axis(recipe, axis, i64_add(dim, after), dims);
    if (!dims_product(recipe->rank, dims))
        return recipe_empty(store, type, recipe->rank, dims);
    if (!recipe_count(recipe))
        return recipe_fill(store, type, recipe->rank, dims, zero);
    if (recipe->form && form_guards_full(recipe->form))
        recipe = recipe_spill(store, recipe);
    return pad_form(store, recipe, axis, before, dims);
}

Recipe *recipe_part(Store *store, const Recipe *recipe, int axis, int64_t from,
                    int64_t count)
{
    return recipe_slice(store, recipe, axis, from, 1, count);
}

Recipe *recipe_fill_up(Store *store, const Recipe *recipe, int axis,
                       int64_t size)
{
    const int64_t more = size - recipe->dim[axis];
    return recipe_pad(store, recipe, axis, 0, more);
}

Recipe *recipe_matrix(Store *store, const Recipe *recipe, int64_t rows)
{
    const int64_t columns = rows ? recipe_count(recipe) / rows : 0;
    const int64_t dims[2] = { rows, columns };
    return recipe_reshape(store, recipe, 2, dims);
}

Recipe *recipe_turn(Store *store, const Recipe *matrix)
{
    static const int perm[2] = { 1, 0 };
    return recipe_transpose(store, matrix, perm);
}

/* Dims of the broadcast of recipe and dims; axis a of recipe is axis a + *shift of the result. */
static int broadcast(const Recipe *recipe, int rank, const int64_t *dims,
                     int64_t *out, int *shift)
{
    const int most = rank > recipe->rank ? rank : recipe->rank;
    const int missing = most - rank;
    *shift = most - recipe->rank;
    for (int a = 0; a < most; a++) {
        const int own = a - *shift;
        const int64_t mine = own >= 0 ? recipe->dim[own] : 1;
        const int64_t other = a >= missing ? dims[a - missing] : 1;
        assert(mine == other || mine == 1 || other == 1);
        out[a] = mine == 1 ? other : mine;
    }
    return most;
}

/* The next factor of the result; false: there is no room. */
static bool add_factor(Reindex *x, int from, int64_t dim, int axis)
{
    if (x->rank == FACTORS)
        return false;
    const int64_t step = from < 0 ? 0 : 1;
    reindex_insert(x, x->rank, from, step, dim, axis);
    return true;
}

static bool expand_form(Form *form, int rank, const int64_t *dims, int shift)
{
    Reindex x = { .old_rank = form->rank };
    int k = 0;
    for (int axis = 0; axis < rank; axis++) {
        const int own = axis - shift;
        const int64_t dim = dims[axis];
        const bool is_new = k == form->rank || form->axis[k] != own;
        if (is_new && dim > 1 && !add_factor(&x, -1, dim, axis))
            return false;
        while (k < form->rank && form->axis[k] == own) {
            if (!add_factor(&x, k, form->dim[k], axis))
                return false;
            k++;
        }
    }
    form_reindex(form, &x);
    return true;
}

Recipe *recipe_expand(Store *store, const Recipe *recipe, int rank,
                      const int64_t *dims)
{
    const DType type = recipe_dtype(recipe);
    int64_t out[MAX_RANK];
    int shift;
    const int most = broadcast(recipe, rank, dims, out, &shift);
    const int64_t count = dims_product(most, out);
    if (!count)
        return recipe_empty(store, type, most, out);
    if (count == recipe_count(recipe))
        return recipe_reshape(store, recipe, most, out);
    const ArenaMark mark = arena_mark(&store->scratch);
    Form *form = form_copy(store, recipe);
    if (!expand_form(form, most, out, shift)) {
        form = form_copy(store, recipe_spill(store, recipe));
        const bool fits = expand_form(form, most, out, shift);
        assert(fits);
        (void)fits;
    }
    return form_result(store, mark, form, type, most, out);
}

/* Do its elements lie somewhere as they are, or as varints of single bytes? */
static bool is_bytes(const Recipe *recipe)
{
    const Source *source = recipe_plain(recipe);
    if (!source)
        return false;
    return source->encoding != ENC_VARINT || dtype_bits(source->dtype) <= 8;
}

Recipe *recipe_bits(Store *store, const Recipe *recipe, DType type, int rank,
                    const int64_t *dims)
{
    if (!is_bytes(recipe))
        recipe = recipe_spill(store, recipe);
    Source source = *recipe->source;
    source.dtype = type;
    source.count = dims_product(rank, dims);
    assert(dtype_bytes(type, source.count) == recipe_bytes(recipe));
    return recipe_source(store, &source, rank, dims);
}
