/* SPDX-License-Identifier: Apache-2.0
 * Constants one behind the other along an axis: the parts of one form where every axis of each is
 * one factor, pieces of runs otherwise. */
#include <assert.h>
#include <string.h>

#include "base/diag.h"
#include "base/limits.h"
#include "base/size.h"
#include "base/vec.h"
#include "ir/recipe_form.h"

/* Is every axis at most one factor, and is there room for a guard? */
static bool is_simple(const Recipe *recipe)
{
    if (!recipe->form)
        return !recipe->join;
    for (int k = 0; k + 1 < recipe->form->rank; k++)
        if (recipe->form->axis[k] == recipe->form->axis[k + 1])
            return false;
    return !form_guards_full(recipe->form);
}

/* One input of a concat, from `offset` of the axis, in the result's index space. */
static Form *concat_input(Store *store, const Recipe *recipe, int axis,
                          int64_t offset, int64_t whole)
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
        form_add_guard(form->part + p, of_axis, offset,
                       offset + recipe->dim[axis]);
    return form;
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
static void add_pieces(Store *store, Pieces *to, const Recipe *recipe, int axis,
                       int64_t offset, int64_t row)
{
    const int64_t groups = dims_product(axis, recipe->dim);
    const bool fits =
        recipe->join &&
        (groups == 1 || joined_by(recipe->join, groups, recipe_count(recipe)));
    if (!fits) {
        Form *form = form_copy(store, recipe);
        Piece piece = { .offset = offset, .row = row };
        piece.form = form_keep(store, form);
        while (piece.outer < form->rank && form->axis[piece.outer] < axis)
            piece.outer++;
        VEC_PUSH(&store->scratch, to, piece);
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

static const Join *keep_pieces(Store *store, const Pieces *pieces)
{
    const size_t bytes = pieces->n * sizeof *pieces->at;
    Join *join = arena_alloc(store->arena, sizeof *join + bytes);
    join->pieces = (int)pieces->n;
    memcpy(join->piece, pieces->at, bytes);
    return join;
}

static Recipe *concat_pieces(Store *store, int n, Recipe *const *inputs,
                             int axis, const int64_t *dims)
{
    const ArenaMark mark = arena_mark(&store->scratch);
    const Recipe *first = inputs[0];
    const int after = axis + 1;
    const int64_t inner = dims_product(first->rank - after, dims + after);
    const int64_t row = i64_mul(dims[axis], inner);
    int64_t offset = 0;
    Pieces pieces = { 0 };
    for (int i = 0; i < n; i++) {
        const int64_t own = inputs[i]->dim[axis];
        if (own)
            add_pieces(store, &pieces, inputs[i], axis, offset, row);
        offset += own * inner;
    }
    const Join *join = keep_pieces(store, &pieces);
    arena_release(&store->scratch, mark);
    return recipe_joined(store, join, recipe_dtype(first), first->rank, dims);
}

typedef VEC(Part) Parts;

/* The parts of one input, in the result's index space; its form. */
static Form *add_parts(Store *store, Parts *to, const Recipe *recipe, int axis,
                       int64_t offset, int64_t whole)
{
    Form *form = concat_input(store, recipe, axis, offset, whole);
    for (int p = 0; p < form->parts; p++)
        VEC_PUSH(&store->scratch, to, form->part[p]);
    if (to->n > LIMIT_PIECES)
        fail_at(STATUS_UNSUPPORTED, LOC_NONE,
                "compute it before the model is written",
                "a constant is put together of more than %d pieces",
                LIMIT_PIECES);
    return form;
}

static Recipe *concat_parts(Store *store, int n, Recipe *const *inputs,
                            int axis, const int64_t *dims)
{
    const Recipe *first = inputs[0];
    const ArenaMark mark = arena_mark(&store->scratch);
    Parts parts = { 0 };
    Form all = { 0 };
    bool holes = false;
    int64_t offset = 0;
    for (int i = 0; i < n; i++) {
        const Recipe *input = inputs[i];
        assert(input->dtype == first->dtype && input->rank == first->rank);
        if (!input->dim[axis])
            continue;
        all = *add_parts(store, &parts, input, axis, offset, dims[axis]);
        holes = holes || all.holes;
        offset += input->dim[axis];
    }
    all.holes = holes;
    all.part = parts.at;
    all.parts = (int)parts.n;
    return form_result(store, mark, &all, recipe_dtype(first), first->rank,
                       dims);
}

static bool all_simple(int n, Recipe *const *inputs)
{
    for (int i = 0; i < n; i++)
        if (!is_simple(inputs[i]))
            return false;
    return true;
}

Recipe *recipe_concat(Store *store, int n, Recipe *const *inputs, int axis)
{
    assert(n > 0);
    const Recipe *first = inputs[0];
    if (n == 1)
        return inputs[0];
    int64_t dims[MAX_RANK];
    memcpy(dims, first->dim, first->rank * sizeof *dims);
    dims[axis] = 0;
    for (int i = 0; i < n; i++)
        dims[axis] = i64_add(dims[axis], inputs[i]->dim[axis]);
    if (!dims_product(first->rank, dims))
        return recipe_empty(store, recipe_dtype(first), first->rank, dims);
    if (all_simple(n, inputs))
        return concat_parts(store, n, inputs, axis, dims);
    return concat_pieces(store, n, inputs, axis, dims);
}
