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
#include "kernels/walk.h"

typedef struct inlay_conv_params {
#include "kernels/window_fields.inc.h"
    int32_t groups;
    int32_t ic;    /* channels of x in a group */
    int32_t oc;    /* channels of y in a group */
    int32_t width; /* channels of a block of packed weights: 16 or 4 */
    int32_t clamp; /* bit 0: at least a; bit 1: at most b */
    int32_t act;   /* INLAY_ACT_...: done by the _act kernels */
    float a;       /* the two numbers of clamp or act */
    float b;
} inlay_conv_params;

/* Weights beyond this many bytes are walked a part at a time, so that the part stays in the cache.
 */
#ifndef INLAY_WEIGHT_BYTES
#define INLAY_WEIGHT_BYTES 400000
#endif

/* Bytes of operand i, of `pixels` pixels a row. */
static inline size_t inlay_extent(const inlay_step *s, int i, int32_t pixels)
{
    const inlay_ref *ring = s->ref + i;
    const size_t last_row = (size_t)pixels * (size_t)ring->pix * sizeof(float);
    return (size_t)(ring->cap - 1) * ring->row + last_row;
}

/* Can no byte of operand 0, of y_pixels pixels a row, be a byte of operand 1? */
static inline int inlay_disjoint(void *const *base, const inlay_step *s,
                                 int32_t y_pixels, int32_t x_pixels)
{
    const uintptr_t y = (uintptr_t)inlay_at(base, s, 0);
    const uintptr_t x = (uintptr_t)inlay_at(base, s, 1);
    if (inlay_is_dealt(s->ref) || inlay_is_dealt(s->ref + 1))
        return 1;
    return y + inlay_extent(s, 0, y_pixels) <= x ||
           x + inlay_extent(s, 1, x_pixels) <= y;
}

/* Row r of operand i, or NULL where that is left out. */
static inline const float *inlay_row_if(void *const *base, const inlay_step *s,
                                        int i, int32_t r)
{
    if (s->ref[i].base < 0)
        return NULL;
    return (const float *)inlay_row(base, s, i, r);
}

/* One or several joined rows: `pixels` of them, of which [left, right) have their whole window
 * inside. */
typedef struct inlay_conv_row {
    float *y;
    const float *q;
    int32_t pixels, left, right;
    ptrdiff_t tap; /* first weight of the first row of the window that exists */
    int32_t pix;   /* floats from pixel to pixel of x */
} inlay_conv_row;

/* The call for tiles that begin at pixel c of a row. */
static inline inlay_tiles inlay_conv_call(const inlay_conv_params *p,
                                          const inlay_tile *t,
                                          const inlay_conv_row *row, int32_t c)
{
    inlay_tiles call;
    call.pixels = 1;
    call.count = 1;
    call.at = (ptrdiff_t)(c * p->sw - p->pw) * row->pix;
    call.tap = row->tap;
    call.y = row->y + c * t->ys;
    call.q = row->q ? row->q + c * t->qs : NULL;
    return call;
}

