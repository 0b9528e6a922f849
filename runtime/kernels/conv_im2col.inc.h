/* SPDX-License-Identifier: 0BSD
 * The part of conv_narrow.h for small windows and many channels on Arm cores with floats, where
 * weights are signed bytes: the windows of a tile's pixels are copied one behind the other, with
 * zeros for what lies outside (im2col), and the tile is a matrix product. Otherwise each four
 * channels would begin a run of taps anew for each row of the window, and pixels at the ends of a
 * row, by themselves, would make floats of all weights. */

/* Columns of a window that exist, of one pixel: `runs` runs of `run` floats each, from x of its row
 * on and to `to` of its window. */
typedef struct inlay_im2col_columns {
    ptrdiff_t x, to;
    int32_t taps, runs, run;
} inlay_im2col_columns;

static inline inlay_im2col_columns inlay_im2col_clip(const inlay_conv_params *p,
                                                     const inlay_tile *t,
                                                     const inlay_conv_row *row,
                                                     int32_t c)
{
    const int32_t left = c * p->sw - p->pw;
    inlay_im2col_columns all;
    int32_t from;
    all.taps = inlay_clip(left, p->dw, p->kw, p->iw, &from);
    all.x = (ptrdiff_t)(left + from * p->dw) * row->pix;
    all.to = (ptrdiff_t)from * p->ic;
    all.runs = t->pieces == 1 ? 1 : all.taps;
    all.run = t->pieces == 1 ? all.taps * p->ic : p->ic;
    return all;
}

/* The window of pixel c, as far as its rows exist. */
static inline void inlay_im2col_window(const inlay_conv_params *p,
                                       const inlay_tile *t,
                                       const inlay_conv_row *row, int32_t c,
                                       float *to)
{
    const inlay_im2col_columns all = inlay_im2col_clip(p, t, row, c);
    int32_t slot = t->slot;
    int32_t h, k, i;
    if (all.taps < p->kw)
        for (i = 0; i < t->nkh * (int32_t)t->row_taps; i++)
            to[i] = 0.0f;
    to += all.to;
    for (h = 0; h < t->nkh; h++, to += t->row_taps) {
        const float *x = inlay_tile_row(t, slot) + all.x;
        for (k = 0; k < all.runs; k++, x += t->piece)
            for (i = 0; i < all.run; i++)
                to[k * all.run + i] = x[i];
        slot = inlay_tile_next(t, slot);
    }
}

/* How the windows of a tile lie, without slots. */
typedef struct inlay_im2col_lie {
    const float *x;
    int32_t cap, slot, nkh, pieces, run;
    ptrdiff_t xs;
} inlay_im2col_lie;

/* The tile's windows lie so; returns how they lay. */
static inline inlay_im2col_lie inlay_im2col_swap(inlay_tile *t,
                                                 inlay_im2col_lie to)
{
    inlay_im2col_lie was;
    was.x = t->x;
    was.cap = t->cap;
    was.slot = t->slot;
    was.nkh = t->nkh;
    was.pieces = t->pieces;
    was.run = t->run;
    was.xs = t->xs;
    t->x = to.x;
    t->cap = to.cap;
    t->slot = to.slot;
    t->nkh = to.nkh;
    t->pieces = to.pieces;
    t->run = to.run;
    t->xs = to.xs;
    return was;
}

/* Makes a tile whose windows lie one behind the other. */
static inline void inlay_im2col_make(inlay_tile *t, const inlay_tiles *call,
                                     const float *windows)
{
    const int32_t taps = t->nkh * (int32_t)t->row_taps;
    const inlay_im2col_lie dense = { windows, 1, 0, 1, 1, taps, taps };
    const inlay_im2col_lie was = inlay_im2col_swap(t, dense);
#ifdef INLAY_ROW_SLOTS
    const uint16_t *slots = t->slots;
    t->slots = NULL;
#endif
    t->make(t, call);
    inlay_im2col_swap(t, was);
#ifdef INLAY_ROW_SLOTS
    t->slots = slots;
#endif
}

/* All pixels of a row; `windows` has room for those of a tile. */
static inline void inlay_im2col_pixels(const inlay_conv_params *p,
                                       inlay_tile *t, const inlay_conv_row *row,
                                       float *windows)
{
    const int32_t tiles = INLAY_TILE_COUNT(row->pixels);
    int32_t i, k;
    inlay_tile_line(t, row->pixels);
    for (i = 0; i < tiles; i++) {
        const int32_t tile = t->backward ? tiles - 1 - i : i;
        int32_t pixels;
        const int32_t c = inlay_tile_cut(row->pixels, tiles, tile, &pixels);
        inlay_tiles call = inlay_conv_call(p, t, row, c);
        for (k = 0; k < pixels; k++)
            inlay_im2col_window(p, t, row, c + k,
                                windows + k * t->nkh * t->row_taps);
        call.at = 0;
        call.pixels = pixels;
        inlay_im2col_make(t, &call, windows);
    }
}

/* Rows [r0, r1). */
INLAY_APART void inlay_im2col_rows(void *const *base, const inlay_step *s,
                                   inlay_tile *t, int32_t r0, int32_t r1,
                                   float *windows)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    int32_t done;
    for (done = 0; done < r1 - r0; done++) {
        const int32_t r = inlay_next_row(s, r0, r1, done);
        inlay_conv_row row = inlay_conv_row_at(base, s, r, 1);
        row.tap = inlay_conv_window(p, t, r);
        inlay_im2col_pixels(p, t, &row, windows);
    }
}
