/* SPDX-License-Identifier: 0BSD
 * Moves by a table of source offsets for each axis:
 *
 *   y[i][j]...[run] = x[T0[i] + T1[j] + ... + run], T in elements
 *
 * The tables lie one after the other in operand 2 (int32). One unit.
 *
 * By row (rank 0): rows of pixels, of which the first table gives the row and the second the pixel:
 *
 *   y[row][j][run] = x[T0[row]][T1[column + j] - origin][run] */
#ifndef INLAY_PICK_H
#define INLAY_PICK_H

#include "move.h"

#define INLAY_pick_FIELDS(F, N) \
    F(int32_t, rank)   /* axes with a table; 0: by row */ \
    F(int32_t, run)    /* elements that lie together, in source and result */ \
    F(int32_t, column) /* by row: entry of the pixels' table for the first */ \
    F(int32_t, origin) /* by row: the pixel that x's rows begin with */ \
    N(int32_t, n, 8)   /* sizes of those axes in the result; by row: rows in the table, and pixels \
                        */
INLAY_PARAMS(pick);

/* The innermost table axis: n runs, starting at x. */
typedef void inlay_pick_line(void *y, const void *x, const int32_t *table, int32_t n, int32_t run);

static inline int inlay_pick(void *const *base, const inlay_step *s, size_t size,
                             inlay_pick_line *line)
{
    const inlay_pick_params *p = (const inlay_pick_params *)s->params;
    unsigned char *y = (unsigned char *)inlay_at(base, s, 0);
    const unsigned char *x = (const unsigned char *)inlay_at(base, s, 1);
    const int32_t *table[8];
    int32_t at[8] = { 0 };
    int32_t d;
    const int32_t last = p->rank - 1;
    table[0] = (const int32_t *)inlay_at(base, s, 2);
    for (d = 1; d < p->rank; d++)
        table[d] = table[d - 1] + p->n[d - 1];
    for (;;) {
        ptrdiff_t from = 0;
        for (d = 0; d < last; d++)
            from += table[d][at[d]];
        line(y, x + from * (ptrdiff_t)size, table[last], p->n[last], p->run);
        y += (size_t)p->n[last] * (size_t)p->run * size;
        for (d = last - 1; d >= 0; d--) {
            if (++at[d] < p->n[d])
                break;
            at[d] = 0;
        }
        if (d < 0)
            return 0;
    }
}

/* Pixels of a row; yp, xp: elements from pixel to pixel. */
typedef void inlay_pick_pixels(void *y, const void *x, const int32_t *table,
                               const inlay_pick_params *p, ptrdiff_t yp, ptrdiff_t xp);

static inline int inlay_pick_rows(void *const *base, const inlay_step *s, int32_t r0, int32_t r1,
                                  inlay_pick_pixels *pixels)
{
    const inlay_pick_params *p = (const inlay_pick_params *)s->params;
    const int32_t *rows = (const int32_t *)inlay_at(base, s, 2);
    int32_t i;
    for (i = r0; i < r1; i++) {
        const int32_t r = s->backward ? r0 + r1 - 1 - i : i;
        pixels(inlay_row(base, s, 0, r), inlay_row(base, s, 1, rows[r]), rows + p->n[0] + p->column,
               p, s->ref[0].pix, s->ref[1].pix);
    }
    return 0;
}

#define INLAY_PICK_ELEMENTS(bits) \
    static inline void inlay_pick_##bits##_line(void *yv, const void *xv, const int32_t *table, \
                                                int32_t n, int32_t run) \
    { \
        inlay_w##bits *y = (inlay_w##bits *)yv; \
        const inlay_w##bits *x = (const inlay_w##bits *)xv; \
        int32_t i; \
        if (run == 1) \
            for (i = 0; i < n; i++) \
                y[i] = x[table[i]]; \
        else \
            for (i = 0; i < n; i++) \
                memcpy(y + (ptrdiff_t)i * run, x + table[i], (size_t)run * sizeof *y); \
    } \
    static inline void inlay_pick_##bits##_pixels(void *yv, const void *xv, const int32_t *table, \
                                                  const inlay_pick_params *p, ptrdiff_t yp, \
                                                  ptrdiff_t xp) \
    { \
        inlay_w##bits *y = (inlay_w##bits *)yv; \
        const inlay_w##bits *x = (const inlay_w##bits *)xv; \
        const int32_t n = p->n[1], from = p->origin; \
        int32_t i; \
        if (p->run == 1) \
            for (i = 0; i < n; i++) \
                y[i * yp] = x[(table[i] - from) * xp]; \
        else \
            for (i = 0; i < n; i++) \
                memcpy(y + i * yp, x + (table[i] - from) * xp, (size_t)p->run * sizeof *y); \
    } \
    static inline int inlay_pick_##bits(void *const *base, const inlay_step *s, int32_t r0, \
                                        int32_t r1) \
    { \
        if (!((const inlay_pick_params *)s->params)->rank) \
            return inlay_pick_rows(base, s, r0, r1, inlay_pick_##bits##_pixels); \
        return inlay_pick(base, s, sizeof(inlay_w##bits), inlay_pick_##bits##_line); \
    }

INLAY_PICK_ELEMENTS(8)
INLAY_PICK_ELEMENTS(16)
INLAY_PICK_ELEMENTS(32)
INLAY_PICK_ELEMENTS(64)
INLAY_PICK_ELEMENTS(128)

#endif
