/* SPDX-License-Identifier: Apache-2.0
 * Numbers that come several times in a row along an axis, the last one fewer times, as scales of
 * blocks do where the last block is not full. No product of factors counts such an axis: these are
 * sources of their own, written to the spill file when they are read, which know what they repeat.
 */
#include <assert.h>

#include "base/size.h"
#include "ir/recipe_form.h"

/* [outer][count][inner] -> [outer][size][inner] */
typedef struct Repeat {
    Later later;
    const Recipe *whole; /* the same of parts */
    Source *once;
    int64_t times;
    int64_t count;
    int64_t size;
    int64_t inner;
} Repeat;

static void make_repeated(Store *store, Later *later)
{
    const Repeat *repeat = (const Repeat *)later;
    recipe_write(store, repeat->whole, store->spill, later->place.offset);
}

/* NULL: the source repeats nothing. */
static const Repeat *repeat_of(const Source *source)
{
    const Later *later = source->later;
    return later && later->make == make_repeated ? (const Repeat *)later : NULL;
}

/* Numbers from, from + 1, ... (count of them) of axis 1, each so many times. */
static Recipe *each_times(Store *store, const Recipe *recipe, int64_t from,
                          int64_t count, int64_t times)
{
    const int64_t *d = recipe_dims(recipe);
    const int64_t apart[4] = { d[0], count, 1, d[2] };
    const int64_t wide[4] = { d[0], count, times, d[2] };
    const int64_t all[3] = { d[0], i64_mul(count, times), d[2] };
    Recipe *part = recipe_part(store, recipe, 1, from, count);
    part = recipe_reshape(store, part, 4, apart);
    part = recipe_expand(store, part, 4, wide);
    return recipe_reshape(store, part, 3, all);
}

/* All of them, the last one `rest` times. */
static Recipe *in_parts(Store *store, const Recipe *recipe, int64_t times,
                        int64_t rest)
{
    const int64_t full = recipe_dims(recipe)[1] - 1;
    Recipe *const part[2] = {
        each_times(store, recipe, 0, full, times),
        each_times(store, recipe, full, 1, rest),
    };
    return recipe_concat(store, 2, part, 1);
}

/* recipe: a plain one. */
static Repeat *repeat_new(Store *store, const Recipe *recipe, int64_t times,
                          int64_t size)
{
    Repeat *repeat = NEW(store->arena, Repeat);
    const int64_t *d = recipe_dims(recipe);
    const int64_t rest = size - i64_mul(d[1] - 1, times);
    assert(rest > 0 && rest < times);
    repeat->later.make = make_repeated;
    repeat->later.depth = recipe_settle(store, recipe, LATER_DEPTH) + 1;
    repeat->whole = in_parts(store, recipe, times, rest);
    repeat->once = recipe->source;
    repeat->times = times;
    repeat->count = d[1];
    repeat->size = size;
    repeat->inner = d[2];
    return repeat;
}

Recipe *recipe_repeat(Store *store, const Recipe *recipe, int64_t times,
                      int64_t size)
{
    int64_t same;
    const DType type = recipe_dtype(recipe);
    const int64_t *d = recipe_dims(recipe);
    const int64_t dims[3] = { d[0], size, d[2] };
    Recipe *once = recipe_once(store, recipe, 1, &same);
    if (recipe_dims(once)[1] == 1)
        return recipe_expand(store, once, 3, dims);
    if (!recipe_plain(recipe))
        recipe = recipe_spill(store, recipe);
    Repeat *repeat = repeat_new(store, recipe, times, size);
    return recipe_later(store, &repeat->later, type, 3, dims);
}

/* The same function of the numbers that are repeated; false: it does not keep to one of them along
 * other factors than k. */
static bool take_once(const Repeat *repeat, const Form *form, int k, Affine *at)
{
    const int64_t row = repeat->inner * repeat->size;
    const int64_t own = repeat->inner * repeat->count;
    int64_t inside = at->base % row;
    at->base = at->base / row * own + inside;
    for (int j = 0; j < form->rank; j++) {
        if (j == k)
            continue;
        if (at->step[j] < 0)
            return false;
        if (at->step[j] % row)
            inside += at->step[j] * (form->dim[j] - 1);
        else
            at->step[j] = at->step[j] / row * own;
    }
    return inside < repeat->inner;
}

bool form_read_once(Form *form, int k, int64_t *times)
{
    Part *part = form->part;
    const Repeat *repeat = repeat_of(part->source);
    if (!repeat || form->parts != 1 || form->holes || part->guards)
        return false;
    if (!changes_stand_still(part, k))
        return false;
    if (part->at.step[k] != repeat->inner || form->dim[k] != repeat->size)
        return false;
    Affine at = part->at;
    if (!take_once(repeat, form, k, &at))
        return false;
    part->at = at;
    part->source = repeat->once;
    form->dim[k] = repeat->count;
    *times = repeat->times;
    return true;
}
