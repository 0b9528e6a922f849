/* SPDX-License-Identifier: Apache-2.0
 * The algebra's mechanics: substituting the index in affine functions, splitting
 * and joining factors, settling on the smallest form. Knows no operators. */
#include "ir/recipe_form.h"

#include <assert.h>
#include <string.h>

#include "base/size.h"

static Form *new_form(Arena *arena, int parts)
{
    Form *form = NEW(arena, Form);
    form->parts = parts;
    form->part = NEW_ARRAY(arena, Part, parts);
    return form;
}

/* With room for `more` guards and changes. */
static void copy_part(Arena *arena, Part *to, const Part *from, int more)
{
    *to = *from;
    to->guard = from->guards + more
                    ? NEW_ARRAY(arena, Guard, from->guards + more)
                    : NULL;
    to->change = from->changes + more
                     ? NEW_ARRAY(arena, Change, from->changes + more)
                     : NULL;
    for (int i = 0; i < from->guards; i++)
        to->guard[i] = from->guard[i];
    for (int i = 0; i < from->changes; i++)
        to->change[i] = from->change[i];
}

static Form *copy_form(Arena *arena, const Form *from, int more)
{
    Form *form = new_form(arena, from->parts);
    Part *part = form->part;
    *form = *from;
    form->part = part;
    for (int p = 0; p < form->parts; p++)
        copy_part(arena, part + p, from->part + p, more);
    return form;
}

/* Row-major steps over the dimensions that are not one. */
static Form *form_of_plain(Store *store, const Recipe *recipe)
{
    Form *form = new_form(&store->scratch, 1);
    const Part none = { .source = recipe->source };
    copy_part(&store->scratch, form->part, &none, 1);
    for (int a = 0; a < recipe->rank; a++) {
        if (recipe->dim[a] == 1)
            continue;
        form->dim[form->rank] = recipe->dim[a];
        form->axis[form->rank++] = (int8_t)a;
    }
    int64_t step = 1;
    for (int k = form->rank; k-- > 0; step *= form->dim[k])
        form->part->at.step[k] = step;
    return form;
}

Form *form_keep(Store *store, const Form *form)
{
    return copy_form(store->arena, form, 0);
}

Form *form_copy(Store *store, const Recipe *recipe)
{
    if (recipe->join)
        recipe = recipe_spill(store, recipe);
    return recipe->form ? copy_form(&store->scratch, recipe->form, 1)
                        : form_of_plain(store, recipe);
}

Reindex reindex_same(const Form *form)
{
    Reindex x = { .rank = form->rank, .old_rank = form->rank };
    for (int k = 0; k < form->rank; k++) {
        x.from[k] = k;
        x.mul[k] = 1;
        x.dim[k] = form->dim[k];
        x.axis[k] = form->axis[k];
    }
    return x;
}

void reindex_insert(Reindex *x, int at, int from, int64_t mul, int64_t dim,
                    int axis)
{
    assert(x->rank < FACTORS && at <= x->rank);
    for (int j = x->rank++; j > at; j--) {
        x->from[j] = x->from[j - 1];
        x->mul[j] = x->mul[j - 1];
        x->dim[j] = x->dim[j - 1];
        x->axis[j] = x->axis[j - 1];
    }
    x->from[at] = from;
    x->mul[at] = mul;
    x->dim[at] = dim;
    x->axis[at] = (int8_t)axis;
}

void reindex_remove(Reindex *x, int at)
{
    x->rank--;
    for (int j = at; j < x->rank; j++) {
        x->from[j] = x->from[j + 1];
        x->mul[j] = x->mul[j + 1];
        x->dim[j] = x->dim[j + 1];
        x->axis[j] = x->axis[j + 1];
    }
}

void affine_reindex(Affine *f, const Reindex *x)
{
    const Affine old = *f;
    memset(f->step, 0, sizeof f->step);
    for (int k = 0; k < x->old_rank; k++)
        f->base = i64_add(f->base, i64_mul(old.step[k], x->start[k]));
    for (int j = 0; j < x->rank; j++)
        f->step[j] =
            x->from[j] >= 0 ? i64_mul(old.step[x->from[j]], x->mul[j]) : 0;
}

/* All affine functions of a part in one order: the address, the guards, the channels; NULL at the
 * end. */
static Affine *part_affine(const Part *p, int i)
{
    if (i == 0)
        return (Affine *)&p->at;
    if (i <= p->guards)
        return &p->guard[i - 1].at;
    if (i <= p->guards + p->changes)
        return &p->change[i - 1 - p->guards].at;
    return NULL;
}

void form_reindex(Form *form, const Reindex *x)
{
    for (int p = 0; p < form->parts; p++) {
        Affine *affine = NULL;
        for (int i = 0; (affine = part_affine(form->part + p, i)); i++)
            affine_reindex(affine, x);
    }
    form->rank = x->rank;
    for (int j = 0; j < x->rank; j++) {
        form->dim[j] = x->dim[j];
        form->axis[j] = x->axis[j];
    }
}

bool form_split(Form *form, int k, int64_t inner)
{
    if (form->rank == FACTORS)
        return false;
    Reindex x = reindex_same(form);
    x.mul[k] = inner;
    x.dim[k] = form->dim[k] / inner;
    reindex_insert(&x, k + 1, k, 1, inner, form->axis[k]);
    form_reindex(form, &x);
    return true;
}

