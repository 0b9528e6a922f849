/* SPDX-License-Identifier: 0BSD
 * Tiles of a group of which one or two channels exist, where there are vectors: these lie along
 * the taps instead of the channels, of which most would be filled up.
 *
 *   sum[p][o], in INLAY_VL parts = sum over k: x[p][k] w[k][o]
 *
 * Each pixel is summed up alike, whatever tile it lies in: the runs of floats in a window are
 * whole vectors. Weights are those of every other tile of four channels, [tap][4]. Included by
 * tile_f32.h. */
#if INLAY_VL > 1

typedef INLAY_V(f) inlay_few;

enum { INLAY_FEW_MOST = 2 };

/* Sums that registers hold beside the weights, a value and what weights are made of. */
#if INLAY_VL >= 16
enum { INLAY_FEW_HELD = 14 };
#else
enum { INLAY_FEW_HELD = 6 };
#endif

/* Are the channels of a group made in this way? */
INLAY_INLINE int inlay_is_few(const inlay_tile *t, const inlay_group *g,
                              const inlay_shape shape)
{
    const int walks =
        shape.walk == INLAY_WALK_ROWS || shape.walk == INLAY_WALK_LINES;
    return walks && shape.vectors == 1 && g->part >= 1 &&
           g->part <= INLAY_FEW_MOST && t->piece_taps % INLAY_VL == 0;
}

/* The weights of INLAY_VL taps, channel by channel. */
INLAY_INLINE void inlay_few_weights(inlay_few *weight, const float *from,
                                    const int channels)
{
    const inlay_few a = INLAY_V(load)(from);
    const inlay_few b = INLAY_V(load)(from + INLAY_VL);
    const inlay_few c = INLAY_V(load)(from + 2 * INLAY_VL);
    const inlay_few d = INLAY_V(load)(from + 3 * INLAY_VL);
    weight[0] = INLAY_V(even)(INLAY_V(even)(a, b), INLAY_V(even)(c, d));
    if (channels > 1)
        weight[1] = INLAY_V(even)(INLAY_V(odd)(a, b), INLAY_V(odd)(c, d));
}

/* Adds the products of `taps` adjacent floats of each pixel. */
INLAY_INLINE void inlay_few_products(inlay_few (*sum)[INLAY_FEW_MOST],
                                     const float *x, ptrdiff_t xs,
                                     const float *weights, int32_t taps,
                                     const int pixels, const int channels)
{
    int32_t k;
    int p, c;
    for (k = 0; k < taps; k += INLAY_VL, weights += 4 * INLAY_VL) {
        inlay_few weight[INLAY_FEW_MOST];
        inlay_few_weights(weight, weights, channels);
        INLAY_UNROLL
        for (p = 0; p < pixels; p++) {
            const inlay_few value = INLAY_V(load)(x + p * xs + k);
            INLAY_UNROLL
            for (c = 0; c < channels; c++)
                sum[p][c] = INLAY_V(fma)(weight[c], value, sum[p][c]);
        }
    }
}

/* The window of a tile, row by row. */
INLAY_INLINE void inlay_few_rows(const inlay_tile *t, const inlay_group *g,
                                 inlay_few (*sum)[INLAY_FEW_MOST], ptrdiff_t at,
                                 const int pixels, const int channels)
{
    int32_t slot = t->slot;
    int32_t d, h, i;
    for (d = 0; d < t->nkd; d++) {
        const float *row = g->weights + d * t->plane_taps * 4;
        if (d)
            slot = inlay_tile_plane(t, d);
        for (h = 0; h < t->nkh; h++, row += t->row_taps * 4) {
            const float *x = inlay_tile_row(t, slot) + at;
            const float *weights = row;
            slot = inlay_tile_next(t, slot);
            for (i = 0; i < t->pieces; i++) {
                inlay_few_products(sum, x, t->xs, weights, t->run, pixels,
                                   channels);
                x += t->piece;
                weights += t->piece_taps * 4;
            }
        }
    }
}

/* Adds neighbours: of n vectors half as many are left, the parts of each still in a row. */
INLAY_INLINE void inlay_few_halve(inlay_few *v, const int n)
{
    int i;
    INLAY_UNROLL
    for (i = 0; i < (n + 1) / 2; i++) {
        const inlay_few next = v[2 * i + (2 * i + 1 < n)];
        v[i] = INLAY_V(even)(v[2 * i], next) + INLAY_V(odd)(v[2 * i], next);
    }
}

/* to[i] = the parts of v[i] together, for n <= INLAY_VL vectors, which are lost. Those of `to`
 * behind them are written as well. */
INLAY_INLINE void inlay_few_together(float *to, inlay_few *v, const int n)
{
    inlay_few_halve(v, n);
    inlay_few_halve(v, (n + 1) / 2);
#if INLAY_VL >= 8
    inlay_few_halve(v, (n + 3) / 4);
#endif
#if INLAY_VL >= 16
    inlay_few_halve(v, (n + 7) / 8);
#endif
    INLAY_V(store)(to, v[0]);
}

