/* SPDX-License-Identifier: 0BSD
 * Template of tile_f32.h for vectors of INLAY_L floats: tiles of up to 7 pixels by up to 4 vectors,
 * or two tiles of few vectors. `shape` is constant wherever these functions stand: the loops over
 * sum[pixel][vector] are written out, and the sums are registers. */

/* Where instructions have names there are no others. */
#if INLAY_L == 1 || !INLAY_TILE_ARM

/* The weights of one tap. */
INLAY_INLINE void INLAY_W(weights)(INLAY_FLOATS *weight, const float *from,
                                   const inlay_shape shape)
{
    int v;
    INLAY_UNROLL
    for (v = 0; v < shape.vectors; v++) {
        const int first = v * INLAY_L;
        weight[v] = INLAY_W(load)(from + first / 16 * shape.block + first % 16);
    }
}

/* Where the second tile of a pair begins, so that the same offsets do for both: registers hold
 * seven, not fourteen. */
INLAY_INLINE const float *INLAY_W(second)(const float *x,
                                          const ptrdiff_t *offset,
                                          const inlay_shape shape)
{
    return inlay_is_pair(shape) ? x + offset[shape.pixels / 2] : x;
}

/* Float k of pixel p. */
INLAY_INLINE float INLAY_W(value)(const float *x, const float *second,
                                  const ptrdiff_t *offset, int32_t k,
                                  const int p, const inlay_shape shape)
{
    if (inlay_is_pair(shape) && p >= shape.pixels / 2)
        return second[offset[p - shape.pixels / 2] + k];
    return x[offset[p] + k];
}

#if INLAY_L == 16 && defined INLAY_FMA_MEMORY
/* Vectors of the weights in registers: a tile of 7 pixels by 4 vectors needs one register more than
 * there are. clang loads values ahead, and needs two. */
INLAY_INLINE int inlay_held_weights(const inlay_shape shape)
{
#ifdef __clang__
    const int few = 2;
#else
    const int few = 1;
#endif
    const int sums = shape.pixels * shape.vectors;
    return sums + shape.vectors < 32 ? shape.vectors : shape.vectors - few;
}

/* Adds the products of `taps` adjacent floats of each pixel. Vectors of the weights that are not
 * held in registers are read from memory for each pixel. */
INLAY_INLINE void INLAY_W(products_beside)(INLAY_FLOATS (*sum)[4],
                                           const float *x,
                                           const ptrdiff_t *offset,
                                           const float *weights, int32_t taps,
                                           const inlay_shape shape)
{
    inlay_shape held = shape;
    int32_t k;
    int p, v;
    held.vectors = inlay_held_weights(shape);
    for (k = 0; k < taps; k++, weights += shape.width) {
        INLAY_FLOATS weight[4];
        INLAY_W(weights)(weight, weights, held);
        INLAY_UNROLL
        for (p = 0; p < shape.pixels; p++) {
            const INLAY_FLOATS value = INLAY_W(splat)(x[offset[p] + k]);
            INLAY_UNROLL
            for (v = 0; v < held.vectors; v++)
                sum[p][v] = INLAY_W(fma)(weight[v], value, sum[p][v]);
            INLAY_UNROLL
            for (v = held.vectors; v < shape.vectors; v++)
                sum[p][v] = inlay_fma_memory(sum[p][v], value,
                                             weights + v * shape.block);
        }
    }
}
#endif

