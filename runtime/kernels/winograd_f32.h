/* SPDX-License-Identifier: 0BSD
 * Convolution of 3x3 taps and stride 1 over channels-last images by Winograd's algorithm, float32.
 *
 *   y[n][r][c][o] = clamp(b[o] + sum over kh, kw, i of
 *       x[n][r - ph + kh][c - pw + kw][i] * w[o][kh][kw][i] + q[n][r][c][o])
 *
 * A tile of M x M pixels of y (M is 4 or 2) is made of a patch of S x S pixels of x (S = M + 2):
 *
 *   Y = A' [(G w G') * (B' X B)] A
 *
 * where * is the product of elements at the same place. Summed over the channels of x it is S * S
 * matrix products, and S * S / (M * M) multiplications for a pixel and a pair of channels: 2.25 or
 * 4 in place of 9. G w G' is made by the compiler (ops/winograd.c).
 *
 * Operands: y, x, w [S * S][OC blocks][IC][width] and b [OC] as packed for tile_f32.h, each of the
 * S * S filled up to a multiple of four channels, q (may be left out; may be y's own memory),
 * scratch. There are at least 16 channels of x. A unit is a row of y; all rows of x are read
 * whatever the units are, and y must not overlap x.
 *
 * Sums are rounded in another order than by conv_f32.h, and terms of B' and A' cancel: of random
 * numbers results are off by at most 1e-5 (M = 4) or 1.5e-6 (M = 2) of the largest one, where
 * conv_f32.h is by 5e-7. Where x is infinite, more of y is NaN. */
#ifndef INLAY_WINOGRAD_F32_H
#define INLAY_WINOGRAD_F32_H

#include "inlay.h"
#include "kernels/conv_f32.h"
#include "kernels/math_vec.h"
#include "kernels/tile_f32.h"
#include "kernels/vec.h"

/* Most pixels along a side of a patch; channels of y that are made at a time. */
enum { INLAY_WINOGRAD_SIDE = 6, INLAY_WINOGRAD_CHANNELS = 64 };

typedef struct inlay_winograd_params {
    int32_t ih; /* rows of x in an image */
    int32_t iw; /* pixels of x in a row */
    int32_t oh; /* the same of y */
    int32_t ow;
    int32_t ph; /* padding before the first element */
    int32_t pw;
    int32_t ic;    /* channels of x */
    int32_t oc;    /* channels of y */
    int32_t width; /* channels of a block of packed weights: 16 or 4 */
    int32_t tile;  /* pixels of y along a side of a tile: 4 or 2 */
    int32_t block; /* tiles that pass through scratch at a time */
    int32_t clamp; /* bit 0: at least a; bit 1: at most b */
    int32_t act;   /* INLAY_ACT_...: done by the _act kernel */
    float a;       /* the two numbers of clamp or act */
    float b;
} inlay_winograd_params;

typedef INLAY_V(f) inlay_winograd_v;

/* Scratch: zeros, which stand for pixels outside x and for a bias; patches [S * S][block][IC];
 * products [S * S][block][INLAY_WINOGRAD_CHANNELS at most, filled up to 16]. */
static inline int32_t inlay_winograd_zeros(const inlay_winograd_params *p)
{
    return p->ic > INLAY_WINOGRAD_CHANNELS ? p->ic : INLAY_WINOGRAD_CHANNELS;
}

/* Floats that products of n channels take: whole vectors of any width. */
static inline int32_t inlay_winograd_room(int32_t n)
{
    return (n + 15) / 16 * 16;
}

/* n channels and those that fill up the last block of weights. */
static inline int32_t inlay_winograd_filled(int32_t n)
{
    return (n + 3) / 4 * 4;
}

/* Some tiles of an image. */
typedef struct inlay_winograd_block {
    const inlay_winograd_params *p;
    int32_t image;
    int32_t first;     /* tile */
    int32_t count;     /* tiles */
    int32_t wide;      /* tiles side by side */
    int32_t side;      /* pixels along a side of a patch */
    int32_t begin;     /* row of y of the image: those before it, */
    int32_t end;       /* and from this one on, are not made */
    const float *zero; /* zeros */
    float *patch, *product;
} inlay_winograd_block;

