/* SPDX-License-Identifier: 0BSD
 * Depthwise convolution over channels-last images, float32: each channel by itself, 1 or 2
 * dimensions.
 *
 *   y[n][r][c][i] = clamp(b[i] + sum over kh, kw: x[n][r*sh - ph + kh*dh][c*sw - pw + kw*dw][i] *
 *       w[kh][kw][i] + q[n][r][c][i])
 *
 * x [N][H][W][C], y and q [N][OH][OW][C], w [KH][KW][C], b [C]; C = groups of the parameters.
 * Vectors lie along the channels; a tile is four pixels of a row (INLAY_DW_TILE_MOST). Units,
 * operands, clipping and overlap as in conv_f32.h. */
#ifndef INLAY_DWCONV_F32_H
#define INLAY_DWCONV_F32_H

#include "inlay.h"
#include "kernels/conv_f32.h"
#include "kernels/upright.h"
#include "kernels/vec.h"

enum { INLAY_DW_TILE_MOST = 4 };

/* So many pixels cost less by themselves than a tile of four. */
#if defined INLAY_FPU_ARM || defined INLAY_HELIUM
enum { INLAY_DW_APART = 1 };
#else
enum { INLAY_DW_APART = 0 };
#endif

/* Windows of 5 and 7 columns have code of their own where there are vectors. */
#define INLAY_DW_WIDE (INLAY_VL > 1)

/* inlay_dw_tile.skip: columns outside of x at the left end; from bit 4 on, at the right end. Of
 * three columns one may lie outside: bits 0 and 1 say so. */
enum { INLAY_DW_RIGHT = 4 };

/* A row's constants: the rows of the window that exist, and distances in floats. */
typedef struct inlay_dw {
    const float *x;
    size_t row;
    int32_t cap, slot, nkh, dh;
    int32_t kw;           /* taps of a row that exist */
    ptrdiff_t pix;        /* floats of x from pixel to pixel */
    ptrdiff_t tap;        /* the same from tap to tap */
    ptrdiff_t xs, ys, qs; /* floats from one pixel of a tile to the next */
    const float *weights; /* at the first row of the window that exists */
    const float *bias;
    ptrdiff_t wrow; /* floats of the weights from row to row */
    int32_t channels, clamp;
    float lo, hi;
    int32_t backward;
    int32_t apart; /* y overlaps nothing that is read: tiles may go in pairs */
    int32_t once;  /* what is made is not made again: its windows may be gone */
    int32_t left, right; /* columns whose windows inlay_dw_inside() takes */
    float *y;            /* at column `origin`, as q */
    const float *q;
    int32_t origin;
#ifdef INLAY_ROW_SLOTS
    /* of the rows of x, in units of so many floats; NULL: a ring */
    const uint16_t *slots;
    size_t unit;
#endif
} inlay_dw;

/* Row `slot` of the ring. */
INLAY_INLINE const float *inlay_dw_line_at(const inlay_dw *t, int32_t slot)
{
#ifdef INLAY_ROW_SLOTS
    if (t->slots)
        return t->x + t->slots[slot] * t->unit;
#endif
    return t->x + (size_t)slot * t->row;
}

/* Some tiles of a row. */
typedef struct inlay_dw_tile {
    ptrdiff_t at; /* floats from the row of x to the first column */
    const float *w;
    float *y;
    const float *q;
    /* columns that lie outside, see the template; of one pixel: taps that exist */
    int32_t skip;
    int32_t end; /* the same of the last tile */
    int32_t tiles;
    int32_t pixels; /* from one tile to the next */
} inlay_dw_tile;

/* What a tile has code of its own for: a window of three columns of stride 1 or 2, any window, any
 * window of a single pixel, and windows of five and seven columns. */
enum {
    INLAY_DW_STRIDE_1,
    INLAY_DW_STRIDE_2,
    INLAY_DW_ANY,
    INLAY_DW_ONE,
    INLAY_DW_FIVE_1,
    INLAY_DW_FIVE_2,
    INLAY_DW_SEVEN_1
};

#define INLAY_FAMILY "dwconv_f32.inc.h"
#include "each_width.inc.h"
#undef INLAY_FAMILY

