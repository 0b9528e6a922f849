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

/* A row's constants: the rows of the window that exist, and distances in floats. */
typedef struct inlay_dw {
    const float *x;
    size_t row;
    int32_t cap, slot, nkh, dh;
    int32_t kw;           /* taps of a row that exist */
    ptrdiff_t tap;        /* floats of x from tap to tap */
    ptrdiff_t xs, ys, qs; /* floats from pixel to pixel */
    ptrdiff_t wrow;       /* floats of w from row to row */
    int32_t channels, clamp;
    int32_t origin; /* column of y and q that their pointers point at */
    float lo, hi;
} inlay_dw;

#define INLAY_DW_END(L, p) \
    { \
        inlay_f##L v = a##p; \
        if (q) \
            v += inlay_load##L(q + p * t->qs + c); \
        if (t->clamp & 1) \
            v = inlay_max##L(inlay_splat##L(t->lo), v); \
        if (t->clamp & 2) \
            v = inlay_min##L(inlay_splat##L(t->hi), v); \
        inlay_store##L(y + p * t->ys + c, v); \
    }

/* Walks the rows of the window; `xr` and `wr` point at channel c of the first tap. */
#define INLAY_DW_ROWS \
    for (h = 0; h < t->nkh; \
         h++, wr += t->wrow, slot = slot + t->dh >= t->cap ? slot + t->dh - t->cap : slot + t->dh)

#define INLAY_DW_ARGS \
    const inlay_dw *t, ptrdiff_t at, int32_t skip, const float *w, const float *b, float *y, \
        const float *q, int32_t c

#define INLAY_DW_FMA(L, p, k) a##p = inlay_fma##L(w##k, v, a##p);
#define INLAY_DW_COLUMN(L, j, use) \
    { \
        inlay_f##L v = inlay_load##L(xr + j * tap); \
        INLAY_KEEP(v); \
        use \
    }

/* Four pixels of a window of three columns, the stride 1 (S1) or 2 (S2): each column of x is loaded
 * once. The first column lies outside of x with skip bit 0, the last one with bit 1. */
#define INLAY_DW_S1(L) \
    if (!(skip & 1)) \
        INLAY_DW_COLUMN(L, 0, INLAY_DW_FMA(L, 0, 0)) \
    INLAY_DW_COLUMN(L, 1, INLAY_DW_FMA(L, 0, 1) INLAY_DW_FMA(L, 1, 0)) \
    INLAY_DW_COLUMN(L, 2, INLAY_DW_FMA(L, 0, 2) INLAY_DW_FMA(L, 1, 1) INLAY_DW_FMA(L, 2, 0)) \
    INLAY_DW_COLUMN(L, 3, INLAY_DW_FMA(L, 1, 2) INLAY_DW_FMA(L, 2, 1) INLAY_DW_FMA(L, 3, 0)) \
    INLAY_DW_COLUMN(L, 4, INLAY_DW_FMA(L, 2, 2) INLAY_DW_FMA(L, 3, 1)) \
    if (!(skip & 2)) \
    INLAY_DW_COLUMN(L, 5, INLAY_DW_FMA(L, 3, 2))
#define INLAY_DW_S2(L) \
    if (!(skip & 1)) \
        INLAY_DW_COLUMN(L, 0, INLAY_DW_FMA(L, 0, 0)) \
    INLAY_DW_COLUMN(L, 1, INLAY_DW_FMA(L, 0, 1)) \
    INLAY_DW_COLUMN(L, 2, INLAY_DW_FMA(L, 0, 2) INLAY_DW_FMA(L, 1, 0)) \
    INLAY_DW_COLUMN(L, 3, INLAY_DW_FMA(L, 1, 1)) \
    INLAY_DW_COLUMN(L, 4, INLAY_DW_FMA(L, 1, 2) INLAY_DW_FMA(L, 2, 0)) \
    INLAY_DW_COLUMN(L, 5, INLAY_DW_FMA(L, 2, 1)) \
    INLAY_DW_COLUMN(L, 6, INLAY_DW_FMA(L, 2, 2) INLAY_DW_FMA(L, 3, 0)) \
    INLAY_DW_COLUMN(L, 7, INLAY_DW_FMA(L, 3, 1)) \
    if (!(skip & 2)) \
    INLAY_DW_COLUMN(L, 8, INLAY_DW_FMA(L, 3, 2))

