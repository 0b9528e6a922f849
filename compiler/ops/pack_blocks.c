/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/pack_blocks.h"

#include "base/size.h"
#include "ops/nest.h"

int64_t blocks_up4(int64_t n)
{
    return i64_add(n, 3) / 4 * 4;
}

/* Channels of the result from `from` on, which lie in blocks of one width. */
typedef struct Section {
    int64_t from;
    int64_t size;
    int64_t width; /* of a block */
} Section;

/* Channels in blocks of the full width, then one of 8, then one of 4. */
typedef struct Sections {
    int n;
    int64_t end; /* of the last */
    Section section[3];
} Sections;

static void add_section(Sections *sections, int64_t size, int64_t width)
{
    if (!size)
        return;
    sections->section[sections->n++] = (Section){
        .from = sections->end,
        .size = size,
        .width = width,
    };
    sections->end += size;
}

static Sections sections_of(int64_t oc, int64_t width)
{
    const int64_t full = blocks_up4(oc) / width * width;
    const int64_t left = blocks_up4(oc) - full;
    const int64_t eight = left >= 8 ? 8 : 0;
    Sections sections = { .n = 0 };
    add_section(&sections, full, width);
    add_section(&sections, eight, 8);
    add_section(&sections, left - eight, 4);
    return sections;
}

/* A section of the channels, which are an axis of w, filled up to whole blocks. */
static Recipe *cut_section(Store *store, const Recipe *w, int axis,
                           const Section *section)
{
    const int64_t channels = recipe_dims(w)[axis] - section->from;
    const int64_t count = i64_min(section->size, channels);
    const int64_t blocks = i64_ceil_div(count, section->width);
    Recipe *part = recipe_part(store, w, axis, section->from, count);
    return recipe_fill_up(store, part, axis, blocks * section->width);
}

/* A section of w [groups][OC][IC][taps] -> [groups][blocks][taps][IC][width]. */
static Recipe *conv_section(Store *store, const Recipe *w,
                            const Section *section)
{
    static const int perm[5] = { 0, 1, 4, 3, 2 };
    Recipe *recipe = cut_section(store, w, 1, section);
    const int64_t *d = recipe_dims(recipe);
    const int64_t width = section->width;
    const int64_t cut[5] = {
        d[0],         /* groups */
        d[1] / width, /* blocks */
        width,        /* channels of a block */
        d[2],         /* IC */
        d[3],         /* taps */
    };
    recipe = recipe_reshape(store, recipe, 5, cut);
    return recipe_transpose(store, recipe, perm);
}

/* Recipes one behind the other along an axis. */
static Recipe *joined(Store *store, int64_t n, Recipe **part, int axis)
{
    return n == 1 ? part[0] : recipe_concat(store, (int)n, part, axis);
}

/* The sections of w [groups][OC][IC][taps]. */
static Recipe *conv_blocks(Store *store, const Recipe *w, int64_t width)
{
    const int64_t *dims = recipe_dims(w);
    const Sections sections = sections_of(dims[1], width);
    const int n = sections.n;
    Recipe *part[3];
    for (int i = 0; i < n; i++)
        part[i] = conv_section(store, w, sections.section + i);
    if (n == 1)
        return part[0];
    for (int i = 0; i < n; i++)
        part[i] = recipe_matrix(store, part[i], dims[0]);
    return recipe_concat(store, n, part, 1);
}

Recipe *blocks_of_conv(Lower *lower, const Recipe *w, int64_t groups, int width)
{
    Store *store = lower->store;
    const int64_t *d = recipe_dims(w);
    int64_t taps = 1;
    for (int i = 2; i < recipe_rank(w); i++)
        taps = i64_mul(taps, d[i]);
    const int64_t dims[4] = {
        groups,
        d[0] / groups, /* OC */
        d[1],          /* IC */
        taps,
    };
    Recipe *image = recipe_reshape(store, w, 4, dims);
    return conv_blocks(store, image, width);
}