/* Do all functions step through factors k and k + 1 as through one? */
static bool steps_as_one(const Form *form, int k)
{
    for (int p = 0; p < form->parts; p++) {
        const Affine *affine = NULL;
        for (int i = 0; (affine = part_affine(form->part + p, i)); i++) {
            int64_t whole;
            if (__builtin_mul_overflow(affine->step[k + 1], form->dim[k + 1],
                                       &whole) ||
                affine->step[k] != whole)
                return false;
        }
    }
    return true;
}

static void drop_ones(Form *form)
{
    Reindex x = reindex_same(form);
    for (int k = form->rank; k-- > 0;)
        if (form->dim[k] == 1)
            reindex_remove(&x, k);
    if (x.rank < form->rank)
        form_reindex(form, &x);
}

void form_join(Form *form, bool across)
{
    drop_ones(form);
    for (int k = 0; k + 1 < form->rank;) {
        if ((!across && form->axis[k] != form->axis[k + 1]) ||
            !steps_as_one(form, k)) {
            k++;
            continue;
        }
        Reindex x = reindex_same(form);
        x.dim[k + 1] = i64_mul(form->dim[k], form->dim[k + 1]);
        reindex_remove(&x, k);
        form_reindex(form, &x);
        k -= k > 0;
    }
}

int form_axis(Form *form, int axis)
{
    int k = 0;
    int before = 0;
    int found = 0;
    for (int j = 0; j < form->rank; j++) {
        if (form->axis[j] == axis) {
            k = j;
            found++;
        }
        if (form->axis[j] < axis)
            before = j + 1;
    }
    if (found)
        return found == 1 ? k : -1;
    if (form->rank == FACTORS)
        return -1;
    Reindex x = reindex_same(form);
    reindex_insert(&x, before, -1, 0, 1, axis);
    form_reindex(form, &x);
    return before;
}

void affine_range(const Affine *f, int rank, const int64_t *dim, int64_t *low,
                  int64_t *high)
{
    *low = *high = f->base;
    for (int k = 0; k < rank; k++) {
        const int64_t reach = i64_mul(f->step[k], dim[k] - 1);
        if (reach < 0)
            *low = i64_add(*low, reach);
        else
            *high = i64_add(*high, reach);
    }
}

static bool same_steps(const Affine *affine, const Affine *b, int rank)
{
    return !memcmp(affine->step, b->step, (size_t)rank * sizeof *affine->step);
}

/* Two guards on the same function, up to its base, are one. */
static bool merge_guard(Part *p, int n, const Guard *g, int rank)
{
    for (int i = 0; i < n; i++) {
        Guard *old = p->guard + i;
        if (!same_steps(&old->at, &g->at, rank))
            continue;
        const int64_t shift = i64_sub(old->at.base, g->at.base);
        old->low = i64_max(old->low, i64_add(g->low, shift));
        old->high = i64_min(old->high, i64_add(g->high, shift));
        return true;
    }
    return false;
}

/* Keeps the guards that matter; false: the part holds nothing. */
static bool settle_part(Part *p, const Form *form)
{
    int64_t low, high;
    int n = 0;
    for (int i = 0; i < p->guards; i++) {
        const Guard g = p->guard[i];
        affine_range(&g.at, form->rank, form->dim, &low, &high);
        if (high < g.low || low >= g.high)
            return false;
        if (low >= g.low && high < g.high)
            continue;
        if (!merge_guard(p, n, &g, form->rank))
            p->guard[n++] = g;
    }
    p->guards = n;
    for (int i = 0; i < n; i++)
        if (p->guard[i].low >= p->guard[i].high)
            return false;
    for (int i = 0; i < p->changes; i++)
        affine_range(&p->change[i].at, form->rank, form->dim, &low, &high);
    affine_range(&p->at, form->rank, form->dim, &low, &high);
    return true;
}

void form_settle(Form *form)
{
    int n = 0;
    for (int p = 0; p < form->parts; p++)
        if (settle_part(form->part + p, form))
            form->part[n++] = form->part[p];
    form->parts = n;
    form_join(form, false);
}

Recipe *form_recipe(Store *store, const Form *f, DType type, int rank,
                    const int64_t *dims)
{
    Recipe *recipe =
        arena_alloc(store->arena, sizeof *recipe + (size_t)rank * sizeof *dims);
    recipe->form = copy_form(store->arena, f, 0);
    recipe->dtype = (uint8_t)type;
    recipe->rank = (uint8_t)rank;
    for (int a = 0; a < rank; a++)
        recipe->dim[a] = dims[a];
    return recipe;
}

int64_t form_count(const Form *form)
{
    int64_t n = 1;
    for (int k = 0; k < form->rank; k++)
        n = i64_mul(n, form->dim[k]);
    return n;
}

Recipe *form_result(Store *store, ArenaMark mark, Form *form, DType type,
                    int rank, const int64_t *dims)
{
    form_settle(form);
    Recipe *recipe = form_recipe(store, form, type, rank, dims);
    arena_release(&store->scratch, mark);
    return recipe;
}

bool form_guards_full(const Form *form)
{
    for (int p = 0; p < form->parts; p++)
        if (form->part[p].guards == GUARDS)
            return true;
    return false;
}

void form_add_guard(Part *part, int k, int64_t low, int64_t high)
{
    Guard *g = part->guard + part->guards++;
    *g = (Guard){ .low = low, .high = high };
    g->at.step[k] = 1;
}
