/* SPDX-License-Identifier: 0BSD
 * The part of tile_narrow.h for signed bytes without zero points on Arm cores with floats: their
 * tiles need no panels (tile_blocks_arm.inc.h). */

/* What all tiles know of the scales of signed bytes. */
INLAY_INLINE void inlay_bytes_scales(const inlay_tile *t,
                                     inlay_blocks_scales *known)
{
    const inlay_stored *narrow = t->narrow;
    const int32_t *how = narrow->how;
    const int32_t skip = (int32_t)t->skip;
    known->first = NULL;
    known->mask = how && how[INLAY_HOW_CHANNELS] > 4 ? -1 : 0;
    known->all = !how;
    if (!how || how[INLAY_HOW_SCALE] != INLAY_SCALE_F32)
        return;
    known->first = (const float *)narrow->scale + (skip & known->mask);
    known->all = !known->mask || skip + t->end <= how[INLAY_HOW_CHANNELS];
}

/* inlay_tile.make of signed bytes, which need no panels. */
INLAY_APART void inlay_bytes_make(inlay_tile *t, const inlay_tiles *call)
{
    inlay_blocks_scales known;
    if (!call)
        return;
    inlay_bytes_scales(t, &known);
    inlay_blocks_run(t, call, t->narrow->values, inlay_late_scales, &known, 1);
}

/* Do the weights need no panels? That is the same for all tiles of a step. */
static inline int inlay_bytes_serve(const inlay_tile *t)
{
    const inlay_stored *narrow = t->narrow;
    const inlay_widening *type = narrow->type;
    if (!INLAY_TILE_PANELS)
        return 1;
    if (type->bits != 8 || type->kind != INLAY_NARROW_SIGNED)
        return 0;
    return inlay_tile_blocks(t) && !narrow->alone &&
           inlay_narrow_centred(narrow) &&
           (!narrow->how || inlay_scales_late(narrow));
}
