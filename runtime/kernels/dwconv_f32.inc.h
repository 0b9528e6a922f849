/* SPDX-License-Identifier: 0BSD
 * Template of dwconv_f32.h for vectors of INLAY_L channels. `form`, `stride` and `pixels` are
 * constants wherever these functions stand. */

/* Adds q, clamps and stores `pixels` sums. */
INLAY_INLINE void INLAY_W(dw_finish)(const inlay_dw *t, const INLAY_FLOATS *sum,
                                     const inlay_dw_tile *tile, int32_t c,
                                     const int pixels)
{
    int p;
    INLAY_UNROLL
    for (p = 0; p < pixels; p++) {
        INLAY_FLOATS v = sum[p];
        if (tile->q)
            v += INLAY_W(load)(tile->q + p * t->qs + c);
        if (t->clamp & 1) {
            const INLAY_FLOATS lo = INLAY_W(splat)(t->lo);
            v = INLAY_W(max)(lo, v);
        }
        if (t->clamp & 2) {
            const INLAY_FLOATS hi = INLAY_W(splat)(t->hi);
            v = INLAY_W(min)(hi, v);
        }
        INLAY_W(store)(tile->y + p * t->ys + c, v);
    }
}

/* One column of x for all pixels of a tile whose windows, of three columns, it
 * lies in. */
INLAY_INLINE void INLAY_W(dw_column)(INLAY_FLOATS *sum, const float *from,
                                     const INLAY_FLOATS *weight,
                                     const int column, const int stride,
                                     const int pixels)
{
    INLAY_FLOATS v = INLAY_W(load)(from);
    int k;
    INLAY_KEEP(v);
    INLAY_UNROLL
    for (k = 2; k >= 0; k--) {
        const int first = column - k; /* of the window */
        const int pixel = first / stride;
        if (first < 0 || first % stride || pixel >= pixels)
            continue;
        sum[pixel] = INLAY_W(fma)(weight[k], v, sum[pixel]);
    }
}

/* A row of a window of three columns: each column of x is loaded once. The first
 * column lies outside of x with skip bit 0, the last one with bit 1. */
INLAY_INLINE void INLAY_W(dw_three)(const inlay_dw *t, INLAY_FLOATS *sum,
                                    const float *x, const float *w,
                                    int32_t skip, const int stride,
                                    const int pixels)
{
    const int last = (pixels - 1) * stride + 2;
    INLAY_FLOATS weight[3];
    int i;
    INLAY_UNROLL
    for (i = 0; i < 3; i++) {
        weight[i] = INLAY_W(load)(w + i * t->channels);
        INLAY_KEEP(weight[i]);
    }
    if (!(skip & 1))
        INLAY_W(dw_column)(sum, x, weight, 0, stride, pixels);
    INLAY_UNROLL
    for (i = 1; i < last; i++)
        INLAY_W(dw_column)(sum, x + i * t->tap, weight, i, stride, pixels);
    if (!(skip & 2))
        INLAY_W(dw_column)
    (sum, x + last * t->tap, weight, last, stride, pixels);
}

#if INLAY_DW_WIDE
/* The same of windows of `taps` columns. */
INLAY_INLINE void INLAY_W(dw_wide_column)(INLAY_FLOATS *sum, const float *from,
                                          const INLAY_FLOATS *weight,
                                          const int column, const int taps,
                                          const int stride, const int pixels)
{
    INLAY_FLOATS v = INLAY_W(load)(from);
    int k;
    INLAY_KEEP(v);
    INLAY_UNROLL
    for (k = taps - 1; k >= 0; k--) {
        const int first = column - k; /* of the window */
        const int pixel = first / stride;
        if (first < 0 || first % stride || pixel >= pixels)
            continue;
        sum[pixel] = INLAY_W(fma)(weight[k], v, sum[pixel]);
    }
}

/* Does column i of `columns` lie outside of x? At either end half of a window may. */
INLAY_INLINE int INLAY_W(dw_is_outside)(const int i, const int columns,
                                        const int taps, int32_t skip)
{
    if (i < taps / 2)
        return i < (skip & ((1 << INLAY_DW_RIGHT) - 1));
    return i >= columns - taps / 2 && i >= columns - (skip >> INLAY_DW_RIGHT);
}

