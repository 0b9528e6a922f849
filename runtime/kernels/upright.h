/* SPDX-License-Identifier: 0BSD
 * Images of one dimension stand upright: each pixel is a row, so that the rings of a stream hold a
 * few of them. Kernels that work along a row make as many at once as lie together in the rings, as
 * one row of pixels. */
#ifndef INLAY_UPRIGHT_H
#define INLAY_UPRIGHT_H

#include "inlay_memory.h"
#include "kernels/conv_f32.h"

/* A stretch of rows of one pixel, seen as one row of pixels. */
enum { INLAY_LYING_REFS = 8 };

typedef struct inlay_lying {
    inlay_step step;
    inlay_ref ref[INLAY_LYING_REFS];
    inlay_conv_params params;
} inlay_lying;

/* Rows of one pixel, as signals in time have them? */
static inline int inlay_upright(const inlay_conv_params *p)
{
    return p->iw == 1 && p->ow == 1 && p->kw == 1 && p->sw == 1 && p->id == 1 &&
           p->od == 1 && p->kd == 1 && p->ih > 1 && !p->pw;
}

static inline void inlay_lie_down(inlay_ref *ring, int32_t row, int32_t rows)
{
    ring->off += (size_t)(row % ring->cap) * ring->row;
    ring->pix = (int32_t)(ring->row / sizeof(float));
    ring->row *= (size_t)rows;
    ring->cap = 1;
}

/* How a window slides along the rows of an image: that of row r of y begins at row r * stride - pad
 * of x; or, transposed, it ends behind row (r + pad) / stride. */
typedef struct inlay_slide {
    int32_t height, rows; /* of an image of y, of x */
    int32_t stride, pad;
    int32_t extent; /* rows of the window */
    int transposed;
    int operands; /* of the step, INLAY_LYING_REFS at most */
} inlay_slide;

/* The first row of the window of a row; it may lie outside. */
static inline int32_t inlay_slide_top(const inlay_slide *w, int32_t row)
{
    if (w->transposed)
        return (row + w->pad) / w->stride + 1 - w->extent;
    return row * w->stride - w->pad;
}

/* Rows, up from `row`, whose windows begin at row `from` or later. */
static inline int32_t inlay_slide_back(const inlay_slide *w, int32_t row,
                                       int32_t from)
{
    const int32_t top = inlay_slide_top(w, row);
    if (top < from)
        return 0;
    if (w->transposed)
        return row + w->pad - (from + w->extent - 1) * w->stride + 1;
    return (top - from) / w->stride + 1;
}

/* Rows, down from `row`, whose windows end at row `to` or before. */
static inline int32_t inlay_slide_on(const inlay_slide *w, int32_t row,
                                     int32_t to)
{
    const int32_t end = inlay_slide_top(w, row) + w->extent;
    if (end > to)
        return 0;
    if (w->transposed)
        return to * w->stride - w->pad - row;
    return (to - end) / w->stride + 1;
}

/* Rows from `row` on, n at most, whose windows lie together in x's ring; 0: not even those of one
 * do, or it has no window. `begin`: the first row of x's image. */
static inline int32_t inlay_slide_fit(const inlay_step *s, const inlay_slide *w,
                                      int32_t row, int32_t begin, int32_t n)
{
    const int32_t cap = s->ref[1].cap;
    const int32_t top = inlay_slide_top(w, row);
    const int32_t first = top > 0 ? top : 0;
    const int32_t last = top + w->extent;
    const int32_t end = last < w->rows ? last : w->rows;
    int32_t fit = n;
    if (first >= end)
        return 0;
    if (s->backward) {
        const int32_t from = (begin + end - 1) / cap * cap - begin;
        if (from > 0)
            fit = inlay_slide_back(w, row, from);
    } else {
        const int32_t to = (begin + first) / cap * cap + cap - begin;
        if (to < w->rows)
            fit = inlay_slide_on(w, row, to);
    }
    return fit < n ? fit : n;
}

/* Of rows [r0, r1) of y, the first ones on the way whose windows lie together in x's ring: how
 * many, *r the lowest. */
