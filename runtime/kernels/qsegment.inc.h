/* SPDX-License-Identifier: 0BSD
 * Windows of qconv_packed.h that are clipped, gathered together: of each row of the window all
 * columns that some pixels need, once, with zero points for those that x does not have. The windows
 * overlap in scratch as they do in x. */
#ifndef INLAY_QSEGMENT_H
#define INLAY_QSEGMENT_H

/* Bytes of a row of the windows of n pixels. */
static inline ptrdiff_t inlay_qsegment_row(const inlay_qpacked_params *params,
                                           int32_t n)
{
    return ((ptrdiff_t)(n - 1) * params->sw + params->kw) * params->ic;
}

/* Bytes that scratch has room for beside the windows of n pixels; less than 0: they do not fit. */
static inline ptrdiff_t inlay_qsegment_room(const inlay_qpacked_params *params,
                                            const inlay_qtile *tile, int32_t n)
{
    const ptrdiff_t rows = (ptrdiff_t)params->kd * params->kh;
    if (params->dw != 1 || !inlay_qfast(tile))
        return -1;
    return params->gather * tile->taps - rows * inlay_qsegment_row(params, n);
}

/* Windows where they lie in scratch. */
static inline void inlay_qsegment_lie(const inlay_qpacked_params *params,
                                      uint8_t *scratch, int32_t n,
                                      inlay_qtile *tile)
{
    tile->x = scratch;
    tile->first = 0;
    tile->nkd = 1;
    tile->nkh = params->kd * params->kh;
    inlay_qtile_ring(tile, NULL, (size_t)inlay_qsegment_row(params, n),
                     tile->nkh);
    tile->h_rows = 1;
    tile->run = params->kw * params->ic;
    tile->xs = (ptrdiff_t)params->sw * params->ic;
}

/* Columns [first, first + n) of a row of x, at a group's channels; x NULL: there is none. */
static inline void inlay_qsegment_copy(const inlay_qpacked_params *params,
                                       const uint8_t *x, int32_t pix,
                                       int32_t first, int32_t n, int32_t zero,
                                       uint8_t *to)
{
    const int32_t ic = params->ic;
    int32_t from;
    int32_t all = inlay_clip(first, 1, n, params->iw, &from);
    int32_t i;
    if (!x)
        all = 0;
    if (all < n)
        memset(to, zero, (size_t)(n * ic));
    if (!all)
        return;
    x += (ptrdiff_t)(first + from) * pix;
    to += from * ic;
    if (pix == ic)
        memcpy(to, x, (size_t)(all * ic));
    else
        for (i = 0; i < all; i++, to += ic, x += pix)
            memcpy(to, x, (size_t)ic);
}

/* The windows of n pixels from pixel c on, for one group. */
static inline void inlay_qsegment_gather(void *const *base,
                                         const inlay_step *step,
                                         const inlay_qrow *row, int32_t group,
                                         int32_t c, int32_t n, int32_t zero)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)step->params;
    const int32_t columns = (n - 1) * params->sw + params->kw;
    uint8_t *to = (uint8_t *)inlay_at(base, step, 10);
    int32_t d, h;
    for (d = 0; d < params->kd; d++)
        for (h = 0; h < params->kh; h++, to += columns * params->ic) {
            const uint8_t *x = inlay_qimage_row(base, step, row->image,
                                                row->plane + d * params->dd,
                                                row->row + h * params->dh);
            if (x)
                x += (ptrdiff_t)group * params->ic;
            inlay_qsegment_copy(params, x, step->ref[1].pix,
                                c * params->sw - params->pw, columns, zero, to);
        }
}

#endif
