/* SPDX-License-Identifier: 0BSD
 * Template of dwmany_f32.h for vectors of INLAY_L results of a pixel. `near` and `pixels` are
 * constants wherever these functions stand. */

/* Adds an addend, clamps and stores `pixels` sums. */
INLAY_INLINE void INLAY_W(many_end)(const inlay_dw *t, const INLAY_FLOATS *sum,
                                    const inlay_dw_tile *tile, int32_t j,
                                    const int pixels)
{
    const INLAY_FLOATS lo = INLAY_W(splat)(t->lo);
    const INLAY_FLOATS hi = INLAY_W(splat)(t->hi);
    int p;
    INLAY_UNROLL
    for (p = 0; p < pixels; p++) {
        INLAY_FLOATS v = sum[p];
        if (tile->q)
            v += INLAY_W(load)(tile->q + p * t->qs + j);
        if (t->clamp & 1)
            v = INLAY_W(max)(lo, v);
        if (t->clamp & 2)
            v = INLAY_W(min)(hi, v);
        INLAY_W(store)(tile->y + p * t->ys + j, v);
    }
}

/* A row of `taps` taps of any window. */
INLAY_INLINE void INLAY_W(many_taps)(const inlay_dw *t,
                                     const INLAY_W(many_lanes) * lanes,
                                     const float *x, const float *w,
                                     INLAY_FLOATS *sum, int32_t taps,
                                     const int pixels)
{
    int32_t k;
    int p;
    for (k = taps; k > 0; k--, x += t->tap, w += t->channels) {
        const INLAY_FLOATS weight = INLAY_W(load)(w);
        INLAY_UNROLL
        for (p = 0; p < pixels; p++) {
            const float *from = x + p * t->xs;
            const INLAY_FLOATS v = INLAY_W(many_load)(from, lanes);
            sum[p] = INLAY_W(fma)(weight, v, sum[p]);
        }
    }
}

/* A row of a window of three adjacent columns at stride one: each column of x is loaded once. The
 * first lies outside of x with skip bit 0, the last with bit 1. */
INLAY_INLINE void INLAY_W(many_near)(const inlay_dw *t,
                                     const INLAY_W(many_lanes) * lanes,
                                     const float *x, const float *w,
                                     INLAY_FLOATS *sum, int32_t skip)
{
    INLAY_FLOATS weight[3];
    int i, k;
    INLAY_UNROLL
    for (i = 0; i < 3; i++)
        weight[i] = INLAY_W(load)(w + i * t->channels);
    INLAY_UNROLL
    for (i = 0; i < INLAY_DW_TILE_MOST + 2; i++, x += t->tap) {
        INLAY_FLOATS v;
        if (inlay_many_skips(skip, i))
            continue;
        v = INLAY_W(many_load)(x, lanes);
        INLAY_UNROLL
        for (k = 2; k >= 0; k--)
            if (i >= k && i - k < INLAY_DW_TILE_MOST)
                sum[i - k] = INLAY_W(fma)(weight[k], v, sum[i - k]);
    }
}

/* Results [j, j + INLAY_L) of some pixels, of the channels from `channel` on. */
INLAY_INLINE void INLAY_W(many_some)(const inlay_many *m,
                                     const inlay_dw_tile *tile,
                                     const INLAY_W(many_lanes) * lanes,
                                     int32_t channel, int32_t j, const int near,
                                     const int pixels)
{
    const inlay_dw *t = &m->dw;
    const ptrdiff_t first = tile->at + channel;
    const float *w = tile->w + j;
    INLAY_FLOATS sum[INLAY_DW_TILE_MOST];
    int32_t h;
    int p;
    sum[0] = INLAY_W(load)(t->bias + j);
    INLAY_UNROLL
    for (p = 1; p < pixels; p++)
        sum[p] = sum[0];
    for (h = 0; h < t->nkh; h++, w += t->wrow) {
        const float *x = m->line[h] + first;
        if (near)
            INLAY_W(many_near)(t, lanes, x, w, sum, tile->skip);
        else
            INLAY_W(many_taps)(t, lanes, x, w, sum, tile->skip, pixels);
    }
    INLAY_W(many_end)(t, sum, tile, j, pixels);
}

/* Results of some pixels from j on, in whole vectors; returns the first that is left. */
INLAY_INLINE int32_t INLAY_W(many)(const inlay_many *m,
                                   const inlay_dw_tile *tile, int32_t j,
                                   const int near, const int pixels)
{
    int32_t phase = j % m->times;
    INLAY_W(many_lanes) lanes = INLAY_W(many_set)(m->times, phase);
    for (; m->dw.channels - j >= INLAY_L; j += INLAY_L) {
        const int32_t channel = j / m->times;
        const int32_t at = j - channel * m->times;
        if (at != phase)
            lanes = INLAY_W(many_set)(m->times, at);
        phase = at;
        INLAY_W(many_some)(m, tile, &lanes, channel, j, near, pixels);
    }
    return j;
}