enum { INLAY_DW_PAIRS = INLAY_VL > 1 };

/* Goes on by n tiles. */
INLAY_INLINE void inlay_dw_go_on(const inlay_dw *t, inlay_dw_tile *tile,
                                 const int n)
{
    const int32_t pixels = n * tile->pixels;
    tile->at += pixels * t->xs;
    tile->y += pixels * t->ys;
    if (tile->q)
        tile->q += pixels * t->qs;
}

#if defined INLAY_FPU_ARM || defined INLAY_HELIUM
#include "kernels/dwconv_arm.inc.h"
#else
/* All channels of a tile, from the widest vectors to single channels. */
INLAY_INLINE void inlay_dw_channels(const inlay_dw *t,
                                    const inlay_dw_tile *tile, const int form,
                                    const int pixels)
{
    int32_t c = 0;
#if INLAY_VL >= 16
    for (; t->channels - c >= 16; c += 16)
        inlay_dw16(t, tile, c, form, pixels);
#endif
#if INLAY_VL >= 8
    for (; t->channels - c >= 8; c += 8)
        inlay_dw8(t, tile, c, form, pixels);
#endif
#if INLAY_HAS_4
    for (; t->channels - c >= 4; c += 4)
        inlay_dw4(t, tile, c, form, pixels);
#endif
    for (; c < t->channels; c++)
        inlay_dw1(t, tile, c, form, pixels);
}

/* Do tiles go in pairs? These load each weight for eight pixels, and the columns that their windows
 * share but once. Some channels of both are written before the others are read: where y lies over
 * x, plans allow for one tile. */
INLAY_INLINE int inlay_dw_pairs(const inlay_dw *t, const int form)
{
    return INLAY_DW_PAIRS && t->apart && form != INLAY_DW_ANY &&
           form != INLAY_DW_ONE;
}

/* A tile and the next one, which lies on its right, or on its left. */
INLAY_INLINE void inlay_dw_two(const inlay_dw *t, const inlay_dw_tile *tile,
                               const int form)
{
    inlay_dw_tile left = *tile;
    if (left.tiles == 2)
        left.skip |= left.end;
    if (left.pixels < 0)
        inlay_dw_go_on(t, &left, 1);
    inlay_dw_channels(t, &left, form, 2 * INLAY_DW_TILE_MOST);
}

/* Tiles one after the other. */
INLAY_INLINE void inlay_dw_tiles(const inlay_dw *t, const inlay_dw_tile *tiles,
                                 const int form)
{
    inlay_dw_tile tile = *tiles;
    while (inlay_dw_pairs(t, form) && tile.tiles >= 2) {
        inlay_dw_two(t, &tile, form);
        inlay_dw_go_on(t, &tile, 2);
        tile.tiles -= 2;
        tile.skip = 0;
        if (!tile.tiles)
            return;
    }
    for (;;) {
        if (--tile.tiles <= 0)
            tile.skip |= tile.end;
        inlay_dw_channels(t, &tile, form, INLAY_DW_TILE_MOST);
        if (tile.tiles <= 0)
            return;
        tile.skip = 0;
        inlay_dw_go_on(t, &tile, 1);
    }
}

INLAY_APART void inlay_dw_one(const inlay_dw *t, const inlay_dw_tile *tile)
{
    inlay_dw_channels(t, tile, INLAY_DW_ONE, 1);
}
#endif

INLAY_APART void inlay_dw_stride_1(const inlay_dw *t,
                                   const inlay_dw_tile *tiles)
{
    inlay_dw_tiles(t, tiles, INLAY_DW_STRIDE_1);
}

INLAY_APART void inlay_dw_stride_2(const inlay_dw *t,
                                   const inlay_dw_tile *tiles)
{
    inlay_dw_tiles(t, tiles, INLAY_DW_STRIDE_2);
}

INLAY_APART void inlay_dw_any(const inlay_dw *t, const inlay_dw_tile *tiles)
{
    inlay_dw_tiles(t, tiles, INLAY_DW_ANY);
}

#if INLAY_DW_WIDE
INLAY_APART void inlay_dw_five_1(const inlay_dw *t, const inlay_dw_tile *tiles)
{
    inlay_dw_tiles(t, tiles, INLAY_DW_FIVE_1);
}

