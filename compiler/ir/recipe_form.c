/* SPDX-License-Identifier: Apache-2.0
 * The algebra's mechanics: substituting the index in affine functions, splitting
 * and joining factors, settling on the smallest form. Knows no operators. */
#include "ir/recipe_form.h"

#include <assert.h>
#include <string.h>

#include "base/size.h"

static Form *new_form(Arena *a, int parts)
{
    Form *f = NEW(a, Form);
    f->parts = parts;
    f->part = NEW_ARRAY(a, Part, parts);
    return f;
}

/* With room for `more` guards and changes. */
static void copy_part(Arena *a, Part *to, const Part *from, int more)
{
    *to = *from;
    to->guard = from->guards + more ? NEW_ARRAY(a, Guard, from->guards + more) : NULL;
    to->change = from->changes + more ? NEW_ARRAY(a, Change, from->changes + more) : NULL;
    for (int i = 0; i < from->guards; i++)
        to->guard[i] = from->guard[i];
    for (int i = 0; i < from->changes; i++)
        to->change[i] = from->change[i];
}

static Form *copy_form(Arena *a, const Form *from, int more)
{
    Form *f = new_form(a, from->parts);
    Part *part = f->part;
    *f = *from;
    f->part = part;
    for (int p = 0; p < f->parts; p++)
        copy_part(a, part + p, from->part + p, more);
    return f;
}

/* Row-major steps over the dimensions that are not one. */
static Form *form_of_plain(Store *s, const Recipe *r)
{
    Form *f = new_form(&s->scratch, 1);
    const Part none = { .source = r->source };
    copy_part(&s->scratch, f->part, &none, 1);
    for (int a = 0; a < r->rank; a++) {
        if (r->dim[a] == 1)
            continue;
        f->dim[f->rank] = r->dim[a];
        f->axis[f->rank++] = (int8_t)a;
    }
    int64_t step = 1;
    for (int k = f->rank; k-- > 0; step *= f->dim[k])
        f->part->at.step[k] = step;
    return f;
}

Form *form_keep(Store *s, const Form *f)
{
    return copy_form(s->arena, f, 0);
}

Form *form_copy(Store *s, const Recipe *r)
{
    if (r->join)
        r = recipe_spill(s, r);
    return r->form ? copy_form(&s->scratch, r->form, 1) : form_of_plain(s, r);
}

Reindex reindex_same(const Form *f)
{
    Reindex x = { .rank = f->rank, .old_rank = f->rank };
    for (int k = 0; k < f->rank; k++) {
        x.from[k] = k;
        x.mul[k] = 1;
        x.dim[k] = f->dim[k];
        x.axis[k] = f->axis[k];
    }
    return x;
}

void reindex_insert(Reindex *x, int at, int from, int64_t mul, int64_t dim, int axis)
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
        f->step[j] = x->from[j] >= 0 ? i64_mul(old.step[x->from[j]], x->mul[j]) : 0;
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

void form_reindex(Form *f, const Reindex *x)
{
    for (int p = 0; p < f->parts; p++) {
        Affine *a = NULL;
        for (int i = 0; (a = part_affine(f->part + p, i)); i++)
            affine_reindex(a, x);
    }
    f->rank = x->rank;
    for (int j = 0; j < x->rank; j++) {
        f->dim[j] = x->dim[j];
        f->axis[j] = x->axis[j];
    }
}

bool form_split(Form *f, int k, int64_t inner)
{
    if (f->rank == FACTORS)
        return false;
    Reindex x = reindex_same(f);
    x.mul[k] = inner;
    x.dim[k] = f->dim[k] / inner;
    reindex_insert(&x, k + 1, k, 1, inner, f->axis[k]);
    form_reindex(f, &x);
    return true;
}

