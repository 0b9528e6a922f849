/* SPDX-License-Identifier: Apache-2.0
 * Changes of values: casts, and products and sums with numbers that are recipes themselves. */
#include <assert.h>
#include <math.h>

#include "base/diag.h"
#include "ir/convert.h"
#include "ir/recipe_form.h"

static bool changes_full(const Recipe *recipe)
{
    for (int p = 0; recipe->form && p < recipe->form->parts; p++)
        if (recipe->form->part[p].changes == CHANGES)
            return true;
    return false;
}

static void add_change(Form *form, const Change *c)
{
    for (int p = 0; p < form->parts; p++)
        form->part[p].change[form->part[p].changes++] = *c;
}

Recipe *recipe_cast(Store *store, const Recipe *recipe, DType type)
{
    if (recipe_dtype(recipe) == type)
        return (Recipe *)recipe;
    if (!recipe_count(recipe))
        return recipe_memory(store, type, recipe->rank, recipe->dim, "");
    if (!convert_possible(recipe_dtype(recipe), type))
        fail_at(STATUS_UNSUPPORTED, diag_place(), NULL,
                "a constant of %s does not become %s",
                dtype_name(recipe_dtype(recipe)), dtype_name(type));
    /* Zero bits are zero in all types but this one. */
    const bool tiny = recipe_dtype(recipe) == DT_F8E8M0 && recipe->form &&
                      recipe->form->holes;
    if (tiny || changes_full(recipe))
        recipe = recipe_spill(store, recipe);
    const ArenaMark mark = arena_mark(&store->scratch);
    Form *f = form_copy(store, recipe);
    add_change(f, &(Change){ .kind = CHANGE_CAST, .dtype = type });
    return form_result(store, mark, f, type, recipe->rank, recipe->dim);
}

const float *change_memory(const Change *change)
{
    const bool as_it_lies = !change->source->file &&
                            change->source->dtype == DT_F32 && !change->changes;
    return as_it_lies ? change->source->memory : NULL;
}

/* Is it a cast, or one number that lies in memory? */
static bool is_simple_change(const Change *change, int rank)
{
    if (change->kind == CHANGE_CAST)
        return true;
    for (int k = 0; k < rank; k++)
        if (change->at.step[k])
            return false;
    return change_memory(change) != NULL;
}

/* Can v be read as an operand: one source, elsewhere nothing, and simple changes? */
static bool is_operand(const Recipe *v)
{
    const Form *f = v->form;
    if (!f)
        return true;
    if (f->parts != 1 || f->holes || f->part->guards)
        return false;
    for (int i = 0; i < f->part->changes; i++)
        if (!is_simple_change(f->part->change + i, f->rank))
            return false;
    return true;
}

/* The factors of an axis: how many, the last one in *last. */
static int factors_of(const Form *form, int axis, int *last)
{
    int n = 0;
    for (int k = 0; k < form->rank; k++)
        if (form->axis[k] == axis) {
            *last = k;
            n++;
        }
    return n;
}

/* Steps of v's only factor on an axis, or of the same factors, for those of form; false: they
 * differ. / */
static bool axis_steps(const Form *form, int axis, const Form *v, int v_axis,
                       Affine *at)
{
    int mine = 0;
    int other = 0;
    const int n = factors_of(form, axis, &mine);
    const int m = factors_of(v, v_axis, &other);
    int64_t inner = 1;
    for (int i = 0; m && i < n; i++, mine--) {
        const bool same = m == n && v->dim[other - i] == form->dim[mine];
        if (!same && m > 1)
            return false;
        at->step[mine] = same ? v->part->at.step[other - i]
                              : v->part->at.step[other] * inner;
        inner *= form->dim[mine];
    }
    return true;
}

/* Where v, broadcast to the axes of form, has its element for element i of form; false: factors
 * differ. / */
static bool operand_address(const Form *form, int rank, const Form *v,
                            int v_rank, Affine *at)
{
    *at = (Affine){ .base = v->part->at.base };
    for (int a = rank - v_rank; a < rank; a++)
        if (!axis_steps(form, a, v, a - (rank - v_rank), at))
            return false;
    return true;
}

/* v as a change of each element of form. */
static Change operand_change(Store *store, ChangeKind kind, const Form *form,
                             int rank, const Recipe *v)
{
    Change c = { .kind = kind, .dtype = DT_F32 };
    if (!is_operand(v))
        v = recipe_spill(store, v);
    const Form *of = form_copy(store, v);
    if (!operand_address(form, rank, of, v->rank, &c.at)) {
        v = recipe_spill(store, v);
        of = form_copy(store, v);
        const bool fits = operand_address(form, rank, of, v->rank, &c.at);
        assert(fits);
        (void)fits;
    }
    c.source = of->part->source;
    c.changes = of->part->changes;
    c.change = c.changes ? arena_copy(store->arena, of->part->change,
                                      (size_t)c.changes * sizeof c)
                         : NULL;
    return c;
}

/* Known to be finite: zeros outside all parts stay zero under such factors. */
static bool all_finite(const Recipe *v)
{
    const Form *f = v->form;
    if (v->join || (f && (f->parts != 1 || f->part->changes)))
        return false;
    const Source *source = f ? f->part->source : v->source;
    if (source->file || source->dtype != DT_F32)
        return false;
    const float *x = source->memory;
    for (int64_t i = 0; i < source->count; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

static Recipe *change_each(Store *store, const Recipe *recipe, ChangeKind kind,
                           const Recipe *v)
{
    assert(recipe_dtype(recipe) == DT_F32 && recipe_dtype(v) == DT_F32 &&
           v->rank <= recipe->rank);
    for (int a = 0; a < v->rank; a++)
        assert(v->dim[a] == 1 ||
               v->dim[a] == recipe->dim[recipe->rank - v->rank + a]);
    if (!recipe_count(recipe))
        return (Recipe *)recipe;
    const bool zeros = recipe->form && recipe->form->holes &&
                       !(kind == CHANGE_MUL && all_finite(v));
    if (zeros || changes_full(recipe))
        recipe = recipe_spill(store, recipe);
    const ArenaMark mark = arena_mark(&store->scratch);
    Form *f = form_copy(store, recipe);
    const Change change = operand_change(store, kind, f, recipe->rank, v);
    add_change(f, &change);
    return form_result(store, mark, f, DT_F32, recipe->rank, recipe->dim);
}

Recipe *recipe_mul(Store *store, const Recipe *recipe, const Recipe *v)
{
    return change_each(store, recipe, CHANGE_MUL, v);
}

Recipe *recipe_add(Store *store, const Recipe *recipe, const Recipe *v)
{
    return change_each(store, recipe, CHANGE_ADD, v);
}

Recipe *recipe_number(Store *store, float x)
{
    return recipe_memory(store, DT_F32, 0, NULL, &x);
}

Recipe *recipe_along(Store *store, int rank, int axis, int64_t n,
                     const float *vec)
{
    int64_t dims[MAX_RANK] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    dims[axis] = n;
    return recipe_memory(store, DT_F32, rank, dims, vec);
}