/* Adds bias and q, clamps and stores the sums of `pixels` pixels. */
INLAY_INLINE void inlay_few_finish(const inlay_tile *t, const inlay_group *g,
                                   const float *sum, float *y, const float *q,
                                   const int pixels, const int channels)
{
    const float lo = t->clamp & INLAY_END_LOW ? t->lo : -INFINITY;
    const float hi = t->clamp & INLAY_END_HIGH ? t->hi : INFINITY;
    int p, c;
    INLAY_UNROLL
    for (p = 0; p < pixels; p++) {
        INLAY_UNROLL
        for (c = 0; c < channels; c++) {
            float v = sum[p * channels + c] + g->bias[c];
            if (q)
                v += q[p * t->qs + c];
            y[p * t->ys + c] = inlay_min1(hi, inlay_max1(lo, v));
        }
    }
}

/* Most sums of a tile, or a pair. */
enum { INLAY_FEW_SUMS = 2 * INLAY_TILE_P * INLAY_FEW_MOST };

/* to[i] = the parts of sum i together, pixel by pixel. */
INLAY_INLINE void inlay_few_results(float *to, inlay_few (*sum)[INLAY_FEW_MOST],
                                    const int pixels, const int channels)
{
    inlay_few v[INLAY_FEW_SUMS];
    int p, i;
    INLAY_UNROLL
    for (p = 0; p < pixels; p++) {
        INLAY_UNROLL
        for (i = 0; i < channels; i++)
            v[p * channels + i] = sum[p][i];
    }
    INLAY_UNROLL
    for (i = 0; i < INLAY_FEW_SUMS / INLAY_VL + 1; i++) {
        const int left = pixels * channels - i * INLAY_VL;
        if (left > 0)
            inlay_few_together(to + i * INLAY_VL, v + i * INLAY_VL,
                               left < INLAY_VL ? left : INLAY_VL);
    }
}

/* A tile, or a pair, of which pixel 0 begins at `at`. */
INLAY_INLINE void inlay_few_tile(const inlay_tile *t, const inlay_group *g,
                                 ptrdiff_t at, float *y, const float *q,
                                 const int pixels, const int channels)
{
    inlay_few sum[2 * INLAY_TILE_P][INLAY_FEW_MOST];
    float each[INLAY_FEW_SUMS + INLAY_VL];
    int p, c;
    INLAY_UNROLL
    for (p = 0; p < pixels; p++) {
        INLAY_UNROLL
        for (c = 0; c < channels; c++)
            sum[p][c] = INLAY_V(splat)(0.0f);
    }
    inlay_few_rows(t, g, sum, at, pixels, channels);
    inlay_few_results(each, sum, pixels, channels);
    inlay_few_finish(t, g, each, y, q, pixels, channels);
}

/* The same, in two halves where there are too many sums. */
INLAY_INLINE void inlay_few_halves(const inlay_tile *t, const inlay_group *g,
                                   ptrdiff_t at, float *y, const float *q,
                                   const int pixels, const int channels)
{
    const int all = pixels * channels <= INLAY_FEW_HELD;
    const int first = all ? pixels : (pixels + 1) / 2;
    inlay_few_tile(t, g, at, y, q, first, channels);
    if (first < pixels)
        inlay_few_tile(t, g, at + first * t->xs, y + first * t->ys,
                       q ? q + first * t->qs : NULL, pixels - first, channels);
}

/* `tiles` tiles of the call from pixel number *pixel on: as one. */
INLAY_INLINE void inlay_few_next(const inlay_tile *t, const inlay_tiles *call,
                                 const inlay_group *g, ptrdiff_t *pixel,
                                 const int pixels, const int tiles,
                                 const int channels)
{
    const ptrdiff_t step = t->backward ? -pixels : pixels;
    const ptrdiff_t first = *pixel + (tiles > 1 && t->backward ? step : 0);
    inlay_few_halves(t, g, call->at + first * t->xs, g->y + first * t->ys,
                     g->q ? g->q + first * t->qs : NULL, tiles * pixels,
                     channels);
    *pixel += tiles * step;
}

/* All tiles of the call, in pairs where registers hold them. */
INLAY_INLINE void inlay_few_channels(const inlay_tile *t,
                                     const inlay_tiles *call,
                                     const inlay_group *g, const int pixels,
                                     const int channels)
{
    ptrdiff_t pixel = 0;
    int32_t left = call->count;
    if (2 * pixels * channels <= INLAY_FEW_HELD) {
        for (; left >= 2; left -= 2)
            inlay_few_next(t, call, g, &pixel, pixels, 2, channels);
    }
    for (; left > 0; left--)
        inlay_few_next(t, call, g, &pixel, pixels, 1, channels);
}

INLAY_INLINE void inlay_few_tiles(const inlay_tile *t, const inlay_tiles *call,
                                  const inlay_group *g, const int pixels)
{
    if (g->part == 1)
        inlay_few_channels(t, call, g, pixels, 1);
    else
        inlay_few_channels(t, call, g, pixels, 2);
}
#endif
