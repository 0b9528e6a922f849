/* SPDX-License-Identifier: 0BSD
 * The maximum of windows of bytes. Included by pool.h for INLAY_T, INLAY_LOWEST. */

/* most[c] = the largest of it and `taps` taps of a row of the window, `step` bytes apart. */
INLAY_INLINE void inlay_typed(pool_taps)(INLAY_T *most, const INLAY_T *x,
                                         ptrdiff_t step, int32_t taps,
                                         int32_t n)
{
    int32_t k, c;
    for (k = 0; k < taps; k++) {
        for (c = 0; c < n; c++)
            most[c] = x[c] > most[c] ? x[c] : most[c];
        x += step;
    }
}

/* Channels [first, first + n). */
INLAY_INLINE void inlay_typed(pool_block)(void *const *base,
                                          const inlay_step *s,
                                          const inlay_window *w, INLAY_T *y,
                                          int32_t first, int32_t n)
{
    const inlay_pool_params *p = (const inlay_pool_params *)s->params;
    const ptrdiff_t pix = s->ref[1].pix;
    const ptrdiff_t step = p->dw * pix;
    const ptrdiff_t column = w->first_col * pix + first;
    INLAY_T most[INLAY_POOL_BYTES];
    int32_t d, h;
    memset(most, INLAY_LOWEST, sizeof most);
    for (d = 0; d < w->nd; d++)
        for (h = 0; h < w->nh; h++) {
            const INLAY_T *x =
                (const INLAY_T *)inlay_window_line(base, s, w, d, h);
            inlay_typed(pool_taps)(most, x + column, step, w->nw, n);
        }
    memcpy(y, most, (size_t)n);
}

/* A block of channels is read whole before it is written. */
static inline void inlay_typed(pool_pixel)(void *const *base,
                                           const inlay_step *s,
                                           const inlay_window *w, void *to)
{
    const inlay_pool_params *p = (const inlay_pool_params *)s->params;
    const int32_t channels = p->channels;
    const int32_t block = INLAY_POOL_BYTES;
    const int32_t half = block / 2;
    INLAY_T *y = (INLAY_T *)to;
    int32_t c;
    for (c = 0; c + block <= channels; c += block)
        inlay_typed(pool_block)(base, s, w, y + c, c, block);
    if (c + half <= channels) {
        inlay_typed(pool_block)(base, s, w, y + c, c, half);
        c += half;
    }
    if (c < channels)
        inlay_typed(pool_block)(base, s, w, y + c, c, channels % half);
}

static inline int inlay_typed(maxpool)(void *const *base, const inlay_step *s,
                                       int32_t r0, int32_t r1)
{
    return inlay_pool_rows(base, s, r0, r1, sizeof(INLAY_T),
                           inlay_typed(pool_pixel), NULL);
}

#undef INLAY_T
#undef INLAY_LOWEST
#undef inlay_typed
