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

#define INLAY_WALK INLAY_WALK_STEPS
#define INLAY_LIST INLAY_TILE_STEPS
#define INLAY_R(name) inlay_steps_##name
#include "kernels/tile_walk.inc.h"

/* The tile's constants of a step. */
static inline void inlay_conv1d_tile(void *const *base, const inlay_step *s,
                                     inlay_tile *t)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    inlay_conv_tile(base, s, t);
    t->pieces = p->sh;
    t->run = p->ic;
    t->ys = (ptrdiff_t)(s->ref[0].row / sizeof(float));
    t->qs = (ptrdiff_t)(s->ref[4].row / sizeof(float));
}

/* The next rows on the way that are one tile: those whose windows lie inside go together. Returns
 * how many, *r the lowest. */
static inline int32_t inlay_conv1d_next(const inlay_step *s, int32_t r0,
                                        int32_t r1, int32_t *r)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    const int32_t extent = (p->kh - 1) * p->dh + 1;
    const int32_t at = inlay_next_row(s, r0, r1, 0);
    const int32_t row = at % p->oh;
    int32_t end, tiles;
    const int32_t left = inlay_inside(p->sh, p->ph, extent, p->ih, p->oh, &end);
    int32_t n = s->backward ? row - left + 1 : end - row;
    if (row < left || row >= end)
        n = 1;
    if (n > r1 - r0)
        n = r1 - r0;
    n = inlay_adjacent(s, 0, at, n);
    n = inlay_adjacent(s, 4, at, n);
    tiles = INLAY_TILE_COUNT(n);
    n = INLAY_TILE_UP(n, tiles);
    *r = s->backward ? at - n + 1 : at;
    return n;
}

/* Rows [r, r + n), which are one tile. */
static inline void inlay_conv1d_rows(void *const *base, const inlay_step *s,
                                     inlay_tile *t, int32_t r, int32_t n)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    const int32_t top = r % p->oh * p->sh - p->ph;
    const int32_t image = r / p->oh * p->ih;
    inlay_conv_row row = inlay_conv_row_at(base, s, r, n);
    inlay_tiles call;
    int32_t group, from;
    t->nkh = inlay_clip(top, p->dh, p->kh, p->ih, &from);
    t->slot = 0;
    if (t->nkh)
        t->slot = (image + top + from * p->dh) % t->cap;
    call.pixels = n;
    call.count = 1;
    call.at = 0;
    call.tap = from * t->row_taps;
    for (group = 0; group < p->groups; group++) {
        call.y = row.y;
        call.q = row.q;
        t->make(t, &call);
        inlay_conv_next_group(p, t, &row, 1);
    }
    inlay_conv_next_group(p, t, &row, -p->groups);
}

/* Channels [t->begin, t->end) of rows [r0, r1). */
static inline void inlay_conv1d_strip(void *const *base, const inlay_step *s,
                                      inlay_tile *t, int apart, int32_t r0,
                                      int32_t r1)
{
    while (r0 < r1) {
        const int32_t from = apart || !s->backward ? r0 : r1 - 1;
        const int32_t to = apart || s->backward ? r1 : r0 + 1;
        int32_t r;
        const int32_t n = inlay_conv1d_next(s, from, to, &r);
        inlay_conv1d_rows(base, s, t, r, n);
        if (s->backward)
            r1 -= n;
        else
            r0 += n;
    }
}

/* Rows [r0, r1) by a tile that inlay_conv1d_tile() made. */
static inline int inlay_conv1d_by(void *const *base, const inlay_step *s,
                                  inlay_tile *t, int32_t r0, int32_t r1)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    const int apart = inlay_disjoint(base, s, 1, 1);
    int32_t strip = p->oc;
    if (apart && inlay_conv_large(p, r1 - r0))
        strip = inlay_conv_strip(t);
    t->end = 0;
    while (inlay_conv_next_strip(t, strip))
        inlay_conv1d_strip(base, s, t, apart, r0, r1);
    return 0;
}

static inline int inlay_conv1d_f32(void *const *base, const inlay_step *s,
                                   int32_t r0, int32_t r1)
{
    inlay_tile t;
    inlay_conv1d_tile(base, s, &t);
    t.make = inlay_steps_run;
    return inlay_conv1d_by(base, s, &t, r0, r1);
}

static inline int inlay_conv1d_act_f32(void *const *base, const inlay_step *s,
                                       int32_t r0, int32_t r1)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    const int32_t channels = p->groups * p->oc;
    return inlay_conv_then_act(inlay_conv1d_f32, base, s, r0, r1, channels);
}

#endif
