/* SPDX-License-Identifier: 0BSD
 * Whether results of qconv_packed.h may lie over what they are made of, and how many pixels are
 * made by one call: a tile where they may, else as many as stay in the cache. */
#ifndef INLAY_QAPART_H
#define INLAY_QAPART_H

/* Bytes of operand i from its first to its last, of `pixels` pixels a row of `size` bytes each. */
static inline size_t inlay_qextent(const inlay_step *step, int i,
                                   int32_t pixels, size_t size)
{
    const inlay_ref *ring = step->ref + i;
    return (size_t)(ring->cap - 1) * ring->row +
           (size_t)pixels * (size_t)ring->pix * size;
}

/* Can no byte of a row of y be one of the rows of x that it is made of? */
static inline int inlay_qrow_apart(void *const *base, const inlay_step *step,
                                   const inlay_qrow *row)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)step->params;
    const int wide = inlay_qout_is_wide(params->out);
    const uintptr_t y = (uintptr_t)row->y;
    const uintptr_t y_end = y + (uintptr_t)params->ow *
                                    (uintptr_t)step->ref[0].pix *
                                    (uintptr_t)(wide ? 4 : 1);
    const uintptr_t bytes = (uintptr_t)params->iw * (uintptr_t)step->ref[1].pix;
    int32_t i;
    for (i = 0; i < params->kd * params->kh; i++) {
        const uintptr_t x = (uintptr_t)inlay_qimage_row(
            base, step, row->image, row->plane + i / params->kh * params->dd,
            row->row + i % params->kh * params->dh);
        if (x && x < y_end && y < x + bytes)
            return 0;
    }
    return 1;
}

/* Can no byte of rows [r0, r1) of y be one of x that they are made of? Where rows have slots, only
 * one that is made by itself may lie over those. */
static inline int inlay_qpacked_apart(void *const *base, const inlay_step *step,
                                      int32_t r0, int32_t r1)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)step->params;
    const int wide = inlay_qout_is_wide(params->out);
    const uintptr_t y = (uintptr_t)inlay_at(base, step, 0);
    const uintptr_t x = (uintptr_t)inlay_at(base, step, 1);
    if (r1 - r0 == 1 && inlay_is_dealt(step->ref) &&
        inlay_is_dealt(step->ref + 1)) {
        const inlay_qrow row = inlay_qpacked_window(base, step, r0);
        return inlay_qrow_apart(base, step, &row);
    }
    if (inlay_is_dealt(step->ref) || inlay_is_dealt(step->ref + 1))
        return 1;
    return y + inlay_qextent(step, 0, params->ow, wide ? 4 : 1) <= x ||
           x + inlay_qextent(step, 1, params->iw, 1) <= y;
}

/* Bytes of x that stay in the cache while all groups of channels are made of them. */
#ifndef INLAY_QPIXEL_BYTES
#define INLAY_QPIXEL_BYTES 12288
#endif

/* Pixels of a call: a tile's; more where it goes on from tile to tile, and no byte of y is one of x
 * that is still read. */
static inline int32_t inlay_qpacked_most(void *const *base,
                                         const inlay_step *step,
                                         const inlay_qtile *tile, int apart,
                                         const inlay_qrow *row)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)step->params;
    const int32_t bytes = params->sw * step->ref[1].pix;
    const int32_t most = INLAY_QPIXEL_BYTES / bytes;
    const int goes_on =
        INLAY_QL > 1 ? inlay_qfast(tile) : !inlay_qhas_zeros(tile);
    if (!goes_on || row->pixels <= INLAY_QTILE_P)
        return INLAY_QTILE_P;
    if (!apart && !inlay_qrow_apart(base, step, row))
        return INLAY_QTILE_P;
    return most < 4 * INLAY_QTILE_P ? 4 * INLAY_QTILE_P : most;
}

#endif
