/* SPDX-License-Identifier: 0BSD
 * Pooling of INLAY_L channels at a time. Included by pool.h. `mean` is a constant: 1 the mean,
 * 0 the maximum. */

/* From channel c on as many channels of one pixel of y as there are; returns the first that is
 * left. */
INLAY_INLINE int32_t INLAY_W(pool)(void *const *base, const inlay_step *s,
                                   const inlay_window *w, float *y, int32_t c,
                                   const int mean)
{
    const inlay_pool_params *p = (const inlay_pool_params *)s->params;
    const int32_t channels = p->channels;
    const ptrdiff_t pix = s->ref[1].pix;
    const ptrdiff_t step = p->dw * pix;
    const ptrdiff_t first = w->first_col * pix;
    for (; channels - c >= INLAY_L; c += INLAY_L) {
        INLAY_FLOATS v = INLAY_W(splat)(mean ? 0.0f : -INFINITY);
        int32_t d, h, k;
        for (d = 0; d < w->nd; d++)
            for (h = 0; h < w->nh; h++) {
                const int32_t r = w->first_row + d * p->dd * p->ih + h * p->dh;
                const float *x = (const float *)inlay_row(base, s, 1, r);
                x += first + c;
                for (k = 0; k < w->nw; k++, x += step) {
                    const INLAY_FLOATS tap = INLAY_W(load)(x);
                    v = mean ? v + tap : INLAY_W(max)(v, tap);
                }
            }
        if (mean)
            v = v / INLAY_W(splat)(w->count ? (float)w->count : 1.0f);
        INLAY_W(store)(y + c, v);
    }
    return c;
}

/* Takes a row of x into y. It is summed apart, so that rounding grows with rows + width, not with
 * their product. */
INLAY_INLINE int32_t INLAY_W(global_row)(const inlay_globalpool_params *p,
                                         float *y, const float *x,
                                         ptrdiff_t pix, int32_t c,
                                         const int mean)
{
    for (; p->channels - c >= INLAY_L; c += INLAY_L) {
        const INLAY_FLOATS was = INLAY_W(load)(y + c);
        INLAY_FLOATS v = mean ? INLAY_W(splat)(0.0f) : was;
        int32_t i;
        for (i = 0; i < p->width; i++) {
            const INLAY_FLOATS pixel = INLAY_W(load)(x + i * pix + c);
            v = mean ? v + pixel : INLAY_W(max)(v, pixel);
        }
        INLAY_W(store)(y + c, mean ? was + v : v);
    }
    return c;
}
