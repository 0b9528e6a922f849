/* SPDX-License-Identifier: 0BSD
 * Pooling of INLAY_L channels at a time. Included by pool.h. `mean` is a constant: 1 the mean,
 * 0 the maximum. */

/* v with `taps` taps of a row of the window, `step` floats apart, of `vectors` vectors each. */
INLAY_INLINE void INLAY_W(pool_taps)(INLAY_FLOATS *v, const float *x,
                                     ptrdiff_t step, int32_t taps,
                                     const int mean, const int vectors)
{
    int32_t k;
    int i;
    for (k = 0; k < taps; k++) {
        INLAY_UNROLL
        for (i = 0; i < vectors; i++) {
            const int32_t c = i * INLAY_L;
            const INLAY_FLOATS tap = INLAY_W(load)(x + c);
            if (mean)
                v[i] += tap;
            else
                v[i] = INLAY_W(max)(v[i], tap);
        }
        x += step;
    }
}

/* The sums, or the maxima, of a window, from channel c on. */
INLAY_INLINE void INLAY_W(pool_window)(void *const *base, const inlay_step *s,
                                       const inlay_window *w, INLAY_FLOATS *v,
                                       int32_t c, const int mean,
                                       const int vectors)
{
    const inlay_pool_params *p = (const inlay_pool_params *)s->params;
    const ptrdiff_t pix = s->ref[1].pix;
    const ptrdiff_t step = p->dw * pix;
    const ptrdiff_t first = w->first_col * pix + c;
    int32_t d, h;
    int i;
    INLAY_UNROLL
    for (i = 0; i < vectors; i++)
        v[i] = INLAY_W(splat)(mean ? 0.0f : -INFINITY);
    for (d = 0; d < w->nd; d++)
        for (h = 0; h < w->nh; h++) {
            const float *x = (const float *)inlay_window_line(base, s, w, d, h);
            INLAY_W(pool_taps)(v, x + first, step, w->nw, mean, vectors);
        }
}

/* The channels of one pixel of y from c on that are so many whole vectors; returns the first that
 * is left. */
INLAY_INLINE int32_t INLAY_W(pool_some)(void *const *base, const inlay_step *s,
                                        const inlay_window *w, float *y,
                                        int32_t c, const int mean,
                                        const int vectors)
{
    const inlay_pool_params *p = (const inlay_pool_params *)s->params;
    const int32_t n = vectors * INLAY_L;
    const float count = (float)w->count;
    for (; p->channels - c >= n; c += n) {
        INLAY_FLOATS v[4];
        int i;
        INLAY_W(pool_window)(base, s, w, v, c, mean, vectors);
        INLAY_UNROLL
        for (i = 0; i < vectors; i++) {
            float *to = y + c + i * INLAY_L;
            if (mean)
                v[i] = v[i] / INLAY_W(splat)(count);
            INLAY_W(store)(to, v[i]);
        }
    }
    return c;
}

/* The same, four vectors at once where they are the widest. */
INLAY_INLINE int32_t INLAY_W(pool)(void *const *base, const inlay_step *s,
                                   const inlay_window *w, float *y, int32_t c,
                                   const int mean)
{
    if (INLAY_L > 1 && INLAY_L == INLAY_VL)
        c = INLAY_W(pool_some)(base, s, w, y, c, mean, 4);
    return INLAY_W(pool_some)(base, s, w, y, c, mean, 1);
}

#if INLAY_VL > 1
/* One pixel of a line, whose window begins at `from`: so many vectors of channels. Rows and taps of
 * the window where they are constants, or 0. */
INLAY_INLINE void INLAY_W(pool_whole)(const inlay_pool_line *l, float *y,
                                      ptrdiff_t from, const int mean,
                                      const int vectors, const int rows,
                                      const int taps)
{
    INLAY_FLOATS v[4];
    int32_t h;
    int i;
    INLAY_UNROLL
    for (i = 0; i < vectors; i++)
        v[i] = INLAY_W(splat)(mean ? 0.0f : -INFINITY);
    for (h = 0; h < (rows ? rows : l->rows); h++) {
        const float *x = (const float *)l->row[h] + from;
        const int32_t some = taps ? taps : l->taps;
        INLAY_W(pool_taps)(v, x, l->tap, some, mean, vectors);
    }
    INLAY_UNROLL
    for (i = 0; i < vectors; i++) {
        if (mean)
            v[i] = v[i] / INLAY_W(splat)(l->count);
        INLAY_W(store)(y + i * INLAY_L, v[i]);
    }
}