/* Along one axis of a patch: B' of `side` values. */
INLAY_INLINE void inlay_winograd_in(inlay_winograd_v *to,
                                    const inlay_winograd_v *x, const int side)
{
    if (side == 4) {
        to[0] = x[0] - x[2];
        to[1] = x[1] + x[2];
        to[2] = x[2] - x[1];
        to[3] = x[1] - x[3];
    } else {
        const inlay_winograd_v even = x[4] - 4.0f * x[2];
        const inlay_winograd_v odd = x[3] - 4.0f * x[1];
        const inlay_winograd_v far = x[4] - x[2];
        const inlay_winograd_v twice = 2.0f * (x[3] - x[1]);
        to[0] = 4.0f * x[0] - 5.0f * x[2] + x[4];
        to[1] = even + odd;
        to[2] = even - odd;
        to[3] = far + twice;
        to[4] = far - twice;
        to[5] = 4.0f * x[1] - 5.0f * x[3] + x[5];
    }
}

/* Along one axis of a tile: A' of `side` values, two fewer. */
INLAY_INLINE void inlay_winograd_out(inlay_winograd_v *to,
                                     const inlay_winograd_v *x, const int side)
{
    if (side == 4) {
        to[0] = x[0] + x[1] + x[2];
        to[1] = x[1] - x[2] - x[3];
    } else {
        const inlay_winograd_v near = x[1] + x[2];
        const inlay_winograd_v across = x[1] - x[2];
        const inlay_winograd_v far = x[3] + x[4];
        const inlay_winograd_v over = x[3] - x[4];
        to[0] = x[0] + near + far;
        to[1] = across + 2.0f * over;
        to[2] = near + 4.0f * far;
        to[3] = across + 8.0f * over + x[5];
    }
}

/* The pixels of a patch, row by row; zeros outside x. */
static inline void inlay_winograd_pixels(const inlay_winograd_block *block,
                                         void *const *base, const inlay_step *s,
                                         int32_t tile, const float **pixel)
{
    const inlay_winograd_params *p = block->p;
    const int32_t top = tile / block->wide * p->tile - p->ph;
    const int32_t left = tile % block->wide * p->tile - p->pw;
    const ptrdiff_t pix = s->ref[1].pix;
    int32_t r, c;
    for (r = top; r < top + block->side; r++) {
        const float *row = NULL;
        if (r >= 0 && r < p->ih)
            row =
                (const float *)inlay_row(base, s, 1, block->image * p->ih + r);
        for (c = left; c < left + block->side; c++)
            *pixel++ = row && c >= 0 && c < p->iw ? row + c * pix : block->zero;
    }
}

/* A vector of channels of a patch: B' X B, stored `apart` floats from each other. */
INLAY_INLINE void inlay_winograd_patch(const float *const *pixel,
                                       int32_t channel, float *to, size_t apart,
                                       const int side)
{
    inlay_winograd_v half[INLAY_WINOGRAD_SIDE][INLAY_WINOGRAD_SIDE];
    inlay_winograd_v line[INLAY_WINOGRAD_SIDE];
    inlay_winograd_v made[INLAY_WINOGRAD_SIDE];
    int i, k;
    INLAY_UNROLL
    for (k = 0; k < side; k++) {
        INLAY_UNROLL
        for (i = 0; i < side; i++)
            line[i] = INLAY_V(load)(pixel[i * side + k] + channel);
        inlay_winograd_in(made, line, side);
        INLAY_UNROLL
        for (i = 0; i < side; i++)
            half[i][k] = made[i];
    }
    INLAY_UNROLL
    for (i = 0; i < side; i++) {
        inlay_winograd_in(made, half[i], side);
        INLAY_UNROLL
        for (k = 0; k < side; k++, to += apart)
            INLAY_V(store)(to, made[k]);
    }
}

