/* SPDX-License-Identifier: 0BSD
 * Convolution over channels-last images, float32: 1 to 3 dimensions, groups, strides, dilations.
 *
 *   y[n][z][r][c][g*OC + o] = clamp(b[g][o] + sum over kd, kh, kw, i of
 *       x[n][z*sd - pd + kd*dd][r*sh - ph + kh*dh][c*sw - pw + kw*dw][g*IC + i] *
 *           w[g][o][kd][kh][kw][i] + q[n][z][r][c][g*OC + o])
 *
 * x [N][D][H][W][groups*IC], y and q [N][OD][OH][OW][groups*OC], packed weights and bias as in
 * tile_f32.h, group by group. Elements outside x count as zero: the window is clipped, no cells
 * exist for the padding. A unit is a row of y; operands: y, x, w, b, q (may be left out; may be
 * y's own memory).
 *
 * Within a unit reads and writes mix, and with several groups the row is gone through once for
 * each: the rows of x that a unit needs must not be overwritten by its row of y. With one group
 * pixels go from the first to the last (mirrored when backward) in tiles of at most
 * INLAY_TILE_MOST: a tile must not overwrite what it or later ones need. Over several units: a row
 * is finished before the next is begun wherever x and y may overlap; where they do not, 1x1 rows
 * are joined and large weights are walked in the outer loop. */
#ifndef INLAY_CONV_F32_H
#define INLAY_CONV_F32_H

#include "inlay.h"
#include "kernels/act.h"
#include "kernels/tile_f32.h"

#define INLAY_conv_FIELDS(F, N) \
    F(int32_t, id) /* planes of x in an image; 1 below three dimensions */ \
    F(int32_t, ih) /* rows of x in a plane */ \
    F(int32_t, iw) /* pixels of x in a row */ \
    F(int32_t, od) /* the same of y */ \
    F(int32_t, oh) \
    F(int32_t, ow) \
    F(int32_t, kd) /* taps of the window */ \
    F(int32_t, kh) \
    F(int32_t, kw) \
    F(int32_t, sd) /* strides */ \
    F(int32_t, sh) \
    F(int32_t, sw) \
    F(int32_t, dd) /* dilations */ \
    F(int32_t, dh) \
    F(int32_t, dw) \
    F(int32_t, pd) /* padding before the first element */ \
    F(int32_t, ph) \
    F(int32_t, pw) \
    F(int32_t, groups) \
    F(int32_t, ic)    /* channels of x in a group */ \
    F(int32_t, oc)    /* channels of y in a group */ \
    F(int32_t, width) /* channels of a block of packed weights: 16 or 4 */ \
    F(int32_t, clamp) /* bit 0: at least a; bit 1: at most b */ \
    F(int32_t, act)   /* INLAY_ACT_...: done by the _act kernels */ \
    F(float, a)       /* the two numbers of clamp or act */ \
    F(float, b)
INLAY_PARAMS(conv);

/* Weights beyond this many bytes are walked a part at a time, so that the part stays in the cache.
 */
#ifndef INLAY_WEIGHT_BYTES
#define INLAY_WEIGHT_BYTES 400000
#endif

/* Clips the taps of one dimension: tap k stands at first + k * step of `size` elements.
 * *from: the first tap that exists; returns how many exist. */
static inline int32_t inlay_clip(int32_t first, int32_t step, int32_t taps, int32_t size,
                                 int32_t *from)
{
    int32_t skip, end;
    *from = 0;
    if (first >= 0 && first + (taps - 1) * step < size)
        return taps;
    skip = first < 0 ? (step - 1 - first) / step : 0;
    end = first < size ? (size - first + step - 1) / step : 0;
    *from = skip;
    return (end < taps ? end : taps) - skip > 0 ? (end < taps ? end : taps) - skip : 0;
}

/* First and end of the outputs whose whole window lies inside. The padding may be negative. */
static inline int32_t inlay_inside(int32_t stride, int32_t pad, int32_t extent, int32_t size,
                                   int32_t out, int32_t *end)
{
    const int32_t room = size + pad - extent;
    const int32_t begin = pad > stride ? (pad + stride - 1) / stride : pad > 0;
    const int32_t left = begin < out ? begin : out;
    const int32_t right = room < 0 ? 0 : room / stride + 1 < out ? room / stride + 1 : out;
    *end = right > left ? right : left;
    return left;
}

