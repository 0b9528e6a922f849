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

typedef struct inlay_move_rows_params {
    /* loops, outermost first; the last two lie within a row of both */
    int32_t rank;
    int32_t units;     /* how many of them make a row's number */
    int32_t first;     /* row of x where all loops are at 0 */
    int32_t x_pixel;   /* pixels of x before the first ... */
    int32_t x_channel; /* ... and channels */
    int32_t y_pixels;  /* bit d: y[d] counts pixels */
    int32_t x_pixels;  /* bit d: x[d] counts pixels */
    int32_t n[12];     /* sizes */
    int32_t y[12];     /* strides within a row of the result */
    int32_t row[12];   /* rows of the source from one to the next */
    int32_t x[12];     /* strides within a row of the source */
} inlay_move_rows_params;

/* Where a walk is, and the strides of its loops: those of `pix`, and backwards the other way. */
typedef struct inlay_row_place {
    int32_t row;    /* of x */
    ptrdiff_t y, x; /* elements in the rows */
} inlay_row_place;

typedef struct inlay_row_walk {
    inlay_row_place begin;
    int32_t y[12], x[12], row[12];
} inlay_row_walk;

/* Goes on by `turns` turns of loop d. */
static inline void inlay_row_turn(inlay_row_place *place,
                                  const inlay_row_walk *walk, int32_t d,
                                  int32_t turns)
{
    place->row += walk->row[d] * turns;
    place->y += (ptrdiff_t)walk->y[d] * turns;
    place->x += (ptrdiff_t)walk->x[d] * turns;
}

/* Loop d from its last turn to its first. */
static inline void inlay_row_reverse(inlay_row_walk *walk, int32_t d, int32_t n)
{
    inlay_row_turn(&walk->begin, walk, d, n - 1);
    walk->row[d] = -walk->row[d];
    walk->y[d] = -walk->y[d];
    walk->x[d] = -walk->x[d];
}

static inline void inlay_row_walk_set(inlay_row_walk *walk, const inlay_step *s)
{
    const inlay_move_rows_params *p = (const inlay_move_rows_params *)s->params;
    int32_t d;
    walk->begin.row = p->first;
    walk->begin.y = 0;
    walk->begin.x = (ptrdiff_t)p->x_pixel * s->ref[1].pix + p->x_channel;
    for (d = 0; d < p->rank; d++) {
        walk->row[d] = p->row[d];
        walk->y[d] = p->y[d] * (p->y_pixels >> d & 1 ? s->ref[0].pix : 1);
        walk->x[d] = p->x[d] * (p->x_pixels >> d & 1 ? s->ref[1].pix : 1);
    }
    for (d = p->units; s->backward && d < p->rank - 2; d++)
        inlay_row_reverse(walk, d, p->n[d]);
}

/* Where row `unit` of the result begins. */
static inline inlay_row_place inlay_row_begin(const inlay_move_rows_params *p,
                                              const inlay_row_walk *walk,
                                              int32_t unit)
{
    inlay_row_place place = walk->begin;
    int32_t d;
    for (d = p->units - 1; d >= 0; d--) {
        const int32_t turns = unit % p->n[d];
        place.row += turns * walk->row[d];
        place.x += (ptrdiff_t)turns * walk->x[d];
        unit /= p->n[d];
    }
    return place;
}

/* Goes on to the next place of a row; 0 at its end. */
static inline int inlay_row_next(const inlay_move_rows_params *p,
                                 const inlay_row_walk *walk,
                                 inlay_row_place *place, int32_t *at)
{
    int32_t d;
    for (d = p->rank - 3; d >= p->units; d--) {
        inlay_row_turn(place, walk, d, 1);
        if (++at[d] < p->n[d])
            return 1;
        inlay_row_turn(place, walk, d, -p->n[d]);
        at[d] = 0;
    }
    return 0;
}

/* Makes row `unit` of the result. */
static inline void inlay_move_row(void *const *base, const inlay_step *s,
                                  const inlay_row_walk *walk, int32_t unit,
                                  ptrdiff_t size, inlay_plane *plane)
{
    const inlay_move_rows_params *p = (const inlay_move_rows_params *)s->params;
    const int32_t last = p->rank - 2;
    unsigned char *y = (unsigned char *)inlay_row(base, s, 0, unit);
    inlay_row_place place = inlay_row_begin(p, walk, unit);
    int32_t at[12] = { 0 };
    do {
        const unsigned char *x =
            (const unsigned char *)inlay_row(base, s, 1, place.row);
        plane(y + place.y * size, x + place.x * size, p->n + last,
              walk->y + last, walk->x + last);
    } while (inlay_row_next(p, walk, &place, at));
}

static inline int inlay_move_rows(void *const *base, const inlay_step *s,
                                  int32_t r0, int32_t r1, size_t size,
                                  inlay_plane *plane)
{
    inlay_row_walk walk;
    int32_t i;
    inlay_row_walk_set(&walk, s);
    for (i = r0; i < r1; i++)
        inlay_move_row(base, s, &walk, s->backward ? r0 + r1 - 1 - i : i,
                       (ptrdiff_t)size, plane);
    return 0;
}

#define INLAY_FAMILY "move_rows.inc.h"
#include "each_word.inc.h"
#undef INLAY_FAMILY

#endif
