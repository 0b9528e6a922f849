/* SPDX-License-Identifier: Apache-2.0
 * Float32 recipes taken apart: what the source holds in a narrower type, and the scales and zero
 * points that make it float. Kernels that widen weights themselves store the parts. */
#include <string.h>

#include "base/size.h"
#include "ir/convert.h"
#include "ir/recipe_form.h"

static const DTypeSet NARROW =
    DTYPE_BIT(DT_F16) | DTYPE_BIT(DT_BF16) | DTYPE_BIT(DT_F8E4M3FN) |
    DTYPE_BIT(DT_F8E4M3FNUZ) | DTYPE_BIT(DT_F8E5M2) | DTYPE_BIT(DT_F8E5M2FNUZ) |
    DTYPE_BIT(DT_I8) | DTYPE_BIT(DT_U8) | DTYPE_BIT(DT_I4) | DTYPE_BIT(DT_U4) |
    DTYPE_BIT(DT_I2) | DTYPE_BIT(DT_U2);

static const DTypeSet SCALES =
    DTYPE_BIT(DT_F32) | DTYPE_BIT(DT_F16) | DTYPE_BIT(DT_BF16);

static bool is_widening(const Part *part)
{
    return part->changes && part->change->kind == CHANGE_CAST &&
           part->change->dtype == DT_F32;
}

/* Are all parts widened from one narrow type, and but for a single part nothing else? */
static bool is_narrow(const Form *form)
{
    const DType type = form->parts ? form->part->source->dtype : DT_F32;
    if (!(NARROW & DTYPE_BIT(type)))
        return false;
    for (int p = 0; p < form->parts; p++) {
        const Part *part = form->part + p;
        if (part->source->dtype != type || !is_widening(part))
            return false;
        if (part->changes > 1 && form->parts > 1)
            return false;
    }
    return true;
}

/* The operand of a change as a recipe with the index space of the form, before its own changes. */
static Recipe *operand_recipe(Store *store, const Recipe *recipe,
                              const Change *change)
{
    Part part = { .source = change->source, .at = change->at };
    Form form = *recipe->form;
    form.holes = false;
    form.parts = 1;
    form.part = &part;
    return form_recipe(store, &form, change->source->dtype, recipe->rank,
                       recipe->dim);
}

static bool is_constant(const Change *change, int rank)
{
    for (int k = 0; k < rank; k++)
        if (change->at.step[k])
            return false;
    return true;
}

/* The one value of an operand that is the same for all. */
static float constant_of(Store *store, const Change *change)
{
    Part part = {
        .source = change->source,
        .at = { .base = change->at.base },
        .changes = change->changes,
        .change = (Change *)change->change,
    };
    const Form form = { .parts = 1, .part = &part };
    const ArenaMark mark = arena_mark(&store->scratch);
    const Recipe *one = form_recipe(store, &form, DT_F32, 0, NULL);
    const float value = *(float *)recipe_values(store, &store->scratch, one);
    arena_release(&store->scratch, mark);
    return value;
}

/* Is the operand the negative of numbers of that type? */
static bool is_negative(const Change *change, DType type)
{
    const Change *own = change->change;
    if (change->source->dtype != type || change->changes != 2)
        return false;
    if (own[0].kind != CHANGE_CAST || own[1].kind != CHANGE_MUL)
        return false;
    const float *number = change_memory(own + 1);
    return number && number[own[1].at.base] == -1.0f;
}

/* A zero point that is taken off; false: it is none that a kernel knows. */
static bool take_zero(Store *store, const Recipe *recipe, const Change *change,
                      Narrow *narrow)
{
    const DType type = recipe_dtype(narrow->values);
    if (dtype_is_float(type) || recipe->form->holes)
        return false;
    if (is_constant(change, recipe->form->rank)) {
        narrow->middle = -constant_of(store, change);
        return narrow->middle >= -256.0f && narrow->middle <= 256.0f &&
               narrow->middle == (float)(int)narrow->middle;
    }
    if (!is_negative(change, type))
        return false;
    narrow->zero = operand_recipe(store, recipe, change);
    return true;
}

/* Another factor, of each channel perhaps, as a normalization has: the scale times it. */
static void fold_scale(Store *store, Recipe *factor, Narrow *narrow)
{
    const Recipe *wide = recipe_cast(store, narrow->scale, DT_F32);
    narrow->scale = recipe_mul(store, wide, recipe_cast(store, factor, DT_F32));
    narrow->folded = true;
    narrow->rounded = DT_NONE;
}