/* Pixel c of a row: its window is clipped. */
INLAY_APART void inlay_conv_edge(const inlay_conv_params *p, inlay_tile *t,
                                 const inlay_conv_row *row, int32_t c)
{
    const int32_t run = t->run;
    const int32_t pieces = t->pieces;
    inlay_tiles call = inlay_conv_call(p, t, row, c);
    int32_t from;
    const int32_t taps =
        inlay_clip(c * p->sw - p->pw, p->dw, p->kw, p->iw, &from);
    if (pieces == 1)
        t->run = taps * p->ic;
    else
        t->pieces = taps;
    call.at += (ptrdiff_t)(from * p->dw) * row->pix;
    call.tap += from * p->ic;
    t->make(t, &call);
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

/* Piece i of a row; backward is the mirror image. */
static inline void inlay_conv_piece(const inlay_conv_params *p, inlay_tile *t,
                                    const inlay_conv_row *row, int32_t i)
{
    const int32_t inside = row->right - row->left;
    const int32_t tiles = inlay_conv_tiles(row);
    const int32_t before = t->backward ? row->pixels - row->right : row->left;
    int32_t tile = i - before;
    if (tile >= 0 && tile < tiles) {
        int32_t c, pixels;
        inlay_tiles call;
        if (t->backward)
            tile = tiles - 1 - tile;
        c = row->left + inlay_tile_cut(inside, tiles, tile, &pixels);
        inlay_tile_line(t, inside);
        call = inlay_conv_call(p, t, row, c);
        call.pixels = pixels;
        t->make(t, &call);
    } else {
        const int32_t done = tile < 0 ? i : i - tiles + inside;
        inlay_conv_edge(p, t, row, t->backward ? row->pixels - 1 - done : done);
    }
}

/* The same, all pieces in turn. */
INLAY_APART void inlay_conv_pixels(const inlay_conv_params *p, inlay_tile *t,
                                   const inlay_conv_row *row)
{
    const int32_t inside = row->right - row->left;
    const inlay_tiles call = inlay_conv_call(p, t, row, row->left);
    int32_t i;
    if (t->backward) {
        for (i = row->pixels - 1; i >= row->right; i--)
            inlay_conv_edge(p, t, row, i);
        inlay_tile_pixels(t, &call, inside);
        for (i = row->left - 1; i >= 0; i--)
            inlay_conv_edge(p, t, row, i);
    } else {
        for (i = 0; i < row->left; i++)
            inlay_conv_edge(p, t, row, i);
        inlay_tile_pixels(t, &call, inside);
        for (i = row->right; i < row->pixels; i++)
            inlay_conv_edge(p, t, row, i);
    }
}

/* The tile's constants of a step: weights, channels and what follows the sums. */
static inline void inlay_conv_channels(void *const *base, const inlay_step *s,
                                       inlay_tile *t)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    t->piece_taps = p->ic;
    t->row_taps = (ptrdiff_t)p->kw * p->ic;
    t->plane_taps = t->row_taps * p->kh;
    t->taps = t->plane_taps * p->kd;
    t->weights = (const float *)inlay_at(base, s, 2);
    t->skip = 0;
    t->narrow = NULL;
    t->apart = 0;
    inlay_tile_line(t, 0);
    t->bias = (const float *)inlay_at(base, s, 3);
    t->channels = p->oc;
    t->begin = 0;
    t->end = p->oc;
    t->width = p->width;
    t->clamp = p->clamp;
    t->lo = p->a;
    t->hi = p->b;
}

/* All of the tile's constants of a step. */
static inline void inlay_conv_tile(void *const *base, const inlay_step *s,
                                   inlay_tile *t)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    const inlay_ref *x = s->ref + 1;
    const int adjacent = p->dw == 1 && x->pix == p->ic;
    t->x = (const float *)inlay_at(base, s, 1);
    inlay_tile_ring(t, x);
    t->d_rows = p->dd * p->ih;
    t->h_rows = p->dh;
    t->pieces = adjacent ? 1 : p->kw;
    t->run = adjacent ? p->kw * p->ic : p->ic;
    t->piece = (ptrdiff_t)p->dw * x->pix;
    t->xs = (ptrdiff_t)p->sw * x->pix;
    t->ys = s->ref[0].pix;
    t->qs = s->ref[4].pix;
    t->backward = s->backward;
    inlay_conv_channels(base, s, t);
}

/* The 1x1 convolution of what lies in scratch, of a kernel that does two steps. Operands: y, three
 * of the first step, then weights, bias and q. What follows the sums is the caller's. */
static inline void inlay_conv_scratch(void *const *base, const inlay_step *s,
                                      const float *scratch, inlay_tile *t,
                                      int32_t ic, int32_t oc, int32_t width)
{
    inlay_tile_product(t, inlay_rows_run, scratch, ic, ic, width);
    t->ys = s->ref[0].pix;
    t->qs = s->ref[6].pix;
    t->weights = (const float *)inlay_at(base, s, 4);
    t->bias = (const float *)inlay_at(base, s, 5);
    t->channels = oc;
    t->end = oc;
    t->backward = s->backward;
}

