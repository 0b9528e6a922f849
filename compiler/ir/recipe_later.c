/* SPDX-License-Identifier: Apache-2.0
 * Constants that are computed when somebody reads them first: a place in the
 * spill file that is known at once and filled then. One that nobody reads is
 * never computed. */
#include "ir/recipe_form.h"

Recipe *recipe_later(Store *store, Later *later, DType type, int rank,
                     const int64_t *dims)
{
    const int64_t count = dims_product(rank, dims);
    const uint64_t bytes = (uint64_t)dtype_bytes(type, count);
    later->place = (Span){ spill_room(store, bytes), bytes };
    const Source source = {
        .dtype = type,
        .count = count,
        .file = store->spill,
        .span = &later->place,
        .spans = 1,
        .later = later,
    };
    return recipe_source(store, &source, rank, dims);
}

Later *recipe_awaits(const Recipe *recipe)
{
    const Source *plain = recipe_plain(recipe);
    Later *later = plain ? plain->later : NULL;
    return later && !later->made ? later : NULL;
}

void source_make(Store *store, const Source *source)
{
    Later *later = source->later;
    if (!later || later->made)
        return;
    later->made = true;
    later->make(store, later);
}

static int source_depth(Store *store, const Source *source, int most)
{
    const Later *later = source ? source->later : NULL;
    if (!later || later->made)
        return 0;
    if (later->depth <= most)
        return later->depth;
    source_make(store, source);
    return 0;
}

static int form_depth(Store *store, const Form *form, int most)
{
    int depth = 0;
    for (int p = 0; p < form->parts; p++) {
        const Part *part = form->part + p;
        int own = source_depth(store, part->source, most);
        depth = own > depth ? own : depth;
        for (int i = 0; i < part->changes; i++) {
            own = source_depth(store, part->change[i].source, most);
            depth = own > depth ? own : depth;
        }
    }
    return depth;
}

int recipe_settle(Store *store, const Recipe *recipe, int most)
{
    const Join *join = recipe->join;
    if (recipe_plain(recipe))
        return source_depth(store, recipe->source, most);
    if (recipe->form)
        return form_depth(store, recipe->form, most);
    int depth = 0;
    for (int i = 0; i < join->pieces; i++) {
        const int own = form_depth(store, join->piece[i].form, most);
        depth = own > depth ? own : depth;
    }
    return depth;
}

/* Is each axis one factor at most, of one form? */
static bool cuts(const Recipe *recipe)
{
    const Form *form = recipe->form;
    if (recipe->join)
        return false;
    for (int k = 1; form && k < form->rank; k++)
        if (form->axis[k] == form->axis[k - 1])
            return false;
    return true;
}

const Recipe *recipe_cuttable(Store *store, const Recipe *recipe)
{
    return cuts(recipe) ? recipe : recipe_spill(store, recipe);
}
