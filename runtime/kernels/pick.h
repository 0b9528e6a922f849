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

#include "index.h"
#include "move.h"

typedef struct inlay_pick_params {
    int32_t rank;   /* axes with a table; 0: by row */
    int32_t run;    /* elements that lie together, in source and result */
    int32_t column; /* by row: entry of the pixels' table for the first */
    int32_t origin; /* by row: the pixel that x's rows begin with */
    /* sizes of those axes in the result; by row: rows in the table, and pixels */
    int32_t n[8];
} inlay_pick_params;

/* The innermost table axis: n runs, starting at x. */
typedef void inlay_pick_line(void *y, const void *x, const int32_t *table,
                             int32_t n, int32_t run);

/* How all lines are made. */
typedef struct inlay_pick_way {
    const inlay_pick_params *p;
    inlay_pick_line *line;
    size_t size;     /* bytes of an element ... */
    ptrdiff_t bytes; /* ... and of a line */
    int32_t n;       /* entries of a line */
    /* in vectors: entries whose runs lie one after the other in the source, too */
    int32_t begin;
    int32_t end;
    const unsigned char *before; /* the source of the line before */
} inlay_pick_way;

INLAY_INLINE inlay_pick_way inlay_pick_way_of(const inlay_pick_params *p,
                                              size_t size,
                                              inlay_pick_line *line)
{
    inlay_pick_way way = { 0 };
    way.p = p;
    way.size = size;
    way.line = line;
    way.n = p->n[p->rank - 1];
    way.bytes = (ptrdiff_t)size * way.n * p->run;
    return way;
}

#ifdef INLAY_MOVE_VECTORS
/* The most entries that lie together, where they are worth a copy of their own: what lies
 * between the edges of a padded line. */
static inline void inlay_pick_together(inlay_pick_way *way,
                                       const int32_t *table)
{
    int32_t begin = 0;
    int32_t i;
    for (i = 0; i < way->n; i++) {
        if (i > begin && table[i] != table[i - 1] + way->p->run)
            begin = i;
        if (i + 1 - begin <= way->end - way->begin)
            continue;
        way->begin = begin;
        way->end = i + 1;
    }
    if (way->end - way->begin < INLAY_TILE)
        way->end = way->begin;
}

/* A line; the first finds out what lies together, and one like that before is a copy
 * of it. */
static inline void inlay_pick_next(inlay_pick_way *way, unsigned char *y,
                                   const unsigned char *x, const int32_t *table)
{
    const int32_t run = way->p->run;
    const ptrdiff_t bytes = (ptrdiff_t)run * (ptrdiff_t)way->size;
    if (x == way->before) {
        memcpy(y, y - way->bytes, (size_t)way->bytes);
        return;
    }
    if (!way->before)
        inlay_pick_together(way, table);
    way->before = x;
    way->line(y, x, table, way->begin, run);
    if (way->end > way->begin)
        memcpy(y + way->begin * bytes,
               x + table[way->begin] * (ptrdiff_t)way->size,
               (size_t)((way->end - way->begin) * bytes));
    way->line(y + way->end * bytes, x, table + way->end, way->n - way->end,
              run);
}
#else
INLAY_INLINE void inlay_pick_next(inlay_pick_way *way, unsigned char *y,
                                  const unsigned char *x, const int32_t *table)
{
    way->line(y, x, table, way->n, way->p->run);
}
#endif

static inline int inlay_pick(void *const *base, const inlay_step *s,
                             size_t size, inlay_pick_line *line)
{
    const inlay_pick_params *p = (const inlay_pick_params *)s->params;
    unsigned char *y = (unsigned char *)inlay_at(base, s, 0);
    const unsigned char *x = (const unsigned char *)inlay_at(base, s, 1);
    const int32_t *tables = (const int32_t *)inlay_at(base, s, 2);
    const int32_t last = p->rank - 1;
    int32_t at[8] = { 0 };
    inlay_pick_way way = inlay_pick_way_of(p, size, line);
    do {
        const int32_t *table = tables;
        ptrdiff_t from = 0;
        int32_t d;
        for (d = 0; d < last; d++) {
            from += table[at[d]];
            table += p->n[d];
        }
        inlay_pick_next(&way, y, x + from * (ptrdiff_t)size, table);
        y += way.bytes;
    } while (inlay_next_index(at, p->n, last));
    return 0;
}

/* Pixels of a row; y_pixel, x_pixel: elements from pixel to pixel. */
typedef void inlay_pick_pixels(void *y, const void *x, const int32_t *table,
                               const inlay_pick_params *p, ptrdiff_t y_pixel,
                               ptrdiff_t x_pixel);

static inline int inlay_pick_rows(void *const *base, const inlay_step *s,
                                  int32_t r0, int32_t r1,
                                  inlay_pick_pixels *pixels)
{
    const inlay_pick_params *p = (const inlay_pick_params *)s->params;
    const int32_t *rows = (const int32_t *)inlay_at(base, s, 2);
    int32_t i;
    for (i = r0; i < r1; i++) {
        const int32_t r = s->backward ? r0 + r1 - 1 - i : i;
        pixels(inlay_row(base, s, 0, r), inlay_row(base, s, 1, rows[r]),
               rows + p->n[0] + p->column, p, s->ref[0].pix, s->ref[1].pix);
    }
    return 0;
}

#define INLAY_FAMILY "pick.inc.h"
#include "each_word.inc.h"
#undef INLAY_FAMILY

#endif
