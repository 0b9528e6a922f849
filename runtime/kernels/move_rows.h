/* SPDX-License-Identifier: 0BSD
 * Moves of elements between images, a row of the result at a time, by element size: Slice, Split,
 * DepthToSpace, SpaceToDepth, Tile and those transpositions that keep rows apart, the shuffle of
 * channels among them.
 *
 * The loops 0 .. units - 1 make the number of the row, the others its elements; at[d] < n[d]:
 *
 *   y row = unit    y element = sum of at[d] y[d]    x row = row + sum of at[d] row[d]    x
 *                   element = x0 + sum of at[d] x[d]
 *
 * y[d] and x[d] are pixels where their mask says so, else channels. A stride of 0 repeats, a
 * negative one reverses. Backward, the rows and the loops within them but for the last two go from
 * last to first. */
#ifndef INLAY_MOVE_ROWS_H
#define INLAY_MOVE_ROWS_H

#include "move.h"

#define INLAY_move_rows_FIELDS(F, N) \
    F(int32_t, rank)      /* loops, outermost first; the last two lie within a row of both */ \
    F(int32_t, units)     /* how many of them make a row's number */ \
    F(int32_t, first)     /* row of x where all loops are at 0 */ \
    F(int32_t, x_pixel)   /* pixels of x before the first ... */ \
    F(int32_t, x_channel) /* ... and channels */ \
    F(int32_t, y_pixels)  /* bit d: y[d] counts pixels */ \
    F(int32_t, x_pixels)  /* bit d: x[d] counts pixels */ \
    N(int32_t, n, 12)     /* sizes */ \
    N(int32_t, y, 12)     /* strides within a row of the result */ \
    N(int32_t, row, 12)   /* rows of the source from one to the next */ \
    N(int32_t, x, 12)     /* strides within a row of the source */
INLAY_PARAMS(move_rows);

static inline int inlay_move_rows(void *const *base, const inlay_step *s, int32_t r0, int32_t r1,
                                  size_t size, inlay_plane *plane)
{
    const inlay_move_rows_params *p = (const inlay_move_rows_params *)s->params;
    const int32_t last = p->rank - 2;
    int32_t ys[12];
    int32_t xs[12];
    int32_t rows[12];
    int32_t y_end = 0;
    int32_t x_end = 0;
    int32_t row_end = 0;
    int32_t d;
    int32_t i;
    for (d = 0; d < p->rank; d++) {
        ys[d] = p->y_pixels >> d & 1 ? p->y[d] * s->ref[0].pix : p->y[d];
        xs[d] = p->x_pixels >> d & 1 ? p->x[d] * s->ref[1].pix : p->x[d];
        rows[d] = p->row[d];
        if (!s->backward || d < p->units || d >= last)
            continue;
        y_end += ys[d] * (p->n[d] - 1), x_end += xs[d] * (p->n[d] - 1),
            row_end += rows[d] * (p->n[d] - 1);
        ys[d] = -ys[d], xs[d] = -xs[d], rows[d] = -rows[d];
    }
    for (i = r0; i < r1; i++) {
        const int32_t unit = s->backward ? r0 + r1 - 1 - i : i;
        unsigned char *y =
            (unsigned char *)inlay_row(base, s, 0, unit) + (ptrdiff_t)y_end * (ptrdiff_t)size;
        ptrdiff_t at_x = (ptrdiff_t)p->x_pixel * s->ref[1].pix + p->x_channel + x_end;
        int32_t row = p->first + row_end;
        int32_t rest = unit;
        int32_t at[12] = { 0 };
        for (d = p->units - 1; d >= 0; d--) {
            row += rest % p->n[d] * p->row[d];
            at_x += (ptrdiff_t)(rest % p->n[d]) * xs[d];
            rest /= p->n[d];
        }
        do {
            plane(y, (const unsigned char *)inlay_row(base, s, 1, row) + at_x * (ptrdiff_t)size,
                  p->n + last, ys + last, xs + last);
            for (d = last - 1; d >= p->units; d--) {
                y += (ptrdiff_t)ys[d] * (ptrdiff_t)size;
                at_x += xs[d];
                row += rows[d];
                if (++at[d] < p->n[d])
                    break;
                y -= (ptrdiff_t)ys[d] * p->n[d] * (ptrdiff_t)size;
                at_x -= (ptrdiff_t)xs[d] * p->n[d];
                row -= rows[d] * p->n[d];
                at[d] = 0;
            }
        } while (d >= p->units);
    }
    return 0;
}

#define INLAY_MOVE_ROWS(bits) \
    static inline int inlay_move_rows_##bits(void *const *base, const inlay_step *s, int32_t r0, \
                                             int32_t r1) \
    { \
        return inlay_move_rows(base, s, r0, r1, sizeof(inlay_w##bits), inlay_plane_##bits); \
    }

INLAY_MOVE_ROWS(8)
INLAY_MOVE_ROWS(16)
INLAY_MOVE_ROWS(32)
INLAY_MOVE_ROWS(64)
INLAY_MOVE_ROWS(128)

#endif
