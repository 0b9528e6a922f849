/* SPDX-License-Identifier: Apache-2.0
 * Recipes: facts, makers, and one rewriting per operator on a constant.
 * No payload byte is touched here, unless a result leaves the normal form and is spilled. */
#include "ir/recipe.h"

#include <assert.h>
#include <math.h>
#include <string.h>

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
    return r->form ? NULL : r->source;
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

/* Ends a rewriting: its form was made in the scratch arena after `mark`. */
static Recipe *result(Store *s, ArenaMark mark, Form *f, DType t, int rank, const int64_t *dims)
{
    form_settle(f);
    Recipe *r = form_recipe(s, f, t, rank, dims);
    arena_release(&s->scratch, mark);
    return r;
}

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
    return result(s, mark, f, recipe_dtype(r), r->rank, dims);
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

static Recipe *reshape_plain(Store *s, const Recipe *r, int rank, const int64_t *dims)
{
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
    return result(s, mark, f, t, rank, dims);
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
    return result(s, mark, f, recipe_dtype(r), r->rank, dims);
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
    return result(s, mark, f, recipe_dtype(r), r->rank, dims);
}

/* Is every axis at most one factor, and is there room for a guard? */
static bool is_simple(const Recipe *r)
{
    if (!r->form)
        return true;
    for (int k = 0; k + 1 < r->form->rank; k++)
        if (r->form->axis[k] == r->form->axis[k + 1])
            return false;
    return !guards_full(r->form);
}

/* One input of a concat, from `offset` of the axis, in the result's index space. */
static Form *concat_input(Store *s, const Recipe *r, int axis, int64_t offset, int64_t whole)
{
    Form *f = form_copy(s, is_simple(r) ? r : recipe_spill(s, r));
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
        offset += r[i]->dim[axis];
    }
    all.holes = holes;
    all.part = part.at;
    all.parts = (int)part.n;
    return result(s, mark, &all, recipe_dtype(r[0]), r[0]->rank, dims);
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
    return result(s, mark, f, recipe_dtype(r), most, out);
}

/* --- values --- */

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
        return empty(s, t, r->rank, r->dim);
    /* Zero bits are zero in all types but this one. */
    const bool tiny = recipe_dtype(r) == DT_F8E8M0 && r->form && r->form->holes;
    if (tiny || changes_full(r))
        r = recipe_spill(s, r);
    const ArenaMark mark = arena_mark(&s->scratch);
    Form *f = form_copy(s, r);
    add_change(f, &(Change){ .kind = CHANGE_CAST, .dtype = t });
    return result(s, mark, f, t, r->rank, r->dim);
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
    if (f && (f->parts != 1 || f->part->changes))
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
    return result(s, mark, f, DT_F32, r->rank, r->dim);
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

Recipe *recipe_bits(Store *s, const Recipe *r, DType t, int rank, const int64_t *dims)
{
    if (r->form || (r->source->encoding == ENC_VARINT && dtype_bits(recipe_dtype(r)) > 8))
        r = recipe_spill(s, r);
    Source source = *r->source;
    source.dtype = t;
    source.count = product(rank, dims);
    assert(dtype_bytes(t, source.count) == recipe_bytes(r));
    return recipe_source(s, &source, rank, dims);
}

/* --- equality --- */

static bool same_affine(const Affine *a, const Affine *b, int rank)
{
    return a->base == b->base && !memcmp(a->step, b->step, (size_t)rank * sizeof *a->step);
}

static bool same_change(const Change *a, const Change *b, int rank)
{
    if (a->kind != b->kind || a->dtype != b->dtype || a->changes != b->changes)
        return false;
    if (!a->source || !b->source)
        return a->source == b->source;
    return source_same(a->source, b->source) && same_affine(&a->at, &b->at, rank);
}

static bool same_part(const Part *a, const Part *b, int rank)
{
    if (a->guards != b->guards || a->changes != b->changes)
        return false;
    if (!source_same(a->source, b->source) || !same_affine(&a->at, &b->at, rank))
        return false;
    for (int i = 0; i < a->guards; i++) {
        const Guard *x = a->guard + i, *y = b->guard + i;
        if (x->low != y->low || x->high != y->high || !same_affine(&x->at, &y->at, rank))
            return false;
    }
    for (int i = 0; i < a->changes; i++) {
        const Change *x = a->change + i, *y = b->change + i;
        if (!same_change(x, y, rank))
            return false;
        for (int k = 0; k < x->changes; k++)
            if (!same_change(x->change + k, y->change + k, rank))
                return false;
    }
    return true;
}

bool recipe_same(const Recipe *a, const Recipe *b)
{
    if (a == b)
        return true;
    if (a->dtype != b->dtype || recipe_count(a) != recipe_count(b) || !a->form != !b->form)
        return false;
    if (!a->form)
        return source_same(a->source, b->source);
    const Form *x = a->form, *y = b->form;
    if (x->rank != y->rank || x->parts != y->parts ||
        memcmp(x->dim, y->dim, (size_t)x->rank * sizeof *x->dim))
        return false;
    for (int p = 0; p < x->parts; p++)
        if (!same_part(x->part + p, y->part + p, x->rank))
            return false;
    return true;
}