/* The patches of a block. The last vector of channels may overlap the one before it. */
INLAY_APART void inlay_winograd_patches(const inlay_winograd_block *block,
                                        void *const *base, const inlay_step *s)
{
    const inlay_winograd_params *p = block->p;
    const size_t apart = (size_t)block->count * (size_t)p->ic;
    const float *pixel[INLAY_WINOGRAD_SIDE * INLAY_WINOGRAD_SIDE];
    int32_t i, k;
    for (i = 0; i < block->count; i++) {
        float *to = block->patch + (size_t)i * (size_t)p->ic;
        inlay_winograd_pixels(block, base, s, block->first + i, pixel);
        for (k = 0; k < p->ic; k += INLAY_VL) {
            const int32_t last = p->ic - INLAY_VL;
            const int32_t channel = k < last ? k : last;
            if (p->tile == 4)
                inlay_winograd_patch(pixel, channel, to + channel, apart, 6);
            else
                inlay_winograd_patch(pixel, channel, to + channel, apart, 4);
        }
    }
}

/* The tile of the matrix products of a block, of n channels. */
static inline inlay_tile
inlay_winograd_product(const inlay_winograd_block *block, int32_t n)
{
    const inlay_winograd_params *p = block->p;
    inlay_tile t;
    inlay_tile_product(&t, inlay_rows_run, block->patch, p->ic, p->ic,
                       p->width);
    t.ys = inlay_winograd_room(n);
    t.bias = block->zero;
    t.channels = inlay_winograd_filled(n);
    t.end = t.channels;
    t.apart = INLAY_VL > 1; /* a scalar tile is a call */
    return t;
}

/* Channels [from, from + n) of the matrix products of a block. */
static inline void inlay_winograd_products(const inlay_winograd_block *block,
                                           const float *w, int32_t from,
                                           int32_t n)
{
    const size_t ic = (size_t)block->p->ic;
    const size_t filled = (size_t)inlay_winograd_filled(block->p->oc);
    const size_t rows = (size_t)block->count;
    const int32_t all = block->side * block->side;
    inlay_tile t = inlay_winograd_product(block, n);
    inlay_tiles call;
    int32_t i;
    memset(&call, 0, sizeof call);
    call.y = block->product;
    for (i = 0; i < all; i++) {
        t.x = block->patch + (size_t)i * rows * ic;
        t.weights = w + ((size_t)i * filled + (size_t)from) * ic;
        inlay_tile_pixels(&t, &call, block->count);
        call.y += rows * (size_t)t.ys;
    }
}

/* Where the channels of a tile go. */
typedef struct inlay_winograd_tile {
    int32_t row;    /* of y, the first of the tile */
    int32_t column; /* its first pixel */
    int32_t skip;   /* rows of it that are not made */
    int32_t rows;   /* the end of those that are */
    int32_t pixels; /* of a row of it */
} inlay_winograd_tile;

/* What follows the sums of a vector of channels. */
typedef struct inlay_winograd_end {
    inlay_winograd_v bias, least, most;
    int32_t channel;  /* the first of them */
    int32_t channels; /* from it on; those behind a vector are others' */
} inlay_winograd_end;

/* A vector of n channels at most, of those that exist. */
INLAY_INLINE inlay_winograd_v inlay_winograd_take(const float *from, int32_t n)
{
#if INLAY_VL > 1
    return inlay_take_v(from, n);
#else
    (void)n;
    return *from;
#endif
}

INLAY_INLINE void inlay_winograd_put(float *to, inlay_winograd_v v, int32_t n)
{
#if INLAY_VL > 1
    inlay_put_v(to, v, n);
#else
    (void)n;
    *to = v;
#endif
}

