/* SPDX-License-Identifier: 0BSD
 * The products of tile_f32.inc.h on Arm cores that have floats, or vectors of four: their
 * instructions have names, and one function makes tiles of any number of pixels by four channels.
 * Between two calls the sums wait in memory. The products and their order are those of
 * the C. What follows the sums is one function for all tiles. */

/* Most rows of a window that one call goes through. */
enum { INLAY_ARM_ROWS = 12 };

/* Runs of adjacent taps of a window, for the pixels of a tile: where they begin, as many taps in
 * each; of the taps of one, groups that go together, and those that are left; bytes from pixel 0 of
 * the tile to each one, of the weights from tap to tap, and from the end of a run to the next. */
typedef struct inlay_arm_run {
    float *sum;
    const float *from; /* what the sums begin with */
    const float *const *at;
    const float *const *end;
    int32_t pixels;
    int32_t groups, ones;
    ptrdiff_t step, skip;
    ptrdiff_t offset[INLAY_TILE_P];
} inlay_arm_run;

/* Sums of a tile that begins. */
static const float inlay_arm_zeros[INLAY_TILE_P * 4];

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

/* Do weights lie together? */
INLAY_INLINE int inlay_arm_together(const inlay_arm_run *r)
{
    return INLAY_TILE_WIDTH == 4 || r->step == 4 * (ptrdiff_t)sizeof(float);
}

/* Adds the products of all runs, whose weights lie together from w on. */
INLAY_APART void inlay_arm_windows(inlay_arm_run *r, const float *w)
{
    switch (r->pixels) {
    case 1:
        inlay_arm_floats_1(r, w);
        break;
    case 2:
        if (INLAY_ARM_USES >> 2 & 1)
            inlay_arm_floats_2(r, w);
        break;
    case 3:
        if (INLAY_ARM_USES >> 3 & 1)
            inlay_arm_floats_3(r, w);
        break;
    case 4:
        if (INLAY_ARM_USES >> 4 & 1)
            inlay_arm_floats_4(r, w);
        break;
    case 5:
        if (INLAY_ARM_USES >> 5 & 1)
            inlay_arm_floats_5(r, w);
        break;
    }
}

#ifdef INLAY_FPU_ARM
/* The same of weights that lie apart. */
INLAY_APART void inlay_arm_windows_apart(inlay_arm_run *r, const float *w)
{
    switch (r->pixels) {
    case 1:
        inlay_arm_apart_1(r, w);
        break;
    case 2:
        if (INLAY_ARM_USES >> 2 & 1)
            inlay_arm_apart_2(r, w);
        break;
    case 3:
        if (INLAY_ARM_USES >> 3 & 1)
            inlay_arm_apart_3(r, w);
        break;
    case 4:
        if (INLAY_ARM_USES >> 4 & 1)
            inlay_arm_apart_4(r, w);
        break;
    case 5:
        if (INLAY_ARM_USES >> 5 & 1)
            inlay_arm_apart_5(r, w);
        break;
    }
}
#endif

/* The same of weights that are signed bytes. */
INLAY_APART void inlay_arm_byte_windows(inlay_arm_run *r, const signed char *w)
{
    switch (r->pixels) {
    case 1:
        inlay_arm_bytes_1(r, w);
        break;
    case 2:
        if (INLAY_ARM_USES >> 2 & 1)
            inlay_arm_bytes_2(r, w);
        break;
    case 3:
        if (INLAY_ARM_USES >> 3 & 1)
            inlay_arm_bytes_3(r, w);
        break;
    case 4:
        if (INLAY_ARM_USES >> 4 & 1)
            inlay_arm_bytes_4(r, w);
        break;
    case 5:
        if (INLAY_ARM_USES >> 5 & 1)
            inlay_arm_bytes_5(r, w);
        break;
    }
}

/* The same, of weights of so many bytes each. */
INLAY_INLINE void inlay_arm_sum_up(inlay_arm_run *r, const void *w,
                                   const int bytes)
{
    if (bytes == 1)
        inlay_arm_byte_windows(r, (const signed char *)w);
    else
        inlay_arm_windows(r, (const float *)w);
}

/* Adds the products of one run, of which x and w are the first tap. */
INLAY_INLINE void inlay_arm_products(inlay_arm_run *r, const float *x,
                                     const float *w)
{
    const float *one[1];
    one[0] = x;
    r->from = r->sum;
    r->at = one;
    r->end = one + 1;
#ifdef INLAY_FPU_ARM
    if (!inlay_arm_together(r)) {
        inlay_arm_windows_apart(r, w);
        return;
    }
#endif
    inlay_arm_windows(r, w);
}

/* The run has so many taps, whose weights lie together. */
INLAY_INLINE void inlay_arm_groups(inlay_arm_run *r, int32_t taps)
{
    const int32_t group = inlay_arm_group(r->pixels);
    r->groups = taps / group;
    r->ones = taps - r->groups * group;
    r->skip = 0;
}

/* The run has so many taps. */
INLAY_INLINE void inlay_arm_taps(inlay_arm_run *r, int32_t taps)
{
    if (inlay_arm_together(r)) {
        inlay_arm_groups(r, taps);
        return;
    }
    r->groups = INLAY_ARM_PAIRS ? taps >> 1 : 0;
    r->ones = taps - (r->groups << 1);
    r->skip = 0;
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
INLAY_INLINE void inlay_arm_pieces(const inlay_tile *t, inlay_arm_run *run,
                                   const float *x, const float *w,
                                   ptrdiff_t width)
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

/* What follows the sums of so many pixels, in the short form where there is one. */
INLAY_APART void inlay_arm_end_any(const inlay_tile *t, const inlay_group *g,
                                   float *sum, float *y, const float *q,
                                   int32_t pixels)
{
    if (!g->part && inlay_arm_is_short(t, q))
        inlay_arm_end_short(t, sum, g->bias, g->scale, y,
                            t->ys * (ptrdiff_t)sizeof(float), pixels);
    else
        inlay_arm_end(t, g, sum, y, q, pixels);
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
