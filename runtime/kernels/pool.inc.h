/* SPDX-License-Identifier: 0BSD
 * Pooling of INLAY_L channels at a time. Included by pool.h. `mean` is a constant: 1 the mean,
 * 0 the maximum. */

/* v with `taps` taps of a row of the window, `step` floats apart. */
INLAY_INLINE INLAY_FLOATS INLAY_W(pool_taps)(INLAY_FLOATS v, const float *x,
                                             ptrdiff_t step, int32_t taps,
                                             const int mean)
{
    int32_t k;
    for (k = 0; k < taps; k++) {
        const INLAY_FLOATS tap = INLAY_W(load)(x);
        v = mean ? v + tap : INLAY_W(max)(v, tap);
        x += step;
    }
    return v;
}

/* The sum, or the maximum, of channels [c, c + INLAY_L) of a window. */
INLAY_INLINE INLAY_FLOATS INLAY_W(pool_window)(void *const *base,
                                               const inlay_step *s,
                                               const inlay_window *w, int32_t c,
                                               const int mean)
{
    const inlay_pool_params *p = (const inlay_pool_params *)s->params;
    const ptrdiff_t pix = s->ref[1].pix;
    const ptrdiff_t step = p->dw * pix;
    const ptrdiff_t first = w->first_col * pix + c;
    INLAY_FLOATS v = INLAY_W(splat)(mean ? 0.0f : -INFINITY);
    int32_t d, h;
    for (d = 0; d < w->nd; d++)
        for (h = 0; h < w->nh; h++) {
            const int32_t r = inlay_window_row(p, w, d, h);
            const float *x = (const float *)inlay_row(base, s, 1, r);
            v = INLAY_W(pool_taps)(v, x + first, step, w->nw, mean);
        }
    return v;
}

/* From channel c on as many channels of one pixel of y as there are; returns the first that is
 * left. */
INLAY_INLINE int32_t INLAY_W(pool)(void *const *base, const inlay_step *s,
                                   const inlay_window *w, float *y, int32_t c,
                                   const int mean)
{
    const inlay_pool_params *p = (const inlay_pool_params *)s->params;
    const float count = w->count ? (float)w->count : 1.0f;
    for (; p->channels - c >= INLAY_L; c += INLAY_L) {
        INLAY_FLOATS v = INLAY_W(pool_window)(base, s, w, c, mean);
        if (mean)
            v = v / INLAY_W(splat)(count);
        INLAY_W(store)(y + c, v);
    }
    return c;
}

/* What a row of x adds to `was`: it is summed apart, so that rounding grows with rows + width, not
 * with their product. */
INLAY_INLINE INLAY_FLOATS INLAY_W(global_pixels)(INLAY_FLOATS was,
                                                 const float *x, ptrdiff_t pix,
                                                 int32_t width, const int mean)
{
    INLAY_FLOATS v = mean ? INLAY_W(splat)(0.0f) : was;
    int32_t i;
    for (i = 0; i < width; i++) {
        const INLAY_FLOATS pixel = INLAY_W(load)(x + i * pix);
        v = mean ? v + pixel : INLAY_W(max)(v, pixel);
    }
    return mean ? was + v : v;
}

/* Takes a row of x into y, from channel c on; returns the first channel that is left. */
INLAY_INLINE int32_t INLAY_W(global_row)(const inlay_globalpool_params *p,
                                         float *y, const float *x,
                                         ptrdiff_t pix, int32_t c,
                                         const int mean)
{
    for (; p->channels - c >= INLAY_L; c += INLAY_L) {
        INLAY_FLOATS v = INLAY_W(load)(y + c);
        v = INLAY_W(global_pixels)(v, x + c, pix, p->width, mean);
        INLAY_W(store)(y + c, v);
    }
    return c;
}