/* Can no byte of ring i, of pixels_i pixels a row, be a byte of ring j? */
static inline int inlay_disjoint(void *const *base, const inlay_step *s, int i, int32_t pixels_i,
                                 int j, int32_t pixels_j)
{
    const inlay_ref *f = s->ref + i;
    const inlay_ref *g = s->ref + j;
    const uintptr_t a = (uintptr_t)inlay_at(base, s, i);
    const uintptr_t b = (uintptr_t)inlay_at(base, s, j);
    const size_t n =
        (size_t)(f->cap - 1) * f->row + (size_t)pixels_i * (size_t)f->pix * sizeof(float);
    const size_t m =
        (size_t)(g->cap - 1) * g->row + (size_t)pixels_j * (size_t)g->pix * sizeof(float);
    return a + n <= b || b + m <= a;
}

/* Rows, from r in the walking direction, that lie one after the other in ring i; at most n. */
static inline int32_t inlay_adjacent(const inlay_step *s, int i, int32_t r, int32_t n)
{
    const inlay_ref *f = s->ref + i;
    const int32_t slot = r % f->cap;
    const int32_t room = s->backward ? slot + 1 : f->cap - slot;
    return f->base < 0 || n < room ? n : room;
}

/* One or several joined rows: `pixels` of them, of which [left, right) have their whole window
 * inside. */
typedef struct inlay_conv_row {
    float *y;
    const float *q;
    int32_t pixels, left, right;
    ptrdiff_t tap; /* first weight of the first row of the window that exists */
} inlay_conv_row;

/* Pixel c of a row: its window is clipped. */
static inline void inlay_conv_edge(const inlay_conv_params *p, inlay_tile *t,
                                   const inlay_conv_row *row, const float *w, const float *b,
                                   int32_t c, int32_t o, int32_t end, int32_t pix)
{
    const int32_t first = c * p->sw - p->pw;
    const int32_t run = t->run;
    const int32_t pieces = t->pieces;
    int32_t from;
    const int32_t n = inlay_clip(first, p->dw, p->kw, p->iw, &from);
    if (pieces == 1)
        t->run = n * p->ic;
    else
        t->pieces = n;
    inlay_tile_run(t, 1, 1, (ptrdiff_t)(first + from * p->dw) * pix, w, row->tap + from * p->ic, b,
                   row->y + c * t->ys, row->q ? row->q + c * t->qs : row->q, o, end, p->oc);
    t->run = run;
    t->pieces = pieces;
}

static inline int32_t inlay_conv_tiles(const inlay_conv_row *row)
{
    return (row->right - row->left + INLAY_TILE_P - 1) / INLAY_TILE_P;
}

/* Edge pixels one by one, the others in tiles: so many pieces. */
static inline int32_t inlay_conv_pieces(const inlay_conv_row *row)
{
    return row->pixels - (row->right - row->left) + inlay_conv_tiles(row);
}

/* Channels [o, end) of piece i of a row; backward is the mirror image. */
static inline void inlay_conv_piece(const inlay_conv_params *p, inlay_tile *t,
                                    const inlay_conv_row *row, const float *w, const float *b,
                                    int32_t i, int32_t o, int32_t end, int32_t pix,
                                    int32_t backward)
{
    const int32_t inside = row->right - row->left;
    const int32_t tiles = inlay_conv_tiles(row);
    const int32_t before = backward ? row->pixels - row->right : row->left;
    const int32_t k = i - before;
    if (k >= 0 && k < tiles) {
        int32_t n;
        const int32_t c =
            row->left + inlay_tile_cut(inside, tiles, backward ? tiles - 1 - k : k, &n);
        inlay_tile_run(t, n, 1, (ptrdiff_t)(c * p->sw - p->pw) * pix, w, row->tap, b,
                       row->y + c * t->ys, row->q ? row->q + c * t->qs : row->q, o, end, p->oc);
    } else {
        const int32_t done = k < 0 ? i : i - tiles + inside;
        inlay_conv_edge(p, t, row, w, b, backward ? row->pixels - 1 - done : done, o, end, pix);
    }
}

/* The same, all pieces in turn. */
static inline void inlay_conv_pixels(const inlay_conv_params *p, inlay_tile *t,
                                     const inlay_conv_row *row, const float *w, const float *b,
                                     int32_t o, int32_t end, int32_t pix, int32_t backward)
{
    const int32_t inside = row->right - row->left;
    const int32_t before = backward ? row->pixels - row->right : row->left;
    const int32_t after = row->pixels - inside - before;
    int32_t i;
    for (i = 0; i < before; i++)
        inlay_conv_edge(p, t, row, w, b, backward ? row->pixels - 1 - i : i, o, end, pix);
    inlay_tile_pixels(t, inside, (ptrdiff_t)(row->left * p->sw - p->pw) * pix, w, row->tap, b,
                      row->y + row->left * t->ys, row->q ? row->q + row->left * t->qs : row->q, o,
                      end, p->oc, backward);
    for (i = 0; i < after; i++)
        inlay_conv_edge(p, t, row, w, b, backward ? row->left - 1 - i : row->right + i, o, end,
                        pix);
}