#define INLAY_DW_THREE(NAME, L, COLUMNS) \
    static inline void NAME(INLAY_DW_ARGS) \
    { \
        inlay_f##L a0 = inlay_load##L(b + c), a1 = a0, a2 = a0, a3 = a0; \
        const float *wr = w + c; \
        const ptrdiff_t tap = t->tap; \
        int32_t h, slot = t->slot; \
        INLAY_DW_ROWS \
        { \
            const float *xr = t->x + (size_t)slot * t->row + at + c; \
            inlay_f##L w0 = inlay_load##L(wr), w1 = inlay_load##L(wr + t->channels), \
                       w2 = inlay_load##L(wr + 2 * t->channels); \
            INLAY_KEEP(w0); \
            INLAY_KEEP(w1); \
            INLAY_KEEP(w2); \
            COLUMNS(L) \
        } \
        INLAY_DW_END(L, 0) INLAY_DW_END(L, 1) INLAY_DW_END(L, 2) INLAY_DW_END(L, 3) \
    }

/* Any window, four pixels and one (`skip`: its taps in a row that exist). */
#define INLAY_DW_ANY(L) \
    static inline void inlay_dw_any_##L(INLAY_DW_ARGS) \
    { \
        inlay_f##L a0 = inlay_load##L(b + c), a1 = a0, a2 = a0, a3 = a0; \
        const float *wr = w + c; \
        int32_t h, k, slot = t->slot; \
        (void)skip; \
        INLAY_DW_ROWS \
        { \
            const float *xr = t->x + (size_t)slot * t->row + at + c, *wk = wr; \
            for (k = 0; k < t->kw; k++, xr += t->tap, wk += t->channels) { \
                const inlay_f##L w0 = inlay_load##L(wk); \
                a0 = inlay_fma##L(w0, inlay_load##L(xr), a0); \
                a1 = inlay_fma##L(w0, inlay_load##L(xr + t->xs), a1); \
                a2 = inlay_fma##L(w0, inlay_load##L(xr + 2 * t->xs), a2); \
                a3 = inlay_fma##L(w0, inlay_load##L(xr + 3 * t->xs), a3); \
            } \
        } \
        INLAY_DW_END(L, 0) INLAY_DW_END(L, 1) INLAY_DW_END(L, 2) INLAY_DW_END(L, 3) \
    } \
    static inline void inlay_dw_one_##L(INLAY_DW_ARGS) \
    { \
        inlay_f##L a0 = inlay_load##L(b + c); \
        const float *wr = w + c; \
        int32_t h, k, slot = t->slot; \
        INLAY_DW_ROWS \
        { \
            const float *xr = t->x + (size_t)slot * t->row + at + c, *wk = wr; \
            for (k = 0; k < skip; k++, xr += t->tap, wk += t->channels) \
                a0 = inlay_fma##L(inlay_load##L(wk), inlay_load##L(xr), a0); \
        } \
        INLAY_DW_END(L, 0) \
    }