INLAY_APART void inlay_dw_five_2(const inlay_dw *t, const inlay_dw_tile *tiles)
{
    inlay_dw_tiles(t, tiles, INLAY_DW_FIVE_2);
}

INLAY_APART void inlay_dw_seven_1(const inlay_dw *t, const inlay_dw_tile *tiles)
{
    inlay_dw_tiles(t, tiles, INLAY_DW_SEVEN_1);
}
#endif

/* The tile that begins at column c, the first column of its window being `first`. */
static inline inlay_dw_tile inlay_dw_tile_at(const inlay_dw *t, int32_t c,
                                             int32_t first)
{
    const int32_t column = c - t->origin;
    inlay_dw_tile tile;
    tile.at = first * t->pix;
    tile.w = t->weights;
    tile.y = t->y + column * t->ys;
    tile.q = t->q ? t->q + column * t->qs : NULL;
    tile.skip = 0;
    tile.end = 0;
    tile.tiles = 1;
    tile.pixels = 0;
    return tile;
}

/* Pixel c of a row with its window clipped to what exists; inside, nothing is clipped. */
INLAY_APART void inlay_dw_pixel(const inlay_conv_params *p, const inlay_dw *t,
                                int32_t c)
{
    const int32_t first = c * p->sw - p->pw;
    int32_t from;
    const int32_t taps = inlay_clip(first, p->dw, p->kw, p->iw, &from);
    inlay_dw_tile tile = inlay_dw_tile_at(t, c, first + from * p->dw);
    tile.w += (ptrdiff_t)from * t->channels;
    tile.skip = taps;
    inlay_dw_one(t, &tile);
}

static inline int inlay_dw_is_three(const inlay_conv_params *p)
{
    return p->kw == 3 && p->dw == 1 && p->sw <= 2;
}

/* A window of five or seven columns that has code of its own. */
static inline int inlay_dw_is_wide(const inlay_conv_params *p)
{
    const int five = p->kw == 5 && p->sw <= 2;
    return INLAY_DW_WIDE && p->dw == 1 && (five || (p->kw == 7 && p->sw == 1));
}

/* Do tiles of such a window, or one of three columns, cover the whole row, with at most half of a
 * window missing at either end? */
static inline int inlay_dw_covers(const inlay_conv_params *p)
{
    const int32_t kw = INLAY_DW_WIDE ? p->kw : 3;
    const int32_t end = (p->ow - 1) * p->sw - p->pw + kw;
    const int own = INLAY_DW_WIDE ? inlay_dw_is_three(p) || inlay_dw_is_wide(p)
                                  : inlay_dw_is_three(p);
    return own && p->pw <= kw / 2 && p->ow >= INLAY_DW_TILE_MOST &&
           end <= p->iw + kw / 2;
}

/* The columns at the ends of a tile that lie outside, as inlay_dw_tile.skip has them. */
static inline int32_t inlay_dw_outside(const inlay_conv_params *p,
                                       int32_t first)
{
    const int32_t kw = INLAY_DW_WIDE ? p->kw : 3;
    const int32_t end = first + (INLAY_DW_TILE_MOST - 1) * p->sw + kw;
    if (kw == 3)
        return (first < 0 ? 1 : 0) | (end > p->iw ? 2 : 0);
    return (first < 0 ? -first : 0) |
           (end > p->iw ? (end - p->iw) << INLAY_DW_RIGHT : 0);
}

/* Tiles of a window that is not three adjacent columns; `last`: the first column of the last. */
INLAY_INLINE void inlay_dw_others(const inlay_conv_params *p, const inlay_dw *t,
                                  inlay_dw_tile *tiles, int32_t first,
                                  int32_t last)
{
#if INLAY_DW_WIDE
    if (inlay_dw_is_wide(p)) {
        tiles->skip = inlay_dw_outside(p, first);
        tiles->end = inlay_dw_outside(p, last);
        if (p->kw == 7)
            inlay_dw_seven_1(t, tiles);
        else if (p->sw == 2)
            inlay_dw_five_2(t, tiles);
        else
            inlay_dw_five_1(t, tiles);
        return;
    }
#else
    (void)p;
    (void)first;
    (void)last;
#endif
    inlay_dw_any(t, tiles);
}

