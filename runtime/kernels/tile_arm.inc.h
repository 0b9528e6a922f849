/* SPDX-License-Identifier: 0BSD
 * The products of tile_f32.inc.h on Arm cores that have floats, or vectors of four: their
 * instructions have names, and one function makes tiles of any number of pixels by four channels.
 * Between two runs of a window the sums wait in memory. The products and their order are those of
 * the C. What follows the sums is one function for all tiles. */

/* What adjacent taps of a window are, for the pixels of a tile: groups of them whose weights lie
 * together, pairs whose weights lie apart, those that are left; bytes from the weights of one tap
 * to the next, and from pixel 0 of the tile to each one. */
typedef struct inlay_arm_run {
    float *sum;
    int32_t pixels;
    int32_t groups, pairs, ones;
    ptrdiff_t step;
    ptrdiff_t offset[INLAY_TILE_P];
} inlay_arm_run;

#ifdef INLAY_HELIUM
#include "kernels/tile_helium.inc.h"
#else
#include "kernels/tile_fpu.inc.h"
#endif

/* Tiles that there is code for, of any walk. */
enum {
    INLAY_ARM_USES = INLAY_TILE_ONE INLAY_TILE_ROWS(INLAY_TILE_IN_4)
        INLAY_TILE_STEPS(INLAY_TILE_IN_4) INLAY_TILE_LINES(INLAY_TILE_IN_4)
};

/* Adds the products of a run, of which x and w are the first tap. */
INLAY_APART void inlay_arm_products(const inlay_arm_run *r, const float *x,
                                    const float *w)
{
    switch (r->pixels) {
    case 1:
        inlay_arm_pixels_1(r, x, w);
        break;
    case 2:
        if (INLAY_ARM_USES >> 2 & 1)
            inlay_arm_pixels_2(r, x, w);
        break;
    case 3:
        if (INLAY_ARM_USES >> 3 & 1)
            inlay_arm_pixels_3(r, x, w);
        break;
    case 4:
        if (INLAY_ARM_USES >> 4 & 1)
            inlay_arm_pixels_4(r, x, w);
        break;
    case 5:
        if (INLAY_ARM_USES >> 5 & 1)
            inlay_arm_pixels_5(r, x, w);
        break;
#if INLAY_TILE_P > 5
    case 6:
        if (INLAY_ARM_USES >> 6 & 1)
            inlay_arm_pixels_6(r, x, w);
        break;
#endif
    }
}

/* The run has so many taps. */
INLAY_INLINE void inlay_arm_taps(inlay_arm_run *r, int32_t taps)
{
    const int32_t log2_group = r->pixels == 1 ? 2 : 1;
    const int together = r->step == 4 * (ptrdiff_t)sizeof(float);
    r->groups = together ? taps >> log2_group : 0;
    r->ones = taps - (r->groups << log2_group);
    r->pairs = together || !INLAY_ARM_PAIRS ? 0 : taps >> 1;
    if (INLAY_ARM_PAIRS)
        r->ones -= r->pairs << 1;
}

/* What all runs of a tile have in common; the offsets are the caller's. */
INLAY_INLINE void inlay_arm_begin(inlay_arm_run *r, float *sum,
                                  const inlay_shape shape)
{
    r->sum = sum;
    r->pixels = shape.pixels;
    r->step = shape.width * (ptrdiff_t)sizeof(float);
}

/* Pixels lie in rows, so many floats apart. */
INLAY_INLINE void inlay_arm_apart(inlay_arm_run *r, ptrdiff_t xs)
{
    int p;
    INLAY_UNROLL
    for (p = 0; p < INLAY_TILE_P; p++)
        r->offset[p] = p * xs * (ptrdiff_t)sizeof(float);
}

/* The same for any offsets: adds the products of `taps` adjacent floats. */
INLAY_INLINE void inlay_products1(float (*sum)[4], const float *x,
                                  const ptrdiff_t *offset, const float *weights,
                                  int32_t taps, const inlay_shape shape)
{
    inlay_arm_run run;
    int p;
    inlay_arm_begin(&run, sum[0], shape);
    inlay_arm_taps(&run, taps);
    for (p = 0; p < shape.pixels; p++)
        run.offset[p] = offset[p] * (ptrdiff_t)sizeof(float);
    inlay_arm_products(&run, x + offset[0], weights);
}