#if INLAY_TILE_ARM
#include "kernels/tile_arm.inc.h"
#else
/* Adds the products of `taps` adjacent floats of each pixel. */
INLAY_INLINE void INLAY_W(products)(INLAY_FLOATS (*sum)[4], const float *x,
                                    const ptrdiff_t *offset,
                                    const float *weights, int32_t taps,
                                    const inlay_shape shape)
{
    const float *second = INLAY_W(second)(x, offset, shape);
    int32_t k;
    int p, v;
#if INLAY_L == 16 && defined INLAY_FMA_MEMORY
    if (inlay_held_weights(shape) < shape.vectors) {
        INLAY_W(products_beside)(sum, x, offset, weights, taps, shape);
        return;
    }
#endif
    for (k = 0; k < taps; k++, weights += shape.width) {
        INLAY_FLOATS weight[4];
        INLAY_W(weights)(weight, weights, shape);
        INLAY_UNROLL
        for (p = 0; p < shape.pixels; p++) {
            const INLAY_FLOATS value =
                INLAY_W(splat)(INLAY_W(value)(x, second, offset, k, p, shape));
            INLAY_UNROLL
            for (v = 0; v < shape.vectors; v++)
                sum[p][v] = INLAY_W(fma)(weight[v], value, sum[p][v]);
        }
    }
}
#endif

/* The rows of a window, pixels lying in them `offset` apart. */
INLAY_INLINE void INLAY_W(window_rows)(const inlay_tile *t,
                                       INLAY_FLOATS (*sum)[4], ptrdiff_t at,
                                       const ptrdiff_t *offset,
                                       const float *weights,
                                       const inlay_shape shape)
{
    const ptrdiff_t piece_width = t->piece_taps * shape.width;
    const int32_t run = t->run;
    const int32_t pieces = t->pieces;
    int32_t slot = t->slot;
    int32_t d, h, i;
    for (d = 0; d < t->nkd; d++) {
        const float *row = weights + d * t->plane_taps * shape.width;
        if (d)
            slot = inlay_tile_plane(t, d);
        for (h = 0; h < t->nkh; h++, row += t->row_taps * shape.width) {
            const float *pixel = inlay_tile_row(t, slot) + at;
            const float *piece = row;
            slot = inlay_tile_next(t, slot);
            for (i = 0; i < pieces; i++) {
                INLAY_W(products)(sum, pixel, offset, piece, run, shape);
                pixel += t->piece;
                piece += piece_width;
            }
        }
    }
}

INLAY_INLINE void INLAY_W(rows)(const inlay_tile *t, INLAY_FLOATS (*sum)[4],
                                ptrdiff_t at, const float *weights,
                                const inlay_shape shape)
{
#if INLAY_TILE_ARM
    inlay_arm_rows(t, sum, at, weights, shape);
#else
    const ptrdiff_t xs = t->xs;
    ptrdiff_t offset[INLAY_TILE_SUMS];
    int p;
    INLAY_UNROLL
    for (p = 0; p < shape.pixels; p++)
        offset[p] = p * xs;
    INLAY_W(window_rows)(t, sum, at, offset, weights, shape);
#endif
}

/* The floats that rows h and so on of a window hold together for all pixels of a tile, each row a
 * pixel: where they begin, and how many rows. */
INLAY_INLINE int32_t INLAY_W(together)(const inlay_tile *t, int32_t slot,
                                       int32_t rows, ptrdiff_t *apart_by,
                                       const float **x, const int pixels)
{
    int32_t own[INLAY_TILE_MOST];
    int p;
    INLAY_UNROLL
    for (p = 0; p < pixels; p++) {
        own[p] = slot + p * t->pieces;
        if (own[p] >= t->cap)
            own[p] -= t->cap;
        if (rows > t->cap - own[p])
            rows = t->cap - own[p];
    }
    INLAY_UNROLL
    for (p = 0; p < pixels; p++)
        apart_by[p] = (own[p] - own[0]) * (ptrdiff_t)t->row;
    *x = t->x + own[0] * (ptrdiff_t)t->row;
    return rows;
}

/* Each row a pixel, those of the tile `pieces` rows apart: as many taps at once as lie together for
 * all of them. */