/* Tiles of four pixels, `pixels` apart, the first of which begins at c. */
static inline void inlay_dw_fours(const inlay_conv_params *p, const inlay_dw *t,
                                  int32_t c, int32_t tiles, int32_t pixels)
{
    const int32_t first = c * p->sw - p->pw;
    const int32_t last = first + (tiles - 1) * pixels * p->sw;
    inlay_dw_tile tile = inlay_dw_tile_at(t, c, first);
    tile.tiles = tiles;
    tile.pixels = pixels;
    if (!inlay_dw_is_three(p)) {
        inlay_dw_others(p, t, &tile, first, last);
        return;
    }
    tile.skip = inlay_dw_outside(p, first);
    tile.end = inlay_dw_outside(p, last);
    if (p->sw == 1)
        inlay_dw_stride_1(t, &tile);
    else
        inlay_dw_stride_2(t, &tile);
}

/* Pixels [left, right) of a row: tiles of four. The last one may overlap its neighbour, unless q
 * could be y, or y lies over windows. */
INLAY_APART void inlay_dw_inside(const inlay_conv_params *p, const inlay_dw *t,
                                 int32_t left, int32_t right)
{
    const int32_t n = right - left;
    const int32_t tiles = n / INLAY_DW_TILE_MOST;
    const int32_t rest = n % INLAY_DW_TILE_MOST;
    const int32_t last = t->backward ? left : right - INLAY_DW_TILE_MOST;
    int32_t i;
    if (tiles && t->backward)
        inlay_dw_fours(p, t, right - INLAY_DW_TILE_MOST, tiles,
                       -INLAY_DW_TILE_MOST);
    else if (tiles)
        inlay_dw_fours(p, t, left, tiles, INLAY_DW_TILE_MOST);
    if (rest > INLAY_DW_APART && tiles && !t->q && !(INLAY_VL > 1 && t->once)) {
        inlay_dw_fours(p, t, last, 1, 0);
        return;
    }
    for (i = n - rest; i < n; i++)
        inlay_dw_pixel(p, t, t->backward ? right - 1 - i : left + i);
}

/* How the rows of x lie, and windows in them. */
static inline void inlay_dw_input(const inlay_conv_params *p, void *const *base,
                                  const inlay_step *s, inlay_dw *t)
{
    const inlay_ref *x = s->ref + 1;
    t->x = (const float *)inlay_at(base, s, 1);
    t->row = x->row / sizeof(float);
    t->cap = x->cap;
#ifdef INLAY_ROW_SLOTS
    t->slots = x->slot;
    t->unit = x->unit / sizeof(float);
#endif
    t->dh = p->dh;
    t->kw = p->kw;
    t->pix = x->pix;
    t->tap = (ptrdiff_t)p->dw * x->pix;
    t->xs = (ptrdiff_t)p->sw * x->pix;
}

/* A step's constants; ys and qs are the caller's. */
static inline void inlay_dw_setup(const inlay_conv_params *p, void *const *base,
                                  const inlay_step *s, inlay_dw *t)
{
    inlay_dw_input(p, base, s, t);
    t->channels = p->groups;
    t->bias = (const float *)inlay_at(base, s, 3);
    t->wrow = (ptrdiff_t)p->kw * p->groups;
    t->clamp = p->clamp;
    t->lo = p->a;
    t->hi = p->b;
    t->backward = s->backward;
    t->origin = 0;
    t->once = 0;
    t->left = 0;
    t->right = p->ow;
    if (!inlay_dw_covers(p))
        t->left = inlay_inside(p->sw, p->pw, (p->kw - 1) * p->dw + 1, p->iw,
                               p->ow, &t->right);
}

/* Clips the window of output row r in rows; w: all weights. */
static inline void inlay_dw_window(const inlay_conv_params *p, inlay_dw *t,
                                   const float *w, int32_t r)
{
    /* Below p->oh: the first image, where nothing is to be divided. */
    const int32_t image = r < p->oh ? 0 : r / p->oh;
    const int32_t top = (r - image * p->oh) * p->sh - p->ph;
    int32_t from;
    t->nkh = inlay_clip(top, p->dh, p->kh, p->ih, &from);
    t->slot = 0;
    if (t->nkh)
        t->slot = (image * p->ih + top + from * p->dh) % t->cap;
    t->weights = w + from * t->wrow;
}

