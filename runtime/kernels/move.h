/* SPDX-License-Identifier: 0BSD
 * Elements change place, not value, by element size: Transpose, Slice, Expand, Tile, Concat, Split,
 * Pad, DepthToSpace, SpaceToDepth and both layout changes of an image. Where: selection by a mask.
 *
 * y[sum at[d] y_d + y0] = x[sum at[d] x_d + x0] for all 0 <= at[d] < n[d]
 *
 * A stride of 0 repeats, a negative one reverses. Unit u of an operand without rows
 * begins (u / units_in) * outer + (u % units_in) * inner elements in. */
#ifndef INLAY_MOVE_H
#define INLAY_MOVE_H

#include "nd.h"
#include "turn_vec.h"

enum { INLAY_TILE = 16 };

typedef struct inlay_move_params {
    int32_t rank; /* loops of a unit, 1 .. 8, outermost first */
    int32_t rows; /* bit i: operand i has a row for each unit */
    /* units of an operand without rows until `outer` counts one up */
    int32_t units_in;
    int32_t outer; /* elements from one group of units_in units to the next */
    int32_t inner; /* elements from a unit to the next of its group */
    int32_t y0;    /* elements to the first of the result */
    int32_t x0;    /* elements to the first of the source */
    /* the loop from pixel to pixel of the operand with rows, -1: none */
    int32_t pixel;
    int32_t n[8]; /* sizes */
    int32_t y[8]; /* strides of the result, elements */
    int32_t x[8]; /* strides of the source, elements */
} inlay_move_params;

typedef uint8_t inlay_w8;
typedef uint16_t INLAY_ALIAS inlay_w16;
typedef uint32_t INLAY_ALIAS inlay_w32;
typedef uint64_t INLAY_ALIAS inlay_w64;
typedef struct INLAY_ALIAS inlay_w128 {
    uint64_t half[2];
} inlay_w128;

/* Element offset of unit u of operand i. */
static inline ptrdiff_t inlay_move_start(const inlay_move_params *p, int i,
                                         int32_t u)
{
    const ptrdiff_t at = i == 0 ? p->y0 : p->x0;
    if (p->rows >> i & 1)
        return at;
    return at + (ptrdiff_t)(u / p->units_in) * p->outer +
           (ptrdiff_t)(u % p->units_in) * p->inner;
}

/* Inner two loops: y[i yi + j yj] = x[i xi + j xj], i < n, j < m. */
typedef void inlay_plane(void *y, const void *x, const int32_t *n,
                         const int32_t *ys, const int32_t *xs);

/* Strides of operand i, elements: those between its pixels are of the plan. */
static inline void inlay_move_steps(const inlay_move_params *p,
                                    const inlay_step *s, int i, int32_t *step)
{
    memcpy(step, i == 0 ? p->y : p->x, sizeof p->y);
    if (p->pixel >= 0 && (p->rows >> i & 1))
        step[p->pixel] = s->ref[i].pix;
}

/* The nest of all loops but the inner two. */
static inline inlay_nest inlay_move_nest(const inlay_move_params *p,
                                         int32_t (*step)[8], ptrdiff_t size)
{
    inlay_nest nest;
    int32_t d;
    nest.rank = p->rank - 1;
    for (d = 0; d < p->rank - 2; d++) {
        nest.n[d] = p->n[d];
        nest.step[0][d] = step[0][d] * size;
        nest.step[1][d] = step[1][d] * size;
    }
    return nest;
}

/* The operand with rows, where one has them. */
static inline int inlay_move_side(const inlay_move_params *p)
{
    return p->rows == 2;
}

/* Units from r0 on whose rows lie together and are columns side by side of the other operand: a
 * transposition, which goes in tiles. 1: they do not. */
static inline int32_t inlay_move_columns(const inlay_move_params *p,
                                         const inlay_step *s, int32_t r0,
                                         int32_t r1)
{
    const inlay_ref *ref = s->ref + inlay_move_side(p);
    const int32_t in_ring = ref->cap - r0 % ref->cap;
    const int32_t in_group = p->units_in - r0 % p->units_in;
    const int32_t most = in_ring < in_group ? in_ring : in_group;
    if (inlay_is_dealt(ref) || p->rows < 1 || p->rows > 2 || p->rank != 2 ||
        p->n[0] != 1 || p->inner != 1)
        return 1;
    return most < r1 - r0 ? most : r1 - r0;
}

/* So many of them: a loop over units, and that of each. */
static inline void inlay_move_turn(void *const *base, const inlay_step *s,
                                   int32_t r, int32_t columns, size_t size,
                                   inlay_plane *plane)
{
    const inlay_move_params *p = (const inlay_move_params *)s->params;
    const int side = inlay_move_side(p);
    const int32_t row = (int32_t)(s->ref[side].row / size);
    unsigned char *operand[2];
    int32_t n[2], y[2], x[2];
    inlay_nest_start(base, s, 2, p->rows, r, operand);
    operand[!side] += inlay_move_start(p, !side, r) * (ptrdiff_t)size;
    n[side] = columns;
    y[side] = side ? 1 : row;
    x[side] = side ? row : 1;
    n[!side] = p->n[1];
    y[!side] = p->y[1];
    x[!side] = p->x[1];
    plane(operand[0], operand[1], n, y, x);
}

/* The steps of both operands, in elements, and the loops that they are of. */
typedef struct inlay_mover {
    int32_t step[2][8];
    inlay_nest nest;
} inlay_mover;

/* Unit r. */
static inline void inlay_move_unit(void *const *base, const inlay_step *s,
                                   int32_t r, ptrdiff_t size,
                                   const inlay_mover *mover, inlay_plane *plane)
{
    const inlay_move_params *p = (const inlay_move_params *)s->params;
    const int32_t last = p->rank - 2;
    unsigned char *operand[2];
    int32_t at[8] = { 0 };
    inlay_nest_start(base, s, 2, p->rows, r, operand);
    operand[0] += inlay_move_start(p, 0, r) * size;
    operand[1] += inlay_move_start(p, 1, r) * size;
    do
        plane(operand[0], operand[1], p->n + last, mover->step[0] + last,
              mover->step[1] + last);
    while (inlay_nest_next(&mover->nest, at, operand, 2));
}

static inline int inlay_move(void *const *base, const inlay_step *s, int32_t r0,
                             int32_t r1, size_t size, inlay_plane *plane)
{
    const inlay_move_params *p = (const inlay_move_params *)s->params;
    inlay_mover mover;
    inlay_move_steps(p, s, 0, mover.step[0]);
    inlay_move_steps(p, s, 1, mover.step[1]);
    mover.nest = inlay_move_nest(p, mover.step, (ptrdiff_t)size);
    while (r0 < r1) {
        const int32_t columns = inlay_move_columns(p, s, r0, r1);
        if (columns > 1)
            inlay_move_turn(base, s, r0, columns, size, plane);
        else
            inlay_move_unit(base, s, r0, (ptrdiff_t)size, &mover, plane);
        r0 += columns;
    }
    return 0;
}

/* Where: y = a ? b : c, broadcast; a is bool. */
#define INLAY_FAMILY "move.inc.h"
#include "each_word.inc.h"
#undef INLAY_FAMILY

#endif