INLAY_INLINE void INLAY_W(steps)(const inlay_tile *t, INLAY_FLOATS (*sum)[4],
                                 const float *weights, const inlay_shape shape)
{
    const int32_t run = t->run;
    const int one = t->h_rows != 1 || (ptrdiff_t)t->row != run;
    int32_t slot = t->slot;
    int32_t h, rows;
    for (h = 0; h < t->nkh; h += rows) {
        const float *x;
        ptrdiff_t apart_by[INLAY_TILE_MOST];
        rows = INLAY_W(together)(t, slot, one ? 1 : t->nkh - h, apart_by, &x,
                                 shape.pixels);
        INLAY_W(products)
        (sum, x, apart_by, weights + h * t->row_taps * shape.width, rows * run,
         shape);
        slot = inlay_tile_slot(t, slot, rows);
    }
}

/* Each pixel a line of floats, as in a matrix product. */
INLAY_INLINE void INLAY_W(lines)(const inlay_tile *t, INLAY_FLOATS (*sum)[4],
                                 ptrdiff_t at, const float *weights,
                                 const inlay_shape shape)
{
    ptrdiff_t offset[INLAY_TILE_MOST];
    int p;
    INLAY_UNROLL
    for (p = 0; p < shape.pixels; p++)
        offset[p] = p * t->xs;
    INLAY_W(products)(sum, t->x + at, offset, weights, t->run, shape);
}

#include "kernels/tile_end.inc.h"

/* Part of the window: what one panel of weights holds, between sums that were begun and sums that
 * are kept for the next panel. */
INLAY_INLINE void INLAY_W(load_sums)(INLAY_FLOATS (*sum)[4], const float *from,
                                     const inlay_shape shape)
{
#if INLAY_TILE_ARM
    memcpy(sum, from, (size_t)shape.pixels * sizeof *sum);
#else
    int p, v;
    INLAY_UNROLL
    for (p = 0; p < shape.pixels; p++) {
        INLAY_UNROLL
        for (v = 0; v < shape.vectors; v++, from += INLAY_L)
            sum[p][v] = INLAY_W(load)(from);
    }
#endif
}

INLAY_INLINE void INLAY_W(store_sums)(INLAY_FLOATS (*sum)[4], float *to,
                                      const inlay_shape shape)
{
#if INLAY_TILE_ARM
    memcpy(to, sum, (size_t)shape.pixels * sizeof *sum);
#else
    int p, v;
    INLAY_UNROLL
    for (p = 0; p < shape.pixels; p++) {
        INLAY_UNROLL
        for (v = 0; v < shape.vectors; v++, to += INLAY_L)
            INLAY_W(store)(to, sum[p][v]);
    }
#endif
}

/* The taps [tap, tap + run) of the window, of which x has the floats, as far as the panel holds
 * them. */
INLAY_INLINE void INLAY_W(panel_run)(const inlay_group *g,
                                     INLAY_FLOATS (*sum)[4], const float *x,
                                     const ptrdiff_t *offset, ptrdiff_t tap,
                                     int32_t run, const inlay_shape shape)
{
    const inlay_panel *panel = g->panel;
    const ptrdiff_t from = tap < panel->from ? panel->from : tap;
    const ptrdiff_t end = tap + run < panel->end ? tap + run : panel->end;
    const float *weights = g->weights + (from - panel->from) * shape.width;
    if (from < end)
        INLAY_W(products)
    (sum, x + (from - tap), offset, weights, (int32_t)(end - from), shape);
}

/* The same as rows(). */
INLAY_INLINE void INLAY_W(panel_rows)(const inlay_tile *t, const inlay_group *g,
                                      INLAY_FLOATS (*sum)[4], ptrdiff_t at,
                                      ptrdiff_t tap, const inlay_shape shape)
{
#if INLAY_TILE_ARM
    inlay_arm_panel_rows(t, g, sum, at, tap, shape);
#else
    int32_t slot = t->slot;
    ptrdiff_t offset[INLAY_TILE_MOST];
    int32_t d, h, i;
    int p;
    INLAY_UNROLL
    for (p = 0; p < shape.pixels; p++)
        offset[p] = p * t->xs;
    for (d = 0; d < t->nkd; d++) {
        if (d)
            slot = inlay_tile_plane(t, d);
        for (h = 0; h < t->nkh; h++) {
            const float *pixel = inlay_tile_row(t, slot) + at;
            ptrdiff_t piece = tap + d * t->plane_taps + h * t->row_taps;
            slot = inlay_tile_next(t, slot);
            for (i = 0; i < t->pieces; i++) {
                INLAY_W(panel_run)(g, sum, pixel, offset, piece, t->run, shape);
                pixel += t->piece;
                piece += t->piece_taps;
            }
        }
    }
#endif
}

