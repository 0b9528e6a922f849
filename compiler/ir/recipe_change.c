/* SPDX-License-Identifier: Apache-2.0
 * Changes of values: casts, and products and sums with numbers that are recipes themselves. */
#include <assert.h>
#include <math.h>

#include "ir/recipe_form.h"

static bool changes_full(const Recipe *r)
{
    for (int p = 0; r->form && p < r->form->parts; p++)
        if (r->form->part[p].changes == CHANGES)
            return true;
    return false;
}

static void add_change(Form *f, const Change *c)
{
    for (int p = 0; p < f->parts; p++)
        f->part[p].change[f->part[p].changes++] = *c;
}

Recipe *recipe_cast(Store *s, const Recipe *r, DType t)
{
    if (recipe_dtype(r) == t)
        return (Recipe *)r;
    if (!recipe_count(r))
        return recipe_memory(s, t, r->rank, r->dim, "");
    /* Zero bits are zero in all types but this one. */
    const bool tiny = recipe_dtype(r) == DT_F8E8M0 && r->form && r->form->holes;
    if (tiny || changes_full(r))
        r = recipe_spill(s, r);
    const ArenaMark mark = arena_mark(&s->scratch);
    Form *f = form_copy(s, r);
    add_change(f, &(Change){ .kind = CHANGE_CAST, .dtype = t });
    return form_result(s, mark, f, t, r->rank, r->dim);
}

const float *change_memory(const Change *c)
{
    const bool as_it_lies = !c->source->file && c->source->dtype == DT_F32 && !c->changes;
    return as_it_lies ? c->source->memory : NULL;
}

/* Is it a cast, or one number that lies in memory? */
static bool is_simple_change(const Change *c, int rank)
{
    if (c->kind == CHANGE_CAST)
        return true;
    for (int k = 0; k < rank; k++)
        if (c->at.step[k])
            return false;
    return change_memory(c) != NULL;
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
static int factors_of(const Form *f, int axis, int *last)
{
    int n = 0;
    for (int k = 0; k < f->rank; k++)
        if (f->axis[k] == axis) {
            *last = k;
            n++;
        }
    return n;
}

/* Steps of v's only factor on an axis, or of the same factors, for those of f; false: they differ.
 */
static bool axis_steps(const Form *f, int axis, const Form *v, int v_axis, Affine *at)
{
    int mine = 0, other = 0;
    const int n = factors_of(f, axis, &mine), m = factors_of(v, v_axis, &other);
    int64_t inner = 1;
    for (int i = 0; m && i < n; i++, mine--) {
        const bool same = m == n && v->dim[other - i] == f->dim[mine];
        if (!same && m > 1)
            return false;
        at->step[mine] = same ? v->part->at.step[other - i] : v->part->at.step[other] * inner;
        inner *= f->dim[mine];
    }
    return true;
}

/* Where v, broadcast to the axes of f, has its element for element i of f; false: factors differ.
 */
static bool operand_address(const Form *f, int rank, const Form *v, int v_rank, Affine *at)
{
    *at = (Affine){ .base = v->part->at.base };
    for (int a = rank - v_rank; a < rank; a++)
        if (!axis_steps(f, a, v, a - (rank - v_rank), at))
            return false;
    return true;
}

/* v as a change of each element of f. */
static Change operand_change(Store *s, ChangeKind kind, const Form *f, int rank, const Recipe *v)
{
    Change c = { .kind = kind, .dtype = DT_F32 };
    if (!is_operand(v))
        v = recipe_spill(s, v);
    const Form *of = form_copy(s, v);
    if (!operand_address(f, rank, of, v->rank, &c.at)) {
        v = recipe_spill(s, v);
        of = form_copy(s, v);
        const bool fits = operand_address(f, rank, of, v->rank, &c.at);
        assert(fits);
        (void)fits;
    }
    c.source = of->part->source;
    c.changes = of->part->changes;
    c.change =
        c.changes ? arena_copy(s->arena, of->part->change, (size_t)c.changes * sizeof c) : NULL;
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

static Recipe *change_each(Store *s, const Recipe *r, ChangeKind kind, const Recipe *v)
{
    assert(recipe_dtype(r) == DT_F32 && recipe_dtype(v) == DT_F32 && v->rank <= r->rank);
    for (int a = 0; a < v->rank; a++)
        assert(v->dim[a] == 1 || v->dim[a] == r->dim[r->rank - v->rank + a]);
    if (!recipe_count(r))
        return (Recipe *)r;
    const bool zeros = r->form && r->form->holes && !(kind == CHANGE_MUL && all_finite(v));
    if (zeros || changes_full(r))
        r = recipe_spill(s, r);
    const ArenaMark mark = arena_mark(&s->scratch);
    Form *f = form_copy(s, r);
    const Change c = operand_change(s, kind, f, r->rank, v);
    add_change(f, &c);
    return form_result(s, mark, f, DT_F32, r->rank, r->dim);
}

Recipe *recipe_mul(Store *s, const Recipe *r, const Recipe *v)
{
    return change_each(s, r, CHANGE_MUL, v);
}

Recipe *recipe_add(Store *s, const Recipe *r, const Recipe *v)
{
    return change_each(s, r, CHANGE_ADD, v);
}

Recipe *recipe_number(Store *s, float x)
{
    return recipe_memory(s, DT_F32, 0, NULL, &x);
}

Recipe *recipe_along(Store *s, int rank, int axis, int64_t n, const float *vec)
{
    int64_t dims[MAX_RANK] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    dims[axis] = n;
    return recipe_memory(s, DT_F32, rank, dims, vec);
}