/* The tile's constants of a step. */
static inline void inlay_conv_tile(const inlay_conv_params *p, void *const *base,
                                   const inlay_step *s, inlay_tile *t)
{
    const inlay_ref *x = s->ref + 1;
    t->x = (const float *)inlay_at(base, s, 1);
    t->row = x->row / sizeof(float);
    t->cap = x->cap;
    t->d_rows = p->dd * p->ih;
    t->h_rows = p->dh;
    t->pieces = p->dw == 1 && x->pix == p->ic ? 1 : p->kw;
    t->run = t->pieces == 1 ? p->kw * p->ic : p->ic;
    t->piece = (ptrdiff_t)p->dw * x->pix;
    t->xs = (ptrdiff_t)p->sw * x->pix;
    t->ys = s->ref[0].pix;
    t->qs = s->ref[4].pix;
    t->piece_taps = p->ic;
    t->row_taps = (ptrdiff_t)p->kw * p->ic;
    t->plane_taps = t->row_taps * p->kh;
    t->taps = t->plane_taps * p->kd;
    t->width = p->width;
    t->clamp = p->clamp;
    t->lo = p->a;
    t->hi = p->b;
}

/* Clips the window of output row r in planes and rows; returns its first tap. */
static inline ptrdiff_t inlay_conv_window(const inlay_conv_params *p, inlay_tile *t, int32_t r)
{
    const int first = r < p->oh; /* plane of the first image: nothing to divide */
    const int32_t n = first ? 0 : r / (p->od * p->oh);
    const int32_t z = first ? 0 : r / p->oh % p->od;
    const int32_t h = first ? r : r % p->oh;
    const int32_t top_d = z * p->sd - p->pd;
    const int32_t top_h = h * p->sh - p->ph;
    int32_t from_d, from_h;
    t->nkd = inlay_clip(top_d, p->dd, p->kd, p->id, &from_d);
    t->nkh = inlay_clip(top_h, p->dh, p->kh, p->ih, &from_h);
    if (!t->nkh)
        t->nkd = 0;
    t->first = t->nkd ? (n * p->id + top_d + from_d * p->dd) * p->ih + top_h + from_h * p->dh : 0;
    t->slot = t->first % t->cap;
    return from_d * t->plane_taps + from_h * t->row_taps;
}

/* Is the convolution a matrix product of the pixels of whole rows? */
static inline int inlay_conv_joins(const inlay_conv_params *p, const inlay_step *s)
{
    const inlay_ref *y = s->ref;
    const inlay_ref *x = s->ref + 1;
    const inlay_ref *q = s->ref + 4;
    const size_t n = (size_t)p->ow * sizeof(float);
    return p->kd * p->kh * p->kw == 1 && p->sd * p->sh * p->sw == 1 && p->pd + p->ph + p->pw == 0 &&
           p->iw == p->ow && p->ih == p->oh && p->id == p->od && y->row == n * (size_t)y->pix &&
           x->row == n * (size_t)x->pix && (q->base < 0 || q->row == n * (size_t)q->pix);
}

static inline void inlay_conv_next_group(const inlay_conv_params *p, inlay_tile *t,
                                         inlay_conv_row *row, int32_t n)
{
    t->x += n * p->ic;
    row->y += n * p->oc;
    if (row->q)
        row->q += n * p->oc;
}

/* A row of all groups, one group after the other; or, where y may lie over x, one piece after the
 * other. */
static inline void inlay_conv_groups(const inlay_conv_params *p, inlay_tile *t, inlay_conv_row *row,
                                     const float *w, const float *b, int32_t o, int32_t end,
                                     int32_t pix, int apart, int32_t backward)
{
    const int32_t pieces = inlay_conv_pieces(row);
    const int32_t padded = (p->oc + 3) / 4 * 4;
    int32_t g, i;
    for (g = 0; apart && g < p->groups; g++) {
        inlay_conv_pixels(p, t, row, w + g * padded * t->taps, b + g * padded, o, end, pix,
                          backward);
        inlay_conv_next_group(p, t, row, 1);
    }
    for (i = 0; !apart && i < pieces; i++) {
        for (g = 0; g < p->groups; g++) {
            inlay_conv_piece(p, t, row, w + g * padded * t->taps, b + g * padded, i, o, end, pix,
                             backward);
            inlay_conv_next_group(p, t, row, 1);
        }
        inlay_conv_next_group(p, t, row, -p->groups);
    }
    if (apart)
        inlay_conv_next_group(p, t, row, -p->groups);
}