/* A scale of a type that kernels read; one for all becomes a recipe like any. */
static bool take_scale(Store *store, const Recipe *recipe, const Change *change,
                       Narrow *narrow)
{
    const bool plain =
        change->changes == 0 ||
        (change->changes == 1 && change->change->kind == CHANGE_CAST);
    if (!plain || !(SCALES & DTYPE_BIT(change->source->dtype)))
        return false;
    Recipe *scale = operand_recipe(store, recipe, change);
    if (narrow->scale)
        fold_scale(store, scale, narrow);
    else
        narrow->scale = scale;
    return true;
}

/* What the sources hold, as they hold it. */
static Recipe *before_changes(Store *store, const Recipe *recipe)
{
    const ArenaMark mark = arena_mark(&store->scratch);
    Form *form = form_copy(store, recipe);
    const DType type = form->part->source->dtype;
    for (int p = 0; p < form->parts; p++)
        form->part[p].changes = 0;
    return form_result(store, mark, form, type, recipe->rank, recipe->dim);
}

/* What is widened again after a rounding to a half width, as a model of float16 has numbers that it
 * dequantizes: kernels leave the rounding out. */
static bool is_rounding(const Change *change, const Change *end)
{
    return end - change >= 2 && change[0].kind == CHANGE_CAST &&
           (change[0].dtype == DT_F16 || change[0].dtype == DT_BF16) &&
           change[1].kind == CHANGE_CAST && change[1].dtype == DT_F32;
}

/* Scales, and roundings of what is scaled, up to `end`; false: there is something else. */
static bool take_scales(Store *store, const Recipe *recipe, const Change *next,
                        const Change *end, Narrow *narrow)
{
    while (next < end) {
        if (next->kind == CHANGE_MUL) {
            if (!take_scale(store, recipe, next, narrow))
                return false;
            next++;
        } else if (narrow->scale && is_rounding(next, end)) {
            narrow->rounded = next->dtype;
            next += 2;
        } else {
            return false;
        }
    }
    return true;
}

bool recipe_narrow(Store *store, const Recipe *recipe, Narrow *narrow)
{
    *narrow = (Narrow){ .values = NULL };
    if (recipe->dtype != DT_F32 || !recipe->form || !is_narrow(recipe->form))
        return false;
    narrow->values = before_changes(store, recipe);
    const Part *part = recipe->form->part;
    const Change *next = part->change + 1;
    const Change *end = part->change + part->changes;
    if (next < end && next->kind == CHANGE_ADD) {
        if (!take_zero(store, recipe, next, narrow))
            return false;
        next++;
    }
    if (!take_scales(store, recipe, next, end, narrow))
        return false;
    const bool zero = narrow->zero || narrow->middle != 0.0f;
    return narrow->scale || !zero;
}

/* The last factor of an axis; -1: it has none. */
static int last_factor(const Form *form, int axis)
{
    for (int k = form->rank; k-- > 0;)
        if (form->axis[k] == axis)
            return k;
    return -1;
}

bool changes_stand_still(const Part *part, int k)
{
    for (int i = 0; i < part->changes; i++)
        if (part->change[i].at.step[k])
            return false;
    return true;
}

/* Do all functions of the only part stand still along factor k? */
static bool stands_still(const Part *part, int k)
{
    return changes_stand_still(part, k) && !part->at.step[k];
}

Recipe *recipe_once(Store *store, const Recipe *recipe, int axis,
                    int64_t *times)
{
    int64_t dims[MAX_RANK];
    *times = 1;
    const ArenaMark mark = arena_mark(&store->scratch);
    Form *form = form_copy(store, recipe);
    for (;;) {
        const int k = last_factor(form, axis);
        if (*times == 1 && k >= 0 && form_read_once(form, k, times))
            break;
        if (k < 0 || !stands_still(form->part, k))
            break;
        *times *= form->dim[k];
        Reindex x = reindex_same(form);
        reindex_remove(&x, k);
        form_reindex(form, &x);
    }
    memcpy(dims, recipe->dim, recipe->rank * sizeof *dims);
    dims[axis] = i64_ceil_div(dims[axis], *times);
    return form_result(store, mark, form, recipe_dtype(recipe), recipe->rank,
                       dims);
}