PaletteForm blocks_form(const Recipe *w, int64_t groups, int width)
{
    const int64_t channels = recipe_dims(w)[0];
    const int64_t each = recipe_count(w) / channels;
    const Sections sections = sections_of(channels / groups, width);
    PaletteForm form = { .runs = sections.n };
    for (int i = 0; i < sections.n; i++) {
        const Section *section = sections.section + i;
        form.run[i] = (PaletteRun){
            .blocks = section->size / section->width,
            .block = i64_mul(each, section->width),
            .lanes = section->width,
            .each = 1,
        };
    }
    return form;
}

/* Axis of k taps -> taps of a phase, last first, and phases: two axes. */
static Recipe *cut_phases(Store *store, const Recipe *w, int axis,
                          int64_t stride)
{
    const int64_t *from = recipe_dims(w);
    const int rank = recipe_rank(w);
    const int64_t each = i64_ceil_div(from[axis], stride);
    int64_t dims[MAX_RANK];
    for (int i = 0; i < rank; i++)
        dims[i < axis ? i : i + 1] = from[i];
    dims[axis] = each;
    dims[axis + 1] = stride;
    Recipe *recipe = recipe_fill_up(store, w, axis, each * stride);
    recipe = recipe_reshape(store, recipe, rank + 1, dims);
    return recipe_slice(store, recipe, axis, each - 1, -1, each);
}

/* Both axes of the taps of an image, the last two, cut into phases. */
static Recipe *cut_image(Store *store, const Recipe *w, const int64_t *phases)
{
    Recipe *recipe = cut_phases(store, w, 4, phases[1]);
    return cut_phases(store, recipe, 3, phases[0]);
}

/* Blocks of a section of w [groups][IC][OC][KH][PH][KW][PW] ->
 * [PH][PW][groups][blocks][KH][KW][IC][width], as a matrix of so many rows. */
static Recipe *deconv_section(Store *store, const Recipe *w,
                              const Section *section, int64_t rows)
{
    static const int perm[8] = { 5, 7, 0, 2, 4, 6, 1, 3 };
    const int64_t width = section->width;
    Recipe *recipe = cut_section(store, w, 2, section);
    const int64_t *d = recipe_dims(recipe);
    const int64_t cut[8] = {
        d[0],         /* groups */
        d[1],         /* IC */
        d[2] / width, /* blocks */
        width,        /* channels of a block */
        d[3],         /* KH */
        d[4],         /* PH */
        d[5],         /* KW */
        d[6],         /* PW */
    };
    recipe = recipe_reshape(store, recipe, 8, cut);
    recipe = recipe_transpose(store, recipe, perm);
    return recipe_matrix(store, recipe, rows);
}

/* w [groups][IC][OC][KH][KW] -> [PH * PW * groups][blocks]. */
static Recipe *deconv_plane(Lower *lower, const Recipe *w,
                            const int64_t *phases)
{
    Store *store = lower->store;
    const int64_t *dims = recipe_dims(w);
    const int64_t each = i64_mul(phases[0], phases[1]);
    const int64_t rows = i64_mul(dims[0], each);
    Recipe *part[3];
    Recipe *recipe = cut_image(store, w, phases);
    const Sections sections = sections_of(dims[2], lower->pack_width);
    for (int i = 0; i < sections.n; i++) {
        const Section *section = sections.section + i;
        part[i] = deconv_section(store, recipe, section, rows);
    }
    return joined(store, sections.n, part, 1);
}

/* A block of channels of plane z of w [IC][OC][KD][KH][KW]. */
static Recipe *plane_block(Store *store, const Recipe *w, int64_t z,
                           const int64_t *phases, const Section *block)
{
    const int64_t *d = recipe_dims(w);
    const int64_t dims[5] = {
        1,    /* group */
        d[0], /* IC */
        d[1], /* OC */
        d[3], /* KH */
        d[4], /* KW */
    };
    const int64_t rows = i64_mul(phases[0], phases[1]);
    Recipe *recipe = recipe_part(store, w, 2, z, 1);
    recipe = recipe_reshape(store, recipe, 5, dims);
    recipe = cut_image(store, recipe, phases);
    return deconv_section(store, recipe, block, rows);
}

