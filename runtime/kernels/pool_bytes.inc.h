/* SPDX-License-Identifier: 0BSD
 * The maximum of windows of bytes. Included by pool.h for INLAY_T, INLAY_LOWEST. */

static inline void inlay_typed(pool_pixel)(void *const *base,
                                           const inlay_step *s,
                                           const inlay_window *w, void *to)
{
    const inlay_pool_params *p = (const inlay_pool_params *)s->params;
    const ptrdiff_t pix = s->ref[1].pix;
    const int32_t channels = p->channels;
    INLAY_T *y = (INLAY_T *)to;
    int32_t d, h, k, c;
    for (c = 0; c < channels; c++)
        y[c] = INLAY_LOWEST;
    for (d = 0; d < w->nd; d++)
        for (h = 0; h < w->nh; h++) {
            const int32_t r = w->first_row + d * p->dd * p->ih + h * p->dh;
            const INLAY_T *x = (const INLAY_T *)inlay_row(base, s, 1, r);
            x += w->first_col * pix;
            for (k = 0; k < w->nw; k++, x += p->dw * pix)
                for (c = 0; c < channels; c++)
                    y[c] = x[c] > y[c] ? x[c] : y[c];
        }
}

static inline int inlay_typed(maxpool)(void *const *base, const inlay_step *s,
                                       int32_t r0, int32_t r1)
{
    return inlay_pool_rows(base, s, r0, r1, sizeof(INLAY_T),
                           inlay_typed(pool_pixel));
}

#undef INLAY_T
#undef INLAY_LOWEST
#undef inlay_typed