/* Clips the window of output row r in planes and rows; returns its first tap. */
INLAY_APART ptrdiff_t inlay_conv_window(const inlay_conv_params *p,
                                        inlay_tile *t, int32_t r)
{
    /* Below p->oh: the first plane of the first image, where nothing is to be divided. */
    const int32_t plane = r < p->oh ? 0 : r / p->oh;
    const int32_t image = plane < p->od ? 0 : plane / p->od;
    const int32_t d = (plane - image * p->od) * p->sd - p->pd;
    const int32_t h = (r - plane * p->oh) * p->sh - p->ph;
    int32_t from_d, from_h;
    t->nkd = inlay_clip(d, p->dd, p->kd, p->id, &from_d);
    t->nkh = inlay_clip(h, p->dh, p->kh, p->ih, &from_h);
    if (!t->nkh)
        t->nkd = 0;
    t->first = 0;
    if (t->nkd) {
        const int32_t first_plane = image * p->id + d + from_d * p->dd;
        t->first = first_plane * p->ih + h + from_h * p->dh;
    }
    t->slot = t->first % t->cap;
    return from_d * t->plane_taps + from_h * t->row_taps;
}

/* Has operand i rows that lie one after the other? */
static inline int inlay_conv_dense(const inlay_conv_params *p,
                                   const inlay_step *s, int i)
{
    const inlay_ref *ring = s->ref + i;
    const size_t pixels = (size_t)p->ow * sizeof(float);
    return ring->row == pixels * (size_t)ring->pix;
}

/* Is the convolution a matrix product of the pixels of whole rows? */
static inline int inlay_conv_joins(const inlay_conv_params *p,
                                   const inlay_step *s)
{
    const int one_tap = p->kd * p->kh * p->kw == 1;
    const int every_pixel = p->sd * p->sh * p->sw == 1;
    const int same = p->iw == p->ow && p->ih == p->oh && p->id == p->od;
    return one_tap && every_pixel && p->pd + p->ph + p->pw == 0 && same &&
           inlay_conv_dense(p, s, 0) && inlay_conv_dense(p, s, 1) &&
           (s->ref[4].base < 0 || inlay_conv_dense(p, s, 4));
}

/* Of n rows from r on, in the walking direction, those that lie one after the other. */
static inline int32_t inlay_conv_joined(const inlay_step *s, int32_t r,
                                        int32_t n)
{
    n = inlay_adjacent(s, 0, r, n);
    n = inlay_adjacent(s, 1, r, n);
    return inlay_adjacent(s, 4, r, n);
}

/* Goes on by n groups. */
static inline void inlay_conv_next_group(const inlay_conv_params *p,
                                         inlay_tile *t, inlay_conv_row *row,
                                         int32_t n)
{
    const int32_t padded = (p->oc + 3) / 4 * 4;
    t->x += n * p->ic;
    t->skip += n * padded;
    t->bias += n * padded;
    row->y += n * p->oc;
    if (row->q)
        row->q += n * p->oc;
}

/* A row of all groups, one group after the other; or, where y may lie over x, one piece after the
 * other. */
static inline void inlay_conv_groups(const inlay_conv_params *p, inlay_tile *t,
                                     inlay_conv_row *row, int apart)
{
    const int32_t pieces = inlay_conv_pieces(row);
    int32_t group, i;
    if (apart) {
        for (group = 0; group < p->groups; group++) {
            inlay_conv_pixels(p, t, row);
            inlay_conv_next_group(p, t, row, 1);
        }
        inlay_conv_next_group(p, t, row, -p->groups);
        return;
    }
    for (i = 0; i < pieces; i++) {
        for (group = 0; group < p->groups; group++) {
            inlay_conv_piece(p, t, row, i);
            inlay_conv_next_group(p, t, row, 1);
        }
        inlay_conv_next_group(p, t, row, -p->groups);
    }
}

/* Can no byte of rows [r0, r1) of y be one of the rows of x that they are made of? Where rows have
 * slots, only one that is made by itself may lie over those. */