/* The same of all planes. */
static Recipe *deconv_block(Lower *lower, const Recipe *w,
                            const int64_t *phases, const Section *block)
{
    Store *store = lower->store;
    const int64_t planes = recipe_dims(w)[2];
    Recipe **plane = NEW_ARRAY(lower->arena, Recipe *, planes);
    for (int64_t z = 0; z < planes; z++)
        plane[z] = plane_block(store, w, z, phases, block);
    return joined(store, planes, plane, 1);
}

/* One phase of depth, taps last first, one group: each plane by itself, block by block. w
 * [IC][OC][KD][KH][KW] -> [PH * PW][blocks]. */
static Recipe *deconv_depth(Lower *lower, const Recipe *w,
                            const int64_t *phases)
{
    const int64_t oc = recipe_dims(w)[1];
    const Sections sections = sections_of(oc, lower->pack_width);
    Recipe *both[2];
    int n = 0;
    for (int i = 0; i < sections.n; i++) {
        Section block = sections.section[i];
        const int64_t end = i64_min(oc, block.from + block.size);
        for (block.size = block.width; block.from < end;
             block.from += block.width) {
            both[n++] = deconv_block(lower, w, phases, &block);
            both[0] = joined(lower->store, n, both, 1);
            n = 1;
        }
    }
    return n ? both[0] : NULL;
}

/* w [IC][OC][KD][KH][KW] of one group: phase of depth by phase of depth. */
static Recipe *pack_deconv_planes(Lower *lower, const Recipe *w,
                                  const int64_t *phases)
{
    Store *store = lower->store;
    const int64_t deep = recipe_dims(w)[2];
    const int64_t planes = phases[0];
    const int64_t each = i64_ceil_div(deep, planes);
    const int64_t last = (each - 1) * planes;
    Recipe **depth = NEW_ARRAY(lower->arena, Recipe *, planes);
    Recipe *padded = recipe_fill_up(store, w, 2, each * planes);
    for (int64_t z = 0; z < planes; z++) {
        Recipe *taps = recipe_slice(store, padded, 2, z + last, -planes, each);
        depth[z] = deconv_depth(lower, taps, phases + 1);
    }
    return joined(store, planes, depth, 0);
}

/* The dimensions are those of the taps: what is flat may stand upright. */
static Recipe *pack_deconv_deep(Lower *lower, const Recipe *w,
                                const DeconvTaps *taps)
{
    const int64_t *d = recipe_dims(w);
    const int64_t dims[5] = {
        d[0],         /* IC */
        d[1],         /* OC */
        taps->all[0], /* KD */
        taps->all[1], /* KH */
        taps->all[2], /* KW */
    };
    Recipe *image = recipe_reshape(lower->store, w, 5, dims);
    return pack_deconv_planes(lower, image, taps->phases);
}

Recipe *blocks_of_deconv(Lower *lower, const Recipe *w, int64_t groups,
                         const DeconvTaps *taps)
{
    Store *store = lower->store;
    const int64_t *d = recipe_dims(w);
    if (recipe_rank(w) >= 5)
        return pack_deconv_deep(lower, w, taps);
    const int64_t dims[5] = {
        groups,       d[0] / groups, /* IC */
        d[1],                        /* OC */
        taps->all[1],                /* KH */
        taps->all[2],                /* KW */
    };
    Recipe *image = recipe_reshape(store, w, 5, dims);
    return deconv_plane(lower, image, taps->phases + 1);
}

Recipe *blocks_as_conv(Store *store, const Recipe *w, int64_t groups)
{
    static const int perm[4] = { 0, 2, 1, 3 };
    const Shape shape = shape_of(recipe_rank(w), recipe_dims(w));
    const int64_t ic = shape.dim[0] / groups;
    const int64_t oc = shape.dim[1];
    const int64_t taps = shape_product(&shape, 2, shape.rank);
    const int64_t cut[4] = { groups, ic, oc, taps };
    const int64_t dims[3] = { i64_mul(groups, oc), ic, taps };
    Recipe *apart = recipe_reshape(store, w, 4, cut);
    Recipe *turned = recipe_transpose(store, apart, perm);
    return recipe_reshape(store, turned, 3, dims);
}
