/* SPDX-License-Identifier: 0BSD
 * Images of one dimension stand upright: each pixel is a row, so that the rings of a stream hold a
 * few of them. Kernels that work along a row make as many at once as lie together in the rings, as
 * one row of pixels. */
#ifndef INLAY_UPRIGHT_H
#define INLAY_UPRIGHT_H

#include <string.h>

#include "kernels/conv_f32.h"

/* A stretch of rows of one pixel, seen as one row of pixels. */
typedef struct inlay_lying {
    inlay_step step;
    inlay_ref ref[5];
    inlay_conv_params params;
} inlay_lying;

/* Rows of one pixel, as signals in time have them? */
static inline int inlay_upright(const inlay_conv_params *p)
{
    return p->iw == 1 && p->ow == 1 && p->kw == 1 && p->sw == 1 && p->id == 1 && p->od == 1 &&
           p->kd == 1 && p->ih > 1 && !p->pw;
}

static inline void inlay_lie_down(inlay_ref *f, int32_t row, int32_t rows)
{
    f->off += (size_t)(row % f->cap) * f->row;
    f->pix = (int32_t)(f->row / sizeof(float));
    f->row *= (size_t)rows;
    f->cap = 1;
}

/* Rows [r, r + n) of y as one row, which is made from rows [lo, hi) of x; pad: of its first window.
 */
static inline void inlay_lie(inlay_lying *l, const inlay_step *s, int32_t r, int32_t n, int32_t lo,
                             int32_t hi, int32_t pad)
{
    inlay_conv_params *q = &l->params;
    l->step = *s;
    l->step.ref = l->ref;
    l->step.params = q;
    memcpy(l->ref, s->ref, sizeof l->ref);
    inlay_lie_down(l->ref, r, n);
    inlay_lie_down(l->ref + 1, lo, hi - lo);
    if (l->ref[4].base >= 0)
        inlay_lie_down(l->ref + 4, r, n);
    memcpy(q, s->params, sizeof *q);
    q->iw = hi - lo;
    q->ow = n;
    q->kw = q->kh, q->sw = q->sh, q->dw = q->dh, q->pw = pad;
    q->ih = q->oh = q->kh = q->sh = q->dh = 1;
    q->ph = 0;
}

/* How a window slides along the rows: that of row r of y begins at row r * stride - pad of x. */
typedef struct inlay_slide {
    int32_t height, rows; /* of an image of y, of x */
    int32_t stride, pad, extent;
} inlay_slide;

/* Of rows [r0, r1) of y, the first ones on the way whose windows lie together in x's ring: how
 * many, *r the lowest. 0: not even those of one do, or it has no window. */
static inline int32_t inlay_stretch(const inlay_step *s, const inlay_slide *w, int32_t r0,
                                    int32_t r1, int32_t *r)
{
    const int32_t at = s->backward ? r1 - 1 : r0;
    const int32_t row = at % w->height;
    const int32_t begin = at / w->height * w->rows;
    const int32_t end = begin + w->rows;
    const int32_t cap = s->ref[1].cap;
    const int32_t room = s->backward ? row + 1 : w->height - row;
    const int32_t top = begin + row * w->stride - w->pad;
    const int32_t last = top + w->extent;
    const int32_t lo = top > begin ? top : begin;
    const int32_t hi = last < end ? last : end;
    int32_t n = inlay_adjacent(s, 4, at, inlay_adjacent(s, 0, at, r1 - r0 < room ? r1 - r0 : room));
    int32_t fit = n;
    if (lo >= hi)
        return 0;
    if (s->backward) {
        const int32_t from = (hi - 1) / cap * cap;
        if (from > begin)
            fit = top < from ? 0 : (top - from) / w->stride + 1;
    } else {
        const int32_t to = lo / cap * cap + cap;
        if (to < end)
            fit = last > to ? 0 : (to - last) / w->stride + 1;
    }
    n = fit < n ? fit : n;
    *r = s->backward ? at - n + 1 : at;
    return n;
}

/* Rows of one pixel: `kernel` makes them stretch by stretch, a row by itself where the ring of x
 * begins again in its window, or where y may overlap x. */
static inline int inlay_upright_rows(inlay_kernel *kernel, void *const *base, const inlay_step *s,
                                     int32_t r0, int32_t r1)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    const inlay_slide w = { p->oh, p->ih, p->sh, p->ph, (p->kh - 1) * p->dh + 1 };
    const int apart = inlay_disjoint(base, s, 0, 1, 1, 1);
    inlay_lying l;
    int32_t n;
    int32_t r = 0;
    while (r0 < r1) {
        n = inlay_stretch(s, &w, apart || !s->backward ? r0 : r1 - 1,
                          apart || s->backward ? r1 : r0 + 1, &r);
        if (n > 0) {
            const int32_t begin = r / p->oh * p->ih;
            const int32_t top = r % p->oh * p->sh - p->ph;
            const int32_t last = top + (n - 1) * p->sh + w.extent;
            const int32_t lo = top > 0 ? top : 0;
            const int32_t hi = last < p->ih ? last : p->ih;
            inlay_lie(&l, s, r, n, begin + lo, begin + hi, lo - top);
            kernel(base, &l.step, 0, 1);
        } else {
            n = 1;
            kernel(base, s, s->backward ? r1 - 1 : r0, s->backward ? r1 : r0 + 1);
        }
        if (s->backward)
            r1 -= n;
        else
            r0 += n;
    }
    return 0;
}

#endif