/* Do all functions step through factors k and k + 1 as through one? */
static bool steps_as_one(const Form *f, int k)
{
    for (int p = 0; p < f->parts; p++) {
        const Affine *a = NULL;
        for (int i = 0; (a = part_affine(f->part + p, i)); i++) {
            int64_t whole;
            if (__builtin_mul_overflow(a->step[k + 1], f->dim[k + 1], &whole) ||
                a->step[k] != whole)
                return false;
        }
    }
    return true;
}

static void drop_ones(Form *f)
{
    Reindex x = reindex_same(f);
    for (int k = f->rank; k-- > 0;)
        if (f->dim[k] == 1)
            reindex_remove(&x, k);
    if (x.rank < f->rank)
        form_reindex(f, &x);
}

void form_join(Form *f, bool across)
{
    drop_ones(f);
    for (int k = 0; k + 1 < f->rank;) {
        if ((!across && f->axis[k] != f->axis[k + 1]) || !steps_as_one(f, k)) {
            k++;
            continue;
        }
        Reindex x = reindex_same(f);
        x.dim[k + 1] = i64_mul(f->dim[k], f->dim[k + 1]);
        reindex_remove(&x, k);
        form_reindex(f, &x);
        k -= k > 0;
    }
}

int form_axis(Form *f, int axis)
{
    int k = 0, before = 0, found = 0;
    for (int j = 0; j < f->rank; j++) {
        if (f->axis[j] == axis) {
            k = j;
            found++;
        }
        if (f->axis[j] < axis)
            before = j + 1;
    }
    if (found)
        return found == 1 ? k : -1;
    if (f->rank == FACTORS)
        return -1;
    Reindex x = reindex_same(f);
    reindex_insert(&x, before, -1, 0, 1, axis);
    form_reindex(f, &x);
    return before;
}

void affine_range(const Affine *f, int rank, const int64_t *dim, int64_t *low, int64_t *high)
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

static bool same_steps(const Affine *a, const Affine *b, int rank)
{
    return !memcmp(a->step, b->step, (size_t)rank * sizeof *a->step);
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
static bool settle_part(Part *p, const Form *f)
{
    int64_t low, high;
    int n = 0;
    for (int i = 0; i < p->guards; i++) {
        const Guard g = p->guard[i];
        affine_range(&g.at, f->rank, f->dim, &low, &high);
        if (high < g.low || low >= g.high)
            return false;
        if (low >= g.low && high < g.high)
            continue;
        if (!merge_guard(p, n, &g, f->rank))
            p->guard[n++] = g;
    }
    p->guards = n;
    for (int i = 0; i < n; i++)
        if (p->guard[i].low >= p->guard[i].high)
            return false;
    for (int i = 0; i < p->changes; i++)
        affine_range(&p->change[i].at, f->rank, f->dim, &low, &high);
    affine_range(&p->at, f->rank, f->dim, &low, &high);
    return true;
}

void form_settle(Form *f)
{
    int n = 0;
    for (int p = 0; p < f->parts; p++)
        if (settle_part(f->part + p, f))
            f->part[n++] = f->part[p];
    f->parts = n;
    form_join(f, false);
}

Recipe *form_recipe(Store *s, const Form *f, DType t, int rank, const int64_t *dims)
{
    Recipe *r = arena_alloc(s->arena, sizeof *r + (size_t)rank * sizeof *dims);
    r->form = copy_form(s->arena, f, 0);
    r->dtype = (uint8_t)t;
    r->rank = (uint8_t)rank;
    for (int a = 0; a < rank; a++)
        r->dim[a] = dims[a];
    return r;
}

int64_t form_count(const Form *f)
{
    int64_t n = 1;
    for (int k = 0; k < f->rank; k++)
        n = i64_mul(n, f->dim[k]);
    return n;
}

Recipe *form_result(Store *s, ArenaMark mark, Form *f, DType t, int rank, const int64_t *dims)
{
    form_settle(f);
    Recipe *r = form_recipe(s, f, t, rank, dims);
    arena_release(&s->scratch, mark);
    return r;
}