INLAY_APART int inlay_conv_apart(void *const *base, const inlay_step *s,
                                 inlay_tile *t, int32_t r0, int32_t r1)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    const int32_t y_bytes = p->ow * s->ref[0].pix * 4;
    const int32_t x_bytes = p->iw * s->ref[1].pix * 4;
    uintptr_t y;
    int32_t i;
    if (r1 - r0 > 1 || !inlay_is_dealt(s->ref) || !inlay_is_dealt(s->ref + 1))
        return inlay_disjoint(base, s, p->ow, p->iw);
    inlay_conv_window(p, t, r0);
    y = (uintptr_t)inlay_row(base, s, 0, r0);
    for (i = 0; i < t->nkd * t->nkh; i++) {
        const int32_t r =
            t->first + i / t->nkh * t->d_rows + i % t->nkh * t->h_rows;
        const uintptr_t x = (uintptr_t)inlay_row(base, s, 1, r);
        if (x < y + (uintptr_t)y_bytes && y < x + (uintptr_t)x_bytes)
            return 0;
    }
    return 1;
}

/* Are there more weights than stay in the cache while many pixels are made? */
static inline int inlay_conv_large(const inlay_conv_params *p, int64_t pixels)
{
    const int64_t taps = (int64_t)p->kd * p->kh * p->kw * p->ic;
    return p->groups == 1 && pixels > INLAY_TILE_P &&
           taps * p->oc > (int64_t)(INLAY_WEIGHT_BYTES / sizeof(float));
}

/* Channels whose weights stay in the cache. */
static inline int32_t inlay_conv_strip(const inlay_tile *t)
{
    const ptrdiff_t floats = (ptrdiff_t)(INLAY_WEIGHT_BYTES / sizeof(float));
    const ptrdiff_t fit = floats / t->taps / 64 * 64;
    return fit > 64 ? (int32_t)fit : 64;
}

/* Goes on to the next strip of channels; 0: that was the last. */
static inline int inlay_conv_next_strip(inlay_tile *t, int32_t strip)
{
    if (t->end >= t->channels)
        return 0;
    t->begin = t->end;
    t->end = t->channels - t->begin > strip ? t->begin + strip : t->channels;
    return 1;
}

/* How the rows of a call are made. */
typedef struct inlay_conv_form {
    int apart;           /* y does not overlap x */
    int joins;           /* several rows are one */
    int32_t left, right; /* pixels of a row whose whole window lies inside */
} inlay_conv_form;

/* Row r of y, or so many from it on; what its windows are is the caller's. */
static inline inlay_conv_row inlay_conv_row_at(void *const *base,
                                               const inlay_step *s, int32_t r,
                                               int32_t rows)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    inlay_conv_row row;
    row.y = (float *)inlay_row(base, s, 0, r);
    row.q = inlay_row_if(base, s, 4, r);
    row.pixels = rows * p->ow;
    row.left = 0;
    row.right = row.pixels;
    row.tap = 0;
    row.pix = s->ref[1].pix;
    return row;
}

/* Channels [t->begin, t->end) of rows [r0, r1). */
static inline void inlay_conv_rows(void *const *base, const inlay_step *s,
                                   inlay_tile *t, const inlay_conv_form *form,
                                   int32_t r0, int32_t r1)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    int32_t done, rows;
    for (done = 0; done < r1 - r0; done += rows) {
        int32_t r = inlay_next_row(s, r0, r1, done);
        inlay_conv_row row;
        rows = 1;
        if (form->joins)
            rows = inlay_conv_joined(s, r, r1 - r0 - done);
        if (s->backward)
            r -= rows - 1;
        row = inlay_conv_row_at(base, s, r, rows);
        row.tap = inlay_conv_window(p, t, r);
        row.left = form->left;
        row.right = form->joins ? row.pixels : form->right;
        if (p->groups == 1)
            inlay_conv_pixels(p, t, &row);
        else
            inlay_conv_groups(p, t, &row, form->apart);
    }
}