INLAY_INLINE inlay_winograd_end inlay_winograd_end_of(
    const inlay_winograd_params *p, const float *bias, int32_t channel)
{
    inlay_winograd_end end;
    end.channels = p->oc - channel;
    end.bias = inlay_winograd_take(bias + channel, end.channels);
    end.least = INLAY_V(splat)(p->clamp & 1 ? p->a : -INFINITY);
    end.most = INLAY_V(splat)(p->clamp & 2 ? p->b : INFINITY);
    end.channel = channel;
    return end;
}

/* Some pixels of a row of y, from their sums. */
INLAY_INLINE void
inlay_winograd_row(const inlay_step *s, const inlay_winograd_end *end, float *y,
                   const float *q, const inlay_winograd_v *sum, int32_t pixels)
{
    int32_t c;
    for (c = 0; c < pixels; c++, y += s->ref[0].pix) {
        inlay_winograd_v v = sum[c] + end->bias;
        if (q) {
            v += inlay_winograd_take(q, end->channels);
            q += s->ref[4].pix;
        }
        v = INLAY_V(max)(end->least, v);
        inlay_winograd_put(y, INLAY_V(min)(end->most, v), end->channels);
    }
}

/* A vector of channels of a tile: the sums, and what follows them. */
INLAY_INLINE void inlay_winograd_finish(void *const *base, const inlay_step *s,
                                        const inlay_winograd_tile *tile,
                                        const inlay_winograd_end *end,
                                        inlay_winograd_v (*sum)[4])
{
    const ptrdiff_t column = tile->column;
    const ptrdiff_t to_y = column * s->ref[0].pix + end->channel;
    const ptrdiff_t to_q = column * s->ref[4].pix + end->channel;
    int32_t r;
    for (r = tile->skip; r < tile->rows; r++) {
        float *y = (float *)inlay_row(base, s, 0, tile->row + r);
        const float *q = inlay_row_if(base, s, 4, tile->row + r);
        inlay_winograd_row(s, end, y + to_y, q ? q + to_q : NULL, sum[r],
                           tile->pixels);
    }
}

/* A vector of channels of a tile, whose products lie `apart` floats from each other. */
INLAY_INLINE void inlay_winograd_sums(const float *product, size_t apart,
                                      inlay_winograd_v (*sum)[4],
                                      const int side)
{
    inlay_winograd_v half[4][INLAY_WINOGRAD_SIDE];
    inlay_winograd_v line[INLAY_WINOGRAD_SIDE];
    inlay_winograd_v made[4];
    int i, k;
    INLAY_UNROLL
    for (k = 0; k < side; k++) {
        INLAY_UNROLL
        for (i = 0; i < side; i++) {
            const size_t at = (size_t)(i * side + k);
            line[i] = INLAY_V(load)(product + at * apart);
        }
        inlay_winograd_out(made, line, side);
        INLAY_UNROLL
        for (i = 0; i < side - 2; i++)
            half[i][k] = made[i];
    }
    INLAY_UNROLL
    for (i = 0; i < side - 2; i++)
        inlay_winograd_out(sum[i], half[i], side);
}

static inline int32_t inlay_winograd_least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static inline inlay_winograd_tile
inlay_winograd_place(const inlay_winograd_block *block, int32_t i)
{
    const inlay_winograd_params *p = block->p;
    const int32_t row = (block->first + i) / block->wide * p->tile;
    inlay_winograd_tile tile;
    tile.row = block->image * p->oh + row;
    tile.column = (block->first + i) % block->wide * p->tile;
    tile.skip = row < block->begin ? block->begin - row : 0;
    tile.rows = inlay_winograd_least(p->tile, block->end - row);
    tile.pixels = inlay_winograd_least(p->tile, p->ow - tile.column);
    return tile;
}

