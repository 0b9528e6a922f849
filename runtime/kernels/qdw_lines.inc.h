/* SPDX-License-Identifier: 0BSD
 * Which rows of qdwconv_packed.h may be made some channels by some channels, rows within: each
 * channel by itself still goes from row to row. Rows of x that windows share are then read once. */
#ifndef INLAY_QDW_LINES_H
#define INLAY_QDW_LINES_H

/* Rows of a plane of y from row r on, in the walking direction. */
typedef struct inlay_qdw_lines {
    inlay_qrow begun; /* row r */
    int32_t r, n;
} inlay_qdw_lines;

/* Of windows of 3 x 3 by themselves: is their stride two, not one? */
INLAY_INLINE int inlay_qdw_is_far(const inlay_qpacked_params *params)
{
    return !INLAY_QUSES(INLAY_QUSE_DW_NEAR) ||
           (INLAY_QUSES(INLAY_QUSE_DW_FAR) && params->sw == 2);
}

/* The row that is made after `done` others. */
static inline inlay_qrow inlay_qdw_line_at(const inlay_qdw *job,
                                           const inlay_qdw_lines *lines,
                                           int32_t done)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)job->step->params;
    const int32_t way = job->step->backward ? -done : done;
    inlay_qrow row = lines->begun;
    row.row += way * params->sh;
    row.y = inlay_row(job->base, job->step, 0, lines->r + way);
    return row;
}

/* Does a byte of y lie, if on any of x, on one of the same channel? */
static inline int inlay_qdw_aligned(const inlay_qdw *job)
{
    const inlay_step *step = job->step;
    const inlay_ref *to = step->ref;
    const size_t pix = (size_t)to[1].pix;
    const uintptr_t y = (uintptr_t)inlay_at(job->base, step, 0);
    const uintptr_t x = (uintptr_t)inlay_at(job->base, step, 1);
    if (to[0].pix != to[1].pix || to[0].row % pix || to[1].row % pix)
        return 0;
    return (y < x ? x - y : y - x) % pix == 0;
}

/* Of so many rows, those that may be made so, `columns` at a time: one, or all of a plane. */
static inline int32_t inlay_qdw_most(const inlay_qdw *job, int32_t rows,
                                     int32_t columns)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)job->step->params;
    const int bytes = !inlay_qout_is_wide(params->out);
    if (rows == 1)
        return 1;
    if (inlay_qpacked_apart(job->base, job->step, 0, rows))
        return params->oh;
    if (params->ow > columns || !bytes)
        return 1;
    return inlay_qdw_aligned(job) ? params->oh : 1;
}

/* Those after `done` others of [r0, r1), `most` at the most. */
static inline inlay_qdw_lines inlay_qdw_lines_of(const inlay_qdw *job,
                                                 int32_t r0, int32_t r1,
                                                 int32_t done, int32_t most)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)job->step->params;
    const int32_t left = r1 - r0 - done;
    inlay_qdw_lines lines;
    lines.r = inlay_next_row(job->step, r0, r1, done);
    lines.begun = inlay_qpacked_window(job->base, job->step, lines.r);
    lines.n = lines.r % params->oh;
    lines.n = job->step->backward ? lines.n + 1 : params->oh - lines.n;
    lines.n = lines.n < most ? lines.n : most;
    lines.n = lines.n < left ? lines.n : left;
    return lines;
}

/* Rows of x or of y. */
typedef struct inlay_qdw_ring {
    unsigned char *at;    /* `more` bytes into what the ring begins with */
    int32_t r;            /* row r is the plane's first */
    const inlay_ref *ref; /* how its rows lie */
} inlay_qdw_ring;

static inline inlay_qdw_ring inlay_qdw_ring_of(const inlay_qdw *job, int i,
                                               int32_t r, ptrdiff_t more)
{
    inlay_qdw_ring ring;
    ring.at = (unsigned char *)inlay_at(job->base, job->step, i) + more;
    ring.r = r;
    ring.ref = job->step->ref + i;
    return ring;
}

/* Rows of x from the plane on that the windows of `lines` begin in. */
static inline inlay_qdw_ring inlay_qdw_ring_of_x(const inlay_qdw *job,
                                                 const inlay_qdw_lines *lines,
                                                 ptrdiff_t more)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)job->step->params;
    const int32_t plane = lines->begun.image * params->id + lines->begun.plane;
    return inlay_qdw_ring_of(job, 1, plane * params->ih, more);
}

INLAY_INLINE unsigned char *inlay_qdw_ring_at(const inlay_qdw_ring *ring,
                                              int32_t r)
{
    return ring->at + inlay_row_at(ring->ref, ring->r + r);
}

/* A walk over the rows of y by windows of three rows, whose numbers lie in three places in scratch.
 * The first row has place 0, the row below another the next place in turn: so those that windows
 * share stay where they are. */
typedef struct inlay_qdw_walk {
    int backward;
    int shares;          /* do windows share rows of x? */
    int32_t y;           /* row of y, from the first one made on */
    int32_t top;         /* row of x that the window begins with */
    int32_t turn;        /* its place */
    int32_t move, turns; /* what top and turn go on by */
    int32_t next;        /* row of x after those that lie in scratch */
} inlay_qdw_walk;

INLAY_INLINE inlay_qdw_walk inlay_qdw_walk_of(const inlay_qdw *job,
                                              const inlay_qdw_lines *lines)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)job->step->params;
    inlay_qdw_walk walk;
    walk.backward = job->step->backward;
    walk.shares = lines->n > 1 && params->dh == 1;
    walk.y = 0;
    walk.top = lines->begun.row;
    walk.move = walk.backward ? -params->sh : params->sh;
    walk.turn = 0;
    walk.turns = walk.move % 3;
    if (walk.turns < 0)
        walk.turns += 3;
    walk.next = walk.backward ? walk.top + 3 : walk.top;
    return walk;
}

INLAY_INLINE void inlay_qdw_walk_on(inlay_qdw_walk *walk)
{
    walk->y += walk->backward ? -1 : 1;
    walk->top += walk->move;
    walk->turn += walk->turns;
    if (walk->turn >= 3)
        walk->turn -= 3;
}

/* The place of row h of the window. */
INLAY_INLINE int32_t inlay_qdw_place(const inlay_qdw_walk *walk, int32_t h)
{
    const int32_t place = walk->turn + h;
    return place < 3 ? place : place - 3;
}

/* Rows [h, end) of the window, which do not lie in scratch yet. */
typedef struct inlay_qdw_fresh {
    int32_t h, end;
} inlay_qdw_fresh;

/* Those of this window, which the caller now brings. */
INLAY_INLINE inlay_qdw_fresh inlay_qdw_fresh_of(inlay_qdw_walk *walk)
{
    const int32_t top = walk->top;
    const int32_t next = walk->next;
    inlay_qdw_fresh fresh = { 0, 3 };
    if (walk->shares && walk->backward && next - top < 3)
        fresh.end = next - top;
    if (walk->shares && !walk->backward && next > top)
        fresh.h = next - top;
    walk->next = walk->backward ? top : top + 3;
    return fresh;
}

#endif