/* The same as steps(). */
INLAY_INLINE void INLAY_W(panel_steps)(const inlay_tile *t,
                                       const inlay_group *g,
                                       INLAY_FLOATS (*sum)[4], ptrdiff_t tap,
                                       const inlay_shape shape)
{
    const int one = t->h_rows != 1 || (ptrdiff_t)t->row != t->run;
    int32_t slot = t->slot;
    int32_t h, rows;
    for (h = 0; h < t->nkh; h += rows) {
        const float *x;
        ptrdiff_t apart_by[INLAY_TILE_MOST];
        rows = INLAY_W(together)(t, slot, one ? 1 : t->nkh - h, apart_by, &x,
                                 shape.pixels);
        INLAY_W(panel_run)
        (g, sum, x, apart_by, tap + h * t->row_taps, rows * t->run, shape);
        slot = inlay_tile_slot(t, slot, rows);
    }
}

/* The sums of one tile, from `at` on. */
INLAY_INLINE void INLAY_W(window)(const inlay_tile *t, const inlay_tiles *call,
                                  const inlay_group *g, INLAY_FLOATS (*sum)[4],
                                  ptrdiff_t at, const inlay_shape shape)
{
    const int walk = shape.walk;
    if (walk == INLAY_WALK_ROWS)
        INLAY_W(rows)(t, sum, at, g->weights, shape);
    else if (walk == INLAY_WALK_STEPS)
        INLAY_W(steps)(t, sum, g->weights, shape);
    else if (walk == INLAY_WALK_LINES)
        INLAY_W(lines)(t, sum, at, g->weights, shape);
    else if (walk == INLAY_WALK_PANEL_ROWS)
        INLAY_W(panel_rows)(t, g, sum, at, call->tap, shape);
    else
        INLAY_W(panel_steps)(t, g, sum, call->tap, shape);
}

INLAY_INLINE void INLAY_W(clear)(INLAY_FLOATS (*sum)[4],
                                 const inlay_shape shape)
{
#if INLAY_TILE_ARM
    (void)shape;
    inlay_arm_clear(sum[0]);
#else
    int p, v;
    INLAY_UNROLL
    for (p = 0; p < shape.pixels; p++) {
        INLAY_UNROLL
        for (v = 0; v < shape.vectors; v++)
            sum[p][v] = INLAY_W(splat)(0.0f);
    }
#endif
}

/* Zeros, or what the panel before this one left. */
INLAY_INLINE void INLAY_W(begin)(const inlay_group *g, INLAY_FLOATS (*sum)[4],
                                 const int panels, const inlay_shape shape)
{
    if (panels && !g->panel->begins)
        INLAY_W(load_sums)(sum, g->sum, shape);
    else
        INLAY_W(clear)(sum, shape);
}

INLAY_INLINE void INLAY_W(end)(const inlay_tile *t, const inlay_group *g,
                               INLAY_FLOATS (*sum)[4], float *y, const float *q,
                               const inlay_shape shape)
{
#if INLAY_TILE_ARM
    inlay_arm_end_any(t, g, sum[0], y, q, shape.pixels);
#else
    if (shape.walk >= INLAY_WALK_PANEL_ROWS && g->scale)
        INLAY_W(scale)(sum, g->scale, g->bias, shape);
    else
        INLAY_W(add_bias)(sum, g->bias, shape);
    if (g->part && shape.ends & INLAY_END_PART)
        INLAY_W(finish_part)(t, sum, y, q, g->part, shape);
    else
        INLAY_W(finish)(t, sum, y, q, shape);
#endif
}

