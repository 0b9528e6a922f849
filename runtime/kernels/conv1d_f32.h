/* SPDX-License-Identifier: 0BSD
 * Convolution over rows of one pixel, float32: what conv_f32 does where iw and ow are 1, as signals
 * in time have it.
 *
 * Parameters, operands, units and overlap as in conv_f32.h. A tile is several rows, whose windows
 * may begin anew in the ring of x at different taps: so steps in time, of which a stream makes a
 * few at a time, take no longer than pixels of a row. */
#ifndef INLAY_CONV1D_F32_H
#define INLAY_CONV1D_F32_H

#include "kernels/conv_f32.h"

INLAY_TILE_RUN(STEPS, inlay_steps)

static inline void inlay_conv1d_tile(const inlay_conv_params *p, const inlay_step *s, inlay_tile *t)
{
    const inlay_ref *x = s->ref + 1;
    t->row = x->row / sizeof(float);
    t->cap = x->cap;
    t->first = t->d_rows = 0;
    t->h_rows = p->dh;
    t->pieces = p->sh;
    t->run = p->ic;
    t->piece = t->xs = 0;
    t->ys = (ptrdiff_t)(s->ref[0].row / sizeof(float));
    t->qs = (ptrdiff_t)(s->ref[4].row / sizeof(float));
    t->piece_taps = t->row_taps = p->ic;
    t->plane_taps = t->taps = (ptrdiff_t)p->kh * p->ic;
    t->width = p->width;
    t->clamp = p->clamp;
    t->lo = p->a;
    t->hi = p->b;
}

/* The next rows on the way that are one tile: those whose windows lie inside go together. Returns
 * how many, *r the lowest. */
static inline int32_t inlay_conv1d_next(const inlay_conv_params *p, const inlay_step *s, int32_t r0,
                                        int32_t r1, int32_t *r)
{
    const int32_t at = s->backward ? r1 - 1 : r0;
    const int32_t row = at % p->oh;
    int32_t end, n, tiles;
    const int32_t left = inlay_inside(p->sh, p->ph, (p->kh - 1) * p->dh + 1, p->ih, p->oh, &end);
    n = row < left || row >= end ? 1 : s->backward ? row - left + 1 : end - row;
    n = inlay_adjacent(s, 4, at, inlay_adjacent(s, 0, at, n < r1 - r0 ? n : r1 - r0));
    tiles = (n + INLAY_TILE_P - 1) / INLAY_TILE_P;
    n = (n + tiles - 1) / tiles;
    *r = s->backward ? at - n + 1 : at;
    return n;
}

/* Channels [o, end) of rows [r, r + n). */
static inline void inlay_conv1d_rows(void *const *base, const inlay_step *s, inlay_tile *t,
                                     int32_t r, int32_t n, int32_t o, int32_t end)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    const float *w = (const float *)inlay_at(base, s, 2);
    const float *b = (const float *)inlay_at(base, s, 3);
    const int32_t padded = (p->oc + 3) / 4 * 4;
    const int32_t top = r % p->oh * p->sh - p->ph;
    int32_t g, from;
    t->nkh = inlay_clip(top, p->dh, p->kh, p->ih, &from);
    t->nkd = t->nkh > 0;
    t->slot = t->nkh ? (r / p->oh * p->ih + top + from * p->dh) % t->cap : 0;
    for (g = 0; g < p->groups; g++) {
        float *y = (float *)inlay_row(base, s, 0, r) + g * p->oc;
        const float *q =
            s->ref[4].base < 0 ? NULL : (const float *)inlay_row(base, s, 4, r) + g * p->oc;
        t->x = (const float *)inlay_at(base, s, 1) + g * p->ic;
        inlay_steps_run(t, n, 1, 0, w + g * padded * t->taps, from * t->row_taps, b + g * padded, y,
                        q, o, end, p->oc);
    }
}

static inline int inlay_conv1d_f32(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    const int apart = inlay_disjoint(base, s, 0, 1, 1, 1);
    int32_t o;
    int32_t end;
    int32_t step = p->oc;
    int32_t done;
    int32_t n;
    int32_t r;
    inlay_tile t;
    inlay_conv1d_tile(p, s, &t);
    if (apart && p->groups == 1 && r1 - r0 > INLAY_TILE_P &&
        t.taps * p->oc > (ptrdiff_t)(INLAY_WEIGHT_BYTES / sizeof(float))) {
        const ptrdiff_t fit = (ptrdiff_t)(INLAY_WEIGHT_BYTES / sizeof(float)) / t.taps / 64 * 64;
        step = fit > 64 ? (int32_t)fit : 64;
    }
    for (o = 0; o < p->oc; o = end) {
        end = p->oc - o > step ? o + step : p->oc;
        for (done = 0; done < r1 - r0; done += n) {
            const int32_t from = s->backward ? r0 : r0 + done;
            const int32_t to = s->backward ? r1 - done : r1;
            n = apart ? inlay_conv1d_next(p, s, from, to, &r)
                      : inlay_conv1d_next(p, s, s->backward ? to - 1 : from,
                                          s->backward ? to : from + 1, &r);
            inlay_conv1d_rows(base, s, &t, r, n, o, end);
        }
    }
    return 0;
}

static inline int inlay_conv1d_act_f32(void *const *base, const inlay_step *s, int32_t r0,
                                       int32_t r1)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    return inlay_then_act(inlay_conv1d_f32, base, s, r0, r1, 1, p->groups * p->oc, p->act, p->a,
                          p->b);
}

#endif