/* A row of a window of 5 or 7 columns. */
INLAY_INLINE void INLAY_W(dw_wide)(const inlay_dw *t, INLAY_FLOATS *sum,
                                   const float *x, const float *w, int32_t skip,
                                   const int taps, const int stride,
                                   const int pixels)
{
    const int columns = (pixels - 1) * stride + taps;
    INLAY_FLOATS weight[7];
    int i;
    INLAY_UNROLL
    for (i = 0; i < taps; i++) {
        weight[i] = INLAY_W(load)(w + i * t->channels);
        INLAY_KEEP(weight[i]);
    }
    INLAY_UNROLL
    for (i = 0; i < columns; i++) {
        if (!INLAY_W(dw_is_outside)(i, columns, taps, skip))
            INLAY_W(dw_wide_column)
        (sum, x + i * t->tap, weight, i, taps, stride, pixels);
    }
}
#endif

/* A row of `taps` taps of any window. */
INLAY_INLINE void INLAY_W(dw_taps)(const inlay_dw *t, INLAY_FLOATS *sum,
                                   const float *x, const float *w, int32_t taps,
                                   const int pixels)
{
    int32_t k;
    int p;
    for (k = 0; k < taps; k++, x += t->tap, w += t->channels) {
        const INLAY_FLOATS weight = INLAY_W(load)(w);
        INLAY_UNROLL
        for (p = 0; p < pixels; p++) {
            const INLAY_FLOATS v = INLAY_W(load)(x + p * t->xs);
            sum[p] = INLAY_W(fma)(weight, v, sum[p]);
        }
    }
}

/* A row of the window of a tile, or of a pair of tiles. */
INLAY_INLINE void INLAY_W(dw_row)(const inlay_dw *t, INLAY_FLOATS *sum,
                                  const float *x, const float *w, int32_t skip,
                                  const int form, const int pixels)
{
    if (form == INLAY_DW_STRIDE_1)
        INLAY_W(dw_three)(t, sum, x, w, skip, 1, pixels);
    else if (form == INLAY_DW_STRIDE_2)
        INLAY_W(dw_three)(t, sum, x, w, skip, 2, pixels);
#if INLAY_DW_WIDE
    else if (form == INLAY_DW_FIVE_1)
        INLAY_W(dw_wide)(t, sum, x, w, skip, 5, 1, pixels);
    else if (form == INLAY_DW_FIVE_2)
        INLAY_W(dw_wide)(t, sum, x, w, skip, 5, 2, pixels);
    else if (form == INLAY_DW_SEVEN_1)
        INLAY_W(dw_wide)(t, sum, x, w, skip, 7, 1, pixels);
#endif
    else if (form == INLAY_DW_ANY)
        INLAY_W(dw_taps)(t, sum, x, w, t->kw, pixels);
    else
        INLAY_W(dw_taps)(t, sum, x, w, skip, 1);
}

/* Channels [c, c + INLAY_L) of one tile, or of a pair. */
INLAY_INLINE void INLAY_W(dw)(const inlay_dw *t, const inlay_dw_tile *tile,
                              int32_t c, const int form, const int pixels)
{
    const float *w = tile->w + c;
    int32_t slot = t->slot;
    INLAY_FLOATS sum[2 * INLAY_DW_TILE_MOST];
    int32_t h;
    int p;

    sum[0] = INLAY_W(load)(t->bias + c);
    INLAY_UNROLL
    for (p = 1; p < 2 * INLAY_DW_TILE_MOST; p++)
        sum[p] = sum[0];
    for (h = 0; h < t->nkh; h++, w += t->wrow) {
        const float *x = inlay_dw_line_at(t, slot) + tile->at + c;
        INLAY_W(dw_row)(t, sum, x, w, tile->skip, form, pixels);
        slot += t->dh;
        if (slot >= t->cap)
            slot -= t->cap;
    }
    INLAY_W(dw_finish)(t, sum, tile, c, pixels);
}