/* Are there more weights than stay in the cache while `rows` rows are made? */
static inline int inlay_conv_large(const inlay_conv_params *p, int32_t rows)
{
    return p->groups == 1 && rows * (int64_t)p->ow > INLAY_TILE_P &&
           (int64_t)p->kd * p->kh * p->kw * p->ic * p->oc >
               (int64_t)(INLAY_WEIGHT_BYTES / sizeof(float));
}

static inline int inlay_conv_f32(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    const float *w = (const float *)inlay_at(base, s, 2);
    const float *b = (const float *)inlay_at(base, s, 3);
    const int many = r1 - r0 > 1;
    const int large = inlay_conv_large(p, r1 - r0);
    const int apart =
        (many || large || p->groups > 1) && inlay_disjoint(base, s, 0, p->ow, 1, p->iw);
    const int joins = many && apart && inlay_conv_joins(p, s);
    const int32_t pix = s->ref[1].pix;
    int32_t left;
    int32_t right;
    int32_t o;
    int32_t end;
    int32_t step = p->oc;
    int32_t done;
    int32_t n;
    inlay_tile t;
    inlay_conv_tile(p, base, s, &t);
    left = inlay_inside(p->sw, p->pw, (p->kw - 1) * p->dw + 1, p->iw, p->ow, &right);
    if (apart && large) {
        const ptrdiff_t fit = (ptrdiff_t)(INLAY_WEIGHT_BYTES / sizeof(float)) / t.taps / 64 * 64;
        step = fit > 64 ? (int32_t)fit : 64;
    }
    for (o = 0; o < p->oc; o = end) {
        end = p->oc - o > step ? o + step : p->oc;
        for (done = 0; done < r1 - r0; done += n) {
            inlay_conv_row row;
            int32_t r = s->backward ? r1 - 1 - done : r0 + done;
            n = 1;
            if (joins) {
                n = inlay_adjacent(
                    s, 4, r, inlay_adjacent(s, 1, r, inlay_adjacent(s, 0, r, r1 - r0 - done)));
                if (s->backward)
                    r -= n - 1;
            }
            row.tap = inlay_conv_window(p, &t, r);
            row.pixels = n * p->ow;
            row.left = left;
            row.right = joins ? row.pixels : right;
            row.y = (float *)inlay_row(base, s, 0, r);
            row.q = s->ref[4].base < 0 ? NULL : (const float *)inlay_row(base, s, 4, r);
            if (p->groups == 1)
                inlay_conv_pixels(p, &t, &row, w, b, o, end, pix, s->backward);
            else
                inlay_conv_groups(p, &t, &row, w, b, o, end, pix, apart, s->backward);
        }
    }
    return 0;
}

/* The second pass: row r of y, `pixels` of `channels`. */
static inline void inlay_act_rows(void *const *base, const inlay_step *s, int32_t r, int32_t pixels,
                                  int32_t channels, int32_t act, float a, float b)
{
    float *y = (float *)inlay_row(base, s, 0, r);
    const int32_t pix = s->ref[0].pix;
    int32_t i;
    if (pix == channels)
        inlay_act_f32(y, pixels * channels, act, a, b);
    else
        for (i = 0; i < pixels; i++)
            inlay_act_f32(y + (ptrdiff_t)i * pix, channels, act, a, b);
}

/* Rows that are made before the second pass goes over them, while they are in the cache. */
static inline int32_t inlay_act_stripe(int32_t pixels, int32_t channels)
{
    const int64_t n = 32768 / ((int64_t)pixels * channels + 1);
    return n > 1 ? (int32_t)n : 1;
}

/* The rows by `kernel`, whose tail `act` is too long for its inner loop. */
static inline int inlay_then_act(inlay_kernel *kernel, void *const *base, const inlay_step *s,
                                 int32_t r0, int32_t r1, int32_t pixels, int32_t channels,
                                 int32_t act, float a, float b)
{
    const int32_t stripe = inlay_act_stripe(pixels, channels);
    int32_t done, i, n;
    for (done = 0; done < r1 - r0; done += n) {
        const int32_t left = r1 - r0 - done;
        int32_t from;
        n = inlay_adjacent(s, 0, s->backward ? r1 - 1 - done : r0 + done,
                           left < stripe ? left : stripe);
        from = s->backward ? r1 - done - n : r0 + done;
        kernel(base, s, from, from + n);
        for (i = 0; i < n; i++)
            inlay_act_rows(base, s, from + i, pixels, channels, act, a, b);
    }
    return 0;
}

static inline int inlay_conv_act_f32(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    return inlay_then_act(inlay_conv_f32, base, s, r0, r1, p->ow, p->groups * p->oc, p->act, p->a,
                          p->b);
}

#endif