/* A tile, or a pair, of which pixel 0 begins at `at`. */
INLAY_INLINE void INLAY_W(tile)(const inlay_tile *t, const inlay_tiles *call,
                                const inlay_group *g, ptrdiff_t at, float *y,
                                const float *q, const inlay_shape shape)
{
    const int panels = shape.walk >= INLAY_WALK_PANEL_ROWS;
    INLAY_FLOATS sum[INLAY_TILE_SUMS][4];
    INLAY_W(begin)(g, sum, panels, shape);
    INLAY_W(window)(t, call, g, sum, at, shape);
    if (panels && !g->panel->ends)
        INLAY_W(store_sums)(sum, g->sum, shape);
    else
        INLAY_W(end)(t, g, sum, y, q, shape);
}

/* The same, so many pixels behind the first of the call. */
INLAY_INLINE void INLAY_W(tile_at)(const inlay_tile *t, const inlay_tiles *call,
                                   const inlay_group *g, ptrdiff_t pixel,
                                   const inlay_shape shape)
{
    INLAY_W(tile)
    (t, call, g, call->at + pixel * t->xs, g->y + pixel * t->ys,
     g->q ? g->q + pixel * t->qs : NULL, shape);
}

/* Do tiles go in pairs? Where several have as many pixels, these are more than half of the most. */
INLAY_INLINE int INLAY_W(pairs)(const inlay_shape shape)
{
    const int sums = 2 * shape.pixels * shape.vectors;
    return shape.walk == INLAY_WALK_ROWS && 2 * shape.pixels > INLAY_TILE_P &&
           sums + shape.vectors <= INLAY_TILE_HELD;
}

/* All tiles of the call. A pair reads what it needs of both before it stores: no later than its
 * tiles would by themselves. */
INLAY_INLINE void INLAY_W(tiles)(const inlay_tile *t, const inlay_tiles *call,
                                 const inlay_group *g, const inlay_shape shape)
{
    const ptrdiff_t step = t->backward ? -shape.pixels : shape.pixels;
    int32_t left = call->count;
    ptrdiff_t pixel = 0;
    if (INLAY_W(pairs)(shape)) {
        const ptrdiff_t first = t->backward ? step : 0;
        inlay_shape two = shape;
        two.pixels = 2 * shape.pixels;
        for (; left >= 2; left -= 2, pixel += 2 * step)
            INLAY_W(tile_at)(t, call, g, pixel + first, two);
    }
    for (; left > 0; left--, pixel += step)
        INLAY_W(tile_at)(t, call, g, pixel, shape);
}

/* The same, where there is code for tiles of so many pixels. On a scalar core groups are four
 * channels and calls of several tiles rare: there a call is one tile, and so it is where weights
 * come in panels or pixels are no part of a row. */
INLAY_INLINE void INLAY_W(tiles_of)(const inlay_tile *t,
                                    const inlay_tiles *call,
                                    const inlay_group *g,
                                    const inlay_shape shape)
{
    if (!(shape.uses >> shape.pixels & 1))
        return;
#if INLAY_L == 4 && INLAY_VL > 1
    if (inlay_is_few(t, g, shape)) {
        inlay_few_tiles(t, call, g, shape.pixels);
        return;
    }
#endif
    if (INLAY_VL > 1 && shape.walk == INLAY_WALK_ROWS)
        INLAY_W(tiles)(t, call, g, shape);
    else
        INLAY_W(tile)(t, call, g, call->at, g->y, g->q, shape);
}

/* One function for tiles of any number of pixels; 0: there is none. */
INLAY_INLINE int INLAY_W(tiles_any)(const inlay_tile *t,
                                    const inlay_tiles *call,
                                    const inlay_group *g, inlay_shape shape)
{
    if (!INLAY_TILE_ARM || inlay_walk_is_steps(shape.walk))
        return 0;
    shape.pixels = call->pixels;
    INLAY_W(tiles_of)(t, call, g, shape);
    return 1;
}

#endif