/* The pieces of a row, at least one. */
INLAY_INLINE void inlay_arm_pieces(const inlay_tile *t,
                                   const inlay_arm_run *run, const float *x,
                                   const float *w, ptrdiff_t width)
{
    int32_t i;
    for (i = 0;;) {
        inlay_arm_products(run, x, w);
        if (++i >= t->pieces)
            break;
        x += t->piece;
        w += t->piece_taps * width;
    }
}

/* The rows of a window. */
INLAY_INLINE void inlay_arm_rows(const inlay_tile *t, float (*sum)[4],
                                 ptrdiff_t at, const float *weights,
                                 const inlay_shape shape)
{
    int32_t slot = t->slot;
    inlay_arm_run run;
    int32_t d, h;
    if (t->run <= 0 || t->pieces <= 0)
        return;
    inlay_arm_begin(&run, sum[0], shape);
    inlay_arm_taps(&run, t->run);
    inlay_arm_apart(&run, t->xs);
    for (d = 0; d < t->nkd; d++) {
        const float *w = weights;
        if (d)
            slot = inlay_tile_plane(t, d);
        for (h = 0; h < t->nkh; h++) {
            const float *x = inlay_tile_row(t, slot) + at;
            inlay_arm_pieces(t, &run, x, w, shape.width);
            if (h + 1 == t->nkh)
                break;
            slot = inlay_tile_next(t, slot);
            w += t->row_taps * shape.width;
        }
        weights += t->plane_taps * shape.width;
    }
}

/* A piece of a row, from the tap `first` on, as far as the panel has its weights. */
INLAY_INLINE void inlay_arm_panel_run(inlay_arm_run *run, const inlay_group *g,
                                      const float *x, ptrdiff_t first,
                                      ptrdiff_t last, const inlay_shape shape)
{
    const inlay_panel *panel = g->panel;
    const ptrdiff_t from = first < panel->from ? panel->from : first;
    const ptrdiff_t end = last > panel->end ? panel->end : last;
    const ptrdiff_t skip = (from - panel->from) * shape.width;
    if (from >= end)
        return;
    inlay_arm_taps(run, (int32_t)(end - from));
    inlay_arm_products(run, x + (from - first), g->weights + skip);
}

/* The rows of a window, of which a panel has some weights. */
INLAY_INLINE void inlay_arm_panel_parts(const inlay_tile *t,
                                        const inlay_group *g, float (*sum)[4],
                                        ptrdiff_t at, ptrdiff_t tap,
                                        const inlay_shape shape)
{
    int32_t slot = t->slot;
    inlay_arm_run run;
    int32_t d, h, i;
    inlay_arm_begin(&run, sum[0], shape);
    inlay_arm_apart(&run, t->xs);
    for (d = 0; d < t->nkd; d++) {
        ptrdiff_t row = tap + d * t->plane_taps;
        if (d)
            slot = inlay_tile_plane(t, d);
        for (h = 0; h < t->nkh; h++, row += t->row_taps) {
            const float *x = inlay_tile_row(t, slot) + at;
            ptrdiff_t piece = row;
            slot = inlay_tile_next(t, slot);
            for (i = 0; i < t->pieces; i++, piece += t->piece_taps) {
                inlay_arm_panel_run(&run, g, x, piece, piece + t->run, shape);
                x += t->piece;
            }
        }
    }
}

/* The same; mostly a panel has all weights. */
INLAY_INLINE void inlay_arm_panel_rows(const inlay_tile *t,
                                       const inlay_group *g, float (*sum)[4],
                                       ptrdiff_t at, ptrdiff_t tap,
                                       const inlay_shape shape)
{
    const ptrdiff_t skip = (tap - g->panel->from) * shape.width;
    if (g->panel->begins && g->panel->ends)
        inlay_arm_rows(t, sum, at, g->weights + skip, shape);
    else
        inlay_arm_panel_parts(t, g, sum, at, tap, shape);
}