static inline int32_t inlay_stretch(const inlay_step *s, const inlay_slide *w,
                                    int32_t r0, int32_t r1, int32_t *r)
{
    const int32_t at = inlay_next_row(s, r0, r1, 0);
    const int32_t row = at % w->height;
    const int32_t begin = at / w->height * w->rows;
    const int32_t room = s->backward ? row + 1 : w->height - row;
    int32_t n = r1 - r0 < room ? r1 - r0 : room;
    n = inlay_adjacent(s, 0, at, n);
    n = inlay_adjacent(s, 4, at, n);
    n = inlay_slide_fit(s, w, row, begin, n);
    *r = s->backward ? at - n + 1 : at;
    return n;
}

/* The parameters of a window along the rows, as those of one along a row of n pixels, which are
 * made from `width` pixels. */
static inline void inlay_lie_params(inlay_conv_params *p, int32_t width,
                                    int32_t n, int32_t pad)
{
    p->iw = width;
    p->ow = n;
    p->kw = p->kh;
    p->sw = p->sh;
    p->dw = p->dh;
    p->pw = pad;
    p->ih = 1;
    p->oh = 1;
    p->kh = 1;
    p->sh = 1;
    p->dh = 1;
    p->ph = 0;
}

/* The step of n rows, with operands of its own. */
static inline void inlay_lie_step(inlay_lying *l, const inlay_step *s,
                                  int operands)
{
    l->step = *s;
    l->step.ref = l->ref;
    l->step.params = &l->params;
    memcpy(l->ref, s->ref, (size_t)operands * sizeof *l->ref);
    memcpy(&l->params, s->params, sizeof l->params);
}

/* Rows [r, r + n) of y as one row of pixels. */
static inline void inlay_lie(inlay_lying *l, const inlay_step *s,
                             const inlay_slide *w, int32_t r, int32_t n)
{
    const int32_t begin = r / w->height * w->rows;
    const int32_t row = r % w->height;
    const int32_t top = inlay_slide_top(w, row);
    const int32_t last = inlay_slide_top(w, row + n - 1) + w->extent;
    const int32_t first = top > 0 ? top : 0;
    const int32_t end = last < w->rows ? last : w->rows;
    int32_t pad = first - top;
    if (w->transposed)
        pad = row + w->pad - first * w->stride;
    inlay_lie_step(l, s, w->operands);
    inlay_lie_down(l->ref, r, n);
    inlay_lie_down(l->ref + 1, begin + first, end - first);
    if (l->ref[4].base >= 0)
        inlay_lie_down(l->ref + 4, r, n);
    inlay_lie_params(&l->params, end - first, n, pad);
}

/* Do pixels of y lie over pixels of x, channel over channel? A window that is not transposed is one
 * of a depthwise convolution: it goes channel by channel, and reads for some pixels before it
 * writes them, so that it makes several where the plan allows for each. Several results of a
 * channel lie over others. */
static inline int inlay_slide_lanes(void *const *base, const inlay_step *s,
                                    const inlay_slide *w)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    const size_t row = s->ref[0].row;
    const uintptr_t y = (uintptr_t)inlay_at(base, s, 0);
    const uintptr_t x = (uintptr_t)inlay_at(base, s, 1);
    const uintptr_t far = y > x ? y - x : x - y;
    if (INLAY_VL == 1 || w->transposed || s->ref[4].base >= 0 || p->oc > 1)
        return 0;
    return row == s->ref[1].row && far % row == 0;
}

/* Rows of one pixel: `kernel` makes them stretch by stretch, a row by itself where the ring of x
 * begins again in its window, or where y may overlap x. */
static inline int inlay_upright_rows(inlay_kernel *kernel, void *const *base,
                                     const inlay_step *s, int32_t r0,
                                     int32_t r1, const inlay_slide *w)
{
    const int apart =
        inlay_slide_lanes(base, s, w) || inlay_disjoint(base, s, 1, 1);
    while (r0 < r1) {
        const int32_t from = apart || !s->backward ? r0 : r1 - 1;
        const int32_t to = apart || s->backward ? r1 : r0 + 1;
        int32_t r;
        int32_t n = inlay_stretch(s, w, from, to, &r);
        if (n > 0) {
            inlay_lying l;
            inlay_lie(&l, s, w, r, n);
            kernel(base, &l.step, 0, 1);
        } else {
            n = 1;
            r = inlay_next_row(s, r0, r1, 0);
            kernel(base, s, r, r + 1);
        }
        if (s->backward)
            r1 -= n;
        else
            r0 += n;
    }
    return 0;
}

#endif
