/* SPDX-License-Identifier: 0BSD
 * Tiles of dwconv_f32.h on 32-bit Arm cores with floats, or vectors of four: four pixels, or one,
 * by four channels, whose sums stay in registers through all rows of the window. */

/* The rows of a window, up to so many, and bytes from one thing to the next: what the channels of
 * all tiles of a row have in common. */
enum { INLAY_DW_LINES = 16 };

typedef struct inlay_dw_lines {
    const float *row[INLAY_DW_LINES]; /* from their beginning on */
    const float *const *end;
    int32_t taps;
    ptrdiff_t tap, pixel, next, wtap, wrow;
    float sums[INLAY_DW_TILE_MOST * 4]; /* of a tile, on their way */
} inlay_dw_lines;

#include "kernels/dwconv_columns.inc.h"
#ifdef INLAY_HELIUM
#include "kernels/dwconv_helium.inc.h"
#else
#include "kernels/dwconv_fpu.inc.h"
#endif

/* The same for the form of some tiles; 0: there are no taps, or more rows than have room. */
INLAY_APART int inlay_dw_lines_of(const inlay_dw *t, const inlay_dw_tile *tile,
                                  inlay_dw_lines *lines, int form)
{
    const ptrdiff_t bytes = (ptrdiff_t)sizeof(float);
    const int one = form == INLAY_DW_ONE;
    const int three = !one && form != INLAY_DW_ANY;
    int32_t slot = t->slot;
    int32_t h;
    lines->taps = one ? tile->skip : t->kw;
    lines->tap = t->tap * bytes;
    lines->pixel = t->xs * bytes;
    lines->next = lines->tap - (one ? 0 : 3 * lines->pixel);
    lines->wtap = t->channels * bytes;
    /* From behind the taps that exist; of three, from the last. */
    lines->wrow = t->wrow * bytes - (three ? 2 : lines->taps) * lines->wtap;
    if (lines->taps <= 0 || t->nkh > INLAY_DW_LINES)
        return 0;
    for (h = 0; h < t->nkh; h++) {
        lines->row[h] = inlay_dw_line_at(t, slot);
        slot += t->dh;
        if (slot >= t->cap)
            slot -= t->cap;
    }
    lines->end = lines->row + h;
    return 1;
}

/* Channel c of a tile, where there are no four: pixel by pixel. */
INLAY_APART void inlay_dw_single(const inlay_dw *t, const inlay_dw_tile *tile,
                                 int32_t c, int form)
{
    const int pixels = form == INLAY_DW_ONE ? 1 : INLAY_DW_TILE_MOST;
    int32_t p;
    for (p = 0; p < pixels; p++) {
        const int32_t from = p == 0 ? tile->skip & 1 : 0;
        const int32_t less = p == 3 ? tile->skip >> 1 : 0;
        inlay_dw_tile one = *tile;
        if (form != INLAY_DW_ONE) {
            one.at += p * t->xs + from * t->tap;
            one.w += from * t->channels;
            one.y += p * t->ys;
            one.skip = t->kw - from - less;
        }
        if (form != INLAY_DW_ONE && one.q)
            one.q += p * t->qs;
        inlay_dw1(t, &one, c, INLAY_DW_ONE, 1);
    }
}
/* All channels of a tile, in fours, where there are lines, and by themselves. */
INLAY_INLINE void inlay_dw_all(const inlay_dw *t, const inlay_dw_tile *tile,
                               inlay_dw_lines *lines, const int form)
{
    int32_t c = 0;
    if (lines)
        c = inlay_dw_fours_of(t, tile, lines, form);
    for (; c < t->channels; c++)
        inlay_dw_single(t, tile, c, form);
}

/* Tiles one after the other. */
INLAY_INLINE void inlay_dw_tiles(const inlay_dw *t, const inlay_dw_tile *tiles,
                                 const int form)
{
    inlay_dw_tile tile = *tiles;
    inlay_dw_lines lines;
    const int lined = inlay_dw_lines_of(t, &tile, &lines, form);
    for (;;) {
        if (--tile.tiles <= 0)
            tile.skip |= tile.end;
        inlay_dw_all(t, &tile, lined ? &lines : NULL, form);
        if (tile.tiles <= 0)
            return;
        tile.skip = 0;
        inlay_dw_go_on(t, &tile, 1);
    }
}

INLAY_APART void inlay_dw_one(const inlay_dw *t, const inlay_dw_tile *tile)
{
    inlay_dw_lines lines;
    const int lined = inlay_dw_lines_of(t, tile, &lines, INLAY_DW_ONE);
    inlay_dw_all(t, tile, lined ? &lines : NULL, INLAY_DW_ONE);
}