/* Columns [c0, c1) of a row. */
static inline void inlay_dw_columns(const inlay_conv_params *p,
                                    const inlay_dw *t, int32_t c0, int32_t c1)
{
    int32_t left = t->left < c1 ? t->left : c1;
    int32_t right = t->right < c1 ? t->right : c1;
    int32_t i;
    if (left < c0)
        left = c0;
    if (right < left)
        right = left;
    if (t->backward) {
        for (i = c1 - 1; i >= right; i--)
            inlay_dw_pixel(p, t, i);
        inlay_dw_inside(p, t, left, right);
        for (i = left - 1; i >= c0; i--)
            inlay_dw_pixel(p, t, i);
    } else {
        for (i = c0; i < left; i++)
            inlay_dw_pixel(p, t, i);
        inlay_dw_inside(p, t, left, right);
        for (i = right; i < c1; i++)
            inlay_dw_pixel(p, t, i);
    }
}

/* Can no byte of so many rows of y be one that they are made of? Where rows have slots, only one
 * that is made by itself may lie over those. */
static inline int inlay_dw_apart(const inlay_conv_params *p, void *const *base,
                                 const inlay_step *s, int32_t rows)
{
    const int dealt = inlay_is_dealt(s->ref) && inlay_is_dealt(s->ref + 1);
    if (s->ref[4].base >= 0 || (dealt && rows == 1))
        return 0;
    return inlay_disjoint(base, s, p->ow, p->iw);
}

/* Does the one row of y lie over x? */
static inline int inlay_dw_over(const inlay_conv_params *p, void *const *base,
                                const inlay_step *s)
{
    if (INLAY_VL == 1 || p->ih > 1 || p->oh > 1)
        return 0;
    return !inlay_disjoint(base, s, p->ow, p->iw);
}

INLAY_APART int inlay_dwconv_rows(void *const *base, const inlay_step *s,
                                  int32_t r0, int32_t r1)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    const float *w = (const float *)inlay_at(base, s, 2);
    int32_t done;
    inlay_dw t;
    inlay_dw_setup(p, base, s, &t);
    t.ys = s->ref[0].pix;
    t.qs = s->ref[4].pix;
    t.apart = INLAY_DW_PAIRS && inlay_dw_apart(p, base, s, r1 - r0);
    t.once = inlay_dw_over(p, base, s);
    for (done = 0; done < r1 - r0; done++) {
        const int32_t r = inlay_next_row(s, r0, r1, done);
        inlay_dw_window(p, &t, w, r);
        t.y = (float *)inlay_row(base, s, 0, r);
        t.q = inlay_row_if(base, s, 4, r);
        inlay_dw_columns(p, &t, 0, p->ow);
    }
    return 0;
}

/* Rows by a kernel of so many operands, which knows no images that stand upright. */
static inline int inlay_dwconv_with(inlay_kernel *kernel, int operands,
                                    void *const *base, const inlay_step *s,
                                    int32_t r0, int32_t r1)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    inlay_slide slide;
    if (!inlay_upright(p))
        return kernel(base, s, r0, r1);
    slide.height = p->oh;
    slide.rows = p->ih;
    slide.stride = p->sh;
    slide.pad = p->ph;
    slide.extent = (p->kh - 1) * p->dh + 1;
    slide.transposed = 0;
    slide.operands = operands;
    return inlay_upright_rows(kernel, base, s, r0, r1, &slide);
}

static inline int inlay_dwconv_f32(void *const *base, const inlay_step *s,
                                   int32_t r0, int32_t r1)
{
    return inlay_dwconv_with(inlay_dwconv_rows, 5, base, s, r0, r1);
}

static inline int inlay_dwconv_act_f32(void *const *base, const inlay_step *s,
                                       int32_t r0, int32_t r1)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    return inlay_conv_then_act(inlay_dwconv_f32, base, s, r0, r1, p->groups);
}

#endif