/* Channels [from, from + n) of the tiles of a block. */
INLAY_APART void inlay_winograd_store(const inlay_winograd_block *block,
                                      void *const *base, const inlay_step *s,
                                      int32_t from, int32_t n)
{
    const inlay_winograd_params *p = block->p;
    const size_t room = (size_t)inlay_winograd_room(n);
    const size_t apart = (size_t)block->count * room;
    const float *bias = (const float *)inlay_at(base, s, 3);
    int32_t i, channel;
    for (i = 0; i < block->count; i++) {
        const inlay_winograd_tile tile = inlay_winograd_place(block, i);
        const float *product = block->product + (size_t)i * room;
        for (channel = 0; channel < n; channel += INLAY_VL) {
            inlay_winograd_v sum[4][4];
            inlay_winograd_end end;
            if (p->tile == 4)
                inlay_winograd_sums(product + channel, apart, sum, 6);
            else
                inlay_winograd_sums(product + channel, apart, sum, 4);
            end = inlay_winograd_end_of(p, bias, from + channel);
            inlay_winograd_finish(base, s, &tile, &end, sum);
        }
    }
}

static inline void inlay_winograd_make(const inlay_winograd_block *block,
                                       void *const *base, const inlay_step *s)
{
    const inlay_winograd_params *p = block->p;
    const float *w = (const float *)inlay_at(base, s, 2);
    int32_t from, n;
    inlay_winograd_patches(block, base, s);
    for (from = 0; from < p->oc; from += n) {
        n = inlay_winograd_least(p->oc - from, INLAY_WINOGRAD_CHANNELS);
        inlay_winograd_products(block, w, from, n);
        inlay_winograd_store(block, base, s, from, n);
    }
}

/* Rows [block->begin, block->end) of an image: the tiles that have some of them. */
static inline void inlay_winograd_image(inlay_winograd_block *block,
                                        void *const *base, const inlay_step *s)
{
    const inlay_winograd_params *p = block->p;
    const int32_t first = block->begin / p->tile * block->wide;
    const int32_t end = (block->end + p->tile - 1) / p->tile * block->wide;
    int32_t tile;
    for (tile = first; tile < end; tile += block->count) {
        block->first = tile;
        block->count = inlay_winograd_least(end - tile, p->block);
        inlay_winograd_make(block, base, s);
    }
}

/* What all blocks have in common. */
static inline inlay_winograd_block
inlay_winograd_block_of(const inlay_winograd_params *p, float *scratch)
{
    const int32_t zeros = inlay_winograd_zeros(p);
    const int32_t side = p->tile + 2;
    const size_t patches = (size_t)(side * side) * (size_t)p->block;
    inlay_winograd_block block;
    memset(&block, 0, sizeof block);
    memset(scratch, 0, (size_t)zeros * sizeof *scratch);
    block.p = p;
    block.side = side;
    block.wide = (p->ow + p->tile - 1) / p->tile;
    block.zero = scratch;
    block.patch = scratch + zeros;
    block.product = block.patch + patches * (size_t)p->ic;
    return block;
}

/* Rows [r0, r1), image by image. */
static inline int inlay_winograd_f32(void *const *base, const inlay_step *s,
                                     int32_t r0, int32_t r1)
{
    const inlay_winograd_params *p = (const inlay_winograd_params *)s->params;
    inlay_winograd_block block =
        inlay_winograd_block_of(p, (float *)inlay_at(base, s, 5));
    int32_t r, n;
    for (r = r0; r < r1; r += n) {
        block.image = r / p->oh;
        block.begin = r % p->oh;
        n = inlay_winograd_least(p->oh - block.begin, r1 - r);
        block.end = block.begin + n;
        inlay_winograd_image(&block, base, s);
    }
    return 0;
}

/* The same with an activation that is too long for the store. */
static inline int inlay_winograd_act_f32(void *const *base, const inlay_step *s,
                                         int32_t r0, int32_t r1)
{
    const inlay_winograd_params *p = (const inlay_winograd_params *)s->params;
    const inlay_act_pass pass =
        inlay_act_pass_of(p->ow, p->oc, p->act, p->a, p->b);
    int32_t r;
    inlay_winograd_f32(base, s, r0, r1);
    for (r = r0; r < r1; r++)
        inlay_act_row(base, s, r, &pass);
    return 0;
}

#endif