/* The channels from c on that are so many whole vectors, of all pixels of a line; returns the first
 * channel that is left. */
INLAY_INLINE int32_t INLAY_W(pool_inside)(const inlay_pool_line *l, int32_t c,
                                          const int mean, const int vectors,
                                          const int rows, const int taps)
{
    const int32_t n = vectors * INLAY_L;
    for (; l->channels - c >= n; c += n) {
        ptrdiff_t from = l->from + c;
        float *y = l->y + c;
        int32_t pixel;
        for (pixel = 0; pixel < l->pixels; pixel++) {
            INLAY_W(pool_whole)(l, y, from, mean, vectors, rows, taps);
            from += l->step;
            y += l->y_step;
        }
    }
    return c;
}

/* The same for windows of any size, with code of their own for those of 2x2 and 3x3 in the widest
 * vectors. */
INLAY_INLINE int32_t INLAY_W(pool_vectors)(const inlay_pool_line *l, int32_t c,
                                           const int mean, const int vectors)
{
    const int square = l->rows == l->taps && INLAY_L == INLAY_VL;
    if (square && l->rows == 2)
        return INLAY_W(pool_inside)(l, c, mean, vectors, 2, 2);
    if (square && l->rows == 3)
        return INLAY_W(pool_inside)(l, c, mean, vectors, 3, 3);
    return INLAY_W(pool_inside)(l, c, mean, vectors, 0, 0);
}

INLAY_INLINE int32_t INLAY_W(pool_line)(const inlay_pool_line *l, int32_t c,
                                        const int mean)
{
    if (INLAY_L > 1 && INLAY_L == INLAY_VL)
        c = INLAY_W(pool_vectors)(l, c, mean, 4);
    return INLAY_W(pool_vectors)(l, c, mean, 1);
}
#endif

/* The larger one of each channel; NaN stays. */
INLAY_INLINE INLAY_FLOATS INLAY_W(global_top)(INLAY_FLOATS most, INLAY_FLOATS x)
{
#if INLAY_L > 1
    return INLAY_W(select)((x > most) | (x != x), x, most);
#else
    return ((x > most) | (x != x)) ? x : most;
#endif
}

/* What a row of x adds to `was`; apart: it is summed by itself, so that rounding grows with
 * rows + width, not with their product. */
INLAY_INLINE INLAY_FLOATS INLAY_W(global_pixels)(INLAY_FLOATS was,
                                                 const float *x, ptrdiff_t pix,
                                                 int32_t width, const int op,
                                                 const int apart)
{
    INLAY_FLOATS v = apart ? INLAY_W(splat)(0.0f) : was;
    int32_t i;
    for (i = 0; i < width; i++) {
        const INLAY_FLOATS pixel = INLAY_W(load)(x + i * pix);
        if (op == INLAY_GLOBAL_SUM)
            v = v + pixel;
        else if (op == INLAY_GLOBAL_MAX)
            v = INLAY_W(max)(v, pixel);
        else
            v = INLAY_W(global_top)(v, pixel);
    }
    return apart ? was + v : v;
}

/* Takes a row of x into y, from channel c on; returns the first channel that is left. */
INLAY_INLINE int32_t INLAY_W(global_row)(const inlay_globalpool_params *p,
                                         float *y, const float *x,
                                         ptrdiff_t pix, int32_t c, const int op,
                                         const int apart)
{
    for (; p->channels - c >= INLAY_L; c += INLAY_L) {
        INLAY_FLOATS v = INLAY_W(load)(y + c);
        v = INLAY_W(global_pixels)(v, x + c, pix, p->width, op, apart);
        INLAY_W(store)(y + c, v);
    }
    return c;
}
