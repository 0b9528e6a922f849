/* SPDX-License-Identifier: 0BSD
 * Template of the tiles of one size of a group of channels: a function INLAY_GROUP with code for
 * each number of pixels whose bit is set in INLAY_USES. INLAY_VECTORS vectors of INLAY_L floats are
 * the group's channels, INLAY_TAP_STEP and INLAY_BLOCK_STEP are width and block of inlay_shape,
 * INLAY_WALK is the way, INLAY_ENDS and INLAY_ENDS_1 say what may follow the sums of several
 * pixels and of one. */

INLAY_APART void INLAY_GROUP(const inlay_tile *t, const inlay_tiles *call,
                             const inlay_group *g)
{
    inlay_shape shape = { INLAY_WALK,    INLAY_USES,     1,
                          INLAY_VECTORS, INLAY_TAP_STEP, INLAY_BLOCK_STEP,
                          INLAY_ENDS };
    if (INLAY_W(tiles_any)(t, call, g, shape))
        return;
    switch (call->pixels) {
    case 1:
        shape.ends = INLAY_ENDS_1;
        shape.pixels = 1;
        INLAY_W(tiles_of)(t, call, g, shape);
        break;
    case 2:
        shape.pixels = 2;
        INLAY_W(tiles_of)(t, call, g, shape);
        break;
    case 3:
        shape.pixels = 3;
        INLAY_W(tiles_of)(t, call, g, shape);
        break;
    case 4:
        shape.pixels = 4;
        INLAY_W(tiles_of)(t, call, g, shape);
        break;
    case 5:
        shape.pixels = 5;
        INLAY_W(tiles_of)(t, call, g, shape);
        break;
    case 6:
        shape.pixels = 6;
        INLAY_W(tiles_of)(t, call, g, shape);
        break;
    case 7:
        shape.pixels = 7;
        INLAY_W(tiles_of)(t, call, g, shape);
        break;
    }
}

#undef INLAY_GROUP
#undef INLAY_USES
#undef INLAY_L
#undef INLAY_VECTORS
#undef INLAY_TAP_STEP
#undef INLAY_BLOCK_STEP
#undef INLAY_ENDS
#undef INLAY_ENDS_1