/* All channels of one tile, from the widest vectors to single channels. */
#define INLAY_DW_WIDTH(L) \
    INLAY_DW_THREE(inlay_dw_s1_##L, L, INLAY_DW_S1) \
    INLAY_DW_THREE(inlay_dw_s2_##L, L, INLAY_DW_S2) \
    INLAY_DW_ANY(L)
INLAY_DW_WIDTH(1)
#if INLAY_VL >= 4
INLAY_DW_WIDTH(4)
#define INLAY_DW_LOOP4(NAME) \
    for (; t->channels - c >= 4; c += 4) \
        NAME##_4(t, at, skip, w, b, y, q, c);
#else
#define INLAY_DW_LOOP4(NAME)
#endif
#if INLAY_VL >= 8
INLAY_DW_WIDTH(8)
#define INLAY_DW_LOOP8(NAME) \
    for (; t->channels - c >= 8; c += 8) \
        NAME##_8(t, at, skip, w, b, y, q, c);
#else
#define INLAY_DW_LOOP8(NAME)
#endif
#if INLAY_VL >= 16
INLAY_DW_WIDTH(16)
#define INLAY_DW_LOOP16(NAME) \
    for (; t->channels - c >= 16; c += 16) \
        NAME##_16(t, at, skip, w, b, y, q, c);
#else
#define INLAY_DW_LOOP16(NAME)
#endif
/* Tiles `pixels` apart, one after the other; the first one skips `skip`, the last one skips `end`.
 */
#define INLAY_DW_TILE(NAME) \
    INLAY_TILE_FN NAME(const inlay_dw *t, int32_t tiles, int32_t pixels, ptrdiff_t at, \
                       int32_t skip, int32_t end, const float *w, const float *b, float *y, \
                       const float *q) \
    { \
        int32_t c; \
        for (;;) { \
            if (--tiles <= 0) \
                skip |= end; \
            c = 0; \
            INLAY_DW_LOOP16(NAME) \
            INLAY_DW_LOOP8(NAME) \
            INLAY_DW_LOOP4(NAME) \
            for (; c < t->channels; c++) \
                NAME##_1(t, at, skip, w, b, y, q, c); \
            if (tiles <= 0) \
                return; \
            skip = 0; \
            at += pixels * t->xs; \
            y += pixels * t->ys; \
            if (q) \
                q += pixels * t->qs; \
        } \
    }
INLAY_DW_TILE(inlay_dw_s1)
INLAY_DW_TILE(inlay_dw_s2)
INLAY_DW_TILE(inlay_dw_any)
INLAY_DW_TILE(inlay_dw_one)

/* Pixel c of a row with its window clipped to what exists; inside, nothing is clipped. */
static inline void inlay_dw_pixel(const inlay_conv_params *p, const inlay_dw *t, const float *w,
                                  const float *b, float *y, const float *q, int32_t c, int32_t pix)
{
    const int32_t first = c * p->sw - p->pw;
    int32_t from;
    const int32_t taps = inlay_clip(first, p->dw, p->kw, p->iw, &from);
    inlay_dw_one(t, 1, 0, (ptrdiff_t)(first + from * p->dw) * pix, taps, 0,
                 w + (ptrdiff_t)from * t->channels, b, y + (c - t->origin) * t->ys,
                 q ? q + (c - t->origin) * t->qs : q);
}

/* Do tiles of a window of three columns cover the whole row, with at most one column missing at
 * either end? */
static inline int inlay_dw_covers(const inlay_conv_params *p)
{
    return p->kw == 3 && p->dw == 1 && p->sw <= 2 && p->pw <= 1 && p->ow >= 4 &&
           (p->ow - 1) * p->sw - p->pw + 3 <= p->iw + 1;
}

/* Tiles of four pixels, `pixels` apart, the first of which begins at c. */
static inline void inlay_dw_fours(const inlay_conv_params *p, const inlay_dw *t, const float *w,
                                  const float *b, float *y, const float *q, int32_t c,
                                  int32_t tiles, int32_t pixels, int32_t pix)
{
    const int32_t first = c * p->sw - p->pw;
    const int32_t last = first + (tiles - 1) * pixels * p->sw;
    const int32_t far = 3 * p->sw + 3;
    const int32_t skip = (first < 0 ? 1 : 0) | (first + far > p->iw ? 2 : 0);
    const int32_t end = (last < 0 ? 1 : 0) | (last + far > p->iw ? 2 : 0);
    const ptrdiff_t at = (ptrdiff_t)first * pix;
    float *yc = y + (c - t->origin) * t->ys;
    const float *qc = q ? q + (c - t->origin) * t->qs : q;
    if (p->kw == 3 && p->dw == 1 && p->sw == 1)
        inlay_dw_s1(t, tiles, pixels, at, skip, end, w, b, yc, qc);
    else if (p->kw == 3 && p->dw == 1 && p->sw == 2)
        inlay_dw_s2(t, tiles, pixels, at, skip, end, w, b, yc, qc);
    else
        inlay_dw_any(t, tiles, pixels, at, 0, 0, w, b, yc, qc);
}

/* Pixels [left, right) of a row: tiles of four. The last one may overlap its neighbour, unless q
 * could be y. */
static inline void inlay_dw_inside(const inlay_conv_params *p, const inlay_dw *t, const float *w,
                                   const float *b, float *y, const float *q, int32_t left,
                                   int32_t right, int32_t pix, int32_t backward)
{
    const int32_t n = right - left;
    const int32_t tiles = n / 4;
    const int32_t over = n % 4 && tiles && !q;
    int32_t i;
    if (tiles)
        inlay_dw_fours(p, t, w, b, y, q, backward ? right - 4 : left, tiles, backward ? -4 : 4,
                       pix);
    if (over)
        inlay_dw_fours(p, t, w, b, y, q, backward ? left : right - 4, 1, 0, pix);
    for (i = over ? n : 4 * tiles; i < n; i++)
        inlay_dw_pixel(p, t, w, b, y, q, backward ? right - 1 - i : left + i, pix);
}

/* A step's constants; ys, qs: floats from pixel to pixel of y and q. */
static inline void inlay_dw_setup(const inlay_conv_params *p, int32_t ys, const inlay_ref *x,
                                  int32_t qs, const void *first, inlay_dw *t)
{
    t->x = (const float *)first;
    t->row = x->row / sizeof(float);
    t->cap = x->cap;
    t->dh = p->dh;
    t->kw = p->kw;
    t->tap = (ptrdiff_t)p->dw * x->pix;
    t->xs = (ptrdiff_t)p->sw * x->pix;
    t->ys = ys;
    t->qs = qs;
    t->channels = p->groups;
    t->wrow = (ptrdiff_t)p->kw * p->groups;
    t->clamp = p->clamp;
    t->origin = 0;
    t->lo = p->a;
    t->hi = p->b;
}

/* Clips the window of output row r in rows; returns its first weight. */
static inline const float *inlay_dw_window(const inlay_conv_params *p, inlay_dw *t, const float *w,
                                           int32_t r)
{
    const int first = r < p->oh; /* image: nothing to divide */
    const int32_t n = first ? 0 : r / p->oh;
    const int32_t top = (first ? r : r % p->oh) * p->sh - p->ph;
    int32_t from;
    t->nkh = inlay_clip(top, p->dh, p->kh, p->ih, &from);
    t->slot = t->nkh ? (n * p->ih + top + from * p->dh) % t->cap : 0;
    return w + from * t->wrow;
}

/* Columns [c0, c1) of a row; the windows of [left, right) are inside. */
static inline void inlay_dw_columns(const inlay_conv_params *p, const inlay_dw *t, const float *w,
                                    const float *b, float *y, const float *q, int32_t c0,
                                    int32_t c1, int32_t left, int32_t right, int32_t pix,
                                    int32_t back)
{
    int32_t i;
    left = left < c0 ? c0 : left > c1 ? c1 : left;
    right = right > c1 ? c1 : right < left ? left : right;
    if (back)
        for (i = c1 - 1; i >= right; i--)
            inlay_dw_pixel(p, t, w, b, y, q, i, pix);
    else
        for (i = c0; i < left; i++)
            inlay_dw_pixel(p, t, w, b, y, q, i, pix);
    inlay_dw_inside(p, t, w, b, y, q, left, right, pix, back);
    if (back)
        for (i = left - 1; i >= c0; i--)
            inlay_dw_pixel(p, t, w, b, y, q, i, pix);
    else
        for (i = right; i < c1; i++)
            inlay_dw_pixel(p, t, w, b, y, q, i, pix);
}

/* Columns of a row whose windows inlay_dw_inside() takes: *right ends them. */
static inline int32_t inlay_dw_left(const inlay_conv_params *p, int32_t *right)
{
    if (!inlay_dw_covers(p))
        return inlay_inside(p->sw, p->pw, (p->kw - 1) * p->dw + 1, p->iw, p->ow, right);
    *right = p->ow;
    return 0;
}

static inline int inlay_dwconv_rows(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    const float *w = (const float *)inlay_at(base, s, 2);
    const float *b = (const float *)inlay_at(base, s, 3);
    int32_t right, done;
    const int32_t left = inlay_dw_left(p, &right);
    inlay_dw t;
    inlay_dw_setup(p, s->ref[0].pix, s->ref + 1, s->ref[4].pix, inlay_at(base, s, 1), &t);
    for (done = 0; done < r1 - r0; done++) {
        const int32_t r = s->backward ? r1 - 1 - done : r0 + done;
        const float *q = s->ref[4].base < 0 ? NULL : (const float *)inlay_row(base, s, 4, r);
        const float *wr = inlay_dw_window(p, &t, w, r);
        inlay_dw_columns(p, &t, wr, b, (float *)inlay_row(base, s, 0, r), q, 0, p->ow, left, right,
                         s->ref[1].pix, s->backward);
    }
    return 0;
}

static inline int inlay_dwconv_f32(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    if (inlay_upright((const inlay_conv_params *)s->params))
        return inlay_upright_rows(inlay_dwconv_rows, base, s, r0, r1);
    return inlay_dwconv_rows(base, s, r0, r1);
}

static inline int inlay_dwconv_act_f32(void *const *base, const inlay_step *s, int32_t r0,
                                       int32_t r1)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    return inlay_then_act(inlay_dwconv_f32, base, s, r0, r1, p->ow, p->groups, p->act, p->a, p->b);
}

#endif