/* Rows [r0, r1) by a tile that inlay_conv_tile() made. */
INLAY_APART int inlay_conv_by(void *const *base, const inlay_step *s,
                              inlay_tile *t, int32_t r0, int32_t r1)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    const int many = r1 - r0 > 1;
    const int large = inlay_conv_large(p, (r1 - r0) * (int64_t)p->ow);
    const int32_t extent = (p->kw - 1) * p->dw + 1;
    inlay_conv_form form;
    int32_t strip = p->oc;
    form.apart = (many || large || p->groups > 1) &&
                 inlay_conv_apart(base, s, t, r0, r1);
    if (INLAY_VL > 1 && !t->narrow)
        t->apart = form.apart;
    form.joins = many && form.apart && inlay_conv_joins(p, s);
    form.left = inlay_inside(p->sw, p->pw, extent, p->iw, p->ow, &form.right);
    if (form.apart && large)
        strip = inlay_conv_strip(t);
    t->end = 0;
    while (inlay_conv_next_strip(t, strip))
        inlay_conv_rows(base, s, t, &form, r0, r1);
    return 0;
}

static inline int inlay_conv_f32(void *const *base, const inlay_step *s,
                                 int32_t r0, int32_t r1)
{
    inlay_tile t;
    inlay_conv_tile(base, s, &t);
    t.make = inlay_rows_run;
    return inlay_conv_by(base, s, &t, r0, r1);
}

/* A second pass over rows of y: an activation that is too long for the inner loop. */
typedef struct inlay_act_pass {
    int32_t pixels, channels;
    int32_t act; /* INLAY_ACT_... */
    float a, b;
} inlay_act_pass;

/* The second pass over row r of y. */
static inline void inlay_act_row(void *const *base, const inlay_step *s,
                                 int32_t r, const inlay_act_pass *pass)
{
    const int32_t pix = s->ref[0].pix;
    const int32_t adjacent = pix == pass->channels;
    const int32_t n = adjacent ? pix * pass->pixels : pass->channels;
    const int32_t parts = adjacent ? 1 : pass->pixels;
    float *y = (float *)inlay_row(base, s, 0, r);
    int32_t i;
    for (i = 0; i < parts; i++)
        inlay_act_f32(y + (ptrdiff_t)i * pix, n, pass->act, pass->a, pass->b);
}

/* Rows that are made before the second pass goes over them, while they are in the cache. */
static inline int32_t inlay_act_stripe(const inlay_act_pass *pass)
{
    const int64_t row = (int64_t)pass->pixels * pass->channels;
    const int64_t n = 32768 / (row + 1);
    return n > 1 ? (int32_t)n : 1;
}

/* The rows by `kernel`, and then the second pass. */
static inline int inlay_then_act(inlay_kernel *kernel, void *const *base,
                                 const inlay_step *s, int32_t r0, int32_t r1,
                                 const inlay_act_pass *pass)
{
    const int32_t stripe = inlay_act_stripe(pass);
    int32_t done, i, n;
    for (done = 0; done < r1 - r0; done += n) {
        const int32_t left = r1 - r0 - done;
        const int32_t first = inlay_next_row(s, r0, r1, done);
        int32_t from;
        n = inlay_adjacent(s, 0, first, left < stripe ? left : stripe);
        from = s->backward ? first - n + 1 : first;
        kernel(base, s, from, from + n);
        for (i = 0; i < n; i++)
            inlay_act_row(base, s, from + i, pass);
    }
    return 0;
}

static inline inlay_act_pass inlay_act_pass_of(int32_t pixels, int32_t channels,
                                               int32_t act, float a, float b)
{
    inlay_act_pass pass;
    pass.pixels = pixels;
    pass.channels = channels;
    pass.act = act;
    pass.a = a;
    pass.b = b;
    return pass;
}

/* The same with the parameters of a convolution of `channels` channels. */
static inline int inlay_conv_then_act(inlay_kernel *kernel, void *const *base,
                                      const inlay_step *s, int32_t r0,
                                      int32_t r1, int32_t channels)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    const inlay_act_pass pass =
        inlay_act_pass_of(p->ow, channels, p->act, p->a, p->b);
    return inlay_then_act(kernel, base, s, r0, r1, &pass);
}

static inline int inlay_conv_act_f32(void *const *base, const inlay_step *s,
                                     int32_t r0, int32_t r1)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    const int32_t channels = p->groups * p->oc;
    return inlay_conv_then_act(inlay_conv_f32, base, s, r0, r1, channels);
}

#endif
